"""Numbers that people give: a number, or a text with a unit such as "30 deg" or "9.81 m/s^2"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from linkwright.algebra.units.parse import parse_unit
from linkwright.base.errors import InputError, UnitError
from linkwright.base.reprs import brief

Amount: TypeAlias = float | str
"""A number, or a text of a number and a unit."""

_AMOUNT = re.compile(
    r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*\{?\s*(?P<unit>[^{}]*?)\s*\}?\s*\Z"
)


def amount(value: object, what: str, unit: str = "?") -> float:
    """Return a given number; a text with a unit is converted.

    >>> amount("90 deg", "the angle", "rad")
    1.5707963267948966
    >>> amount("10 in", "the length"), amount(3, "the count")
    (0.254, 3.0)
    """
    if isinstance(value, str):
        return _converted(value, what, unit)
    if not isinstance(value, bool | bytes):
        try:
            return float(value)  # type: ignore[arg-type] # what has no number is told below
        except (TypeError, ValueError, OverflowError):
            pass
    raise InputError(
        f"{what} is {brief(value)}, which is not a number",
        remedy=f"give a number, or {_example(unit)}",
    )


def _example(unit: str) -> str:
    """Return a text with a unit, as one could give it here."""
    if unit in ("?", "1", "-", ""):
        return '"0.5"'
    return '"30 deg"' if unit == "rad" else f'"0.5 {unit}"'


def _converted(text: str, what: str, unit: str) -> float:
    found = _AMOUNT.match(text)
    number = math.nan if found is None else float(found["number"])
    if found is None or not math.isfinite(number):
        raise InputError(
            f"{what} is {brief(text)}, which is not a number with or without a unit",
            remedy=f"give a number, or a text such as {_example(unit)}",
        )
    if not found["unit"]:
        return number
    try:
        given = parse_unit(found["unit"])
    except UnitError as error:
        raise UnitError(f"{what}: {error}") from None
    wanted = given.si if unit == "?" else parse_unit(unit)
    if not given.stands_for(wanted):
        raise UnitError(f"{what} is in {unit}, so {brief(text)} does not fit")
    return number * given.to(wanted)


def amounts(
    given: object,
    what: str,
    unit_of: Callable[[str], str] = lambda _: "?",
) -> dict[str, float]:
    """Return numbers by name; what is not a mapping from names to numbers is rejected.

    >>> amounts({"rod": "180 deg"}, "initial", lambda name: "rad")
    {'rod': 3.141592653589793}
    """
    return {
        name: amount(value, f"{what} of {name!r}", unit_of(name))
        for name, value in by_name(given, what).items()
    }


def by_name(given: object, what: str) -> Mapping[str, Any]:
    """Return a mapping by name as it is, nothing for None; anything else is rejected.

    >>> by_name(None, "values")
    {}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError(
            f"{what} maps names to numbers, which {brief(given)} does not",
            remedy=f"{what}={{'name': 0.3}}",
        )
    return given


def span(value: object, what: str) -> float:
    """Return a time in seconds: a number, or a text such as "200 ms".

    >>> span("200 ms", "the end time")
    0.2
    """
    return amount(value, what, "s")
