"""The Kalman filter of a whole joint by a flag, and JNTMOD's prints of the joint and its filter."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.elements.drives import DC, PD, Chain, DriveNoise, Elastic, Inertia, Lag
from linkwright.heritage.joint_prints import joint_print
from linkwright.linear.drive_filter import add_filter
from linkwright.recording import read_recording
from linkwright.simulation import Run, simulate
from linkwright.system import System
from tests.seeds import cases, seldom

PROCESS = {
    "controller.u": 2e-3, "amplifier.v": 0.02, "motor.i": 0.01, "motor.speed": 0.03,
    "motor.angle": 1e-5, "train.twist": 2e-6, "load.speed": 1e-3, "load.angle": 1e-6,
}  # fmt: skip
SENSORS = {"amplifier.v": 0.04, "motor.speed": 0.8, "motor.angle": 0.03, "load.angle": 0.003}


def chain(noise: DriveNoise | None, rate: float | None = 1000.0) -> Chain:
    """Return a joint that ships nowhere."""
    return Chain(
        PD(5, 0.03),
        Lag(8, 2e-3),
        DC(R=1.2, L=3e-3, kt=0.06, J=2e-4, b=2e-5),
        Elastic(40, stiffness=300, damping=4),
        Inertia(0.4, 0.2),
        update="simultaneous",
        noise=noise,
        reference=0.3,
        rate=rate,
        name="axis",
    )


@cache
def run(feedback: bool) -> tuple[Run, Chain]:
    """Return two seconds of it with its filter beside it, or in the loop."""
    drive = chain(DriveNoise(process=PROCESS, sensors=SENSORS))
    system = System(name="s")
    system.add(drive)
    assert add_filter(system, "axis", feedback=feedback) == "axis_filter"
    return simulate(system, 2.0, seed=4, every=1), drive


@pytest.mark.parametrize("feedback", cases([False, True], daily=[True]))
def test_the_filter_is_the_textbooks_with_the_matrices_of_the_chain(feedback: bool) -> None:
    """A loop in NumPy from the same sensors: P0 = 100 I, and the gain in information form."""
    found, drive = run(feedback)
    m = drive.matrices()
    z = np.column_stack([found[f"axis.Z.{n}"] for n in m.sensors])
    wanted = found["axis.R.controller.u"]
    x: Any = np.zeros(len(m.states))
    P: Any = 100.0 * np.eye(len(m.states))
    for k in range(60):
        expected = m.H @ x
        if k == 40:
            told = [found[f"axis_filter.ZHAT.{n}"][k] for n in m.sensors]
            np.testing.assert_allclose(told, expected, rtol=1e-7, atol=1e-9)
            told = [found[f"axis_filter.DZ.{n}"][k] for n in m.sensors]
            np.testing.assert_allclose(told, z[k] - expected, rtol=1e-7, atol=1e-9)
            S = m.H @ P @ m.H.T + m.R
            nis = (z[k] - expected) @ np.linalg.solve(S, z[k] - expected)
            assert found["axis_filter.NIS"][k] == pytest.approx(nis, rel=1e-6)
        P = np.linalg.inv(np.linalg.inv(P) + m.H.T @ np.linalg.inv(m.R) @ m.H)
        x = x + P @ m.H.T @ np.linalg.inv(m.R) @ (z[k] - expected)
        if k == 40:
            told = [found[f"axis_filter.XHAT.{n}"][k] for n in m.states]
            np.testing.assert_allclose(told, x, rtol=1e-6, atol=1e-8)
            told = [found[f"axis_filter.SIGMAX.{n}"][k] for n in m.states]
            np.testing.assert_allclose(told, np.sqrt(np.diag(P)), rtol=1e-6)
        read = m.H @ x if feedback else z[k]
        x = m.Phi @ x + m.Theta @ [wanted[k], *read]
        P = m.Phi @ P @ m.Phi.T + m.Q


@seldom(daily="test_the_filter_is_the_textbooks_with_the_matrices_of_the_chain")
def test_a_filter_in_the_loop_calms_the_command() -> None:
    (raw, _), (calm, _) = run(False), run(True)
    noise = [np.std(found["axis.controller.u"][-500:]) for found in (raw, calm)]
    assert noise[1] < 0.6 * noise[0]
    assert calm["axis.load.angle"][-500:].mean() == pytest.approx(0.3, abs=5e-3)
    assert raw["axis_filter.NIS"][200:].mean() == pytest.approx(4.0, abs=0.3)


def test_channels_of_the_filter_have_names_and_units() -> None:
    found, drive = run(True)
    units = {c.name: c.unit for c in found.recording.channels}
    for array in ("XHAT", "SIGMAX"):
        assert units[f"axis_filter.{array}.motor.i"] == "A"
        assert units[f"axis_filter.{array}.load.speed"] == "rad/s"
    assert [units[f"axis_filter.DZ.{n}"] for n in drive.matrices().sensors] == [
        "V", "rad/s", "rad", "rad",
    ]  # fmt: skip
    assert not [name for name in units if "[" in name]


def test_prints_are_pages_of_all_arrays_with_names_and_units() -> None:
    """PTINIT's page, then U, X = XWON + W, XWON = XHOM + XPAR, Y, Z = ZWON + V, and the filter."""
    found, drive = run(True)
    text = joint_print(found.recording, "axis", drive, 0.5, "axis_filter")
    first, *pages = re.split(r"\f", text)
    assert "step time" in first
    assert "0.001 s" in first
    heads = [line for line in first.splitlines() if line[0] != " "][1:]
    assert heads == ["AMPLIFIER", "MOTOR", "POWER TRAIN", "LOAD"]
    assert [float(p.split()[1]) for p in pages] == [0, 0.5, 1, 1.5, 2]
    m = drive.matrices()
    for page in pages[1:]:
        k = int(np.searchsorted(found.times, float(page.split()[1]) - 1e-9))
        model, kalman = page.split("KALMAN FILTER")
        rows = [re.fullmatch(r"  (\S+)(?: \[(\S+)\])? +(.*)", x) for x in model.splitlines()]
        lines = [(r[1], [float(x) for x in r[3].split()]) for r in rows if r and "E" not in r[3]
                 if re.match(r"[-\d]", r[3])]  # fmt: skip
        states = {name: v for name, v in lines if len(v) == 6}
        assert tuple(states) == m.states
        for name, (x, home, forced, without, w, y) in states.items():
            assert x == pytest.approx(found[f"axis.{name}"][k], rel=1e-7)
            assert without == pytest.approx(home + forced, abs=1e-6 * (1 + abs(home)))
            assert x == y == pytest.approx(without + w, abs=1e-6 * (1 + abs(x)))
        sensors = {name: v for name, v in lines if len(v) == 3}
        assert set(sensors) == set(m.sensors)
        for z, without, v in sensors.values():
            assert z == pytest.approx(without + v, abs=1e-6 * (1 + abs(z)))
        fed = {name: v for name, v in lines if len(v) == 1}
        assert len(fed) == sum(len(b.inputs) for b in m.blocks)
        assert "motor.torque [N*m]" in model
        assert kalman.count("load.angle [rad]") == 2
        assert "Z-ZHAT" in kalman


@pytest.mark.parametrize(
    ("noise", "rate", "code"),
    [
        (None, 1000.0, "R425"),
        (DriveNoise(process=PROCESS), 1000.0, "R425"),
        (DriveNoise(sensors={"motor.speed": 1.0}), 1000.0, "R425"),
        (None, None, "R408"),
    ],
)
def test_what_cannot_be_filtered_is_refused(
    noise: DriveNoise | None, rate: float | None, code: str
) -> None:
    system = System(name="s")
    system.add(chain(noise, rate))
    with pytest.raises(Error) as caught:
        add_filter(system, "axis")
    assert caught.value.code == code
    with pytest.raises(Error, match="did you mean"):
        add_filter(system, "axes")


def test_the_command_filters_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyze", "drives", "joint-drive:noise=1", "--until", "0.2", "--json"]
    page = tmp_path / "joint.txt"
    out = tmp_path / "run.parquet"
    listing = ["--print", str(page), "--print-every", "0.1"]
    assert main([*words, "--filter-feedback", *listing, "-o", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {row["signal"] for row in told["signals"]}
    assert {"joint.motor.i", "joint_filter.XHAT.motor.i", "joint_filter.NIS"} <= names
    assert not [n for n in names if ".XHOM." in n or ".ZHAT." in n]
    assert page.read_text().count("KALMAN FILTER") == 3
    kept = read_recording(out)
    low, high = kept.metadata["extrema"]["joint.motor.i"]
    assert (low, high) == (kept["joint.motor.i"].min(), kept["joint.motor.i"].max())
    assert kept.metadata["records"] == len(kept)
    assert main([*words, *listing]) == 2
    assert "there already" in capsys.readouterr().err
    assert main(["analyze", "drives", "joint-drive", "--filter"]) == 2
    assert "R425" in capsys.readouterr().err
    other = str(tmp_path / "other.txt")
    for more, said in (
        (["--update", "exact"], "--update simultaneous"),
        (["--print-every", "0"], "above 0"),
    ):
        given = ["analyze", "drives", "joint-drive", "--until", "0.1", "--print", other]
        assert main([*given, *more]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert not Path(other).exists()
