"""Small things that people look for: tables, masses, positions as goals, templates, spellings."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.formats.text.starters import STARTERS
from linkwright.mechanism import mechanism_of
from tests.support.shared import robot
from tests.support.shipped_models import SMALL


def test_a_run_as_a_data_frame() -> None:
    run = lw.simulate(lw.load("pendulum"), 1.0)
    frame = run.to_pandas()
    assert list(frame.columns) == list(run.recording.names)
    assert frame.index.name == "t"
    np.testing.assert_array_equal(frame.index.to_numpy(), run.times)
    np.testing.assert_array_equal(frame["phi"].to_numpy(), run["phi"])
    assert frame.attrs["units"]["phi"] == "rad"


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = lw.simulate(lw.load("pendulum"), 0.1)
    with pytest.raises(lw.Error, match=re.escape("pip install 'linkwright[plot]'")):
        run.to_pandas()


def test_without_sympy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(lw.Error, match=re.escape("pip install 'linkwright[analysis]'")):
        lw.to_sympy(lw.symbol("a"))


def test_the_mass_of_a_robot() -> None:
    m = lw.Mechanism("two")
    a = m.body("a", rotate="z", mass="m1", inertia=1)
    m.body("b", parent=a, rotate="y", mass=0.5, inertia=1)
    m.defaults(m1=2)
    assert lw.Robot(m).mass == 2.5


def test_positions_are_goals() -> None:
    """Three numbers leave the orientation free; several are solved together."""
    arm = robot("puma560:drives=off")
    rng = np.random.default_rng(3)
    start = np.array([0.3, -0.8, 0.4, 0.2, 0.5, 0.1])
    goals = np.array([arm.pose(start + rng.normal(0, 0.3, 6), "tool")[:3, 3] for _ in range(4)])
    one = arm.inverse_kinematics(goals[0], "tool", start)
    assert one.reached
    np.testing.assert_allclose(arm.pose(one.q, "tool")[:3, 3], goals[0], atol=1e-5)
    many = arm.inverse_kinematics(goals, "tool", start)
    assert many.reached.all()
    for q, goal in zip(many.q, goals, strict=True):
        np.testing.assert_allclose(arm.pose(q, "tool")[:3, 3], goal, atol=1e-5)
    with pytest.raises(lw.Error):
        arm.inverse_kinematics([0.1, 0.2], "tool")
    with pytest.raises(lw.Error, match="finite"):
        arm.inverse_kinematics([0.1, 0.2, np.nan], "tool")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("linearise", "linearize"), ("Simulate", "simulate"), ("optimise", "optimize")],
)
def test_a_near_spelling_is_named(wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean '{right}'"):
        getattr(lw, wrong)


@pytest.mark.parametrize("template", [*STARTERS, *SMALL])
def test_every_template_is_sound(
    template: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    assert main(["model", "new", "mine", "--template", template, "--out", str(path)]) == 0
    assert mechanism_of(lw.load(path)).name == "mine"


def test_an_unknown_template_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "new", "mine", "--template", "slider-crnk"]) == 2
    assert "did you mean 'slider-crank'?" in capsys.readouterr().err


@pytest.mark.parametrize("template", STARTERS)
def test_starters_are_sound(
    template: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    assert main(["model", "new", "mine", "--template", template, "--out", str(path)]) == 0
    assert main(["model", "check", str(path)]) == 0
    assert ": sound\n" in capsys.readouterr().out
