"""A cell that runs: commands go into its loop as changes of inputs, its state comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from linkwright.server.cell import CAUSES, Cell
from linkwright.server.cell_system import record_of, state_fields, told_by
from linkwright.server.desk import Desk
from linkwright.server.face import ArmFace, Command
from linkwright.server.verbs import Inputs
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.pacing.memory import COUNTED
from linkwright.windows import Field, Record
from linkwright.windows.records import HEAD, Frame

COUNTERS = (
    Field("cell.total"),
    Field("cell.missed"),
    Field("cell.overrun"),
    Field("cell.unkept"),
    Field("cell.lateness", "s"),
    Field("cell.timeouts"),
)
"""What the loop says of itself: ticks (`total - timeouts + missed` are all instants of its
device's clock), samples that its recording has lost, and the greatest lateness so far."""


def state_record(cell: Cell) -> Record:
    """Return the declaration of a cell's state."""
    return record_of(f"{cell.name}.state", state_fields(cell), *COUNTERS)


class RunningCell:
    """A cell with its loop: a `CellFace`, whatever clock the loop follows."""

    def __init__(self, cell: Cell, loop: PacedLoop) -> None:
        self.cell, self.loop = cell, loop
        self._desk = Desk(cell)
        self._lock = threading.RLock()
        fields = state_fields(cell)
        self.state: Record = state_record(cell)
        """The declaration of its state."""
        self.state_file: Path | None = None
        """The window that its loop writes its state to, where it does."""
        places = {s.name: i for i, s in enumerate(loop.session.phases.d)}
        self._places = np.array([places[name] for x in fields for name in x.sources])
        asked = ("life", "cause", "tail", "braking", "moves", "goals", "over")
        self._asked = {
            arm.name: {key: places[f"{arm.name}_supervisor.{key}"] for key in asked}
            | {f"target{i}": places[f"{told_by(arm)}.told[{i}]"] for i in range(len(arm.axes))}
            for arm in cell.arms
        }

    @property
    def name(self) -> str:
        """Its name on the network."""
        return self.cell.name

    @property
    def rate(self) -> float:
        """Ticks in a second."""
        return self.cell.rate

    @property
    def arms(self) -> Mapping[str, ArmFace]:
        """Its arms by name."""
        return self._desk.faces

    @property
    def causes(self) -> tuple[str, ...]:
        """Why arms stop, by number."""
        return CAUSES

    def now(self) -> int:
        """The cell's clock, ns."""
        return time.monotonic_ns()

    def latest(self) -> Frame:
        """The newest state; the loop is not waited for."""
        stood, counted = self.loop.latest(), self.loop.counters
        loop = [getattr(counted, name) for name in COUNTED]
        data = bytearray(HEAD)  # all fields are f64, in the order of their places
        data += np.concatenate([stood.d[self._places], loop]).astype("<f8").tobytes()
        tick, clock = max(stood.tick, 0), self._clock_of(stood.clock)
        self.state.seal(data, tick, tick, clock)
        return Frame(self.state, bytes(data), tick, tick, clock)

    def _clock_of(self, clock: int) -> int:
        """Return when a tick of the loop was, ns on the cell's clock."""
        return clock

    def put(self, inputs: Inputs) -> int:
        """Change inputs from the next tick on, all at once; return the number of the change."""
        return self.loop.set(inputs)

    def command(self, arm: str, command: Command) -> None:
        """Put a command before the loop; raise `RefusedError` where it cannot be taken."""
        with self._lock:
            row = self.loop.latest().d
            state = {key: float(row[i]) for key, i in self._asked.get(arm, {}).items()}
            self.put(self._desk.command(arm, command, state, self.now()))

    def beat(self, arm: str, holder: int, silence: float) -> None:
        """Say that the holder of an arm's lease lives; silent for `silence` seconds, it stops."""
        with self._lock:
            self.put(self._desk.beat(arm, holder, silence))

    def halt(self, cause: str) -> None:
        """Stop everything at once, whoever asks."""
        del cause
        with self._lock:
            self.put(self._desk.halt())

    def place_frame(
        self, name: str, pose: tuple[float, ...], twist: tuple[float, ...], time: int
    ) -> None:
        """Say where a sensed frame is: pose and twist, and when that was, ns."""
        with self._lock:
            # it enters at the next tick, and its age is counted from there
            following = self._clock_of(self.loop.latest().clock) + round(1e9 / self.rate)
            age = (max(self.now(), following) - time) / 1e9
            self.put(self._desk.place_frame(name, pose, twist, age))
