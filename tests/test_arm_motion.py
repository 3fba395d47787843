"""Joint and tool legs in one motion: paths, frames that move, singular poses, several arms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import floor, where
from linkwright.motion.chains import ArmMotion, ToolKinematics
from linkwright.robots.ik import tool_kinematics

Array = NDArray[np.float64]
RATE = 1000
HOME = [0.0, 0.8, 3.1, 0.0, 0.8, 0.0]
SPEED, ACCELERATION = [3.0] * 6, [15.0] * 6


@cache
def puma() -> lw.Robot:
    return lw.Robot("puma560")


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


def belt_system(**more: Any) -> tuple[ArmMotion, lw.System]:
    """Return an arm and a belt, seen 50 times a second, that moves along y from a time on."""
    chain = ArmMotion(kinematics(), SPEED, ACCELERATION, frames=["belt"], start=HOME, rate=RATE)
    s = lw.System(name="s")
    arm = s.add(chain)
    b = lw.Block("belt", rate=RATE)
    speed, lost = b.input("speed"), b.input("lost", 1e9)
    stop, hold = b.input("stop_at", 1e9), b.input("hold_at", 1e9)
    until = b.input("hold_until", 1e9)
    seen = b.intermediate(where(b.time < lost, floor(b.time * 50 + 1e-9) / 50, lost))
    b.output_vector("pose", [0, speed * seen, 0, 1, 0, 0, 0])
    b.output_vector("twist", [0, speed, 0, 0, 0, 0])
    b.output("age", b.time - seen, unit="s")
    b.output("stop", b.time >= stop)
    b.output("hold", (b.time >= hold) & (b.time < until))
    belt = s.add(b)
    s.connect(belt.pose, arm.belt_pose)
    s.connect(belt.twist, arm.belt_twist)
    s.connect(belt.age, arm.age_belt)
    s.connect(belt.stop, arm.stop)
    s.connect(belt.hold, arm.hold)
    return chain, s


@pytest.fixture(scope="module")
def cell() -> tuple[ArmMotion, lw.System]:
    return belt_system()


def run(cell: tuple[ArmMotion, lw.System], goals: list[Any], until: float, **more: float) -> Any:
    """Return the channels of a run by name, vectors as rows."""
    chain, system = cell
    values = {name: 0.0 for name in system.inputs() if name.startswith("arm.sequence")}
    values |= {"belt.speed": 0.0, **{f"belt.{n}": 1e9 for n in
               ("lost", "stop_at", "hold_at", "hold_until")}}  # fmt: skip
    for k, (kind, where_, options) in enumerate(goals):
        goal = chain.goal(k + 1, kind, where_, **options)
        values |= {f"arm.{name}": value for name, value in goal.items()}
    system.set(values | {f"belt.{name}": value for name, value in more.items()})
    recording = lw.simulate(system, until=until, every=1).recording
    found: dict[str, Array] = {}
    for name in ("q", "u", "a"):
        found[name] = np.stack([recording[f"arm.{name}[{k}]"] for k in range(6)], axis=1)
    for name in (
        "done",
        "refused",
        "error",
        "turn_error",
        "pace",
        "cause",
        "moving",
        "progress",
        "pending",
    ):
        found[name] = np.asarray(recording[f"arm.{name}"])
    return found


def check_smooth(found: Any, slack: float = 1.0) -> None:
    """Rates are those of the values; limits hold; nothing jumps."""
    q, u, a = found["q"], found["u"], found["a"]
    h = 1 / RATE
    assert np.all(np.abs(u) <= np.array(SPEED) * 1.001)
    assert np.all(np.abs(a) <= slack * np.array(ACCELERATION) * (1 + 1e-6))
    assert np.abs(np.diff(a, axis=0)).max() < 0.15 * max(ACCELERATION)
    assert np.abs(np.diff(q, axis=0) / h - (u[1:] + u[:-1]) / 2).max() < 2e-3
    assert np.abs(np.diff(u, axis=0) / h - (a[1:] + a[:-1]) / 2).max() < 1.5


ONE, TWO = [0.4, 0.6, 2.9, 0.2, 0.9, 0.3], [0.1, 0.9, 2.8, -0.3, 0.7, 0.1]


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


def test_a_tool_follows_a_belt_that_a_sensor_sees(cell: Any) -> None:
    chain, _ = cell
    on_belt = {"frame": chain.frame("belt")}
    grasp = pose(ONE)
    found = run(cell, [("pose", grasp, on_belt)], 3.0, speed=0.1)
    t = np.arange(len(found["q"])) / RATE
    place = matrices(found["q"])[:, :3, 3]
    reached = found["done"] == 1
    wanted = np.array(grasp[:3]) + np.outer(t, [0, 0.1, 0])
    assert reached.sum() > 500
    assert np.abs(place - wanted)[reached].max() < 1e-5
    check_smooth(found)
