"""Four answers to whether a loop with random sampling is stable, which must not be confused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.base.results import Result, plain
from linkwright.sampling.contraction import best_transform, log_norms
from linkwright.sampling.distributions.recorded import Recorded
from linkwright.sampling.exponents import Exponent, exponent_of, growths, rounded_up
from linkwright.sampling.mean_square import (
    chain_radius,
    decay_rate,
    lyapunov,
    second_moment,
)
from linkwright.sampling.regimes import TOLERANCE, Array, Distribution, Regimes
from linkwright.sampling.steps import exponentials

if TYPE_CHECKING:
    from linkwright.sampling.loops import Loop

_LARGEST = 1e200  # mean square with which one can still compute

MEANINGS = {
    "contraction": "E[ln |T^-1 Gamma T|] with the T given; below 0 every run dies out with "
    "probability one, above 0 it says nothing",
    "best_contraction": "the same with the T that makes it smallest; below 0 every run dies out "
    "with probability one, above 0 no single norm proves it",
    "mean_square": "spectral radius of E[Gamma (x) Gamma]; below 1 variances die out, above 1 they "
    "grow although single runs may still die out",
    "exponent": "mean growth in a sample, by Monte Carlo; below 0 runs die out with probability "
    "one, above 0 they grow; it is measured, not proven",
}
"""What each answer says, in a sentence."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answers(Result):
    """Four answers about a loop; `MEANINGS` has a sentence for each.

    Args:
        loop: that they are about.
        distribution: of its intervals.
        gain: K of u = K x.
        transform: the T of `contraction`.
        contraction: E[gamma] with that T; infinite where a random delay leaves no such T.
        best_transform: the T that makes E[gamma] smallest.
        best_contraction: E[gamma] with it.
        spread: standard deviation of gamma with it.
        mean_square: spectral radius of E[Gamma (x) Gamma].
        exponent: Lyapunov exponent with its band.
        period: interval for which the gain was designed, s; 0 where it was given.
        procedure: by which that interval was found.

    >>> from linkwright.sampling import Loop, Uniform
    >>> found = Loop([[0.0]], [[1.0]]).answers(Uniform(0.1, 0.3), [[-2.0]])
    >>> found
    Answers(contraction -0.530, best T -0.530, mean square 0.373, exponent -0.530: proven)
    """

    loop: Loop
    distribution: Distribution
    gain: Array
    transform: Array
    contraction: float
    best_transform: Array
    best_contraction: float
    spread: float
    mean_square: float
    exponent: Exponent
    period: float = 0.0
    procedure: str = ""

    def __repr__(self) -> str:
        return (
            f"Answers(contraction {self.contraction:.3f}, best T {self.best_contraction:.3f}, mean "
            f"square {self.mean_square:.3f}, exponent {self.exponent.value:.3f}: {self.verdict})"
        )

    def designed(self, period: float, procedure: str) -> Answers:
        """Return the same, with how its gain was designed.

        Args:
            period: interval for which it was, s.
            procedure: by which that was found.
        """
        return replace(self, period=period, procedure=procedure)

    @property
    def stable(self) -> bool:
        """Whether a proof says that runs die out: by a norm, or by mean squares.

        What is within 1e-5 of its limit is not proven, for rounding may do as much.
        """
        best = min(self.contraction, self.best_contraction)
        return best < -TOLERANCE or self.mean_square < 1.0 - TOLERANCE

    @property
    def verdict(self) -> str:
        """The whole in a word: proven, likely, open or unstable."""
        if self.stable:
            return "proven"
        if self.exponent.high < -TOLERANCE:
            return "likely"
        return "unstable" if self.exponent.low > TOLERANCE else "open"

    @property
    def decay(self) -> float:
        """The rate at which the root of the mean square of the state dies out in time, 1/s.

        It is the s at which E[e^(2 s t) Gamma (x) Gamma] has the spectral radius 1, t being the
        interval; minus infinity where the mean square is infinite after one interval.
        """
        if not np.isfinite(self.mean_square):
            return -np.inf
        regimes = self.distribution.regimes(self.loop.growth)
        gammas, weights, _ = expectations(self.loop, regimes, self.gain)
        intervals = [regime.nodes()[0].intervals for regime in regimes.each]
        found = decay_rate(gammas, weights, intervals, regimes.transition)
        if self.distribution.tail(self.loop.growth + 2.0 * max(found, 0.0)) < 1.0:
            return found
        low, high = 0.0, found  # long intervals count more than their probability falls
        for _ in range(50):
            middle = 0.5 * (low + high)
            heavy = self.distribution.tail(self.loop.growth + 2.0 * middle) >= 1.0
            low, high = (low, middle) if heavy else (middle, high)
        return low

    def bound(self, samples: int, margin: float) -> float:
        """Return a bound of the probability that |T^-1 x| is below e^(k (E + margin)) of its start.

        It follows from Chebyshev's inequality, with E and T of the best contraction. Where
        intervals follow a chain, their covariances count, and the chain is in its long run.

        Args:
            samples: k.
            margin: above 0.
        """
        if isinstance(self.distribution, Recorded):
            raise InputError(
                "intervals of a record may depend on each other in any way, so that no bound holds",
                remedy="ask about a chain with the same intervals: Markov.fitted(intervals)",
                code="R623",
            )
        if not (samples > 0 and margin > 0.0):
            raise InputError(
                "a bound needs samples and a margin above 0", remedy="bound(100, 0.05)"
            )
        return max(0.0, 1.0 - self._variance(samples) / (samples * margin) ** 2)

    def _variance(self, samples: int) -> float:
        """Return the variance of the sum of gamma over some samples."""
        found = samples * self.spread**2
        regimes = self.distribution.regimes()
        if regimes.mixed:
            return found
        gammas, weights, _ = expectations(self.loop, regimes, self.gain)
        means = np.array(
            [w @ log_norms(g, self.best_transform) for g, w in zip(gammas, weights, strict=True)]
        )
        apart = means - regimes.shares @ means
        later, shares = apart, regimes.shares * apart
        for lag in range(1, samples):
            later = regimes.transition @ later
            found += 2.0 * (samples - lag) * float(shares @ later)
        return float(max(0.0, found))

    def cost(self, start: ArrayLike, q: ArrayLike, r: ArrayLike | None = None) -> float:
        """Return the expected integral of x'Qx + u'Ru over time, from a start on.

        Args:
            start: the state of the plant (or of the whole loop) at the first sample.
            q: weight Q of the plant's states.
            r: weight R of the inputs; none by default.
        """
        if self.mean_square >= 1.0 - TOLERANCE:
            raise InputError(
                f"the mean square does not die out (its radius is {self.mean_square:.4g}), so "
                "that the cost is infinite",
                remedy="choose a gain with a mean square radius below 1",
                code="R627",
            )
        regimes = self.distribution.regimes(self.loop.growth)
        return expected_cost(self.loop, regimes, self.gain, start, q, r)

    def as_dict(self) -> dict[str, object]:
        """Return the answers as plain data."""
        named = [
            "contraction",
            "best_contraction",
            "mean_square",
            "decay",
            "verdict",
            "procedure",
        ]
        exponent = {name: getattr(self.exponent, name) for name in ("value", "low", "high", "rate")}
        found = {"states": self.loop.states, "gain": self.gain, "exponent": exponent}
        found |= {name: getattr(self, name) for name in named}
        times = {"period_s": self.period, "mean_interval_s": self.distribution.mean}
        return plain({**found, **times})  # type: ignore[no-any-return]


def answers(
    loop: Loop,
    distribution: Distribution,
    gain: Array,  # K
    transform: Array | None,
    *,
    streams: int,
    steps: int,
    seed: int,
) -> Answers:
    """Return all four answers."""
    regimes = distribution.regimes()
    gammas, weights, moments = expectations(loop, regimes, gain)
    square = mean_square_radius(loop, distribution, gain)
    plainly = chain_radius(moments, regimes.transition)
    start = lyapunov_transform(moments, regimes.transition, plainly)
    whole, shares = _together(gammas, weights, regimes.shares)
    given = mean_transform(loop, regimes, gain) if transform is None else transform
    plain = float("inf")
    if regimes.depth == 0:
        plain = float(shares @ log_norms(whole, given))
    best, best_t = best_transform(whole, shares, start)
    if plain < best:
        best, best_t = best_transform(whole, shares, given)
    spread = log_norms(whole, best_t)
    found = monte_carlo(loop, distribution, gain, streams, steps, seed)
    return Answers(
        loop=loop,
        distribution=distribution,
        gain=gain,
        transform=given,
        contraction=plain,
        best_transform=best_t,
        best_contraction=best,
        spread=float(np.sqrt(max(0.0, float(shares @ (spread - shares @ spread) ** 2)))),
        mean_square=square,
        exponent=exponent_of(*found, regimes.mean, steps),
    )


def expectations(
    loop: Loop, regimes: Regimes, gain: Array, panels: int = 16
) -> tuple[list[Array], list[Array], list[Array]]:
    """Return the matrices of the closed loop, their weights and E[Gamma (x) Gamma], by regime."""
    gammas, weights, moments = [], [], []
    for regime in regimes.each:
        at, w = regime.nodes(panels)
        gammas.append(loop.closed(at, gain, regimes.depth))
        weights.append(w)
        with np.errstate(over="ignore", invalid="ignore"):
            moments.append(second_moment(gammas[-1], w))
        if not (np.abs(moments[-1]) < _LARGEST).all():
            raise InputError(
                f"within {at.intervals.max():g} s mean squares grow beyond all numbers",
                remedy="give shorter intervals, or check the units of the plant and of the gain",
                code="R621",
            )
    return gammas, weights, moments


def mean_square_radius(loop: Loop, distribution: Distribution, gain: Array) -> float:
    """Return the spectral radius by which mean squares grow; infinite where they have no mean."""
    if distribution.tail(loop.growth) >= 1.0:
        return float("inf")
    regimes = distribution.regimes(loop.growth)
    return chain_radius(expectations(loop, regimes, gain)[2], regimes.transition)


def mean_transform(loop: Loop, regimes: Regimes, gain: Array) -> Array:
    """Return a T that makes the closed loop diagonal (in blocks) at the mean interval."""
    phi, psi = loop.steps(regimes.mean)
    values, vectors = np.linalg.eig(phi[0] + psi[0] @ gain)
    sizes = loop.sizes(regimes.mean)
    columns: list[Array] = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag > 0.0:
            columns += [vector.real, vector.imag]
        elif value.imag == 0.0:
            columns.append(vector.real / np.linalg.norm(vector.real / sizes))
    t = np.array(columns).T
    if np.linalg.cond(t / sizes[:, None]) > 1e8:  # poles that coincide
        t = np.diag(sizes)
    return t


def lyapunov_transform(moments: list[Array], transition: Array, square: float) -> Array:
    """Return the T of the norm in which mean squares shrink evenly."""
    n = round(len(moments[0]) ** 0.5)
    scale = 1.0 / (1.02 * max(square, 1e-300))
    solved = lyapunov([scale * m for m in moments], transition, [np.eye(n)] * len(moments))
    p = sum(solved) / len(solved)
    found: Array = np.linalg.inv(np.linalg.cholesky(p + 1e-12 * np.trace(p) * np.eye(n))).T
    return found


def monte_carlo(
    loop: Loop, distribution: Distribution, gain: Array, streams: int, steps: int, seed: int
) -> tuple[Array, Array]:
    """Return the mean logarithm of growth for each of some random streams, and its drift."""
    if streams < 2 or steps < 1:
        raise InputError(
            f"{streams} streams of {steps} steps say nothing of a mean",
            remedy="give at least 2 streams of 64 steps",
        )
    count = rounded_up(steps)
    at = distribution.draw(streams, count, seed)
    gammas = loop.closed(at.flat(), gain, distribution.regimes().depth)
    return growths(gammas.reshape(*at.intervals.shape, *gammas.shape[1:]))


def expected_cost(
    loop: Loop,
    regimes: Regimes,
    gain: Array,
    start: ArrayLike,
    q: ArrayLike,
    r: ArrayLike | None,
) -> float:
    """Return the expected integral of x'Qx + u'Ru."""
    n, m, r_count = len(loop.a), loop.sums, loop.inputs
    weight = np.zeros((n + r_count, n + r_count))
    weight[:n, :n] = _weight(q, n, "states")
    if r is not None:
        weight[n:, n:] = _weight(r, r_count, "inputs")
    rate = np.zeros_like(weight)
    rate[:n, :n], rate[:n, n:] = loop.a, loop.b
    sources, moments = [], []
    size = loop.size + r_count * regimes.depth
    for regime in regimes.each:
        at, w = regime.nodes(4)
        moments.append(second_moment(loop.closed(at, gain, regimes.depth), w))
        ends = [_acting(loop, gain, lag, size) for lag in (regime.earlier, regime.delay)]
        first, last = (np.vstack([np.eye(size)[m : m + n], end]) for end in ends)
        spent = np.zeros((size, size))
        for t, age, c in zip(at.intervals, at.ages, w, strict=True):
            if age > 0.0:
                spent += c * first.T @ _integral(rate, weight, float(age)) @ first
                carried = exponentials(rate, np.array([age]))[0] @ first
                after = np.vstack([carried[:n], ends[1]])
            else:
                after = last
            spent += c * after.T @ _integral(rate, weight, float(t - age)) @ after
        sources.append(spent)
    x = np.zeros(size)
    given = np.asarray(start, dtype=float).ravel()
    if given.shape == (n,):
        x[m : m + n] = given
    elif given.shape == (loop.size,):
        x[: loop.size] = given
    else:
        raise InputError(
            f"a start of {given.size} numbers does not fit {n} states", remedy=f"give {n} numbers"
        )
    found = lyapunov(moments, regimes.transition, sources)
    return float(sum(s * (x @ p @ x) for s, p in zip(regimes.shares, found, strict=True)))


def _weight(given: ArrayLike, count: int, what: str) -> Array:
    """Return a weight of the cost; one of another size is rejected."""
    found = np.asarray(given, dtype=float)
    if found.shape != (count, count) or not np.isfinite(found).all():
        raise InputError(
            f"a weight of shape {found.shape} does not fit {count} {what}",
            remedy=f"give {count} rows of {count} numbers",
            code="R626",
        )
    return found


def _acting(loop: Loop, gain: Array, lag: int, size: int) -> Array:
    """Return the command that acts, from the state of the loop and the commands before."""
    r = loop.inputs
    if loop.delayed:
        lag += 1
    if lag == 0:
        return np.hstack([gain, np.zeros((r, size - loop.size))])
    first = loop.size + r * (lag - 1) - (r if loop.delayed else 0)
    return np.eye(size)[first : first + r]


def _integral(rate: Array, weight: Array, time: float) -> Array:
    """Return the integral of exp(A's) Q exp(A s) from 0 to a time, by Van Loan's block (1978)."""
    from scipy.linalg import expm

    n = len(rate)
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:], block[n:, n:] = -rate.T, weight, rate
    made = expm(block * time)
    found: Array = made[n:, n:].T @ made[:n, n:]
    return found


def _together(gammas: list[Array], weights: list[Array], shares: Array) -> tuple[Array, Array]:
    """Return the matrices of all regimes with their probabilities in the long run."""
    all_weights = [s * w for s, w in zip(shares, weights, strict=True)]
    return np.concatenate(gammas), np.concatenate(all_weights)
