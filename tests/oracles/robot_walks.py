"""Where the links of a described robot are, by walking along its joints: an oracle for tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from linkwright.formats.robot.description import Description, LinkJoint, Place


def moved(joint: LinkJoint, q: Sequence[float]) -> np.ndarray:
    """Return the 4 by 4 matrix of the child's frame in the joint's frame."""
    found = np.eye(4)
    axis = np.array(joint.axis)
    if joint.kind in ("revolute", "screw", "cylindrical", "universal"):
        found[:3, :3] = Rotation.from_rotvec(axis * q[0]).as_matrix()
    if joint.kind == "universal":
        second = Rotation.from_rotvec(np.array(joint.second_axis) * q[1]).as_matrix()
        found[:3, :3] = found[:3, :3] @ second
    if joint.kind == "prismatic":
        found[:3, 3] = axis * q[0]
    if joint.kind == "screw":
        found[:3, 3] = axis * (q[0] * joint.pitch / math.tau)
    if joint.kind == "cylindrical":
        found[:3, 3] = axis * q[1]
    if joint.kind == "ball":
        found[:3, :3] = Rotation.from_quat(np.asarray(q), scalar_first=True).as_matrix()
    if joint.kind == "free":
        found[:3, 3] = q[:3]
        found[:3, :3] = Rotation.from_quat(np.asarray(q[3:]), scalar_first=True).as_matrix()
    return found


def matrix(place: Place) -> np.ndarray:
    """Return a place as a 4 by 4 matrix."""
    found = np.eye(4)
    found[:3, :3] = place.rotation
    found[:3, 3] = place.position
    return found


def link_places(robot: Description, q: Mapping[str, Sequence[float]]) -> dict[str, Place]:
    """Return the places of all links in the root's frame.

    Args:
        robot: a tree.
        q: coordinates of each joint that moves, by its name; the others stay at zero.
    """
    at = {robot.root: np.eye(4)}
    waiting = list(robot.joints)
    while waiting:
        later = []
        for joint in waiting:
            if joint.parent not in at:
                later.append(joint)
                continue
            own = moved(joint, q.get(joint.name, (0.0, 0.0)))
            at[joint.child] = at[joint.parent] @ matrix(joint.place) @ own
        assert len(later) < len(waiting)
        waiting = later
    return {name: _place(m) for name, m in at.items()}


def _place(m: np.ndarray) -> Place:
    a, b, c = ((float(row[0]), float(row[1]), float(row[2])) for row in m[:3, :3])
    return Place((float(m[0, 3]), float(m[1, 3]), float(m[2, 3])), (a, b, c))
