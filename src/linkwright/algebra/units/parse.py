"""Reading the text of a unit: names, products, quotients, powers.

``N*m*s/rad``, ``kg*m^2``, ``m/s**2``, ``in-lb-s²``, ``1/(kg*m)``. A product is written `*`, `·`,
`-` or a blank; operators are taken from left to right, so `a/b*c` is (a/b)*c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from linkwright.algebra.numbers import number
from linkwright.algebra.units.names import PLAIN, PREFIXABLE, named_unit
from linkwright.algebra.units.unit import ONE_UNIT, Unit
from linkwright.base.errors import Error, InputError, suggestion

_TOKEN = re.compile(
    r"""\s*(?:(?P<power>(?:\^|\*\*)\s*(?:(?P<exponent>[+-]?[0-9]+)
             |\(\s*(?P<top>[+-]?[0-9]+)\s*(?:/\s*(?P<bottom>[0-9]+)\s*)?\)))
    |(?P<superscript>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)
    |(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    |(?P<name>g's|°|%|[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]+)
    |(?P<operator>[*·/()-]))""",
    re.VERBOSE,
)
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LONGEST_EXPONENT = 2


@dataclass(slots=True)
class _Level:
    """What has been read inside one pair of parentheses."""

    total: Unit
    last: Unit | None = None
    divide: bool = False
    start: int = 0


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """Return the unit that a text stands for; "1" or an empty text is not a unit at all.

    >>> parse_unit("in-lb/deg").fits(parse_unit("N*m/rad"))
    True
    >>> parse_unit("km/h").to(parse_unit("m/s"))
    0.2777777777777778
    """
    return _Reader(text).read()


def checked_unit(text: str, owner: str) -> str:
    """Return the text of a unit that can be read, or "?"; any other is an error.

    >>> checked_unit("mm", "L1"), checked_unit("?", "L2")
    ('mm', '?')
    """
    if text != "?":
        try:
            parse_unit(text)
        except InputError as error:
            raise InputError(f"the unit of {owner!r}: {error.what}", remedy=error.remedy) from None
    return text


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.levels = [_Level(ONE_UNIT)]
        self.wants_unit = True

    def read(self) -> Unit:
        position = 0
        end = len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                self._fail(f"{self.text[position]!r} has no meaning in a unit", position)
            start = match.start(str(match.lastgroup)) if match.lastgroup else position
            self._take(match, start)
            position = match.end()
        if len(self.levels) > 1:
            self._fail("'(' is not closed", self.levels[-1].start)
        if self.wants_unit and end:
            self._fail("the unit ends where a name is expected", end)
        unit = self._closed(self.levels[0])
        name = self.text.strip()
        return Unit(unit.exponents, unit.scale, unit.pi, name or "1")

    def _take(self, match: re.Match[str], position: int) -> None:
        if match["power"] is not None or match["superscript"] is not None:
            self._power(match, position)
        elif match["name"] is not None:
            self._factor(self._named(match["name"], match.start("name")), match.start("name"))
        elif match["number"] is not None:
            self._factor(self._number(match["number"], position), position)
        else:
            self._operator(match["operator"], match.start("operator"))

    def _number(self, text: str, position: int) -> Unit:
        try:
            value = number(int(text) if text.isdigit() and len(text) < 400 else float(text))
        except Error as error:
            self._fail(error.what, position)
        if value == 0 or value == float("inf"):
            self._fail("the factor of a unit is neither zero nor infinite", position)
        return Unit(ONE_UNIT.exponents, value)

    def _named(self, name: str, position: int) -> Unit:
        unit = named_unit(name)
        if unit is None:
            self._fail(
                f"unknown unit {name!r}",
                position,
                suggestion(name, sorted([*PLAIN, *PREFIXABLE]), "use SI or in-lb units"),
            )
        return unit

    def _factor(self, unit: Unit, position: int) -> None:
        level = self.levels[-1]
        if not self.wants_unit:  # a blank between two names is a product
            self._multiply(level, divide=False)
        level.last = unit
        self.wants_unit = False

    def _power(self, match: re.Match[str], position: int) -> None:
        level = self.levels[-1]
        if self.wants_unit or level.last is None:
            self._fail("a power stands without its unit", position)
        level.last = self._raised(level.last, self._exponent(match, position), position)

    def _exponent(self, match: re.Match[str], position: int) -> Fraction:
        superscript = (match["superscript"] or "").translate(_SUPERSCRIPTS)
        top = superscript or match["exponent"] or match["top"]
        bottom = match["bottom"] or "1"
        if max(len(top.lstrip("+-")), len(bottom)) > _LONGEST_EXPONENT:
            self._fail(f"the exponent has more than {_LONGEST_EXPONENT} digits", position)
        if int(bottom) == 0:
            self._fail("the exponent has the denominator 0", position)
        return Fraction(int(top), int(bottom))

    def _raised(self, base: Unit, exponent: Fraction, position: int) -> Unit:
        try:
            return base**exponent
        except (Error, ArithmeticError):
            self._fail("the factor of the unit is out of range", position)

    def _operator(self, operator: str, position: int) -> None:
        level = self.levels[-1]
        if operator == "(":
            if not self.wants_unit:
                self._multiply(level, divide=False)
            self.levels.append(_Level(ONE_UNIT, start=position))
            self.wants_unit = True
            return
        if self.wants_unit:
            self._fail(f"{operator!r} stands where a unit is expected", position)
        if operator == ")":
            if len(self.levels) == 1:
                self._fail("')' without '('", position)
            inner = self._closed(self.levels.pop())
            self.levels[-1].last = inner
            return
        self._multiply(level, divide=operator == "/")
        self.wants_unit = True

    def _multiply(self, level: _Level, *, divide: bool) -> None:
        """Close the last factor; `divide` says what is done with the next one."""
        level.total = self._closed(level)
        level.last = None
        level.divide = divide

    def _closed(self, level: _Level) -> Unit:
        if level.last is None:
            return level.total
        try:
            return level.total / level.last if level.divide else level.total * level.last
        except (Error, ArithmeticError):
            self._fail("the factor of the unit is out of range", level.start)

    def _fail(self, what: str, position: int, remedy: str | None = None) -> NoReturn:
        raise InputError(f"{what} (in the unit {self.text!r})", column=position + 1, remedy=remedy)
