"""The humanoid's laboratory: it stands under its servos, and balances with a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.robots import Robot
from tests.seeds import seldom


def center(robot: Robot, lab: Lab) -> Any:
    """The mass center where the simulated robot is."""
    return robot.center_of_mass(np.concatenate([lab.base.x, lab.base.q, lab.state.q]))


def test_its_laboratory_is_that_of_the_shipped_model() -> None:
    config, robot = lab_config("humanoid"), Robot("humanoid")
    assert config.base == "floating"
    assert config.names == robot.coordinates[7:]
    limits = dict(zip(robot.speeds[6:], robot.effort_limits[6:], strict=True))
    for joint, most in zip(config.joints, limits.values(), strict=True):
        assert joint.max_effort == pytest.approx(most)
        assert joint.lower <= joint.default <= joint.upper
    soles = [robot.position(robot.neutral, frame)[2] for frame in config.vertices.values()]
    assert soles == pytest.approx([0.0] * 8, abs=1e-12)


@seldom(daily="test_its_laboratory_is_that_of_the_shipped_model")
def test_a_humanoid_stands_squats_and_takes_a_push_in_its_laboratory() -> None:
    robot = Robot("humanoid")
    with Lab("humanoid") as lab:
        lab.run(2.0)
        feet = np.array(list(lab.vertices.values()))
        assert feet[:, 2] == pytest.approx(0.0, abs=5e-3)
        start = center(robot, lab)
        assert start[2] > 0.85  # it stands
        most = [joint.max_effort for joint in lab.config.joints]
        lab.do("st balance height=-0.1")
        lab.run(1.5)
        assert center(robot, lab) - start == pytest.approx([0.0, 0.0, -0.1], abs=5e-3)
        assert (np.abs(lab.state.tau) <= most).all()
        lab.push("torso", (0.0, 80.0, 0.0), seconds=0.1)
        lab.run(1.5)
        assert center(robot, lab) - start == pytest.approx([0.0, 0.0, -0.1], abs=5e-3)
        assert np.array(list(lab.vertices.values())) == pytest.approx(feet, abs=5e-3)
        assert lab.task == "balance"
