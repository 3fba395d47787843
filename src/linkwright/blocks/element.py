"""The Element: a block that belongs to a mechanism and acts on it.

Beside what every block has, an element may read the mechanism (its coordinates, speeds, positions
and velocities of points, parameters, all as expressions) and puts forces and moments on it. It
never changes the mechanism: the System derives the equations of motion with its loads added. Loads
of an element that is added at a rate hold between its instants, as its outputs do.

Signs are those of a mechanism: a positive force pushes its point along the direction, and the
opposite acts on the reaction, which is the ground unless another body is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from linkwright.algebra import (
    Expr,
    Vector,
    as_expr,
    direction_of,
    postorder,
    substitute_all,
    where,
)
from linkwright.algebra.language import Scope
from linkwright.algebra.triples import cross
from linkwright.blocks.block import Block
from linkwright.blocks.places import Places
from linkwright.blocks.rates import BlockError, Rate
from linkwright.blocks.workspace import Value
from linkwright.mechanism import Body, Force, Mechanism, Moment, Point, mechanism_of
from linkwright.mechanism.parts import as_point

Location: TypeAlias = Point | Body | str
"""A point, a body for its origin, or the name of a point, a body or a robot's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """A force that pictures show as an arrow."""

    name: str  # of the force
    point: Point  # where it acts
    outputs: tuple[str, ...]  # its components in the ground's axes, or its magnitude alone, N
    along: Vector | None = None  # the direction of a force that is given by its magnitude
    touch: str = ""  # the output that is positive while the point touches; empty for other forces
    below: float = 0.0  # how far below the point it is shown, m


class Element(Block):
    """A block that acts on a mechanism.

    Args:
        name: a word that names it.
        mechanism: what it acts on, or something that has one as its `mechanism`.
        rate: hertz, a `Rate`, or None where that is said when it is added.
        doc: one line that says what it is.

    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=1)
    >>> spring = Element("spring", m)
    >>> k = spring.parameter("k", 100.0, unit="N/m")
    >>> spring.force("pull", "-k*b", at=b, along="x")
    pull
    """

    def __init__(
        self,
        name: str,
        mechanism: Any,
        *,
        rate: Rate | float | Fraction | None = None,
        doc: str = "",
    ) -> None:
        super().__init__(name, rate=rate, doc=doc)
        self.mechanism = mechanism_of(mechanism)
        self.forces: list[Force] = []
        self.moments: list[Moment] = []
        self.armatures: dict[Body, Expr] = {}
        self.unfelt: dict[Body, Expr] = {}
        self.choices: dict[Expr, Expr] = {}
        self.in_joints: dict[str, Body] = {}
        self.drives: dict[Expr, Expr] = {}
        self.beyond: dict[Body, tuple[Expr, ...]] = {}
        self.arrows: dict[str, Arrow] = {}
        self.floors: list[tuple[Sequence[float], Sequence[float]]] = []
        self.places = Places(self.intermediate)

    def content(self) -> tuple[object, ...]:
        """Return all that the element is made of; equal as long as nothing of it changes."""
        given = (self.in_joints, self.drives, self.beyond)
        tables = (self.armatures, self.unfelt, self.choices, *given)
        own = (*(tuple(t.items()) for t in tables), tuple(self.forces), tuple(self.moments))
        return (*super().content(), *own)

    def force(
        self,
        name: str,
        magnitude: Value,
        *,
        at: Location,
        along: Any,
        reaction: Body | None = None,
        doc: str = "",
        shown: bool = True,
    ) -> Expr:
        """Put a force on the mechanism; its magnitude becomes an output of the element.

        Args:
            name: its name, also that of the output.
            magnitude: N.
            at: where it acts; of a body, its origin; or a name.
            along: its direction: a vector, an axis name, or components in the ground's frame.
            reaction: the body that feels the opposite; the ground by default.
            doc: what it is.
            shown: whether pictures show it as an arrow.
        """
        point = self.point_at(at)
        self._refuse_others(point.body, name)
        direction = direction_of(self.mechanism.vector(along))
        if shown:
            self.arrows[name] = Arrow(name, point, (name,), direction)
        return self._load(name, magnitude, point, direction, reaction, doc)

    def _load(
        self,
        name: str,
        magnitude: Value,
        point: Point,
        direction: Vector,
        reaction: Body | None = None,
        doc: str = "",
    ) -> Expr:
        unit = "N"
        made = self.output(name, magnitude, unit=unit, doc=doc)
        other = self.mechanism.ground if reaction is None else reaction
        self.forces.append(Force(name, made, direction, point, other, doc))
        return made

    def force_vector(
        self,
        name: str,
        force: Vector | Sequence[Value],
        *,
        at: Location,
        arm: Sequence[Value] | None = None,
        doc: str = "",
    ) -> tuple[Expr, ...]:
        """Put a force vector on a body; its components are outputs `name_x`, `name_y`, `name_z`.

        Args:
            name: what the names of the outputs begin with.
            force: N, a vector, or its components in the ground's axes.
            at: where it acts; of a body, its origin; or a name.
            arm: from there to where it really acts, for a contact that moves over the body:
                components in the ground's axes, m.
            doc: what it is.

        The force is turned into the body's axes, in which equations of motion take it cheaply: the
        loads themselves are the outputs `name_1`, `name_2`, `name_3` along these, and the moments
        of the arm `name_4`, `name_5`, `name_6` about them.
        """
        point = self.point_at(at)
        body = point.body
        self._refuse_others(body, name)
        ground = self.mechanism.ground.frame
        given = force.components(ground) if isinstance(force, Vector) else force
        parts = [self.intermediate(x) for x in given]
        loads = [self.intermediate(x) for x in self.places.inward(body, parts)]
        for k, (axis, load) in enumerate(zip(body.frame.axes, loads, strict=True), 1):
            self._load(f"{name}_{k}", load, point, axis, doc=doc)
        if arm is not None:
            lever = self.places.inward(body, [self.intermediate(x) for x in arm])
            couple = cross([self.intermediate(x) for x in lever], loads)
            for k, (axis, load) in enumerate(zip(body.frame.axes, couple, strict=True), 4):
                self.moment(f"{name}_{k}", load, on=body, about=axis, doc=doc)
        else:
            self.show_force(name, at=point)
        rows = zip("xyz", parts, strict=True)
        unit = "N"
        return tuple(self.output(f"{name}_{c}", x, unit=unit, doc=doc) for c, x in rows)

    def show_force(self, name: str, *, at: Location, touch: str = "", below: float = 0.0) -> None:
        """Let pictures show a force as an arrow; `push` and `force` do so themselves.

        Args:
            name: of the force: its components in the ground's axes are the outputs `name_x`,
                `name_y`, `name_z` (N).
            at: where it acts; of a body, its origin; or a name.
            touch: the output that is positive while this is a point that touches something.
            below: how far below the point it is shown, m: the radius of a ball about the point.
        """
        point = self.point_at(at)
        self.arrows[name] = Arrow(
            name, point, tuple(f"{name}_{c}" for c in "xyz"), None, touch, below
        )

    def point_at(self, given: Location, *, center_of_mass: bool = False) -> Point:
        """Return the point that is meant; that of a link or another frame has the frame's axes.

        Args:
            given: a point; a body, for its origin; or the name of a point, a body, or, of a robot,
                of a link or another of its frames.
            center_of_mass: whether a body stands for its center of mass instead, and a link for
                that of what fixed joints hold together with it.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy", mass=1)
        >>> tip = m.point("tip", b, (1, 0, 0))
        >>> Element("e", m).point_at("tip") is tip
        True
        """
        m = self.mechanism
        if isinstance(given, str):
            link = center_of_mass and given in m.frames
            given = m.frames[given].body if link else m.place(given)
        if isinstance(given, Body):
            given = given.com if center_of_mass else given.origin
        if not isinstance(given, Point):
            raise BlockError(
                f"element {self.name!r} is given {given!r} as a place",
                remedy="give a point, a body, or the name of a point, body or frame",
            )
        self._refuse_others(given.body, given.name)
        return given

    def position(self, point: Point) -> tuple[Expr, Expr, Expr]:
        """Return the position of a point in the ground's axes, as named partial results.

        Args:
            point: of the mechanism.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy", mass=1)
        >>> Element("e", m).position(m.point("p", b, (1, 0, 0)))
        (s1, b.y, 0)
        """
        return self.places.position(point)

    def velocity(self, point: Point) -> tuple[Expr, Expr, Expr]:
        """Return the velocity of a point in the ground's axes, as named partial results.

        Args:
            point: of the mechanism.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy", mass=1)
        >>> Element("e", m).velocity(m.point("p", b, (1, 0, 0)))
        (b.x_dot, b.y_dot, 0)
        """
        return self.places.velocity(point)

    def moment(
        self,
        name: str,
        magnitude: Value,
        *,
        on: Body,
        about: Any,
        reaction: Body | None = None,
        doc: str = "",
    ) -> Expr:
        """Put a couple on the mechanism; its magnitude becomes an output of the element.

        Args:
            name: its name, also that of the output.
            magnitude: N*m.
            on: the body that feels it.
            about: its direction.
            reaction: the body that feels the opposite; the ground by default.
            doc: what it is.
        """
        unit = "N*m"
        made = self.output(name, magnitude, unit=unit, doc=doc)
        self._refuse_others(on, name)
        direction = direction_of(self.mechanism.vector(about))
        other = self.mechanism.ground if reaction is None else reaction
        self.moments.append(Moment(name, made, direction, on, other, doc))
        return made

    def effort(self, name: str, coordinate: Expr | str, value: Value, *, doc: str = "") -> Expr:
        """Put a torque (a force, for a translation) on a joint, its opposite on the parent.

        Args:
            name: its name, also that of the output.
            coordinate: of the joint: its symbol or its name.
            value: N*m, or N.
            doc: what it is.

        >>> m = Mechanism("m")
        >>> rod = m.body("rod", rotate="z", mass=1, inertia=1)
        >>> damper = Element("damper", m)
        >>> damper.effort("tau", "rod", "-2*rod_dot")
        tau
        """
        joint = joint_of(self.mechanism, coordinate)
        body, parent = joint.body, joint.body.parent
        self.in_joints[name] = body
        doc = doc or f"{'torque' if joint.turns else 'force'} on {joint.coordinate.name}"
        if joint.turns:
            return self.moment(name, value, on=body, about=joint.axis, reaction=parent, doc=doc)
        return self._load(name, value, body.origin, joint.axis, parent, doc)

    def efforts(
        self, name: str, coordinates: Iterable[Expr | str], values: Sequence[Value]
    ) -> tuple[Expr, ...]:
        """Put torques or forces on several joints; the outputs are called `name_coordinate`.

        Args:
            name: what their names begin with.
            coordinates: of the joints.
            values: one for each, N*m or N.
        """
        pairs = [(joint_of(self.mechanism, q), v) for q, v in zip(coordinates, values, strict=True)]
        return tuple(
            self.effort(f"{name}_{_word(j.coordinate.name)}", j.coordinate, v) for j, v in pairs
        )

    def armature(
        self, coordinate: Expr | str, inertia: Value, *, felt: Value | None = None
    ) -> None:
        """Give a joint the inertia of a geared rotor, beside what its bodies have.

        Args:
            coordinate: of the joint: its symbol or its name.
            inertia: of the rotor, times the gear ratio squared, kg*m^2 (kg for a translation); an
                expression of parameters.
            felt: what the joint feels of it, where teeth lose a part of what they transmit; all of
                it by default.

        >>> m = Mechanism("m")
        >>> rod = m.body("rod", rotate="z", mass=1, inertia=1)
        >>> gear = Element("gear", m)
        >>> gear.armature("rod", "0.5")
        >>> gear.armatures[rod]
        0.5
        """
        body = joint_of(self.mechanism, coordinate).body
        if len(body.coordinates) > 1:
            raise BlockError(
                f"the joint of {body.name!r} has several coordinates; a rotor would turn with all",
                remedy="make a body without mass for each of them, one on the other",
            )
        own = self.expr(inertia)
        share = own if felt is None else self.expr(felt)
        for table, value in ((self.armatures, share), (self.unfelt, own - share)):
            table[body] = table.get(body, as_expr(0)) + value

    def choice(self, name: str, value: Value, guess: Value) -> Expr:
        """Return an output that follows from accelerations and that they depend on.

        It is one of few values, as by the sign of a torque. The System finds it by passes: from the
        guess to the accelerations, from these to the value, and so on.

        Args:
            name: of the output.
            value: an expression of accelerations.
            guess: what it most likely is, without them.

        >>> m = Mechanism("m")
        >>> rod = m.body("rod", rotate="z", mass=1, inertia=1)
        >>> gear = Element("gear", m)
        >>> from linkwright.algebra import where
        >>> pulled = m.kinematics().accelerations[m.kinematics().rates[m.coordinates["rod"]]] > 0
        >>> share = gear.choice("share", where(pulled, 1, 0.5), 1)
        >>> gear.armature("rod", 2, felt=2 * share)
        """
        made = self.output(name, value, unit="1", doc="chosen by accelerations")
        self.choices[made] = self.expr(guess)
        return made

    def drive(self, name: str, value: Value, *, doc: str = "") -> Expr:
        """Drive an input of the mechanism; what drives it becomes an output of the element.

        Args:
            name: of the mechanism's input.
            value: what it is.
            doc: what it is, in words.

        >>> m = Mechanism("m")
        >>> F = m.input("F", unit="N")
        >>> servo = Element("servo", m)
        >>> servo.drive("F", 3)
        F
        """
        m = self.mechanism
        if name not in m.inputs:
            m.unknown(name, m.inputs, "input")
        unit = m.units.get(name, "?")
        made = self.output(_word(name), value, unit=unit, doc=doc or m.docs.get(name, ""))
        self.drives[m.inputs[name]] = made
        return made

    def subtree_loads(self, body: Body) -> tuple[Expr, ...]:
        """Return what all elements of the System together put on a body and those that it carries.

        It comes in by the port `loads`, which the System drives: three components of force, N, and
        three of moment about the body's origin, N*m, along the body's axes. An effort in the joint
        of the body is none of them: it acts through the joint.

        Args:
            body: the first of the branch.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z", mass=1, inertia=1)
        >>> Element("sensor", m).subtree_loads(b)[:2]
        (loads[0], loads[1])
        """
        self._refuse_others(body, "loads")
        port = self.input_vector("loads", 6, doc=f"loads of elements on {body.name} and beyond")
        self.beyond[body] = port
        return port

    def scope(self) -> Scope:
        """Return what texts may refer to: the element's own names, then the mechanism's."""
        return _ElementScope(self)

    def _refuse_others(self, body: Body, name: str) -> None:
        m = self.mechanism
        if body is not m.ground and m.bodies.get(body.name) is not body:
            raise BlockError(
                f"{name!r} of element {self.name!r} acts on {body.name!r}, which is not a body of "
                f"{self.mechanism.name!r}"
            )


@dataclass(frozen=True, slots=True)
class JointCoordinate:
    """A coordinate of a joint with the axis along or about which it goes."""

    coordinate: Expr
    body: Body
    axis: Vector
    turns: bool


def stepped(values: Sequence[Expr]) -> list[Expr]:
    """Return expressions that take signs as they are, also where dry friction solves for them.

    >>> from linkwright.algebra import sign, symbol
    >>> stepped([sign(symbol("x"))])[0].op
    'select'
    """
    signs = [x for x in postorder(values) if x.op == "sign"]
    steps = {x: where(x.args[0] > 0, 1, where(x.args[0] < 0, -1, 0)) for x in signs}
    return substitute_all(values, steps)


def joint_of(mechanism: Mechanism, coordinate: Expr | str) -> JointCoordinate:
    """Return the joint that a coordinate belongs to.

    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="y", mass=1)
    >>> joint_of(m, "b").turns
    False
    """
    name = coordinate.name if isinstance(coordinate, Expr) else coordinate
    named = None if name in mechanism.coordinates else mechanism.link_or_body(name)
    if named is not None:
        moved = as_point(named).body
        own = moved.coordinates
        name = own[0].name if len(own) == 1 and mechanism.link_of(moved)[0] == name else name
    q = mechanism.coordinates.get(name)
    for body in mechanism.bodies.values():
        for x, direction in body.translations:
            if x is q:
                return JointCoordinate(x, body, direction, False)
        if q in body.rotations:
            if len(body.rotations) > 1:
                raise BlockError(
                    f"{name!r} is one of several rotations of {body.name!r}, so no torque acts on "
                    "it alone",
                    remedy="put a moment on the body",
                )
            assert q is not None
            return JointCoordinate(q, body, body.frame.spins[0][1], True)
    mechanism.unknown(name, mechanism.coordinates, "coordinate")
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _ElementScope:
    """The names of an element, and then those of its mechanism; no new parameter is made."""

    element: Element

    def lookup(self, kind: Any, name: str) -> object | None:
        """Return what the name stands for, or None where it is not known."""
        own = self.element.names() if kind == "value" else {}
        if name in own:
            return own[name]
        m = self.element.mechanism
        found: object = m.scope.known(kind, name)
        return found

    def names(self, kind: Any) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        own = self.element.names() if kind == "value" else {}
        return [*own, *self.element.mechanism.scope.names(kind)]


def _word(name: str) -> str:
    return name.replace(".", "_")
