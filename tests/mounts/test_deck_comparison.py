"""A mount at sea beside itself ashore, from Python and by its command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.motion import Sines
from linkwright.mounts import compare_deck
from linkwright.mounts.ships import Ship, report_ship
from tests.support.shared import model, robot


def test_efforts_are_those_of_the_weight_that_is_felt() -> None:
    """A deck that only heaves makes everything heavier by one factor, at each instant."""
    heave = [(0.5, 0.0, 0.1)]  # m, rad, Hz
    ship = Ship(Sines([0.0] * 6, [[], [], heave, [], [], []]))
    t = np.array([0.0, 2.5, 4.0, 7.5])
    found = compare_deck("mount-x-y", (0.3, 0.2, 1.0), t, ship)
    factor = 1 - 0.5 * (0.2 * np.pi) ** 2 * np.sin(0.2 * np.pi * t) / 9.81
    x, y = math.atan2(-0.2, 1.0), math.asin(0.3 / math.sqrt(1.13))
    held = np.asarray(robot("mount-x-y").gravity([x, y]))
    for name, effort in zip(("x_axis", "y_axis"), held, strict=True):
        assert found.effort(name, at_sea=False) == pytest.approx(effort, abs=1e-9)
        assert found.effort(name) == pytest.approx(effort * factor, abs=1e-7)
    rows = {(r.name, r.kind): r for r in found.rows()}
    assert rows["y_axis", "effort"].ratio == pytest.approx(factor.max())
    assert rows["y_axis", "effort"].at == 7.5
    assert rows["y_axis", "force"].most == pytest.approx(100 * 9.81 * factor.max())


def test_the_command_writes_a_page_a_recording_and_ratios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, file = tmp_path / "deck.html", tmp_path / "deck.csv"
    asked = ["mount", "deck", "mount-alt-az", "--toward", "90,30", "--until", "20", "--step", "1"]
    assert main([*asked, "-o", str(page), "--recording", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in told["rows"]] == ["azimuth", "tilt", "tilt"]
    assert told["direction"] == pytest.approx([0, math.cos(math.radians(30)), 0.5])
    assert told["rows"][1]["ratio"] > 1
    text = page.read_text()
    assert text.count("<svg") == 2
    assert "<script" not in text
    assert "azimuth" in file.read_text().splitlines()[0]
    assert main([*asked, "-o", str(page)]) == 2
    assert "--force" in capsys.readouterr().err
    for more, words in (
        (["--toward", "90"], "is not AZ,EL"),
        (["--step", "0"], "are not instants"),
        (["--set", "nothing=1"], "nothing"),
    ):
        assert main([*asked, *more]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


def test_what_has_no_joint_for_its_force_is_refused() -> None:
    with pytest.raises(Error, match="a strut of driven length, is in no joint"):
        compare_deck(model("stewart"), (0, 0, 1), [0.0], report_ship())
    with pytest.raises(Error, match="names no actuators and platform"):
        compare_deck(model("pendulum"), (0, 0, 1), [0.0], report_ship())
    with pytest.raises(Error, match="not all zero"):
        compare_deck(model("mount-x-y"), (0, 0, 0), [0.0], report_ship())
