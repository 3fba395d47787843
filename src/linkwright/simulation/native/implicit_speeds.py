"""The semi-implicit step with speeds solved for, which strong damping does not limit.

Speeds and other states v go first. With f their rates and A = df/dv at the start, both at the old
coordinates,

    (1 - h A) dv = h f,

one step of Newton's method for Euler's implicit method in v alone; coordinates follow with their
rates at the new speeds, as in `linkwright.simulation.native.explicit.semi_implicit_step`. A servo
with tau = kp (r - q) - kd u on an inertia M gives (M + h kd) du = h tau: it is stable where
h^2 kp < 4 M + 2 h kd, for any kd, where the plain step also needs h kd < 2 M - h^2 kp / 2. A holds
every force that depends on speeds, between any joints, so that contacts and drag count too; what
sampled blocks hold does not depend on speeds within a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ONE, ZERO, Expr, total
from linkwright.program import Program, ProgramPort, Solve, derivative as jacobians
from linkwright.program.passes import liveness, value_numbering
from linkwright.simulation.native.dry_friction import DryFriction
from linkwright.simulation.native.explicit import AlternatingSteps, Stages


def implicit_speeds_step(
    derivative: Program,
    coordinates: Sequence[int],
    quaternions: Sequence[Sequence[int]],
    dry: DryFriction | None = None,
) -> Program:
    """Return the step."""
    stages = Stages(derivative, dry)
    moving = AlternatingSteps(stages, coordinates, quaternions)
    x, h = stages.x, stages.h
    rates = _solved(stages, [i for i in range(len(x)) if i not in set(coordinates)])
    return stages.finished({}, {"x_new": moving.drifted(moving.kicked(x, rates), stages.at(1), h)})


def _solved(stages: Stages, others: Sequence[int]) -> list[Expr]:
    """Return the rates of x with those of the other states solved for: (1 - h A) r = f."""
    friction, derivative = stages.friction, stages.derivative
    if friction:
        derivative = friction.dry.without()
    made, coupled = _slopes(derivative, others)
    n = len(stages.x)
    found = stages.rates_of(made, stages.x, stages.at(0))
    rates, entries = found[:n], iter(found[n:])
    slopes = {place: next(entries) for place in coupled}
    rows = sorted({i for i, _ in slopes})
    if not rows:
        return stages.begin(stages.x, stages.at(0)) if friction else rates
    h = stages.h

    def entry(i: int, j: int) -> Expr:
        return (ONE if i == j else ZERO) - h * slopes.get((i, j), ZERO)

    known = [j for j in others if j not in set(rows)]

    def right(f: Sequence[Expr]) -> list[Expr]:
        return [
            f[i] + h * total(slopes[i, j] * f[j] for j in known if (i, j) in slopes) for i in rows
        ]

    there = friction.found(stages.x, stages.at(0)) if friction else None
    columns = [rates, *(there.columns() if there else ())]
    sides = [x for f in columns for x in right(f)]
    targets = [stages.namer() for _ in sides]
    matrix = tuple(entry(i, j) for i in rows for j in rows)
    stages.statements.append(Solve(len(rows), matrix, tuple(sides), tuple(targets)))
    new = iter(targets)
    for f in columns:
        for i in rows:
            f[i] = next(new)
    if friction is None or there is None:
        return rates
    return friction.begin(there.with_rates(rates, columns[1:]))


def _slopes(derivative: Program, others: Sequence[int]) -> tuple[Program, list[tuple[int, int]]]:
    """Return the Program of the rates and of what A has beside zeros, and the places of that."""
    made = jacobians(derivative, derivative.outputs[0].name, ["x"], values=True)
    rates, by_x = made.outputs
    n = rates.size
    coupled = [(i, j) for i in others for j in others if by_x.entries[i * n + j] is not ZERO]
    entries = (*rates.entries, *(by_x.entries[i * n + j] for i, j in coupled))
    name = f"{derivative.name}_slopes"
    out = ProgramPort("rates_and_slopes", (len(entries),), entries)
    flat = Program(name, made.inputs, (out,), made.statements, made.slow)
    # The derivative is small already: to search for less takes as long as all else, for a
    # fifteenth of the time of a step.
    return liveness(value_numbering(flat)), coupled
