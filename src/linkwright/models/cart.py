"""Cart on four wheels that roll without slip: six bodies, two degrees of freedom (thesis, 9.2).

The front axle f steers freely about a pivot that lies ahead of the axle line by EPS; a constant
force F pushes at the centre of the rear axle. Of the eight rolling conditions two are redundant.
"""

from __future__ import annotations

from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare


def build() -> Mechanism:
    """Return the cart.

    >>> len(build().constraints)
    8
    """
    m = Mechanism("cart", "cart on four wheels that roll without slip, pushed from behind")
    m.positive("BM", "MW", "EPS", "R", "CMB1")
    _parameters(m)
    m.declared_only = True
    b = m.body(
        "b",
        translate="xy",
        rotate="z",
        mass="BM",
        com=("CMB1", 0, 0),
        inertia=("BI11", "BI22", "BI33"),
        coordinates=("X", "Y", "yaw"),
        doc="cart body",
    )
    f = m.body(
        "f",
        parent=b,
        rotate="z",
        at=("L1", 0, 0),
        mass="FM",
        com=("-EPS+CMF1", 0, 0),
        inertia=("FI11", "FI22", "FI33"),
        coordinates=("steer",),
        doc="front axle",
    )
    places = {
        "lrw": (b, (0, "-TRK2", 0), "left rear wheel"),
        "rrw": (b, (0, "TRK2", 0), "right rear wheel"),
        "lfw": (f, ("-EPS", "-TRK2", 0), "left front wheel"),
        "rfw": (f, ("-EPS", "TRK2", 0), "right front wheel"),
    }
    for name, (parent, at, doc) in places.items():
        m.body(
            name,
            parent=parent,
            rotate="y",
            at=at,
            mass="MW",
            inertia=("IT", "IA", "IT"),
            doc=doc,
        )
    m.force("push", "F", at=b.origin, along=b.x, doc="push at the rear axle")
    order = ("rrw", "lrw", "rfw", "lfw")
    for name in order:
        m.roll(m.bodies[name], "R", lateral=False)
    for name in order:
        axle = places[name][0].y
        m.constrain(m.bodies[name].origin.velocity @ axle, name=f"{name} does not slip")
    m.output("r", "dot(rot(b), [n3])", unit="rad/s", doc="yaw rate", body=b)
    m.output("steer rate", "dot(rot(f) - rot(b), [n3])", unit="rad/s", doc="steer rate", body=f)
    m.output_all("coordinates")
    m.start(steer=0.25)
    m.run_for(3, step=0.02, every=5)
    return m


def _parameters(m: Mechanism) -> None:
    declare(m, "kg", "mass of the cart body", BM=20)
    declare(m, "kg", "mass of the front axle", FM=5)
    declare(m, "kg", "mass of a wheel", MW=1)
    declare(m, "kg*m^2", "moment of inertia of the cart body", BI11=1, BI22=1, BI33=12)
    declare(m, "kg*m^2", "moment of inertia of the front axle", FI11=1, FI22=1, FI33=0.5)
    declare(m, "kg*m^2", "moment of inertia of a wheel across its axle", IT=0.01)
    declare(m, "kg*m^2", "moment of inertia of a wheel about its axle", IA=0.02)
    declare(m, "m", "half the track", TRK2=0.5)
    declare(m, "m", "wheelbase to the steering pivot", L1=1.5)
    declare(m, "m", "mass centre of the body ahead of the rear axle", CMB1=0.5)
    declare(m, "m", "mass centre of the front axle ahead of its wheels", CMF1=0.02)
    declare(m, "m", "steering pivot ahead of the front wheels", EPS=0.1)
    declare(m, "m", "radius of a wheel", R=0.2)
    declare(m, "N", "push", F=100)
