"""What a Program costs, and which of several equal Programs to keep."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from linkwright.program.counts import Counts, stage_counts
from linkwright.program.program import Program
from linkwright.program.rates import Rate

_CALL = 8  # a function call weighs as much as so many multiplications

# One pass after the other asks for the same cost; a Program never changes, so this is only a cache.
_recent: deque[tuple[Program, tuple[int, int]]] = deque(maxlen=4)


def cost(program: Program) -> tuple[int, int]:
    """Return what the derivative and the outputs cost, to be compared in this order.

    >>> from linkwright.program import program
    >>> p = program("f", {"k": ["a", "b"]}, {"f": lambda a, b: [a * b + a]})
    >>> cost(p)
    (0, 0)
    """
    for known, found in _recent.copy():  # another thread may add to it meanwhile
        if known is program:
            return found
    stages = stage_counts(program)
    moving = [c for rate, c in stages.items() if Rate.PARAMETER < rate < Rate.OUTPUT]
    result = _weight(sum(moving, start=Counts())), _weight(stages[Rate.OUTPUT])
    _recent.append((program, result))
    return result


def _weight(counts: Counts) -> int:
    return counts.total + counts.select + _CALL * counts.call


def cheapest(program: Program, others: Iterable[Program], *, or_equal: bool = False) -> Program:
    """Return the cheapest of equal Programs."""
    best, best_cost = program, cost(program)
    for other in others:
        found = cost(other)
        if found < best_cost or (or_equal and best is program and found == best_cost):
            best, best_cost = other, found
    return best
