"""The hand of three fingers: what it holds, what it drops, and its statics."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import linkwright as lw
from linkwright.grasp import FingerContact, Grasp, hand_with_ball, three_finger_hand
from linkwright.models.puma560 import arm

MASS, RADIUS, FRICTION = 0.1, 0.035, 0.8
STEPS: dict[str, Any] = {"method": "rk4", "step": 2.5e-5}


@cache
def system() -> lw.System:
    return hand_with_ball(mass=MASS, radius=RADIUS, friction=FRICTION)


def test_a_ball_is_held_and_carries_its_weight_on_the_fingers() -> None:
    """Forces balance the weight within the cones, and the places are a closed grasp."""
    run = lw.simulate(system(), 0.8, **STEPS)
    assert abs(run.final["ball.z"] - run["ball.z"][0]) < 2e-3
    assert abs(run["ball.z"][-1] - run["ball.z"][-50]) < 1e-6
    forces = np.array([[run.final[f"touch.force{k}_{x}"] for x in "xyz"] for k in (1, 2, 3)])
    total = forces.sum(axis=0)
    assert np.abs(np.abs(total) - [0, 0, MASS * 9.81]).max() < 1e-4
    up = math.copysign(1, total[2])  # of forces on the ball, or on the tips
    kinematics = (
        [run.final[f"bend{k}"] for k in (1, 2, 3)],
        [run.final[f"curl{k}"] for k in (1, 2, 3)],
    )
    fingers = []
    for k in range(3):
        p, d = kinematics[0][k], kinematics[1][k]
        angle = 2 * math.pi * k / 3
        reach = 0.05 - 0.07 * math.sin(p) - 0.05 * math.sin(p + d)
        height = 0.07 * math.cos(p) + 0.05 * math.cos(p + d)
        tip = np.array([reach * math.cos(angle), reach * math.sin(angle), height])
        inward = np.array([0, 0, run.final["ball.z"]]) - tip
        depth = RADIUS - np.linalg.norm(inward)
        assert abs(2e4 * depth - run.final[f"touch.normal{k + 1}"]) < 1e-3
        normal = inward / np.linalg.norm(inward)
        force = up * forces[k]
        along = float(force @ normal)
        assert np.linalg.norm(force - along * normal) <= FRICTION * along + 1e-6
        fingers.append(FingerContact(tuple(tip), tuple(normal), FRICTION))
    grasp = Grasp(fingers, center=(0, 0, float(run.final["ball.z"])))
    assert grasp.closure == "force"
    held = grasp.forces([0, 0, -MASS * 9.81, 0, 0, 0])
    least = max(float(f[:3] @ c.direction) for f, c in zip(held, fingers, strict=True))
    assert least < run.final["touch.normal1"]  # it squeezes with more than is needed


def test_the_torques_are_those_of_forces_toward_the_middle() -> None:
    """At rest, p and d by Lagrange: motor plus tendon balance the contact, J^T f by differences."""
    run = lw.simulate(system(), 0.8, **STEPS)
    p, d = run.final["bend1"], run.final["curl1"]

    def place(a: float, b: float) -> np.ndarray:
        across = 0.07 * math.sin(a) + 0.05 * math.sin(a + b)
        return np.array([0.05 - across, 0.07 * math.cos(a) + 0.05 * math.cos(a + b)])

    h = 1e-6
    slopes = [place(p + h, d) - place(p - h, d), place(p, d + h) - place(p, d - h)]
    J = np.column_stack(slopes) / (2 * h)
    pull = np.array([-6.0, 0.0])  # horizontally to the middle: all tips are at one height
    normal = run.final["touch.normal1"]
    away = place(p, d) - [0, run.final["ball.z"]]
    lifted = MASS * 9.81 / 3
    push = normal * away / np.linalg.norm(away)
    tangent = np.array([-away[1], away[0]]) / np.linalg.norm(away)
    # friction carries what the normal forces do not of a third of the weight
    push = push + tangent * ((-lifted - push[1]) / tangent[1])
    weights = np.array([
        9.81 * (0.04 * 0.035 * math.sin(p) + 0.02 * (0.07 * math.sin(p) + 0.025 * math.sin(p + d))),
        9.81 * 0.02 * 0.025 * math.sin(p + d),
    ])  # fmt: skip
    stretch = 4.0 * (d - 0.5 * p)
    levers = J.T @ pull
    motor = levers[0] + 0.5 * levers[1] + 0.5 * stretch
    tendon = -stretch
    left = np.array([motor, tendon]) + J.T @ push + weights
    assert np.abs(left).max() < 0.01


def test_a_ball_that_is_too_heavy_for_friction_falls() -> None:
    """Three fingers hold at most 3 mu N; the ball of 100 g needs 0.41 N of each."""
    for squeeze, holds in ((0.2, False), (1.5, True)):
        run = lw.simulate(system(), 0.5, parameters={"squeeze": squeeze}, **STEPS)
        fallen = run["ball.z"][0] - run.final["ball.z"]
        assert (fallen < 0.005) == holds, squeeze


def test_a_ball_beside_the_middle_is_held_where_it_is_met() -> None:
    run = lw.simulate(system(), 2.5, initial={"ball.x": 0.003, "ball.y": -0.002}, **STEPS)
    assert abs(run.final["ball.z"] - run["ball.z"][0]) < 2e-3
    assert math.hypot(run.final["ball.x"], run.final["ball.y"]) < 0.005
    assert all(run.final[f"touch.normal{k}"] > 1 for k in (1, 2, 3))
    assert np.ptp(run["ball.x"][run.times > 1.5]) < 1e-5


def test_it_is_mounted_on_an_arm() -> None:
    """Six joints of a PUMA and six of the hand; the law makes no torque on the arm."""
    m = arm(drives=False, torques=False, name="puma-with-hand")
    _, tips = three_finger_hand(m, m.bodies["link6"])
    assert len(m.coordinates) == 12
    assert [tip.name for tip in tips] == ["tip1", "tip2", "tip3"]
    run = lw.simulate(
        m, 0.05, initial={"bend1": 0.2, "bend2": 0.1, "bend3": 0.1}, parameters={"g": 0.0}
    )
    assert run.final["bend1"] > 0.2  # the fingers close
