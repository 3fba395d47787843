"""Spacecraft with four antennas on hinges: five bodies, ten degrees of freedom (thesis, 9.5)."""

from __future__ import annotations

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare


def build() -> Mechanism:
    """Return the spacecraft.

    >>> list(build().bodies)
    ['w', 'a1', 'a2', 'a3', 'a4']
    """
    m = Mechanism("spacecraft-2", "free spacecraft with four antennas on springs")
    declare(m, "kg*m^2", "moment of inertia of the main body", IXX=110, IYY=100, IZZ=70)
    declare(m, "kg*m^2", "moment of inertia of an antenna across its length", IA=0.02)
    declare(m, "kg", "mass of the main body", M1=500)
    declare(m, "kg", "mass of an antenna", M2=2)
    declare(m, "N*m/rad", "stiffness of a hinge", K=2.85e-5)
    declare(m, "N*m*s/rad", "damping of a hinge", D=1.359e-3)
    declare(m, "m", "place of the hinges along the axis", L1=0.5)
    declare(m, "m", "place of the hinges beside the axis", L2=0.3)
    declare(m, "m", "mass centre of an antenna from its hinge", L3=0.2)
    m.declared_only = True
    w = m.body(
        "w",
        translate="xyz",
        rotate="zyx",
        mass="M1",
        inertia=("IXX", "IYY", "IZZ"),
        doc="main body",
    )
    hinges = {
        "a1": (("L1", 0, "L2"), "y"),
        "a2": (("L1", "L2", 0), "z"),
        "a3": (("L1", 0, "-L2"), "y"),
        "a4": (("L1", "-L2", 0), "z"),
    }
    for name, (at, axis) in hinges.items():
        m.body(
            name,
            parent=w,
            at=at,
            rotate=axis,
            mass="M2",
            com=("L3", 0, 0),
            inertia=(0, "IA", "IA"),
            doc=f"antenna {name[1]}",
        )
    for name, (_, axis) in hinges.items():
        m.moment(
            f"hinge {name[1]}",
            f"-K*{name} - D*{name}_dot",
            on=m.bodies[name],
            about=getattr(w, axis),
            reaction=w,
            doc=f"spring and damper of antenna {name[1]}",
        )
    m.run_for(1000, step=0.5, every=4)
    m.start({"w.r": 0.0017, "w.q": 0.00017, "w.p": 0.00017})
    return m
