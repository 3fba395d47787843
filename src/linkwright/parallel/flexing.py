"""What gives way in a machine: links, joints and drives, and what a displacement of each does.

A displacement changes the relations of closed loops, read from where their forces act
(`Constraint.works`), and what hangs on it moves with it. Both are expressions of the coordinates,
so that one pose (`linkwright.parallel.platform_stiffness`), charts and designs take the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, ZERO, Expr, Vector, constant, evaluate_all, sqrt, total
from linkwright.algebra.triples import Triple, cross, dot
from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mechanism import Body, Mechanism, Point
from linkwright.parallel.beams import BeamSection

Array = NDArray[np.float64]
_SAME_PLACE = 1e-7
_AXES: tuple[Triple, ...] = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))


@dataclass(frozen=True, slots=True)
class SoftParts:
    """What gives way in a machine, by name."""

    links: Mapping[str, BeamSection] = field(default_factory=dict)
    drives: Mapping[str, float] = field(default_factory=dict)  # N*m/rad or N/m
    joints: Mapping[str, float] = field(default_factory=dict)  # radially, N/m
    clearances: Mapping[str, float] = field(default_factory=dict)  # radial, m

    def __post_init__(self) -> None:
        what = {"stiffness": {**self.drives, **self.joints}, "clearance": self.clearances}
        for word, numbers in what.items():
            for name, value in numbers.items():
                if not (math.isfinite(value) and value > 0.0):
                    raise InputError(
                        f"the {word} of {name!r} is {value:g}", remedy="give a positive number"
                    )

    @classmethod
    def of(cls, given: Mapping[str, Mapping[str, Any]] | None) -> SoftParts:
        """Return parts from names of kinds.

        >>> SoftParts.of({"drives": {"arm1": 1e5}}).drives
        {'arm1': 100000.0}
        """
        kinds = ("links", "drives", "joints", "clearances")
        for kind in given or {}:
            if kind not in kinds:
                remedy = suggestion(kind, kinds, f"one of {', '.join(kinds)}")
                raise InputError(f"{kind!r} is not a kind of what gives way", remedy=remedy)
        return cls(**{kind: dict(parts) for kind, parts in (given or {}).items()})


def tube_section(name: str, parts: Sequence[str | float]) -> BeamSection:
    """Return a tube from diameter, wall and perhaps Young's modulus, with units or in m and Pa.

    >>> tube_section("arm", ["100 mm", "4 mm"]) == BeamSection.tube(0.1, 0.004)
    True
    """
    try:
        if len(parts) not in (2, 3):
            raise InputError("")
        sizes = [amount(p, name, u) for p, u in zip(parts, ("m", "m", "Pa"), strict=False)]
        return BeamSection.tube(*sizes)
    except Error as error:
        what = f": {error.what}" if error.what else ""
        given = f"{name}={','.join(map(str, parts))}"
        raise InputError(
            f"the tube {given!r} is not NAME=DIAMETER,WALL{what}",
            remedy="as in arm='100 mm,4 mm'",
        ) from None


def named_links(name: str, links: Sequence[str]) -> list[str]:
    """Return the link of a name, or all that begin with it.

    >>> named_links("arm", ["arm1", "arm2", "strut"])
    ['arm1', 'arm2']
    """
    found = [name] if name in links else [x for x in links if name and x.startswith(name)]
    if not found:
        raise InputError(f"no link begins with {name!r}", remedy=f"there are {', '.join(links)}")
    return found


def soft_texts(
    mechanism: Mechanism,
    tubes: Mapping[str, Sequence[str | float]],
    drives: Mapping[str, str | float],
    joints: Mapping[str, str | float],
    clearances: Mapping[str, str | float],
) -> dict[str, dict[str, Any]]:
    """Return what gives way from texts with units; a tube of a part of a name is of all such links.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="y")
    >>> soft_texts(m, {}, {"arm": "100 kN*m/rad"}, {}, {"arm": "0.1 mm"})
    {'drives': {'arm': 100000.0}, 'clearances': {'arm': 0.0001}}
    """
    links: dict[str, BeamSection] = {}
    for name, parts in tubes.items():
        section = tube_section(name, parts)
        links |= dict.fromkeys(named_links(name, tuple(mechanism.bodies)), section)
    slides = {x.name for b in mechanism.bodies.values() for x, _ in b.translations}
    units = {name: "N/m" if name in slides else "N*m/rad" for name in drives}
    found: dict[str, dict[str, Any]] = {
        "links": links,
        "drives": {k: amount(v, k, units[k]) for k, v in drives.items()},
        "joints": {k: amount(v, k, "N/m") for k, v in joints.items()},
        "clearances": {k: amount(v, k, "m") for k, v in clearances.items()},
    }
    return {kind: parts for kind, parts in found.items() if parts}


@dataclass(frozen=True, slots=True)
class Displacement:
    """What unit displacements of a part do, a column for each: before the loops close again."""

    relations: tuple[tuple[Expr, ...], ...]  # to each relation
    place: tuple[tuple[Expr, ...], ...]  # to the platform's place, m
    turn: tuple[tuple[Expr, ...], ...]  # to the platform, rad, about the ground's axes


class Flexing:
    """A machine whose parts give way; which of them hang on which is read where it stands."""

    def __init__(self, machine: ParallelMachine, q: Mapping[str, float]) -> None:
        m = machine.mechanism
        self.machine = machine
        given = {x: float(q[x.name]) for x in machine.coordinates}
        samples = closed_samples(m, m.values, given)
        exact = with_exact_rates(m, samples).constraints
        self._closing = [c for c in exact if c.position is not None]
        self._known: dict[Expr, Any] = dict(given) | {m.time: 0.0}
        self._known |= {x: m.values[k] for k, x in m.parameters.items() if k in m.values}

    def numbers(self, parts: Sequence[Expr]) -> Array:
        """Return expressions where the machine stands."""
        return np.array([float(v) for v in evaluate_all(list(parts), self._known)])

    def place(self, point: Point) -> Array:
        """Return where a point is, m."""
        return self.numbers(self._components(point.position))

    def _components(self, vector: Vector) -> Triple:
        return vector.components(self.machine.mechanism.ground.frame)

    # -- parts that give way -----------------------------------------------------------------------
    def drive(self, name: str) -> Expr:
        """Return the coordinate of an actuator."""
        names = [z.name for z in self.machine.actuators]
        if name not in names:
            raise self._unknown(name, names, "actuator")
        return self.machine.actuators[names.index(name)]

    def link(self, name: str) -> tuple[Displacement, Triple]:
        """Return what displacements and turns of a link's far end do, and where it is from its
        joint."""
        body = self._body(name)
        end = self._far_end(body)
        span = self._components(end.position - body.origin.position)
        return self._movement(self._moved(body, end), body, end), span

    def joint(self, name: str) -> Displacement:
        """Return what displacements of a joint along the ground's axes do."""
        m = self.machine.mechanism
        closing = next((loop for loop in m.loops if loop.name == name), None)
        if closing is None:
            body = self._body(name, [loop.name for loop in m.loops])
            moved = {other for other in m.bodies.values() if body in other.ancestors()} | {body}
            made = self._movement(moved, None, body.origin)
            return Displacement(*(tuple(row[:3] for row in rows) for rows in _parts(made)))
        relations = []
        for c in self._closing:
            pushes = [self._components(w.direction) for w in c.works if not w.turns]
            here = c.name in closing.relations
            relations.append(_sum(pushes) if here and pushes else (ZERO,) * 3)
        still = ((ZERO,) * 3,) * 3
        return Displacement(self._padded(relations, 3), still, still)

    def _padded(self, rows: list[Any], width: int) -> tuple[tuple[Expr, ...], ...]:
        """Return rows for all relations: those of quaternions do not change."""
        left = len(self.machine.relations) - len(rows)
        return tuple(tuple(row) for row in rows) + ((ZERO,) * width,) * left

    def _body(self, name: str, more: Sequence[str] = ()) -> Body:
        bodies = self.machine.mechanism.bodies
        if name not in bodies:
            raise self._unknown(name, [*bodies, *more], "body")
        return bodies[name]

    def _unknown(self, name: str, known: Sequence[str], what: str) -> InputError:
        remedy = suggestion(name, known, f"there are {', '.join(known)}")
        return InputError(f"{self.machine.mechanism.name!r} has no {what} {name!r}", remedy=remedy)

    def meetings(self, body: Body) -> list[Point]:
        """Return the points at which a body meets others that hang on it or close loops."""
        m = self.machine.mechanism
        points = [child.origin for child in m.bodies.values() if child.parent is body]
        for c in self._closing:
            for w in c.works:
                points += [p for p in (w.point, w.reaction) if p.body is body]
        if self.machine.platform.point.body is body:
            points.append(self.machine.platform.point)
        return points

    def ends(self, body: Body) -> list[Point]:
        """Return the places, away from its joint, at which a body meets others."""
        far: list[Point] = []
        for point in self.meetings(body):
            place = self.place(point)
            others = [self.place(p) for p in (body.origin, *far)]
            if all(np.linalg.norm(place - other) > _SAME_PLACE for other in others):
                far.append(point)
        return far

    def _far_end(self, body: Body) -> Point:
        """Return the one such place of a link."""
        far = self.ends(body)
        if len(far) != 1:
            raise InputError(
                f"{body.name!r} meets others at {len(far)} places away from its joint, and a beam "
                "has one other end",
                remedy="leave it rigid, or divide it into bodies with one other end each",
            )
        return far[0]

    def _moved(self, body: Body, end: Point) -> set[Body]:
        """Return the bodies that move with the far end of a body, without that body itself."""
        m = self.machine.mechanism
        at = self.place(end)
        children = [
            child
            for child in m.bodies.values()
            if child.parent is body and np.linalg.norm(self.place(child.origin) - at) <= _SAME_PLACE
        ]
        below = {b for b in m.bodies.values() if any(c in b.ancestors() for c in children)}
        return below | set(children)

    def _movement(self, bodies: set[Body], bent: Body | None, pivot: Point) -> Displacement:
        """Return what displacements and turns of bodies about a point do."""
        at = self.place(pivot)

        def goes(point: Point) -> bool:
            if point.body is bent and bent is not None:
                return bool(np.linalg.norm(self.place(point) - at) <= _SAME_PLACE)
            return point.body in bodies

        relations: list[tuple[Expr, ...]] = []
        for c in self._closing:
            pushes: list[Triple] = []
            couples: list[Triple] = []
            for w in c.works:
                d = self._components(w.direction)
                for point, sign in ((w.point, ONE), (w.reaction, -ONE)):
                    signed: Triple = (sign * d[0], sign * d[1], sign * d[2])
                    if w.turns and (point.body in bodies or (bent and point.body is bent)):
                        couples.append(signed)
                    elif not w.turns and goes(point):
                        pushes.append(signed)
                        arm = self._components(point.position - pivot.position)
                        couples.append(cross(arm, signed))
            relations.append((*_sum(pushes), *_sum(couples)))
        place: tuple[tuple[Expr, ...], ...] = ((ZERO,) * 6,) * 3
        turn = place
        on = self.machine.platform.point.body
        if on in bodies or (bent is not None and on is bent):
            arm = self._components(self.machine.platform.point.position - pivot.position)
            moves = [cross(axis, arm) for axis in _AXES]
            place = tuple((*_AXES[i], *(v[i] for v in moves)) for i in range(3))
            turn = tuple((*(ZERO,) * 3, *_AXES[i]) for i in range(3))
        return Displacement(self._padded(relations, 6), place, turn)


def _parts(made: Displacement) -> tuple[Any, ...]:
    return made.relations, made.place, made.turn


def _sum(vectors: Sequence[Triple]) -> Triple:
    return tuple(total(v[i] for v in vectors) for i in range(3))  # type: ignore[return-value]


# -- expressions of compliance ---------------------------------------------------------------------
Rows = Sequence[Sequence[Expr]]


def bent_through(rows: Rows, section: BeamSection, span: Triple) -> list[list[Expr]]:
    """Return S C S^T for the compliance C of a beam along a span and rows S of six entries."""
    e, i = section.elasticity, section.bending
    length = sqrt(dot(span, span))
    along = [x / length for x in span]
    moves, turns = [row[:3] for row in rows], [row[3:] for row in rows]
    axial = length * constant(1.0 / (e * section.area))
    across = length**3 * constant(1.0 / (3.0 * e * i))
    twist = length * constant(1.0 / (section.shear * section.torsion))
    bend = length * constant(1.0 / (e * i))
    mixed = length**2 * constant(1.0 / (2.0 * e * i))
    p, r = ([dot(row, along) for row in half] for half in (moves, turns))
    tilted = [cross(row, along) for row in turns]
    n = len(rows)
    return [
        [
            across * dot(moves[a], moves[b])
            + (axial - across) * p[a] * p[b]
            + bend * dot(turns[a], turns[b])
            + (twist - bend) * r[a] * r[b]
            + mixed * (dot(moves[a], tilted[b]) + dot(moves[b], tilted[a]))
            for b in range(n)
        ]
        for a in range(n)
    ]
