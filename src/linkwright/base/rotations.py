"""Rotations in numbers: quaternions, matrices and vectors, one or many along the first axes.

A quaternion is (w, x, y, z), scalar first; q and -q turn alike. A product a b turns by b first,
then by a. A rotation matrix takes components in the turned frame to those in the frame around it,
so its columns are the turned axes. A rotation vector is the axis times the angle, rad. The same for
expressions is in `linkwright.algebra.triples`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


# -- quaternions -----------------------------------------------------------------------------------
def quaternion_product(a: Any, b: Any) -> Any:
    """Return products of quaternions; entries may be expressions.

    >>> quaternion_product([0.0, 1, 0, 0], [0.0, 0, 1, 0]).tolist()  # i j = k
    [0.0, 0.0, 0.0, 1.0]
    """
    s, i, j, k = np.moveaxis(np.asarray(a), -1, 0)
    w, x, y, z = np.moveaxis(np.asarray(b), -1, 0)
    product = [
        s * w - i * x - j * y - k * z,
        s * x + i * w + j * z - k * y,
        s * y - i * z + j * w + k * x,
        s * z + i * y - j * x + k * w,
    ]
    return np.stack(product, axis=-1)


def quaternion_matrix(q: ArrayLike) -> Array:
    """Return the matrices of unit quaternions.

    >>> quaternion_matrix([0, 0, 0, 1]).tolist()
    [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]
    """
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def quaternion_rows(matrix: ArrayLike) -> tuple[Array, Array]:
    """Return of 4 q q' of rotation matrices the row with the largest square, and that square.

    The row is a quaternion of any length whose largest component is positive; the first is taken
    of several that are equal (Shepperd 1978).
    """
    r = np.moveaxis(np.asarray(matrix), (-2, -1), (0, 1))
    xx, yy, zz = r[0, 0], r[1, 1], r[2, 2]
    wx, wy, wz = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    xy, yz, zx = r[0, 1] + r[1, 0], r[1, 2] + r[2, 1], r[2, 0] + r[0, 2]
    squares = [1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz]
    table = np.array(
        [
            [squares[0], wx, wy, wz],
            [wx, squares[1], xy, zx],
            [wy, xy, squares[2], yz],
            [wz, zx, yz, squares[3]],
        ]
    )
    largest = np.argmax(squares, axis=0)[None]
    row = np.take_along_axis(table, largest[None], axis=0)[0]
    return np.moveaxis(row, 0, -1), np.take_along_axis(row, largest, axis=0)[0]


def quaternion_of(matrix: ArrayLike) -> Array:
    """Return quaternions of rotation matrices, their largest component positive; w may be negative.

    >>> quaternion_of([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(3).tolist()
    [0.707, 0.0, 0.0, 0.707]
    """
    row, square = quaternion_rows(matrix)
    return np.asarray((0.5 / np.sqrt(square))[..., None] * row)


def turned(q: Array, v: Array) -> Array:
    """Return vectors turned by unit quaternions."""
    twice = 2 * cross(q[..., 1:], v)
    return np.asarray(v + q[..., :1] * twice + cross(q[..., 1:], twice))


def exact(entry: float, within: float = 1e-9) -> float | int:
    """Return an entry of a rotation matrix, 0 and 1 exactly where they are meant.

    >>> exact(1e-17), exact(-1 + 1e-16), exact(0.5)
    (0, -1, 0.5)
    """
    near = round(entry)
    return near if abs(entry - near) < within else float(entry)


# -- vectors ---------------------------------------------------------------------------------------
def cross(a: Array, b: Array) -> Array:
    """Return vector products; for few vectors far quicker than NumPy's own."""
    after, before = [1, 2, 0], [2, 0, 1]
    return np.asarray(a[..., after] * b[..., before] - a[..., before] * b[..., after])


def skew(v: ArrayLike) -> Array:
    """Return the matrix [v] with [v] a = v x a.

    >>> skew([1, 2, 3]).tolist()
    [[0.0, -3.0, 2.0], [3.0, 0.0, -1.0], [-2.0, 1.0, 0.0]]
    """
    x, y, z = np.asarray(v, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def inertia_tensor(moments: ArrayLike) -> Array:
    """Return the matrices of tensors that are given as xx, yy, zz, xy, yz, zx.

    >>> inertia_tensor([1, 2, 3, 4, 5, 6]).tolist()
    [[1.0, 4.0, 6.0], [4.0, 2.0, 5.0], [6.0, 5.0, 3.0]]
    """
    return np.asarray(moments, dtype=float)[..., np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])]


def point_inertia(arm: Array) -> Array:
    """Return the tensor of a unit mass at the end of an arm, |r|² 1 - r r'."""
    return np.asarray(arm @ arm * np.eye(3) - np.outer(arm, arm))


def axis_rotation(axis: ArrayLike, angle: float) -> Array:
    """Return the matrix of a turn about a unit axis, I + sin [a] + (1 - cos) [a]^2 (Rodrigues)."""
    k = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k))


def rotation_vectors(matrices: ArrayLike) -> Array:
    """Return axes times angles of rotation matrices below half a turn.

    >>> rotation_vectors(np.eye(3))
    array([0., 0., 0.])
    """
    r = np.asarray(matrices, dtype=float)
    pairs = ((2, 1), (0, 2), (1, 0))
    axes = np.stack([0.5 * (r[..., i, j] - r[..., j, i]) for i, j in pairs], axis=-1)
    sines = np.linalg.norm(axes, axis=-1)
    angles = np.arctan2(sines, 0.5 * (np.trace(r, axis1=-2, axis2=-1) - 1.0))
    small = sines < 1e-12
    return axes * np.where(small, 1.0, angles / np.where(small, 1.0, sines))[..., None]


def exponential(vector: Array) -> Array:
    """Return the quaternion of a rotation vector.

    >>> exponential(np.array([0.0, 0.0, np.pi])).round(6).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    angle = math.sqrt(float(vector @ vector))
    share = 0.5 - angle**2 / 48 if angle < 1e-4 else math.sin(angle / 2) / angle
    return np.concatenate([[math.cos(angle / 2)], share * vector])


def logarithm(quaternion: Array) -> Array:
    """Return the rotation vector of a unit quaternion, at most half a turn long.

    >>> logarithm(exponential(np.array([0.1, -0.2, 0.3]))).round(12).tolist()
    [0.1, -0.2, 0.3]
    """
    q = -quaternion if quaternion[0] < 0 else quaternion
    length = math.sqrt(float(q[1:] @ q[1:]))
    if length < 1e-9:
        return np.asarray(2 * q[1:] / q[0])
    return np.asarray(2 * math.atan2(length, float(q[0])) / length * q[1:])
