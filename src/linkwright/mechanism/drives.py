"""What drives a machine and what it moves: actuators, struts whose length is driven, the platform.

A tree has many coordinates, and a machine with closed loops has few actuators. Naming them chooses
the independent speeds of everything that is derived. A strut whose length is driven (a cylinder
between two ball joints whose own masses do not count) is a coordinate too: a massless slider that
nothing else moves, and the relation |p2 - p1|^2 = length^2. The force on that coordinate is the
force of the strut, positive where it pushes its ends apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, direction_of, free_symbols
from linkwright.algebra.units import Amount, amount
from linkwright.base.arguments import worded
from linkwright.mechanism import loops
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import (
    Body,
    CollisionCapsule,
    ConeLimit,
    DrivenStrut,
    Platform,
    Point,
    Value,
)
from linkwright.mechanism.places import moved_by, point_at
from linkwright.mechanism.symbols import changed, require_name
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism


@builder
def actuate(m: Mechanism, *coordinates: str) -> None:
    """Name the coordinates that motors and cylinders move, in the order of the actuators.

    Where loops are closed, the speeds of the actuators are the independent ones.

    Args:
        coordinates: of joints with one translation or rotation, or names of driven struts.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.actuate("b")
    >>> m.actuators
    [b]
    """
    m.actuators.extend(_driven(m, coordinates, m.actuators))
    changed(m)


@worded
def with_drives(
    m: Mechanism, actuators: Iterable[str] | None = None, platform: Point | Body | str | None = None
) -> Mechanism:
    """Return a view with other actuators or another platform; the mechanism stays as it is.

    Args:
        actuators: names of coordinates, in place of its own.
        platform: a point or body, in place of its own.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.with_drives(["b"]).actuators, m.actuators
    ([b], [])
    """
    own = m.actuators if actuators is None else _driven(m, actuators, ())
    made = m.platform if platform is None else _platform(m, platform, "z")
    view = m.with_parts(actuators=own)
    view.platform = made
    return view


def _driven(m: Mechanism, names: Iterable[str], before: Sequence[Expr]) -> list[Expr]:
    """Return the coordinates of actuators."""
    found = list(before)
    for name in names:
        require_name(name, "an actuator")
        q, body = moved_by(m, name)
        if body.joint.quaternion and q in body.rotations:
            raise MechanismError(
                f"{name!r} is part of a quaternion, which no actuator moves alone",
                remedy="drive a joint with one axis, or a strut",
            )
        if q in found:
            raise MechanismError(f"{name!r} is an actuator already")
        found.append(q)
    return found[len(before) :]


def _platform(m: Mechanism, at: Point | Body | str, axis: Value) -> Platform:
    point = point_at(m, "the platform", at)
    if point.body is m.ground:
        raise MechanismError("the platform is a body that moves, not the ground")
    return Platform(point, direction_of(m.vector(axis, point)))


@builder
def drive_strut(
    m: Mechanism,
    name: str,
    first: Point | Body | str,
    second: Point | Body | str,
    *,
    length: Amount = 1.0,
    doc: str = "",
) -> Expr:
    """Add a massless strut whose length is a coordinate that can be driven.

    Args:
        name: of the strut, and of its coordinate, the length, m.
        first: a point of one body, or its name; of a body, its origin.
        second: a point of another, in the same way.
        length: near which the assembly starts to look for it, m.
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=1)
    >>> m.drive_strut("cylinder", m.origin, b)
    cylinder
    >>> m.constraints[0].speed
    b*b_dot - cylinder*cylinder_dot
    """
    require_name(name, "a strut")
    start, end = point_at(m, name, first), point_at(m, name, second)
    m._kinematics = None  # a massless slider on the ground leaves all velocities as they are
    words = doc or "length of a driven strut"
    slider = m.body(name, translate="x", mass=0, inertia=0, doc=words)
    (driven,) = slider.coordinates
    made = loops.distance(m, start, end, driven, f"{name} is as long as it is driven")
    m.constraints[-1] = replace(made, length=driven)
    m.set_initial({name: length})
    changed(m)
    return driven


def driven_struts(m: Mechanism) -> tuple[DrivenStrut, ...]:
    """Return the struts whose length is a coordinate, in order."""
    found = []
    for constraint in m.constraints:
        if constraint.length is not None:
            slider = m.bodies[constraint.length.name]
            (work,) = constraint.works
            found.append(
                DrivenStrut(slider.name, work.reaction, work.point, constraint.length, slider)
            )
    return tuple(found)


@builder
def set_platform(m: Mechanism, at: Point | Body | str, *, axis: Value = "z") -> Platform:
    """Say which body the machine moves, at which point, and along which axis it points.

    Args:
        at: a point of the platform, or its name; of a body, its origin.
        axis: the direction that a dish or tool points along, in the platform's axes.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="y")
    >>> m.set_platform(b).point.body.name
    'b'
    """
    m.platform = _platform(m, at, axis)
    changed(m)
    return m.platform


@builder
def limit_cone(
    m: Mechanism,
    joint: str,
    angle: Amount,
    *,
    axis: Value = "z",
    second_axis: Value = None,
    at_second: bool = False,
) -> ConeLimit:
    """Say how far a ball or a universal joint may tilt; runs do not stop it there.

    Args:
        joint: name of the body that it moves, of the loop that it closes, or of a driven strut.
        angle: half the opening of the cone, rad, or a text such as "60 deg".
        axis: of the cone, in the axes of the first body: the parent, or the loop's first; of a
            strut, the body at its first end.
        second_axis: what stays in the cone, in the axes of the second body, by default the
            same; of a strut it is the strut itself, away from that end.
        at_second: of a strut, whether the cone is at its second end.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.mechanism.joints import Ball
    >>> m = Mechanism("m")
    >>> b = m.body("b", joint=Ball(), mass=1)
    >>> round(m.limit_cone("b", "60 deg").angle, 4)
    1.0472
    """
    require_name(joint, "a joint")
    size = amount(angle, f"the cone of {joint!r}", "rad")
    if not 0 < size <= math.pi:
        raise MechanismError(
            f"the cone of {joint!r} opens by {angle}", remedy="give 0 to 180 degrees"
        )
    strut = next((s for s in m.driven_struts if s.name == joint), None)
    if strut is not None:
        if second_axis is not None:
            raise MechanismError(
                f"what stays in the cone of {joint!r} is the strut itself",
                remedy="leave second_axis out",
            )
        near, far = strut.first, strut.second
        if at_second:
            near, far = far, near
        fixed = direction_of(m.vector(axis, near.body.frame))
        along = direction_of(far.position - near.position)
        made = ConeLimit(joint, fixed, near.body, along, size, None, at_second)
    else:
        if at_second:
            raise MechanismError(
                f"{joint!r} is not a driven strut, and has no second end",
                remedy="leave at_second out",
            )
        body, other = _joined(m, joint)
        fixed = direction_of(m.vector(axis, body.frame))
        given = axis if second_axis is None else second_axis
        along = direction_of(m.vector(given, other.frame))
        made = ConeLimit(joint, fixed, body, along, size, other)
    m.cones.append(made)
    return made


def _joined(m: Mechanism, name: str) -> tuple[Body, Body]:
    """Return the two bodies that a ball or a universal joint joins."""
    loop = next((x for x in m.loops if x.name == name), None)
    there = m.link_or_body(name) is not None
    body = m.body_of(name, f"the joint of {name!r}") if there else None
    if loop is not None:
        joint, ends = loop.joint, (loop.first.body, loop.second.body)
    elif body is not None and body.parent is not None:
        cross = m.bodies.get(f"{name}_cross")
        above = cross.parent if cross is body.parent and cross is not None else body.parent
        joint, ends = body.joint, (above or m.ground, body)
        if above is not body.parent:
            return ends
    else:
        known = [*m.bodies, *(x.name for x in m.loops)]
        m.unknown(name, known, "joint")
    if len(joint.rotate) < 2 and joint.second is None:
        raise MechanismError(
            f"the joint of {name!r} has one axis at most, and no cone",
            remedy="limit its coordinate: m.limit(...)",
        )
    return ends


@builder
def collision_capsule(
    m: Mechanism,
    name: str,
    first: Point | Body | str,
    second: Point | Body | str,
    radius: Value,
) -> CollisionCapsule:
    """Declare a capsule for the search for interference; runs do not feel it.

    Args:
        name: of what it stands for.
        first: a point at one end, or its name; of a body, its origin.
        second: a point at the other end, of the same body or, for a strut, of another.
        radius: m.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> arm = m.body("arm", rotate="y", mass=1)
    >>> m.collision_capsule("arm", arm, m.point("tip", arm, (0, 0, 1)), 0.05).second.name
    'tip'
    """
    require_name(name, "a capsule")
    if any(name == known.name for known in m.collision_capsules):
        raise MechanismError(f"{m.name!r} has a capsule {name!r} already")
    size = m.expr(radius, "m")
    if any(x.data.role != "parameter" for x in free_symbols(size)):
        raise MechanismError(f"the radius of {name!r} changes", remedy="use numbers and parameters")
    made = CollisionCapsule(name, point_at(m, name, first), point_at(m, name, second), size)
    m.collision_capsules.append(made)
    return made
