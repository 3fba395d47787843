"""Rainflow counting: the cycles of load that fatigue counts, by ASTM E1049-85, section 5.4.4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.results import Result


@dataclass(frozen=True, slots=True)
class LoadCycle(Result):
    """A cycle of load.

    Args:
        range: from valley to peak.
        mean: between them.
        count: 1, or 0.5 for half a cycle.

    Example:
        >>> LoadCycle(4.0, 1.0, 0.5).count
        0.5
    """

    range: float
    mean: float
    count: float


def rainflow(values: ArrayLike) -> tuple[LoadCycle, ...]:
    """Return the cycles of a load, in the order in which they close.

    Args:
        values: of the load, one after the other.

    >>> rainflow([-2, 1, -3, 5, -1, 3, -4, 4, -2])[2]
    LoadCycle(range=4.0, mean=1.0, count=1.0)
    """
    return tuple(_cycles(list(_reversals(np.asarray(values, dtype=float)))))


def _reversals(x: np.ndarray) -> Iterator[float]:
    """Yield the first value, the peaks and valleys, and the last value."""
    kept = x[np.concatenate([[True], np.diff(x) != 0])] if len(x) else x
    if len(kept) < 2:
        return
    slopes = np.sign(np.diff(kept))
    yield float(kept[0])
    yield from map(float, kept[1:-1][slopes[1:] != slopes[:-1]])
    yield float(kept[-1])


def _cycles(points: Sequence[float]) -> Iterator[LoadCycle]:
    stack: list[float] = []
    for point in points:
        stack.append(point)
        while len(stack) >= 3:
            newest = abs(stack[-1] - stack[-2])
            before = abs(stack[-2] - stack[-3])
            if newest < before:
                break
            middle = 0.5 * (stack[-2] + stack[-3])
            if len(stack) == 3:  # the range holds the starting point
                yield LoadCycle(before, middle, 0.5)
                stack.pop(0)
            else:
                yield LoadCycle(before, middle, 1.0)
                last = stack.pop()
                del stack[-2:]
                stack.append(last)
    for a, b in pairwise(stack):
        yield LoadCycle(abs(b - a), 0.5 * (a + b), 0.5)
