"""The simulated world of a laboratory: gravity, what end-effectors carry, a base that is held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.lazy import Later
from linkwright.lab.loop import enter, require_simulated
from linkwright.lab.slot import MEMBER

if TYPE_CHECKING:
    from linkwright.lab import cartesian, plant, system as systems
    from linkwright.lab.lab import Lab
else:
    cartesian, plant = Later("linkwright.lab.cartesian"), Later("linkwright.lab.plant")
    systems = Later("linkwright.lab.system")


def set_gravity(lab: Lab, vector: Sequence[float]) -> None:
    """Set the gravity of the simulated world.

    Args:
        vector: along the world's axes, m/s^2.
    """
    require_simulated(lab, "gravity is what it is; it cannot be set")
    lab.put(dict(zip(plant.GRAVITY, triple("gravity", vector), strict=True)))


def set_end_effector(
    lab: Lab,
    name: str,
    *,
    x: Sequence[float] | None = None,
    a: Sequence[float] | None = None,
    mass: float | None = None,
    mass_center: Sequence[float] | None = None,
) -> None:
    """Move an end-effector in its link, or change what it carries; the rest stays.

    Args:
        name: of it.
        x: where it is in its link, m.
        a: how it is turned there, angles about x, y, z.
        mass: of the load, kg.
        mass_center: mass times center of the load in its frame, kg*m.
    """
    if name not in lab._effectors:
        there = ", ".join(lab._effectors) or "none"
        raise InputError(f"there is no end-effector {name!r}", remedy=f"there are: {there}")
    given = {"x": x, "a": a, "mass": mass, "mass_center": mass_center}
    changes: dict[str, Any] = {
        k: v if k == "mass" else triple(f"{k} of {name!r}", v)
        for k, v in given.items()
        if v is not None
    }
    if mass is not None and not (is_number(mass) and mass >= 0):
        raise InputError(f"the load of {name!r} has a mass of {mass!r} kg", remedy="give 0 or more")
    if mass == 0 and mass_center is None:
        changes["mass_center"] = (0.0, 0.0, 0.0)
    found = replace(lab._effectors[name], **changes)
    if found.mass == 0 and mass_center is not None and any(found.mass_center):
        raise InputError(
            f"the load of {name!r} has the mass center {found.mass_center} and no mass",
            remedy="give its mass; mass_center is the mass times its center",
        )
    robot = lab.mechanism
    load = robot.load_values(found)
    values = load
    if lab._is_real:  # what it carries is known to inverse dynamics alone
        values = {f"invdyn.{name}_load[{i}]": v for i, v in enumerate(load.values())}
        at, usual = list(lab._effectors).index(name), {e.name: e for e in lab.config.end_effectors}
        for servo in (MEMBER, *systems.own_servos(lab.config)):
            for i, (v, u) in enumerate(
                zip(load.values(), robot.load_values(usual[name]).values(), strict=True)
            ):
                values[f"{servo}.carried[{at},{i}]"] = v - u
    for member in ("cart", "cart_desired"):
        values |= {f"{member}.{k}": v for k, v in cartesian.place_values(robot, found).items()}
    if lab.config.end_effectors:
        at = list(lab._effectors).index(name)
        tool = (*found.x, *found.a)
        values |= {f"invkin.tool[{6 * at + i}]": float(v) for i, v in enumerate(tool)}
    lab.put(values)
    lab._effectors[name] = found


def freeze_base(lab: Lab, on: bool = True) -> None:
    """Hold a base that floats where it started, or let it go.

    Args:
        on: whether it is held.
    """
    require_simulated(lab, "nothing holds the base or lets it go")
    if lab.config.base != "floating":
        raise Error(f"the base of {lab.config.name!r} is fixed")
    values = {plant.HOLD: plant.HELD if on else 0.0}
    if on:
        own = (*lab.mechanism.base, *lab.mechanism.base_speeds)
        values |= {x.name: lab._initial[x.name] for x in own}
    enter(lab, values)
    lab.base_frozen = bool(on)


def is_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def triple(what: str, value: Any) -> tuple[float, float, float]:
    """Return three finite numbers, or reject anything else."""
    found = list(value) if isinstance(value, Sequence | np.ndarray) else []
    if len(found) != 3 or not all(map(is_number, found)):
        raise InputError(f"{what} is {value!r}", remedy="give three finite numbers")
    x, y, z = map(float, found)
    return x, y, z
