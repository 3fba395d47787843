"""The kinds of values in a text model: numbers, expressions, directions, lists of them.

Each kind is an annotated type: how a value is checked, its JSON schema, and its name in words for
the documentation. A number keeps its type, since 1 is exact and 1.0 is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from linkwright.algebra import Expr, evaluate
from linkwright.algebra.language import SymbolScope, parse
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.formats.text.placeholders import is_placeholder
from linkwright.mechanism.joint_kinds import JOINTS, OWN_AXIS
from linkwright.mechanism.shapes import color_of

LONGEST_TEXT = 200_000

_NUMBER: dict[str, Any] = {"type": "number"}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_EXPRESSION: dict[str, Any] = {"anyOf": [_NUMBER, _TEXT]}
_TRIPLE: dict[str, Any] = {
    "anyOf": [{"type": "array", "items": _EXPRESSION, "minItems": 3, "maxItems": 3}, _TEXT]
}

_GREATEST = 1e300  # what is greater overflows as soon as it is computed with


def wrong(what: str) -> PydanticCustomError:
    """Return the error for a value that is not of its kind.

    >>> wrong("a number is needed here").message()
    'a number is needed here'
    """
    return PydanticCustomError("wrong_value", "{what}", {"what": what})


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong("a number is needed here")
    if not abs(value) <= _GREATEST:
        raise wrong("a finite number is needed here")
    return value


def check_text(value: object) -> str:
    """Return a text that is not empty, or raise what is wrong."""
    if not isinstance(value, str):
        raise wrong("a text in quotes is needed here")
    if not value.strip():
        raise wrong("the text is empty")
    if len(value) > LONGEST_TEXT:
        raise wrong(f"the text is longer than {LONGEST_TEXT} characters")
    return value


def check_expression(value: object) -> int | float | str:
    """Return a number or an expression in quotes, or raise what is wrong."""
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong("a number or an expression in quotes is needed here")
    return _number(value)


def _triple(value: object) -> list[Any] | str:
    if isinstance(value, str) and is_placeholder(value):
        return value
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise wrong("three components are needed here, as in [0, 0, 1]")
    return [check_expression(x) for x in value]


def check_direction(value: object) -> list[Any] | str:
    """Return a direction: a text or three components, or raise what is wrong."""
    return check_text(value) if isinstance(value, str) else _triple(value)


def _axes(value: object) -> list[Any] | str:
    if isinstance(value, str):
        return check_text(value)
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= 3:
        raise wrong('axes are needed here, as in "xy", [0, 0, 1] or ["x", [0, 1, 1]]')
    return [check_direction(x) if isinstance(x, list | tuple | str) else _number(x) for x in value]


def _inertia(value: object) -> Any:
    if not isinstance(value, list | tuple):
        return check_expression(value)
    if len(value) == 3 and all(isinstance(row, list | tuple) for row in value):
        return [_triple(row) for row in value]
    if len(value) not in (3, 6):
        raise wrong("3 moments, 6 entries (xx, yy, zz, xy, yz, zx) or a 3 by 3 matrix are needed")
    return [check_expression(x) for x in value]


def _matrix(value: object) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise wrong("three rows of three components are needed here")
    return [_triple(row) for row in value]


def _numbers(value: object) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise wrong("a list of two or more numbers is needed here")
    return [_number(x) for x in value]


def _rows(value: object) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise wrong("two or more rows of numbers are needed here")
    return [_numbers(row) for row in value]


def _argument(value: object) -> Any:
    if value == "":
        return value
    return (
        [check_expression(x) for x in value]
        if isinstance(value, list | tuple)
        else check_expression(value)
    )


def _turns(value: object) -> list[Any]:
    words = 'turns are needed here, such as [["x", "90 deg"], ["z", 0.5]]'
    if not isinstance(value, list | tuple):
        raise wrong(words)
    for item in value:
        if not isinstance(item, list | tuple) or len(item) != 2 or item[0] not in ("x", "y", "z"):
            raise wrong(words)
    return [[axis, check_expression(angle)] for axis, angle in value]


def _color(value: object) -> str | list[float]:
    try:
        color = color_of(value if isinstance(value, list | tuple) else check_text(value))
    except InputError as error:
        raise wrong(f"{error.what}; {error.remedy}") from None
    return value if isinstance(value, str) else list(color)


def _joint(value: object) -> str:
    if not isinstance(value, str) or value not in (*JOINTS, *OWN_AXIS):
        known = ", ".join(map(repr, (*JOINTS, *OWN_AXIS)))
        raise PydanticCustomError("literal_error", "one of {expected}", {"expected": known})
    return value


def constant(value: object) -> float:
    """Return the number that a constant expression stands for, in SI units.

    >>> constant("180 deg"), constant(2), constant("10 in")
    (3.141592653589793, 2.0, 0.254)
    """
    if not isinstance(value, str):
        assert isinstance(value, int | float)
        return float(value)
    return finite_constant(parse(value, SymbolScope({})), value)


def finite_constant(formula: Expr, given: object) -> float:
    """Return the number that a formula without names stands for; an infinite one is rejected."""
    found = float(evaluate(formula, {}))
    if not abs(found) <= _GREATEST:
        raise InputError(f"{brief(given)} is {found:g}", remedy="give a finite number")
    return found


def _kind(check: Callable[[Any], Any], words: str, schema: dict[str, Any]) -> Any:
    """Return the annotations of a type of value: its check, its JSON schema, its name in words."""
    return (PlainValidator(check), WithJsonSchema({**schema, "title": words}), words)


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


Number: TypeAlias = Annotated[Any, *_kind(_number, "number", _NUMBER)]
Text: TypeAlias = Annotated[str, *_kind(check_text, "text", _TEXT)]
Name: TypeAlias = Annotated[str, *_kind(check_text, "name", _TEXT)]
Expression: TypeAlias = Annotated[Any, *_kind(check_expression, "expression", _EXPRESSION)]
Place: TypeAlias = Annotated[Any, *_kind(_triple, "3 expressions", _TRIPLE)]
Direction: TypeAlias = Annotated[Any, *_kind(check_direction, "direction", _TRIPLE)]
Axes: TypeAlias = Annotated[Any, *_kind(_axes, "axes", {"type": ["string", "array"]})]
Moments: TypeAlias = Annotated[
    Any,
    *_kind(_inertia, "expression, or 3, 6 or 3x3 of them", {"type": ["string", "number", "array"]}),
]
Matrix: TypeAlias = Annotated[Any, *_kind(_matrix, "3x3 expressions", _list(_TRIPLE))]
Turns: TypeAlias = Annotated[
    Any, *_kind(_turns, "axes and angles", _list({"type": "array", "minItems": 2, "maxItems": 2}))
]
Tint: TypeAlias = Annotated[Any, *_kind(_color, "color", {"type": ["string", "array"]})]
Numbers: TypeAlias = Annotated[Any, *_kind(_numbers, "numbers", _list(_NUMBER))]
Rows: TypeAlias = Annotated[Any, *_kind(_rows, "rows of numbers", _list(_list(_NUMBER)))]
Argument: TypeAlias = Annotated[
    Any, *_kind(_argument, "expression, or a list of them", {"type": ["string", "number", "array"]})
]
_NAMES = [*JOINTS, *OWN_AXIS]
_JOINTS = ", ".join(f'`"{name}"`' for name in _NAMES)
JointName: TypeAlias = Annotated[Any, *_kind(_joint, _JOINTS, {"enum": _NAMES})]
