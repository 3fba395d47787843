"""Every number that commands print in tables has its unit, of SI models and of inch-pound ones.

A column of numbers says its unit in its head, in each cell, in the column `unit`, or in the name
of its row; what has none is in the list below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from linkwright.algebra.units.parse import parse_unit
from linkwright.base.errors import Error
from linkwright.cli import main, tables
from tests.mounts.test_own_mounts import JACK
from tests.random.own_machines import save

NUMBER = r"[-+−]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?"
NUMBERS = re.compile(rf"\(?{NUMBER}(( ?± ?|, ){NUMBER}i?)*\)?( products \(.*\))?")
SCALED = re.compile(rf"{NUMBER}\*[a-z]\w*\.[xyz]\b")  # a part of a vector, as 0.6*n.z
WITHOUT = {"axis", "damping", "condition", "margin", "price", "of", "body"}
"""Heads of numbers that have no unit, or that a catalog gives in its own."""

CRANE = """format = 1
name = "crane"
UNITS[gravity]
[[body]]
name = "post"
joint = "revolute"
axis = "z"
mass = MASS
com = [0.1, 0, 0.3]
inertia = [1e-3, 1e-3, 1e-3]
[[body]]
name = "beam"
parent = "post"
at = [0.2, 0.1, 0.6]
joint = "prismatic"
axis = "x"
mass = "M"
com = [0.3, 0.1, 0]
inertia = [1e-3, 1e-3, 1e-3]
[[force]]
name = "spring"
magnitude = "-50*beam"
at = "beam0"
along = "[post1]"
[[limit]]
coordinate = "beam"
lower = -0.3
upper = 0.5
[parameters]
M = MASS
"""
GO = """format = 1
name = "go"
[[part]]
kind = "move"
to = {post = 0.5, beam = 0.2}
duration = 0.5
"""
COMMANDS: dict[str, Callable[[str, str, str], Sequence[str]]] = {
    "info": lambda model, task, out: ["tools", "info", model],
    "check": lambda model, task, out: ["model", "check", model],
    "describe": lambda model, task, out: ["model", "describe", model],
    "linearize": lambda model, task, out: ["analyze", "linearize", model],
    "simulate": lambda model, task, out: ["simulate", model, "--until", "0.1", "-o", out],
    "require": lambda model, task, out: ["analyze", "require", model, task, "--step", "0.05"],
    "size": lambda model, task, out: ["analyze", "size", model, task, "--step", "0.05", "--pareto"],
}


def is_unit(word: str) -> bool:
    try:
        parse_unit(word.strip("()"))
    except Error:
        return False
    return True


def lacking(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the heads over numbers that have no unit."""
    found = []
    for k, head in enumerate(columns):
        cells = [row[k] for row in rows if row[k]]
        bare = any(NUMBERS.fullmatch(x) or SCALED.search(x) for x in cells if x != "0")
        named = k > 0 and all(row[0] in WITHOUT or is_unit(row[0].split()[-1]) for row in rows)
        headed = " " in head and is_unit(head.split()[-1])
        if bare and not (headed or named or head in WITHOUT or "unit" in columns):
            found.append(head)
    return found


@pytest.mark.parametrize("units", ["", 'units = "in-lb"\n'])
@pytest.mark.parametrize("command", [*COMMANDS, "chart"])
def test_numbers_in_tables_have_units(
    command: str, units: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = []

    def note(
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        title: str = "",
        numbers: Collection[str] = (),
    ) -> None:
        seen.append((columns, rows))

    monkeypatch.setattr(tables, "print_table", note)
    task = str(save(tmp_path, GO, "go.toml"))
    if command == "chart":
        model = str(
            save(tmp_path, JACK.replace('name = "azel"\n', f'name = "azel"\n{units}'), "m.toml")
        )
        over = ["--over", "azimuth=0:90:2", "--over", "elevation=20:60:3"]
        words = ["parallel", "chart", model, *over, "--of", "reach,effort,condition,coordinates"]
    else:
        model = str(
            save(
                tmp_path,
                CRANE.replace("UNITS", units).replace("MASS", "0.02" if units else "4"),
                "m.toml",
            )
        )
        words = [*COMMANDS[command](model, task, str(tmp_path / "o.csv"))]
    assert main(words) in (0, 1)
    assert seen or command == "check"
    for columns, rows in seen:
        assert lacking(columns, rows) == [], (columns, rows)
