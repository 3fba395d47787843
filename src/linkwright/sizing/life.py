"""Averages that wear is counted with, and the life of gears and bearings.

A gear's bearing wears with turns, so its average torque is weighted by speed and time, with the
exponent of life: T_av = (sum |n| T^p t / sum |n| t)^(1/p), and its life is
L10 = L_r (T_r/T_av)^p n_r/n_av. Bearings follow ISO 281:2007, L10 = (C/P)^p in millions of turns
with p = 3 for balls and 10/3 for rollers, and ISO 76 for the static safety C0/P0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.catalog.schema import BearingEntry

__all__ = [
    "BearingLife",
    "average_speed",
    "average_torque",
    "bearing_life",
    "equivalent_load",
    "gear_life",
    "static_load",
]

Array: TypeAlias = NDArray[Any]

HOUR = 3600.0


def average_torque(torque: Array, speed: Array, durations: Array, exponent: float = 3.0) -> float:
    """Return the average torque of a gear, weighted by speed and time; 0 where nothing turns.

    Units: `durations` in s.

    >>> T, n, t = [150, 82, 130, 0], [10, 20, 10, 0], [0.2, 3, 0.3, 0.2]
    >>> round(average_torque(np.array(T), np.array(n), np.array(t)), 2)
    89.39
    """
    turns = np.abs(speed) * durations
    total = float(turns.sum())
    if total == 0.0:
        return 0.0
    worn = float((turns * np.abs(torque) ** exponent).sum())
    return float((worn / total) ** (1.0 / exponent))


def average_speed(speed: Array, durations: Array) -> float:
    """Return the mean of the speed's magnitude over the whole cycle, pauses included.

    >>> average_speed(np.array([-10.0, 0.0]), np.array([1.0, 3.0]))
    2.5
    """
    return float((np.abs(speed) * durations).sum() / durations.sum())


def gear_life(
    rated_life: float,
    rated: float,
    rated_speed: float,
    torque: float,
    speed: float,
    exponent: float = 3.0,
) -> float:
    """Return the life that 90 % of gears reach, in the unit of the rated life.

    >>> gear_life(7000, 50, 2000, 100, 1000)
    1750.0
    """
    if torque == 0.0 or speed == 0.0:
        return math.inf
    return float(rated_life * (rated / torque) ** exponent * rated_speed / speed)


def equivalent_load(bearing: BearingEntry, radial: Array, axial: Array, moment: Array) -> Array:
    """Return the equivalent dynamic load of a bearing, N.

    Crossed rollers: P = X (Fr + 2 M/d) + Y Fa, with X = 1 and Y = 0.45 up to Fa = 1.5 times the
    sum in the parenthesis, and 0.67 for both beyond. Balls (ISO 281, deep groove in the middle of
    its range) and rollers carry a moment as the same radial force.
    """
    across = radial + 2.0 * moment / bearing.diameter
    if bearing.kind == "crossed-roller":
        steep = axial > 1.5 * across
        return np.where(steep, 0.67 * across + 0.67 * axial, across + 0.45 * axial)
    limit, x, y = (0.3, 0.56, 1.45) if bearing.kind == "ball" else (0.35, 0.4, 1.7)
    return np.where(axial > limit * across, x * across + y * axial, across)


def static_load(bearing: BearingEntry, radial: Array, axial: Array, moment: Array) -> Array:
    """Return the equivalent static load, N: Fr + 2 M/d + 0.44 Fa, or ISO 76's for balls."""
    across = radial + 2.0 * moment / bearing.diameter
    if bearing.kind == "ball":
        return np.asarray(np.maximum(across, 0.6 * across + 0.5 * axial))
    return np.asarray(across + 0.44 * axial)


@dataclass(frozen=True, slots=True)
class BearingLife:
    """What a bearing does over a cycle.

    Args:
        load: the equivalent load, N, weighted by turns.
        hours: L10; infinite where nothing turns.
        safety: the static rating over the largest static load.
        at: index of the sample with that load.
        swing: between the lowest and the highest position, rad.
        least_swing: below which the tracks of neighboring elements do not overlap, rad.
    """

    load: float
    hours: float
    safety: float
    at: int
    swing: float
    least_swing: float

    @property
    def warning(self) -> str:
        """Words about a swing so small that the life does not hold, or nothing."""
        if not 0.0 < self.swing < self.least_swing:
            return ""
        return (
            f"the joint swings by {math.degrees(self.swing):.3g} deg, less than the "
            f"{math.degrees(self.least_swing):.3g} deg at which the tracks of neighboring rolling "
            "elements meet: ISO 281 does not hold, and the lubricant is pressed out (false "
            "brinelling)"
        )


def bearing_life(
    bearing: BearingEntry, position: Array, times: Array, force: Array, moment: Array
) -> BearingLife:
    """Return the life of a joint's bearing from the force and moment that it carries.

    The cage of a slim bearing turns about half as far as the ring, so tracks of neighbors meet when
    the ring swings by 4 pi/Z.

    Units: `position` in rad, `times` in s, `force` in N.
    """
    radial = np.hypot(force[:, 0], force[:, 1])
    axial = np.abs(force[:, 2])
    tilt = np.hypot(moment[:, 0], moment[:, 1])
    load = equivalent_load(bearing, radial, axial, tilt)
    turned = np.abs(np.diff(position))
    turns = float(turned.sum()) / (2.0 * math.pi)
    exponent = 3.0 if bearing.kind == "ball" else 10.0 / 3.0
    still = static_load(bearing, radial, axial, tilt)
    at = int(np.argmax(still))
    mean, hours = 0.0, math.inf
    if turns > 0.0:
        powers = 0.5 * (load[1:] ** exponent + load[:-1] ** exponent)
        mean = float(((turned * powers).sum() / turned.sum()) ** (1.0 / exponent))
        if mean > 0.0:
            cycles = 1e6 * (bearing.C / mean) ** exponent / turns
            hours = cycles * float(times[-1] - times[0]) / HOUR
    safety = float(bearing.C0 / still[at]) if still[at] > 0.0 else math.inf
    return BearingLife(
        mean,
        hours,
        safety,
        at,
        float(np.ptp(position)),
        4.0 * math.pi / bearing.elements,
    )
