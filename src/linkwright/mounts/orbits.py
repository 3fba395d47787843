"""Orbits: the mean elements of satellites, and where SGP4 says that they are.

An orbit is held as the numbers that files of elements give, with angles in radians and mean motion
in revolutions a day, in the frame TEME (true equator, mean equinox) of its epoch, in UTC. They are
means in the sense of SGP4 (Hoots and Roehrich, Spacetrack Report No. 3, 1980; Vallado et al.,
"Revisiting Spacetrack Report #3", AIAA 2006-6753) and only that theory may propagate them. The
package sgp4 does so; it comes with the extra `mounts`. Times are seconds since the epoch of the
elements, so that no digits are lost to a count of days.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.checks import checked_angle
from linkwright.base.errors import Error, suggestion
from linkwright.base.files import integer
from linkwright.base.optional import extra

Array = NDArray[np.float64]

DAY = 86_400.0
MJD_ZERO = datetime(1858, 11, 17, tzinfo=UTC)
"""When Modified Julian Dates begin."""
MU = 398_600.8
"""Gravity of the Earth that SGP4's elements hold, WGS-72, km^3/s^2."""
EARTH = 6378.135
"""Equatorial radius that SGP4's elements hold, WGS-72, km."""
NEAR = 225.0
"""Periods below this, min, are propagated without Moon and Sun."""
_NODES, _REACH = 14, 0.4  # of a piece of an orbit: places, and half its length at perigee, rad
_DENSE = 4  # times for each place from which on these are interpolated
_OFF = 1e-7  # km, of what is interpolated

_FAULTS = {
    1: "its mean elements leave the range of SGP4, as when an orbit decays",
    2: "its mean motion falls below zero",
    3: "its eccentricity leaves the range of SGP4",
    4: "its semilatus rectum falls below zero",
    6: "it has decayed",
}


class OrbitError(Error):
    """An orbit that cannot be propagated, or that is not there."""


@dataclass(frozen=True, slots=True)
class Orbit:
    """The mean elements of a satellite.

    Args:
        name: of the satellite.
        number: in the catalog, of up to nine digits.
        day: of the epoch, Modified Julian Date, UTC.
        second: of that day.
        inclination: rad.
        node: right ascension of the ascending node, rad.
        eccentricity: from 0 to below 1.
        perigee: argument of perigee, rad.
        anomaly: mean anomaly, rad.
        motion: mean motion, revolutions a day.
        drag: B*, 1/(radius of the Earth).
        designator: the international designator, such as "1998-067A".

    >>> iss = Orbit(
    ...     "ISS (ZARYA)", 25544, 61000, 0.0, 0.9013, 2.094, 4e-4, 1.571, 4.712, 15.5, 2e-5
    ... )
    >>> iss.epoch.isoformat(), round(iss.period / 60, 2)
    ('2025-11-21T00:00:00+00:00', 92.9)
    """

    name: str
    number: int
    day: int
    second: float
    inclination: float
    node: float
    eccentricity: float
    perigee: float
    anomaly: float
    motion: float
    drag: float = 0.0
    designator: str = ""

    def __post_init__(self) -> None:
        """Reject angles that are in degrees."""
        of = f"of {self.name} ({self.number})"
        checked_angle(
            self.inclination, f"the inclination {of}", least=0.0, most=math.pi, kind=OrbitError
        )
        for name in ("node", "perigee", "anomaly"):
            checked_angle(getattr(self, name), f"the {name} {of}", kind=OrbitError)

    @property
    def epoch(self) -> datetime:
        """When its elements hold, UTC, to the microsecond."""
        return self.time(0.0)

    @property
    def period(self) -> float:
        """The time of one revolution, s."""
        return DAY / self.motion

    @property
    def axis(self) -> float:
        """The semi-major axis of the mean motion, km."""
        return float((MU * (self.period / (2 * math.pi)) ** 2) ** (1 / 3))

    @property
    def fastest(self) -> float:
        """The angular speed about the Earth's center at perigee, rad/s."""
        e = self.eccentricity
        return 2 * math.pi / self.period * math.sqrt((1 + e) / (1 - e) ** 3)

    def time(self, seconds: float) -> datetime:
        """Return the time, UTC, that is some seconds after the epoch."""
        return MJD_ZERO + timedelta(
            days=self.day, microseconds=round((self.second + seconds) * 1e6)
        )

    def since_epoch(self, time: datetime | str) -> float:
        """Return how many seconds after the epoch a time is.

        Args:
            time: UTC; a time without a zone is taken as UTC, a text is one of ISO 8601.

        >>> orbit = Orbit("A", 1, 61000, 60.0, 0.9, 0.0, 0.0, 0.0, 0.0, 15.0)
        >>> orbit.since_epoch("2025-11-21T00:02")
        60.0
        """
        between = utc(time) - MJD_ZERO
        return (between.days - self.day) * DAY + (
            between.seconds + between.microseconds * 1e-6 - self.second
        )

    def propagate(self, seconds: ArrayLike) -> tuple[Array, Array]:
        """Return positions and velocities in TEME, km and km/s, one row for each time.

        Many times that lie close are interpolated between places of SGP4, to 0.1 mm.

        Args:
            seconds: after the epoch.

        >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
        >>> position, velocity = orbit.propagate([0.0, 60.0])
        >>> position.shape, round(float(np.linalg.norm(velocity[0])), 2)
        ((2, 3), 7.67)
        """
        times = np.atleast_1d(np.asarray(seconds, dtype=float))
        close = _interpolated(self, times)
        if close is not None:
            return close
        codes, r, v = propagated(self, times)
        wrong = np.flatnonzero(codes)
        if len(wrong):
            raise self.fault(int(codes[wrong[0]]), float(times[wrong[0]]))
        return r, v

    def fault(self, code: int, seconds: float) -> OrbitError:
        """Return what SGP4 says against an orbit some seconds after the epoch, to be raised."""
        why = _FAULTS.get(code, f"SGP4 gives up on it with its number {code}")
        when = f"{self.time(seconds):%Y-%m-%d %H:%M} UTC"
        return OrbitError(
            f"{self.name} ({self.number}) has no place at {when}: {why}",
            remedy=f"its elements are of {self.epoch:%Y-%m-%d}: take newer ones, or earlier times",
        )


def utc(time: datetime | str) -> datetime:
    """Return a time in UTC; one without a zone is taken as UTC, a text is one of ISO 8601.

    >>> utc("2026-11-16 12:00").isoformat(), utc("2026-11-16T12:00+01:00").hour
    ('2026-11-16T12:00:00+00:00', 11)
    """
    found = time
    if isinstance(found, str):
        try:
            found = datetime.fromisoformat(found)
        except ValueError:
            raise OrbitError(
                f"{time!r} is not a time", remedy="write it as 2026-11-16T12:00:00, in UTC"
            ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def propagated(orbit: Orbit, seconds: Array) -> tuple[NDArray[np.uint8], Array, Array]:
    """Return SGP4's faults (0: none), positions (km) and velocities (km/s) in TEME.

    Where there is a fault, positions and velocities are not numbers.
    """
    satellite = _satellite(orbit)
    flat = np.ascontiguousarray(seconds, dtype=float).ravel()
    whole = np.full(flat.shape, satellite.jdsatepoch)
    codes, r, v = satellite.sgp4_array(whole, satellite.jdsatepochF + flat / DAY)
    r[codes != 0], v[codes != 0] = np.nan, np.nan
    return codes, r, v


def _interpolated(orbit: Orbit, times: Array) -> tuple[Array, Array] | None:
    """Return positions and velocities by polynomials of Chebyshev through places of SGP4.

    None where times are few, where the last coefficients are not small (Trefethen, Approximation
    Theory and Approximation Practice, chapter 8), with Moon and Sun, and where SGP4 gives up.
    """
    if times.ndim != 1 or len(times) < _DENSE * _NODES or orbit.period / 60 >= NEAR:
        return None
    first, last = float(times.min()), float(times.max())
    pieces = max(1.0, (last - first) * orbit.fastest / (2 * _REACH))
    if not pieces * _NODES * _DENSE < len(times):
        return None
    count, n = math.ceil(pieces), _NODES
    angles = (np.arange(n) + 0.5) * (math.pi / n)
    half = (last - first) / (2 * count)
    middles = first + half * (2 * np.arange(count) + 1)
    nodes = (middles[:, None] + half * np.cos(angles)).ravel()
    codes, r, v = propagated(orbit, np.append(nodes, (first, last)))
    if codes.any():
        return None
    values = np.hstack([r, v])[:-2].reshape(count, n, 6)
    weights = np.cos(np.outer(np.arange(n), angles)) * (2 / n)
    weights[0] /= 2
    terms = weights @ values
    left = np.abs(terms[:, -2:]).sum(axis=1).max(axis=0)
    if left[:3].max() > _OFF or left[3:].max() > _OFF * orbit.fastest:
        return None
    order = None if (times[1:] >= times[:-1]).all() else np.argsort(times)
    rising = times if order is None else times[order]
    cuts = np.searchsorted(rising, middles[1:] - half).tolist()
    found = np.empty((6, len(times)))
    for k, (a, b) in enumerate(zip([0, *cuts], [*cuts, len(times)], strict=True)):
        powers = np.empty((n, b - a))
        powers[0], powers[1] = 1.0, (rising[a:b] - middles[k]) / (half or 1.0)
        twice = 2 * powers[1]
        for i in range(2, n):
            np.multiply(twice, powers[i - 1], out=powers[i])
            powers[i] -= powers[i - 2]
        found[:, a:b] = terms[k].T @ powers
    if np.einsum("ij,ij->j", found[:3], found[:3]).min() <= EARTH**2:
        return None  # SGP4 says of each time whether it has decayed
    if order is not None:
        found[:, order] = found.copy()
    return found[:3].T, found[3:].T


def _satellite(orbit: Orbit) -> Any:
    """Return SGP4's own record; it keeps state as it goes, so each call makes its own."""
    api = extra("sgp4.api", "mounts")
    found = api.Satrec()
    found.sgp4init(
        api.WGS72,
        "i",
        0,  # its number changes no place, and SGP4 has room for five characters only
        (2_400_000.5 + orbit.day + orbit.second / DAY) - 2_433_281.5,  # rounded as SGP4 does
        orbit.drag,
        0.0,  # of the original theory SGP alone
        0.0,
        orbit.eccentricity,
        orbit.perigee,
        orbit.inclination,
        orbit.anomaly,
        orbit.motion / (1440 / (2 * math.pi)),  # rad/min, rounded alike
        orbit.node,
    )
    return found


@dataclass(frozen=True, slots=True)
class Orbits:
    """The orbits of a file, by name or by catalog number, or one after the other.

    Args:
        members: in the order of the file.
        file: for messages.

    >>> a = Orbit("A", 7, 61000, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 15.0)
    >>> orbits = Orbits((a,))
    >>> orbits["A"] is orbits[7] is a, "B" in orbits, [o.name for o in orbits]
    (True, False, ['A'])
    """

    members: tuple[Orbit, ...]
    file: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Orbit]:
        return iter(self.members)

    def __contains__(self, key: object) -> bool:
        return any(key in (orbit.name, orbit.number) for orbit in self.members)

    def __getitem__(self, key: str | int) -> Orbit:
        found = [orbit for orbit in self.members if key in (orbit.name, orbit.number)]
        if not found and isinstance(key, str):  # a number that came as a text, or small letters
            said = key.strip()
            number = integer(said)
            found = [
                orbit
                for orbit in self.members
                if orbit.number == number or orbit.name.casefold() == said.casefold()
            ]
        if len(found) == 1:
            return found[0]
        where = f" in {self.file}" if self.file else ""
        if found:
            numbers = ", ".join(str(orbit.number) for orbit in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            raise OrbitError(
                f"{len(found)} satellites{where} are called {key!r}",
                remedy=f"take one by its number: {numbers}{more}",
            )
        first = ", ".join(f"{orbit.name} ({orbit.number})" for orbit in self.members[:3])
        raise OrbitError(
            f"there is no satellite {key!r}{where}",
            remedy=suggestion(
                str(key), [orbit.name for orbit in self.members], f"there are {first}"
            ),
        )
