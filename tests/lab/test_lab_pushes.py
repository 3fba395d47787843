"""Pushes of a laboratory: forces and moments at links, for as long as they are said to last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.robot.transforms import turned
from linkwright.lab.config import EndEffector, JointConfig, LabConfig
from linkwright.lab.lab import Lab
from linkwright.models.rerun import rerun
from linkwright.recording import read_recording
from linkwright.robots import Robot
from tests.seeds import seldom

QUADRUPED = Path(__file__).parents[1] / "robots" / "quadruped.urdf"
STILL = {"A": 0.4, "B": -0.7}


def arm() -> LabConfig:
    """Return a limp arm of two joints, without gravity, with a hand that is turned in its link."""
    rod = Mass(1.5, (0.02, 0.0, -0.2), (0.03, 0.02, 0.01, 0.001, 0.0, 0.0))
    robot = Description(
        "arm",
        (Link("BASE"), Link("A", rod), Link("B", rod)),
        (
            LinkJoint("A", "revolute", "BASE", "A", Place((0.1, 0.0, 0.0)), (0.0, 1.0, 0.0)),
            LinkJoint("B", "revolute", "A", "B", Place((0.0, 0.0, -0.4)), (1.0, 0.0, 0.0)),
        ),
        (NamedFrame("TIP", "B", Place((0.0, 0.05, -0.3), turned((1.0, 0.0, 0.0), 0.3))),),
    )
    joints = tuple(JointConfig(name, -2.0, 2.0, default=STILL[name]) for name in "AB")
    hand = EndEffector("HAND", "B", x=(0.02, 0.0, -0.25))
    return LabConfig(
        "arm", robot, joints, vertices={"FOOT": "TIP"}, end_effectors=(hand,),
        gravity=(0.0, 0.0, 0.0), method="euler",
    )  # fmt: skip


@pytest.fixture(scope="module")
def built() -> Iterator[Lab]:
    with Lab(arm()) as made:
        yield made


@pytest.fixture
def lab(built: Lab) -> Lab:
    built.reset()
    return built


@pytest.mark.parametrize("place", ["B", "TIP", "FOOT", "HAND", "A"])
def test_a_push_accelerates_joints_as_its_wrench_by_the_transposed_jacobian(
    lab: Lab, place: str
) -> None:
    """SL 5.2, uext: in the first tick, from rest, against the forward dynamics of the robot."""
    force, moment = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, -0.3])
    robot, q = Robot(lab.config.description), lab.state.q.copy()
    lab.push(place, force.tolist(), moment.tolist(), seconds=1 / 960)
    lab.run(3 / 960)  # they coast, and are read a tick later
    frame = {"FOOT": "TIP", "HAND": "B"}.get(place, place)
    jacobian = np.asarray(robot.jacobian(q, frame))
    if place == "HAND":
        arm_ = np.asarray(robot.pose(q, "B"))[:3, :3] @ [0.02, 0.0, -0.25]
        moment = moment + np.cross(arm_, force)
    tau = jacobian.T @ [*force, *moment]
    speeds = np.linalg.solve(robot.mass_matrix(q), tau) / 960
    np.testing.assert_allclose(lab.state.u, speeds, rtol=1e-4, atol=1e-9)


def test_a_push_lasts_for_its_ticks_and_goes_with_a_reset(lab: Lab) -> None:
    """Free joints gain speed in these ticks alone, counted in the motor servo's."""
    lab.push("TIP", (0.0, 1.0, 0.0), seconds=5 / 960)
    speeds = []
    lab.run(1 / 960)  # until the first is read
    for _ in range(8):
        lab.run(1 / 960)
        speeds.append(float(np.abs(lab.state.u).max()))
    grows = np.diff([0.0, *speeds]) > 1e-4
    assert grows.tolist() == [True] * 5 + [False] * 3
    assert lab.pushed == {}
    lab.push("B", (0.0, 1.0, 0.0))
    lab.push("A", moment=(0.0, 0.5, 0.0), seconds=1.0)
    lab.run(0.05)
    assert lab.pushed == {"A": [0, 0, 0, 0, 0.5, 0], "B": [0, 1, 0, 0, 0, 0]}
    lab.push("B")
    lab.run(0.01)
    assert set(lab.pushed) == {"A"}
    lab.reset()
    lab.run(0.05)
    assert lab.pushed == {}
    np.testing.assert_allclose(lab.state.u, 0, atol=1e-12)
    lab.push("B", (0.0, 1.0, 0.0), seconds=0.01)  # again after the reset
    lab.run(0.005)
    assert set(lab.pushed) == {"B"}


@seldom(daily="test_a_push_accelerates_joints_as_its_wrench_by_the_transposed_jacobian")
def test_a_floating_robot_gains_the_momentum_of_a_push() -> None:
    """Without gravity and ground: m v = F t, for the mass center, whatever its joints do."""
    from linkwright.lab.sources import lab_config

    config = replace(lab_config(QUADRUPED), ground=False, gravity=(0.0, 0.0, 0.0))
    with Lab(config) as lab:
        link = config.description.joints[-1].child
        lab.push(link, (4.0, -6.0, 2.0), seconds=0.1)
        lab.run(0.3)
        places = [center(lab)]
        lab.run(0.1)
        places.append(center(lab))
    mass = sum(x.mass.mass for x in config.description.links if x.mass)
    np.testing.assert_allclose(mass * (places[1] - places[0]) / 0.1, [0.4, -0.6, 0.2], rtol=2e-3)


def center(lab: Lab) -> np.ndarray:
    """Return where the mass center of a floating robot is."""
    joints = dict(zip(lab.config.names, lab.state.q, strict=True))
    base = [*lab.base.x, *lab.base.q]
    q = [*base, *(joints[name] for name in lab.robot.coordinates[7:])]
    return np.asarray(lab.robot.center_of_mass(q))


def test_a_session_with_pushes_is_repeated_bit_by_bit(tmp_path: Path) -> None:
    with Lab(arm(), folder=tmp_path) as lab:
        lab.run(0.05)
        lab.do("push FOOT 1 0 2 seconds=0.1")
        lab.run(0.2)
        lab.do("push HAND 0 0 0 my=0.1")
        lab.run(0.1)
        assert lab.session is not None
        path = lab.session.path
    assert rerun(read_recording(path)).difference is None


def test_what_cannot_be_pushed_is_said(lab: Lab) -> None:
    for line, said in (
        ("push BASE 1 0 0", "stands in the world"),
        ("push ELBOW 1 0 0", "there is no link or frame 'ELBOW'"),
        ("push B 1 0 0 seconds=0", "a push of 0.0 s"),
        ("push B 1 0 inf", "not a number"),
    ):
        with pytest.raises(Error, match=said):
            lab.do(line)
    with pytest.raises(Error, match="three finite numbers"):
        lab.push("B", (1.0, 2.0))
    lab.run(0.01)
    assert lab.pushed == {}


@seldom(daily="test_what_cannot_be_pushed_is_said")
def test_a_robot_file_falls_where_its_ground_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heights = []
    for more, said in (([], "stands on a level ground"), (["--no-ground"], "")):
        words = ["lab", "open", str(QUADRUPED), *more, "--folder", str(tmp_path), "--json"]
        assert main([*words, "-c", "run 0.5; where_base"]) == 0
        told = capsys.readouterr()
        assert said in told.err
        assert bool(told.err) == bool(said)
        *_, where = json.loads(told.out)["commands"]
        heights.append(where["data"]["quadruped"]["x"][2])
    assert heights[0] > 0
    assert heights[1] < heights[0] - 0.8
