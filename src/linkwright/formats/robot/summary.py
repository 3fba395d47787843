"""What a robot file holds, in a few lines for people."""

from __future__ import annotations

from collections import Counter

from linkwright.algebra.units import unit_system
from linkwright.formats.robot.description import Description
from linkwright.formats.robot.transforms import joined_masses
from linkwright.mechanism.joint_kinds import JOINTS


def summary(description: Description, form: str) -> list[tuple[str, str]]:
    """Return label and value of each line.

    >>> from linkwright.formats.robot.description import Link
    >>> dict(summary(Description("r", (Link("a"),), ()), "URDF"))["links"]
    '1, root a'
    """
    joints = description.joints
    counts = Counter(joint.kind for joint in joints)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in JOINTS if counts[kind])
    following = sum(joint.mimic is not None for joint in joints)
    freedom = sum(JOINTS[joint.kind].freedom for joint in joints if joint.mimic is None)
    masses = [link.mass for link in description.links if link.mass is not None]
    whole = joined_masses(masses)
    shapes = Counter(shape.kind for link in description.links for shape in link.shapes)
    facts = [
        ("robot", f"{description.name} ({form})"),
        ("links", f"{len(description.links)}, root {description.root}"),
        ("joints", f"{len(joints)}: {kinds}" if joints else "none"),
        ("freedom", f"{freedom}" + (f"; {following} joint(s) follow others" if following else "")),
        (
            "mass",
            f"{worded(whole.mass, 'kg', description)} in {len(masses)} links"
            if whole is not None
            else "none",
        ),
    ]
    if description.frames:
        facts.append(("frames", ", ".join(frame.name for frame in description.frames)))
    if description.closures:
        facts.append(("closures", ", ".join(closure.name for closure in description.closures)))
    if shapes:
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(shapes.items()))
        facts.append(("shapes", shown))
    return facts


def worded(value: float | None, unit: str, description: Description) -> str:
    """Return a number with its unit, in the units of the robot's file.

    >>> worded(0.0254, "m", Description("r", (), (), display="in-lb"))
    '1 in'
    """
    own, size = unit_system(description.display).printed(unit)
    return "" if value is None else f"{value / size:.6g} {own}".rstrip()
