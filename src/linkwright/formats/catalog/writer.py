"""Writing a catalog as text, from which an equal one is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.fields import FieldInfo

from linkwright.formats.catalog.schema import KINDS, Catalog
from linkwright.formats.schema import Amount, note_of
from linkwright.formats.text.tables import Record
from linkwright.formats.text.writer import key_text, value_text

__all__ = ["catalog_text", "chosen_parts", "entry_lines"]


def catalog_text(catalog: Catalog) -> str:
    """Return a catalog as TOML, with quantities in SI and what is usual left out.

    >>> from linkwright.formats.catalog.reader import parse_catalog, read_catalog
    >>> generic = read_catalog("generic")
    >>> parse_catalog(catalog_text(generic)) == generic
    True
    """
    lines = ["format = 1", f"name = {value_text(catalog.name)}"]
    if catalog.doc:
        lines.append(f"doc = {value_text(catalog.doc)}")
    for kind in (*KINDS, "drive"):
        for name, entry in getattr(catalog, kind).items():
            lines += ["", f"[{kind}.{key_text(name)}]", *_pairs(entry)]
    return "\n".join(lines) + "\n"


def chosen_parts(catalog: Catalog, used: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Return the entries of some names, by kind."""
    return {
        kind: {n: e for n, e in getattr(catalog, kind).items() if n in set(used.get(kind, ()))}
        for kind in KINDS
    }


def entry_lines(kind: type[Record], values: Mapping[str, Any]) -> list[str]:
    """Return the keys of an entry as lines of TOML; numbers are in SI, and get their units.

    >>> from linkwright.formats.catalog.schema import MotorEntry
    >>> entry_lines(MotorEntry, {"R": 5, "J": "0.28 kg*cm^2", "hottest": 130.0})
    ['R = "5 ohm"', 'J = "0.28 kg*cm^2"', 'hottest = 130.0']
    """
    slides = values.get("lead") is not None
    fields = kind.model_fields
    return [
        f"{key} = {_value(value, _units(fields[key]) if key in fields else [''], slides)}"
        for key, value in values.items()
    ]


def _pairs(entry: Record) -> list[str]:
    kind = type(entry)
    values = {key: getattr(entry, key) for key in kind.model_fields}
    told = {k: v for k, v in values.items() if v != kind.model_fields[k].get_default()}
    return entry_lines(kind, told)


def _units(field: FieldInfo) -> list[str]:
    note = note_of(field.metadata)
    return note.unit.split("|") if isinstance(note, Amount) else [""]


def _value(value: Any, units: list[str], slides: bool) -> str:
    if isinstance(value, bool | str):
        return value_text(value)
    if isinstance(value, tuple | list):
        parts = zip(value, units[0].split(", "), strict=True)
        return f"[{', '.join(_value(x, [u], slides) for x, u in parts)}]"
    unit = units[-1] if slides else units[0]
    number = repr(value if isinstance(value, int) else float(value))
    return number if unit in ("", "1") else value_text(f"{number} {unit}")
