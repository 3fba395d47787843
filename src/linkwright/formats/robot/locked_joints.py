"""Joints that are held: what the places of their children become."""

from __future__ import annotations

import math
from dataclasses import replace

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description, LinkJoint, Place
from linkwright.formats.robot.transforms import scaled, turned, unit
from linkwright.mechanism.joint_kinds import JOINTS


def without_mimics(description: Description) -> Description:
    """Return a robot in which no joint follows another."""
    joints = tuple(replace(joint, mimic=None) for joint in description.joints)
    return replace(description, joints=joints)


def held_joints(description: Description, locked: dict[str, float]) -> dict[str, Place]:
    """Return what each locked joint moves its child by, those that follow one included."""
    joints = {joint.name: joint for joint in description.joints}
    for name in locked:
        if name not in joints:
            raise InputError(
                f"there is no joint {name!r} to lock in {description.name!r}",
                remedy=f"its joints are {', '.join(joints)}",
            )
    found: dict[str, Place] = {}
    for name, joint in joints.items():
        value, at = (1.0, 0.0), joint
        while at.name not in locked and at.mimic is not None:
            value = value[0] * at.mimic.multiplier, value[1] + value[0] * at.mimic.offset
            at = joints[at.mimic.joint]
        if at.name in locked:
            found[name] = displaced(joint, value[0] * locked[at.name] + value[1])
    return found


def displaced(joint: LinkJoint, value: float) -> Place:
    """Return the place of the child's frame in the joint's, with the coordinate at a value.

    Units: `value` in rad or m.

    >>> displaced(LinkJoint("j", "prismatic", "a", "b"), 0.5).position
    (0.0, 0.0, 0.5)
    """
    motions = JOINTS[joint.kind].motions
    if motions == (("slide", "axis"),):
        return Place(scaled(unit(joint.axis), value))
    if len(motions) == 1:
        advance = joint.pitch * value / math.tau if motions[0][0] == "screw" else 0.0
        return Place(scaled(unit(joint.axis), advance), turned(joint.axis, value))
    if value != 0.0:
        raise InputError(
            f"joint {joint.name!r} is {joint.kind}, which has no single coordinate to lock",
            remedy="lock it at 0",
        )
    return Place()
