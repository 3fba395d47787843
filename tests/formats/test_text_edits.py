"""Edits of text models: one change, and every other byte as it was."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from linkwright.base.errors import InputError
from linkwright.formats.text.edits import with_table, with_value, without_table
from linkwright.formats.text.positions import Path, scan
from tests.seeds import cases

TEXTS = {
    name: files("linkwright.models").joinpath("text", name).read_text(encoding="utf-8")
    for name in ("ref6.toml", "slider-crank.toml", "servo-arm.toml")
}
ODD = """# odd, but TOML
a = 1   # one
'b c' = "x # y" # text
list = [1, # first
  2]
run = { until = 8, step = 0.1 }

[t] # table
"k" = '''
long'''
e = 1e-3
[t.inner]
z = true

# about the first
[[body]]
name = "b"
[[body]] # second
name = "c"
at = [ 1,2, 3 ]
# the end"""
TEXTS["odd.toml"] = ODD
TEXTS["crlf.toml"] = ODD.replace("\n", "\r\n")


@pytest.mark.parametrize("name", cases(TEXTS, daily=["slider-crank.toml", "crlf.toml"]))
def test_any_value_can_be_replaced_alone(name: str) -> None:
    text = TEXTS[name]
    found = scan(text)
    plain = text.replace("\r\n", "\n")
    paths = [p for p in found.values if p[:-1] in (*found.headers, ()) and isinstance(p[-1], str)]
    for path in paths:
        made = with_value(text, path, "changed")
        inside: Any = tomllib.loads(made)
        for part in path:
            inside = inside[part]
        assert inside == "changed"
        start, end = found.values[path], found.ends[path]
        assert made.replace("\r\n", "\n") == plain[:start] + '"changed"' + plain[end:]
        gone = with_value(text, path, None)
        lines = iter(text.splitlines(True))
        assert all(line in lines for line in gone.splitlines(True))  # in order, some left out


@pytest.mark.parametrize("name", TEXTS)
def test_tables_come_and_go(name: str) -> None:
    text = TEXTS[name]
    for path in [p for p in scan(text).headers if len(p) == 2 and isinstance(p[1], int)]:
        kind, k = str(path[0]), int(path[1])
        record = dict(tomllib.loads(text)[kind][k])
        record = {key: value for key, value in record.items() if not isinstance(value, dict)}
        more = with_table(text, kind, record, after=path)
        back = without_table(more, (kind, k + 1))
        assert tomllib.loads(back) == tomllib.loads(text)
        assert back.split() == text.split()
        less = tomllib.loads(without_table(text, path)).get(kind, [])
        assert len(less) == len(tomllib.loads(text)[kind]) - 1


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("new",), 1, "new = 1"),
        (("t", "new"), 1, "new = 1"),
        (("body", 1, "mass"), "2 kg", 'mass = "2 kg"'),
        (("run", "until"), 9, "run = { until = 9, step = 0.1 }"),
        (("run", "every"), 2, "run = { until = 8, step = 0.1, every = 2 }"),
        (("gravity", "along"), "-y", 'along = "-y"'),
    ],
)
def test_keys_are_added_where_they_belong(path: Path, value: Any, line: str) -> None:
    for text in (ODD, TEXTS["crlf.toml"], ODD + "\n"):
        made = with_value(text, path, value)
        assert line in made.splitlines()
        inside: Any = tomllib.loads(made)
        for part in path:
            inside = inside[part]
        assert inside == value
        assert [x for x in text.split() if x not in made.split()] in ([], ["8,"], ["0.1"])


def test_what_cannot_be_edited_in_place_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot be edited.*\[R104\]"):
        with_value("run.until = 8\n", ("run", "step"), 1)
    with pytest.raises(InputError, match=r"cannot be edited.*\[R104\]"):
        without_table('body = [{ name = "b" }]\n', ("body", 0))
