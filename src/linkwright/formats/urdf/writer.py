"""From a `Description` to URDF.

URDF knows joints with one coordinate, and planar and floating ones. A universal joint is written as
two revolute joints, a cylindrical one as a revolute and a prismatic one, a screw as a revolute
joint with a prismatic one that mimics it, each with a link without mass between; a frame is a link
without mass on a fixed joint. A ball joint cannot be written. Rotor inertias become transmissions
in Drake's notation, which the reader understands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    LinkShape,
    Mass,
    Mimic,
    Place,
    WrittenDescription,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.simple_joints import simple_joints
from linkwright.formats.robot.xml import XmlElement
from linkwright.formats.robot.xml_writer import number_text, numbers_text, xml_text
from linkwright.formats.urdf.origins import NO_END, rotation_rpy
from linkwright.mechanism.joint_kinds import JOINTS

_SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
_KINDS = [name for name, kind in JOINTS.items() if kind.urdf]
_EARTH = (0.0, 0.0, -9.81)


def urdf_text(description: Description) -> WrittenDescription:
    """Return a description as URDF, with what URDF cannot hold.

    >>> from linkwright.formats.robot.description import Link
    >>> links = (Link("base"), Link("arm", Mass(1.0)))
    >>> hinge = LinkJoint("hinge", "revolute", "base", "arm", stiffness=2.0)
    >>> written = urdf_text(Description("swing", links, (hinge,)))
    >>> [entry.what for entry in written.dropped]
    ['springs in joints']
    >>> '<joint name="hinge" type="continuous">' in written.text
    True
    """
    return _Writing(description).written()


@dataclass(slots=True)
class _Writing:
    """One description while it is written."""

    description: Description
    left: Leftovers = field(default_factory=Leftovers)
    links: list[XmlElement] = field(default_factory=list)
    joints: list[XmlElement] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def written(self) -> WrittenDescription:
        d = self.description
        self.names = {link.name for link in d.links} | {joint.name for joint in d.joints}
        for link in d.links:
            self.links.append(self._link(link))
        parts = [part for joint in d.joints for part in self._parts(joint)]
        self.joints += [self._joint(part) for part in parts]
        self._frames()
        if d.closures:
            self.left.add("closures of loops", d.closures[0].line, "a URDF file is a tree")
        if d.gravity is not None and d.gravity != _EARTH:
            self.left.add("gravity", 0, "a URDF file does not say it")
        if any(joint.start for joint in d.joints):
            self.left.add("starts of joints", 0, "a URDF file does not say them: all begin at zero")
        rotors = [_transmission(part) for part in parts if part.armature]
        attributes = {"name": d.name}
        if rotors:
            attributes["xmlns:drake"] = "http://drake.mit.edu"
        root = XmlElement("robot", attributes, (*self.links, *self.joints, *rotors))
        return WrittenDescription(xml_text(root), self.left.entries())

    def _fresh(self, stem: str) -> str:
        """Return a name that nothing has yet."""
        name, number = stem, 1
        while name in self.names:
            number += 1
            name = f"{stem}_{number}"
        self.names.add(name)
        return name

    def _frames(self) -> None:
        for frame in self.description.frames:
            name = self._fresh(frame.name)
            joint = LinkJoint(self._fresh(f"{name}_joint"), "weld", frame.link, name, frame.place)
            self.links.append(XmlElement("link", {"name": name}))
            self.joints.append(self._joint(joint))

    def _link(self, link: Link) -> XmlElement:
        children = [] if link.mass is None else [_inertial(link.mass)]
        for shape in link.shapes:
            if shape.kind not in _SHAPES:
                self.left.add(f"shapes of kind {shape.kind}", link.line, "URDF has none")
                continue
            if shape.seen:
                children.append(_shape("visual", shape))
            if shape.touched:
                children.append(_shape("collision", shape))
        return XmlElement("link", {"name": link.name}, tuple(children))

    def _parts(self, joint: LinkJoint) -> Iterable[LinkJoint]:
        """Yield the joints of URDF that make up a joint; links between them are added."""
        parts = simple_joints(joint, self._fresh, _KINDS)
        parent, place = joint.parent, joint.place
        for k, part in enumerate(parts, 1):
            child = joint.child
            if k < len(parts):
                child = self._fresh(f"{joint.name}_between")
                self.links.append(XmlElement("link", {"name": child}))
            yield replace(part, parent=parent, child=child, place=place)
            parent, place = child, Place()

    def _joint(self, joint: LinkJoint) -> XmlElement:
        children = [
            _origin(joint.place),
            XmlElement("parent", {"link": joint.parent}),
            XmlElement("child", {"link": joint.child}),
        ]
        if joint.kind not in _KINDS:
            raise InputError(
                f"joint {joint.name!r} is a {joint.kind} joint, which URDF cannot say",
                file=self.description.source or None,
                line=joint.line or None,
                remedy="write MJCF or a text model, or use three revolute joints",
            )
        kind, limits = JOINTS[joint.kind], joint.limits
        ends = kind.freedom == 1
        if ends and limits.lower is None and limits.upper is None and len(kind.urdf) > 1:
            ends = False
        if kind.has_axis:
            children += self._movable(joint, ends)
        written = kind.urdf[0] if ends else kind.urdf[-1]
        return XmlElement("joint", {"name": joint.name, "type": written}, tuple(children))

    def _movable(self, joint: LinkJoint, ends: bool) -> list[XmlElement]:
        children = [XmlElement("axis", {"xyz": numbers_text(joint.axis)})]
        limits = joint.limits
        if ends or (limits.speed, limits.effort) != (None, None):
            children.append(_limit(limits, ends))
        if joint.damping or joint.friction:
            attributes = {
                "damping": number_text(joint.damping),
                "friction": number_text(joint.friction),
            }
            children.append(XmlElement("dynamics", attributes))
        if joint.mimic is not None:
            children.append(_mimic(joint.mimic))
        if joint.stiffness:
            self.left.add("springs in joints", joint.line, "URDF has no word for them")
        return children


def _limit(limits: JointLimits, ends: bool) -> XmlElement:
    attributes = {}
    if ends:
        attributes["lower"] = number_text(-NO_END if limits.lower is None else limits.lower)
        attributes["upper"] = number_text(NO_END if limits.upper is None else limits.upper)
    attributes["effort"] = number_text(NO_END if limits.effort is None else limits.effort)
    attributes["velocity"] = number_text(NO_END if limits.speed is None else limits.speed)
    return XmlElement("limit", attributes)


def _mimic(mimic: Mimic) -> XmlElement:
    attributes = {
        "joint": mimic.joint,
        "multiplier": number_text(mimic.multiplier),
        "offset": number_text(mimic.offset),
    }
    return XmlElement("mimic", attributes)


def _origin(place: Place) -> XmlElement:
    attributes = {
        "xyz": numbers_text(place.position),
        "rpy": numbers_text(rotation_rpy(place.rotation)),
    }
    return XmlElement("origin", attributes)


def _inertial(mass: Mass) -> XmlElement:
    names = ("ixx", "iyy", "izz", "ixy", "iyz", "ixz")
    inertia = {n: number_text(x) for n, x in zip(names, mass.inertia, strict=True)}
    return XmlElement(
        "inertial",
        {},
        (
            XmlElement("origin", {"xyz": numbers_text(mass.center), "rpy": "0 0 0"}),
            XmlElement("mass", {"value": number_text(mass.mass)}),
            XmlElement("inertia", inertia),
        ),
    )


def _shape(tag: str, shape: LinkShape) -> XmlElement:
    if shape.kind == "box":
        solid = XmlElement("box", {"size": numbers_text(shape.size)})
    elif shape.kind == "sphere":
        solid = XmlElement("sphere", {"radius": number_text(shape.size[0])})
    elif shape.kind == "mesh":
        scale = numbers_text(shape.scale)
        solid = XmlElement("mesh", {"filename": shape.mesh, "scale": scale})
    else:
        radius, length = (number_text(x) for x in shape.size)
        solid = XmlElement(shape.kind, {"radius": radius, "length": length})
    children = [_origin(shape.place), XmlElement("geometry", {}, (solid,))]
    if tag == "visual" and shape.color is not None:
        color = XmlElement("color", {"rgba": numbers_text(shape.color)})
        children.append(XmlElement("material", {"name": shape.material}, (color,)))
    attributes = {"name": shape.name} if shape.name else {}
    return XmlElement(tag, attributes, tuple(children))


def _transmission(joint: LinkJoint) -> XmlElement:
    """Return Drake's notation for the inertia of a rotor."""
    rotor = XmlElement("drake:rotor_inertia", {"value": number_text(joint.armature)})
    gear = XmlElement("drake:gear_ratio", {"value": "1"})
    return XmlElement(
        "transmission",
        {"name": f"{joint.name}_transmission"},
        (
            XmlElement("joint", {"name": joint.name}),
            XmlElement("actuator", {"name": f"{joint.name}_actuator"}, (rotor, gear)),
        ),
    )
