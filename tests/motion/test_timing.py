"""Fastest motions under limits of motors, and uniform slowing, against integration by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import linkwright as lw
from linkwright.motion import (
    Limits,
    Trajectory,
    point_to_point,
    slowing,
    through,
    time_optimal,
    time_optimal_batch,
)
from linkwright.motion.limits import voltage_line
from linkwright.motion.trajectory import MotionError

MASS = 2.0


@cache
def _puma() -> lw.Robot:
    return lw.Robot(lw.load("puma560"))


def _line(length: float = 1.0) -> Trajectory:
    return through([0, 0.5, 1], [[0.0], [length / 2], [length]])


def _force(q: np.ndarray, u: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.asarray(MASS * a + 0 * u + 0 * q)


def _by_hand(drive: Callable[[float], float], brake: float, length: float) -> float:
    """Return the time for a length: as fast as the force allows, then full braking."""
    h, place, v, time = 1e-4, 0.0, 0.0, 0.0
    while place + MASS * v * v / (2 * brake) < length:
        v += h * drive(v) / MASS
        place += h * v
        time += h
    return time + MASS * v / brake


def test_a_torque_speed_line_is_followed() -> None:
    fast = time_optimal(_line(), Limits(stall=10.0, no_load=1.5, dynamics=_force), points=800)
    wanted = _by_hand(lambda v: 10 * (1 - v / 1.5), 10.0, 1.0)
    assert fast.duration == pytest.approx(wanted, rel=3e-3)
    t = np.linspace(0, fast.duration, 4001)[5:-5]
    v, f = fast.speed(t)[:, 0], MASS * fast.acceleration(t)[:, 0]
    assert np.quantile(f / 10 + v / 1.5, 0.97) < 1.01


def test_power_is_limited() -> None:
    limits = Limits(effort=20.0, power=12.0, dynamics=_force)
    fast = time_optimal(_line(3.0), limits, points=800)
    wanted = _by_hand(lambda v: min(20.0, 12.0 / max(v, 1e-9)), 20.0, 3.0)
    assert fast.duration == pytest.approx(wanted, rel=2e-3)
    t = np.linspace(0, fast.duration, 4001)[5:-5]
    assert np.quantile(MASS * fast.acceleration(t)[:, 0] * fast.speed(t)[:, 0], 0.95) < 12.1


def test_power_that_is_given_back_is_limited() -> None:
    """Braking with a limit is driving with it, backward in time."""
    forward = time_optimal(_line(), Limits(effort=20.0, power=9.0, dynamics=_force), points=800)
    backward = time_optimal(_line(), Limits(effort=20.0, braking=9.0, dynamics=_force), points=800)
    assert backward.duration == pytest.approx(forward.duration, rel=3e-3)


def test_heat_over_the_cycle_is_limited() -> None:
    """Full force all the time: its square times the share of the motion is the mean square."""
    limits = Limits(effort=20.0, continuous=6.0, rest=0.5, dynamics=_force)
    fast = time_optimal(_line(), limits)
    force = MASS * 4 / fast.duration**2
    share = fast.duration / (fast.duration + 0.5)
    assert force * math.sqrt(share) == pytest.approx(6.0, rel=3e-3)


def test_limits_of_a_robot_are_kept_along_a_curve_and_used() -> None:
    robot, rng = _puma(), np.random.default_rng(3)
    paths = [through(np.linspace(0, 1, 5), rng.uniform(-1, 1, (5, 6))) for _ in range(2)]
    stall, no_load = np.array([200.0, 300, 150, 40, 30, 30]), np.full(6, 4.0)
    effort = np.array([90.0, 140, 70, 20, 15, 15])
    limits = Limits(
        effort=effort, stall=stall, no_load=no_load, power=300.0, dynamics=robot.inverse_dynamics
    )
    together = time_optimal_batch(paths, limits)
    for path, fast in zip(paths, together, strict=True):
        t = np.linspace(0, fast.duration, 3001)[8:-8]
        q, v, a = fast(t), fast.speed(t), fast.acceleration(t)
        torque = robot.inverse_dynamics(q, v, a)
        used = np.abs(torque) / effort
        line = np.sign(v) * torque / stall + np.abs(v) / no_load
        power = (torque * v).sum(axis=1) / 300
        worst = np.max([used.max(axis=1), line.max(axis=1), power], axis=0)
        assert np.quantile(worst, 0.99) < 1.03
        assert np.mean(worst > 0.95) > 0.9  # at every instant some limit holds it back
        np.testing.assert_allclose(fast.end, path.end, atol=1e-12)
    assert time_optimal(paths[1], limits).duration == pytest.approx(together[1].duration, rel=1e-9)


def test_a_supply_gives_the_line_of_its_motor() -> None:
    stall, no_load = voltage_line(48, 1.0, 0.05, ratio=50)
    current = 48 / 1.0
    assert stall == pytest.approx(50 * 0.05 * current)
    assert no_load * 50 * 0.05 == pytest.approx(48)


def test_slowing_is_the_smallest_factor_that_keeps_every_limit() -> None:
    """With a little less time a limit is exceeded, with this time none; found again by trial."""
    robot, rng = _puma(), np.random.default_rng(2)
    motion = through(np.linspace(0, 0.8, 5), rng.uniform(-1, 1, (5, 6)), ends="clamped")
    viscous = np.array([3.0, 3, 2, 0.2, 0.2, 0.1])

    def dynamics(q: np.ndarray, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, u, a) + viscous * u)

    effort = np.array([90.0, 140, 70, 20, 15, 15])
    stall, no_load, heat = 2 * effort, np.full(6, 6.0), 0.7 * effort
    cases = {
        "effort": Limits(effort=effort, dynamics=dynamics),
        "stall": Limits(stall=stall, no_load=no_load, dynamics=dynamics),
        "power": Limits(power=250.0, dynamics=dynamics),
        "continuous": Limits(continuous=heat, rest=0.2, dynamics=dynamics),
        "speed": Limits(speed=3.0),
        "acceleration": Limits(acceleration=20.0),
    }

    def worst(name: str, factor: float) -> float:
        moved = motion.stretched(factor)
        t = np.linspace(0, moved.duration, 2001)
        q, u, a = moved(t), moved.speed(t), moved.acceleration(t)
        torque = dynamics(q, u, a)
        if name == "continuous":
            held = dynamics(q[-1:], 0 * u[-1:], 0 * a[-1:])[0]
            square = np.trapezoid(torque**2, t, axis=0) + 0.2 * held**2
            return float(np.max(np.sqrt(square / (moved.duration + 0.2)) / heat))
        signed = np.where(u < 0, -1, 1) * torque / stall
        found = {
            "effort": np.abs(torque) / effort,
            "stall": np.maximum(signed + np.abs(u) / no_load, -signed),
            "power": (torque * u).sum(axis=1) / 250,
            "speed": np.abs(u) / 3,
            "acceleration": np.abs(a) / 20,
        }
        return float(found[name].max())

    for name, limits in cases.items():
        found = slowing(motion, limits)
        assert found.limit == name
        assert worst(name, found.factor) == pytest.approx(
            1, abs=2e-3 if name == "continuous" else 1e-9
        )
        assert worst(name, found.factor * 1.02) < 1
    every = slowing(motion, Limits(effort=effort, speed=3.0, acceleration=20.0, dynamics=dynamics))
    assert every.factor == max(
        slowing(motion, cases[n]).factor for n in ("effort", "speed", "acceleration")
    )
    assert every.motion.duration == pytest.approx(motion.duration * every.factor)


def test_what_cannot_be_timed_is_refused_with_a_number() -> None:
    def heavy(q: np.ndarray, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.asarray(MASS * (a + 9.81) + 0 * q)

    line = _line()
    swing = point_to_point([0], [1], 1.0)
    cases: dict[str, list[Callable[[], object]]] = {
        "R721": [
            lambda: Limits(speed=-1.0),
            lambda: Limits(stall=3.0, dynamics=_force),
            lambda: time_optimal(line, Limits(acceleration=[1.0, 2.0])),
            lambda: voltage_line(0, 1, 1),
        ],
        "R722": [
            lambda: Limits(effort=3.0),
            lambda: time_optimal(line, Limits(effort=3.0, dynamics=lambda q, u, a: a[0])),
            lambda: slowing(swing, Limits(effort=3.0, dynamics=lambda q, u, a: a[0])),
        ],
        "R723": [
            lambda: time_optimal(line, Limits(effort=10.0, dynamics=heavy)),
            lambda: slowing(swing, Limits(effort=10.0, dynamics=heavy)),
            lambda: slowing(swing, Limits(stall=10.0, no_load=1.0, dynamics=heavy)),
        ],
        "R724": [
            lambda: time_optimal(line, Limits(speed=1.0)),
            lambda: time_optimal(line, Limits(acceleration=1.0), points=1),
            lambda: time_optimal_batch(
                [line, point_to_point([0, 0], [1, 1], 1.0)], Limits(acceleration=1.0)
            ),
        ],
        "R726": [
            lambda: time_optimal(
                line, Limits(effort=50.0, continuous=19.62 + 1e-9, dynamics=heavy), points=50
            ),
            lambda: slowing(swing, Limits(continuous=19.0, dynamics=heavy)),
        ],
    }
    for code, calls in cases.items():
        for call in calls:
            with pytest.raises(MotionError, match=rf"\[{code}\]$"):
                call()
