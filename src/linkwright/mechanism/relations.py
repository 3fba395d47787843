"""Relations that must hold in a mechanism: between speeds, coordinates, points and bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, free_symbols, linear_coefficients
from linkwright.algebra.units import Amount
from linkwright.base.errors import Error
from linkwright.base.reprs import brief
from linkwright.mechanism import loops
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.parts import Body, ClosedLoop, Constraint, Point, Range, Value, Work
from linkwright.mechanism.places import moved_by, point_at
from linkwright.mechanism.symbols import changed, require_name
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism


@builder
def constrain(
    m: Mechanism,
    zero: Value,
    *,
    name: str = "",
    eliminate: Value = None,
    works: tuple[Work, ...] = (),
) -> Constraint:
    """Add a relation between speeds that must hold (for rolling, prescribed speeds).

    Args:
        zero: an expression, linear in the speeds, that must vanish.
        name: its name.
        eliminate: the speed to eliminate; chosen automatically by default.
        works: where the force that maintains it acts, for reactions; by default in the joints.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> m.constrain("b_dot - V").speed
    b_dot - V
    """
    speed = m.expr(zero)
    chosen = None if eliminate is None else m.expr(eliminate)
    label = name or f"constraint {len(m.constraints) + 1}"
    _refuse_nonlinear(label, speed)
    made = Constraint(label, speed, None, chosen, works=works, mechanism=m)
    m.constraints.append(made)
    changed(m)
    return made


@builder
def constrain_position(
    m: Mechanism,
    zero: Value,
    *,
    name: str = "",
    eliminate: Value = None,
    works: tuple[Work, ...] = (),
) -> Constraint:
    """Add a relation between coordinates that must hold, with its rate as relation of speeds.

    Args:
        zero: an expression of the coordinates (and time) that must vanish.
        name: its name.
        eliminate: the coordinate to compute from it; chosen automatically by default.
        works: where the force that maintains it acts, for reactions; by default in the joints.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> a, b = m.body("a", rotate="z"), m.body("b", rotate="z")
    >>> m.constrain_position("a + 2*b").speed
    a_dot + 2*b_dot
    """
    position = m.expr(zero)
    chosen = None if eliminate is None else m.expr(eliminate)
    speed = m.kinematics().derivative(position)
    assert isinstance(speed, Expr)
    label = name or f"constraint {len(m.constraints) + 1}"
    made = Constraint(label, speed, position, None, chosen, works, mechanism=m)
    m.constraints.append(made)
    changed(m)
    return made


@builder
def constrain_points(
    m: Mechanism,
    first: Point | Body | str,
    second: Point | Body | str,
    along: Value,
    *,
    name: str = "",
    confirm: Callable[[Constraint], object] | None = None,
) -> Constraint:
    """Let two points not move apart along a direction: a relation of position and one of speed.

    Args:
        first: a point of one body, or its name; of a body, its origin.
        second: a point of another, in the same way.
        along: the direction.
        name: its name.
        confirm: is shown the relation, which says what it eliminates; where its answer is false,
            the relation is not taken.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xy")
    >>> m.constrain_points(b.origin, m.origin, "x").position
    b.x
    """
    first, second = point_at(m, name or "constrain_points", first), point_at(m, name, second)
    direction = m.vector(along)
    position = direction @ (first.position - second.position)
    speed = direction @ (first.velocity - second.velocity)
    made = Constraint(
        name or f"{first.name} to {second.name} along {direction}",
        speed,
        position,
        works=(Work(direction, first, second),),
        mechanism=m,
    )
    m.constraints.append(made)
    if confirm is not None and not confirm(made):
        m.constraints.remove(made)
    changed(m)
    return made


@builder
def constrain_distance(
    m: Mechanism,
    first: Point | Body | str,
    second: Point | Body | str,
    length: Value,
    *,
    name: str = "",
) -> Constraint:
    """Hold two points at a distance, as a massless rod with a ball at each end does.

    Args:
        first: a point of one body, or its name; of a body, its origin.
        second: a point of another, in the same way.
        length: m.
        name: its name.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> m.constrain_distance(m.origin, b.origin, "L").speed
    b*b_dot
    """
    first, second = point_at(m, name or "a distance", first), point_at(m, name, second)
    made = loops.distance(m, first, second, m.expr(length, "m"), name)
    changed(m)
    return made


@builder
def close_loop(
    m: Mechanism,
    name: str,
    first: Point | Body | str,
    second: Point | Body | str,
    joint: Joint,
    *,
    along: Sequence[Value] | None = None,
    second_axis: Value = None,
) -> tuple[Constraint, ...]:
    """Close a loop by a joint between two bodies of the tree.

    Args:
        name: a name for its relations.
        first: the body, or a point of it, in which the joint's axes are fixed; or its name.
        second: the other body, or the point of it that sits in the joint; or its name.
        joint: `Revolute("z")`, `Prismatic`, `Cylindrical`, `Universal`, `Ball`, `Planar` or
            `Weld`.
        along: directions in which the points are held together; by default the axes of the
            nearest body that both hang on.
        second_axis: the joint's axis in the second body, where it has not the same components
            as in the first (of a universal joint, the second axis).

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.mechanism import Revolute
    >>> m = Mechanism("m")
    >>> a = m.body("a", rotate="z")
    >>> b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    >>> tip = m.point("tip", b, (1, 0, 0))
    >>> len(m.close_loop("pin", m.point("pivot", at=(1, 1, 0)), tip, Revolute("z")))
    2
    """
    require_name(name, "a loop")
    if not isinstance(joint, Joint):
        raise MechanismError(
            f"the joint of {name!r} is {brief(joint)}, which is not a joint",
            remedy='give a joint such as Revolute("z")',
        )
    for end in (first, second):
        if isinstance(end, str) and end in m.frames and len(joint.rotate) != 3:
            m.body_of(end, f"an end of {name!r}")  # the joint's axes are those of bodies
    first, second = point_at(m, name, first), point_at(m, name, second)
    made = loops.close(m, name, first, second, joint, along=along, second_axis=second_axis)
    aligned = loops.aligned(m, first.body, second.body, joint, second_axis)
    names = frozenset(c.name for c in made)
    m.loops.append(ClosedLoop(name, first, second, joint, names, aligned))
    changed(m)
    return made


@builder
def prescribe(m: Mechanism, coordinate: Value, motion: Value, *, name: str = "") -> Constraint:
    """Let a coordinate follow a function of time.

    Args:
        coordinate: its name or symbol.
        motion: an expression of `t`, rad or m.
        name: its name.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.prescribe("b", "A*sin(2*t)").speed
    b_dot - 2*A*cos(2*t)
    """
    q = m.expr(coordinate)
    if q not in m.coordinates.values():
        raise MechanismError(f"{coordinate} is not a coordinate of {m.name!r}")
    return m.constrain_position(
        q - m.expr(motion, m.units.get(q.name, "?")),
        name=name or f"{q} is prescribed",
        eliminate=q,
    )


@builder
def rolling_contact(
    m: Mechanism,
    wheel: Body | str,
    radius: Value,
    *,
    forward: Value = None,
    lateral: bool = True,
    name: str = "",
) -> tuple[Constraint, ...]:
    """Let a wheel roll without slip on the ground below it, its axle level.

    Args:
        wheel: a body with one rotation, about its axle; or its name.
        radius: m.
        forward: the direction of rolling; by default across the axle and the ground's z.
        lateral: whether the wheel does not slip sideways either.
        name: a name for the relations.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> w = m.body("w", parent=b, rotate="y")
    >>> [str(c.speed) for c in m.rolling_contact(w, "R", lateral=False)]
    ['R*w_dot - b_dot']
    """
    wheel = m.body_of(wheel, "the wheel")
    if len(wheel.rotations) != 1 or wheel.parent is None:
        raise MechanismError(f"{wheel.name!r} does not have one rotation, so it cannot roll")
    axle = wheel.frame.spins[0][1]
    ahead = (axle ^ m.z) if forward is None else m.vector(forward)
    if ahead.is_zero:
        raise MechanismError(
            f"the axle of {wheel.name!r} is upright, so it cannot roll on the ground",
            remedy="let it turn about a level axis",
        )
    spin = axle @ wheel.omega
    label = name or wheel.name
    hub, size = wheel.origin, m.expr(radius, "m")
    drive = (
        Work(-ahead, hub, m.origin),
        Work(axle * size, hub, m.origin, turns=True),
    )
    made = [
        m.constrain(
            size * spin - hub.velocity @ ahead,
            name=f"{label} rolls",
            works=drive,
        )
    ]
    if lateral:
        hold = (Work(axle, hub, m.origin), Work(ahead * size, hub, m.origin, turns=True))
        name = f"{label} does not slip"
        made.append(m.constrain(hub.velocity @ axle, name=name, works=hold))
    return tuple(made)


@builder
def limit(
    m: Mechanism,
    coordinate: str,
    lower: Amount | None = None,
    upper: Amount | None = None,
    *,
    speed: Amount | None = None,
    effort: Amount | None = None,
) -> None:
    """Let runs stop a joint at the ends of a range (see `linkwright.equations.joint_stops`).

    Equations, and what is computed from them, know of no limits.

    Args:
        coordinate: of a joint with one translation or rotation, by name.
        lower: end of the range, rad or m, or a text such as "-30 deg"; None for none.
        upper: end of the range, in the same way; None for none.
        speed: greatest speed, rad/s or m/s; controllers and robot files use it, runs do not.
        effort: greatest effort, N*m or N, in the same way.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> m.limit("b", -1.0, 1.0)
    >>> m.ranges[0].upper
    1.0
    """
    require_name(coordinate, "a coordinate")
    q, body = moved_by(m, coordinate)
    if q in body.rotations and len(body.rotations) > 1:
        raise MechanismError(
            f"{coordinate!r} is one of several rotations of {body.name!r}, and has no limit",
            remedy="put a moment on the body",
        )
    low, high = (None if x is None else m.amount(coordinate, x, "a limit") for x in (lower, upper))
    ends = [x for x in (low, high) if x is not None]
    other = [None if x is None else m.amount(coordinate, x, "a limit") for x in (speed, effort)]
    if any(x is not None and not x >= 0 for x in other):
        raise MechanismError(f"a limit of {coordinate!r} is below zero")
    none = other == [None, None] and not ends
    if none or any(x != x for x in ends) or ends != sorted(ends):
        raise MechanismError(
            f"the limits of {coordinate!r} leave it no range: {lower} to {upper}",
            remedy="give a lower one below the upper one, or only one of them",
        )
    if any(given.coordinate is q for given in m.ranges):
        raise MechanismError(f"{coordinate!r} has limits already")
    m.ranges.append(Range(q, low, high, *other))
    changed(m)


def _refuse_nonlinear(name: str, zero: Expr) -> None:
    """Reject a relation that is not linear in the speeds."""
    speeds = [x for x in free_symbols(zero) if x.data.role == "speed"]
    try:
        linear_coefficients(zero, speeds)
    except Error:
        raise MechanismError(
            f"{name!r} is not linear in the speeds: {str(zero)[:80]}",
            remedy="a constraint between speeds is a sum of speeds, each with a factor of "
            "coordinates, parameters and time",
        ) from None
