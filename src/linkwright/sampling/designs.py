"""The interval for which poles are placed, so that a loop tolerates a distribution of intervals.

A double integrator with poles p at the interval t has the gain K(t) = (kp/t^2, kv/t), and its
gamma depends on the ratio of intervals alone: gamma(s; t) = gamma(s/t; 1). The same holds of the
report's PID and PD with delay. That is what its tables use: they are made for t = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from linkwright.base.errors import InputError
from linkwright.sampling.contraction import log_norms
from linkwright.sampling.distributions import Bernoulli, Distribution, Mixture, Uniform
from linkwright.sampling.regimes import TOLERANCE, Array, Regimes

if TYPE_CHECKING:
    from linkwright.sampling.loops import Loop

Procedure = Literal["report", "strongest", "fastest"]

LEVELS = (-0.05, -0.10, -0.15, -0.20, -0.25, -0.30, -0.35, -0.40)
"""Levels of gamma of the report's Table 1."""
STARTS = (0.5, 0.75, 1.0, 1.25, 1.5)
"""Ratios from which the report's Table 1 has pairs of equal g."""
_SHARE = 0.2  # of the smallest E[gamma] that a design has at least; so much has the report's
_TRIED = 60  # intervals between the shortest and the longest that can be


@dataclass(frozen=True, slots=True, eq=False)
class Designed:
    """A gain, the interval for which its poles were placed, and how that was found."""

    gain: Array
    transform: Array
    period: float
    procedure: str


class UnitCurve:
    """gamma and its integral g over the ratio of an interval to that of the design.

    Args:
        loop: one whose gamma depends on the ratio alone, such as a double integrator.
        poles: of the design.

    >>> from linkwright.sampling import Loop
    >>> curve = UnitCurve(Loop([[0, 1], [0, 0]], [0, 1]), (0.4, 0.7))
    >>> round(curve.lowest[0], 3), round(curve.lowest[1], 3), round(curve.zero, 3)
    (1.343, -0.417, 1.964)
    """

    def __init__(self, loop: Loop, poles: Sequence[complex]) -> None:
        self.loop = loop
        self.gain, self.transform = loop.gain_for(tuple(poles), 1.0)

    def gamma(self, ratio: float) -> float:
        """Return gamma at a ratio.

        Args:
            ratio: of the interval to that of the design.
        """
        phi, psi = self.loop.steps(ratio)
        return float(log_norms(phi[0] + psi[0] @ self.gain, self.transform))

    def g(self, ratio: float) -> float:
        """Return the integral of gamma from 0 to a ratio.

        Args:
            ratio: of the interval to that of the design.
        """
        if ratio <= 0.0:
            return 0.0
        regime = Uniform(1e-12 * ratio, ratio).regimes().each[0]
        at, weights = regime.nodes(48)
        phi, psi = self.loop.steps(at.intervals)
        return float(ratio * (weights @ log_norms(phi + psi @ self.gain, self.transform)))

    @property
    def lowest(self) -> tuple[float, float]:
        """The ratio at which gamma is smallest, and that gamma."""
        from scipy.optimize import minimize_scalar

        grid = np.linspace(0.02, 4.0, 200)
        values = [self.gamma(float(x)) for x in grid]
        k = int(np.argmin(values))
        ends = float(grid[max(0, k - 1)]), float(grid[min(len(grid) - 1, k + 1)])
        found = minimize_scalar(self.gamma, bounds=ends, method="bounded", options={"xatol": 1e-9})
        return float(found.x), float(found.fun)

    @property
    def zero(self) -> float:
        """The ratio from which on gamma is above 0; there g is smallest."""
        return self.beyond(0.0)

    def beyond(self, level: float) -> float:
        """Return the ratio above that of the smallest gamma at which gamma reaches a level.

        Args:
            level: of gamma.
        """
        return _root(lambda x: self.gamma(x) - level, *self._bracket(level))

    def pair(self, level: float) -> tuple[float, float]:
        """Return both ratios at which gamma has a level: a row of the report's Table 1.

        Args:
            level: between the smallest gamma and 0.
        """
        bottom = self.lowest[0]
        return _root(lambda x: self.gamma(x) - level, 1e-9, bottom), self.beyond(level)

    def g_partner(self, ratio: float) -> float:
        """Return the ratio beyond the smallest g at which g is the same again.

        Args:
            ratio: below that of the smallest g.
        """
        level = self.g(ratio)
        high = self.zero
        while self.g(high) < level:
            high *= 1.25
        return _root(lambda x: self.g(x) - level, self.zero, high)

    @property
    def g_zero(self) -> float:
        """The ratio at which g is 0 again: no uniform distribution may reach beyond it."""
        return self.g_partner(1e-9)

    def rows(self) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
        """Return Table 1: levels of gamma with both ratios; pairs of equal g with their ratio."""
        levels = [level for level in LEVELS if level > self.lowest[1]]
        pairs = [(s, self.g_partner(s)) for s in STARTS if s < self.zero]
        return [(x, *self.pair(x)) for x in levels], [(s, e, s / e) for s, e in pairs]

    def _bracket(self, level: float) -> tuple[float, float]:
        low = self.lowest[0]
        high = 2.0 * low
        while self.gamma(high) < level:
            high *= 1.5
        return low, high


def design(
    loop: Loop,
    distribution: Distribution,
    poles: tuple[complex, ...],
    period: float | None,  # that interval, s; none to search it
    procedure: Procedure | None,
) -> Designed:
    """Return a gain for a distribution."""
    if any(abs(p) >= 1.0 for p in poles):
        worst = max(poles, key=abs)
        raise InputError(
            f"a sampled loop with a pole of size {abs(worst):g} does not settle",
            remedy="give poles of a size below 1",
            code="R625",
        )
    if period is not None:
        return Designed(*loop.gain_for(poles, period), period, "given")
    chosen = procedure or ("report" if scales(loop) and _tabled(distribution) else "strongest")
    if chosen not in _PROCEDURES:
        raise InputError(
            f"there is no procedure {procedure!r}", remedy=f"choose one of {', '.join(_PROCEDURES)}"
        )
    found = _PROCEDURES[chosen](loop, distribution, poles)
    return Designed(*loop.gain_for(poles, found), found, chosen)


def contraction_at(
    loop: Loop, regimes: Regimes, poles: Sequence[complex], period: float, panels: int = 8
) -> float:
    """Return E[gamma] of a loop whose poles were placed for an interval (`period` in s)."""
    gain, t = loop.gain_for(tuple(poles), period)
    total = 0.0
    for share, regime in zip(regimes.shares, regimes.each, strict=True):
        at, w = regime.nodes(panels)
        phi, psi = loop.steps(at.intervals)
        total += float(share * (w @ log_norms(phi + psi @ gain, t)))
    return total


def bernoulli_range(loop: Loop, rates: Bernoulli, poles: Sequence[complex]) -> tuple[float, float]:
    """Return the bounds between which the report looks for an interval, for two intervals.

    Below the first nothing proves stability; above the second any shorter interval is borne.

    Args:
        loop: a double integrator, or what scales as it does.
        rates: both intervals; the longer is the second.
        poles: of the loop at the interval of the design.

    >>> from linkwright.sampling import Loop
    >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
    >>> low, high = bernoulli_range(loop, Bernoulli(0.010, 0.030, p=0.75), (0.4, 0.7))
    >>> round(1e3 * low, 2), round(1e3 * high, 2)
    (9.24, 15.27)
    """
    curve = UnitCurve(loop, poles)
    p, _, longer = _ordered(rates)
    star = curve.beyond(-p / (1.0 - p) * curve.lowest[1])
    return longer / star, longer / curve.zero


def _ordered(rates: Bernoulli) -> tuple[float, float, float]:
    """Return the probability of the shorter interval, and both."""
    if rates.first <= rates.second:
        return rates.p, rates.first, rates.second
    return 1.0 - rates.p, rates.second, rates.first


def _report(loop: Loop, distribution: Distribution, poles: Sequence[complex]) -> float:
    """Return the interval of the report's procedures."""
    if not (scales(loop) and _tabled(distribution)):
        raise InputError(
            "the report's procedure is for double integrators, with one of two intervals, a "
            "uniform distribution, or a mixture of two of these",
            remedy='choose procedure="strongest"',
            code="R628",
        )
    if isinstance(distribution, Uniform):
        return _report_uniform(loop, distribution, poles)
    if isinstance(distribution, Bernoulli):
        low = _report_bernoulli(loop, distribution, poles)
    else:
        assert isinstance(distribution, Mixture)
        first, second = distribution.parts
        means = Bernoulli(first.mean, second.mean, distribution.weights[0])
        low = _report_bernoulli(loop, means, poles)
    regimes = distribution.regimes()
    strongest = _strongest(loop, distribution, poles)
    level = _SHARE * contraction_at(loop, regimes, poles, strongest)
    if level >= -TOLERANCE:
        raise _none(distribution)

    def apart(period: float) -> float:
        return contraction_at(loop, regimes, poles, period) - level

    if apart(low) <= 0.0:
        return low
    return _root(apart, low, strongest)


def _report_uniform(loop: Loop, rates: Uniform, poles: Sequence[complex]) -> float:
    """Find the last row of pairs of equal g whose ratio is below that of the bounds."""
    curve = UnitCurve(loop, poles)
    ratio = rates.low / rates.high
    enough = [s for s in STARTS if s < curve.zero and s / curve.g_partner(s) < ratio]
    if not enough:
        raise _none(rates)
    return rates.low / max(enough)


def _report_bernoulli(loop: Loop, rates: Bernoulli, poles: Sequence[complex]) -> float:
    """Try intervals from the shortest on, by the rows of Table 1."""
    curve = UnitCurve(loop, poles)
    p, shorter, longer = _ordered(rates)
    if p <= 0.0 or p >= 1.0:  # always the same
        return (longer if p <= 0.0 else shorter) / curve.lowest[0]
    low, high = bernoulli_range(loop, rates, poles)
    rows = [(level, *curve.pair(level)) for level in LEVELS if level > curve.lowest[1]]
    for period in np.linspace(low, high, _TRIED):
        level = -(1.0 - p) / p * curve.gamma(longer / period)
        at = shorter / period
        if any(row <= level and first < at < second for row, first, second in rows):
            return float(period)
    return high * (1.0 + 1e-9)


def _strongest(loop: Loop, distribution: Distribution, poles: Sequence[complex]) -> float:
    """Return the interval at which E[gamma] is smallest."""
    from scipy.optimize import minimize_scalar

    regimes, grid, values = _tried(loop, distribution, poles)
    k = int(np.argmin(values))
    ends = math.log(grid[max(0, k - 1)]), math.log(grid[min(len(grid) - 1, k + 1)])
    found = minimize_scalar(
        lambda x: contraction_at(loop, regimes, poles, math.exp(x)),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-6},
    )
    return math.exp(found.x)


def _fastest(loop: Loop, distribution: Distribution, poles: Sequence[complex]) -> float:
    """Return the shortest interval with E[gamma] < 0, and a tenth more."""
    regimes, grid, values = _tried(loop, distribution, poles)
    good = np.flatnonzero(values < 0.0)
    if not len(good):
        raise _none(distribution)
    k = int(good[0])
    if k == 0:
        return 1.1 * float(grid[0])
    edge = _root(
        lambda x: contraction_at(loop, regimes, poles, x), float(grid[k - 1]), float(grid[k])
    )
    return 1.1 * edge


_PROCEDURES: dict[str, Callable[[Loop, Distribution, Sequence[complex]], float]] = {
    "report": _report,
    "strongest": _strongest,
    "fastest": _fastest,
}


def _tried(
    loop: Loop, distribution: Distribution, poles: Sequence[complex]
) -> tuple[Regimes, Array, Array]:
    regimes = distribution.regimes()
    if regimes.depth:
        raise InputError(
            "no interval is searched where delays are random",
            remedy="give the interval: design(..., period=0.02)",
            code="R628",
        )
    low, high = regimes.range
    grid = np.geomspace(0.1 * low, 4.0 * high, _TRIED)
    values = np.array([contraction_at(loop, regimes, poles, float(t), 4) for t in grid])
    return regimes, grid, values


def scales(loop: Loop) -> bool:
    """Whether a loop's gamma depends on the ratio of intervals alone: chains of integrators."""
    states, inputs = loop.orders
    apart = np.array([*states, *inputs])[None, :] - np.array(states)[:, None]
    return bool(np.all((np.hstack([loop.a, loop.b]) == 0.0) | (apart == 1)))


def _tabled(distribution: Distribution) -> bool:
    if isinstance(distribution, Mixture):
        parts = distribution.parts
        return len(parts) == 2 and all(isinstance(p, Uniform | Bernoulli) for p in parts)
    return isinstance(distribution, Uniform | Bernoulli)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(f, low, high, xtol=1e-12, rtol=1e-12))


def _none(distribution: Distribution) -> InputError:
    return InputError(
        f"no interval of the design is proven to tolerate {distribution}",
        remedy="choose faster poles, or a narrower distribution",
        code="R629",
    )
