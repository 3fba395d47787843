"""Equations of motion in all speeds of the tree, with constraints solved numerically.

The symbolic form eliminates a fixed set of speeds, and fails where that set, or any, cannot be
solved for. Here all speeds of the tree are kept. M, f and the constraints J u' = c are evaluated by
a native kernel, and u' is found by the null-space method (Kim and Vanderploeg 1986): with the
singular value decomposition J = U S Vᵀ, the part of u' in the range of Jᵀ follows from the
constraints, the rest from M projected on the null space. A singular value below `SINGULAR` of the
largest counts as zero: at a singular configuration the constraint that is lost there is left out,
and nothing grows without bound. The mass matrix of the tree may be singular (massless bodies), as
long as no motion that the constraints allow is without inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from linkwright.algebra import Expr, linear_coefficients
from linkwright.base.errors import DomainError
from linkwright.equations.constraints import drift
from linkwright.equations.derived_outputs import output_values
from linkwright.equations.evaluation import Array, Evaluator, Signals, quantities
from linkwright.equations.formulations import FORMULATIONS
from linkwright.equations.projection import unreduced
from linkwright.equations.writer import Writer
from linkwright.mechanism import Mechanism
from linkwright.program import Program

SINGULAR = 1e-6
Decomposition = tuple[Array, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class TreeParts:
    """Expressions of q', M, f, J and c over shared statements."""

    writer: Writer = field(repr=False)
    rates: dict[Expr, Expr]
    mass: tuple[tuple[Expr, ...], ...]
    right: tuple[Expr, ...]
    jacobian: tuple[tuple[Expr, ...], ...]
    rest: tuple[Expr, ...]


def tree_parts(mechanism: Mechanism, formulation: str = "composite-usual") -> TreeParts:
    """Return q', M, f, J and c, for all speeds of the tree."""
    kinematics = mechanism.kinematics()
    writer = Writer(mechanism.name)
    states = {s.symbol for s in mechanism.states}
    speeds = [s.symbol for s in kinematics.speeds]
    rates = {q: writer.hold(r) for q, r in kinematics.rates.items() if q not in states}
    tree = FORMULATIONS[formulation](kinematics, unreduced(kinematics), writer)
    rows, rests = [], []
    for c in mechanism.constraints:
        found, _ = linear_coefficients(c.speed, speeds)
        rows.append(tuple(found[u] for u in speeds))
        rests.append(-drift(c.speed, rates))
    return TreeParts(writer, rates, tree.mass, tree.unshifted(), tuple(rows), tuple(rests))


def tree_program(mechanism: Mechanism, formulation: str = "composite-usual") -> Program:
    """Return the Program of q', M, f, J and c, for all speeds of the tree.

    M u' = f + Jᵀ λ and J u' = c hold for the motion.
    """
    parts = tree_parts(mechanism, formulation)
    results: dict[str, Sequence[object]] = {
        "q_dot": list(parts.rates.values()),
        "M": [list(row) for row in parts.mass],
        "f": list(parts.right),
    }
    if parts.jacobian:
        results |= {"J": [list(row) for row in parts.jacobian], "c": list(parts.rest)}
    roots = [x for row in (*parts.mass, *parts.jacobian) for x in row]
    roots += [*parts.right, *parts.rest, *parts.rates.values()]
    return quantities(
        mechanism,
        "tree",
        results,
        roots,
        parts.writer.statements,
        q=[*parts.rates, *(s.symbol for s in mechanism.states)],
        u=[s.symbol for s in mechanism.kinematics().speeds],
    )


class RedundantDynamics:
    """Accelerations of all speeds of a tree under its constraints."""

    def __init__(
        self, mechanism: Mechanism, values: Mapping[str, float], signals: Signals | None = None
    ) -> None:
        self.mechanism = mechanism
        self._tree = Evaluator(mechanism, tree_program(mechanism), values, signals=signals)
        self._constrained = bool(mechanism.constraints)
        kinematics = mechanism.kinematics()
        speeds = [s.symbol for s in kinematics.speeds]
        states = [s.symbol for s in mechanism.states]
        q = [*(x for x in kinematics.rates if x not in set(states)), *states]
        results: dict[str, Sequence[object]] = {}
        if states:
            results["z_dot"] = [s.derivative for s in mechanism.states]
        outputs = output_values(mechanism)
        if outputs:
            results["y"] = outputs
        self._results = tuple(results)
        self._more: Evaluator | None = None
        if results:
            roots = [s.derivative for s in mechanism.states] + outputs
            made = quantities(
                mechanism,
                "results",
                results,
                roots,
                q=q,
                u=speeds,
                a=[kinematics.accelerations[u] for u in speeds],
            )
            self._more = Evaluator(mechanism, made, values, signals=signals)

    def tree(self, t: float, q: Array, u: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return q', M, f, J and c."""
        found = self._tree(t, q=q, u=u)
        if self._constrained:
            q_dot, mass, right, jacobian, rest = found
            return q_dot, mass, right, jacobian, rest
        q_dot, mass, right = found
        return q_dot, mass, right, np.zeros((0, len(u))), np.zeros(0)

    def rates(self, t: float, q: Array, u: Array) -> tuple[Array, Array]:
        """Return q' and u'."""
        q_dot, mass, right, jacobian, rest = self.tree(t, q, u)
        return q_dot, constrained_accelerations(mass, right, jacobian, rest)

    def results(self, t: float, q: Array, u: Array, a: Array) -> tuple[Array, Array]:
        """Return the rates of extra states and the outputs."""
        found = {"z_dot": np.zeros(0), "y": np.zeros(0)}
        if self._more is not None:
            found.update(zip(self._results, self._more(t, q=q, u=u, a=a), strict=True))
        return found["z_dot"], found["y"]


def constrained_accelerations(
    mass: Array,
    right: Array,
    jacobian: Array,
    rest: Array,
    decomposed: Decomposition | None = None,
) -> Array:
    """Return u' with M u' = f + Jᵀ λ and J u' = c, by the null-space method.

    f and c may have several columns; then so has u'.

    >>> constrained_accelerations(
    ...     np.eye(2), np.array([1.0, 0.0]), np.array([[1.0, 1.0]]), [0.0]
    ... )
    array([ 0.5, -0.5])
    """
    first, null = split_motion(jacobian, np.asarray(rest, dtype=float), decomposed)
    inner = null.T @ mass @ null
    load = null.T @ (right - mass @ first)
    try:
        y = np.linalg.solve(inner, load)
    except np.linalg.LinAlgError:
        y = np.linalg.lstsq(inner, load, rcond=1e-13)[0]
        if np.abs(inner @ y - load).max(initial=0.0) > 1e-9 * np.abs(load).max(initial=0.0):
            raise DomainError(
                "a motion that the constraints allow has no inertia but a force acts on it",
                remedy="give the bodies that move freely a mass or inertia",
            ) from None
    found: Array = first + null @ y
    return found


def split_motion(
    jacobian: Array, rest: Array, decomposed: Decomposition | None = None
) -> tuple[Array, Array]:
    """Return the shortest a with J a = c, and a basis of the null space of J."""
    n = jacobian.shape[1]
    if not jacobian.size:
        return np.zeros((n, *rest.shape[1:])), np.eye(n)
    u, s, vt = np.linalg.svd(jacobian) if decomposed is None else decomposed
    rank = int((s > SINGULAR * s[0]).sum())
    first = vt[:rank].T @ ((rest.T @ u[:, :rank]) / s[:rank]).T
    return first, vt[rank:].T
