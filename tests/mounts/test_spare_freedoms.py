"""What mounts do with freedoms that a direction does not need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.motion.trajectory import through
from linkwright.mounts import horizon_sweep, track_pass
from linkwright.mounts.closed_forms import arm_angles
from linkwright.mounts.spare_freedoms import AIMS, plan_spare
from tests.seeds import seldom
from tests.support.shared import robot

Array = NDArray[np.float64]


def low_pass(count: int = 81) -> Array:
    """Return directions from the West over 50 degrees to the East, as low as 20."""
    s = np.linspace(-1.0, 1.0, count)
    elevation, azimuth = np.radians(20 + 30 * np.cos(s * np.pi / 2)), 1.2 * s
    c = np.cos(elevation)
    return np.stack([c * np.sin(azimuth), c * np.cos(azimuth), np.sin(elevation)], axis=1)


def wrenches(q: Array) -> Array:
    """Return the lines of a hexapod's legs at its platform's pose, by hand: 6 x 6."""
    v = robot("stewart").mechanism.values
    feet, heads = (
        np.array([[v[f"{part}{k}_{x}"] for x in "xyz"] for k in range(1, 7)])
        for part in ("base", "platform")
    )
    (w, x, y, z), place = q[3:7], q[:3]
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    arms = heads @ turn.T
    legs = place + arms - feet
    along = legs / np.linalg.norm(legs, axis=1)[:, None]
    return np.hstack([along, np.cross(arms, along)])


def test_a_hexapod_goes_around_its_singular_poses() -> None:
    """In one place it meets them; planned, its six legs never depend on each other."""
    d = low_pass()
    plan = plan_spare(robot("stewart"), d, "farthest from singular")
    worst, before = plan.worst
    assert before > 500
    assert worst < 40
    dets = [np.linalg.det(wrenches(row)) for row in plan.q]
    assert min(dets) * max(dets) > 0
    e0, e1, e2, e3 = plan.q[:, 3:7].T
    beam = np.stack([2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), 1 - 2 * (e1**2 + e2**2)])
    assert pytest.approx(d, abs=1e-9) == beam.T
    assert np.abs(np.diff(plan.values, axis=0)).max() < 0.2
    flipped = robot("stewart").jacobian(plan.q[:1], "platform")[0]
    inverse = np.linalg.inv(wrenches(plan.q[0]))
    assert flipped == pytest.approx(inverse, rel=1e-6, abs=1e-9)


def test_the_plunge_of_three_motors_takes_effort_from_them() -> None:
    """At each direction, the effort is the slope of the potential of the mirrored legs."""
    turn = np.radians(np.arange(0.0, 361.0, 5.0))
    level = math.radians(15.0)
    d = np.stack([math.cos(level) * np.cos(turn), math.cos(level) * np.sin(turn),
                  np.full(len(turn), math.sin(level))], axis=1)  # fmt: skip
    plan = plan_spare(robot("mount-3-rotary"), d, "least effort", returns=True)
    worst, before = plan.worst
    assert worst < 0.97 * before
    assert plan.values[0] == pytest.approx(plan.values[-1], abs=0.02)
    v = robot("mount-3-rotary").mechanism.values

    def potential(x: Array) -> float:
        azimuth, tilt, far = x
        aim = np.array([math.sin(tilt) * math.cos(azimuth), math.sin(tilt) * math.sin(azimuth),
                        math.cos(tilt)])  # fmt: skip
        low = float((0.5 * v["arm_mass"] + v["joint_mass"] + 0.5 * v["upper_mass"]) * v["l"])
        high = float(v["platform_mass"] + v["antenna_mass"] + 1.5 * v["upper_mass"])
        lifted = float(np.cos(arm_angles(aim, far)).sum())
        return 9.81 * float(low * lifted + high * far * math.cos(tilt / 2))

    for k in (7, 40):
        x = np.array([turn[k], math.pi / 2 - level, plan.values[k, 0]])
        steps = 1e-5 * np.eye(3)
        slope = np.array([potential(x + h) - potential(x - h) for h in steps]) / 2e-5

        def arms(y: Array) -> Array:
            azimuth, tilt, far = y
            s = math.sin(tilt)
            return arm_angles([s * math.cos(azimuth), s * math.sin(azimuth), math.cos(tilt)], far)

        jacobian = np.array([arms(x + h) - arms(x - h) for h in steps]) / 2e-5
        effort = np.linalg.solve(jacobian, slope)
        assert np.abs(effort).max() == pytest.approx(plan.measure[k], rel=1e-5)


@seldom(daily="test_the_plunge_of_three_motors_takes_effort_from_them")
def test_a_sweep_and_a_run_follow_the_plan() -> None:
    plain, planned = (
        horizon_sweep(robot("mount-3-rotary"), count=36, spare=aim) for aim in ("", "least effort")
    )
    assert planned.peak < plain.peak
    d = low_pass(31)
    path = through(np.linspace(0.0, 60.0, 31), d)
    s = track_pass("stewart", path, spare="stiffest")
    run = lw.simulate(s, 1.0, method="rk4")
    assert np.degrees(run["pointing error"]).max() < 0.001
    with pytest.raises(Error, match=r"singular, and its actuators do not hold it.*--spare"):
        track_pass("stewart", path)


def test_what_has_no_spare_freedoms_is_refused() -> None:
    d = low_pass(5)
    with pytest.raises(Error, match="has no spare freedoms that can be planned"):
        plan_spare(robot("mount-x-y"), d, AIMS[0])
    with pytest.raises(Error, match="did you mean 'stiffest'"):
        plan_spare(robot("mount-3-rotary"), d, "stifest")
    down = d * [1, 1, -1]
    with pytest.raises(Error, match="finds no way past its limits and singular poses near"):
        plan_spare(robot("mount-3-rotary"), down, AIMS[0])
