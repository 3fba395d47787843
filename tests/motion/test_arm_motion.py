"""Joint and tool legs in one motion: paths, frames that move, singular poses, several arms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import cos, floor, sin, sqrt, where
from linkwright.motion.chains import (
    CAUSES,
    ArmMotion,
    FrameProduct,
    SampledIK,
    ToolKinematics,
    ToolPose,
)
from linkwright.robots.ik import tool_kinematics
from tests.seeds import seldom
from tests.support.shared import robot

Array = NDArray[np.float64]
RATE = 1000
HOME = [0.0, 0.8, 3.1, 0.0, 0.8, 0.0]
SPEED, ACCELERATION = [3.0] * 6, [15.0] * 6
UPPER = [1.0, 9.0, 9.0, 9.0, 9.0, 9.0]


def puma() -> lw.Robot:
    return robot("puma560")


@cache
def kinematics() -> ToolKinematics:
    return tool_kinematics(puma(), "tool")


def numbers(matrix: Array) -> list[float]:
    """Return place and quaternion of a pose."""
    r = matrix[:3, :3]
    w = np.sqrt(max(0.0, 1 + np.trace(r))) / 2
    v = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4 * w)
    return [*matrix[:3, 3], w, *v]


def pose(q: list[float]) -> list[float]:
    return numbers(np.asarray(puma().pose(q, "tool")))


def matrices(q: Array) -> Array:
    return np.asarray(puma().pose(q, "tool"))


SHIFT = [0.0, 0.7, 0.0]  # of the other arm's base


def belt_system() -> tuple[ArmMotion, lw.System]:
    """Return an arm with a frame: a belt seen 50 times a second, or the tool of another arm."""
    chain = ArmMotion(
        kinematics(), SPEED, ACCELERATION, frames=["belt"], start=HOME, upper=UPPER, rate=RATE
    )
    other = lw.motion.ChainMotion(SPEED, ACCELERATION, start=HOME, name="other", rate=RATE)
    s = lw.System(name="s")
    arm, lead, hand = s.add(chain), s.add(other), s.add(ToolPose(kinematics(), rate=RATE))
    for name in ("q", "u", "a"):
        s.connect(lead[name], hand[name])
    tool = s.add(FrameProduct(["base", "tool"], rate=RATE))
    s.connect([*SHIFT, 1, 0, 0, 0], tool.base_pose)
    for name in ("pose", "twist", "acceleration"):
        s.connect(hand[name], tool[f"tool_{name}"])
    b = lw.Block("belt", rate=RATE)
    speed, lost, found, led, broken = (b.input(n, v) for n, v in BELT.items())
    shown = {n: b.input_vector(n, k) for n, k in (("pose_in", 7), ("twist_in", 6), ("bend_in", 6))}
    seen = b.intermediate(floor(b.time * 50 + 1e-9) / 50)
    seen = b.intermediate(where((b.time >= lost) & (b.time < found), lost, seen))
    plain: dict[str, list[Any]] = {
        "pose": [where(b.time < broken, 0, sqrt(b.time - 1e8)), speed * seen, 0, 1, 0, 0, 0],
        "twist": [0, speed, 0, 0, 0, 0],
        "bend": [0] * 6,
    }
    for name, values in plain.items():
        pairs = zip(shown[f"{name}_in"], values, strict=True)
        b.output_vector(name, [where(led, x, y) for x, y in pairs])
    b.output("age", where(led, 0, b.time - seen), unit="s")
    flags = lw.Block("flags", rate=RATE)
    for name in FLAGS:
        flags.output(name, flags.time >= flags.input(f"{name}_at", 1e9))
    belt, flag = s.add(b), s.add(flags)
    for name, port in (("pose", "pose_in"), ("twist", "twist_in"), ("acceleration", "bend_in")):
        s.connect(tool[name], belt[port])
    s.connect(belt.pose, arm.belt_pose)
    s.connect(belt.twist, arm.belt_twist)
    s.connect(belt.bend, arm.belt_acceleration)
    s.connect(belt.age, arm.age_belt)
    for member in (arm, lead):
        s.connect(flag.stop, member.stop)
        s.connect(flag.hold * (1 - flag.release), member.hold)
    return chain, s


BELT = {"speed": 0.0, "lost": 1e9, "found": 1e9, "led": 0.0, "broken": 1e9}
FLAGS = ("stop", "hold", "release")


@pytest.fixture(scope="module")
def cell() -> tuple[ArmMotion, lw.System]:
    return belt_system()


Goals = list[tuple[str, list[float], dict[str, Any]]]


def run(cell: Any, goals: Goals, until: float, *, lead: Goals | None = None, **more: float) -> Any:
    """Return the channels of a run by name, vectors as rows."""
    _, system = cell
    values = {name: 0.0 for name in system.inputs() if ".sequence" in name}
    values |= {f"belt.{name}": more.get(name, value) for name, value in BELT.items()}
    values |= {f"flags.{name}_at": more.get(name, 1e9) for name in FLAGS}
    for member, asked in (("arm", goals), ("other", lead or [])):
        for k, (kind, at, options) in enumerate(asked):
            goal = system[member].block.goal(k + 1, kind, at, **options)
            values |= {f"{member}.{name}": value for name, value in goal.items()}
    system.set_parameters(values)
    recording = lw.simulate(system, until=until, every=1).recording
    found: dict[str, Array] = {"t": np.arange(round(until * RATE) + 1) / RATE}
    for member, prefix in (("arm", ""), ("other", "other_")):
        for name in ("q", "u", "a"):
            columns = [recording[f"{member}.{name}[{k}]"] for k in range(6)]
            found[prefix + name] = np.stack(columns, axis=1)
    for name in ("done", "refused", "error", "turn_error", "pace", "cause", "moving", "pending"):
        found[name] = np.asarray(recording[f"arm.{name}"])
    return found


def check_smooth(found: Any) -> None:
    """Rates are those of the values; limits hold; nothing jumps."""
    q, u, a = found["q"], found["u"], found["a"]
    h = 1 / RATE
    assert np.all(np.abs(u) <= np.array(SPEED) * 1.001)
    assert np.all(np.abs(a) <= np.array(ACCELERATION) * (1 + 1e-6))
    assert np.abs(np.diff(a, axis=0)).max() < 0.15 * max(ACCELERATION)
    assert np.abs(np.diff(q, axis=0) / h - (u[1:] + u[:-1]) / 2).max() < 2e-3
    assert np.abs(np.diff(u, axis=0) / h - (a[1:] + a[:-1]) / 2).max() < 1.5


ONE, TWO = [0.4, 0.6, 2.9, 0.2, 0.9, 0.3], [0.1, 0.9, 2.8, -0.3, 0.7, 0.1]


@seldom(daily="test_a_tool_follows_a_belt_that_a_sensor_sees")
def test_joint_and_tool_legs_are_one_motion(cell: Any) -> None:
    goals = [
        ("joints", [0.2, 0.7, 3.0, 0.1, 0.9, 0.1], {}),
        ("pose", pose(ONE), {"blend": 0.1}),
        ("pose", pose(TWO), {"blend": 0.1}),
        ("joints", HOME, {"blend": 0.1}),
    ]
    found = run(cell, goals, 4.0)
    assert found["done"][-1] == 4
    np.testing.assert_array_equal(found["q"][-1], HOME)
    check_smooth(found)
    assert found["error"].max() < 1e-7
    assert found["turn_error"].max() < 1e-7
    # between the turns the tool goes straight from pose to pose
    legs = matrices(found["q"])[:, :3, 3]
    a, b = np.array(pose(ONE)[:3]), np.array(pose(TWO)[:3])
    along = (b - a) / np.linalg.norm(b - a)
    away = np.linalg.norm(np.cross(legs - a, along), axis=1)
    straight = (found["done"] == 2) & (found["pending"] == 1)
    assert straight.sum() > 50
    assert away[straight].max() < 1e-6


def on_belt(**more: float) -> dict[str, Any]:
    return {"frame": 1, **more}


def test_a_tool_follows_a_belt_that_a_sensor_sees(cell: Any) -> None:
    grasp = pose(ONE)
    goals: Goals = [("pose", grasp, on_belt()), ("joints", HOME, {"blend": 0.1})]
    found = run(cell, goals[:1], 2.5, speed=0.1)
    place = matrices(found["q"])[:, :3, 3]
    reached = found["done"] == 1
    wanted = np.array(grasp[:3]) + np.outer(found["t"], [0, 0.1, 0])
    assert reached.sum() > 500
    assert np.abs(place - wanted)[reached].max() < 1e-6
    check_smooth(found)
    assert np.abs(found["u"][-1]).max() > 0.01
    # joints that leave the moving belt do so smoothly, and come to rest
    found = run(cell, goals, 3.0, speed=0.1)
    assert found["done"][-1] == 2
    np.testing.assert_allclose(found["q"][-1], HOME, atol=1e-12)
    check_smooth(found)


def test_a_frame_that_is_too_old_is_not_followed_until_it_is_seen_again(cell: Any) -> None:
    goals: Goals = [("pose", pose(ONE), on_belt(speed=0.3))]
    found = run(cell, goals, 4.0, speed=0.05, lost=0.3, found=1.8)
    t = found["t"]
    old = (t > 0.3 + 0.26) & (t < 1.8)
    assert {CAUSES[int(c)] for c in np.unique(found["cause"])} == {"none", "age"}
    assert np.all(found["cause"][old] == CAUSES.index("age"))
    resting = (t > 1.4) & (t < 1.8)
    assert np.abs(found["u"][resting]).max() < 1e-4
    assert found["done"][-1] == 1
    place = matrices(found["q"][-1:])[0, :3, 3]
    np.testing.assert_allclose(place, np.array(pose(ONE)[:3]) + np.array([0, 0.2, 0]), atol=1e-4)
    check_smooth(found)


def test_arms_start_on_one_tick_stop_together_and_one_follows_the_other(cell: Any) -> None:
    """One arm keeps its tool at a place in the frame of the other's tool, while that moves."""
    away = np.linalg.inv(matrices(np.array([HOME]))[0] + _shifted()) @ matrices(np.array([ONE]))[0]
    goals: Goals = [("pose", numbers(away), on_belt())]
    lead: Goals = [
        ("joints", [0.3, 0.7, 3.0, 0.2, 0.9, -0.2], {"speed": 0.1}),
        ("joints", HOME, {"blend": 0.1}),
    ]
    cell[1].set_parameters({"arm.belt_bandwidth": 200.0})
    found = run(cell, goals, 3.0, lead=lead, led=1)
    first = [int(np.argmax(np.abs(found[name]).max(axis=1) > 0)) for name in ("u", "other_u")]
    assert first[0] == first[1]
    tools, others = matrices(found["q"]), matrices(found["other_q"]) + _shifted()
    reached = found["done"] == 1
    moving = np.abs(found["other_u"]).max(axis=1) > 0.05
    assert (reached & moving).sum() > 50
    apart = np.linalg.inv(others[reached]) @ tools[reached]
    assert np.abs(apart - away).max() < 1e-4
    check_smooth(found)
    stopped = run(cell, goals, 1.5, lead=lead, led=1, stop=0.4)
    for name in ("u", "other_u"):
        assert np.abs(stopped[name][400]).max() > 0.1
        assert np.abs(stopped[name][-300:]).max() < 1e-5
    check_smooth(stopped)
    cell[1].set_parameters({"arm.belt_bandwidth": 50.0})


def _shifted() -> Array:
    found = np.zeros((4, 4))
    found[:3, 3] = SHIFT
    return found


@pytest.mark.parametrize(("away", "deviation"), [(0.25, 2e-5), (0.1, 1e-3), (0.055, 5e-3)])
def test_near_a_singular_pose_path_time_slows_down_and_the_path_is_kept(
    cell: Any, away: float, deviation: float
) -> None:
    """A tool turns through the pose in which two axes of the wrist are one, or close by."""
    start, end = [0.0, 0.8, 3.1, 0.05, 0.3, 0.0], [0.0, 0.8, 3.1, away, -0.3, 0.0]
    found = run(cell, [("joints", start, {}), ("pose", pose(end), {})], 5.0)
    assert found["done"][-1] == 2
    assert found["pace"].min() < 0.05
    assert np.all(np.abs(found["u"]) <= np.array(SPEED) * (1 + 1e-12))
    assert found["error"].max() < deviation
    assert found["turn_error"].max() < deviation
    assert np.abs(found["a"]).max() < 1.01 * max(ACCELERATION)


def test_random_chains_of_both_kinds_are_smooth_within_limits(cell: Any) -> None:
    """Goals of both kinds, in both frames, with stops at any time: nothing jumps."""
    generator = np.random.default_rng(0)
    finished = 0
    for _ in range(8):
        goals: Goals = []
        for k in range(4):
            q = (np.array(HOME) + generator.uniform(-0.35, 0.35, 6)).tolist()
            options = {"blend": float(generator.choice([0, 0.05, 0.2])) if k else 0.0}
            options["speed"] = float(generator.uniform(0.3, 1))
            kind = str(generator.choice(["joints", "pose"]))
            if kind == "pose":
                options["frame"] = int(generator.integers(2))
            goals.append((kind, q if kind == "joints" else pose(q), options))
        at = float(generator.uniform(0.2, 1.5))
        found = run(cell, goals, 4.0, speed=0.05, hold=at, release=at + 0.5)
        check_smooth(found)
        finished += int(found["done"][-1])
    assert finished > 20


def test_stop_and_hold_keep_the_path_of_the_tool(cell: Any) -> None:
    goals: Goals = [("pose", pose(ONE), {}), ("pose", pose(TWO), {})]
    a, b = np.array(pose(HOME)[:3]), np.array(pose(ONE)[:3])
    along = (b - a) / np.linalg.norm(b - a)
    halts: list[dict[str, Any]] = [{"hold": 0.3, "release": 1.0}, {"stop": 0.3}]
    for more in halts:
        found = run(cell, goals, 3.0, **more)
        assert np.abs(found["u"][800:990]).max() == 0
        assert found["done"][-1] == (2 if "hold" in more else 0)
        place = matrices(found["q"][:1000])[:, :3, 3]
        assert np.linalg.norm(np.cross(place - a, along), axis=1).max() < 1e-7
        check_smooth(found)


def test_a_tool_that_cannot_keep_to_its_path_stops_and_says_why(cell: Any) -> None:
    """Beyond reach, or the limit of a joint: the arm brakes, and stands until it is stopped."""
    far = pose(ONE)
    far[:3] = [1.5, 0.0, 0.5]
    beside = [1.3, *ONE[1:]]
    for goal, cause in ((far, "reach"), (pose(beside), "limits")):
        found = run(cell, [("pose", goal, {})], 6.0)
        assert CAUSES[int(found["cause"][-1])] == cause
        assert found["done"][-1] == 0
        assert np.abs(found["u"][-1]).max() == 0
        assert found["q"][:, 0].max() < UPPER[0]
        assert np.all(np.abs(found["u"]) <= np.array(SPEED) * (1 + 1e-12))
        again = run(cell, [("pose", goal, {})], 6.5, stop=6.0)
        assert CAUSES[int(again["cause"][-1])] == "stop"


def test_a_frame_of_no_numbers_is_not_followed(cell: Any) -> None:
    found = run(cell, [("pose", pose(ONE), on_belt(speed=0.3))], 1.5, speed=0.05, broken=0.3)
    assert np.all(np.isfinite(found["q"]) & np.isfinite(found["a"]))
    assert CAUSES[int(found["cause"][-1])] == "age"
    assert np.abs(found["u"][-1]).max() < 1e-5
    check_smooth(found)


def test_sampled_inverse_kinematics_come_to_a_pose_that_moves_and_stay_with_it() -> None:
    """From 0.1 m away at bounded speed; then what is left is of third order in the period."""
    ik = SampledIK(kinematics(), [0.1, 0.9, 3.0, 0.1, 0.7, 0.1], speed=2.0, rate=RATE)
    b = lw.Block("path", rate=RATE)
    x, y, z, w, i, j, k = (float(v) for v in pose(HOME))
    c, s = cos(b.time / 2 * 0.3), sin(b.time / 2 * 0.3)  # turns about the base's x at 0.3 rad/s
    turn = [c * w - s * i, c * i + s * w, c * j - s * k, c * k + s * j]
    b.output_vector("pose", [x + 0.05 * sin(3 * b.time), y, z + 0 * b.time, *turn])
    b.output_vector("twist", [0.15 * cos(3 * b.time), 0, 0, 0.3, 0, 0])
    b.output_vector("bend", [-0.45 * sin(3 * b.time), 0, 0, 0, 0, 0])
    system = lw.System(name="s")
    member, path = system.add(ik), system.add(b)
    for source, port in (("pose", "pose"), ("twist", "twist"), ("bend", "acceleration")):
        system.connect(path[source], member[port])
    recording = lw.simulate(system, until=1.0, every=1).recording
    q = np.stack([recording[f"sampled_ik.q[{n}]"] for n in range(6)], axis=1)
    u = np.stack([recording[f"sampled_ik.u[{n}]"] for n in range(6)], axis=1)
    error = np.asarray(recording["sampled_ik.error"])
    assert error[0] > 0.05
    assert error[-500:].max() < 1e-8
    assert np.asarray(recording["sampled_ik.turn_error"])[-500:].max() < 1e-8
    assert np.abs(np.diff(q, axis=0) * RATE - u[:-1]).max() < 2.0 + 0.1
    place = matrices(q)[:, :3, 3]
    t = np.arange(len(q)) / RATE
    assert np.abs(place[-500:, 0] - x - 0.05 * np.sin(3 * t[-500:])).max() < 1e-8
