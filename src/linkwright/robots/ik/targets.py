"""Poses that somebody wants a frame to have."""

from __future__ import annotations

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
