"""From a `Description` to a text model, link by link.

Each link is a body with its own frame, so that nothing is lost on the way back. A joint whose frame
is turned in the parent's stands on a massless body that is turned once and for all, `NAME_mount`. A
root without mass is the ground, which a point at its origin names; one with mass is welded to it.
The ends of a loop whose frames are turned are massless bodies too. A link whose name no formula
could say has it as `doc`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from linkwright.base.errors import InputError
from linkwright.formats.mjcf.words import SENSORS
from linkwright.formats.robot.body_shapes import color_text
from linkwright.formats.robot.description import (
    UNTURNED,
    Closure,
    Description,
    Link,
    LinkJoint,
    LinkShape,
    Mass,
    Place,
    WrittenDescription,
)
from linkwright.formats.robot.joint_frames import tidy_rotation
from linkwright.formats.robot.names import UniqueNames, code_name
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.simple_joints import joint_direction, simple_joints
from linkwright.formats.text.joints import keys_of
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.writer import model_text
from linkwright.formats.urdf.origins import rotation_rpy
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.mechanism.shapes import KINDS

_FALL = (0.0, 0.0, -9.81)
_OTHERS = r".*_dot|(z|pc|s)\d+"  # speeds and what programs call their own
_SPLIT = frozenset(JOINTS) - {"universal"}  # which a mechanism makes of two bodies


def robot_text(description: Description) -> WrittenDescription:
    """Return a robot as a text model, with what that cannot hold.

    >>> robot = Description(
    ...     "r", (Link("a"), Link("b")), (LinkJoint("j", "revolute", "a", "b"),)
    ... )
    >>> print(robot_text(robot).text.split("[[")[1].strip())
    body]]
    name = "b"
    joint = "revolute"
    axis = [0.0, 0.0, 1.0]
    coordinates = ["j"]
    """
    return _Writing(description).written()


@dataclass(slots=True)
class _Writing:
    """One description while it is written."""

    robot: Description
    left: Leftovers = field(default_factory=Leftovers)
    bodies: dict[str, str] = field(default_factory=dict)
    points: dict[str, str] = field(default_factory=dict)
    stems: dict[str, str] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=lambda: UniqueNames(("n", "t", "o"), _OTHERS))
    spots: UniqueNames = field(default_factory=lambda: UniqueNames(("n", "o")))
    coordinates: UniqueNames = field(default_factory=lambda: UniqueNames(("t",), _OTHERS))
    data: dict[str, Any] = field(default_factory=dict)

    def written(self) -> WrittenDescription:
        d = self.robot
        kinds = ("body", "point", "shape", "constraint", "loop", "limit", "sensor")
        self.data = {kind: [] for kind in kinds} | {"initial": {}}
        links = {link.name: link for link in d.links}
        grounded = links[d.root].mass is None
        above = {joint.child: joint for joint in d.joints}
        for link in sorted(d.links, key=lambda link: not self.names.fits(link.name)):
            on_ground = grounded and link.name == d.root
            self.bodies[link.name] = "n" if on_ground else self.names.new(link.name)
        for joint in d.joints:
            self.stems[joint.name] = self.coordinates.new(joint.name)
        if grounded and d.root != "n":
            self.data["point"].append({"name": self._spot(d.root)})
        for link in d.links:
            if link.name in above:
                self._joint(above[link.name], link)
            elif not grounded:
                name = self.bodies[link.name]
                doc = {} if name == link.name else {"doc": link.name}
                self._body(name, "n", Place(), {"joint": "weld", **doc}, link.mass)
            for shape in link.shapes:
                self._shape(shape, link)
        for frame in d.frames:
            name = self.points[frame.name] = self._spot(frame.name)
            self.data["point"].append(
                {"name": name, "body": self.bodies[frame.link], **_placed(frame.place)}
            )
        for closure in d.closures:
            self._closure(closure)
        self._mimics()
        for sensor in d.sensors:
            on_joint = SENSORS.get(sensor.kind) == "joint"
            known = self.stems if on_joint else {**self.bodies, **self.points}
            self.data["sensor"].append(
                {"name": sensor.name, "kind": sensor.kind, "on": known[sensor.on]}
            )
        gravity = _FALL if d.gravity is None else d.gravity
        down = {"along": "-z", "g": -gravity[2]} if gravity[:2] == (0.0, 0.0) else None
        if any(gravity):
            self.data["gravity"] = down or {"along": list(gravity), "g": 1}
        name = code_name(d.name or "robot")
        try:
            model = ModelFile.model_validate({"format": 1, "name": name, **self.data})
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            raise InputError(
                f"{d.name!r} cannot be a text model: {where}: {fault['msg']}",
                remedy="correct that number (`linkwright model check` shows what is implausible)",
            ) from None
        return WrittenDescription(model_text(model), self.left.entries())

    def _spot(self, wanted: str) -> str:
        name = self.spots.new(wanted)
        if name != wanted:
            self.left.add(f"the name {wanted[:60]!r}", 0, f"no formula could say it: {name!r}")
        return name

    def _body(
        self, name: str, parent: str, place: Place, joint: dict[str, Any], mass: Mass | None
    ) -> None:
        """Add a body; a joint that moves has a mount where its frame is turned."""
        given = _placed(place)
        if "matrix" in given and joint.get("joint") != "weld":
            mount = self.names.new(f"{name}_mount")
            self._body(mount, parent, place, {"joint": "weld"}, None)
            parent, given = mount, {}
        body = {"name": name, "parent": parent, **joint, **given}
        if mass is not None:
            body |= {"mass": mass.mass, "com": list(mass.center), "inertia": list(mass.inertia)}
        self.data["body"].append(body)

    def _joint(self, whole: LinkJoint, link: Link) -> None:
        """Add the body of a link, with one more for each joint that a body cannot have."""
        parts = simple_joints(whole, self._joint_named, _SPLIT)
        parent, place = self.bodies[whole.parent], whole.place
        for k, joint in enumerate(parts, 1):
            last = k == len(parts)
            child = self.bodies[link.name] if last else self.names.new(f"{link.name}_{k}")
            keys = self._moving(joint, child)
            if last and child != link.name:
                keys["doc"] = link.name
            self._body(child, parent, place, keys, link.mass if last else None)
            parent, place = child, Place()

    def _joint_named(self, wanted: str) -> str:
        self.stems[wanted] = self.coordinates.new(wanted)
        return wanted

    def _moving(self, joint: LinkJoint, child: str) -> dict[str, Any]:
        """Return the keys of a joint, and note its limits."""
        kind = JOINTS[joint.kind]
        needed, allowed = keys_of(joint.kind)
        found: dict[str, Any] = {"joint": joint.kind}
        if "axis" in needed:
            found["axis"] = list(joint.axis)
        elif kind.has_axis:
            found = {"translate": [], "rotate": [], "at_origin": True}
            for what, along in kind.motions:
                direction = list(joint_direction(joint, along))
                found["translate" if what == "slide" else "rotate"].append(direction)
        if "pitch" in needed:
            found["pitch"] = joint.pitch
        for key in {"quaternion", "at_origin"} & allowed:
            found[key] = True
        stem = self.stems[joint.name]
        names = [f"{stem}.{ending}" for ending in kind.endings] or [stem] * kind.freedom
        if names and names != [child]:
            found["coordinates"] = names
        if not names or stem != joint.name:
            found["joint_name"] = joint.name
        for key in ("armature", "damping", "friction", "stiffness", "rest"):
            if getattr(joint, key) and names:
                found[key] = getattr(joint, key)
        if joint.mimic is None:
            self.data["initial"] |= dict(zip(names, joint.start, strict=False))
        self._limits(joint, [name for name in names if not name.endswith(("e0", "e1", "e2", "e3"))])
        return found

    def _limits(self, joint: LinkJoint, names: list[str]) -> None:
        limits = joint.limits
        given = {key: getattr(limits, key) for key in ("lower", "upper", "speed", "effort")}
        if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
            self.left.add("limits that leave no range", joint.line)
            given |= {"lower": None, "upper": None}
        if len(names) != 1:
            given |= {"lower": None, "upper": None}
        for key in ("speed", "effort"):
            if (given[key] or 0.0) < 0:
                self.left.add(f"a greatest {key} below zero", joint.line)
                given[key] = None
        given = {key: value for key, value in given.items() if value is not None}
        if given:
            self.data["limit"] += [{"coordinate": name, **given} for name in names]

    def _shape(self, shape: LinkShape, link: Link) -> None:
        if shape.kind != "mesh" and min(shape.size, default=1.0) <= 0:
            self.left.add("shapes without size", link.line)
            return
        data: dict[str, Any] = {"body": self.bodies[link.name], "kind": shape.kind}
        if shape.kind == "mesh":
            data |= {"file": shape.mesh, "scale": list(shape.scale)}
        elif len(keys := KINDS[shape.kind].measured) == 1 and len(shape.size) == 3:
            data[keys[0]] = list(shape.size)
        else:
            data |= dict(zip(keys, shape.size, strict=True))
        turns = zip("xyz", rotation_rpy(shape.place.rotation), strict=True)
        data["turn"] = [[axis, angle] for axis, angle in turns if angle][::-1]
        data["at"] = list(shape.place.position)
        if shape.color is not None:
            data["color"] = color_text(shape.color)
        for key in ("name", "material", "seen", "touched"):
            data[key] = getattr(shape, key)
        self.data["shape"].append(data)

    def _closure(self, closure: Closure) -> None:
        name = self.names.new(closure.name or "closure")
        ends = []
        for letter, (link, place) in zip("ab", (closure.first, closure.second), strict=True):
            end, body = self.spots.new(self.names.new(f"{name}_{letter}")), self.bodies[link]
            if closure.kind == "weld" or place.rotation != UNTURNED:
                self._body(end, body, place, {"joint": "weld"}, None)
            else:
                point = {"name": end, "body": body, "at": list(place.position)}
                self.data["point"].append(point)
            ends.append(end)
        first, second = ends
        loop = {"name": name, "first": first, "second": second, "joint": closure.kind}
        self.data["loop"].append(loop)

    def _mimics(self) -> None:
        for name, mimic in self.robot.mimics.items():
            q, leader = self.stems[name], self.stems[mimic.joint]
            relation = {
                "name": f"{q} follows {leader}",
                "position": f"{q} - ({mimic.multiplier!r})*{leader} - ({mimic.offset!r})",
                "compute": q,
            }
            self.data["constraint"].append(relation)


def _placed(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if any(place.position):
        found["at"] = list(place.position)
    rotation = tidy_rotation(place.rotation)
    if rotation != UNTURNED:
        found["matrix"] = [list(row) for row in rotation]
    return found
