"""Every format that people write: what its fields say holds for reading, text and JSON schema."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
from pydantic import create_model

from linkwright.base.errors import InputError
from linkwright.formats.schema import Amount, Key
from linkwright.formats.text.document import parse_record
from linkwright.formats.text.edits import with_value
from linkwright.formats.text.tables import Record
from linkwright.formats.text.writer import key_text, value_text
from linkwright.mechanism.shapes import color_of
from linkwright.mounts.seas import WaveSpectrum
from linkwright.mounts.sites import Site
from scripts.book.files import formats, page

FORMATS = formats()
"""All but text models, whose page of documentation is made of their fields."""


CORNERS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
SPECIAL: dict[str, tuple[Any, Any]] = {
    "turn": ([[[1.0, 0.0, 0.0], math.pi / 2]], [["x", 90.0]]),
    "color": (list(color_of("#102030")), "#102030"),
    "points": (CORNERS, CORNERS),
}
"""Of values with checks of their own: as they are read, and in a file."""


def parts(kind: Any) -> Iterator[type[Record]]:
    """Yield the tables in an annotation, and those in them."""
    if isinstance(kind, type) and issubclass(kind, Record):
        yield kind
        for field in kind.model_fields.values():
            yield from parts(field.annotation)
    for part in get_args(kind):
        yield from parts(part)


TABLES = {
    f"{name}.{table.__name__}": table for name, whole in FORMATS.items() for table in parts(whole)
}


def note_of(field: Any) -> Amount | Key | None:
    return next((x for x in field.metadata if isinstance(x, Amount | Key)), None)


def number(note: Amount, unit: str, texts: bool) -> float | str:
    """Return a number that a quantity may have, as a text where it needs its unit."""
    low = max(note.above, note.least)
    found = low + 0.5 if low > -math.inf else 0.25
    found = found if found <= note.most else (low + note.most) / 2
    found = note.among[0] if note.among else found
    return f"{found} {unit.split('|')[-1]}" if texts and not note.bare and unit != "1" else found


def sample(kind: Any, note: Any, texts: bool = True, least: int = 1) -> Any:
    """Return a value of a type as TOML gives it; else as it is read."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return sample(next(x for x in args if x is not NoneType), note, texts, least)
    if origin is Literal:
        return args[0]
    if origin is Annotated:
        bounds = [y.ge for x in args[1:] for y in getattr(x, "metadata", ()) if hasattr(y, "ge")]
        return sample(args[0], note, texts, *bounds)
    if origin is tuple and isinstance(note, Amount):
        units = note.unit.split(", ")
        count = len(units) if args[-1] is Ellipsis else len(args)
        return [number(note, unit, texts) for unit in units * (count // len(units))]
    if origin in (tuple, list):
        return [sample(x, note, texts) for x in args if x is not Ellipsis]
    if origin is not None and issubclass(origin, Mapping):
        return {"x": sample(args[1], note, texts)}
    if isinstance(kind, type) and issubclass(kind, Record):
        return content(kind, texts)
    if isinstance(note, Amount):
        return number(note, note.unit, texts)
    return {str: "x", bool: True, int: least, float: 0.5, Any: 0.5}[kind]


def content(table: type[Record], texts: bool = True) -> dict[str, Any]:
    """Return a table with all of its keys, as a file has them or as they are read."""
    return {
        field.alias or name: SPECIAL[name][texts]
        if name in SPECIAL and (name == "points" or not isinstance(note_of(field), Amount))
        else sample(
            field.annotation,
            note_of(field),
            texts,
            next((x.ge for x in field.metadata if hasattr(x, "ge")), 1),
        )
        for name, field in table.model_fields.items()
    }


def read(table: type[Record], values: Mapping[str, Any]) -> Any:
    """Return a table that stands in a file, each key on a line of its own from the third on."""
    lines = [f"{key_text(key)} = {value_text(value)}" for key, value in values.items()]
    return parsed(table, "\n".join(["format = 1", "[table]", *lines]))


def parsed(table: type[Record], text: str) -> Any:
    """Return the table of a text that holds it alone."""
    whole = create_model("Whole", __base__=Record, format=(int, ...), table=(table, ...))
    record, _ = parse_record(text, whole)
    return record.table  # type: ignore[attr-defined] # of the model that is made here


def plain(value: Any) -> Any:
    if isinstance(value, Record):
        return {
            field.alias or name: plain(getattr(value, name))
            for name, field in type(value).model_fields.items()
        }
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return {k: plain(x) for k, x in value.items()} if isinstance(value, Mapping) else value


def quantities(table: type[Record]) -> dict[str, tuple[Amount, Any]]:
    """Return the quantities of a table that are one number, by key, with their fields."""
    return {
        field.alias or name: (note, field)
        for name, field in table.model_fields.items()
        if isinstance(note := note_of(field), Amount)
        and not isinstance(sample(field.annotation, note), list | dict)
    }


@pytest.mark.parametrize("name", TABLES)
def test_each_field_is_read_back_as_it_was_written(name: str) -> None:
    found = read(TABLES[name], content(TABLES[name]))
    assert plain(found) == content(TABLES[name], texts=False)


@pytest.mark.parametrize("name", TABLES)
def test_a_key_that_is_not_known_is_refused_with_its_line_and_the_nearest(name: str) -> None:
    for k, key in enumerate(content(TABLES[name])):
        if len(key) < 3:
            continue
        values = {x if x != key else f"{x}{x[-1]}": y for x, y in content(TABLES[name]).items()}
        with pytest.raises(
            InputError, match=f"unknown key '{key}{key[-1]}'; did you mean"
        ) as caught:
            read(TABLES[name], values)
        faults = getattr(caught.value, "faults", [caught.value])
        assert 3 + k in [fault.line for fault in faults]


@pytest.mark.parametrize("name", TABLES)
def test_a_key_like_no_other_is_refused_with_all_that_there_are(name: str) -> None:
    with pytest.raises(InputError, match="unknown key 'zzzzzz'") as caught:
        read(TABLES[name], {**content(TABLES[name]), "zzzzzz": 1})
    assert caught.value.remedy == f"there are {', '.join(sorted(content(TABLES[name])))}"


@pytest.mark.parametrize("name", TABLES)
def test_a_quantity_has_its_kind_and_its_range(name: str) -> None:
    for key, (note, _) in quantities(TABLES[name]).items():
        wrong: list[Any] = [True, "much", float("nan"), -math.inf]
        if note.unit != "?":
            wrong.append("1 cd")
        wrong += [note.above] if note.above > -math.inf else []
        wrong += [note.least - 1] if note.least > -math.inf else []
        wrong += [note.most + 1] if note.most < math.inf else []
        wrong += [max(note.among) + 1] if note.among else []
        for value in wrong:
            values = {**content(TABLES[name]), key: value}
            with pytest.raises(InputError) as caught:
                read(TABLES[name], values)
            assert caught.value.line == 3 + list(values).index(key), (key, value)
            assert caught.value.remedy, (key, value)


@pytest.mark.parametrize("name", TABLES)
def test_a_schema_for_editors_tells_unit_default_and_meaning(name: str) -> None:
    schema = TABLES[name].model_json_schema()["properties"]
    for key, field in TABLES[name].model_fields.items():
        note, told = note_of(field), schema[field.alias or key]
        assert note is not None, f"{key} says nothing"
        assert told["description"] == note.doc, key
        if isinstance(note, Amount):
            assert told["unit"] == note.unit, key
        if not field.is_required() and field.default_factory is None:
            usual = plain(field.default)
            assert told.get("default") == usual, key


@pytest.mark.parametrize("name", TABLES)
def test_an_edit_of_a_key_keeps_all_comments_and_is_read(name: str) -> None:
    values = content(TABLES[name])
    lines = [f"{key_text(key)} = {value_text(value)}  # {key}" for key, value in values.items()]
    text = "\n".join(["# first", "format = 1", "[table]  # of all", *lines, "# last"]) + "\n"
    for line, (key, value) in zip(lines, values.items(), strict=True):
        without = with_value(text, ("table", key), None)
        assert without.splitlines() == [x for x in text.splitlines() if x != line]
        again = with_value(without, ("table", key), value)
        added = f"{key_text(key)} = {value_text(value)}"
        assert sorted(again.splitlines()) == sorted([*without.splitlines(), added])
        assert plain(parsed(TABLES[name], again)) == content(TABLES[name], texts=False)


def test_the_page_of_files_is_made_of_their_records() -> None:
    kept = page(FORMATS)
    for name, table in FORMATS.items():
        of_format = kept.partition(f"## {name}\n")[2].partition("\n## ")[0]
        for part in (table, *(x for x in parts(table))):
            for key, field in part.model_fields.items():
                assert f"| `{field.alias or key}` |" in of_format, (name, key)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((np.float32(100), 0.0), "latitude of a site is 100"),
        ((np.int64(100), 0.0), "latitude of a site is 100"),
        ((1.0, 2.0, np.float32(np.nan)), "height of a site is nan"),
        ((math.nan, 0.0), "latitude of a site is nan"),
        (("10", 0), "latitude of a site is '10'"),
        ((None, 0), "latitude of a site is None"),
        (([1.0], 0), r"latitude of a site is \[1.0\]"),
    ],
)
def test_an_object_needs_numbers_within_their_ranges(values: tuple[Any, ...], shown: str) -> None:
    with pytest.raises(InputError, match=shown) as caught:
        Site(*values)
    assert caught.value.remedy


def test_numbers_of_numpy_are_numbers() -> None:
    north, east, height = (np.float32(1), np.int64(2), np.float32(-1))
    good: dict[str, Any] = {"latitude": north, "longitude": east}
    wrong: dict[str, Any] = {"height": height, "period": 10.0}
    assert Site(**good).longitude == 2
    with pytest.raises(InputError, match="the height of a wave spectrum is -1"):
        WaveSpectrum(**wrong)


class Weights(Record):
    """Numbers without a unit, and a row of lengths."""

    share: Annotated[float, Amount("1", "of all")] = 1.0
    at: Annotated[tuple[float, float], Amount("m", "place")] = (0.0, 0.0)


@pytest.mark.parametrize(
    ("values", "what", "remedy"),
    [
        ({"share": "3 kg"}, "table.share: share is in 1, so '3 kg' does not fit", "give a number"),
        ({"at": [0, "3 kg"]}, "table.at[1]: at is in m, so '3 kg' does not fit", "1.5 m"),
        ({"at": [0, True]}, "table.at[1]: at is True, which is not a number", "0.5 m"),
    ],
)
def test_a_wrong_number_is_called_by_its_key(
    values: dict[str, Any], what: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(Weights, values)
    assert caught.value.what == what
    assert caught.value.remedy is not None
    assert remedy in caught.value.remedy
    assert "1.5 1" not in caught.value.remedy
