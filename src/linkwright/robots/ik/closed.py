"""Inverse kinematics in closed form of arms with six revolute joints and a spherical wrist.

The last three axes meet in one point, the wrist center, whose place fixes the first three angles;
they fix what the wrist has to turn. With the joint axes at zero as screws, the steps are Paden and
Kahan's subproblems, so no table of link parameters is needed. The first three angles are found

- where axes 2 and 3 are parallel (PUMA and most industrial arms): the wrist center's height along
  them gives angle 1, its distance from axis 2 angle 3, its direction angle 2;
- where axes 1 and 2 meet: the distance from that point gives angle 3, and then angles 1 and 2.

A wrist whose axes are like z, y, z is solved by quaternions (the force and motion server's digest,
section 3.2), any other by a subproblem. There are up to eight branches: two of the shoulder, two of
the elbow, two of the wrist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error, ShapeError
from linkwright.base.rotations import axis_rotation as rotation, quaternion_of
from linkwright.robots.ik.targets import poses

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_NEAR = 1e-9


class NoClosedForm(Error):
    """An arm whose inverse kinematics has no closed form here."""


@dataclass(frozen=True, slots=True)
class SphericalArm:
    """The screws of an arm with a spherical wrist, at zero angles."""

    axes: Array
    points: Array
    wrist: Array
    zero: Array
    limits: Array


def spherical_arm(robot: Robot, frame: str) -> SphericalArm:
    """Return the screws of a robot with a spherical wrist, or say why it is wrong."""
    n = len(robot.coordinates)
    if n != 6 or len(robot.speeds) != 6:
        raise NoClosedForm(f"a closed form takes 6 revolute joints, and there are {n}")
    q = np.zeros(6)
    twists = robot.jacobian(q, frame, reference="world")
    axes = twists[3:].T
    sizes = np.linalg.norm(axes, axis=1)
    if np.any(np.abs(sizes - 1) > 1e-6):
        raise NoClosedForm("a closed form takes 6 revolute joints that all move the frame")
    points = np.cross(axes, twists[:3].T)
    wrist = _meeting(axes[3:], points[3:])
    if wrist is None:
        raise NoClosedForm("the last three axes do not meet in one point")
    zero = robot.pose(q, frame)
    return SphericalArm(axes, points, wrist, zero, np.array(robot.limits))


def _meeting(axes: Array, points: Array) -> Array | None:
    """Return the point where lines meet, or None."""
    planes = [np.eye(3) - np.outer(a, a) for a in axes]
    matrix = sum(planes, np.zeros((3, 3)))
    if np.linalg.cond(matrix) > 1e9:
        return None
    feet = [p @ x for p, x in zip(planes, points, strict=True)]
    place: Array = np.linalg.solve(matrix, np.sum(feet, axis=0))
    scale = 1 + float(np.abs(points).max())
    off = [float(np.linalg.norm(p @ (place - x))) for p, x in zip(planes, points, strict=True)]
    return place if max(off) < 1e-7 * scale else None


def branches(arm: SphericalArm, target: ArrayLike) -> Array:
    """Return all solutions, 8 x 6 with nan in those that do not exist, angles in (-pi, pi].

    The branches are in the order shoulder, elbow, wrist, the last changing first. In a singular
    pose of the wrist its first angle is zero.
    """
    goal = poses(target)
    if goal.shape != (4, 4):
        raise ShapeError("a pose is a 4 x 4 matrix")
    moved = goal @ _inverse(arm.zero)
    place = moved[:3, :3] @ arm.wrist + moved[:3, 3]
    found = np.full((8, 6), np.nan)
    for k, first in enumerate(_arm_angles(arm, place)):
        if first is None:
            continue
        turn = np.eye(3)
        for axis, angle in zip(arm.axes[:3], first, strict=True):
            turn = turn @ rotation(axis, angle)
        for flip, last in enumerate(_wrist_angles(arm.axes[3:], turn.T @ moved[:3, :3])):
            if last is not None:
                found[2 * k + flip] = [*first, *last]
    return np.asarray(np.where(np.isnan(found), found, wrapped(found)))


def _arm_angles(arm: SphericalArm, place: Array) -> list[tuple[float, float, float] | None]:
    """Return the four solutions of the first three angles, None where there is none."""
    a, r = arm.axes, arm.points
    if np.linalg.norm(np.cross(a[1], a[2])) < _NEAR:
        return _parallel(arm, place)
    between = _meeting(a[:2], r[:2]) if np.linalg.norm(np.cross(a[0], a[1])) > _NEAR else None
    if between is None:
        raise NoClosedForm(
            "axes 2 and 3 are not parallel, and axes 1 and 2 do not meet",
            remedy="use the numeric method",
        )
    found: list[tuple[float, float, float] | None] = []
    far = float(np.linalg.norm(place - between))
    for third in _at_distance(a[2], r[2], arm.wrist, between, far):
        if third is None:
            found += [None, None]
            continue
        elbow = turned(a[2], r[2], third, arm.wrist)
        for pair in _two_turns(a[0], a[1], between, elbow, place):
            found.append(None if pair is None else (pair[0], pair[1], third))
    return [found[0], found[2], found[1], found[3]]


def _parallel(arm: SphericalArm, place: Array) -> list[tuple[float, float, float] | None]:
    a, r = arm.axes, arm.points
    found: list[tuple[float, float, float] | None] = []
    height = float(a[1] @ (arm.wrist - r[0]))
    for first in _at_height(a[0], a[1], place - r[0], height):
        if first is None:
            found += [None, None]
            continue
        here = turned(a[0], r[0], -first, place)
        far = here - r[1] - a[1] * (a[1] @ (here - r[1]))
        axis_place = r[1] + a[1] * (a[1] @ (arm.wrist - r[1]))
        for third in _at_distance(a[2], r[2], arm.wrist, axis_place, float(np.linalg.norm(far))):
            if third is None:
                found.append(None)
                continue
            elbow = turned(a[2], r[2], third, arm.wrist)
            found.append((first, _one_turn(a[1], elbow - r[1], here - r[1]), third))
    return found


# -- subproblems -----------------------------------------------------------------------------------
def _one_turn(axis: Array, start: Array, end: Array) -> float:
    """Return the angle about an axis that takes one vector's direction to another's."""
    u = start - axis * (axis @ start)
    v = end - axis * (axis @ end)
    return math.atan2(float(axis @ np.cross(u, v)), float(u @ v))


def _at_height(axis: Array, along: Array, place: Array, height: float) -> list[float | None]:
    """Return the turns back about an axis after which a place has a height along a direction."""
    flat = place - axis * (axis @ place)
    a = float(along @ flat)
    b = float(along @ np.cross(axis, flat))
    c = height - float(along @ axis) * float(axis @ place)
    size = math.hypot(a, b)
    if size < _NEAR or abs(c) > size * (1 + 1e-12):
        return [None, None]
    middle, half = math.atan2(-b, a), math.acos(max(-1.0, min(1.0, c / size)))
    # turning by -q: a cos q - b sin q = c, which is size cos(q - middle)
    return [middle - half, middle + half]


def _at_distance(
    axis: Array, point: Array, start: Array, center: Array, far: float
) -> list[float | None]:
    """Return the turns about a line that bring a point to a distance from another."""
    u, v = start - point, center - point
    along = float(axis @ (u - v))
    u, v = u - axis * (axis @ u), v - axis * (axis @ v)
    left = far**2 - along**2
    a, b = float(np.linalg.norm(u)), float(np.linalg.norm(v))
    if a < _NEAR or b < _NEAR or left < -1e-12:
        return [None, None]
    cosine = (a * a + b * b - left) / (2 * a * b)
    if abs(cosine) > 1 + 1e-9:
        return [None, None]
    middle = math.atan2(float(axis @ np.cross(u, v)), float(u @ v))
    half = math.acos(max(-1.0, min(1.0, cosine)))
    return [middle - half, middle + half]


def _two_turns(
    first: Array, second: Array, center: Array, start: Array, end: Array
) -> list[tuple[float, float] | None]:
    """Return the turns about two lines through a point that take one place to another."""
    u, v = start - center, end - center
    dot = float(first @ second)
    alpha = (dot * float(second @ u) - float(first @ v)) / (dot * dot - 1)
    beta = (dot * float(first @ v) - float(second @ u)) / (dot * dot - 1)
    normal = np.cross(first, second)
    rest = (float(u @ u) - alpha * alpha - beta * beta - 2 * alpha * beta * dot) / float(
        normal @ normal
    )
    if rest < -1e-9 * (1 + float(u @ u)):
        return [None, None]
    gamma = math.sqrt(max(rest, 0.0))
    found: list[tuple[float, float] | None] = []
    for sign in (1, -1):
        middle = alpha * first + beta * second + sign * gamma * normal
        found.append((_one_turn(first, middle, v), _one_turn(second, u, middle)))
    return found


# -- wrists ----------------------------------------------------------------------------------------
def _wrist_angles(axes: Array, turn: Array) -> Sequence[tuple[float, float, float] | None]:
    """Return the two solutions of three turns about axes that meet, None where there is none."""
    if abs(float(axes[0] @ axes[1])) < _NEAR and abs(abs(float(axes[0] @ axes[2])) - 1) < _NEAR:
        return _zyz(axes, turn)
    found: list[tuple[float, float, float] | None] = []
    for pair in _two_turns(axes[0], axes[1], np.zeros(3), axes[2], turn @ axes[2]):
        if pair is None:
            found.append(None)
            continue
        rest = rotation(axes[1], -pair[1]) @ rotation(axes[0], -pair[0]) @ turn
        side = np.cross(axes[2], _other(axes[2]))
        found.append((*pair, _one_turn(axes[2], side, rest @ side)))
    return found


def _zyz(axes: Array, turn: Array) -> list[tuple[float, float, float]]:
    """Return the angles of a wrist like z, y, z, by its quaternion."""
    z, y = axes[0], axes[1]
    frame = np.column_stack([np.cross(y, z), y, z])
    w, qx, qy, qz = quaternion_of(frame.T @ turn @ frame)
    sense = 1.0 if float(axes[2] @ z) > 0 else -1.0
    tilt = 2 * math.atan2(math.hypot(qx, qy), math.hypot(w, qz))
    if math.hypot(qx, qy) < 1e-12:  # the first and the last turn about the same line
        angle = 2 * math.atan2(qz, w)
        return [(0.0, 0.0, sense * angle)] * 2
    sigma, delta = math.atan2(qz, w), math.atan2(-qx, qy)
    if math.hypot(w, qz) < 1e-12:
        sigma = delta  # a half turn of the middle joint: the first is left at 2 delta
    first, last = sigma + delta, sigma - delta
    return [
        (first, tilt, sense * last),
        (first + math.pi, -tilt, sense * (last - math.pi)),
    ]


# -- small parts -----------------------------------------------------------------------------------
def turned(axis: Array, point: Array, angle: float, place: Array) -> Array:
    """Return a place turned about a line."""
    return np.asarray(point + rotation(axis, angle) @ (place - point))


def wrapped(angles: Array) -> Array:
    """Return angles in (-pi, pi].

    >>> wrapped(np.array([3 * math.pi, -math.pi])).round(6).tolist()
    [3.141593, 3.141593]
    """
    return np.asarray(math.pi - (math.pi - angles) % (2 * math.pi))


def _other(axis: Array) -> Array:
    """Return a coordinate axis that is far from parallel to a vector."""
    return np.asarray(np.eye(3)[int(np.argmin(np.abs(axis)))])


def _inverse(pose: Array) -> Array:
    found = np.eye(4)
    found[:3, :3] = pose[:3, :3].T
    found[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return found
