"""The workspace of a mechanism: its symbols, its parts, and how texts become expressions.

A mechanism owns its symbols: parameters, coordinates, speeds, inputs. Anything that is a number in
the description may also be an expression or a text (`"L1/2"`), in which unknown names become
parameters; a text model declares its parameters and refuses unknown ones.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from linkwright.algebra import (
    ZERO,
    ZERO_VECTOR,
    Expr,
    Frame,
    Vector,
    as_expr,
    evaluate,
    symbol,
)
from linkwright.algebra.language import parse, read, resolve
from linkwright.algebra.units import Amount, amount, amounts, by_name, checked_unit, unit_system
from linkwright.border import worded
from linkwright.brief import brief
from linkwright.errors import nearest
from linkwright.mechanism import kinematics as kinematics_of
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.parts import (
    Body,
    ClosedLoop,
    Constraint,
    Force,
    Inertia,
    Moment,
    Output,
    Passive,
    Point,
    Range,
    Sensor,
    State,
    Timing,
)
from linkwright.mechanism.provenance import Provenance
from linkwright.mechanism.scope import MechanismScope
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.kinematics import Kinematics
    from linkwright.shapes import Shape

Value = Any

_dependents: weakref.WeakKeyDictionary[Workspace, list[weakref.WeakMethod[Callable[[], None]]]] = (
    weakref.WeakKeyDictionary()
)  # what is told of changes; kept beside a mechanism, so that views of it have none


class Workspace:
    """What a mechanism holds; `Mechanism` adds the words with which it is described.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.
        units: the system in which its numbers are: "mks" or "in-lb" (in, lbf, s). It gives
            coordinates and speeds their units; numbers are never converted.
    """

    def __init__(self, name: str, doc: str = "", *, units: str = "mks") -> None:
        self.name = name
        self.doc = doc
        self.unit_system = unit_system(units)
        self.time = symbol("t", "time", owner=name, unit="s")
        self.parameters: dict[str, Expr] = {}
        self.inputs: dict[str, Expr] = {}
        self.values: dict[str, float] = {}
        self.initial: dict[str, float] = {}
        self.initial_rules: dict[str, Expr] = {}
        self.armatures: dict[Body, Expr] = {}
        self.passives: dict[Body, Passive] = {}
        self.bodies: dict[str, Body] = {}
        self.shapes: dict[str, tuple[Shape, ...]] = {}
        self.points: dict[str, Point] = {}
        self.forces: list[Force] = []
        self.moments: list[Moment] = []
        self.constraints: list[Constraint] = []
        self.states: list[State] = []
        self.outputs: list[Output] = []
        self.ranges: list[Range] = []
        self.loops: list[ClosedLoop] = []
        self.sensors: list[Sensor] = []
        self.coordinates: dict[str, Expr] = {}
        self.variables: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., object]] = {}
        self.gravity_vector: Vector = ZERO_VECTOR
        self.units: dict[str, str] = {}
        self.docs: dict[str, str] = {}
        self.reports: list[str] = []
        self.timing: Timing | None = None
        self.provenance: Provenance | None = None
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

    @builder
    def parameter(
        self,
        name: str,
        default: Amount | None = None,
        *,
        unit: str = "?",
        sign: str = "",
        doc: str = "",
    ) -> Expr:
        """Return a parameter, declaring it where it is new.

        Args:
            name: its name.
            default: the value it has unless another is given.
            unit: its unit; "?" where it is not known.
            sign: "positive" or "nonzero" where that is promised.
            doc: what it is.

        >>> Workspace("m").parameter("L1", 1.5, unit="m")
        L1
        """
        require_name(name, "a parameter")
        checked_unit(unit, name)
        if default is not None:
            default = amount(default, f"the value of {name!r}", unit, self.unit_system)
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
        if default is not None and self.values.get(name) != default:
            self.values[name] = default
            self._changed()
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    @builder
    def input(self, name: str, default: Amount = 0.0, *, unit: str = "?", doc: str = "") -> Expr:
        """Return an input: a value that is given from outside at every instant.

        Args:
            name: its name.
            default: the value it has where none is given.
            unit: its unit.
            doc: what it is.

        >>> Workspace("m").input("tau", unit="N*m")
        tau
        """
        require_name(name, "an input")
        checked_unit(unit, name)
        value = amount(default, f"the value of {name!r}", unit, self.unit_system)
        known = self.inputs.get(name)
        if known is None:
            self._refuse_taken(name)
            known = self.inputs[name] = symbol(name, "input", owner=self.name)
        self.values[name] = value
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

    @builder
    def small(self, *names: str) -> None:
        """Declare parameters, inputs or speeds small, before they are used.

        Args:
            names: names of parameters, or of speeds such as "nrb.v".

        >>> m = Workspace("m")
        >>> m.small("STEER")
        """
        self._declare_order(names, 1)

    @builder
    def large(self, *names: str) -> None:
        """Declare parameters large, before they are used, so that they outweigh a small factor.

        Args:
            names: names of parameters.

        >>> m = Workspace("m")
        >>> m.large("K")
        """
        self._declare_order(names, -1)

    def _declare_order(self, names: Iterable[str], order: int) -> None:
        for name in names:
            if name in self.parameters or self._kinematics is not None:
                raise MechanismError(
                    f"{name!r} is in use already", remedy="declare it small or large before that"
                )
            self._orders[name] = order

    def declared_orders(self) -> dict[str, int]:
        """Return what was declared small (1) or large (-1), by name.

        >>> m = Workspace("m")
        >>> m.small("STEER")
        >>> m.declared_orders()
        {'STEER': 1}
        """
        return dict(self._orders)

    @builder
    def positive(self, *names: str) -> None:
        """Promise that parameters are positive, before they are used.

        Args:
            names: names of parameters.

        >>> m = Workspace("m")
        >>> m.positive("R")
        >>> m.parameter("R").data.sign
        'positive'
        """
        self._promise(names, "positive")

    @builder
    def nonzero(self, *names: str) -> None:
        """Promise that parameters are not zero, before they are used.

        Args:
            names: names of parameters.

        >>> m = Workspace("m")
        >>> m.nonzero("L")
        >>> m.parameter("L").data.sign
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

    @builder
    def defaults(self, values: Mapping[str, Amount] | None = None, **more: Amount) -> None:
        """Set default values of parameters and inputs; an unknown name is an error.

        Args:
            values: value of each name.
            more: the same, as keywords.

        >>> m = Workspace("m")
        >>> L = m.parameter("L1")
        >>> m.defaults(L1=1.5)
        >>> m.values["L1"]
        1.5
        """
        found = {}
        for name, value in {**by_name(values, "values"), **more}.items():
            if name not in self.parameters and name not in self.inputs:
                self.unknown(name, (*self.parameters, *self.inputs), "parameter")
            found[name] = self.amount(name, value, "the value")
        self.values.update(found)
        self._changed()

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

    @builder
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
        view.set_values(values)
        return view

    @builder
    def with_parts(
        self,
        *,
        forces: Iterable[Force] | None = None,
        moments: Iterable[Moment] | None = None,
        constraints: Iterable[Constraint] | None = None,
        outputs: Iterable[Output] | None = None,
        reports: Iterable[str] | None = None,
        ranges: Iterable[Range] | None = None,
    ) -> Self:
        """Return a view with other parts; the mechanism stays as it is.

        Args:
            forces: in place of its own.
            moments: in place of its own.
            constraints: in place of its own.
            outputs: in place of its own.
            reports: in place of its own.
            ranges: in place of its own.

        >>> m = Workspace("m")
        >>> len(m.with_parts(reports=["a"]).reports), len(m.reports)
        (1, 0)
        """
        view = copy.copy(self)
        view.forces = list(self.forces if forces is None else forces)
        view.moments = list(self.moments if moments is None else moments)
        view.constraints = list(self.constraints if constraints is None else constraints)
        view.outputs = list(self.outputs if outputs is None else outputs)
        view.reports = list(self.reports if reports is None else reports)
        view.ranges = list(self.ranges if ranges is None else ranges)
        view._kinematics = None
        return view

    @worded
    def when_changed(self, forget: Callable[[], None]) -> None:
        """Let a method be called whenever the mechanism is changed by one of its own methods.

        Args:
            forget: a bound method, which forgets what was derived; its object is not kept alive.
        """
        _dependents.setdefault(self, []).append(weakref.WeakMethod(forget))

    def _changed(self) -> None:
        """Tell whoever has derived something that it does not hold any more."""
        for known in _dependents.get(self, ()):
            forget = known()
            if forget is not None:
                forget()

    def _follow_rules(self) -> None:
        """Compute the initial values that are given by expressions."""
        known = {x: self.values.get(name, 1.0) for name, x in self.parameters.items()}
        for name, rule in self.initial_rules.items():
            self.initial[name] = float(evaluate(rule, known))

    def amount(self, name: str, value: object, what: str) -> float:
        """Return a number that is given for a name; a text such as "30 deg" is converted.

        Args:
            name: of a parameter, input, coordinate or speed.
            value: the number, or a text of a number and a unit.
            what: what it is, in errors.

        >>> m = Workspace("m")
        >>> L = m.parameter("L", unit="m")
        >>> m.amount("L", "20 cm", "the value")
        0.2
        """
        unit = self.units.get(name, "?")
        return amount(value, f"{what} of {name!r}", unit, self.unit_system)

    def amounts(self, given: object, what: str) -> dict[str, float]:
        """Return numbers by name; texts such as "30 deg" are converted.

        Args:
            given: a mapping from names to numbers or texts; None for nothing.
            what: what it is, in errors.

        >>> Workspace("m").amounts({"a": 1, "b": "1 km"}, "values")
        {'a': 1.0, 'b': 1000.0}
        """
        return amounts(given, what, lambda name: self.units.get(name, "?"), self.unit_system)

    @worded
    def unknown(self, name: str, known: Iterable[str], what: str) -> None:
        """Raise the error for a name that is not known, with the nearest spelling."""
        names = list(known)
        near = nearest(name, names, cutoff=0.5)
        some = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise MechanismError(
            f"{self.name!r} has no {what} {name!r}",
            remedy=f"did you mean {near!r}?" if near else f"it has {some or 'none'}",
        )

    # -- expressions -------------------------------------------------------------------------------
    def expr(self, value: Value) -> Expr:
        """Return a number, expression or text as an expression of this mechanism.

        Args:
            value: what to read.

        >>> m = Workspace("m")
        >>> m.expr("2*k + 1")
        1 + 2*k
        """
        if isinstance(value, str):
            return parse(value, self.scope)
        return as_expr(value)

    def exprs(self, values: Sequence[Value]) -> tuple[Expr, Expr, Expr]:
        """Return three components as expressions."""
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise MechanismError(
                f"three components are needed, not {brief(values)}", remedy="such as (0, 0, 0.5)"
            )
        parts = list(values)
        if len(parts) != 3:
            raise MechanismError(f"three components are needed, not {len(parts)}: {values!r}")
        a, b, c = (self.expr(v) for v in parts)
        return a, b, c

    def vector(self, value: Value, frame: Frame | None = None) -> Vector:
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
        for body in self.bodies.values():
            if name == f"{body.name}0":
                return body.origin
            if name == f"{body.name}cm":
                return body.com
        return None

    def body_of(self, value: Body | str | None, what: str) -> Body:
        """Return a body that is given by itself or by its name; the ground for None or "n".

        Args:
            value: the body, or its name.
            what: what it is for, in errors.

        >>> m = Workspace("m")
        >>> m.body_of("n", "the parent") is m.ground
        True
        """
        if value is None or value == self.ground.name:
            return self.ground
        if isinstance(value, str):
            if value not in self.bodies:
                self.unknown(value, (self.ground.name, *self.bodies), "body")
            return self.bodies[value]
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
    def point_of(self, body: Body, at: Sequence[Value], name: str = "") -> Point:
        """Return an unnamed point of a body; the same place gives the same point."""
        local = body.frame.vector(*self.exprs(at))
        known = self._points_of.setdefault(body, {})
        if local not in known:
            known[local] = Point(name or f"{body.name}{tuple(map(str, at))}", body, local)
        return known[local]


def require_name(name: object, what: str) -> None:
    """Refuse what is no name.

    >>> require_name("rod", "a body")
    """
    if not isinstance(name, str) or not name:
        raise MechanismError(f"{what} is named by a text, not by {brief(name)}")
