"""Samples that get lost, while the last command is held."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.distributions.mixture import refuse_delayed
from linkwright.sampling.regimes import (
    Array,
    Arrivals,
    Distribution,
    Piece,
    Regimes,
    generator,
    interval,
    probability,
)

_LEAST = 1e-13  # probability of so many losses in a row that is left out, times what it does
_MOST = 0.99  # that terms may be of those before them
_KEPT = 96  # values by which a sum of intervals is represented


@dataclass(frozen=True, slots=True, init=False)
class Lost(Distribution):
    """Samples of which each is lost with some probability; the last command holds until one comes.

    The interval between samples that come is the sum of as many intervals as it takes: that of k
    intervals has the probability (1 - loss) loss^(k-1). Sums of intervals that vary are represented
    by 96 equally likely values.

    Args:
        between: the interval between samples that are sent, s, or its distribution.
        loss: probability that a sample does not come, at most 0.99.

    >>> round(Lost("10 ms", loss=0.5).mean, 9)
    0.02
    """

    between: Distribution | float
    loss: float
    kind = "lost"

    @worded
    def __init__(self, between: Distribution | Amount, loss: float) -> None:
        if isinstance(between, Distribution):
            refuse_delayed(between, "a distribution with losses")
            object.__setattr__(self, "between", between)
        else:
            object.__setattr__(self, "between", interval(between, "the interval"))
        object.__setattr__(self, "loss", probability(loss, "the probability of a loss"))
        if self.loss > _MOST:
            raise InputError(
                "all samples are lost, and nothing is controlled"
                if self.loss == 1.0
                else f"{self.loss:g} of all samples are lost, and next to nothing is controlled",
                remedy=f"give a probability of at most {_MOST:g}",
                code="R622",
            )

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return sums of one, two, three, ... intervals.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        return Regimes.independent(
            Piece((1.0 - self.loss) * part * weight, t, t)
            for part, at, weights in self._sums(growth)
            for t, weight in zip(at.tolist(), weights.tolist(), strict=True)
        )

    def draw(self, streams: int, count: int, seed: int = 0) -> Arrivals:
        """Return random intervals between samples that come, without approximation.

        Args:
            streams: how many.
            count: of intervals in each.
            seed: of all that is random.
        """
        chance = generator(seed)
        turns = chance.geometric(1.0 - self.loss, size=(streams, count))
        if isinstance(self.between, float):
            return Arrivals.prompt(np.asarray(turns * self.between, dtype=float))
        total = int(turns.sum())
        each, _ = self.between.regimes().each[0].draw(chance, total)
        ends = np.cumsum(turns.ravel())
        sums = np.add.reduceat(each, np.concatenate([[0], ends[:-1]]))
        return Arrivals.prompt(sums.reshape(streams, count))

    def tail(self, growth: float) -> float:
        """Return loss * E[e^(growth * interval)]: from 1 on, what grows so has no mean.

        Args:
            growth: 1/s.
        """
        if isinstance(self.between, float):
            return _exp(math.log(max(self.loss, 1e-300)) + growth * self.between)
        nodes, weights = self.between.regimes().each[0].nodes()
        most = float(nodes.intervals.max())
        mean = float(weights @ np.exp(growth * (nodes.intervals - most)))
        return _exp(math.log(max(self.loss * mean, 1e-300)) + growth * most)

    def _sums(self, growth: float) -> list[tuple[float, Array, Array]]:
        """Return for each number of intervals its probability, up to a factor, and their sum."""
        if isinstance(self.between, float):
            one = np.array([self.between]), np.ones(1)
        else:
            nodes, probable = self.between.regimes().each[0].nodes()
            one = _fewer(nodes.intervals, probable)
        found, at, weights, part, count = [], *one, 1.0, 1
        ratio, size = min(max(self.loss, self.tail(growth)), _MOST), 1.0
        while size > _LEAST:
            found.append((part, at, weights))
            part *= self.loss
            count += 1
            size = ratio ** (count - 1) * count**4  # squares of a chain of integrators
            if len(one[0]) == 1:
                at = at + one[0]
            else:
                at, weights = _fewer(
                    np.add.outer(at, one[0]).ravel(), np.multiply.outer(weights, one[1]).ravel()
                )
        return found


def _exp(value: float) -> float:
    """Return an exponential, infinite where it is beyond all numbers."""
    return math.exp(value) if value < 700.0 else math.inf


def _fewer(at: Array, weights: Array) -> tuple[Array, Array]:
    """Return few values for many: neighbors are put together, with their mean."""
    if len(at) <= _KEPT:
        return at, weights
    order = np.argsort(at)
    at, weights = at[order], weights[order]
    middle = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
    group = np.minimum((middle * _KEPT).astype(np.int64), _KEPT - 1)
    sums = np.asarray(np.bincount(group, weights, _KEPT), dtype=float)
    first = np.asarray(np.bincount(group, weights * at, _KEPT), dtype=float)
    kept = sums > 0.0
    return first[kept] / sums[kept], sums[kept]
