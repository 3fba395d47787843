"""Numbers of errors: each that is raised is in the table, each in the table is raised."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import linkwright
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.cli.error_codes import ERRORS, NOTE, PARTS, explanation

SOURCE = Path(linkwright.__file__).parent
NUMBERED: tuple[str, ...] = (
    "cli/error_codes.py",
    "sizing/cycle.py",
    "parallel/error_budgets.py",
    "sizing",
    "linear/estimation.py",
    "control/consistency.py",
    "control/covariances.py",
    "control/filter_block.py",
    "control/kalman_filter.py",
    "control/nonlinear_filters.py",
    "control/step_model.py",
    "elements/drives",
    "formats/catalog",
    "sizing/requirements",
    "motion/cycles.py",
    "motion/payloads.py",
    "motion/task_parts.py",
    "motion/tasks.py",
    "robots/joint_loads.py",
    "robots/ik/rates.py",
    "robots/loaded_quantity.py",
    "motion/limits.py",
    "motion/optimal.py",
    "motion/path_limits.py",
    "motion/slowing.py",
    "recording/plot_format.py",
    "robots/identification/balances.py",
    "robots/identification/drives.py",
    "robots/identification/likelihood.py",
    "system/step_models.py",
    "cli/commands/size.py",
    "cli/commands/drives.py",
    "cli/payloads.py",
    "sizing/report.py",
    "formats/text/tasks.py",
    "cli/commands/require.py",
    "linear/cuts.py",
    "linear/frequency.py",
    "linear/describing_functions.py",
    "linear/limit_cycle_maps.py",
    "linear/limit_cycles.py",
    "linear/nonlinearities.py",
    "linear/orbits.py",
    "linear/responses.py",
    "linear/swept_sine.py",
    "heritage/dialogue",
    "heritage/joint_prints.py",
    "linear/drive_filter.py",
    "formats/text/edits.py",
)
"""Files, or folders, in which every error that is raised carries a number."""


def _files(places: tuple[str, ...]) -> list[Path]:
    found = [
        f
        for p in places
        for f in ([SOURCE / p] if p.endswith(".py") else (SOURCE / p).rglob("*.py"))
    ]
    assert all((SOURCE / p).exists() for p in places)
    return found


def _codes(tree: ast.AST) -> list[str]:
    """The numbers that calls are given: `code="R101"`."""
    return [
        k.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for k in node.keywords
        if k.arg == "code" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
    ]


def test_numbers_that_are_raised_and_numbers_of_the_table_are_the_same() -> None:
    texts = [f.read_text(encoding="utf-8") for f in _files((".",))]
    trees = [ast.parse(text) for text in texts if 'code="R' in text]
    raised = {c for tree in trees for c in _codes(tree) if re.fullmatch(r"R\d+", c)}
    assert raised == set(ERRORS)


def test_each_number_stands_once_in_the_part_it_belongs_to() -> None:
    """That none stands twice is a rule of TOML; they stand in order, each in a part."""
    assert list(ERRORS) == sorted(ERRORS)
    for code, why in ERRORS.items():
        assert re.fullmatch(r"R[1-8]\d\d", code)
        assert code[1] in PARTS
        assert all(why)


def test_every_error_of_these_parts_has_a_number() -> None:
    bare = [
        f"{file.name}:{node.lineno} raises {ast.unparse(node.exc.func)} without a code"
        for file in _files(NUMBERED)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        if ast.unparse(node.exc.func).endswith(("Error", "unknown"))
        if not {k.arg for k in node.exc.keywords} & {"code", None}
    ]
    assert bare == []


def test_what_the_note_says_of_numbers_is_true() -> None:
    """Each part that is listed has numbers; an error without one has a remedy all the same."""
    assert {code[1] for code in ERRORS} == set(PARTS)
    with pytest.raises(InputError) as bare:
        linkwright.load("no-such-model")
    assert bare.value.code is None
    assert bare.value.remedy


def test_an_unknown_number_is_an_error_with_a_number() -> None:
    with pytest.raises(InputError, match=r"there is no error 'R9999'.*\[R101\]"):
        explanation("R9999")


def test_every_number_is_explained_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Check 3."""
    for code, told in ERRORS.items():
        assert main(["tools", "explain", code.lower()]) == 0
        assert capsys.readouterr().out.splitlines() == [f"{code}: {told[0]}", *told[1:]]
    assert main(["tools", "explain", "r101"]) == 0
    assert capsys.readouterr().out.startswith("R101: ")
    assert main(["tools", "explain"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed[1:-1]] == list(ERRORS)
    assert listed[-1] == NOTE
    assert main(["tools", "explain", "R999"]) == 2
    assert "[R101]" in capsys.readouterr().err
