"""From a Mechanism to the `Description` that a robot file can hold: a tree of links, in numbers.

Parameters get their values, and all coordinates are zero where places are measured. What a robot
file has no place for (loads, inputs, relations, outputs) is listed as left out. A joint that no
robot file has is split into joints with one coordinate each, with links without mass between.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra import Expr, Vector, evaluate_all, free_symbols
from linkwright.base.errors import InputError
from linkwright.formats.mjcf.words import SENSORS
from linkwright.formats.robot.body_shapes import drawn
from linkwright.formats.robot.description import (
    UNTURNED,
    Closure,
    Description,
    JointLimits,
    Link,
    LinkJoint,
    LinkSensor,
    LinkShape,
    Mass,
    Mimic,
    NamedFrame,
    Place,
    Rotation,
    Triple,
)
from linkwright.formats.robot.names import code_name
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import composed, dot, plane_axes, rotate, transposed
from linkwright.mechanism import Body, Mechanism, Point, parts
from linkwright.mechanism.followers import followers
from linkwright.mechanism.joint_kinds import JOINTS


def read_text_model(
    path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()
) -> Description:
    """Return the tree of a text model with its parameters as numbers."""
    from linkwright.formats.text.files import read_model

    found = description_of(read_model(path))
    return replace(found, source=os.fspath(path))


def description_of(mechanism: Mechanism) -> Description:
    """Return the tree of a mechanism with its parameters as numbers.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=("L/2", 0, 0), inertia=(0, 0, 0.1))
    >>> m.set_parameters({"L": 1.0})
    >>> d = description_of(m)
    >>> d.joints[0].kind, d.joints[0].axis, d.link("rod").mass.center
    ('revolute', (0.0, 0.0, 1.0), (0.5, 0.0, 0.0))
    """
    return _Survey(mechanism).description()


@dataclass(slots=True)
class _Survey:
    """One mechanism while it is measured."""

    m: Mechanism
    values: dict[Expr, float] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    joints: list[LinkJoint] = field(default_factory=list)
    left: Leftovers = field(default_factory=Leftovers)
    folded: set[Body] = field(default_factory=set)
    tied: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)

    def description(self) -> Description:
        m = self.m
        missing = [name for name in m.parameters if name not in m.values]
        if missing:
            raise InputError(
                f"{m.name!r} is not a robot of numbers: {', '.join(missing[:5])} have no value",
                remedy="give its parameters values",
            )
        if m.driven_struts:
            names = ", ".join(strut.name for strut in m.driven_struts)
            raise InputError(
                f"{m.name!r} has struts whose length is driven ({names}), which robot files do not "
                "know",
                remedy="write it as a text model (.toml)",
            )
        self.values = {x: m.values[name] for name, x in m.parameters.items()}
        self.values |= {x: m.values.get(name, 0.0) for name, x in m.inputs.items()}
        self.folded = self._mounts()
        self.links = [Link(m.ground.name, None, self._shapes(m.ground))]
        for body in m.bodies.values():
            if body not in self.folded:
                self._body(body)
        closures = tuple(self._closures())
        mimics = self._mimics()
        joints = [replace(joint, mimic=mimics.get(joint.name)) for joint in self.joints]
        gravity = self._numbers(m.gravity_vector.components(m.ground.frame), "gravity")
        ends = {point for loop in m.loops for point in (loop.first, loop.second)}
        frames = tuple(self._frames(ends))
        self._leave()
        return self._rooted(
            Description(
                m.name,
                tuple(self.links),
                tuple(joints),
                frames,
                closures,
                gravity=_three(gravity),
                ignored=self.left.entries(),
                sensors=tuple(map(self._sensed, m.sensors)),
                display=m.display.name,
            )
        )

    def _mounts(self) -> set[Body]:
        """Return the bodies that only turn a joint's frame or the end of a loop."""
        m = self.m
        below = Counter(body.parent for body in m.bodies.values())
        ends = {point.body for loop in m.loops for point in (loop.first, loop.second)}
        used = {point.body for point in m.points.values()}
        return {
            body
            for body in m.bodies.values()
            if not body.coordinates
            and not body.joint.name
            and body.parent is not None
            and body.name not in m.shapes
            and body not in used
            and self._mass(body) is None
            and (
                (below[body] == 1 and body.name.endswith("_mount"))
                or (below[body] == 0 and body in ends)
            )
        }

    def _rooted(self, robot: Description) -> Description:
        """Return the robot with its root: what is welded to the ground, or a name for that."""
        ground, names = self.m.ground, [frame.name for frame in robot.frames if _is_ground(frame)]
        below = [joint for joint in robot.joints if joint.parent == ground.name]
        if len(below) == 1 and below[0].kind == "weld" and below[0].place == Place():
            (joint,) = below
            body = next(b for b in self.m.bodies.values() if link_name(b) == joint.child)
            fixed = not any(frame.link == ground.name for frame in robot.frames)
            if fixed and not body.joint.name and not robot.links[0].shapes:
                joints = tuple(j for j in robot.joints if j is not joint)
                return replace(robot, links=robot.links[1:], joints=joints)
        if not names:
            return robot
        root = names[0]

        def renamed(link: str) -> str:
            return root if link == ground.name else link

        return replace(
            robot,
            links=(replace(robot.links[0], name=root), *robot.links[1:]),
            joints=tuple(replace(j, parent=renamed(j.parent)) for j in robot.joints),
            frames=tuple(replace(f, link=renamed(f.link)) for f in robot.frames if f.name != root),
            closures=tuple(
                replace(
                    c,
                    first=(renamed(c.first[0]), c.first[1]),
                    second=(renamed(c.second[0]), c.second[1]),
                )
                for c in robot.closures
            ),
            sensors=tuple(replace(s, on=renamed(s.on)) for s in robot.sensors),
        )

    def _place(self, body: Body) -> tuple[str, Place]:
        """Return the parent link of a body, and its place there, through what is folded."""
        assert body.parent is not None
        above = body.parent.frame
        words = f"the place of {body.name!r}"
        offset = _three(self._numbers(body.offset.components(above), words, body))
        cosines = self._numbers((x for row in body.frame.cosines for x in row), words, body)
        place = Place(offset, transposed(_rows(cosines)))
        if body.parent not in self.folded:
            return link_name(body.parent), place
        link, outer = self._place(body.parent)
        return link, composed(outer, place)

    def _shapes(self, body: Body) -> tuple[LinkShape, ...]:
        words = f"a shape of {body.name!r}"
        return tuple(
            drawn(shape, lambda values: self._numbers(values, words))
            for shape in self.m.shapes.get(body.name, ())
        )

    def _closures(self) -> Iterator[Closure]:
        for loop in self.m.loops:
            kind = {0: "weld", 3: "ball"}.get(len(loop.joint.rotate))
            if kind is None or loop.joint.translate or loop.joint.matrix is not None:
                continue
            first, second = (self._end(point) for point in (loop.first, loop.second))
            yield Closure(loop.name, first, second, kind)

    def _end(self, point: Point) -> tuple[str, Place]:
        where = point.local.components(point.body.frame)
        place = Place(_three(self._numbers(where, f"the place of {point.name!r}")))
        if point.body not in self.folded:
            return link_name(point.body), place
        link, outer = self._place(point.body)
        return link, composed(outer, place)

    def _mimics(self) -> dict[str, Mimic]:
        """Return what joints follow others: linear relations of two coordinates."""
        found: dict[str, Mimic] = {}
        names = {
            body.coordinates[0]: self._joint_name(body)
            for body in self.m.bodies.values()
            if len(body.coordinates) == 1
        }
        for q, x in followers(self.m, self.values).items():
            found[names[q]] = Mimic(names[x.leader], x.factor, x.offset)
            self.tied.add(x.relation.name)
        return found

    def _sensed(self, sensor: parts.Sensor) -> LinkSensor:
        """Return a sensor with the name of the joint, link or frame that it is on."""
        on = sensor.on
        if SENSORS.get(sensor.kind) == "joint":
            for body in self.m.bodies.values():
                if any(q.name == on or q.name.startswith(f"{on}.") for q in body.coordinates):
                    on = self._joint_name(body)
        elif on not in self.m.points and on not in self.m.frames and on in self.m.bodies:
            on = link_name(self.m.bodies[on])
        return LinkSensor(sensor.name, sensor.kind, on)

    def _numbers(self, values: Iterable[Expr], what: str, body: Body | None = None) -> list[float]:
        """Return values in numbers, while the coordinates of a body's own joint are zero."""
        zero = {} if body is None else dict.fromkeys(body.coordinates, 0.0)
        if body is not None and body.joint.quaternion:
            zero[body.rotations[0]] = 1.0
        values = list(values)
        known = {**self.values, **zero}
        other = [x.name for x in free_symbols(*values) if x not in known]
        if other:
            raise InputError(
                f"{what} depends on {', '.join(sorted(other)[:3])}",
                remedy="a robot file holds constant places and masses only",
            )
        found = [float(x) for x in evaluate_all(values, known)]
        if not all(map(math.isfinite, found)):
            raise InputError(f"{what} is not finite")
        return found

    def _body(self, body: Body) -> None:
        parent, place = self._place(body)
        slides = [self._direction(body, d) for _, d in body.translations]
        left = list(body.coordinates)
        for joint in self._joints(body, parent, place, slides):
            joint = replace(joint, start=self._start(joint.kind, left))
            if joint.child != link_name(body):
                self.links.append(Link(joint.child))
                self.joints.append(joint)
            else:
                self.joints.append(self._with_properties(joint, body))
        self.links.append(Link(link_name(body), self._mass(body), self._shapes(body)))

    def _start(self, kind: str, left: list[Expr]) -> tuple[float, ...]:
        """Take a joint's coordinates from those left; return where they start, if not at zero."""
        count = len(JOINTS[kind].endings) or JOINTS[kind].freedom
        own, left[:] = left[:count], left[count:]
        if len(own) < count:  # three angles in place of a quaternion
            return ()
        start = tuple(self.m.initial.get(q.name, 0.0) for q in own)
        self.started.update(q.name for q in own)
        unturned = (*start[:-4], 1.0, 0.0, 0.0, 0.0)
        return () if not any(start) or (start == unturned and not any(start[:-4])) else start

    def _with_properties(self, joint: LinkJoint, body: Body) -> LinkJoint:
        """Return a joint with its rotor, friction, spring and limits."""
        m, words = self.m, f"the joint of {body.name!r}"
        if body in m.armatures:
            (armature,) = self._numbers([m.armatures[body]], words)
            joint = replace(joint, armature=armature)
        if body in m.passives:
            own = m.passives[body]
            given = (own.damping, own.friction, own.stiffness, own.rest)
            d, f, k, rest = self._numbers(given, words)
            joint = replace(joint, damping=d, friction=f, stiffness=k, rest=rest)
        for found in m.ranges:
            if found.coordinate in body.coordinates:
                ends = (found.lower, found.upper) if len(body.coordinates) == 1 else (None, None)
                joint = replace(joint, limits=JointLimits(*ends, found.speed, found.effort))
        return joint

    def _direction(self, body: Body, direction: Vector) -> Triple:
        """Return a direction that is fixed in the parent, along the body's axes at zero."""
        assert body.parent is not None
        along = direction.components(body.parent.frame)
        fixed = _three(self._numbers(along, f"a direction of {body.name!r}"))
        cosines = self._numbers((x for row in body.frame.cosines for x in row), "a place", body)
        return rotate(_rows(cosines), fixed)

    def _joints(
        self, body: Body, parent: str, place: Place, slides: list[Triple]
    ) -> Iterator[LinkJoint]:
        """Yield the joints from the parent link to the body."""
        names = [q.name for q in body.coordinates]
        whole = LinkJoint(self._joint_name(body), "weld", parent, link_name(body), place)
        turns = len(body.joint.rotate)
        if not names:
            yield whole
        elif turns == 3 and len(slides) == 3:
            self._angles(body)
            yield replace(whole, kind="free")
        elif turns == 1 and _in_plane(slides, axis := self._axis(body)):
            yield replace(whole, kind="planar", axis=axis)
        elif turns == 1 and len(slides) == 1 and _parallel(slides[0], self._axis(body)):
            yield replace(whole, kind="cylindrical", axis=slides[0])
        else:
            yield from self._split(body, whole, slides, turns)

    def _joint_name(self, body: Body) -> str:
        """Return the name that all coordinates of a joint begin with, else that of the body."""
        names = [q.name for q in body.coordinates]
        if body.joint.name or len(names) == 1:
            return body.joint.name or names[0]
        stems = {name.rpartition(".")[0] for name in names}
        stem = stems.pop() if len(stems) == 1 else ""
        return stem if stem and all(joint.name != stem for joint in self.joints) else body.name

    def _split(
        self, body: Body, whole: LinkJoint, slides: list[Triple], turns: int
    ) -> Iterator[LinkJoint]:
        """Yield the slides one by one, then the rotation."""
        last = len(slides) + (1 if turns else 0)
        parent, place = whole.parent, whole.place
        for k, axis in enumerate(slides, 1):
            child = link_name(body) if k == last else f"{body.name}_slide{k}"
            name = whole.name if last == 1 else body.translations[k - 1][0].name
            yield LinkJoint(name, "prismatic", parent, child, place, axis)
            parent, place = child, Place()
        if turns == 3:
            self._angles(body)
            yield replace(whole, kind="ball", parent=parent, place=place)
        elif turns == 1:
            one = {**self.values, body.rotations[0]: 1.0}
            (lead,) = evaluate_all([body.lead], one)
            name = whole.name if last == 1 else body.rotations[0].name
            joint = replace(whole, name=name, parent=parent, place=place)
            joint = replace(joint, kind="revolute", axis=self._axis(body))
            if lead:
                joint = replace(joint, kind="screw", pitch=float(lead) * math.tau)
            yield joint

    def _axis(self, body: Body) -> Triple:
        """Return the axis of the one rotation, along the body's axes."""
        ((_, along),) = body.frame.spins
        words = f"the axis of {body.name!r}"
        return _three(self._numbers(along.components(body.frame), words, body))

    def _angles(self, body: Body) -> None:
        if not body.joint.quaternion:
            self.left.add("the angles of three rotations", 0, "a robot file has a quaternion")

    def _mass(self, body: Body) -> Mass | None:
        inertia = body.inertia
        parts = [inertia.mass, *inertia.center, *inertia.tensor]
        mass, x, y, z, xx, yy, zz, xy, yz, zx = self._numbers(parts, f"the mass of {body.name!r}")
        found = Mass(mass, (x, y, z), (xx, yy, zz, xy, yz, zx))
        return found if mass or any(found.inertia) else None

    def _frames(self, ends: set[Point]) -> Iterator[NamedFrame]:
        for name, point in (self.m.frames | self.m.points).items():
            if point in ends or name == link_name(point.body):
                continue
            words = f"the place of {name!r}"
            position = _three(self._numbers(point.local.components(point.body.frame), words))
            rows = UNTURNED
            if point.matrix is not None:
                rows = _rows(self._numbers((x for row in point.matrix for x in row), words))
            yield NamedFrame(name, link_name(point.body), Place(position, rows))

    def _leave(self) -> None:
        m = self.m
        own = {name for passive in m.passives.values() for name in passive.loads}
        closing = {
            name
            for loop in m.loops
            if len(loop.joint.rotate) in (0, 3) and not loop.joint.translate
            for name in loop.relations
        }
        why = "a robot file has no place for them"
        for what, names in (
            ("the names of parameters", list(m.parameters)),
            ("inputs", list(m.inputs)),
            ("forces", [f.name for f in m.forces if f.name not in own]),
            ("moments", [t.name for t in m.moments if t.name not in own]),
            ("relations", [c.name for c in m.constraints if c.name not in closing | self.tied]),
            ("states", [s.symbol.name for s in m.states]),
            ("outputs", [o.name for o in m.outputs]),
            ("starting values", [name for name in m.initial if name not in self.started]),
        ):
            if names:
                shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
                self.left.add(f"{what} ({shown})", 0, why)


def link_name(body: Body) -> str:
    """Return the name of the link that a body is: its doc, where that spells the body's name.

    Where a frame elsewhere in it has the body's name, the frame keeps it.
    """
    name = body.doc if body.doc and code_name(body.doc) == body.name else body.name
    frame = {**body.mechanism.frames, **body.mechanism.points}.get(name, body.origin)
    return name if frame.matrix is None and frame.local.is_zero else f"{name}_body"


def _three(values: Sequence[float]) -> Triple:
    x, y, z = values
    return x, y, z


def _rows(values: Sequence[float]) -> Rotation:
    a, b, c, d, e, f, g, h, i = values
    return (a, b, c), (d, e, f), (g, h, i)


def _parallel(a: Triple, b: Triple) -> bool:
    return dot(a, b) > 1.0 - 1e-12


def _in_plane(slides: list[Triple], normal: Triple) -> bool:
    """Whether two slides and the normal are the axes of a planar joint, in its order."""
    across, aside, _ = transposed(plane_axes(normal))
    return len(slides) == 2 and _parallel(slides[0], across) and _parallel(slides[1], aside)


def _is_ground(frame: NamedFrame) -> bool:
    return frame.link == "n" and frame.place == Place()
