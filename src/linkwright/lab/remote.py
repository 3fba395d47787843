"""Python tasks of a laboratory on hardware: each in a process of its own, beside the motor servo.

The process is a fork of the laboratory after `init`, so that the task is there as `init` left it.
At each tick of the task servo native code sends it the arguments of the slot and wakes it; what
`run` makes of them goes back through a window, and enters at the next tick of the motor servo.
Where it is late the last command holds. It ends with the laboratory.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.blocks.slot import NUMBER
from linkwright.lab.config import LabConfig
from linkwright.lab.running import task_function
from linkwright.lab.shared import c_header
from linkwright.lab.slot import SERIAL, SlotLayout
from linkwright.lab.tasks import Task
from linkwright.lab.told import told_records
from linkwright.simulation.pacing import Mirror
from linkwright.windows import Field, Record, Window

_NAP = 0.1  # s, after which a process looks whether its laboratory is still there


def arguments_record(layout: SlotLayout) -> Record:
    """Return what the process of a task receives: the arguments of its slot."""
    ports = {NUMBER: ((), "1")} | {n: (p.shape, p.unit) for n, p in layout.inputs.items()}
    fields = [Field(n, unit, shape=shape) for n, (shape, unit) in ports.items()]
    return Record(f"{layout.servo}.state", *fields)


def results_record(layout: SlotLayout) -> Record:
    """Return what the process of a task gives: the results of its slot."""
    fields = [Field(n, p.unit, shape=p.shape) for n, p in layout.outputs.items()]
    return Record(f"{layout.servo}.desired", *fields)


def lab_header(config: LabConfig, language: str = "c") -> str:
    """Return a header by which other programs read and write what a laboratory shares."""
    if language != "c":
        raise InputError(f"there is no header for {language!r}", remedy="take 'c'")
    layout = SlotLayout(config)
    records = (
        *(arguments_record(layout), results_record(layout)),
        *told_records(config).values(),
    )
    names = {"joint": config.names, "effector": layout.end_effectors, "blob": layout.blobs}
    known = {stem: listed for stem, listed in names.items() if listed}
    return c_header(config.name, {record.name: record for record in records}, known)


class TaskProcess:
    """The process of a Python task."""

    def __init__(
        self,
        task: Task,
        layout: SlotLayout,
        folder: Path,
        serial: int,
        results: NDArray[np.float64],
    ) -> None:
        self.task = task
        self._code: int | None = None
        self._lock = threading.Lock()
        self._said, said = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # `linkwright.base.forking` is for that
            self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(self._said)
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the laboratory ends it
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                _work(task, layout, folder, serial, results, parent)
                code = 0
            except BaseException as error:
                with suppress(OSError):
                    os.write(said, str(error).encode()[:4000])
            finally:
                with suppress(Exception):
                    sys.stdout.flush()
                os._exit(code)
        os.close(said)

    def ended(self) -> str | None:
        """Return why the process has ended, or None where it goes on."""
        with self._lock:
            if self._code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid == 0:
                    return None
                self._code = os.waitstatus_to_exitcode(status)
                self._words = _all(self._said)
        if self._words:
            return self._words
        if self._code < 0:
            return f"the process {self.pid} of {self.task.name!r} was ended by signal {-self._code}"
        return f"the process {self.pid} of {self.task.name!r} has ended"

    def close(self) -> None:
        """End the process."""
        with suppress(ProcessLookupError):
            if self.ended() is None:
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
                self._code, self._words = os.waitstatus_to_exitcode(status), _all(self._said)


def _all(pipe: int) -> str:
    """Return what was written to a pipe whose writer is gone, and close it."""
    with os.fdopen(pipe, "rb") as source:
        return source.read().decode("utf-8", "replace")


def _work(
    task: Task,
    layout: SlotLayout,
    folder: Path,
    serial: int,
    start: NDArray[np.float64],
    parent: int,
) -> None:
    """Be the process: run the task at each state that it gets."""
    told, given = arguments_record(layout), results_record(layout)
    window = Window.open(folder / told.name, told)
    state, desired = Mirror(window), Mirror(Window.create(folder / given.name, given))
    arguments, results = state.flat, desired.flat
    results[:] = start
    function = task_function(task, layout)
    assert function.bind is not None
    call = function.bind(np.zeros(1), arguments, results)
    here = layout.argument[SERIAL].start
    while os.getppid() == parent:
        window.wait(_NAP)
        if not state.pull() or arguments[here] != serial:
            continue
        call()
        if not np.isfinite(results).all():
            at = int(np.flatnonzero(~np.isfinite(results))[0])
            port = next(n for n, place in layout.result.items() if place.start <= at < place.stop)
            raise Error(f"run of the task {task.name!r} gave {results[at]} for {port}")
        desired.push(state.tick)
