"""The turning Earth: from SGP4's frame to that of the ground, and what the air does to rays.

SGP4 gives places in TEME (true equator, mean equinox). Turning that frame about its z axis by
Greenwich mean sidereal time (Aoki et al., Astronomy and Astrophysics 105, 1982) gives the frame
that turns with the Earth; motion of the pole is left out (below 0.6", or 20 m on the ground). Sites
stand on the ellipsoid of WGS-84. Vallado, Fundamentals of Astrodynamics, chapter 3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

RADIUS = 6_378_137.0
"""Equatorial radius of WGS-84, m."""
FLATTENING = 1 / 298.257223563
TURN = 2 * math.pi
SIDEREAL = (67310.54841, 876600 * 3600 + 8640184.812866, 0.093104, -6.2e-6)
"""Greenwich mean sidereal time, s, by powers of Julian centuries of UT1 since 2000."""
J2000 = 51544.5
"""Modified Julian Date from which those centuries count."""
CENTURY = 36525.0


def sidereal_angle(day: int, second: ArrayLike) -> Array:
    """Return Greenwich mean sidereal time as an angle from 0 to 2π, rad.

    >>> round(float(np.degrees(sidereal_angle(51544, 43200.0))), 6)  # at noon of 2000 January 1
    280.460618
    """
    s = np.asarray(second, dtype=float) / 86_400.0
    whole, part = (day - J2000) / CENTURY, s / CENTURY
    # the whole turns are left out before they cost digits: one turn a day, and the slow rest
    c0, c1, c2, c3 = SIDEREAL
    t = whole + part
    slow = c0 + (c1 - 876600 * 3600) * t + (c2 + c3 * t) * t * t
    turns = (day - J2000) % 1.0 + s + slow / 86_400.0
    return np.asarray((turns % 1.0) * TURN)


def sidereal_rate(day: int) -> float:
    """Return how fast the Earth turns against the mean equinox, rad/s.

    >>> round(sidereal_rate(61000) * 1e5, 8)
    7.29211586
    """
    t = (day - J2000) / CENTURY
    per_century = SIDEREAL[1] + 2 * SIDEREAL[2] * t + 3 * SIDEREAL[3] * t * t
    return per_century / 86_400.0 * TURN / (CENTURY * 86_400.0)


def on_ellipsoid(latitude: float, longitude: float, height: float) -> Array:
    """Return a place on the turning Earth, m, of geodetic angles (rad) and a height (m).

    >>> on_ellipsoid(0.0, 0.0, 0.0)
    array([6378137.,       0.,       0.])
    """
    p, m = latitude, longitude
    squared = FLATTENING * (2 - FLATTENING)
    n = RADIUS / math.sqrt(1 - squared * math.sin(p) ** 2)
    across = (n + height) * math.cos(p)
    return np.array(
        [across * math.cos(m), across * math.sin(m), (n * (1 - squared) + height) * math.sin(p)]
    )


def east_north_up(latitude: float, longitude: float) -> Array:
    """Return the rows East, North and up of a site, in the frame that turns with the Earth.

    Units: `latitude` and `longitude` in rad.

    >>> east_north_up(0.0, 0.0).round(12) + 0.0
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    p, m = latitude, longitude
    sp, cp, sm, cm = math.sin(p), math.cos(p), math.sin(m), math.cos(m)
    return np.array([[-sm, cm, 0.0], [-sp * cm, -sp * sm, cp], [cp * cm, cp * sm, sp]])


def refraction(elevation: ArrayLike, pressure: float = 1010.0, temperature: float = 10.0) -> Array:
    """Return by how much the air lifts a target that stands at a true elevation, deg.

    After Saemundsson (Sky and Telescope 72, 1986), which inverts Bennett's formula to 0.1'; below
    -1° it is kept at the value it has there.

    >>> np.round(refraction([0.0, 10.0, 90.0]) * 60, 2) + 0.0  # in minutes of arc
    array([28.98,  5.41,  0.  ])
    """
    h = np.clip(np.asarray(elevation, dtype=float), -1.0, 89.9)
    minutes = 1.02 / np.tan(np.radians(h + 10.3 / (h + 5.11)))
    found = minutes / 60 * pressure / 1010.0 * 283.0 / (273.0 + temperature)
    return np.asarray(np.where(np.asarray(elevation) >= 89.9, 0.0, found))


def lifted(direction: Array, pressure: float, temperature: float) -> Array:
    """Return unit vectors (rows, up last) as the air lifts them."""
    across = np.hypot(direction[..., 0], direction[..., 1])
    true = np.arctan2(direction[..., 2], across)
    seen = true + np.radians(refraction(np.degrees(true), pressure, temperature))
    share = np.divide(np.cos(seen), across, out=np.zeros_like(across), where=across > 0)
    return np.stack([direction[..., 0] * share, direction[..., 1] * share, np.sin(seen)], axis=-1)
