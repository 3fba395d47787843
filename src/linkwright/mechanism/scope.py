"""What the texts of a mechanism may refer to: its symbols, points, bodies and axes.

Names: parameters, inputs, coordinates, speeds, extra states, `t`; bodies, points (`b0`, `bcm` and
those that were added), directions `[b1]` or `b.x`, variables after `#`. Functions beside the
standard ones: `pos`, `vel`, `rot`, `fm`, `dxdt`, `acc`. Any other name becomes a parameter, unless
the model declares its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from linkwright.algebra import ONE, Expr, Vector, as_expr, symbol
from linkwright.algebra.expr import constant, linear_combination, sum_terms
from linkwright.algebra.language import Formula, parse, quantity, read
from linkwright.algebra.language.syntax import Literal
from linkwright.algebra.numbers import Number
from linkwright.algebra.smallness import terms_kept
from linkwright.algebra.units import MKS, Unit, UnitSystem, check_units, parse_unit
from linkwright.base.errors import Error, UnitError
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Force, Moment, Point, as_point

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_LETTERS = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True, slots=True)
class MechanismScope:
    """The scope of one mechanism; `lazy` holds names that are computed when they are used.

    The mechanism is in SI units. Texts and numbers are in those of `system`: a text in inches sees
    every length in inches, and what it comes to is taken to SI units, once, where it is read.
    """

    mechanism: Mechanism
    lazy: Mapping[str, Callable[[], Expr]] = field(default_factory=dict)
    system: UnitSystem = MKS

    def with_lazy(self, **more: Callable[[], Expr]) -> MechanismScope:
        """Return the scope with further names, as a force has `x`, `x0` and `v`."""
        return replace(self, lazy={**self.lazy, **more})

    def read(self, value: Any, unit: str = "?") -> Expr:
        """Return what a text, number or expression stands for, in an SI unit.

        A text that is in units of another kind is rejected; an expression is in SI units already.
        """
        if isinstance(value, str):
            with terms_kept(self.mechanism.small_order):
                found = parse(value, self)
            self._check(value, unit)
        else:
            found = as_expr(value)
        if self.system is MKS or unit == "?" or isinstance(value, Expr):
            return found
        return self.in_si(found, unit)

    def in_si(self, value: Expr, unit: str) -> Expr:
        """Return a value as texts see it in an SI unit."""
        return _snapped(value / self.factor(unit))

    def factor(self, unit: str) -> Expr:
        """Return what a value in an SI unit is multiplied by to be in the unit of the texts."""
        own = parse_unit(unit)
        return constant((own / self.system.coherent_unit(own)).scale)

    def literal(self, number: Expr, unit: Unit | None) -> Expr:
        """Return a number with the unit that is written after it."""
        return quantity(number, unit, self.system)

    def _check(self, text: str, unit: str) -> None:
        """Reject a text that is in units of another kind, where a unit stands in it.

        Where texts are in other units than SI, the units of names count too: numbers are in them.
        """
        if unit == "?":
            return
        formula = read(text)
        written = [x.unit or "" for x in formula.nodes() if isinstance(x, Literal)]
        if not any(written) and self.system is MKS:
            return
        try:
            found = self._measure(formula)
            wanted = parse_unit(unit)
            fits = found is None or found.fits(wanted)
            if isinstance(formula.root, Literal) and formula.root.unit:
                fits = parse_unit(formula.root.unit).stands_for(wanted)
            wrong = None if fits else f"it is in {found}"
        except UnitError as error:
            wrong = error.what
        if wrong is not None:
            pound = any("lb" in re.split(r"\W|\d", x) for x in written)
            raise UnitError(
                f"{brief(text)} cannot be in {unit}: {wrong}",
                remedy="lb is a force: write lbm for a mass, lbf for a force" if pound else None,
            )

    def unit_in(self, text: str) -> Unit | None:
        """Return the unit of a text where names and units in it show it; plain numbers show
        none."""
        try:
            return self._measure(read(text))
        except UnitError:
            return None

    def written_unit(self, text: str) -> Unit | None:
        """Return the unit of a text in which units are written; None for any other text."""
        try:
            formula = read(text)
            written = any(isinstance(x, Literal) and x.unit for x in formula.nodes())
            return self._measure(formula) if written else None
        except Error:
            return None

    def _measure(self, formula: Formula) -> Unit | None:
        found = parse(formula.source, UnitScope.of(self, formula))
        return check_units(found, None, self.mechanism.known_units())

    def _seen(self, value: Expr, unit: str) -> Expr:
        """Return a value in an SI unit as texts see it."""
        return value if self.system is MKS or unit == "?" else value * self.factor(unit)

    def lookup(self, kind: str, name: str) -> Any:
        """Return what the name stands for; a name that is not known becomes a parameter.

        Where the model declares its parameters, that is None.
        """
        found = self.known(kind, name)
        if found is not None or kind != "value" or self.mechanism.declared_only:
            return found
        return self.mechanism.parameter(name)

    def known(self, kind: str, name: str) -> Any:
        """Return what the name stands for, or None where it is not known; nothing is made."""
        m = self.mechanism
        if kind == "function":
            return self._functions().get(name) or m.functions.get(name)
        if kind == "direction":
            return self._axis(name)
        if kind == "reference":
            return m.variables.get(name)
        if name in self.lazy:
            return self._seen(self.lazy[name](), "m/s" if name == "v" else "m")
        for table in (m.parameters, m.inputs, m.coordinates):
            if name in table:
                return self._seen(table[name], m.units.get(name, "?"))
        found = m.points.get(name) or m.link_or_body(name)
        if found is not None:
            return found
        if name == "t":
            return m.time
        return self._derived(name)

    def _derived(self, name: str) -> Any:
        """Return an automatic point, an axis, a speed, an acceleration, or a load for `fm`."""
        m = self.mechanism
        if name == "n":
            return m.ground
        point = m.automatic_point(name)
        if point is not None:
            return point
        axis = self._axis(name) if "." in name else None
        if axis is not None:
            return axis
        if m.has_speed_name(name):
            for speed, rate in m.kinematics().accelerations.items():
                if name in (speed.name, rate.name):
                    unit = m.units.get(speed.name, "?")
                    return self._seen(speed if name == speed.name else rate, unit)  # s are s
        return next((load for load in self._loads() if load.name == name), None)

    def _loads(self) -> list[Force | Moment]:
        return [*self.mechanism.forces, *self.mechanism.moments]

    def _axis(self, name: str) -> Vector | None:
        stem, letter = name.rsplit(".", 1) if "." in name else (name[:-1], name[-1:])
        if letter not in _LETTERS:
            return None
        m = self.mechanism
        found = m.ground if stem == "n" else m.link_or_body(stem)
        return None if found is None else as_point(found).axes[_LETTERS[letter]]

    def names(self, kind: str) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        m = self.mechanism
        if kind == "function":
            return [*self._functions(), *m.functions]
        if kind == "reference":
            return m.variables
        if kind == "direction":
            return [f"{b}{k}" for b in ("n", *m.bodies) for k in "123"]
        loads = (load.name for load in self._loads())
        rates = (f"{q}_dot" for q in m.coordinates)
        places = (f"{b}{end}" for b in m.bodies for end in ("0", "cm"))
        declared = (*self.lazy, *m.parameters, *m.inputs, *m.coordinates, *m.points, *m.bodies)
        return [*declared, *rates, *places, *loads]

    def _functions(self) -> dict[str, Callable[..., object]]:
        m = self.mechanism

        def part(value: object) -> object:
            """Return the point or body that has the name of a coordinate."""
            if isinstance(value, Expr) and value.op == "scale":  # as texts see it
                value = value.args[0]
            if isinstance(value, Expr) and value.op == "sym":
                return m.points.get(value.name) or m.link_or_body(value.name) or value
            return value

        def point(value: object) -> Point:
            value = part(value)
            if isinstance(value, Body):
                return value.origin
            if not isinstance(value, Point):
                raise MechanismError(f"{value} is not a point")
            return value

        def pos(first: object, second: object = None) -> object:
            start = m.origin if second is None else point(second)
            return (point(first).position - start.position) * self._seen(ONE, "m")

        def vel(first: object, second: object = None, seen_from: object = None) -> object:
            start = m.origin if second is None else point(second)
            found = point(first).velocity - start.velocity
            if seen_from is not None:
                turning = as_point(body_part(seen_from)).body.omega
                found = found - (turning ^ (point(first).position - start.position))
            return found * self._seen(ONE, "m/s")

        def body_part(value: object) -> Body | Point:
            value = part(value)
            if not isinstance(value, Body | Point):
                raise MechanismError(f"{value} is not a body")
            return value

        def rot(body: object) -> object:
            return as_point(body_part(body)).body.omega

        def fm(name: object) -> object:
            wanted = getattr(name, "name", name)
            magnitudes = {f.name: self._seen(f.magnitude, "N") for f in m.forces}
            magnitudes.update((t.name, self._seen(t.magnitude, "N*m")) for t in m.moments)
            if wanted in magnitudes:
                return magnitudes[wanted]
            raise MechanismError(f"{name} is not a force or moment of {m.name!r}")

        def dxdt(x: object) -> object:
            if not isinstance(x, Vector | Expr):
                raise MechanismError(f"{x} has no time derivative")
            return m.kinematics().derivative(x)

        return {"pos": pos, "vel": vel, "rot": rot, "fm": fm, "dxdt": dxdt}


@dataclass(frozen=True, slots=True)
class UnitScope:
    """What the units of a text show: names and written units are known, plain numbers are not.

    In a text without names a number is a number: `2*10 in` is a length.
    """

    scope: MechanismScope
    plain: bool

    @staticmethod
    def of(scope: MechanismScope, formula: Formula) -> UnitScope:
        """Return the scope in which the units of a formula are looked up."""
        return UnitScope(replace(scope, system=MKS), not formula.names())

    def literal(self, number: Expr, unit: Unit | None) -> Expr:
        """Return a number as one of unknown unit, or with the unit that is written after it."""
        if unit is not None:
            return number * _measured(str(unit), str(unit))
        return number if self.plain or number in (ONE, -ONE) else _measured(f"_{number}", "?")

    def lookup(self, kind: str, name: str) -> Any:
        """Return what the name stands for, as far as its unit goes."""
        if kind == "function" and name in _MEASURES:
            return lambda *_: self._vector(name, _MEASURES[name])
        if kind == "function" and name == "dxdt":
            return lambda x: self._unknown(x)
        if kind == "value" and name in self.scope.lazy:
            return _measured(name, "m/s" if name == "v" else "m")
        found = self.scope.known(kind, name)
        unknown = kind == "reference" or found is self.scope.mechanism.time
        return self._unknown(found) if unknown else found

    def names(self, kind: str) -> Iterable[str]:
        """Return the names that are known."""
        return self.scope.names(kind)

    def _unknown(self, value: Any) -> Any:
        scalar = not isinstance(value, Vector)
        return _measured("unknown", "?") if scalar else self._vector("unknown", "?")

    def _vector(self, name: str, unit: str) -> Vector:
        parts = [_measured(f"{name}{k}", unit) for k in range(3)]
        return self.scope.mechanism.ground.frame.vector(*parts)


_MEASURES = {"pos": "m", "vel": "m/s", "rot": "rad/s"}


def _measured(name: str, unit: str) -> Expr:
    word = re.sub(r"\W", "_", name)
    return symbol(word if word[0].isalpha() else f"_{word}", owner="units", unit=unit)


def _snapped(value: Expr) -> Expr:
    """Return an expression without factors that are 1 but for rounding."""
    offset, terms = sum_terms(value)
    return linear_combination([(_whole(c), x) for c, x in terms], offset)


def _whole(c: Number) -> Number:
    return round(c) if isinstance(c, float) and abs(abs(c) - 1) < 1e-14 else c
