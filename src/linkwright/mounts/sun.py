"""The Sun as a target: antennas are aimed and measured with it, and have to keep away from it.

The formula of low accuracy (Meeus, Astronomical Algorithms, chapter 25) is within 0.014° of the
ephemeris DE421, a fortieth part of the Sun's width. The ephemeris itself comes with the extra
`ephemeris`; neither needs the internet.
"""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.optional import extra
from linkwright.motion.trajectory import Trajectory
from linkwright.mounts.earth import CENTURY, J2000, east_north_up, on_ellipsoid, sidereal_angle
from linkwright.mounts.orbits import DAY, MJD_ZERO, utc
from linkwright.mounts.sites import Site
from linkwright.mounts.splines import quintic

Array = NDArray[np.float64]
AU = 149_597_870_700.0
"""Astronomical unit, m."""
TT_UTC = 69.184
"""Terrestrial time less UTC, s, since 2017; it moves the Sun by 0.0008°."""
KNOT = 300.0
"""Between knots of the Sun's path, s; the sky turns 1.25° in it."""
PADDING = 4


def sun_direction(
    site: Site, start: datetime | str, seconds: ArrayLike = 0.0, *, ephemeris: bool = False
) -> Array:
    """Return unit vectors East, North, up from a site to the Sun, without refraction.

    Args:
        site: on the ground.
        start: a time, UTC.
        seconds: after the start; one row for each.
        ephemeris: whether to ask DE421 (extra `mounts`) instead of the formula.

    >>> d = sun_direction(Site(0.0, 0.0), "2026-03-20T12:07:30")  # equinox, noon
    >>> round(float(np.degrees(np.arcsin(d[0, 2]))), 1)
    90.0
    """
    since = np.atleast_1d(np.asarray(seconds, dtype=float))
    if since.ndim != 1 or not np.all(np.isfinite(since)):
        raise InputError("times of the Sun are a row of finite numbers")
    time = utc(start) - MJD_ZERO
    second = time.seconds + time.microseconds * 1e-6 + since
    return _from_table(site, time.days, second) if ephemeris else _formula(site, time.days, second)


def sun_path(
    site: Site, start: datetime | str, duration: float, *, ephemeris: bool = False
) -> Trajectory:
    """Return the Sun's way over the sky as a trajectory of unit vectors.

    Args:
        site: on the ground.
        start: when its time is 0, UTC.
        duration: s.
        ephemeris: whether to ask DE421 (extra `mounts`) instead of the formula.

    >>> noon = sun_path(Site(-0.76, 3.01), "2026-12-21T00:00", 3600.0)
    >>> noon(1800.0).round(3)
    array([-0.008,  0.344,  0.939])
    """
    if not 0 < duration <= 400 * DAY:
        raise InputError(f"a path of the Sun over {duration:g} s", remedy="give up to 400 days")
    count = max(8, math.ceil(duration / KNOT))
    knots = np.arange(-PADDING, count + PADDING + 1) * (duration / count)
    return Trajectory(
        *quintic(knots, sun_direction(site, start, knots, ephemeris=ephemeris), PADDING)
    )


def _formula(site: Site, day: int, second: Array) -> Array:
    t = (day - J2000 + (second + TT_UTC) / DAY) / CENTURY
    mean = np.radians(280.46646 + (36000.76983 + 0.0003032 * t) * t)
    anomaly = np.radians(357.52911 + (35999.05029 - 0.0001537 * t) * t)
    center = (
        (1.914602 - (0.004817 + 0.000014 * t) * t) * np.sin(anomaly)
        + (0.019993 - 0.000101 * t) * np.sin(2 * anomaly)
        + 0.000289 * np.sin(3 * anomaly)
    )
    node = np.radians(125.04 - 1934.136 * t)
    nutation = -0.00478 * np.sin(node)
    longitude = mean + np.radians(center - 0.00569 + nutation)
    tilt = np.radians(23.439291 - 0.0130042 * t + 0.00256 * np.cos(node))
    eccentricity = 0.016708634 - 0.000042037 * t
    far = 1.000001018 * (1 - eccentricity**2)
    far = far / (1 + eccentricity * np.cos(anomaly + np.radians(center))) * AU
    equator = np.stack(
        [np.cos(longitude), np.sin(longitude) * np.cos(tilt), np.sin(longitude) * np.sin(tilt)]
    )
    angle = sidereal_angle(day, second + site.ut1_utc) + np.radians(nutation) * np.cos(tilt)
    c, s = np.cos(angle), np.sin(angle)
    place = np.stack([c * equator[0] + s * equator[1], c * equator[1] - s * equator[0], equator[2]])
    ground = on_ellipsoid(site.latitude, site.longitude, site.height)
    seen = (place * far).T - ground
    found = seen @ east_north_up(site.latitude, site.longitude).T
    return np.asarray(found / np.linalg.norm(found, axis=1)[:, None])


def _from_table(site: Site, day: int, second: Array) -> Array:
    api = extra("skyfield.api", "mounts")
    data = Path(extra("skyfield_data", "mounts").__file__).parent / "data"
    ephemeris = api.load_file(str(data / "de421.bsp"))
    try:
        date = MJD_ZERO.date().toordinal() + day
        first = datetime.fromordinal(date)
        time = api.load.timescale(builtin=True).utc(
            first.year, first.month, first.day + second // DAY, 0, 0, second % DAY
        )  # day by day: a leap second lasts, and no day of ours has one
        ground = api.wgs84.latlon(*np.degrees([site.latitude, site.longitude]), site.height)
        seen = (ephemeris["earth"] + ground).at(time).observe(ephemeris["sun"]).apparent()
        altitude, azimuth, _ = seen.altaz()
    finally:
        ephemeris.close()
    up, east = altitude.radians, azimuth.radians
    return np.stack([np.cos(up) * np.sin(east), np.cos(up) * np.cos(east), np.sin(up)], axis=1)
