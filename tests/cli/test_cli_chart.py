"""``linkwright parallel chart``: what it prints and writes, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkwright.cli import main

FIVE_BAR = ["parallel", "chart", "five-bar", "--over", "x=-0.1:0.3:5", "--over", "y=0.1:1.5:15"]


def test_a_chart_is_printed_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "five.svg"
    assert main([*FIVE_BAR, "--of", "reach,condition", "-o", str(picture)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "places reached" in out
    assert "no solution" in out
    assert "counts as a radian; of the position" in out
    assert picture.read_text().startswith("<?xml")
    assert main([*FIVE_BAR, "--of", "reach,condition", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["reach"].values()) == 75
    assert told["quantities"]["condition"]["least"] >= 1
    assert told["ends"]["axis"] == "y"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["five-bar", "--over", "x=1:2"], "is not NAME=FROM:TO:COUNT"),
        (["five-bar", "--over", "xx=0:1:3"], "nothing called 'xx' to chart"),
        ([*FIVE_BAR[2:], "--of", "strength"], "charts know no quantity 'strength'"),
        ([*FIVE_BAR[2:], "-o", "five.doc"], "not written as '.doc'"),
        ([*FIVE_BAR[2:], "--resume"], "resumed in a folder"),
        (["pendulum"], "names no actuators"),
    ],
)
def test_bad_input_is_answered_with_a_remedy(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parallel", "chart", *arguments]) == 2
    out, err = capsys.readouterr()
    assert complaint in err
    assert (out, "Traceback" in err) == ("", False)
