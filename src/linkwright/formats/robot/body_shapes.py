"""Shapes of a mechanism's bodies in numbers, as those of robot files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from linkwright.algebra import Expr
from linkwright.base.errors import InputError
from linkwright.formats.robot import description
from linkwright.formats.robot.description import UNTURNED, Place, Triple
from linkwright.formats.robot.transforms import product, turned
from linkwright.formats.text import tables
from linkwright.mechanism.shapes import KINDS, Mesh, Shape, color_of, hex_of

_MEASURES = ("edges", "radius", "length", "radii", "file", "scale")
_SAID = ("name", "material", "seen", "touched")
_AXES: dict[str, Triple] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def drawn(
    shape: Shape, numbers: Callable[[Sequence[Expr]], Sequence[float]]
) -> description.LinkShape:
    """Return a shape in numbers; it is an `InputError` if a dimension is not above zero.

    >>> from linkwright.algebra import as_expr
    >>> from linkwright.mechanism.shapes import Sphere
    >>> drawn(Sphere(0.1).with_parameters(as_expr), lambda xs: [float(x) for x in xs]).size
    (0.1,)
    """
    known = iter([float(x) for x in numbers(shape.values())])
    info = shape.with_parameters(lambda _: next(known))
    x, y, z = info.at
    rotation = reduce(product, (turned(_AXES[axis], angle) for axis, angle in info.turn), UNTURNED)
    color = None if info.color is None else color_of(info.color)
    place = Place((x, y, z), rotation)
    said: dict[str, Any] = {key: getattr(info, key) for key in _SAID}
    if isinstance(info, Mesh):
        a, b, c = info.scale if isinstance(info.scale, tuple) else (1.0, 1.0, 1.0)
        return description.LinkShape("mesh", (), place, str(info.file), (a, b, c), color, **said)
    return description.LinkShape(info.kind, info.size, place, color=color, **said)


def color_text(color: Sequence[float]) -> str | list[float]:
    """Return a color as a text where that says all of it, otherwise as numbers.

    >>> color_text((1.0, 0.0, 0.0, 1.0)), color_text((0.5, 0.5, 0.5))
    ('#ff0000', [0.5, 0.5, 0.5, 1.0])
    """
    text = hex_of(color)
    return text if color_of(text) == color_of(color) else list(color_of(color))


def shape_of(table: tables.ShapeTable, file: str) -> Shape:
    """Return the shape that a table of a text model describes.

    >>> shape_of(tables.ShapeTable(body="b", kind="sphere", radius="R"), "").size
    ('R',)
    """
    kind = KINDS[table.kind]
    given = {key: getattr(table, key) for key in _MEASURES if getattr(table, key) is not None}
    needed = ("file",) if kind is Mesh else kind.measured
    for key in needed:
        if key not in given:
            raise InputError(f"a {table.kind} needs {key!r}", remedy=f"add {key} = ...")
    if extra := [k for k in given if k not in (*needed, *(("scale",) if "file" in needed else ()))]:
        raise InputError(
            f"a {table.kind} has no {extra[0]!r}", remedy=f"it has {', '.join(needed)}"
        )
    if "file" in given:
        given["source"] = file or "model.toml"
    said = {key: getattr(table, key) for key in _SAID}
    return kind(**given, at=table.at, turn=table.turn, color=table.color, **said)


def shape_table(body: str, shape: Shape, value: Callable[[Expr], Any]) -> dict[str, Any]:
    """Return the table of a text model that describes a shape."""
    info = shape.with_parameters(value)
    data: dict[str, Any] = {"body": body, "kind": shape.kind}
    for key in (*shape.measured, "at"):
        given = getattr(info, key)
        data[key] = list(given) if isinstance(given, tuple) else given
    data["turn"] = [list(pair) for pair in info.turn]
    if isinstance(info, Mesh):
        data |= {"file": info.file, "scale": info.scale}
    if shape.color is not None:
        data["color"] = shape.color if isinstance(shape.color, str) else color_text(shape.color)
    return data | {key: getattr(shape, key) for key in _SAID}
