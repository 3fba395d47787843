"""Rigorous bounds of products of matrices with an approximate inverse, many boxes at once.

Products are computed by the machine's own matrix product and bounded by the classical estimate of
its rounding (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.parallel.affine_forms import AffineForm, Array
from linkwright.parallel.intervals import middle_and_radius

SLACK = 1.0 + 1e-12
"""For the rounding of sums of less than a thousand positive terms."""

UNIT = 2.0**-52


def inverses(matrices: Array) -> Array:
    """Return approximate inverses; of a singular matrix, not numbers."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        found = np.full_like(matrices, np.nan)
        for k, matrix in enumerate(matrices):
            try:
                found[k] = np.linalg.inv(matrix)
            except np.linalg.LinAlgError:
                continue
        return found


def stacked_intervals(found: list[Any], count: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return middles and radii of intervals, one axis of boxes in front."""
    low, high = np.empty((count, len(found))), np.empty((count, len(found)))
    for k, (a, b) in enumerate(found):
        low[:, k], high[:, k] = a, b
    middle, radius = middle_and_radius((low, high))
    return middle.reshape(count, *shape), radius.reshape(count, *shape)


def stacked_forms(found: list[AffineForm], count: int, shape: tuple[int, ...]) -> list[Array]:
    """Return middle, both slopes and radius of forms, one axis of boxes in front."""
    parts = np.empty((4, count, len(found)))
    for k, x in enumerate(found):
        parts[0, :, k], parts[1, :, k] = x.middle, x.first
        parts[2, :, k], parts[3, :, k] = x.second, x.radius
    return [x.reshape(count, *shape) for x in parts]


# -- rigorous bounds of products with an approximate inverse ---------------------------------------
def _rounding(a: Array, b: Array) -> Array:
    """Return a bound on the rounding of a product of matrices, itself rounded up."""
    return np.asarray((a.shape[-1] + 4) * UNIT * (np.abs(a) @ np.abs(b)) * SLACK + 1e-290)


def off_unit(inverse: Array, matrix: list[Array]) -> tuple[Array, list[Array]]:
    """Return bounds on |1 - C M| over forms M, and C M as middle, slopes and radius."""
    middle, first, second, radius = matrix
    parts = [inverse @ x for x in (middle, first, second)]
    rest = np.abs(inverse) @ radius
    rest = rest + _rounding(inverse, np.abs(middle) + np.abs(first) + np.abs(second))
    rest = rest * SLACK
    off = np.abs(np.eye(inverse.shape[-1]) - parts[0]) + np.abs(parts[1]) + np.abs(parts[2]) + rest
    return off * SLACK, [*parts, rest]


def product_bound(inverse: Array, f: tuple[Array, Array]) -> Array:
    """Return bounds on |C f|."""
    middle, radius = f[0][..., None], f[1][..., None]
    found = np.abs(inverse @ middle) + np.abs(inverse) @ radius + _rounding(inverse, middle)
    return np.asarray(found[..., 0] * SLACK)


def slope_bound(inverse: Array, product: list[Array], slope: Array, shift: list[Array]) -> Array:
    """Return bounds on |C J S + C F_s|."""
    found = product[3] @ np.abs(slope) + np.abs(inverse) @ shift[3]
    for a, b in zip(product[:3], shift[:3], strict=True):
        found = found + np.abs(a @ slope + inverse @ b)
        found = found + 3 * _rounding(a, slope) + 3 * _rounding(inverse, b)
    return np.asarray(found * SLACK)
