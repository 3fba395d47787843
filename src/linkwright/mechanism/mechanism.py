"""The Mechanism: what the analyst describes, and what Linkwright derives from.

A mechanism owns its symbols: parameters, coordinates, speeds, inputs. Anything that is a number in
the description may also be an expression or a text (`"L1/2"`), in which unknown names become
parameters; a text model declares its parameters and refuses unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.algebra import (
    ZERO,
    ZERO_VECTOR,
    Expr,
    Frame,
    Vector,
    as_expr,
    nominal,
    symbol,
)
from linkwright.algebra.language import parse, read, resolve
from linkwright.mechanism import kinematics as kinematics_of
from linkwright.mechanism.joints import Joint, MechanismError, axes
from linkwright.mechanism.parts import (
    Body,
    Constraint,
    Force,
    Inertia,
    Moment,
    Output,
    Point,
    State,
)
from linkwright.mechanism.scope import MechanismScope

if TYPE_CHECKING:
    from linkwright.mechanism.kinematics import Kinematics

Value = Any
STANDARD_GRAVITY = 9.81


class Mechanism:
    """A mechanism of rigid bodies.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> rod.omega
    rod_dot*n.z
    """

    def __init__(self, name: str, doc: str = "") -> None:
        self.name = name
        self.doc = doc
        self.time = symbol("t", "time", owner=name, unit="s")
        self.parameters: dict[str, Expr] = {}
        self.inputs: dict[str, Expr] = {}
        self.values: dict[str, float] = {}
        self.initial: dict[str, float] = {}
        self.bodies: dict[str, Body] = {}
        self.points: dict[str, Point] = {}
        self.forces: list[Force] = []
        self.moments: list[Moment] = []
        self.constraints: list[Constraint] = []
        self.states: list[State] = []
        self.outputs: list[Output] = []
        self.coordinates: dict[str, Expr] = {}
        self.variables: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., object]] = {}
        self.gravity_vector: Vector = ZERO_VECTOR
        self.units: dict[str, str] = {}
        self.docs: dict[str, str] = {}
        self.reports: list[str] = []
        self._orders: dict[str, int] = {}
        self._signs: dict[str, str] = {}
        self.declared_only = False
        self._points_of: dict[Body, dict[Vector, Point]] = {}
        self._kinematics: Kinematics | None = None
        self.scope = MechanismScope(self)
        frame = Frame.root("n")
        none = Inertia(ZERO, (ZERO, ZERO, ZERO), (ZERO,) * 6)
        self.ground = Body("n", self, None, Joint(), frame, none, (), (), ZERO_VECTOR, ZERO)
        self.origin = self.point_of(self.ground, (0, 0, 0), "o")

    # -- symbols -----------------------------------------------------------------------------------
    @property
    def x(self) -> Vector:
        """The first axis of the ground."""
        return self.ground.x

    @property
    def y(self) -> Vector:
        """The second axis of the ground."""
        return self.ground.y

    @property
    def z(self) -> Vector:
        """The third axis of the ground."""
        return self.ground.z

    def parameter(
        self,
        name: str,
        default: float | None = None,
        *,
        unit: str = "?",
        sign: str = "",
        doc: str = "",
    ) -> Expr:
        """Return a parameter, declaring it where it is new.

        Args:
            name: its name.
            default: the value it has unless another is given.
            unit: its unit.
            sign: "positive" or "nonzero" where that is promised.
            doc: what it is.

        >>> Mechanism("m").parameter("L1", 1.5, unit="m")
        L1
        """
        known = self.parameters.get(name)
        if known is None:
            self._refuse_taken(name)
            known = symbol(
                name,
                "parameter",
                owner=self.name,
                small=self._orders.get(name, 0),
                sign=sign or self._signs.get(name, ""),
            )
            self.parameters[name] = known
        elif sign and known.data.sign != sign:
            raise MechanismError(
                f"the parameter {name!r} is in use already, without the promise {sign!r}",
                remedy="declare it before it is used",
            )
        if default is not None:
            self.values[name] = float(default)
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    def input(self, name: str, default: float = 0.0, *, unit: str = "?", doc: str = "") -> Expr:
        """Return an input: a value that is given from outside at every instant.

        Args:
            name: its name.
            default: the value it has where none is given.
            unit: its unit.
            doc: what it is.

        >>> Mechanism("m").input("tau", unit="N*m")
        tau
        """
        known = self.inputs.get(name)
        if known is None:
            self._refuse_taken(name)
            known = self.inputs[name] = symbol(name, "input", owner=self.name)
        self.values[name] = float(default)
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    def _refuse_taken(self, name: str) -> None:
        taken = self.parameters.keys() | self.inputs.keys() | self.coordinates.keys()
        if name in taken or name == "t":
            raise MechanismError(f"the name {name!r} is taken in {self.name!r}")

    def speed_symbol(self, name: str, unit: str, small: int) -> Expr:
        """Return the symbol of a generalized speed; `small` may have been declared by name."""
        self.units[name] = unit
        return symbol(name, "speed", owner=self.name, small=self._orders.get(name, small))

    def small(self, *names: str) -> None:
        """Declare parameters, inputs or speeds small, before they are used.

        Args:
            names: names of parameters, or of speeds such as "nrb.v".

        >>> m = Mechanism("m")
        ... m.small("STEER")
        """
        self._declare_order(names, 1)

    def large(self, *names: str) -> None:
        """Declare parameters large, before they are used, so that they outweigh a small factor.

        Args:
            names: names of parameters.

        >>> m = Mechanism("m")
        ... m.large("K")
        """
        self._declare_order(names, -1)

    def _declare_order(self, names: Iterable[str], order: int) -> None:
        for name in names:
            if name in self.parameters or self._kinematics is not None:
                raise MechanismError(
                    f"{name!r} is in use already", remedy="declare it small or large before that"
                )
            self._orders[name] = order

    def positive(self, *names: str) -> None:
        """Promise that parameters are positive, before they are used.

        Args:
            names: names of parameters.

        >>> m = Mechanism("m")
        ... m.positive("R")
        ... m.parameter("R").data.sign
        'positive'
        """
        self._promise(names, "positive")

    def nonzero(self, *names: str) -> None:
        """Promise that parameters are not zero, before they are used.

        Args:
            names: names of parameters.

        >>> m = Mechanism("m")
        ... m.nonzero("L")
        ... m.parameter("L").data.sign
        'nonzero'
        """
        self._promise(names, "nonzero")

    def _promise(self, names: Iterable[str], sign: str) -> None:
        for name in names:
            if name in self.parameters:
                raise MechanismError(
                    f"{name!r} is in use already", remedy=f"promise that it is {sign} before that"
                )
            self._signs[name] = sign

    def defaults(self, values: Mapping[str, float] | None = None, **more: float) -> None:
        """Set default values of parameters and inputs; an unknown name is an error.

        Args:
            values: value of each name.
            more: the same, as keywords.

        >>> m = Mechanism("m")
        ... L = m.parameter("L1")
        ... m.defaults(L1=1.5)
        ... m.values["L1"]
        1.5
        """
        for name, value in {**(values or {}), **more}.items():
            if name not in self.parameters and name not in self.inputs:
                self.unknown(name, (*self.parameters, *self.inputs), "parameter")
            self.values[name] = float(value)

    def start(self, values: Mapping[str, float] | None = None, **more: float) -> None:
        """Set initial values of coordinates, speeds and extra states by name.

        Args:
            values: value of each name.
            more: the same, as keywords.

        >>> m = Mechanism("m")
        ... b = m.body("b", rotate="z")
        ... m.start(b=0.25)
        ... m.initial
        {'b': 0.25}
        """
        for name, value in {**(values or {}), **more}.items():
            self.initial[name] = float(value)

    def unknown(self, name: str, known: Iterable[str], what: str) -> None:
        """Raise the error for a name that is not known, with the nearest spelling."""
        import difflib

        near = difflib.get_close_matches(name, list(known), 1)
        raise MechanismError(
            f"{self.name!r} has no {what} {name!r}",
            remedy=f"did you mean {near[0]!r}?" if near else None,
        )

    # -- expressions -------------------------------------------------------------------------------
    def expr(self, value: Value) -> Expr:
        """Return a number, expression or text as an expression of this mechanism.

        Args:
            value: what to read.

        >>> m = Mechanism("m")
        ... m.expr("2*k + 1")
        1 + 2*k
        """
        if isinstance(value, str):
            return parse(value, self.scope)
        return as_expr(value)

    def exprs(self, values: Sequence[Value]) -> tuple[Expr, Expr, Expr]:
        """Return three components as expressions."""
        if len(values) != 3:
            raise MechanismError(f"three components are needed, not {len(values)}: {values!r}")
        a, b, c = (self.expr(v) for v in values)
        return a, b, c

    def vector(self, value: Value, frame: Frame | None = None) -> Vector:
        """Return a vector from a vector, a text, an axis name or three components in a frame."""
        if isinstance(value, Vector):
            return value
        base = self.ground.frame if frame is None else frame
        if isinstance(value, str):
            sign = -1 if value.startswith("-") else 1
            letter = value.lstrip("+-")
            if letter in ("x", "y", "z"):
                return base.axes["xyz".index(letter)] * sign
            found = resolve(read(value), self.scope)
            if not isinstance(found, Vector):
                raise MechanismError(f"{value!r} is not a vector")
            return found
        if isinstance(value, int):
            return base.axes[abs(value) - 1] * (1 if value > 0 else -1)
        return base.vector(*self.exprs(value))

    # -- bodies ------------------------------------------------------------------------------------
    def body(
        self,
        name: str,
        *,
        parent: Body | None = None,
        joint: Joint | None = None,
        translate: Value = None,
        rotate: Value = None,
        at: Sequence[Value] = (0, 0, 0),
        mass: Value = None,
        com: Sequence[Value] = (0, 0, 0),
        inertia: Value = None,
        coordinates_in: Body | None = None,
        coordinates: Sequence[str] | None = None,
        small: bool | Sequence[bool] = False,
        body_axis: str | int | None = None,
        reference: Value = None,
        doc: str = "",
    ) -> Body:
        """Add a body with its joint to the parent.

        Args:
            name: letters, digits and underscores; also the name of a single coordinate. parent: the
                body that it hangs on; the ground by default. joint: a joint such as
                `Revolute("z")`; or give `translate` and `rotate`. translate: directions of
                translation, fixed in the parent: "xy", ["x", (1, 0, 1)]. rotate: one axis fixed in
                the parent, or three body axes: "z", "xyz", (0, 1, 1). at: the joint's place in the
                parent, m. mass: kg; by default a parameter named after the body. com: mass centre
                in the body's frame, m. inertia: about the mass centre along body axes, kg*m^2: 3
                moments, 6 entries (xx, yy, zz, xy, yz, zx), a 3 by 3 matrix, or 0; by default
                parameters named after the body.
            coordinates_in: a body in whose frame `at` and `com` are given, with all coordinates
                zero.
            coordinates: names of the coordinates, in place of those made from the body's name.
            small: whether its coordinates and speeds are small; or one truth for each.
            body_axis: for one inclined axis of rotation, which axis of the body lies along it.
            reference: the parent's direction from which the angle is measured.
            doc: what it is.

        >>> m = Mechanism("m")
        >>> m.body("cart", translate="x").coordinates
        (cart,)
        """
        if self._kinematics is not None:
            raise MechanismError(
                f"body {name!r} comes after velocities have been used",
                remedy="add all bodies before forces, constraints and outputs that use velocities",
            )
        if name in self.bodies or name == "n":
            raise MechanismError(f"{self.name!r} has a body {name!r} already")
        parent = self.ground if parent is None else parent
        if joint is None:
            joint = Joint(axes(translate), axes(rotate), body_axis=body_axis, reference=reference)
        if joint.second is not None:
            return self._two_blocks(
                name, parent, joint, at, mass, com, inertia, coordinates_in, small, doc
            )
        names = self._coordinate_names(name, joint, coordinates)
        orders = self._small_list(small, len(names))
        symbols = [
            self._coordinate(n, joint, k, order)
            for k, (n, order) in enumerate(zip(names, orders, strict=True))
        ]
        shifts, angles = symbols[: len(joint.translate)], symbols[len(joint.translate) :]
        frame = self._frame(name, parent, joint, angles, coordinates_in)
        lead = self._lead(joint, angles)
        origin = self._point_in(parent, at, coordinates_in)
        directions = [self._direction(parent, axis, coordinates_in) for axis in joint.translate]
        made = Body(
            name,
            self,
            parent,
            joint,
            frame,
            self._inertia(name, mass, com, inertia),
            tuple(zip(shifts, directions, strict=True)),
            tuple(angles),
            origin,
            lead,
            doc,
        )
        if coordinates_in is not None:
            made = self._with_centre(made, com, coordinates_in)
        self.bodies[name] = made
        return made

    def _two_blocks(
        self,
        name: str,
        parent: Body,
        joint: Joint,
        at: Sequence[Value],
        mass: Value,
        com: Sequence[Value],
        inertia: Value,
        coordinates_in: Body | None,
        small: bool | Sequence[bool],
        doc: str,
    ) -> Body:
        from dataclasses import replace

        first = replace(joint, second=None)
        middle = self.body(
            f"{name}_cross",
            parent=parent,
            joint=first,
            at=at,
            mass=0,
            inertia=0,
            coordinates_in=coordinates_in,
            small=bool(small),
            doc=f"massless cross of the joint of {name}",
        )
        return self.body(
            name,
            parent=middle,
            joint=joint.second,
            mass=mass,
            com=com,
            inertia=inertia,
            small=bool(small),
            doc=doc,
        )

    def _with_centre(self, body: Body, com: Sequence[Value], other: Body) -> Body:
        from dataclasses import replace

        place = self.point_of(other, com).position - self.point_of(body, (0, 0, 0)).position
        x, y, z = (nominal(place @ axis) for axis in body.frame.axes)
        self._points_of.pop(body, None)
        return replace(body, inertia=replace(body.inertia, centre=(x, y, z)))

    def _point_in(self, parent: Body, at: Sequence[Value], other: Body | None) -> Vector:
        if other is None or other is parent:
            return parent.frame.vector(*self.exprs(at))
        place = self.point_of(other, at).position - self.point_of(parent, (0, 0, 0)).position
        return parent.frame.vector(*(nominal(place @ axis) for axis in parent.frame.axes))

    def _direction(self, parent: Body, axis: Value, other: Body | None) -> Vector:
        if other is None or other is parent:
            v = self.vector(axis, parent.frame)
        else:
            given = self.vector(axis, other.frame)
            v = parent.frame.vector(*(nominal(given @ a) for a in parent.frame.axes))
        from linkwright.algebra import direction_of

        return direction_of(v)

    def _frame(
        self, name: str, parent: Body, joint: Joint, angles: list[Expr], other: Body | None
    ) -> Frame:
        above = parent.frame
        reference = joint.reference
        if not joint.rotate:
            return above.aligned(name)
        if joint.quaternion:
            return above.oriented(name, angles)
        if len(joint.rotate) == 3:
            return above.euler(
                name,
                "".join(map(str, joint.rotate)),
                angles,
                axis=joint.first_axis,
                reference=reference,
            )
        (axis,) = joint.rotate
        if isinstance(axis, str | int) and (other is None or other is parent):
            return above.rotated(
                name, axis, angles[0], reference=reference, body_axis=joint.body_axis
            )
        direction = self._direction(parent, axis, other)
        if joint.body_axis is None:
            return above.turned(name, direction.components(above), angles[0])
        return above.rotated(
            name,
            direction.components(above),
            angles[0],
            reference=reference,
            body_axis=joint.body_axis,
        )

    def _lead(self, joint: Joint, angles: list[Expr]) -> Expr:
        if isinstance(joint.lead, tuple):
            return kinematics_of.advance_per_radian(self.expr(joint.lead[1])) * angles[0]
        lead = self.expr(joint.lead)
        return lead * angles[0] if lead is not ZERO else ZERO

    def _coordinate_names(self, name: str, joint: Joint, given: Sequence[str] | None) -> list[str]:
        count = len(joint.translate) + (4 if joint.quaternion else len(joint.rotate))
        if given is not None:
            if len(given) != count:
                raise MechanismError(f"body {name!r} has {count} coordinates, not {len(given)}")
            return list(given)
        if count == 1:
            return [name]
        letters = [_axis_letter(a, k) for k, a in enumerate(joint.translate)]
        names = [f"{name}.{letter}" for letter in letters]
        if joint.quaternion:
            return names + [f"{name}.e{k}" for k in range(4)]
        turns = [f"r{_axis_letter(a, k)}" for k, a in enumerate(joint.rotate)]
        if len(set(turns)) < len(turns):
            turns = [f"r{k + 1}" for k in range(len(turns))]
        return names + [f"{name}.{turn}" for turn in turns]

    def _small_list(self, small: bool | Sequence[bool], count: int) -> list[int]:
        if isinstance(small, bool):
            return [int(small)] * count
        if len(small) != count:
            raise MechanismError(
                f"{count} truths are needed to say what is small, not {len(small)}"
            )
        return [int(s) for s in small]

    def _coordinate(self, name: str, joint: Joint, k: int, small: int) -> Expr:
        if name in self.coordinates or name in self.parameters or name in self.inputs:
            raise MechanismError(f"the name {name!r} of a coordinate is taken in {self.name!r}")
        unit = "m" if k < len(joint.translate) else "1" if joint.quaternion else "rad"
        q = symbol(name, "coordinate", owner=self.name, small=small)
        self.coordinates[name] = q
        self.units[name] = unit
        return q

    def _inertia(self, name: str, mass: Value, com: Sequence[Value], inertia: Value) -> Inertia:
        m = self.parameter(f"{name}_m", unit="kg") if mass is None else self.expr(mass)
        entries: Sequence[Value]
        if inertia is None:
            keys = ("xx", "yy", "zz", "xy", "yz", "zx")
            entries = [self.parameter(f"{name}_I{k}", unit="kg*m^2") for k in keys]
        elif isinstance(inertia, int | float | str | Expr):
            entries = [inertia, inertia, inertia, 0, 0, 0]
        elif len(inertia) == 3 and isinstance(inertia[0], list | tuple):
            rows = inertia
            entries = [rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[1][2], rows[0][2]]
        elif len(inertia) == 3:
            entries = [*inertia, 0, 0, 0]
        elif len(inertia) == 6:
            entries = inertia
        else:
            raise MechanismError(
                f"the inertia of {name!r} is not 3 moments, 6 entries, a matrix, or 0"
            )
        xx, yy, zz, xy, yz, zx = (self.expr(v) for v in entries)
        return Inertia(m, self.exprs(com), (xx, yy, zz, xy, yz, zx))

    # -- points ------------------------------------------------------------------------------------
    def point(
        self,
        name: str,
        body: Body | None = None,
        at: Sequence[Value] = (0, 0, 0),
        coordinates_in: Body | None = None,
    ) -> Point:
        """Add a point that is fixed in a body.

        Args:
            name: its name.
            body: the body; the ground by default.
            at: its place in the body's frame, m.
            coordinates_in: another body in whose frame `at` is given, with all coordinates zero.

        >>> m = Mechanism("m")
        ... m.point("tip", at=(1, 0, 0)).position
        n.x
        """
        if name in self.points:
            raise MechanismError(f"{self.name!r} has a point {name!r} already")
        body = self.ground if body is None else body
        if coordinates_in is None or coordinates_in is body:
            local = body.frame.vector(*self.exprs(at))
        else:
            place = self.point_of(coordinates_in, at).position - body.origin.position
            local = body.frame.vector(*(nominal(place @ axis) for axis in body.frame.axes))
        made = self.points[name] = Point(name, body, local)
        return made

    def point_of(self, body: Body, at: Sequence[Value], name: str = "") -> Point:
        """Return an unnamed point of a body; the same place gives the same point."""
        local = body.frame.vector(*self.exprs(at))
        known = self._points_of.setdefault(body, {})
        if local not in known:
            known[local] = Point(name or f"{body.name}{tuple(map(str, at))}", body, local)
        return known[local]

    # -- loads -------------------------------------------------------------------------------------
    def gravity(self, along: Value = None, g: Value = STANDARD_GRAVITY) -> None:
        """Switch on a uniform field.

        Args:
            along: the direction in which things fall; the ground's -z by default.
            g: its acceleration, m/s^2.

        >>> m = Mechanism("m")
        ... m.gravity()
        ... m.gravity_vector
        -9.81*n.z
        """
        direction = -self.z if along is None else self.vector(along)
        self.gravity_vector = direction * self.expr(g)

    def force(
        self,
        name: str,
        magnitude: Value = None,
        *,
        at: Point,
        along: Value,
        reaction: Point | Body | None = None,
        doc: str = "",
    ) -> Force:
        """Add a force of known direction.

        Args:
            name: its name.
            magnitude: N; in a text, `x`, `x0` and `v` are the distance between the points along the
                direction, its value with all coordinates zero, and its rate; by default a
                parameter.
            at: the point where it acts.
            along: its direction: a vector, an axis name, or three components in the ground's frame.
            reaction: the body, or a point of it, that feels the opposite; the ground by default.
            doc: what it is.

        >>> m = Mechanism("m")
        ... b = m.body("b", translate="x")
        >>> m.force("push", "F", at=b.origin, along="x").magnitude
        F
        """
        from linkwright.algebra import direction_of

        direction = direction_of(self.vector(along))
        other = self._reaction_point(reaction)
        made = Force(
            name,
            self._magnitude(name, magnitude, direction, at, other),
            direction,
            at,
            other.body,
            doc,
        )
        self.forces.append(made)
        return made

    def strut(
        self,
        name: str,
        magnitude: Value = None,
        *,
        at: Point,
        to: Point | None = None,
        doc: str = "",
    ) -> Force:
        """Add a force along the line between two points; positive pushes them apart.

        Args:
            name: its name. magnitude: N; in a text, `x`, `x0` and `v` are the length, the length
                with all coordinates zero, and its rate.
            at: the point that it pushes.
            to: the other point; the ground's origin by default.
            doc: what it is.

        >>> m = Mechanism("m")
        ... b = m.body("b", translate="x")
        >>> m.strut("spring", "-k*(x - 1)", at=b.origin).name
        'spring'
        """
        from linkwright.algebra import magnitude as length

        other = self.origin if to is None else to
        span = at.position - other.position
        x = length(span)
        direction = span / x
        made = Force(
            name,
            self._magnitude(name, magnitude, direction, at, other, x),
            direction,
            at,
            other.body,
            doc,
        )
        self.forces.append(made)
        return made

    def moment(
        self,
        name: str,
        magnitude: Value = None,
        *,
        on: Body,
        about: Value,
        reaction: Body | None = None,
        doc: str = "",
    ) -> Moment:
        """Add a couple.

        Args:
            name: its name.
            magnitude: N*m; by default a parameter.
            on: the body that feels it.
            about: its direction.
            reaction: the body that feels the opposite; the ground by default.
            doc: what it is.

        >>> m = Mechanism("m")
        ... b = m.body("b", rotate="z")
        >>> m.moment("drive", "T", on=b, about="z").magnitude
        T
        """
        from linkwright.algebra import direction_of

        value = self.parameter(name) if magnitude is None else self.expr(magnitude)
        made = Moment(
            name,
            value,
            direction_of(self.vector(about)),
            on,
            self.ground if reaction is None else reaction,
            doc,
        )
        self.moments.append(made)
        return made

    def _reaction_point(self, reaction: Point | Body | None) -> Point:
        if reaction is None:
            return self.origin
        return reaction if isinstance(reaction, Point) else reaction.origin

    def _magnitude(
        self,
        name: str,
        magnitude: Value,
        direction: Vector,
        at: Point,
        other: Point,
        length: Expr | None = None,
    ) -> Expr:
        if magnitude is None:
            return self.parameter(name)
        if not isinstance(magnitude, str):
            return as_expr(magnitude)
        span = at.position - other.position

        def distance() -> Expr:
            return direction @ span if length is None else length

        return parse(
            magnitude,
            self.scope.with_lazy(
                x=distance,
                x0=lambda: nominal(distance()),
                v=lambda: direction @ (at.velocity - other.velocity),
            ),
        )

    # -- constraints, states, outputs --------------------------------------------------------------
    def constrain(self, zero: Value, *, name: str = "", eliminate: Value = None) -> Constraint:
        """Add a relation between speeds that must hold (for rolling, prescribed speeds).

        Args:
            zero: an expression, linear in the speeds, that must vanish.
            name: its name.
            eliminate: the speed to eliminate; chosen automatically by default.

        >>> m = Mechanism("m")
        ... b = m.body("b", translate="x")
        >>> m.constrain("b_dot - V").speed
        -V + b_dot
        """
        speed = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        made = Constraint(name or f"constraint {len(self.constraints) + 1}", speed, None, chosen)
        self.constraints.append(made)
        return made

    def constrain_position(
        self, zero: Value, *, name: str = "", eliminate: Value = None
    ) -> Constraint:
        """Add a relation between coordinates that must hold, with its rate as relation of speeds.

        Args:
            zero: an expression of the coordinates (and time) that must vanish.
            name: its name.
            eliminate: the coordinate to compute from it; chosen automatically by default.

        >>> m = Mechanism("m")
        ... a, b = m.body("a", rotate="z"), m.body("b", rotate="z")
        >>> m.constrain_position("a + 2*b").speed
        a_dot + 2*b_dot
        """
        position = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        speed = self.kinematics().derivative(position)
        assert isinstance(speed, Expr)
        made = Constraint(
            name or f"constraint {len(self.constraints) + 1}", speed, position, None, chosen
        )
        self.constraints.append(made)
        return made

    def no_movement(
        self, first: Point, second: Point, along: Value, *, name: str = ""
    ) -> Constraint:
        """Let two points not move apart along a direction: a relation of position and one of speed.

        Args:
            first: a point of one body.
            second: a point of another.
            along: the direction.
            name: its name.

        >>> m = Mechanism("m")
        ... b = m.body("b", translate="xy")
        >>> m.no_movement(b.origin, m.origin, "x").position
        b.x
        """
        direction = self.vector(along)
        position = direction @ (first.position - second.position)
        speed = direction @ (first.velocity - second.velocity)
        made = Constraint(
            name or f"{first.name} to {second.name} along {direction}", speed, position
        )
        self.constraints.append(made)
        return made

    def roll(
        self,
        wheel: Body,
        radius: Value,
        *,
        forward: Value = None,
        lateral: bool = True,
        name: str = "",
    ) -> tuple[Constraint, ...]:
        """Let a wheel roll without slip on the ground below it, its axle level.

        Args:
            wheel: a body with one rotation, about its axle.
            radius: m.
            forward: the direction of rolling; by default across the axle and the ground's z.
            lateral: whether the wheel does not slip sideways either.
            name: a name for the relations.

        >>> m = Mechanism("m")
        ... b = m.body("b", translate="x")
        >>> w = m.body("w", parent=b, rotate="y")
        >>> [str(c.speed) for c in m.roll(w, "R", lateral=False)]
        ['R*w_dot - b_dot']
        """
        if len(wheel.rotations) != 1 or wheel.parent is None:
            raise MechanismError(f"{wheel.name!r} has not one rotation, so it cannot roll")
        axle = wheel.frame.spins[0][1]
        ahead = (axle ^ self.z) if forward is None else self.vector(forward)
        spin = axle @ (wheel.omega - wheel.parent.omega)
        label = name or wheel.name
        made = [
            self.constrain(
                self.expr(radius) * spin - wheel.origin.velocity @ ahead, name=f"{label} rolls"
            )
        ]
        if lateral:
            made.append(self.constrain(wheel.origin.velocity @ axle, name=f"{label} does not slip"))
        return tuple(made)

    def state(self, name: str, derivative: Value, initial: float = 0.0, *, unit: str = "?") -> Expr:
        """Add a first-order state of your own.

        Args:
            name: its name.
            derivative: its rate; the text may use the state itself.
            initial: its value at the start.
            unit: its unit.

        >>> m = Mechanism("m")
        ... m.state("z", "-k*z")
        z
        """
        self._refuse_taken(name)
        z = symbol(name, "coordinate", owner=self.name)
        self.coordinates[name] = z
        self.units[name] = unit
        self.states.append(State(z, self.expr(derivative), initial))
        return z

    def output(
        self, name: str, value: Value, *, unit: str = "?", doc: str = "", body: Body | None = None
    ) -> Output:
        """Add a channel of results.

        Args:
            name: its name.
            value: an expression; accelerations may occur in it.
            unit: its unit.
            doc: a longer name.
            body: the body that it belongs to.

        >>> m = Mechanism("m")
        ... b = m.body("b", rotate="z")
        >>> m.output("rate", b.omega @ m.z, unit="rad/s").value
        b_dot
        """
        made = Output(name, self.expr(value), unit, doc or name, "" if body is None else body.name)
        self.outputs.append(made)
        return made

    def function(self, name: str, callable_: Callable[..., object]) -> None:
        """Make a function known to texts: a table, a foreign function, a Python callable.

        Args:
            name: how texts call it.
            callable_: expressions to an expression.

        >>> m = Mechanism("m")
        ... m.function("twice", lambda x: 2 * x)
        ... m.expr("twice(a)")
        2*a
        """
        self.functions[name] = callable_

    # -- structure ---------------------------------------------------------------------------------
    def children(self, body: Body) -> tuple[Body, ...]:
        """Return the bodies that hang on a body, in order of entry."""
        return tuple(b for b in self.bodies.values() if b.parent is body)

    def depth_first(self) -> list[Body]:
        """Return the bodies, parents before children, each with all below it before the next."""
        below: dict[Body, list[Body]] = {}
        for body in self.bodies.values():
            assert body.parent is not None
            below.setdefault(body.parent, []).append(body)
        order: list[Body] = []
        stack = list(reversed(below.get(self.ground, [])))
        while stack:
            body = stack.pop()
            order.append(body)
            stack.extend(reversed(below.get(body, [])))
        return order

    def has_speed_name(self, name: str) -> bool:
        """Whether a name is that of a generalized speed or of its rate."""
        stem = name
        while stem.endswith("_dot"):
            stem = stem[:-4]
            if stem in self.coordinates:
                return True
        return "." in stem and stem.rsplit(".", 1)[0] in self.bodies

    def kinematics(self) -> Kinematics:
        """Return speeds and velocities; they are chosen now, and no body can be added after."""
        if self._kinematics is None:
            self._kinematics = kinematics_of.build(self)
        return self._kinematics


def _axis_letter(axis: Value, k: int) -> str:
    text = str(axis).lstrip("+-")
    if text in ("x", "y", "z"):
        return text
    if text in ("1", "2", "3"):
        return "xyz"[int(text) - 1]
    return str(k + 1)
