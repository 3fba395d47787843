"""Intervals that depend on the one before: a network that is quiet now and busy then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.sampling.distributions.mixture import refuse_delayed
from linkwright.sampling.distributions.recorded import Recorded, checked_intervals
from linkwright.sampling.regimes import (
    Distribution,
    Regime,
    Regimes,
    chain,
    probabilities,
)


@dataclass(frozen=True, slots=True, init=False)
class Markov(Distribution):
    """Intervals from the distribution of a state that changes at random (a Markov chain).

    Args:
        parts: the distribution of each state; independent intervals, without delay.
        transition: row i has the probabilities of the states that follow state i.

    >>> from linkwright.sampling import Uniform
    >>> quiet, busy = Uniform(0.010, 0.012), Uniform(0.020, 0.060)
    >>> round(Markov([quiet, busy], [[0.95, 0.05], [0.20, 0.80]]).mean, 6)
    0.0168
    """

    parts: tuple[Distribution, ...]
    transition: tuple[tuple[float, ...], ...]
    kind = "markov"

    @worded
    def __init__(self, parts: Sequence[Distribution], transition: ArrayLike) -> None:
        rows = [
            probabilities(list(row), "the probabilities of a row of the transition table")
            for row in np.atleast_2d(np.asarray(transition, dtype=float))
        ]
        count = len(parts)
        if len(rows) != count or any(len(row) != count for row in rows):
            raise InputError(
                f"the transition table of {count} states has {len(rows)} rows",
                remedy=f"give {count} rows of {count} probabilities",
                code="R622",
            )
        for part in parts:
            refuse_delayed(part, "a Markov chain")
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "transition", chain(rows, "states"))

    @staticmethod
    def fitted(intervals: ArrayLike, states: int = 2) -> Markov:
        """Return the chain of a record: states by the length of intervals, changes as counted.

        Args:
            intervals: as they were measured, in their order, s.
            states: how many; each has the same number of intervals.
        """
        found = checked_intervals(intervals)
        if not 1 <= states <= len(found) // 2:
            raise InputError(
                f"{len(found)} intervals cannot be divided into {states} states",
                remedy="give a longer record, or fewer states",
                code="R624",
            )
        rank = np.argsort(np.argsort(found, kind="stable"), kind="stable")
        state = rank * states // len(found)
        counts = np.zeros((states, states))
        np.add.at(counts, (state[:-1], state[1:]), 1.0)
        counts[counts.sum(axis=1) == 0.0] = 1.0
        table = counts / counts.sum(axis=1, keepdims=True)
        return Markov([Recorded(found[state == k]) for k in range(states)], table)

    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return a regime for each state.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        each = tuple(Regime(part.regimes(growth).each[0].pieces) for part in self.parts)
        return Regimes(each, np.array(self.transition))

    def tail(self, growth: float) -> float:
        """Return the ratio by which the longest intervals get rarer, in the worst state.

        Args:
            growth: rate by which long intervals count more, 1/s.
        """
        return max(part.tail(growth) for part in self.parts)
