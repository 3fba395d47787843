"""Closing loops: the relations that a joint between two bodies of a tree stands for.

A body of the tree hangs on one parent. A second connection closes a loop, and is described by what
it forbids. Let p1 be a point of the first body, p2 one of the second, d = p2 - p1, and let the
joint's axes be fixed in the first body, as they would be in a parent:

- translation: d has no component across the directions in which the joint slides;
- one rotation: the axis in the second body has no component across the axis in the first;
- two rotations (universal): the angle between the two axes keeps its value;
- no rotation: the axes a, b, c of both bodies satisfy b1.c2 = c1.a2 = a1.b2 = 0, three relations
  that are independent where the frames coincide.

Each is a relation of position with its exact rate. Velocities are taken relative to the nearest
body that both hang on, so that no speed above it appears. A relation between directions also holds
where an axis points the other way; the assembly starts from the configuration that is given, and
finds the nearest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.algebra import ZERO, ZERO_VECTOR, Expr, Vector, constant, direction_of
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.kinematics import Kinematics
from linkwright.mechanism.parts import Body, Constraint, Point, Work

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_HALF = constant(0.5)


def close(
    mechanism: Mechanism,
    name: str,
    p1: Point,
    p2: Point,
    joint: Joint,
    *,
    along: Any = None,
    second_axis: Any = None,
) -> tuple[Constraint, ...]:
    """Add the relations of a joint between two bodies of the tree; see `Mechanism.close`."""
    if p1.body is p2.body:
        raise MechanismError(f"{name!r} would join {p1.body.name!r} with itself")
    if joint.advance_per_radian not in (0, ZERO):
        raise MechanismError(
            f"{name!r} cannot close a loop by a screw", remedy="put the screw into the tree"
        )
    base = nearest_common(p1.body, p2.body)
    found = [
        *_translation(mechanism, p1, p2, joint, along, base),
        *_rotation(mechanism, p1.body, p2.body, joint, second_axis, base),
    ]
    made = [
        Constraint(f"{name}: {what}", speed, position, works=works, mechanism=mechanism)
        for what, position, speed, works in found
        if not (position is ZERO and speed is ZERO)
    ]
    mechanism.constraints.extend(made)
    if len(made) < len(found):
        mechanism.reports.append(
            f"{name}: {len(found) - len(made)} of its {len(found)} relations always hold; "
            "they were left out"
        )
    return tuple(made)


def distance(
    mechanism: Mechanism, first: Point, second: Point, length: Expr, name: str
) -> Constraint:
    """Add a massless rod between two points; see `Mechanism.distance`."""
    if length is ZERO:
        raise MechanismError(
            "two points at distance zero coincide", remedy="close the loop with joint=Ball()"
        )
    base = nearest_common(first.body, second.body)
    span = second.position - first.position
    kinematics = mechanism.kinematics()
    position = _HALF * (span @ span - length**2)
    growing = kinematics.derivative(length)
    assert isinstance(growing, Expr)
    speed = span @ relative_velocity(kinematics, first, second, base) - length * growing
    made = Constraint(
        name or f"{first.name} to {second.name} at a distance",
        speed,
        position,
        works=(Work(span, second, first),),
        mechanism=mechanism,
    )
    mechanism.constraints.append(made)
    return made


def nearest_common(first: Body, second: Body) -> Body:
    """Return the nearest body, possibly one of the two or the ground, that both hang on."""
    above = [*first.ancestors(), first.mechanism.ground]
    others = {*second.ancestors(), first.mechanism.ground}
    return next(body for body in above if body in others)


def relative_velocity(kinematics: Kinematics, first: Point, second: Point, base: Body) -> Vector:
    """Return the velocity of the second point less that of the first, seen from a base."""
    return _velocity_from(kinematics, second, base) - _velocity_from(kinematics, first, base)


def relative_omega(kinematics: Kinematics, first: Body, second: Body, base: Body) -> Vector:
    """Return the angular velocity of the second body less that of the first."""
    return _omega_from(kinematics, second, base) - _omega_from(kinematics, first, base)


def _between(body: Body, base: Body) -> list[Body]:
    chain = body.ancestors()
    return [b for b in chain if b not in base.ancestors()]


def _velocity_from(kinematics: Kinematics, point: Point, base: Body) -> Vector:
    total = ZERO_VECTOR
    for body in _between(point.body, base):
        motion = kinematics.motions[body]
        arm = point.position - body.origin.position - motion.reference
        for speed in motion.speeds:
            total = total + (speed.velocity + (speed.omega ^ arm)) * speed.symbol
    return total


def _omega_from(kinematics: Kinematics, body: Body, base: Body) -> Vector:
    total = ZERO_VECTOR
    for link in _between(body, base):
        for speed in kinematics.motions[link].speeds:
            total = total + speed.omega * speed.symbol
    return total


Relation = tuple[str, Expr, Expr, tuple[Work, ...]]


def _translation(
    mechanism: Mechanism, p1: Point, p2: Point, joint: Joint, along: Any, base: Body
) -> list[Relation]:
    """Return the relations of position that the joint's translations leave."""
    kinematics = mechanism.kinematics()
    slides = [_axis(mechanism, p1.body, axis) for axis in joint.translate]
    if len(slides) == 3:
        return []
    span = p2.position - p1.position
    moving = relative_velocity(kinematics, p1, p2, base)
    if not slides:
        directions = (
            list(base.frame.axes)
            if along is None
            else [direction_of(mechanism.vector(axis)) for axis in along]
        )
        return [
            (f"no movement along {d}", d @ span, d @ moving, (Work(d, p2, p1),)) for d in directions
        ]
    if along is not None:
        raise MechanismError(
            "directions are chosen freely only where the joint does not slide",
            remedy="leave `along` out",
        )
    turning = _omega_from(kinematics, p1.body, base)
    across = _across(p1.body, slides)
    seen = moving - (turning ^ span)

    def works(d: Vector) -> tuple[Work, ...]:
        """Return the force at p2, the opposite on the first body along the same line."""
        return Work(d, p2, p1), Work(d ^ span, p1, mechanism.origin, turns=True)

    return [(f"no movement along {d}", d @ span, d @ seen, works(d)) for d in across]


def _rotation(
    mechanism: Mechanism,
    first: Body,
    second: Body,
    joint: Joint,
    second_axis: Any,
    base: Body,
) -> list[Relation]:
    """Return the relations between directions that the joint's rotations leave."""
    omega = relative_omega(mechanism.kinematics(), first, second, base)

    def relation(a: Vector, b: Vector, value: Expr = ZERO) -> Relation:
        couple = b ^ a
        works = (Work(couple, second.origin, first.origin, turns=True),)
        return (f"{a} and {b} keep their angle", a @ b - value, omega @ couple, works)

    if len(joint.rotate) == 3:
        return []
    if joint.second is not None:
        (one,), (two,) = joint.rotate, joint.second.rotate
        a = _axis(mechanism, first, one)
        b = _axis(mechanism, second, two if second_axis is None else second_axis)
        square = _axis(mechanism, first, two) if second_axis is None else None
        return [relation(a, b, ZERO if square is None else a @ square)]
    if len(joint.rotate) == 1:
        (axis,) = joint.rotate
        a = _axis(mechanism, first, axis)
        b = _axis(mechanism, second, axis if second_axis is None else second_axis)
        return [relation(d, b) for d in _across(first, [a])]
    x1, y1, z1 = first.frame.axes
    x2, y2, z2 = second.frame.axes
    return [relation(y1, z2), relation(z1, x2), relation(x1, y2)]


def aligned(
    mechanism: Mechanism, first: Body, second: Body, joint: Joint, second_axis: Any
) -> tuple[Expr, ...]:
    """Return what is 1 where the axes of a joint point the same way in both bodies, else -1."""
    if len(joint.rotate) == 3 or joint.second is not None:
        return ()
    if len(joint.rotate) == 1:
        (axis,) = joint.rotate
        other = axis if second_axis is None else second_axis
        return (_axis(mechanism, first, axis) @ _axis(mechanism, second, other),)
    pairs = zip(first.frame.axes[:2], second.frame.axes[:2], strict=True)
    return tuple(a @ b for a, b in pairs)


def _axis(mechanism: Mechanism, body: Body, axis: Any) -> Vector:
    """Return an axis of a joint as a unit vector that is fixed in a body."""
    return direction_of(mechanism.vector(axis, body.frame))


def _across(body: Body, slides: list[Vector]) -> list[Vector]:
    """Return unit vectors, fixed in a body, that span what is normal to one or two directions."""
    if len(slides) == 2:
        return [direction_of(slides[0] ^ slides[1])]
    (axis,) = slides
    own = list(body.frame.axes)
    rest = [a for a in own if (a @ axis) is ZERO]
    if len(rest) == 2:
        return rest
    if rest:
        return [rest[0], direction_of(axis ^ rest[0])]
    one = direction_of(axis ^ own[0])
    return [one, direction_of(axis ^ one)]
