"""Triangles of solids: what scenes are drawn with.

A solid is made about its own axes and turned into its place later. Round solids are profiles turned
about z. Vertices are shared only across edges that should look smooth, so that any renderer which
averages normals over shared vertices shows creases where there are some.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.meshes.triangle_mesh import Color, Faces, Points, TriangleMesh

SEGMENTS = 32


def lathe(profile: Sequence[tuple[float, float]], segments: int = SEGMENTS) -> TriangleMesh:
    """Return the solid of a profile that is turned about z.

    >>> s = lathe([(0, 0), (1, 0), (1, 2), (0, 2)], 4)
    >>> round(volume(s), 6)
    4.0
    """
    r, z = np.array(profile, float).T
    angle = np.arange(segments) * (2 * math.pi / segments)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate(
        [
            np.column_stack([ring * radius, np.full(segments, height)])
            for radius, height in zip(r, z, strict=True)
        ]
    )
    here = np.arange(segments)
    after = (here + 1) % segments
    faces = []
    for k in range(len(r) - 1):
        low, high = k * segments, (k + 1) * segments
        if r[k] > 0:
            faces.append(np.column_stack([low + here, low + after, high + after]))
        if r[k + 1] > 0:
            faces.append(np.column_stack([low + here, high + after, high + here]))
    return creased(points, np.concatenate(faces))


def box(x: float, y: float, z: float, bevel: float = 0.0) -> TriangleMesh:
    """Return a box about the origin, perhaps with beveled edges.

    >>> round(volume(box(1, 2, 3)), 6)
    6.0
    """
    half = np.array([x, y, z]) / 2
    if bevel <= 0:
        corners = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
        return hull_surface(corners * half)
    cut = min(bevel, 0.45 * float(min(x, y, z)))
    corners = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
    points = np.concatenate([corners * (half - cut * (1 - np.eye(3)[k])) for k in range(3)])
    return hull_surface(points)


def hull_surface(points: Points) -> TriangleMesh:
    """Return the convex hull of points."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(points)
    faces = found.simplices.astype(np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return creased(points, faces, 20)


def sphere(radius: float, segments: int = 24) -> TriangleMesh:
    """Return a sphere about the origin.

    >>> abs(volume(sphere(1.0, 96)) - 4.18879) < 0.01
    True
    """
    steps = np.linspace(-math.pi / 2, math.pi / 2, segments // 2 + 1)
    profile = [(radius * math.cos(a), radius * math.sin(a)) for a in steps]
    profile[0], profile[-1] = (0.0, -radius), (0.0, radius)
    return lathe(profile, segments)


def capsule(radius: float, length: float, segments: int = 24) -> TriangleMesh:
    """Return a cylinder along z about the origin with half a sphere at each end."""
    steps = np.linspace(0, math.pi / 2, segments // 4 + 1)
    top = [(radius * math.cos(a), length / 2 + radius * math.sin(a)) for a in steps]
    top[-1] = (0.0, length / 2 + radius)
    return lathe([(r, -z) for r, z in reversed(top)] + top, segments)


def cylinder(radius: float, length: float, segments: int = SEGMENTS) -> TriangleMesh:
    """Return a cylinder along z about the origin, its edges beveled a little."""
    cut, half = 0.06 * min(radius, length), length / 2
    return lathe(
        [
            (0, -half),
            (radius - cut, -half),
            (radius, -half + cut),
            (radius, half - cut),
            (radius - cut, half),
            (0, half),
        ],
        segments,
    )


def tire(radius: float, width: float, inside: float = 0.68, segments: int = 48) -> TriangleMesh:
    """Return a ring with a round tread about the axis z, hollow where the rim sits."""
    half, inner = width / 2, inside * radius
    steps = np.linspace(-math.pi / 2, math.pi / 2, 9)
    shoulder = min(0.5 * width, radius - inner)
    tread = [
        (
            radius - shoulder + shoulder * math.cos(a) ** 0.7 if abs(a) < 1.5 else inner,
            half * math.sin(a),
        )
        for a in steps
    ]
    return lathe([(inner, half), (inner, -half), *tread[1:-1], (inner, half)], segments)


def volume(surface: TriangleMesh) -> float:
    """Return the volume within a closed surface, m^3."""
    a, b, c = (surface.points[surface.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def joined(surfaces: Sequence[TriangleMesh]) -> list[TriangleMesh]:
    """Return the surfaces with those of one color made one, in the order of first colors."""
    by_color: dict[Color | None, list[TriangleMesh]] = {}
    for s in surfaces:
        if len(s.faces):
            by_color.setdefault(s.color, []).append(s)
    made = []
    for color, parts in by_color.items():
        starts = np.cumsum([0, *(len(p.points) for p in parts[:-1])])
        faces = [p.faces + start for p, start in zip(parts, starts, strict=True)]
        points = np.concatenate([p.points for p in parts])
        made.append(TriangleMesh(points, np.concatenate(faces), color))
    return made


def creased(points: Points, faces: Faces, degrees: float = 35.0) -> TriangleMesh:
    """Return triangles whose vertices are shared only where the surface bends little."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    keys = np.round(points / max(size * 1e-7, 1e-300)).astype(np.int64)
    _, first, same = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    places, corners = points[first], same.reshape(-1)[faces]
    a, b, c = (places[corners[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    kept = (areas > 1e-14 * size * size) & _proper(corners)
    corners, normals = corners[kept], normals[kept] / areas[kept, None]
    count = len(corners)
    if not count:
        return TriangleMesh(np.empty((0, 3)), np.empty((0, 3), np.int64))
    # Each edge of each face, with the smaller vertex first; neighbors are equal pairs.
    face = np.repeat(np.arange(count), 3)
    begin, end = np.tile([0, 1, 2], count), np.tile([1, 2, 0], count)
    ids = face * 3
    v, w = corners[face, begin], corners[face, end]
    low, high = np.where(v < w, ids + begin, ids + end), np.where(v < w, ids + end, ids + begin)
    order = np.lexsort((np.maximum(v, w), np.minimum(v, w)))
    i, j = order[:-1], order[1:]
    pair = (np.minimum(v, w)[i] == np.minimum(v, w)[j]) & (
        np.maximum(v, w)[i] == np.maximum(v, w)[j]
    )
    i, j = i[pair], j[pair]
    soft = np.einsum("ij,ij->i", normals[face[i]], normals[face[j]]) > math.cos(
        math.radians(degrees)
    )
    i, j = i[soft], j[soft]
    rows, columns = np.concatenate([low[i], high[i]]), np.concatenate([low[j], high[j]])
    links = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(3 * count, 3 * count))
    total, label = connected_components(links, directed=False)
    made = np.empty((total, 3))
    made[label] = places[corners.reshape(-1)]
    return TriangleMesh(made, label.astype(np.int64).reshape(-1, 3))


def _proper(corners: Faces) -> NDArray[np.bool_]:
    a, b, c = corners.T
    proper: NDArray[np.bool_] = (a != b) & (b != c) & (c != a)
    return proper


def thinned(surface: TriangleMesh, most: int) -> TriangleMesh:
    """Return the surface with about so many triangles at most, by merging points of a grid's cells.

    The grid is refined until the budget is met; what is left keeps the outline, not the details
    (Rossignac and Borrel 1993).
    """
    if len(surface.faces) <= most:
        return surface
    low, high = 2, 256
    best = _clustered(surface, low)
    while low < high - 1:
        middle = (low + high) // 2
        tried = _clustered(surface, middle)
        if len(tried.faces) <= most:
            low, best = middle, tried
        else:
            high = middle
    return best


def _clustered(surface: TriangleMesh, cells: int) -> TriangleMesh:
    points = surface.points
    low = points.min(axis=0)
    step = max(float(np.ptp(points, axis=0).max()) / cells, 1e-300)
    keys = np.floor((points - low) / step).astype(np.int64)
    _, label = np.unique(keys, axis=0, return_inverse=True)
    label = label.reshape(-1)
    counts = np.bincount(label)
    middles = np.column_stack([np.bincount(label, points[:, k]) / counts for k in range(3)])
    faces = label[surface.faces]
    faces = faces[_proper(faces)]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return replace(creased(middles, faces[np.sort(first)], 40), color=surface.color)
