"""`linkwright doctor` and `linkwright tour`."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.cli.commands import tour


def test_the_doctor_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    parts = {part["name"]: part for part in json.loads(shown.out)["parts"]}
    assert sys.executable in parts["python"]["found"]
    assert all(part["adds"] and part["remedy"] for name, part in parts.items() if name != "python")
    assert main(["tools", "doctor"]) == 0
    text = capsys.readouterr().out
    lacking = [part["remedy"].split()[-1] for part in parts.values() if not part["there"]]
    assert [word for word in lacking if word not in text] == []


def test_the_doctor_without_a_compiler_and_a_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("LINKWRIGHT_CACHE_DIR", "off")
    assert main(["doctor", "--json"]) == 0
    parts = {part["name"]: part for part in json.loads(capsys.readouterr().out)["parts"]}
    assert not parts["compiler"]["there"]
    assert not parts["cache"]["there"]
    assert "LINKWRIGHT_CACHE_DIR" in parts["cache"]["remedy"]


def test_the_tour_runs_its_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("typer.launch", lambda page: opened.append(page))
    assert main(["tour", "--no-wait", "--folder", str(tmp_path / "t")]) == 0
    out = capsys.readouterr().out
    for step in tour.STEPS:
        assert f"$ linkwright {step.command}\n" in out
        assert step.sight in out
    assert opened == [str(tmp_path / "t" / "swing.html")]
    with (tmp_path / "t" / "short.csv").open() as file:
        last = list(csv.reader(line for line in file if line[0] != "#"))[-1]
    assert float(last[0]) == 20.0
    assert "my-pendulum.toml: sound" in out


def test_a_tour_that_fails_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tour, "STEPS", (tour.TourStep("model describe nonesuch", ""),))
    assert main(["tour", "--no-wait", "--no-show", "--folder", str(tmp_path)]) == 2
    assert "`linkwright model describe nonesuch` ended with exit code 2" in capsys.readouterr().err
