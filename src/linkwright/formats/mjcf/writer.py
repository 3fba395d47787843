"""From a `Description` to MJCF.

A link is a body. Links without mass that only carry on to one more joint become further joints of
the body behind them, as MuJoCo wants it: its moving bodies need mass. Joints with several
coordinates are written as slides and hinges one after the other, a screw as a hinge with a slide
that follows it. Frames are sites; closures join two sites. Angles are radians, turns quaternions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwright.base.errors import InputError
from linkwright.formats.meshes.lookup import PLAIN
from linkwright.formats.mjcf.joints import moved
from linkwright.formats.mjcf.sound_masses import LEAST, sound_masses
from linkwright.formats.mjcf.words import SENSORS
from linkwright.formats.robot.description import (
    UNTURNED,
    Description,
    Link,
    LinkJoint,
    LinkShape,
    Mass,
    Mimic,
    Place,
    Triple,
    WrittenDescription,
)
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.simple_joints import simple_joints
from linkwright.formats.robot.transforms import (
    composed,
    inverted,
    quaternion_rotation,
    rotate,
    rotation_quaternion,
)
from linkwright.formats.robot.xml import XmlElement
from linkwright.formats.robot.xml_writer import number_text, numbers_text, xml_text
from linkwright.mechanism.joint_kinds import JOINTS

_WORLD = "world"
_ORIGIN: Triple = (0.0, 0.0, 0.0)
_TYPES = {name: kind.mjcf for name, kind in JOINTS.items() if kind.mjcf}


def mjcf_text(description: Description) -> WrittenDescription:
    """Return a description as MJCF, with what MJCF cannot hold.

    >>> links = (Link("world"), Link("arm", Mass(1.0)))
    >>> hinge = LinkJoint(
    ...     "hinge", "revolute", "world", "arm", axis=(0.0, 1.0, 0.0), damping=0.1
    ... )
    >>> text = mjcf_text(Description("swing", links, (hinge,))).text
    >>> '<joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>' in text
    True
    """
    return _Writing(description).written()


@dataclass(frozen=True, slots=True)
class _Step:
    """A joint of MJCF, and the place of its frame in that of its body as drawn."""

    joint: LinkJoint
    place: Place


@dataclass(slots=True)
class _Writing:
    """One description while it is written."""

    description: Description
    left: Leftovers = field(default_factory=Leftovers)
    names: set[str] = field(default_factory=set)
    children: dict[str, list[LinkJoint]] = field(default_factory=dict)
    sites: dict[str, list[XmlElement]] = field(default_factory=dict)
    meshes: dict[tuple[str, Triple], str] = field(default_factory=dict)
    materials: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    followers: list[tuple[str, Mimic, int]] = field(default_factory=list)
    references: dict[str, float] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    links: dict[str, Link] = field(default_factory=dict)
    root: str = ""

    def written(self) -> WrittenDescription:
        d = self.description = sound_masses(self.description, self.left)
        self.root = d.root
        self.names = {link.name for link in d.links} | {joint.name for joint in d.joints}
        self.links = {link.name: link for link in d.links}
        for joint in d.joints:
            self.children.setdefault(joint.parent, []).append(joint)
        equalities = self._closures()
        for frame in d.frames:
            self._site(frame.name, frame.link, frame.place)
        self.plain = {
            link.name
            for link in d.links
            if link.mass is None and not link.shapes and link.name not in self.sites
        }
        world = self._world()
        for name, mimic, _ in self.followers:
            offset = mimic.offset + mimic.multiplier * self.references.get(mimic.joint, 0.0)
            values = numbers_text((offset, mimic.multiplier, 0.0, 0.0, 0.0))
            coupled = {"joint1": name, "joint2": mimic.joint, "polycoef": values}
            equalities.append(XmlElement("joint", coupled))
        gravity = (0.0, 0.0, -9.81) if d.gravity is None else d.gravity
        sections = [
            XmlElement("compiler", {"angle": "radian", "autolimits": "true"}),
            XmlElement("option", {"gravity": numbers_text(gravity)}),
            XmlElement("asset", {}, self._assets()),
            world,
            XmlElement("equality", {}, tuple(equalities)),
            XmlElement("sensor", {}, tuple(self._sensors())),
        ]
        kept = tuple(section for section in sections if section.attributes or section.children)
        return WrittenDescription(
            xml_text(XmlElement("mujoco", {"model": d.name}, kept)), self.left.entries()
        )

    def _fresh(self, stem: str) -> str:
        """Return a name that nothing has yet."""
        name, number = stem, 1
        while name in self.names:
            number += 1
            name = f"{stem}_{number}"
        self.names.add(name)
        return name

    def _site(self, name: str, link: str, place: Place) -> None:
        attributes = {"name": name, **_placed(place)}
        self.sites.setdefault(link, []).append(XmlElement("site", attributes))

    def _closures(self) -> list[XmlElement]:
        taken = {frame.name for frame in self.description.frames}
        found = []
        for closure in self.description.closures:
            ends = []
            for ending, (link, place) in zip("ab", (closure.first, closure.second), strict=True):
                name, number = f"{closure.name}_{ending}", 1
                while name in taken:
                    number += 1
                    name = f"{closure.name}_{ending}{number}"
                taken.add(name)
                self._site(name, link, place)
                ends.append(name)
            tag = "connect" if closure.kind == "ball" else "weld"
            named = {"name": closure.name} if closure.name else {}
            found.append(XmlElement(tag, {**named, "site1": ends[0], "site2": ends[1]}))
        return found

    def _sensors(self) -> Iterator[XmlElement]:
        d = self.description
        sites = {frame.name for frame in d.frames}
        joints = {joint.name for joint in d.joints}
        for sensor in d.sensors:
            where = SENSORS.get(sensor.kind, "")
            attributes = {"name": sensor.name}
            if where == "objname":
                attributes["objtype"] = "site" if sensor.on in sites else "xbody"
            elif sensor.on not in {"site": sites, "joint": joints}.get(where, ()):
                self.left.add(
                    f"sensors of kind {sensor.kind}", sensor.line, "MuJoCo has none there"
                )
                continue
            yield XmlElement(sensor.kind, {**attributes, where: sensor.on})

    def _world(self) -> XmlElement:
        """Return the element with all bodies; the root is the world where it has no mass."""
        root = self.links[self.root]
        below = self.children.get(root.name, [])
        free = any(joint.kind == "free" for joint in below)
        if root.mass is not None and free:
            self.left.add("mass of the root", root.line, "it stands on the ground")
        if root.name == _WORLD or free:
            if root.name != _WORLD:
                self.left.add("name of the root", root.line, "MuJoCo calls it world")
            inner = self._content(replace(root, mass=None), root.name)
            return XmlElement("worldbody", {}, inner)
        body = XmlElement("body", {"name": root.name}, self._content(root, root.name))
        return XmlElement("worldbody", {}, (body,))

    def _content(self, link: Link, name: str) -> tuple[XmlElement, ...]:
        """Return what is in a body: its mass, shapes, sites and the bodies on it.

        Bodies are made from the leaves up, so that a long chain needs no deep calls.
        """
        made: dict[str, tuple[XmlElement, ...]] = {}
        order: list[tuple[Link, list[tuple[LinkJoint, list[_Step], Place, str]]]] = []
        stack = [link]
        while stack:
            current = stack.pop()
            chains = [self._chain(joint) for joint in self.children.get(current.name, [])]
            order.append((current, chains))
            stack.extend(self.links[end] for *_, end in chains)
        moving = {end for _, chains in order for _, steps, _, end in chains if steps}
        for current, chains in reversed(order):
            mass = current.mass
            if mass is None and current.name in moving:
                self.left.add("masses of zero", current.line, f"they are {LEAST:g} kg here")
                mass = Mass(LEAST, inertia=(LEAST, LEAST, LEAST, 0.0, 0.0, 0.0))
            parts = [] if mass is None else [_inertial(mass)]
            parts += [e for shape in current.shapes if (e := self._geom(shape, current))]
            parts += self.sites.get(current.name, [])
            for joint, steps, place, end in chains:
                joints = [self._joint(step, joint) for step in steps]
                attributes = {"name": end, **_placed(place)}
                parts.append(XmlElement("body", attributes, (*joints, *made.pop(end))))
            made[current.name] = tuple(parts)
        return made[name]

    def _chain(self, joint: LinkJoint) -> tuple[LinkJoint, list[_Step], Place, str]:
        """Return the joints of one body, its place, and the link that it is."""
        places: list[tuple[LinkJoint, Place]] = []  # of each joint's frame in the parent's
        where = Place()
        current = joint
        while True:
            where = composed(where, current.place)
            for part in self._parts(current):
                places.append((part, where))
                where = composed(where, moved(part, _reference(part)))
            following = self._carried_on(current, [part for part, _ in places])
            if following is None:
                break
            self.left.add(
                "names of links without mass", current.line, "they are further joints of a body"
            )
            current = following
        if joint.kind == "free":
            if joint.place != Place():
                self.left.add("place of a free joint", joint.line, "it is in its coordinates")
            x, y, z, *turn = joint.start or (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
            where = Place((x, y, z), quaternion_rotation(turn))
        back = inverted(where)
        steps = [_Step(part, composed(back, place)) for part, place in places]
        return joint, steps, where, current.child

    def _carried_on(self, joint: LinkJoint, parts: list[LinkJoint]) -> LinkJoint | None:
        """Return the one joint on a link that needs no body of its own, or None."""
        if joint.child not in self.plain or joint.kind == "free" or not parts:
            return None
        below = self.children.get(joint.child, [])
        if len(below) != 1 or below[0].kind == "free":
            return None
        kinds = [part.kind for part in parts] + [
            p.kind for p in simple_joints(below[0], str, _TYPES)
        ]
        if "ball" in kinds and (kinds.count("ball") > 1 or "revolute" in kinds):
            return None
        return below[0]

    def _parts(self, joint: LinkJoint) -> list[LinkJoint]:
        return simple_joints(joint, self._fresh, _TYPES)

    def _joint(self, step: _Step, whole: LinkJoint) -> XmlElement:
        joint = step.joint
        if joint.kind == "free":
            if whole.parent != self.root:
                raise InputError(
                    f"joint {joint.name!r} is free, but not on the root",
                    line=joint.line or None,
                    remedy="in MJCF only what is right in the world is free",
                )
            return XmlElement("freejoint", {"name": joint.name})
        attributes = {"name": joint.name, "type": _TYPES[joint.kind]}
        if joint.kind != "ball":
            axis = joint.axis
            if step.place.rotation != UNTURNED:
                axis = rotate(step.place.rotation, axis)
            attributes["axis"] = numbers_text(axis)
        if step.place.position != _ORIGIN and joint.kind != "prismatic":
            attributes["pos"] = numbers_text(step.place.position)
        attributes |= self._properties(joint)
        if _reference(joint):
            attributes["ref"] = number_text(_reference(joint))
            self.references[joint.name] = _reference(joint)
        elif any(joint.start):
            self.left.add(f"start of a {joint.kind} joint", joint.line, "MuJoCo's begin as drawn")
        if joint.mimic is not None:
            self.followers.append((joint.name, joint.mimic, joint.line))
        return XmlElement("joint", attributes)

    def _properties(self, joint: LinkJoint) -> dict[str, str]:
        limits = joint.limits
        found = {}
        if limits.lower is not None and limits.upper is not None:
            found["range"] = numbers_text((limits.lower, limits.upper))
        elif limits.lower is not None or limits.upper is not None:
            self.left.add("a limit on one side", joint.line, "MuJoCo wants both")
        if limits.effort is not None and joint.kind != "ball":
            found["actuatorfrcrange"] = numbers_text((-limits.effort, limits.effort))
        if limits.speed is not None:
            self.left.add("greatest speeds", joint.line, "MuJoCo has no word for them")
        for name, value in (
            ("damping", joint.damping),
            ("frictionloss", joint.friction),
            ("stiffness", joint.stiffness),
            ("springref", joint.rest),
            ("armature", joint.armature),
        ):
            if value:
                found[name] = number_text(value)
        return found

    def _geom(self, shape: LinkShape, link: Link) -> XmlElement | None:
        attributes = {"name": shape.name} if shape.name else {}
        attributes["type"] = shape.kind
        half: Sequence[float] = shape.size
        if shape.kind == "box":
            half = [value / 2 for value in shape.size]
        elif shape.kind in ("cylinder", "capsule"):
            half = (shape.size[0], shape.size[1] / 2)
        elif shape.kind == "plane":
            half = (0.0, 0.0, 1.0)
            if link.name != self.root:
                self.left.add("planes that move", link.line, "in MuJoCo they stay")
                return None
        if shape.kind == "mesh":
            name = self._mesh(shape, link)
            if not name:
                return None
            attributes["mesh"] = name
        else:
            if shape.kind != "plane" and min(half, default=0.0) <= 0:
                self.left.add("shapes without size", link.line)
                return None
            attributes["size"] = numbers_text(half)
        attributes |= _placed(shape.place)
        if shape.color is not None:
            known = self.materials.setdefault(shape.material, shape.color)
            if shape.material and known == shape.color:
                attributes["material"] = shape.material
            else:
                attributes["rgba"] = numbers_text(shape.color)
        if not shape.touched:
            attributes |= {"contype": "0", "conaffinity": "0"}
        if not shape.seen:
            attributes["group"] = "3"
        if shape.kind != "plane":
            attributes["mass"] = "0"
        return XmlElement("geom", attributes)

    def _mesh(self, shape: LinkShape, link: Link) -> str:
        if "://" in shape.mesh or not shape.mesh.lower().endswith(PLAIN):
            self.left.add(
                f"meshes such as {shape.mesh[:60]!r}", link.line, "MuJoCo reads .stl, .obj, .msh"
            )
            return ""
        key = (shape.mesh, shape.scale)
        if key not in self.meshes:
            self.meshes[key] = f"mesh{len(self.meshes) + 1}"
        return self.meshes[key]

    def _assets(self) -> tuple[XmlElement, ...]:
        found = []
        for (file, scale), name in self.meshes.items():
            attributes = {"name": name, "file": file}
            if scale != (1.0, 1.0, 1.0):
                attributes["scale"] = numbers_text(scale)
            found.append(XmlElement("mesh", attributes))
        for name, color in self.materials.items():
            if name:
                found.append(XmlElement("material", {"name": name, "rgba": numbers_text(color)}))
        return tuple(found)


def _reference(joint: LinkJoint) -> float:
    """Return the coordinate at which a body is drawn."""
    single = joint.kind in ("revolute", "prismatic") and joint.mimic is None and joint.start
    return joint.start[0] if single else 0.0


def _placed(place: Place) -> dict[str, str]:
    found: dict[str, str] = {}
    if place.position != _ORIGIN:
        found["pos"] = numbers_text(place.position)
    if place.rotation != UNTURNED:
        found["quat"] = numbers_text(rotation_quaternion(place.rotation))
    return found


def _inertial(mass: Mass) -> XmlElement:
    xx, yy, zz, xy, yz, zx = mass.inertia
    attributes: Mapping[str, str] = {
        "pos": numbers_text(mass.center),
        "mass": number_text(mass.mass),
    }
    if (xy, yz, zx) == (0.0, 0.0, 0.0):
        return XmlElement("inertial", {**attributes, "diaginertia": numbers_text((xx, yy, zz))})
    six = numbers_text((xx, yy, zz, xy, zx, yz))
    return XmlElement("inertial", {**attributes, "fullinertia": six})
