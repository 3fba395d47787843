"""Solids of a scene: kinds, sizes, places, colors; and the triangles that they are drawn with.

To add a kind, write a function from its numbers to a `TriangleMesh` and one line in `KINDS`.
ROBSIM's shapes (`linkwright.scene.wireframes`) are among them: they lie along x from 0 to their
length, while cylinder, capsule and cone lie along z about the middle, as in robot files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.formats.meshes.triangle_mesh import Color, TriangleMesh
from linkwright.formats.robot.description import Place, Triple
from linkwright.formats.robot.touch_points import level_axes
from linkwright.mechanism.shapes import COLORS
from linkwright.scene.triangles import (
    box,
    capsule,
    creased,
    cylinder,
    hull_surface,
    joined,
    lathe,
    sphere,
    thinned,
    tire,
)
from linkwright.scene.wireframes import OUTLINES


def color(text: str, opacity: float = 1.0) -> Color:
    """Return a color from its hexadecimal text.

    >>> color("#ff0000")
    (1.0, 0.0, 0.0, 1.0)
    """
    r, g, b = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return r, g, b, opacity


PALETTE = COLORS
"""Colors by names that scene files may use."""

LINKS = tuple(PALETTE[name] for name in ("blue", "sky", "azure", "ice"))
JOINT = PALETTE["graphite"]
ACCENT = PALETTE["clay"]
PALE = PALETTE["paper"]
FIXED = PALETTE["gray"]
RUBBER = PALETTE["rubber"]
METAL = PALETTE["steel"]
GOLD = PALETTE["gold"]
PANEL = PALETTE["navy"]

AT_HOME = Place()


@dataclass(frozen=True, slots=True)
class Solid:
    """A solid at a place in a node's frame."""

    kind: str  # one of `KINDS`, or "mesh"
    size: tuple[float, ...] = ()  # the numbers of the kind, m
    place: Place = AT_HOME  # of the solid in the node's frame
    # red, green, blue and opacity, 0 to 1; None for that of the mesh, or the usual one
    color: Color | None = None
    file: Path | None = None  # of a mesh
    scale: Triple = (1.0, 1.0, 1.0)  # of a mesh, along its axes
    link: str = ""  # of a robot file that it belongs to, where a node holds several
    yields: bool = False  # whether colors that a mesh has itself count before `color`


def _cone(bottom: float, top: float, length: float) -> TriangleMesh:
    half = length / 2
    return lathe([(0, -half), (bottom, -half), (top, half), (0, half)])


def _outlined(kind: str, *numbers: float) -> TriangleMesh:
    """One of ROBSIM's shapes; a truss has bars along its lines, and across its bays."""
    outline = OUTLINES[kind](*numbers)
    if kind != "truss":
        return hull_surface(outline.vertices)
    thick = 0.055 * numbers[0]
    bars = [_strut(a, b, thick) for a, b in outline.sides]
    bars += [_strut(a, b, 0.7 * thick) for a, b in outline.edges[: -len(outline.sides)]]
    for near, far in pairwise(outline.rings):
        across = zip(near, np.roll(far, -1, axis=0), strict=True)
        bars += [_strut(a, b, 0.5 * thick) for a, b in across]
    return joined(bars)[0]


def _wire(kind: str, *numbers: float) -> TriangleMesh:
    """Thin bars along the lines of one of ROBSIM's shapes: its wire frame."""
    outline = OUTLINES[kind](*numbers)
    thin = 0.004 * float(np.linalg.norm(np.ptp(outline.vertices, axis=0)))
    return joined([_strut(a, b, thin, 5) for a, b in outline.edges if (a != b).any()])[0]


def _strut(start: ArrayLike, end: ArrayLike, radius: float, sides: int = 8) -> TriangleMesh:
    place, length = place_between(start, end)
    half = length / 2
    made = lathe([(0, -half), (radius, -half), (radius, half), (0, half)], sides)
    return made.moved(place.rotation, place.position)


def _bars(*numbers: float) -> TriangleMesh:
    """A flat bar through points of the plane x-y: radius and thickness, then x, y of each point."""
    radius, thick, *rest = numbers
    points = np.array(rest).reshape(-1, 2)
    angle = np.arange(32) * (2 * math.pi / 32)
    ring = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    flat = (points[:, None, :] + ring).reshape(-1, 2)
    half = thick / 2
    cut = min(0.2 * thick, 0.2 * radius)
    inner = (points[:, None, :] + ring * (1 - cut / radius)).reshape(-1, 2)
    levels = ((inner, -half), (flat, -half + cut), (flat, half - cut), (inner, half))
    return hull_surface(
        np.concatenate([np.column_stack([xy, np.full(len(xy), z)]) for xy, z in levels])
    )


def _hull(*numbers: float) -> TriangleMesh:
    return hull_surface(np.array(numbers).reshape(-1, 3))


def _rounded_box(x: float, y: float, z: float) -> TriangleMesh:
    return box(x, y, z, 0.06 * min(x, y, z))


def _ellipsoid(x: float, y: float, z: float) -> TriangleMesh:
    return sphere(1.0, 32).moved(np.diag([x, y, z]), (0, 0, 0))


def _plane(*size: float) -> TriangleMesh:
    x, y = (*size, 0.0, 0.0)[:2]
    return box(2 * (x or 5.0), 2 * (y or 5.0), 0.002)


def _rim(radius: float, width: float) -> TriangleMesh:
    """A dished wheel disc about z with a hub."""
    half, edge = width / 2, 0.7 * radius
    return lathe(
        [
            (0, -0.4 * half),
            (0.25 * radius, -0.4 * half),
            (0.28 * radius, -0.12 * half),
            (0.55 * edge, -0.12 * half),
            (edge, -0.7 * half),
            (edge, 0.7 * half),
            (0.55 * edge, 0.12 * half),
            (0.28 * radius, 0.12 * half),
            (0.25 * radius, 0.4 * half),
            (0, 0.4 * half),
        ],
        48,
    )


def _dish(radius: float, depth: float, thick: float) -> TriangleMesh:
    """A paraboloid about z, open toward it, with its lowest point at the origin."""
    out = np.linspace(0, radius, 13)
    front = [(float(r), float(depth * (r / radius) ** 2)) for r in out]
    back = [(r, z - thick) for r, z in front]
    return lathe([*back, *reversed(front)], 64)


def _spokes(radius: float, count: float, thick: float) -> TriangleMesh:
    """Thin spokes about z out to a radius, and a hub."""
    parts = [cylinder(3 * thick, 10 * thick, 16)]
    for k in range(round(count)):
        a = 2 * math.pi * k / round(count)
        side = 4 * thick if k % 2 else -4 * thick
        parts.append(
            _strut((0, 0, side), (radius * math.cos(a), radius * math.sin(a), 0), 0.5 * thick)
        )
    return joined(parts)[0]


KINDS: dict[str, Callable[..., TriangleMesh]] = {
    "box": _rounded_box,
    "sphere": sphere,
    "cylinder": cylinder,
    "capsule": capsule,
    "ellipsoid": _ellipsoid,
    "plane": _plane,
    "cone": _cone,
    "tire": tire,
    "rim": _rim,
    "spokes": _spokes,
    "dish": _dish,
    "bars": _bars,
    "hull": _hull,
    **{kind: partial(_outlined, kind) for kind in OUTLINES},
    **{f"{kind} wire": partial(_wire, kind) for kind in OUTLINES},
}
"""Kinds of solids, with the functions from their numbers to triangles."""


def place_between(start: ArrayLike, end: ArrayLike) -> tuple[Place, float]:
    """Return the place of a solid whose axis z leads from one point to another, and their distance.

    >>> place, length = place_between((0, 0, 0), (0, 0, 2))
    >>> place.position, length
    ((0.0, 0.0, 1.0), 2.0)
    """
    a, b = np.array(start, float), np.array(end, float)
    x, y, z = (a + b) / 2
    return Place((float(x), float(y), float(z)), axes_along(b - a)), float(np.linalg.norm(b - a))


def axes_along(direction: ArrayLike) -> tuple[Triple, Triple, Triple]:
    """Return a rotation that takes z to a direction, by the shortest turn.

    >>> axes_along((0, 0, -2))
    ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
    """
    a, b, c = (
        (float(u) + 0.0, float(v) + 0.0, float(w) + 0.0) for u, v, w in level_axes(direction)
    )
    return a, b, c


def rod(start: ArrayLike, end: ArrayLike, radius: float, tint: Color) -> Solid:
    """Return a capsule whose round ends are centerd at two points."""
    place, length = place_between(start, end)
    return Solid("capsule", (radius, length), place, tint)


def disc(at: ArrayLike, axis: ArrayLike, radius: float, length: float, tint: Color) -> Solid:
    """Return a cylinder about a point."""
    x, y, z = np.asarray(at, float).tolist()
    return Solid("cylinder", (radius, length), Place((x, y, z), axes_along(axis)), tint)


def surfaces_of(solids: Sequence[Solid], usual: Color = PALE) -> list[TriangleMesh]:
    """Return the triangles of solids in their node's frame, one surface for each color."""
    made = []
    for solid in solids:
        for surface in _own_surfaces(solid.kind, solid.size, solid.file):
            matrix = np.array(solid.place.rotation) @ np.diag(solid.scale)
            first, second = solid.color, surface.color
            tint = (second or first if solid.yields else first or second) or usual
            made.append(replace(surface, color=tint).moved(matrix, np.array(solid.place.position)))
    return joined(made)


@lru_cache(maxsize=512)
def _own_surfaces(
    kind: str, size: tuple[float, ...], file: Path | None
) -> tuple[TriangleMesh, ...]:
    if kind == "mesh":
        assert file is not None
        return tuple(read_surfaces(file))
    make = KINDS.get(kind)
    if make is None:
        raise InputError(
            f"there is no kind of solid {kind!r}", remedy=f"use one of {', '.join(KINDS)}"
        )
    return (make(*size),)


def read_surfaces(path: Path) -> list[TriangleMesh]:
    """Return the surfaces of a mesh file."""
    if path.suffix.lower() == ".dae":
        from linkwright.formats.meshes.collada import read_collada

        return [
            replace(creased(s.points, s.faces), color=s.color) for s in joined(read_collada(path))
        ]
    from linkwright.formats.meshes.files import read_mesh

    points, faces = read_mesh(path)
    return [creased(points, faces)]


def within_budget(nodes: Sequence[Sequence[TriangleMesh]], most: int) -> list[list[TriangleMesh]]:
    """Return the surfaces of nodes with about so many triangles in all at most.

    Small surfaces stay as they are; the others share what is left by the root of their size, so
    that a large body does not starve a hand.
    """
    sizes = np.array([len(s.faces) for node in nodes for s in node], float)
    if sizes.sum() <= most:
        return [list(node) for node in nodes]
    low, high = 0.0, float(np.sqrt(sizes.max()))
    for _ in range(60):
        middle = (low + high) / 2
        if np.minimum(sizes, middle * np.sqrt(sizes)).sum() <= most:
            low = middle
        else:
            high = middle
    return [[thinned(s, max(40, int(low * len(s.faces) ** 0.5))) for s in node] for node in nodes]
