"""What `make` says where it cannot go on, and the rows that `make bench` prints."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import Row, interleaved
from bench.run import figure, names
from scripts import check_python

ROOT = Path(__file__).resolve().parents[2]


def need_compiler(compiler: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "scripts" / "need_compiler.sh")],
        env={**os.environ, "CC": compiler},
        capture_output=True,
        text=True,
        check=False,
    )


def test_working_compiler_is_accepted_in_silence() -> None:
    done = need_compiler("cc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_missing_compiler_fails_and_names_the_line_to_type() -> None:
    done = need_compiler("no-such-compiler")
    assert done.returncode == 1
    assert "'no-such-compiler' does not work here; type: " in done.stderr


def test_this_interpreter_is_suitable() -> None:
    assert check_python.complaint() is None


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 14)])
def test_unsuitable_interpreter_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = check_python.complaint() or ""
    assert f"is {version[0]}.{version[1]}; install one" in message
    (tmp_path / "python3.12").touch(mode=0o755)
    assert "add PYTHON=python3.12 " in (check_python.complaint() or "")


def test_suitable_interpreters_are_those_of_the_metadata() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for major, minor in check_python.SUITABLE:
        assert f"Programming Language :: Python :: {major}.{minor}" in text
    (low, *_, high) = check_python.SUITABLE
    assert f'requires-python = ">={low[0]}.{low[1]},<{high[0]}.{high[1] + 1}"' in text


@pytest.mark.parametrize("name", names())
def test_bench_has_what_the_runner_asks_for(name: str) -> None:
    """Read, not imported: a bench may need the packages of its own extra."""
    tree = ast.parse((ROOT / "bench" / f"bench_{name}.py").read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert "run" in defined
    assert "TITLE" in assigned


def test_a_bar_is_met_from_its_own_side() -> None:
    assert Row("time", 0.7, bar=0.7).met is True
    assert Row("time", 0.8, bar=0.7).met is False
    assert Row("rate", 4.4, bar=4.5, better="higher").met is False
    assert Row("rate", 4.5, bar=4.5, better="higher").met is True
    assert Row("nothing asked", 1.0).met is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123456, "1", "0.123"),
        (2.0, "s", "2 s"),
        (0.0123, "s", "12.3 ms"),
        (4.56e-6, "s", "4.56 µs"),
        (2.5e-7, "s", "250 ns"),
        (86.0, "multiplies", "86 multiplies"),
    ],
)
def test_figures_are_written_with_their_prefix(value: float, unit: str, text: str) -> None:
    assert figure(value, unit) == text


def test_contenders_take_turns() -> None:
    """One turn each that is not counted, then as many as asked for, never two of one in a row."""
    turns: list[str] = []
    medians = interleaved(
        {"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, rounds=3
    )
    assert turns == ["a", "b"] * 4
    assert set(medians) == {"a", "b"}
