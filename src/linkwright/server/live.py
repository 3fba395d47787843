"""A cell that is live: its native loop goes by the clock of the device, a process of its own."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from linkwright.errors import Error
from linkwright.recording import Recording
from linkwright.server.cell import Cell
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import (
    device_commands,
    device_states,
)
from linkwright.server.device import (
    COMMANDS,
    LOG,
    STATES,
    commands_record,
    states_record,
)
from linkwright.server.ready import Tell
from linkwright.server.recorded import control_session, recorder_of
from linkwright.server.running import RunningCell
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, Reads, Writes
from linkwright.simulation.recorder import Target
from linkwright.windows import Window

PATIENCE = 5
"""Periods of the device's clock after which the loop goes on without it."""

_START = 60.0  # s, in which a device must have started


class LiveCell(RunningCell):
    """A cell that runs by the clock on the wall, on hardware in a process of its own.

    Args:
        source: a cell.toml, or the name of a cell that ships.
        folder: for windows and the device's log; a temporary one by default. Hardware of the kind
            "window" has its own.
        record: where its recording goes, with the device's log beside it; none is made by
            default, and the log lies in the folder.
        tell: told where its start takes long.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        folder: Path | None = None,
        record: Target | None = None,
        tell: Tell | None = None,
    ) -> None:
        cell = read_cell(source)
        self.recording: Recording | None = None
        """What was recorded, once it is closed."""
        with contextlib.ExitStack() as stack:
            given = cell.arms[0].hardware.folder
            if given:
                folder = Path(given)
                folder.mkdir(parents=True, exist_ok=True)
            elif folder is None:
                folder = Path(stack.enter_context(_shared_folder(cell.name)))
            self.folder = folder
            self._commands = Window.create(folder / COMMANDS, commands_record(cell))
            stack.callback(self._commands.close)
            self.log = (
                folder / LOG if record is None else record.path.with_suffix(".device.journal")
            )
            self.device: subprocess.Popen[bytes] | None = None
            """The process of simulated hardware."""
            if not given:
                self.device = _started(source, folder, self.log)
                stack.callback(_ended, self.device)
            session = control_session(cell, 0 if record is None else 1, tell)
            if given and tell is not None and not (folder / STATES).exists():
                tell(f"waiting for a device that writes {folder / STATES}")
            self._states = self._opened(cell)
            stack.callback(self._states.close)
            recorder = None if record is None else recorder_of(cell, session, record, "live")
            loop = self._looped(cell, session, recorder)
            super().__init__(cell, loop)
            if recorder is not None:
                stack.callback(self._record, recorder)
            loop.start()
            stack.callback(loop.stop)
            longest = cell.heartbeat if loop.rights.priority else cell.relaxed
            ticks = float(math.ceil(longest * cell.rate / PATIENCE))
            self.put({f"{arm.name}_supervisor.heartbeat": ticks for arm in cell.arms})
            self._stack = stack.pop_all()

    def _record(self, recorder: LoopRecorder) -> None:
        self.recording = recorder.finish(self.loop)

    def _looped(self, cell: Cell, session: Session, recorder: LoopRecorder | None) -> PacedLoop:
        states = {x.field.name: x.targets for x in device_states(cell)}
        commands = {x.field.name: x.sources for x in device_commands(cell)}
        return PacedLoop(
            session,
            clock=self._states,
            timeout=PATIENCE / cell.rate,
            reads=[Reads(self._states, states)],
            writes=[Writes(self._commands, commands, wake=False)],
            sink=recorder,
        )

    def _opened(self, cell: Cell) -> Window:
        """Return the window of the device's states, once it is there."""
        waited = 0.0
        while (self.device is None or self.device.poll() is None) and waited < _START:
            with contextlib.suppress(Error):
                return Window.open(self.folder / STATES, states_record(cell), within=0.2)
            waited += 0.2
        if self.device is None:
            raise Error(
                f"no device of {cell.name!r} writes {self.folder / STATES}",
                remedy=f"start it; python -m linkwright.server.device CELL {self.folder} is one",
            )
        told = (self.folder / "device.log").read_text("utf-8", "replace").strip()
        raise Error(
            f"the device of {cell.name!r} has not started: {told.splitlines()[-1:] or 'no word'}"
        )

    def close(self) -> None:
        """End the loop and the device; a second time does nothing."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _shared_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder in memory where there is one, for this user alone."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        prefix=f"linkwright-{name}-",
        dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None,
        ignore_cleanup_errors=True,
    )


def _started(source: str | os.PathLike[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "linkwright.server.device", os.fspath(source), str(folder)]
    command += ["--log", str(log)]
    with (folder / "device.log").open("wb") as told:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )


def _ended(device: subprocess.Popen[bytes]) -> None:
    """End the device; it is killed where it does not end by itself."""
    device.terminate()
    try:
        device.wait(5)
    except subprocess.TimeoutExpired:
        device.kill()
        device.wait()
