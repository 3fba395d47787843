"""Joints of an MJCF file.

A joint has a type, an axis and a point in the frame of its body; a range, damping, dry friction, a
spring with its reference, and the inertia of a rotor. Only hinges and slides have a reference
coordinate, ``ref``, at which the body is as drawn (XML Reference, body/joint).
"""

from __future__ import annotations

import math
from dataclasses import replace

from linkwright.formats.mjcf.settings import CompilerSettings, Defaults
from linkwright.formats.mjcf.words import USED
from linkwright.formats.robot.description import JointLimits, LinkJoint, Place, Triple
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import composed, rotate, scaled, turned, unit
from linkwright.formats.robot.xml import XmlElement
from linkwright.mechanism.joint_kinds import JOINTS

_KINDS = {kind.mjcf: name for name, kind in JOINTS.items() if kind.mjcf}


def merged_joint(
    element: XmlElement, around: str, defaults: Defaults, left: Leftovers
) -> XmlElement:
    """Return a joint with the attributes of its class; a ``freejoint`` has none."""
    if element.tag == "freejoint":
        left.rest(element, (), ("name", "group"))
        return replace(element, attributes={**element.attributes, "type": "free"})
    left.rest(element, (), USED["joint"])
    return defaults.applied(element, around)


def read_joint(
    element: XmlElement, name: str, outer: Place, settings: CompilerSettings, left: Leftovers
) -> tuple[LinkJoint, Triple, float]:
    """Return a joint without its place, the point that it acts at, and its reference."""
    written = element.choice("type", tuple(_KINDS), "hinge")
    joint = LinkJoint(name, _KINDS[written], "", "", line=element.line)
    if written == "free":
        _unused(element, written, ("damping", "frictionloss", "stiffness", "armature"), left)
        return joint, (0.0, 0.0, 0.0), 0.0
    joint = replace(
        joint,
        damping=_first(element, "damping", left),
        friction=element.number("frictionloss", 0.0),
    )
    anchor = composed(outer, Place(element.triple("pos", (0.0, 0.0, 0.0)))).position
    if written == "ball":
        _unused(element, written, ("stiffness", "armature"), left)
        if settings.span(element, "limited", "range"):
            left.add("range of a ball joint", element.line)
        return joint, anchor, 0.0
    axis = element.triple("axis", (0.0, 0.0, 1.0))
    if math.hypot(*axis) < 1e-14:
        raise element.error(f"the axis of joint {name[:60]!r} is zero", "give it a direction")
    reference, rest = element.number("ref", 0.0), element.number("springref", 0.0)
    if written == "hinge":
        reference, rest = settings.angle(reference), settings.angle(rest)
    else:
        anchor = (0.0, 0.0, 0.0)
    joint = replace(
        joint,
        axis=unit(rotate(outer.rotation, unit(axis))),
        stiffness=_first(element, "stiffness", left),
        rest=rest,
        armature=element.number("armature", 0.0),
        limits=_limits(element, written == "hinge", settings, left),
    )
    return joint, anchor, reference


def _unused(element: XmlElement, kind: str, names: tuple[str, ...], left: Leftovers) -> None:
    for name in names:
        if element.numbers(name, None, (0.0,))[0] != 0:
            left.add(f"{name} of a {kind} joint", element.line)


def _first(element: XmlElement, name: str, left: Leftovers) -> float:
    values = element.numbers(name, None, (0.0,))
    if any(values[1:]):
        left.add(f"{name} of higher order", element.line, "only the linear part is used")
    return values[0]


def _limits(
    element: XmlElement, turns: bool, settings: CompilerSettings, left: Leftovers
) -> JointLimits:
    ends = settings.span(element, "limited", "range") or (-math.inf, math.inf)
    lower, upper = (None if math.isinf(x) else settings.angle(x) if turns else x for x in ends)
    effort = settings.effort(element, "actuatorfrclimited", "actuatorfrcrange", left)
    return JointLimits(lower, upper, None, effort if math.isfinite(effort) else None)


def moved(joint: LinkJoint, amount: float) -> Place:
    """Return how far a hinge or slide moves its child by some amount; others do not.

    Units: `amount` in rad or m.

    >>> moved(LinkJoint("j", "prismatic", "a", "b"), 0.5).position
    (0.0, 0.0, 0.5)
    """
    if amount == 0 or joint.kind not in ("revolute", "prismatic"):
        return Place()
    if joint.kind == "revolute":
        return Place(rotation=turned(joint.axis, amount))
    return Place(scaled(joint.axis, amount))
