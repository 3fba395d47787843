"""`docs/acceptance.md` lists every check, with tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from scripts.mutants import mutants, run_for

ROOT = Path(__file__).parents[2]
LENGTHS = {"Methods": 57, "Use": 77, "ROBSIM": 66, "Motion server": 57, "SL": 82, "Mounts": 62}
NOT_HELD = {
    "Methods": [],
    "Use": [74],
    "ROBSIM": [],
    "Motion server": [],
    "SL": [],
    "Mounts": [],
}
DIFFERENT = {
    "Methods": [3, 6, 28, 38, 47],
    "Use": [9, 10, 15, 48, 77],
    "ROBSIM": [3, 47, 58, 60, 62],
    "Motion server": [6, 38, 40, 41, 56, 57],
    "SL": [44, 45, 73],
    "Mounts": [35, 44, 60],
}
PHYSICS = 14
FOUND = 46
ORACLES = 13
RUN = ("gcc", "rotctl")  # programs, not packages


@cache
def tables() -> dict[str, list[list[str]]]:
    """Return the cells of each table by the heading above it, its header left out."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in (ROOT / "docs" / "acceptance.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.setdefault(heading, []).append(cells)
    return {title: rows[2:] for title, rows in found.items()}


def named_tests(cell: str) -> list[tuple[str, str]]:
    """Return file and function of each test that a cell names."""
    return re.findall(r"`(tests/\w+/\w+\.py)::(test_\w+)`", cell)


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of the test functions of a file, without running it."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("title", LENGTHS)
def test_every_check_has_a_line(title: str) -> None:
    numbers = [int(row[0]) for row in tables()[title]]
    assert numbers == list(range(1, LENGTHS[title] + 1))
    assert all(row[1] for row in tables()[title])


@pytest.mark.parametrize("title", LENGTHS)
def test_lines_without_a_test_are_those_known_and_say_why(title: str) -> None:
    bare = [row for row in tables()[title] if not named_tests(row[2])]
    assert [int(row[0]) for row in bare] == NOT_HELD[title]
    assert all(row[2] == "—" and row[3] for row in bare)


@pytest.mark.parametrize("title", LENGTHS)
def test_lines_that_are_met_in_another_way_are_those_known(title: str) -> None:
    told = [int(row[0]) for row in tables()[title] if named_tests(row[2]) and row[3]]
    assert told == DIFFERENT[title]


CAPABILITIES = {
    "AUTOSIM": (56, ["part", "no"]),
    "ROBSIM and JNTMOD": (58, ["part", "no"]),
    "SL": (58, ["part", "no"]),
    "the motion server": (55, ["part", "no"]),
    "Antenna mounts": (59, ["part", "no"]),
}


@pytest.mark.parametrize("document", CAPABILITIES)
def test_capabilities_are_had_with_a_test_or_say_why_not(document: str) -> None:
    count, missing = CAPABILITIES[document]
    rows = tables()[f"Capabilities of {document}"]
    assert [int(row[0]) for row in rows] == list(range(1, count + 1))
    for number, _, state, door, held, remark in rows:
        assert state in ("yes", *missing), number
        assert (state == "no") == (door == "—") == (not named_tests(held)), number
        assert remark or state == "yes", number


def test_all_physics_has_a_test() -> None:
    rows = tables()["Physics that always holds"]
    assert len(rows) == PHYSICS
    assert all(named_tests(row[1]) for row in rows)


def test_everything_that_users_found_has_a_test() -> None:
    rows = tables()["What demanding users found"]
    assert len(rows) == FOUND
    assert all(named_tests(row[1]) for row in rows)


def test_every_independent_computation_is_still_compared_with() -> None:
    rows = tables()["Independent computations"]
    assert len(rows) == ORACLES
    for name, places in rows:
        (oracle,) = re.findall(r"`(\w+)`", name)
        files = re.findall(r"`(tests/\w+/\w+\.py)`", places)
        assert files, oracle
        for file in files:
            text = (ROOT / file).read_text(encoding="utf-8")
            used = rf"\b{oracle}\b" if oracle in RUN else rf"(?m)^\s*(import|from) {oracle}\b"
            assert re.search(used, text), f"{file} does not use {oracle}"


def test_every_test_that_is_named_exists() -> None:
    cells = [cell for rows in tables().values() for row in rows for cell in row]
    missing = [
        f"{file}::{name}"
        for cell in cells
        for file, name in named_tests(cell)
        if not (ROOT / file).is_file() or name not in functions_of(file)
    ]
    assert missing == []
    assert sum(len(named_tests(cell)) for cell in cells) == sum(c.count("::") for c in cells)


def test_every_mutant_is_of_a_check_whose_tests_are_named() -> None:
    """Whether the tests find it is told by `make mutants`."""
    assert [f"{m.check}: {m.test}" for m in mutants() if not run_for(m)] == []
