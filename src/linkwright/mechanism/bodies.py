"""Adding bodies and points to a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwright.algebra import (
    ZERO,
    Expr,
    Frame,
    Vector,
    direction_of,
    free_symbols,
    nominal,
    symbol,
)
from linkwright.base.arguments import worded
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import Joint, MechanismError, axis_list
from linkwright.mechanism.kinematics import advance_per_radian
from linkwright.mechanism.parts import Body, Inertia, Point, Value
from linkwright.mechanism.places import is_own
from linkwright.mechanism.shapes import Mesh, Shape, shapes_in
from linkwright.mechanism.symbols import changed, require_name
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism


@builder
def body(
    m: Mechanism,
    name: str,
    *,
    parent: Body | str | None = None,
    joint: Joint | None = None,
    translate: Value = None,
    rotate: Value = None,
    at: Sequence[Value] = (0, 0, 0),
    mass: Value = None,
    com: Sequence[Value] = (0, 0, 0),
    inertia: Value = None,
    coordinates_in: Body | str | None = None,
    coordinates: Sequence[str] | None = None,
    small: bool | Sequence[bool] = False,
    body_axis: str | int | None = None,
    reference: Value = None,
    doc: str = "",
    shape: Shape | Sequence[Shape] | None = None,
) -> Body:
    """Add a body with its joint to the parent.

    All bodies come before the first velocity is used: the speeds are chosen for the whole tree,
    and those of a free body belong to the mass center of all that hangs on it.

    Args:
        name: letters, digits and underscores; also the name of a single coordinate.
        parent: the body that it hangs on (parent link), or its name; the ground, "n", by
            default.
        joint: a joint such as `Revolute("z")`; or give `translate` and `rotate`.
        translate: directions of translation, fixed in the parent: "xy", ["x", (1, 0, 1)].
        rotate: one axis fixed in the parent, or three body axes: "z", "xyz", (0, 1, 1).
        at: the joint's place in the parent, m.
        mass: kg; by default a parameter named after the body.
        com: mass center in the body's frame, m.
        inertia: about the mass center along body axes, kg*m^2: one number for all three axes,
            3 moments, 6 entries (xx, yy, zz, xy, yz, zx), a 3 by 3 matrix, or 0; by default
            parameters named after the body.
        coordinates_in: a body in whose frame `at` and `com` are given, with all coordinates
            zero.
        coordinates: names of the coordinates, in place of those made from the body's name.
        small: whether its coordinates and speeds are small; or one truth for each.
        body_axis: for one rotation, which axis of the body lies along it; by default the frames
            coincide at angle zero.
        reference: the parent's direction from which the angle is measured.
        doc: what it is.
        shape: what it is drawn with in place of generated shapes: one of `linkwright.shapes`,
            or several.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.body("cart", translate="x").coordinates
    (cart,)
    """
    require_name(name, "a body")
    if name in m.bodies or name == "n":
        raise MechanismError(f"{m.name!r} has a body {name!r} already")
    if joint is not None and not isinstance(joint, Joint):
        raise MechanismError(
            f"the joint of {name!r} is {brief(joint)}, which is not a joint",
            remedy='give a joint such as Revolute("z"), or translate= and rotate=',
        )
    parent = m.body_of(parent, f"the parent of {name!r}")
    if coordinates_in is not None:
        coordinates_in = m.body_of(coordinates_in, f"coordinates_in of {name!r}")
    _refuse_foreign(m, name, parent, coordinates_in)
    if m._kinematics is not None:
        raise MechanismError(
            f"body {name!r} comes after velocities have been used",
            remedy="add all bodies before forces, constraints and outputs that use velocities",
        )
    block = {
        "translate": translate,
        "rotate": rotate,
        "body_axis": body_axis,
        "reference": reference,
    }
    if joint is None:
        joint = Joint(
            axis_list(translate), axis_list(rotate), body_axis=body_axis, reference=reference
        )
    elif twice := [key for key, value in block.items() if value is not None]:
        raise MechanismError(
            f"body {name!r} has a joint, and {' and '.join(twice)} besides",
            remedy="give either a joint, or its translations and rotations",
        )
    if joint.second is not None:
        made = _two_blocks(
            m, name, parent, joint, at, mass, com, inertia, coordinates_in, coordinates, small, doc
        )
        m.shape(made, *shapes_in(shape))
        return made
    seen = tuple(_shape(m, name, one) for one in shapes_in(shape))
    names = _coordinate_names(name, joint, coordinates)
    orders = _small_list(small, len(names))
    symbols = [
        _coordinate(m, n, joint, k, order)
        for k, (n, order) in enumerate(zip(names, orders, strict=True))
    ]
    shifts, angles = symbols[: len(joint.translate)], symbols[len(joint.translate) :]
    frame = _frame(m, name, parent, joint, angles, coordinates_in)
    lead = _lead(m, joint, angles)
    origin = _point_in(m, parent, at, coordinates_in)
    directions = [_direction(m, parent, axis, coordinates_in) for axis in joint.translate]
    made = Body(
        name,
        m,
        parent,
        joint,
        frame,
        _inertia(m, name, mass, com, inertia),
        tuple(zip(shifts, directions, strict=True)),
        tuple(angles),
        origin,
        lead,
        doc,
    )
    if coordinates_in is not None:
        made = _with_center(m, made, com, coordinates_in)
    m.bodies[name] = made
    if seen:
        m.shapes[name] = seen
    changed(m)
    return made


@builder
def shape(m: Mechanism, body: Body | str | None, *shapes: Shape) -> None:
    """Give a body shapes that it is drawn with, in place of generated ones.

    Args:
        body: the body or its name; the ground for None or "n".
        shapes: of `linkwright.mechanism.shapes`, beside those that it has.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.mechanism.shapes import Sphere
    >>> m = Mechanism("m")
    >>> m.shape(m.body("ball", translate="xyz"), Sphere("R"))
    >>> m.shapes["ball"][0].size
    (R,)
    """
    body = m.body_of(body, "the body of a shape")
    _refuse_foreign(m, body.name, body)
    made = [_shape(m, body.name, shape) for shape in shapes_in(shapes)]
    if made:
        m.shapes[body.name] = (*m.shapes.get(body.name, ()), *made)
        changed(m)


def _shape(m: Mechanism, body: str, shape: Shape) -> Shape:
    """Return a shape whose values are expressions, and whose mesh is at hand."""
    made = shape.with_parameters(lambda x: m.expr(x, "m"), lambda x: m.expr(x, "rad"))
    moving = [x for x in free_symbols(*made.values()) if x.data.role != "parameter"]
    if moving:
        raise MechanismError(
            f"a {shape.kind} of {body!r} depends on {moving[0].name!r}",
            remedy="shapes are rigid: use numbers and parameters",
        )
    if isinstance(made, Mesh) and not made.source:
        file = Path(made.file).absolute()
        if not file.is_file():
            raise MechanismError(f"the mesh of {body!r} is missing: {made.file}")
        return replace(made, file=str(file), source=str(file))
    return made


def _two_blocks(
    m: Mechanism,
    name: str,
    parent: Body,
    joint: Joint,
    at: Sequence[Value],
    mass: Value,
    com: Sequence[Value],
    inertia: Value,
    coordinates_in: Body | None,
    coordinates: Sequence[str] | None,
    small: bool | Sequence[bool],
    doc: str,
) -> Body:
    first = replace(joint, second=None)
    if coordinates is not None and len(coordinates) != 2:
        raise MechanismError(f"body {name!r} has 2 coordinates, not {len(coordinates)}")
    orders = [bool(order) for order in _small_list(small, 2)]
    middle = m.body(
        f"{name}_cross",
        parent=parent,
        joint=first,
        at=at,
        mass=0,
        inertia=0,
        coordinates_in=coordinates_in,
        coordinates=None if coordinates is None else coordinates[:1],
        small=orders[0],
        doc=f"massless cross of the joint of {name}",
    )
    second = joint.second
    assert second is not None
    if coordinates_in is not None:
        (axis,) = second.rotate
        along = _direction(m, middle, axis, coordinates_in)
        second = replace(second, rotate=(along.components(middle.frame),))
    made = m.body(
        name,
        parent=middle,
        joint=second,
        mass=mass,
        com=com,
        inertia=inertia,
        coordinates=None if coordinates is None else coordinates[1:],
        small=orders[1],
        doc=doc,
    )
    if coordinates_in is not None:
        made = m.bodies[name] = _with_center(m, made, com, coordinates_in)
    return made


def _refuse_foreign(m: Mechanism, name: str, *others: Body | None) -> None:
    for other in others:
        if other is not None and not is_own(m, other):
            raise MechanismError(
                f"body {name!r} of {m.name!r} cannot refer to {other.name!r}, "
                "which is a body of another mechanism"
            )


def _with_center(m: Mechanism, body: Body, com: Sequence[Value], other: Body) -> Body:
    place = m.point_of(other, com).position - m.point_of(body, (0, 0, 0)).position
    x, y, z = (nominal(place @ axis) for axis in body.frame.axes)
    m._points_of.pop(body, None)
    return replace(body, inertia=replace(body.inertia, center=(x, y, z)))


def _point_in(m: Mechanism, parent: Body, at: Sequence[Value], other: Body | None) -> Vector:
    if other is None or other is parent:
        return parent.frame.vector(*m.exprs(at, "m"))
    place = m.point_of(other, at).position - m.point_of(parent, (0, 0, 0)).position
    return parent.frame.vector(*(nominal(place @ axis) for axis in parent.frame.axes))


def _direction(m: Mechanism, parent: Body, axis: Value, other: Body | None) -> Vector:
    if other is None or other is parent:
        v = m.vector(axis, parent.frame)
    else:
        given = m.vector(axis, other.frame)
        v = parent.frame.vector(*(nominal(given @ a) for a in parent.frame.axes))
    if not all(x.is_constant for x in v.components(parent.frame)):
        raise MechanismError(f"the axis {axis} does not stand still in {parent.name!r}")
    return direction_of(v)


def _frame(
    m: Mechanism, name: str, parent: Body, joint: Joint, angles: list[Expr], other: Body | None
) -> Frame:
    above = parent.frame
    first, reference = (
        m.exprs(axis) if isinstance(axis, tuple | list) else axis
        for axis in (joint.first_axis, joint.reference)
    )
    if joint.matrix is not None:
        return above.with_matrix(name, [m.exprs(row) for row in joint.matrix])
    if not joint.rotate:
        return above.aligned(name)
    if joint.quaternion:
        return above.oriented(name, angles)
    if len(joint.rotate) == 3:
        return above.euler(
            name,
            "".join(map(str, joint.rotate)),
            angles,
            axis=first,
            reference=reference,
        )
    (axis,) = joint.rotate
    if joint.offset != 0:
        angles = [angles[0] + m.expr(joint.offset, "rad")]
    direction = _direction(m, parent, axis, other).components(above)
    if joint.body_axis is None and reference is None:
        return above.turned(name, direction, angles[0])
    return above.rotated(name, direction, angles[0], reference=reference, body_axis=joint.body_axis)


def _lead(m: Mechanism, joint: Joint, angles: list[Expr]) -> Expr:
    if len(angles) != 1 and joint.advance_per_radian not in (0, ZERO):
        raise MechanismError("a joint that advances has one rotation")
    if isinstance(joint.advance_per_radian, tuple):
        return advance_per_radian(m.expr(joint.advance_per_radian[1], "m")) * angles[0]
    lead = m.expr(joint.advance_per_radian, "m/rad")
    return lead * angles[0] if lead is not ZERO else ZERO


def _coordinate_names(name: str, joint: Joint, given: Sequence[str] | None) -> list[str]:
    count = len(joint.translate) + (4 if joint.quaternion else len(joint.rotate))
    if given is not None:
        if len(given) != count:
            raise MechanismError(f"body {name!r} has {count} coordinates, not {len(given)}")
        return list(given)
    if count == 1:
        return [name]
    letters = [_axis_letter(a, k) for k, a in enumerate(joint.translate)]
    names = [f"{name}.{letter}" for letter in letters]
    if joint.quaternion:
        return names + [f"{name}.e{k}" for k in range(4)]
    turns = [f"r{_axis_letter(a, k)}" for k, a in enumerate(joint.rotate)]
    if len(set(turns)) < len(turns):
        turns = [f"r{k + 1}" for k in range(len(turns))]
    return names + [f"{name}.{turn}" for turn in turns]


@worded
def usual_names(m: Mechanism, name: str, joint: Joint) -> list[str]:
    """Return the names that a body's coordinates have unless others are given.

    >>> from linkwright.mechanism import Mechanism
    >>> Mechanism("m").usual_names("b", Joint(translate=("x", "y")))
    ['b.x', 'b.y']
    """
    return _coordinate_names(name, joint, None)


def _small_list(small: bool | Sequence[bool], count: int) -> list[int]:
    if isinstance(small, bool):
        return [int(small)] * count
    if len(small) != count:
        raise MechanismError(f"{count} truths are needed to say what is small, not {len(small)}")
    return [int(s) for s in small]


def _coordinate(m: Mechanism, name: str, joint: Joint, k: int, small: int) -> Expr:
    taken = (m.coordinates, m.parameters, m.inputs, ("t",))
    if any(name in names for names in taken):
        raise MechanismError(f"the name {name!r} of a coordinate is taken in {m.name!r}")
    unit = "m" if k < len(joint.translate) else "1" if joint.quaternion else "rad"
    q = symbol(name, "coordinate", owner=m.name, small=small)
    m.coordinates[name] = q
    m.units[name] = unit
    return q


def _inertia(m: Mechanism, name: str, mass: Value, com: Sequence[Value], inertia: Value) -> Inertia:
    kg = m.parameter(f"{name}_m", unit="kg") if mass is None else m.expr(mass, "kg")
    entries: Sequence[Value]
    if isinstance(inertia, np.ndarray):
        inertia = inertia.tolist()
    if inertia is None:
        keys = ("xx", "yy", "zz", "xy", "yz", "zx")
        entries = [m.parameter(f"{name}_I{k}", unit="kg*m^2") for k in keys]
    elif isinstance(inertia, int | float | str | Expr):
        entries = [inertia, inertia, inertia, 0, 0, 0]
    elif not isinstance(inertia, list | tuple):
        raise MechanismError(
            f"the inertia of {name!r} is {brief(inertia)}",
            remedy="give one number, 3 moments, 6 entries, or a matrix",
        )
    elif len(inertia) == 3 and isinstance(inertia[0], list | tuple):
        rows = inertia
        _refuse_asymmetric(m, name, rows)
        entries = [rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[1][2], rows[0][2]]
    elif len(inertia) == 3:
        entries = [*inertia, 0, 0, 0]
    elif len(inertia) == 6:
        entries = inertia
    else:
        raise MechanismError(f"the inertia of {name!r} is not 3 moments, 6 entries, a matrix, or 0")
    xx, yy, zz, xy, yz, zx = (m.expr(v, "kg*m^2") for v in entries)
    return Inertia(kg, m.exprs(com, "m"), (xx, yy, zz, xy, yz, zx))


@worded
def moments_about_center(
    m: Mechanism, name: str, mass: Value, com: Sequence[Value], inertia: Value
) -> tuple[Expr, ...]:
    """Return moments of inertia about the mass center from those about the body's origin.

    The parallel-axis theorem (Steiner): the moments of a point mass at the mass center are
    taken off.

    Args:
        name: of the body, for messages.
        mass: kg.
        com: mass center in the body's frame, m.
        inertia: about the origin of the body's frame, kg*m^2, in any form that `body` takes.

    >>> from linkwright.mechanism import Mechanism
    >>> Mechanism("m").moments_about_center("rod", 3, (1, 0, 0), (0, 4, 4))
    (0, 1, 1, 0, 0, 0)
    """
    given = _inertia(m, name, mass, com, inertia)
    (x, y, z), kg = given.center, given.mass
    xx, yy, zz, xy, yz, zx = given.tensor
    return (
        xx - kg * (y**2 + z**2),
        yy - kg * (z**2 + x**2),
        zz - kg * (x**2 + y**2),
        xy + kg * x * y,
        yz + kg * y * z,
        zx + kg * z * x,
    )


def _refuse_asymmetric(m: Mechanism, name: str, rows: Sequence[Sequence[Value]]) -> None:
    given = [[m.expr(x, "kg*m^2") for x in row] for row in rows]
    size = max((abs(float(x.data)) for row in given for x in row if x.op == "num"), default=0.0)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        a, b = given[i][j], given[j][i]
        numbers = a.op == b.op == "num"
        if abs(a.data - b.data) > 1e-9 * size if numbers else a is not b:
            raise MechanismError(f"the inertia of {name!r} is a matrix that is not symmetric")


@builder
def point(
    m: Mechanism,
    name: str,
    body: Body | str | None = None,
    at: Sequence[Value] = (0, 0, 0),
    coordinates_in: Body | str | None = None,
    matrix: Sequence[Sequence[Value]] | None = None,
) -> Point:
    """Add a point that is fixed in a body; with a matrix, a frame.

    Args:
        name: its name.
        body: the body; the ground by default.
        at: its place in the body's frame, m.
        coordinates_in: another body in whose frame `at` is given, with all coordinates zero.
        matrix: of a frame: rows of the rotation that takes components along its axes to
            components along the body's.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.point("tip", at=(1, 0, 0)).position
    n.x
    """
    require_name(name, "a point")
    if name in m.points:
        raise MechanismError(f"{m.name!r} has a point {name!r} already")
    body = m.body_of(body, f"the body of {name!r}")
    if coordinates_in is not None:
        coordinates_in = m.body_of(coordinates_in, f"coordinates_in of {name!r}")
    if coordinates_in is None or coordinates_in is body:
        local = body.frame.vector(*m.exprs(at, "m"))
    else:
        place = m.point_of(coordinates_in, at).position - body.origin.position
        local = body.frame.vector(*(nominal(place @ axis) for axis in body.frame.axes))
    rows = None if matrix is None else tuple(m.exprs(row) for row in matrix)
    made = m.points[name] = Point(name, body, local, rows)
    return made


def _axis_letter(axis: Value, k: int) -> str:
    text = str(axis).lstrip("+-")
    if text in ("x", "y", "z"):
        return text
    if text in ("1", "2", "3"):
        return "xyz"[int(text) - 1]
    return str(k + 1)
