"""Mounts 1: where serial mounts lose a pass, and how a pass is shaped around that."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts import Site, serial_axes, shape_path
from linkwright.mounts.keyholes import between, follow
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series

Array = NDArray[np.float64]
DEGREE = math.radians(1.0)
TIMES = np.linspace(0.0, 40.0, 2001)
MOUNTS = {"alt-az": "zenith", "x-y": "x axis", "equatorial": "pole"}


def _past(kind: str, distance: float) -> Trajectory:
    """Return a great circle at 1 deg/s that comes near the first axis of a mount after 20 s."""
    axes = serial_axes(kind, Site(*np.radians([-43.52, 172.58])))
    first, zero, across = (np.array(x) for x in (axes.first, axes.zero, axes.frame[1]))
    nearest = math.cos(distance) * first + math.sin(distance) * zero
    turned = DEGREE * (TIMES - 20.0)
    way = np.cos(turned)[:, None] * nearest + np.sin(turned)[:, None] * across
    return through(TIMES, way)


def keyholes() -> Reproduction:
    """Return what figures 1.2 to 1.4 are about: the first axis of three mounts near its keyhole."""
    parts, made = [], []
    for kind, where in MOUNTS.items():
        axes = serial_axes(kind, Site(*np.radians([-43.52, 172.58])))
        curves = []
        for deg, printed in ((1, "57.299"), (5, "11.474"), (20, "2.924")):
            path = _past(kind, deg * DEGREE)
            rate = np.abs(axes.rate(path(TIMES), path.speed(TIMES))) / DEGREE
            curves.append(Series(TIMES - 20.0, rate, f"{deg} deg away"))
            made.append(
                Check(
                    f"{kind}: {deg} deg from its {where}, fastest",
                    printed,
                    rate.max(),
                    "deg/s",
                    recomputed=True,
                )
            )
        lost = follow(kind, axes, _past(kind, DEGREE), speed=5 * DEGREE, beamwidth=0.8 * DEGREE)
        made.append(
            Check(
                f"{kind}: lost at 5 deg/s, 1 deg away",
                "21.03",
                lost.lost,
                "s",
                recomputed=True,
                within=0.03,
                why="sampled every 0.02 s",
            )
        )
        parts.append(
            Panel(
                curves,
                "time from the nearest point - s",
                "first axis - deg/s",
                f"{kind}: keyhole at the {where}",
                logarithmic=True,
            )
        )
    return Reproduction(
        parts,
        made,
        note="A target on a great circle at 1 deg/s; the first axis turns at 1/sin of its distance "
        "there. The beam is 0.8 deg wide.",
    )  # fmt: skip


def lead_and_lag() -> Reproduction:
    """Return section 1.3: a pass 2 deg from the zenith, led and lagged by 1 deg."""
    path = _past("alt-az", 2 * DEGREE)
    found = shape_path(path, error=DEGREE, speed=60 * DEGREE, acceleration=60 * DEGREE)
    d, shaped = path(TIMES), found.path(TIMES)[:, 0]
    plain = np.unwrap(np.arctan2(d[:, 0], d[:, 1]))
    error = between(found.direction(TIMES), d)
    rates = np.abs(serial_axes("alt-az").rate(d, path.speed(TIMES)))
    over = shape_path(path, error=2.1 * DEGREE, over_the_top=True)
    span = TIMES - 20.0
    azimuths = [
        Series(span, (x - plain[1000]) / DEGREE, label)
        for x, label in ((plain, "satellite"), (shaped, "antenna"))
    ]
    speeds = [
        Series(span, rates / DEGREE, "satellite"),
        Series(span, np.abs(found.path(TIMES, 1)[:, 0]) / DEGREE, "antenna"),
    ]
    return Reproduction(
        [Panel(azimuths, "time - s", "azimuth - deg", x_range=(-10, 10)),
         Panel(speeds, "time - s", "speed of the azimuth - deg/s", x_range=(-10, 10)),
         Panel([Series(span, error / DEGREE)], "time - s", "pointing error - deg",
               x_range=(-10, 10))],
        [Check("time of the turn, against none", "2", found.plain / found.rate,
               within=0.5, why="'double' is said of it; it falls with the error allowed"),
         Check("fastest azimuth, plain", "28.654", found.plain / DEGREE, "deg/s", recomputed=True),
         Check("fastest azimuth, shaped", "13.43", found.rate / DEGREE, "deg/s", recomputed=True,
               within=0.02, why="by a spline, which is a little faster"),
         Check("largest error", "1", error.max() / DEGREE, "deg", at_most=True),
         Check("over the top: fastest azimuth", "0.5", over.rate / DEGREE, "deg/s", at_most=True,
               recomputed=True)],
        note="A target at 1 deg/s that passes the zenith at 2 deg; half of that may be its error.",
    )  # fmt: skip
