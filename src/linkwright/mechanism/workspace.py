"""The workspace of a mechanism: its parts, views of it, and how texts become expressions.

Anything that is a number in
the description may also be an expression or a text (`"L1/2"`), in which unknown names become
parameters; a text model declares its parameters and refuses unknown ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from linkwright.algebra import (
    ZERO,
    ZERO_VECTOR,
    Expr,
    Frame,
    Vector,
    evaluate,
)
from linkwright.algebra.language import read, resolve
from linkwright.algebra.units import Amount, by_name
from linkwright.base.arguments import worded
from linkwright.base.reprs import brief
from linkwright.mechanism import kinematics as kinematics_of
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.parts import (
    Body,
    ClosedLoop,
    CollisionCapsule,
    ConeLimit,
    Constraint,
    Force,
    Inertia,
    Moment,
    Output,
    Passive,
    Platform,
    Point,
    Range,
    Sensor,
    State,
    Timing,
    as_point,
)
from linkwright.mechanism.provenance import Provenance
from linkwright.mechanism.scope import MechanismScope
from linkwright.mechanism.symbols import Symbols
from linkwright.mechanism.transactions import TABLES, builder

if TYPE_CHECKING:
    from linkwright.mechanism.kinematics import Kinematics
    from linkwright.mechanism.shapes import Shape

Value = Any

_PARTS = ("forces", "moments", "constraints", "outputs", "reports", "ranges", "actuators")


class Workspace(Symbols):
    """What a mechanism holds; `Mechanism` adds the words with which it is described.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.
        display: the units in which its results are printed: "mks" or "in-lb" (in, lbf, s). Numbers
            are in SI units whatever it is.
    """

    def __init__(self, name: str, doc: str = "", *, display: str = "mks") -> None:
        super().__init__(name, display=display)
        self.doc = doc
        self.initial: dict[str, float] = {}
        self.initial_rules: dict[str, Expr] = {}
        self.armatures: dict[Body, Expr] = {}
        self.passives: dict[Body, Passive] = {}
        self.bodies: dict[str, Body] = {}
        self.shapes: dict[str, tuple[Shape, ...]] = {}
        self.points: dict[str, Point] = {}
        self.frames: dict[str, Point] = {}  # links and sites of a robot file, as it spells them
        self.forces: list[Force] = []
        self.moments: list[Moment] = []
        self.constraints: list[Constraint] = []
        self.states: list[State] = []
        self.outputs: list[Output] = []
        self.ranges: list[Range] = []
        self.loops: list[ClosedLoop] = []
        self.actuators: list[Expr] = []
        self.platform: Platform | None = None
        self.cones: list[ConeLimit] = []
        self.collision_capsules: list[CollisionCapsule] = []
        self.sensors: list[Sensor] = []
        self.variables: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., object]] = {}
        self.gravity_vector: Vector = ZERO_VECTOR
        self.reports: list[str] = []
        self.timing: Timing | None = None
        self.files: dict[str, str] = {}
        self.provenance: Provenance | None = None
        self.declared_only = False
        self._points_of: dict[Body, dict[Vector, Point]] = {}
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

    @builder
    def set_initial(self, values: Mapping[str, Value] | None = None, **more: Value) -> None:
        """Set initial values of coordinates, speeds and extra states by name.

        They may be declared later; a name that is none of them is an error where a run starts.

        Args:
            values: value of each name; an expression of parameters follows their values.
            more: the same, as keywords.

        >>> m = Workspace("m")
        >>> m.set_initial(b=0.25)
        >>> m.initial
        {'b': 0.25}
        """
        rules, numbers = {}, {}
        for name, value in {**by_name(values, "values"), **more}.items():
            if isinstance(value, str | Expr):
                rules[name] = self.expr(value)
            else:
                numbers[name] = self.amount(name, value, "the start")
        for name in numbers:
            self.initial_rules.pop(name, None)
        self.initial.update(numbers)
        self.initial_rules.update(rules)
        if rules:
            self._follow_rules()

    @builder
    def set_values(self, values: Mapping[str, Amount] | None = None, **more: Amount) -> None:
        """Change the values of parameters and inputs; initial values that depend on them follow.

        Args:
            values: value of each name; an unknown one is an error.
            more: the same, as keywords.

        >>> m = Workspace("m")
        >>> v = m.parameter("v", 5.0)
        >>> m.set_initial(spin="-v/2")
        >>> m.set_values(v=3)
        >>> m.initial
        {'spin': -1.5}
        """
        self.defaults(values, **more)
        self._follow_rules()

    # -- snapshots and views -----------------------------------------------------------------------
    def frozen(self) -> Self:
        """Return an immutable snapshot, which later changes of the mechanism do not reach.

        Its tables cannot be written to, and methods that would change it are refused.
        `with_values`, `with_loads` and `with_outputs` give other snapshots; `fingerprint` names its
        content.

        >>> m = Workspace("m")
        >>> v = m.parameter("v", 5.0)
        >>> before = m.frozen()
        >>> m.set_values(v=3)
        >>> before.values["v"], before.is_frozen
        (5.0, True)
        """
        if self.is_frozen:
            return self
        view = self._copied()
        for name in TABLES:
            setattr(view, name, copy.copy(getattr(self, name)))
        view._points_of = {body: dict(points) for body, points in self._points_of.items()}
        view.scope = MechanismScope(view)
        view.kinematics()
        return view._sealed(True)

    def fingerprint(self) -> str:
        """Return a digest of the content, numbers included; the same in every process.

        >>> m = Workspace("m")
        >>> m.fingerprint() == Workspace("m").fingerprint()
        True
        """
        from linkwright.mechanism.structure import fingerprint_of

        return fingerprint_of(self)

    @worded
    def with_values(self, values: Mapping[str, Amount] | None) -> Self:
        """Return a view with other values; the mechanism stays as it is.

        Args:
            values: value of each parameter or input; initial values that depend on them follow.

        >>> m = Workspace("m")
        >>> v = m.parameter("v", 5.0)
        >>> m.set_initial(spin="-v/2")
        >>> m.with_values({"v": 3}).initial, m.initial
        ({'spin': -1.5}, {'spin': -2.5})
        """
        if values is None or not by_name(values, "values"):
            return self
        view = copy.copy(self)
        view.values, view.initial = dict(self.values), dict(self.initial)
        view.is_frozen = False
        view.set_values(values)
        return view._sealed(self.is_frozen)

    @worded
    def with_loads(
        self,
        forces: Iterable[Force] = (),
        moments: Iterable[Moment] = (),
        armatures: Mapping[Body, Expr] | None = None,
    ) -> Self:
        """Return a view on which further loads act; the mechanism stays as it is.

        Args:
            forces: beside its own.
            moments: beside its own.
            armatures: beside its own, by body.

        >>> m = Workspace("m")
        >>> f = Force("f", m.input("f"), m.x, m.origin, m.ground)
        >>> len(m.with_loads([f]).forces), len(m.forces)
        (1, 0)
        """
        view = self.with_parts(forces=[*self.forces, *forces], moments=[*self.moments, *moments])
        if armatures:
            added = {b: self.armatures.get(b, ZERO) + x for b, x in armatures.items()}
            view.armatures = {**self.armatures, **added}
        return view

    @worded
    def with_outputs(self, outputs: Iterable[Output]) -> Self:
        """Return a view with other outputs; the mechanism stays as it is.

        Args:
            outputs: in place of its own.

        >>> m = Workspace("m")
        >>> len(m.with_outputs([Output("t", m.time, "s")]).outputs), len(m.outputs)
        (1, 0)
        """
        return self.with_parts(outputs=outputs)

    def with_parts(self, **parts: Iterable[object]) -> Self:
        """Return a view with other parts, by the names of its lists; the mechanism stays as it is.

        >>> m = Workspace("m")
        >>> len(m.with_parts(reports=["a"]).reports), len(m.reports)
        (1, 0)
        """
        view = self._copied()
        for name in _PARTS:
            setattr(view, name, list(parts.get(name, getattr(self, name))))
        return view._sealed(self.is_frozen)

    def _copied(self) -> Self:
        view = copy.copy(self)
        view._kinematics, view.is_frozen = None, False
        return view

    def _sealed(self, frozen: bool) -> Self:
        """Let nobody write to the tables any more, if the view is to be frozen."""
        if frozen:
            for name in TABLES:
                table = getattr(self, name)
                setattr(self, name, MappingProxyType(table) if isinstance(table, dict) else table)
                if isinstance(table, list):
                    setattr(self, name, tuple(table))
            self.is_frozen = True
        return self

    def _follow_rules(self) -> None:
        """Compute the initial values that are given by expressions."""
        known = {x: self.values.get(name, 1.0) for name, x in self.parameters.items()}
        for name, rule in self.initial_rules.items():
            self.initial[name] = float(evaluate(rule, known))

    # -- expressions -------------------------------------------------------------------------------
    def expr(self, value: Value, unit: str = "?") -> Expr:
        """Return a number, expression or text as an expression of this mechanism, in SI units.

        Args:
            value: what to read.
            unit: the SI unit of what is read; a text in units of another kind is refused.

        >>> m = Workspace("m")
        >>> m.expr("2*k + 1"), m.expr("10 in", "m")
        (1 + 2*k, 127/500)
        """
        return self.scope.read(value, unit)

    def exprs(self, values: Sequence[Value], unit: str = "?") -> tuple[Expr, Expr, Expr]:
        """Return three components as expressions, in an SI unit."""
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise MechanismError(
                f"three components are needed, not {brief(values)}", remedy="such as (0, 0, 0.5)"
            )
        parts = list(values)
        if len(parts) != 3:
            raise MechanismError(f"three components are needed, not {len(parts)}: {values!r}")
        a, b, c = (self.expr(v, unit) for v in parts)
        return a, b, c

    def vector(self, value: Value, frame: Frame | Point | None = None) -> Vector:
        """Return a vector from a vector, a text, an axis name or three components in a frame."""
        if isinstance(value, Vector):
            return value
        base = self.ground.frame if frame is None else frame
        if isinstance(value, str):
            sign = -1 if value.startswith("-") else 1
            letter = value[1:] if value.startswith(("+", "-")) else value
            if letter in ("x", "y", "z"):
                return base.axes["xyz".index(letter)] * sign
            found = resolve(read(value), self.scope)
            if not isinstance(found, Vector):
                raise MechanismError(f"{value!r} is not a vector")
            return found
        if isinstance(value, int):
            if not 1 <= abs(value) <= 3:
                raise MechanismError(f"there is no axis {value}; use 1, 2, 3 or 'x', 'y', 'z'")
            return base.axes[abs(value) - 1] * (1 if value > 0 else -1)
        return base.vector(*self.exprs(value))

    @worded
    def automatic_point(self, name: str) -> Point | None:
        """Return the point that every body has: `b0`, its origin, and `bcm`, its mass center.

        Args:
            name: of the point; `o` is the origin of the ground.

        >>> m = Workspace("m")
        >>> m.automatic_point("o") is m.origin, m.automatic_point("b0")
        (True, None)
        """
        if name in ("o", "O"):
            return self.origin
        for end in ("0", "cm"):
            found = self.link_or_body(name.removesuffix(end)) if name.endswith(end) else None
            if found is not None:
                body = found if isinstance(found, Body) else found.body
                return body.com if end == "cm" else as_point(found)
        return None

    @worded
    def link_or_body(self, name: str) -> Point | Body | None:
        """Return the link or other frame of a robot file of that name, or the body, or None.

        A body that was made for links has axes of its own, chosen for small programs: no link is
        where it is. So it never goes by its name, which is that of a link or nobody's.

        Args:
            name: as the file spells it.
        """
        found: Point | Body | None = self.frames.get(name) or self.bodies.get(name)
        if isinstance(found, Body) and any(p.body is found for p in self.frames.values()):
            return None
        return found

    @worded
    def link_of(self, body: Body) -> tuple[str, Point]:
        """Return name and frame of the link that a body was made for; else its own.

        In the text of a robot's mechanism that is a point of the body's own name.
        """
        own = self.points.get(body.name, body.origin)
        links = ((name, point) for name, point in self.frames.items() if point.body is body)
        return next(links, (body.name, own if own.body is body else body.origin))

    @worded
    def place(self, name: str) -> Point | Body:
        """Return what a name of a place stands for: a frame, a point, a body or the ground.

        Args:
            name: of a link or other frame of a robot file, a point (`b0` and `bcm` too), a body.

        >>> m = Workspace("m")
        >>> m.place("n") is m.ground
        True
        """
        found = self.frames.get(name) or self.points.get(name) or self.link_or_body(name)
        if found is None:
            found = self.ground if name == self.ground.name else self.automatic_point(name)
        if found is None:
            bodies = (b for b in self.bodies if self.link_or_body(b))
            known = dict.fromkeys([*self.frames, *self.points, *bodies, self.ground.name])
            self.unknown(name, known, "point, body or frame")
        assert found is not None
        return found

    def body_of(self, value: Body | str | None, what: str, *, placed: bool = True) -> Body:
        """Return a body that is given by itself or by its name; the ground for None or "n".

        Args:
            value: the body, or its name.
            what: what it is for, in errors.
            placed: whether something is placed along its axes.

        >>> m = Workspace("m")
        >>> m.body_of("n", "the parent") is m.ground
        True
        """
        if value is None or (value == self.ground.name and value not in self.frames):
            return self.ground
        if isinstance(value, str):
            found = self.link_or_body(value)
            if found is None:
                known = (b for b in self.bodies if self.link_or_body(b))
                self.unknown(value, dict.fromkeys((self.ground.name, *self.frames, *known)), "body")
            if isinstance(found, Point):
                if placed and (found.matrix is not None or not found.local.is_zero):
                    raise MechanismError(
                        f"{what} is the link {value!r}, which has other axes than the body "
                        f"{found.body.name!r} that was made for it",
                        remedy="give the body itself where its own axes are meant: "
                        f"m.bodies[{found.body.name!r}]",
                    )
                return found.body
            assert found is not None
            return found
        if not isinstance(value, Body):
            raise MechanismError(
                f"{what} is {brief(value)}, which is not a body",
                remedy="give what m.body(...) returned, or a body's name",
            )
        return value

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

    @worded
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

    @worded
    def point_of(self, body: Body | Point, at: Sequence[Value], name: str = "") -> Point:
        """Return an unnamed point of a body or a frame; the same place gives the same point."""
        shift = ZERO_VECTOR
        parts = self.exprs(at, "m")
        if isinstance(body, Point):
            shift, parts, body = body.local, body.outward(parts), body.body
        local = shift + body.frame.vector(*parts)
        known = self._points_of.setdefault(body, {})
        found = known.get(local)
        if found is None:
            made = Point(name or f"{body.name}{tuple(map(str, at))}", body, local)
            found = known.setdefault(local, made)  # another thread's, if it was faster
        return found
