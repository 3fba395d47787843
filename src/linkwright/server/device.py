"""The device process of a cell: its simulated hardware, which owns the clock, PANIC and brakes.

``python -m linkwright.server.device CELL FOLDER`` runs the hardware of a cell in native code at the
cell's rate. In the folder lie two windows: `states`, which this process writes and whose wake-ups
are the clock of the server's loop, and `commands`, which the server writes. Whatever becomes of the
server, the device goes on by itself: where the heartbeat of the loop stays away, currents are zero
and brakes close. Its own log, where one is asked for, has a row for each of its ticks.

Signals: USR1 presses the button of the cell, USR2 releases it, TERM ends the process.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from linkwright.recording import Channel
from linkwright.recording.journal import Journal
from linkwright.server.cell import Cell
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import (
    device_commands,
    device_states,
    device_system,
    record_of,
    session_of_cell,
)
from linkwright.simulation.links import window_ports
from linkwright.simulation.native.session import Samples
from linkwright.simulation.pacing import PacedLoop, Reads, Writes
from linkwright.windows import Record

STATES, COMMANDS = "states", "commands"
"""Files in the folder that the processes of a cell share."""

LOGGED = ("tick", "missing", "panicked", "closed", "flowing")
"""What the device's log reports each arm."""

_LONELY = 5.0  # s, after which a device whose server is gone ends too


def states_record(cell: Cell) -> Record:
    """Return what the device sends: the states of all arms."""
    return record_of(f"{cell.name}.{STATES}", device_states(cell))


def commands_record(cell: Cell) -> Record:
    """Return what the device is commanded: the commands of all arms."""
    return record_of(f"{cell.name}.{COMMANDS}", device_commands(cell))


class DeviceProcess:
    """The simulated hardware of a cell, live."""

    def __init__(self, cell: Cell, folder: Path, log: Path | None = None) -> None:
        self.cell, self.folder = cell, folder
        states, commands = device_states(cell), device_commands(cell)
        logged = [f"{arm.name}_card.{word}" for arm in cell.arms for word in LOGGED]
        ports = list(dict.fromkeys([*(name for x in states for name in x.sources), *logged]))
        session = session_of_cell(cell, device_system, every=1, record=ports)
        names = [s.name for s in session.phases.outputs]
        self._columns = [names.index(name) for name in logged]
        channels = [Channel(name, "1") for name in logged]
        self.commands, self.states = window_ports(
            (folder / COMMANDS, commands_record(cell)),
            (folder / STATES, states_record(cell)),
            within=60.0,
        )
        self._log: Journal | None = None
        if log is not None:  # not before there is a server, which may refuse the cell
            self._log = Journal(log, channels, {"cell": cell.name}, replace=True)
        self.loop = PacedLoop(
            session,
            reads=[Reads(self.commands, {x.field.name: x.targets for x in commands})],
            writes=[Writes(self.states, {x.field.name: x.sources for x in states}, instants=True)],
            sink=self,
        )

    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Keep what the device did in its log."""
        del changes
        if self._log is not None:
            self._log.append(samples.times, samples.values[:, self._columns])

    def press(self, down: bool) -> None:
        """Press or release the button of the cell."""
        self.loop.set({f"{arm.name}_card.button": float(down) for arm in self.cell.arms})

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Run until it is to end; then currents are zero, for nobody writes them any more."""
        with self.loop:
            if not self.loop.rights.priority:
                ticks = float(round(self.cell.relaxed * self.cell.rate))
                self.loop.set({f"{arm.name}_card.heartbeat": ticks for arm in self.cell.arms})
            while goes_on() and self.loop.running:
                pass
        if self._log is not None:
            self._log.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Be the device process."""
    parser = argparse.ArgumentParser(prog="linkwright.server.device", description=__doc__)
    parser.add_argument("cell", help="a cell.toml, or the name of a cell that ships")
    parser.add_argument("folder", type=Path, help="where the windows lie")
    parser.add_argument("--log", type=Path, help="the device's own log; none by default")
    given = parser.parse_args(arguments)
    parent, ended = os.getppid(), threading.Event()
    presses: list[bool] = []

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    signal.signal(signal.SIGUSR1, lambda *_: presses.append(True))
    signal.signal(signal.SIGUSR2, lambda *_: presses.append(False))
    device = DeviceProcess(read_cell(given.cell), given.folder, given.log)
    lonely = 0.0

    def goes_on() -> bool:
        nonlocal lonely
        while presses:
            device.press(presses.pop(0))
        lonely = lonely + 0.02 if os.getppid() != parent else 0.0
        return not ended.wait(0.02) and lonely < _LONELY

    device.run(goes_on)
    if lonely >= _LONELY:  # nobody else takes the windows away
        for name in (STATES, COMMANDS):
            (given.folder / name).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
