"""Statics: configurations in which a mechanism stays at rest.

With all speeds zero, the loads f(q) and the forces of the constraints are in balance,
f + Jᵀ λ = 0, and the relations of position hold, g = 0; extra states stand still. These are solved
for coordinates and multipliers together by Newton's method, with the exact Jacobian from the
derivative of the Program, steps of least length and halving of steps.

Small motions about the result satisfy M δ'' = A δ on the motions that the constraints allow. The
eigenvalues of -A with respect to M are squares of the natural frequencies without damping; a
negative one says that the equilibrium is unstable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import Expr, substitute_all, symbol, total
from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.closure import Relations, assemble, least_norm, start_values
from linkwright.equations.evaluation import Array, Evaluator, all_values, quantities
from linkwright.equations.redundant import RedundantDynamics, split_motion, tree_parts
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.mechanism.plausibility import refuse_negative
from linkwright.program import Program
from linkwright.program.derivatives import derivative

_ITERATIONS = 100
_FALLS = 40
_FALL = 0.2


@one_line
@dataclass(frozen=True, slots=True)
class Equilibrium(Result):
    """A configuration at rest.

    Args:
        coordinates: coordinates and extra states by name.
        multipliers: the force of each constraint by its name, N or N*m.
        outputs: values of the mechanism's outputs.
        squares: squares of the natural frequencies, 1/s^2, lowest first.
        stable: whether none of them is negative; None where they could not be found.
        iterations: steps that were taken.
    """

    coordinates: dict[str, float]
    multipliers: dict[str, float]
    outputs: dict[str, float]
    squares: tuple[float, ...]
    stable: bool | None
    iterations: int
    _units = (("squares", "1/s^2"),)


def balance_program(mechanism: Mechanism) -> Program:
    """Return the Program of f + Jᵀ λ and of the rates of extra states, and their derivatives."""
    parts = tree_parts(mechanism)
    speeds = [s.symbol for s in mechanism.kinematics().speeds]
    forces = [
        symbol(f"multiplier_{i + 1}", "input", owner=mechanism.name)
        for i in range(len(mechanism.constraints))
    ]
    balance: list[Expr] = [
        total([f, *(row[k] * x for row, x in zip(parts.jacobian, forces, strict=True))])
        for k, f in enumerate(parts.right)
    ]
    still = dict.fromkeys(mechanism.kinematics().accelerations.values(), 0)
    balance += substitute_all([s.derivative for s in mechanism.states], still)
    results: dict[str, Sequence[object]] = {"r": balance}
    made = quantities(
        mechanism,
        "balance",
        results,
        balance,
        parts.writer.statements,
        q=[*parts.rates, *(s.symbol for s in mechanism.states)],
        u=speeds,
        a=forces,
    )
    by = [name for name in ("q", "a") if any(p.name == name for p in made.inputs)]
    return derivative(made, "r", by, values=True)


@worded
def equilibrium(
    model: ModelLike,
    initial: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    *,
    time: float = 0.0,
) -> Equilibrium:
    """Return a configuration in which the mechanism stays at rest.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model.
        initial: coordinates to start from, over the mechanism's own; the result is near them.
        parameters: values of parameters by name.
        time: at which functions of time are taken, s.

    >>> m = Mechanism("spring")
    >>> b = m.body("b", translate="z", mass=2, inertia=0)
    >>> m.gravity()
    >>> f = m.strut("s", "-100*(x - 1)", at=m.point("hook", at=(0, 0, 1)), to=b.origin)
    >>> round(equilibrium(m).coordinates["b"], 4)
    -0.1962
    """
    model = mechanism_of(model, "equilibrium")
    numbers = all_values(model, parameters)
    refuse_negative(model, numbers)
    relations = Relations(model, numbers)
    start_values(model, initial)
    given = model.amounts(initial, "initial")
    coordinates = {k: v for k, v in given.items() if k in model.coordinates}
    start = assemble(model, coordinates, parameters, time=time, relations=relations)
    problem = _Balance(model, relations, numbers, time)
    q = np.array(list(start.coordinates.values()))
    q, forces, iterations = problem.found(q)
    squares, outputs = problem.about(q)
    return Equilibrium(
        dict(zip(start.coordinates, map(float, q), strict=True)),
        {c.name: float(x) for c, x in zip(model.constraints, forces, strict=True)},
        {o.name: float(y) for o, y in zip(model.outputs, outputs, strict=True)},
        squares,
        None if not squares else min(squares) > -1e-9 * max(abs(s) for s in squares),
        iterations,
    )


class _Balance:
    """The equations of rest as numbers."""

    def __init__(
        self,
        mechanism: Mechanism,
        relations: Relations,
        values: Mapping[str, float],
        time: float,
    ) -> None:
        self.mechanism = mechanism
        self.relations = relations
        self.time = time
        self.dynamics = RedundantDynamics(mechanism, values)
        self.balance = Evaluator(mechanism, balance_program(mechanism), values)
        self.rest = np.zeros(len(relations.speeds))
        self.forces = len(mechanism.constraints)

    def evaluated(self, q: Array, forces: Array) -> tuple[Array, Array]:
        """Return the residuals and their Jacobian by coordinates and multipliers."""
        found = self.balance(self.time, q=q, u=self.rest, a=forces)
        r, r_q = found[0], found[1]
        r_forces = found[2] if self.forces else np.zeros((len(r), 0))
        g, g_q = self.relations.position(q, self.time)
        pad = np.zeros((len(g), len(q) - len(self.relations.coordinates)))
        below = np.hstack([g_q, pad, np.zeros((len(g), self.forces))])
        return np.concatenate([r, g]), np.vstack([np.hstack([r_q, r_forces]), below])

    def found(self, q: Array) -> tuple[Array, Array, int]:
        """Return what `solved` does, from where the mechanism falls to if it finds nothing here.

        Newton's method has no way to go where loads do not change with the coordinates, as those of
        a pendulum that is let go level.
        """
        try:
            return self.solved(q)
        except DomainError:
            return self.solved(self.fallen(q))

    def fallen(self, q: Array) -> Array:
        """Return coordinates moved in short steps along the acceleration till it turns."""
        before = np.zeros(0)
        for _ in range(_FALLS):
            toward = self.toward(q)
            if before.size and toward @ before < 0.0:
                break
            q, before = q.copy(), toward
            q[: len(toward)] += _FALL * toward
            q, _ = self.relations.closed(q, self.time)
        return q

    def toward(self, q: Array) -> Array:
        """Return the unit vector along which the coordinates accelerate from rest, or zero."""
        _, mass, right, jacobian, rest = self.dynamics.tree(self.time, q, self.rest)
        _, null = split_motion(jacobian, rest * 0.0)
        push = null @ least_norm(null.T @ mass @ null, null.T @ right)
        still, moving = (self.dynamics.tree(self.time, q, u)[0] for u in (self.rest, push))
        change: Array = moving - still
        return change / max(float(np.linalg.norm(change)), 1e-300)

    def solved(self, q: Array) -> tuple[Array, Array, int]:
        """Return coordinates, multipliers and the number of steps."""
        _, _, right, jacobian, _ = self.dynamics.tree(self.time, q, self.rest)
        forces = least_norm(jacobian.T, -right)
        residual, matrix = self.evaluated(q, forces)
        scale = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
        scale[: len(right)] = max(float(np.abs(right).max(initial=0.0)), 1e-300)
        count = len(q)
        for k in range(_ITERATIONS):
            error = float(np.abs(residual / scale).max(initial=0.0))
            step = least_norm(matrix / scale[:, None], -residual / scale, 1e-12)
            part = 1.0
            while True:
                trial_q, trial_forces = q + part * step[:count], forces + part * step[count:]
                trial, trial_matrix = self.evaluated(trial_q, trial_forces)
                better = float(np.abs(trial / scale).max(initial=0.0))
                if better < error or part < 1e-6:
                    break
                part *= 0.5
            if not better < error:
                if error < 1e-9:
                    return q, forces, k
                break
            q, forces, residual, matrix = trial_q, trial_forces, trial, trial_matrix
            if better < 1e-15:
                return q, forces, k + 1
        raise DomainError(
            f"no equilibrium of {self.mechanism.name!r} was found near the start",
            remedy="give initial coordinates nearer to it, or values that allow one",
        )

    def about(self, q: Array) -> tuple[tuple[float, ...], Array]:
        """Return squares of the natural frequencies, and the outputs at rest."""
        _, mass, right, jacobian, rest = self.dynamics.tree(self.time, q, self.rest)
        forces = least_norm(jacobian.T, -right)
        _, matrix = self.evaluated(q, forces)
        n = len(self.rest)
        moving = np.array(
            [self.dynamics.tree(self.time, q, unit)[0] for unit in np.eye(n)]
        ).T.reshape(-1, n)
        change = matrix[:n, : len(self.relations.coordinates)] @ moving
        _, null = split_motion(jacobian, rest * 0.0)
        inner = null.T @ mass @ null
        outputs = self.dynamics.results(self.time, q, self.rest, self.rest)[1]
        if not inner.size or np.linalg.cond(inner) > 1e12:
            return (), outputs
        found = np.linalg.eigvals(np.linalg.solve(inner, -null.T @ change @ null))
        return tuple(sorted(float(x) for x in found.real)), outputs
