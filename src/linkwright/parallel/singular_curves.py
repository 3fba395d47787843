"""The condition of singular poses as equations, solved and followed by Newton's method.

A pose is singular where a matrix K of rates loses rank: for type 2 the rates of the relations and
of the actuators, for type 1 those of the relations and of the platform. What K lacks everywhere
(redundant relations, idle motions) is cut off by fixed orthonormal bases of a regular pose nearby.
The smallest singular value s of what is left has the exact derivative u^T dK v with its singular
vectors u, v, which is a product of second derivatives of the relations with two vectors: forward
over reverse accumulation of a Program. The curve {relations = 0, s = 0} is followed by a predictor
along its tangent and Newton's corrector (Allgower and Georg, *Introduction to Numerical
Continuation Methods*, chapters 2 and 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from linkwright.algebra import Expr, symbol
from linkwright.algebra.triples import dot
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.equations.closure import least_norm
from linkwright.equations.evaluation import quantities
from linkwright.parallel.machine_rates import Array, MachineRates, MotionRates, ProgramParts
from linkwright.program import hessian_vector

Inside: TypeAlias = Callable[[Array], float]
"""A function of scaled coordinates, positive inside a region."""

KINDS = ("type 1", "type 2")
EXACT = 1e-12
_NEWTON = 12
_STEP = 0.02  # rad, the first step
_LARGEST = 0.06
_SMALLEST = 1e-6
_TURN = 0.12  # rad by which the tangent may turn in a step


@dataclass(frozen=True, slots=True, eq=False)
class SingularCurve:
    """The equations of singular poses of one kind, near a regular pose."""

    rates: MachineRates  # the machine
    kind: str  # "type 1" or "type 2"
    output: str  # what the platform is for
    weights: Array  # the size of each relation
    left: Array = field(repr=False)  # basis of the rows that count, as columns
    right: Array = field(repr=False)  # basis of the motions that count, as columns
    idle: Array = field(repr=False)  # motions that do not, as rows
    # rows of what is held besides the relations, in scaled coordinates
    held: Array = field(repr=False)
    values: Array = field(repr=False)  # of what is held
    _second: Kernel = field(repr=False)
    _fixed: tuple[Array, ...] = field(repr=False)

    def matrix(self, now: MotionRates) -> Array:
        """Return K, or many of them, in scaled coordinates."""
        rows = [now.jacobian / self.weights[:, None]]
        n = len(self.rates.scales)
        if self.kind == "type 2":
            unit = np.eye(n)[self.rates.driven] / self.rates.scales
            rows.append(np.broadcast_to(unit, (*now.jacobian.shape[:-2], *unit.shape)))
        else:
            rows.append(now.pose_slope[..., self._pose_rows, :] * self._pose_scales[:, None])
        return np.concatenate(rows, axis=-2) * self.rates.scales

    @property
    def _pose_rows(self) -> slice:
        return {"pose": slice(0, 15), "position": slice(0, 3), "direction": slice(3, 6)}[
            self.output
        ]

    @property
    def _pose_scales(self) -> Array:
        scales = np.array([1 / self.rates.length] * 3 + [1.0] * 12)
        if self.output == "pose":
            scales[3:6] = 0.0
        return scales[self._pose_rows]

    def smallest(self, now: MotionRates) -> Array:
        """Return the smallest singular value, of one pose or of many."""
        core = self.left.T @ self.matrix(now) @ self.right
        return np.asarray(np.linalg.svd(core, compute_uv=False)[..., -1])

    def sign(self, now: MotionRates) -> Array:
        """Return the sign of the determinant, of one pose or of many."""
        return np.asarray(np.linalg.slogdet(self.left.T @ self.matrix(now) @ self.right)[0])

    def system(self, z: Array) -> tuple[Array, Array]:
        """Return what vanishes on the curve, and its derivatives by scaled coordinates."""
        q = z * self.rates.scales
        now = self.rates.at(q)
        core = self.left.T @ self.matrix(now) @ self.right
        u, s, vt = np.linalg.svd(core)
        row = self._slope(q, self.left @ u[:, -1], self.right @ vt[-1])
        g = now.residual / self.weights
        jacobian = now.jacobian * self.rates.scales / self.weights[:, None]
        value = np.concatenate([g, s[-1:], self.held @ z - self.values])
        return value, np.vstack([jacobian, row, self.held])

    def _slope(self, q: Array, y: Array, x: Array) -> Array:
        """Return the derivative of y^T K x by the scaled coordinates."""
        m = len(self.weights)
        multipliers = np.zeros(m + 15)
        multipliers[:m] = y[:m] / self.weights
        if self.kind == "type 1":
            multipliers[m:][self._pose_rows] = y[m:] * self._pose_scales
        found = self._second(q, multipliers, *self._fixed, x * self.rates.scales)
        return np.asarray(found) * self.rates.scales

    def solved(self, z: Array, across: Array | None = None) -> tuple[Array, Array] | None:
        """Return a point of the curve near another one and the tangent there, or None.

        Args:
            across: the direction in which the point does not move; without it, the nearest one.
        """
        extra = self.idle if across is None else np.vstack([self.idle, across])
        start, rest = z, np.zeros(len(extra))
        for turn in range(_NEWTON):
            value, jacobian = self.system(z)
            small = np.abs(value).max()
            if small <= EXACT * 0.1 or (turn == _NEWTON - 1 and small <= EXACT):
                return z, self._tangent(jacobian)
            whole = np.vstack([jacobian, extra])
            step = least_norm(whole, -np.concatenate([value, rest]), 1e-10)
            if not np.isfinite(step).all() or np.linalg.norm(z + step - start) > 1.0:
                return None
            if np.linalg.norm(step) < 1e-15 and small <= EXACT:
                return z, self._tangent(jacobian)
            z = z + step
        return None

    def _tangent(self, jacobian: Array) -> Array:
        return np.asarray(np.linalg.svd(np.vstack([jacobian, self.idle]))[2][-1])


def singular_curve(
    rates: MachineRates, kind: str, output: str, weights: Array, q: Array, hold: dict[int, float]
) -> SingularCurve:
    """Return the equations of singular poses near a regular pose."""
    n = len(q)
    held = np.eye(n)[list(hold)]
    values = np.array(list(hold.values())) / rates.scales[list(hold)]
    second = _second_derivatives(rates.parts)
    parts = (held, values, second, tuple(rates.fixed_of(second.inputs)))
    trial = SingularCurve(
        rates, kind, output, weights, np.eye(1), np.eye(1), np.zeros((0, n)), *parts
    )
    u, s, vt = np.linalg.svd(trial.matrix(rates.at(q)))
    rank = int((s > 1e-7 * s[0]).sum())
    return SingularCurve(rates, kind, output, weights, u[:, :rank], vt[:rank].T, vt[rank:], *parts)


@lru_cache(maxsize=16)
def _second_derivatives(parts: ProgramParts) -> Kernel:
    """Return the kernel of the Hessian of weighted relations and pose, times a vector."""
    given = [*parts.relations, *parts.pose]
    y = [symbol(f"y{k}", "input", owner="singular_curves") for k in range(len(given))]
    weighted: Expr = dot(y, given)
    first = quantities(
        parts.machine.mechanism, "weighted", {"s": [weighted]}, [weighted], q=parts.coordinates, y=y
    )
    return compiled(hessian_vector(first, "s", "q"))


# -- following -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """A curve in scaled coordinates."""

    points: Array  # one row each
    tangents: Array  # unit vectors along it
    closed: bool  # whether the last point is followed by the first
    ends: tuple[str, str]  # why it ends, at the first and at the last point


def followed(curve: SingularCurve, start: Array, inside: Inside, limit: int = 4000) -> Followed:
    """Return the curve through a point of it, as far as it stays inside."""
    first = curve.solved(start)
    if first is None:
        return Followed(np.zeros((0, len(start))), np.zeros((0, len(start))), False, ("", ""))
    z, t = first
    forward, closed, end = _one_way(curve, z, t, inside, limit)
    if closed:
        points, tangents = zip(*forward, strict=True)
        return Followed(np.array(points), np.array(tangents), True, ("closed", "closed"))
    backward, _, other = _one_way(curve, z, -t, inside, limit)
    both = [(p, -v) for p, v in backward[:0:-1]] + forward
    points, tangents = zip(*both, strict=True)
    return Followed(np.array(points), np.array(tangents), False, (other, end))


def _one_way(
    curve: SingularCurve, z: Array, t: Array, inside: Inside, limit: int
) -> tuple[list[tuple[Array, Array]], bool, str]:
    made = [(z, t)]
    start, h = z, _STEP
    while len(made) < limit:
        z, t = made[-1]
        after, way = curve.solved(z + h * t, t) or (z, -t)
        way = way if way @ t > 0 or after is z else -way
        angle = float(np.arccos(np.clip(way @ t, -1.0, 1.0)))
        if angle > 2 * _TURN:  # too far, or not found at all
            h *= 0.5
            if h < _SMALLEST:
                return made, False, "the curve bends without end, or meets another one"
            continue
        if inside(after) < 0:
            made.append(crossing(curve, (z, t), h, inside))
            return made, False, "the edge of the region"
        ahead, behind = curve.rates.apart(start - z), curve.rates.apart(start - after)
        if len(made) > 2 and ahead @ t > 0 >= behind @ way:
            side = ahead - t * float(ahead @ t)
            if np.linalg.norm(side) < 0.2 * h and way @ made[0][1] > 0.5:
                return made, True, "closed"
        made.append((after, way))
        h = min(_LARGEST, h * min(2.0, max(0.5, _TURN / max(angle, 1e-9))))
    return made, False, "the limit of points"


def crossing(
    curve: SingularCurve, origin: tuple[Array, Array], h: float, function: Inside
) -> tuple[Array, Array]:
    """Return the point within a step of the curve at which a function vanishes, and its tangent."""
    from scipy.optimize import brentq

    z, t = origin

    def at(part: float) -> tuple[Array, Array]:
        found = curve.solved(z + part * t, t)
        if found is None:
            return z + part * t, t
        return found[0], found[1] if found[1] @ t > 0 else -found[1]

    if function(z) * function(at(h)[0]) >= 0:
        return at(h)
    return at(float(brentq(lambda part: function(at(part)[0]), 0.0, h, xtol=1e-15, rtol=1e-14)))
