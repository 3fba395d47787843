"""How far mounts of three legs point: reach, first singularities, and the curve of the truss.

Boundaries are zeros along circles of equal azimuth, found by bisection to the last digits, not
points of a grid. Angles are in degrees: azimuth from x to y, tilt from the zenith.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.mounts.closed_forms.legs import Array, Legs, leg_pose
from linkwright.mounts.closed_forms.rotary import determinants
from linkwright.mounts.closed_forms.trusses import member_determinant
from linkwright.mounts.pointing import direction_at, normal

_STEPS = 180
_HALVINGS = 42
Margin = Callable[[Array], Array]


def reach(azimuth: ArrayLike, distance: float = 0.98, legs: Legs | None = None) -> Array:
    """Return the tilts at which an arm first does not come to the mirror plane, deg.

    Units: `distance` in m.

    >>> round(float(reach(13.8)), 3)
    103.662
    """
    own = legs or Legs()

    def margin(d: Array) -> Array:
        found: Array = leg_pose(normal(d), distance, own).slack.min(axis=-1)
        return found

    return first_zero(azimuth, margin)


def rotary_limit(azimuth: ArrayLike, distance: float = 0.98, legs: Legs | None = None) -> Array:
    """Return the tilts at which the mount with two motors is first singular or out of reach, deg.

    Units: `distance` in m.

    >>> round(float(rotary_limit(11.55)), 3)
    101.331
    """

    def margin(d: Array) -> Array:
        return -determinants(d, distance, legs)[1]

    return first_zero(azimuth, margin)


def truss_curve(
    azimuth: ArrayLike, distance: float = 0.98, legs: Legs | None = None, *, until: float = 90.0
) -> Array:
    """Return the tilts at which the truss of two members is first singular, deg; NaN for none.

    >>> round(float(truss_curve(120.0)), 2)
    59.33
    """
    start = float(member_determinant((0.0, 0.0, 1.0), distance, legs))

    def margin(d: Array) -> Array:
        found: Array = member_determinant(d, distance, legs) * np.sign(start)
        return found

    return first_zero(azimuth, margin, until=until)


def worst(
    of: Callable[[Array], Array], low: float = 0.0, high: float = 60.0
) -> tuple[float, float]:
    """Return the azimuth at which a limit is smallest, deg, and the limit.

    Units: `of` in degrees.

    >>> azimuth, tilt = worst(reach)
    >>> round(azimuth), round(tilt, 4)
    (14, 103.6622)
    """
    if not low < high:
        raise InputError(f"azimuths from {low} to {high} are not a range")
    for _ in range(7):  # each time the best of 13 and its neighbors
        grid = np.linspace(low, high, 13)
        k = int(np.nanargmin(of(grid)))
        low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, 12)])
    middle = (low + high) / 2
    return middle, float(of(np.array(middle)))


def first_zero(azimuth: ArrayLike, margin: Margin, *, until: float = 179.0) -> Array:
    """Return the tilts at which a margin first ceases to be above zero; NaN where it never does."""
    turns = np.atleast_1d(np.asarray(azimuth, float))
    tilts = np.linspace(0, until, _STEPS + 1)
    inside = margin(direction_at(turns.ravel()[:, None], tilts)) > 0
    if not inside[:, 0].all():
        raise InputError("the zenith itself is out of reach", remedy="a shorter distance")
    end = np.where(inside.all(axis=1), -1, np.argmin(inside, axis=1))
    low, high = tilts[end - 1], tilts[end]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        good = margin(direction_at(turns.ravel(), middle)) > 0
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    found = np.where(end < 0, np.nan, (low + high) / 2)
    return found.reshape(np.shape(azimuth))
