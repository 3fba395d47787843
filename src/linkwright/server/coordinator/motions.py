"""How things move between observations: what a state is, how it spreads, what is seen of it.

Each kind has a *mean* and the covariance of its *error*. For poses the error of the orientation is
a rotation vector e in the axes of the world, R_true = exp(e) R (Barfoot, State Estimation for
Robotics, 2017, chapter 7), so the covariance has 12 rows for a mean of 13 numbers:

    pose    mean: p, v, quaternion w x y z, ω;   error: p, v, rotation vector, ω
    point   mean and error: p, v
    wrench  mean and error: force, moment

Points and poses keep their speeds but for white acceleration of the given density s², so that over
a time t (Bar-Shalom, Li and Kirubarajan 2001, section 6.2.2)

    Q = s² [[t³/3, t²/2], [t²/2, t]]

A wrench is a random walk. Whatever is given twice in one instant moves nothing: t = 0 has Q = 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.rotations import (
    exponential,
    logarithm,
    quaternion_matrix,
    quaternion_product,
    skew,
)
from linkwright.blocks import checked_all

Array = NDArray[np.float64]


class MotionModel(ABC):
    """How a kind of thing moves, and how it is seen."""

    kind: str
    """Its name in observations."""
    numbers: int
    """How many numbers a value has."""
    freedom: int
    """Of the error of a value: 3 of a point, 6 of a pose or wrench."""

    @cached_property
    @abstractmethod
    def seen(self) -> Array:
        """What is seen of the error of the state: a matrix of zeros and ones."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Of the errors, besides places: 8π² for orientations; clutter is given per m³."""

    @abstractmethod
    def started(self, value: Array, covariance: Array) -> tuple[Array, Array]:
        """Return mean and covariance after one observation."""

    @abstractmethod
    def moved(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        """Return mean and covariance some seconds later."""

    @abstractmethod
    def ahead(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        """Return the first three numbers some seconds later, and their variances: quickly."""

    @abstractmethod
    def residual(self, mean: Array, value: Array) -> Array:
        """Return what was seen beyond what was expected."""

    @abstractmethod
    def rate(self, mean: Array) -> Array:
        """Return how fast the value changes."""

    @abstractmethod
    def shifted(self, mean: Array, error: Array) -> Array:
        """Return a mean with an error added."""

    @abstractmethod
    def placed(self, value: Array, covariance: Array, pose: Array) -> tuple[Array, Array]:
        """Return a value and its covariance in the world, given in a frame at a pose."""

    @abstractmethod
    def value(self, mean: Array) -> Array:
        """Return what an exact observation would show."""


@dataclass(frozen=True)
class PointMotion(MotionModel):
    """A point that keeps its speed, but for white acceleration.

    Args:
        acceleration: root of the density of its acceleration, m/s² per √Hz.
        speed: deviation of its speed before anything is known of it, m/s.

    >>> mean, P = PointMotion(speed=2.0).started(np.ones(3), np.eye(3))
    >>> mean.tolist(), P.diagonal().tolist()
    ([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 4.0, 4.0, 4.0])
    """

    acceleration: float = 1.0
    speed: float = 1.0
    kind = "point"
    numbers = 3
    freedom = 3

    @cached_property
    def seen(self) -> Array:
        return np.eye(3, 6)

    @property
    def volume(self) -> float:
        return 1.0

    def started(self, value: Array, covariance: Array) -> tuple[Array, Array]:
        P = np.zeros((6, 6))
        P[:3, :3], P[3:, 3:] = covariance, self.speed**2 * np.eye(3)
        return np.concatenate([value, np.zeros(3)]), P

    def moved(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        F = np.eye(6)
        F[:3, 3:] = time * np.eye(3)
        P = F @ covariance @ F.T
        _spread(P, 0, 3, self.acceleration, time)
        return F @ mean, (P + P.T) / 2

    def ahead(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        return _ahead(mean, covariance, time, self.acceleration)

    def residual(self, mean: Array, value: Array) -> Array:
        found: Array = value - mean[:3]
        return found

    def rate(self, mean: Array) -> Array:
        return mean[3:]

    def shifted(self, mean: Array, error: Array) -> Array:
        found: Array = mean + error
        return found

    def placed(self, value: Array, covariance: Array, pose: Array) -> tuple[Array, Array]:
        R = quaternion_matrix(pose[3:])
        return pose[:3] + R @ value, R @ covariance @ R.T

    def value(self, mean: Array) -> Array:
        return mean[:3]


@dataclass(frozen=True)
class PoseMotion(MotionModel):
    """A pose that keeps its twist, but for white acceleration.

    Args:
        acceleration: root of the density of its acceleration, m/s² per √Hz.
        turning: the same of its angular acceleration, rad/s² per √Hz.
        speed: deviation of its speed before anything is known of it, m/s.
        spin: the same of its angular velocity, rad/s.

    >>> mean, P = PoseMotion().started(np.array([1.0, 2, 3, 1, 0, 0, 0]), np.eye(6))
    >>> mean.shape, P.shape
    ((13,), (12, 12))
    """

    acceleration: float = 1.0
    turning: float = 1.0
    speed: float = 1.0
    spin: float = 1.0
    kind = "pose"
    numbers = 7
    freedom = 6

    @cached_property
    def seen(self) -> Array:
        H = np.zeros((6, 12))
        H[:3, :3] = H[3:, 6:9] = np.eye(3)
        return H

    @property
    def volume(self) -> float:
        return 8 * math.pi**2

    def started(self, value: Array, covariance: Array) -> tuple[Array, Array]:
        P = np.zeros((12, 12))
        places = np.r_[0:3, 6:9]
        P[np.ix_(places, places)] = covariance
        P[3:6, 3:6], P[9:, 9:] = self.speed**2 * np.eye(3), self.spin**2 * np.eye(3)
        return np.concatenate([value[:3], np.zeros(3), value[3:], np.zeros(3)]), P

    def moved(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        turn = time * mean[10:]
        F = np.eye(12)
        F[:3, 3:6] = time * np.eye(3)
        F[6:9, 6:9] = quaternion_matrix(exponential(turn))
        F[6:9, 9:] = time * left_jacobian(turn)
        P = F @ covariance @ F.T
        _spread(P, 0, 3, self.acceleration, time)
        _spread(P, 6, 9, self.turning, time)
        q = quaternion_product(exponential(turn), mean[6:10])
        return np.concatenate([mean[:3] + time * mean[3:6], mean[3:6], q, mean[10:]]), (P + P.T) / 2

    def ahead(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        return _ahead(mean, covariance, time, self.acceleration)

    def residual(self, mean: Array, value: Array) -> Array:
        back = mean[6:10] * np.array([1.0, -1.0, -1.0, -1.0])
        return np.concatenate(
            [value[:3] - mean[:3], logarithm(quaternion_product(value[3:], back))]
        )

    def rate(self, mean: Array) -> Array:
        return np.concatenate([mean[3:6], mean[10:]])

    def shifted(self, mean: Array, error: Array) -> Array:
        q = quaternion_product(exponential(error[6:9]), mean[6:10])
        return np.concatenate(
            [mean[:6] + error[:6], q / math.sqrt(float(q @ q)), mean[10:] + error[9:]]
        )

    def placed(self, value: Array, covariance: Array, pose: Array) -> tuple[Array, Array]:
        both = _twice(quaternion_matrix(pose[3:]))
        place = pose[:3] + both[:3, :3] @ value[:3]
        return np.concatenate(
            [place, quaternion_product(pose[3:], value[3:])]
        ), both @ covariance @ both.T

    def value(self, mean: Array) -> Array:
        return np.concatenate([mean[:3], mean[6:10]])


@dataclass(frozen=True)
class WrenchMotion(MotionModel):
    """A force and a moment that walk at random.

    Args:
        force: root of the density of the walk of the force, N per √s.
        moment: the same of the moment, N m per √s.

    >>> WrenchMotion(force=2.0).moved(np.zeros(6), np.zeros((6, 6)), 0.5)[1].diagonal().tolist()
    [2.0, 2.0, 2.0, 0.5, 0.5, 0.5]
    """

    force: float = 10.0
    moment: float = 1.0
    kind = "wrench"
    numbers = 6
    freedom = 6

    @cached_property
    def seen(self) -> Array:
        return np.eye(6)

    @property
    def volume(self) -> float:
        return 1e6  # of wrenches that are thought possible, (N m)³ and N³ in one

    def started(self, value: Array, covariance: Array) -> tuple[Array, Array]:
        return value, covariance

    def moved(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        walk = np.repeat([self.force**2, self.moment**2], 3)
        found: Array = covariance + time * np.diag(walk)
        return mean, found

    def ahead(self, mean: Array, covariance: Array, time: float) -> tuple[Array, Array]:
        return mean[:3], covariance.diagonal()[:3] + time * self.force**2

    def residual(self, mean: Array, value: Array) -> Array:
        found: Array = value - mean
        return found

    def rate(self, mean: Array) -> Array:
        return np.zeros(6)

    def shifted(self, mean: Array, error: Array) -> Array:
        found: Array = mean + error
        return found

    def placed(self, value: Array, covariance: Array, pose: Array) -> tuple[Array, Array]:
        both = _twice(quaternion_matrix(pose[3:]))
        return both @ value, both @ covariance @ both.T

    def value(self, mean: Array) -> Array:
        return mean


def checked_pose(given: Sequence[float], what: str) -> Array:
    """Return a pose with a quaternion of length 1, or say what is wrong with it.

    >>> checked_pose((0, 0, 1, 0.707, 0, 0, 0.707), "the table")[3:].round(6).tolist()
    [0.707107, 0.0, 0.0, 0.707107]
    """
    found = np.array(checked_all(given, f"the pose of {what}", count=7))
    length = float(np.linalg.norm(found[3:]))
    if abs(length - 1) > 0.02:
        raise InputError(
            f"the quaternion of {what} has the length {length:g}",
            remedy="give x, y, z and then w, x, y, z of a quaternion of length 1",
        )
    found[3:] /= length
    return found


def left_jacobian(vector: Array) -> Array:
    """Return J of exp(v + d) = exp(J d) exp(v), to first order in d (Barfoot 2017, 7.83).

    >>> left_jacobian(np.zeros(3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    angle = math.sqrt(float(vector @ vector))
    cross = skew(vector)
    if angle < 1e-3:  # the next terms of the series are below 1e-14
        first, second = 0.5 - angle**2 / 24, 1 / 6 - angle**2 / 120
    else:
        first = (1 - math.cos(angle)) / angle**2
        second = (angle - math.sin(angle)) / angle**3
    return np.asarray(np.eye(3) + first * cross + second * cross @ cross)


def _ahead(mean: Array, P: Array, time: float, density: float) -> tuple[Array, Array]:
    """Return where a place will be, and how sure that is on each axis."""
    own = P.diagonal()
    variance = own[:3] + 2 * time * P.diagonal(3)[:3] + time**2 * own[3:6]
    return mean[:3] + time * mean[3:6], variance + density**2 * abs(time) ** 3 / 3


def _twice(R: Array) -> Array:
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = R
    return both


def _spread(P: Array, place: int, speed: int, density: float, time: float) -> None:
    """Add what white acceleration does to a place and its speed."""
    s = density**2
    for k in range(3):
        P[place + k, place + k] += s * time**3 / 3
        P[place + k, speed + k] += s * time**2 / 2
        P[speed + k, place + k] += s * time**2 / 2
        P[speed + k, speed + k] += s * time
