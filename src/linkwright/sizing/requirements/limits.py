"""Limits of joints, and where a task exceeds them (ROBSIM's CHLIM, which was never written)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, suggestion, unknown
from linkwright.robots.closing import driven_names

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]
LIMITED = ("lower", "upper", "speed", "acceleration", "jerk", "torque", "power")
"""What can be limited in a joint, beside its lowest and highest position all as magnitudes."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a task exceeds.

    Args:
        joint: its name.
        quantity: "position", "speed", "acceleration", "jerk", "torque" or "power".
        time: when the excess is largest, s.
        value: then, with its sign.
        limit: that it exceeds, with the sign of the value.
        unit: of both.
        first: when the limit is exceeded for the first time, s.

    Example:
        >>> Excess("j1", "speed", 0.5, -2.5, -2.0, "rad/s", 0.4).excess
        0.5
    """

    joint: str
    quantity: str
    time: float
    value: float
    limit: float
    unit: str
    first: float

    @property
    def excess(self) -> float:
        """By how much the limit is exceeded."""
        return abs(self.value - self.limit)

    def __str__(self) -> str:
        return (
            f"{self.joint}: {self.quantity} {self.value:.4g} {self.unit} at {self.time:.4g} s "
            f"exceeds {self.limit:.4g} by {self.excess:.4g}"
        )


def limits_of(
    robot: Robot, given: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return the limits of each joint: the robot's own, and others in place of them."""
    names = driven_names(robot) if robot.loops else tuple(robot.coordinates)
    found: dict[str, dict[str, float]] = {}
    for k, name in enumerate(names):
        lower, upper = map(float, robot.limits[robot.coordinates.index(name)])
        found[name] = {
            "lower": lower,
            "upper": upper,
            "speed": float(robot.speed_limits[k]),
            "torque": float(robot.effort_limits[k]),
        }
    for joint, own in given.items():
        if joint not in found:
            raise unknown_joint(joint, names)
        for what, value in own.items():
            if what not in LIMITED:
                raise unknown("limit", what, LIMITED, owner="a joint", code="R206")
            number = float(value)
            if np.isnan(number) or (number <= 0 and what not in ("lower", "upper")):
                raise InputError(
                    f"the limit of {what} of {joint!r} is {number:g}",
                    remedy="give a magnitude above zero",
                    code="R206",
                )
            found[joint][what] = number
    return found


def unknown_joint(name: str, known: tuple[str, ...]) -> InputError:
    """Return the error for a joint that is not there."""
    return InputError(
        f"the robot has no joint {name!r}",
        remedy=suggestion(name, known, f"there are {', '.join(known)}"),
        code="R203",
    )


def excesses(
    joint: str,
    limits: Mapping[str, float],
    times: Array,  # of the samples, s
    values: Mapping[str, tuple[Array, str]],
    tolerance: float = 1e-9,
) -> list[Excess]:
    """Return where one joint exceeds its limits."""
    found: list[Excess] = []
    for quantity, (samples, unit) in values.items():
        if quantity == "position":
            ends = limits.get("lower", -np.inf), limits.get("upper", np.inf)
        else:
            most = limits.get(quantity, np.inf)
            ends = -most, most
        for limit, over in ((ends[0], ends[0] - samples), (ends[1], samples - ends[1])):
            if not np.isfinite(limit):
                continue
            beyond = over > tolerance * (1 + abs(limit))
            if np.any(beyond):
                k, first = int(np.argmax(over)), int(np.argmax(beyond))
                found.append(
                    Excess(
                        joint,
                        quantity,
                        float(times[k]),
                        float(samples[k]),
                        float(limit),
                        unit,
                        float(times[first]),
                    )
                )
    return found
