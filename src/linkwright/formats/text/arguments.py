"""The arguments of blocks as text: one `ArgumentForm` for each type that a signature names.

What a block is made with is said once, in its signature. `form_of` turns a type hint into how such
a value stands in a text model: what it is in words, its JSON schema, how it is checked, and the
ways between the value in the text and the argument. A type without a form (a function, say) has no
place in a text.
"""

from __future__ import annotations

import collections.abc as abc
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, PlainValidator, WithJsonSchema

from linkwright.algebra import Expr, Lookup1D, Lookup2D, Vector
from linkwright.algebra.printers import text
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Rate, Sampled, Ticks, exact, sampled
from linkwright.formats.text.placeholders import is_placeholder, whole_number
from linkwright.formats.text.values import (
    check_direction,
    check_expression,
    check_text,
    constant,
    wrong,
)
from linkwright.mechanism import Body, Mechanism, Point

Table = Lookup1D | Lookup2D


class KnownNames(Protocol):
    """What arguments in a text may name: tables of the model, and members that stand before."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the System, whose names expressions use."""

    def member(self, name: str) -> Block:
        """Return the block of a member that stands before."""

    def member_or_body(self, name: str) -> Block | str:
        """Return the block of a member that stands before, or the name of a body as it is."""

    def table(self, name: str) -> Table:
        """Return a table of the model by its name."""


class ArgumentNames(Protocol):
    """Names for what arguments are given as things."""

    def table_name(self, table: Table) -> str:
        """Return the name of a table, which becomes one of the model."""

    def member_name(self, block: Block) -> str:
        """Return the name under which a block is a member."""

    def place(self, place: Point | Body | str) -> str:
        """Return the name of a point or body."""

    def direction(self, vector: Vector) -> Any:
        """Return a direction as text or components."""


class Unwritable(InputError):
    """An argument that has no place in a text."""


def _same(value: Any, names: object) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class ArgumentForm:
    """How values of a type stand in a text."""

    words: str  # what they are
    schema: Mapping[str, Any]  # their JSON schema
    check: Callable[[Any], Any]  # returns a value of the text, or raises what is wrong with it
    # from the value in the text to the argument
    read: Callable[[Any, KnownNames], Any] = field(default=_same)
    # from the argument to the value in the text, or raises `Unwritable`
    write: Callable[[Any, ArgumentNames], Any] = field(default=_same)

    def annotations(self, doc: str) -> tuple[Any, ...]:
        """Return the annotations of a key that has values of this form."""
        checks = (PlainValidator(self.check), WithJsonSchema(dict(self.schema)), self.words)
        return (*checks, Field(description=doc.rstrip(".")))

    @property
    def is_table(self) -> bool:
        """Whether its values are tables."""
        return self.schema.get("type") == "object"


def _refused(value: Any) -> Unwritable:
    return Unwritable(f"{str(value)[:60]!r} cannot be written as text")


# -- single values ---------------------------------------------------------------------------------
_NUMBER = {"type": ["number", "string"]}


def _check_number(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return value
    return check_expression(value)


def _write_number(value: Any, names: ArgumentNames) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _refused(value)
    return int(value) if isinstance(value, Integral) else float(value)


def _read_number(value: Any, names: KnownNames) -> Any:
    return constant(value) if isinstance(value, str) else value


def _check_whole(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong("a whole number is needed here")
    return value


def _check_truth(value: Any) -> Any:
    if not isinstance(value, bool) and not (isinstance(value, str) and is_placeholder(value)):
        raise wrong("true or false is needed here")
    return value


def _write_text(value: Any, names: ArgumentNames) -> str:
    if not isinstance(value, str):
        raise _refused(value)
    return value


def _write_expression(value: Any, names: ArgumentNames) -> Any:
    if isinstance(value, Expr):
        number = value.data if value.op == "num" else None
        return number if isinstance(number, int | float) else text(value)
    return value if isinstance(value, str) else _write_number(value, names)


def _write_direction(value: Any, names: ArgumentNames) -> Any:
    if isinstance(value, Vector):
        return names.direction(value)
    return value if isinstance(value, str) else _write_list(NUMBER, value, names)


def _write_place(value: Any, names: ArgumentNames) -> str:
    if not isinstance(value, Point | Body | str):
        raise _refused(value)
    return names.place(value)


def _write_member(value: Any, names: ArgumentNames) -> str:
    if not isinstance(value, Block):
        raise _refused(value)
    return names.member_name(value)


def _read_member_or_body(value: Any, names: KnownNames) -> Any:
    return names.member_or_body(value)


def _write_member_or_body(value: Any, names: ArgumentNames) -> str:
    return (_write_member if isinstance(value, Block) else _write_place)(value, names)


def _write_table(value: Any, names: ArgumentNames) -> str:
    if not isinstance(value, Lookup1D | Lookup2D):
        raise _refused(value)
    return names.table_name(value)


NUMBER = ArgumentForm("number", _NUMBER, _check_number, _read_number, _write_number)
WHOLE = ArgumentForm(
    "whole number",
    {"type": ["integer", "string"]},
    _check_whole,
    lambda value, names: whole_number(value, {}),
    _write_number,
)
TRUTH = ArgumentForm("`true` or `false`", {"type": "boolean"}, _check_truth)
TEXT = ArgumentForm("text", {"type": "string"}, check_text, write=_write_text)
EXPRESSION = ArgumentForm("expression", _NUMBER, check_expression, write=_write_expression)
DIRECTION = ArgumentForm(
    "direction", {"type": ["string", "array"]}, check_direction, write=_write_direction
)
PLACE = ArgumentForm("point", {"type": "string"}, check_text, write=_write_place)
BODY = ArgumentForm("body", {"type": "string"}, check_text, write=_write_place)
MEMBER = ArgumentForm(
    "name of a member before it",
    {"type": "string"},
    check_text,
    lambda value, names: names.member(value),
    _write_member,
)
MEMBER_OR_BODY = ArgumentForm(
    "name of a member before it, or body",
    {"type": "string"},
    check_text,
    _read_member_or_body,
    _write_member_or_body,
)
TABLE = ArgumentForm(
    "name of a `[[table]]`",
    {"type": "string"},
    check_text,
    lambda value, names: names.table(value),
    _write_table,
)


def _check_choice(words: Sequence[str], value: Any) -> Any:
    if value not in words and not (isinstance(value, str) and is_placeholder(value)):
        raise wrong(f"one of {', '.join(words)} is needed here")
    return value


def _choice_of(words: Sequence[str]) -> ArgumentForm:
    return ArgumentForm(
        " or ".join(f"`{word}`" for word in words),
        {"type": "string", "enum": list(words)},
        partial(_check_choice, words),
        write=_write_text,
    )


# -- arrays, lists and tables ----------------------------------------------------------------------
def _check_array(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_check_array(x) for x in value]
    return _check_number(value)


def _read_array(value: Any, names: KnownNames) -> Any:
    if isinstance(value, list):
        return [_read_array(x, names) for x in value]
    return value if _of_time(value) else _read_number(value, names)


def _of_time(value: Any) -> bool:
    """Whether an entry is a text about the time `t`, which blocks read by themselves."""
    return isinstance(value, str) and re.search(r"\bt\b", value) is not None


def _write_array(value: Any, names: ArgumentNames) -> Any:
    if isinstance(value, list | tuple):
        return [_write_array(x, names) for x in value]
    if _of_time(value):
        return value
    if isinstance(value, str | Mapping):
        raise _refused(value)
    try:
        return np.asarray(getattr(value, "gain", value), dtype=float).tolist()
    except (TypeError, ValueError):
        raise _refused(value) from None


ARRAY = ArgumentForm(
    "number, or lists of them", {"type": ["number", "array"]}, _check_array, _read_array,
    _write_array,
)  # fmt: skip


def _check_list(inner: ArgumentForm, value: Any) -> Any:
    if isinstance(value, str) and is_placeholder(value):
        return value
    if not isinstance(value, list | tuple):
        raise wrong(f"a list of {_many(inner.words)} is needed here")
    return [inner.check(x) for x in value]


def _write_list(inner: ArgumentForm, value: Any, names: ArgumentNames) -> list[Any]:
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise _refused(value)
    return [inner.write(x, names) for x in value]


def _many(words: str) -> str:
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words.removesuffix('s')}s"


def _list_of(inner: ArgumentForm) -> ArgumentForm:
    return ArgumentForm(
        f"list of {_many(inner.words)}",
        {"type": "array", "items": inner.schema},
        partial(_check_list, inner),
        lambda value, names: [inner.read(x, names) for x in value],
        partial(_write_list, inner),
    )


def _check_table(inner: ArgumentForm, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise wrong(f"a table of {_many(inner.words)} by name is needed here")
    return {str(k): inner.check(x) for k, x in value.items()}


def _write_mapping(inner: ArgumentForm, value: Any, names: ArgumentNames) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _refused(value)
    return {str(k): inner.write(x, names) for k, x in value.items()}


def _table_of(inner: ArgumentForm) -> ArgumentForm:
    return ArgumentForm(
        f"table of {_many(inner.words)} by name",
        {"type": "object", "additionalProperties": dict(inner.schema)},
        partial(_check_table, inner),
        lambda value, names: {k: inner.read(x, names) for k, x in value.items()},
        partial(_write_mapping, inner),
    )


# -- rates -----------------------------------------------------------------------------------------
_RATES = ("hertz", "period", "ticks")


def _check_rate(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return check_expression(value)
    given = [key for key in _RATES if key in value]
    if len(given) != 1 or set(value) - {*_RATES, "offset"}:
        raise wrong("a rate is a number (Hz) or a table of hertz, period or ticks, and offset")
    return {str(k): check_expression(x) for k, x in value.items()}


def _read_rate(value: Any, names: KnownNames) -> Rate:
    if not isinstance(value, Mapping):
        return sampled(_read_number(value, names))
    given = {k: _read_number(x, names) for k, x in value.items()}
    if "ticks" in given:
        return Ticks(int(given["ticks"]), int(given.get("offset", 0)))
    return sampled(**given)


def _write_rate(value: Any, names: ArgumentNames) -> Any:
    if isinstance(value, Ticks):
        return {"ticks": value.every, **({"offset": value.offset} if value.offset else {})}
    if isinstance(value, Real):
        value = sampled(value)  # type: ignore[arg-type]
    if not isinstance(value, Sampled):
        raise _refused(value)
    for key, number in (("hertz", 1 / value.period), ("period", value.period)):
        plain = _plain(number)
        if plain is not None:
            offset = _plain(value.offset)
            if offset is None:
                break
            if key == "hertz" and not offset:
                return plain
            return {key: plain, **({"offset": offset} if offset else {})}
    raise _refused(value)


def _plain(number: Fraction) -> int | float | None:
    """Return a number that stands for a fraction, where there is one."""
    if number.denominator == 1:
        return int(number)
    return float(number) if exact(float(number)) == number else None


RATE = ArgumentForm(
    "rate: Hz, or a table of `hertz`, `period` (s) or `ticks`, and `offset`",
    {"type": ["number", "string", "object"]},
    _check_rate,
    _read_rate,
    _write_rate,
)


# -- one of several --------------------------------------------------------------------------------
def _check_any(forms: Sequence[ArgumentForm], value: Any) -> Any:
    tables = [form for form in forms if form.is_table]
    if isinstance(value, Mapping) and tables:  # what is wrong inside it says more
        return (tables[0] if "kind" in value else tables[-1]).check(value)
    for form in forms:
        try:
            return form.check(value)
        except ValueError:
            continue
    raise wrong(f"{_one_of(forms)} is needed here")


def _one_of(forms: Sequence[ArgumentForm]) -> str:
    return " or ".join(f"a {form.words}" for form in forms)


def _read_any(forms: Sequence[ArgumentForm], value: Any, names: KnownNames) -> Any:
    for form in forms:
        try:
            form.check(value)
        except ValueError:
            continue
        return form.read(value, names)
    raise InputError(f"{_one_of(forms)} is needed here")


def _write_any(forms: Sequence[ArgumentForm], value: Any, names: ArgumentNames) -> Any:
    for form in forms:
        try:
            return form.write(value, names)
        except Unwritable:
            continue
    raise _refused(value)


def _any_of(forms: Sequence[ArgumentForm]) -> ArgumentForm:
    if len(forms) == 1:
        return forms[0]
    return ArgumentForm(
        " or ".join(form.words for form in forms),
        {"anyOf": [form.schema for form in forms]},
        partial(_check_any, forms),
        partial(_read_any, forms),
        partial(_write_any, forms),
    )


# -- types -----------------------------------------------------------------------------------------
Makers = tuple[Callable[..., Any], ...]


class PartMakers(Protocol):
    """The types whose values are tables with a `kind`, such as surfaces, or other members."""

    def names_member(self, hint: Any) -> bool:
        """Whether values of a type are blocks that are members themselves."""

    def makers(self, hint: Any) -> Makers:
        """Return what makes values of a type; nothing where it is no such type."""

    def form(self, makers: Makers) -> ArgumentForm:
        """Return the form of what one of them makes."""


_PLAIN: dict[Any, ArgumentForm] = {
    float: NUMBER, int: WHOLE, bool: TRUTH, str: TEXT, Any: EXPRESSION, Expr: EXPRESSION,
    Vector: DIRECTION, Point: PLACE, Body: BODY, Lookup1D: TABLE, Lookup2D: TABLE, Sampled: RATE,
}  # fmt: skip
_ARRAYS = typing.get_args(getattr(ArrayLike, "__value__", ArrayLike))
_LEADS = (Sampled, Point, Body, Expr, Vector)
"""Of a union with one of these, the others are ways to say the same."""


def _opened(hint: Any) -> Any:
    """Return what an alias stands for: from Python 3.12 on, NumPy's are objects of their own."""
    return getattr(hint, "__value__", hint)


def form_of(hint: Any, parts: PartMakers) -> ArgumentForm | None:
    """Return the form of a type hint, or None where its values have no place in a text."""
    hint = _opened(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if parts.names_member(hint):
        return MEMBER
    makers = parts.makers(hint)
    if makers:
        return parts.form(makers)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(inside, parts)
    if origin is np.ndarray:
        return ARRAY
    if origin is typing.Literal and all(isinstance(word, str) for word in inside):
        return _choice_of(inside)
    if origin in (list, tuple, abc.Sequence, abc.Iterable):
        inner = form_of(inside[0], parts)
        return None if inner is None else _list_of(inner)
    if origin in (dict, abc.Mapping):
        inner = form_of(inside[1], parts)
        return None if inner is None else _table_of(inner)
    return None


def _union(inside: Sequence[Any], parts: PartMakers) -> ArgumentForm | None:
    rest = [x for x in inside if x is not type(None)]
    if any(parts.names_member(x) for x in rest):
        return MEMBER_OR_BODY if Body in rest else MEMBER
    forms: list[ArgumentForm] = []
    if set(_ARRAYS) <= set(rest):
        forms.append(ARRAY)
        rest = [x for x in rest if x not in _ARRAYS]
    lead = next((x for x in _LEADS if x in rest), None)
    if lead is not None:
        forms.append(_PLAIN[lead])
        rest = [x for x in rest if typing.get_origin(x) is abc.Iterable]
    makers = tuple(maker for x in rest for maker in parts.makers(x))
    if makers:
        forms.append(parts.form(makers))
        rest = [x for x in rest if not parts.makers(x)]
    for x in rest:
        form = form_of(x, parts)
        if form is not None and form not in forms:
            forms.append(form)
    return _any_of(forms) if forms else None
