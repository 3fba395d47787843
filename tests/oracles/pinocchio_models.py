"""Described robots as Pinocchio models, joint by joint, without any file between: an oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.formats.robot.description import Description, LinkJoint, Mass, Place
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")


def se3(place: Place) -> Any:
    """Return a place as Pinocchio has it."""
    return pin.SE3(np.array(place.rotation), np.array(place.position))


def inertia(mass: Mass) -> Any:
    """Return mass and inertia as Pinocchio has it."""
    xx, yy, zz, xy, yz, zx = mass.inertia
    tensor = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    return pin.Inertia(mass.mass, np.array(mass.center), tensor)


def joint_model(joint: LinkJoint) -> Any:
    """Return the joint as Pinocchio has it."""
    axis = np.array(joint.axis)
    if joint.kind == "revolute":
        return pin.JointModelRevoluteUnaligned(axis)
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis)
    if joint.kind == "screw":
        return pin.JointModelHelicalUnaligned(axis, joint.pitch / (2 * np.pi))
    if joint.kind == "cylindrical":
        both = pin.JointModelComposite(2)
        both.addJoint(pin.JointModelPrismaticUnaligned(axis))
        both.addJoint(pin.JointModelRevoluteUnaligned(axis))
        return both
    if joint.kind == "universal":
        both = pin.JointModelComposite(2)
        both.addJoint(pin.JointModelRevoluteUnaligned(axis))
        both.addJoint(pin.JointModelRevoluteUnaligned(np.array(joint.second_axis)))
        return both
    return {
        "ball": pin.JointModelSpherical,
        "planar": pin.JointModelPlanar,
        "free": pin.JointModelFreeFlyer,
    }[joint.kind]()


def pinocchio_model(description: Description, base: str = "file") -> Any:
    """Return a model with the joints of a description, those that follow others free to move."""
    model = pin.Model()
    model.gravity.linear = np.array(description.gravity or (0.0, 0.0, -9.81))
    masses = {link.name: link.mass for link in description.links}
    where = {description.root: (0, pin.SE3.Identity())}
    if base == "free":
        number = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        where[description.root] = (number, pin.SE3.Identity())
    waiting = [j for j in description.joints if j.parent == description.root][::-1]
    armatures: dict[int, float] = {}
    while waiting:
        joint = waiting.pop()
        waiting += [j for j in description.joints if j.parent == joint.child][::-1]
        above, place = where[joint.parent]
        at = place * se3(joint.place)
        if joint.kind == "weld":
            where[joint.child] = (above, at)
            continue
        number = model.addJoint(above, joint_model(joint), at, joint.name)
        armatures[number] = joint.armature
        where[joint.child] = (number, pin.SE3.Identity())
    for name, (number, place) in where.items():
        mass = masses[name]
        if mass is not None:
            model.appendBodyToJoint(number, inertia(mass), place)
        model.addBodyFrame(name, number, place, 0)
    for number, value in armatures.items():
        joint = model.joints[number]
        model.armature[joint.idx_v : joint.idx_v + joint.nv] = value
    return model
