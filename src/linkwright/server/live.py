"""A cell that is live: its native loop follows the clock of the device, a process of its own."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.server.cell import Cell
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import device_commands, device_states, state_fields
from linkwright.server.device import COMMANDS, STATES, commands_record, states_record
from linkwright.server.launch import DEVICE_LOG, DeviceLaunch
from linkwright.server.recorded import control_session, recorder_of
from linkwright.server.running import COUNTERS, RunningCell, state_record
from linkwright.simulation.links import DeviceLink
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


class CellDevice(DeviceLink):
    """The device of a cell: its states come through one window, commands go through another.

    Where the cell's file names no folder, the device is simulated, in a process that is started
    here.
    """

    def __init__(self, cell: Cell, folder: Path, launch: DeviceLaunch | None) -> None:
        self.cell, self.folder, self.launch = cell, folder, launch
        self._commands = Window.create(folder / COMMANDS, commands_record(cell))

    def open(self) -> None:
        """Wait for the device's window of states."""
        waited = 0.0
        while (self.launch is None or not self.launch.companion.ended) and waited < _START:
            with suppress(Error):
                states = Window.open(self.folder / STATES, states_record(self.cell), within=0.2)
                self.ports = states, self._commands
                return
            waited += 0.2
        if self.launch is None:
            raise Error(
                f"no device of {self.cell.name!r} writes {self.folder / STATES}",
                remedy=f"start it; python -m linkwright.server.device CELL {self.folder} is one",
            )
        said = self.launch.companion.said
        why = [said] if said else "no word"
        raise Error(f"the device of {self.cell.name!r} has not started: {why}")

    def close(self) -> None:
        """Let go of the device; a second time does nothing."""
        super().close()
        self._commands.close()


class LiveCell(RunningCell, Closable):
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
        with ExitStack() as stack:
            if launch is not None:
                stack.callback(launch.close)
            cell = read_cell(source) if cell is None else cell
            given, self.log = cell.arms[0].hardware.folder, device_log(record)
            if given:
                Path(given).mkdir(parents=True, exist_ok=True)
                if launch is not None:
                    launch.close()
                    launch = None
            elif launch is None:
                launch = DeviceLaunch(source, folder=folder, log=self.log)
                stack.callback(launch.close)
            self.folder = folder = Path(given) if launch is None else launch.folder
            link = self._link = CellDevice(cell, folder, launch)
            stack.callback(link.close)
            shown = stack.enter_context(Window.create(folder / STATE, state_record(cell)))
            session = control_session(cell, 0 if record is None else 1, tell)
            if given and tell is not None and not (folder / STATES).exists():
                tell(f"waiting for a device that writes {folder / STATES}")
            link.open()
            recorder = None if record is None else recorder_of(cell, session, record, "live")
            loop = _looped(cell, link, shown, session, recorder)
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
        launch = self._link.launch
        return None if launch is None else launch.companion.process

    def look(self) -> Iterator[str]:
        """Start a simulated device anew that has ended; yield lines that report it."""
        if self._link.launch is not None:
            yield from self._link.launch.companion.look()

    def _record(self, recorder: LoopRecorder) -> None:
        self.recording = recorder.finish(self.loop)

    def close(self) -> None:
        """End the loop and the device; a second time does nothing."""
        self._stack.close()


def _looped(
    cell: Cell,
    link: CellDevice,
    shown: Window,
    session: Session,
    recorder: LoopRecorder | None,
) -> PacedLoop:
    """Return the loop of a cell, which follows the clock of its device, and shows the state."""
    states = {x.field.name: x.targets for x in device_states(cell)}
    commands = {x.field.name: x.sources for x in device_commands(cell)}
    told = {x.field.name: x.sources for x in state_fields(cell)}
    told |= {f.name: (f"loop:{name}",) for f, name in zip(COUNTERS, COUNTED, strict=True)}
    return PacedLoop(
        session,
        clock=link.source,
        timeout=PATIENCE / cell.rate,
        reads=[Reads(link.source, states)],
        writes=[Writes(link.target, commands, wake=False), Writes(shown, told)],
        sink=recorder,
    )


def device_log(record: Target | None) -> Path | None:
    """Return where the log of a device goes whose cell is recorded."""
    return None if record is None else record.path.with_suffix(DEVICE_LOG)
