"""Places and velocities in the ground's axes, by one recursion over the bodies.

The expression of a far point's position in terms of the coordinates is long. Here each body's
rotation, origin and velocities are named once, from those of its parent (the outward recursion of
Luh, Walker and Paul 1980), so that any number of points costs a few operations each:

    R = R_parent R_joint          p = p_parent + R_parent r
    w = w_parent + R_parent s     v = v_parent + w_parent x (p - p_parent) + R_parent d

with r the body's origin, s the spin and d the speed of the joint in the parent's axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, ZERO_VECTOR, Expr, total
from linkwright.mechanism import Body, Point
from linkwright.mechanism.parts import as_point

Triple = tuple[Expr, Expr, Expr]
Rows = tuple[Triple, Triple, Triple]
Name = Callable[[Expr], Expr]

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""The names of the six directions of a rigid motion or a wrench: along x, y, z, and about them."""

NOTHING: Triple = (ZERO, ZERO, ZERO)
UNIT: Rows = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))


@dataclass(frozen=True, slots=True)
class BodyPlacement:
    """Where a body is and how it moves, in the ground's axes."""

    rotation: Rows = UNIT
    origin: Triple = NOTHING
    omega: Triple = NOTHING  # angular velocity, rad/s
    velocity: Triple = NOTHING  # of its origin, m/s


class Places:
    """The places of bodies, worked out once each."""

    def __init__(self, name: Name, root: Body | None = None) -> None:
        self._name = name
        self._known: dict[Body, BodyPlacement] = {} if root is None else {root: BodyPlacement()}
        self._root = root

    def of(self, body: Body) -> BodyPlacement:
        """Return the place of a body."""
        chain = body.ancestors()
        if self._root in chain:
            chain = chain[: chain.index(self._root)]
        for each in reversed(chain):
            if each not in self._known:
                assert each.parent is not None
                above = self._known.get(each.parent, BodyPlacement())
                self._known[each] = self._below(above, each)
        return self._known.get(body, BodyPlacement())

    def position(self, point: Point) -> Triple:
        """Return the position of a point, m."""
        place = self.of(point.body)
        return self._named(plus(place.origin, self.outward(point.body, _local(point))))

    def velocity(self, point: Point) -> Triple:
        """Return the velocity of a point, m/s."""
        place = self.of(point.body)
        arm = self._named(self.outward(point.body, _local(point)))
        return self._named(plus(place.velocity, cross(place.omega, arm)))

    def outward(self, place: Body | Point, components: Sequence[Expr]) -> Triple:
        """Return a vector in the ground's axes from components along those of a body or frame."""
        point = as_point(place)
        return times(self.of(point.body).rotation, point.outward(components))

    def inward(self, place: Body | Point, components: Sequence[Expr]) -> Triple:
        """Return a vector along the axes of a body or frame from its components in the ground's."""
        point = as_point(place)
        return point.inward(times(_turned(self.of(point.body).rotation), components))

    def _named(self, v: Sequence[Expr]) -> Triple:
        a, b, c = (x if x.is_atom else self._name(x) for x in v)
        return a, b, c

    def _below(self, above: BodyPlacement, body: Body) -> BodyPlacement:
        parent = body.parent
        assert parent is not None
        frame = parent.frame
        axes = [axis.components(frame) for axis in body.frame.axes]
        columns = [self._named(times(above.rotation, axis)) for axis in axes]
        rotation = _turned((columns[0], columns[1], columns[2]))
        arm = self._named(times(above.rotation, body.from_parent.components(frame)))
        motion = body.mechanism.kinematics().motions[body]
        spin = times(above.rotation, motion.spin.components(frame))
        omega = self._named(plus(above.omega, spin))
        drift = ZERO_VECTOR
        for speed in motion.speeds:
            drift = drift + speed.velocity * speed.symbol
        moved = times(above.rotation, drift.components(frame))
        if motion.absolute:  # the speeds are those of another point of the body
            lever = times(rotation, motion.reference.components(body.frame))
            velocity = minus(moved, cross(omega, self._named(lever)))
        else:
            velocity = plus(plus(above.velocity, cross(above.omega, arm)), moved)
        origin = self._named(plus(above.origin, arm))
        return BodyPlacement(rotation, origin, omega, self._named(velocity))


def plus(a: Sequence[Expr], b: Sequence[Expr]) -> Triple:
    """Return the sum of two vectors' components."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Sequence[Expr], b: Sequence[Expr]) -> Triple:
    """Return the difference of two vectors' components."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def cross(a: Sequence[Expr], b: Sequence[Expr]) -> Triple:
    """Return the components of a vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def times(rows: Rows, v: Sequence[Expr]) -> Triple:
    """Return the product of a matrix and a vector."""
    a, b, c = (total(x * y for x, y in zip(row, v, strict=True)) for row in rows)
    return a, b, c


def _turned(rows: Rows) -> Rows:
    x, y, z = zip(*rows, strict=True)
    return x, y, z


def _local(point: Point) -> Triple:
    return point.local.components(point.body.frame)
