"""The page *Files*: every file that people write, made from the records that it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from linkwright.base.lazy import named
from linkwright.cli.commands.schema import FORMATS
from linkwright.formats.schema import Amount, Key, note_of
from linkwright.formats.text.tables import Record
from scripts.book.text_models import default_words, sentence, type_words

_HEAD = """\
# Files that people write

Every file is TOML, and begins with `format = 1`. A number may be a text with a unit of its kind, as
in `"50 ms"` or `"-160 deg"`; a plain one is in the unit that stands here. An unknown key, a number
of another kind or out of its range is an error with file, line, column and the nearest spelling.
`linkwright model schema KIND` prints the JSON schema of a kind for editors.

[Text models](text-models.md) have a page of their own.
"""


def formats() -> dict[str, type[Record]]:
    """Return the table of each format by its name; text models have their own page."""
    return {name: named(place) for name, place in FORMATS.items() if name != "model"}


def page(formats: Mapping[str, type[Record]]) -> str:
    """Return the page of some formats, by name."""
    lines = [_HEAD]
    for name, whole in formats.items():
        lines += [f"## {name}\n", *_section(whole)]
        for key, table in _tables(whole, ""):
            lines += [f"### {name}: `{key}`\n", *_section(table)]
    return "\n".join(lines).rstrip() + "\n"


def _tables(whole: type[Record], above: str) -> Iterator[tuple[str, type[Record]]]:
    """Yield the tables in a table, with their keys from the top of the file."""
    for name, field in whole.model_fields.items():
        key = f"{above}{field.alias or name}"
        for table, many in _records(field.annotation):
            yield (f"[[{key}]]" if many else f"[{key}]"), table
            yield from _tables(table, f"{key}.")


def _records(kind: Any, many: bool = False) -> Iterator[tuple[type[Record], bool]]:
    if isinstance(kind, type) and issubclass(kind, Record):
        yield kind, many
    for part in get_args(kind):
        yield from _records(part, many or get_origin(kind) in (list, tuple))


def _section(table: type[Record]) -> list[str]:
    described = getattr(table, "of_class", table)
    lines = [f"{sentence(described)}\n", "| key | value | default | meaning |", "|---|---|---|---|"]
    for name, field in table.model_fields.items():
        note = note_of(field.metadata)
        words = _amount(field.annotation, note) if isinstance(note, Amount) else ""
        doc = note.doc if isinstance(note, Amount | Key) else field.description or ""
        shown = (f"`{field.alias or name}`", words or type_words(field.annotation))
        lines.append(f"| {' | '.join((*shown, default_words(field), doc))} |")
    return [*lines, ""]


def _amount(kind: Any, note: Amount) -> str:
    """Return how many numbers in which unit, and their range."""
    rows = [x for x in (kind, *get_args(kind)) if get_origin(x) is tuple]
    sizes = get_args(rows[0]) if rows else ()
    count = "numbers" if Ellipsis in sizes else f"{len(sizes)} numbers"
    units = " or ".join(note.unit.split("|"))
    bounds = [f"above {note.above:g}"] if note.above > -math.inf else []
    bounds += [f"from {note.least:g}"] if note.least > -math.inf else []
    bounds += [f"up to {note.most:g}"] if note.most < math.inf else []
    bounds += [" or ".join(f"{x:g}" for x in note.among)] if note.among else []
    what = [count if rows else "number", "" if units in ("1", "?") else units, *bounds]
    return ", ".join(filter(None, what))
