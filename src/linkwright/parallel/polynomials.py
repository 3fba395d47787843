"""The relations of a machine as equations that are rational in complex unknowns.

Nothing is approximated, only written in other coordinates:

- an angle a is w = exp(i a), so that cos a = (w + 1/w)/2 and sin a = (w - 1/w)/(2i): the pair
  (cos a, sin a) on the circle, with the circle's equation solved (isotropic coordinates: Wampler,
  *Solving the kinematics of planar mechanisms by Dixon determinant*, J. Mech. Des. 123, 2001);
- a unit quaternion is a point of projective space, with a generic complex plane as its chart, so
  that a quaternion and its negative are one point, and three unknowns are left of four;
- lengths stay as they are; a length of which only the square occurs enters by its square;
- the position of a body with a quaternion e is y / (e . e). Where e . e nearly vanishes, an
  assembly lies far out, and y, as the dual part of Study's coordinates, is as large as elsewhere.

What is driven is locked: its value is a parameter beside the dimensions. Where the relations hold
a parameter in a root or another function, that function is the parameter. What is not polynomial
in the unknowns is rejected by its name.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from linkwright.algebra import ONE, ZERO, Expr, as_expr, evaluate_all, free_symbols, symbol
from linkwright.algebra.expr import linear_combination, raised, scaled
from linkwright.algebra.walk import fill, postorder
from linkwright.base.errors import Error
from linkwright.base.reprs import one_line
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.homotopy.family import IMAGINARY, Complex, Family

OWNER = "polynomials"
CHART = (0.3125 + 0.703125j, -0.546875 + 0.421875j, 0.8125 - 0.609375j)
"""The plane e0 = s + CHART . (e1, e2, e3) with s = 1 that is the chart of quaternions."""

Parts: TypeAlias = dict[frozenset[int], Expr]
"""An expression by the quaternions of which it is odd."""

_EVEN: frozenset[int] = frozenset()


class NotPolynomialError(Error):
    """A machine whose relations are not polynomials of its unknowns."""


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class MachinePolynomials:
    """The relations of a machine as a family of equations."""

    family: Family  # the equations, with unknowns and parameters
    # what each parameter of the family is, of the machine's own symbols
    definitions: tuple[Expr, ...] = field(repr=False)
    angles: Mapping[Expr, Expr]  # from angles to their unknowns
    lengths: Mapping[Expr, Expr]  # from lengths to their unknowns
    # from the four components to their three unknowns
    quaternions: Mapping[tuple[Expr, ...], tuple[Expr, ...]]
    # from lengths of a body that turns freely to the components of its quaternion
    quaternion_of: Mapping[Expr, tuple[Expr, ...]] = field(default_factory=dict)

    def at(self, values: Mapping[Expr, float]) -> Complex:
        """Return the parameters of the family."""
        found = np.array(evaluate_all(list(self.definitions), values), dtype=complex)
        turns = list(self.family.turns)
        found[turns] = np.exp(1j * found[turns])
        return found

    def coordinates(self, z: Complex) -> dict[Expr, complex]:
        """Return the machine's coordinates at a solution; those of a real one are real."""
        at = dict(zip(self.family.unknowns, z.tolist(), strict=True))
        found = {q: cmath.log(at[w]) / 1j for q, w in self.angles.items()}
        squares: dict[tuple[Expr, ...], complex] = {}
        for four, three in self.quaternions.items():
            e = np.array([1 + sum(c * at[y] for c, y in zip(CHART, three, strict=True))]
                         + [at[y] for y in three])  # fmt: skip
            squares[four] = complex(np.sum(e * e))
            e = e / e[np.argmax(np.abs(e))]
            found |= dict(zip(four, (e / np.sqrt(np.sum(e * e))).tolist(), strict=True))
        for q, x in self.lengths.items():
            found[q] = at[x] / squares[self.quaternion_of[q]] if q in self.quaternion_of else at[x]
        return found


def polynomials(
    machine: ParallelMachine, *, locked: Sequence[Expr] | None = None
) -> MachinePolynomials:
    """Return the relations of a machine with some coordinates locked, in complex unknowns.

    >>> from linkwright.equations.parallel_machine import parallel_machine
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("four-bar")
    >>> crank = m.body("crank", rotate="z")
    >>> coupler = m.body("coupler", parent=crank, at=(1, 0, 0), rotate="z")
    >>> tip, pivot = m.point("tip", coupler, (3, 0, 0)), m.point("pivot", at=(2, 0, 0))
    >>> c = m.constrain_distance(tip, pivot, 2.5)
    >>> m.actuate("crank")
    >>> m.set_platform("coupler").point.name
    'coupler0'
    >>> polynomials(parallel_machine(m)).family.unknowns
    (turn0,)
    """
    held = machine.actuators if locked is None else tuple(locked)
    return _Writer(machine, held).made()


class _Writer:
    """Rewrites expressions of a machine's coordinates."""

    def __init__(self, machine: ParallelMachine, locked: Sequence[Expr]) -> None:
        self.machine = machine
        given = [
            (name, r)
            for name, r in zip(machine.names, machine.relations, strict=True)
            if name != "a quaternion has unit length"
        ]
        self.relations = [r for _, r in given]
        self.names = [name for name, _ in given]
        origins = [
            x
            for body in machine.mechanism.bodies.values()
            for x in body.origin.position.components(machine.mechanism.ground.frame)
        ]
        rotation = [x for row in machine.rotation for x in row]
        moving = set(machine.coordinates) - set(locked)
        places = [*machine.position, *rotation, *origins]
        self.features = [x for x in places if moving.intersection(free_symbols(x))]
        signs = [x for loop in machine.mechanism.loops for x in loop.aligned]
        self.signs = [x for x in signs if moving.intersection(free_symbols(x))]
        everything = [*self.relations, *self.features, *self.signs]
        self.inside = _trigonometric(everything)
        self.powers = _even(everything)
        self.unknown: dict[Expr, Expr] = {}
        self.parameters: dict[Expr, tuple[Expr, Expr, bool]] = {}
        self.values: dict[Expr, Parts] = {}
        self.scales: list[Expr] = []
        self.quaternions: dict[tuple[Expr, ...], tuple[Expr, ...]] = {}
        self.moving = moving
        used = set(free_symbols(*everything))
        self.dependent: dict[Expr, bool] = {}
        self.quaternion_of: dict[Expr, tuple[Expr, ...]] = {}
        scales: dict[Expr, Expr] = {}
        for body in machine.mechanism.bodies.values():
            if body.joint.quaternion and moving.intersection(body.rotations):
                self.quaternion(body.rotations)
                for q, _ in body.translations:
                    self.quaternion_of[q], scales[q] = body.rotations, self.scales[-1]
        for q in machine.coordinates:
            if q in moving and q in used and q not in self.values:
                kind = "turn" if q in self.inside else "length"
                made = symbol(f"{kind}{len(self.unknown)}", "coordinate", owner=OWNER)
                self.unknown[q] = made
                if kind == "length":
                    self.values[q] = {_EVEN: made * scales.get(q, ONE)}

    def quaternion(self, four: tuple[Expr, ...]) -> None:
        """Give a quaternion its chart: e = s (1 + c . y, y) with s^2 = 1 / |(1 + c . y, y)|^2."""
        number = len(self.scales)
        names = [f"quaternion{number}_{k}" for k in range(3)]
        three = tuple(symbol(name, "coordinate", owner=OWNER) for name in names)
        first = as_expr(1)
        for c, y in zip(CHART, three, strict=True):
            first = first + _number(c) * y
        four_values = (first, *three)
        square = ZERO
        for x in four_values:
            square = square + x * x
        self.scales.append(1 / square)
        self.quaternions[four] = three
        odd = frozenset([number])
        for e, value in zip(four, four_values, strict=True):
            self.values[e] = {odd: value}

    def made(self) -> MachinePolynomials:
        equations = [
            self.plain(r, name) for r, name in zip(self.relations, self.names, strict=True)
        ]
        features = [self.plain(x, "a place") for x in self.features]
        features = [
            x for x in dict.fromkeys(features) if self.unknowns().intersection(free_symbols(x))
        ]
        signs = [self.plain(x, "an axis of a closed hinge") for x in self.signs]
        unknowns = (
            *self.unknown.values(),
            *(y for three in self.quaternions.values() for y in three),
        )
        parameters = tuple(self.parameters.values())
        family = Family(
            self.machine.mechanism.name,
            unknowns,
            tuple(p for p, _, _ in parameters),
            tuple(equations),
            tuple(features),
            tuple(k for k, (_, _, turns) in enumerate(parameters) if turns),
            tuple(range(len(parameters))),
            tuple(signs),
        )
        angles = {q: w for q, w in self.unknown.items() if q in self.inside}
        lengths = {q: x for q, x in self.unknown.items() if q not in self.inside}
        definitions = tuple(value for _, value, _ in parameters)
        quaternion_of = {q: four for q, four in self.quaternion_of.items() if q in lengths}
        return MachinePolynomials(
            family, definitions, angles, lengths, self.quaternions, quaternion_of
        )

    def unknowns(self) -> set[Expr]:
        return {*self.unknown.values(), *(y for three in self.quaternions.values() for y in three)}

    def plain(self, x: Expr, name: str) -> Expr:
        try:
            for node in postorder([x], stop=self.is_leaf):
                if node not in self.values:
                    self.values[node] = self.node(node)
        except NotPolynomialError as error:
            raise NotPolynomialError(
                f"{name!r} is not a polynomial: {error}",
                remedy="close it by Newton's method instead",
            ) from error
        parts = self.values[x]
        if any(odd for odd in parts):
            raise NotPolynomialError(f"{name!r} changes with the sign of a quaternion")
        return parts.get(_EVEN, ZERO)

    # -- expressions -------------------------------------------------------------------------------
    def is_leaf(self, node: Expr) -> bool:
        """Whether an expression is taken as a whole."""
        if node in self.values or node.op in ("sin", "cos"):
            return True
        return node.op not in ("sum", "scale", "prod") and not self.depends(node)

    def node(self, node: Expr) -> Parts:
        op = node.op
        if op == "num":
            return {_EVEN: node}
        if op in ("sin", "cos"):
            return {_EVEN: self.turned(node)}
        if op == "sym" or self.is_leaf(node):
            return {_EVEN: self.parameter(node)}
        parts = [self.values[a] for a in node.args]
        if op == "sum":
            return _sum(node.data[1:], parts, node.data[0])
        if op == "scale":
            return _sum([node.data], parts, 0)
        if op == "prod":
            return self.product(node, parts)
        raise NotPolynomialError(f"{op!r} of what moves")

    def depends(self, node: Expr) -> bool:
        known = self.dependent
        fill(known, [node], lambda x: x in self.moving or any(known[a] for a in x.args))
        return known[node]

    def product(self, node: Expr, parts: Sequence[Parts]) -> Parts:
        found: Parts = {_EVEN: ONE}
        for base, part, exponent in zip(node.args, parts, node.data, strict=True):
            if base in self.powers and exponent % 2 == 0:
                part, exponent = {_EVEN: self.parameter(base, squared=True)}, exponent // 2
            if exponent < 0:
                if self.depends(base):
                    raise NotPolynomialError(f"a division by {base}")
                part, exponent = {_EVEN: raised(part[_EVEN], -1)}, -exponent
            if len(part) == 1 and _EVEN in part:
                found = self.times(found, {_EVEN: raised(part[_EVEN], exponent)})
            else:
                for _ in range(exponent):
                    found = self.times(found, part)
        return found

    def times(self, a: Parts, b: Parts) -> Parts:
        found: Parts = {}
        for odd, x in a.items():
            for other, y in b.items():
                value = x * y
                for number in odd & other:
                    value = value * self.scales[number]
                place = odd ^ other
                found[place] = found.get(place, ZERO) + value
        return {odd: x for odd, x in found.items() if x is not ZERO}

    def parameter(self, value: Expr, *, squared: bool = False, turns: bool = False) -> Expr:
        """Return the parameter of the family that stands for an expression without unknowns."""
        if value in self.moving:
            raise NotPolynomialError(f"the angle {value} stands outside of a sine or cosine")
        key = raised(value, 2) if squared else value
        if turns:
            key = symbol(f"exp.{value.name}", owner=OWNER)
        if key not in self.parameters:
            made = symbol(f"p{len(self.parameters)}", "input", owner=OWNER)
            self.parameters[key] = (made, raised(value, 2) if squared else value, turns)
        return self.parameters[key][0]

    def turned(self, node: Expr) -> Expr:
        """Return the cosine or sine of a whole combination of angles."""
        (angle,) = node.args
        terms: list[tuple[float, Expr]] = []
        constant = 0.0
        if angle.op == "sum":
            constant = float(angle.data[0])
            terms = list(zip(angle.data[1:], angle.args, strict=True))
        elif angle.op == "scale":
            terms = [(angle.data, angle.args[0])]
        else:
            terms = [(1, angle)]
        wheel = _number(cmath.exp(1j * constant)) if constant else ONE
        for factor, x in terms:
            whole = round(float(factor))
            if x.op == "pi" or not free_symbols(x):
                value = float(evaluate_all([x])[0]) * float(factor)
                wheel = wheel * _number(cmath.exp(1j * value))
                continue
            if whole != factor or x.op != "sym":
                raise NotPolynomialError(f"the {node.op} of {angle}")
            w = self.unknown.get(x)
            w = self.parameter(x, turns=True) if w is None else w
            wheel = wheel * raised(w, whole)
        back = raised(wheel, -1)
        if node.op == "cos":
            return scaled(0.5, wheel + back)
        return scaled(-0.5, IMAGINARY * (wheel - back))


def _sum(factors: Sequence[float], parts: Sequence[Parts], constant: float) -> Parts:
    places = {odd for part in parts for odd in part} | ({_EVEN} if constant else set())
    found = {
        odd: linear_combination(
            [(c, part[odd]) for c, part in zip(factors, parts, strict=True) if odd in part],
            0 if odd else constant,
        )
        for odd in places
    }
    return {odd: x for odd, x in found.items() if x is not ZERO}


def _number(value: complex) -> Expr:
    real, imaginary = as_expr(value.real), as_expr(value.imag)
    return real + imaginary * IMAGINARY


def _trigonometric(exprs: Iterable[Expr]) -> set[Expr]:
    """Return the symbols of which sines and cosines are taken."""
    return {x for node in postorder(exprs) if node.op in ("sin", "cos") for x in free_symbols(node)}


def _even(exprs: Sequence[Expr]) -> set[Expr]:
    """Return the symbols that occur only in even powers."""
    even: set[Expr] = set()
    other: set[Expr] = {x for x in exprs if x.op == "sym"}
    for node in postorder(exprs):
        for k, x in enumerate(node.args):
            if x.op == "sym":
                (even if node.op == "prod" and node.data[k] % 2 == 0 else other).add(x)
    return even - other
