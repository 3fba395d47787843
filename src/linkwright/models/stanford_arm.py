"""Stanford arm: a chain of six bodies (thesis, section 9.6; Kane and Levinson 1983).

All axes are parallel with all coordinates zero; gravity acts along -y. The third joint slides.
The control laws drive each joint to its target and hold the weight of what hangs on it.
"""

from __future__ import annotations

import math

from linkwright.mechanism import Body, Mechanism
from linkwright.models.declare import declare, declare_inertia


def build(control: bool = False) -> Mechanism:
    """Return the arm.

    >>> list(build().coordinates)
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    name = "stanford-arm-controlled" if control else "stanford-arm"
    m = Mechanism(name, "Stanford arm" + (" with its control laws" if control else ""))
    _parameters(m)
    if control:
        _control_parameters(m)
    m.declared_only = True
    a = m.body("a", rotate="y", mass="MA", inertia=(0, "A2", 0), doc="base")
    b = _link(m, "b", a, rotate="x", com=("L1", 0, 0))
    c = _link(m, "c", b, at=("L1", 0, 0), translate="y")
    d = _link(m, "d", c, rotate="y", com=(0, "L5", 0))
    e = _link(m, "e", d, at=(0, "L2", 0), rotate="x", com=(0, "L6", 0))
    f = _link(m, "f", e, rotate="y", com=(0, "L3", 0))
    m.gravity(along="-y", g="GEES")
    if control:
        _control(m, a, b, c, d, e, f)
    m.set_initial(b=math.pi / 2)
    m.set_timing(10, step=0.001, every=100)
    return m


def controlled() -> Mechanism:
    """Return the arm with its control laws.

    >>> len(controlled().moments)
    5
    """
    return build(control=True)


def _link(m: Mechanism, name: str, parent: Body, **joint: object) -> Body:
    letter = name.upper()
    inertia = tuple(f"{letter}{k}" for k in (1, 2, 3))
    arguments: dict[str, object] = {"mass": f"M{letter}", "inertia": inertia, **joint}
    return m.body(name, parent=parent, doc=f"link {letter}", **arguments)  # type: ignore[arg-type]


def _control(m: Mechanism, a: Body, b: Body, c: Body, d: Body, e: Body, f: Body) -> None:
    hand = "(ME*L6 + MF*L3)"
    m.moment("tau1", "-(K1*(a - AROT) + K2*a_dot)", on=a, about="y", doc="drive of A")
    m.moment(
        "tau2",
        "-(K3*(b - BROT) + K4*b_dot + GEES*(((MC + MD)*c + MD*L5)*sin(b)"
        f" + {hand}*(cos(e)*sin(b) + cos(d)*sin(e)*cos(b)) + (ME + MF)*(c + L2)*sin(b)))",
        on=b,
        about=a.x,
        reaction=a,
        doc="drive of B",
    )
    m.moment(
        "tau3",
        f"-(K5*(d - DROT) + K6*d_dot - GEES*{hand}*sin(b)*sin(d)*sin(e))",
        on=d,
        about=d.y,
        reaction=c,
        doc="drive of D",
    )
    m.moment(
        "tau4",
        f"-(K7*(e - EROT) + K8*e_dot + GEES*{hand}*(cos(b)*sin(e) + sin(b)*cos(d)*cos(e)))",
        on=e,
        about=e.x,
        reaction=d,
        doc="drive of E",
    )
    m.moment("tau5", "-(K9*(f - FROT) + K10*f_dot)", on=f, about=f.y, reaction=e, doc="drive of F")
    m.force(
        "sigma",
        "-(K11*(c - CDISP) + K12*c_dot - GEES*(MC + MD + ME + MF)*cos(b))",
        at=c.origin,
        along=c.y,
        reaction=b,
        doc="drive of C",
    )


def _parameters(m: Mechanism) -> None:
    declare(m, "m", "dimension of the arm", L1=0.1, L2=0.6, L3=0.2, L5=0.7, L6=0.06)
    for letter, mass in zip("ABCDEF", (9, 6, 4, 1, 0.6, 0.5), strict=True):
        m.parameter(f"M{letter}", mass, unit="kg", doc=f"mass of {letter}")
    declare_inertia(m, "A", "kg*m^2", i2=0.02)
    declare_inertia(m, "B", "kg*m^2", i1=0.06, i2=0.01, i3=0.05)
    declare_inertia(m, "C", "kg*m^2", i1=0.4, i2=0.01, i3=0.4)
    declare_inertia(m, "D", "kg*m^2", i1=0.0005, i2=0.001, i3=0.001)
    declare_inertia(m, "E", "kg*m^2", i1=0.0005, i2=0.0002, i3=0.0005)
    declare_inertia(m, "F", "kg*m^2", i1=0.001, i2=0.002, i3=0.003)
    declare(m, "m/s^2", "gravity", GEES=9.80665)


def _control_parameters(m: Mechanism) -> None:
    stiffness = {1: 3.0, 3: 1.0, 5: 0.3, 7: 0.3, 9: 0.25}
    damping = {2: 5.0, 4: 3.0, 6: 0.6, 8: 0.6, 10: 0.25}
    for k, value in stiffness.items():
        m.parameter(f"K{k}", value, unit="N*m/rad", doc="stiffness of a control law")
    for k, value in damping.items():
        m.parameter(f"K{k}", value, unit="N*m*s/rad", doc="damping of a control law")
    declare(m, "N/m", "stiffness of the control law of C", K11=30)
    declare(m, "N*s/m", "damping of the control law of C", K12=41)
    for letter in "ABDEF":
        m.parameter(f"{letter}ROT", math.pi / 3, unit="rad", doc=f"target rotation of {letter}")
    declare(m, "m", "target displacement of C", CDISP=0.1)
