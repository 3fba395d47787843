"""Pointing machines of joints whose axes meet: candidates of the antenna-mount thesis, chapter 2.

Counted one by one, the joints of each leave too few freedoms: only because axes meet in a point
does it move (special mobility). Three are spherical 3-RRR machines with other hinges at the base
than the agile eye has (Gosselin and Lavoie 1993): on one line, in one plane, or on a cone. The
fourth is the coupling of three 4R legs (UNITRU): first and second hinges meet in the center of the
base, third and fourth in that of the platform, which mirrors the base.

Axes are given as they stand at the start, where all coordinates are zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from linkwright.mechanism import Body, Mechanism, Revolute
from linkwright.models.declare import declare

Axis = tuple[float, float, float]
_TURNS = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)


def collinear() -> Mechanism:
    """Return the spherical machine whose three motors are on one line.

    >>> m = collinear()
    >>> len(m.constraints), m.actuators
    (4, [motor1, motor2, motor3])
    """
    return _spherical(
        "spherical-collinear",
        "spherical platform (3-RRR) whose motors are on one line",
        lambda turn: ((0.0, 0.0, 1.0), _tilted(turn, 60.0), _across(turn)),
    )


def coplanar() -> Mechanism:
    """Return the spherical machine whose three motors are in one plane.

    >>> len(coplanar().constraints)
    4
    """
    return _spherical(
        "spherical-coplanar",
        "spherical platform (3-RRR) whose motors are in one plane",
        lambda turn: (_tilted(turn, 90.0), _across(turn), _tilted(turn, 45.0)),
    )


def shoulder() -> Mechanism:
    """Return the spherical machine whose motors are square to each other below the platform.

    >>> len(shoulder().constraints)
    4
    """
    low = math.degrees(math.acos(-1.0 / math.sqrt(3.0)))
    return _spherical(
        "spherical-shoulder",
        "shoulder module: spherical platform (3-RRR), motors square to each other",
        lambda turn: (_tilted(turn, low), _across(turn), _tilted(turn, 50.0)),
    )


def unitru() -> Mechanism:
    """Return the coupling of three legs of four hinges each, which turns without torsion.

    >>> m = unitru()
    >>> len(m.constraints), m.actuators
    (10, [leg1, leg2])
    """
    m = _begun("unitru", "pointing coupling of three 4R legs that mirror base and platform")
    declare(m, "m", "from base center to platform center", D=0.2)
    up, tip = {}, {}
    for k, turn in enumerate(_TURNS, 1):
        # Hinges 2 and 3 meet in the mirror plane, beside the line of the centers.
        second = tuple(math.sin(math.pi / 4) * x for x in _across(turn))
        first = m.body(f"leg{k}", joint=Revolute(_tilted(turn, 90.0)), **_link(m, k, "base"))
        axis = (second[0], second[1], math.cos(math.pi / 4))
        up[k] = m.body(f"middle{k}", parent=first, joint=Revolute(axis), **_link(m, k, "middle"))
        tip[k] = (-second[0], -second[1], math.cos(math.pi / 4))
    center = (0, 0, "D")
    far = m.body("far1", parent=up[1], joint=Revolute(tip[1]), at=center, **_link(m, 1, "top"))
    dish = _platform(m, far, _tilted(_TURNS[0], 90.0))
    others = {
        k: m.body(
            f"far{k}",
            parent=dish,
            joint=Revolute(_tilted(_TURNS[k - 1], 90.0)),
            **_link(m, k, "top"),
        )
        for k in (2, 3)
    }
    for k, link in others.items():
        m.close_loop(f"hinge{k}", m.point(f"heel{k}", up[k], center), link, Revolute(tip[k]))
    m.actuate("leg1", "leg2")
    return m


def _begun(name: str, doc: str) -> Mechanism:
    m = Mechanism(name, doc)
    m.positive("link_mass", "platform_mass")
    declare(m, "kg", "link", link_mass=0.15)
    declare(m, "kg*m^2", "link about any axis through the center it turns about", link_inertia=1e-3)
    declare(m, "kg", "platform", platform_mass=0.5)
    declare(m, "kg*m^2", "platform about any axis through the center", platform_inertia=5e-4)
    declare(m, "m/s^2", "gravity", g=9.81)
    m.gravity(along="-z", g="g")
    m.set_timing(0.5, step=0.005)
    return m


def _spherical(
    name: str, doc: str, hinges: Callable[[float], tuple[Axis, Axis, Axis]]
) -> Mechanism:
    """Return a 3-RRR machine; `hinges` gives base, middle and platform axis of a leg's azimuth."""
    m = _begun(name, doc)
    legs = dict(enumerate((hinges(turn) for turn in _TURNS), 1))
    near = {
        k: m.body(f"motor{k}", joint=Revolute(axes[0]), **_link(m, k, "base"))
        for k, axes in legs.items()
    }
    far = m.body("far1", parent=near[1], joint=Revolute(legs[1][1]), **_link(m, 1, "top"))
    dish = _platform(m, far, legs[1][2])
    others = {
        k: m.body(f"far{k}", parent=dish, joint=Revolute(legs[k][2]), **_link(m, k, "top"))
        for k in (2, 3)
    }
    for k, link in others.items():
        m.close_loop(f"hinge{k}", near[k], link, Revolute(legs[k][1]))
    for k in legs:
        m.limit(f"motor{k}", "-60 deg", "60 deg")
        m.actuate(f"motor{k}")
    return m


def _link(m: Mechanism, leg: int, where: str) -> dict[str, Any]:
    return {"mass": "link_mass", "inertia": "link_inertia", "doc": f"link of leg {leg}, {where}"}


def _platform(m: Mechanism, parent: Body, axis: Axis) -> Body:
    made = m.body(
        "platform",
        parent=parent,
        joint=Revolute(axis),
        mass="platform_mass",
        inertia="platform_inertia",
        doc="platform, on the hinge of leg 1",
    )
    m.set_platform(made)
    return made


def _tilted(turn: float, tilt: float) -> Axis:
    """Return a direction at an azimuth and an angle from the vertical in degrees."""
    s, c = math.sin(math.radians(tilt)), math.cos(math.radians(tilt))
    return (s * math.cos(turn), s * math.sin(turn), c)


def _across(turn: float) -> Axis:
    """Return the horizontal direction square to an azimuth."""
    return (-math.sin(turn), math.cos(turn), 0.0)
