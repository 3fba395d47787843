"""Links that bend by their first mode, and drives that give way, for runs of mounts.

A link is a cantilever from its hinge to the ball joint at its far end. A ball joint takes no
moment, so the shape under its load is w (3 s^2 - s^3)/2 at the share s of the length, with the
stiffness 3 EI/L^3 exactly: the far end is displaced across the link, along two axes, and how it
turns there does not matter. Of the link's own mass 33/140 move with its end, as in Rayleigh's
quotient of that shape; mass, mass center and inertia of the whole are kept where it does not bend.
"""

from __future__ import annotations

from linkwright.mechanism import Body, Mechanism
from linkwright.models.declare import declare

SHARE = "33/140"
"""Of a link's mass that moves with its far end."""


def declare_links(m: Mechanism) -> None:
    """Add the parameters of links that bend: those of tubes of aluminum, 100 and 70 mm wide."""
    declare(m, "N*m^2", "stiffness of a lower arm in bending, EI", arm_bending=1.18e5)
    declare(m, "N*m^2", "stiffness of an upper arm in bending", upper_bending=3.2e4)
    declare(m, "N*m/rad", "stiffness of a drive at its arm", drive_stiffness=1.5e5)
    declare(m, "s", "damping of links and drives, by their stiffness", flex_damping=2e-4)


def far_end(
    m: Mechanism,
    name: str,
    parent: Body,
    at: tuple[object, ...],
    mass: str,
    length: str,
    bending: str,
) -> Body:
    """Add the far end of a link as a body of its own, with the link's stiffness between."""
    end = m.body(
        name, parent=parent, translate="xy", at=at, mass=mass, inertia=0,
        doc=f"far end of {parent.name}, across it",
    )  # fmt: skip
    spring(m, end, parent, f"3*{bending}/({length})**3")
    return end


def spring(m: Mechanism, end: Body, parent: Body, stiffness: str) -> None:
    """Add a spring and damper between a body that slides and the one that it slides on."""
    for axis, q in zip("xy", end.coordinates, strict=True):
        rate = m.speed_symbol(f"{q.name}_dot", "m/s", 0)
        load = -m.expr(stiffness) * (q + m.expr("flex_damping") * rate)
        along = getattr(parent, axis)
        m.force(f"{end.name} bends along {axis}", load, at=end, along=along, reaction=parent)


def hold(m: Mechanism, arm: Body, start: float) -> None:
    """Let an elastic drive hold an arm at an angle that an input says."""
    (q,) = arm.coordinates
    doc = f"where the drive of {arm.name} holds it"
    angle = m.input(f"{arm.name}_to", start, unit="rad", doc=doc)
    rate = m.speed_symbol(f"{q.name}_dot", "rad/s", 0)
    torque = -m.expr("drive_stiffness") * (q - angle + m.expr("flex_damping") * rate)
    m.moment(f"drive of {arm.name}", torque, on=arm, about=arm.y, reaction=arm.parent)
