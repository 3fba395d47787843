"""The commands on the page about simulating: each runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from linkwright.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "simulating.md").read_text(encoding="utf-8")


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (study,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    Path("turns.toml").write_text(study, encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 13
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "linkwright"
        assert main(words) == 0, line
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        "pendulum.parquet",
        "phase.svg",
        "report.html",
        "stanford-arm-controlled.parquet",
        "stanford-arm-controlled.png",
        "turn.csv",
        "turn.png",
        "turns.sweep",
        "turns.toml",
    }
