"""Passenger car in a turn: two bodies, three degrees of freedom (Sayers' thesis, section 9.1).

A body that does not roll moves in the plane; a body that rolls turns on it about an axis inclined
by THETAR. SAE axes: x forward, y to the right, z down; the origin is on the ground below the rear
axle. The forward speed is kept by a constraint; tires give lateral forces and aligning moments by
their slip angles. Data and results are in in, lbf, s; masses are 704 and 3831 lbm over 386.2.
"""

from __future__ import annotations

import math

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare

_PER_DEGREE = 180 / math.pi
_GEES = 386.2


def build(small: bool = False) -> Mechanism:
    """Return the car.

    >>> [c.name for c in build().constraints]
    ['constant forward speed']
    """
    m = Mechanism(
        "car", "passenger car in a turn, with roll and tires (in, lbf, s)", display="in-lb"
    )
    _parameters(m)
    if small:
        m.small("nrb.v", "yaw_dot")
    m.declared_only = True
    nrb = m.body(
        "nrb",
        translate="xy",
        rotate="z",
        mass="NRBM",
        com=(0, 0, "-HRA"),
        inertia=("NRBI11", "NRBI22", "NRBI33", "NRBI12", "NRBI23", "NRBI13"),
        coordinates=("X", "Y", "yaw"),
        doc="body that does not roll",
    )
    rb = m.body(
        "rb",
        parent=nrb,
        at=(0, 0, "-HRA"),
        rotate=[("cos(THETAR)", 0, "sin(THETAR)")],
        body_axis="x",
        mass="RBM",
        com=("CE", 0, "-H"),
        inertia=("IXX", "IYY", "IZZR", 0, 0, "IXZ"),
        coordinates=("roll",),
        small=small,
        doc="body that rolls",
    )
    front = m.point("front", nrb, ("L", 0, 0))
    m.gravity(along="z", g="GEES")
    m.constrain("dot(vel(nrb0), [nrb1]) - SPEED", name="constant forward speed")
    m.variables["alphaf"] = m.expr("atan2(dot(vel(front), [nrb2]), SPEED) - STEER")
    m.variables["alphar"] = m.expr("atan2(dot(vel(nrb0), [nrb2]), SPEED) - KRS2*roll")
    m.force("FY1", "CA1*#alphaf + CG1*CCOEF1*roll", at=front, along=nrb.y, doc="front lateral")
    m.force("FY2", "CA2*#alphar", at=nrb.origin, along=nrb.y, doc="rear lateral")
    m.moment("MZ1", "CAM1*#alphaf", on=nrb, about="z", doc="front aligning")
    m.moment("MZ2", "CAM2*#alphar", on=nrb, about="z", doc="rear aligning")
    m.moment(
        "ROLLM",
        "-KROLL*roll - CROLL*dot([nrb1], rot(rb) - rot(nrb))",
        on=rb,
        about=rb.x,
        reaction=nrb,
        doc="suspension in roll",
    )
    ay = "dot(dir(dplane([rb2], [n3])), dxdt(vel(rbcm)))/GEES"
    m.output("Ay", ay, unit="g's", doc="lateral acceleration", body=rb)
    m.output("r", "dot(rot(nrb), [n3])", unit="rad/s", doc="yaw rate", body=nrb)
    m.output("alphaf", "#alphaf", unit="rad", doc="front slip angle", body=nrb)
    m.output("alphar", "#alphar", unit="rad", doc="rear slip angle", body=nrb)
    for force in m.forces:
        m.output(force.name, force.magnitude, unit="N", doc=force.doc)
    for moment in m.moments:
        m.output(moment.name, moment.magnitude, unit="N*m", doc=moment.doc)
    m.set_timing(2, step=0.025, every=2)
    return m


def small() -> Mechanism:
    """Return the car with small roll, lateral speed and yaw rate.

    >>> small().coordinates["roll"].data.small
    1
    """
    return build(small=True)


def _parameters(m: Mechanism) -> None:
    m.positive("SPEED")
    declare(m, "lbf/rad", "cornering stiffness", CA1=-444 * _PER_DEGREE, CA2=-428 * _PER_DEGREE)
    declare(m, "lbf*in/rad", "aligning stiffness", CAM1=1080 * _PER_DEGREE, CAM2=1000 * _PER_DEGREE)
    declare(m, "lbf/rad", "camber stiffness", CG1=78 * _PER_DEGREE)
    declare(m, "1", "camber by roll", CCOEF1=0.82)
    declare(m, "1", "steer of the rear by roll", KRS2=-0.016)
    declare(m, "in", "wheelbase", L=125.5)
    declare(m, "in", "mass center of RB ahead of the rear axle", CE=63.4)
    declare(m, "in", "mass center of RB above the roll axis", H=15.48)
    declare(m, "in", "roll axis above the ground at the rear axle", HRA=1.0)
    declare(m, "rad", "inclination of the roll axis", THETAR=math.radians(5.1))
    declare(m, "lbf*in*s^2", "moment of inertia of RB", IXX=5580, IYY=12000, IZZR=37080)
    declare(m, "lbf*in*s^2", "product of inertia of RB", IXZ=0)
    declare(m, "lbf*in*s^2", "moment of inertia of NRB", NRBI11=1, NRBI22=1, NRBI33=1)
    declare(m, "lbf*in*s^2", "product of inertia of NRB", NRBI12=0, NRBI23=0, NRBI13=0)
    declare(m, "lbf*in/rad", "stiffness in roll", KROLL=6211 * _PER_DEGREE)
    declare(m, "lbf*in*s/rad", "damping in roll", CROLL=212 * _PER_DEGREE)
    declare(m, "lbf*s^2/in", "mass of NRB", NRBM=704 / _GEES)
    declare(m, "lbf*s^2/in", "mass of RB", RBM=3831 / _GEES)
    declare(m, "in/s", "forward speed", SPEED=968)
    declare(m, "rad", "steer of the front wheels", STEER=math.radians(1))
    declare(m, "in/s^2", "gravity", GEES=_GEES)
