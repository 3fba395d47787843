"""Experiments on an axis of a cell: in virtual time, over the network, from the command line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.server.cell_file import read_cell
from linkwright.server.desk import Desk
from linkwright.server.experiments import (
    RemoteBench,
    VirtualBench,
    axis_of,
    relay_trial,
    step_experiment,
    sweep_experiment,
)
from linkwright.server.face import EXCITATIONS, Command, RefusedError
from linkwright.server.host import CellHost
from linkwright.server.registry import VARIABLE
from linkwright.server.virtual import VirtualCell

AMPLITUDE = 0.01  # rad


@pytest.fixture
def cell() -> VirtualCell:
    text = read_cell("axes2").text.splitlines()
    law = 'control = {kind = "computed-torque", kp = 400, kd = 40}'
    lines = [law if line.startswith("control") else line for line in text]
    return VirtualCell(read_cell("\n".join(lines)))


@pytest.fixture
def bench(cell: VirtualCell) -> VirtualBench:
    return VirtualBench(cell, "plane.1")


def test_an_arm_that_came_to_rest_after_tracks_can_be_measured(cell: VirtualCell) -> None:
    """The probe is in the set-point, whatever motion came before it."""
    cell.advance(10)
    cell.command("plane", Command("enable", 1))
    cell.advance(50)
    for k in range(3):
        cell.command("plane", Command("track", 2 + k, (-1.0 + 0.05 * k, 0.7)))
        cell.advance(200)
    cell.advance(500)
    assert cell.latest().values["plane.moving"] == 0
    cell.command("plane", Command("excite", 5, (2.0, AMPLITUDE, 5.0, 1.3, 0.0), name="plane.1"))
    seen = []
    for _ in range(700):
        cell.advance(1)
        seen.append(float(cell.latest().values["plane.probe"]))
    assert max(seen) == pytest.approx(AMPLITUDE, rel=1e-3)
    assert min(seen) == pytest.approx(-AMPLITUDE, rel=1e-3)
    assert (cell.latest().values["plane.done"], cell.latest().values["plane.cut"]) == (5, 0)


def test_an_axis_goes_by_the_name_of_its_joint_too(cell: VirtualCell) -> None:
    face = cell.arms["plane"]
    assert axis_of([face], "plane.elbow") == axis_of([face], "plane.2") == (face, 1)


def test_a_sweep_finds_the_plant_that_is_there(bench: VirtualBench) -> None:
    """Check 22. Computed torque makes 1/s² of the arm, a tick and a half late."""
    w = np.geomspace(30, 300, 4)
    found = sweep_experiment(bench, AMPLITUDE, w)
    assert np.abs(found.plant.values) * w**2 == pytest.approx(np.ones(4), abs=0.06)
    late = np.angle(-found.plant.values) / w * 500
    assert late[1:] == pytest.approx(-1.5 * np.ones(3), abs=0.03)  # ticks
    law = bench.kp + 1j * bench.kd * w
    assert found.loop.values == pytest.approx(found.plant.values * law)
    assert found.margins.degrees == pytest.approx(67, abs=3)
    assert found.gains is not None
    relay = relay_trial(bench, AMPLITUDE, seconds=1.5)
    there = np.exp(-1j * 1.94 / 500 * relay.frequency) / (1j * relay.frequency) ** 2
    assert abs(relay.plant / there - 1) < 0.15


def test_a_step_is_that_of_the_law_and_gains_make_it_quicker(bench: VirtualBench) -> None:
    """Check 22. kp = 400, kd = 40: critically damped, 10 to 90 % in 3.36/20 s."""
    before = step_experiment(bench, AMPLITUDE)
    assert before.rise == pytest.approx(3.36 / 20, rel=0.08)
    assert before.overshoot < 0.02
    bench.set_gains(1600.0, 80.0)
    after = step_experiment(bench, AMPLITUDE)
    assert after.rise == pytest.approx(before.rise / 2, rel=0.15)
    assert abs(after.error) < 0.01


def test_experiments_give_the_same_bits_again() -> None:
    def once() -> bytes:
        bench = VirtualBench(VirtualCell(read_cell("axes2")), "plane.2")
        return bench.run("relay", AMPLITUDE, 0.5, hysteresis=1e-5).q.tobytes()

    assert once() == once()


def excite(kind: str, amplitude: float, *, w: float = 0.0, seconds: float = 10.0) -> Command:
    values = (float(EXCITATIONS.index(kind)), amplitude, w, seconds, 0.0)
    return Command("excite", 50, values, name="plane.1")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (excite("step", 0.06), "range"),  # half of the following error is 0.05
        (excite("step", -0.01), "range"),
        (excite("sine", 0.01, w=1000.0), "range"),  # 10 rad/s
        (excite("step", 0.01, seconds=1e4), "range"),
        (excite("sine", float("nan")), "non-finite"),
        (Command("excite", 50, (7.0, 0.01, 0.0, 1.0, 0.0), name="plane.1"), "values"),
        (Command("excite", 50, (1.0, 0.01, 0.0, 1.0, 0.0), name="plane.9"), "name"),
        (Command("excite", 50, (1.0, 0.01), name="plane.1"), "values"),
        (Command("excite", 50, (1.0, 0.02, 0.0, 1.0, 0.0), name="plane.2"), "range"),  # at its end
        (Command("excite", 50, (2.0, 0.02, 5.0, 1.0, 0.0), name="plane.2"), "range"),
    ],
)
def test_experiments_beyond_what_an_axis_bears_are_refused(command: Command, name: str) -> None:
    place = {"target0": 0.0, "target1": read_cell("axes2").arms[0].axes[1].high - 0.01}
    active = {"life": 2.0, "cause": 0.0, "tail": 0.0, "braking": 0.0}
    active |= {"moves": 0.0, **place}
    with pytest.raises(RefusedError) as told:
        Desk(read_cell("axes2")).command("plane", command, active, 0)
    assert told.value.name == name


def test_an_arm_that_is_off_is_not_excited(cell: VirtualCell) -> None:
    cell.advance(10)
    with pytest.raises(RefusedError, match="enable it first"):
        cell.command("plane", excite("step", 0.01))


@pytest.mark.parametrize("end", ["motion", "stop", "halt", "none"])
def test_whatever_happens_to_the_arm_ends_an_experiment(
    cell: VirtualCell, bench: VirtualBench, end: str
) -> None:
    cell.command("plane", excite("sine", AMPLITUDE, w=30.0))
    cell.advance(25)
    assert cell.latest().values["plane.probe"] != 0.0
    if end == "motion":
        cell.command("plane", Command("joints", 51, (0.1, 0.1)))
    elif end == "stop":
        cell.command("plane", Command("stop", 51))
    elif end == "halt":
        cell.halt("test")
    else:
        cell.command("plane", excite("none", 0.0))
    cell.advance(5)
    for _ in range(20):
        cell.advance(7)
        assert cell.latest().values["plane.probe"] == 0.0


# -- over the network ------------------------------------------------------------------------------
@pytest.fixture
def served(
    cell: VirtualCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[VirtualCell]:
    """A cell whose virtual time goes slower than the clock, on the network."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    ending = threading.Event()

    def run() -> None:
        while not ending.is_set():
            cell.advance(2)
            time.sleep(0.01)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with CellHost(cell):
            yield cell
    finally:
        ending.set()
        thread.join(10.0)


def test_an_axis_of_a_cell_on_the_network_is_measured_as_well(served: VirtualCell) -> None:
    """Check 22."""
    with (
        lw.server.connect("axes2") as cell,
        cell.arm("plane").command(silence=5.0) as hand,
    ):
        hand.enable()
        bench = RemoteBench(hand, "plane.1")
        found = step_experiment(bench, AMPLITUDE, seconds=0.5)
        assert found.rise == pytest.approx(3.36 / 20, rel=0.3)  # states may be lost
        bench.set_gains(1600.0, 80.0)
        after = step_experiment(bench, AMPLITUDE, seconds=0.5)
        assert after.rise < 0.8 * found.rise
        with pytest.raises(RefusedError, match="half the following error"):
            bench.run("step", 1.0, 0.1)
        with pytest.raises(lw.InputError, match="there is no excitation"):
            hand.excite("plane.1", "stepp", 0.01)


# -- from the command line -------------------------------------------------------------------------
def test_tune_measures_proposes_and_applies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check 22."""
    picture = tmp_path / "bode.svg"
    words = [
        "cell",
        "tune",
        "axes2",
        "plane.2",
        "--virtual",
        "--amplitude",
        "0.01",
        "--seconds",
        "0.6",
    ]
    sweep = ["--low", "40", "--points", "4", "--high", "250", "--out", str(picture)]
    assert main([*words, *sweep, "--test", "step", "--test", "sweep", "--apply", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["axis"] == "plane.2"
    assert told["kp"] == 42
    assert told["sweep"]["gains"]["kp"] > 42
    assert told["after_step"]["rise_s"] < told["step"]["rise_s"]
    assert picture.read_text().startswith("<?xml")
    assert main([*words, "--test", "relay", "--margin", "40"]) == 0
    shown = capsys.readouterr().out
    assert "oscillates at" in shown
    assert "proposed by the relay: kp = " in shown
    assert main([*words, "--test", "step", "--test", "relay", "--margin", "85"]) == 0
    shown = capsys.readouterr().out
    assert "rise time" in shown
    assert "proposed by the relay: nothing, since no gains have the --margin asked for" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plane.9", "--virtual"], "no axis 'plane.9'"),
        (["plane.1", "--virtual", "--test", "stepp"], "did you mean 'step'"),
        (["plane.1", "--virtual", "--test", "step", "--out", "a.svg"], "--out shows the sweep"),
        (["plane.1", "--virtual", "--low", "9", "--high", "3"], "are not a sweep"),
        (["plane.1", "--virtual", "--test", "step", "--amplitude", "2"], "amplitude of 2 rad"),
        (["plane.1"], "no cell called 'axes2' runs"),
    ],
)
def test_tune_says_what_is_wrong(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    assert main(["cell", "tune", "axes2", *words]) == 2
    assert message in capsys.readouterr().err
