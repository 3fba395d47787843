"""Every part of a drive in the registry: units, refusals, swaps, text; and the command `drive`."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import drives
from linkwright.algebra import check_units
from linkwright.cli import main
from linkwright.formats.text.files import read_any
from tests.test_drives import joint

EXAMPLES: dict[str, drives.DrivePart] = {
    "PD": drives.PD(8, 0.02),
    "Ideal": drives.Ideal(10),
    "Lag": drives.Lag(10, 1e-3),
    "DC": drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
    "Elastic": drives.Elastic(50, stiffness=500, damping=2),
    "Inertia": drives.Inertia(0.5, 0.1),
}
"""One of each kind."""

AMOUNTS = [
    (name, item.name)
    for name, made in EXAMPLES.items()
    for item in fields(made)
    if "unit" in item.metadata
]


def test_every_part_has_an_example() -> None:
    assert set(EXAMPLES) == {kind.__name__ for kind in drives.PARTS}
    assert all(type(made).__name__ == name for name, made in EXAMPLES.items())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_part_takes_the_place_of_another_without_other_edits(name: str) -> None:
    """Check 63: in Python and in the text of the chain."""
    chain = joint(reference=0.2)
    made = EXAMPLES[name]
    swapped = chain.edited({made.role: made})
    s = lw.System(name="s")
    s.add(swapped)
    run = lw.simulate(s, 0.02)
    assert np.isfinite(run.recording.data).all()
    text = lw.write_model(s)
    assert f'{made.role} = {{ kind = "{name}"' in text
    again = read_any(text)
    assert isinstance(again, lw.System)
    other = lw.simulate(again, 0.02)
    assert np.array_equal(other.recording.data, run.recording.data)


@pytest.mark.parametrize("name", EXAMPLES)
def test_units_are_consistent(name: str) -> None:
    made = EXAMPLES[name]
    chain = joint().edited({made.role: made})
    for state in chain.states.values():
        assert state.following is not None
        check_units(state.following, None, {})
    for port in chain.outputs.values():
        for value in port.values:
            if value.op != "num":
                check_units(value, None if port.unit == "?" else port.unit, {})


@pytest.mark.parametrize(("name", "key"), AMOUNTS)
def test_numbers_that_make_no_sense_are_refused_by_name(name: str, key: str) -> None:
    made = EXAMPLES[name]
    item = next(f for f in fields(made) if f.name == key)
    wrong: list[Any] = [math.nan, "much"]
    if item.metadata["least"] > -math.inf or item.metadata["above"] > -math.inf:
        wrong.append(-1.0)
    for value in wrong:
        with pytest.raises(lw.Error, match=f"{key} of {name}") as caught:
            replace(made, **{key: value})
        assert caught.value.code == "R401"


# -- the file and its edits ------------------------------------------------------------------------
def test_the_file_of_a_drive_is_the_same_again_and_edits_override() -> None:
    """Check 50."""
    s = lw.load("joint-drive:noise=1")
    text = lw.write_model(s)
    again = read_any(text)
    assert isinstance(again, lw.System)
    assert lw.write_model(again) == text
    chain = again.members["joint"].block
    assert isinstance(chain, drives.Chain)
    edited = chain.edited({"motor.R": 1.5, "train": drives.Elastic(40, stiffness=300)})
    assert (edited.parts.motor, edited.parts.train.ratio) == (
        replace(EXAMPLES["DC"], R=1.5), 40
    )  # fmt: skip
    assert chain.parts.motor == EXAMPLES["DC"]
    with pytest.raises(lw.Error, match=r"did you mean 'load\.J'") as caught:
        chain.edited({"load.JJ": 1.5})
    assert caught.value.code == "R410"


# -- the command -----------------------------------------------------------------------------------
def test_the_command_runs_a_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["drive", "joint-drive", "--until", "0.5", "--plot", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["signal"]: row for row in told["signals"]}
    assert rows["joint.load.angle"]["final"] == pytest.approx(0.480405214, abs=1e-9)
    assert rows["joint.amplifier.v"]["peak"] == pytest.approx(37.8306, abs=1e-4)
    assert (tmp_path / told["plot"]).stat().st_size > 1000
    edits = ["--set", "motor.R=1.2", "--set", "reference=0.3", "--update", "exact"]
    assert main(["drive", "joint-drive", "--until", "2", *edits, "-o", "run.csv"]) == 0
    assert "joint.load.angle" in capsys.readouterr().out
    assert lw.load(tmp_path / "run.csv").final["joint.load.angle"] == pytest.approx(0.3, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pendulum"], "R411"),
        (["joint-drive", "--joint", "elbow"], "R411"),
        (["joint-drive", "--update", "never"], "R404"),
        (["joint-drive", "--set", "motor.R=0"], "R401"),
    ],
)
def test_the_command_refuses_with_a_number(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drive", *arguments]) == 2
    assert f"[{code}]" in capsys.readouterr().err
