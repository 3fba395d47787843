"""Balance as a task of a laboratory: a quadruped on compliant ground, through all its servos."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.lab.config import LabConfig
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.robots import Robot
from tests.seeds import seldom

STANCE = {"hip": 0.0, "thigh": 0.7, "shank": -1.4}


@cache
def config() -> LabConfig:
    """A quadruped that starts on bent legs."""
    found = lab_config("tests/robots/quadruped.urdf")
    joints = tuple(replace(j, default=STANCE[j.name.split("_")[2]]) for j in found.joints)
    return replace(found, joints=joints)


def center(robot: Robot, lab: Lab) -> Any:
    """The mass center where the simulated robot is."""
    q = np.concatenate([lab.base.x, lab.base.q, lab.state.q])
    return robot.center_of_mass(q)


def test_a_quadruped_squats_and_takes_a_push() -> None:
    """Mass center within 2 mm of where it is asked to be, torques within their limits, feedback at
    rest, feet where they were; a push of 30 N for 0.1 s is taken, and it comes back."""
    with Lab(config()) as lab:
        robot = Robot(config().description, friction=False)
        assert robot.coordinates[7:] == config().names
        feet = np.array(list(lab.vertices.values()))
        start = center(robot, lab)
        with pytest.raises(Error, match="there is no vertex 'nose'"):
            lab.start("balance", contacts="nose")
        lab.do("st balance kp=200")
        lab.run(1.0)  # it falls onto the ground, and stands as high above its feet as before
        before, feet = feet, np.array(list(lab.vertices.values()))
        start[2] += np.mean(feet - before, axis=0)[2]
        assert center(robot, lab) == pytest.approx(start, abs=2e-3)
        most = [joint.max_effort for joint in config().joints]
        assert np.isfinite(most).all()
        goal = start + np.array([0.0, 0.02, -0.03])
        lab.do("ctp height=-0.03 y=0.02")
        for _ in range(7):
            lab.run(0.1)
            assert (np.abs(lab.state.tau) <= most).all()
            assert np.abs(lab.state.ufb).max() < 1e-9
        assert center(robot, lab) == pytest.approx(goal, abs=2e-3)
        lab.push("trunk", (0.0, 30.0, 0.0), seconds=0.1)
        lab.run(0.1)
        assert center(robot, lab)[1] - start[1] > 0.023
        lab.run(0.7)
        assert center(robot, lab) == pytest.approx(goal, abs=2e-3)
        assert np.array(list(lab.vertices.values())) == pytest.approx(feet, abs=5e-3)
        assert lab.task == "balance"


@seldom(daily="test_a_quadruped_squats_and_takes_a_push")
def test_a_humanoid_that_begins_in_the_air_lands_and_stands() -> None:
    """From time zero, 5 cm above the floor: upright, and its knees bent as they were."""
    with Lab("humanoid") as lab:
        bent, low = lab.state.q.copy(), min(v[2] for v in lab.vertices.values())
        assert low > 0.04
        lab.do("st balance")
        lab.run(3.0)
        assert lab.base.x[2] == pytest.approx(0.92 - low, abs=0.01)
        assert abs(lab.base.q[0]) > 0.9999
        assert np.abs(lab.base.xd).max() < 5e-3
        assert np.abs(lab.state.q - bent).max() < 0.1


def test_a_robot_whose_base_is_fixed_has_nothing_to_balance() -> None:
    with Lab("sl-arm") as lab, pytest.raises(Error, match="no task 'balance'"):
        lab.start("balance")
