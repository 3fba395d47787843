"""A spherical wrist of four joints, alone or on an arm (the force and motion server's digest, 3.8).

The axes meet in a point: z, y, x and z of the wrist's base with all angles zero, so that the hand
has the orientation Rz(q1) Ry(q2) Rx(q3) Rz(q4). The report gives no masses; these are of the size
of the PUMA 560's wrist.
"""

from __future__ import annotations

from linkwright.mechanism import Body, Mechanism
from linkwright.models.declare import declare

AXES = "zyxz"
"""About which axis each joint turns."""
MASSES = (0.30, 0.34, 0.25, 0.09)
"""Of the four links, kg."""
CENTERS = (-0.03, 0.0, 0.0, 0.032)
"""How far their mass centers are along the fourth axis, m."""
INERTIAS = (
    (0.5e-3, 0.5e-3, 0.3e-3),
    (0.3e-3, 0.4e-3, 0.3e-3),
    (0.3e-3, 0.2e-3, 0.2e-3),
    (0.15e-3, 0.15e-3, 0.04e-3),
)
"""About the mass centers, kg*m^2."""


def build() -> Mechanism:
    """Return the wrist on the ground, with a torque in each joint.

    >>> list(build().coordinates)
    ['q1', 'q2', 'q3', 'q4']
    """
    m = Mechanism("wrist-4r", "spherical wrist of four joints")
    declare(m, "m/s^2", "gravity", g=9.81)
    declare(m, "m", "distance of the hand from the wrist's center", reach=0.1)
    bodies = add_wrist(m, m.ground, (0, 0, 0))
    m.gravity(along="-z", g="g")
    for k, (axis, body) in enumerate(zip(AXES, bodies, strict=True), 1):
        torque = m.input(f"tau{k}", unit="N*m", doc=f"torque in joint {k}")
        m.moment(f"drive {k}", torque, on=body, about=getattr(body, axis), reaction=body.parent)
    hand = m.point("hand", bodies[-1], (0, 0, "reach"))
    for axis, direction in zip("xyz", (m.x, m.y, m.z), strict=True):
        m.output(f"hand {axis}", hand.position @ direction, unit="m", doc=f"hand, {axis}")
    m.set_initial(q1=0.5, q2=0.6, q3=0.2)
    m.set_timing(1.0, step=1e-3)
    return m


def add_wrist(
    m: Mechanism, parent: Body, at: tuple[object, ...], *, number: int = 1, begin: int = 0
) -> list[Body]:
    """Add the links of the wrist, and return them."""
    found: list[Body] = []
    rows = list(zip(AXES, MASSES, CENTERS, INERTIAS, strict=True))[begin:]
    for i, (axis, mass, center, inertia) in enumerate(rows, number):
        m.parameter(f"m{i}", mass, unit="kg", doc=f"mass of link {i}")
        if center:
            m.parameter(f"z{i}", center, unit="m", doc=f"mass center of link {i}, z")
        for letter, value in zip("xyz", inertia, strict=True):
            name = f"I{letter}{letter}{i}"
            m.parameter(name, value, unit="kg*m^2", doc=f"inertia of link {i} about {letter}")
        found.append(
            m.body(
                f"link{i}",
                parent=found[-1] if found else parent,
                rotate=axis,
                at=(0, 0, 0) if found else at,
                mass=f"m{i}",
                com=(0, 0, f"z{i}" if center else 0),
                inertia=(f"Ixx{i}", f"Iyy{i}", f"Izz{i}"),
                coordinates=(f"q{i}",),
                doc=f"link {i}",
            )
        )
    return found
