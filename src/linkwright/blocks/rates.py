"""Rates of blocks: continuous, or at exact instants of a clock.

A period is a rational number of seconds, so that no schedule ever drifts: 60 Hz is 1/60 s, not
0.0166... A number that a person writes (500, 0.002, 1/60) stands for the simplest fraction that
rounds to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TypeAlias

from linkwright.base.errors import Error

_DENOMINATOR = 10**7


class BlockError(Error):
    """A block, element or wiring that cannot be meant."""


@dataclass(frozen=True, slots=True)
class Continuous:
    """At every instant: outputs follow inputs at once, and states are integrated."""

    def __str__(self) -> str:
        return "continuous"


@dataclass(frozen=True, slots=True)
class Sampled:
    """At instants `offset + i * period`; outputs hold in between. `sampled` makes one."""

    period: Fraction
    offset: Fraction = Fraction(0)

    def __str__(self) -> str:
        hertz = 1 / self.period
        rate = f"{hertz} Hz" if hertz.denominator == 1 else f"every {self.period} s"
        return rate if not self.offset else f"{rate} from {self.offset} s on"


@dataclass(frozen=True, slots=True)
class Ticks:
    """Every so many ticks of the System's base clock."""

    every: int
    offset: int = 0

    def __post_init__(self) -> None:
        if self.every < 1 or self.offset < 0:
            raise BlockError(f"nothing can run every {self.every} ticks from tick {self.offset} on")

    def __str__(self) -> str:
        return f"every {self.every} ticks"


CONTINUOUS = Continuous()
Rate: TypeAlias = Continuous | Sampled | Ticks


def exact(value: float | Fraction) -> Fraction:
    """Return the simplest fraction that rounds to a number.

    >>> exact(0.002), exact(1 / 60), exact(500)
    (Fraction(1, 500), Fraction(1, 60), Fraction(500, 1))
    """
    if isinstance(value, Fraction):
        return value
    given: object = value
    if not isinstance(given, Real) or not math.isfinite(value):
        raise BlockError(f"{value!r} is neither a time nor a rate", remedy="give a finite number")
    whole = Fraction(value)
    simple = whole.limit_denominator(_DENOMINATOR)
    return simple if float(simple) == float(value) else whole


def sampled(
    hertz: float | Fraction | None = None,
    *,
    period: float | Fraction | None = None,
    offset: float | Fraction = 0,
) -> Sampled:
    """Return the rate of a sampled block, by its frequency or by its period.

    Args:
        hertz: instants in a second.
        period: from one instant to the next, s.
        offset: the first instant, s.

    >>> print(sampled(500))
    500 Hz
    >>> print(sampled(period=0.3, offset=0.1))
    every 3/10 s from 1/10 s on
    """
    if (hertz is None) == (period is None):
        raise BlockError("a rate is given in hertz or by its period, one of the two")
    given = exact(hertz if hertz is not None else period or 0)
    start = exact(offset)
    if given <= 0 or start < 0:
        when = f"every {period} s" if hertz is None else f"at {hertz} Hz"
        raise BlockError(f"nothing can run {when} from {offset} s on")
    return Sampled(given if hertz is None else 1 / given, start)


def as_rate(value: Rate | float | Fraction | None) -> Rate:
    """Return a rate: a number stands for hertz, None for continuous.

    >>> print(as_rate(None), as_rate(60))
    continuous 60 Hz
    """
    if value is None:
        return CONTINUOUS
    if isinstance(value, Continuous | Sampled | Ticks):
        return value
    return sampled(value)
