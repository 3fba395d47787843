"""Antenna mounts of axes one after the other: what parallel mounts are compared with.

x is east, y north, z up; the dish points along its own z. Each has directions, its keyholes, near
which an axis must turn arbitrarily fast: the alt-azimuth mount at the zenith, the X-Y mount at both
ends of its first axis on the horizon, the equatorial mount at the poles of the sky.
"""

from __future__ import annotations

import math
from typing import Literal

from linkwright.mechanism import Body, Joint, Mechanism, Revolute
from linkwright.models.declare import declare


def alt_az() -> Mechanism:
    """Return the mount that turns about the vertical, then tilts.

    The direction is (sin(tilt) cos(azimuth), sin(tilt) sin(azimuth), cos(tilt)).

    >>> alt_az().actuators
    [azimuth, tilt]
    """
    m = _mount("mount-alt-az", "antenna mount: turns about the vertical, then tilts")
    turret = _turret(m, "azimuth", Revolute("z"), "turns about the vertical, from x to y")
    _dish(m, "tilt", turret, Revolute("y"), "dish, tilted from the zenith")
    m.limit("azimuth", "-270 deg", "270 deg")
    m.limit("tilt", "-5 deg", "95 deg")
    return m


def x_y() -> Mechanism:
    """Return the mount with a horizontal axis along x that carries one along y.

    >>> x_y().actuators
    [x_axis, y_axis]
    """
    m = _mount("mount-x-y", "antenna mount: a horizontal axis carries one across it")
    turret = _turret(m, "x_axis", Revolute("x"), "turns about x, which is horizontal")
    _dish(m, "y_axis", turret, Revolute("y"), "dish, turned about the axis across it")
    m.limit("x_axis", "-95 deg", "95 deg")
    m.limit("y_axis", "-95 deg", "95 deg")
    return m


def equatorial() -> Mechanism:
    """Return the mount whose first axis is that of the Earth.

    The hour angle is zero toward the meridian and grows westward; the declination is zero toward
    the equator of the sky and grows northward.

    >>> equatorial().actuators
    [hour_angle, declination]
    """
    m = _mount("mount-equatorial", "antenna mount: an axis along that of the Earth")
    m.parameter(
        "latitude", math.radians(-43.52), unit="rad", doc="of the site, north of the equator"
    )
    axis = (0, "-cos(latitude)", "-sin(latitude)")
    turret = _turret(m, "hour_angle", Revolute(axis), "turns about the Earth's axis, westward")
    tilted = Revolute("-x", offset="-latitude")
    _dish(m, "declination", turret, tilted, "dish, turned north from the equator of the sky")
    m.set_initial(declination="latitude")
    m.limit("hour_angle", "-180 deg", "180 deg")
    m.limit("declination", "-180 deg", "180 deg")
    return m


def three_axis() -> Mechanism:
    """Return the marine mount: cross-elevation over elevation over azimuth.

    >>> three_axis().actuators
    [azimuth, tilt, cross]
    """
    m = _mount("mount-3-axis", "marine antenna mount: cross-tilt over tilt over azimuth")
    turret = _turret(m, "azimuth", Revolute("z"), "turns about the vertical, from x to y")
    declare(m, "kg", "cradle between the axes of tilt and cross-tilt", cradle_mass=15)
    declare(m, "kg*m^2", "cradle about any axis", cradle_inertia=1)
    cradle = m.body(
        "tilt",
        parent=turret,
        joint=Revolute("y"),
        at=(0, 0, "height"),
        mass="cradle_mass",
        inertia="cradle_inertia",
        doc="cradle, tilted from the zenith",
    )
    m.actuate("tilt")
    _dish(m, "cross", cradle, Revolute("x"), "dish, tilted across", at=(0, 0, 0))
    m.limit("azimuth", "-270 deg", "270 deg")
    m.limit("tilt", "-30 deg", "120 deg")
    m.limit("cross", "-40 deg", "40 deg")
    return m


def four_axis(
    stabilizer: Literal["servo", "pendulum", "flywheels"] = "servo",
) -> Mechanism:
    """Return the marine mount with elevation over azimuth on a gimbal of two axes.

    What levels the gimbal is a servo at each axis, or nothing but its inertia: a compound pendulum
    whose period is much longer than that of the ship ("pendulum"), or two flywheels that spin
    against each other and precess about axes across each other ("flywheels"). A wheel with the
    momentum H on a spring k adds H^2/k to the inertia of slow motions.

    >>> four_axis().actuators
    [roll, pitch, azimuth, tilt]
    >>> four_axis("flywheels").actuators
    [azimuth, tilt]
    """
    m = _mount("mount-4-axis", "marine antenna mount: tilt over azimuth on a gimbal of two axes")
    m.defaults(antenna_height=0)
    declare(m, "kg", "ring of the gimbal", ring_mass=10)
    declare(m, "kg*m^2", "ring about any axis", ring_inertia=1)
    declare(m, "kg", "ballast below the gimbal", ballast_mass=130)
    declare(m, "m", "how far below", ballast_depth=0.5015)
    declare(m, "kg*m^2", "ballast about any axis", ballast_inertia=3)
    declare(m, "N*m*s/rad", "friction of the bearings of the gimbal", gimbal_damping=0.05)
    outer = m.body(
        "roll", joint=Revolute("x"), mass="ring_mass", inertia="ring_inertia",
        doc="outer ring of the gimbal",
    )  # fmt: skip
    inner = m.body(
        "pitch", parent=outer, joint=Revolute("y"), mass="ballast_mass",
        com=(0, 0, "-ballast_depth"), inertia="ballast_inertia",
        doc="what the gimbal holds level, with its ballast",
    )  # fmt: skip
    turret = m.body(
        "azimuth", parent=inner, joint=Revolute("z"), mass="turret_mass", com=(0, 0, "height/2"),
        inertia=("turret_across", "turret_across", "turret_along"),
        doc="turns about the axis that is held upright, from x to y",
    )  # fmt: skip
    if stabilizer == "servo":
        m.actuate("roll", "pitch")
    frames = _wheels(m, inner) if stabilizer == "flywheels" else []
    m.actuate("azimuth")
    _dish(m, "tilt", turret, Revolute("y"), "dish, tilted from the axis held upright")
    for name in ("roll", "pitch"):
        m.limit(name, "-40 deg", "40 deg")
        rate = m.kinematics().rates[m.coordinates[name]]
        body = m.bodies[name]
        m.moment(
            f"bearing of {name}", -m.expr("gimbal_damping") * rate, on=body,
            about=body.frame.spins[0][1], reaction=body.parent,
        )  # fmt: skip
    for frame in frames:
        _centered(m, frame)
    m.limit("azimuth", "-270 deg", "270 deg")
    m.limit("tilt", "-5 deg", "95 deg")
    return m


def _wheels(m: Mechanism, inner: Body) -> list[Body]:
    """Add two flywheels that spin against each other, and the frames in which they precess."""
    m.positive("frame_mass", "wheel_mass")
    declare(m, "kg", "frame of a flywheel", frame_mass=3)
    declare(m, "kg*m^2", "the same about any axis", frame_inertia=0.05)
    declare(m, "kg", "flywheel", wheel_mass=20)
    declare(m, "kg*m^2", "the same about its axis of spin", wheel_along=0.6)
    declare(m, "kg*m^2", "the same across that axis", wheel_across=0.32)
    declare(m, "rad/s", "speed of spin", wheel_speed=300)
    declare(m, "N*m/rad", "spring about the axis of precession", wheel_spring=20)
    declare(m, "N*m*s/rad", "damper about that axis", wheel_damping=3)
    frames = []
    for name, axis, sign in (("1", "y", ""), ("2", "x", "-")):
        doc = f"frame of a flywheel, which precesses about {axis}"
        frame = m.body(
            f"frame{name}", parent=inner, joint=Revolute(axis), mass="frame_mass",
            inertia="frame_inertia", doc=doc,
        )  # fmt: skip
        m.body(
            f"wheel{name}", parent=frame, joint=Revolute("z"), mass="wheel_mass",
            inertia=("wheel_across", "wheel_across", "wheel_along"), doc="flywheel",
        )  # fmt: skip
        m.set_initial({f"wheel{name}_dot": f"{sign}wheel_speed"})
        frames.append(frame)
    return frames


def _centered(m: Mechanism, frame: Body) -> None:
    """Add the spring and the damper of a flywheel's frame."""
    q = frame.coordinates[0]
    rate = m.kinematics().rates[q]
    back = -m.expr("wheel_spring") * q - m.expr("wheel_damping") * rate
    axis = frame.frame.spins[0][1]
    m.moment(f"spring of {frame.name}", back, on=frame, about=axis, reaction=frame.parent)


def _mount(name: str, doc: str) -> Mechanism:
    m = Mechanism(name, doc)
    m.positive("turret_mass", "antenna_mass")
    declare(m, "m", "of the second axis above the first", height=0.5)
    declare(m, "kg", "what carries the second axis", turret_mass=60)
    declare(m, "kg*m^2", "the same about its axis", turret_along=3)
    declare(m, "kg*m^2", "the same across its axis", turret_across=4)
    declare(m, "kg", "antenna", antenna_mass=100)
    declare(m, "m", "mass center of the antenna above the last axis", antenna_height=0.25)
    declare(m, "kg*m^2", "antenna across its axis", antenna_across=12)
    declare(m, "kg*m^2", "antenna about its axis", antenna_along=20)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.gravity(along="-z", g="g")
    m.set_timing(1.0, step=0.01)
    return m


def _turret(m: Mechanism, name: str, joint: Joint, doc: str) -> Body:
    """Add what turns about the first axis."""
    made = m.body(
        name,
        joint=joint,
        mass="turret_mass",
        com=(0, 0, "height/2"),
        inertia=("turret_across", "turret_across", "turret_along"),
        doc=doc,
    )
    m.actuate(name)
    return made


def _dish(
    m: Mechanism,
    name: str,
    parent: Body,
    joint: Joint,
    doc: str,
    at: tuple[object, ...] = (0, 0, "height"),
) -> None:
    """Add the dish on the last axis."""
    m.declared_only = True
    dish = m.body(
        name,
        parent=parent,
        joint=joint,
        at=at,
        mass="antenna_mass",
        com=(0, 0, "antenna_height"),
        inertia=("antenna_across", "antenna_across", "antenna_along"),
        doc=doc,
    )
    m.actuate(name)
    m.set_platform(dish)
