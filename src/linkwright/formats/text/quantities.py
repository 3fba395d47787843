"""The numbers of a text model, taken from its units to SI units, where a mechanism is.

A number with a unit is converted and compared with the kind of what it stands for; a plain number
is in the units of the text: SI, or in, lbf and s. Expressions of a text in inches see everything
in inches (`linkwright.mechanism.scope`), so that `5 + K*x` is right whatever 5 is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from linkwright.algebra import Expr, as_expr
from linkwright.algebra.language import SymbolScope, parse, read
from linkwright.algebra.language.syntax import Literal
from linkwright.algebra.units import IN_LB, MKS, UnitSystem, checked_unit, parse_unit
from linkwright.base.errors import InputError
from linkwright.formats.text.components import Flat
from linkwright.formats.text.values import constant, finite_constant
from linkwright.mechanism import Mechanism
from linkwright.mechanism.joints import Joint
from linkwright.mechanism.shapes import Mesh, Shape


def system_of(flat: Flat) -> str:
    """Return the system of units that a model is in where it does not say so."""
    for part in flat["parameters"]:
        try:
            if parse_unit(part.value.unit) == IN_LB.length:
                return IN_LB.name
        except InputError:  # "?", or a unit that is refused where it is entered
            continue
    return MKS.name


@dataclass(frozen=True, slots=True)
class TextQuantities:
    """The numbers of one text, for the mechanism that is made from it."""

    mechanism: Mechanism  # it; while its text is read, its scope is in the system of the text
    system: UnitSystem  # what plain numbers are in
    deduced: Mapping[str, str]  # SI units of names that declare none

    @property
    def inches(self) -> bool:
        """Whether plain numbers are in inches and pounds."""
        return self.system is not MKS

    def constant(self, value: object, unit: str) -> float:
        """Return a constant of the text in an SI unit; names have no place in it."""
        if isinstance(value, str):
            parse(value, SymbolScope({}))
        elif not self.inches:
            return constant(value)  # -0.0 is not 0
        return finite_constant(self.mechanism.expr(value, unit), value)

    def angle(self, value: object) -> Expr:
        """Return an angle, rad."""
        return self.mechanism.expr(value, "rad")

    def declared(self, name: str, value: object, unit: str) -> tuple[float | None, str]:
        """Return the value of a parameter, input or state and its unit, both SI.

        A number is in the unit that is declared. A text that is a number with a unit declares it.
        """
        formula = read(value) if isinstance(value, str) else None
        written = formula is not None and any(getattr(x, "unit", None) for x in formula.nodes())
        if unit == "?" and formula is not None and isinstance(formula.root, Literal):
            unit = formula.root.unit or unit
        if unit == "?" and self.inches:
            if self.deduced.get(name, "?") == "?":
                raise InputError(
                    f"{name!r} has no unit, so its number cannot be taken from inches",
                    remedy='give it one: { value = 12, unit = "in" }; "1" for a plain number',
                )
            unit = self.system.own_text(self.deduced[name])
        si = unit if unit == "?" else MKS.own_text(checked_unit(unit, name))
        if value is None:
            return None, si
        if unit == "?" or written:
            return self.constant(value, si), si
        found = constant(value) * parse_unit(unit).to(parse_unit(si))
        return finite_constant(as_expr(found), f"{value} {unit}"), si

    def output(self, value: object, unit: str) -> tuple[Any, str]:
        """Return the value of a channel and its unit: SI, or one that the text asks for.

        Where names give the unit of the value, it is converted to the one that is declared;
        otherwise it is in that one as it is.
        """
        scope, wanted = self.mechanism.scope, parse_unit(unit) if unit != "?" else None
        found = scope.unit_in(value) if isinstance(value, str) and wanted is not None else None
        if wanted is None or (self.system is MKS and MKS.own_text(unit) == unit):
            return value, unit
        channel = MKS.own_text(unit) if self.system.own_text(unit) == unit else unit
        if found is not None and found.fits(wanted):
            taken = scope.read(value, MKS.own_text(str(found)))
            return taken / parse_unit(channel).factor, channel
        if channel != unit:
            return scope.in_si(scope.read(value), channel), channel
        return value if self.system is MKS else scope.read(value), unit

    def joint(self, joint: Joint) -> Joint:
        """Return a joint whose numbers, which it keeps as they are given, are in SI units."""
        if not self.inches:
            return joint
        lead: Any = joint.advance_per_radian
        if isinstance(lead, tuple):
            lead = (lead[0], self.mechanism.expr(lead[1], "m"))
        elif lead != 0:
            lead = self.mechanism.expr(lead, "m/rad")
        offset = joint.offset if joint.offset == 0 else self.angle(joint.offset)
        return replace(joint, advance_per_radian=lead, offset=offset)

    def shape(self, shape: Shape) -> Shape:
        """Return a shape; a mesh has the lengths of the text, unless its scale says otherwise."""
        if not self.inches or not isinstance(shape, Mesh) or not isinstance(shape.scale, tuple):
            return shape
        return replace(shape, scale=[self.constant(x, "m") for x in shape.scale])
