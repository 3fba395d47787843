"""Points and triangles of mesh files: binary and text STL, OBJ, and MuJoCo's old MSH.

Files are read with a cap on their size, and nothing in them is trusted: counts are compared with
the length of the file before anything is allocated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwright.errors import InputError
from linkwright.files import read_bytes
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
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        words = line.split()
        if words[:1] == ["v"]:
            values = [finite(word) for word in words[1:4]]
            row = tuple(value for value in values if value is not None)
            if len(row) != 3:
                raise InputError("a point has not three numbers", file=path, line=number)
            points.append(row)
        elif words[:1] == ["f"]:
            corners = [_corner(word, len(points), path, number) for word in words[1:]]
            faces.extend(
                (corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)
            )
    return (
        np.array(points, dtype=float).reshape(-1, 3),
        np.array(faces, dtype=np.int64).reshape(-1, 3),
    )


def _corner(word: str, count: int, path: Path, line: int) -> int:
    text = word.split("/", 1)[0]
    if not text.removeprefix("-").isdigit() or not text.isascii() or len(text) > 12:
        raise InputError(f"{word[:20]!r} is not a corner of a face", file=path, line=line)
    index = int(text)
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
