"""Motions along straight legs with smooth turns, after Paul.

On the way to a point B at constant speed, a turn begins at the time t_a before B would be reached,
and ends t_a after, with the speed of the leg to C. In between a polynomial of fourth degree keeps
acceleration zero at both ends. With D_B = A' - B, where A' is the place at which the turn begins,
D_C = C - B, T the time of the leg and h = (t + t_a) / (2 t_a):

    k = D_C t_a / T + D_B
    q = (k (2 - h) h^2 - 2 D_B) h + B + D_B

In space the legs are drives (Paul; the report on the force and motion server, section 3.1): a
transform D(r) that takes a pose A to B for r from 0 to 1, by a translation, a turn of the approach
vector about a fixed axis k, and a turn about the approach vector.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.results import Result
from linkwright.base.rotations import axis_rotation
from linkwright.motion.trajectory import (
    POWERS,
    Array,
    MotionError,
    Trajectory,
    point_to_point,
    vector,
)


def blended(
    points: Sequence[ArrayLike], times: ArrayLike, blend: float | Sequence[float]
) -> Trajectory:
    """Return a motion along straight legs from rest to rest, with turns near the inner points.

    Inner points are passed close by, not through; at each the motion is as far along as if it had
    turned there at its time. The motion begins `blend` before the first time and ends as long after
    the last.

    Args:
        points: the values at the corners.
        times: s, at which the corners would be reached, rising.
        blend: half the time of each turn, s; one for all corners, or one each. The first and the
            last are half the times of speeding up and slowing down.

    >>> q = blended([[0, 1], [1, 1], [1, 3]], [0, 1, 2], 0.2)
    >>> q(1.0), q.speed(1.0)
    (array([0.9625, 1.075 ]), array([0.5, 1. ]))
    """
    p = np.array([vector(point, "a corner") for point in points])
    t = np.asarray(times, dtype=float)
    if len(p) != len(t) or len(p) < 2:
        raise MotionError(f"{len(p)} corners at {len(t)} times")
    half = np.broadcast_to(np.asarray(blend, dtype=float), t.shape)
    legs = np.diff(t)
    if np.any(legs <= 0) or np.any(half <= 0):
        raise MotionError("times of corners rise, and turns take time")
    tight = np.flatnonzero(half[:-1] + half[1:] > legs * (1 + 1e-12))
    if len(tight):
        k = int(tight[0])
        raise MotionError(
            f"the turns at both ends of leg {k + 1} take {half[k] + half[k + 1]:g} s, "
            f"and the leg only {legs[k]:g} s",
            remedy="give the leg more time, or turn in less",
        )
    speeds = np.vstack(
        [np.zeros(p.shape[1]), np.diff(p, axis=0) / legs[:, None], np.zeros(p.shape[1])]
    )
    instants, pieces = [t[0] - half[0]], []
    for k, (corner, at, ta) in enumerate(zip(p, t, half, strict=True)):
        before, after = speeds[k], speeds[k + 1]
        if at - ta > instants[-1] + 1e-12 * max(abs(at), 1.0):
            pieces.append(_cruise(corner - before * (at - instants[-1]), before))
            instants.append(at - ta)
        pieces.append(turn(corner - before * ta, corner, after, ta))
        instants.append(at + ta)
    return Trajectory(instants, pieces)


def turn(place: Array, corner: Array, speed: Array, half: float) -> Array:
    """Return the coefficients of a turn at a corner, by rising powers of the time since its start.

    >>> c = turn(np.array([0.0]), np.array([1.0]), np.array([0.0]), 0.5)
    >>> Trajectory([0, 1], [c])(0.5)
    array([0.8125])
    """
    back = place - corner
    k = speed * half + back
    in_h = [place, -2 * back, 0 * k, 2 * k, -k, 0 * k]
    return np.array([c / (2 * half) ** n for n, c in enumerate(in_h)])


def _cruise(place: Array, speed: Array) -> Array:
    rows = np.zeros((POWERS, len(place)))
    rows[0], rows[1] = place, speed
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class PoseTransform:
    """The transform that takes one pose to another, as it depends on a parameter from 0 to 1.

    Args:
        translation: in the axes of the first pose, m.
        azimuth: of the approach vector's turn: it is about (-sin, cos, 0) of that angle, rad.
        tilt: angle of that turn, rad.
        roll: angle of the turn about the approach vector, rad.

    >>> half = PoseTransform(np.array([2.0, 0, 0]), azimuth=0.0, tilt=0.0, roll=0.0)(0.5)
    >>> half[:3, 3].tolist()
    [1.0, 0.0, 0.0]
    """

    translation: Array
    azimuth: float
    tilt: float
    roll: float

    def __call__(self, r: float) -> Array:
        """Return the transform, a 4 by 4 matrix, at a parameter."""
        s, c = math.sin(self.azimuth), math.cos(self.azimuth)
        found = np.eye(4)
        found[:3, :3] = turned((-s, c, 0.0), r * self.tilt) @ turned((0, 0, 1), r * self.roll)
        found[:3, 3] = r * self.translation
        return found


def pose_transform(first: ArrayLike, second: ArrayLike) -> PoseTransform:
    """Return the drive from one pose to another: first @ drive(1) is the second.

    Args:
        first: 4 by 4 matrix of a pose.
        second: likewise.

    >>> a, b = np.eye(4), np.eye(4)
    >>> b[:3, 3] = (1, 2, 3)
    >>> b[:3, :3] = turned((1, 1, 0), 0.7)
    >>> bool(np.allclose(a @ pose_transform(a, b)(1), b))
    True
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != (4, 4) or b.shape != (4, 4):
        raise MotionError("a pose is a 4 by 4 matrix")
    e = a[:3, :3].T @ b[:3, :3]
    azimuth = math.atan2(e[1, 2], e[0, 2])
    tilt = math.atan2(math.hypot(e[0, 2], e[1, 2]), e[2, 2])
    rest = turned((-math.sin(azimuth), math.cos(azimuth), 0.0), tilt).T @ e
    roll = math.atan2(rest[1, 0], rest[0, 0])
    return PoseTransform(a[:3, :3].T @ (b[:3, 3] - a[:3, 3]), azimuth, tilt, roll)


@dataclass(frozen=True, slots=True, eq=False)
class CartesianMotion(Result):
    """A motion from pose to pose: drives, and how far along each is over time.

    Between poses one drive goes on while, in a turn, the next begins: the pose is the corner's,
    moved by what is left of the first drive and what is done of the second.

    Args:
        poses: 4 by 4 matrices.
        transforms: from each pose to the next.
        done: how far along each drive is over time.

    >>> up = np.eye(4)
    >>> up[2, 3] = 1
    >>> cartesian([np.eye(4), up], [0, 2]).poses[-1][2, 3]
    np.float64(1.0)
    """

    poses: tuple[Array, ...]
    transforms: tuple[PoseTransform, ...]
    done: Trajectory

    def __call__(self, t: float) -> Array:
        """Return the pose, a 4 by 4 matrix, at a time."""
        found = self.poses[0]
        for step, r in zip(self.transforms, self.done(t), strict=True):
            found = found @ step(float(r))
        return found

    @property
    def duration(self) -> float:
        """The time from beginning to end, s."""
        return self.done.duration


def cartesian(
    poses: Sequence[ArrayLike],
    times: ArrayLike,
    blend: float | Sequence[float] | None = None,
    *,
    law: str = "quintic",
) -> CartesianMotion:
    """Return a motion through poses along drives.

    Args:
        poses: 4 by 4 matrices.
        times: s, at which they are reached, or would be where turns cut corners.
        blend: half the time of each turn, s, by which the motion also begins early and ends late;
            by default it stops at every pose.
        law: how each leg is covered where the motion stops, as in `point_to_point`.

    >>> up = np.eye(4)
    >>> up[2, 3] = 1
    >>> cartesian([np.eye(4), up], [0, 2])(1.0)[2, 3]
    np.float64(0.5)
    """
    matrices = tuple(np.asarray(pose, dtype=float) for pose in poses)
    t = np.asarray(times, dtype=float)
    if len(matrices) != len(t) or len(t) < 2 or np.any(np.diff(t) <= 0):
        raise MotionError(f"{len(matrices)} poses at {len(t)} times, which must rise")
    drives = tuple(pose_transform(a, b) for a, b in itertools.pairwise(matrices))
    legs = len(drives)
    corners = np.tri(legs + 1, legs, -1)
    if blend is not None:
        return CartesianMotion(matrices, drives, blended(list(corners), t, blend))
    done = point_to_point(corners[0], corners[1], float(t[1] - t[0]), law=law).delayed(float(t[0]))
    for k in range(1, legs):
        done = done.then(
            point_to_point(corners[k], corners[k + 1], float(t[k + 1] - t[k]), law=law)
        )
    return CartesianMotion(matrices, drives, done)


def turned(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation matrix of a turn about an axis.

    Units: `angle` in rad.

    >>> turned((0, 0, 1), math.pi / 2).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    along = np.asarray(axis, dtype=float)
    return axis_rotation(along / np.linalg.norm(along), angle)
