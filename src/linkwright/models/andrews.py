"""Andrews' squeezer: seven bodies in the plane, three loops, one degree of freedom (IFToMM A03).

Data of Hairer and Wanner. The tree is O-1-2, B-3, A-5-4, A-7-6 with three cuts at E, so the joint
angles are the seven coordinates of the literature: beta, gamma, delta and epsilon to the ground,
Theta, Phi and Omega relative to the body before. No gravity.
"""

from __future__ import annotations

from linkwright.mechanism import Body, Mechanism
from linkwright.models.declare import declare

# body: parent, place of the joint, coordinate, mass center, what it is
_BODIES = {
    "k1": ("", (0, 0), "beta", ("ra", 0), "crank OF"),
    "k2": ("k1", ("rr", 0), "Theta", ("-da", 0), "coupler FE"),
    "k3": ("", ("xb", "yb"), "gamma", ("sb", "-sa"), "rocker plate BDE"),
    "k5": ("", ("xa", "ya"), "delta", ("ta", "tb"), "link AG"),
    "k4": ("k5", ("zt", 0), "Phi", (0, "ea-e"), "link GE"),
    "k7": ("", ("xa", "ya"), "epsilon", ("-ub", "-ua"), "link AH"),
    "k6": ("k7", (0, "-u"), "Omega", ("zf-fa", 0), "link HE"),
}
_ENDS = {"k2": ("-d", 0), "k3": (0, "-ss"), "k4": (0, "-e"), "k6": ("zf", 0)}


def build() -> Mechanism:
    """Return the squeezer.

    >>> list(build().coordinates)
    ['beta', 'Theta', 'gamma', 'delta', 'Phi', 'epsilon', 'Omega']
    """
    m = Mechanism("andrews", "Andrews' squeezer: seven bodies, three loops")
    _parameters(m)
    m.declared_only = True
    for name, (parent, at, angle, center, doc) in _BODIES.items():
        above: Body = m.bodies[parent] if parent else m.ground
        m.body(
            name,
            parent=above,
            at=(*at, 0),
            rotate="z",
            mass=f"m{name[1]}",
            com=(*center, 0),
            inertia=(0, 0, f"i{name[1]}"),
            coordinates=(angle,),
            doc=doc,
        )
    m.moment("mom", "mom", on=m.bodies["k1"], about="z", doc="torque on the crank")
    plate = m.point("D", m.bodies["k3"], ("sd", "-sc", 0))
    m.strut(
        "spring", "-c0*(x - l0)", at=plate, to=m.point("C", None, ("xc", "yc", 0)), doc="spring"
    )
    ends = {name: m.point(f"E{name[1]}", m.bodies[name], (*at, 0)) for name, at in _ENDS.items()}
    for loop, name in enumerate(("k3", "k4", "k6"), 1):
        for axis in "xy":
            m.constrain_points(ends["k2"], ends[name], axis, name=f"loop {loop} in {axis}")
    m.set_initial(
        beta=-0.0617138900142764496,
        gamma=0.455279819163070380,
        Phi=0.222668390165885884,
        delta=0.487364979543842550,
        Omega=-0.222668390165885884,
        epsilon=1.23054744454982119,
    )
    m.set_timing(0.03, step=1e-5, every=10)
    return m


def _parameters(m: Mechanism) -> None:
    declare(m, "m", "place of A", xa=-0.06934, ya=-0.00227)
    declare(m, "m", "place of B", xb=-0.03635, yb=0.03273)
    declare(m, "m", "place of C", xc=0.014, yc=0.072)
    declare(m, "m", "length of OF and its mass center", rr=0.007, ra=0.00092)
    declare(m, "m", "length of FE and its mass center", d=0.028, da=0.0115)
    declare(m, "m", "dimension of BDE", ss=0.035, sa=0.01874, sb=0.01043, sc=0.018, sd=0.02)
    declare(m, "m", "length of GE and its mass center from E", e=0.02, ea=0.01421)
    declare(m, "m", "length of AG and its mass center", zt=0.04, ta=0.02308, tb=0.00916)
    declare(m, "m", "length of HE and its mass center from E", zf=0.02, fa=0.01421)
    declare(m, "m", "length of AH and its mass center", u=0.04, ua=0.01228, ub=0.00449)
    masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
    inertias = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    for k, (mass, inertia) in enumerate(zip(masses, inertias, strict=True), 1):
        m.parameter(f"m{k}", mass, unit="kg", doc=f"mass of body {k}")
        m.parameter(f"i{k}", inertia, unit="kg*m^2", doc=f"moment of inertia of body {k}")
    declare(m, "N*m", "torque on the crank", mom=0.033)
    declare(m, "N/m", "stiffness of the spring", c0=4530)
    declare(m, "m", "rest length of the spring", l0=0.07785)
