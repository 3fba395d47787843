"""A cell in virtual time: one System with its simulated hardware, as fast as it goes.

The same commands at the same ticks give the same bits, on any machine with the same processor.
"""

from __future__ import annotations

from linkwright.errors import Error
from linkwright.server.cell import Cell
from linkwright.server.cell_system import whole_system
from linkwright.server.ready import session_of_cell
from linkwright.server.running import RunningCell
from linkwright.simulation.pacing import PacedLoop


class VirtualCell(RunningCell):
    """A cell that goes on when it is told to: a `CellFace` for tests, studies and `--virtual`.

    Args:
        cell: what it is.
        every: ticks from one sample to the next, 0 for none.

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

    def __init__(self, cell: Cell, *, every: int = 0) -> None:
        session = session_of_cell(cell, whole_system, every=every)
        super().__init__(cell, PacedLoop(session, clock="virtual"))

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
        """Go on by some ticks.

        Args:
            ticks: how many.
        """
        with self._lock:
            self.loop.go_to(self.tick + ticks)
            if self.loop.stopped is not None:
                raise Error(self.loop.stopped.reason)
