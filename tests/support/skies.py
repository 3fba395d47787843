"""Orbits as tests write them: with the angles of element files, in degrees."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from linkwright.mounts import Orbit


def orbit_of(
    name: str,
    number: int,
    day: int,
    second: float,
    inclination: float,
    node: float,
    eccentricity: float,
    perigee: float,
    anomaly: float,
    motion: float,
    drag: float = 0.0,
) -> Orbit:
    """Return an orbit whose angles are in degrees."""
    i, n, p, a = (math.radians(x) for x in (inclination, node, perigee, anomaly))
    return Orbit(name, number, day, second, i, n, eccentricity, p, a, motion, drag)


def sky(**axes: Any) -> dict[str, Any]:
    """Return axes of a chart in rad from those in degrees: (first, last, count), or all values."""
    return {
        name: (math.radians(given[0]), math.radians(given[1]), given[2])
        if isinstance(given, tuple) and len(given) == 3
        else np.radians(given)
        for name, given in axes.items()
    }


class Turned(Protocol):
    """A rotator, or a client of one."""

    def position(self) -> tuple[float, float]:
        """Return azimuth and elevation, rad."""


def degrees(device: Turned) -> tuple[float, float]:
    """Return where a rotator looks, in degrees."""
    azimuth, elevation = device.position()
    return math.degrees(azimuth), math.degrees(elevation)
