"""The geometry of a mechanism in numbers: what hangs where on its bodies.

Shapes that are generated for a mechanism follow from it: joints and their axes, pins that close
loops, ends of struts and rods, wheels with their radii, boxes of the same inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, Frame, Vector
from linkwright.algebra.evaluate import evaluate_all
from linkwright.base.forking import cached_property
from linkwright.mechanism import Body, Constraint, Mechanism, Point

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Two points with something between them: a spring, a jack that is driven, or a rod."""

    name: str
    first: Point
    second: Point
    rigid: bool = False
    driven: bool = False


@dataclass(eq=False)
class Geometry:
    """Numbers of a mechanism's geometry."""

    mechanism: Mechanism  # any
    # of its parameters and inputs; what has none counts as zero
    values: Mapping[str, float] = field(default_factory=dict)
    # coordinates at which directions and distances are taken; the start by default
    at: Mapping[str, float] = field(default_factory=dict)
    # further places to which arms lead, by body, in its frame
    tips: Mapping[Body, Sequence[float]] = field(default_factory=dict)
    level: bool = False  # whether the ground is at height 0, as for robot files
    # the lowest and the highest value of coordinates in a motion, by name
    reach: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # radii of bodies that are known to be wheels, by name, m
    rolling: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def _given(self) -> dict[Expr, float]:
        m = self.mechanism
        known = {**m.values, **self.values}
        found = {s: known.get(n, 0.0) for n, s in (*m.parameters.items(), *m.inputs.items())}
        place = {**m.initial, **self.at}
        found.update({s: float(place.get(n, 0.0)) for n, s in m.coordinates.items()})
        for body in m.bodies.values():
            if len(body.rotations) == 4 and not any(found[q] for q in body.rotations):
                found[body.rotations[0]] = 1.0
        found[m.time] = 0.0
        return found

    def numbers(self, exprs: Sequence[Expr]) -> Array:
        """Return the values of expressions of parameters and coordinates."""
        return np.array(evaluate_all(list(exprs), self._given), float)

    def vector(self, v: Vector, frame: Frame) -> Array:
        """Return the components of a vector along the axes of a frame."""
        return self.numbers(v.components(frame))

    def point(self, point: Point) -> Array:
        """Return where a point is in its body's frame."""
        return self.vector(point.local, point.body.frame)

    def mass(self, body: Body) -> float:
        """Return the mass of a body, kg."""
        return float(self.numbers([body.inertia.mass])[0])

    def center(self, body: Body) -> Array:
        """Return the mass center of a body in its frame, m."""
        return self.numbers(body.inertia.center)

    def axis(self, body: Body) -> Array | None:
        """Return the axis of a body that turns about one, along its own axes, else None."""
        if len(body.rotations) != 1:
            return None
        found = self.vector(body.frame.spins[0][1], body.frame)
        length = float(np.linalg.norm(found))
        return found / length if length else None

    def slides(self, body: Body) -> list[Array]:
        """Return the directions in which a body slides, along its parent's axes."""
        assert body.parent is not None
        return [self.vector(d, body.parent.frame) for _, d in body.translations]

    def box(self, body: Body) -> Array | None:
        """Return the edges of the solid box with a body's inertia, where there is one."""
        mass = self.mass(body)
        if mass <= 0:
            return None
        moments = self.numbers(body.inertia.tensor[:3])
        squares = 6 * (moments.sum() - 2 * moments) / mass
        if moments.min() <= 0 or squares.max() <= 0 or squares.min() < -1e-6 * squares.max():
            return None
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    @cached_property
    def spans(self) -> list[Span]:
        """Struts, and rods between points that a constraint holds apart."""
        found = [
            Span(f.name, f.away_from, f.point)
            for f in self.mechanism.forces
            if f.away_from is not None
        ]
        driven = self.mechanism.driven_struts
        found += [Span(f"{s.name} strut", s.first, s.second, driven=True) for s in driven]
        for c in self.mechanism.constraints:
            ends = _loop_ends(c)
            known = any({s.first, s.second} == set(ends or ()) for s in found)
            if ends is not None and not known and self._apart(*ends):
                found.append(Span(c.name, *ends, rigid=True))
        return found

    def _apart(self, first: Point, second: Point) -> bool:
        """Whether points that a constraint joins are far from each other: then it is a rod."""
        away = first.position - second.position
        distance = float(np.linalg.norm(self.vector(away, self.mechanism.ground.frame)))
        arms = [np.linalg.norm(self.point(p)) for p in (first, second)]
        return distance > 0.3 * max(*map(float, arms), 1e-9)

    @cached_property
    def arms(self) -> dict[Body, list[Array]]:
        """For each body, the ground too, where others hang on it, in its frame."""
        found: dict[Body, list[Array]] = {self.mechanism.ground: []}
        found.update({b: [] for b in self.mechanism.bodies.values()})
        for body in self.mechanism.depth_first():
            assert body.parent is not None
            found[body.parent].append(self.vector(body.offset, body.parent.frame))
        for c in self.mechanism.constraints:
            ends = _loop_ends(c)
            for end in ends or ():
                found[end.body].append(self.point(end))
        for span in self.spans:
            for end in (span.first, span.second):
                found[end.body].append(self.point(end))
        for point in self.mechanism.points.values():
            if point.body is not self.mechanism.ground:
                found[point.body].append(self.point(point))
        for body, tip in self.tips.items():
            found[body].append(np.array(tip, float))
        return {body: _apart_from_each_other(points) for body, points in found.items()}

    @cached_property
    def wheels(self) -> dict[Body, float]:
        """The bodies that roll on the ground, with their radii, m."""
        found: dict[Body, float] = {}
        for c in self.mechanism.constraints:
            forces = [w for w in c.works if not w.turns]
            couples = [w for w in c.works if w.turns]
            if c.position is not None or len(forces) != 1 or len(couples) != 1:
                continue
            body = couples[0].point.body
            if len(body.rotations) != 1 or forces[0].point.body is not body:
                continue
            frame = self.mechanism.ground.frame
            arm = np.linalg.norm(self.vector(couples[0].direction, frame))
            push = np.linalg.norm(self.vector(forces[0].direction, frame))
            if arm > 0 and push > 0:
                found.setdefault(body, float(arm / push))
        sizes = list(found.values())
        for body in self.mechanism.bodies.values():  # a wheel that only rolls has the same size
            named = any(c.name == f"{body.name} rolls" for c in self.mechanism.constraints)
            if named and sizes:
                found.setdefault(body, sizes[0])
        for name, radius in self.rolling.items():
            if name in self.mechanism.bodies:
                found.setdefault(self.mechanism.bodies[name], radius)
        return found

    @cached_property
    def up(self) -> Array:
        """The direction against gravity in the ground's frame; z where there is none."""
        g = self.vector(self.mechanism.gravity_vector, self.mechanism.ground.frame)
        size = float(np.linalg.norm(g))
        return -g / size if size > 0 else np.array([0.0, 0.0, 1.0])

    @property
    def falls(self) -> bool:
        """Whether there is gravity."""
        return bool(self.vector(self.mechanism.gravity_vector, self.mechanism.ground.frame).any())


def body_rows(mechanism: Mechanism) -> dict[Body, int]:
    """Return the rows of the ground and the bodies in the poses of a scene."""
    return {body: k for k, body in enumerate([mechanism.ground, *mechanism.depth_first()])}


def _loop_ends(constraint: Constraint) -> tuple[Point, Point] | None:
    works = constraint.works
    if constraint.position is None or not works or any(w.turns for w in works):
        return None
    return works[0].point, works[0].reaction


def _apart_from_each_other(points: Sequence[Array]) -> list[Array]:
    kept: list[Array] = []
    for p in points:
        if all(np.linalg.norm(p - other) > 1e-9 for other in kept):
            kept.append(p)
    return kept
