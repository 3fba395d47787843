"""Where functions of time that drive inputs jump or bend: steps end there.

A function in Python says nothing of itself. It is looked at in 16,384 intervals of the run. Where
its change differs from those beside it, it jumps (the instant is then found to the last bit) or
bends;
what happens within one interval and is over at its end is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_INTERVALS = 16_384
_MOST = 500
"""Jumps that are located; of more than these, the borders of their intervals are taken."""


def bends(function: Callable[[float], Any], until: float) -> list[float]:
    """Return when a function of time jumps or bends, s, rising; none, or two or more.

    Units: `function` in s, `until` in s.

    >>> knots = bends(lambda t: float(0.3 < t < 0.6), 1.0)
    >>> [any(abs(t - jump) < 1e-15 for t in knots) for jump in (0.3, 0.6, 0.4)]
    [True, True, False]
    """
    times = np.linspace(0.0, until, _INTERVALS + 1)
    try:
        values = np.array([float(function(float(t))) for t in times])
    except Exception:  # the run itself calls it, and tells what is wrong
        return []
    if not np.isfinite(values).all():
        return []
    change = np.diff(values)
    size = np.abs(np.concatenate((change[:1], change, change[-1:])))
    largest = np.maximum(np.maximum(size[:-2], size[2:]), size[1:-1])
    bent = np.abs(np.diff(np.concatenate((change[:1], change, change[-1:]))))
    apart = np.maximum(bent[:-1], bent[1:])
    span = float(np.ptp(values))
    odd = np.flatnonzero((apart > 0.2 * largest) & (apart > 1e-6 * span))
    knots: set[float] = set()
    for i in odd.tolist():
        jump = _jump(function, times[i], times[i + 1], change[i]) if len(odd) <= _MOST else None
        knots |= {float(times[i]), float(times[i + 1])} if jump is None else {jump}
    inside = sorted(t for t in knots if 0.0 < t < until)
    return inside if len(inside) != 1 else [*inside, until]


def _jump(
    function: Callable[[float], Any], first: float, last: float, change: float
) -> float | None:
    """Return when a function jumps in an interval; None where it does not."""
    low, high = float(first), float(last)
    at_low, at_high = float(function(low)), float(function(high))
    while low < (middle := 0.5 * (low + high)) < high:
        value = float(function(middle))
        if abs(value - at_low) > abs(at_high - value):
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return high if abs(at_high - at_low) > 0.1 * abs(change) > 0.0 else None
