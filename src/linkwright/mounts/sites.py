"""Sites on the ground, and what they see of a satellite.

A site's frame is x = East, y = North, z = up. A target is a unit vector d in that frame; azimuth
(from North over East, as on a compass) and elevation are for people and files.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.checks import checked_angle
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.formats.schema import Amount, Key, described, require_ranges
from linkwright.mounts.earth import (
    east_north_up,
    lifted,
    on_ellipsoid,
    sidereal_angle,
    sidereal_rate,
)
from linkwright.mounts.orbits import Orbit

if TYPE_CHECKING:
    from linkwright.mounts.passes import Passes

Array = NDArray[np.float64]
LIGHT = 299_792_458.0
"""Speed of light, m/s."""
_RIGHT = math.pi / 2


@dataclass(frozen=True, slots=True)
class Look(Result):
    """What a site sees of a target, one row for each time.

    Args:
        direction: unit vectors East, North, up.
        range: m.
        range_rate: m/s, positive where the target goes away.

    >>> look = Look(np.array([[0.0, 0.6, 0.8]]), np.array([1e6]), np.array([-5e3]))
    >>> look.azimuth.round(6), look.elevation.round(3)
    (array([0.]), array([0.927]))
    """

    direction: Array
    range: Array
    range_rate: Array
    _units = (
        ("range", "m"),
        ("range_rate", "m/s"),
    )

    @property
    def azimuth(self) -> Array:
        """From North over East, rad from 0 to 2 pi."""
        return np.arctan2(self.direction[..., 0], self.direction[..., 1]) % math.tau

    @property
    def elevation(self) -> Array:
        """Above the horizon, rad."""
        d = self.direction
        return np.asarray(np.arctan2(d[..., 2], np.hypot(d[..., 0], d[..., 1])))

    def doppler(self, frequency: float) -> Array:
        """Return by how much a frequency of the satellite is received higher, Hz.

        Args:
            frequency: that the satellite sends, Hz.

        >>> Look(np.zeros((1, 3)), np.ones(1), np.array([-7000.0])).doppler(437e6).round(1)
        array([10203.7])
        """
        return -self.range_rate / LIGHT * frequency


@described
@dataclass(frozen=True, slots=True)
class Site:
    """A place on the ground.

    >>> site = Site(math.radians(-43.52), math.radians(172.58), 20)
    >>> site.horizon([0.0, 1.0]).round(3)
    array([-1.571, -1.571])
    """

    latitude: Annotated[float, Amount("deg", "geodetic, north positive", least=-90, most=90)]
    longitude: Annotated[float, Amount("deg", "east positive", least=-180, most=360)]
    height: Annotated[float, Amount("m", "above the ellipsoid of WGS-84", least=-1e4, most=1e6)] = (
        0.0
    )
    name: Annotated[str, Key("for tables")] = ""
    mask: Annotated[
        tuple[tuple[float, float], ...],
        Key("the horizon: azimuth (compass) and elevation, rad; straight lines between"),
    ] = ()
    # without it, up to 0.9 s, directions of low satellites are wrong by up to 0.06°
    ut1_utc: Annotated[float, Amount("s", "UT1 - UTC", least=-1, most=1)] = 0.0
    pressure: Annotated[
        float, Amount("1", "of the air, hPa, for refraction", least=0, most=1200)
    ] = 1010.0
    temperature: Annotated[
        float, Amount("degC", "of the air, for refraction", least=-100, most=80)
    ] = 10.0

    def __post_init__(self) -> None:
        """Reject what is not a place on the Earth."""
        require_ranges(self, "a site")
        for azimuth, elevation in self.mask:
            checked_angle(azimuth, "an azimuth of the mask")
            up = "the elevation of the mask"
            if checked_angle(elevation, up, least=-_RIGHT, most=_RIGHT) >= _RIGHT:
                raise InputError(
                    f"the mask has the elevation {math.degrees(elevation):g}° at azimuth "
                    f"{math.degrees(azimuth):g}°",
                    remedy="give elevations from -90 to below 90°",
                )
        rows = tuple(sorted((float(a) % math.tau, float(e)) for a, e in self.mask))
        object.__setattr__(self, "mask", rows)

    def horizon(self, azimuth: ArrayLike) -> Array:
        """Return the elevation of the mask at azimuths, rad; without a mask -pi/2.

        Args:
            azimuth: from North over East, rad.

        >>> site = Site(0, 0, mask=((0, 0.1), (math.pi, 0.3)))
        >>> site.horizon([math.pi / 2, -math.pi / 2, math.tau]).round(9)
        array([0.2, 0.2, 0.1])
        """
        asked = np.asarray(azimuth, dtype=float)
        if not self.mask:
            return np.full(asked.shape, -_RIGHT)
        at, up = np.array(self.mask).T
        return np.asarray(np.interp(asked, at, up, period=math.tau))

    def look(
        self, orbit: Orbit, seconds: ArrayLike | datetime | str, *, refraction: bool = False
    ) -> Look:
        """Return where a satellite stands, how far it is, and how fast it goes away.

        Args:
            orbit: of the satellite.
            seconds: after the epoch of its elements; or one time, UTC.
            refraction: whether the air lifts it.

        >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
        >>> look = Site(-0.76, 3.01, 20).look(orbit, [0.0, 60.0])
        >>> np.degrees(look.elevation).round(2)
        array([-56.79, -58.73])
        """
        if isinstance(seconds, datetime | str):
            seconds = orbit.since_epoch(seconds)
        times = np.atleast_1d(np.asarray(seconds, dtype=float))
        r, v = orbit.propagate(times)
        place, speed = topocentric(self, orbit, times, r, v)
        far = np.sqrt(np.einsum("ij,ij->i", place, place))
        direction = place / far[:, None]
        rate = np.einsum("ij,ij->i", direction, speed)
        if refraction:
            direction = lifted(direction, self.pressure, self.temperature)
        return Look(direction, far, rate)

    def passes(
        self,
        orbit: Orbit,
        days: float = 3.0,
        above: float = math.radians(10.0),
        start: datetime | str | None = None,
        *,
        refraction: bool = False,
    ) -> Passes:
        """Return the passes of a satellite, each a trajectory of its direction.

        Args:
            orbit: of the satellite.
            days: how many days to look.
            above: the elevation, rad, from which a pass counts; the mask counts as well.
            start: when to begin, UTC; by default at the epoch of the elements.
            refraction: whether the air lifts it.

        >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
        >>> found = Site(-0.76, 3.01, 20).passes(orbit, days=1)
        >>> len(found), round(max(p.culmination for p in found), 2)
        (5, 0.71)
        """
        from linkwright.mounts.passes import find_passes

        found = find_passes(self, orbit, days, above, start, refraction=refraction)
        for note in found.warnings:
            warnings.warn(note, stacklevel=2)
        return found


def topocentric(
    site: Site, orbit: Orbit, seconds: Array, position: Array, velocity: Array
) -> tuple[Array, Array]:
    """Return places and speeds in the site's frame, m and m/s, of those in TEME, km and km/s."""
    angle = sidereal_angle(orbit.day, orbit.second + site.ut1_utc + seconds)
    c, s = np.cos(angle), np.sin(angle)
    rate = sidereal_rate(orbit.day)
    (x, y, z), (vx, vy, vz) = position.T, velocity.T
    turned = np.empty((2, len(seconds), 3))
    place, speed = turned
    place[:, 0], place[:, 1], place[:, 2] = c * x + s * y, c * y - s * x, z
    speed[:, 0] = c * vx + s * vy + rate * place[:, 1]
    speed[:, 1] = c * vy - s * vx - rate * place[:, 0]
    speed[:, 2] = vz
    turned *= 1e3
    place -= on_ellipsoid(site.latitude, site.longitude, site.height)
    found = turned @ east_north_up(site.latitude, site.longitude).T
    return found[0], found[1]
