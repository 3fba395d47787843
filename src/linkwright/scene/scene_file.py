"""Scene files: shapes for the bodies of a model, and what stands around it.

A scene_file is a TOML file beside a model (ROBSIM's detailed geometry of robot and environment,
BLDDAT): sections give a body its shapes in place of those it has, environment objects stand in the
base's frame, and there may be a tool, points with labels, and a ground. This module reads one and
checks all that can be said without a model; `linkwright.scene.decoration` puts it on a scene.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import numpy as np

from linkwright.algebra.units import parse_unit
from linkwright.base.errors import InputError
from linkwright.base.files import is_there, read_text
from linkwright.formats.meshes.lookup import ENDINGS, find_mesh
from linkwright.formats.robot.description import UNTURNED, Place, Triple
from linkwright.formats.robot.transforms import composed, product, turned
from linkwright.formats.text.document import TextLimits, TextSource, parse_record
from linkwright.formats.text.positions import Path as KeyPath
from linkwright.scene.scene_tables import (
    AXES,
    MOST_SHAPES,
    SHAPES,
    Repeat,
    SceneShape,
    SceneTable,
    ShapeKind,
)
from linkwright.scene.solids import Solid, place_between
from linkwright.scene.wireframes import OUTLINES

_COUNTS = ("sides", "bays")
_EVERYWHERE = ("kind", "at", "turn", "start", "end", "color", "wire", "repeat")


@dataclass(frozen=True, slots=True, eq=False)
class SceneFile:
    """A scene file that has been read.

    >>> scene_file = parse_scene_file('''
    ... format = 1
    ... [[section]]
    ... body = "rod"
    ... shape = [{ kind = "x-cylinder", diameter = 0.1, length = 1, turn = [["z", -90]] }]
    ... ''')
    >>> section = scene_file.table.section[0]
    >>> [solid.kind for solid in scene_file.solids(("section", 0), section.shape)]
    ['x-cylinder']
    """

    table: SceneTable
    source: TextSource
    roots: tuple[str | Path, ...] = ()

    @property
    def unit(self) -> float:
        """The unit of its lengths, m."""
        return parse_unit(self.table.unit).factor

    def place(self, at: Sequence[float], turn: Sequence[tuple[Triple, float]]) -> Place:
        """Return a place: turned about moving axes, one after another, and then moved.

        Units: `turn` in rad.
        """
        rotation = reduce(product, (turned(axis, angle) for axis, angle in turn), UNTURNED)
        x, y, z = (self.unit * float(v) for v in at)
        return Place((x, y, z), rotation)

    def copies(self, repeat: Repeat | None) -> Iterator[Place]:
        """Yield how far each copy of something is from the first."""
        for k in range(repeat.count if repeat is not None else 1):
            x, y, z = (k * self.unit * v for v in (repeat.by if repeat is not None else (0, 0, 0)))
            yield Place((x, y, z))

    def require_few(self, count: int, path: KeyPath) -> None:
        """Reject more shapes than can be drawn."""
        if count > MOST_SHAPES:
            raise self.source.error(
                path, f"more than {MOST_SHAPES} shapes are too many", "leave out copies"
            )

    def solids(self, path: KeyPath, shapes: Sequence[SceneShape]) -> list[Solid]:
        """Return the solids of a section or an object, in its frame."""
        made: list[Solid] = []
        for k, shape in enumerate(shapes):
            self.require_few(len(made) + (shape.repeat.count if shape.repeat else 1), path)
            first = _solid(self, (*path, "shape", k), shape)
            made += [
                replace(first, place=composed(copy, first.place))
                for copy in self.copies(shape.repeat)
            ]
        return made


def _solid(scene_file: SceneFile, path: KeyPath, shape: SceneShape) -> Solid:
    kind = SHAPES.get(shape.kind)
    if kind is None:
        raise scene_file.source.error(
            (*path, "kind"),
            f"there is no kind of shape {shape.kind!r}",
            f"use one of {', '.join(SHAPES)}",
        )
    if shape.wire and shape.kind not in OUTLINES:
        raise scene_file.source.error(
            (*path, "wire"),
            f"a {shape.kind} has no wire frame",
            f"use one of {', '.join(OUTLINES)}",
        )
    place, length = _ends(scene_file, path, shape, kind)
    numbers = _numbers(scene_file, path, shape, kind, length)
    tint = shape.color
    if shape.kind == "mesh":
        return _mesh(scene_file, path, shape, place)
    name = f"{shape.kind} wire" if shape.wire else shape.kind
    return Solid(name, tuple(numbers), place, tint)


def _ends(
    scene_file: SceneFile, path: KeyPath, shape: SceneShape, kind: ShapeKind
) -> tuple[Place, float | None]:
    """Return where a shape is; also its length, where that follows from start and end."""
    if shape.start is None and shape.end is None:
        return scene_file.place(shape.at or (0.0, 0.0, 0.0), shape.turn or ()), None
    for key, other in (("start", shape.start), ("end", shape.end)):
        if other is None:
            raise scene_file.source.error(
                path, f"the key {key!r} is missing", f"add {key} = [x, y, z]"
            )
    if not kind.along:
        raise scene_file.source.error(
            (*path, "start"), f"a {shape.kind} has no ends", "give `at` and `turn`", key=True
        )
    for key, given in (("at", shape.at), ("turn", shape.turn), ("length", shape.length)):
        if given is not None:
            raise scene_file.source.error(
                (*path, key), f"{key!r} follows from start and end", f"leave {key} out", key=True
            )
    if shape.start == shape.end:
        raise scene_file.source.error((*path, "end"), "the shape ends where it starts")
    start, end = (scene_file.unit * np.array(p) for p in (shape.start, shape.end))
    place, length = place_between(start, end)
    if kind.along == "x":  # z of the place leads from start to end
        forward = product(place.rotation, turned(AXES["y"], -math.pi / 2))
        x, y, z = start.tolist()
        place = Place((x, y, z), forward)
    return place, length


def _numbers(
    scene_file: SceneFile, path: KeyPath, shape: SceneShape, kind: ShapeKind, length: float | None
) -> list[float]:
    has = ", ".join((*kind.needs, *(key for key, _ in kind.may)))
    for key in shape.model_fields_set - set(_EVERYWHERE):
        if key not in kind.needs and key not in dict(kind.may):
            raise scene_file.source.error(
                (*path, key), f"a {shape.kind} has no {key!r}", f"it has {has}", key=True
            )
    numbers: list[float] = []
    for key in kind.needs:
        value = length if key == "length" and length is not None else getattr(shape, key)
        if value is None:
            raise scene_file.source.error(path, f"a {shape.kind} needs {key!r}", f"add {key} = ...")
        measured = 1.0 if key in _COUNTS or (key == "length" and length) else scene_file.unit
        if shape.kind != "mesh":
            numbers += [measured * float(v) for v in np.ravel(value)]
    for key, usual in kind.may:
        if shape.kind != "mesh":
            given = getattr(shape, key)
            numbers.append(float(usual if given is None else given))
    return numbers


def _mesh(scene_file: SceneFile, path: KeyPath, shape: SceneShape, place: Place) -> Solid:
    from linkwright.scene.solids import read_surfaces

    assert shape.file is not None
    try:
        file = find_mesh(shape.file, scene_file.source.file or "scene_file", scene_file.roots)
        if file.suffix.lower() not in ENDINGS:
            raise InputError(
                f"the mesh {file.name!r} is in a format that is not read",
                remedy=f"use {', '.join(ENDINGS)}",
            )
        read_surfaces(file)
    except InputError as error:
        raise scene_file.source.error((*path, "file"), error.what, error.remedy) from None
    x, y, z = shape.scale or (1.0, 1.0, 1.0)
    return Solid("mesh", (), place, shape.color, file, (x, y, z))


# -- reading ---------------------------------------------------------------------------------------
def shipped_scene_files() -> list[str]:
    """Return the names of the scene files that come with Linkwright.

    >>> "work-cell" in shipped_scene_files()
    True
    """
    folder = files(__package__).joinpath("scenes")
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def read_scene_file(name: str | os.PathLike[str], *, roots: Sequence[str | Path] = ()) -> SceneFile:
    """Return the scene_file in a file, or a shipped one.

    >>> read_scene_file("work-cell").table.unit
    'm'
    """
    path = Path(name)
    if not is_there(path) and str(name) in shipped_scene_files():
        inside = files(__package__).joinpath("scenes", f"{name}.toml")
        text = inside.read_text(encoding="utf-8")
        return parse_scene_file(text, file=f"{name}.toml", roots=roots)
    if not is_there(path):
        raise InputError(
            "there is no such scene file",
            file=path,
            remedy=f"name a file, or one of {', '.join(shipped_scene_files())}",
        )
    return parse_scene_file(read_text(path, 4 * TextLimits().size), file=path, roots=roots)


def parse_scene_file(
    text: str,
    *,
    file: str | os.PathLike[str] | None = None,
    roots: Sequence[str | Path] = (),
) -> SceneFile:
    """Return the scene file of a text.

    >>> parse_scene_file("format = 1\\n[ground]\\nhigh = 1\\n", file="cell.toml")
    Traceback (most recent call last):
        ...
    linkwright.formats.text.document.ModelError: cell.toml:3:1: ground.high: unknown key 'high'; did
    you     mean 'height'?
    """
    table, source = parse_record(text, SceneTable, file=file)
    return SceneFile(table, source, tuple(roots))


SceneFileLike: TypeAlias = "SceneFile | str | os.PathLike[str]"


def as_scene_file(scene_file: SceneFileLike, roots: Sequence[str | Path] = ()) -> SceneFile:
    """Return a scene_file, read where it is the name of one."""
    if isinstance(scene_file, SceneFile):
        return scene_file
    return read_scene_file(scene_file, roots=roots)
