"""Failures of drives, and what a rubber buffer takes."""

from __future__ import annotations

import json
import math

import pytest

from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.mounts.buffers import GEAR_MOST, RubberBuffer, drive_failures
from tests.seeds import seldom

RUBBER = RubberBuffer(stiffness=1e5, hardens=0.01, loss=0.0, lever=0.3, gap=0.1)
INERTIA = 3 + 12 + 100 * 0.25**2 + 7.0  # turret, dish on the horizon, rotor, kg*m^2


def test_the_load_of_an_impact_is_that_of_its_energy() -> None:
    """The turret of an alt-azimuth mount turns freely, with a known inertia."""
    speed, coils = 1.5, 60.0
    found = drive_failures(
        "mount-alt-az", "azimuth", speed, buffer=RUBBER, acceleration=20.0, torque=300.0,
        coils=coils, friction=0.0, rotor=7.0, at=(1.0, 0.0, 0.0),
    )  # fmt: skip
    host, switch, power, driven = found
    assert host.force == 0
    assert host.overrun == pytest.approx(speed**2 / 40)
    for failure, torque in ((power, 0.0), (switch, -coils)):
        energy = INERTIA * speed**2 / 2 + torque * RUBBER.gap
        assert failure.speed == pytest.approx(math.sqrt(2 * energy / INERTIA), rel=5e-3)
        depth = RUBBER.depth(energy + torque * failure.depth / RUBBER.lever)
        assert failure.depth == pytest.approx(depth, rel=5e-3)
        assert failure.force == pytest.approx(RUBBER.force(depth), rel=0.02)
        assert failure.overrun == pytest.approx(RUBBER.gap + depth / RUBBER.lever, rel=5e-3)
        stopped = (RUBBER.lever * failure.force - torque) / INERTIA
        assert failure.gear == pytest.approx(7.0 * stopped, rel=0.03)
    assert driven.force > power.force > switch.force


def test_rubber_takes_up_the_work_of_its_force() -> None:
    """The force, summed up over the depth, is the energy."""
    depth, n = RUBBER.depth(60.0), 20_000
    work = sum(RUBBER.force((i + 0.5) * depth / n) for i in range(n)) * depth / n
    assert work == pytest.approx(60.0, rel=1e-6)
    with pytest.raises(InputError, match="the stiffness of a buffer"):
        RubberBuffer(stiffness=-1.0)
    with pytest.raises(InputError, match="slides"):
        drive_failures("mount-prismatic", "leg1", 1.0)


def test_the_command_says_what_comes_of_failures(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mount", "move", "mount-alt-az", "examples/mounts/orbit.toml"]
    assert main([*words, "--failures", "azimuth", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["failures"]
    assert [r["name"] for r in rows][-1] == "switch fails"
    assert rows[-1]["force_n"] > rows[1]["force_n"] >= 0
    for more, said in (
        (["--failures", "arm9"], "has no drive 'arm9'"),
        (["--buffer", "1,2,3"], "--buffer is that of --failures"),
        (["--failures", "azimuth", "--buffer", "1 kg,2,3"], "kg"),
        (["--failures", "azimuth", "--buffer", "1"], "STIFFNESS,DEPTH,LEVER"),
    ):
        assert main([*words, *more]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1


@seldom(daily="test_the_load_of_an_impact_is_that_of_its_energy")
def test_switches_and_buffers_save_the_gear_of_a_mount_with_three_motors() -> None:
    found = drive_failures("mount-3-rotary", "arm1", math.radians(45))
    gear = {f.name: f.gear for f in found}
    assert gear["limit switch"] < GEAR_MOST / 3
    assert gear["switch fails"] > GEAR_MOST
