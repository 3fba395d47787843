"""What links carry at worst: against levers by hand, and legs against each other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.mounts import horizon_sweep
from linkwright.parallel import BeamSection, member_strength
from tests.support.shared import robot

TUBE = BeamSection.tube(0.1, 0.005)


def post(tilt: float) -> tuple[float, float, float]:
    """Return bending, push and stress of a heavy post with a load on it, leaning by an angle."""
    weight, load, length = 4 * 9.81, 30 * 9.81, 1.5
    bending = math.sin(tilt) * (load * length + weight * length / 2)
    push = math.cos(tilt) * (load + weight)
    return bending, push, bending * TUBE.depth / TUBE.bending + push / TUBE.area


def test_a_leaning_post_is_bent_and_pushed_as_by_hand() -> None:
    m = lw.Mechanism("post")
    mast = m.body("mast", rotate="y", mass=4, com=(0, 0, 0.75), inertia=0.1)
    load = m.body("load", parent=mast, at=(0, 0, 1.5), rotate="y", mass=30, inertia=1)
    m.gravity("-z")
    m.actuate("mast", "load")
    m.set_platform(load)
    poses = [(0.0, 0.0), (0.6, -0.3), (1.1, 0.2)]
    (found,) = member_strength(lw.Robot(m), poses, {"mast": TUBE})
    by_hand = np.array([post(tilt) for tilt, _ in poses])
    assert found.length == pytest.approx(1.5)
    assert [found.moment, found.push] == pytest.approx(by_hand[:, :2].max(axis=0))
    assert found.pose == 2
    assert found.stress == pytest.approx(by_hand[2, 2])
    bent = found.moment * 1.5**2 / (3 * 70e9 * TUBE.bending)
    assert found.deflection == pytest.approx(bent)
    assert found.safety == pytest.approx(np.pi**2 * 70e9 * TUBE.bending / 2.25 / found.push)


def test_legs_of_a_mount_carry_alike_from_both_ends() -> None:
    """Leg 1 hangs on its ball joint in the model, legs 2 and 3 on the platform."""
    mount = robot("mount-3-rotary")
    sweep = horizon_sweep(mount, count=12, elevation=np.radians(20.0))
    names = [f"{part}{k}" for part in ("arm", "upper") for k in (1, 2, 3)]
    found = {s.name: s for s in member_strength(mount, sweep.q, dict.fromkeys(names, TUBE))}
    for part in ("arm", "upper"):
        first, *others = (found[f"{part}{k}"] for k in (1, 2, 3))
        for other in others:
            assert [other.moment, other.push, other.stress] == pytest.approx(
                [first.moment, first.push, first.stress], rel=1e-6
            )
    assert found["arm1"].moment >= sweep.peak  # the motor bends it in one plane
    assert found["arm1"].moment < 1.05 * sweep.peak


def test_the_command_says_which_link_is_too_weak(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["mount", "strength", "mount-x-y", "--azimuths", "4", "--tube"]
    assert main([*asked, "x_axis=100 mm,5 mm", "--json"]) == 0
    (turret,) = json.loads(capsys.readouterr().out)["members"]
    lying = 60 * 0.25 + 100 * (0.5 + 0.25)  # kg m: turret, and the dish at the horizon
    assert turret["moment_nm"] == pytest.approx(9.81 * lying)
    assert turret["push_n"] == pytest.approx(160 * 9.81, rel=0.01)
    asked[2] = "mount-3-rotary"
    assert main([*asked, "arm=100 mm,5 mm", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in told["members"]] == ["arm1", "arm2", "arm3"]
    assert told["members"][0]["elevation_deg"] <= 10
    assert main([*asked, "arm1=60 mm,2 mm"]) == 1
    assert "too weak: arm1" in capsys.readouterr().out
    for words, said in (
        ("arm1=60", "is not NAME=DIAMETER,WALL"),
        ("leg=60 mm,2 mm", "no link begins with 'leg'"),
        ("arm1=60 mm,40 mm", "has no wall"),
    ):
        assert main([*asked, words]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    with pytest.raises(Error, match="did you mean 'arm1'"):
        member_strength(robot("mount-3-rotary"), np.zeros((1, 10)), {"arms1": TUBE})
