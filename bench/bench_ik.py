"""Inverse kinematics of the Panda: solutions per second beside Pinocchio in Python.

Both get the same reachable poses, limits, tolerance and starts at random. The peer is damped least
squares as its users write it: `log6` of the error, the frame's Jacobian, a damped solve with NumPy,
`integrate`, clamped to the limits, and another start when it has not arrived after some steps.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pinocchio as pin

import linkwright as lw
from bench.example_robots import EXAMPLES, path_of
from bench.measure import Row
from linkwright.robots.ik import branches, solve, spherical_arm

TITLE = "Inverse kinematics"
FRAME = "panda_link8"
FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
TOLERANCE = 1e-6
GOALS, PEER_GOALS = 10_000, 100
_ROUNDS = 3


def run() -> list[Row]:
    """Return the rows of the table."""
    path = path_of(next(e for e in EXAMPLES if e.name == "Panda"))
    robot = lw.load(path, locked=FINGERS, friction=False)
    goals = robot.pose(robot.random(GOALS, seed=11), FRAME)
    solve(robot, goals[:64], FRAME)
    ours, found = math.inf, None
    for _ in range(_ROUNDS):
        started = time.process_time()
        found = solve(robot, goals, FRAME, tolerance=TOLERANCE)
        ours = min(ours, (time.process_time() - started) / GOALS)
    assert found is not None
    single = _single(robot, goals[:200])
    peer, success = _pinocchio(str(path), goals[:PEER_GOALS])
    rate = float(found.reached.mean())
    return [
        Row(
            "Panda, batch of 10,000: solutions over Pinocchio's",
            peer / ours,
            "1",
            10.0,
            "higher",
            f"{1 / ours:,.0f} against {1 / peer:,.0f} solutions a second on one core",
        ),
        Row("… reached within 1e-6 m and rad", rate, "1", 0.99, "higher", f"peer {success:.3f}"),
        Row(
            "Panda, one goal after the other over Pinocchio's",
            peer / single,
            "1",
            None,
            "higher",
            f"{single * 1e6:.0f} µs a solution",
        ),
        _closed(),
    ]


def _single(robot: lw.Robot, goals: Any) -> float:
    solve(robot, goals[0], FRAME, tolerance=TOLERANCE)  # its kernel is not that of rows
    started = time.process_time()
    for goal in goals:
        solve(robot, goal, FRAME, tolerance=TOLERANCE)
    return (time.process_time() - started) / len(goals)


def _closed() -> Row:
    """Return the time of all eight branches of the PUMA."""
    robot = lw.Robot(lw.load("puma560:drives=off"))
    frame = robot.frames[-1]
    arm = spherical_arm(robot, frame)
    goals = robot.pose(np.random.default_rng(5).uniform(-2, 2, (200, 6)), frame)
    started = time.process_time()
    solved = [branches(arm, goal) for goal in goals]
    taken = (time.process_time() - started) / len(goals)
    full = float(np.mean([np.isfinite(b).all() for b in solved]))
    return Row(
        "PUMA 560, closed form: poses with all eight branches", full, "1", None, "higher",
        f"{taken * 1e6:.0f} µs a pose in NumPy",
    )  # fmt: skip


def _pinocchio(path: str, goals: Any) -> tuple[float, float]:
    """Return seconds for each goal, and the share that was reached."""
    full = pin.buildModelFromUrdf(path)
    locked = [full.getJointId(name) for name in FINGERS]
    model = pin.buildReducedModel(full, locked, pin.neutral(full))
    data = model.createData()
    frame = model.getFrameId(FRAME)
    rng = np.random.default_rng(3)
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    reached = 0
    started = time.process_time()
    for goal in goals:
        target = pin.SE3(goal[:3, :3].copy(), goal[:3, 3].copy())
        reached += _solve(model, data, frame, target, lower, upper, rng)
    return (time.process_time() - started) / len(goals), reached / len(goals)


def _solve(
    model: Any, data: Any, frame: int, target: Any, lower: Any, upper: Any, rng: Any
) -> bool:
    q = (lower + upper) / 2
    for _ in range(50):
        for _ in range(60):
            pin.framesForwardKinematics(model, data, q)
            error = pin.log6(data.oMf[frame].actInv(target)).vector
            if np.linalg.norm(error[:3]) < TOLERANCE and np.linalg.norm(error[3:]) < TOLERANCE:
                return True
            jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
            level = 0.5 * float(error @ error) + 1e-9
            step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + level * np.eye(6), error)
            q = np.clip(pin.integrate(model, q, step), lower, upper)
        q = rng.uniform(lower, upper)
    return False
