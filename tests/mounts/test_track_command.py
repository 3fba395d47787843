"""The command that follows a satellite, and the budget of its pointing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from linkwright.mounts.budget import PointingLimits, pointing_budget, pointing_loss
from linkwright.mounts.rotator import Rotator, RotatorPort
from tests.seeds import seldom

ROOT = Path(__file__).parents[2]
ELEMENTS, SITE, ROUGH = (
    str(ROOT / "examples" / "mounts" / name)
    for name in ("stations.json", "site.toml", "rough.toml")
)
WORDS = ["mount-x-y", ELEMENTS, "--satellite", "25544", "--site", SITE, "--days", "1"]


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["mount", "track", *words]) == status
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return err if status else out


@seldom(daily="test_a_rotator_is_led_along_a_pass_by_command")
def test_a_mount_on_a_ship_follows_a_satellite_by_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "run.parquet"
    told = json.loads(
        said(capsys, *WORDS, "--ship", ROUGH, "--limit", "5", "--json", "-o", str(file))
    )
    assert told["satellite"] == "ISS (ZARYA)"
    assert told["duration_s"] == 5.0
    recording = lw.load(file)
    error = np.degrees(recording["pointing error"])
    assert told["error_max_deg"] == pytest.approx(error.max(), abs=1e-6)
    assert told["verdict"].split(":")[0] == ("kept" if error.max() < 0.2 else "broken")
    table = said(capsys, *WORDS, "--limit", "2", "--wind", "10")
    assert "pointing error, greatest" in table
    assert "license of stations on vessels kept" in table


def test_a_rotator_is_led_along_a_pass_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        Rotator(speed=math.radians(90), acceleration=math.radians(900)) as rotator,
        RotatorPort(rotator, port=0) as port,
    ):
        to = f"127.0.0.1:{port.port}"
        words = ("--to", to, "--limit", "5", "--pace", "50", "--json")
        told = json.loads(said(capsys, *WORDS, *words))
    assert told["commands"] == 11


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--pass", "99"], "no number 99"),
        (["--above", "89.99"], "does not rise above"),
        (["--to", "nowhere"], "is not HOST:PORT"),
        (["--ship", "missing.toml"], "missing.toml"),
        (["--beamwidth", "-1"], "beamwidth"),
        (["--wind", "-3"], "a speed above 0 and below 200"),
        (["-o", "track.foo"], "the ending '.foo' names no format"),
        (["-o", __file__.replace(".py", "") + "/track.csv"], "there is no such folder"),
    ],
)
def test_wrong_words_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert told in said(capsys, *WORDS, *words, status=2)


# -- budget ----------------------------------------------------------------------------------------
def crooked() -> Mechanism:
    """Return a mount of two axes whose second may stand askew."""
    m = Mechanism("crooked")
    lean = m.parameter("lean", 0.0, unit="rad")
    yoke = m.body("yoke", rotate="z", mass=20, inertia=2)
    dish = m.body("dish", parent=yoke, rotate=(0, 1, lean), mass=50, inertia=5)
    m.set_initial({"dish": -0.5})
    m.actuate("yoke", "dish")
    m.set_platform(dish, axis="x")
    return m


def test_a_pointing_budget_adds_up_and_agrees_with_random_errors() -> None:
    d = np.array([np.cos(0.7), 0.0, np.sin(0.7)])
    rate = np.array([0.0, 0.02, 0.0])
    limits = PointingLimits(
        dimensions={"lean": 1e-3}, step=2e-4, backlash=1e-4, sag=2e-4, lag=0.01, clock=0.05,
        along_track=2000.0, distance=1e6, attitude=4e-4, wind=2e-4,
    )  # fmt: skip
    budget = pointing_budget(crooked(), d, rate, limits)
    by_name = {s.name: s.effect for s in budget.sources}
    assert by_name["clock"] == pytest.approx([0.02 * 0.05, 0], abs=1e-14)
    assert by_name["age of elements"] == pytest.approx([0.002, 0], abs=1e-14)
    # half a step of the upright axis moves the beam along by its level part, of the other across
    half = 1e-4
    assert by_name["step of yoke"] == pytest.approx([half * np.cos(0.7), 0], abs=2e-11)
    assert by_name["step of dish"] == pytest.approx([0, half], abs=2e-11)
    # an axis that leans by e moves the beam sideways by e sin(elevation)
    assert by_name["lean"] == pytest.approx([1e-3 * np.sin(0.7), 0], abs=2e-11)
    assert np.all(budget.root_of_squares < budget.worst)
    drawn = budget.sampled(40_000, seed=3)
    assert drawn.std(axis=0) == pytest.approx(budget.deviation, rel=0.05)
    assert np.all(np.abs(drawn).max(axis=0) < 1.3 * budget.worst)


def test_the_loss_is_three_decibels_at_half_the_beam() -> None:
    assert pointing_loss([0.0, 0.007, 0.014], 0.014) == pytest.approx([0.0, 3.0, 12.0])
    with pytest.raises(lw.InputError, match="beamwidth"):
        pointing_loss(0.1, 0.0)
    with pytest.raises(lw.InputError, match="sag"):
        PointingLimits(sag=-1.0)


def test_a_pass_is_shaped_by_command_for_mounts_of_azimuth_and_tilt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alt_az = ["mount-alt-az", *WORDS[1:]]
    told = json.loads(said(capsys, *alt_az, "--shape", "0.4", "--limit", "0.5", "--json"))
    assert told["shape"]["shaped_deg_s"] < told["shape"]["plain_deg_s"]
    assert told["error_max_deg"] < 0.41
    err = said(capsys, *WORDS, "--shape", "0.4", status=2)
    assert "--shape is for mounts of azimuth and tilt" in err
    assert "not a pointing error" in said(capsys, *alt_az, "--shape", "-1", status=2)
