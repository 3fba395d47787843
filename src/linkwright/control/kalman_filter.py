"""Kalman filters of linear models as blocks: native at every instant, no Python per step.

At an instant the block takes the prediction x⁻ with its covariance P⁻ out of its memory, corrects
them by what is measured, and puts out the estimate x. Then it predicts the next instant,

    x⁻ = Φ x + Θ u,   P⁻ = Φ P Φᵀ + Q,

with the inputs u of this instant, which may depend on the estimate. Sensors are taken one by one in
Joseph's form (see `linkwright.control.covariances`), so that nothing is inverted, a sensor without
noise is exact, and a sensor that has nothing new (`used` 0) leaves the estimate as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ONE, PI, ZERO, Expr, as_expr, log, maximum, sqrt, total, where
from linkwright.algebra.triples import combination, dot
from linkwright.base.errors import DomainError
from linkwright.blocks import Block, BlockError, Rate
from linkwright.control.covariances import (
    covariance_matrix,
    matrix,
    unobservable,
)
from linkwright.control.filter_block import FilterBlock
from linkwright.control.filters import at_start, entries, varies
from linkwright.control.linear import Weights, dlqe

Array = NDArray[np.float64]
Symmetric = list[list[Expr]]
"""The lower triangle of a symmetric matrix, row by row."""


class LinearFilter(FilterBlock):
    """What filters of linear models share: their matrices.

    Args:
        phi: the states of the next instant from those of this.
        h: what is measured, from the states.
        process: covariance of the noise on the states.
        measurement: covariance of the noise of the sensors.
        theta: effect of the inputs that hold until the next instant.
        d: what the inputs add to what is measured.
        drift: what a step adds to the states.
        bias: what the sensors show where states and inputs are zero.
        initial: the estimate at the start.
        states: names of the states, for messages.
        truth: whether there is a port `truth` for the true states.
        every: for each sensor, at how many instants once it has a new value.
        switched: whether sensors can be left out at an instant.
        name: of the block.
        rate: hertz or a `Rate`.
    """

    def __init__(
        self,
        phi: ArrayLike,
        h: ArrayLike,
        process: Weights,
        measurement: Weights,
        *,
        theta: ArrayLike | None,
        d: ArrayLike | None,
        drift: ArrayLike | None,
        bias: ArrayLike | None,
        initial: Sequence[float] | None,
        states: Sequence[str] | None,
        truth: bool,
        every: Sequence[int] | None,
        switched: bool,
        name: str,
        rate: Rate | float | Fraction | None,
    ) -> None:
        def numbers(key: str, given: Any, shape: tuple[int | None, int | None]) -> Array:
            return matrix(at_start(given, f"{key} of {name!r}"), f"{key} of {name!r}", shape)

        self.phi = numbers("phi", phi, (None, None))
        n = len(self.phi)
        matrix(self.phi, f"phi of {name!r}", (n, n))
        self.h = numbers("h", h, (None, n))
        m = len(self.h)
        self.theta = np.zeros((n, 0)) if theta is None else numbers("theta", theta, (n, None))
        width = self.theta.shape[1]
        self.d = np.zeros((m, width)) if d is None else numbers("d", d, (m, width))
        self.drift = (
            np.zeros(n) if drift is None else matrix(drift, f"drift of {name!r}", (1, n))[0]
        )
        self.bias = np.zeros(m) if bias is None else matrix(bias, f"bias of {name!r}", (1, m))[0]
        names = tuple(states or (f"x{i}" for i in range(n)))
        if len(names) != n or (every is not None and len(every) != m):
            raise BlockError(
                f"{name!r} has {n} states with {len(names)} names, and {m} sensors",
                remedy="give a name for each state, and a number of instants for each sensor",
                code="R501",
            )
        self.process = covariance_matrix(process, names, f"process of {name!r}")
        self.measurement = covariance_matrix(measurement, m, f"measurement of {name!r}")
        super().__init__(
            names,
            m,
            width,
            initial=initial,
            truth=truth,
            every=every,
            switched=switched,
            name=name,
            rate=rate,
        )
        both = (phi, self.phi), (h, self.h), (theta, self.theta), (d, self.d)
        self._phi, self._h, self._theta, self._d = (entries(self, *pair) for pair in both)
        self.varies = varies(phi) or varies(h)
        self.unobservable = () if self.varies else tuple(unobservable(self.phi, self.h, names))
        self._expected = [self._shown(k, self._prior) for k in range(m)]

    def _shown(self, k: int, x: Sequence[Expr]) -> Expr:
        """Return what a sensor shows without noise."""
        return dot(self._h[k], x) + dot(self._d[k], self._u) + float(self.bias[k])

    def _goes_on(self, x: Sequence[Expr], sigma: Sequence[Expr], nis: Expr) -> None:
        """Make the ports, and predict."""
        filtered = [self._shown(k, x) for k in range(len(self.h))]
        self._put_out(x, sigma, nis, filtered, self._expected)
        for i, prior in enumerate(self._prior):
            moved = dot(self._phi[i], x) + dot(self._theta[i], self._u)
            self.update(prior, moved + float(self.drift[i]))


class KalmanFilter(LinearFilter):
    """A Kalman filter with a covariance that varies in time, for x+ = Φ x + Θ u + w, z = H x + v.

    Entries of Φ, Θ, H and D may be texts, which are functions of the time `t`: "cos(2*t)".

    Args:
        phi: the states of the next instant from those of this.
        h: what is measured, from the states.
        process: covariance of w: a matrix, its diagonal, one number, or variances by name.
        measurement: covariance of v: a matrix, its diagonal, or one number; a sensor with 0 is
            exact.
        theta: effect of the inputs that hold until the next instant; no inputs by default.
        d: what the inputs add to what is measured; nothing by default.
        drift: what a step adds to the states; nothing by default.
        bias: what the sensors show where states and inputs are zero; nothing by default.
        initial: the estimate at the start, before the first measurement; zero by default.
        covariance: that of its error: a matrix, its diagonal, one number, or variances by name.
        states: names of the states, for messages.
        every: for each sensor, at how many instants once it has a new value; always by default.
        truth: whether to have a port `truth` for the true states and a channel `nees` with the
            error of the estimate squared, in units of its covariance.
        name: of the block.
        rate: hertz or a `Rate`.

    Ports: `z`, `u`, and `used`, for each sensor 1 where it has a new value and 0 where not.
    Channels: the estimate `x`, its deviation `sigma`, `y` = H x, the prediction `z_hat` = H x⁻, the
    `innovation`, and `nis`. `unobservable` names states that no sensor distinguishes.

    >>> KalmanFilter([[1.0]], [[1.0]], 0.04, 0.25, rate=10)
    KalmanFilter(kalman: z, used -> x, sigma, y, z_hat, innovation, nis)
    """

    def __init__(
        self,
        phi: ArrayLike,
        h: ArrayLike,
        process: Weights,
        measurement: Weights,
        *,
        theta: ArrayLike | None = None,
        d: ArrayLike | None = None,
        drift: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        initial: Sequence[float] | None = None,
        covariance: Weights = 100.0,
        states: Sequence[str] | None = None,
        every: Sequence[int] | None = None,
        truth: bool = False,
        name: str = "kalman",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(
            phi,
            h,
            process,
            measurement,
            theta=theta,
            d=d,
            drift=drift,
            bias=bias,
            initial=initial,
            states=states,
            truth=truth,
            every=every,
            switched=True,
            name=name,
            rate=rate,
        )
        n = len(self.phi)
        self.covariance = covariance_matrix(covariance, self.state_names, f"covariance of {name!r}")
        memory = remembered_covariance(self, self.covariance)
        x: list[Expr] = list(self._prior)
        P = memory
        seen = [z - dot(self._d[k], self._u) - float(self.bias[k]) for k, z in enumerate(self._z)]
        x, P, told = correct_by_all(self, x, P, self._h, self.measurement, seen, self._used)
        self._goes_on(x, [sqrt(P[i][i]) for i in range(n)], total(one.nis for one in told))
        if truth:
            self.output("nees", squared(self, self._truth, x, P), unit="1", doc="squared error")
        follow_covariance(self, memory, moved_covariance(self, P, self._phi, self.process))


class SteadyKalmanFilter(LinearFilter):
    """A Kalman filter with the gain at which it settles, for x+ = Φ x + Θ u + w, z = H x + v.

    Args:
        phi: the states of the next instant from those of this.
        h: what is measured, from the states.
        process: covariance of w: a matrix, its diagonal, one number, or variances by name.
        measurement: covariance of v: a matrix, its diagonal, or one number.
        theta: effect of the inputs that hold until the next instant; no inputs by default.
        d: what the inputs add to what is measured; nothing by default.
        drift: what a step adds to the states; nothing by default.
        bias: what the sensors show where states and inputs are zero; nothing by default.
        initial: the estimate at the start, before the first measurement; zero by default.
        states: names of the states, for messages.
        truth: whether to have a port `truth` for the true states and a channel `nees` with the
            error of the estimate squared, in units of its covariance.
        name: of the block.
        rate: hertz or a `Rate`.

    Ports and channels are those of `KalmanFilter`, without `used`. `gain` is the gain with the
    covariance of the prediction.

    >>> SteadyKalmanFilter([[1.0]], [[1.0]], 0.04, 0.25).gain.gain.round(10)
    array([[0.32792156]])
    """

    def __init__(
        self,
        phi: ArrayLike,
        h: ArrayLike,
        process: Weights,
        measurement: Weights,
        *,
        theta: ArrayLike | None = None,
        d: ArrayLike | None = None,
        drift: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        initial: Sequence[float] | None = None,
        states: Sequence[str] | None = None,
        truth: bool = False,
        name: str = "kalman",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(
            phi,
            h,
            process,
            measurement,
            theta=theta,
            d=d,
            drift=drift,
            bias=bias,
            initial=initial,
            states=states,
            truth=truth,
            every=None,
            switched=False,
            name=name,
            rate=rate,
        )
        if self.varies:
            raise DomainError(
                f"the matrices of {name!r} change with time, so its gain never settles",
                remedy="take KalmanFilter, whose covariance varies in time",
                code="R504",
            )
        if hidden := unobservable(self.phi, self.h, self.state_names, unstable=True):
            raise DomainError(
                f"{name!r} never settles: no sensor determines {', '.join(hidden)}, and nothing "
                "lets the error die out",
                remedy="add a sensor, or take the filter with a covariance that varies in time",
                code="R504",
            )
        if (exact := np.flatnonzero(np.diag(self.measurement) <= 0.0)).size:
            raise DomainError(
                f"measurement of {name!r} has no noise in sensor {', '.join(map(str, exact))}",
                remedy="give it a deviation above 0, or take the filter with a covariance that "
                "varies in time, which takes exact sensors",
                code="R503",
            )
        self.gain = dlqe(self.phi, self.h, self.process, self.measurement)
        L, prior = self.gain.gain, self.gain.cost
        rest = np.eye(len(L)) - L @ self.h
        self.covariance = rest @ prior @ rest.T + L @ self.measurement @ L.T
        spread: Array = np.linalg.inv(self.h @ prior @ self.h.T + self.measurement).astype(float)
        news = [self.intermediate(z - e) for z, e in zip(self._z, self._expected, strict=True)]
        x = [self.intermediate(p + combination(L[i], news)) for i, p in enumerate(self._prior)]
        sigma = [as_expr(float(s)) for s in np.sqrt(np.diag(self.covariance))]
        self._goes_on(x, sigma, _quadratic(spread, news))
        if truth:
            error = [self.intermediate(t - e) for t, e in zip(self._truth, x, strict=True)]
            inverse: Array = np.linalg.pinv(self.covariance, hermitian=True).astype(float)
            worth = _quadratic(inverse, error)
            self.output("nees", worth, unit="1", doc="squared error")


# -- algebra on lower triangles --------------------------------------------------------------------
def remembered_covariance(block: Block, start: Array) -> Symmetric:
    """Return the lower triangle of a covariance as memory of a block."""
    return [
        [block.discrete_state(f"P[{i},{j}]", initial=float(start[i, j])) for j in range(i + 1)]
        for i in range(len(start))
    ]


def follow_covariance(block: Block, memory: Symmetric, following: Symmetric) -> None:
    """Say the next value of a covariance."""
    for row, new in zip(memory, following, strict=True):
        for state, value in zip(row, new, strict=True):
            block.update(state, value)


def entry(P: Symmetric, i: int, j: int) -> Expr:
    """Return an entry of a symmetric matrix."""
    return P[i][j] if i >= j else P[j][i]


class News(NamedTuple):
    """What one sensor reported: its innovation, its variance, and one over that where it is
    used."""

    innovation: Expr
    variance: Expr
    weight: Expr

    @property
    def nis(self) -> Expr:
        """Its share of the normalized innovation squared."""
        return self.weight * self.innovation**2

    @property
    def whitened(self) -> Expr:
        """The innovation in units of its deviation."""
        return sqrt(self.weight) * self.innovation

    def logarithm(self, used: Expr) -> Expr:
        """Its share of log det 2πS."""
        return used * log(2 * PI * maximum(self.variance, 1e-300))


def correct_by_one(
    block: Block,
    x: Sequence[Expr],
    P: Symmetric,
    h: Sequence[Expr | float] | Array,
    r: Expr | float,
    seen: Expr,
    used: Expr,
) -> tuple[list[Expr], Symmetric, News]:
    """Return estimate and covariance after one sensor, in Joseph's form, and what it reported.

    With c = P h, s = h·c + r and the gain k = c/s, Joseph's product comes to
    P - k cᵀ - (c - k s) kᵀ; its last term is zero but for round-off, which it takes away.
    """
    n = len(x)
    part = [as_expr(v) for v in h]
    there = [i for i in range(n) if part[i] is not ZERO]
    c = [block.intermediate(total(part[j] * entry(P, i, j) for j in there)) for i in range(n)]
    s = block.intermediate(total(part[i] * c[i] for i in there) + r)
    weight = block.intermediate(
        used / s if isinstance(r, float) and r > 0 else where(s > 0, used / s, ZERO)
    )
    news = block.intermediate(seen - total(part[i] * x[i] for i in there))
    k = [block.intermediate(v * weight) for v in c]
    rest = [block.intermediate(c[i] - k[i] * s) for i in range(n)]
    after = [
        [block.intermediate(entry(P, i, j) - k[i] * c[j] - rest[i] * k[j]) for j in range(i + 1)]
        for i in range(n)
    ]
    return [block.intermediate(x[i] + k[i] * news) for i in range(n)], after, News(news, s, weight)


def correct_by_all(
    block: Block,
    x: Sequence[Expr],
    P: Symmetric,
    h: Sequence[Sequence[Expr | float]] | Array,
    measurement: Array,
    seen: Sequence[Expr],
    used: Sequence[Expr],
) -> tuple[list[Expr], Symmetric, list[News]]:
    """Return estimate and covariance after the sensors that are used, and what each reported.

    Sensors with correlated noise are replaced by combinations with independent noise, R = L D Lᵀ of
    the sensors that are used: what a silent one is correlated with stays as it is.
    """
    m = len(seen)
    R = [
        [as_expr(float(v)) * (used[i] * used[j] if i != j else ONE) for j, v in enumerate(row)]
        for i, row in enumerate(measurement)
    ]
    x, rows, news, told = list(x), [[as_expr(v) for v in row] for row in h], list(seen), []
    for k in range(m):
        pivot = R[k][k]  # its own noise, less what the sensors before it tell of that
        mixed, there = pivot.op != "num", pivot > 1e-13 * float(measurement[k, k])
        r = block.intermediate(where(there, pivot, ZERO)) if mixed else float(measurement[k, k])
        after = [i for i in range(k + 1, m) if R[i][k] is not ZERO]
        parts = {i: R[i][k] / pivot for i in after}
        share = {
            i: block.intermediate(where(there, p, ZERO) if mixed else p) for i, p in parts.items()
        }
        for i in after:
            for j in (j for j in after if j <= i):
                R[i][j] = block.intermediate(R[i][j] - share[i] * R[j][k])
            for j, b in enumerate(rows[k]):
                rows[i][j] = block.intermediate(rows[i][j] - share[i] * b)
            news[i] = block.intermediate(news[i] - share[i] * news[k])
        x, P, one = correct_by_one(block, x, P, rows[k], r, news[k], used[k])
        told.append(one)
    return x, P, told


def moved_covariance(
    block: Block,
    P: Symmetric,
    phi: Sequence[Sequence[Expr | float]] | Array,
    process: Array,
    scale: Expr = ONE,
) -> Symmetric:
    """Return Φ P Φᵀ + Q times a scale."""
    n = len(P)
    A = [[as_expr(float(v) if isinstance(v, np.floating) else v) for v in row] for row in phi]
    there = [[j for j in range(n) if A[i][j] is not ZERO] for i in range(n)]
    half = [
        [block.intermediate(total(A[i][k] * entry(P, k, j) for k in there[i])) for j in range(n)]
        for i in range(n)
    ]
    return [
        [
            block.intermediate(
                total(half[i][k] * A[j][k] for k in there[j]) + scale * float(process[i, j])
            )
            for j in range(i + 1)
        ]
        for i in range(n)
    ]


def squared(block: Block, truth: Sequence[Expr], x: Sequence[Expr], P: Symmetric) -> Expr:
    """Return eᵀ P⁻¹ e of e = truth - x by P = L D Lᵀ; a direction without spread counts 0."""
    n = len(x)
    lower: list[list[Expr]] = [[] for _ in range(n)]
    inverse: list[Expr] = []
    scaled: list[list[Expr]] = [[] for _ in range(n)]
    told: list[Expr] = []
    rest: list[Expr] = []
    for i in range(n):
        for j in range(i):
            raw = entry(P, i, j) - total(scaled[i][k] * lower[j][k] for k in range(j))
            scaled[i].append(block.intermediate(raw))
            lower[i].append(block.intermediate(scaled[i][j] * inverse[j]))
        spread = block.intermediate(
            entry(P, i, i) - total(scaled[i][k] * lower[i][k] for k in range(i))
        )
        inverse.append(block.intermediate(where(spread > 0, 1 / spread, ZERO)))
        left = truth[i] - x[i] - total(lower[i][k] * rest[k] for k in range(i))
        rest.append(block.intermediate(left))
        told.append(rest[i] ** 2 * inverse[i])
    return total(told)


def _quadratic(weight: Array, entries: Sequence[Expr]) -> Expr:
    """Return eᵀ W e."""
    return total(e * combination(row, entries) for e, row in zip(entries, weight, strict=True))
