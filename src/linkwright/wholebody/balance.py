"""Where a robot would tip: capture point, center of pressure, polygon of support.

For a mass at the height h that a leg without mass carries, x'' = (g / h) (x - p) with p the center
of pressure; x + x' sqrt(h / g) is where p has to be for the mass to come to rest above it (Pratt,
Carff, Drakunov and Goswami 2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import evaluate_all, free_symbols
from linkwright.base.checks import checked
from linkwright.base.errors import InputError

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]


def gravity_of(robot: Robot) -> float:
    """Return the field of gravity of a robot as it is now, m/s²."""
    m = robot.mechanism
    parts = list(m.gravity_vector.components(m.ground.frame))
    known = {x: robot.parameters[x.name] for x in free_symbols(*parts)}
    return math.hypot(*evaluate_all(parts, known))


def falling(robot: Robot, given: float | None) -> float:
    """Return the gravity that a pendulum goes by: what is given, or the robot's own."""
    if given is not None:
        return checked(given, "gravity", above=0)
    own = gravity_of(robot)
    if not own > 0:
        raise InputError("the robot has no gravity, so nothing tips", remedy="give gravity=9.81")
    return own


def capture_point(
    robot: Robot, q: ArrayLike, u: ArrayLike, *, ground: float = 0.0, gravity: float | None = None
) -> Array:
    """Return the point of a level ground on which a robot would come to rest, x and y in m.

    Args:
        robot: a robot; z points up.
        q: its coordinates.
        u: its speeds.
        ground: height of the ground, m.
        gravity: m/s²; that of the robot by default.

    >>> from linkwright import load
    >>> dog = load("tests/robots/quadruped.urdf")
    >>> q, u = dog.neutral, 0 * dog.neutral[1:]
    >>> q[2], u[0] = 0.3, 0.2
    >>> round(float(capture_point(dog, q, u)[0] - dog.center_of_mass(q)[0]), 4)
    0.0524
    """
    fall = falling(robot, gravity)
    center = robot.center_of_mass(q)
    height = float(center[2]) - ground
    if not height > 0:
        raise InputError(f"the center of mass is {-height:g} m below the ground")
    rate = robot.center_of_mass_jacobian(q) @ np.asarray(u, dtype=float)
    return np.asarray(center[:2] + rate[:2] * math.sqrt(height / fall))


def center_of_pressure(points: ArrayLike, forces: ArrayLike) -> Array:
    """Return the mean of points on a level ground, weighed by their normal forces, x and y in m.

    Args:
        points: where forces act, one row each, m.
        forces: on the robot, one row each along the world's axes, N.

    >>> center_of_pressure([(0, 0, 0), (1, 0, 0)], [(0, 0, 30), (0, 0, 10)])
    array([0.25, 0.  ])
    """
    at, load = np.asarray(points, dtype=float), np.asarray(forces, dtype=float)
    if at.shape != load.shape or at.ndim != 2 or at.shape[1] != 3:
        raise InputError(f"points are {at.shape} and forces {load.shape}; give rows of x, y, z")
    total = float(load[:, 2].sum())
    if not total > 0:
        raise InputError("no force carries the robot, so there is no center of pressure")
    return np.asarray(load[:, 2] @ at[:, :2] / total)


def support_margin(point: ArrayLike, points: ArrayLike | Mapping[str, ArrayLike]) -> float:
    """Return how far a point is inside the polygon of support, m; negative outside.

    Args:
        point: x and y, m.
        points: contact points, one row each, or rows by contact; their convex hull counts.

    >>> square = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)]
    >>> support_margin((1.0, 0.25), square), support_margin((3.0, 3.0), square).__round__(6)
    (0.25, -1.414214)
    """
    if isinstance(points, Mapping):
        points = np.concatenate([np.atleast_2d(np.asarray(v, float)) for v in points.values()])
    rows, p = np.asarray(points, dtype=float), np.asarray(point, dtype=float)[:2]
    if (
        rows.ndim != 2
        or rows.shape[1] < 2
        or not (np.isfinite(rows).all() and np.isfinite(p).all())
    ):
        raise InputError(
            "points of support are not rows of finite x, y, z", remedy="give 1 or more"
        )
    corners = _hull(rows[:, :2])
    following = np.roll(corners, -1, axis=0)
    edges = following - corners
    lengths = np.einsum("ij,ij->i", edges, edges)
    shares = np.einsum("ij,ij->i", p - corners, edges) / np.where(lengths > 0, lengths, 1.0)
    nearest = corners + np.clip(shares, 0.0, 1.0)[:, None] * edges
    distance = float(np.min(np.linalg.norm(p - nearest, axis=1)))
    if len(corners) < 3:
        return -distance
    arms = p - corners
    inside = bool(np.all(edges[:, 0] * arms[:, 1] - edges[:, 1] * arms[:, 0] >= 0))
    return distance if inside else -distance


def _hull(points: Array) -> Array:
    """Return the corners of the convex hull, counterclockwise (Andrew's monotone chain)."""
    ordered = [points[k] for k in np.lexsort((points[:, 1], points[:, 0]))]

    def chain(rows: list[Array]) -> list[Array]:
        corners: list[Array] = []
        for p in rows:
            while len(corners) > 1:
                a, b = corners[-1] - corners[-2], p - corners[-1]
                if a[0] * b[1] - a[1] * b[0] > 0:
                    break
                corners.pop()
            corners.append(p)
        return corners[:-1]

    found = chain(ordered) + chain(ordered[::-1])
    return np.array(found if found else ordered[:1])
