"""Parallel machines beside the mounts: a platform on legs that drive it together."""

from __future__ import annotations

import math

from linkwright.mechanism import Ball, Body, Free, Mechanism, Revolute
from linkwright.models.declare import declare
from linkwright.models.masses import RADIAL, Lump, lumped


def stewart(
    base: float = 0.5,  # radius of the joints of the base, m
    platform: float = 0.3,  # radius of those of the platform, m
    base_spread: float = 20.0,
    platform_spread: float = 20.0,
    stagger: float = 0.03,  # m
) -> Mechanism:
    """Return the hexapod of Gough and Stewart: a platform on six struts whose lengths are driven.

    The places of all twelve ball joints are parameters; the options give their values. With two
    flat hexagons 12 of the 40 assemblies of a hexapod lie at infinity; the stagger of its ball
    joints makes this one a general hexapod.

    >>> m = stewart()
    >>> len(m.constraints), m.actuators[0], round(m.initial["leg1"], 4)
    (6, leg1, 0.6002)
    """
    m = Mechanism("stewart", "Gough-Stewart platform: six struts of driven length")
    for k in range(1, 7):
        side = -1 if k % 2 else 1
        pair = 120 * ((k - 1) // 2)
        low = math.radians(pair + side * base_spread / 2)
        high = math.radians(pair + side * (120 - platform_spread) / 2)
        lifted = 0.0 if k % 2 else stagger
        rings = (("base", base, low, 0.0), ("platform", platform, high, lifted))
        for what, radius, azimuth, height in rings:
            place = (radius * math.cos(azimuth), radius * math.sin(azimuth), height)
            for axis, value in zip("xyz", place, strict=True):
                doc = f"{axis} of the ball joint of leg {k} at the {what}"
                m.parameter(f"{what}{k}_{axis}", value, unit="m", doc=doc)
    m.positive("mass")
    declare(m, "m", "height of the platform at the start", height=0.5)
    declare(m, "kg", "mass of platform and load", mass=20)
    declare(m, "m", "height of its mass center", center=0.05)
    declare(m, "kg*m^2", "moment of inertia across its axis", across=0.5)
    declare(m, "kg*m^2", "moment of inertia about its axis", along=0.9)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    body = m.body(
        "platform",
        joint=Free(quaternion=True),
        mass="mass",
        com=(0, 0, "center"),
        inertia=("across", "across", "along"),
        doc="platform with load",
    )
    m.gravity(along="-z", g="g")
    m.set_initial({"platform.z": "height"})
    for k in range(1, 7):
        foot = m.point(f"base{k}", at=[f"base{k}_{axis}" for axis in "xyz"])
        head = m.point(f"head{k}", body, [f"platform{k}_{axis}" for axis in "xyz"])
        m.drive_strut(f"leg{k}", foot, head, doc=f"length of leg {k}")
        x, y, z = (f"platform{k}_{axis} - base{k}_{axis}" for axis in "xyz")
        m.set_initial({f"leg{k}": f"sqrt(({x})**2 + ({y})**2 + ({z} + height)**2)"})
    m.actuate(*(f"leg{k}" for k in range(1, 7)))
    m.set_platform(body)
    m.set_timing(0.2, step=0.01)
    return m


def delta() -> Mechanism:
    """Return Clavel's robot: three arms move a platform that stays level.

    The parallelograms of the forearms keep the platform level; each is written as one rod, whose
    mass counts half at the elbow and half at the platform (Clavel 1991).

    >>> m = delta()
    >>> len(m.constraints), m.actuators
    (3, [arm1, arm2, arm3])
    """
    m = Mechanism("delta", "Delta robot: three arms and parallelograms move a level platform")
    m.positive("L", "rod", "arm_mass", "platform_mass")
    declare(m, "m", "radius of the motors' axes", base=0.2)
    declare(m, "m", "radius of the joints of the platform", tool=0.05)
    declare(m, "m", "length of an arm", L=0.3)
    declare(m, "m", "length of a rod", rod=0.8)
    declare(m, "kg", "arm", arm_mass=1.2)
    declare(m, "kg", "both rods of a parallelogram", rod_mass=0.4)
    declare(m, "kg", "platform with its load", platform_mass=1.5)
    declare(m, "rad", "start of the arms below the horizontal", start=0.35)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    m.set_initial({f"arm{k}": "start" for k in (1, 2, 3)})
    for k, (x, y) in RADIAL.items():
        m.body(
            f"arm{k}",
            rotate=[(-y, x, 0)],
            body_axis="y",
            reference="z",
            at=(f"{x}*base", f"{y}*base", 0),
            doc=f"arm {k}, turned down from the horizontal",
            **lumped(
                m,
                Lump("arm_mass", ("L/2", 0, 0), (0, "arm_mass*L**2/12", "arm_mass*L**2/12")),
                Lump("rod_mass/2", ("L", 0, 0)),
            ),
        )
    platform = m.body(
        "platform",
        translate="xyz",
        mass="platform_mass + 3*rod_mass/2",
        inertia=0,
        doc="platform with its load and half of the rods",
    )
    m.gravity(along="-z", g="g")
    reach = "(base - tool + L*cos(start))"
    m.set_initial({"platform.z": f"-L*sin(start) - sqrt(rod**2 - {reach}**2)"})
    for k, (x, y) in RADIAL.items():
        elbow = m.point(f"elbow{k}", f"arm{k}", ("L", 0, 0))
        wrist = m.point(f"wrist{k}", platform, (f"{x}*tool", f"{y}*tool", 0))
        m.constrain_distance(elbow, wrist, "rod", name=f"rod {k}")
        m.limit(f"arm{k}", "-60 deg", "85 deg")
        m.actuate(f"arm{k}")
    m.set_platform(platform)
    m.set_timing(0.2, step=0.005)
    return m


def five_bar() -> Mechanism:
    """Return the planar five-bar linkage: two motors on the ground move one tip.

    >>> m = five_bar()
    >>> len(m.constraints), m.actuators
    (2, [left, right])
    """
    m = Mechanism("five-bar", "five-bar linkage: two cranks move a tip in the plane")
    m.positive("L1", "L2", "crank_mass", "rod_mass")
    declare(m, "m", "half the distance of the motors", c=0.1)
    declare(m, "m", "length of a crank", L1=0.25)
    declare(m, "m", "length of a rod", L2=0.35)
    declare(m, "kg", "crank", crank_mass=0.8)
    declare(m, "kg", "rod", rod_mass=0.5)
    declare(m, "kg", "load at the tip", load=0.5)
    declare(m, "rad", "angle of the cranks from the horizontal, outward, at the start", start=0.9)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True
    rods = []
    for side, name in ((-1, "left"), (1, "right")):
        crank = m.body(
            name,
            rotate="z",
            at=(f"{side}*c", 0, 0),
            mass="crank_mass",
            com=("L1/2", 0, 0),
            inertia=(0, 0, "crank_mass*L1**2/12"),
            doc=f"{name} crank, from x to y",
        )
        parts = [Lump("rod_mass", ("L2/2", 0, 0), (0, 0, "rod_mass*L2**2/12"))]
        if side < 0:
            parts.append(Lump("load", ("L2", 0, 0)))
        made = lumped(m, *parts)
        rods.append(
            m.body(
                f"{name}_rod",
                parent=crank,
                rotate="z",
                at=("L1", 0, 0),
                mass=made["mass"],
                com=made["com"],
                inertia=(0, 0, made["inertia"][2]),
                doc=f"rod on the {name} crank",
            )
        )
    m.gravity(along="-y", g="g")
    tip = m.point("tip", rods[0], ("L2", 0, 0))
    m.close_loop("pin", tip, m.point("tip_right", rods[1], ("L2", 0, 0)), Revolute("z"))
    lean = "acos((c + L1*cos(start))/L2)"
    m.set_initial(left="pi - start", right="start")
    m.set_initial(left_rod=f"{lean} + start - pi", right_rod=f"pi - {lean} - start")
    m.actuate("left", "right")
    m.limit("left", "0 deg", "270 deg")
    m.limit("right", "-90 deg", "180 deg")
    m.set_platform(tip, axis="x")
    m.set_timing(0.5, step=0.005)
    return m


def planar_3_rpr() -> Mechanism:
    """Return the planar platform on three jacks that are pinned at both ends.

    >>> m = planar_3_rpr()
    >>> len(m.constraints), m.actuators
    (4, [leg1, leg2, leg3])
    """
    m = Mechanism("planar-3-rpr", "planar platform on three jacks between pins")
    m.positive("platform_mass", "jack_mass", "rod_mass")
    places = {1: (-0.5, -0.3), 2: (0.5, -0.3), 3: (0.0, 0.6)}
    for k, (x, y) in places.items():
        for axis, value in zip("xy", (x, y), strict=True):
            doc = f"{axis} of the pin of leg {k} at the"
            m.parameter(f"base{k}_{axis}", value, unit="m", doc=f"{doc} base")
            m.parameter(f"platform{k}_{axis}", 0.3 * value, unit="m", doc=f"{doc} platform")
    declare(m, "kg", "platform", platform_mass=6)
    declare(m, "kg*m^2", "platform about its middle", platform_inertia=0.1)
    declare(m, "rad", "turn of the platform at the start; at zero its legs meet", turn=0.7)
    _declare_jacks(m)
    m.declared_only = True
    legs = [_planar_leg(m, k) for k in places]
    platform = m.body(
        "platform",
        parent=legs[0],
        rotate="z",
        mass="platform_mass",
        com=("-platform1_x", "-platform1_y", 0),
        inertia=("platform_inertia/2", "platform_inertia/2", "platform_inertia"),
        doc="platform, on the pin of leg 1",
    )
    m.gravity(along="-y", g="g")
    for k, leg in zip((2, 3), legs[1:], strict=True):
        place = (f"platform{k}_x - platform1_x", f"platform{k}_y - platform1_y", 0)
        m.close_loop(f"pin{k}", leg, m.point(f"head{k}", platform, place), Revolute("z"))
    for k in places:
        px, py = f"platform{k}_x", f"platform{k}_y"
        dx = f"(cos(turn)*{px} - sin(turn)*{py} - base{k}_x)"
        dy = f"(sin(turn)*{px} + cos(turn)*{py} - base{k}_y)"
        swing = f"atan2({dy}, {dx})"
        m.set_initial({f"swing{k}": swing, f"leg{k}": f"sqrt({dx}**2 + {dy}**2)"})
        if k == 1:
            m.set_initial(platform=f"turn - {swing}")
        m.limit(f"leg{k}", 0.15, 1.0)
        m.actuate(f"leg{k}")
    m.set_platform(m.point("center", platform, ("-platform1_x", "-platform1_y", 0)), axis="x")
    m.set_timing(0.2, step=0.005)
    return m


def _planar_leg(m: Mechanism, k: int) -> Body:
    swing = m.body(
        f"swing{k}",
        rotate="z",
        at=(f"base{k}_x", f"base{k}_y", 0),
        mass="jack_mass",
        com=("jack_center", 0, 0),
        inertia=(0, "jack_mass*gyration", "jack_mass*gyration"),
        doc=f"half of jack {k} at the base",
    )
    return m.body(
        f"leg{k}",
        parent=swing,
        translate="x",
        mass="rod_mass",
        com=("-rod_center", 0, 0),
        inertia=(0, "rod_mass*gyration", "rod_mass*gyration"),
        doc=f"half of jack {k} at the platform; the coordinate is the length of the jack",
    )


def _declare_jacks(m: Mechanism) -> None:
    declare(m, "kg", "half of a jack at the base", jack_mass=1)
    declare(m, "m", "its mass center from the base", jack_center=0.1)
    declare(m, "kg", "half of a jack at the platform", rod_mass=0.6)
    declare(m, "m", "its mass center from the platform", rod_center=0.1)
    declare(m, "m^2", "moment of inertia of such a half, by its mass", gyration=0.01)
    declare(m, "m/s^2", "gravity", g=9.81)


def tripod() -> Mechanism:
    """Return the 3-RPS platform: jacks on hinges carry a platform in ball joints (Hunt 1983).

    >>> m = tripod()
    >>> len(m.constraints), m.actuators
    (6, [leg1, leg2, leg3])
    """
    m = Mechanism("tripod", "3-RPS platform: three hinged jacks, ball joints at the platform")
    m.positive("base", "radius", "platform_mass")
    declare(m, "m", "radius of the hinges of the base", base=0.4)
    declare(m, "m", "radius of the ball joints of the platform", radius=0.25)
    declare(m, "m", "height of the platform at the start", height=0.6)
    declare(m, "kg", "platform with its load", platform_mass=10)
    declare(m, "kg*m^2", "the same across its axis", platform_across=0.2)
    declare(m, "kg*m^2", "the same about its axis", platform_along=0.35)
    _declare_jacks(m)
    m.declared_only = True
    legs = [_hinged_leg(m, k) for k in RADIAL]
    platform = m.body(
        "platform",
        parent=legs[0],
        joint=Ball(quaternion=True),
        mass="platform_mass",
        com=("-radius", 0, 0),
        inertia=("platform_across", "platform_across", "platform_along"),
        doc="platform, on the ball joint of leg 1",
    )
    m.gravity(along="-z", g="g")
    for k, leg in zip((2, 3), legs[1:], strict=True):
        x, y = RADIAL[k]
        head = m.point(f"head{k}", platform, (f"{x}*radius - radius", f"{y}*radius", 0))
        m.close_loop(f"ball{k}", leg, head, Ball())
    lean = "atan2(base - radius, height)"
    for k in RADIAL:
        m.set_initial({f"swing{k}": f"-{lean}", f"leg{k}": "sqrt((base - radius)**2 + height**2)"})
        m.limit(f"leg{k}", 0.35, 1.0)
        m.actuate(f"leg{k}")
    m.set_initial({"platform.e0": f"cos({lean}/2)", "platform.e2": f"sin({lean}/2)"})
    m.set_platform(m.point("center", platform, ("-radius", 0, 0)))
    m.set_timing(0.2, step=0.005)
    return m


def _hinged_leg(m: Mechanism, k: int) -> Body:
    x, y = RADIAL[k]
    swing = m.body(
        f"swing{k}",
        rotate=[(-y, x, 0)],
        body_axis="y",
        reference="z",
        at=(f"{x}*base", f"{y}*base", 0),
        mass="jack_mass",
        com=(0, 0, "jack_center"),
        inertia="jack_mass*gyration",
        doc=f"half of jack {k} at the base, leaning outward",
    )
    return m.body(
        f"leg{k}",
        parent=swing,
        translate="z",
        mass="rod_mass",
        com=(0, 0, "-rod_center"),
        inertia="rod_mass*gyration",
        doc=f"half of jack {k} at the platform; the coordinate is the length of the jack",
    )
