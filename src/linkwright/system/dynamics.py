"""The mechanism of a System: its equations of motion with the loads of elements added.

Elements do not change the mechanism that they act on. The equations are derived from a view of it,
which shares bodies, joints and symbols and has the loads of all elements besides; the magnitude of
such a load is one symbol, defined elsewhere, so that forces of any length cost the derivation
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwright.algebra import ZERO, Expr, free_symbols, sqrt, symbol, total
from linkwright.algebra.calculus import gradient
from linkwright.algebra.triples import dot
from linkwright.equations import Equations, derive
from linkwright.equations.formulations import QUICK, automatic
from linkwright.equations.shipped import with_shipped
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Solve, Statement
from linkwright.system.definitions import Definitions

MECHANISM = "the mechanism"
LARGE = 24
"""Speeds of a tree from which on articulated bodies take fewer operations."""


def equations_of(
    view: Mechanism, formulation: str, values: Mapping[str, float] | None = None
) -> Equations | None:
    """Return the equations of motion; None where nothing moves."""
    speeds = len(view.kinematics().speeds)
    if not speeds and not view.states:
        return None
    if formulation == "quick":
        large = speeds > LARGE and not view.constraints
        formulation = _for_large(view) if large else QUICK
    made = derive(view, formulation, parameters=values)
    return with_shipped(made) if formulation == "auto" else made


def _for_large(view: Mechanism) -> str:
    tried = automatic(view.kinematics(), 0)
    return tried[0] if tried[0] == "articulated-looped" else "articulated"


def define(equations: Equations, table: Definitions) -> None:
    """Enter the equations of motion: intermediate results, dependent speeds, accelerations."""
    for statement in equations.statements:
        table.add(statement, MECHANISM)
    reduction, kinematics = equations.reduction, equations.kinematics
    for i, u in enumerate(reduction.dependent):
        if u not in table.statements:
            products = (a * v for a, v in zip(reduction.matrix[i], equations.speeds, strict=True))
            table.let(u, total([reduction.offset[i], *products]), MECHANISM)
    speeds = (*equations.speeds, *reduction.dependent)
    rates = (*equations.accelerations, *equations.dependent_accelerations)
    for u, rate in zip(speeds, rates, strict=True):
        table.let(kinematics.accelerations[u], rate, MECHANISM)


def settled(equations: Equations) -> tuple[dict[Expr, Expr], list[Statement]]:
    """Return the coordinates as they are moved after a step, and what is computed for that.

    Quaternions get unit length. Relations of position are met by one step of Newton's method (but
    those linear in the coordinates, which every method of Runge and Kutta's kind keeps exactly): in
    the coordinates whose rates were eliminated where there is one for each relation, otherwise by
    the shortest step.
    """
    moved: dict[Expr, Expr] = {}
    mechanism = equations.mechanism
    for body in mechanism.bodies.values():
        if body.joint.quaternion:
            size = sqrt(total(e**2 for e in body.rotations))
            moved.update((e, e / size) for e in body.rotations)
    relations = [
        e.constraint.position
        for e in equations.eliminations
        if e.speed is not None
        and e.constraint.position is not None
        and not _kept(equations, e.constraint.position)
    ]
    if not relations:
        return moved, []
    steps, statements = _newton(equations, relations)
    for q, step in steps.items():
        moved[q] = moved.get(q, q) + step
    return moved, statements


def _kept(equations: Equations, relation: Expr) -> bool:
    """Whether a relation is linear in the coordinates and depends on nothing else that changes."""
    changing = set(equations.coordinates)
    fixed = changing | set(equations.mechanism.parameters.values())
    if not set(free_symbols(relation)) <= fixed:
        return False
    return not changing & set(free_symbols(*gradient(relation, equations.coordinates)))


def _newton(
    equations: Equations, relations: Sequence[Expr]
) -> tuple[dict[Expr, Expr], list[Statement]]:
    """Return the change of coordinates that meets the relations to first order."""
    owner, n = equations.mechanism.name, len(relations)
    tied = set(equations.reduction.dependent)
    computed = [q for q in equations.coordinates if equations.kinematics.rates[q] in tied]
    square = len(computed) == n
    free = computed if square else list(equations.coordinates)
    rows = [gradient(g, free) for g in relations]
    statements: list[Statement] = []
    slopes: list[list[Expr]] = []
    for i, row in enumerate(rows):
        held = [
            x if x.is_atom else symbol(f"drift.G{i}_{j}", "local", owner=owner)
            for j, x in enumerate(row)
        ]
        statements += [Assign(y, x) for x, y in zip(row, held, strict=True) if x is not y]
        slopes.append(held)
    unknown = [symbol(f"drift.{i}", "local", owner=owner) for i in range(n)]
    right = tuple(-g for g in relations)
    if square:
        matrix = tuple(x for row in slopes for x in row)
        statements.append(Solve(n, matrix, right, tuple(unknown)))
        return dict(zip(free, unknown, strict=True)), statements
    matrix = tuple(dot(slopes[i], slopes[j]) for i in range(n) for j in range(n))
    statements.append(Solve(n, matrix, right, tuple(unknown)))
    columns = (total(slopes[i][k] * unknown[i] for i in range(n)) for k in range(len(free)))
    return {q: x for q, x in zip(free, columns, strict=True) if x is not ZERO}, statements
