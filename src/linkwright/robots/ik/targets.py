"""Poses that somebody wants a frame to have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.errors import InputError, ShapeError

_SLACK = 1e-6  # of the products of a rotation's columns


def poses(given: ArrayLike) -> NDArray[np.float64]:
    """Return one pose or several as an array; what is none is refused.

    Args:
        given: 4 x 4 (or 3 x 4) matrices, with any leading axes.

    >>> poses(np.eye(4)).shape
    (4, 4)
    >>> poses(2 * np.eye(4))
    Traceback (most recent call last):
        ...
    linkwright.errors.InputError: the first three rows and columns of a pose are no rotation
    """
    found = np.asarray(given, dtype=float)
    if found.shape[-2:] not in ((4, 4), (3, 4)):
        raise ShapeError("a pose is a 4 x 4 matrix, and several are one after the other")
    if not np.all(np.isfinite(found)):
        raise InputError("a pose holds numbers that are not finite")
    turn = found[..., :3, :3]
    products = np.swapaxes(turn, -1, -2) @ turn
    if np.any(np.abs(products - np.eye(3)) > _SLACK) or np.any(np.linalg.det(turn) < 0):
        raise InputError("the first three rows and columns of a pose are no rotation")
    return found


def goals_of(
    given: ArrayLike, weights: Sequence[float]
) -> tuple[NDArray[np.float64], Sequence[float]]:
    """Return poses, and weights of their errors; a position alone leaves the orientation free.

    Args:
        given: poses as `poses` takes them, or positions of three numbers.
        weights: of the errors along x, y, z and about them.

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
