"""The agile eye: a spherical parallel machine of nine hinges whose axes meet in one point.

Each of three legs has a hinge at the base, one between its two curved links, and one at the
platform (3-RRR; Gosselin and Hamel 1994). Counted one by one, the joints leave -3 freedoms: only
because all axes meet in the center does the machine move, with three. Axes of base and platform are
square to each other, and so are those of each link unless `alpha1` and `alpha2` say otherwise.
"""

from __future__ import annotations

import math

from linkwright.mechanism import Body, Joint, Mechanism, Revolute
from linkwright.models.declare import declare

# Of each leg at the start: the hinge of the base, that between the links, that of the platform.
_AXES = {1: "xzy", 2: "yxz", 3: "zyx"}


def build() -> Mechanism:
    """Return the agile eye.

    >>> m = build()
    >>> len(m.constraints), m.actuators
    (4, [motor1, motor2, motor3])
    """
    m = Mechanism("agile-eye", "spherical platform of nine hinges whose axes meet (3-RRR)")
    m.positive("link_mass", "platform_mass", "R")
    declare(m, "rad", "between the axes of a link at the base", alpha1=math.pi / 2)
    declare(m, "rad", "between the axes of a link at the platform", alpha2=math.pi / 2)
    declare(m, "m", "radius of the links", R=0.1)
    declare(m, "kg", "link", link_mass=0.15)
    declare(m, "kg", "camera", platform_mass=0.5)
    declare(m, "kg*m^2", "camera about any axis through the center", platform_inertia=0.0005)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    near = {k: _link(m, f"motor{k}", None, Revolute(a[0])) for k, a in _AXES.items()}
    far = _link(m, "far1", near[1], Revolute(_between(1)))
    # The platform's y lies along its hinge with leg 1, at alpha2 from the hinge before.
    w, (c, s) = _between(1), ("cos(alpha2)", "sin(alpha2)")
    camera = m.body(
        "platform",
        parent=far,
        joint=Revolute(
            (f"{c}*{w[0]}", s, f"{c}*{w[2]}"),
            body_axis="y",
            reference=(f"{s}*{w[0]}", f"-{c}", f"{s}*{w[2]}"),
        ),
        mass="platform_mass",
        inertia="platform_inertia",
        doc="camera, on the hinge of leg 1",
    )
    others = {k: _link(m, f"far{k}", camera, Revolute(_AXES[k][2])) for k in (2, 3)}
    m.gravity(along="-z", g="g")
    for k, link in others.items():
        axis = _mixed(_AXES[k][2], _AXES[k][1], "alpha2")
        m.close_loop(f"hinge{k}", near[k], link, Revolute(_between(k)), second_axis=axis)
    for k in _AXES:
        m.limit(f"motor{k}", "-60 deg", "60 deg")
        m.actuate(f"motor{k}")
    m.set_platform(camera)
    m.set_timing(0.5, step=0.005)
    return m


def _link(m: Mechanism, name: str, parent: Body | None, joint: Joint) -> Body:
    """Add a curved link; its mass center is the center of the machine."""
    where = "base" if parent is None else "platform"
    return m.body(
        name,
        parent=parent,
        joint=joint,
        mass="link_mass",
        inertia="2*link_mass*R**2/3",  # of a thin shell
        doc=f"link of leg {name[-1]} at the {where}",
    )


def _between(k: int) -> tuple[str, str, str]:
    """Return the hinge between the links of a leg, in the axes of the link at the base."""
    return _mixed(_AXES[k][0], _AXES[k][1], "alpha1")


def _mixed(first: str, second: str, angle: str) -> tuple[str, str, str]:
    """Return the direction at an angle from one axis, toward another."""
    parts = {first: f"cos({angle})", second: f"sin({angle})"}
    x, y, z = (parts.get(axis, "0") for axis in "xyz")
    return x, y, z
