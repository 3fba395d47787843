"""Joints that follow others, and where robots start: the same by every door."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.equations.closure import assemble
from linkwright.equations.joint_stops import stopping
from linkwright.formats.mjcf import mjcf_text, parse_mjcf
from linkwright.formats.robot.conversion import convert
from linkwright.formats.robot.description import Description, JointLimits, LinkJoint, Mimic
from linkwright.formats.robot.plausibility import description_findings
from linkwright.formats.robot.to_mechanism import assembled
from linkwright.formats.robot.to_text import robot_text
from linkwright.formats.text.files import read_model
from linkwright.formats.urdf import parse_urdf, urdf_text
from linkwright.mechanism import Mechanism
from linkwright.robots import Robot
from tests.random.robots import random_robot
from tests.seeds import seeds, seldom
from tests.support.late import Late

if TYPE_CHECKING:
    import mujoco
    import pinocchio as pin
else:
    mujoco = Late("mujoco")
    pin = Late("pinocchio")


def following(seed: int, count: int = 6) -> Description:
    """Return a random robot whose joints follow each other in chains, behind leaders and before."""
    rng = np.random.default_rng(seed)
    robot = random_robot(seed, [str(k) for k in rng.choice(("revolute", "prismatic"), count)])
    rank = [int(k) for k in rng.permutation(len(robot.joints))]
    joints: list[LinkJoint] = []
    for k, joint in enumerate(robot.joints):
        low, high = sorted(float(x) for x in rng.uniform(-3, 3, 2))
        limits = JointLimits(low, high, 2.0, 5.0) if rng.integers(3) else JointLimits()
        above = [other.name for n, other in enumerate(robot.joints) if rank[n] < rank[k]]
        mimic, start = None, (float(rng.uniform(-1, 1)),) if rng.integers(2) else ()
        if above and rng.integers(2):
            factor = float(rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 3))
            offset = float(rng.choice((0.0, rng.normal())))
            mimic, start = Mimic(str(rng.choice(above)), factor, offset), ()
        joints.append(replace(joint, limits=limits, mimic=mimic, start=start))
    return replace(robot, joints=tuple(joints))


def whole(robot: Description, led: Mapping[str, float]) -> dict[str, float]:
    """Return the coordinates of all joints, where those that follow none are given."""
    joints = {joint.name: joint for joint in robot.joints}

    def value(name: str) -> float:
        mimic = joints[name].mimic
        return led[name] if mimic is None else mimic.multiplier * value(mimic.joint) + mimic.offset

    return {name: value(name) for name in joints}


def leaders(robot: Description) -> list[str]:
    return [joint.name for joint in robot.joints if joint.mimic is None]


def ranges(robot: Description, leader: str) -> tuple[float, float]:
    """Return the range that all limits together leave a joint."""
    low, high = -math.inf, math.inf
    zero, one = (whole(robot, dict.fromkeys(leaders(robot), 0.0) | {leader: x}) for x in (0.0, 1.0))
    for joint in robot.joints:
        slope, limits = one[joint.name] - zero[joint.name], joint.limits
        if slope == 0 or limits.lower is None or limits.upper is None:
            continue
        ends = ((x - zero[joint.name]) / slope for x in (limits.lower, limits.upper))
        first, last = sorted(ends)
        low, high = max(low, first), min(high, last)
    return low, high


def start_of(robot: Description) -> dict[str, float]:
    return whole(robot, {j.name: sum(j.start) for j in robot.joints if j.mimic is None})


def doors(robot: Description) -> dict[str, Mechanism]:
    """Return the mechanism of a robot, of its text model and of its MJCF file."""
    back = parse_mjcf(mjcf_text(robot).text)
    return {
        "robot": assembled(robot).mechanism,
        "text": read_model(robot_text(robot).text),
        "mjcf": assembled(back).mechanism,
    }


@pytest.mark.parametrize("seed", seeds(8, daily=2))
def test_runs_start_where_leaders_do_and_followers_follow(seed: int) -> None:
    robot = following(seed)
    expected = start_of(robot)
    for door, mechanism in doors(robot).items():
        assert assemble(mechanism).coordinates == pytest.approx(expected, abs=1e-9), door
    other = dict.fromkeys(leaders(robot)[:1], 0.1)
    moved = assemble(assembled(robot).mechanism, other).coordinates
    led = {name: expected[name] for name in leaders(robot)} | other
    assert moved == pytest.approx(whole(robot, led), abs=1e-9)


@pytest.mark.parametrize("seed", seeds(8, daily=2))
def test_robots_and_runs_agree_on_start_and_limits(seed: int) -> None:
    robot = following(seed)
    made, expected = Robot(robot), start_of(robot)
    assert dict(zip(made.coordinates, made.neutral, strict=True)) == {
        name: expected[name] for name in made.coordinates
    }
    assert [f"{name}_dot" for name in made.coordinates] == list(made.speeds)
    found = {r.coordinate.name: (r.lower, r.upper) for r in stopping(made.mechanism)}
    empty = []
    for name, limits in zip(made.coordinates, made.limits, strict=True):
        low, high = ranges(robot, name)
        assert tuple(limits) == pytest.approx((low, high), rel=1e-12), name
        told = tuple(None if math.isinf(x) else pytest.approx(x, rel=1e-12) for x in (low, high))
        assert found.get(name, (None, None)) == told, name
        empty += [name] if low > high else []
    contrary = [f.part for f in description_findings(robot) if "follow it" in f.words]
    assert sorted(contrary) == sorted(empty)
    for name in empty:
        assert any(repr(name) in note for note in made.notes)
    if empty:
        with pytest.raises(lw.Error, match="leave it no value"):
            made.random()
    else:
        assert ((made.random(20) - made.limits[:, 0]) >= 0).all()


@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_dynamics_are_those_of_pinocchio_whatever_joint_leads(seed: int) -> None:
    """M = G' M G and G' g, with G the rates of all joints by those that lead."""
    robot = following(seed, 4)
    limits = JointLimits(-9.0, 9.0, 1.0, 1.0)  # else joints that turn are pairs of numbers there
    robot = replace(robot, joints=tuple(replace(j, limits=limits) for j in robot.joints))
    free = replace(robot, joints=tuple(replace(j, mimic=None, start=()) for j in robot.joints))
    model = pin.buildModelFromXML(urdf_text(free).text)
    data, made = model.createData(), Robot(parse_urdf(urdf_text(robot).text))
    rng = np.random.default_rng(seed)
    led = dict(zip(made.coordinates, rng.normal(size=len(made.coordinates)), strict=True))
    at = whole(robot, led)
    G = np.zeros((model.nv, len(led)))
    for k, name in enumerate(made.coordinates):
        step = whole(robot, led | {name: led[name] + 1.0})
        for joint in model.names[1:]:
            G[model.joints[model.getJointId(joint)].idx_v, k] = step[joint] - at[joint]
    q = np.array([at[name] for name in model.names[1:]])
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    gravity = pin.computeGeneralizedGravity(model, data, q)
    ours = list(led.values())
    np.testing.assert_allclose(made.mass_matrix(ours), G.T @ mass @ G, atol=1e-11)
    np.testing.assert_allclose(made.gravity(ours), G.T @ gravity, atol=1e-10)
    theirs = made.to_pinocchio(ours, np.ones(len(ours)), model=model)
    np.testing.assert_allclose(theirs[0], q, atol=1e-12)
    np.testing.assert_allclose(theirs[1], G @ np.ones(len(ours)), atol=1e-12)


GRIPPER = """<robot name="grip"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>{i}</inertial></link>
<link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>{i}</inertial></link>
<joint name="ja" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
<joint name="jb" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.2 0 0"/>
<axis xyz="0 1 0"/><limit lower="-0.1" upper="{upper}" effort="10" velocity="3"/>
<mimic joint="ja" multiplier="-2" offset="0.5"/></joint></robot>"""
SIX = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'


def test_a_run_stops_at_the_limits_of_a_follower(tmp_path: Path) -> None:
    """Let fall, the arm comes to rest where the follower's range ends: ja = (0.5 - jb)/2."""
    path = tmp_path / "grip.urdf"
    path.write_text(GRIPPER.format(i=SIX, upper=1))
    made = Robot(path)
    np.testing.assert_allclose(made.limits, [[-0.25, 0.3]], atol=1e-15)
    system, counter = lw.System(made), lw.Block("counter")
    counter.output("y", counter.discrete_state("n", "n + 1"))
    system.add(counter, name="guard", rate=10)  # its memory is not that of guards of constraints
    run = lw.simulate(system, until=1.5)
    assert (run["ja"][0], run["jb"][0]) == (0.0, 0.5)
    assert run["jb"].min() > -0.2
    assert abs(run["jb"][-1] + 0.1) < 0.02
    np.testing.assert_allclose(run["jb"], 0.5 - 2 * run["ja"], atol=1e-9)
    assert run.final["guard.n"] == pytest.approx(15, abs=1)


@seldom(daily="tests/robots/test_robots_dynamics.py::test_joints_that_follow_others")
def test_a_laboratory_starts_as_drawn_and_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    follows = '<equality><joint joint1="k" joint2="j" polycoef=".5 -2"/></equality></mujoco>'
    more = '<body name="c"><joint name="k" axis="0 1 0"/><geom size=".1"/></body></body></body>'
    path.write_text(FREE.format("").replace("</body></body>", more).replace("</mujoco>", follows))
    with lw.Lab(path) as lab:
        for _ in range(2):
            at = lab.loop.session.place().x
            assert (at["j"], at["k"]) == pytest.approx((0.4, 0.5), abs=1e-3)
            lab.run(0.02)
            at = lab.loop.session.place().x
            assert at["k"] == pytest.approx(0.5 - 2 * (at["j"] - 0.4), abs=1e-9)
            lab.reset()


def test_limits_that_contradict_each_other_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "grip.urdf"
    path.write_text(GRIPPER.format(i=SIX, upper=1).replace('offset="0.5"', 'offset="9"'))
    made = Robot(path)
    for asked in (made.random, lambda: lw.simulate(made, until=0.01)):
        with pytest.raises(lw.Error, match="leave it no"):
            asked()
    lw.simulate(Robot(path, limits=False), until=0.01)
    path.write_text(GRIPPER.format(i=SIX, upper=1).replace('offset="0.5"', 'offset="-4.1"'))
    one = Robot(path)
    np.testing.assert_allclose([*one.limits[0], *one.random()], -2, atol=1e-14)
    assert "only" in one.notes[-1]


FREE = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos=".1 .2 .3" euler="1 .2 0">{}
<geom type="box" size=".1 .2 .3"/>
<body name="b" pos="0 0 .4"><joint name="j" axis="1 0 0" ref=".4"/>
<geom size=".1" pos=".2 .3 0"/></body></body></worldbody></mujoco>"""


def test_a_free_root_starts_and_is_held_where_the_file_draws_it() -> None:
    free, held = (parse_mjcf(FREE.format(x)) for x in ('<freejoint name="f"/>', ""))
    model = mujoco.MjModel.from_xml_string(FREE.format('<freejoint name="f"/>'))
    made = Robot(free)
    np.testing.assert_allclose(made.neutral, model.qpos0, atol=1e-15)
    start = assemble(made.mechanism).coordinates
    np.testing.assert_allclose([start[name] for name in made.coordinates], model.qpos0, atol=1e-15)
    ours, theirs = Robot(free, base="fixed"), Robot(held)
    for q in ([0.0], [0.7]):
        np.testing.assert_allclose(ours.pose(q, "b"), theirs.pose(q, "b"), atol=1e-15)
        np.testing.assert_allclose(ours.gravity(q), theirs.gravity(q), atol=1e-12)


def test_what_sl_does_not_say_of_a_free_base_is_told_on_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "free.xml"
    path.write_text(FREE.format('<freejoint name="f"/>'))
    there = convert(path, tmp_path / "x.dyn")
    back = convert(tmp_path / "x.dyn", tmp_path / "x.urdf")
    for entries in (there.dropped, back.unread):
        assert any('base="free"' in entry.words for entry in entries)
    again = Robot(tmp_path / "x.dyn", base="free")
    assert again.mass == pytest.approx(Robot(path).mass)
