"""The fastest way along a path under limits.

Along a path q(s) the speed is q' s. and the acceleration q' s.. + q'' s.^2, so every limit is a
pair of lines in the plane of x = s.^2 and u = s.. . On a grid of s, from the end backward, the
largest x from which the end can still be reached is a linear program in two unknowns at each point;
from the start forward the largest u that keeps to it is taken (Pham and Pham, IEEE Transactions on
Robotics 34, 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.motion.trajectory import Array, MotionError, Trajectory, hermite

Rows = tuple[Array, Array, Array]
"""Coefficients a, b and c of lines a u + b x <= c."""

Dynamics = Callable[[Array, Array, Array], Array]
"""Forces from coordinates, speeds and accelerations: inverse dynamics."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Limits of a motion, for each value: speed, acceleration, and force by inverse dynamics.

    Args:
        speed: largest absolute speeds.
        acceleration: largest absolute accelerations.
        effort: largest absolute forces and moments.
        dynamics: the forces that a motion takes; needed with `effort`.

    >>> Limits(speed=[1.0, 2.0]).speed
    [1.0, 2.0]
    """

    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    effort: ArrayLike | None = None
    dynamics: Dynamics | None = None


def time_optimal(path: Trajectory, limits: Limits, *, points: int = 400) -> Trajectory:
    """Return the fastest motion from rest to rest along the path of a trajectory.

    Args:
        path: whose values are kept in order, and whose timing is given up; its speeds must not
            vanish but at its ends.
        limits: of the motion.
        points: of the grid along the path.

    >>> from linkwright.motion import through
    >>> line = through([0, 0.5, 1], [[0], [0.5], [1]])
    >>> fast = time_optimal(line, Limits(speed=1, acceleration=2))
    >>> round(fast.duration, 3)
    1.5
    """
    if limits.acceleration is None and limits.effort is None:
        raise MotionError("a fastest motion needs a limit of acceleration or of effort")
    if limits.effort is not None and limits.dynamics is None:
        raise MotionError("a limit of effort needs the inverse dynamics")
    s = np.linspace(path.instants[0], path.instants[-1], points + 1)
    first, second = path(s, 1), path(s, 2)
    place = path(s)
    rows = [_rows(k, place, first, second, limits) for k in range(len(s))]
    tops = _largest_speeds(first, limits)
    step = float(s[1] - s[0])
    reach = _backward(rows, tops, step)
    x = _forward(rows, reach, step)
    speed = np.sqrt(x)
    between = speed[:-1] + speed[1:]
    if np.any(between <= 0):
        raise MotionError("the limits leave no way to the end of the path")
    times = np.concatenate([[0.0], np.cumsum(2 * step / between)])
    return hermite(times, place, first * speed[:, None])


def _largest_speeds(first: Array, limits: Limits) -> Array:
    """Return the largest x at each point that the limits of speed allow."""
    found = np.full(len(first), np.inf)
    if limits.speed is not None:
        top = np.broadcast_to(np.asarray(limits.speed, dtype=float), first.shape[1:])
        with np.errstate(divide="ignore"):
            found = np.min((top / np.abs(first)) ** 2, axis=1)
    bounded: Array = np.minimum(found, 1e12)
    return bounded


def _rows(k: int, place: Array, first: Array, second: Array, limits: Limits) -> Rows:
    """Return the lines that bound u and x at a point of the grid."""
    a, b, c = [], [], []
    if limits.acceleration is not None:
        most = np.broadcast_to(np.asarray(limits.acceleration, dtype=float), first[k].shape)
        a += [first[k], -first[k]]
        b += [second[k], -second[k]]
        c += [most, most]
    if limits.effort is not None and limits.dynamics is not None:
        still = np.zeros_like(first[k])
        weight = limits.dynamics(place[k], still, still)
        by_u = limits.dynamics(place[k], still, first[k]) - weight
        by_x = limits.dynamics(place[k], first[k], second[k]) - weight
        most = np.broadcast_to(np.asarray(limits.effort, dtype=float), first[k].shape)
        if np.any(np.abs(weight) > most):
            raise MotionError("the limits of effort do not even hold the mechanism still")
        a += [by_u, -by_u]
        b += [by_x, -by_x]
        c += [most - weight, most + weight]
    return np.concatenate(a), np.concatenate(b), np.concatenate(c)


def _interval(rows: Rows, x: float) -> tuple[float, float]:
    """Return the smallest and largest u at some x, in the wrong order where there is none."""
    a, b, c = rows
    rest = c - b * x
    small = np.abs(a) < 1e-12
    if np.any(small & (rest < -1e-9 * (1 + np.abs(c)))):
        return 1.0, -1.0
    up, down = a > 1e-12, a < -1e-12
    high = float(np.min(rest[up] / a[up], initial=1e12))
    low = float(np.max(rest[down] / a[down], initial=-1e12))
    return low, high


def _backward(rows: list[Rows], tops: Array, step: float) -> Array:
    """Return the largest x at each point from which the end can be reached at rest."""
    reach = np.zeros(len(rows))
    for k in reversed(range(len(rows) - 1)):
        reach[k] = _largest(rows[k], tops[k], reach[k + 1], step)
        if reach[k] < 0:
            raise MotionError("the limits leave no way to the end of the path")
    return reach


def _largest(rows: Rows, top: float, after: float, step: float) -> float:
    """Return the largest x for which some u keeps 0 <= x + 2 step u <= after; -1 for none."""

    def possible(x: float) -> bool:
        low, high = _interval(rows, x)
        low, high = max(low, -x / (2 * step)), min(high, (after - x) / (2 * step))
        return low <= high + 1e-12 * (1 + abs(high))

    if possible(top):
        return top
    a, b, c = rows
    # along x + 2 step u = after, each line gives a largest or a smallest x
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = b - a / (2 * step)
        at = (c - a * after / (2 * step)) / slope
    candidates = [x for x in at[(slope > 0) & np.isfinite(at)] if 0 <= x < top]
    low, high = 0.0, top
    if candidates and possible(min(candidates)):
        low = float(min(candidates))
    elif not possible(0.0):
        return -1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
        if high - low <= 1e-13 * (1 + high):
            break
    return low


def _forward(rows: list[Rows], reach: Array, step: float) -> Array:
    """Return x at each point, taking the largest u that keeps to what can be reached."""
    x = np.zeros(len(rows))
    for k in range(len(rows) - 1):
        low, high = _interval(rows[k], x[k])
        u = min(high, (reach[k + 1] - x[k]) / (2 * step))
        x[k + 1] = min(max(x[k] + 2 * step * max(u, low), 0.0), reach[k + 1])
    return x
