"""A cell in virtual time: one System with its simulated hardware, as fast as it goes.

The same commands at the same ticks give the same bits, on any machine with the same processor.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error
from linkwright.server.cell import CAUSES, Cell
from linkwright.server.cell_system import Shared, record_of, state_fields, whole_system
from linkwright.server.desk import Desk, Inputs
from linkwright.server.face import ArmFace, Command
from linkwright.simulation.native.session import Session
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.windows import Field, Frame, Record

COUNTERS = (
    Field("cell.total"),
    Field("cell.missed"),
    Field("cell.overrun"),
    Field("cell.lateness", "s"),
)
"""What the loop tells of itself."""

_FOREVER = 1e7  # s


class VirtualCell:
    """A cell that goes on when it is told to: a `CellFace` for tests, studies and `--virtual`.

    Args:
        cell: what it is.

    >>> from linkwright.server.cell_file import read_cell
    >>> from linkwright.server.face import Command
    >>> cell = VirtualCell(read_cell("axes2"))
    >>> cell.advance(10)
    >>> cell.command("plane", Command("enable", 1))
    >>> cell.advance(20)
    >>> cell.command("plane", Command("joints", 2, (0.0, 0.5), speed=0.5))
    >>> cell.advance(2000)
    >>> [round(float(x), 3) for x in cell.latest().values["plane.q"]]
    [0.0, 0.5]
    """

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self._desk = Desk(cell)
        self._fields = state_fields(cell)
        self.state: Record = record_of(f"{cell.name}.state", self._fields, *COUNTERS)
        self._lock = threading.RLock()
        system = whole_system(cell)
        settings = RunSettings(_FOREVER, 1 / cell.rate, "semi-implicit", every=0)
        self._session: Session = session_of(system, settings)[0]
        places = {s.name: i for i, s in enumerate(self._session.phases.d)}
        self._places = {x.field.name: _indices(x, places) for x in self._fields}
        self._tails = {n: places[f"{n}_supervisor.tail"] for n in self._desk.arms}
        self.changes: list[tuple[int, Inputs]] = []
        """What was changed from outside, with the tick at which it entered."""

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

    @property
    def tick(self) -> int:
        """How many ticks it has gone."""
        return self._session.tick

    def now(self) -> int:
        """The cell's clock, ns."""
        return round(self._session.tick / self.cell.rate * 1e9)

    def advance(self, ticks: int) -> None:
        """Go on by some ticks.

        Args:
            ticks: how many.
        """
        with self._lock:
            session = self._session
            end = session.tick + ticks
            session.extend(end)
            while session.tick < end:
                session.advance(ticks + 1)
                if session.stop is not None:
                    raise Error(session.stop.reason)

    def latest(self) -> Frame:
        """The newest state."""
        with self._lock:
            row = self._session.machine.rows_of("d")[0]
            tick = self._session.tick
        values: dict[str, object] = {
            name: row[places] if len(places) > 1 or self._shaped(name) else row[places[0]]
            for name, places in self._places.items()
        }
        values |= {"cell.total": tick, "cell.missed": 0, "cell.overrun": 0, "cell.lateness": 0}
        data = self.state.pack(values, sequence=tick, tick=tick, clock=self.now())
        return self.state.unpack(data)

    def _shaped(self, name: str) -> bool:
        return any(x.field.name == name and x.field.shape for x in self._fields)

    def put(self, inputs: Inputs) -> None:
        """Change inputs of the System from the next tick on, all at once.

        Args:
            inputs: values by name.
        """
        with self._lock:
            self._session.set(inputs)
            self.changes.append((self._session.tick, dict(inputs)))

    def command(self, arm: str, command: Command) -> None:
        """Put a command before the loop; raise `RefusedError` where it cannot be taken."""
        with self._lock:
            row = self._session.machine.rows_of("d")[0]
            state = {f"{n}.tail": float(row[i]) for n, i in self._tails.items()}
            for key in ("life", "cause"):
                for n in self._desk.arms:
                    state[f"{n}.{key}"] = float(row[self._places[f"{n}.{key}"][0]])
            self.put(self._desk.command(arm, command, state, self.now()))

    def beat(self, arm: str, holder: int, silence: float) -> None:
        """Say that the holder of an arm's lease lives."""
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
        """Say where a sensed frame is."""
        with self._lock:
            age = (self.now() - time) / 1e9
            self.put(self._desk.place_frame(name, pose, twist, age))


def _indices(shared: Shared, places: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([places[name] for name in shared.sources])
