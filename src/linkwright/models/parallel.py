"""Parallel machines beside the mounts: a platform on legs that drive it together."""

from __future__ import annotations

import math

from linkwright.mechanism import Free, Mechanism
from linkwright.models.declare import declare


def stewart(
    base: float = 0.5,
    platform: float = 0.3,
    base_spread: float = 20.0,
    platform_spread: float = 20.0,
) -> Mechanism:
    """Return the hexapod of Gough and Stewart: a platform on six struts whose lengths are driven.

    The places of all twelve ball joints are parameters; the options give their values.

    Args:
        base: radius of the joints of the base, m.
        platform: radius of those of the platform, m.
        base_spread: angle between two joints that are a pair on the base, deg.
        platform_spread: the same on the platform, where the pairs are those of the other legs, deg.

    >>> m = stewart()
    >>> len(m.constraints), m.actuators[0], round(m.initial["leg1"], 4)
    (6, leg1, 0.6002)
    """
    m = Mechanism("stewart", "Gough-Stewart platform: six struts of driven length")
    for k in range(1, 7):
        side = -1 if k % 2 else 1
        pair = 120 * ((k - 1) // 2)
        low = math.radians(pair + side * base_spread / 2)
        high = math.radians(pair + side * (120 - platform_spread) / 2)
        for what, radius, azimuth in (("base", base, low), ("platform", platform, high)):
            place = (radius * math.cos(azimuth), radius * math.sin(azimuth), 0.0)
            for axis, value in zip("xyz", place, strict=True):
                doc = f"{axis} of the ball joint of leg {k} at the {what}"
                m.parameter(f"{what}{k}_{axis}", value, unit="m", doc=doc)
    m.positive("mass")
    declare(m, "m", "height of the platform at the start", height=0.5)
    declare(m, "kg", "mass of platform and load", mass=20)
    declare(m, "m", "height of its mass center", center=0.05)
    declare(m, "kg*m^2", "moment of inertia across its axis", across=0.5)
    declare(m, "kg*m^2", "moment of inertia about its axis", along=0.9)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    body = m.body(
        "platform",
        joint=Free(quaternion=True),
        mass="mass",
        com=(0, 0, "center"),
        inertia=("across", "across", "along"),
        doc="platform with load",
    )
    m.gravity(along="-z", g="g")
    m.set_initial({"platform.z": "height"})
    for k in range(1, 7):
        foot = m.point(f"base{k}", at=[f"base{k}_{axis}" for axis in "xyz"])
        head = m.point(f"head{k}", body, [f"platform{k}_{axis}" for axis in "xyz"])
        m.drive_strut(f"leg{k}", foot, head, doc=f"length of leg {k}")
        x, y, z = (f"platform{k}_{axis} - base{k}_{axis}" for axis in "xyz")
        m.set_initial({f"leg{k}": f"sqrt(({x})**2 + ({y})**2 + ({z} + height)**2)"})
    m.actuate(*(f"leg{k}" for k in range(1, 7)))
    m.set_platform(body)
    m.set_timing(0.2, step=0.01)
    return m
