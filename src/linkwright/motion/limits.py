"""Limits of a motion along a path, as lines between u = s'' and x = s'^2.

Along a path q(s) the speed is q' s' and the acceleration q' s'' + q'' s'^2. So accelerations and,
by inverse dynamics, forces are a u + b x + w with numbers of the place alone. Limits that depend on
speed have a root of x in them:

- torque-speed line: T sign(q') <= stall (1 - |q'| s' / no_load). The root is concave, so its
  tangent at a known x lies above it;
- power: sum of q' T s' <= P, or sum of q' T <= P / s'. One over a root is convex, so its tangent
  lies below it.

With tangents at any known x, what is allowed is truly allowed. Tangents at the solution before give
a better one, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.motion.trajectory import MotionError

Array = NDArray[np.float64]

Dynamics = Callable[[Array, Array, Array], Array]
"""Forces from coordinates, speeds and accelerations, a row for each instant: inverse dynamics."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Limits of a motion, for each value or one for all.

    Args:
        speed: largest absolute speeds.
        acceleration: largest absolute accelerations.
        jerk: largest absolute jerks, of motions that have a limit of them.
        effort: largest absolute forces and moments.
        dynamics: the forces that a motion takes, from rows of coordinates, speeds and
            accelerations, such as `robot.inverse_dynamics`; needed with limits of forces.
        stall: force at rest of a torque-speed line, along which the force that drives falls to
            zero at `no_load`; `voltage_line` gives both for a motor with a supply.
        no_load: speed at which no force is left to drive.
        power: largest mechanical power of all values together, W.
        braking: largest power that is given back, W; no limit by default.
        continuous: largest root mean square of the force over a cycle, which heats the motor.
        rest: time at rest in a cycle, s, in which the motor cools.

    >>> Limits(speed=[1.0, 2.0]).speed
    [1.0, 2.0]
    """

    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    jerk: ArrayLike | None = None
    effort: ArrayLike | None = None
    dynamics: Dynamics | None = None
    stall: ArrayLike | None = None
    no_load: ArrayLike | None = None
    power: float | None = None
    braking: float | None = None
    continuous: ArrayLike | None = None
    rest: float = 0.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("dynamics", "rest") or value is None:
                continue
            try:
                numbers = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                numbers = np.full(1, np.nan)
            if not np.all(numbers > 0):
                raise MotionError(
                    f"the limit {item.name!r} must be above zero: got {value!r}",
                    remedy="give one number above zero, or one for each value",
                    code="R721",
                )
        if (self.stall is None) != (self.no_load is None):
            raise MotionError(
                "a torque-speed line goes from a stall torque to a no-load speed",
                remedy="give both stall= and no_load=",
                code="R721",
            )
        forces = (self.effort, self.stall, self.power, self.continuous)
        if any(f is not None for f in forces) and self.dynamics is None:
            raise MotionError(
                "a limit of forces or power needs the inverse dynamics",
                remedy="give dynamics=, such as robot.inverse_dynamics",
                code="R722",
            )

    def of(self, name: str, size: int) -> Array | None:
        """Return a limit for each value, or None.

        Args:
            name: such as "speed".
            size: how many values there are.
        """
        value = getattr(self, name)
        if value is None:
            return None
        numbers = np.asarray(value, dtype=float)
        if numbers.ndim > 1 or numbers.size not in (1, size):
            raise MotionError(
                f"the limit {name!r} has {numbers.size} numbers, but the motion {size} values",
                remedy="give one number, or one for each value",
                code="R721",
            )
        return np.broadcast_to(numbers, (size,)).astype(float)


def voltage_line(
    voltage: float, resistance: float, constant: float, ratio: float = 1.0
) -> tuple[float, float]:
    """Return stall torque and no-load speed, at a joint, of a DC motor with a supply.

    With u = R i + k w at the motor (slow changes of current), the torque at the joint falls from
    n k U / R at rest to nothing at U / (n k).

    Args:
        voltage: of the supply, V.
        resistance: of the winding, ohm.
        constant: torque per current, N*m/A, which is voltage per speed, V*s/rad.
        ratio: turns of the motor for one of the joint.

    >>> stall, no_load = voltage_line(48, 1.0, 0.05, ratio=50)
    >>> round(stall, 6), round(no_load, 6)
    (120.0, 19.2)
    """
    if not all(x > 0 for x in (voltage, resistance, constant, ratio)):
        raise MotionError(
            "voltage, resistance, constant and ratio of a motor must be above zero",
            remedy="give them in V, ohm, N*m/A",
            code="R721",
        )
    return ratio * constant * voltage / resistance, voltage / (ratio * constant)


def force_parts(dynamics: Dynamics, q: Array, first: Array, second: Array) -> tuple[Array, ...]:
    """Return weight, dry, viscous and inertial forces of a motion, a row for each instant.

    At speeds r times as large and accelerations r^2 times, the forces are
    weight + dry + viscous r + inertial r^2.

    >>> parts = force_parts(
    ...     lambda q, u, a: 9.0 + np.sign(u) + 2 * u + 3 * a, *np.ones((3, 1, 1))
    ... )
    >>> [float(part[0, 0]) for part in parts]
    [9.0, 1.0, 2.0, 3.0]
    """
    none = np.zeros_like(q)
    weight, *three = asked(
        dynamics, (q, none, none), *((q, r * first, r * r * second) for r in (1, 2, 3))
    )
    inertial = (three[2] - 2 * three[1] + three[0]) / 2
    viscous = three[1] - three[0] - 3 * inertial
    dry = three[0] - weight - viscous - inertial
    size = 1e-9 * (float(np.abs(three[2]).max(initial=0.0)) + 1e-300)
    return (
        weight,
        np.where(np.abs(dry) > size, dry, 0.0),
        np.where(np.abs(viscous) > size, viscous, 0.0),
        inertial,
    )


def asked(dynamics: Dynamics, *states: tuple[Array, Array, Array]) -> list[Array]:
    """Return the forces of several motions, all asked for at once."""
    rows = [np.concatenate([state[k] for state in states]) for k in range(3)]
    forces = np.asarray(dynamics(*rows))
    if forces.shape != rows[0].shape:
        raise MotionError(
            f"the inverse dynamics of {rows[0].shape[0]} rows of {rows[0].shape[1]} values gave an "
            f"array of shape {forces.shape}",
            remedy="let it take a row for each instant",
            code="R722",
        )
    return list(np.split(forces, len(states)))
