"""Compound units without their braces: texts such as `9.81 m/s^2`, which have two readings.

Only one name is the unit of the number before it: `9.81 m/s^2` would be 9.81 m divided by the
square of a symbol `s`, and `3 m^2` the square of 3 m. Neither is what people mean, so a text in
which the unit seems to go on is rejected, whatever its names stand for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra.language.tokens import Token
from linkwright.algebra.units.names import named_unit
from linkwright.algebra.units.parse import parse_unit
from linkwright.base.errors import Error

_POWERS = ("^", "**")
_WHOLE = re.compile(r"[0-9]{1,2}")
_MOST_TOKENS = 60


@dataclass(frozen=True, slots=True)
class Compound:
    """A unit that seems to go on behind its name."""

    unit: str
    rest: str


def compound_after(source: str, tokens: Sequence[Token], first: int) -> Compound | None:
    """Return the compound unit that starts with a bare unit, or None where it ends with its name.

    >>> from linkwright.algebra.language.tokens import tokens
    >>> text = "9.81 m/s^2 + a"
    >>> compound_after(text, tokens(text), 1)
    Compound(unit='m/s^2', rest='/s^2')
    >>> compound_after("2 m/a", tokens("2 m/a"), 1)
    """
    if named_unit(tokens[first].text) is None:
        return None
    start = tokens[first].position
    longest = None
    k = first + 1
    while k < min(len(tokens) - 1, first + _MOST_TOKENS):
        k = _step(source, tokens, k)
        if not k:
            break
        last = tokens[k - 1]
        unit = source[start : last.position + len(last.text)]
        if _is_unit(unit):
            longest = unit
    if longest is None:
        return None
    return Compound(longest, longest[len(tokens[first].text) :])


def _step(source: str, tokens: Sequence[Token], k: int) -> int:
    """Return where the words after the next part of a unit start; 0 where there is no part."""
    token, after = tokens[k], tokens[k + 1]
    if token.kind != "operator":
        return 0
    if token.text == ")":
        return k + 1
    if token.text in _POWERS:
        return _power(tokens, k + 1)
    before, behind = token.position - 1, token.position + 1
    blank = source[before].isspace() or source[behind : behind + 1].isspace()
    if token.text not in ("*", "/") and (token.text != "-" or blank):
        return 0
    k += 1
    while after.text == "(" and after.kind == "operator":
        k += 1
        after = tokens[k]
    if after.kind != "name" or after.quoted or named_unit(after.text) is None:
        return 0
    calls = tokens[k + 1].kind == "operator" and tokens[k + 1].text == "("
    return 0 if calls else k + 1


def _power(tokens: Sequence[Token], k: int) -> int:
    """Return where the words after an exponent start; 0 where it is not a whole number."""
    if tokens[k].text in ("-", "+"):
        k += 1
    return k + 1 if tokens[k].kind == "number" and _WHOLE.fullmatch(tokens[k].text) else 0


def _is_unit(text: str) -> bool:
    try:
        parse_unit(text)
    except Error:
        return False
    return True
