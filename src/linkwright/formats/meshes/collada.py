"""Triangles of COLLADA files (.dae), as far as robots use them.

Geometry of triangles and polygons is placed by the nodes of the scene; a material gives its plain
color. Lights, cameras, animations, skins and textures are left out.

A link of a robot file has its mesh as its numbers are: which axis the file calls upright is not
asked for, by Pinocchio's reader neither, and robots are published with files that name a wrong one.
The unit of length counts; Pinocchio's reader leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.base.errors import InputError
from linkwright.base.files import integer
from linkwright.formats.meshes.triangle_mesh import Color, TriangleMesh
from linkwright.formats.robot.xml import Caps, XmlElement, read_xml

_MOST_NODES = 4_000
_MOST_OFFSET = 64
_MOST_TRIANGLES = 4_000_000
CAPS = Caps(size=64 * 2**20, depth=100, elements=400_000, attributes=64, length=64 * 2**20)


def read_collada(path: Path) -> list[TriangleMesh]:
    """Return the surfaces of a file, in meters."""
    root = read_xml(path, CAPS)
    asset = next(root.all("asset"), None)
    unit = 1.0
    if asset is not None:
        unit = next((_meter(e) for e in asset.all("unit")), unit)
    named = {f"#{e.attributes['id']}": e for e in _walk(root) if "id" in e.attributes}
    scale = np.diag([unit, unit, unit, 1.0])
    found: list[TriangleMesh] = []
    for library in root.all("library_visual_scenes"):
        for scene in library.all("visual_scene"):
            for matrix, instance in _instances(scene, scale, named):
                found.extend(_placed(matrix, instance, named))
                if sum(len(surface.faces) for surface in found) > _MOST_TRIANGLES:
                    raise instance.error(f"the scene has more than {_MOST_TRIANGLES:,} triangles")
    if not found:
        raise InputError("this file holds no triangles", file=path)
    return found


def _walk(root: XmlElement) -> Iterator[XmlElement]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def _instances(
    scene: XmlElement, scale: Any, named: Mapping[str, XmlElement]
) -> Iterator[tuple[Any, XmlElement]]:
    """Yield the matrix and the instance of each geometry in a scene."""
    stack = [(node, scale, 0) for node in reversed(list(scene.all("node")))]
    visited = 0
    while stack:
        node, above, depth = stack.pop()
        visited += 1
        if visited > _MOST_NODES:
            raise node.error(f"the scene has more than {_MOST_NODES:,} nodes")
        matrix = above @ _transform(node)
        for instance in node.all("instance_geometry"):
            yield matrix, instance
        stack.extend((child, matrix, depth + 1) for child in reversed(list(node.all("node"))))
        for instance in node.all("instance_node"):
            other = named.get(instance.attributes.get("url", ""))
            if other is not None and depth < 50:
                stack.append((other, matrix, depth + 1))


def _transform(node: XmlElement) -> Any:
    made = np.eye(4)
    for e in node.children:
        step = np.eye(4)
        if e.tag == "matrix":
            step = _numbers(e, 16).reshape(4, 4)
        elif e.tag == "translate":
            step[:3, 3] = _numbers(e, 3)
        elif e.tag == "scale":
            step[:3, :3] = np.diag(_numbers(e, 3))
        elif e.tag == "rotate":
            from linkwright.formats.robot.transforms import turned

            x, y, z, degrees = _numbers(e, 4)
            step[:3, :3] = turned((x, y, z), float(np.radians(degrees)))
        else:
            continue
        made = made @ step
    return made


def _meter(element: XmlElement) -> float:
    try:
        unit = float(element.attributes.get("meter", 1))
    except ValueError:
        unit = 0.0
    if not 0 < unit < math.inf:
        raise element.error(f"{element.words} has no length in meters above zero")
    return unit


def _numbers(element: XmlElement, count: int | None = None) -> Any:
    """Return the numbers of an element, or so many of them."""
    try:
        found = np.array(element.text.split(), dtype=float)
    except ValueError:
        raise element.error(f"{element.words} holds something that is not a number") from None
    if not np.isfinite(found).all():
        raise element.error(f"{element.words} holds a number that is not finite")
    if count is not None and len(found) < count:
        raise element.error(f"{element.words} has {len(found)} numbers instead of {count}")
    return found[:count]


def _indices(element: XmlElement) -> Any:
    try:
        return np.array(element.text.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        raise element.error(f"{element.words} holds something that is not an index") from None


def _offset(element: XmlElement) -> int:
    found = integer(element.attributes.get("offset", "0"))
    if found is None or not 0 <= found <= _MOST_OFFSET:
        raise element.error(f"{element.words} has no offset from 0 to {_MOST_OFFSET}")
    return found


def _column(element: XmlElement, row: Any, stride: int, column: int) -> Any:
    """Return one of the interleaved columns of indices."""
    if len(row) % stride:
        raise element.error(f"{element.words} has {len(row)} indices, not in groups of {stride}")
    return row.reshape(-1, stride)[:, column]


def _placed(
    matrix: Any, instance: XmlElement, named: Mapping[str, XmlElement]
) -> Iterator[TriangleMesh]:
    geometry = named.get(instance.attributes.get("url", ""))
    mesh = None if geometry is None else next(geometry.all("mesh"), None)
    if mesh is None:
        return
    bound = {
        e.attributes.get("symbol", ""): e.attributes.get("target", "")
        for e in _walk(instance)
        if e.tag == "instance_material"
    }
    for group in mesh.all("triangles", "polylist", "polygons"):
        points, faces = _triangles(group, named)
        target = bound.get(group.attributes.get("material", ""), "")
        flat = TriangleMesh(points, faces).moved(matrix[:3, :3], matrix[:3, 3])
        yield replace(flat, color=_color(named.get(target), named))


def _triangles(group: XmlElement, named: Mapping[str, XmlElement]) -> tuple[Any, Any]:
    inputs = list(group.all("input"))
    stride = 1 + max(map(_offset, inputs), default=0)
    vertex = next((e for e in inputs if e.attributes.get("semantic") == "VERTEX"), None)
    if vertex is None:
        raise group.error(f"{group.words} has no vertices")
    column = _offset(vertex)
    points = _positions(named, vertex.attributes.get("source", ""), group)
    rows = [_column(e, _indices(e), stride, column) for e in group.all("p")]
    if group.tag == "triangles":
        flat = np.concatenate(rows) if rows else np.empty(0, np.int64)
        if len(flat) % 3:
            raise group.error(f"{group.words} has {len(flat)} corners, not three a triangle")
        faces = flat.reshape(-1, 3)
    else:
        faces = _fans(group, rows)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
        raise group.error("a triangle has a point that is not there")
    return points, faces


def _fans(group: XmlElement, rows: list[Any]) -> Any:
    polygons = rows
    if group.tag == "polylist":
        counts = [n for e in group.all("vcount") for n in _indices(e).tolist()]
        flat = np.concatenate(rows) if rows else np.empty(0, np.int64)
        if any(n < 0 for n in counts) or sum(counts) != len(flat):
            raise group.error(f"{group.words} counts {sum(counts)} corners and has {len(flat)}")
        polygons = [flat[a:b] for a, b in pairwise(np.cumsum([0, *counts]))]
    made = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    return np.array(made, dtype=np.int64).reshape(-1, 3)


def _positions(named: Mapping[str, XmlElement], source: str, group: XmlElement) -> Any:
    at = named.get(source)
    if at is not None and at.tag == "vertices":
        inner = next(
            (e for e in at.all("input") if e.attributes.get("semantic") == "POSITION"), None
        )
        at = None if inner is None else named.get(inner.attributes.get("source", ""))
    array = None if at is None else next(at.all("float_array"), None)
    if array is None:
        raise group.error(f"the points {source!r} are missing")
    found = _numbers(array)
    if len(found) % 3:
        raise array.error(f"{array.words} has {len(found)} numbers, not three a point")
    return found.reshape(-1, 3)


def _color(material: XmlElement | None, named: Mapping[str, XmlElement]) -> Color | None:
    if material is None:
        return None
    effect = next(
        (named.get(e.attributes.get("url", "")) for e in material.all("instance_effect")), None
    )
    for e in _walk(effect) if effect is not None else ():
        if e.tag == "diffuse":
            color = next(e.all("color"), None)
            if color is not None:
                _numbers(color, 3)
                r, g, b, *rest = _numbers(color)
                return float(r), float(g), float(b), 1.0 if not rest else max(float(rest[0]), 0.15)
    return None
