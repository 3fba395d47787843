"""The fastest way along a path under limits.

On a grid of s, from the end backward, the largest x = s'^2 from which the end can still be reached
is a linear program in two unknowns at each point; from the start forward the largest s'' that keeps
to it is taken (Pham and Pham, IEEE Transactions on Robotics 34, 2018). Both passes are native code,
for many paths at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwright.motion.limits import Array, Limits
from linkwright.motion.path_limits import PathLimits
from linkwright.motion.reachable import largest_speeds
from linkwright.motion.trajectory import MotionError, Trajectory, hermite

_TOGETHER = 128  # paths, so that memory does not grow with their number
_TANGENTS = 25  # solutions with tangents at the one before, at most
_SETTLED = 1e-5  # change of duration at which they end
_HALVINGS = 14  # of the scale of limits, for heat
_ALLOWED = 1e-4  # excess over a limit that counts as rounding


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
    return time_optimal_batch([path], limits, points=points)[0]


def time_optimal_batch(
    paths: Sequence[Trajectory], limits: Limits, *, points: int = 400
) -> list[Trajectory]:
    """Return the fastest motions along many paths, from rest to rest.

    Args:
        paths: of the same number of values, as for `time_optimal`.
        limits: of the motions.
        points: of the grid along each path.

    >>> from linkwright.motion import through
    >>> lines = [through([0, 0.5, 1], [[0], [d / 2], [d]]) for d in (1.0, 4.0)]
    >>> [round(fast.duration, 3) for fast in time_optimal_batch(lines, Limits(acceleration=4))]
    [1.0, 2.0]
    """
    if all(getattr(limits, n) is None for n in ("acceleration", "effort", "stall")):
        raise MotionError(
            "a fastest motion needs a limit of acceleration or of effort",
            remedy="give acceleration=, effort=, or stall= and no_load=",
            code="R724",
        )
    if points < 2:
        raise MotionError(
            f"a path needs 2 points or more, not {points!r}",
            remedy="give points=400",
            code="R724",
        )
    sizes = {path.size for path in paths}
    if len(sizes) > 1:
        raise MotionError(
            f"paths of one batch have the same number of values, not {sorted(sizes)}",
            remedy="time them apart",
            code="R724",
        )
    made: list[Trajectory] = []
    for first in range(0, len(paths), _TOGETHER):
        found = [PathLimits.of(p, limits, points) for p in paths[first : first + _TOGETHER]]
        speeds = _fastest(found, np.ones(len(found)))
        if limits.continuous is not None:
            speeds = _cooled(found, speeds, first)
        pairs = enumerate(zip(found, speeds, strict=True), first)
        made += [_timed(f, x, k) for k, (f, x) in pairs]
    return made


def _fastest(paths: list[PathLimits], scale: Array) -> list[Array]:
    """Return x along each path, with limits of force scaled by a factor.

    Tangents and friction are taken at the solution before, and friction is kept in the paths.
    """
    speeds = _solved(paths, [None] * len(paths), scale)
    if not any(p.curved for p in paths):
        return speeds
    last = np.zeros(len(paths))
    for _ in range(_TANGENTS):
        if any((x < 0).any() for x in speeds):
            break
        known = [p.tangent_at(x) for p, x in zip(paths, speeds, strict=True)]
        paths[:] = [p.with_friction_at(x) for p, x in zip(paths, speeds, strict=True)]
        speeds = _solved(paths, known, scale)
        times = np.array([_duration(p, x) for p, x in zip(paths, speeds, strict=True)])
        if np.all(np.abs(last - times) <= _SETTLED * times):
            break
        last = times
    return speeds


def _solved(
    paths: Sequence[PathLimits], known: Sequence[Array | None], scale: Array
) -> list[Array]:
    made = [p.lines(x, float(f)) for p, x, f in zip(paths, known, scale, strict=True)]
    bounds, tops = (np.stack(part) for part in zip(*made, strict=True))
    return list(largest_speeds(bounds, tops, np.array([p.step for p in paths])))


def _duration(path: PathLimits, x: Array) -> float:
    root = np.sqrt(np.maximum(x, 0.0))
    between = root[:-1] + root[1:]
    return float(np.sum(2 * path.step / between)) if np.all(between > 0) else np.inf


def _cooled(paths: list[PathLimits], speeds: list[Array], first: int) -> list[Array]:
    """Return motions that do not heat too much: limits of force scaled down until they do not."""
    hot = np.array([p.heat(x) > 1 for p, x in zip(paths, speeds, strict=True)])
    low, high = np.zeros(len(paths)), np.ones(len(paths))
    best = list(speeds)
    if not hot.any():
        return best
    for _ in range(_HALVINGS):
        middle = np.where(hot, (low + high) / 2, 1.0)
        tried = _fastest(paths, middle)
        for k in np.flatnonzero(hot).tolist():
            if np.isfinite(_duration(paths[k], tried[k])) and paths[k].heat(tried[k]) <= 1:
                low[k], best[k] = middle[k], tried[k]
            else:
                high[k] = middle[k]
    for k in np.flatnonzero(hot & (low == 0)).tolist():
        raise MotionError(
            f"path {first + k} heats too much at any speed",
            remedy="raise continuous=, or give a longer rest=",
            code="R726",
        )
    return best


def _timed(path: PathLimits, x: Array, number: int) -> Trajectory:
    speed = np.sqrt(np.maximum(x, 0.0))
    between = speed[:-1] + speed[1:]
    if np.any(x < 0) or np.any(between <= 0) or path.excess(x) > _ALLOWED:
        raise MotionError(
            f"the limits leave no way to the end of path {number}",
            remedy="raise the limits, or take more points",
            code="R725",
        )
    times = np.concatenate([[0.0], np.cumsum(2 * path.step / between)])
    return hermite(times, path.place, path.first * speed[:, None], path.accelerations(x))
