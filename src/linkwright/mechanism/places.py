"""What texts, names and numbers stand for in a mechanism: expressions, vectors, places, bodies.

Anything that is a number in the description may also be an expression or a text (`"L1/2"`), in
which unknown names become parameters; a text model declares its parameters and rejects unknown
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO_VECTOR, Expr, Frame, Vector
from linkwright.algebra.language import read, resolve
from linkwright.algebra.smallness import terms_kept
from linkwright.base.arguments import worded
from linkwright.base.reprs import brief
from linkwright.mechanism import kinematics as kinematics_of
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Point, Value, as_point

if TYPE_CHECKING:
    from linkwright.mechanism.kinematics import Kinematics
    from linkwright.mechanism.mechanism import Mechanism


def expr(m: Mechanism, value: Value, unit: str = "?") -> Expr:
    """Return a number, expression or text as an expression of this mechanism, in SI units.

    Args:
        value: what to read.
        unit: the SI unit of what is read; a text in units of another kind is rejected.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.expr("2*k + 1"), m.expr("10 in", "m")
    (1 + 2*k, 127/500)
    """
    return m.scope.read(value, unit)


def exprs(m: Mechanism, values: Sequence[Value], unit: str = "?") -> tuple[Expr, Expr, Expr]:
    """Return three components as expressions, in an SI unit."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise MechanismError(
            f"three components are needed, not {brief(values)}", remedy="such as (0, 0, 0.5)"
        )
    parts = list(values)
    if len(parts) != 3:
        raise MechanismError(f"three components are needed, not {len(parts)}: {values!r}")
    a, b, c = (m.expr(v, unit) for v in parts)
    return a, b, c


def vector(m: Mechanism, value: Value, frame: Frame | Point | None = None) -> Vector:
    """Return a vector from a vector, a text, an axis name or three components in a frame."""
    if isinstance(value, Vector):
        return value
    base = m.ground.frame if frame is None else frame
    if isinstance(value, str):
        sign = -1 if value.startswith("-") else 1
        letter = value[1:] if value.startswith(("+", "-")) else value
        if letter in ("x", "y", "z"):
            return base.axes["xyz".index(letter)] * sign
        found = resolve(read(value), m.scope)
        if not isinstance(found, Vector):
            raise MechanismError(f"{value!r} is not a vector")
        return found
    if isinstance(value, int):
        if not 1 <= abs(value) <= 3:
            raise MechanismError(f"there is no axis {value}; use 1, 2, 3 or 'x', 'y', 'z'")
        return base.axes[abs(value) - 1] * (1 if value > 0 else -1)
    return base.vector(*m.exprs(value))


@worded
def automatic_point(m: Mechanism, name: str) -> Point | None:
    """Return the point that every body has: `b0`, its origin, and `bcm`, its mass center.

    Args:
        name: of the point; `o` is the origin of the ground.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.automatic_point("o") is m.origin, m.automatic_point("b0")
    (True, None)
    """
    if name in ("o", "O"):
        return m.origin
    for end in ("0", "cm"):
        found = m.link_or_body(name.removesuffix(end)) if name.endswith(end) else None
        if found is not None:
            body = found if isinstance(found, Body) else found.body
            return body.com if end == "cm" else as_point(found)
    return None


@worded
def link_or_body(m: Mechanism, name: str) -> Point | Body | None:
    """Return the link or other frame of a robot file of that name, or the body, or None.

    A body that was made for links has axes of its own, chosen for small programs: no link is
    where it is. So it never depends on its name, which is that of a link or nobody's.

    Args:
        name: as the file spells it.
    """
    found: Point | Body | None = m.frames.get(name) or m.bodies.get(name)
    if isinstance(found, Body) and any(p.body is found for p in m.frames.values()):
        return None
    return found


@worded
def link_of(m: Mechanism, body: Body) -> tuple[str, Point]:
    """Return name and frame of the link that a body was made for; else its own.

    In the text of a robot's mechanism that is a point of the body's own name.
    """
    own = m.points.get(body.name, body.origin)
    links = ((name, point) for name, point in m.frames.items() if point.body is body)
    return next(links, (body.name, own if own.body is body else body.origin))


@worded
def place(m: Mechanism, name: str) -> Point | Body:
    """Return what a name of a place stands for: a frame, a point, a body or the ground.

    Args:
        name: of a link or other frame of a robot file, a point (`b0` and `bcm` too), a body.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.place("n") is m.ground
    True
    """
    found = m.frames.get(name) or m.points.get(name) or m.link_or_body(name)
    if found is None:
        found = m.ground if name == m.ground.name else m.automatic_point(name)
    if found is None:
        bodies = (b for b in m.bodies if m.link_or_body(b))
        known = dict.fromkeys([*m.frames, *m.points, *bodies, m.ground.name])
        m.unknown(name, known, "point, body or frame")
    return found


def body_of(m: Mechanism, value: Body | str | None, what: str, *, placed: bool = True) -> Body:
    """Return a body that is given by itself or by its name; the ground for None or "n".

    Args:
        value: the body, or its name.
        what: what it is for, in errors.
        placed: whether something is placed along its axes.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.body_of("n", "the parent") is m.ground
    True
    """
    if value is None or (value == m.ground.name and value not in m.frames):
        return m.ground
    if isinstance(value, str):
        found = m.link_or_body(value)
        if found is None:
            known = (b for b in m.bodies if m.link_or_body(b))
            m.unknown(value, dict.fromkeys((m.ground.name, *m.frames, *known)), "body")
        if isinstance(found, Point):
            if placed and (found.matrix is not None or not found.local.is_zero):
                raise MechanismError(
                    f"{what} is the link {value!r}, which has other axes than the body "
                    f"{found.body.name!r} that was made for it",
                    remedy="give the body itself where its own axes are meant: "
                    f"m.bodies[{found.body.name!r}]",
                )
            return found.body
        return found
    if not isinstance(value, Body):
        raise MechanismError(
            f"{what} is {brief(value)}, which is not a body",
            remedy="give what m.body(...) returned, or a body's name",
        )
    return value


@worded
def point_of(m: Mechanism, body: Body | Point, at: Sequence[Value], name: str = "") -> Point:
    """Return an unnamed point of a body or a frame; the same place gives the same point."""
    shift = ZERO_VECTOR
    parts = m.exprs(at, "m")
    if isinstance(body, Point):
        shift, parts, body = body.local, body.outward(parts), body.body
    local = shift + body.frame.vector(*parts)
    known = m._points_of.setdefault(body, {})
    found = known.get(local)
    if found is None:
        made = Point(name or f"{body.name}{tuple(map(str, at))}", body, local)
        found = known.setdefault(local, made)  # another thread's, if it was faster
    return found


def point_at(m: Mechanism, name: str, given: Value) -> Point:
    """Return the point of a load: a point, the origin of a body, or that of the ground."""
    if given is None:
        return m.origin
    if isinstance(given, str):
        given = m.place(given)
    point = given.origin if isinstance(given, Body) else given
    if not isinstance(point, Point) or not is_own(m, point.body):
        raise MechanismError(f"{name!r} needs a point of {m.name!r}, not {given!r}")
    return point


def is_own(m: Mechanism, body: Body) -> bool:
    """Whether a body is one of a mechanism; a view has none, since its tables are another's."""
    return m._tables_of is m and (body is m.ground or m.bodies.get(body.name) is body)


def moved_by(m: Mechanism, coordinate: str) -> tuple[Expr, Body]:
    """Return a coordinate of a joint by its name, and the body that it moves."""
    q = m.coordinates.get(coordinate)
    body = next((b for b in m.bodies.values() if q in b.coordinates), None)
    if q is None or body is None:
        known = [x.name for b in m.bodies.values() for x in b.coordinates]
        m.unknown(coordinate, known, "coordinate")
    return q, body


def children(m: Mechanism, body: Body) -> tuple[Body, ...]:
    """Return the bodies that hang on a body, in order of entry."""
    return tuple(b for b in m.bodies.values() if b.parent is body)


def depth_first(m: Mechanism) -> list[Body]:
    """Return the bodies, parents before children, each with all below it before the next."""
    below: dict[Body, list[Body]] = {}
    for body in m.bodies.values():
        assert body.parent is not None
        below.setdefault(body.parent, []).append(body)
    order: list[Body] = []
    stack = list(reversed(below.get(m.ground, [])))
    while stack:
        body = stack.pop()
        order.append(body)
        stack.extend(reversed(below.get(body, [])))
    return order


@worded
def has_speed_name(m: Mechanism, name: str) -> bool:
    """Whether a name is that of a generalized speed or of its rate."""
    stem = name
    while stem.endswith("_dot"):
        stem = stem[:-4]
        if stem in m.coordinates:
            return True
    return "." in stem and stem.rsplit(".", 1)[0] in m.bodies


def kinematics(m: Mechanism) -> Kinematics:
    """Return speeds and velocities; they are chosen now, and no body can be added after."""
    if m._kinematics is None:
        with terms_kept(m.small_order):
            m._kinematics = kinematics_of.build(m)
    return m._kinematics
