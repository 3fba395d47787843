"""Adding forces, moments and gravity to a mechanism."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ZERO,
    Expr,
    Vector,
    as_expr,
    direction_of,
    magnitude as length_of,
    nominal,
    sign,
)
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Force, Moment, Passive, Point, Value
from linkwright.mechanism.places import is_own, point_at
from linkwright.mechanism.symbols import changed, require_name
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

STANDARD_GRAVITY = 9.81
_JOINT_UNITS = {
    "armature": ("kg", "kg*m^2"),
    "damping": ("N*s/m", "N*m*s/rad"),
    "friction": ("N", "N*m"),
    "stiffness": ("N/m", "N*m/rad"),
    "rest": ("m", "rad"),
}


@builder
def gravity(m: Mechanism, along: Value = None, g: Value = STANDARD_GRAVITY) -> None:
    """Switch on a uniform field.

    Args:
        along: the direction in which things fall, whose length multiplies g; the ground's -z by
            default.
        g: its acceleration, m/s^2.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.gravity()
    >>> m.gravity_vector
    -9.81*n.z
    """
    direction = -m.z if along is None else m.vector(along)
    m.gravity_vector = direction * m.expr(g, "m/s^2")
    changed(m)


@builder
def force(
    m: Mechanism,
    name: str,
    magnitude: Value = None,
    *,
    at: Point | Body | str,
    along: Value,
    reaction: Point | Body | str | None = None,
    doc: str = "",
) -> Force:
    """Add a force of known direction.

    Args:
        name: its name.
        magnitude: N; in a text, `x`, `x0` and `v` are the distance between the points along the
            direction, its value with all coordinates zero, and its rate; or a function of
            these three, or of the first or the first two; by default a parameter.
        at: the point where it acts; of a body, its origin.
        along: its direction: a vector, an axis name, or three components in the ground's frame.
        reaction: the body, or a point of it, that feels the opposite; the ground by default.
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> m.force("push", "F", at=b.origin, along="x").magnitude
    F
    """
    _refuse_load(m, name)
    direction = direction_of(m.vector(along))
    at, other = point_at(m, name, at), point_at(m, name, reaction)
    made = Force(
        name,
        _magnitude(m, name, magnitude, direction, at, other),
        direction,
        at,
        other.body,
        doc,
        _written(magnitude),
    )
    m.forces.append(made)
    changed(m)
    return made


@builder
def strut(
    m: Mechanism,
    name: str,
    magnitude: Value = None,
    *,
    at: Point | Body | str,
    to: Point | Body | str | None = None,
    doc: str = "",
) -> Force:
    """Add a force along the line between two points; positive pushes them apart.

    Args:
        name: its name.
        magnitude: N; in a text, `x`, `x0` and `v` are the length, the length with all
            coordinates zero, and its rate; or a function of these, as for a force.
        at: the point that it pushes.
        to: the other point; the ground's origin by default.
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> m.strut("spring", "-k*(x - 1)", at=b.origin).name
    'spring'
    """
    _refuse_load(m, name)
    at, other = point_at(m, name, at), point_at(m, name, to)
    span = at.position - other.position
    if span.is_zero:
        raise MechanismError(
            f"both ends of {name!r} are always at the same place, so it has no direction",
            remedy="let one of its points lie off the other",
        )
    x = length_of(span)
    direction = span / x
    made = Force(
        name,
        _magnitude(m, name, magnitude, direction, at, other, x),
        direction,
        at,
        other.body,
        doc,
        _written(magnitude),
        other,
    )
    m.forces.append(made)
    changed(m)
    return made


@builder
def moment(
    m: Mechanism,
    name: str,
    magnitude: Value = None,
    *,
    on: Body | str,
    about: Value,
    reaction: Body | str | None = None,
    doc: str = "",
) -> Moment:
    """Add a couple.

    Args:
        name: its name.
        magnitude: N*m; by default a parameter.
        on: the body that feels it.
        about: its direction.
        reaction: the body that feels the opposite; the ground by default.
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.moment("drive", "T", on=b, about="z").magnitude
    T
    """
    _refuse_load(m, name)
    on, other = (m.body_of(x, name, placed=False) for x in (on, reaction))
    _refuse_others(m, name, on)
    _refuse_others(m, name, other)
    value = m.parameter(name) if magnitude is None else m.expr(magnitude, "N*m")
    made = Moment(
        name,
        value,
        direction_of(m.vector(about)),
        on,
        other,
        doc,
        _written(magnitude),
    )
    m.moments.append(made)
    changed(m)
    return made


@builder
def armature(m: Mechanism, body: Body | str, inertia: Value) -> None:
    """Give a joint the inertia of a geared rotor, which acts on the joint's own speeds alone.

    Args:
        body: the body whose joint is driven, or its name; where it has several speeds, each has
            a rotor.
        inertia: of the rotor, times the gear ratio squared, kg*m^2 (kg for a translation).

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.armature(b, "G**2*J")
    >>> m.armatures[b]
    G**2*J
    """
    body = m.body_of(body, "the body of an armature", placed=False)
    if not body.coordinates:
        raise MechanismError(f"{body.name!r} has no coordinate; an armature needs one")
    rotor = m.expr(inertia, joint_unit(body, "armature"))
    m.armatures[body] = m.armatures.get(body, ZERO) + rotor
    changed(m)


@builder
def passive(
    m: Mechanism,
    body: Body | str,
    *,
    damping: Value = 0,
    friction: Value = 0,
    stiffness: Value = 0,
    rest: Value = 0,
) -> None:
    """Give a joint damping, dry friction or a spring: what it does by itself.

    Args:
        body: the body whose joint it is, or its name; where it has several speeds, each has
            damping and friction, and none a spring.
        damping: viscous friction, N*m*s/rad or N*s/m.
        friction: dry friction, N*m or N; in runs it holds the joint at rest.
        stiffness: of a spring, N*m/rad or N/m.
        rest: the coordinate at which the spring is slack, rad or m.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.passive(b, damping="d")
    >>> m.moments[0].magnitude
    -b_dot*d
    """
    body = m.body_of(body, "the body of a joint", placed=False)
    if not body.coordinates or body in m.passives:
        why = "has its own already" if body in m.passives else "has no coordinate"
        raise MechanismError(f"the joint of {body.name!r} {why}; no friction can be added")
    d = m.expr(damping, joint_unit(body, "damping"))
    f = m.expr(friction, joint_unit(body, "friction"))
    k = m.expr(stiffness, joint_unit(body, "stiffness"))
    slack = m.expr(rest, joint_unit(body, "rest"))
    names = []
    speeds = m.kinematics().motions[body].speeds
    for speed in speeds:
        u = speed.symbol
        effort = -d * u - f * sign(u)
        if len(speeds) == len(body.coordinates) == 1:
            effort = effort - k * (body.coordinates[0] - slack)
        if effort.op == "num":
            continue
        names.append(f"friction of {u.name}")
        if speed.omega.is_zero:
            m.force(names[-1], effort, at=body, along=speed.velocity, reaction=body.parent)
        else:
            m.moment(names[-1], effort, on=body, about=speed.omega, reaction=body.parent)
    m.passives[body] = Passive(d, f, k, slack, frozenset(names))


def _refuse_others(m: Mechanism, name: str, given: Value) -> None:
    """Reject what is not a body of this mechanism."""
    if given is not None and not (isinstance(given, Body) and is_own(m, given)):
        raise MechanismError(f"{name!r} needs a body of {m.name!r}, not {given!r}")


def _refuse_load(m: Mechanism, name: str) -> None:
    require_name(name, "a load")
    if name in {f.name for f in m.forces} | {x.name for x in m.moments}:
        raise MechanismError(f"{m.name!r} has a force or moment {name!r} already")


def _magnitude(
    m: Mechanism,
    name: str,
    magnitude: Value,
    direction: Vector,
    at: Point,
    other: Point,
    length: Expr | None = None,
) -> Expr:
    if magnitude is None:
        return m.parameter(name)
    span = at.position - other.position

    def distance() -> Expr:
        return direction @ span if length is None else length

    given: dict[str, Callable[[], Expr]] = {
        "x": distance,
        "x0": lambda: nominal(distance()),
        "v": lambda: direction @ (at.velocity - other.velocity),
    }
    if isinstance(magnitude, str):
        return m.scope.with_lazy(**given).read(magnitude, "N")
    if callable(magnitude):
        wanted = len(inspect.signature(magnitude).parameters)
        return as_expr(magnitude(*(value() for value in list(given.values())[:wanted])))
    return m.expr(magnitude, "N")


def joint_unit(body: Body, key: str) -> str:
    """Return the unit of what a joint has of its own; "?" where it slides and turns.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> joint_unit(m.body("b", translate="x"), "damping")
    'N*s/m'
    """
    if body.translations and body.rotations:
        return "?"
    return _JOINT_UNITS[key][0 if body.translations else 1]


def _written(magnitude: Value) -> str:
    return magnitude if isinstance(magnitude, str) else ""
