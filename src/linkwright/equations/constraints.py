"""Which speeds constraints eliminate, and how.

A constraint is linear in the speeds: J u + b0 = 0. For each, one speed is eliminated (Sayers'
thesis, sections 8.3 and 3.5 of the use digest): one whose coefficient, after the earlier
eliminations, does not depend on the configuration, else one whose coefficient does not vanish with
all coordinates zero, else the largest; among equals the last in order. A constraint that the
earlier ones imply is reported and left out. The choice is made with numbers, at seeded states; the
elimination itself is symbolic: the eliminated speeds are u_D = A u_I + b and their rates A u_I' +
c.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import (
    ZERO,
    Expr,
    evaluate_all,
    free_symbols,
    linear_coefficients,
)
from linkwright.algebra.calculus import tangents
from linkwright.algebra.expr import ONE
from linkwright.algebra.nodes import COORDINATE, TIME
from linkwright.equations.pivots import solve_in_safe_order, without_zeros
from linkwright.equations.writer import Writer
from linkwright.mechanism import Constraint, Kinematics, Mechanism, MechanismError
from linkwright.program import Namer

_SAMPLES = 6
_SINGULAR = 1e-6  # of the largest singular value, of rows of unit length


@dataclass(frozen=True, slots=True)
class Elimination:
    """A constraint and the speed that it eliminates; None where it is redundant."""

    constraint: Constraint
    speed: Expr | None
    coefficient: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """Dependent speeds in terms of the independent ones.

    `matrix[i][r]` is A for dependent speed i and independent speed r, `offset` is b and `drift` is
    c.
    """

    eliminations: tuple[Elimination, ...]
    dependent: tuple[Expr, ...]
    independent: tuple[Expr, ...]
    matrix: tuple[tuple[Expr, ...], ...]
    offset: tuple[Expr, ...]
    drift: tuple[Expr, ...]


def choose(
    kinematics: Kinematics,
    values: Mapping[str, float],
    samples: Mapping[Expr, np.ndarray] | None = None,
    dependent: Collection[Expr] | None = None,
    *,
    constraints: Sequence[Constraint] | None = None,
) -> tuple[Elimination, ...]:
    """Choose a speed to eliminate for each constraint: all of the mechanism, or those given."""
    constraints = kinematics.mechanism.constraints if constraints is None else constraints
    speeds = [s.symbol for s in kinematics.speeds]
    found = [linear_coefficients(c.speed, speeds) for c in constraints]
    for constraint, (row, rest) in zip(constraints, found, strict=True):
        if rest is not ZERO and all(x is ZERO for x in row.values()):
            raise MechanismError(f"{constraint.name!r} has no speed that it could eliminate")
    rows = [row for row, _ in found]
    everywhere = _sampled(rows, speeds, values, samples)
    sampled = _regular(everywhere)
    zero = 1e-9 if samples is None else 1e-7
    if dependent is None:
        driven = {_rate_of(kinematics, q) for q in kinematics.mechanism.actuators}
        barred = [u in driven for u in speeds]
        if driven and rows:
            _refuse_tied(kinematics.mechanism, everywhere, barred)
    else:
        barred = [u not in dependent for u in speeds]
    largest = float(np.abs(sampled).max(initial=0.0))
    result: list[Elimination] = []
    pivots: list[tuple[int, np.ndarray]] = []
    for i, constraint in enumerate(constraints):
        row = sampled[i].copy()
        for column, pivot_row in pivots:
            row -= row[:, column : column + 1] * pivot_row
        original = max(float(np.abs(sampled[i]).max()), 1e-5 * largest, 1e-300)
        usable = np.abs(row).min(axis=0) > zero * original
        if np.abs(row).max() <= zero * original:
            result.append(Elimination(constraint, None))
            continue
        wanted = None if dependent is not None else constraint.eliminate
        open_row = np.where(barred, 0.0, row)
        usable &= ~np.array(barred)
        asked = constraint.eliminate_coordinate
        told = None if asked is None else kinematics.rates.get(asked)
        chosen = _pick(constraint.name, wanted, open_row, usable, speeds, told)
        pivots.append((chosen, row / row[:, chosen : chosen + 1]))
        pivots[:-1] = [
            (column, other - other[:, chosen : chosen + 1] * pivots[-1][1])
            for column, other in pivots[:-1]
        ]
        result.append(Elimination(constraint, speeds[chosen], rows[i][speeds[chosen]]))
    return tuple(result)


def _refuse_tied(mechanism: Mechanism, sampled: np.ndarray, barred: Sequence[bool]) -> None:
    """Reject actuators that the relations do not leave free, everywhere or at the start."""
    matrices = sampled.transpose(1, 0, 2)
    sizes = np.linalg.norm(matrices, axis=2, keepdims=True)
    matrices = matrices / np.where(sizes > 0, sizes, 1.0)
    rank, passive = _ranks(matrices), _ranks(matrices[:, :, ~np.array(barred)])
    names = ", ".join(q.name for q in mechanism.actuators)
    freedoms, count = len(barred) - int(rank.max()), len(mechanism.actuators)
    if count > freedoms:
        freedom = "one degree" if freedoms == 1 else f"{freedoms} degrees"
        raise MechanismError(
            f"{mechanism.name!r} has {freedom} of freedom and {count} actuators ({names})",
            remedy=f"name {freedoms} of them" if freedoms else "it cannot move",
        )
    if (passive < rank).all():
        raise MechanismError(
            f"the loops of {mechanism.name!r} tie its actuators ({names}) to one another, so that "
            "they cannot all be driven",
            remedy="name others",
        )
    if passive[0] < rank[0]:
        raise MechanismError(
            f"{mechanism.name!r} is singular at its start: with its actuators ({names}) held it "
            "can still move",
            remedy="let it start elsewhere (set_initial), or name other actuators",
        )


def _ranks(matrices: np.ndarray) -> np.ndarray:
    """Return the numerical rank of each matrix."""
    if not matrices.size:
        return np.zeros(len(matrices), dtype=int)
    sizes = np.linalg.svd(matrices, compute_uv=False)
    return np.asarray((sizes > _SINGULAR * np.maximum(sizes[:, :1], 1e-300)).sum(axis=1))


def _rate_of(kinematics: Kinematics, coordinate: Expr) -> Expr:
    """Return the speed that is the rate of an actuator's coordinate."""
    rate = kinematics.rates[coordinate]
    if rate not in {s.symbol for s in kinematics.speeds}:
        raise MechanismError(
            f"the rate of {coordinate} is not a speed of {kinematics.mechanism.name!r}, so that it "
            "cannot be an actuator",
            remedy="drive a joint with one axis, or a strut",
        )
    return rate


def _pick(
    name: str,
    wanted: Expr | None,
    row: np.ndarray,
    usable: np.ndarray,
    speeds: Sequence[Expr],
    told: Expr | None = None,
) -> int:
    """Return the speed to eliminate: a `wanted` one, or that of the coordinate that was `told`."""
    if wanted is not None:
        if wanted not in speeds:
            raise MechanismError(f"{name!r} cannot eliminate {wanted}, which is not a speed")
        place = speeds.index(wanted)
        if not np.abs(row[:, place]).max() > 0:
            raise MechanismError(f"{name!r} cannot eliminate {wanted}, which is not in it")
        return place
    candidates = [k for k in range(len(speeds)) if usable[k]]
    if not candidates:
        return int(np.abs(row).min(axis=0).argmax())
    steady = [
        k
        for k in candidates
        if np.abs(row[:, k] - row[0, k]).max() <= 1e-9 * np.abs(row[:, k]).max()
    ]
    if steady:
        return next((k for k in steady if speeds[k] is told), max(steady))
    size = np.abs(row).min(axis=0)
    nominal = [k for k in candidates if abs(row[0, k]) > 1e-6 * np.abs(row[0]).max()]
    good = [k for k in (nominal or candidates) if size[k] > 1e-2 * size.max()]
    return max(good or candidates)


def _sampled(
    rows: Sequence[Mapping[Expr, Expr]],
    speeds: Sequence[Expr],
    values: Mapping[str, float],
    samples: Mapping[Expr, np.ndarray] | None,
) -> np.ndarray:
    """Return coefficients by constraint, sample and speed; the first sample is the nominal one."""
    count = _SAMPLES if samples is None else len(next(iter(samples.values())))
    exprs = [row[u] for row in rows for u in speeds]
    names = free_symbols(*exprs)
    generator = np.random.default_rng(20_240_917)
    given: dict[Expr, np.ndarray] = {}
    for x in names:
        if x.roles & (COORDINATE | TIME):
            if samples is not None and x in samples:
                given[x] = samples[x]
                continue
            given[x] = 0.6 * generator.uniform(-1, 1, count)
            given[x][0] = 0.0
        else:
            fixed = values.get(x.name)
            number = generator.uniform(0.3, 1.7) if fixed is None else fixed
            given[x] = np.full(count, number)
    found = evaluate_all(exprs, given)
    table = np.array([np.broadcast_to(np.asarray(v, float), (count,)) for v in found])
    return table.reshape(len(rows), len(speeds), count).transpose(0, 2, 1)


def _regular(sampled: np.ndarray) -> np.ndarray:
    """Leave out configurations in which the constraints have a lower rank than in others."""
    if not sampled.size:
        return sampled
    sizes = np.linalg.svd(sampled.transpose(1, 0, 2), compute_uv=False)
    ranks = (sizes > 1e-7 * sizes[:, :1]).sum(axis=1)
    return sampled[:, ranks == ranks.max()]


def sampled_rows(
    rows: Sequence[Mapping[Expr, Expr]],
    speeds: Sequence[Expr],
    values: Mapping[str, float],
    samples: Mapping[Expr, np.ndarray] | None,
) -> np.ndarray:
    """Return coefficients by sample, constraint and speed, where the constraints have full rank."""
    return _regular(_sampled(rows, speeds, values, samples)).transpose(1, 0, 2)


def nonzero_rows(rows: Sequence[Mapping[Expr, Expr]], speeds: Sequence[Expr]) -> list[list[Expr]]:
    """Return coefficients by constraint and speed, ZERO where they vanish whatever the values."""
    anywhere = _sampled(rows, speeds, {}, None).transpose(1, 0, 2)
    return without_zeros([[row[u] for u in speeds] for row in rows], anywhere)


def reduce(
    kinematics: Kinematics,
    eliminations: Sequence[Elimination],
    rates: Mapping[Expr, Expr],
    writer: Writer,
    namer: Namer,
    values: Mapping[str, float],
    samples: Mapping[Expr, np.ndarray] | None = None,
    *,
    guarded: bool = False,
) -> Reduction:
    """Write the statements that give dependent speeds and what their rates need."""
    active = [e for e in eliminations if e.speed is not None]
    dependent = tuple(e.speed for e in active if e.speed is not None)
    taken = set(dependent)
    speeds = [s.symbol for s in kinematics.speeds]
    independent = tuple(u for u in speeds if u not in taken)
    if not active:
        return Reduction(tuple(eliminations), (), independent, (), (), ())
    rows, rests = [], []
    found = [linear_coefficients(e.constraint.speed, speeds) for e in active]
    bare = [coefficients for coefficients, _ in found]
    table = nonzero_rows(bare, speeds)
    for row, (_, rest) in zip(table, found, strict=True):
        rows.append({u: writer.hold(x) for u, x in zip(speeds, row, strict=True)})
        rests.append(writer.hold(rest))
    matrix = [[row[u] for u in dependent] for row in rows]
    columns_of = [speeds.index(u) for u in dependent]
    sampled = sampled_rows(bare, speeds, values, samples)
    drifts = [writer.hold(-drift(e.constraint.speed, rates)) for e in active]
    columns = [[-row[u] for row in rows] for u in independent]
    sides = [*columns, [-rest for rest in rests]]
    used = [k for k, side in enumerate(sides) if any(x is not ZERO for x in side)]
    statements, solved = solve_in_safe_order(
        matrix,
        [*(sides[k] for k in used), drifts],
        namer,
        sampled[:, :, columns_of],
        guarded=guarded,
    )
    writer.statements.extend(statements)
    full: list[Sequence[Expr]] = [(ZERO,) * len(active)] * len(sides)
    for k, solution in zip(used, solved, strict=False):
        full[k] = solution
    offset = full[-1]
    by_speed = tuple(tuple(full[r][i] for r in range(len(independent))) for i in range(len(active)))
    for i, u in enumerate(dependent):
        value = offset[i]
        for r, v in enumerate(independent):
            value = value + by_speed[i][r] * v
        writer.assign(u, value, f"eliminated by {active[i].constraint.name}")
    return Reduction(
        tuple(eliminations), dependent, independent, by_speed, tuple(offset), tuple(solved[-1])
    )


def drift(speed: Expr, rates: Mapping[Expr, Expr]) -> Expr:
    """Return the rate of a constraint with the rates of the speeds left out."""
    moving = dict(rates)
    for x in free_symbols(speed):
        if x.roles & TIME:
            moving[x] = ONE
    return tangents([speed], moving)[0]
