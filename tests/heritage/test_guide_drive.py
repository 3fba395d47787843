"""The dialogue about the drive of a joint, in JNTMOD's order: from nothing, edited, and run."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from linkwright.cli import main
from linkwright.elements.drives import DC, Chain, Inertia
from linkwright.models.library import model_text, opened
from linkwright.recording import read_recording
from linkwright.system import System
from tests.heritage.test_guide import hold

PARTS = [
    "pd", "8", "0.02", "lag", "10", "2 ms", "dc", "1", "2 mH", "0.05", "1e-4", "1e-5",
    "elastic", "50", "500", "2", "inertia", "0.5", "",
]  # fmt: skip
DEVIATIONS = ["1e-3", "1e-2", "1e-2", *(["0"] * 5), "0.05", "57.29577951308232 deg/s", "0", "0"]
MADE = [
    "define", "drive", "axis", "1000", "simultaneous", *PARTS, "yes", "0.5 rad", "yes",
    *DEVIATIONS, "yes", "motor.R", "1.1", "motor.b", "1 V", "2e-5", "amplifier.limit", "40", "",
]  # fmt: skip


def chain_of(file: Path) -> Chain:
    system = opened(str(file))
    assert isinstance(system, System)
    (block,) = (m.block for m in system.members.values())
    assert isinstance(block, Chain)
    return block


def test_a_drive_is_made_from_nothing_and_edited(tmp_path: Path) -> None:
    """Constants and deviations are asked part by part; a wrong one is asked again."""
    file = tmp_path / "axis.toml"
    edits = [x for x in MADE if x not in ("amplifier.limit", "40")]
    said, lines = hold(file, [*edits, "yes", "quit"])
    assert not lines.lines, said
    assert sum("[R107]" in line for line in said) == 1  # 1 V is no damping
    chain = chain_of(file)
    motor, load = chain.parts.motor, chain.parts.load
    assert isinstance(motor, DC)
    assert isinstance(load, Inertia)
    assert (motor.R, motor.b) == (1.1, 2e-5)
    assert load.b == 0
    found = chain.matrices()
    assert found.step == 1e-3
    assert found.update == "simultaneous"
    deviations = dict(zip(found.states, np.sqrt(np.diag(found.Q)), strict=True))
    assert deviations["motor.i"] == pytest.approx(1e-2)
    assert deviations["load.angle"] == 0
    assert np.sqrt(np.diag(found.R))[:2] == pytest.approx([0.05, 1.0])
    questions = [p.partition(",")[0].partition(" (")[0] for p in lines.prompts]
    order = [questions.index(x) for x in ("controller", "amplifier", "motor", "train", "load")]
    assert order == sorted(order)


def test_what_no_chain_with_a_rate_can_have_is_asked_again(tmp_path: Path) -> None:
    """A limit of the amplifier is not linear; the constant stays as it was."""
    file = tmp_path / "axis.toml"
    said, lines = hold(file, [*MADE, "yes", "quit"])
    assert not lines.lines, said
    assert sum("[R111]" in line for line in said) == 1
    member = tomllib.loads(file.read_text())["member"][0]
    assert "limit" not in member["amplifier"]


def test_a_drive_of_a_file_is_edited_and_keeps_all_other_lines(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    text = model_of_joint()
    file.write_text(text)
    said, lines = hold(file, ["define", "drive", "no", "motor.R", "2", "", "yes", "quit"])
    assert not lines.lines, said
    assert tomllib.loads(file.read_text()) == tomllib.loads(text.replace("R = 1,", "R = 2,"))
    pairs = zip(file.read_text().splitlines(), text.splitlines(), strict=True)
    assert [b[:5] for a, b in pairs if a != b] == ["motor"]
    said, _ = hold(file, ["define", "drive", "no", "", "quit"])
    assert "nothing was changed" in said
    answers = ["define", "drive", "yes", *([""] * 35), "", "quit"]
    said, lines = hold(file, answers)  # every answer that is offered
    assert "nothing was changed" in said, (said, lines.prompts)


def model_of_joint() -> str:
    text = model_text("joint-drive", "joint-drive")
    return text[: text.index("[member.noise]")]


def test_a_drive_runs_with_its_prints_and_its_filter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.toml"
    file.write_text(model_text("joint-drive", "joint-drive").replace("noise = 0", "noise = 1"))
    run = ["analyze", "drive", "3", "50 ms", "prints.txt", "20 ms", "run.csv", "yes", "yes"]
    said, lines = hold(file, [*run, "quit"])
    assert not lines.lines, (said, capsys.readouterr())
    assert (tmp_path / "prints.txt").read_text().count("KALMAN FILTER") == 3
    found = read_recording(tmp_path / "run.csv")
    words = ["analyze", "drives", str(file), "--seed", "3", "--until", "0.05", "--filter-feedback"]
    assert main([*words, "-o", str(tmp_path / "again.csv")]) == 0
    again = read_recording(tmp_path / "again.csv")
    assert np.array_equal(found["joint.controller.u"], again["joint.controller.u"])
