"""Dress files: shapes for the bodies of a model, and what stands around it.

A dress is a TOML file beside a model (ROBSIM's detailed geometry of robot and environment, BLDDAT):
sections give a body its shapes in place of those it has, environment objects stand in the base's
frame, and there may be a tool, points with labels, and a ground. This module reads one and checks
all that can be said without a model; `linkwright.studio.dressing` puts it on a scene.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, PlainValidator

from linkwright.errors import InputError
from linkwright.formats.description import UNTURNED, Place, Triple
from linkwright.formats.dh.schema import Number, Three
from linkwright.formats.document import Limits, Source, parse_record
from linkwright.formats.meshes import find_mesh
from linkwright.formats.places import composed, product, turned
from linkwright.formats.positions import Path as KeyPath
from linkwright.formats.schema import Record
from linkwright.formats.values import wrong
from linkwright.formats.xml import read_bytes
from linkwright.studio.outlines import OUTLINES
from linkwright.studio.solids import PALETTE, Solid, colour, place_between
from linkwright.studio.triangles import Colour

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
AXES: dict[str, Triple] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
MOST_SHAPES = 5000
_HEX = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")
_MESHES = (".stl", ".obj", ".msh", ".dae")


# -- values ----------------------------------------------------------------------------------------
def _colour(value: object) -> Colour:
    if isinstance(value, str):
        if value in PALETTE:
            return PALETTE[value]
        if _HEX.fullmatch(value):
            return colour(value[:7], int(value[7:] or "ff", 16) / 255)
    raise wrong(f'a colour is needed here: "#rrggbb", "#rrggbbaa" or one of {", ".join(PALETTE)}')


def _turns(value: object) -> tuple[tuple[Triple, float], ...]:
    """Return axes and angles (rad) from pairs of an axis' name and degrees."""
    words = 'turns are needed here, such as [["x", 90], ["z", 30]], in degrees'
    if not isinstance(value, list):
        raise wrong(words)
    found = []
    for item in value:
        if not isinstance(item, list) or len(item) != 2 or item[0] not in AXES:
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise wrong("a number is needed here")
    return float(value)


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


Tint: TypeAlias = Annotated[Any, PlainValidator(_colour)]
Turns: TypeAlias = Annotated[Any, PlainValidator(_turns)]
Positive: TypeAlias = Annotated[Any, PlainValidator(_positive)]
NotNegative: TypeAlias = Annotated[float, Field(strict=True, ge=0, lt=1e9)]
Edges: TypeAlias = Annotated[Any, PlainValidator(_three_positive)]
Points: TypeAlias = Annotated[Any, PlainValidator(_points)]
Scale: TypeAlias = Annotated[Any, PlainValidator(_scale)]
Whole: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=1000)]
Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
Words: TypeAlias = Annotated[str, Field(strict=True, max_length=1000)]


# -- tables ----------------------------------------------------------------------------------------
class Repeat(Record):
    """Copies at even distances: how many in all, and how far from one to the next."""

    count: Whole
    by: Three


class ShapeTable(Record):
    """A shape: its kind with the numbers of that kind, where it is, and what it looks like.

    Args:
        kind: see `SHAPES`.
        at: where its own origin is, in the section or object.
        turn: rotations about its own moving axes, one after another, before it is moved to `at`.
        start: where a shape with a length begins, in place of `at`, `turn` and the length.
        end: where it ends.
        colour: by name or as #rrggbb.
        wire: draw its lines only; ROBSIM's shapes have them.
        repeat: copies of it.
    """

    kind: Text
    at: Three | None = None
    turn: Turns | None = None
    start: Three | None = None
    end: Three | None = None
    colour: Tint | None = None
    wire: Annotated[bool, Field(strict=True)] = False
    repeat: Repeat | None = None
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
    """The shapes of a body, in its frame, in place of those that it has.

    Args:
        body: the name of a body, link or frame; `ground` is what stands still.
        keep: whether shapes that it has already stay.
        shape: its shapes; none leave it bare.
    """

    body: Text
    keep: Annotated[bool, Field(strict=True)] = False
    shape: list[ShapeTable] = Field(default_factory=list, max_length=MOST_SHAPES)


class ObjectTable(Record):
    """Something around the model, fixed to the base unless it says where else.

    Args:
        name: for people.
        within: the body in whose frame it stands.
        at: where, m or the file's unit.
        turn: how it is turned.
        repeat: copies of it.
        shape: its shapes, in its own frame.
    """

    name: Text
    within: Text = "ground"
    at: Three = (0.0, 0.0, 0.0)
    turn: Turns = ()
    repeat: Repeat | None = None
    shape: Annotated[list[ShapeTable], Field(min_length=1, max_length=MOST_SHAPES)]


class ToolTable(Record):
    """Three axes at the tool; twice as long as the last link is thick, unless it says otherwise."""

    body: Text
    at: Three = (0.0, 0.0, 0.0)
    turn: Turns = ()
    length: Positive | None = None


class PointTable(Record):
    """A point with a label, in a body."""

    name: Text
    within: Text = "ground"
    at: Three = (0.0, 0.0, 0.0)


class GroundTable(Record):
    """The ground: its height against gravity, its colour, and whether there is one."""

    height: Number | None = None
    colour: Tint | None = None
    shown: Annotated[bool, Field(strict=True)] = True


class ViewTable(Record):
    """Where to look from at first: degrees about the upward direction, and above the ground."""

    azimuth: Annotated[float, Field(ge=-360, le=360)] = -55.0
    height: Annotated[float, Field(ge=-89, le=89)] = 20.0


class DressTable(Record):
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
    point: list[PointTable] = Field(default_factory=list, max_length=1000)


# -- kinds -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Kind:
    """How the numbers of a kind are called in a file.

    Args:
        needs: keys that must be there, in the order of the solid's numbers.
        may: keys that may be, with their defaults, after those.
        along: the axis of a kind with a length, "x" from its start or "z" about its middle.
    """

    needs: tuple[str, ...]
    may: tuple[tuple[str, float], ...] = ()
    along: str = ""


SHAPES: dict[str, Kind] = {
    "box": Kind(("size",)),
    "sphere": Kind(("radius",)),
    "ellipsoid": Kind(("radii",)),
    "cylinder": Kind(("radius", "length"), along="z"),
    "capsule": Kind(("radius", "length"), along="z"),
    "cone": Kind(("radius", "end_radius", "length"), along="z"),
    "hull": Kind(("points",)),
    "mesh": Kind(("file",), (("scale", 1.0),)),
    "x-cylinder": Kind(("diameter", "length"), (("sides", 8),), along="x"),
    "x-cone": Kind(("diameter", "end_diameter", "length"), (("sides", 8),), along="x"),
    "x-box": Kind(("length", "half_width", "half_height"), along="x"),
    "trapezoid": Kind(("length", "half_width", "half_height", "end_half_height"), along="x"),
    "half-trapezoid": Kind(("length", "half_width", "height", "end_height"), along="x"),
    "truss": Kind(("side", "bay", "bays")),
}
"""The kinds of shapes; those with x- in front, the trapezoids and the truss are ROBSIM's."""

_COUNTS = ("sides", "bays")
_EVERYWHERE = ("kind", "at", "turn", "start", "end", "colour", "wire", "repeat")


@dataclass(frozen=True, slots=True, eq=False)
class Dress:
    """A dress that has been read.

    Args:
        table: what it says.
        source: where each part of it stands, for messages.
        roots: folders in which its meshes may lie; without any, the folder of its file.

    >>> dress = parse_dress('''
    ... format = 1
    ... [[section]]
    ... body = "rod"
    ... shape = [{ kind = "x-cylinder", diameter = 0.1, length = 1, turn = [["z", -90]] }]
    ... ''')
    >>> [solid.kind for solid in dress.solids(("section", 0), dress.table.section[0].shape)]
    ['x-cylinder']
    """

    table: DressTable
    source: Source
    roots: tuple[str | Path, ...] = ()

    @property
    def unit(self) -> float:
        """The unit of its lengths, m."""
        return UNITS[self.table.unit]

    def place(self, at: Sequence[float], turn: Sequence[tuple[Triple, float]]) -> Place:
        """Return a place: turned about moving axes, one after another, and then moved.

        Args:
            at: in the unit of the file.
            turn: axes and angles, rad.
        """
        rotation = reduce(product, (turned(axis, angle) for axis, angle in turn), UNTURNED)
        x, y, z = (self.unit * float(v) for v in at)
        return Place((x, y, z), rotation)

    def copies(self, repeat: Repeat | None) -> Iterator[Place]:
        """Yield how far each copy of something is from the first."""
        for k in range(repeat.count if repeat is not None else 1):
            x, y, z = (k * self.unit * v for v in (repeat.by if repeat is not None else (0, 0, 0)))
            yield Place((x, y, z))

    def solids(self, path: KeyPath, shapes: Sequence[ShapeTable]) -> list[Solid]:
        """Return the solids of a section or an object, in its frame.

        Args:
            path: of the section or object in the file.
            shapes: of it.
        """
        made = []
        for k, shape in enumerate(shapes):
            first = _solid(self, (*path, "shape", k), shape)
            made += [
                replace(first, place=composed(copy, first.place))
                for copy in self.copies(shape.repeat)
            ]
        return made


def _solid(dress: Dress, path: KeyPath, shape: ShapeTable) -> Solid:
    kind = SHAPES.get(shape.kind)
    if kind is None:
        raise dress.source.error(
            (*path, "kind"),
            f"there is no kind of shape {shape.kind!r}",
            f"use one of {', '.join(SHAPES)}",
        )
    if shape.wire and shape.kind not in OUTLINES:
        raise dress.source.error(
            (*path, "wire"),
            f"a {shape.kind} has no wire frame",
            f"use one of {', '.join(OUTLINES)}",
        )
    place, length = _ends(dress, path, shape, kind)
    numbers = _numbers(dress, path, shape, kind, length)
    tint = shape.colour
    if shape.kind == "mesh":
        return _mesh(dress, path, shape, place)
    name = f"{shape.kind} wire" if shape.wire else shape.kind
    return Solid(name, tuple(numbers), place, tint)


def _ends(dress: Dress, path: KeyPath, shape: ShapeTable, kind: Kind) -> tuple[Place, float | None]:
    """Return where a shape is; also its length, where that follows from start and end."""
    if shape.start is None and shape.end is None:
        return dress.place(shape.at or (0.0, 0.0, 0.0), shape.turn or ()), None
    for key, other in (("start", shape.start), ("end", shape.end)):
        if other is None:
            raise dress.source.error(path, f"the key {key!r} is missing", f"add {key} = [x, y, z]")
    if not kind.along:
        raise dress.source.error(
            (*path, "start"), f"a {shape.kind} has no ends", "give `at` and `turn`", key=True
        )
    for key, given in (("at", shape.at), ("turn", shape.turn), ("length", shape.length)):
        if given is not None:
            raise dress.source.error(
                (*path, key), f"{key!r} follows from start and end", f"leave {key} out", key=True
            )
    if shape.start == shape.end:
        raise dress.source.error((*path, "end"), "the shape ends where it starts")
    start, end = (dress.unit * np.array(p) for p in (shape.start, shape.end))
    place, length = place_between(start, end)
    if kind.along == "x":  # z of the place leads from start to end
        forward = product(place.rotation, turned(AXES["y"], -math.pi / 2))
        x, y, z = start.tolist()
        place = Place((x, y, z), forward)
    return place, length


def _numbers(
    dress: Dress, path: KeyPath, shape: ShapeTable, kind: Kind, length: float | None
) -> list[float]:
    has = ", ".join((*kind.needs, *(key for key, _ in kind.may)))
    for key in shape.model_fields_set - set(_EVERYWHERE):
        if key not in kind.needs and key not in dict(kind.may):
            raise dress.source.error(
                (*path, key), f"a {shape.kind} has no {key!r}", f"it has {has}", key=True
            )
    numbers: list[float] = []
    for key in kind.needs:
        value = length if key == "length" and length is not None else getattr(shape, key)
        if value is None:
            raise dress.source.error(path, f"a {shape.kind} needs {key!r}", f"add {key} = ...")
        measured = 1.0 if key in _COUNTS or (key == "length" and length) else dress.unit
        if shape.kind != "mesh":
            numbers += [measured * float(v) for v in np.ravel(value)]
    for key, usual in kind.may:
        if shape.kind != "mesh":
            given = getattr(shape, key)
            numbers.append(float(usual if given is None else given))
    return numbers


def _mesh(dress: Dress, path: KeyPath, shape: ShapeTable, place: Place) -> Solid:
    from linkwright.studio.solids import read_surfaces

    assert shape.file is not None
    try:
        file = find_mesh(shape.file, dress.source.file or "dress", dress.roots)
        if file.suffix.lower() not in _MESHES:
            raise InputError(
                f"the mesh {file.name!r} is in a format that is not read",
                remedy=f"use {', '.join(_MESHES)}",
            )
        read_surfaces(file)
    except InputError as error:
        raise dress.source.error((*path, "file"), error.what, error.remedy) from None
    x, y, z = shape.scale or (1.0, 1.0, 1.0)
    return Solid("mesh", (), place, shape.colour, file, (x, y, z))


# -- reading ---------------------------------------------------------------------------------------
def shipped_dresses() -> list[str]:
    """Return the names of the dresses that come with Linkwright.

    >>> "work-cell" in shipped_dresses()
    True
    """
    folder = files(__package__).joinpath("dresses")
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def read_dress(name: str | os.PathLike[str], *, roots: Sequence[str | Path] = ()) -> Dress:
    """Return the dress in a file, or a shipped one.

    Args:
        name: of the file, or one of `shipped_dresses()`.
        roots: folders in which meshes may lie; without any, the folder of the file.

    >>> read_dress("work-cell").table.unit
    'm'
    """
    path = Path(name)
    if not path.exists() and str(name) in shipped_dresses():
        inside = files(__package__).joinpath("dresses", f"{name}.toml")
        return parse_dress(inside.read_text(encoding="utf-8"), file=f"{name}.toml", roots=roots)
    if not path.exists():
        raise InputError(
            "there is no such dress",
            file=path,
            remedy=f"name a file, or one of {', '.join(shipped_dresses())}",
        )
    data = read_bytes(path, 4 * Limits().size)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start} is not UTF-8", file=path, remedy="save the file as UTF-8"
        ) from None
    return parse_dress(text, file=path, roots=roots)


def parse_dress(
    text: str,
    *,
    file: str | os.PathLike[str] | None = None,
    roots: Sequence[str | Path] = (),
) -> Dress:
    """Return the dress of a text.

    Args:
        text: in TOML.
        file: its name, for messages, and where meshes are looked for.
        roots: folders in which meshes may lie.

    >>> parse_dress("format = 1\\n[ground]\\nhigh = 1\\n", file="cell.toml")
    Traceback (most recent call last):
        ...
    linkwright.formats.document.ModelError: cell.toml:3:1: ground.high: unknown key 'high'; did you
    mean 'height'?
    """
    table, source = parse_record(text, DressTable, file=file)
    return Dress(table, source, tuple(roots))


DressLike: TypeAlias = "Dress | str | os.PathLike[str]"


def as_dress(dress: DressLike, roots: Sequence[str | Path] = ()) -> Dress:
    """Return a dress, read where it is the name of one."""
    return dress if isinstance(dress, Dress) else read_dress(dress, roots=roots)
