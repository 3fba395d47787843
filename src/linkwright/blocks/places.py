"""Places and velocities in the ground's axes, by one recursion over the bodies.

The expression of a far point's position in terms of the coordinates is long. Here each body's
rotation, origin and velocities are named once, from those of its parent (the outward recursion of
Luh, Walker and Paul 1980), so that any number of points costs a few operations each:

    R = R_parent R_joint          p = p_parent + R_parent r
    w = w_parent + R_parent s     v = v_parent + w_parent x (p - p_parent) + R_parent d

with r the body's origin, s the spin and d the speed of the joint in the parent's axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO_VECTOR, Expr
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Hold,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    held,
    subtract,
    transposed,
)
from linkwright.mechanism import Body, Point
from linkwright.mechanism.parts import as_point

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""The names of the six directions of a rigid motion or a wrench: along x, y, z, and about them."""


@dataclass(frozen=True, slots=True)
class BodyPlacement:
    """Where a body is and how it moves, in the ground's axes."""

    rotation: Matrix = IDENTITY
    origin: Triple = NOTHING
    omega: Triple = NOTHING  # angular velocity, rad/s
    velocity: Triple = NOTHING  # of its origin, m/s


class Places:
    """The places of bodies, worked out once each."""

    def __init__(self, name: Hold, root: Body | None = None) -> None:
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
        return held(self._name, add(place.origin, self.outward(point.body, _local(point))))

    def velocity(self, point: Point) -> Triple:
        """Return the velocity of a point, m/s."""
        place = self.of(point.body)
        arm = held(self._name, self.outward(point.body, _local(point)))
        return held(self._name, add(place.velocity, cross(place.omega, arm)))

    def outward(self, place: Body | Point, components: Sequence[Expr]) -> Triple:
        """Return a vector in the ground's axes from components along those of a body or frame."""
        point = as_point(place)
        return apply(self.of(point.body).rotation, point.outward(components))

    def inward(self, place: Body | Point, components: Sequence[Expr]) -> Triple:
        """Return a vector along the axes of a body or frame from its components in the ground's."""
        point = as_point(place)
        return point.inward(apply(transposed(self.of(point.body).rotation), components))

    def _below(self, above: BodyPlacement, body: Body) -> BodyPlacement:
        parent = body.parent
        assert parent is not None
        frame = parent.frame
        axes = [axis.components(frame) for axis in body.frame.axes]
        columns = [held(self._name, apply(above.rotation, axis)) for axis in axes]
        rotation = transposed((columns[0], columns[1], columns[2]))
        arm = held(self._name, apply(above.rotation, body.from_parent.components(frame)))
        motion = body.mechanism.kinematics().motions[body]
        spin = apply(above.rotation, motion.spin.components(frame))
        omega = held(self._name, add(above.omega, spin))
        drift = ZERO_VECTOR
        for speed in motion.speeds:
            drift = drift + speed.velocity * speed.symbol
        moved = apply(above.rotation, drift.components(frame))
        if motion.absolute:  # the speeds are those of another point of the body
            lever = apply(rotation, motion.reference.components(body.frame))
            velocity = subtract(moved, cross(omega, held(self._name, lever)))
        else:
            velocity = add(add(above.velocity, cross(above.omega, arm)), moved)
        origin = held(self._name, add(above.origin, arm))
        return BodyPlacement(rotation, origin, omega, held(self._name, velocity))


def _local(point: Point) -> Triple:
    return point.local.components(point.body.frame)
