"""Each command that writes a file ends with where it is, and with what one would type next."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import linkwright
from linkwright.cli import main
from linkwright.cli.commands import COMMANDS

SOURCE = Path(linkwright.__file__).parent
WRITES = re.compile(
    r"write_text|write_bytes|write_page|write_report|\.save\(|save_|run_sweep|codegen\("
)
OTHERWISE = {
    "cell serve": "recorded in {target.path}; linkwright rerun",
    "cell halt": "",  # it writes nothing but a command
    "codegen": "In {out}:",  # and the lines that compile it
    "tools guide": "",  # a dialogue, which names its files
    "tools systolic": "",  # its workbench says what it wrote
    "tools latency": "",
    "lab open": "",  # a console
    "lab fake-robot": "",
    "page": "open it in a browser",
    "model schema": "",  # text on the terminal
}
"""Commands whose last lines are made in another way, and what of them is in their source."""


def _source(path: str) -> str:
    return (SOURCE.parent / (COMMANDS[path].replace(".", "/") + ".py")).read_text("utf-8")


def _options(tree: ast.Module) -> set[str]:
    command = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "command")
    return {a.arg for a in (*command.args.args, *command.args.kwonlyargs)}


def test_every_command_with_a_target_says_where_it_is_and_what_follows() -> None:
    silent = []
    for path in COMMANDS:
        text = _source(path)
        if not _options(ast.parse(text)) & {"out", "target", "latex", "report", "table"}:
            continue
        if path in OTHERWISE:
            assert OTHERWISE[path] in text, path
        elif not re.search(r"files=|\{\"\w+\": (out|target)|next=", text):
            silent.append(path)
    assert silent == []


@pytest.mark.parametrize(
    ("words", "where", "following"),
    [
        ("simulate pendulum --until 0.1 -o run.csv", "run.csv", "linkwright plot run.csv"),
        ("plot run.csv -o run.svg", "run.svg", "linkwright page run.csv"),
        ("page run.csv -o run.html", "run.html", "open it in a browser"),
        ("model new arm.toml", "arm.toml", "linkwright model check arm.toml"),
        ("model convert puma560 puma.urdf", "puma.urdf", "linkwright model check puma.urdf"),
        ("model describe pendulum --latex r.tex", "r.tex", "pdflatex r.tex"),
        (
            "analyze linearize pendulum --second-order -o m.npz",
            "m.npz",
            "linkwright simulate pendulum",
        ),
        ("codegen pendulum -o code", "code", "make"),
    ],
)
def test_the_last_line_on_a_terminal_is_what_one_types_next(
    words: str,
    where: str,
    following: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if "run.csv" in words and not words.startswith("simulate"):
        assert main(["simulate", "pendulum", "--until", "0.1", "-o", "run.csv", "--quiet"]) == 0
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert where in out
    assert following in out.strip().splitlines()[-1] or words.startswith("codegen")
    assert following in out
