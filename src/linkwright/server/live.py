"""A cell that is live: its native loop goes by the clock of the device, a process of its own."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from linkwright.base.errors import Error
from linkwright.server.cell import Cell
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import device_commands, device_states, state_fields
from linkwright.server.device import COMMANDS, STATES, commands_record, states_record
from linkwright.server.launch import DEVICE_LOG, DeviceLaunch
from linkwright.server.recorded import control_session, recorder_of
from linkwright.server.running import COUNTERS, RunningCell, state_record
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Tell
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, Reads, Writes
from linkwright.simulation.pacing.memory import COUNTED
from linkwright.simulation.recorder import Target
from linkwright.windows import Window

STATE = "state"
"""File of the cell's state, in the folder that its processes share."""

PATIENCE = 5
"""Periods of the device's clock after which the loop goes on without it."""

_START = 60.0  # s, in which a device must have started


class LiveCell(RunningCell):
    """A cell that runs by the clock on the wall, on hardware in a process of its own."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        folder: Path | None = None,
        record: Target | None = None,
        tell: Tell | None = None,
        launch: DeviceLaunch | None = None,
        cell: Cell | None = None,
    ) -> None:
        self.recording: Path | None = None
        """Where it was recorded, once it is closed."""
        with contextlib.ExitStack() as stack:
            if launch is not None:
                stack.callback(launch.close)
            cell = read_cell(source) if cell is None else cell
            given = cell.arms[0].hardware.folder
            if given:
                Path(given).mkdir(parents=True, exist_ok=True)
                if launch is not None:
                    launch.close()
                    launch = None
            elif launch is None:
                launch = DeviceLaunch(source, folder=folder, log=device_log(record))
                stack.callback(launch.close)
            self._launch = launch
            self.folder = folder = Path(given) if launch is None else launch.folder
            self.log = device_log(record)
            self._commands = Window.create(folder / COMMANDS, commands_record(cell))
            stack.callback(self._commands.close)
            self._shown = Window.create(folder / STATE, state_record(cell))
            stack.callback(self._shown.close)
            session = control_session(cell, 0 if record is None else 1, tell)
            if given and tell is not None and not (folder / STATES).exists():
                tell(f"waiting for a device that writes {folder / STATES}")
            self._states = self._opened(cell)
            stack.callback(self._states.close)
            recorder = None if record is None else recorder_of(cell, session, record, "live")
            loop = self._looped(cell, session, recorder)
            super().__init__(cell, loop)
            self.state_file = folder / STATE
            self._desk.prepare()
            if recorder is not None:
                stack.callback(self._record, recorder)
            loop.start()
            stack.callback(loop.stop)
            longest = cell.heartbeat if loop.rights.priority else cell.relaxed
            ticks = float(math.ceil(longest * cell.rate / PATIENCE))
            self.put({f"{arm.name}_supervisor.heartbeat": ticks for arm in cell.arms})
            self._stack = stack.pop_all()

    @property
    def device(self) -> subprocess.Popen[bytes] | None:
        """The process of simulated hardware."""
        return None if self._launch is None else self._launch.companion.process

    def look(self) -> Iterator[str]:
        """Start a simulated device anew that has ended; yield lines that tell of it."""
        if self._launch is not None:
            yield from self._launch.companion.look()

    def _record(self, recorder: LoopRecorder) -> None:
        self.recording = recorder.finish(self.loop)

    def _looped(self, cell: Cell, session: Session, recorder: LoopRecorder | None) -> PacedLoop:
        states = {x.field.name: x.targets for x in device_states(cell)}
        commands = {x.field.name: x.sources for x in device_commands(cell)}
        shown = {x.field.name: x.sources for x in state_fields(cell)}
        shown |= {f.name: (f"loop:{name}",) for f, name in zip(COUNTERS, COUNTED, strict=True)}
        return PacedLoop(
            session,
            clock=self._states,
            timeout=PATIENCE / cell.rate,
            reads=[Reads(self._states, states)],
            writes=[Writes(self._commands, commands, wake=False), Writes(self._shown, shown)],
            sink=recorder,
        )

    def _opened(self, cell: Cell) -> Window:
        """Return the window of the device's states, once it is there."""
        waited = 0.0
        while (self.device is None or self.device.poll() is None) and waited < _START:
            with contextlib.suppress(Error):
                return Window.open(self.folder / STATES, states_record(cell), within=0.2)
            waited += 0.2
        if self._launch is None:
            raise Error(
                f"no device of {cell.name!r} writes {self.folder / STATES}",
                remedy=f"start it; python -m linkwright.server.device CELL {self.folder} is one",
            )
        said = self._launch.companion.said
        raise Error(f"the device of {cell.name!r} has not started: {[said] if said else 'no word'}")

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


def device_log(record: Target | None) -> Path | None:
    """Return where the log of a device goes whose cell is recorded."""
    return None if record is None else record.path.with_suffix(DEVICE_LOG)
