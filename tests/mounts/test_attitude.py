"""Attitude of a deck: the filter is as good as it says, and the dish points by it."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.control import consistency_band, inside
from linkwright.mechanism import Mechanism
from linkwright.motion import Trajectory
from linkwright.mounts.attitude import AttitudeSensors, attitude
from linkwright.mounts.pass_tracking import TrackingServo, track_pass
from linkwright.mounts.ships import Ship, report_ship

ROLLING = report_ship(stabilized=False, offset=(0, 0, 5))
FAST = TrackingServo(turning=0.5)  # rad/s: the ship rolls by 9.4 deg/s


def test_errors_of_the_estimate_are_as_large_as_the_filter_says() -> None:
    s = attitude(ROLLING, AttitudeSensors(walk=1e-4, drift=1e-5), rate=50)
    runs = [lw.simulate(s, 30.0, seed=seed, every=50) for seed in range(24)]
    nees = np.array([run["filter.nees"][5:] for run in runs])
    low, high = consistency_band(6, len(runs))
    assert low < nees.mean(axis=0)[-1] < high
    assert inside(nees, 6) > 0.8
    bias = np.array([run.final[f"filter.x[{k}]"] for run in runs for k in (3, 4, 5)])
    true = np.array([run.final[f"gyros.bias[{k}]"] for run in runs for k in range(3)])
    assert np.std(bias - true) < 0.6 * np.std(true)  # drift is found out


def test_a_dish_points_as_well_as_its_attitude_is_known() -> None:
    m = Mechanism("x_y")
    yoke = m.body("yoke", rotate="x", mass=20, inertia=2)
    m.set_platform(m.body("dish", parent=yoke, rotate="y", mass=50, inertia=5))
    m.gravity()
    m.actuate("yoke", "dish")
    still = Trajectory([0, 60], [[[0.3, 0.2, np.sqrt(1 - 0.13)], *[[0.0] * 3] * 5]])
    sharp = lw.simulate(track_pass(m, still, ship=ROLLING, servo=FAST), 8.0, method="rk4")
    blurred = track_pass(m, still, ship=ROLLING, servo=FAST, sensors=AttitudeSensors())
    run = lw.simulate(blurred, 8.0, method="rk4")
    late = run.times > 4
    sigma = np.degrees(max(run[f"attitude.filter.sigma[{k}]"][late].max() for k in range(3)))
    error = np.degrees(run["pointing error"][late])
    assert np.degrees(sharp["pointing error"][late]).max() < 0.01
    assert np.degrees(sharp["pointing error"][late]).max() < error.max() < 5 * sigma + 0.05


def test_sensors_that_make_no_sense_are_refused() -> None:
    with pytest.raises(lw.InputError, match="walk"):
        AttitudeSensors(walk=0.0)
    assert isinstance(ROLLING, Ship)
