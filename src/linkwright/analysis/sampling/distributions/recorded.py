"""Intervals as they were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.analysis.sampling.regimes import (
    Array,
    Counts,
    Distribution,
    Piece,
    Regime,
    Regimes,
)
from linkwright.border import worded
from linkwright.errors import InputError


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Recorded(Distribution):
    """Intervals that were measured, each as likely as it was seen.

    Expectations take intervals as independent of each other. Random streams do not: they are parts
    of the record in its own order, from random places of it on.

    Args:
        intervals: s, in the order in which they were seen.
        delays: how many samples old the state was that the controller saw, for each; 0 by default.

    >>> Recorded([0.010, 0.012, 0.014]).mean
    0.012
    """

    intervals: Array
    delays: Counts
    kind = "recorded"

    @worded
    def __init__(self, intervals: ArrayLike, delays: ArrayLike = 0) -> None:
        found = checked_intervals(intervals)
        old = np.broadcast_to(np.asarray(delays, dtype=np.int64), found.shape).copy()
        if (old < 0).any():
            raise InputError(
                f"a delay of {old.min()} samples is a look into the future",
                remedy="give delays of 0 or more samples",
                code="R621",
            )
        object.__setattr__(self, "intervals", found)
        object.__setattr__(self, "delays", old)

    def regimes(self) -> Regimes:
        """Return a regime for each delay, with each interval as often as it was seen."""
        each, shares = [], []
        for delay in np.unique(self.delays):
            at, counts = np.unique(self.intervals[self.delays == delay], return_counts=True)
            total = int(counts.sum())
            pieces = tuple(
                Piece(int(n) / total, float(t), float(t)) for t, n in zip(at, counts, strict=True)
            )
            each.append(Regime(pieces, int(delay)))
            shares.append(total / len(self.intervals))
        return Regimes(tuple(each), np.tile(shares, (len(each), 1)))

    def draw(self, streams: int, count: int, seed: int = 0) -> tuple[Array, Counts]:
        """Return parts of the record from random places on, a row for each stream.

        Args:
            streams: how many.
            count: of intervals in each; after the last of the record comes the first.
            seed: of the places.
        """
        chance = np.random.default_rng(seed)
        start = chance.integers(len(self.intervals), size=(streams, 1))
        at = (start + np.arange(count)) % len(self.intervals)
        return self.intervals[at], self.delays[at]


def checked_intervals(intervals: ArrayLike) -> Array:
    """Return intervals of a record; those that cannot be are refused, with their place.

    Args:
        intervals: s.
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
