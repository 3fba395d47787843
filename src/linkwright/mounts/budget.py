"""The budget of a mount's pointing: what each source of error may turn the beam by.

All are small angles of the beam, along the way of the satellite and across it, rad. Errors of
dimensions, steps and backlash of the actuators, and clearances of joints, go through the
sensitivities of the platform's pose with the loops closed; sag and wind through what they bend; lag
and clock through the rate at which the satellite moves; the age of elements through the way that it
makes along its track; attitude as it is, about both axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.checks import checked, checked_angle
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.mounts.inverse_pointing import start_at
from linkwright.mounts.keyholes import checked_beam
from linkwright.parallel.error_budgets import ErrorBudget, ErrorSource
from linkwright.parallel.platform_stiffness import Stiffening
from linkwright.parallel.pose_errors import pose_sensitivity

Array = NDArray[np.float64]

_WIDEST = 0.5  # rad: what is above was meant in degrees
OUTPUTS = ("along", "across")
"""Of the satellite's way, rad."""
LEVEL = 12.0
"""dB at an error of a whole half-power beamwidth: 3 dB at half of it, with a Gaussian beam."""


@one_line
@dataclass(frozen=True, slots=True)
class PointingLimits:
    """Limits, ±, of what turns a beam away.

    Args:
        dimensions: of parameters of the mount by name, m or rad.
        clearances: of joints, radially, by the body that hangs on one or the loop it closes, m.
        step: of each actuator: encoder or motor, rad or m.
        backlash: of each actuator, rad or m.
        sag: of dish and links under their weight, rad.
        wind: bending by gusts, rad.
        lag: of the servos, s.
        clock: error of the station's clock, s.
        along_track: error of the elements along the orbit at their age, m; `along_track_error`
            gives a rough one.
        distance: of the satellite, m.
        attitude: of the deck about each axis, rad.

    Example:
        >>> PointingLimits(clock=0.05).clock
        0.05
    """

    dimensions: Mapping[str, float] = field(default_factory=dict)
    clearances: Mapping[str, float] = field(default_factory=dict)
    step: float = 0.0
    backlash: float = 0.0
    sag: float = 0.0
    wind: float = 0.0
    lag: float = 0.0
    clock: float = 0.0
    along_track: float = 0.0
    distance: float = 1e6
    attitude: float = 0.0

    def __post_init__(self) -> None:
        named = ("dimensions", "clearances")
        numbers = {n: getattr(self, n) for n in self.__slots__ if n not in named}
        for name, value in {**numbers, **self.dimensions, **self.clearances}.items():
            checked(value, f"the limit of {name}", least=0)
        for name in ("sag", "wind", "attitude"):
            checked_angle(getattr(self, name), f"the limit of {name}", most=_WIDEST)
        if not self.distance > 0:
            raise InputError("a satellite has a distance above 0 m")


def along_track_error(age: float) -> float:
    """Return a rough error of a low orbit's elements along its track, m.

    One kilometer at the epoch, and as much again by the day, then faster with drag: 1 + age + 0.1
    age^2 km. It is a rule of thumb; elements with a covariance have their own.

    Args:
        age: of the elements, days.

    Example:
        >>> along_track_error(3.0)
        4900.0
    """
    if not age >= 0:
        raise InputError(f"elements of an age of {age} days", remedy="give 0 or more")
    return 1000.0 * (1 + age + 0.1 * age**2)


@worded
def pointing_budget(
    model: ModelLike, direction: ArrayLike, velocity: ArrayLike, limits: PointingLimits
) -> ErrorBudget:
    """Return the budget of the beam while a mount follows a satellite, rad.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model, with actuators and
            platform.
        direction: unit vector of the satellite, in the mount's axes.
        velocity: of it, 1/s.
        limits: of what turns the beam away.

    Example:
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("x_y")
        >>> yoke = m.body("yoke", rotate="x", mass=20, inertia=2)
        >>> dish = m.body("dish", parent=yoke, rotate="y", mass=50, inertia=5)
        >>> m.actuate("yoke", "dish")
        >>> platform = m.set_platform(dish)
        >>> found = pointing_budget(m, (0, 0, 1), (0.01, 0, 0), PointingLimits(lag=0.1, sag=4e-4))
        >>> print((found.root_of_squares * 1e3).round(3))  # mrad
        [1.077 0.4  ]
    """
    d, moving = np.asarray(direction, dtype=float), np.asarray(velocity, dtype=float)
    if d.shape != (3,) or moving.shape != (3,) or not np.isfinite([*d, *moving]).all():
        raise InputError("a direction and its rate are three finite numbers each")
    d = d / np.linalg.norm(d)
    speed = float(np.linalg.norm(moving))
    along = moving / speed if speed > 1e-12 else _any_across(d)
    along = along - d * float(along @ d)
    along = along / np.linalg.norm(along)
    axes = np.array([along, np.cross(d, along)])
    sources = [
        ErrorSource("sag", limits.sag, [1.0, 1.0]),
        ErrorSource("wind", limits.wind, [1.0, 1.0], "normal"),
        ErrorSource("lag", limits.lag, [speed, 0.0]),
        ErrorSource("clock", limits.clock, [speed, 0.0]),
        ErrorSource("age of elements", limits.along_track, [1.0 / limits.distance, 0.0]),
        ErrorSource("attitude", limits.attitude, [1.0, 1.0], "normal"),
    ]
    if limits.dimensions or limits.step or limits.backlash:
        found = pose_sensitivity(model, start_at(model, d), tuple(limits.dimensions))
        beams = [
            axes @ np.cross(part[3:].T, d).T for part in (found.of_dimensions, found.of_actuators)
        ]
        for k, name in enumerate(found.dimensions):
            sources.append(ErrorSource(name, limits.dimensions[name], beams[0][:, k]))
        for k, name in enumerate(found.actuators):
            row = beams[1][:, k]
            sources.append(ErrorSource(f"step of {name}", limits.step / 2, row))
            sources.append(ErrorSource(f"backlash of {name}", limits.backlash / 2, row))
    if limits.clearances:
        soft = Stiffening(parallel_machine(model), start_at(model, d))
        for name, gap in limits.clearances.items():
            beam = axes @ np.cross(soft.joint(name)[3:].T, d).T
            row = np.linalg.norm(beam, axis=1)  # the gap lets it go any way
            sources.append(ErrorSource(f"clearance of {name}", gap, row))
    return ErrorBudget(tuple(s for s in sources if s.size > 0), OUTPUTS)


def pointing_loss(error: ArrayLike, beamwidth: float) -> Array:
    """Return what an error costs, dB, with a Gaussian beam: 12 (error/beamwidth)^2.

    Args:
        error: between beam and satellite, rad.
        beamwidth: full width at half power, rad.

    Example:
        >>> round(float(pointing_loss(0.007, 0.014)), 9)
        3.0
    """
    checked_beam(beamwidth)
    return np.asarray(LEVEL * (np.asarray(error, dtype=float) / beamwidth) ** 2)


def _any_across(d: Array) -> Array:
    """Return a vector that is not along d."""
    return np.asarray(np.eye(3)[int(np.argmin(np.abs(d)))])
