"""A cell in virtual time: one System with its simulated hardware, as fast as it goes.

The same commands at the same ticks give the same bits, on any machine with the same processor.
"""

from __future__ import annotations

from pathlib import Path

from linkwright.base.errors import Error
from linkwright.server.cell import Cell
from linkwright.server.recorded import recorder_of, whole_session
from linkwright.server.running import RunningCell
from linkwright.server.sensing import VirtualSensing
from linkwright.simulation.native.stored import Tell
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.recorder import Target


class VirtualCell(RunningCell):
    """A cell that goes on when it is asked to: a `CellFace` for tests, studies and `--virtual`.

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

    def __init__(
        self,
        cell: Cell,
        *,
        record: Target | None = None,
        sensing: bool = True,
        tell: Tell | None = None,
    ) -> None:
        session = whole_session(cell, 0 if record is None else 1, tell)
        self._recorder = None if record is None else recorder_of(cell, session, record, "virtual")
        self._sensing = VirtualSensing(cell) if sensing and cell.sensors else None
        super().__init__(cell, PacedLoop(session, clock="virtual", sink=self._recorder))

    @property
    def tick(self) -> int:
        """How many ticks it has gone."""
        return self.loop.session.tick

    def now(self) -> int:
        """The cell's clock, ns."""
        return round(self.tick / self.cell.rate * 1e9)

    def _clock_of(self, clock: int) -> int:
        del clock
        return self.now()

    def advance(self, ticks: int) -> None:
        """Go on by some ticks."""
        with self._lock:
            end = self.tick + ticks
            while self.tick < end:
                following: float = end
                if self._sensing is not None:
                    self._sensing.look(self, self.tick)
                    following = min(end, self._sensing.due)
                self.loop.go_to(int(following))
                if self.loop.stopped is not None:
                    raise Error(self.loop.stopped.reason)

    def finish(self) -> Path | None:
        """Return where the recording is; None where none was asked for."""
        return None if self._recorder is None else self._recorder.finish(self.loop)
