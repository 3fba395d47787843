"""Intervals as they were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.regimes import (
    Array,
    Arrivals,
    Counts,
    Distribution,
    Piece,
    Regime,
    Regimes,
    generator,
)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Recorded(Distribution):
    """Intervals that were measured, each as likely as it was seen.

    Expectations take intervals as independent of each other. Random streams do not: they are parts
    of the record in its own order, from random places of it on.

    Args:
        intervals: s, in the order in which they were seen.
        delays: how many samples old the command was that acted in the end, for each; 0 by default.
        ages: how long after the beginning of each interval that command began to act, s.
        befores: how many samples old that was which acted until then; one more than the delay by
            default.

    >>> Recorded([0.010, 0.012, 0.014]).mean
    0.012
    """

    intervals: Array
    delays: Counts
    ages: Array
    befores: Counts
    kind = "recorded"

    @worded
    def __init__(
        self,
        intervals: ArrayLike,
        delays: ArrayLike = 0,
        ages: ArrayLike = 0.0,
        befores: ArrayLike | None = None,
    ) -> None:
        found = checked_intervals(intervals)
        old = np.broadcast_to(np.asarray(delays, dtype=np.int64), found.shape).copy()
        late = np.broadcast_to(np.asarray(ages, dtype=float), found.shape).copy()
        given = np.where(late > 0.0, old + 1, old) if befores is None else befores
        earlier = np.broadcast_to(np.asarray(given, dtype=np.int64), found.shape).copy()
        if (old < 0).any() or (earlier < 0).any() or not (late >= 0.0).all():
            raise InputError(
                "a delay or an age below 0 is a look into the future",
                remedy="give delays of 0 or more samples, and ages of 0 s or more",
                code="R621",
            )
        if (late > found).any():
            raise InputError(
                "a command begins to act after the end of its interval",
                remedy="count whole intervals as delays, and give what is left as the age",
                code="R621",
            )
        for name, value in zip(
            ("intervals", "delays", "ages", "befores"), (found, old, late, earlier), strict=True
        ):
            object.__setattr__(self, name, value)

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return a regime for each pair of delays, with each interval as often as it was seen.

        Args:
            growth: does not matter here, for all intervals are kept.
        """
        each, shares = [], []
        pairs = np.column_stack([self.delays, self.befores])
        for delay, before in np.unique(pairs, axis=0):
            here = (pairs == (delay, before)).all(axis=1)
            seen = np.column_stack([self.intervals[here], self.ages[here]])
            at, counts = np.unique(seen, axis=0, return_counts=True)
            total = int(counts.sum())
            pieces = tuple(
                Piece(int(n) / total, float(t), float(t), float(age))
                for (t, age), n in zip(at, counts, strict=True)
            )
            each.append(Regime(pieces, int(delay), int(before)))
            shares.append(total / len(self.intervals))
        return Regimes(tuple(each), np.tile(shares, (len(each), 1)))

    def draw(self, streams: int, count: int, seed: int = 0) -> Arrivals:
        """Return parts of the record from random places on, a row for each stream.

        Args:
            streams: how many.
            count: of intervals in each; after the last of the record comes the first.
            seed: of the places.
        """
        chance = generator(seed)
        start = chance.integers(len(self.intervals), size=(streams, 1))
        at = (start + np.arange(count)) % len(self.intervals)
        return Arrivals(self.intervals[at], self.delays[at], self.befores[at], self.ages[at])

    @property
    def samples(self) -> Arrivals:
        """The record as it is."""
        return Arrivals(self.intervals, self.delays, self.befores, self.ages)


def checked_intervals(intervals: ArrayLike) -> Array:
    """Return intervals of a record; those that cannot be are rejected, with their place.

    Units: `intervals` in s.
    """
    found = np.asarray(intervals, dtype=float).ravel()
    if not len(found):
        raise InputError(
            "a record without intervals says nothing",
            remedy="give at least one interval",
            code="R624",
        )
    wrong = np.flatnonzero(~(np.isfinite(found) & (found > 0.0)))
    if len(wrong):
        raise InputError(
            f"interval {wrong[0] + 1} of the record is {found[wrong[0]]:g} s, and {len(wrong)} of "
            f"{len(found)} are not above 0",
            remedy="check the order of the times, and leave out what came twice",
            code="R621",
        )
    return found
