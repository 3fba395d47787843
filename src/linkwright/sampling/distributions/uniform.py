"""Any interval between two bounds, all equally likely; or always the same one."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.regimes import Distribution, Piece, Regimes, interval


@dataclass(frozen=True, slots=True, init=False)
class Uniform(Distribution):
    """Intervals between two bounds, all equally likely and independent of the past.

    Args:
        low: s, or a text with a unit.
        high: s; the same as `low` where intervals do not vary.

    >>> Uniform("10 ms", "30 ms").mean
    0.02
    """

    low: float
    high: float
    kind = "uniform"

    @worded
    def __init__(self, low: Amount, high: Amount) -> None:
        object.__setattr__(self, "low", interval(low, "the shortest interval"))
        object.__setattr__(self, "high", interval(high, "the longest interval"))
        if self.high < self.low:
            raise InputError(
                f"the shortest interval is {self.low:g} s, and the longest {self.high:g} s",
                remedy="give the shortest first",
                code="R621",
            )

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return one range.

        Args:
            growth: does not matter here, for all intervals are kept.
        """
        return Regimes.independent([Piece(1.0, self.low, self.high)])
