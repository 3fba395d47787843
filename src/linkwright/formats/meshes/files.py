"""Points and triangles of mesh files: binary and text STL, OBJ, and MuJoCo's old MSH.

Files are read with a cap on their size, and nothing in them is trusted: counts are compared with
the length of the file before anything is allocated.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from linkwright.base.errors import InputError
from linkwright.base.files import integer, read_bytes
from linkwright.formats.meshes.solids import Array, Triangles, hull
from linkwright.formats.robot.xml import finite

MOST_BYTES = 256 * 2**20


def read_mesh(path: Path) -> tuple[Array, Triangles]:
    """Return the points and triangles of a mesh file."""
    data = read_bytes(path, MOST_BYTES)
    kind = path.suffix.lower()
    readers = {".stl": _stl, ".obj": _obj, ".msh": _msh}
    if kind not in readers:
        raise InputError(
            f"a mesh that ends in {kind!r} is not read", file=path, remedy="use .stl, .obj or .msh"
        )
    points, faces = readers[kind](data, path)
    if not np.isfinite(points).all() or (len(points) and np.abs(points).max() > 1e12):
        raise InputError("a point of the mesh is not finite", file=path)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
        raise InputError("a triangle of the mesh has a point that is not there", file=path)
    points = rounded(points)
    return points, faces if len(faces) else hull(points)


def rounded(points: Array) -> Array:
    """Return points in single precision, as MuJoCo keeps those of meshes."""
    return points.astype(np.float32).astype(float)


def _stl(data: bytes, path: Path) -> tuple[Array, Triangles]:
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if count >= 0 and len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, dtype=np.uint8, offset=84).reshape(count, 50)
        corners = rows[:, 12:48].copy().view("<f4").astype(float).reshape(-1, 3)
    elif data.lstrip()[:5] == b"solid":
        corners = _stl_text(data, path)
    else:
        raise InputError("this is not an STL file", file=path)
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _stl_text(data: bytes, path: Path) -> Array:
    rows = [
        line.split()[1:4]
        for line in data.decode("ascii", "replace").split("\n")
        if line.split()[:1] == ["vertex"]
    ]
    numbers = [finite(word) for row in rows for word in row]
    if len(rows) % 3 or len(numbers) != 3 * len(rows) or None in numbers:
        raise InputError("a triangle of this STL file is not complete", file=path)
    return np.array(numbers, dtype=float).reshape(-1, 3)


def _obj(data: bytes, path: Path) -> tuple[Array, Triangles]:
    points: list[tuple[float, ...]] = []
    faces: list[list[int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        words = line.split()
        if words[:1] == ["v"]:
            values = [finite(word) for word in words[1:4]]
            row = tuple(value for value in values if value is not None)
            if len(row) != 3:
                raise InputError("a point needs three numbers", file=path, line=number)
            points.append(row)
        elif words[:1] == ["f"]:
            corners = [_corner(word, len(points), path, number) for word in words[1:]]
            faces.append(corners)
    triangles = [part for face in faces for part in _cut(face, points)]
    return (
        np.array(points, dtype=float).reshape(-1, 3),
        np.array(triangles, dtype=np.int64).reshape(-1, 3),
    )


def _cut(face: list[int], points: list[tuple[float, ...]]) -> list[list[int]]:
    """Return the triangles of a polygon as tinyobjloader, with which MuJoCo reads OBJ, cuts it.

    Four corners are cut along the shorter diagonal; from more of them ears are cut off, in the
    plane across the greatest part of the normal. Whether a corner points outward depends on the
    area of one edge with the origin, not by the whole polygon's, so that some triangles overlap.
    """
    if len(face) < 4 or not all(0 <= k < len(points) for k in face):
        return [face[:3]] if len(face) > 2 else []
    if len(face) == 4:
        a, b, c, d = face
        short = math.dist(points[a], points[c]) < math.dist(points[b], points[d])
        return [[a, b, c], [a, c, d]] if short else [[a, b, d], [b, c, d]]
    at = np.array([points[k] for k in face])
    edges = np.roll(at, -1, axis=0) - at
    normals = np.abs(np.cross(edges, np.roll(edges, -1, axis=0)))
    x, y, z = next((row for row in normals if row.max() > np.finfo(np.float32).eps), (1, 0, 0))
    axes = (1, 2) if x > y and x > z else (0, 1) if z > x and z > y else (0, 2)
    flat = {k: complex(*(points[k][axis] for axis in axes)) for k in face}
    found, left, first, tries = [], list(face), 0, len(face)
    while len(left) > 3 and tries > 0:
        n, tries = len(left), tries - 1
        a, b, c, *others = (left[(first + k) % n] for k in range(n))
        p, q, r = flat[a], flat[b], flat[c]
        inward = _area(q - p, r - q) * _area(p, q) < 0
        if inward or any(_inside(flat[k], (p, q, r)) for k in others):
            first = (first + 1) % n
            continue
        found.append([a, b, c])
        left.remove(b)
        first, tries = first % len(left), n
    return [*found, left] if len(left) == 3 else found


def _area(a: complex, b: complex) -> float:
    return (a.conjugate() * b).imag


def _inside(point: complex, corners: tuple[complex, complex, complex]) -> bool:
    """Return whether a line to the right of a point meets one side of the triangle."""
    found = False
    for a, b in zip(corners, (corners[2], *corners), strict=False):
        if (a.imag > point.imag) != (b.imag > point.imag):
            part = (point.imag - a.imag) / (b.imag - a.imag)
            found ^= point.real < (b.real - a.real) * part + a.real
    return found


def _corner(word: str, count: int, path: Path, line: int) -> int:
    index = integer(word.split("/", 1)[0])
    if index is None:
        raise InputError(f"{word[:20]!r} is not a corner of a face", file=path, line=line)
    return index - 1 if index > 0 else count + index


def _msh(data: bytes, path: Path) -> tuple[Array, Triangles]:
    head = np.frombuffer(data[:16] if len(data) >= 16 else b"\xff" * 16, dtype="<i4")
    if head.min() < 0:
        raise InputError("this is not an MSH file", file=path)
    points, normals, corners, faces = (int(x) for x in head)
    if len(data) != 16 + 12 * (points + normals + faces) + 8 * corners:
        raise InputError("the length of this MSH file does not fit its counts", file=path)
    found = np.frombuffer(data, dtype="<f4", count=3 * points, offset=16).astype(float)
    start = 16 + 12 * (points + normals) + 8 * corners
    triangles = np.frombuffer(data, dtype="<i4", count=3 * faces, offset=start).astype(np.int64)
    return found.reshape(-1, 3), triangles.reshape(-1, 3)
