"""Placeholders in the strings of a text model: `${prefix}`, `${i}`, `${i - 1}`, `${at}`.

What stands in the braces is a name, or whole-number arithmetic on names whose values are whole
numbers. A string that is nothing but a placeholder takes the value as it is, a list too; elsewhere
the value is written into the string. In an expression it is put in parentheses unless it is a
number or a name, so that `2*${L}` with L = "a + b" means 2*(a + b).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from linkwright.algebra import ExprError, as_expr
from linkwright.algebra.language import SymbolScope, parse
from linkwright.base.errors import Error, InputError

_PLACEHOLDER = re.compile(r"\$\{([^${}\n]*)\}")
_PLAIN = re.compile(r"[\w.]*|#\w+|\[\w+\]")


def is_placeholder(text: str) -> bool:
    """Whether a string is one placeholder and nothing else.

    >>> is_placeholder("${at}"), is_placeholder("${i}*L")
    (True, False)
    """
    return _PLACEHOLDER.fullmatch(text) is not None


def fill(text: str, values: Mapping[str, Any], *, expression: bool = True) -> Any:
    """Return a string with its placeholders replaced.

    >>> fill("${i}*${L}", {"i": 2, "L": "a + b"})
    '2*(a + b)'
    >>> fill("link${i - 1}", {"i": 2}), fill("${at}", {"at": [0, 0, "h"]})
    ('link1', [0, 0, 'h'])
    """
    if "${" not in text:
        return text
    whole = _PLACEHOLDER.fullmatch(text)
    if whole is not None:
        value = _value(whole[1], values)
        return str(value) if isinstance(value, int) and not expression else value
    filled = _PLACEHOLDER.sub(lambda match: _written(match, values, expression), text)
    if "${" in filled:
        raise InputError(f"a placeholder in {text!r} is not closed", remedy="write it as ${name}")
    return filled


def whole_number(value: object, values: Mapping[str, Any]) -> int:
    """Return a whole number that is given as such, or by an expression of whole numbers.

    >>> whole_number("n + 1", {"n": 2}), whole_number(3, {})
    (3, 3)
    """
    if isinstance(value, str):
        inner = _PLACEHOLDER.fullmatch(value)
        found = _value(value if inner is None else inner[1], values)
    else:
        found = value
    if isinstance(found, bool) or not isinstance(found, int):
        raise InputError(f"{value!r} is not a whole number")
    return found


def _written(match: re.Match[str], values: Mapping[str, Any], expression: bool) -> str:
    value = _value(match[1], values)
    if isinstance(value, list):
        raise InputError(f"{match[0]} is a list, which can only stand alone")
    text = str(value)
    if not expression or match[1].strip() == "prefix" or _PLAIN.fullmatch(text):
        return text
    return f"({text})"


def _value(inner: str, values: Mapping[str, Any]) -> Any:
    name = inner.strip()
    if name in values:
        return values[name]
    numbers = {k: as_expr(v) for k, v in values.items() if type(v) is int}
    try:
        found = parse(name, SymbolScope(numbers))
    except (ExprError, Error) as error:
        known = ", ".join(sorted(values)) or "none"
        raise InputError(
            f"the placeholder ${{{inner}}} has no value: {getattr(error, 'what', error)}",
            remedy=f"known are {known}",
        ) from error
    if found.op == "num" and isinstance(found.data, int):
        return int(found.data)
    raise InputError(f"the placeholder ${{{inner}}} is not a whole number")
