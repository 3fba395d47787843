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
from linkwright.elements.drives import chain
from linkwright.elements.drives.matrices import UPDATES, chain_matrices
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.registry import PARTS
from linkwright.formats.text.files import read_any
from linkwright.simulation.native.stored import to_data
from tests.elements.test_drives import joint
from tests.seeds import cases

MOTOR = drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)
HEAT = drives.Thermal(1.2, 20, 3.0, 400)
EXAMPLES: dict[str, DrivePart] = {
    "Cascade": drives.Cascade(10_000, 2_000, 1_000, 10, 0.1, 0.02, 1.0, 300, 50, 0.5, 20, 48, 60,
                              0.5, 200, 0.05, 1e-3, 0),
    "LeadLag": drives.LeadLag(8, zero=20, pole=200),
    "PD": drives.PD(8, 0.02),
    "PI": drives.PI(0.05, 1.0),
    "PID": drives.PID(8, 20, 0.02),
    "Steps": drives.Steps(24, ratio=50),
    "CurrentLoop": drives.CurrentLoop(2, kp=4, ki=2000, limit=48),
    "Ideal": drives.Ideal(10, limit=48),
    "Lag": drives.Lag(10, 1e-3, limit=48),
    "PWM": drives.PWM(48, 20e3, dead_time=1e-6),
    "SwitchedPWM": drives.SwitchedPWM(48, 2.1e3, dead_time=2e-6, gain=10),
    "DC": drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5, coulomb=0.01, eddy=1e-6, thermal=HEAT),
    "PMSM": drives.PMSM(R=0.5, Ld=1e-3, Lq=1.5e-3, flux=0.02, pairs=4, J=1e-4, cogging=0.01,
                        eddy=1e-6, thermal=HEAT),
    "Stepper": drives.Stepper(R=2, L=3e-3, kt=0.3, J=5e-6, b=1e-4, detent=0.01),
    "TorqueSource": drives.TorqueSource(0.05, J=1e-4, b=1e-5),
    "Thermal": HEAT,
    "Brake": drives.Brake(0.02, close_time=0.1),
    "Elastic": drives.Elastic(
        50, stiffness=500, damping=2, gap=1e-3, second_stiffness=700, third_stiffness=900,
        first_torque=2, second_torque=6, hysteresis=0.2, hysteresis_stiffness=400, error=1e-4,
        efficiency=0.8, back_efficiency=0.7, drag=0.005, viscous=1e-5,
    ),
    "Rigid": drives.Rigid(50, efficiency=0.8, back_efficiency=0.6, drag=0.005, viscous=1e-5),
    "Inertia": drives.Inertia(0.5, 0.1),
    "Pendulum": drives.Pendulum(0.5, mass=2, length=0.3, b=0.1),
}  # fmt: skip
"""One of each kind."""

AMOUNTS = [
    (name, item.name)
    for name, made in EXAMPLES.items()
    for item in fields(made)
    if "unit" in item.metadata
]


def test_every_part_has_an_example() -> None:
    assert set(EXAMPLES) == {kind.__name__ for kind in PARTS}
    assert all(type(made).__name__ == name for name, made in EXAMPLES.items())


def chain_of(name: str, **more: Any) -> drives.Chain:
    """Return a chain with an example of a part in the place of its own."""
    made = EXAMPLES[name]
    if isinstance(made, drives.Thermal):
        made = replace(MOTOR, thermal=made)
    edits: dict[str, Any] = {made.role: made, **more}
    if name == "Brake":
        edits["brake"] = replace(made, closed=True)
    if name == "Steps":
        edits["motor"] = EXAMPLES["Stepper"]
    return joint(reference=0.2).edited(edits)


PLAIN = [name for name in EXAMPLES if name != "Cascade"]
"""Those that are not for a Servo alone."""


@pytest.mark.parametrize("name", cases(PLAIN, daily=8))
def test_a_part_takes_the_place_of_another_without_other_edits(name: str) -> None:
    """Check 63: in Python and in the text of the chain."""
    swapped = chain_of(name)
    s = lw.System(name="s")
    s.add(swapped)
    text = lw.write_model(s)
    assert f'= {{ kind = "{name}"' in text
    again = read_any(text)
    assert isinstance(again, lw.System)
    assert to_data(again.phases()) == to_data(s.phases())


LINEAR: dict[str, list[DrivePart]] = {
    "amplifier": [
        drives.Lag(10, 2e-3),
        drives.Ideal(10),
        drives.CurrentLoop(gain=2, kp=4, ki=2000),
    ],
    "motor": [drives.DC(R=2, L=1e-3, kt=0.05, J=2e-4), drives.TorqueSource(kt=0.05, J=1e-4)],
    "train": [drives.Elastic(40, stiffness=800, damping=3)],
    "load": [drives.Inertia(0.8, 0.2)],
}
"""Parts that a chain at a rate takes: those without limits, friction and other bends."""


@pytest.mark.parametrize("update", cases(UPDATES, daily=["exact"]))
def test_parts_are_swapped_in_a_chain_at_a_rate_too(
    update: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 63: each runs as the continuous chain does, and its matrices are built once."""
    built = []
    whole = chain_matrices

    def counted(*given: Any) -> Any:
        built.append(given[1])
        return whole(*given)

    monkeypatch.setattr(chain, "chain_matrices", counted)
    for role, parts in LINEAR.items():
        for part in parts:
            ends = []
            for more in ({"rate": 2000, "update": update}, {}):
                made = joint(reference=0.2, **more).edited({role: part})
                s = lw.System(name="s")
                s.add(made)
                before = built.count(1 / 2000)
                ends.append(lw.simulate(s, 0.3).final["joint.load.angle"])
                assert built.count(1 / 2000) == before
            assert ends[0] == pytest.approx(ends[1], abs=0.01), part
            assert ends[1] > 0.05
            assert ends[0] != ends[1]


@pytest.mark.parametrize("name", PLAIN)
def test_units_are_consistent(name: str) -> None:
    chain = chain_of(name)
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
    if item.metadata["most"] < math.inf:
        wrong.append(1.5)
    for value in wrong:
        with pytest.raises(lw.Error, match=f"{key} of {name}") as caught:
            replace(made, **{key: value})
        assert caught.value.code == "R401"


# -- energy ----------------------------------------------------------------------------------------
PLANT = [name for name in PLAIN if EXAMPLES[name].role != "controller"]


@pytest.mark.parametrize("name", cases(PLANT, daily=3))
def test_the_ledger_closes_motoring_and_regenerating(name: str) -> None:
    """What is supplied is lost, stored or given on, to 1e-6 of what went through."""
    chain = chain_of(name, ledger=True)
    s = lw.System(name="s")
    member = s.add(chain)
    s.connect("0.3*sin(12*t)", member.reference)
    run = lw.simulate(s, 0.6, tolerance=1e-10, every=1)
    missing, supply = run["joint.energy.missing"], run["joint.power.supply"]
    assert supply.min() < 0 < supply.max()
    through = float(np.sum(np.abs(supply)) * (run.times[1] - run.times[0]))
    assert np.ptp(missing) < 1e-6 * through
    for channel in run.recording.names:
        if ".power.loss." in channel:
            assert run[channel].min() > -1e-9 * through, channel


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
        replace(MOTOR, R=1.5), 40
    )  # fmt: skip
    assert chain.parts.motor == MOTOR
    with pytest.raises(lw.Error, match=r"did you mean 'load\.J'") as caught:
        chain.edited({"load.JJ": 1.5})
    assert caught.value.code == "R410"


# -- the command -----------------------------------------------------------------------------------
def test_the_command_runs_a_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "drives", "joint-drive", "--until", "0.5", "--plot", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["signal"]: row for row in told["signals"]}
    assert rows["joint.load.angle"]["final"] == pytest.approx(0.480405214, abs=1e-9)
    assert rows["joint.amplifier.v"]["peak"] == pytest.approx(37.8306, abs=1e-4)
    assert (tmp_path / told["plot"]).stat().st_size > 1000
    edits = ["--set", "motor.R=1.2", "--set", "reference=0.3", "--update", "exact"]
    assert main(["analyze", "drives", "joint-drive", "--until", "2", *edits, "-o", "run.csv"]) == 0
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
    assert main(["analyze", "drives", *arguments]) == 2
    assert f"[{code}]" in capsys.readouterr().err
