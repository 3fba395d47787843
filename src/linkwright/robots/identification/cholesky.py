"""Links of positive mass as vectors without constraints.

The pseudo-inertia of a link, [[S, h], [h^T, m]] with S = tr(I)/2 1 - I, is positive definite for
every distribution of positive mass, and only for those (Wensing, Kim and Slotine, IEEE Robotics and
Automation Letters 3, 2018). With an upper triangular factor whose diagonal is an exponential, any
ten numbers stand for such a link, and every link for one vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_ABOVE = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # entries above the diagonal, in order
_LEAST = 1e-6  # of the eigenvalues of a pseudo-inertia, in relation to the largest


def pseudo_inertia(p: NDArray[Any]) -> NDArray[Any]:
    """Return the 4 x 4 pseudo-inertia of ten parameters (m, mx, my, mz, Ixx, Ixy, Iyy, ...).

    >>> ball = np.array([1, 0, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2])
    >>> np.diag(pseudo_inertia(ball)).round(3).tolist()
    [0.1, 0.1, 0.1, 1.0]
    """
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = p
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, mx],
            [-xy, half - yy, -yz, my],
            [-xz, -yz, half - zz, mz],
            [mx, my, mz, m],
        ]
    )


def _ten(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the ten parameters of pseudo-inertias, along the last axis."""
    p = np.moveaxis(matrix, (-2, -1), (0, 1))
    trace = p[0, 0] + p[1, 1] + p[2, 2]
    moments = [trace - p[0, 0], -p[0, 1], trace - p[1, 1], -p[0, 2], -p[1, 2], trace - p[2, 2]]
    return np.stack([p[3, 3], p[0, 3], p[1, 3], p[2, 3], *moments], axis=-1)


def nearest_physical(p: NDArray[Any]) -> Array:
    """Return ten parameters of positive mass near given ones.

    Args:
        p: ten parameters, perhaps of no real link.

    >>> odd = np.array([1, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5])
    >>> bool(np.linalg.eigvalsh(pseudo_inertia(nearest_physical(odd))).min() > 0)
    True
    """
    matrix = pseudo_inertia(np.asarray(p, dtype=float))
    values, vectors = np.linalg.eigh(matrix)
    least = _LEAST * max(float(np.abs(values).max()), 1e-6)
    raised = np.maximum(values, least)
    return np.asarray(_ten(vectors @ np.diag(raised) @ vectors.T), dtype=float)


def from_parameters(p: NDArray[Any]) -> Array:
    """Return the vector that stands for a link of positive mass.

    Args:
        p: its ten parameters.

    >>> ball = np.array([1, 0.1, 0, 0, 0.2, 0, 0.21, 0, 0, 0.21])
    >>> bool(np.allclose(parameters_and_slopes(from_parameters(ball))[0], ball))
    True
    """
    flipped = pseudo_inertia(np.asarray(p, dtype=float))[::-1, ::-1]
    upper = np.linalg.cholesky(flipped)[::-1, ::-1]  # the matrix is upper times its transpose
    scale = upper[3, 3]
    d = np.log(np.diag(upper)[:3] / scale)
    u = upper / scale
    return np.array([np.log(scale), *d, u[0, 1], u[1, 2], u[0, 2], u[0, 3], u[1, 3], u[2, 3]])


def parameters_and_slopes(x: Array) -> tuple[Array, Array]:
    """Return the ten parameters of vectors, and their derivatives by the vectors' entries.

    Args:
        x: ten numbers, or rows of ten.
    """
    rows = np.atleast_2d(x)
    scale = np.exp(rows[:, 0])[:, None, None]
    upper = np.zeros((len(rows), 4, 4))
    for k in range(3):
        upper[:, k, k] = np.exp(rows[:, 1 + k])
    upper[:, 3, 3] = 1.0
    for k, (i, j) in enumerate(_ABOVE):
        upper[:, i, j] = rows[:, 4 + k]
    upper *= scale
    changes = np.zeros((len(rows), 10, 4, 4))
    changes[:, 0] = upper
    for k in range(3):
        changes[:, 1 + k, k, k] = upper[:, k, k]
    for k, (i, j) in enumerate(_ABOVE):
        changes[:, 4 + k, i, j] = scale[:, 0, 0]
    moved = changes @ np.swapaxes(upper, 1, 2)[:, None]
    slopes = np.moveaxis(_ten(moved + np.swapaxes(moved, 2, 3)), 1, 2)
    values = _ten(upper @ np.swapaxes(upper, 1, 2))
    return (values, slopes) if np.ndim(x) == 2 else (values[0], slopes[0])
