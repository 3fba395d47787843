"""Two intervals, one of them with some probability."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.sampling.regimes import (
    Distribution,
    Piece,
    Regimes,
    interval,
    probability,
)


@dataclass(frozen=True, slots=True, init=False)
class Bernoulli(Distribution):
    """One of two intervals, each time independently of the past.

    Args:
        first: s, or a text with a unit.
        second: s.
        p: probability of the first.

    >>> Bernoulli(0.010, 0.030, p=0.75).mean
    0.015
    """

    first: float
    second: float
    p: float
    kind = "bernoulli"

    @worded
    def __init__(self, first: Amount, second: Amount, p: float) -> None:
        object.__setattr__(self, "first", interval(first, "the first interval"))
        object.__setattr__(self, "second", interval(second, "the second interval"))
        object.__setattr__(self, "p", probability(p, "the probability of the first interval"))

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return both intervals with their probabilities.

        Args:
            growth: does not matter here, for all intervals are kept.
        """
        pair = ((self.p, self.first), (1.0 - self.p, self.second))
        return Regimes.independent(Piece(p, t, t) for p, t in pair if p > 0.0)
