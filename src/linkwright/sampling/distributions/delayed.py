"""Samples that are late: the controller sees the state as it was some samples ago."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.distributions.mixture import refuse_delayed
from linkwright.sampling.regimes import (
    Distribution,
    Regime,
    Regimes,
    chain,
    probabilities,
)


@dataclass(frozen=True, slots=True, init=False)
class Delayed(Distribution):
    """Intervals of any distribution, with a random delay of up to some samples.

    Args:
        between: distribution of the intervals.
        delays: probability of a delay of 0, 1, 2, ... samples, each time anew.
        transition: instead, row i has the probabilities of the delays that follow a delay of i: a
            sample that is late makes the next one late too.

    >>> from linkwright.sampling import Uniform
    >>> Delayed(Uniform(0.010, 0.012), [0.9, 0.08, 0.02]).regimes().depth
    2
    """

    between: Distribution
    transition: tuple[tuple[float, ...], ...]
    kind = "delayed"

    @worded
    def __init__(
        self,
        between: Distribution,
        delays: Sequence[float] | None = None,
        transition: ArrayLike | None = None,
    ) -> None:
        refuse_delayed(between, "another delay")
        if (delays is None) == (transition is None):
            raise InputError(
                "a random delay has either probabilities of delays or a transition table",
                remedy="give delays=[0.9, 0.1], or transition=[[0.9, 0.1], [0.5, 0.5]]",
                code="R622",
            )
        what = "the probabilities of the delays"
        if delays is not None:
            rows = [probabilities(delays, what)] * len(delays)
        else:
            table = np.atleast_2d(np.asarray(transition, dtype=float))
            rows = [probabilities(list(row), what) for row in table]
        if any(len(row) != len(rows) for row in rows):
            raise InputError(
                f"a table of {len(rows)} delays has rows of {len(rows[0])} probabilities",
                remedy=f"give {len(rows)} rows of {len(rows)} probabilities",
                code="R622",
            )
        object.__setattr__(self, "between", between)
        object.__setattr__(self, "transition", chain(rows, "delays"))

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return a regime for each delay.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        pieces = self.between.regimes(growth).each[0].pieces
        each = tuple(Regime(pieces, delay) for delay in range(len(self.transition)))
        return Regimes(each, np.array(self.transition))

    def tail(self, growth: float) -> float:
        """Return the ratio by which the longest intervals get rarer.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        return self.between.tail(growth)
