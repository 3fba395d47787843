"""From MJCF to a `Description`.

Conventions of MJCF (Modeling, section Kinematic tree): a body's frame is placed in its parent's;
its joints act on it in order, each about or along an axis at a point of the body's frame; a joint
moves the body by its coordinate minus ``ref``. Here a body is a link with the same frame. A joint
that does not turn about the origin of the body, and each but the last of several, gets a link
without mass of its own. A free joint's coordinates are those of MuJoCo: position and quaternion in
the world. Joints start as drawn, as MuJoCo's ``qpos0`` has it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwright.formats.meshes.lookup import mesh_note
from linkwright.formats.mjcf.constraints import FileBodies, with_actuators, with_equalities
from linkwright.formats.mjcf.geoms import GeomReader, between
from linkwright.formats.mjcf.joints import merged_joint, moved, read_joint
from linkwright.formats.mjcf.masses import bounded, inertial_mass, scaled_to
from linkwright.formats.mjcf.settings import CompilerSettings, Defaults, settings_of
from linkwright.formats.mjcf.sources import MJCF_CAPS, Sections, sections_of
from linkwright.formats.mjcf.words import SENSORS, TURNS, USED
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    LinkSensor,
    LinkShape,
    Mass,
    NamedFrame,
    Place,
    Triple,
)
from linkwright.formats.robot.link_tree import require_tree
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import (
    composed,
    joined_masses,
    minus,
    rotation_quaternion,
)
from linkwright.formats.robot.xml import Caps, XmlElement, parse_xml, read_xml

WORLD = "world"
_BODY = ("inertial", "joint", "freejoint", "geom", "site", "body", "frame")
_NOT_READ = {
    "attach": "it puts another file in",
    "composite": "it makes bodies by rule",
    "flexcomp": "it makes a flexible body",
    "replicate": "it makes copies of bodies",
}
_ELSEWHERE = {
    "contact": "contact is not read from MJCF",
    "custom": "it is for programs that use MuJoCo",
    "deformable": "flexible bodies are not read",
    "extension": "plugins are not read",
    "keyframe": "states are not read",
    "size": "it is about the memory of MuJoCo",
    "statistic": "it is about pictures",
    "tendon": "tendons are not read; what they do to the joints is missing",
    "visual": "it is about pictures",
}
_SECTIONS = (
    "compiler",
    "option",
    "default",
    "asset",
    "worldbody",
    "equality",
    "actuator",
    "sensor",
)


def read_mjcf(
    path: str | Path, *, roots: Sequence[str | Path] = (), caps: Caps = MJCF_CAPS
) -> Description:
    """Return what an MJCF file says."""
    return mjcf_description(read_xml(path, caps), roots=roots, caps=caps)


def parse_mjcf(text: str | bytes, *, file: str = "", caps: Caps = MJCF_CAPS) -> Description:
    """Return what an MJCF text says.

    >>> robot = parse_mjcf('''<mujoco model="swing"><worldbody>
    ...   <body name="arm">
    ...     <joint name="hinge" axis="0 1 0" range="-90 90"/>
    ...     <geom type="sphere" size=".1" pos="0 0 -.5" mass="2"/>
    ...   </body>
    ... </worldbody></mujoco>''')
    >>> robot.joints[0].kind, robot.joints[0].axis, robot.link("arm").mass.center
    ('revolute', (0.0, 1.0, 0.0), (0.0, 0.0, -0.5))
    """
    return mjcf_description(parse_xml(text, file=file, caps=caps), caps=caps)


def mjcf_description(
    root: XmlElement, *, roots: Sequence[str | Path] = (), caps: Caps = MJCF_CAPS
) -> Description:
    """Return what the root element of an MJCF file says."""
    sections = sections_of(root, roots=roots, caps=caps)
    left = Leftovers()
    settings = settings_of(sections, left)
    defaults = Defaults.of(sections, left)
    geometry = GeomReader.of(sections, settings, defaults, left, roots)
    return _Reading(sections, settings, defaults, geometry, left, tuple(roots)).description()


@dataclass(frozen=True, slots=True)
class _Inside:
    """Elements that wait to be read: those in a body, or in a frame of it."""

    element: XmlElement
    body: str
    around: str
    outer: Place


@dataclass(slots=True)
class _Body:
    """A body while it is read."""

    name: str
    parent: str
    place: Place  # in the parent's frame, as drawn
    line: int
    inertial: tuple[XmlElement, Place] | None = None  # with the frame that it stands in
    joints: list[tuple[XmlElement, Place]] = field(default_factory=list)
    shapes: list[LinkShape] = field(default_factory=list)
    masses: list[Mass] = field(default_factory=list)


@dataclass(slots=True)
class _Reading:
    """One file while it is read."""

    sections: Sections
    settings: CompilerSettings
    defaults: Defaults
    geometry: GeomReader
    left: Leftovers
    roots: tuple[str | Path, ...]
    notes: list[str] = field(default_factory=list)
    bodies: dict[str, _Body] = field(default_factory=dict)
    frames: dict[str, NamedFrame] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    links: list[Link] = field(default_factory=list)
    joints: list[LinkJoint] = field(default_factory=list)
    references: dict[str, float] = field(default_factory=dict)

    def description(self) -> Description:
        self._names()
        self.bodies[WORLD] = _Body(WORLD, "", Place(), self.sections.root.line)
        self._walk()
        masses = {name: self._mass(body) for name, body in self.bodies.items() if name != WORLD}
        self._refuse_fused(masses)
        masses = scaled_to(masses, self.settings.total_mass)
        for name, body in self.bodies.items():
            if name != WORLD:
                self._chain(body)
            self.links.append(Link(name, masses.get(name), tuple(body.shapes), body.line))
        drawn = self._drawn()
        links = {link.name for link in self.links}
        self.taken |= self.frames.keys()
        sites = {k: self._renamed(x) if k in links else x for k, x in self.frames.items()}
        tree = FileBodies(tuple(self.joints), self.references, drawn, sites)
        tree = with_actuators(tree, self.sections, self.defaults, self.settings, self.left)
        joints, closures = with_equalities(tree, self.sections, self.defaults, self.left)
        sensors = tuple(self._sensors(joints, sites))
        self._others()
        self._meshes()
        found = Description(
            self.sections.root.attributes.get("model", "").strip() or "robot",
            tuple(self.links),
            joints,
            tuple(sites.values()),
            closures,
            self._gravity(),
            self.left.entries(),
            self.sections.root.file,
            tuple(self.notes),
            sensors=sensors,
        )
        return require_tree(found)

    def _sensors(
        self, joints: Sequence[LinkJoint], sites: Mapping[str, NamedFrame]
    ) -> Iterator[LinkSensor]:
        known: dict[str, Container[str]] = {
            "site": sites,
            "joint": {joint.name for joint in joints},
            "body": self.bodies,
            "xbody": self.bodies,
        }
        taken: set[str] = set()
        for element in self.sections.parts("sensor"):
            where = SENSORS.get(element.tag, "")
            on = element.attributes.get(where, "").strip()
            kind = element.attributes.get("objtype", "").strip() if where == "objname" else where
            if on not in known.get(kind, ()):
                self.left.add(
                    f"<sensor><{element.tag}>", element.line, "not of a kind that is read"
                )
                continue
            self.left.rest(element, (), ("name", where, "objtype"))
            wanted = element.attributes.get("name", "").strip() or f"{on}_{element.tag}"
            name, number = wanted, 1
            while name in taken:
                number += 1
                name = f"{wanted}_{number}"
            taken.add(name)
            on = sites[on].name if kind == "site" else on
            yield LinkSensor(name, element.tag, on, element.line)

    def _names(self) -> None:
        """Note the names of bodies and joints, so that none that is made up here is one of them."""
        self.taken.add(WORLD)
        stack = list(self.sections.all("worldbody"))
        while stack:
            element = stack.pop()
            if element.tag in ("body", "joint", "freejoint"):
                self.taken.add(element.attributes.get("name", "").strip())
            stack.extend(element.children)

    def _unused(self, wanted: str) -> str:
        """Return a name that no body, no joint and no site has yet."""
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def _walk(self) -> None:
        """Read all bodies, from the world on, in the order of the file."""
        stack = [
            _Inside(section, WORLD, section.attributes.get("childclass", "").strip(), Place())
            for section in reversed(list(self.sections.all("worldbody")))
        ]
        while stack:
            inside = stack.pop()
            if inside.element.tag == "worldbody":
                self.left.rest(inside.element, (*_BODY, *_NOT_READ), ("childclass",))
            if inside.element.tag == "body":
                name = self._body(inside)
                inside = replace(inside, body=name, outer=Place())
            waiting: list[_Inside] = []
            for child in inside.element.children:
                self._child(child, inside, waiting)
            stack.extend(reversed(waiting))

    def _child(self, child: XmlElement, inside: _Inside, waiting: list[_Inside]) -> None:
        body = self.bodies[inside.body]
        if child.tag in ("body", "frame"):
            around = child.attributes.get("childclass", "").strip() or inside.around
            place = composed(inside.outer, self.settings.place(child))
            if child.tag == "frame":
                self._refuse_scale(child)
                self.left.rest(child, (*_BODY, *_NOT_READ), ("name", "childclass", "pos", *TURNS))
            waiting.append(_Inside(child, inside.body, around, place))
        elif child.tag == "geom":
            heavy = self._from_geoms(body)
            geom = self.geometry.geom(child, inside.around, inside.outer, heavy)
            if geom.shape is not None and (geom.touched or not self.settings.discard_visual):
                body.shapes.append(geom.shape)
            if geom.mass is not None:
                body.masses.append(geom.mass)
        elif child.tag == "site":
            self._site(child, inside)
        elif child.tag in ("joint", "freejoint", "inertial") and body.name == WORLD:
            raise child.error(f"<{child.tag}> stands right in the world", "put it into a body")
        elif child.tag in ("joint", "freejoint"):
            element = merged_joint(child, inside.around, self.defaults, self.left)
            body.joints.append((element, inside.outer))
        elif child.tag in _NOT_READ:
            raise child.error(
                f"<{child.tag}> is not read: {_NOT_READ[child.tag]}",
                "let MuJoCo write the model out first: mujoco.mj_saveLastXML",
            )

    def _from_geoms(self, body: _Body) -> bool:
        if body.name == WORLD or self.settings.from_geoms == "false":
            return False
        return self.settings.from_geoms == "true" or body.inertial is None

    def _refuse_scale(self, frame: XmlElement) -> None:
        for name in ("scale", "massscale"):
            if name in frame.attributes:
                raise frame.error(
                    f"{frame.words} has {name}, which is not read",
                    "let MuJoCo write the model out first: mujoco.mj_saveLastXML",
                )

    def _body(self, inside: _Inside) -> str:
        """Add a body that stands in another one; return its name."""
        element = inside.element
        name = element.attributes.get("name", "").strip()
        if not name:
            name = self._unused(f"body{len(self.bodies)}")
        if name in self.bodies:
            where = f"as in line {self.bodies[name].line}"
            raise element.error(f"a second body is called {name[:60]!r}, {where}", "rename one")
        used = ("name", "childclass", "pos", *TURNS, "fuse", "simple", "sleep", "user", "mocap")
        self.left.rest(element, (*_BODY, *_NOT_READ), used)
        if element.attributes.get("mocap", "false").strip() == "true":
            self.left.add("<body mocap=>", element.line, "it stays where it is drawn")
        body = _Body(name, inside.body, inside.outer, element.line)
        stack = [(element, Place())]
        while stack:
            part, outer = stack.pop()
            stack += [(x, composed(outer, self.settings.place(x))) for x in part.all("frame")]
            for child in part.all("inertial"):
                if body.inertial is not None:
                    raise child.error(f"a second <inertial> in body {name!r}", "keep one of them")
                body.inertial = child, outer
        self.bodies[name] = body
        return name

    def _site(self, written: XmlElement, inside: _Inside) -> None:
        element = self.defaults.applied(written, inside.around)
        why = "a site is a frame here, no solid"
        self.left.rest(written, (), USED["site"], why=why)
        name = element.attributes.get("name", "").strip()
        if not name:
            return
        if name in self.frames:
            raise element.error(f"a second site is called {name[:60]!r}", "rename one")
        place = between(element) if "fromto" in element.attributes else self.settings.place(element)
        place = composed(inside.outer, place)
        self.frames[name] = NamedFrame(name, inside.body, place, element.line)

    def _renamed(self, frame: NamedFrame) -> NamedFrame:
        """Return a site under a name that no body has; in MJCF both have names of their own."""
        name = self._unused(frame.name)
        self.notes.append(
            f"line {frame.line}: a body is called {frame.name!r} too; the site is {name!r} here"
        )
        return replace(frame, name=name)

    def _mass(self, body: _Body) -> Mass | None:
        """Return the mass of a body; shapes without any do not take that of ``<inertial>`` away."""
        mass = joined_masses(body.masses)
        if body.inertial is not None and (mass is None or self.settings.from_geoms != "true"):
            mass = inertial_mass(*body.inertial, self.settings, self.left)
        return bounded(mass, self.settings)

    def _refuse_fused(self, masses: Mapping[str, Mass | None]) -> None:
        """Reject a total mass where bodies that may become part of the world have a share in it."""
        still = {WORLD}
        for name, body in self.bodies.items():
            if self.settings.fuse and body.parent in still and not body.joints:
                still.add(name)
                if masses[name] is not None and self.settings.total_mass > 0:
                    raise self.sections.root.error(
                        f"settotalmass with fusestatic: body {name[:60]!r} stands on the world, and"
                        " its mass counts only where something names it",
                        "leave one of the two out",
                    )

    def _chain(self, body: _Body) -> None:
        """Add the joints of a body, with a link between each two and one before an offset."""
        if not body.joints:
            self.joints.append(
                LinkJoint(
                    self._unused(f"{body.name}_fixed"),
                    "weld",
                    body.parent,
                    body.name,
                    body.place,
                    line=body.line,
                )
            )
            return
        parent, place = body.parent, body.place
        at: Triple = (0.0, 0.0, 0.0)
        for count, (element, outer) in enumerate(body.joints, 1):
            last = count == len(body.joints)
            name = element.attributes.get("name", "").strip()
            if not name:
                name = self._unused(f"{body.name}_joint{count if len(body.joints) > 1 else ''}")
            joint, anchor, reference = read_joint(element, name, outer, self.settings, self.left)
            if joint.kind == "free":
                self._check_free(element, body)
                if place != Place():
                    start = (*place.position, *rotation_quaternion(place.rotation))
                    joint = replace(joint, start=start)
                place = Place()
            elif reference:
                joint = replace(joint, start=(reference,))
            step = Place(minus(anchor, at))
            direct = last and anchor == (0.0, 0.0, 0.0)
            child = body.name if direct else self._unused(f"{body.name}_{joint.name}")
            if not direct:
                self.links.append(Link(child, line=element.line))
            joint = replace(
                joint,
                parent=parent,
                child=child,
                place=composed(composed(place, step), moved(joint, -reference)),
            )
            self.references[joint.name] = reference
            self.joints.append(joint)
            parent, place, at = child, Place(), anchor
        if parent != body.name:
            back = Place(minus((0.0, 0.0, 0.0), at))
            self.joints.append(
                LinkJoint(
                    self._unused(f"{body.name}_fixed"),
                    "weld",
                    parent,
                    body.name,
                    back,
                    line=body.line,
                )
            )

    def _check_free(self, element: XmlElement, body: _Body) -> None:
        if body.parent != WORLD or len(body.joints) > 1:
            raise element.error(
                f"body {body.name!r} has a free joint, but is not free",
                "a free joint stands alone, in a body right in the world",
            )

    def _drawn(self) -> dict[str, Place]:
        """Return the places of the bodies in the world as the file draws them."""
        found = {WORLD: Place()}
        for name, body in self.bodies.items():  # a parent comes before its children
            if name != WORLD:
                found[name] = composed(found[body.parent], body.place)
        return found

    def _gravity(self) -> Triple:
        found: Triple = (0.0, 0.0, -9.81)
        on = "enable"
        for element in self.sections.all("option"):
            self.left.rest(element, ("flag",), ("gravity", "timestep"))
            found = element.triple("gravity", found)
            for flag in element.all("flag"):
                self.left.rest(flag, (), ("gravity",))
                on = flag.choice("gravity", ("enable", "disable"), on)
        return found if on == "enable" else (0.0, 0.0, 0.0)

    def _others(self) -> None:
        root = self.sections.root
        for section in self.sections.sections:
            if section.tag not in _SECTIONS:
                why = _ELSEWHERE.get(section.tag, "not used")
                self.left.add(f"<{section.tag}>", section.line, why)
        for name in root.attributes:
            if name != "model" and not name.startswith(("xmlns", "xsi:")):
                self.left.add(f"<mujoco {name}=>", root.line)

    def _meshes(self) -> None:
        if not self.sections.root.file:
            return
        names = {s.mesh: None for link in self.links for s in link.shapes if s.mesh}
        for name in names:
            note = mesh_note(name, self.sections.root.file, self.roots)
            if note:
                self.notes.append(note)
