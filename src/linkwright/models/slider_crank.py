"""Slider-crank: a crank turns and a piston slides, with a rod between; one degree of freedom.

The plane is x-y, the piston slides along x. With all coordinates zero the crank and the rod lie
along x. Friction damps the piston, and gravity acts along -y.
"""

from __future__ import annotations

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare


def build() -> Mechanism:
    """Return the slider-crank.

    >>> len(build().constraints)
    2
    """
    m = Mechanism("slider-crank", "crank, rod and sliding piston")
    m.positive("r", "l")
    declare(m, "m", "length of the crank", r=0.1)
    declare(m, "m", "length of the rod", l=0.3)
    declare(m, "kg", "mass", mc=1, mr=0.5, mp=0.4)
    declare(m, "kg*m^2", "moment of inertia", Ic=1e-3, Ir=4e-3)
    declare(m, "N*s/m", "damping of the piston", b=1)
    declare(m, "N*m", "moment on the crank", T=1)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    crank = m.body("crank", rotate="z", mass="mc", com=("r/2", 0, 0), inertia=(0, 0, "Ic"))
    rod = m.body(
        "rod",
        parent=crank,
        at=("r", 0, 0),
        rotate="z",
        mass="mr",
        com=("l/2", 0, 0),
        inertia=(0, 0, "Ir"),
    )
    piston = m.body("piston", at=("r + l", 0, 0), translate="x", mass="mp", inertia=0)
    pin = m.point("pin", rod, ("l", 0, 0))
    m.gravity(along="-y", g="g")
    m.no_movement(pin, piston.origin, "y")
    m.no_movement(pin, piston.origin, "x")
    m.moment("drive", "T", on=crank, about="z", doc="moment on the crank")
    m.force("drag", "-b*piston_dot", at=piston.origin, along="x", doc="friction of the piston")
    m.output("x", piston.origin.position @ m.x, unit="m", doc="place of the piston", body=piston)
    m.start(crank=0.5)
    return m
