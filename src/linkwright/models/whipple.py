"""Whipple's bicycle: the benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007), nonlinear.

Axes: x forward, y to the right, z down; the ground is z = 0. In the reference pose the bicycle
stands upright and straight with the rear contact at the origin. Two knife-edge wheels touch the
ground and roll without slip.

Coordinates: x, y of the rear contact and yaw psi (massless body `heading`); roll phi about the line
of heading on the ground (massless body `lean`), which keeps the rear wheel on the ground
whatever the roll; pitch theta of the frame about the rear axle; turns of the rear wheel, of the
fork about the steer axis, and of the front wheel. The front wheel's touching fixes the pitch. The
independent speeds are the rates of phi, delta and theta_R.
"""

from __future__ import annotations

import math

from linkwright.algebra import Vector, sqrt
from linkwright.mechanism import Body, Mechanism, Work
from linkwright.models.declare import declare


def build() -> Mechanism:
    """Return the bicycle.

    >>> list(build().coordinates)
    ['x', 'y', 'psi', 'phi', 'theta', 'theta_R', 'delta', 'theta_F']
    """
    m = Mechanism("whipple", "Whipple bicycle, two knife-edge wheels that roll without slip")
    _parameters(m)
    m.declared_only = True
    heading = m.body(
        "heading",
        translate="xy",
        rotate="z",
        mass=0,
        inertia=0,
        coordinates=("x", "y", "psi"),
        doc="massless: rear contact and heading",
    )
    lean = m.body(
        "lean",
        parent=heading,
        rotate="x",
        mass=0,
        inertia=0,
        coordinates=("phi",),
        doc="massless: roll",
    )
    frame = m.body(
        "frame",
        parent=lean,
        rotate="y",
        at=(0, 0, "-rR"),
        mass="mB",
        com=("xB", 0, "zB + rR"),
        inertia=("IBxx", "IByy", "IBzz", 0, 0, "IBxz"),
        coordinates=("theta",),
        doc="rear frame with rider",
    )
    rear = _wheel(m, "rear", frame, (0, 0, "-rR"), "R", "rear wheel")
    fork = _fork(m, frame)
    front = _wheel(m, "front", fork, ("w", 0, "-rF"), "F", "front wheel")
    m.gravity(along="z", g="g")
    _contact(m, rear, lean.z, "rR", ("heading.u", "heading.v"))
    axle = fork.y @ m.z
    size = sqrt(1 - axle**2)
    down = (m.z - fork.y * axle) / size
    m.constrain_position(
        front.origin.position @ m.z + m.expr("rF") * size,
        name="front wheel touches",
        eliminate="theta",
        works=_at_rim(m, front, down * m.expr("rF"), m.z),
    )
    _contact(m, front, down, "rF", ("theta_F_dot", "psi_dot"))
    m.moment("roll", m.input("Tphi", unit="N*m", doc="roll torque"), on=frame, about=heading.x)
    m.moment(
        "steer",
        m.input("Tdelta", unit="N*m", doc="steer torque"),
        on=fork,
        about=fork.z,
        reaction=frame,
    )
    m.set_initial(theta_R_dot="-v/rR")
    return m


def _wheel(
    m: Mechanism, name: str, parent: Body, at: tuple[object, ...], end: str, doc: str
) -> Body:
    """Add a wheel on an axle along y; `at` is its center in the reference pose."""
    return m.body(
        name,
        parent=parent,
        rotate="y",
        body_axis="y",
        at=at,
        com=at,
        coordinates_in=m.ground,
        mass=f"m{end}",
        inertia=(f"I{end}xx", f"I{end}yy", f"I{end}xx"),
        coordinates=(f"theta_{end}",),
        doc=doc,
    )


def _fork(m: Mechanism, frame: Body) -> Body:
    """Add the front frame; its z axis lies along the steer axis, so its inertias are turned."""
    c, s = "cos(lambda)", "sin(lambda)"
    xx = f"IHxx*{c}**2 - 2*IHxz*{s}*{c} + IHzz*{s}**2"
    zz = f"IHxx*{s}**2 + 2*IHxz*{s}*{c} + IHzz*{c}**2"
    xz = f"(IHxx - IHzz)*{s}*{c} + IHxz*({c}**2 - {s}**2)"
    return m.body(
        "fork",
        parent=frame,
        rotate=[(s, 0, c)],
        body_axis="z",
        reference=(m.expr(c), 0, -m.expr(s)),
        at=("w + c", 0, 0),
        com=("xH", 0, "zH"),
        coordinates_in=m.ground,
        mass="mH",
        inertia=(xx, "IHyy", zz, 0, 0, xz),
        coordinates=("delta",),
        doc="front frame: fork and handlebar",
    )


def _contact(
    m: Mechanism, wheel: Body, down: Vector, radius: str, eliminated: tuple[str, str]
) -> None:
    """Let the rim point below the wheel's center have no velocity in the ground plane."""
    heading = m.bodies["heading"]
    arm = down * m.expr(radius)
    velocity = wheel.origin.velocity + (wheel.omega ^ arm)
    for axis, what, speed in zip(
        (heading.x, heading.y), ("rolls", "does not slip"), eliminated, strict=True
    ):
        m.constrain(
            velocity @ axis,
            name=f"{wheel.name} wheel {what}",
            eliminate=speed,
            works=_at_rim(m, wheel, arm, axis),
        )


def _at_rim(m: Mechanism, wheel: Body, arm: Vector, direction: Vector) -> tuple[Work, ...]:
    """Return the working of a force on the rim, as force at the hub and couple."""
    hub = wheel.origin
    return (
        Work(direction, hub, m.origin),
        Work(arm ^ direction, hub, m.origin, turns=True),
    )


def _parameters(m: Mechanism) -> None:
    m.positive("rR", "rF", "w")
    declare(m, "m", "wheelbase", w=1.02)
    declare(m, "m", "trail", c=0.08)
    m.parameter("lambda", math.pi / 10, unit="rad", doc="steer axis tilt")
    declare(m, "m/s^2", "gravity", g=9.81)
    declare(m, "m/s", "forward speed at the start", v=4.6)
    wheels = {"R": ("rear", 0.3, 2, 0.0603, 0.12), "F": ("front", 0.35, 3, 0.1405, 0.28)}
    for end, (word, radius, mass, across, about) in wheels.items():
        m.parameter(f"r{end}", radius, unit="m", doc=f"radius of the {word} wheel")
        m.parameter(f"m{end}", mass, unit="kg", doc=f"mass of the {word} wheel")
        m.parameter(f"I{end}xx", across, unit="kg*m^2", doc=f"{word} wheel across its axle")
        m.parameter(f"I{end}yy", about, unit="kg*m^2", doc=f"{word} wheel about its axle")
    frames = {
        "B": ("rear frame", 85, (0.3, -0.9), (9.2, 2.4, 11, 2.8)),
        "H": ("front frame", 4, (0.9, -0.7), (0.05892, -0.00756, 0.06, 0.00708)),
    }
    for end, (word, mass, (x, z), inertia) in frames.items():
        m.parameter(f"m{end}", mass, unit="kg", doc=f"mass of the {word}")
        m.parameter(f"x{end}", x, unit="m", doc=f"mass center of the {word} in the reference pose")
        m.parameter(f"z{end}", z, unit="m", doc=f"mass center of the {word} in the reference pose")
        for axes, value in zip(("xx", "xz", "yy", "zz"), inertia, strict=True):
            m.parameter(f"I{end}{axes}", value, unit="kg*m^2", doc=f"inertia of the {word}")
