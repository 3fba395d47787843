"""Distributions of which one is chosen anew for each interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.regimes import Distribution, Piece, Regimes, probabilities


@dataclass(frozen=True, slots=True, init=False)
class Mixture(Distribution):
    """Intervals from one of several distributions, chosen anew each time.

    Args:
        parts: the distributions; each of them of independent intervals, without delay.
        weights: the probability of each.

    >>> from linkwright.sampling import Uniform
    >>> Mixture([Uniform(0.005, 0.015), Uniform(0.020, 0.040)], [0.75, 0.25]).mean
    0.015
    """

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...]
    kind = "mixture"

    @worded
    def __init__(self, parts: Sequence[Distribution], weights: Sequence[float]) -> None:
        found = probabilities(weights, "the weights of the mixture")
        if len(found) != len(parts):
            raise InputError(
                f"{len(parts)} distributions have {len(found)} weights",
                remedy="give a weight for each",
                code="R622",
            )
        for part in parts:
            refuse_delayed(part, "a mixture")
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "weights", tuple(map(float, found)))

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return the pieces of all parts.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        return Regimes.independent(
            Piece(weight * p.weight, p.low, p.high)
            for part, weight in zip(self.parts, self.weights, strict=True)
            for p in part.regimes(growth).each[0].pieces
            if weight > 0.0
        )

    def tail(self, growth: float) -> float:
        """Return the ratio by which the longest intervals get rarer, of the worst part.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        parts = zip(self.parts, self.weights, strict=True)
        return max(part.tail(growth) for part, weight in parts if weight > 0.0)


def refuse_delayed(part: Distribution, where: str) -> None:
    """Reject a part whose intervals depend on each other, or come with a delay."""
    known = part.regimes()
    if len(known.each) > 1 or known.depth:
        raise InputError(
            f"{type(part).__name__} cannot be a part of {where}: its intervals depend on each "
            "other, or come with a delay",
            remedy="make it of distributions of independent intervals, and put the delay outermost",
            code="R623",
        )
