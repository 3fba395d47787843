"""Which inertial parameters of a tree can be told apart by its motion, and how many there are.

The forces of inverse dynamics are linear in mass, first moments and moments of inertia of the
bodies, and in the inertia of geared rotors. Here each of these is a symbol, and the rank of their
coefficients over random states is found in a finite field, where it is exact (but for odds of about
1e-36). Parameters are taken from the root outward: one whose coefficients are those of a
combination of earlier ones is counted with them (Gautier and Khalil 1990), one without coefficients
has no effect. Constraints are left aside; with them there may be fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, symbol
from linkwright.equations.choices import Choices
from linkwright.equations.idle import slopes_of
from linkwright.equations.inertia import Moments, own_moments
from linkwright.equations.tree import armature_inertias, inverse
from linkwright.equations.writer import Matrix, Writer
from linkwright.mechanism import Body, Kinematics, Mechanism
from linkwright.program.passes.fields import PRIME, Values, opaque_value

_NAMES = ("m", "mx", "my", "mz", "Jxx", "Jyy", "Jzz", "Jxy", "Jyz", "Jzx")
_SPARE = 4  # states beyond as many as there are parameters


@dataclass(frozen=True, slots=True)
class BaseParameters:
    """Inertial parameters by what becomes of them, as `body.name`.

    The names are m for the mass, mx, my, mz for the first moments and Jxx ... Jzx for the inertia
    tensor about the body's origin, along its axes, and rotor for the inertia of a geared rotor.

    Args:
        base: those that count, each with what is counted with it.
        regrouped: those that are counted with base parameters.
        idle: those without effect.
    """

    base: tuple[str, ...]
    regrouped: tuple[str, ...]
    idle: tuple[str, ...]


def base_parameters(mechanism: Mechanism) -> BaseParameters:
    """Return the base parameters of a mechanism's tree, whatever the values of its inertias.

    Bodies without any mass or inertia are taken to have none.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0))
    >>> m.gravity(along=-m.y)
    >>> base_parameters(m).base
    ('rod.mx', 'rod.my', 'rod.Jzz')
    """
    kinematics = mechanism.kinematics()
    own: dict[Body, Moments] = {}
    parameters: dict[Expr, str] = {}
    for body in mechanism.depth_first():
        if own_moments(body).is_nothing:
            continue
        made = [_unknown(mechanism, f"{body.name}.{name}", parameters) for name in _NAMES]
        own[body] = _moments(made)
    rotors = [
        ZERO if x is ZERO else _unknown(mechanism, f"{s.body.name}.rotor", parameters)
        for s, x in zip(kinematics.speeds, armature_inertias(kinematics), strict=True)
    ]
    writer = Writer(mechanism.name)
    rates = [kinematics.accelerations[s.symbol] for s in kinematics.speeds]
    plain = Choices(regroup=False)
    forces = inverse(kinematics, writer, rates, plain, own=own, rotors=rotors)
    rows = []
    for k in range(len(parameters) + _SPARE):
        slopes = slopes_of(writer.statements, forces, _state(kinematics, rates, k), k)
        rows.append([slopes.get(p, 0) for p in parameters])
    names = list(parameters.values())
    pivots = _independent_columns(rows)
    idle = {c for c in range(len(names)) if not any(row[c] for row in rows)}
    return BaseParameters(
        tuple(names[c] for c in pivots),
        tuple(n for c, n in enumerate(names) if c not in idle and c not in set(pivots)),
        tuple(names[c] for c in sorted(idle)),
    )


def _unknown(mechanism: Mechanism, name: str, parameters: dict[Expr, str]) -> Expr:
    made = symbol(name, "parameter", owner=f"{mechanism.name} inertias")
    parameters[made] = name
    return made


def _moments(x: list[Expr]) -> Moments:
    m, hx, hy, hz, jxx, jyy, jzz, jxy, jyz, jzx = x
    half = (jxx + jyy + jzz) / 2
    second: Matrix = (
        (half - jxx, -jxy, -jzx),
        (-jxy, half - jyy, -jyz),
        (-jzx, -jyz, half - jzz),
    )
    return Moments(m, (hx, hy, hz), second)


def _state(kinematics: Kinematics, rates: list[Expr], number: int) -> Values:
    """Return random coordinates, speeds and rates; quaternions have length one."""
    values = Values()
    mechanism = kinematics.mechanism
    moving = [*mechanism.coordinates.values(), *(s.symbol for s in kinematics.speeds), *rates]
    for k, x in enumerate(moving):
        values.known[x] = opaque_value("state", None, (number, k))
    for body in mechanism.bodies.values():
        if body.joint.quaternion:
            scalar, *vector = body.rotations
            size = sum(values.known[e] ** 2 for e in vector) % PRIME
            below = pow(1 + size, -1, PRIME)
            for e in vector:
                values.known[e] = 2 * values.known[e] * below % PRIME
            values.known[scalar] = (1 - size) * below % PRIME
    return values


def _independent_columns(rows: list[list[int]]) -> list[int]:
    """Return the columns that no combination of earlier ones equals, by elimination."""
    work = [list(row) for row in rows]
    found: list[int] = []
    for c in range(len(work[0]) if work else 0):
        done = len(found)
        pivot = next((r for r in range(done, len(work)) if work[r][c]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        inverse_of = pow(work[done][c], -1, PRIME)
        for r in range(done + 1, len(work)):
            factor = work[r][c] * inverse_of % PRIME
            if factor:
                top, row = work[done], work[r]
                work[r] = [(y - factor * x) % PRIME for x, y in zip(top, row, strict=True)]
        found.append(c)
    return found
