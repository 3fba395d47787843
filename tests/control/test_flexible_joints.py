"""Exact linearization of arms with flexible joints (A.8), against other derivatives and in runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control
from linkwright.blocks import BlockError
from linkwright.elements import drives
from tests.oracles.force_laws import planar, planar_torques, said

K, J, B = np.array([400.0, 150.0]), np.array([0.8, 0.2]), np.array([1.0, 0.4])
MASSES = np.array([3.0, 2.0])


class Plant:
    """An arm of two links with flexible joints, by the textbook's formulas."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    def accelerations(self, x: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Return the links' accelerations."""
        q, u, theta, _ = (np.tile(part, (3, 1)) for part in x.reshape(4, 2))
        taken = planar_torques(q, u, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), MASSES)
        push = K * (theta[0] - q[0]) + load - taken[0]
        return np.linalg.solve((taken[1:] - taken[0]).T, push)

    def rate(self, x: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Return the rate of the state (q, q', theta, theta')."""
        q, u, theta, turning = x.reshape(4, 2)
        pull = (self.tau - B * turning - K * (theta - q)) / J
        return np.concatenate([u, self.accelerations(x, load), turning, pull])

    def at(self, x: np.ndarray, time: float, loads: list[np.ndarray], steps: int = 8) -> np.ndarray:
        """Return the links' accelerations a short time before or after the state (RK4)."""
        h = time / steps

        def push(t: float) -> np.ndarray:
            return loads[0] + t * loads[1] + 0.5 * t**2 * loads[2]

        for k in range(steps):
            t = k * h
            a = self.rate(x, push(t))
            b = self.rate(x + 0.5 * h * a, push(t + 0.5 * h))
            c = self.rate(x + 0.5 * h * b, push(t + 0.5 * h))
            d = self.rate(x + h * c, push(t + h))
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return self.accelerations(x, push(time))


def test_the_fourth_derivative_of_the_place_is_what_the_law_asks_for() -> None:
    """alpha and beta against differences in time of the plant's motion, with loads."""
    law = control.FlexibleJointControl(planar(), K.tolist(), J.tolist(), 12.0, friction=B.tolist())
    rng = np.random.default_rng(6)
    q, u, turning = (rng.uniform(-1, 1, 2) for _ in range(3))
    theta, target = q + rng.uniform(-0.05, 0.05, 2), q + rng.uniform(-0.1, 0.1, 2)
    loads = [rng.uniform(-s, s, 2) for s in (2.0, 20.0, 200.0)]
    ports = {
        "q": q, "u": u, "theta": theta, "theta_rate": turning, "target": target,
        "target_rate": u + 0.3, "target_acceleration": np.full(2, 0.5),
        "target_jerk": np.full(2, 2.0), "target_snap": np.full(2, 30.0),
        "load": loads[0], "load_rate": loads[1], "load_acceleration": loads[2],
    }  # fmt: skip
    found = said(law, ports)
    plant, x = Plant(found["tau"]), np.concatenate([q, u, theta, turning])
    h = 4e-4
    a, one, two = (plant.at(x, t, loads) for t in (0.0, h, -h))
    three, four = (plant.at(x, t, loads) for t in (2 * h, -2 * h))
    jerk = (8 * (one - two) - (three - four)) / (12 * h)
    snap = (16 * (one + two) - (three + four) - 30 * a) / (12 * h**2)
    np.testing.assert_allclose(found["acceleration"], a, rtol=1e-10)
    np.testing.assert_allclose(found["jerk"], jerk, rtol=2e-6)
    w = 12.0
    wanted = 30.0 + 4 * w * (2.0 - jerk) + 6 * w**2 * (0.5 - a) + 4 * w**3 * 0.3
    np.testing.assert_allclose(snap, wanted + w**4 * (target - q), rtol=2e-5)


def test_an_arm_with_elastic_drives_follows_four_equal_poles() -> None:
    """Geared drives of `elements.drives`; each joint's error is e0 (1 + ...) exp(-w t)."""
    m = planar()
    s = lw.System(m)
    ratio, stiff, rotor = 50.0, 400.0, 2e-4
    law = s.add(control.FlexibleJointControl(m, stiff, rotor * ratio**2, 15.0, target=[0.4, -0.3]))
    for k, joint in enumerate(m.coordinates):
        drive = s.add(
            drives.Drive(
                m, joint, drives.Ideal(), drives.TorqueSource(1.0, J=rotor),
                drives.Elastic(ratio, stiffness=stiff),
            ),
            name=f"drive_{joint}",
        )  # fmt: skip
        s.connect(law.tau[k] / ratio, drive.u)
        s.connect(f"drive_{joint}.motor.angle / {ratio}", law.theta[k])
        s.connect(f"drive_{joint}.motor.speed / {ratio}", law.theta_rate[k])
    weight = np.array([(3 * 0.2 + 2 * 0.5) * 9.81 + 2 * 9.81 * 0.15, 2 * 9.81 * 0.15])
    start = {
        f"drive_{j}.motor.angle": ratio * w / stiff
        for j, w in zip(m.coordinates, weight, strict=True)
    }
    run = lw.simulate(s, 0.8, initial=start, tolerance=1e-10)
    x = 15.0 * run.times
    left = np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)
    for joint, goal in zip(m.coordinates, (0.4, -0.3), strict=True):
        np.testing.assert_allclose(run[joint], goal * (1 - left), atol=1e-7)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": 0.0}, "stiffness of upper, fore in 'flexible_joint_control' is zero"),
        ({"inertia": [1.0, 0.0]}, "inertia of fore"),
        ({"bandwidth": -2.0}, "bandwidth"),
        ({"joints": ["upper"]}, "fore_dot of 'planar' is left to itself"),
        ({"tool": "tip"}, "takes axes '' and a wrist"),
        ({"tool": "tip", "axes": "x x"}, "at most as many as joints"),
        ({"tool": "tip", "axes": "x", "wrist": {"y": 10.0}}, r"along \['y'\]"),
        ({"tool": "tip", "axes": "x", "wrist": {"x": 0.0}}, "wrist along x"),
        ({"axes": "x"}, "no point '' for its tool"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    known: dict[str, Any] = {"stiffness": 100.0, "inertia": 1.0, "bandwidth": 5.0}
    with pytest.raises(BlockError, match=words):
        control.FlexibleJointControl(planar(), **(known | given))


class Wall(lw.Element):
    """A wrist of 3000 N/m between the tip and a wall that stands still."""

    def __init__(self, mechanism: lw.Mechanism, at: float) -> None:
        super().__init__("wall", mechanism)
        tip = self.point_at("tip")
        press = 3000.0 * (self.position(tip)[0] - at)
        self.force("wall", -press, at=tip, along="x")
        self.output("press", press, unit="N")


def test_a_tool_on_elastic_joints_presses_by_its_wrist_and_moves_beside_it() -> None:
    """Elastic drives, arm and wrist as one: force along x and place along y have four equal poles.

    The wall stands still, and the wrist is a spring between it and the tip.
    """
    m = planar()
    m.set_initial(upper=0.4, fore=1.1)
    reach = [float(0.5 * f(0.4) + 0.4 * f(1.5)) for f in (np.cos, np.sin)]
    m.output("tip y", "dot(pos(tip), [n2])", unit="m")
    s = lw.System(m)
    wall = s.add(Wall(m, reach[0]))
    ratio, stiff, rotor, w = 50.0, 400.0, 2e-4, 15.0
    law = s.add(
        control.FlexibleJointControl(
            m, stiff, rotor * ratio**2, w, tool="tip", axes="x y", wrist={"x": 3000.0}
        )
    )
    for k, joint in enumerate(m.coordinates):
        drive = s.add(
            drives.Drive(
                m, joint, drives.Ideal(), drives.TorqueSource(1.0, J=rotor),
                drives.Elastic(ratio, stiffness=stiff),
            ),
            name=f"drive_{joint}",
        )  # fmt: skip
        s.connect(law.tau[k] / ratio, drive.u)
        s.connect(f"drive_{joint}.motor.angle / {ratio}", law.theta[k])
        s.connect(f"drive_{joint}.motor.speed / {ratio}", law.theta_rate[k])
    s.connect(wall.press, law.force[0])
    s.connect("12", law.push[0])
    s.connect(f"{reach[1] + 0.08!r}", law.target[1])
    rest = np.array([0.4, 1.1])
    weight = planar_torques(rest[None], np.zeros((1, 2)), np.zeros((1, 2)), MASSES)[0]
    start = {
        f"drive_{j}.motor.angle": ratio * (q + t / stiff)
        for j, q, t in zip(m.coordinates, rest, weight, strict=True)
    }
    run = lw.simulate(s, 0.4, initial=start, tolerance=1e-9)
    x = w * run.times
    left = np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)
    np.testing.assert_allclose(run["wall.press"], 12 * (1 - left), atol=1e-4)
    np.testing.assert_allclose(run["tip y"], reach[1] + 0.08 * (1 - left), atol=1e-7)
