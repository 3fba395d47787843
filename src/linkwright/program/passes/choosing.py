"""What a Program costs, and which of several equal Programs to keep."""

from __future__ import annotations

from collections.abc import Iterable

from linkwright.program.counts import Counts, stage_counts
from linkwright.program.program import Program
from linkwright.program.rates import Rate

_CALL = 8  # a function call weighs as much as so many multiplications


def cost(program: Program) -> tuple[int, int, int]:
    """Return what the derivative, the outputs and the parameter stage cost, to be compared so.

    >>> from linkwright.program import program
    >>> p = program("f", {"k": ["a", "b"]}, {"f": lambda a, b: [a * b + a]})
    >>> cost(p)
    (0, 0, 2)
    """
    stages = stage_counts(program)
    moving = [c for rate, c in stages.items() if Rate.PARAMETER < rate < Rate.OUTPUT]
    derivative = sum(moving, start=Counts())
    return _weight(derivative), _weight(stages[Rate.OUTPUT]), _weight(stages[Rate.PARAMETER])


def _weight(counts: Counts) -> int:
    return counts.total + counts.select + _CALL * counts.call


def cheapest(program: Program, others: Iterable[Program]) -> Program:
    """Return the cheapest of equal Programs; the given one unless another is cheaper."""
    best, best_cost = program, cost(program)[:2]
    for other in others:
        found = cost(other)[:2]
        if found < best_cost and found[0] <= best_cost[0]:
            best, best_cost = other, found
    return best
