"""A model's file is opened once; what is recorded of it is what the model was made from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwright.base.files import opened_file
from linkwright.cli import main
from linkwright.formats.robot.files import read_description, read_mechanism
from linkwright.mechanism import mechanism_of
from linkwright.models import load_model

OPENED: list[str] = []
WATCHED: set[str] = set()
ROBOTS = Path(__file__).parents[1] / "robots"


def _watch(event: str, details: tuple[object, ...]) -> None:
    if event == "open" and WATCHED and Path(str(details[0])).name in WATCHED:
        OPENED.append(str(details[0]))


sys.addaudithook(_watch)


@pytest.fixture
def swing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    assert main(["model", "new", "swing.toml"]) == 0
    OPENED.clear()
    WATCHED.add("swing.toml")
    yield tmp_path / "swing.toml"
    WATCHED.clear()


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "swing.toml", "--until", "0.01"],
        ["model", "describe", "swing.toml"],
        ["analyze", "linearize", "swing.toml"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_opens_its_model_once(swing: Path, words: list[str]) -> None:
    assert main(words) == 0
    assert len(OPENED) == 1
    if words[0] == "simulate":  # and again where the run is known already
        OPENED.clear()
        assert main([*words, "--force"]) == 0
        assert len(OPENED) == 1


def test_what_a_mechanism_says_of_its_file_is_what_it_was_made_from(swing: Path) -> None:
    opened = opened_file(swing)
    swing.write_text("format = 1\nname = 'another'\n")
    made = mechanism_of(read_mechanism(opened))
    assert made.provenance is not None
    assert made.provenance.text == opened.content.decode()
    assert load_model(str(swing), file=opened).bodies.keys() == made.bodies.keys()


def test_a_robot_file_is_read_once() -> None:
    WATCHED.add("quadruped.urdf")
    OPENED.clear()
    made = load_model(ROBOTS / "quadruped.urdf")
    WATCHED.clear()
    assert len(OPENED) == 1
    assert made.provenance is not None
    assert made.provenance.digest
    assert read_description(ROBOTS / "quadruped.urdf").content
