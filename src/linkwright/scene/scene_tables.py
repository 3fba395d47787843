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
from pydantic import Field, PlainValidator, WithJsonSchema

from linkwright.formats.meshes.triangle_mesh import Color
from linkwright.formats.robot.description import Triple
from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import wrong
from linkwright.scene.solids import PALETTE
from linkwright.shapes import color_of

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


def _points(value: object) -> tuple[Triple, ...]:
    if not isinstance(value, list) or len(value) < 4:
        raise wrong("at least four points are needed here, of three numbers each")
    made = []
    for item in value:
        if not isinstance(item, list) or len(item) != 3:
            raise wrong("each point has three numbers")
        x, y, z = (_finite(v) for v in item)
        made.append((x, y, z))
    flat = np.array(made) - np.array(made[0])
    if np.linalg.matrix_rank(flat, tol=1e-9 * max(1e-300, float(np.abs(flat).max()))) < 3:
        raise wrong("the points lie in a plane, and bound no solid")
    return tuple(made)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong("a number is needed here")
    if not abs(value) <= _LARGEST:
        raise wrong(f"a number up to {_LARGEST:g} is needed here")
    return float(value)


def _three(value: object) -> Triple:
    if not isinstance(value, list) or len(value) != 3:
        raise wrong("three numbers in brackets are needed here")
    x, y, z = (_finite(v) for v in value)
    return x, y, z


def _positive(value: object) -> float:
    number = _finite(value)
    if number <= 0:
        raise wrong("a number above 0 is needed here")
    return number


def _scale(value: object) -> Triple:
    if not isinstance(value, list):
        one = _finite(value)
        value = [one, one, one]
    if len(value) != 3 or not all(_finite(v) for v in value):
        raise wrong("a number, or three, are needed here, none of them 0")
    x, y, z = (float(v) for v in value)
    return x, y, z


def _three_positive(value: object) -> Triple:
    if not isinstance(value, list) or len(value) != 3:
        raise wrong("three numbers above 0 are needed here")
    x, y, z = (_positive(v) for v in value)
    return x, y, z


_NUMBER: dict[str, Any] = {"type": "number"}
_ABOVE_0: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}


def _list(items: dict[str, Any], least: int, most: int | None = None) -> dict[str, Any]:
    """Return the JSON schema of an array."""
    made: dict[str, Any] = {"type": "array", "items": items, "minItems": least}
    return made if most is None else {**made, "maxItems": most}


_THREE = _list(_NUMBER, 3, 3)
_TURN: dict[str, Any] = {"type": "array", "prefixItems": [{"enum": list(AXES)}, _NUMBER]}
_COLOR: dict[str, Any] = {
    "anyOf": [{"enum": list(PALETTE)}, {"type": "string", "pattern": f"^{_HEX.pattern}$"}]
}

Tint: TypeAlias = Annotated[Any, PlainValidator(_color), WithJsonSchema(_COLOR)]
Turns: TypeAlias = Annotated[Any, PlainValidator(_turns), WithJsonSchema(_list(_TURN, 0))]
Number: TypeAlias = Annotated[Any, PlainValidator(_finite), WithJsonSchema(_NUMBER)]
Three: TypeAlias = Annotated[Any, PlainValidator(_three), WithJsonSchema(_THREE)]
Positive: TypeAlias = Annotated[Any, PlainValidator(_positive), WithJsonSchema(_ABOVE_0)]
NotNegative: TypeAlias = Annotated[float, Field(strict=True, ge=0, lt=1e9)]
Edges: TypeAlias = Annotated[
    Any, PlainValidator(_three_positive), WithJsonSchema(_list(_ABOVE_0, 3, 3))
]
Points: TypeAlias = Annotated[Any, PlainValidator(_points), WithJsonSchema(_list(_THREE, 4))]
Scale: TypeAlias = Annotated[
    Any, PlainValidator(_scale), WithJsonSchema({"anyOf": [_NUMBER, _THREE]})
]
Whole: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=1000)]
Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
Words: TypeAlias = Annotated[str, Field(strict=True, max_length=1000)]


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
    """Copies at even distances: how many in all, and how far from one to the next."""

    count: Whole
    by: Three


class SceneShape(Record):
    """A shape: its kind with the numbers of that kind, where it is, and what it looks like."""

    kind: Annotated[Text, WithJsonSchema({"enum": list(SHAPES)})]  # see `SHAPES`
    at: Three | None = None  # where its own origin is, in the section or object
    # rotations about its own moving axes, one after another, before it is moved to `at`
    turn: Turns | None = None
    # where a shape with a length begins, in place of `at`, `turn` and the length
    start: Three | None = None
    end: Three | None = None  # where it ends
    color: Tint | None = None  # by name or as #rrggbb
    # draw its lines only; ROBSIM's shapes have them
    wire: Annotated[bool, Field(strict=True)] = False
    repeat: Repeat | None = None  # copies of it
    size: Edges | None = None
    radii: Edges | None = None
    points: Points | None = None
    radius: Positive | None = None
    end_radius: NotNegative | None = None
    diameter: Positive | None = None
    end_diameter: NotNegative | None = None
    length: Positive | None = None
    half_width: Positive | None = None
    half_height: Positive | None = None
    end_half_height: NotNegative | None = None
    height: Positive | None = None
    end_height: NotNegative | None = None
    side: Positive | None = None
    bay: Positive | None = None
    bays: Whole | None = None
    sides: Annotated[int, Field(strict=True, ge=3, le=128)] | None = None
    file: Text | None = None
    scale: Scale | None = None


class SectionTable(Record):
    """The shapes of a body, in its frame, in place of those that it has."""

    body: Text
    keep: Annotated[bool, Field(strict=True)] = False
    # its shapes; none leave it bare
    shape: list[SceneShape] = Field(default_factory=list, max_length=MOST_SHAPES)


class ObjectTable(Record):
    """Something around the model, fixed to the base unless it says where else."""

    name: Text  # for people
    within: Text = "ground"  # the body in whose frame it stands
    at: Three = (0.0, 0.0, 0.0)  # where, m or the file's unit
    turn: Turns = ()  # how it is turned
    repeat: Repeat | None = None  # copies of it
    # its shapes, in its own frame
    shape: Annotated[list[SceneShape], Field(min_length=1, max_length=MOST_SHAPES)]


class ToolTable(Record):
    """Three axes at the tool; twice as long as the last link is thick, unless it says otherwise."""

    body: Text
    at: Three = (0.0, 0.0, 0.0)
    turn: Turns = ()
    length: Positive | None = None


class ScenePoint(Record):
    """A point with a label, in a body."""

    name: Text
    within: Text = "ground"
    at: Three = (0.0, 0.0, 0.0)


class GroundTable(Record):
    """The ground: its height against gravity, its color, and whether there is one."""

    height: Number | None = None
    color: Tint | None = None
    shown: Annotated[bool, Field(strict=True)] = True


class ViewTable(Record):
    """Where to look from at first: degrees about the upward direction, and above the ground."""

    azimuth: Annotated[float, Field(ge=-360, le=360)] = -55.0
    height: Annotated[float, Field(ge=-89, le=89)] = 20.0


class SceneTable(Record):
    """The whole file."""

    format: Literal[1]
    name: Words = ""
    doc: Words = ""
    unit: Literal["m", "cm", "mm", "in", "ft"] = "m"
    ground: GroundTable | None = None
    view: ViewTable | None = None
    tool: ToolTable | None = None
    section: list[SectionTable] = Field(default_factory=list, max_length=1000)
    environment: list[ObjectTable] = Field(default_factory=list, max_length=1000)
    point: list[ScenePoint] = Field(default_factory=list, max_length=1000)
