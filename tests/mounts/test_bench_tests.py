"""An experiment at rest: drives held, one moved, and what a spring balance may be off by."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.mounts import bench_test, horizon_sweep
from linkwright.mounts.bench_tests import BalanceErrors
from tests.support.shared import robot

HELD = 100 * 9.81 * 0.25  # the antenna's center is 0.25 m above the axis of tilt


def test_torques_and_errors_are_those_by_hand() -> None:
    tilts = np.radians([0.0, 30.0, 90.0])
    found = bench_test(robot("mount-alt-az"), {"azimuth": 0.3}, "tilt", tilts)
    assert found.efforts == pytest.approx(-HELD * np.sin(tilts), abs=1e-9)
    errors = BalanceErrors()
    for k, tilt in enumerate(tilts):
        held, slope = HELD * math.sin(tilt), HELD * math.cos(tilt)
        worst = errors.force * errors.lever + held / errors.lever * errors.lever_error
        worst += held * (1 - math.cos(errors.angle)) + errors.arm * slope
        assert found.errors[k] == pytest.approx(worst, rel=1e-6)
    half = {"antenna_mass": 50.0}
    lighter = bench_test("mount-alt-az", {"azimuth": 0.0}, "tilt", tilts, parameters=half)
    assert lighter.efforts[2] == pytest.approx(-HELD / 2)


def test_the_command_compares_with_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, picture = tmp_path / "read.csv", tmp_path / "bench.svg"
    file.write_text(f"deg,N*m\n10,{-HELD * 0.17:.1f}\n60,{-HELD * 0.85:.1f}\n")
    asked = ["mount", "bench", "mount-alt-az", "--lock", "azimuth=0", "--move", "tilt=0:90:15"]
    assert main([*asked, "--measured", str(file), "-o", str(picture), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["moved"], told["unit"], told["outside"]) == ("tilt", "N*m", 0)
    assert told["places_rad"] == pytest.approx(np.radians(np.arange(0, 91, 15)))
    assert len(told["efforts_n_m"]) == len(told["errors_n_m"]) == 7
    assert picture.stat().st_size > 5000
    file.write_text(f"10,{-HELD * 0.6:.1f}\n60,{-HELD * 0.85:.1f}\n")
    assert main([*asked, "--measured", str(file)]) == 1
    assert "1 of 2 measurements lie within the errors" in capsys.readouterr().out
    file.write_text("10,much\n20,x\n")
    for words, said in (
        ([*asked[:3], "--move", "tilt=0:90:15"], "'azimuth' is neither held nor moved"),
        ([*asked[:5], "--move", "tilt"], "is not NAME=FROM:TO:STEP"),
        ([*asked[:5], "--move", "tilt=0:90"], "is not FROM:TO:STEP"),
        ([*asked[:5], "--move", "tilt=0:90:0"], "has no places"),
        ([*asked[:5], "--move", "tlt=0:90:10"], "did you mean 'tilt'"),
        ([*asked, "--measured", str(file)], "read.csv:2: a measurement is a place and an effort"),
        ([*asked[:5], "--move", "tilt=0:1e9:1"], "has more than 10000 places"),
        ([*asked, "-o", str(picture)], "--force"),
        ([*asked, "-o", str(tmp_path), "--force"], "does not name a picture; use .png"),
        ([*asked, "-o", str(tmp_path / "none" / "a.svg")], "the file cannot be written"),
        ([*asked[:2], "pendulum", "--move", "phi=0:90:15"], "has no actuator 'phi'; it has none"),
    ):
        assert main(words) == 2, words
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1


def test_what_cannot_be_held_is_refused() -> None:
    with pytest.raises(Error, match="'tilt' is both"):
        bench_test(robot("mount-alt-az"), {"azimuth": 0, "tilt": 0}, "tilt", [0.0])
    with pytest.raises(Error, match="no places"):
        bench_test(robot("mount-alt-az"), {"azimuth": 0}, "tilt", [])


def test_the_order_in_which_actuators_are_named_changes_nothing() -> None:
    """Efforts come in the order of the tree; a mount may name its actuators in another."""
    import linkwright as lw

    turned = lw.Robot("mount-2-rotary", actuators=["arm2", "arm1"])
    calls = ({"arm1": 0.3}, "arm2", [-0.2, 0.1, 0.5])
    assert bench_test(turned, *calls).efforts == pytest.approx(
        bench_test(robot("mount-2-rotary"), *calls).efforts
    )
    found, plain = (
        horizon_sweep(r, count=3, elevation=np.radians(60.0))
        for r in (turned, robot("mount-2-rotary"))
    )
    assert found.actuators == ("arm2", "arm1")
    assert found.efforts[:, ::-1] == pytest.approx(plain.efforts)
