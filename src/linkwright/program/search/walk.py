"""The walk of the local search over a sheet: moves, acceptance, the best so far.

A move that makes the Program no longer is kept, a longer one only by chance and only if it is
little longer (a walk at a low temperature, as in simulated annealing); now and then the walk goes
back to the best. Everything random comes from one generator, whose numbers are the same in every
version of Python, so that the same seed and number of moves give the same Program.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from linkwright.program.search.moves import collapse
from linkwright.program.search.resubstitution import resubstitute
from linkwright.program.search.sharing import Rejected, settle
from linkwright.program.search.sheet import Sheet

Progress = Callable[[int, int], None]  # moves made, operations of the best

_WARM = 0.3  # operations; the walk ends at zero
_RENEW = 1_000  # moves after which the sheet is written anew, and the walk may go back


class Walk:
    """A search over one sheet."""

    def __init__(self, sheet: Sheet, seed: int, share: float = 0.12) -> None:
        self.chance = random.Random(seed).random
        self.share = share
        self.names = list(range(len(sheet.value)))  # where the first sheet's nodes are now, or -1
        self.sheet = sheet
        self.made = 0
        start = sheet.mark()
        sheet.dirty.update(dict.fromkeys(sheet.pairs))
        sheet.dirty.update(dict.fromkeys(sheet.divisors))
        sheet.touched.update(dict.fromkeys(range(len(sheet.value))))
        try:
            settle(sheet, self.chance)
        except Rejected:
            sheet.undo(start)
        self.renew()
        self.best, self.best_names = copied(self.sheet)[0], list(self.names)

    def renew(self) -> None:
        """Write the sheet anew, without what is dead."""
        self.sheet, where = copied(self.sheet)
        self.names = [where.get(n, -1) for n in self.names]

    def run(self, moves: int, progress: Progress | None = None) -> None:
        """Make moves; `best` is there at any time, also after an interrupt."""
        nodes: list[int] = []
        end = self.made + moves
        start = self.made
        while self.made < end:
            if self.made % _RENEW == 0:
                if self.sheet.cost > self.best.cost + 1:
                    self.sheet, self.names = self.best, list(self.best_names)
                self.renew()
                nodes = []
            if len(nodes) < 1 or self.made % 25 == 0:
                sheet = self.sheet
                nodes = [n for n in range(len(sheet.value)) if sheet.rows[n]]
                if not nodes:
                    return
            self.made += 1
            self.move(nodes, _WARM * (end - self.made) / (end - start))
            if progress is not None and self.made % 50 == 0:
                progress(self.made, self.best.cost)

    def move(self, nodes: list[int], temperature: float) -> None:
        """Make one move and keep it or take it back."""
        sheet, chance = self.sheet, self.chance
        mark = sheet.mark()
        before = sheet.cost
        try:
            step = resubstitute if chance() < self.share else collapse
            if not step(sheet, chance, nodes):
                return
            settle(sheet, chance, 0.9 if chance() < 0.5 else 2.0)
        except Rejected:
            sheet.undo(mark)
            return
        except KeyboardInterrupt:
            sheet.undo(mark)
            raise
        worse = sheet.cost - before
        if worse > 0 and not (temperature > 0 and chance() < math.exp(-worse / temperature)):
            sheet.undo(mark)
        elif sheet.cost < self.best.cost:
            self.best, where = copied(sheet)
            self.best_names = [where.get(n, -1) for n in self.names]


def copied(sheet: Sheet) -> tuple[Sheet, dict[int, int]]:
    """Return the sheet without what is dead, and where its nodes went."""
    new = Sheet(sheet.coefficients)
    where: dict[int, int] = {}
    for node, value in enumerate(sheet.value):
        if sheet.is_sum[node] and not sheet.rows[node]:
            continue
        where[node] = len(new.value)
        new.add_node(value, is_sum=sheet.is_sum[node])
    for node, made in where.items():
        new.held[made] = sheet.held[node]
        new.inverse[made] = sheet.inverse[node]
        new.reads[made] = tuple(where[n] for n in sheet.reads[node] if n in where)
        for literals, row in sheet.rows[node].items():
            mapped = tuple(sorted(2 * where[l >> 1] + (l & 1) for l in literals))
            new.add(made, mapped, sheet.coefficient[row])
    new.by_value.clear()
    for value, node in sheet.by_value.items():
        if node in where:
            new.by_value[value] = where[node]
    return new, where
