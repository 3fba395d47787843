"""Units as text, with the names that engineers use: N*m rather than kg*m^2/s^2."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from linkwright.algebra.units.names import PLAIN, PREFIXABLE
from linkwright.algebra.units.unit import (
    ANGLE,
    CURRENT,
    LENGTH,
    MASS,
    ONE_UNIT,
    TEMPERATURE,
    TIME,
    Unit,
)

# Spelled as people say them, where the shortest spelling is not it.
_PREFERRED = (
    "N*s/m",
    "W",
    "Pa",
    "Hz",
    "V",
    "ohm",
    "H",
    "F",
    "V*s",
    "A*s",
    "lbm",
    "g's",
    "rpm",
    "psi",
)


def unit_text(unit: Unit) -> str:
    """Return a unit as text that `parse_unit` reads back.

    >>> from linkwright.algebra.units import parse_unit
    >>> unit_text(parse_unit("kg") * parse_unit("m") / parse_unit("s") ** 2)
    'N'
    >>> unit_text(parse_unit("lbf") * parse_unit("in") / parse_unit("deg"))
    'lbf*in/deg'
    """
    for spelling, preferred in _preferred():
        if preferred == unit:
            return spelling
    for length, force, angle in (
        ("m", "N", "rad"),
        ("in", "lbf", "rad"),
        ("m", "N", "deg"),
        ("in", "lbf", "deg"),
        ("ft", "lbf", "rad"),
        ("ft", "lbf", "deg"),
    ):
        spelled = _in_system(unit, length, force, angle)
        if spelled is not None:
            return spelled
    for name, known in (*PLAIN.items(), *PREFIXABLE.items()):
        if known == unit:
            return name
    return _with_number(unit)


def _preferred() -> Iterator[tuple[str, Unit]]:
    from linkwright.algebra.units.parse import parse_unit

    return ((spelling, parse_unit(spelling)) for spelling in _PREFERRED)


def _with_number(unit: Unit) -> str:
    """Return a number times the SI unit; a power of pi is kept as powers of a degree."""
    factor = unit.scale
    rest = unit.si
    if unit.pi:
        degree = PLAIN["deg"] ** unit.pi
        rest = Unit(rest.exponents, degree.scale, unit.pi)
        factor = Fraction(unit.scale) / Fraction(degree.scale)
    if unit.pi and unit.exponents[ANGLE] != unit.pi:
        factor, rest = unit.factor, unit.si
    text = unit_text(rest)
    return f"{float(factor)!r}*{text}" if text != "1" else repr(float(factor))


def _in_system(unit: Unit, length: str, force: str, angle: str) -> str | None:
    """Return a unit over length, force or mass, s and angle, or None where its factor differs."""
    units = {name: PLAIN.get(name) or PREFIXABLE[name] for name in (length, force, angle)}
    a, b, c = unit.exponents[LENGTH], unit.exponents[MASS], unit.exponents[TIME]
    others = {
        angle: unit.exponents[ANGLE],
        "A": unit.exponents[CURRENT],
        "K": unit.exponents[TEMPERATURE],
    }
    by_force = {force: b, length: a - b, "s": c + 2 * b, **others}
    if _product(by_force, units) != unit:
        return None
    if force == "N":
        by_mass = {"kg": b, length: a, "s": c, **others}
        if _cost(by_mass) < _cost(by_force):
            return _spelled(by_mass)
    return _spelled(by_force)


def _product(exponents: dict[str, int | Fraction], units: dict[str, Unit]) -> Unit:
    result = ONE_UNIT
    for name, exponent in exponents.items():
        if exponent:
            result = result * (units.get(name) or PREFIXABLE[name]) ** exponent
    return result


def _cost(exponents: dict[str, int | Fraction]) -> Fraction:
    return sum((abs(Fraction(e)) for e in exponents.values()), start=Fraction(0))


def _spelled(exponents: dict[str, int | Fraction]) -> str:
    above = [_powered(name, e) for name, e in exponents.items() if e > 0]
    below = [_powered(name, -e) for name, e in exponents.items() if e < 0]
    text = "*".join(above) or "1"
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _powered(name: str, exponent: int | Fraction) -> str:
    if exponent == 1:
        return name
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"
