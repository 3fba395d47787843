"""The tables of a scene file, and the values in them.

A table knows its keys, and another one is an error with the nearest spelling. To add a kind of
shape, give its numbers names in `SHAPES`; it is drawn by the function of that name in
`linkwright.scene.solids.KINDS`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    StrictBool,
    WithJsonSchema,
)

from linkwright.formats.meshes.triangle_mesh import Color
from linkwright.formats.robot.description import Triple
from linkwright.formats.schema import Amount, Format, Key
from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import wrong
from linkwright.mechanism.shapes import color_of
from linkwright.scene.solids import PALETTE

AXES: dict[str, Triple] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
MOST_SHAPES = 5000
_LARGEST = 1e9
_HEX = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")


# -- values ----------------------------------------------------------------------------------------
def _color(value: object) -> Color:
    if isinstance(value, str) and (value in PALETTE or _HEX.fullmatch(value)):
        return color_of(value)
    raise wrong(f'a color is needed here: "#rrggbb", "#rrggbbaa" or one of {", ".join(PALETTE)}')


def _turns(value: object) -> tuple[tuple[Triple, float], ...]:
    """Return axes and angles (rad) from pairs of an axis' name and degrees."""
    words = 'turns are needed here, such as [["x", 90], ["z", 30]], in degrees'
    if not isinstance(value, list):
        raise wrong(words)
    found = []
    for item in value:
        if not isinstance(item, list) or len(item) != 2 or item[0] not in list(AXES):
            raise wrong(words)
        degrees = item[1]
        if isinstance(degrees, bool) or not isinstance(degrees, int | float):
            raise wrong(words)
        if not math.isfinite(degrees):
            raise wrong("a finite angle is needed here")
        found.append((AXES[item[0]], math.radians(degrees)))
    return tuple(found)


def _bounding(points: tuple[Triple, ...]) -> tuple[Triple, ...]:
    if len(points) < 4:
        raise wrong("at least four points are needed here, of three numbers each")
    flat = np.array(points) - np.array(points[0])
    if np.linalg.matrix_rank(flat, tol=1e-9 * max(1e-300, float(np.abs(flat).max()))) < 3:
        raise wrong("the points are in a plane, and bound no solid")
    return points


def _three(value: object) -> object:
    """Return three factors where one is given for all."""
    return value if isinstance(value, list) else [value] * 3


def _not_zero(scale: Triple) -> Triple:
    if 0 in scale:
        raise wrong("a number, or three, are needed here, none of them 0")
    return scale


def _number(doc: str) -> Amount:
    """A number, or several, in the unit of the file."""
    return Amount("1", doc, least=-_LARGEST, most=_LARGEST, texts=False)


def _above(doc: str) -> Amount:
    return Amount("1", doc, above=0, most=_LARGEST, texts=False)


def _from_zero(doc: str) -> Amount:
    return Amount("1", doc, least=0, most=_LARGEST, texts=False)


_TURN: dict[str, Any] = {"type": "array", "prefixItems": [{"enum": list(AXES)}, {"type": "number"}]}
_COLOR: dict[str, Any] = {
    "anyOf": [{"enum": list(PALETTE)}, {"type": "string", "pattern": f"^{_HEX.pattern}$"}]
}

Tint: TypeAlias = Annotated[Any, PlainValidator(_color), WithJsonSchema(_COLOR)]
Turns: TypeAlias = Annotated[
    Any, PlainValidator(_turns), WithJsonSchema({"type": "array", "items": _TURN})
]
Whole: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=1000)]
Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
Words: TypeAlias = Annotated[str, Field(strict=True, max_length=1000)]
_ORIGIN = (0.0, 0.0, 0.0)


# -- kinds -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ShapeKind:
    """How the numbers of a kind are called in a file."""

    needs: tuple[str, ...]
    may: tuple[tuple[str, float], ...] = ()
    along: str = ""


SHAPES: dict[str, ShapeKind] = {
    "box": ShapeKind(("size",)),
    "sphere": ShapeKind(("radius",)),
    "ellipsoid": ShapeKind(("radii",)),
    "cylinder": ShapeKind(("radius", "length"), along="z"),
    "capsule": ShapeKind(("radius", "length"), along="z"),
    "cone": ShapeKind(("radius", "end_radius", "length"), along="z"),
    "hull": ShapeKind(("points",)),
    "mesh": ShapeKind(("file",), (("scale", 1.0),)),
    "x-cylinder": ShapeKind(("diameter", "length"), (("sides", 8),), along="x"),
    "x-cone": ShapeKind(("diameter", "end_diameter", "length"), (("sides", 8),), along="x"),
    "x-box": ShapeKind(("length", "half_width", "half_height"), along="x"),
    "trapezoid": ShapeKind(("length", "half_width", "half_height", "end_half_height"), along="x"),
    "half-trapezoid": ShapeKind(("length", "half_width", "height", "end_height"), along="x"),
    "truss": ShapeKind(("side", "bay", "bays")),
}
"""The kinds of shapes; those with x- in front, the trapezoids and the truss are ROBSIM's."""


# -- tables ----------------------------------------------------------------------------------------
class Repeat(Record):
    """Copies at even distances."""

    count: Annotated[Whole, Key("how many in all")]
    by: Annotated[Triple, _number("how far from one to the next")]


class SceneShape(Record):
    """A shape: its kind with the numbers of that kind, where it is, and what it looks like."""

    kind: Annotated[Text, WithJsonSchema({"enum": list(SHAPES)}), Key("see `SHAPES`")]
    at: Annotated[Triple | None, _number("its own origin, in the section or object")] = None
    turn: Annotated[Turns | None, Key("about its own axes, in order, before it is moved")] = None
    start: Annotated[
        Triple | None, _number("where one with a length begins, in place of at and turn")
    ] = None
    end: Annotated[Triple | None, _number("where it ends")] = None
    color: Annotated[Tint | None, Key("by name or as #rrggbb")] = None
    wire: Annotated[StrictBool, Key("draw its lines only; ROBSIM's shapes have them")] = False
    repeat: Annotated[Repeat | None, Key("copies of it")] = None
    size: Annotated[Triple | None, _above("edges of a box")] = None
    radii: Annotated[Triple | None, _above("of an ellipsoid")] = None
    points: Annotated[
        tuple[Triple, ...] | None, _number("corners of a hull"), AfterValidator(_bounding)
    ] = None
    radius: Annotated[float | None, _above("of what is round")] = None
    end_radius: Annotated[float | None, _from_zero("of a cone, at its end")] = None
    diameter: Annotated[float | None, _above("of ROBSIM's cylinder and cone")] = None
    end_diameter: Annotated[float | None, _from_zero("of ROBSIM's cone, at its end")] = None
    length: Annotated[float | None, _above("along its axis")] = None
    half_width: Annotated[float | None, _above("of ROBSIM's boxes")] = None
    half_height: Annotated[float | None, _above("of ROBSIM's boxes")] = None
    end_half_height: Annotated[float | None, _from_zero("of a trapezoid, at its end")] = None
    height: Annotated[float | None, _above("of a half trapezoid")] = None
    end_height: Annotated[float | None, _from_zero("of a half trapezoid, at its end")] = None
    side: Annotated[float | None, _above("of a truss")] = None
    bay: Annotated[float | None, _above("length of a bay of a truss")] = None
    bays: Annotated[Whole | None, Key("of a truss")] = None
    sides: Annotated[
        Annotated[int, Field(strict=True, ge=3, le=128)] | None, Key("of ROBSIM's round shapes")
    ] = None
    file: Annotated[Text | None, Key("of a mesh")] = None
    scale: Annotated[
        Triple | None,
        _number("of a mesh: a factor, or three"),
        BeforeValidator(_three),
        AfterValidator(_not_zero),
    ] = None


class SectionTable(Record, BaseModel):
    """The shapes of a body, in its frame, in place of those that it has."""

    body: Annotated[Text, Key("its name")]
    keep: Annotated[StrictBool, Key("keep those that it has, too")] = False
    shape: Annotated[
        list[SceneShape], Field(max_length=MOST_SHAPES), Key("its shapes; none leave it bare")
    ] = []


class ObjectTable(Record):
    """Something around the model, fixed to the base unless it says where else."""

    name: Annotated[Text, Key("for people")]
    within: Annotated[Text, Key("the body in whose frame it stands")] = "ground"
    at: Annotated[Triple, _number("where")] = _ORIGIN
    turn: Annotated[Turns, Key("how it is turned")] = ()
    repeat: Annotated[Repeat | None, Key("copies of it")] = None
    shape: Annotated[
        list[SceneShape],
        Field(min_length=1, max_length=MOST_SHAPES),
        Key("its shapes, in its own frame"),
    ]


class ToolTable(Record):
    """Three axes at the tool."""

    body: Annotated[Text, Key("that carries it")]
    at: Annotated[Triple, _number("where")] = _ORIGIN
    turn: Annotated[Turns, Key("how it is turned")] = ()
    length: Annotated[
        float | None, _above("of the axes; twice as long as the last link is thick")
    ] = None


class ScenePoint(Record):
    """A point with a label, in a body."""

    name: Annotated[Text, Key("its label")]
    within: Annotated[Text, Key("the body in whose frame it is")] = "ground"
    at: Annotated[Triple, _number("where")] = _ORIGIN


class GroundTable(Record):
    """The ground."""

    height: Annotated[float | None, _number("against gravity")] = None
    color: Annotated[Tint | None, Key("by name or as #rrggbb")] = None
    shown: Annotated[StrictBool, Key("whether there is one")] = True


class ViewTable(Record):
    """Where to look from at first."""

    azimuth: Annotated[
        float, Amount("deg", "about the upward direction", least=-360, most=360)
    ] = -55.0
    height: Annotated[float, Amount("deg", "above the ground", least=-89, most=89)] = 20.0


class SceneTable(Record, BaseModel):
    """The whole file."""

    format: Format
    name: Annotated[Words, Key("of the scene")] = ""
    doc: Annotated[Words, Key("what it is")] = ""
    unit: Annotated[Literal["m", "cm", "mm", "in", "ft"], Key("of its lengths")] = "m"
    ground: Annotated[GroundTable | None, Key("the ground")] = None
    view: Annotated[ViewTable | None, Key("where to look from at first")] = None
    tool: Annotated[ToolTable | None, Key("axes at the tool")] = None
    section: Annotated[list[SectionTable], Field(max_length=1000), Key("shapes of bodies")] = []
    environment: Annotated[
        list[ObjectTable], Field(max_length=1000), Key("what stands around")
    ] = []
    point: Annotated[list[ScenePoint], Field(max_length=1000), Key("points with labels")] = []
