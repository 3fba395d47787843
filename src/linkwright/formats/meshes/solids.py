"""Masses of solids of even density: MuJoCo's primitive shapes and meshes of triangles.

Sizes are those of MJCF: radii and half lengths. The formulas of the primitives are in any table;
a capsule is a cylinder with two half balls. A mesh is a sum of pyramids from a point inside to its
triangles (O'Rourke, Computational Geometry in C, section 1.3.8). MuJoCo's way called "legacy" takes
all pyramids as positive; "exact" takes them with their sign; "convex" uses the hull; "shell" puts
the mass on the surface.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.robot.description import Mass

Array = NDArray[np.float64]
Triangles = NDArray[np.int64]


def volume_and_moments(kind: str, size: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Return the volume of a primitive and its moments of inertia at density one.

    >>> volume_and_moments("box", (0.5, 0.5, 0.5))
    (1.0, (0.16666666666666666, 0.16666666666666666, 0.16666666666666666))
    """
    if kind == "sphere":
        volume = 4 / 3 * math.pi * size[0] ** 3
        return volume, (0.4 * volume * size[0] ** 2,) * 3
    if kind in ("ellipsoid", "box"):
        a, b, c = (x * x for x in size)
        volume = math.prod(size) * (8.0 if kind == "box" else 4 / 3 * math.pi)
        part = volume / (3 if kind == "box" else 5)
        return volume, (part * (b + c), part * (c + a), part * (a + b))
    r, h = size[0], size[1]
    tube = 2 * math.pi * r * r * h
    across, along = tube * (3 * r * r + 4 * h * h) / 12, tube * r * r / 2
    if kind == "cylinder":
        return tube, (across, across, along)
    ball = 4 / 3 * math.pi * r**3
    across += ball * (0.4 * r * r + h * h + 0.75 * r * h)
    along += 0.4 * ball * r * r
    return tube + ball, (across, across, along)


def surface_and_moments(kind: str, size: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """Return the surface of a primitive and its moments of inertia at one kg/m^2.

    >>> round(surface_and_moments("box", (0.5, 0.5, 0.5))[0], 12)
    6.0
    """
    if kind == "sphere":
        area = 4 * math.pi * size[0] ** 2
        return area, (2 / 3 * area * size[0] ** 2,) * 3
    if kind == "box":
        a, b, c = size
        ab, bc, ca = 8 * a * b, 8 * b * c, 8 * c * a  # of two faces together
        squares = (
            bc * a * a + (ab + ca) * a * a / 3,
            ca * b * b + (ab + bc) * b * b / 3,
            ab * c * c + (bc + ca) * c * c / 3,
        )
        x, y, z = squares
        return ab + bc + ca, (y + z, z + x, x + y)
    r, h = size[0], size[1]
    wall = 4 * math.pi * r * h
    across, along = wall * (r * r / 2 + h * h / 3), wall * r * r
    if kind == "cylinder":
        ends = 2 * math.pi * r * r
        return wall + ends, (across + ends * (r * r / 4 + h * h),) * 2 + (along + ends * r * r / 2,)
    ball = 4 * math.pi * r * r
    across += ball * (2 / 3 * r * r + h * h + r * h)
    return wall + ball, (across, across, along + ball * 2 / 3 * r * r)


def mesh_mass(points: Array, faces: Triangles, way: str) -> Mass | None:
    """Return the mass of a mesh at density one, in its own frame; None where it has no volume."""
    if way == "convex":
        faces = hull(points)
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    middle = (a + b + c) / 3
    doubled = np.cross(b - a, c - a)
    areas = np.linalg.norm(doubled, axis=1) / 2
    if len(faces) == 0 or areas.sum() <= 0:
        return None
    inside = areas @ middle / areas.sum()
    if way == "shell":
        return _gathered(areas, inside, a - inside, b - inside, c - inside, 12)
    volumes = np.einsum("ij,ij->i", middle - inside, doubled) / 6
    if way in ("legacy", "convex"):
        volumes = np.abs(volumes)
    if volumes.sum() <= 0:
        return None
    center = volumes @ (0.75 * middle + 0.25 * inside) / volumes.sum()
    a, b, c = a - center, b - center, c - center
    volumes = np.einsum("ij,ij->i", middle - center, doubled) / 6
    if way in ("legacy", "convex"):
        volumes = np.abs(volumes)
    return _gathered(volumes, center, a, b, c, 20)


def _gathered(weights: Array, center: Array, a: Array, b: Array, c: Array, divisor: int) -> Mass:
    """Return the mass of triangles, or of pyramids from the center to them."""
    together = a + b + c
    products = sum(np.einsum("i,ij,ik->jk", weights, x, x) for x in (a, b, c, together))
    second = np.asarray(products) / divisor
    tensor = np.trace(second) * np.eye(3) - second
    return Mass(
        float(weights.sum()),
        (float(center[0]), float(center[1]), float(center[2])),
        (
            float(tensor[0, 0]),
            float(tensor[1, 1]),
            float(tensor[2, 2]),
            float(tensor[0, 1]),
            float(tensor[1, 2]),
            float(tensor[0, 2]),
        ),
    )


def hull(points: Array) -> Triangles:
    """Return the triangles of the convex hull of points, or none where they are in a plane.

    Their corners stand counterclockwise, seen from outside.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return np.zeros((0, 3), dtype=np.int64)
    faces = np.asarray(found.simplices, dtype=np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)
