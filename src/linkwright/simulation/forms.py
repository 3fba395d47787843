"""The forms in which equations of motion are integrated.

- `Independent`: the derived equations, in the coordinates and the independent speeds. Fast, but
  bound to a set of eliminated speeds, good only where the constraints can be solved for them.
- `Redundant`: all speeds of the tree, with a rank-revealing solve in every evaluation. It goes
  through singular configurations.

Both keep coordinates on the relations of position, once per accepted step: the independent form
corrects the coordinates whose rates were eliminated, if there is one for each relation, otherwise
the correction is the shortest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from linkwright.algebra import Expr, total
from linkwright.equations.closure import Relations
from linkwright.equations.equations import Equations
from linkwright.equations.evaluation import Array, Evaluator, Signals
from linkwright.equations.redundant import (
    SINGULAR,
    Decomposition,
    RedundantDynamics,
    constrained_accelerations,
)
from linkwright.program import Program

ZONE = 1e-3
_SETTLED = 0.03


class Form(Protocol):
    """Equations of motion as an integrator and a recorder see them."""

    evaluations: int

    def pack(self, q: Array, u: Array) -> Array:
        """Return the state vector from coordinates (then extra states) and all speeds."""

    def derivative(self, t: float, x: Array) -> Array:
        """Return the rate of the state vector."""

    def settle(self, t: float, x: Array) -> Array:
        """Return the state moved onto the constraints."""

    def observe(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates (then extra states), all speeds, their rates, and the outputs."""

    def time_to_singular(self, t: float, x: Array) -> float:
        """Return when a singular configuration is reached as things move now, in s from here."""


class Independent:
    """The derived equations, with relations of position kept by correction."""

    def __init__(
        self,
        equations: Equations,
        relations: Relations,
        values: Mapping[str, float],
        signals: Signals | None,
    ) -> None:
        m = equations.mechanism
        self.equations = equations
        self.relations = relations
        self.evaluations = 0
        self._count = len(equations.coordinates) + len(equations.states)
        order = [s.symbol for s in equations.kinematics.speeds]
        self._places = [order.index(u) for u in equations.speeds]
        self.dependent = [order.index(u) for u in equations.reduction.dependent]
        self.active = [i for i, e in enumerate(equations.eliminations) if e.speed is not None]
        plain = equations.program(outputs=False)
        self._kernel = Evaluator(m, plain, values, signals=signals)
        self._observer = Evaluator(m, observer(equations, order), values, signals=signals)
        self._closes = bool(relations.names)
        self._computed = corrected_coordinates(equations, relations)

    def pack(self, q: Array, u: Array) -> Array:
        """Return coordinates, extra states and independent speeds in one vector."""
        return np.concatenate([q, u[self._places]])

    def derivative(self, t: float, x: Array) -> Array:
        """Return the rate of the state vector."""
        self.evaluations += 1
        n = self._count
        out = np.empty(len(x))
        self._kernel.fill(t, (x[:n], x[n:]), (out[:n], out[n:]))
        return out

    def settle(self, t: float, x: Array) -> Array:
        """Return the state with its coordinates moved onto the relations of position."""
        if not self._closes:
            return x
        x = x.copy()
        n = self._count
        x[:n], _ = self.relations.closed(x[:n], t, self._computed, iterations=4, rank=SINGULAR)
        return x

    def observe(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates (then extra states), all speeds, their rates, and the outputs."""
        n = self._count
        found = self._observer(t, q=x[:n], u=x[n:])
        outputs = found[2] if len(found) > 2 else np.zeros(0)
        return x[:n], found[0], found[1], outputs

    def time_to_singular(self, t: float, x: Array) -> float:
        """Return infinity: before a singular configuration another form takes over."""
        del t, x
        return np.inf


def corrected_coordinates(equations: Equations, relations: Relations) -> list[int] | None:
    """Return the coordinates that are corrected after a step, or None for all.

    They are those whose rates are eliminated, where there is one for each relation.
    """
    tied = set(equations.reduction.dependent)
    rates = equations.kinematics.rates
    found = [i for i, q in enumerate(relations.coordinates) if rates[q] in tied]
    held = [
        e
        for e in equations.eliminations
        if e.constraint.position is not None and e.speed is not None
    ]
    return found if len(found) == len(held) and not relations.units else None


def observer(equations: Equations, order: Sequence[Expr]) -> Program:
    """Return the Program of all speeds, their rates and the outputs."""
    reduction = equations.reduction
    speed: dict[Expr, Expr] = {u: u for u in equations.speeds}
    rate = dict(zip(equations.speeds, equations.accelerations, strict=True))
    for i, u in enumerate(reduction.dependent):
        products = (a * v for a, v in zip(reduction.matrix[i], equations.speeds, strict=True))
        speed[u] = total([reduction.offset[i], *products])
        rate[u] = equations.dependent_accelerations[i]
    speeds, rates = [speed[u] for u in order], [rate[u] for u in order]
    results: dict[str, Sequence[object]] = {"all_u": speeds, "all_a": rates}
    if equations.outputs:
        results["y"] = list(equations.outputs)
    roots = [*speeds, *rates, *equations.outputs]
    return equations.assemble(f"{equations.mechanism.name}_observer", results, {}, roots)


class Redundant:
    """All speeds of the tree, with constraints solved numerically in every evaluation.

    A state between two accepted ones is moved onto the constraints before it is evaluated, because
    near a singular configuration what it is off is divided by a small singular value. Where that is
    below `ZONE` of its usual size, u' is the limit along the motion: u' of four neighbors, ahead
    and behind, extrapolated (Richardson).

    `usual` is the largest size that the smallest singular value has had.
    """

    def __init__(
        self, dynamics: RedundantDynamics, relations: Relations, rank: int | None = None
    ) -> None:
        self.dynamics = dynamics
        self.relations = relations
        self.evaluations = 0
        self._rank = rank
        self.usual = 0.0
        self._largest = 1.0
        self._constrained = bool(relations.mechanism.constraints)
        self._coordinates = len(relations.coordinates)
        self._count = self._coordinates + len(dynamics.mechanism.states)

    def pack(self, q: Array, u: Array) -> Array:
        """Return coordinates, extra states and all speeds in one vector."""
        return np.concatenate([q, u])

    def derivative(self, t: float, x: Array) -> Array:
        """Return the rate of the state vector."""
        self.evaluations += 1
        n = self._count
        x, parts = self._projected(t, x, ZONE)
        q, u = x[:n], x[n:]
        q_dot, a = self._rates(t, q, u, parts)
        z_dot = self.dynamics.results(t, q, u, a)[0] if n > self._coordinates else np.zeros(0)
        return np.concatenate([q_dot, z_dot, a])

    def settle(self, t: float, x: Array) -> Array:
        """Return the state with coordinates and speeds moved onto the constraints.

        Along a direction whose singular value is small it is left as it is: its errors are those of
        the integration, and smaller than rounding errors divided by that value.
        """
        return self._projected(t, x, _SETTLED)[0]

    def observe(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates (then extra states), all speeds, their rates, and the outputs."""
        n = self._count
        q, u = x[:n], x[n:]
        _, a = self._rates(t, q, u, self._decomposed(t, q)[1])
        return q, u, a, self.dynamics.results(t, q, u, a)[1]

    # -- near singular configurations --------------------------------------------------------------
    def _projected(self, t: float, x: Array, bound: float) -> tuple[Array, Decomposition | None]:
        """Return the state on the constraints, those with small singular values left out."""
        n = self._count
        if not self._constrained:
            return _with_closed(self.relations, t, x, n, SINGULAR), None
        if self._rank is None or not self.usual:
            self._decomposed(t, x[:n])
        x = _with_closed(self.relations, t, x, n, self._small(bound))
        rest, parts = self._decomposed(t, x[:n])
        left, s, vt = parts
        kept = s > self._small(bound) * s[0]
        k = len(s)
        u = x[n:]
        wrong = left[:, :k].T @ rest + s * (vt[:k] @ u)
        x[n:] = u - vt[:k][kept].T @ (wrong[kept] / s[kept])
        return x, parts

    def _decomposed(self, t: float, q: Array) -> tuple[Array, Decomposition]:
        """Return b and the singular value decomposition of J in J u + b = 0."""
        jacobian, rest = self.relations.speed(q, t)
        parts = np.linalg.svd(jacobian)
        s = parts[1]
        if not len(s):
            return rest, parts
        self._largest = float(s[0])
        if self._rank is None:
            self._rank = int((s > SINGULAR * s[0]).sum())
        if self._rank:
            last = float(s[self._rank - 1])
            if not self.usual:
                self.usual = last if last > SINGULAR * s[0] else float(s[0])
            self.usual = max(self.usual, last)
        return rest, parts

    def _small(self, bound: float) -> float:
        """Return the part of the largest singular value below which others count as small."""
        return max(bound * self.usual / self._largest, SINGULAR)

    def _rates(
        self, t: float, q: Array, u: Array, parts: Decomposition | None
    ) -> tuple[Array, Array]:
        """Return q' and u', near a singular configuration the limit of u' along the motion."""
        q_dot, mass, right, jacobian, rest = self.dynamics.tree(t, q, u)
        if parts is not None and self._rank:
            left, s, vt = parts
            rank = self._rank
            small = s[:rank] < ZONE * self.usual
            if small.any():
                pace = self._pace(t, q, q_dot, left[:, :rank][:, small], vt[:rank][small])
                if pace > 0:
                    return q_dot, self._limit(t, q, u, q_dot, 3.0 * ZONE * self.usual / pace)
        return q_dot, constrained_accelerations(mass, right, jacobian, rest, parts)

    def _pace(self, t: float, q: Array, q_dot: Array, left: Array, vt: Array) -> float:
        """Return how fast the slowest of the small singular values leaves zero, per second."""
        change = left.T @ self._jacobian_rate(t, q, q_dot) @ vt.T
        return float(np.linalg.svd(change, compute_uv=False)[-1])

    def _jacobian_rate(self, t: float, q: Array, q_dot: Array) -> Array:
        """Return the rate of J along the motion, from a central difference."""
        h = 1e-5 / max(float(np.abs(q_dot).max(initial=0.0)), 1e-3)
        ahead, _ = self.relations.speed(self._moved(q, q_dot, h), t + h)
        behind, _ = self.relations.speed(self._moved(q, q_dot, -h), t - h)
        rate: Array = (ahead - behind) / (2.0 * h)
        return rate

    def time_to_singular(self, t: float, x: Array) -> float:
        """Return when a singular configuration is reached as things move now, in s from here."""
        n = self._count
        q, u = x[:n], x[n:]
        q_dot = self.dynamics.tree(t, q, u)[0]
        if not self._constrained or not self._rank:
            return np.inf
        left, s, vt = self._decomposed(t, q)[1]
        small = np.flatnonzero(s[: self._rank] < 0.5 * self.usual)
        if not len(small) or s[self._rank - 1] == 0:
            return np.inf
        change = left[:, small].T @ self._jacobian_rate(t, q, q_dot) @ vt[small].T
        rates = np.linalg.eigvals(change / s[small][:, None]).real
        return float(min((-1.0 / r for r in rates if r < 0), default=np.inf))

    def _moved(self, q: Array, q_dot: Array, h: float) -> Array:
        q = q.copy()
        q[: self._coordinates] += h * q_dot
        return q

    def _limit(self, t: float, q: Array, u: Array, q_dot: Array, h: float) -> Array:
        """Return u' at a singular configuration from states around it on the way."""
        n = self._count

        def beside(step: float) -> Array:
            x = np.concatenate([self._moved(q, q_dot, step), u])
            x, parts = self._projected(t + step, x, ZONE)
            _, mass, right, jacobian, rest = self.dynamics.tree(t + step, x[:n], x[n:])
            return constrained_accelerations(mass, right, jacobian, rest, parts)

        near = 0.5 * (beside(h) + beside(-h))
        far = 0.5 * (beside(2.0 * h) + beside(-2.0 * h))
        limit: Array = (4.0 * near - far) / 3.0
        return limit


def _with_closed(relations: Relations, t: float, x: Array, count: int, rank: float) -> Array:
    x = x.copy()
    x[:count], _ = relations.closed(x[:count], t, iterations=4, rank=rank)
    return x
