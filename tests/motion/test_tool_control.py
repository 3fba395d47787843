"""Tool control: joint rates by one kernel, tools that follow rates, and ROBSIM's steps."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.robot.description import Description, Link, LinkJoint, NamedFrame, Place
from linkwright.motion import Dwell, Follow, Move, TaskSegment, ToolLine, point_to_point
from linkwright.motion.task_parts import Part
from linkwright.motion.trajectory import MotionError
from linkwright.robots import Robot
from linkwright.robots.ik import pseudo_inverse
from tests.seeds import cases, seldom
from tests.support.shared import robot as shipped

PLANE = ("y", "rx", "rz")


@cache
def arm(axes: str, *, slider: bool = False) -> Robot:
    """Return rods of 0.4 m on joints about some axes, mounted a quarter turn about z."""
    quarter = Place((0.0, 0.0, 0.0), ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    links = [Link("ground"), Link("l0")]
    joints = [LinkJoint("mount", "weld", "ground", "l0", quarter)]
    for k, axis in enumerate(axes, 1):
        kind = "prismatic" if slider and k == 2 else "revolute"
        along = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}[axis]
        links.append(Link(f"l{k}"))
        place = Place((0.0 if k == 1 else 0.4, 0.0, 0.0))
        joints.append(LinkJoint(f"q{k}", kind, f"l{k - 1}", f"l{k}", place, along))
    tool = NamedFrame("tool", f"l{len(axes)}", Place((0.4, 0.0, 0.0)))
    return Robot(Description("rods", tuple(links), tuple(joints), (tool,)))


# -- rates -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("axes", "slider"),
    cases(
        [("zyyxyxz", True), ("yxy", True), ("yyy", False), ("zyx", False)],
        daily=[("yxy", True), ("yyy", False), ("zyx", False)],
    ),
)
def test_rates_are_those_of_the_pseudo_inverse(axes: str, slider: bool) -> None:
    """Check 24: least norm for seven joints, least squares for three, one kernel in batch."""
    robot = arm(axes, slider=slider)
    rng = np.random.default_rng(3)
    q, rate = rng.uniform(-2, 2, (40, len(axes))), rng.normal(size=(40, 6))
    found = robot.joint_rates(q, rate, "tool")
    for k in range(len(q)):
        jacobian = robot.jacobian(q[k], "tool")
        expected = np.linalg.lstsq(jacobian, rate[k], rcond=1e-9)[0]
        assert np.allclose(found.rates[k], expected, atol=1e-8 * (1 + np.abs(expected).max()))
        assert np.allclose(found.residual[k], rate[k] - jacobian @ expected, atol=1e-8)
        assert np.atleast_1d(found.rank)[k] == np.linalg.matrix_rank(jacobian, 1e-7)
    one = robot.joint_rates(q[0], rate[0], "tool")
    assert np.allclose(one.rates, found.rates[0], atol=1e-12)


def test_damped_rates_weights_and_the_null_space() -> None:
    robot = arm("zyyxyxz", slider=True)
    rng = np.random.default_rng(5)
    q, rate, aim = rng.uniform(-2, 2, 7), rng.normal(size=6), rng.normal(size=7)
    jacobian = robot.jacobian(q, "tool")
    damped = robot.joint_rates(q, rate, "tool", method="damped", damping=0.3).rates
    square = jacobian @ jacobian.T + 0.09 * np.eye(6)
    assert np.allclose(damped, jacobian.T @ np.linalg.solve(square, rate), atol=1e-10)
    inverse = pseudo_inverse(jacobian).matrix
    found = robot.joint_rates(q, rate, "tool", aim=aim).rates
    assert np.allclose(found, inverse @ rate + aim - inverse @ (jacobian @ aim), atol=1e-9)
    rows = [0, 2, 4]
    weights = np.isin(np.arange(6), rows).astype(float)
    part = robot.joint_rates(q, rate, "tool", weights=weights).rates
    assert np.allclose(part, np.linalg.lstsq(jacobian[rows], rate[rows], rcond=None)[0], atol=1e-9)


# -- following -------------------------------------------------------------------------------------
START = {"q1": 0.3, "q2": -1.4, "q3": 1.1}


@seldom(daily="test_a_tool_turns_about_its_own_axes_while_it_moves_along_them")
def test_a_tool_follows_rates_in_base_world_and_tool_axes() -> None:
    """The base is turned by a quarter about z: its x is the world's y."""
    robot = arm("yyy")
    found = {}
    for axes in ("base", "world", "tool"):
        channel = {"base": "x", "world": "y", "tool": "x"}[axes]
        free = ("x", "ry", "rz") if axes == "world" else PLANE
        part = TaskSegment(
            {channel: [0.1, 0.05]}, duration=0.5, control="tool", axes=axes, free=free
        )
        need = lw.sizing.require(robot, lw.Task([part], START), step=0.002, dynamics=False)
        q = np.array([need[n] for n in robot.coordinates]).T
        found[axes] = robot.pose(q, "tool")
        u = np.array([need[n] for n in robot.speeds]).T
        a = np.array([need[f"{n}.acceleration"] for n in robot.coordinates]).T
        differences = (u[2:] - u[:-2]) / 0.004
        assert np.allclose(a[1:-1], differences, atol=1e-5 * (1 + np.abs(a).max()))
    assert np.allclose(found["base"], found["world"], atol=1e-9)
    way = found["base"][-1, :3, 3] - found["base"][0, :3, 3]
    assert way == pytest.approx([0, 0.05 + 0.05 * 0.125, 0], abs=1e-9)
    own = found["tool"]
    assert np.allclose(own[-1, :3, :3], own[0, :3, :3], atol=1e-8)
    assert np.allclose(own[-1, :3, 3] - own[0, :3, 3], own[0, :3, 0] * way[1], atol=1e-8)


def test_a_tool_turns_about_its_own_axes_while_it_moves_along_them() -> None:
    """Rates along and about the tool's axes make a screw; one about the world's does not."""
    robot = arm("yyy")
    part = TaskSegment({"x": 0.1, "ry": 0.8}, duration=0.5, control="tool", axes="tool", free=PLANE)
    need = lw.sizing.require(robot, lw.Task([part], START), step=0.005, dynamics=False)
    q = np.array([need[n] for n in robot.coordinates]).T
    first, last = robot.pose(q[[0, -1]], "tool")
    moved = np.linalg.inv(first) @ last
    arc = np.array([math.sin(0.4), 0.0, math.cos(0.4) - 1]) * 0.1 / 0.8
    assert np.allclose(moved[:3, 3], arc, atol=1e-8)
    assert moved[0, 2] == pytest.approx(math.sin(0.4), abs=1e-8)


def test_segments_mix_joint_and_tool_control() -> None:
    """Checks 20 and 29: the tool's place and error are known under tool control alone."""
    robot = arm("yyy")
    home = robot.position(list(START.values()), "tool")
    rate = TaskSegment({"q2": [0.0, 1.0]}, duration=0.5)
    back = point_to_point([-1.275], [-1.4], 0.5)
    parts: list[Part] = [
        ToolLine({"z": 0.05}, 0.25, free=PLANE),
        ToolLine({"z": -0.05}, 0.25, law="trapezoid", free=PLANE),
        rate,
        Follow(back, ("q2",)),
        Dwell(0.25),
        TaskSegment(
            {"x": [home[1], 0.1], "ry": [0.0, 0.2]},
            duration=0.5, control="tool", profile="position", free=PLANE,
        ),
    ]  # fmt: skip
    need = lw.sizing.require(robot, lw.Task(parts, START), step=0.005, dynamics=False)
    q = np.array([need[n] for n in robot.coordinates]).T
    t = need.times
    place = robot.position(q, "tool")
    tool = (t < 0.5 - 1e-9) | (t > 1.75 - 1e-9)
    assert np.array_equal(tool, ~np.isnan(need["tool.error"]))
    assert np.nanmax(need["tool.error"]) < 1e-5
    assert np.allclose(place[t <= 0.25][-1] - home, [0, 0, 0.05], atol=1e-6)
    assert np.allclose(place[np.searchsorted(t, 0.5 - 1e-9)], home, atol=1e-6)
    joint = (t > 0.5) & (t < 1.0)
    assert np.allclose(need["q2_dot"][joint], t[joint] - 0.5, atol=1e-12)
    assert np.allclose(place[-1] - home, [0, 0.05, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("parts", "start", "words"),
    [
        ([ToolLine({"x": 2.0}, 1.0, free=PLANE)], START, "meets a singular pose at 0.*R205"),
        ([TaskSegment({"y": 0.1}, 0.0, 1.0, control="tool")], START, "cannot follow at 0 s.*R205"),
        ([TaskSegment({"x": [0.0, 0.1]}, 0.0, 1.0, control="tool", profile="position")], START,
         "x of the tool jumps by .* at 0 s.*R207"),
    ],
)  # fmt: skip
def test_what_a_tool_cannot_reach_is_refused(
    parts: list[Part], start: dict[str, float], words: str
) -> None:
    with pytest.raises(MotionError, match=words):
        lw.sizing.require(arm("yyy"), lw.Task(parts, start), step=0.01, dynamics=False)


def test_a_way_that_ends_beyond_reach_is_refused_with_the_distance() -> None:
    robot = arm("yyy")
    q = np.array([START[name] for name in robot.coordinates])
    end = robot.position(q, "tool") + np.array([0.0, 1.5, 0.0])  # x of the base is y of the world
    short = float(np.linalg.norm(end)) - 1.2
    task = lw.Task([ToolLine({"x": 1.5}, 1.0, free=PLANE)], START)
    with pytest.raises(MotionError, match=r"likely beyond the arm's reach.*bent.*R205") as caught:
        lw.sizing.require(robot, task, step=0.01, dynamics=False)
    assert f"by {short:.3g} m" in str(caught.value)


def test_damping_goes_through_where_a_rate_is_out_of_reach() -> None:
    task = lw.Task([ToolLine({"x": 0.5}, 1.0, free=PLANE)], START)
    need = lw.sizing.require(arm("yyy"), task, step=0.01, dynamics=False, damping=0.05)
    assert np.isfinite(need["q1"]).all()
    assert np.nanmax(need["tool.error"]) > 0.01


# -- ROBSIM ----------------------------------------------------------------------------------------
def test_steps_end_by_half_a_step() -> None:
    """Check 62."""
    robot = arm("yyy")
    for step, last in ((0.3, 0.9), (0.4, 0.8), (0.25, 1.0), (0.7, 0.7)):
        task = lw.Task([TaskSegment({"q1": 1.0})], stop=1.0)
        old = lw.sizing.require(robot, task, step=step, scheme="robsim", dynamics=False)
        assert old.times[-1] == pytest.approx(last)
        assert old["q1"][-1] == pytest.approx(last)
    later = lw.Task([TaskSegment({"q1": [0.0, 1.0]})], begin=5.0, stop=6.0)
    old = lw.sizing.require(robot, later, step=0.25, scheme="robsim", dynamics=False)
    assert old.times[0] == 5.0  # steps are counted, so other starts are as good as 0
    assert old["q1"][-1] == pytest.approx(0.25 * (0 + 0.25 + 0.5 + 0.75))


def test_dynamics_are_of_means_and_start_from_the_second_instant() -> None:
    """Checks 31, 32 and 33: unwrapped means; mean acceleration is that of the middle."""
    robot = shipped("puma560")
    first, second = robot.coordinates[:2]  # gravity acts on the second one
    c, start = [0.4, 0.3, -0.9], math.radians(358)
    task = lw.Task([TaskSegment({first: c, second: c})], {first: start, second: start}, stop=0.5)
    old = lw.sizing.require(robot, task, step=0.05, scheme="robsim")
    torque = np.array([old[f"{name}.torque"] for name in robot.coordinates]).T
    assert np.isnan(torque[0]).all()
    assert np.isfinite(torque[1:]).all()
    middle = old.times[1:] - 0.025
    assert np.allclose(old[f"{first}.acceleration"][1:], 0.3 - 1.8 * middle, atol=1e-12)
    q, u = (np.array([old[n] for n in names]).T for names in (robot.coordinates, robot.speeds))
    assert (q[0, :2] < 2 * math.pi).all()
    assert (q[-1, :2] > 2 * math.pi).all()  # nothing jumps at the full turn
    mean = (q[1:] + q[:-1]) / 2, (u[1:] + u[:-1]) / 2, np.diff(u, axis=0) / 0.05
    assert np.allclose(torque[1:], robot.inverse_dynamics(*mean), atol=1e-9)
    half = robot.inverse_dynamics(mean[0] - math.pi, *mean[1:])  # as means of wrapped angles are
    assert np.abs(half - torque[1:]).max() > 10
    assert len(old.cycles()[0].times) == len(old.times) - 1


def test_old_steps_approach_the_exact_motion() -> None:
    robot = arm("yyy")
    parts: list[Part] = [
        Move({"q1": 0.6}, 0.5),
        ToolLine({"z": 0.05}, 0.5, free=PLANE, law="trapezoid"),
    ]
    task = lw.Task(parts, START)
    exact = lw.sizing.require(robot, task, step=0.01, dynamics=False)
    gaps = []
    for step in (0.01, 0.005):
        old = lw.sizing.require(robot, task, step=step, scheme="robsim", dynamics=False)
        gaps.append(abs(old["q2"][-1] - exact["q2"][-1]))
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.1)
