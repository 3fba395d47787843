"""Simple and double pendulum, of point masses on massless rods in the plane x-y; gravity along -y.

The simple one is case A01 of the IFToMM benchmark: released horizontal, at (-1, 0).
"""

from __future__ import annotations

import math

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare


def simple() -> Mechanism:
    """Return the simple pendulum; its angle is measured from hanging down.

    >>> round(simple().initial["phi"], 6)
    -1.570796
    """
    m = Mechanism("pendulum", "simple pendulum, released horizontal")
    m.positive("m", "L")
    declare(m, "kg", "mass", m=1)
    declare(m, "m", "length", L=1)
    declare(m, "m/s^2", "gravity", g=9.81)
    rod = m.body(
        "rod", rotate="z", mass="m", com=(0, "-L", 0), inertia=0, coordinates=("phi",), doc="rod"
    )
    m.gravity(along="-y", g="g")
    m.output("x", rod.com.position @ m.x, unit="m", doc="place of the mass, x")
    m.output("y", rod.com.position @ m.y, unit="m", doc="place of the mass, y")
    m.start(phi=-math.pi / 2)
    return m


def double() -> Mechanism:
    """Return the double pendulum; the second angle is relative to the first rod.

    >>> list(double().coordinates)
    ['phi1', 'phi2']
    """
    m = Mechanism("double-pendulum", "double pendulum of two point masses")
    m.positive("m1", "m2", "L1", "L2")
    declare(m, "kg", "mass", m1=1, m2=1)
    declare(m, "m", "length of a rod", L1=1, L2=1)
    declare(m, "m/s^2", "gravity", g=9.81)
    upper = m.body(
        "upper", rotate="z", mass="m1", com=(0, "-L1", 0), inertia=0, coordinates=("phi1",)
    )
    lower = m.body(
        "lower",
        parent=upper,
        at=(0, "-L1", 0),
        rotate="z",
        mass="m2",
        com=(0, "-L2", 0),
        inertia=0,
        coordinates=("phi2",),
    )
    m.gravity(along="-y", g="g")
    for k, body in enumerate((upper, lower), 1):
        m.output(f"x{k}", body.com.position @ m.x, unit="m", doc=f"place of mass {k}, x")
        m.output(f"y{k}", body.com.position @ m.y, unit="m", doc=f"place of mass {k}, y")
    m.start(phi1=math.pi / 2, phi2=0)
    return m
