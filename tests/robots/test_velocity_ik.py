"""Inverse kinematics at the velocity level: mask, posture, weights, limits, priorities."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.blocks import BlockError
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass, Place
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.robots import Robot
from linkwright.robots.ik import VelocityIK, checked_weights

Array = NDArray[np.float64]

START = np.array([0.1, -0.5, 0.3, 1.0, 0.2, 0.6, -0.3])
REST = np.full(7, 0.3)
TOOL = (0.05, 0.0, 0.02, 0.1, 0.2, 0.3)
LIMITS = (-1.4, 1.4)
FREE = [0.0] * 6


@functools.cache
def arm() -> Robot:
    """Seven joints, a tool at the end and another frame near the elbow."""
    axes = [(0.0, 0.0, 1.0), *[(0.0, 1.0, 0.0), (1.0, 0.0, 0.0)] * 3]
    links, joints = [Link("base")], []
    for k, axis in enumerate(axes):
        place = Place((0.2 if k else 0.0, 0.0, 0.0))
        joints.append(LinkJoint(f"j{k}", "revolute", links[-1].name, f"l{k}", place, axis))
        links.append(Link(f"l{k}", Mass(1.0)))
    return Robot(Description("seven", tuple(links), tuple(joints)))


@functools.cache
def system() -> lw.System:
    """Tool first, elbow in its null space; all tests run this one program."""
    found = lw.System(name="tracking")
    block = VelocityIK(
        arm(),
        ["l6", "l3"],
        list(START),
        rest=list(REST),
        weights=2.0,
        limits=[LIMITS] * 7,
        tools=[TOOL, FREE],
        name="ik",
    )
    servo = found.add(block, rate=480)
    swing = lw.Block("swing")
    x, size = swing.input("x"), swing.input("size", unit="m")
    swing.output("place", x + size * (lw.cos(3 * swing.time) - 1))
    swing.output("speed", -3 * size * lw.sin(3 * swing.time))
    swing.output("bend", -9 * size * lw.cos(3 * swing.time))
    way = found.add(swing)
    found.connect(way.place, servo.pose[0])
    found.connect(way.speed, servo.twist[0])
    found.connect(way.bend, servo.acceleration[0])
    return found


def turns(a: float, b: float, c: float) -> Array:
    """The rotation about x, then y, then z."""
    x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return np.asarray(x @ y @ z)


def tool(q: Array) -> Array:
    """The pose of the tool, by the robot's own kinematics."""
    held = np.eye(4)
    held[:3, :3], held[:3, 3] = turns(*TOOL[3:]), TOOL[:3]
    return np.asarray(arm().pose(q, "l6") @ held)


def seven(pose: Array) -> list[float]:
    rows = tuple((float(a), float(b), float(c)) for a, b, c in pose[:3, :3])
    return [*map(float, pose[:3, 3]), *rotation_quaternion((rows[0], rows[1], rows[2]))]


def moved(
    seconds: float,
    tool_mask: list[float],
    elbow_mask: list[float],
    given: Mapping[str, float] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Times, joints, speeds and accelerations of a run."""
    inputs: dict[str, float] = {}
    masks = [*tool_mask, *elbow_mask]
    pose = [*seven(tool(START)), *seven(np.asarray(arm().pose(START, "l3")))]
    inputs |= {f"ik.mask[{k}]": x for k, x in enumerate(masks)}
    inputs |= {f"ik.pose[{k}]": x for k, x in enumerate(pose) if k}
    inputs |= {"swing.x": pose[0]}
    inputs |= {name if "." in name else f"ik.{name}": x for name, x in (given or {}).items()}
    run = lw.simulate(system(), until=seconds, every=1, inputs=inputs)
    q, u, a = (np.stack([run[f"ik.{x}[{k}]"] for k in range(7)], axis=1) for x in "qua")
    return run.times, q, u, a


def test_the_posture_comes_nearer_and_the_tool_stays_where_it_is() -> None:
    """SL check 28: null-space motion moves the end-effector less than 1e-6 m a step."""
    _, q, _, _ = moved(3.0, [1.0] * 6, FREE)
    places = np.array([tool(x)[:3, 3] for x in q])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.max() < 1e-8
    assert np.abs(places - places[0]).max() < 1e-7
    away = np.linalg.norm(q - REST, axis=1)
    assert np.all(np.diff(away) < 1e-12)
    assert away[-1] < away[0] - 0.01


def test_components_that_do_not_count_are_free() -> None:
    """SL check 29 for the servo: with z alone held, the rest of the pose goes with the posture."""
    _, q, _, _ = moved(2.0, [0, 0, 1, 0, 0, 0], FREE)
    places = np.array([tool(x)[:3, 3] for x in q])
    assert np.abs(places[:, 2] - places[0, 2]).max() < 1e-6
    assert np.abs(places[-1, :2] - places[0, :2]).max() > 0.05
    assert np.linalg.norm(q[-1] - REST) < 0.7 * np.linalg.norm(q[0] - REST)


def test_speeds_and_accelerations_belong_to_the_positions() -> None:
    """Accelerations are the rates of speeds, and x'' = J q'' + J' q' is the wanted one."""
    times, q, u, a = moved(1.0, [1.0] * 6, FREE, {"swing.size": 0.03})
    h = times[1] - times[0]
    assert h == pytest.approx(1 / 480)
    assert np.abs((q[2:] - q[:-2]) / (2 * h) - u[1:-1]).max() < 1e-4
    assert np.abs((u[2:] - u[:-2]) / (2 * h) - a[1:-1]).max() < 2e-4 * max(1.0, np.abs(a).max())
    places = np.array([tool(x)[:3, 3] for x in q])
    wanted = tool(START)[0, 3] - 0.03 * (1 - np.cos(3 * times))
    assert np.abs(places[:, 0] - wanted).max() < 1e-6
    shift = tool(START)[:3, 3] - np.asarray(arm().pose(START, "l6"))[:3, 3]
    for k in (100, 300):
        turn = np.asarray(arm().pose(q[k], "l6"))[:3, :3]
        lever = turn @ np.asarray(arm().pose(START, "l6"))[:3, :3].T @ shift
        rates = arm().velocity(q[k], u[k], "l6", reference="local-world-aligned")
        bent = arm().acceleration(q[k], u[k], a[k], "l6", reference="local-world-aligned")
        w, slope = np.asarray(rates)[3:], np.asarray(bent)[3:]
        found = np.asarray(bent)[:3] + np.cross(slope, lever) + np.cross(w, np.cross(w, lever))
        assert found == pytest.approx([-0.27 * np.cos(3 * times[k]), 0, 0], abs=2e-5)


def test_a_lower_frame_moves_in_the_null_space_of_a_higher_one() -> None:
    elbow = np.asarray(arm().pose(START, "l3"))[:3, 3]
    far = {"pose[9]": float(elbow[2] + 0.005)}
    _, q, _, _ = moved(2.0, [1.0] * 6, [0, 0, 1, 0, 0, 0], far)
    places = np.array([tool(x)[:3, 3] for x in q])
    heights = np.array([np.asarray(arm().pose(x, "l3"))[2, 3] for x in q])
    assert np.abs(places - places[0]).max() < 1e-6
    assert heights[-1] - heights[0] == pytest.approx(0.005, abs=1e-5)


def test_positions_are_kept_within_their_limits() -> None:
    """SL check 31: `check_range` clamps to the least and the greatest position."""
    x = float(tool(START)[0, 3])
    _, q, u, _ = moved(3.0, [1, 1, 1, 0, 0, 0], FREE, {"swing.x": x - 0.9})
    assert q.max() == pytest.approx(LIMITS[1], abs=1e-12) or q.min() == pytest.approx(
        LIMITS[0], abs=1e-12
    )
    assert q.max() <= LIMITS[1]
    assert q.min() >= LIMITS[0]
    held = (q >= LIMITS[1]) & (u > 0) | (q <= LIMITS[0]) & (u < 0)
    assert not held.any()


def test_joints_that_may_not_move_and_a_block_that_is_off_follow_the_start() -> None:
    _, q, u, _ = moved(0.5, [1, 1, 1, 0, 0, 0], FREE, {"moves[2]": 0.0})
    assert np.all(q[:, 2] == START[2])
    assert np.all(u[:, 2] == 0)
    assert np.abs(u).max() > 0.01
    _, q, u, a = moved(0.5, [1.0] * 6, FREE, {"on": 0.0, "start[1]": 0.25})
    assert np.all(q[1:, 1] == 0.25)
    assert not u.any()
    assert not a.any()


def test_a_singular_pose_and_a_goal_out_of_reach_give_bounded_speeds() -> None:
    x = float(tool(START)[0, 3])
    _, _, u, a = moved(4.0, [1.0] * 6, FREE, {"swing.x": x + 3.0})
    assert np.isfinite(a).all()
    assert np.abs(u).max() < 30.0


def test_weights_that_are_not_positive_are_refused_and_large_ones_warned_of() -> None:
    """SL check 30."""
    for wrong in (0.0, -1.0):
        with pytest.raises(BlockError, match="must be greater than 0; got j1"):
            VelocityIK(arm(), ["l6"], list(START), weights=[1, wrong, *[1] * 5])
    with pytest.warns(RuntimeWarning, match=r"1 or more, so the posture is overshot.*j0: 480/s"):
        checked_weights([480.0, 1.0], ["j0", "j1"], 1 / 480)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked_weights([479.0, 1.0], ["j0", "j1"], 1 / 480)
    strong = VelocityIK(arm(), ["l6"], list(START), weights=600.0)
    with pytest.warns(RuntimeWarning, match="keep weights below 480/s"):
        lw.System(name="s").add(strong, rate=480)


def test_lists_of_wrong_lengths_are_refused() -> None:
    with pytest.raises(BlockError, match="1 priorities for 2 frames"):
        VelocityIK(arm(), ["l6", "l3"], list(START), priorities=[0])
    with pytest.raises(BlockError, match="6 start for 7 joints"):
        VelocityIK(arm(), ["l6"], list(START[:6]))
    with pytest.raises(BlockError, match="no frame"):
        VelocityIK(arm(), [], list(START))
