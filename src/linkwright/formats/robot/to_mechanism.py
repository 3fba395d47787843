"""From the description of a robot to a mechanism, with body axes that make small programs.

Links that fixed joints hold together become one body. The frame of a body is free and is chosen for
its joints (`linkwright.formats.robot.joint_frames`); the frames of links and other named frames
are constant places in bodies. Direction cosines within 2e-11 of 0 are made 0, and what is then
along an axis is made exact, so that turns by right angles cost no operation; how many there were
is described in `Assembled.notes`.

Coordinates are those of the joints, in the order of the tree, each joint before those that hang on
it, neighbors in the order of the file. A ball has a unit quaternion (w, x, y, z) and its angular
velocity along the child link's axes as speeds; a free joint has x, y, z along the parent's axes and
then a quaternion, and as speeds, on the ground, velocity and angular velocity of the child link's
frame along its own axes. A planar joint has two translations and an angle.

What a joint does by itself is a load of the mechanism: viscous damping -d u, dry friction
-f sign(u), and a spring -k (q - rest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from linkwright.algebra import Expr, as_expr, evaluate_all, free_symbols
from linkwright.base.errors import InputError
from linkwright.equations.joint_stops import UNTOUCHED, contradiction, stopping
from linkwright.formats.robot.description import (
    UNTURNED,
    Closure,
    Description,
    JointLimits,
    LinkJoint,
    Mass,
    Place,
    Rotation,
    Triple,
)
from linkwright.formats.robot.files import is_whole
from linkwright.formats.robot.joint_frames import (
    Following,
    Framing,
    framed,
    swept,
    tidy_rotation,
    tidy_unit,
    without_dust,
)
from linkwright.formats.robot.locked_joints import held_joints, without_mimics
from linkwright.formats.robot.names import UniqueNames, code_name
from linkwright.formats.robot.rigid_groups import RigidGroup, grouped
from linkwright.formats.robot.transforms import (
    composed,
    inverted,
    moved_mass,
    plane_axes,
    quaternion_rotation,
    rotate,
    transposed,
    unit,
)
from linkwright.mechanism import Ball, Body, Joint, Mechanism, Point, Prismatic, Weld
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.mechanism.provenance import from_file

BASES = ("file", "fixed", "free")
FALL: Triple = (0.0, 0.0, -9.81)
NO_LIMITS = JointLimits()
_OTHERS = r".*_dot|(z|pc|s)\d+"  # speeds and what programs call their own
_INERTIAS = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")


Places = Mapping[str, tuple[Body, Place]]
Extend = Callable[[Mechanism, Places], None]


@dataclass(frozen=True, slots=True, eq=False)
class AssembledJoint:
    """A joint that moves."""

    name: str  # as in the file
    kind: str  # one of `linkwright.mechanism.joint_kinds.JOINTS`
    child: str  # name of the link that it moves
    body: Body = field(repr=False)  # the body that it moves
    coordinates: tuple[Expr, ...]  # of the joint, in order
    limits: JointLimits = NO_LIMITS  # what it can do
    # coordinate, multiplier and offset, where it mimics another joint
    follows: tuple[Expr, float, float] | None = None

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies whose joints have its coordinates, in order; two for a universal joint."""
        found: list[Body] = []
        body: Body | None = self.body
        while body is not None and len(found) < len(self.coordinates):
            if set(body.coordinates) & set(self.coordinates):
                found.insert(0, body)
            if self.coordinates[:1] == body.coordinates[:1]:
                break
            body = body.parent
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """A robot as a mechanism."""

    mechanism: Mechanism
    joints: tuple[AssembledJoint, ...]
    places: Mapping[str, tuple[Body, Place]] = field(repr=False)
    notes: tuple[str, ...] = ()


def assembled(
    description: Description,
    *,
    base: str = "file",
    friction: bool = True,
    mimic: bool = True,
    limits: bool = True,
    locked: Mapping[str, float] | None = None,
    symbolic: bool = False,
    extend: Extend | None = None,
    reserved: Iterable[str] = (),
) -> Assembled:
    """Return the mechanism of a robot.

    >>> from linkwright.formats.robot.description import Link
    >>> links = Link("base"), Link("rod", Mass(1.0, (0.5, 0.0, 0.0)))
    >>> swing = Description("swing", links, (LinkJoint("hinge", "revolute", "base", "rod"),))
    >>> list(assembled(swing).mechanism.coordinates)
    ['hinge']
    """
    if base not in BASES:
        raise InputError(f"a base is {' or '.join(map(repr, BASES))}, not {base!r}")
    given = description
    if not mimic:
        description = without_mimics(description)
    held = held_joints(description, dict(locked or {}))
    for joint in description.joints:
        if base == "fixed" and joint.kind == "free" and joint.parent == description.root:
            x, y, z, *turn = joint.start or (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
            held[joint.name] = Place((x, y, z), quaternion_rotation(turn))
    root, changed = grouped(description, held)
    made = _Assembler(description, symbolic, reserved)
    made.add_bodies(root, base)
    if extend is not None:
        extend(made.mechanism, made.places)
    made.mechanism.gravity(along=swept(description.gravity or FALL), g=1)
    made.add_joint_loads(friction)
    made.tie_mimics()
    if limits:
        made.add_ranges()
    for closure in description.closures:
        made.close(closure)
    notes = [f"{changed} entries of rotations made exact"] if changed else []
    notes += filter(None, map(contradiction, stopping(made.mechanism)))
    touched = sum(shape.touched for link in given.links for shape in link.shapes)
    if touched:
        made.mechanism.reports.append(
            f"{touched} shape(s) {UNTOUCHED}; give the robot a ground: simulate --ground, or "
            "linkwright.robots.on_ground"
        )
    whole = Assembled(made.mechanism, tuple(made.joints), made.places, (*description.notes, *notes))
    if extend is not None:
        return whole
    options = {
        "base": base,
        "friction": friction,
        "mimic": mimic,
        "limits": limits,
        "locked": dict(locked or {}),
        "symbolic": symbolic,
    }
    from_file(made.mechanism, given.source, given.content, options, (given, whole), is_whole)
    return whole


def as_assembled(mechanism: Mechanism, *, symbolic: bool = False) -> Assembled:
    """Return a mechanism as it is, with the frames of its bodies and those at its points.

    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="y")
    >>> tip = m.point("tip", rod, (0, 0, -1))
    >>> [joint.name for joint in as_assembled(m).joints], list(as_assembled(m).places)
    (['rod'], ['rod', 'n', 'tip'])
    """
    bodies = mechanism.depth_first()
    links = {point.body for point in mechanism.frames.values()}
    limits = {
        given.coordinate: JointLimits(given.lower, given.upper, given.speed, given.effort)
        for given in mechanism.ranges
    }
    joints = tuple(
        AssembledJoint(
            body.name,
            "",
            mechanism.link_of(body)[0],
            body,
            body.coordinates,
            limits.get(body.coordinates[0], NO_LIMITS) if len(body.coordinates) == 1 else NO_LIMITS,
        )
        for body in bodies
        if body.coordinates
    )
    sliders = {strut.slider for strut in mechanism.driven_struts}  # they only count a length
    seen = (b for b in (*bodies, mechanism.ground) if b not in sliders and b not in links)
    places = {body.name: (body, Place()) for body in seen}
    values = {
        x: mechanism.values[k] for k, x in mechanism.parameters.items() if k in mechanism.values
    }
    known = {} if symbolic else values
    for name, point in (*mechanism.frames.items(), *mechanism.points.items()):
        rows = UNTURNED if point.matrix is None else point.matrix
        parts = [*point.local.components(point.body.frame), *map(as_expr, chain(*rows))]
        if known.keys() >= set(free_symbols(*parts)):
            x, y, z, a, b, c, d, e, f, g, h, i = (float(v) for v in evaluate_all(parts, known))
            places[name] = point.body, Place((x, y, z), ((a, b, c), (d, e, f), (g, h, i)))
    return Assembled(mechanism, joints, places)


class _Assembler:
    """A mechanism that grows with a robot's groups of links."""

    def __init__(
        self, description: Description, symbolic: bool, reserved: Iterable[str] = ()
    ) -> None:
        self.description, self.symbolic = description, symbolic
        links, joints = ([x.name for x in y] for y in (description.links, description.joints))
        self.names = UniqueNames(("n", "t", *reserved), _OTHERS, links)
        self.mechanism = Mechanism(code_name(description.name or "robot"))
        self.joints: list[AssembledJoint] = []
        self.places: dict[str, tuple[Body, Place]] = {}
        self.coordinates = UniqueNames(("t",), _OTHERS, joints)
        self._given: dict[str, LinkJoint] = {}

    # -- bodies ------------------------------------------------------------------------------------
    def add_bodies(self, root: RigidGroup, base: str) -> None:
        """Add a body for each group of links."""
        m = self.mechanism
        where: dict[RigidGroup, tuple[Body, Place]] = {}
        for group in root.walk():
            if group.above is None:
                if base == "free":
                    joint = LinkJoint(f"{group.name}_free", "free", "", group.name)
                    where[group] = self._hang(m.ground, Place(), joint, group)
                else:
                    where[group] = m.ground, Place()
            else:
                assert group.joint is not None
                if base == "free":
                    _refuse_free_twice(m.name, group)
                parent, frame = where[group.above]
                at = composed(inverted(frame), group.at)
                where[group] = self._hang(parent, at, group.joint, group)
            body, frame = where[group]
            back = inverted(frame)
            for name, place in group.members.items():
                self.places[name] = body, _tidy(composed(back, place))
        for named in self.description.frames:
            body, place = self.places[named.link]
            if named.name not in self.places:
                self.places[named.name] = body, _tidy(composed(place, named.place))
        for name, (body, place) in self.places.items():
            m.frames[name] = _frame(name, body, place)

    def _hang(
        self, parent: Body, at: Place, joint: LinkJoint, group: RigidGroup
    ) -> tuple[Body, Place]:
        """Add the body of a group; return it with the place of its frame in the group's."""
        at = _tidy(at)
        following = tuple(_following(g) for g in group.below)
        name = self.names.new(group.name)
        kind = JOINTS[joint.kind]
        if kind.is_coaxial:
            frame = framed(at, unit(joint.axis), following, group.mass)
            names = self._coordinate_names(joint)
            body = self._turned(name, parent, joint, frame, at.position, group.mass, names)
            return self._record(joint, group, body, body.coordinates), frame.place
        if any(along == "second_axis" for _, along in kind.motions):
            return self._universal(name, parent, at, joint, group, following)
        if kind.motions == (("slide", "axis"),):
            place = Place((0.0, 0.0, 0.0), tidy_rotation(transposed(at.rotation)))
            axis = tidy_unit(rotate(at.rotation, unit(joint.axis)))
            block, names = Prismatic(axis), self._coordinate_names(joint)
            body = self._body(name, parent, block, at.position, group.mass, place, names)
            return self._record(joint, group, body, body.coordinates), place
        return self._spatial(name, parent, at, joint, group)

    def _turned(
        self,
        name: str,
        parent: Body,
        joint: LinkJoint,
        frame: Framing,
        at: Triple,
        mass: Mass | None,
        names: list[str],
    ) -> Body:
        """Add a body that turns about an axis.

        An oblique axis is that of a massless mount, turned once and for all, which the body turns
        on: that takes fewer operations than an oblique joint, except on the ground.
        """
        oblique = any(x not in (0.0, 1.0, -1.0) for row in frame.nominal for x in row)
        if oblique and parent is not self.mechanism.ground:
            parent = self._mount(name, parent, at, transposed(frame.nominal))
            frame, at = replace(frame, nominal=UNTURNED), (0.0, 0.0, 0.0)
        return self._body(name, parent, _turning(joint, frame), at, mass, frame.place, names)

    def _mount(self, name: str, parent: Body, at: Triple, rotation: Rotation) -> Body:
        """Add a massless body that is turned relative to its parent and does not move."""
        return self.mechanism.body(
            self.names.new(f"{name}_mount"),
            parent=parent,
            joint=Weld(rotation),
            at=swept(at),
            mass=0,
            inertia=0,
        )

    def _universal(
        self,
        name: str,
        parent: Body,
        at: Place,
        joint: LinkJoint,
        group: RigidGroup,
        following: tuple[Following, ...],
    ) -> tuple[Body, Place]:
        first, second = self._coordinate_names(joint)
        second_axis = unit(joint.second_axis)
        frame = framed(at, unit(joint.axis), (Following(Place(), second_axis),), None)
        cross_name = self.names.new(f"{group.name}_cross")
        middle = self._turned(cross_name, parent, joint, frame, at.position, None, [first])
        inner = _tidy(inverted(frame.place))
        last = framed(inner, second_axis, following, group.mass)
        here = (0.0, 0.0, 0.0)
        body = self._turned(name, middle, joint, last, here, group.mass, [second])
        both = (*middle.coordinates, *body.coordinates)
        return self._record(joint, group, body, both), last.place

    def _spatial(
        self, name: str, parent: Body, at: Place, joint: LinkJoint, group: RigidGroup
    ) -> tuple[Body, Place]:
        """Add a body with a joint of several coordinates, which is turned to the axes."""
        kind, place = JOINTS[joint.kind], Place()
        if kind.has_axis:
            normal = tidy_unit(unit(joint.axis))
            place = Place((0.0, 0.0, 0.0), tidy_rotation(plane_axes(normal)))
            at = _tidy(composed(at, place))
        letter = {"across": "x", "aside": "y", "axis": "z"}
        slides, turns = (
            tuple(letter.get(along, along) for what, along in kind.motions if what == wanted)
            for wanted in ("slide", "turn")
        )
        block = Joint(slides, turns, quaternion=len(turns) == 3, at_origin=bool(slides))
        position = at.position
        if at.rotation != UNTURNED:
            parent = self._mount(group.name, parent, position, at.rotation)
            position = (0.0, 0.0, 0.0)
        body = self._body(
            name, parent, block, position, group.mass, place, self._coordinate_names(joint)
        )
        return self._record(joint, group, body, body.coordinates), place

    def _record(
        self, joint: LinkJoint, group: RigidGroup, body: Body, coordinates: tuple[Expr, ...]
    ) -> Body:
        self._given[joint.name] = joint
        if joint.start and joint.mimic is None:
            names = (q.name for q in coordinates)
            self.mechanism.set_initial(dict(zip(names, joint.start, strict=True)))
        self.joints.append(
            AssembledJoint(joint.name, joint.kind, group.name, body, coordinates, joint.limits)
        )
        return body

    def _coordinate_names(self, joint: LinkJoint) -> list[str]:
        stem = self.coordinates.new(joint.name)
        return [f"{stem}.{ending}" for ending in JOINTS[joint.kind].endings] or [stem]

    def _body(
        self,
        name: str,
        parent: Body,
        joint: Joint,
        at: Triple,
        mass: Mass | None,
        frame: Place,
        coordinates: list[str],
    ) -> Body:
        own = None if mass is None else without_dust(moved_mass(mass, inverted(frame)))
        values: dict[str, Any] = {"mass": 0, "inertia": 0}
        if own is not None:
            values = {"mass": own.mass, "com": own.center, "inertia": own.inertia}
            if self.symbolic:
                values = self._parameters(name, own)
        return self.mechanism.body(
            name, parent=parent, joint=joint, at=swept(at), coordinates=coordinates, **values
        )

    def _parameters(self, name: str, mass: Mass) -> dict[str, Any]:
        new = self.mechanism.parameter
        center = [
            new(f"{name}_c{axis}", x, unit="m") for axis, x in zip("xyz", mass.center, strict=True)
        ]
        inertia = [
            new(f"{name}_{key}", x, unit="kg*m^2")
            for key, x in zip(_INERTIAS, mass.inertia, strict=True)
        ]
        return {"mass": new(f"{name}_m", mass.mass, unit="kg"), "com": center, "inertia": inertia}

    # -- loads and constraints ---------------------------------------------------------------------
    def add_joint_loads(self, friction: bool) -> None:
        """Add rotors and, where asked for, what joints do by themselves."""
        m = self.mechanism
        for made in self.joints:
            joint = self._given[made.name]
            for body in made.bodies:
                if joint.armature:
                    m.armature(body, joint.armature)
                if friction and (joint.damping or joint.friction or joint.stiffness):
                    m.passive(
                        body,
                        damping=joint.damping,
                        friction=joint.friction,
                        stiffness=joint.stiffness,
                        rest=joint.rest,
                    )

    def tie_mimics(self) -> None:
        """Let joints follow others."""
        by_name, mimics = {joint.name: joint for joint in self.joints}, self.description.mimics
        for k, made in enumerate(self.joints):
            if (mimic := mimics.get(made.name)) is None:
                continue
            (q,), (other,) = made.coordinates, by_name[mimic.joint].coordinates
            self.mechanism.constrain_position(
                q - mimic.multiplier * other - mimic.offset,
                name=f"{made.name} follows {mimic.joint}",
                eliminate=q,
            )
            self.joints[k] = replace(made, follows=(other, mimic.multiplier, mimic.offset))

    def add_ranges(self) -> None:
        """Let joints of one coordinate know how far they may go."""
        for made in self.joints:
            lower, upper = made.limits.lower, made.limits.upper
            if len(made.coordinates) != 1 or (lower is None and upper is None):
                continue
            if lower is None or upper is None or lower < upper:
                more = {"speed": made.limits.speed, "effort": made.limits.effort}
                self.mechanism.limit(made.coordinates[0].name, lower, upper, **more)

    def close(self, closure: Closure) -> None:
        """Close a loop."""
        m = self.mechanism
        ends = []
        for link, place in (closure.first, closure.second):
            body, outer = self.places[link]
            ends.append((body, _tidy(composed(outer, place))))
        name = self.names.new(closure.name or "closure")
        start, end = (
            m.point(f"{name}_{letter}", body, swept(place.position))
            for letter, (body, place) in zip("ab", ends, strict=True)
        )
        m.close_loop(name, start, end, Ball())
        if closure.kind == "ball":
            return
        (first, one), (second, other) = ends
        turned = first.frame.with_matrix(f"{name}_first", one.rotation)
        matching = second.frame.with_matrix(f"{name}_second", other.rotation)
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            m.constrain_position(turned.axes[i] @ matching.axes[j], name=f"{name} about {'xyz'[k]}")


def _refuse_free_twice(name: str, group: RigidGroup) -> None:
    """Reject a free root without mass that carries a group by a free joint."""
    above, joint = group.above, group.joint
    assert above is not None
    assert joint is not None
    if joint.kind == "free" and above.above is None and above.mass is None:
        raise InputError(
            f"{name!r} floats already, by its joint {joint.name!r}; a base that is free besides "
            "would move nothing that has mass",
            remedy='load it with base="file"',
        )


# -- frames ----------------------------------------------------------------------------------------
def _frame(name: str, body: Body, place: Place) -> Point:
    """Return a link as a frame of the body that was made for it: its origin, if it is that."""
    if place == Place() and name == body.name:
        return body.origin
    rows = tuple(tuple(map(as_expr, row)) for row in place.rotation)
    local = body.vector(*map(as_expr, place.position))
    return Point(name, body, local, None if place.rotation == UNTURNED else rows)


def _following(group: RigidGroup) -> Following:
    joint = group.joint
    assert joint is not None
    first = JOINTS[joint.kind].motions[0]
    turns = JOINTS[joint.kind].is_coaxial or first == ("turn", "axis")
    return Following(group.at, unit(joint.axis) if turns else None)


def _turning(joint: LinkJoint, frame: Framing) -> Joint:
    axis = frame.nominal[frame.number]
    kind = JOINTS[joint.kind]
    lead: Any = ("per turn", joint.pitch) if ("screw", "axis") in kind.motions else 0
    return Joint(
        translate=(axis,) * kind.slides if kind.is_coaxial else (),
        rotate=(axis,),
        body_axis="xyz"[frame.number],
        reference=frame.nominal[(frame.number + 1) % 3],
        offset=frame.offset,
        advance_per_radian=lead,
    )


def _tidy(place: Place) -> Place:
    return Place(swept(place.position), tidy_rotation(place.rotation))
