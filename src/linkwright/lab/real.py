"""A laboratory on hardware: its driver, the loop that follows a clock, and what watches both.

Motor servo and socket are in a native thread; native tasks run in it, Python tasks in processes of
their own. The robot is not enabled before its readings have come for a while; what is wanted then
is where it stands. A robot that is silent or reports a fault stops the laboratory, until `reset`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.errors import Error
from linkwright.base.shared_folders import SharedFolder
from linkwright.lab.config import LabConfig
from linkwright.lab.drivers.driver import LinkDriver
from linkwright.lab.drivers.layout import driver_layout
from linkwright.lab.drivers.links import driver_at
from linkwright.lab.drivers.memory_link import shared_root
from linkwright.lab.remote import TaskProcess, arguments_record, results_record
from linkwright.lab.running import task_function
from linkwright.lab.slot import MEMBER, SlotLayout
from linkwright.lab.stored_tasks import holding
from linkwright.lab.system import SILENCE, servo_rates
from linkwright.lab.tasks import Task
from linkwright.lab.told import told_records, told_writes
from linkwright.simulation.hardware import (
    ACTIVE,
    FAILED,
    FAULT,
    INACTIVE,
    NOT_FINITE,
    OFF,
    SILENT,
)
from linkwright.simulation.links import numbers_of
from linkwright.simulation.native.called import SlotFunction
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import Reads, Writes
from linkwright.windows import Window

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

SETTLE = 0.25
"""s of readings before a robot is enabled, so that filters have forgotten how they began."""

_OPEN = 10.0  # s, for a robot to be heard and enabled
_OFTEN = 0.01  # s, from one look to the next
_TOLD = {
    **{key: f"sensors.raw_{key}" for key in ("q", "u", "load")},
    "misc": "misc.raw",
    "base": "base_state.raw",
    "base_rate": "base_state.raw_rate",
    "fault": "hardware.read_fault",
    "beat": "hardware.read_beat",
}
_GIVEN = {key: f"hardware.{key}" for key in ("tau", "life", "beat")}


class RealSide:
    """What a laboratory on hardware has besides others: a robot at a URL, windows, processes."""

    def __init__(self, config: LabConfig, url: str) -> None:
        self.config = config
        with ExitStack() as stack:
            self.driver: LinkDriver = driver_at(url, driver_layout(config))
            self.driver.open()
            stack.callback(self.driver.close)
            self.folder = SharedFolder(shared_root(), "lab-", f"{config.name}-{os.getpid()}-")
            stack.callback(self.folder.close)
            layout = self.layout = SlotLayout(config, MEMBER)
            told, given = arguments_record(layout), results_record(layout)
            path = self.folder.path
            self._state = Window.create(path / told.name, told)
            stack.callback(self._state.close)
            Window.create(path / given.name, given).close()  # its writer is the task's process
            self._desired = Window.open(path / given.name, given)
            stack.callback(self._desired.close)
            self._told: dict[str, Window] = {}
            for servo, record in told_records(config).items():
                self._told[servo] = Window.create(path / record.name, record)
                stack.callback(self._told[servo].close)
            self._stack = stack.pop_all()
        self._process: TaskProcess | None = None
        self._quit = threading.Event()
        self._lab: Lab | None = None
        self._thread: threading.Thread | None = None

    @property
    def path(self) -> Path:
        """The folder of its windows."""
        return self.folder.path

    def loop_options(self, session: Session) -> dict[str, Any]:
        """Return what the `PacedLoop` of a laboratory's System is made with."""
        states, commands = self.driver.layout.states, self.driver.layout.commands
        layout, robot = self.layout, self.driver
        results = {port: layout.result_names(port) for port in layout.outputs}
        base = 1 / session.phases.tick_seconds
        outputs = {signal.name for signal in session.phases.d}
        told = told_writes(
            self.config,
            self._told,
            servo_rates(self.config),
            Fraction(base).limit_denominator(10**6),
            outputs.__contains__,
        )
        every = round(base / self.config.rate)
        if every > 1 and robot.keeps_time == "robot":
            raise Error(
                f"the robot keeps time at {self.config.rate:g} Hz, and the base clock of the "
                f"laboratory has {base:g} Hz",
                remedy="choose rates that divide that of the motor servo",
            )
        return {
            "clock": robot.source if robot.keeps_time == "robot" else "wall",
            "timeout": 5 / self.config.rate,
            "waits": False,
            "priority": True,
            "reads": [
                Reads(robot.source, numbers_of(states, _TOLD)),
                Reads(self._desired, results, tick="watch.answered"),
            ],
            "writes": [
                Writes(robot.target, numbers_of(commands, _GIVEN), every=every),
                *told,
            ],
        }

    # -- life --------------------------------------------------------------------------------------
    def begin(self, lab: Lab) -> None:
        """Start the loop, wait for readings, and enable the robot."""
        self._lab = lab
        ratio = round(1 / (servo_rates(self.config)[MEMBER] * lab.period))
        lab.loop.set({"guard.stop": 1.0, "watch.ratio": float(ratio)})
        lab.loop.start()
        self._thread = threading.Thread(target=self._watch, name="lab watch", daemon=True)
        try:
            self._enable(1.0)
        except Error:
            self.close()
            raise
        self._thread.start()

    @property
    def _here(self) -> Lab:
        assert self._lab is not None, "it has not begun"
        return self._lab

    def _life(self) -> int:
        return int(self._here.values("hardware.life")[0][0])

    def _enable(self, number: float) -> None:
        """Wait until the robot is there and settled, and let it follow."""
        lab = self._here
        self._await(lambda: self._life() >= INACTIVE, "nothing is heard of it")
        first = lab.loop.latest().tick
        self._await(
            lambda: lab.loop.latest().tick - first > SETTLE / float(lab.period), "it does not go on"
        )
        lab.put({"guard.stop": 0.0, "guard.reset": number, "hardware.enable": number})
        self._await(lambda: self._life() == ACTIVE, "it was not enabled")

    def _await(self, happens: Callable[[], bool], why: str) -> None:
        end = time.monotonic() + _OPEN
        while not happens():
            if self._life() == FAULT:
                raise Error(self.fault())
            if time.monotonic() > end:
                raise Error(f"the robot at {self.driver.place} cannot be driven: {why}")
            time.sleep(_OFTEN)

    def fault(self) -> str:
        """Return what is wrong with the robot, in words."""
        cause = int(self._here.values("hardware.cause")[0][0])
        words = {
            SILENT: f"nothing has been heard of it for {SILENCE:g} s",
            NOT_FINITE: "a command or its fault was no number",
            FAILED: "its driver failed",
        }
        told = words.get(cause, f"it reports the fault {cause}")
        more = self.driver.told if cause == FAILED else ""
        return f"the robot at {self.driver.place}: {told}" + (f": {more}" if more else "")

    def reset(self) -> None:
        """Let a robot follow again after a stop, from where it stands."""
        lab = self._here
        number = lab.given("guard.reset") + 1
        if self._life() in (FAULT, OFF):
            self.driver.renew()
            lab.put({"hardware.clear": number})
            end = time.monotonic() + _OPEN
            while self._life() not in (INACTIVE, ACTIVE):
                if time.monotonic() > end:
                    raise Error(self.fault())
                time.sleep(0.05)  # it may just be starting: ask again
                lab.put({"hardware.clear": lab.given("hardware.clear") + 1})
        self._enable(number)

    def _watch(self) -> None:
        """Be the thread that takes notice of faults, and of tasks whose processes have ended."""
        lab = self._here
        while not self._quit.wait(_OFTEN):
            with suppress(Error):  # the loop may just be ending
                if lab.stopped is None and self._life() == FAULT:
                    lab.stop(self.fault())
                lab.attend()
                with lab.changing:
                    runs = lab.running(MEMBER) is not None
                    process = self._process
                    why = None if process is None else process.ended()
                    if not runs:
                        self.end_process()
                    elif why is not None:
                        self._process = None
                        lab.end(MEMBER, why)

    # -- tasks -------------------------------------------------------------------------------------
    def function(self, task: Task, serial: int, start: np.ndarray[Any, Any]) -> SlotFunction:
        """Return what is called in the slot for a task after its `init`, and gives `start` then.

        A Python task gets its process.
        """
        self.end_process()
        if task.native:
            return task_function(task, self.layout)
        self._process = TaskProcess(task, self.layout, self.path, serial, start)
        told = self._here.loop.telling(MEMBER, self._state)
        sizes = self.layout.argument_count, self.layout.result_count
        return replace(told, name=task.name, program=holding(task.name, *sizes))

    @property
    def process(self) -> int | None:
        """The number of the process in which a Python task runs."""
        return None if self._process is None else self._process.pid

    def end_process(self) -> None:
        """End the process of a task that runs no more."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def close(self) -> None:
        """Disable the robot, and end everything; a second time does nothing."""
        self._quit.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(2.0)
        self.end_process()
        lab, self._lab = self._lab, None
        if lab is not None:
            with suppress(Error):
                number = lab.loop.set({"hardware.disable": 1.0 + lab.given("hardware.disable")})
                lab.loop.wait_for(number, 0.5)
                time.sleep(3 / self.config.rate)  # so that the robot is told
            lab.loop.stop()
        self._stack.close()
