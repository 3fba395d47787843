"""Models as TOML text, in the order of the schema and without what is a default.

Tables that have a short form are written in it; records stand as `[[kind]]`, small tables inside
them as inline tables. Reading the text gives a model that is equal to the one written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.tables import Input, ParameterTable, Record

_FIRST = (
    "format",
    "name",
    "doc",
    "scene",
    "task",
    "arguments",
    "options",
    "small_order",
    "small",
    "large",
    "actuators",
    "parameters",
    "inputs",
    "gravity",
    "platform",
    "run",
    "table",
    "function",
    "component",
    *("ratios", "servos", "real_servos", "vertices", "vision"),
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}


def model_text(model: ModelFile) -> str:
    """Return a model as text, which `parse_model` reads again.

    >>> from linkwright.formats.text.schema import ModelFile
    >>> m = ModelFile(
    ...     format=1, name="m", parameters={"L": 1.5}, body=[{"name": "b", "rotate": "z"}]
    ... )
    >>> print(model_text(m))
    format = 1
    name = "m"
    <BLANKLINE>
    [parameters]
    L = 1.5
    <BLANKLINE>
    [[body]]
    name = "b"
    rotate = "z"
    <BLANKLINE>
    """
    return record_text(model)


def record_text(record: Record) -> str:
    """Return a record as TOML text: plain keys first, then its tables."""
    return "\n".join(_group(record, "")) + "\n"


def _group(group: Record, prefix: str) -> Iterator[str]:
    """Yield the lines of a model or component: plain keys first, since tables end them."""
    given = {
        type(group).model_fields[name].alias or name: value
        for name, value in _ordered(group)
        if value != type(group).model_fields[name].default
    }
    plain = {k: v for k, v in given.items() if not _is_table(k, v)}
    if prefix and (plain or not given):  # else the tables below make the table itself
        yield from ("", f"[{prefix}]")
    for key, value in plain.items():
        yield f"{key_text(key)} = {value_text(value)}"
    for key, value in given.items():
        if key in plain:
            continue
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, list | tuple):
            for record in value:
                yield from ("", f"[[{name}]]", *_pairs(record))
        elif key == "component":
            for part, component in value.items():
                yield from _group(component, f"{name}.{key_text(part)}")
        else:
            yield from ("", f"[{name}]", *_pairs(value))


def _ordered(group: Record) -> Iterator[tuple[str, Any]]:
    fields = type(group).model_fields
    for name in (*(n for n in _FIRST if n in fields), *(n for n in fields if n not in _FIRST)):
        yield name, getattr(group, name)


def _is_table(key: str, value: Any) -> bool:
    if isinstance(value, dict):
        return key != "arguments"
    return isinstance(value, Record) or (
        isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Record)
    )


def _pairs(table: Record | dict[str, Any]) -> list[str]:
    return [f"{key_text(k)} = {value_text(v)}" for k, v in _entries(table)]


def _entries(table: Record | dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(table, dict):
        return list(table.items())
    fields = type(table).model_fields
    names = [*(k for k in ("name",) if k in fields), *(k for k in fields if k != "name")]
    return [
        (fields[k].alias or k, getattr(table, k))
        for k in names
        if fields[k].is_required() or not _same(getattr(table, k), fields[k].default)
    ]


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal and of one type, since 1 is exact and 1.0 is not."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


def key_text(key: str) -> str:
    """Return a key as TOML, in quotes where it must be.

    >>> key_text("a b")
    '"a b"'
    """
    return key if _BARE.fullmatch(key) else _string(key)


def value_text(value: Any) -> str:
    """Return a value as TOML.

    >>> value_text([1, "10 in", True])
    '[1, "10 in", true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(x) for x in value) + "]"
    if isinstance(value, ParameterTable | Input) and value.value is not None:
        entries = _entries(value)
        if not entries or (len(entries) == 1 and entries[0][0] == "value"):
            return value_text(value.value)
    assert isinstance(value, dict | Record)
    inside = ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in _entries(value))
    return "{ " + inside + " }" if inside else "{}"


def _string(text: str) -> str:
    lines = text.count("\n")
    plain = all(c.isprintable() or c == "\n" for c in text)
    if lines > 1 and plain and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''"
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    if ord(c) < 0x20 or ord(c) == 0x7F:
        return f"\\u{ord(c):04X}"
    return c
