"""Where a dish points: unit vectors, the normal of the mirror plane, angles for display, the beam.

A direction is a unit vector d along x = East, y = North, z = up. Platform and upper arms of a mount
mirror base and lower arms in a plane with the normal n = (z + d)/|z + d|, half way between the
vertical and the direction; back again d = 2 n_z n - z. Both are smooth at the zenith, where angles
are not: they are for display. Outside, azimuth is the compass's (from North over East); in formulas
it is counted from x to y, and the angle to the zenith takes the place of the elevation.

All functions take arrays whose last axis is the three components, and keep the axes before it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError

Array = NDArray[np.float64]


def direction(azimuth: ArrayLike, elevation: ArrayLike) -> Array:
    """Return the unit vector (East, North, up) of a direction.

    Units: `azimuth` in degrees, `elevation` in degrees.

    >>> direction(90, 0).round(9)
    array([1., 0., 0.])
    """
    return direction_at(90 - np.asarray(azimuth, float), 90 - np.asarray(elevation, float))


def direction_at(turn: ArrayLike, tilt: ArrayLike) -> Array:
    """Return the unit vector of a direction in the angles of formulas.

    Units: `turn` in degrees, `tilt` in degrees.

    >>> direction_at(90, 90).round(9)
    array([0., 1., 0.])
    """
    a, t = np.broadcast_arrays(np.radians(turn), np.radians(tilt))
    return np.stack([np.sin(t) * np.cos(a), np.sin(t) * np.sin(a), np.cos(t)], axis=-1)


def angles(d: ArrayLike) -> tuple[Array, Array]:
    """Return compass azimuth from 0 to 360 and elevation of directions, degrees.

    >>> [float(x) for x in angles((1.0, 0.0, 1.0))]
    [90.0, 45.0]
    """
    x, y, z = _three(d)
    azimuth = np.degrees(np.arctan2(x, y)) % 360
    return azimuth, np.degrees(np.arctan2(z, np.hypot(x, y)))


def angles_at(d: ArrayLike) -> tuple[Array, Array]:
    """Return azimuth from x to y and angle to the zenith of directions, degrees.

    >>> [float(x) for x in angles_at((0.0, 1.0, 1.0))]
    [90.0, 45.0]
    """
    x, y, z = _three(d)
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(np.hypot(x, y), z))


def normal(d: ArrayLike) -> Array:
    """Return the normal of the mirror plane of directions: half way to the vertical.

    >>> normal((1.0, 0.0, 0.0)).round(6)
    array([0.707107, 0.      , 0.707107])
    """
    between = np.stack(_three(d), axis=-1) + np.array([0.0, 0.0, 1.0])
    size: Array = np.linalg.norm(between, axis=-1, keepdims=True)
    if not np.all(size > 1e-9):  # NaN too
        raise InputError(
            "a direction straight down, or none, has no mirror plane",
            remedy="give unit vectors (East, North, up) other than (0, 0, -1)",
        )
    made: Array = between / size
    return made


def mirrored(n: ArrayLike) -> Array:
    """Return the directions whose mirror planes have these normals.

    >>> mirrored(normal((0.6, 0.0, 0.8))).round(12)
    array([0.6, 0. , 0.8])
    """
    x, y, z = _three(n)
    return np.stack([2 * z * x, 2 * z * y, 2 * z * z - 1], axis=-1)


def rotation(d: ArrayLike) -> Array:
    """Return the matrices of a platform that points without torsion.

    They are Rz(a) Ry(t) Rz(-a) of azimuth a and angle t to the zenith, and smooth at the zenith.

    >>> rotation((0.6, 0.0, 0.8)).round(9)
    array([[ 0.8, 0. ,  0.6],
           [ 0. , 1. ,  0. ],
           [-0.6, 0. ,  0.8]])
    """
    n = normal(d)
    mirror = np.eye(3) - 2 * n[..., :, None] * n[..., None, :]
    return mirror @ np.diag([1.0, 1.0, -1.0])


def torsion(matrix: ArrayLike) -> Array:
    """Return how far platforms are turned about their own axis, rad, -pi to pi.

    It is the sum of the first and the last angle of Rz Ry Rz, defined at the zenith too.

    >>> float(torsion(rotation((0.0, 0.6, 0.8))))
    0.0
    """
    R = np.asarray(matrix, float)
    made: Array = np.arctan2(R[..., 1, 0] - R[..., 0, 1], R[..., 0, 0] + R[..., 1, 1])
    return made


def gain(area: float, wavelength: float) -> float:
    """Return the gain of an antenna, as a ratio: 4 pi A / lambda^2.

    Units: `wavelength` in m.

    >>> round(gain(1.0, 0.1), 3)
    1256.637
    """
    return 4 * math.pi * _positive("area", area) / _positive("wavelength", wavelength) ** 2


def beamwidth(area: float, wavelength: float) -> float:
    """Return the width of the beam whose solid angle is 4 pi over the gain, rad: lambda/sqrt(A).

    It is not the width at half power; see `half_power_beamwidth`.

    >>> beamwidth(1.0, 0.1)
    0.1
    """
    return _positive("wavelength", wavelength) / math.sqrt(_positive("area", area))


def half_power_beamwidth(diameter: float, wavelength: float) -> float:
    """Return the width between the half-power points of a dish, rad: 70 deg lambda/d.

    Units: `diameter` in m.

    >>> round(math.degrees(half_power_beamwidth(3.0, 0.025)), 3)
    0.583
    """
    return math.radians(70) * _positive("wavelength", wavelength) / _positive("diameter", diameter)


def decibels(ratio: float) -> float:
    """Return a ratio of powers in dB.

    >>> decibels(100.0)
    20.0
    """
    return 10 * math.log10(_positive("ratio", ratio))


def _three(d: ArrayLike) -> tuple[Array, Array, Array]:
    given = np.asarray(d, float)
    if given.ndim == 0 or given.shape[-1] != 3:
        raise InputError(
            f"directions have three components, not the shape {given.shape}",
            remedy="give East, North, up along the last axis",
        )
    return given[..., 0], given[..., 1], given[..., 2]


def _positive(what: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"the {what} is {value}", remedy="give a number above zero")
    return float(value)
