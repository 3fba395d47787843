"""What ``<equality>`` and ``<actuator>`` of an MJCF file say about joints and loops.

``connect`` and ``weld`` are closures; a linear ``joint`` constraint is a mimic. Of an actuator on a
joint, the greatest effort, the rotor's inertia and its damping are kept, as seen through its gear;
what it does with its input is for a controller (XML Reference, equality and actuator).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from linkwright.formats.mjcf.settings import CompilerSettings, Defaults
from linkwright.formats.mjcf.sources import Sections
from linkwright.formats.mjcf.words import ACTUATOR
from linkwright.formats.robot.description import Closure, LinkJoint, Mimic, NamedFrame, Place
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import composed, inverted, quaternion_rotation
from linkwright.formats.robot.xml import XmlElement

_WORLD = "world"


@dataclass(frozen=True, slots=True)
class FileBodies:
    """What the bodies of a file gave."""

    joints: tuple[LinkJoint, ...]
    references: Mapping[str, float]
    drawn: Mapping[str, Place]
    sites: Mapping[str, NamedFrame]


def with_actuators(
    tree: FileBodies,
    sections: Sections,
    defaults: Defaults,
    settings: CompilerSettings,
    left: Leftovers,
) -> FileBodies:
    """Return the tree with what the actuators give to its joints."""
    joints = {joint.name: joint for joint in tree.joints}
    efforts: dict[str, float] = {}
    for written in sections.parts("actuator"):
        element = defaults.applied(written, "")
        target = element.attributes.get(
            "joint", element.attributes.get("jointinparent", "")
        ).strip()
        why = "how an actuator works is for a controller"
        left.rest(written, (), ACTUATOR, why=why)
        if written.tag != "motor":
            left.add(f"<{written.tag}>", written.line, f"{why}; its limits are used")
        if not target:
            left.add(f"<{written.tag}> that is on no joint", written.line)
            continue
        if target not in joints:
            raise element.error(
                f"{element.words} acts on the joint {target[:60]!r}, which is not there"
            )
        joint = joints[target]
        if joint.kind not in ("revolute", "prismatic"):
            left.add(f"<{written.tag}> on a {joint.kind} joint", written.line)
            continue
        gear = element.numbers("gear", None, (1.0,))[0]
        damping = element.numbers("damping", None, (0.0,))
        if any(damping[1:]):
            left.add("damping of higher order", element.line, "only the linear part is used")
        joints[target] = replace(
            joint,
            armature=joint.armature + gear * gear * element.number("armature", 0.0),
            damping=joint.damping + gear * gear * damping[0],
        )
        ranges = ("force", "ctrl") if written.tag == "motor" else ("force",)
        effort = min(settings.effort(element, f"{x}limited", f"{x}range", left) for x in ranges)
        known = efforts.get(target, 0.0)
        efforts[target] = known + abs(gear) * effort
    for name, effort in efforts.items():
        limits = joints[name].limits
        if math.isfinite(effort):
            least = effort if limits.effort is None else min(limits.effort, effort)
            joints[name] = replace(joints[name], limits=replace(limits, effort=least))
    return replace(tree, joints=tuple(joints[joint.name] for joint in tree.joints))


def with_equalities(
    tree: FileBodies, sections: Sections, defaults: Defaults, left: Leftovers
) -> tuple[tuple[LinkJoint, ...], tuple[Closure, ...]]:
    """Return the joints with those that follow others, and the closures of loops."""
    joints = {joint.name: joint for joint in tree.joints}
    closures: list[Closure] = []
    for count, written in enumerate(sections.parts("equality"), 1):
        element = defaults.applied(written, "", "equality")
        if element.choice("active", ("true", "false"), "true") == "false":
            left.add(f"<equality><{element.tag}> that is not active", element.line)
        elif element.tag in ("connect", "weld"):
            left.rest(written, (), _LOOP, why="loops are closed exactly")
            closures.append(_closure(element, tree, f"{element.tag}{count}"))
        elif element.tag == "joint":
            left.rest(written, (), _FOLLOW, why="couplings are exact")
            _follow(element, tree, joints, left)
        else:
            left.add(f"<equality><{element.tag}>", element.line)
    return tuple(joints[joint.name] for joint in tree.joints), tuple(closures)


_LOOP = (
    *("name", "class", "active", "body1", "body2", "anchor", "relpose", "site1", "site2"),
    "torquescale",
)
_FOLLOW = ("name", "class", "active", "joint1", "joint2", "polycoef")


def _closure(element: XmlElement, tree: FileBodies, name: str) -> Closure:
    kind = "ball" if element.tag == "connect" else "weld"
    if kind == "weld" and element.number("torquescale", 1.0) == 0:
        kind = "ball"
    name = element.attributes.get("name", "").strip() or name
    if "site1" in element.attributes or "site2" in element.attributes:
        first, second = (_site(element, key, tree) for key in ("site1", "site2"))
    else:
        first, second = _bodies(element, tree)
    return Closure(name, first, second, kind, element.line)


def _site(element: XmlElement, key: str, tree: FileBodies) -> tuple[str, Place]:
    name = element.value(key)
    if name not in tree.sites:
        raise element.error(f"{element.words} joins the site {name[:60]!r}, which is not there")
    return tree.sites[name].link, tree.sites[name].place


def _bodies(element: XmlElement, tree: FileBodies) -> tuple[tuple[str, Place], tuple[str, Place]]:
    one, two = element.value("body1"), element.attributes.get("body2", _WORLD).strip() or _WORLD
    for name in (one, two):
        if name not in tree.drawn:
            raise element.error(f"{element.words} joins the body {name[:60]!r}, which is not there")
    if element.tag == "connect":
        anchor = Place(element.triple("anchor"))
        there = composed(tree.drawn[one], anchor)
        return (one, anchor), (two, composed(inverted(tree.drawn[two]), there))
    anchor = Place(element.triple("anchor", (0.0, 0.0, 0.0)))
    relative = element.numbers("relpose", 7, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if math.hypot(*relative[3:]) < 1e-14:
        there = composed(tree.drawn[two], anchor)
        return (one, composed(inverted(tree.drawn[one]), there)), (two, anchor)
    x, y, z = relative[:3]
    return (one, Place((x, y, z), quaternion_rotation(relative[3:]))), (two, anchor)


def _follow(
    element: XmlElement, tree: FileBodies, joints: dict[str, LinkJoint], left: Leftovers
) -> None:
    """Make the first joint follow the second one, where the polynomial is a line."""
    first, second = element.value("joint1"), element.attributes.get("joint2", "").strip()
    for name in (first, second):
        if name and (name not in joints or joints[name].kind not in ("revolute", "prismatic")):
            raise element.error(
                f"{element.words} couples {name[:60]!r}, which is neither a hinge nor a slide"
            )
    given = element.numbers("polycoef", None, ())
    values = (*given, *(0.0, 1.0)[len(given) :])
    if not second:
        left.add("<equality><joint> of one joint", element.line, "the joint is not held")
        return
    if any(values[2:]):
        left.add("<equality><joint> that is not a line", element.line)
        return
    if joints[first].mimic is not None:
        left.add("a second <equality><joint> of a joint", element.line)
        return
    offset = tree.references[first] + values[0] - values[1] * tree.references[second]
    joints[first] = replace(joints[first], mimic=Mimic(second, values[1], offset), start=())
