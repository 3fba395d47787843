"""What a run may be asked for: end times, steps and tolerances that mean something."""

from __future__ import annotations

import math
import sys
from numbers import Real
from typing import TypeGuard

from linkwright.errors import Error

MOST_SECONDS = 1e12
"""The latest end time, s: some 30,000 years."""
MOST_STEPS = 1e11
"""The most steps of one run; the fastest models take hours for them."""
TOO_MANY = 1e10
"""A run crawls where it goes at a pace that takes so many steps to the end."""
OFTEN = 500_000
"""How many steps the pace is taken over."""


def require_end(until: object) -> None:
    """Refuse an end time that no run can come to.

    >>> require_end(1e300)
    Traceback (most recent call last):
        ...
    linkwright.errors.Error: the end time 1e+300 s is later than 1e+12 s; give it in seconds
    """
    if not is_number(until):
        raise Error(f"the end time {until!r} is no finite number", remedy="give it in seconds")
    if not until > 0:
        raise Error(f"the end time {until} is not after the start")
    if until > MOST_SECONDS:
        raise Error(
            f"the end time {until:g} s is later than {MOST_SECONDS:g} s",
            remedy="give it in seconds",
        )


def divided(until: float, tick: float) -> tuple[int, float]:
    """Return how many ticks there are to an end time, and the end where it cuts the last one short.

    >>> divided(2.0, 0.005), divided(2.333, 0.005)
    ((400, inf), (467, 2.333))
    """
    ticks = round(until / tick)
    if ticks >= 1 and abs(ticks * tick - until) <= 1e-9 * until:
        return ticks, math.inf
    return math.floor(until / tick) + 1, until


def require_step(step: object, until: float) -> None:
    """Refuse a step that does not lead to the end.

    >>> require_step(1e-12, 1.0)
    Traceback (most recent call last):
        ...
    linkwright.errors.Error: 1 s in steps of 1e-12 s are 1e+12 steps, more than 1e+11; choose a \
longer step
    """
    if not is_number(step):
        raise Error(f"the step {step!r} is no finite number", remedy="give it in seconds")
    if not step > 0:
        raise Error(f"the step {step} is not above zero")
    count = until / float(step)
    if count > MOST_STEPS:
        raise Error(
            f"{until:g} s in steps of {step:g} s are {count:.3g} steps, more than {MOST_STEPS:g}",
            remedy="choose a longer step",
        )


def require_every(every: object, least: int = 1) -> None:
    """Refuse an interval of samples that is no whole number.

    >>> require_every(0)
    Traceback (most recent call last):
        ...
    linkwright.errors.Error: every 0 steps cannot be recorded; it is a whole number, 1 or more
    """
    if not is_number(every) or every < least or not float(every).is_integer():
        raise Error(
            f"every {every!r} steps cannot be recorded; it is a whole number, {least} or more"
        )


def require_tolerance(tolerance: object) -> None:
    """Refuse a tolerance that is no relative error.

    >>> require_tolerance(-1.0)
    Traceback (most recent call last):
        ...
    linkwright.errors.Error: the tolerance -1.0 is not between 0 and 1
    """
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise Error(f"the tolerance {tolerance!r} is not between 0 and 1")
    if tolerance < sys.float_info.epsilon:
        raise Error(
            f"the tolerance {tolerance!r} is below rounding, {sys.float_info.epsilon:.2g}",
            remedy="take 1e-13 or more",
        )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number, and no truth value.

    >>> is_number(1.5), is_number(True), is_number("1"), is_number(math.nan), is_number(10**400)
    (True, False, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number beyond all floats
        return False


class Pace:
    """Watches whether steps have become so short that a run would never come to its end."""

    def __init__(self, until: float, often: int | None = None) -> None:
        self.until = until
        self.often = OFTEN if often is None else often
        self._last = (0, 0.0)

    def restart(self, steps: int, t: float) -> None:
        """Count from here."""
        self._last = (steps, t)

    def crawls(self, steps: int, t: float) -> float | None:
        """Return the mean step, s, of a run that would take too many to the end, or None.

        >>> Pace(1.0, often=10).crawls(10, 1e-12)
        1e-13
        """
        done = steps - self._last[0]
        if done < self.often:
            return None
        mean = (t - self._last[1]) / done
        self._last = (steps, t)
        return mean if mean * TOO_MANY < self.until - t else None
