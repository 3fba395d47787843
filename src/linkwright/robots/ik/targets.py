"""Poses that somebody wants a frame to have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, ShapeError

_SLACK = 1e-6  # of the products of a rotation's columns


def poses(given: ArrayLike) -> NDArray[np.float64]:
    """Return one pose or several as an array; anything else is rejected.

    >>> poses(np.eye(4)).shape
    (4, 4)
    >>> poses(2 * np.eye(4))
    Traceback (most recent call last):
        ...
    linkwright.InputError: the first three rows and columns of a pose are not a rotation
    """
    found = np.asarray(given, dtype=float)
    if found.shape[-2:] not in ((4, 4), (3, 4)):
        raise ShapeError("a pose is a 4 x 4 matrix, and several are one after the other")
    if not np.all(np.isfinite(found)):
        raise InputError("a pose holds numbers that are not finite")
    turn = found[..., :3, :3]
    products = np.swapaxes(turn, -1, -2) @ turn
    if np.any(np.abs(products - np.eye(3)) > _SLACK) or np.any(np.linalg.det(turn) < 0):
        raise InputError("the first three rows and columns of a pose are not a rotation")
    return found


def goals_of(
    given: ArrayLike, weights: Sequence[float]
) -> tuple[NDArray[np.float64], Sequence[float]]:
    """Return poses, and weights of their errors; a position alone leaves the orientation free.

    >>> goals_of([0.1, 0.2, 0.3], (1, 1, 1, 1, 1, 1))[1]
    (1, 1, 1, 0.0, 0.0, 0.0)
    """
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError("a goal is a position of three numbers, or a pose of 4 x 4") from None
    if found.shape not in ((3,),) and not (found.ndim == 2 and found.shape[1] == 3):
        return poses(found), weights
    if not np.all(np.isfinite(found)):
        raise InputError("a position holds numbers that are not finite")
    made = np.broadcast_to(np.eye(4), (*found.shape[:-1], 4, 4)).copy()
    made[..., :3, 3] = found
    return made, (*weights[:3], 0.0, 0.0, 0.0)


def stacked_goals(
    given: Mapping[str, ArrayLike],
    weights: Sequence[float] | Mapping[str, Sequence[float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the goals of several frames one below the other, and the weights of their errors.

    >>> goals, weights = stacked_goals({"left": [0, 1, 0], "right": np.eye(4)}, [1] * 6)
    >>> goals.shape, weights.tolist()
    ((6, 4), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    if not given:
        raise InputError("there is no frame with a goal", remedy='give {"frame": pose, ...}')
    if isinstance(weights, Mapping):
        other = [name for name in weights if name not in given]
        if other:
            raise InputError(f"there are weights for {other[0]!r}, which has no goal")
    goals: list[NDArray[np.float64]] = []
    heavy: list[NDArray[np.float64]] = []
    for frame, goal in given.items():
        own = weights.get(frame, (1.0,) * 6) if isinstance(weights, Mapping) else weights
        found, used = goals_of(goal, six(own))
        if found.ndim not in (2, 3):
            raise ShapeError(f"the goals of {frame!r} have the shape {found.shape}")
        goals.append(found[..., :3, :])
        heavy.append(np.asarray(used, float))
    counts = sorted({len(g) for g in goals if g.ndim == 3})
    if len(counts) > 1:
        raise ShapeError(
            f"frames have {' and '.join(map(str, counts))} goals", remedy="give each as many"
        )
    if counts:
        goals = [np.broadcast_to(g, (counts[0], 3, 4)) for g in goals]
    return np.concatenate(goals, axis=-2), np.concatenate(heavy)


def six(weights: Any) -> tuple[float, ...]:
    """Return the weights of the errors of a frame; anything else is rejected.

    >>> six([1, 1, 1, 0, 0, 0])
    (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    """
    found = np.asarray(weights, dtype=float)
    if found.shape != (6,):
        raise ShapeError("weights are six numbers: along x, y, z and about them")
    if not np.all(np.isfinite(found)) or np.any(found < 0):
        raise InputError("weights are finite, and none is below 0")
    return tuple(found.tolist())
