"""Contact of balls and capsules with planes and with each other: they roll, slide and spin.

A ball is a point with a radius, a capsule a segment with a radius. Two of them touch where their
segments are nearest to each other; a ball touches a plane with one point and a capsule with one
below each end, on both of which it rests. The force acts at the point in the middle of the overlap,
which moves over both bodies, so that friction there makes a ball roll.

Along the normal n, which points to the first body, a spring and a damper push and never pull; with
the depth d and the velocity w of the first body's point relative to the second's:

    N = max(0, k d - (b + k a d) w.n)
    F = N n - mu N w_t / sqrt(|w_t|^2 + c^2)

Friction is Coulomb's, smooth within a small speed c: a body that should stick creeps, at most with
about that speed. Rolling resistance is a couple against the relative rotation v across the normal,
-r N v_t / sqrt(|v_t|^2 + (c/R)^2), with its coefficient r in m (K. L. Johnson, Contact Mechanics,
1985, chapters 8 and 9). All of it opposes motion or stores energy in the spring, so none is made.

The nearest points of two segments are those of C. Ericson, Real-Time Collision Detection, 2005,
section 5.1.9, in a form without branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwright.algebra import (
    ZERO,
    Expr,
    as_expr,
    maximum,
    minimum,
    sqrt,
    where,
)
from linkwright.algebra.triples import Triple, add, cross, dot, subtract, times
from linkwright.base.rotations import exact
from linkwright.blocks import BlockError, Element, checked, checked_rotation
from linkwright.elements.surfaces import CapsuleSurface, Plane, SphereSurface
from linkwright.mechanism import Point

_TINY = 1e-12
Round = SphereSurface | CapsuleSurface


class RoundContact(Element):
    """Contact of a ball or capsule with a plane, a ball or a capsule.

    Outputs for each place k where they can touch (from 1; a capsule on a plane has two): `depthk`
    (m, positive where they touch), `normalk` (N), `slipk` (m/s, the speed with which they slide on
    each other), and the force on the first in the ground's axes, `forcek_x` and so on (N).

    Args:
        mechanism: that it belongs to.
        first: a `Sphere` or `Capsule` on a body.
        second: a `Plane`, `Sphere` or `Capsule`, on another body or on the ground.
        stiffness: k of the spring along the normal, N/m.
        damping: b of the damper along the normal, N*s/m.
        dissipation: a of a damper k * depth * a, besides that, s/m.
        friction: mu.
        creep: c, the speed within which friction is smooth, m/s.
        rolling: r, the coefficient of rolling resistance, m.
        name: of the element.

    >>> from linkwright import Free, Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", joint=Free(), mass=1, inertia=0.004)
    >>> ball = SphereSurface(0.1, body=b)
    >>> list(RoundContact(m, ball, Plane(), stiffness=1e4, friction=0.5).outputs)[:3]
    ['normal1', 'depth1', 'slip1']
    """

    def __init__(
        self,
        mechanism: Any,
        first: Round,
        second: Round | Plane,
        *,
        stiffness: float,
        damping: float = 0.0,
        dissipation: float = 0.0,
        friction: float = 0.0,
        creep: float = 1e-3,
        rolling: float = 0.0,
        name: str = "round_contact",
    ) -> None:
        super().__init__(name, mechanism, doc="contact of round bodies")
        _refuse_shapes(name, first, second)
        self._k = self.parameter("stiffness", stiffness, unit="N/m", lower=0.0)
        self._b = self.parameter("damping", damping, unit="N*s/m", lower=0.0)
        self._a = self.parameter("dissipation", dissipation, unit="s/m", lower=0.0)
        self._mu = self.parameter("friction", friction, unit="1", lower=0.0)
        self._creep = self.parameter("creep", creep, unit="m/s", sign="positive")
        self._rolling: Expr | None = None
        if rolling:
            self._rolling = self.parameter("rolling", rolling, unit="m", lower=0.0)
        on, under = self._carrier(first), self._carrier(second)
        self._bodies = on.body, under.body
        if self._bodies[0] is self._bodies[1]:
            raise BlockError(f"both sides of {name!r} are on {self._bodies[0].name!r}")
        self._radius = checked(first.radius, f"radius of {name!r}", above=0)
        ends = self._ends(first, on, "m")
        if isinstance(second, Plane):
            self._on_plane(second, under, ends)
        else:
            other = checked(second.radius, f"radius of {name!r}", above=0)
            self._on_each_other(ends, self._ends(second, under, "m"), other)

    def _carrier(self, shape: Round | Plane) -> Point:
        return self.point_at(self.mechanism.ground if shape.body is None else shape.body)

    def _ends(self, shape: Round, carrier: Point, unit: str) -> list[Point]:
        """Return the ends of the segment of a shape: one point for a ball."""
        x, y, z = map(float, shape.center)
        turn = np.array(checked_rotation(shape.rotation, f"rotation of a shape of {self.name!r}"))
        half = 0.0
        if isinstance(shape, CapsuleSurface):
            half = checked(shape.length, f"length of {self.name!r}, {unit},", least=0) / 2
        along = turn[:, 2] * half
        signs = (-1, 1) if half else (0,)
        return [
            self.mechanism.point_of(
                carrier, [as_expr(float(c + s * a)) for c, a in zip((x, y, z), along, strict=True)]
            )
            for s in signs
        ]

    # -- where they touch --------------------------------------------------------------------------
    def _on_plane(self, plane: Plane, under: Point, ends: Sequence[Point]) -> None:
        turn = np.array(checked_rotation(plane.rotation, f"rotation of the plane of {self.name!r}"))
        center = self.mechanism.point_of(under, tuple(map(as_expr, plane.center)))
        if under.body.parent is None:
            self.floors.append((tuple(map(float, plane.center)), tuple(turn[:, 2].tolist())))
        axis = [as_expr(exact(float(c), _TINY)) for c in turn[:, 2]]
        normal = self._triple(self.places.outward(under, axis))
        for k, end in enumerate(ends, 1):
            place = self.position(end)
            height = self.intermediate(dot(subtract(place, self.position(center)), normal))
            depth = self.intermediate(self._radius - height)
            touched = subtract(place, times(self._radius - depth / 2, normal))
            self._touch(k, end, normal, depth, touched)

    def _on_each_other(self, ends: Sequence[Point], others: Sequence[Point], radius: float) -> None:
        p, q = self.position(ends[0]), self.position(others[0])
        d = self._triple(subtract(self.position(ends[-1]), p))
        e = self._triple(subtract(self.position(others[-1]), q))
        s, t = self._nearest(d, e, subtract(p, q), len(ends) > 1, len(others) > 1)
        near, far = add(p, times(s, d)), add(q, times(t, e))
        way = self._triple(subtract(near, far))
        apart = self.intermediate(sqrt(dot(way, way)))
        normal = self._triple(times(1 / maximum(apart, _TINY), way))
        depth = self.intermediate(self._radius + radius - apart)
        touched = add(far, times(radius - depth / 2, normal))
        self._touch(1, ends[0], normal, depth, touched)

    def _nearest(
        self, d: Triple, e: Triple, r: Triple, first: bool, second: bool
    ) -> tuple[Expr, Expr]:
        """Return the parts of the segments p + s d and q + t e at which they are nearest."""
        r = self._triple(r)
        dd, ee, de, dr, er = (
            self.intermediate(dot(x, y)) for x, y in ((d, d), (e, e), (d, e), (d, r), (e, r))
        )
        if not first and not second:
            return ZERO, ZERO
        if not first:
            return ZERO, self.intermediate(_clamped(er / ee))
        if not second:
            return self.intermediate(_clamped(-dr / dd)), ZERO
        square = self.intermediate(dd * ee - de**2)
        start = self.intermediate(_clamped((de * er - dr * ee) / maximum(square, _TINY)))
        t = self.intermediate(_clamped((de * start + er) / ee))
        return self.intermediate(_clamped((de * t - dr) / dd)), t

    # -- what they feel ----------------------------------------------------------------------------
    def _touch(
        self, k: int, center: Point, normal: Triple, depth: Expr, touched: Sequence[Expr]
    ) -> None:
        """Put the forces of one place on both bodies."""
        place = self._triple(touched)
        speeds, turns, arms = [], [], []
        for body in self._bodies:
            at = self.places.of(body)
            arm = self._triple(subtract(place, at.origin))
            arms.append(arm)
            speeds.append(add(at.velocity, cross(at.omega, arm)))
            turns.append(at.omega)
        relative = self._triple(subtract(speeds[0], speeds[1]))
        outward = self.intermediate(dot(relative, normal))
        slide = self._triple(subtract(relative, times(outward, normal)))
        speed = self.intermediate(sqrt(dot(slide, slide) + self._creep**2))
        push = maximum(self._k * depth - (self._b + self._k * self._a * depth) * outward, 0.0)
        press = self.intermediate(where(depth > 0, push, 0.0))
        drag = self.intermediate(self._mu * press / speed)
        force = self._triple(subtract(times(press, normal), times(drag, slide)))
        self.output(f"normal{k}", press, unit="N")
        self.output(f"depth{k}", depth, unit="m")
        self.output(f"slip{k}", sqrt(dot(slide, slide)), unit="m/s")
        self.event(f"touch{k}", depth)
        first, second = self._bodies
        self.force_vector(f"force{k}", force, at=first, arm=arms[0])
        self.show_force(f"force{k}", at=center, touch=f"depth{k}", below=self._radius)
        if second.parent is not None:
            self.force_vector(f"reaction{k}", [-x for x in force], at=second, arm=arms[1])
        if self._rolling is not None:
            self._resist(k, normal, press, subtract(turns[0], turns[1]))

    def _resist(self, k: int, normal: Triple, press: Expr, turn: Triple) -> None:
        """Put the couple of rolling resistance on both bodies."""
        assert self._rolling is not None
        about = self.intermediate(dot(turn, normal))
        across = self._triple(subtract(turn, times(about, normal)))
        slow = self._creep / self._radius
        size = self.intermediate(self._rolling * press / sqrt(dot(across, across) + slow**2))
        for body, sign, word in zip(self._bodies, (-1, 1), ("resist", "carry"), strict=True):
            if body.parent is None:
                continue
            couple = self.places.inward(body, [sign * size * x for x in across])
            for axis, letter, part in zip(body.frame.axes, "123", couple, strict=True):
                self.moment(f"{word}{k}_{letter}", part, on=body, about=axis)


def _refuse_shapes(name: str, first: object, second: object) -> None:
    """Reject shapes that are not round, whatever they were said to be."""
    if not isinstance(first, Round) or not isinstance(second, Round | Plane):
        raise BlockError(
            f"{name!r} is between {type(first).__name__} and {type(second).__name__}",
            remedy="give a Sphere or a Capsule first, and then that, or a Plane",
        )


def _clamped(x: Expr) -> Expr:
    return minimum(maximum(x, 0.0), 1.0)
