"""The forms in which equations of motion are integrated.

- `Independent`: the derived equations, in the coordinates and the independent speeds. Fast, but
  bound to a set of eliminated speeds, good only where the constraints can be solved for them.
- `Redundant`: all speeds of the tree, with a rank-revealing solve in every evaluation. It goes
  through singular configurations.

Both keep coordinates on the relations of position, once per accepted step, by the shortest
correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from linkwright.algebra import Expr, total
from linkwright.equations.closure import Relations, least_norm
from linkwright.equations.equations import Equations
from linkwright.equations.evaluation import Array, Evaluator, Signals
from linkwright.equations.redundant import SINGULAR, RedundantDynamics
from linkwright.program import Program


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


class Independent:
    """The derived equations, with relations of position kept by correction.

    Args:
        equations: what to integrate.
        relations: the constraints as numbers.
        values: numbers of the parameters.
        signals: values of the inputs at a time.
    """

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
        self._observer = Evaluator(m, _observer(equations, order), values, signals=signals)
        self._closes = bool(relations.names)

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
        return _with_closed(self.relations, t, x, self._count)

    def observe(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates (then extra states), all speeds, their rates, and the outputs."""
        n = self._count
        found = self._observer(t, q=x[:n], u=x[n:])
        outputs = found[2] if len(found) > 2 else np.zeros(0)
        return x[:n], found[0], found[1], outputs


def _observer(equations: Equations, order: Sequence[Expr]) -> Program:
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

    Args:
        dynamics: M, f and the constraints as numbers.
        relations: the constraints as numbers.
    """

    def __init__(self, dynamics: RedundantDynamics, relations: Relations) -> None:
        self.dynamics = dynamics
        self.relations = relations
        self.evaluations = 0
        self._coordinates = len(relations.coordinates)
        self._count = self._coordinates + len(dynamics.mechanism.states)

    def pack(self, q: Array, u: Array) -> Array:
        """Return coordinates, extra states and all speeds in one vector."""
        return np.concatenate([q, u])

    def derivative(self, t: float, x: Array) -> Array:
        """Return the rate of the state vector."""
        self.evaluations += 1
        n = self._count
        q, u = x[:n], x[n:]
        q_dot, a = self.dynamics.rates(t, q, u)
        z_dot = self.dynamics.results(t, q, u, a)[0] if n > self._coordinates else np.zeros(0)
        return np.concatenate([q_dot, z_dot, a])

    def settle(self, t: float, x: Array) -> Array:
        """Return the state with coordinates and speeds moved onto the constraints."""
        n = self._count
        x = _with_closed(self.relations, t, x, n)
        jacobian, rest = self.relations.speed(x[:n], t)
        if len(jacobian):
            x[n:] += least_norm(jacobian, -(jacobian @ x[n:] + rest), SINGULAR)
        return x

    def observe(self, t: float, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates (then extra states), all speeds, their rates, and the outputs."""
        n = self._count
        q, u = x[:n], x[n:]
        _, a = self.dynamics.rates(t, q, u)
        return q, u, a, self.dynamics.results(t, q, u, a)[1]


def _with_closed(relations: Relations, t: float, x: Array, count: int) -> Array:
    x = x.copy()
    x[:count], _ = relations.closed(x[:count], t, iterations=4, rank=SINGULAR)
    return x
