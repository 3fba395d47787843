"""Which inertial parameters of a tree can be distinguished by its motion, and how many there are.

The forces of inverse dynamics are linear in mass, first moments and moments of inertia of the
bodies, and in the inertia of geared rotors. Here each of these is a symbol, and the rank of their
coefficients over random states is found in a finite field, where it is exact (but for odds of about
1e-36). Where the direction of an axis is a rounded number, its rotation is none in the field, and
the rank is found in doubles.

Parameters are taken from the root outward: one whose coefficients are those of a combination of
earlier ones is counted with them (Gautier and Khalil 1990), one without coefficients has no effect.
Constraints are left aside; with them there may be fewer.

What one is counted with is exact as well: the base parameters whose coefficients its own combine,
where lengths and angles of the mechanism are random numbers of the field unless they are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import ZERO, Expr, free_symbols, symbol
from linkwright.algebra.triples import Matrix
from linkwright.backends.kernel import compile as compile_program
from linkwright.base.arguments import worded
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.choices import Choices
from linkwright.equations.inactive_parameters import slopes_of
from linkwright.equations.independent_columns import Array, base_of
from linkwright.equations.inertia import Moments, axes_product, own_moments
from linkwright.equations.rnea import armature_inertias, inverse
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics, Mechanism, ModelLike, mechanism_of
from linkwright.program import program
from linkwright.program.passes.fields import PRIME, FieldValues, opaque_value

_NAMES = ("m", "mx", "my", "mz", "Jxx", "Jyy", "Jzz", "Jxy", "Jyz", "Jzx")
_SPARE = 4  # states beyond as many as there are parameters
_SHARE = 1e-8  # smaller ones of a parameter, in doubles, are rounding errors


@one_line
@dataclass(frozen=True, slots=True)
class BaseParameters(Result):
    """Inertial parameters by what becomes of them, as `body.name`.

    The names are m for the mass, mx, my, mz for the first moments and Jxx ... Jzx for the inertia
    tensor about the body's origin, along its axes, and rotor for the inertia of a geared rotor.

    Args:
        base: those that count, each with what is counted with it.
        regrouped: those that are counted with base parameters.
        idle: those without effect.
        into: the base parameters that each of `regrouped` is counted with.

    >>> made = BaseParameters(("a.m",), ("b.m",), ("a.mx",), {"b.m": ("a.m",)})
    >>> made.gathered("a.m")
    ('b.m',)
    """

    base: tuple[str, ...]
    regrouped: tuple[str, ...]
    idle: tuple[str, ...]
    into: Mapping[str, tuple[str, ...]]

    def gathered(self, name: str) -> tuple[str, ...]:
        """Return the parameters that are counted with a base parameter, but for itself.

        Args:
            name: of the base parameter.
        """
        return tuple(r for r in self.regrouped if name in self.into[r])


@worded
def base_parameters(model: ModelLike) -> BaseParameters:
    """Return the base parameters of a mechanism's tree, whatever the values of its inertias.

    Bodies without any mass or inertia are taken to have none.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model, whose
            tree is looked at.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0))
    >>> bob = m.body("bob", parent=rod, at=("L", 0, 0), mass="m2")
    >>> m.gravity(along=-m.y)
    >>> found = base_parameters(m)
    >>> found.base
    ('rod.mx', 'rod.my', 'rod.Jzz')
    >>> found.into["bob.m"], found.gathered("rod.my")
    (('rod.mx', 'rod.Jzz'), ('bob.my',))
    """
    model = mechanism_of(model)
    kinematics = model.kinematics()
    own: dict[Body, Moments] = {}
    parameters: dict[Expr, str] = {}
    for body in model.depth_first():
        if own_moments(body).is_nothing:
            continue
        made = [_unknown(model, f"{body.name}.{name}", parameters) for name in _NAMES]
        own[body] = _moments(made)
    rotors = [
        ZERO if x is ZERO else _unknown(model, f"{s.body.name}.rotor", parameters)
        for s, x in zip(kinematics.speeds, armature_inertias(kinematics), strict=True)
    ]
    writer = Writer(model.name)
    rates = [kinematics.accelerations[s.symbol] for s in kinematics.speeds]
    plain = Choices(regroup=False)
    forces = inverse(kinematics, writer, rates, plain, own=own, rotors=rotors)
    names = list(parameters.values())
    if not _rotations_are_exact(kinematics, rates):
        regressor = _Regressor(kinematics, writer, rates, forces, list(parameters))
        found = base_of(regressor.samples(), names)
        shares = {
            c: tuple(np.array(found.columns)[np.abs(found.regrouping[:, c]) > _SHARE].tolist())
            for c in range(len(names))
        }
        return _told(names, found.columns, found.idle, shares)
    rows = []
    for k in range(len(parameters) + _SPARE):
        slopes = slopes_of(writer.statements, forces, _state(kinematics, rates, k), k)
        rows.append([slopes.get(p, 0) for p in parameters])
    pivots, shares = _independent_columns(rows)
    idle = [c for c in range(len(names)) if not any(row[c] for row in rows)]
    return _told(names, pivots, idle, shares)


def _told(
    names: Sequence[str],
    pivots: Sequence[int],
    idle: Sequence[int],
    shares: Mapping[int, tuple[int, ...]],
) -> BaseParameters:
    others = [c for c in range(len(names)) if c not in {*idle, *pivots}]
    return BaseParameters(
        tuple(names[c] for c in pivots),
        tuple(names[c] for c in others),
        tuple(names[c] for c in idle),
        {names[c]: tuple(names[k] for k in shares[c]) for c in others},
    )


def _rotations_are_exact(kinematics: Kinematics, rates: list[Expr]) -> bool:
    """Whether all axes of bodies are at right angles and of length one in the field."""
    values = _state(kinematics, rates, 0)
    for body in kinematics.mechanism.bodies.values():
        assert body.parent is not None
        rows = [[values.of(x) for x in row] for row in axes_product(body.frame, body.parent.frame)]
        for i, a in enumerate(rows):
            for j, b in enumerate(rows):
                if (sum(x * y for x, y in zip(a, b, strict=True)) - (i == j)) % PRIME:
                    return False
    return True


class _Regressor:
    """The coefficients of inertial parameters in doubles; parameters without value are random."""

    def __init__(
        self,
        kinematics: Kinematics,
        writer: Writer,
        rates: Sequence[Expr],
        forces: Sequence[Expr],
        parameters: Sequence[Expr],
    ) -> None:
        mechanism = kinematics.mechanism
        self.mechanism, self.unknowns = mechanism, len(parameters)
        self.moving = [
            *mechanism.coordinates.values(),
            *(s.symbol for s in kinematics.speeds),
            *rates,
        ]
        needed = free_symbols(*forces, *(s.value for s in writer.statements))
        targets = {s.target for s in writer.statements}
        known = {*self.moving, *parameters, *targets}
        self.given = sorted(set(needed) - known, key=lambda x: x.name)
        inputs = {"x": self.moving, "p": self.given, "inertia": list(parameters)}
        self.speeds = len(forces)
        self.kernel = compile_program(
            program("regressor", inputs, {"tau": list(forces)}, statements=writer.statements)
        )

    def samples(self) -> Array:
        """Return the forces of each parameter alone at many states, one column each."""
        draw = np.random.default_rng(0)
        count = _SPARE + 2 * -(-self.unknowns // self.speeds)
        states = draw.uniform(-2, 2, (count, len(self.moving)))
        place = {x: k for k, x in enumerate(self.moving)}
        for body in self.mechanism.bodies.values():
            if body.joint.quaternion:
                k = [place[e] for e in body.rotations]
                states[:, k] /= np.linalg.norm(states[:, k], axis=1, keepdims=True)
        values = self.mechanism.values
        given = np.array([values.get(x.name, draw.uniform(0.5, 1.5)) for x in self.given])
        ones = np.eye(self.unknowns)
        many = [
            np.repeat(states, self.unknowns, axis=0),
            np.tile(given, (count * self.unknowns, 1)),
            np.tile(ones, (count, 1)),
        ]
        found = np.asarray(self.kernel.batch(*many)).reshape(count, self.unknowns, self.speeds)
        return found.transpose(0, 2, 1).reshape(count * self.speeds, self.unknowns)


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


def _state(kinematics: Kinematics, rates: list[Expr], number: int) -> FieldValues:
    """Return random coordinates, speeds and rates; quaternions have length one."""
    values = FieldValues()
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


def _independent_columns(rows: list[list[int]]) -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """Return the columns that no combination of earlier ones equals, and what the others combine.

    By elimination to the reduced echelon form, whose other columns hold their coefficients.
    """
    work = [list(row) for row in rows]
    width = len(work[0]) if work else 0
    found: list[int] = []
    for c in range(width):
        done = len(found)
        pivot = next((r for r in range(done, len(work)) if work[r][c]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        inverse_of = pow(work[done][c], -1, PRIME)
        top = work[done] = [x * inverse_of % PRIME for x in work[done]]
        for r, row in enumerate(work):
            factor = row[c]
            if factor and r != done:
                work[r] = [(y - factor * x) % PRIME for x, y in zip(top, row, strict=True)]
        found.append(c)
    others = sorted(set(range(width)) - set(found))
    return found, {c: tuple(k for r, k in enumerate(found) if work[r][c]) for c in others}
