"""From URDF to a `Description`.

Conventions (wiki.ros.org/urdf/XML): a joint's origin is the place of the child's frame in the
parent's while the coordinate is zero; rpy is about fixed x, y, z; inertias are about the mass
center, along the axes of the inertial's own origin; products of inertia carry their sign in the
tensor. A joint without axis turns about x.

Rotor inertias, which URDF itself has no word for, are taken from Drake's ``drake:rotor_inertia``
and ``drake:gear_ratio`` in a transmission: the joint feels the inertia times the ratio squared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwright.formats.meshes.lookup import mesh_note
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Mimic,
    Triple,
)
from linkwright.formats.robot.link_tree import require_tree
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import (
    inertia_of,
    tensor,
    tensor_turned,
    unit,
)
from linkwright.formats.robot.xml import DEFAULT_CAPS, Caps, XmlElement, parse_xml, read_xml
from linkwright.formats.urdf.origins import NO_END, place_of
from linkwright.formats.urdf.shapes import Colors, link_shapes
from linkwright.mechanism.joint_kinds import JOINTS

KINDS = {word: name for name, kind in JOINTS.items() for word in kind.urdf}
"""The joint types of URDF, and what they are called in a `Description`."""

_OTHER_TOOLS = {
    "gazebo": "for the simulator Gazebo",
    "mujoco": "for the compiler of MuJoCo",
    "ros2_control": "for ROS controllers",
    "sensor": "sensors are not read from URDF",
    "transmission": "it gives no rotor inertia",
}


def read_urdf(
    path: str | Path, *, roots: tuple[str | Path, ...] = (), caps: Caps = DEFAULT_CAPS
) -> Description:
    """Return what a URDF file says."""
    return urdf_description(read_xml(path, caps), roots=roots)


def parse_urdf(text: str | bytes, *, file: str = "", caps: Caps = DEFAULT_CAPS) -> Description:
    """Return what a URDF text says.

    >>> robot = parse_urdf('''<robot name="swing">
    ...   <link name="base"/>
    ...   <link name="arm"><inertial>
    ...     <origin xyz="0 0 -0.5"/><mass value="2"/>
    ...     <inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" iyz="0" ixz="0"/>
    ...   </inertial></link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>''')
    >>> robot.joints[0].kind, robot.joints[0].axis, robot.link("arm").mass.center
    ('revolute', (0.0, 1.0, 0.0), (0.0, 0.0, -0.5))
    """
    return urdf_description(parse_xml(text, file=file, caps=caps))


def urdf_description(root: XmlElement, *, roots: tuple[str | Path, ...] = ()) -> Description:
    """Return what the root element of a URDF file says."""
    if root.tag != "robot":
        raise root.error(
            f"the root element is <{root.tag[:60]}>", "a URDF file starts with <robot>"
        )
    _refuse_xacro(root)
    version = root.attributes.get("version", "1.0").strip()
    if version.split(".")[0] != "1":
        raise root.error(f"URDF of version {version[:20]!r} is not read", "use version 1")
    return _Reading(root).description(roots)


def _refuse_xacro(root: XmlElement) -> None:
    """Complain of the first thing that only xacro understands."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag.startswith("xacro:"):
            what = f"<{element.tag[:60]}>"
        else:
            texts = [*element.attributes.values(), element.text]
            used = next((text for text in texts if "${" in text or "$(" in text), None)
            if used is None or element.tag in ("gazebo", "plugin"):
                stack.extend(reversed(element.children))
                continue
            what = repr(used[:60])
        raise element.error(
            f"{what} is xacro, a macro language that is not read here",
            "expand the file first: xacro robot.urdf.xacro > robot.urdf",
        )


@dataclass(slots=True)
class _Reading:
    """One file while it is read."""

    root: XmlElement
    left: Leftovers = field(default_factory=Leftovers)
    notes: list[str] = field(default_factory=list)

    def description(self, roots: tuple[str | Path, ...]) -> Description:
        root = self.root
        colors = Colors.of(root, self.left)
        links = tuple(self._link(e, colors) for e in root.all("link"))
        joints = tuple(self._joint(e) for e in root.all("joint"))
        joints = self._with_rotors(joints)
        self._others()
        self._meshes(links, roots)
        found = Description(
            root.attributes.get("name", "").strip() or "robot",
            links,
            joints,
            source=root.file,
            ignored=self.left.entries(),
            notes=tuple(self.notes),
        )
        return require_tree(found)

    def _others(self) -> None:
        used = ("link", "joint", "material", "transmission")
        for child in self.root.children:
            if child.tag not in used:
                why = _OTHER_TOOLS.get(child.tag, "not used")
                self.left.add(f"<{child.tag}>", child.line, why)
        for name in self.root.attributes:
            if name not in ("name", "version") and not name.startswith("xmlns"):
                self.left.add(f"<robot {name}=>", self.root.line)

    def _link(self, element: XmlElement, colors: Colors) -> Link:
        name = element.value("name")
        self.left.rest(element, ("inertial", "visual", "collision"), ("name",))
        shapes = link_shapes(element, colors, self.left)
        return Link(name, self._mass(element.one("inertial")), shapes, element.line)

    def _mass(self, element: XmlElement | None) -> Mass | None:
        if element is None:
            return None
        self.left.rest(element, ("origin", "mass", "inertia"))
        mass = element.required("mass").number("value")
        about = element.required("inertia")
        self.left.rest(about, (), ("ixx", "iyy", "izz", "ixy", "iyz", "ixz"))
        place = place_of(element, self.left)
        diagonal = (about.number("ixx"), about.number("iyy"), about.number("izz"))
        products = (about.number("ixy", 0.0), about.number("iyz", 0.0), about.number("ixz", 0.0))
        inertia = tensor_turned(tensor((*diagonal, *products)), place.rotation)
        return Mass(mass, place.position, inertia_of(inertia))

    def _joint(self, element: XmlElement) -> LinkJoint:
        name = element.value("name")
        written = element.choice("type", tuple(KINDS))
        used = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
        self.left.rest(element, used, ("name", "type"))
        joint = LinkJoint(
            name,
            KINDS[written],
            element.required("parent").value("link"),
            element.required("child").value("link"),
            place_of(element, self.left),
            line=element.line,
        )
        if not JOINTS[joint.kind].has_axis:
            for tag in ("axis", "limit", "dynamics", "mimic"):
                if (unused := element.one(tag)) is not None:
                    why = f"a {written} joint has no use for it"
                    self.left.add(f"<{tag}> of a {written} joint", unused.line, why)
            return joint
        joint = replace(joint, axis=self._axis(element), limits=self._limits(element, written))
        dynamics, mimic = element.one("dynamics"), element.one("mimic")
        if dynamics is not None:
            self.left.rest(dynamics, (), ("damping", "friction"))
            joint = replace(
                joint,
                damping=dynamics.number("damping", 0.0),
                friction=dynamics.number("friction", 0.0),
            )
        if mimic is not None:
            self.left.rest(mimic, (), ("joint", "multiplier", "offset"))
            follows = Mimic(
                mimic.value("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            )
            joint = replace(joint, mimic=follows)
        return joint

    def _axis(self, joint: XmlElement) -> Triple:
        element = joint.one("axis")
        if element is None:
            return (1.0, 0.0, 0.0)
        self.left.rest(element, (), ("xyz",))
        given = element.triple("xyz", (1.0, 0.0, 0.0))
        largest = max(abs(x) for x in given)
        if largest == 0.0:
            raise element.error(f"the axis of {joint.words} is zero", "give it a direction")
        x, y, z = unit([v / largest for v in given])
        if abs(x * given[0] + y * given[1] + z * given[2] - 1.0) > 1e-3:
            self.notes.append(
                f"line {element.line}: the axis of joint {joint.attributes['name']!r} has not "
                "length 1; its direction is used"
            )
        return x, y, z

    def _limits(self, joint: XmlElement, written: str) -> JointLimits:
        element = joint.one("limit")
        if element is None:
            return JointLimits()
        self.left.rest(element, (), ("lower", "upper", "velocity", "effort"))
        speed, effort = _end(element.maybe("velocity")), _end(element.maybe("effort"))
        kind = JOINTS[KINDS[written]]
        if kind.freedom == 1 and written == kind.urdf[0]:
            ends = _end(element.number("lower", 0.0)), _end(element.number("upper", 0.0))
            return JointLimits(*ends, speed, effort)
        for name in ("lower", "upper"):
            if name in element.attributes:
                why = f"a {written} joint has no ends"
                self.left.add(f"<limit {name}=> of a {written} joint", element.line, why)
        return JointLimits(None, None, speed, effort)

    def _with_rotors(self, joints: tuple[LinkJoint, ...]) -> tuple[LinkJoint, ...]:
        """Return the joints with the rotor inertias that transmissions give."""
        added: dict[str, float] = {}
        known = {joint.name for joint in joints if joint.kind != "weld"}
        for element in self.root.all("transmission"):
            felt = sum(_felt_inertia(actuator) for actuator in element.all("actuator"))
            targets = [j.attributes.get("name", "").strip() for j in element.all("joint")]
            if felt == 0.0 or len(targets) != 1 or targets[0] not in known:
                why = "it gives no rotor inertia" if felt == 0.0 else "it moves no single joint"
                self.left.add("<transmission>", element.line, why)
                continue
            added[targets[0]] = added.get(targets[0], 0.0) + felt
        return tuple(
            replace(joint, armature=added[joint.name]) if joint.name in added else joint
            for joint in joints
        )

    def _meshes(self, links: tuple[Link, ...], roots: tuple[str | Path, ...]) -> None:
        if not self.root.file:
            return
        names = {s.mesh: None for link in links for s in link.shapes if s.kind == "mesh"}
        for name in names:
            note = mesh_note(name, self.root.file, roots)
            if note:
                self.notes.append(note)


def _end(value: float | None) -> float | None:
    """Return a limit, or None for one so large that it means none."""
    return None if value is None or abs(value) >= NO_END else value


def _felt_inertia(actuator: XmlElement) -> float:
    """Return the inertia of an actuator's rotor as the joint feels it, kg*m^2 or kg."""
    rotor, gear = actuator.one("drake:rotor_inertia"), actuator.one("drake:gear_ratio")
    if rotor is None:
        return 0.0
    ratio = 1.0 if gear is None else gear.number("value")
    inertia = rotor.number("value")
    if inertia < 0.0:
        raise rotor.error("the inertia of a rotor is negative", "give 0 or more")
    return inertia * ratio * ratio
