"""The base clock of a System: one tick of which every sampled block's period is a whole multiple.

Periods and offsets are exact fractions of seconds, so the tick is their greatest common divisor,
and a schedule is a pair of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from linkwright.blocks import BlockError, Continuous, Rate, Sampled, Ticks

FINEST = Fraction(1, 10_000_000)
"""The shortest base tick that is taken without being asked for, s."""

USUAL = Fraction(1, 1000)
"""The base tick of a System in which nothing is sampled, s."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a block runs: at base ticks offset + i * every."""

    every: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """The base tick in seconds, and what runs when, by name.

    >>> from linkwright.blocks import sampled
    >>> clock = make_clock({"servo": sampled(500), "task": sampled(60)})
    >>> clock.tick, clock.schedules["servo"].every, clock.schedules["task"].every
    (Fraction(1, 1500), 3, 25)
    """

    tick: Fraction
    schedules: Mapping[str, Schedule]

    def period(self, name: str) -> Fraction:
        """Return the period of a block, s."""
        return self.tick * self.schedules[name].every


def make_clock(rates: Mapping[str, Rate], base: Fraction | None = None) -> Clock:
    """Return the clock of some blocks.

    >>> from linkwright.blocks import sampled
    >>> make_clock({"servo": sampled(500), "task": sampled(60)}, Fraction(1, 1000))
    Traceback (most recent call last):
        ...
    linkwright.blocks.rates.BlockError: 'task' runs at 60 Hz, and that is not a whole number of \
ticks of the base clock of 1000 Hz; take a base clock of 3000 Hz
    """
    timed = {name: rate for name, rate in rates.items() if isinstance(rate, Sampled)}
    counted = {name: rate for name, rate in rates.items() if isinstance(rate, Ticks)}
    if base is None:
        if counted:
            name, rate = next(iter(counted.items()))
            raise BlockError(
                f"{name!r} runs {rate}, but the System has no base clock",
                remedy="give the System base=..., in hertz",
            )
        tick = _common(timed)
    else:
        tick = base
        _refuse_others(timed, tick)
    schedules = {name: Schedule(rate.every, rate.offset) for name, rate in counted.items()}
    schedules |= {
        name: Schedule(int(rate.period / tick), int(rate.offset / tick))
        for name, rate in timed.items()
    }
    ordered = {n: schedules[n] for n, rate in rates.items() if not isinstance(rate, Continuous)}
    return Clock(tick, ordered)


def common(a: Fraction, b: Fraction) -> Fraction:
    """Return the longest time of which both are whole multiples; zero counts as a multiple.

    >>> common(Fraction(1, 500), Fraction(1, 60))
    Fraction(1, 1500)
    """
    bottom = math.lcm(a.denominator, b.denominator)
    return Fraction(math.gcd(int(a * bottom), int(b * bottom)), bottom)


def _common(rates: Mapping[str, Sampled]) -> Fraction:
    tick, before = Fraction(0), ""
    for name, rate in rates.items():
        finer = common(common(tick, rate.period), rate.offset)
        if finer < FINEST:
            other = _against(rates, name) or before
            if common(rate.period, rate.offset) < FINEST:
                raise BlockError(
                    f"{name!r} runs {_when(rate)}, which takes a base tick shorter than "
                    f"{float(FINEST):g} s",
                    remedy=f"let it run at {1 / FINEST} Hz at most, or give the System base=..., "
                    "in hertz",
                )
            near = (rates[other].period / rate.period).limit_denominator(20) / rates[other].period
            raise BlockError(
                f"{other!r} ({rates[other]}) and {name!r} ({rate}) have no common tick of "
                f"{float(FINEST):g} s or longer",
                remedy=f"let {name!r} run at {near} Hz, or give the System base=..., in hertz",
            )
        tick, before = finer, name
    return tick or USUAL


def _when(rate: Sampled) -> str:
    """Return when a block runs, in words."""
    said = str(rate)
    return said if said.startswith("every") else f"at {said}"


def _against(rates: Mapping[str, Sampled], name: str) -> str | None:
    """Return the first block with which this one has no common tick that is long enough."""
    mine = rates[name]
    for other, rate in rates.items():
        times = (rate.period, rate.offset, mine.period, mine.offset)
        tick = Fraction(0)
        for time in times:
            tick = common(tick, time)
        if tick < FINEST:
            return other
    return None


def _refuse_others(rates: Mapping[str, Sampled], tick: Fraction) -> None:
    for name, rate in rates.items():
        for time, what in ((rate.period, "runs at"), (rate.offset, "starts at")):
            if (time / tick).denominator != 1:
                finer = tick
                for other in rates.values():
                    finer = common(common(finer, other.period), other.offset)
                said = str(Sampled(rate.period)) if what == "runs at" else f"{time} s"
                raise BlockError(
                    f"{name!r} {what} {said}, and that is not a whole number of ticks of the base "
                    f"clock of {1 / tick} Hz",
                    remedy=f"take a base clock of {1 / finer} Hz",
                )
