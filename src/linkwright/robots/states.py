"""Limits of a robot's coordinates, speeds and forces, and configurations within them."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.assembling import Assembled
from linkwright.robots.tree import Tree

Array: TypeAlias = NDArray[np.float64]

_TURNS = ("revolute", "screw", "universal")


def coordinate_limits(assembled: Assembled, tree: Tree) -> Array:
    """Return the lowest and highest value of each coordinate, infinite where there is none.

    Args:
        assembled: the robot's joints.
        tree: its coordinates.
    """
    place = {q: k for k, q in enumerate(tree.coordinates)}
    found = np.full((len(place), 2), (-math.inf, math.inf))
    for joint in assembled.joints:
        if joint.kind not in ("revolute", "prismatic", "screw"):
            continue
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        q, factor, offset = joint.follows or (joint.coordinates[0], 1.0, 0.0)
        if q not in place or factor == 0.0:
            continue
        ends = sorted(((lower - offset) / factor, (upper - offset) / factor))
        row = found[place[q]]
        row[0], row[1] = max(row[0], ends[0]), min(row[1], ends[1])
    return found


def speed_limits(assembled: Assembled, tree: Tree) -> Array:
    """Return the highest magnitude of each speed, infinite where there is none.

    Args:
        assembled: the robot's joints.
        tree: its speeds.
    """
    return _by_speed(assembled, tree, "speed")


def effort_limits(assembled: Assembled, tree: Tree) -> Array:
    """Return the highest magnitude of each force in a joint, infinite where there is none.

    Args:
        assembled: the robot's joints.
        tree: its speeds.
    """
    return _by_speed(assembled, tree, "effort")


def _by_speed(assembled: Assembled, tree: Tree, key: str) -> Array:
    place = {u: k for k, u in enumerate(tree.speeds)}
    found = np.full(len(place), math.inf)
    for joint in assembled.joints:
        limit = getattr(joint.limits, key)
        speeds = [s for body in joint.bodies for s in tree.kinematics.motions[body].speeds]
        for speed in speeds:
            if limit is not None and speed.symbol in place:
                found[place[speed.symbol]] = limit
    return found


def neutral(assembled: Assembled, tree: Tree) -> Array:
    """Return the configuration with all coordinates zero and quaternions that do not turn.

    Args:
        assembled: the robot's joints.
        tree: its coordinates.
    """
    found = np.zeros(len(tree.coordinates))
    for start in _quaternions(assembled, tree):
        found[start] = 1.0
    return found


def random_configurations(
    assembled: Assembled, tree: Tree, count: int, generator: np.random.Generator
) -> Array:
    """Return configurations within the limits, orientations as likely as each other.

    Args:
        assembled: the robot's joints.
        tree: its coordinates.
        count: how many.
        generator: of random numbers.
    """
    limits = coordinate_limits(assembled, tree)
    turning = {x for joint in assembled.joints if joint.kind in _TURNS for x in joint.coordinates}
    reach = [math.pi if q in turning else 1.0 for q in tree.coordinates]
    lower = [-r if low == -math.inf else low for r, low in zip(reach, limits[:, 0], strict=True)]
    upper = [r if high == math.inf else high for r, high in zip(reach, limits[:, 1], strict=True)]
    found = generator.uniform(lower, np.maximum(lower, upper), (count, len(lower)))
    for start in _quaternions(assembled, tree):
        e = generator.normal(size=(count, 4))
        found[:, start : start + 4] = e / np.linalg.norm(e, axis=1, keepdims=True)
    return found


def _quaternions(assembled: Assembled, tree: Tree) -> list[int]:
    place = {q: k for k, q in enumerate(tree.coordinates)}
    return [
        place[body.rotations[0]]
        for body in assembled.mechanism.bodies.values()
        if body.joint.quaternion and body.rotations[0] in place
    ]
