"""Muscles as actuators of a laboratory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.lab import Task
from linkwright.lab.config import LabConfig, MuscleConfig
from linkwright.lab.files.lab_reader import read_lab
from linkwright.lab.files.lab_writer import write_lab
from linkwright.lab.lab import Lab
from linkwright.robots import Robot
from tests.support.lab_robots import planar

FLEXOR = MuscleConfig("flexor", ("upper", "fore"), ((0.1, 0.05, 0.0), (0.04, 0.03, 0.0)), 300.0)
EXTENSOR = MuscleConfig(
    "extensor", ("upper", "fore"), ((0.1, -0.05, 0.0), (0.04, -0.03, 0.0)), 200.0
)


def config(folder: Path, **changed: Any) -> LabConfig:
    """An arm that lies in the plane, with two muscles over its elbow and motors without gains."""
    found = planar(folder)
    joints = tuple(replace(j, kp=0.0, kd=0.0, offset=0.0) for j in found.joints)
    return replace(found, joints=joints, muscles=(FLEXOR, EXTENSOR), **changed)


class Pull(Task):
    """Activates the flexor wholly and the extensor by a quarter."""

    native = True

    def run(self, t: Any, state: Any, desired: Any) -> None:
        desired.muscles["flexor"].activation = 7.0
        desired.muscles["extensor"].activation = 0.25
        desired.q, desired.u = state.q, state.u


class Feel(Task):
    """Notes what it is told of a muscle, which it pulls after a while."""

    def run(self, t: Any, state: Any, desired: Any) -> None:
        desired.q, desired.u = state.q, state.u
        if t > 0.06:
            desired.muscles["flexor"].activation = 0.5
        flexor = state.muscles["flexor"]
        self.told = [float(flexor.length), float(flexor.speed), float(flexor.tension)]
        self.q = state.q.copy()


def length(robot: Robot, q: Any, muscle: MuscleConfig) -> float:
    """The distance of its ends."""
    ends = [
        robot.point_position(q, at, link)
        for link, at in zip(muscle.links, muscle.points, strict=True)
    ]
    return float(np.linalg.norm(ends[1] - ends[0]))


def test_tension_times_arm_is_the_torque_that_moves_the_joints(tmp_path: Path) -> None:
    """Accelerations are those of the torques -dL/dq T; arms by differences of lengths; slack again
    where the task ends."""
    with Lab(config(tmp_path, method="euler")) as lab:
        lab.add(Pull)
        feel = Feel()
        lab.add(feel)
        lab.run(0.05)
        robot, q = Robot(lab.config.description), lab.state.q
        assert lab.state.u == pytest.approx([0, 0], abs=1e-9)
        torque = np.zeros(2)
        for muscle, part in ((FLEXOR, 1.0), (EXTENSOR, 0.25)):
            for k, e in enumerate(1e-6 * np.eye(2)):
                slope = (length(robot, q + e, muscle) - length(robot, q - e, muscle)) / 2e-6
                torque[k] -= slope * part * muscle.strength
        rate = robot.forward_dynamics(q, np.zeros(2), torque)
        lab.start("pull")
        lab.run(1 / 200)
        while not np.any(lab.state.u):
            lab.run(1 / 200)
        assert lab.state.u * 200 == pytest.approx(rate, rel=1e-5)
        lab.run(0.05)
        lab.freeze()
        lab.start("feel")
        lab.run(0.05)
        assert feel.told[0] == pytest.approx(length(robot, feel.q, FLEXOR), rel=1e-9)
        assert feel.told[2] == 0.0  # a task begins with slack muscles
        lab.run(0.05)
        assert feel.told[2] == 150.0
        lab.freeze()
        lab.run(0.02)
        names = ["flexor_tension", "flexor_length"]
        lab.recorder.configure(rate=200, duration=0.02, names=names)
        lab.recorder.start()
        lab.run(0.05)
        made = lab.recorder.last
        assert made is not None
        assert not made["flexor_tension"].any()


def test_muscles_are_written_and_read(tmp_path: Path) -> None:
    """`[[muscle]]` of lab.toml; a path that does not fit is named."""
    made = config(tmp_path)
    write_lab(made, tmp_path / "arm.toml")
    assert "[[muscle]]" in (tmp_path / "arm.toml").read_text()
    assert read_lab(tmp_path / "arm.toml").muscles == (FLEXOR, EXTENSOR)
    wrong = replace(made, muscles=(replace(FLEXOR, links=("upper",)),))
    with pytest.raises(InputError, match="'flexor' of 'planar' has 1 links and 2 points"):
        Lab(wrong)
    with pytest.raises(Error, match="has no link or frame 'tail'"):
        Lab(replace(made, muscles=(replace(FLEXOR, links=("upper", "tail")),)))
