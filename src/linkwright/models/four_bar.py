"""Four-bar linkage with a strut: three bodies, one degree of freedom (thesis, section 9.3).

Massless cranks a and c carry the coupler b; a spring and damper hold it against gravity. All
points are given in global coordinates, with all angles zero. The coupler b and the crank c meet
in a pin, which closes the loop.
"""

from __future__ import annotations

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare


def build() -> Mechanism:
    """Return the linkage.

    >>> [c.position is not None for c in build().constraints]
    [True, True]
    """
    m = Mechanism("four-bar", "four-bar linkage held by a strut with spring and damper")
    m.positive("L1", "L4")
    declare(m, "m", "place of a point", L1=0.5, L2=0.1, L3=0.2, L4=0.3, L5=0.1, L6=0.3, L7=0.5)
    declare(m, "N/m", "stiffness of the strut", K=1e4)
    declare(m, "N*s/m", "damping of the strut", D=100)
    declare(m, "kg", "mass of the coupler", BM=10)
    declare(m, "kg*m^2", "moment of inertia of the coupler", BI33=1)
    declare(m, "m/s^2", "gravity", GEES=9.80665)
    m.declared_only = True
    a = m.body("a", rotate="z", mass=0, inertia=0, doc="massless crank")
    b = m.body(
        "b",
        parent=a,
        rotate="z",
        at=("L1", 0, 0),
        com=("L1", "L3", 0),
        coordinates_in=m.ground,
        mass="BM",
        inertia=(0, 0, "BI33"),
        doc="coupler with all the mass",
    )
    c = m.body("c", rotate="z", at=("L5", "L4", 0), mass=0, inertia=0, doc="massless rocker")
    bp = m.point("bp", b, ("L1", "L4", 0), coordinates_in=m.ground)
    cp = m.point("cp", c, ("L1", "L4", 0), coordinates_in=m.ground)
    s1 = m.point("s1", b, ("L1", "L2", 0), coordinates_in=m.ground)
    s2 = m.point("s2", None, ("L6", "L7", 0))
    m.gravity(along="-y", g="GEES")
    m.no_movement(bp, cp, b.x)
    m.no_movement(bp, cp, c.y)
    strut = m.strut("strut", "-K*(x - x0) - D*v", at=s1, to=s2, doc="spring and damper")
    m.output("tension", -strut.magnitude, unit="N", doc="tension of the strut")
    m.output("X", "dot(pos(bcm), [n1])", unit="m", doc="mass centre of b, x", body=b)
    m.output("Y", "dot(pos(bcm), [n2])", unit="m", doc="mass centre of b, y", body=b)
    m.output_all("coordinates")
    m.output("tilt", "a + b", unit="rad", doc="angle of b to the ground", body=b)
    m.start(a=-0.5, b=0.563473, c=-0.644491)
    m.run_for(1, step=0.005)
    return m
