"""Geoms of an MJCF file: what they look like, where they are, and how heavy they are.

Sizes in the file are radii and half lengths; a `Shape` has full lengths. ``fromto`` puts a shape
between two points. A mesh is placed by its file's own frame (XML Reference, body/geom).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np

from linkwright.base.errors import InputError
from linkwright.formats.meshes.files import read_mesh, rounded
from linkwright.formats.meshes.lookup import find_mesh
from linkwright.formats.meshes.solids import (
    Array,
    Triangles,
    hull,
    mesh_mass,
    surface_and_moments,
    volume_and_moments,
)
from linkwright.formats.mjcf.settings import CompilerSettings, Defaults
from linkwright.formats.mjcf.sources import Sections
from linkwright.formats.mjcf.words import USED
from linkwright.formats.robot.description import UNTURNED, LinkShape, Mass, Place
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import (
    composed,
    inverted,
    minus,
    moved_mass,
    plus,
    quaternion_rotation,
    scaled,
    upright,
)
from linkwright.formats.robot.xml import XmlElement

_COUNTS = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
_KINDS = (*_COUNTS, "plane", "mesh", "hfield", "sdf")


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom in the frame of its body: its shape where it has one of ours, and its mass."""

    shape: LinkShape | None
    mass: Mass | None
    touched: bool


@dataclass(slots=True)
class GeomReader:
    """The assets of a file that geoms refer to, and how geoms are read."""

    settings: CompilerSettings
    defaults: Defaults
    left: Leftovers
    roots: tuple[str | Path, ...]
    main: str = ""
    meshes: Mapping[str, XmlElement] = field(default_factory=dict)
    colors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    loaded: dict[str, Mass | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        sections: Sections,
        settings: CompilerSettings,
        defaults: Defaults,
        left: Leftovers,
        roots: Sequence[str | Path],
    ) -> GeomReader:
        """Return the assets of a file."""
        meshes: dict[str, XmlElement] = {}
        colors: dict[str, tuple[float, ...]] = {}
        for asset in sections.parts("asset"):
            element = defaults.applied(asset, "")
            name = element.attributes.get("name", "").strip()
            if element.tag == "mesh":
                left.rest(asset, (), USED["mesh"])
                file = element.attributes.get("file", "")
                meshes[name or PurePosixPath(file.replace("\\", "/")).stem] = element
            elif element.tag == "material":
                left.rest(asset, (), USED["material"], why="only colors are read")
                if "rgba" in element.attributes:
                    colors[name] = element.numbers("rgba", 4)
            else:
                left.add(f"<asset><{asset.tag}>", asset.line, "only meshes and colors are read")
        return cls(settings, defaults, left, tuple(roots), sections.root.file, meshes, colors)

    def geom(self, written: XmlElement, around: str, outer: Place, heavy: bool) -> Geom:
        """Return a geom."""
        element = self.defaults.applied(written, around)
        self.left.rest(written, (), USED["geom"], why="about contact or looks")
        kind = element.choice("type", _KINDS, "sphere")
        touched = bool(element.number("contype", 1.0) or element.number("conaffinity", 1.0))
        first, last = self.settings.groups
        heavy = heavy and first <= element.number("group", 0.0) <= last
        fitted = kind in _COUNTS and "mesh" in element.attributes
        if fitted or kind in ("hfield", "sdf"):
            if heavy and element.maybe("mass") != 0:
                what = f"a {kind} fitted to a mesh" if fitted else f"of the type {kind}"
                raise element.error(
                    f"{element.words} is {what}, whose mass is not read",
                    "give the body an <inertial>, or the geom mass=0",
                )
            what = "<geom> fitted to a mesh" if fitted else f"<geom type={kind!r}>"
            self.left.add(what, element.line, "not a shape that is known here")
            return Geom(None, None, touched)
        size, place = self._size(element, kind)
        place = composed(outer, place)
        shape: LinkShape | None
        shape = solid = LinkShape(
            kind,
            _full(kind, size),
            place,
            color=self._color(element),
            touched=touched,
            name=element.attributes.get("name", "").strip(),
            material=element.attributes.get("material", "").strip()
            if "rgba" not in element.attributes
            else "",
        )
        mass = None
        if kind == "mesh":
            shape = self._mesh_shape(element, solid)
            mass = self._mesh_mass(element) if heavy else None
        elif heavy and kind != "plane":
            mass = self._mass(element, kind, size)
        return Geom(shape, None if mass is None else moved_mass(mass, place), touched)

    def _size(self, element: XmlElement, kind: str) -> tuple[tuple[float, ...], Place]:
        """Return radii and half lengths, and the place in the frame around."""
        given = element.numbers("size", None, ())
        if "fromto" in element.attributes and kind in ("capsule", "cylinder", "box", "ellipsoid"):
            place = between(element)
            if not given:
                raise element.error(f"{element.words} has no size", "give its radius")
            ends = element.numbers("fromto", 6)
            half = math.dist(ends[:3], ends[3:]) / 2
            across = (given[0],) if kind in ("capsule", "cylinder") else (given[0], given[0])
            size: tuple[float, ...] = (*across, half)
        else:
            place = self.settings.place(element)
            size = given[: _COUNTS.get(kind, 3)]
            if len(size) < _COUNTS.get(kind, 0):
                raise element.error(
                    f"size of {element.words} has {len(given)} numbers where {_COUNTS[kind]} are"
                    " needed",
                    "give radii and half lengths",
                )
        if kind in _COUNTS and min(size) <= 0:
            raise element.error(f"a size of {element.words} is not positive")
        if any(value > 1e30 for value in size):
            raise element.error(f"a size of {element.words} is out of range")
        return size, place

    def _mass(self, element: XmlElement, kind: str, size: tuple[float, ...]) -> Mass | None:
        if element.choice("shellinertia", ("true", "false"), "false") == "true":
            if kind == "ellipsoid":
                raise element.error(
                    "the mass of the skin of an ellipsoid is not known here",
                    "give the body an <inertial>",
                )
            amount, moments = surface_and_moments(kind, size)
        else:
            amount, moments = volume_and_moments(kind, size)
        density = self._density(element, amount)
        if density == 0:
            return None
        x, y, z = (density * moment for moment in moments)
        return Mass(density * amount, inertia=(x, y, z, 0.0, 0.0, 0.0))

    def _density(self, element: XmlElement, amount: float) -> float:
        mass = element.maybe("mass")
        density = element.number("density", 1000.0) if mass is None else mass / amount
        if density < 0 or not math.isfinite(density * amount):
            raise element.error(f"{element.words} has no possible mass", "give 0 or more")
        return density

    def _color(self, element: XmlElement) -> tuple[float, float, float, float] | None:
        if "rgba" in element.attributes:
            given: Sequence[float] = element.numbers("rgba", 4)
        else:
            given = self.colors.get(element.attributes.get("material", "").strip(), ())
        if len(given) != 4:
            return None
        red, green, blue, alpha = (min(1.0, max(0.0, value)) for value in given)
        return red, green, blue, alpha

    def _mesh(self, element: XmlElement) -> tuple[str, XmlElement]:
        name = element.value("mesh")
        if name not in self.meshes:
            raise element.error(
                f"{element.words} has the mesh {name[:60]!r}, which is not among the assets"
            )
        return name, self.meshes[name]

    def file_of(self, asset: XmlElement) -> str:
        """Return the name of the file of a mesh, with its folder."""
        name = asset.attributes.get("file", "").strip().replace("\\", "/")
        if not name:
            return ""
        if self.settings.strip:
            name = PurePosixPath(name).name
        return name if name.startswith("/") else self.settings.mesh_folder + name

    def _mesh_shape(self, element: XmlElement, shape: LinkShape) -> LinkShape | None:
        name, asset = self._mesh(element)
        x, y, z = scale = asset.triple("scale", (1.0, 1.0, 1.0))
        back = _reference(asset)
        if back.rotation != UNTURNED and not x == y == z:
            self.left.add("<mesh> turned and scaled unevenly", asset.line, "drawn without refquat")
            back = Place(back.position)
        a, b, c = back.position
        place = composed(shape.place, replace(back, position=(x * a, y * b, z * c)))
        if not self.file_of(asset):
            self.left.add("<mesh> without a file", asset.line, f"{name[:60]!r} is not drawn")
            return None
        return replace(shape, size=(), mesh=self.file_of(asset), scale=scale, place=place)

    def _mesh_mass(self, element: XmlElement) -> Mass | None:
        """Return the mass of a mesh in the frame of its geom: moved, turned, then scaled."""
        name, asset = self._mesh(element)
        if name not in self.loaded:
            way = asset.choice("inertia", ("convex", "exact", "legacy", "shell"), "legacy")
            points, faces = self._points(asset)
            back, scale = _reference(asset), asset.triple("scale", (1.0, 1.0, 1.0))
            points = (points @ np.array(back.rotation).T + np.array(back.position)) * scale
            if math.prod(scale) < 0:
                faces = faces[:, ::-1]
            self.loaded[name] = mesh_mass(points, faces, way)
        unit = self.loaded[name]
        if unit is None:
            raise asset.error(f"the mesh {name[:60]!r} has no volume", "give an <inertial> instead")
        density = self._density(element, unit.mass)
        if density == 0:
            return None
        a, b, c, d, e, f = (density * value for value in unit.inertia)
        return Mass(density * unit.mass, unit.center, (a, b, c, d, e, f))

    def _points(self, asset: XmlElement) -> tuple[Array, Triangles]:
        if "vertex" in asset.attributes:
            values = asset.numbers("vertex")
            corners = asset.numbers("face", None, ())
            if len(values) % 3 or len(corners) % 3 or not values:
                raise asset.error("vertex and face need three numbers each")
            points = rounded(np.array(values).reshape(-1, 3))
            faces = np.array(corners, dtype=np.int64).reshape(-1, 3)
            if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
                raise asset.error("a face has a point that is not there")
            return points, faces if len(faces) else hull(points)
        file = self.file_of(asset)
        if not file:
            raise asset.error("a mesh has neither file nor vertex", "a built-in mesh is not read")
        if not asset.file:
            raise asset.error(f"the mesh {file[:60]!r} cannot be found from a text without a file")
        try:
            return read_mesh(find_mesh(file, self.main, self.roots))
        except InputError as error:
            raise asset.error(
                f"the mass of the mesh {file[:60]!r} cannot be had: {error.what}",
                error.remedy or "give the body an <inertial>",
            ) from error


def between(element: XmlElement) -> Place:
    """Return the place in the middle of two points, with z from the second to the first.

    >>> between(XmlElement("geom", {"fromto": "0 0 0 0 0 2"})).position
    (0.0, 0.0, 1.0)
    """
    ends = element.numbers("fromto", 6)
    axis = minus(ends[:3], ends[3:])
    if math.hypot(*axis) < 1e-14:
        raise element.error(f"the ends of fromto of {element.words} are the same point")
    return Place(scaled(plus(ends[:3], ends[3:]), 0.5), upright(axis))


def _reference(asset: XmlElement) -> Place:
    """Return the place of the frame of a mesh's file in the frame of the geom."""
    quaternion = asset.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))
    if math.hypot(*quaternion) < 1e-14:
        raise asset.error("refquat is zero", 'write refquat="1 0 0 0"')
    turn = quaternion_rotation(quaternion)
    return inverted(Place(asset.triple("refpos", (0.0, 0.0, 0.0)), turn))


def _full(kind: str, size: tuple[float, ...]) -> tuple[float, ...]:
    """Return the size as a `Shape` has it: whole lengths."""
    if kind == "box":
        return tuple(2 * value for value in size)
    if kind in ("capsule", "cylinder"):
        return size[0], 2 * size[1]
    if kind in ("sphere", "ellipsoid"):
        return size
    return ()
