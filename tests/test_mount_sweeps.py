"""What the actuators of antenna mounts hold at rest, and what counterweights take from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwright.analysis import Counterweight, ErrorBudget, ErrorSource, balance
from linkwright.mounts import HorizonSweep, horizon_sweep, sweep_report
from linkwright.robots import Robot, closed

ARMS = ("arm1", "arm2", "arm3")
COUNT = 72


@pytest.fixture(scope="module")
def three_rotary() -> HorizonSweep:
    return horizon_sweep("mount-3-rotary", count=COUNT)


@pytest.fixture(scope="module")
def two_rotary() -> HorizonSweep:
    return horizon_sweep("mount-2-rotary", count=COUNT)


def _experiment() -> np.ndarray:
    """Return the effort of the third arm in the experiment of the report, N*m."""
    robot = Robot(Robot("mount-3-rotary").mechanism.with_values({"antenna_mass": 0.0}))
    shares = np.linspace(1.0, 0.0, 12)
    way = np.radians([[20 + 34 * s, 54 * s, 54 * s] for s in shares])
    start = closed(robot, {"actuators": way}, follow=True).q[-1]
    angles = np.radians([[20.0, 0.0, b] for b in range(0, 121, 20)])
    poses = closed(robot, {"actuators": angles}, start=start, follow=True)
    assert poses.closed.all()
    return np.asarray(robot.gravity(poses.q))[:, 2]


def test_the_experiment_with_three_motors_has_the_torques_of_the_report() -> None:
    """Mount check 34."""
    expected = [-5.93, -101.05, -202.80, -289.63, -345.83, -363.15, -339.51]
    np.testing.assert_allclose(_experiment(), expected, atol=0.01)


def test_measurement_errors_of_the_report_add_up_to_what_it_says() -> None:
    """Mount check 35: balance, lever, its angle and the arm's angle, at worst 30 to 45 N*m."""
    torque, lever, degree = -_experiment(), 0.841, math.radians(1.0)
    slopes = np.gradient(torque, 20.0 * degree)
    worst = []
    for held, slope in zip(torque, slopes, strict=True):
        force = held / lever
        lost = 1.0 - math.cos(3.0 * degree)  # the balance pulls across the lever, to 3 deg
        budget = ErrorBudget(
            (
                ErrorSource("balance", 3.0 * 9.81, [lever]),
                ErrorSource("lever", 0.02, [force]),
                ErrorSource("angle of the balance", lost, [held]),
                ErrorSource("angle of the arm", 3.0 * degree, [slope]),
            ),
            ("torque",),
        )
        worst.append(float(budget.worst[0]))
    assert min(worst) > 30.0
    assert max(worst) < 45.0


def test_two_motors_are_balanced_exactly_in_every_pose(two_rotary: HorizonSweep) -> None:
    """Mount check 36: the moments of the closed form, and nothing left anywhere."""
    found = two_rotary.balances["arms and strut"]
    values = Robot("mount-2-rotary").mechanism.values
    kappa, up = values["kappa"], values["upper_mass"]
    arms = (kappa * values["arm_mass"] + values["joint_mass"] + kappa * up) * values["l"]
    held = values["platform_mass"] + values["antenna_mass"] + values["strut_mass"] / 2
    strut = values["D"] * (held + 3 * up * (1 - kappa))
    assert found.exact
    assert found.moments == pytest.approx({"arms": arms, "strut": strut}, rel=1e-9)
    masses = {
        "balance_mass": arms / values["balance_arm"],
        "strut_balance_mass": strut / values["strut_balance_arm"],
    }
    balanced = Robot(Robot("mount-2-rotary").mechanism.with_values(masses))
    rng = np.random.default_rng(11)
    wanted = rng.normal(size=(40, 3)) * [1, 1, 0.5] + [0, 0, 1.0]
    wanted[:, 2] = np.abs(wanted[:, 2])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    poses = closed(balanced, {"direction": wanted})
    assert poses.closed.sum() > 20
    assert np.abs(np.asarray(balanced.gravity(poses.q[poses.closed]))).max() < 1e-4


def test_weights_below_the_arms_of_three_motors_are_best(three_rotary: HorizonSweep) -> None:
    """Mount check 37: 180 deg beats 150, 120 and 90; the exact optima lie below the report's."""
    robot, peaks = Robot("mount-3-rotary"), []
    for angle in (180, 150, 120, 90):
        a = math.radians(angle)
        weight = Counterweight(ARMS, (math.sin(a), 0.0, math.cos(a)))
        peaks.append(balance(robot, three_rotary.q, {"arms": weight}).peak)
    assert three_rotary.peak == pytest.approx(1129.2, abs=0.5)
    assert peaks == sorted(peaks)
    np.testing.assert_allclose(peaks, [282, 448, 662, 887], rtol=0.025)
    assert peaks[0] == pytest.approx(three_rotary.balances["arms"].peak)


def test_weights_of_two_motors_take_what_the_report_says(two_rotary: HorizonSweep) -> None:
    """Mount check 38: 1526, arms alone about 517, the strut alone 163 and at best about 88."""
    assert two_rotary.peak == pytest.approx(1526.0, abs=1.0)
    assert two_rotary.balances["arms"].peak == pytest.approx(517, rel=0.02)
    assert two_rotary.balances["strut"].peak == pytest.approx(88, rel=0.02)
    assert two_rotary.balances["strut"].moments["strut"] == pytest.approx(142.5, rel=0.02)
    masses = {"strut_balance_mass": 130.629 / 0.5}
    weighed = horizon_sweep("mount-2-rotary", count=COUNT, values=masses)
    assert weighed.peak == pytest.approx(163.0, rel=0.01)
    assert "mount-2-rotary" in sweep_report([two_rotary])
