"""Joints that a format has no word for, as joints with one coordinate each, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from dataclasses import replace

from linkwright.formats.robot.description import JointLimits, LinkJoint, Mimic, Triple
from linkwright.formats.robot.transforms import plane_axes, transposed
from linkwright.mechanism.joint_kinds import JOINTS


def simple_joints(
    joint: LinkJoint, fresh: Callable[[str], str], known: Container[str]
) -> list[LinkJoint]:
    """Return a joint as joints of known kinds; the first that turns keeps name and limits.

    A screw becomes a revolute joint with a prismatic one that follows it. A joint of which no part
    is known is returned as it is.

    >>> both = simple_joints(LinkJoint("j", "cylindrical", "a", "b"), str, ("revolute",))
    >>> [(part.name, part.kind) for part in both]
    [('j_slide', 'prismatic'), ('j', 'revolute')]
    """
    motions = JOINTS[joint.kind].motions
    if joint.kind in known or sum(what == "turn" for what, _ in motions) == 3:
        return [joint]
    bare = replace(joint, limits=JointLimits(), stiffness=0.0, rest=0.0, mimic=None)
    parts: list[LinkJoint] = []
    whole = next((k for k, (what, _) in enumerate(motions) if what != "slide"), 0)
    for k, (what, along) in enumerate(motions):
        kind = "prismatic" if what == "slide" else "revolute"
        axis = joint_direction(joint, along)
        if k == whole:
            parts.append(replace(joint, kind=kind, axis=axis, start=joint.start[k : k + 1]))
        else:
            name = fresh(f"{joint.name}_{'slide' if what == 'slide' else 'second'}")
            start = joint.start[k : k + 1]
            parts.append(replace(bare, name=name, kind=kind, axis=axis, start=start))
        if what == "screw":
            follows = Mimic(joint.name, joint.pitch / math.tau)
            slide = replace(bare, name=fresh(f"{joint.name}_slide"), mimic=follows, start=())
            slide = replace(slide, kind="prismatic", damping=0.0, friction=0.0, armature=0.0)
            parts.append(slide)
    return parts


def joint_direction(joint: LinkJoint, along: str) -> Triple:
    """Return a direction of a joint's motions, in its frame.

    >>> joint_direction(LinkJoint("j", "planar", "a", "b"), "across")
    (1.0, 0.0, 0.0)
    """
    if along == "axis":
        return joint.axis
    if along == "second_axis":
        return joint.second_axis
    if along in ("across", "aside"):
        return transposed(plane_axes(joint.axis))[along == "aside"]
    x, y, z = (float(along == axis) for axis in "xyz")
    return x, y, z
