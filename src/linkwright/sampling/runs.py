"""Runs of a loop with random sampling: states at the samples, and what happens between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra.units import Amount, amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.sampling.regimes import Array, Distribution

if TYPE_CHECKING:
    from linkwright.sampling.loops import Loop

_BETWEEN = 8  # places in an interval at which the plant is looked at


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RandomRuns(Result):
    """Runs of a loop from one start, each with a stream of random intervals.

    Args:
        times: of the samples, a row for each stream, s.
        states: of the plant at the samples: streams, samples, states.
        areas: of the absolute value of each state until the end (IAE), a row for each stream.

    >>> RandomRuns(np.zeros((2, 4)), np.zeros((2, 4, 1)), np.zeros((2, 1)))
    RandomRuns(2 streams of 3 intervals)
    """

    times: Array
    states: Array
    areas: Array
    _units = (("times", "s"),)

    def __repr__(self) -> str:
        streams, count = self.times.shape
        return f"RandomRuns({streams} streams of {count - 1} intervals)"

    def spread(self) -> dict[str, list[float]]:
        """Return mean, deviation and maximum of the areas (IAE) over the streams, by state.

        >>> RandomRuns(np.zeros((2, 4)), np.zeros((2, 4, 1)), np.array([[1.0], [3.0]])).spread()
        {'mean': [2.0], 'deviation': [1.4142135623730951], 'maximum': [3.0]}
        """
        many = len(self.areas) > 1
        deviation = self.areas.std(axis=0, ddof=1) if many else np.zeros(self.areas.shape[1])
        return {
            "mean": self.areas.mean(axis=0).tolist(),
            "deviation": deviation.tolist(),
            "maximum": self.areas.max(axis=0).tolist(),
        }


@worded
def random_runs(
    loop: Loop,
    distribution: Distribution,
    gain: ArrayLike,
    initial: ArrayLike,
    *,
    until: Amount = 2.0,
    streams: int = 50,
    seed: int = 0,
) -> RandomRuns:
    """Run a loop over many streams of random intervals.

    Args:
        loop: that runs.
        distribution: of its intervals.
        gain: K of u = K x.
        initial: the state of the plant at the first sample.
        until: end, s; each stream goes on to the sample after it.
        streams: how many.
        seed: of all that is random.

    >>> from linkwright.sampling import Loop, Uniform
    >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
    >>> runs = random_runs(loop, Uniform(0.010, 0.030), [-1065, -62.31], [1, 0], streams=4)
    >>> runs.areas[:, 1].round(1)  # a joint that goes from 1 to 0, and not back
    array([1., 1., 1., 1.])
    """
    k = loop.gain_of(gain)
    end = amount(until, "the end", "s")
    first = np.asarray(initial, dtype=float).ravel()
    if first.shape != (len(loop.a),) or not np.isfinite(first).all():
        raise InputError(
            f"a start of {first.size} numbers does not fit {len(loop.a)} states",
            remedy=f"give {len(loop.a)} numbers",
        )
    if not 0.0 < end < np.inf:
        raise InputError(f"runs until {end:g} s have no intervals", remedy="give an end above 0")
    shortest = distribution.regimes().range[0]
    count = int(np.ceil(end / shortest)) + 1
    if not 0 < count * streams <= 10**8:
        raise InputError(
            f"{streams} streams of up to {count} intervals are too many",
            remedy="give fewer streams",
        )
    at = distribution.draw(streams, count, seed)
    depth = distribution.regimes().depth
    if depth:
        raise InputError(
            "runs with delays are made by their Systems",
            remedy="choose a distribution without delays, or simulate the System",
            code="R623",
        )
    n, m = len(loop.a), loop.sums
    x = np.zeros((streams, loop.size))
    x[:, m : m + n] = first
    times = np.concatenate([np.zeros((streams, 1)), np.cumsum(at.intervals, axis=1)], axis=1)
    states, areas = [x[:, m : m + n]], np.zeros((streams, n))
    for i in range(count):
        if (times[:, i] >= end).all():
            times = times[:, : i + 1]
            break
        step = at.intervals[:, i]
        phi, psi = loop.steps(step)
        held = x[:, m + n :] if loop.delayed else x @ k.T
        left = np.clip(end - times[:, i], 0.0, step)
        areas += _areas(loop, x[:, m : m + n], held, left)
        x = (phi @ x[:, :, None] + psi @ (x @ k.T)[:, :, None])[:, :, 0]
        states.append(x[:, m : m + n])
    return RandomRuns(times, np.stack(states, axis=1), areas)


def _areas(loop: Loop, x: Array, u: Array, span: Array) -> Array:
    """Return the integral of the absolute value of each state over part of an interval."""
    from linkwright.sampling.steps import transitions

    total = np.zeros_like(x)
    before = np.abs(x)
    for j in range(1, _BETWEEN + 1):
        phi, psi = transitions(loop.a, loop.b, span * j / _BETWEEN)
        now = np.abs((phi @ x[:, :, None] + psi @ u[:, :, None])[:, :, 0])
        total += 0.5 * (before + now) * (span / _BETWEEN)[:, None]
        before = now
    return total
