"""Antenna mounts that are parallel machines: three legs of two arms each hold a dish.

A leg is an arm on the base, hinged about a tangent of the base's circle, a ball joint, and an arm
that is hinged to the platform in the same way (R-S-R; Hunt, and Phillips and Sherwood). Platform
and upper arms mirror base and lower arms in the plane through the three ball joints, so the dish
turns without torsion. Left alone, three legs leave two rotations and the plunge (`three_rotary`);
a strut of fixed length from base center to platform center takes the plunge (`two_rotary`), and
two jacks from strut to base can move it in place of motors at the base (`prismatic`). In the
trusses, members of driven length join the ball joints: three of them (`truss_three`), or two and
the strut (`truss_two`).

The axes: x east, y north, z up. Angles of arms are measured from the vertical, positive outward.
The tree runs from the ground over the first leg to the platform, and from there down the other
legs; it is cut at the ball joints.
"""

from __future__ import annotations

import math
from dataclasses import replace

from linkwright.base.errors import InputError
from linkwright.mechanism import Ball, Body, Joint, Mechanism, Revolute, Universal
from linkwright.models.declare import declare
from linkwright.models.flexible_links import SHARE, declare_links, far_end, hold, spring
from linkwright.models.masses import RADIAL, Lump, lumped, rod


def three_rotary(
    offset: float = 0.0,  # m
    capsules: bool = False,
    hinges: bool = False,
    cone: float = 20.0,  # deg
    flexible: bool = False,
) -> Mechanism:
    """Return the mount with three motors at the base: two rotations and a plunge.

    With an `offset`, arms stand beside the planes of their legs by so much, as Hunt proposed for
    stiffness and room; with `capsules`, arms and dish have shapes that charts keep apart. With
    `hinges`, three hinges stand in place of each ball joint, of which the first and the last may
    not come nearer to one line than the angle of their `cone`. With `flexible`, arms bend by their
    first mode and elastic drives hold the motors' arms, for runs.

    >>> m = three_rotary()
    >>> len(m.constraints), m.actuators
    (6, [arm1, arm2, arm3])
    """
    m = Mechanism("mount-3-rotary", "antenna mount: three legs, each driven by a motor at the base")
    _legs(m, offset, hinges, cone, flexible)
    _close_legs(m, offset, hinges, flexible)
    _motors(m, flexible, "arm1", "arm2", "arm3")
    if capsules:
        _capsules(m)
    return m


def two_rotary(
    offset: float = 0.0,  # m
    capsules: bool = False,
    hinges: bool = False,
    cone: float = 20.0,  # deg
    flexible: bool = False,
) -> Mechanism:
    """Return the mount with a strut and two motors at the base.

    >>> m = two_rotary()
    >>> len(m.constraints), m.actuators
    (9, [arm1, arm2])
    """
    m = Mechanism("mount-2-rotary", "antenna mount: three legs, a strut, two motors at the base")
    _strut(m, _legs(m, offset, hinges, cone, flexible))
    _close_legs(m, offset, hinges, flexible)
    _close_strut(m)
    _motors(m, flexible, "arm1", "arm2")
    if capsules:
        _capsules(m)
    return m


def prismatic(
    offset: float = 0.0,  # m
    capsules: bool = False,
    hinges: bool = False,
    cone: float = 20.0,  # deg
) -> Mechanism:
    """Return the mount with a strut and two jacks between strut and base.

    >>> m = prismatic()
    >>> len(m.constraints), m.actuators
    (15, [leg1, leg2])
    """
    m = Mechanism("mount-prismatic", "antenna mount: three legs, a strut that two jacks tilt")
    strut = _strut(m, _legs(m, offset, hinges, cone))
    declare(m, "m", "where the jacks hold the strut, from the base center", h=0.49)
    declare(m, "m", "radius of the circle on which the jacks are anchored", anchor_radius=0.8)
    declare(m, "m", "height of the anchors above the base", anchor_height=0.3465)
    declare(m, "rad", "azimuth of an anchor, from x to y", azimuth1=0, azimuth2=math.pi / 2)
    declare(m, "kg", "half of a jack at the strut", jack_mass=4)
    declare(m, "m", "its mass center from the strut", jack_center=0.3)
    declare(m, "kg", "half of a jack at the anchor", rod_mass=3)
    declare(m, "m", "its mass center from the anchor", rod_center=0.3)
    for k in (1, 2):
        _jack(m, k, strut)
    _close_legs(m, offset, hinges)
    _close_strut(m)
    for k in (1, 2):
        c, s = f"cos(azimuth{k})", f"sin(azimuth{k})"
        anchor = m.point(
            f"anchor{k}", at=(f"anchor_radius*{c}", f"anchor_radius*{s}", "anchor_height")
        )
        m.close_loop(f"foot{k}", anchor, m.bodies[f"leg{k}"], Ball())
        m.limit(f"leg{k}", 0.4, 1.2)
    m.actuate("leg1", "leg2")
    if capsules:
        _capsules(m, jacks=True)
    return m


def _motors(m: Mechanism, flexible: bool, *arms: str) -> None:
    for arm in arms:
        m.limit(arm, "-25 deg", "135 deg")
        if flexible:
            hold(m, m.bodies[arm], math.acos(m.values["D"] / (2 * m.values["l"])))
        else:
            m.actuate(arm)


def truss_three() -> Mechanism:
    """Return the mount that three members between its ball joints move.

    >>> m = truss_three()
    >>> len(m.constraints), m.actuators
    (9, [member12, member23, member31])
    """
    m = Mechanism("mount-truss-3", "antenna mount: three legs, members between their ball joints")
    _legs(m)
    _close_legs(m)
    _members(m, (1, 2), (2, 3), (3, 1))
    return m


def truss_two() -> Mechanism:
    """Return the mount with a strut that two members between its ball joints move.

    >>> m = truss_two()
    >>> len(m.constraints), m.actuators
    (11, [member12, member23])
    """
    m = Mechanism("mount-truss-2", "antenna mount: three legs, a strut, two members")
    _strut(m, _legs(m))
    _close_legs(m)
    _close_strut(m)
    _members(m, (1, 2), (2, 3))
    return m


def _members(m: Mechanism, *pairs: tuple[int, int]) -> None:
    """Join ball joints by members of driven length."""
    for i, j in pairs:
        name = f"member{i}{j}"
        m.drive_strut(name, f"elbow{i}", f"elbow{j}", doc=f"length between ball joints {i} and {j}")
        m.set_initial({name: "sqrt(3)*(r + sqrt(l**2 - D**2/4))"})
        m.limit(name, 0.3, 2.2)
        m.actuate(name)


def _legs(
    m: Mechanism,
    offset: float = 0.0,
    hinges: bool = False,
    cone: float = 0.0,
    flexible: bool = False,
) -> Body:
    """Add parameters, arms and platform; return the platform."""
    _parameters(m)
    beside: str | int = 0
    if offset:
        declare(m, "m", "of arms beside the planes of their legs", arm_offset=offset)
        beside = "arm_offset"
    if flexible and hinges:
        raise InputError(
            "links that bend end in ball joints", remedy="leave out hinges, or flexible"
        )
    arms = {k: _lower(m, k, hinges, flexible) for k in RADIAL}
    if flexible:
        declare_links(m)
        arms = {
            k: far_end(
                m, f"tip{k}", arm, (0, beside, f"l + l_lower{k}"),
                f"joint_mass + {SHARE}*arm_mass", f"l + l_lower{k}", "arm_bending",
            )
            for k, arm in arms.items()
        }  # fmt: skip
    if hinges:
        arms = {k: _hinges(m, k, arm, beside, cone) for k, arm in arms.items()}
    joint = Revolute("z") if hinges else Ball(quaternion=True)
    at = (0, 0, 0) if hinges or flexible else (0, beside, "l + l_lower1")
    heavy = rod("upper_mass", "l + l_upper1", "(1 - kappa)*(l + l_upper1)")
    if flexible:  # the ball joint is at the far end of the upper arm
        end = m.body("end1", parent=arms[1], joint=joint, mass=f"{SHARE}*upper_mass", inertia=0)
        light = lumped(m, heavy, Lump(f"-{SHARE}*upper_mass"))
        upper = m.body("upper1", parent=end, translate="xy", doc="upper arm of leg 1", **light)
        spring(m, upper, end, "3*upper_bending/(l + l_upper1)**3")
    else:
        upper = m.body(
            "upper1", parent=arms[1], joint=joint, at=at, doc="upper arm of leg 1",
            **lumped(m, heavy),
        )  # fmt: skip
    back = "-r - r_platform1"
    platform = m.body(
        "platform",
        parent=upper,
        rotate="y",
        at=(0, f"-{beside}" if beside else 0, "l + l_upper1"),
        doc="platform with antenna, on the hinge of leg 1",
        **lumped(
            m,
            Lump("platform_mass", (back, 0, 0), ("platform_across",) * 2 + ("platform_along",)),
            Lump(
                "antenna_mass",
                (back, 0, "antenna_height"),
                ("antenna_across",) * 2 + ("antenna_along",),
            ),
        ),
    )
    for k in (2, 3):
        x, y = RADIAL[k]
        out = f"(r + r_platform{k})"
        length = f"l + l_upper{k}"
        heavy = rod("upper_mass", length, f"-kappa*({length})")
        parts = [Lump(f"-{SHARE}*upper_mass", (0, 0, f"-({length})"))] if flexible else []
        arm = m.body(
            f"upper{k}",
            parent=platform,
            rotate=[(y, -x, 0)],
            body_axis="y",
            reference="z",
            at=(f"{x}*{out} - r - r_platform1", f"{y}*{out}", 0),
            doc=f"upper arm of leg {k}",
            **lumped(m, heavy, *parts),
        )
        if flexible:
            place = (0, f"-{beside}" if beside else 0, f"-({length})")
            far_end(m, f"end{k}", arm, place, f"{SHARE}*upper_mass", length, "upper_bending")
    m.gravity(along="-z", g="g")
    m.set_platform(m.point("center", platform, (back, 0, 0)))
    zenith = "acos(D/(2*l))"
    m.set_initial(dict.fromkeys(("arm1", "arm2", "arm3", "upper2", "upper3"), zenith))
    m.set_initial(platform=zenith)
    m.set_timing(0.5, step=0.01)
    if hinges:
        m.set_initial(dict.fromkeys(("yoke1", "yoke2", "yoke3"), f"2*{zenith}"))
    else:
        ball = "end1" if flexible else "upper1"
        m.set_initial({f"{ball}.e0": "D/(2*l)", f"{ball}.e2": "-sqrt(1 - D**2/(4*l**2))"})
    return platform


def _hinges(m: Mechanism, k: int, arm: Body, beside: str | int, cone: float) -> Body:
    """Add the first two hinges in place of a ball joint; the third joins the upper arm (3-2-3).

    The first is along the lower arm and the third along the upper one. They are on one line where
    the angle of the middle one is 0 or 180 degrees, and there the three lose a freedom.
    """
    part = lumped(m, Lump("joint_mass/3", (0, 0, 0), ("joint_mass/3*gyration",) * 3))
    fork = m.body(
        f"fork{k}",
        parent=arm,
        joint=Revolute("z"),
        at=(0, beside, f"l + l_lower{k}"),
        doc=f"between the first and the second hinge of leg {k}",
        **part,
    )
    yoke = m.body(
        f"yoke{k}",
        parent=fork,
        joint=Revolute("-y"),
        doc=f"between the second and the third hinge of leg {k}",
        **part,
    )
    m.limit(f"yoke{k}", math.radians(cone), math.pi - math.radians(cone))
    return yoke


def _parameters(m: Mechanism) -> None:
    m.positive("r", "l", "D", "arm_mass", "upper_mass", "platform_mass")
    declare(m, "m", "radius of the hinges of base and platform", r=0.28033)
    declare(m, "m", "length of an arm", l=0.841)
    declare(m, "m", "from base center to platform center", D=0.98)
    for k in RADIAL:
        declare(m, "m", f"what the lower arm of leg {k} is longer than l", **{f"l_lower{k}": 0})
        declare(m, "m", f"what the upper arm of leg {k} is longer than l", **{f"l_upper{k}": 0})
        declare(m, "m", f"what hinge {k} of the base is farther out than r", **{f"r_base{k}": 0})
        declare(m, "m", "what that of the platform is farther out", **{f"r_platform{k}": 0})
    declare(m, "kg", "lower arm", arm_mass=8.81)
    declare(m, "kg", "upper arm", upper_mass=8.15)
    declare(m, "kg", "ball joint between two arms", joint_mass=6.47)
    declare(m, "1", "mass center of an arm, from its hinge, by its length", kappa=0.5)
    declare(m, "m^2", "moment of inertia of a link along itself, by its mass", gyration=0.001)
    declare(m, "kg", "platform", platform_mass=19.57)
    declare(m, "kg*m^2", "platform across its axis", platform_across=0.5)
    declare(m, "kg*m^2", "platform about its axis", platform_along=1)
    declare(m, "kg", "antenna", antenna_mass=100)
    declare(m, "m", "mass center of the antenna above the platform", antenna_height=0)
    declare(m, "kg*m^2", "antenna across its axis", antenna_across=12)
    declare(m, "kg*m^2", "antenna about its axis", antenna_along=20)
    declare(m, "kg", "counterbalance of a lower arm", balance_mass=0)
    declare(m, "m", "its distance from the hinge", balance_arm=0.3)
    declare(m, "rad", "its angle from the arm, outward", balance_angle=math.pi)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.declared_only = True


def _lower(m: Mechanism, k: int, hinges: bool = False, flexible: bool = False) -> Body:
    """Add the lower arm of a leg; its x is radial and its z lies along it."""
    x, y = RADIAL[k]
    length = f"l + l_lower{k}"
    tip = "joint_mass/3" if hinges else f"-{SHARE}*arm_mass" if flexible else "joint_mass"
    return m.body(
        f"arm{k}",
        rotate=[(-y, x, 0)],
        body_axis="y",
        reference="z",
        at=(f"{x}*(r + r_base{k})", f"{y}*(r + r_base{k})", 0),
        doc=f"lower arm of leg {k}",
        **lumped(
            m,
            rod("arm_mass", length, f"kappa*({length})"),
            Lump(tip, (0, 0, length)),
            Lump(
                "balance_mass",
                ("balance_arm*sin(balance_angle)", 0, "balance_arm*cos(balance_angle)"),
            ),
        ),
    )


def _strut(m: Mechanism, platform: Body) -> Body:
    """Add the strut, which hangs on the platform in a universal joint; its z points up."""
    declare(m, "kg", "strut", strut_mass=3)
    declare(m, "kg", "counterbalance of the strut", strut_balance_mass=0)
    declare(m, "m", "its distance from the base center", strut_balance_arm=0.5)
    declare(m, "rad", "its angle from the strut", strut_balance_angle=math.pi)
    return m.body(
        "strut",
        parent=platform,
        joint=Universal("x", "y"),
        at=("-r - r_platform1", 0, 0),
        doc="strut of fixed length from base center to platform center",
        **lumped(
            m,
            rod("strut_mass", "D", "-D/2"),
            Lump(
                "strut_balance_mass",
                (
                    "strut_balance_arm*sin(strut_balance_angle)",
                    0,
                    "strut_balance_arm*cos(strut_balance_angle) - D",
                ),
            ),
        ),
    )


def _jack(m: Mechanism, k: int, strut: Body) -> None:
    """Add a jack in a universal joint of the strut; it points along its own -z to the anchor."""
    c, s = f"cos(azimuth{k})", f"sin(azimuth{k})"
    swing = Joint(rotate=((s, f"-{c}", 0),), body_axis="y", reference="z")
    jack = m.body(
        f"jack{k}",
        parent=strut,
        joint=replace(swing, second=Revolute("x")),
        at=(0, 0, "h - D"),
        doc=f"half of jack {k} at the strut",
        **lumped(m, _point("jack_mass", "-jack_center")),
    )
    m.body(
        f"leg{k}",
        parent=jack,
        translate="-z",
        doc=f"half of jack {k} at its anchor; the coordinate is the length of the jack",
        **lumped(m, _point("rod_mass", "rod_center")),
    )
    rise = "(h - anchor_height)"
    m.set_initial({f"jack{k}_cross": f"atan2(anchor_radius, {rise})"})
    m.set_initial({f"leg{k}": f"sqrt(anchor_radius**2 + {rise}**2)"})


def _point(mass: str, center: str) -> Lump:
    return Lump(mass, (0, 0, center), (f"{mass}*gyration",) * 3)


def _close_legs(
    m: Mechanism, offset: float = 0.0, hinges: bool = False, flexible: bool = False
) -> None:
    if flexible:
        for k in (2, 3):
            m.close_loop(f"ball{k}", f"tip{k}", f"end{k}", Ball())
        return
    beside, back = ("arm_offset", "-arm_offset") if offset else (0, 0)
    elbows = {k: m.point(f"elbow{k}", f"arm{k}", (0, beside, f"l + l_lower{k}")) for k in RADIAL}
    for k in (2, 3):  # whose upper arms have their y against that of the lower ones
        tip = m.point(f"tip{k}", f"upper{k}", (0, back, f"-l - l_upper{k}"))
        if hinges:
            m.close_loop(f"ball{k}", f"yoke{k}", tip, Revolute("z"))
        else:
            m.close_loop(f"ball{k}", elbows[k], tip, Ball())


def _capsules(m: Mechanism, *, jacks: bool = False) -> None:
    """Add the shapes of arms, strut, jacks and dish, which charts keep apart."""
    declare(m, "m", "radius of the arms", arm_radius=0.04)
    declare(m, "m", "radius of the dish", dish_radius=0.6)
    declare(m, "m", "of its rim above the platform", dish_height=0.35)
    for k in RADIAL:
        m.collision_capsule(f"arm{k}", f"arm{k}", f"elbow{k}", "arm_radius")
        end = m.point(f"wrist{k}", f"upper{k}", (0, 0, "l" if k == 1 else "-l"))
        m.collision_capsule(f"upper{k}", f"upper{k}", end, "arm_radius")
    for k in range(3):  # diameters of the dish
        c, s = math.cos(k * math.pi / 3), math.sin(k * math.pi / 3)
        first, second = (
            m.point(
                f"rim{k}{side}", "platform",
                (f"-r - r_platform1 + {sign * c}*dish_radius", f"{sign * s}*dish_radius",
                 "dish_height"),
            )
            for side, sign in (("a", 1), ("b", -1))
        )  # fmt: skip
        m.collision_capsule(f"dish{k}", first, second, "arm_radius")
    for k in (1, 2) if jacks else ():
        m.collision_capsule(f"jack{k}", f"jack{k}", f"anchor{k}", "arm_radius")


def _close_strut(m: Mechanism) -> None:
    m.close_loop("foot", m.origin, m.point("heel", "strut", (0, 0, "-D")), Ball())
    m.limit_cone("foot", "62.5 deg")
