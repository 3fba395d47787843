"""How the fastest motion along a path converges as its grid gets finer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from linkwright.motion import Limits, Trajectory, through, time_optimal
from linkwright.motion.limits import Dynamics
from tests.seeds import seeds

GRIDS = (100, 200, 400, 800, 1600, 3200)


def _durations(path: Trajectory, limits: Limits) -> np.ndarray:
    return np.array([time_optimal(path, limits, points=n).duration for n in GRIDS])


def _line(length: float) -> Trajectory:
    return through([0, 0.5, 1], [0.0, length / 2, length])


def _inertia(mass: ArrayLike) -> Dynamics:
    return lambda q, u, a: np.asarray(mass) * a


def _converges(found: np.ndarray, exact: float, first: float) -> None:
    """Durations fall to the exact one, with an error of at most `first`/points of it."""
    assert np.all(found >= exact * (1 - 1e-6))
    assert np.all(np.diff(found) <= 1e-6 * exact)
    assert np.all(found <= exact * (1 + first / np.array(GRIDS)) + 1e-6 * exact)


def test_a_line_takes_the_time_of_the_textbook_at_any_scale() -> None:
    """From rest to rest with limits of acceleration and speed: a trapezoid, or a triangle."""
    for seed in seeds(8):
        random = np.random.default_rng(seed)
        length, most = 10 ** random.uniform(-3, 3), 10 ** random.uniform(-5, 5)
        peak = math.sqrt(length * most)
        speed = peak * random.uniform(0.3, 2.0) if seed % 2 else math.inf
        exact = 2 * peak / most if speed >= peak else length / speed + speed / most
        limits = Limits(acceleration=most, speed=None if math.isinf(speed) else speed)
        _converges(_durations(_line(length), limits), exact, 2.0)


def test_a_drive_with_a_torque_that_falls_with_speed_takes_the_time_of_its_equation() -> None:
    """J v' = stall (1 - v/no_load), then braking with the stall torque."""
    for seed in seeds(4):
        random = np.random.default_rng(seed)
        J, stall, free, length = 10 ** random.uniform(-1, 1, 4)
        rate = stall / (J * free)
        t = np.linspace(0, 10 * length / free + 10 / rate, 2_000_001)
        v = -free * np.expm1(-rate * t)
        way = free * t - v / rate + v * v * J / (2 * stall)  # that to the stop included
        start = float(np.interp(length, way, t))
        exact = start - free * math.expm1(-rate * start) * J / stall
        limits = Limits(effort=stall, stall=stall, no_load=free, dynamics=_inertia(J))
        _converges(_durations(_line(length), limits), exact, 4.0)


def test_a_finer_grid_of_a_bent_path_is_never_slower() -> None:
    for seed in seeds(6):
        random = np.random.default_rng(seed)
        bends = through(np.linspace(0, 1, 6), random.normal(size=(6, 2)).cumsum(axis=0))
        most = 10 ** random.uniform(-3, 3)
        limits = Limits(acceleration=most)
        if seed % 2:
            mass = random.uniform(0.5, 2.0, 2)
            limits = Limits(
                effort=most, stall=most, no_load=math.sqrt(most),
                dynamics=_inertia(mass),
            )  # fmt: skip
        found = _durations(bends, limits)
        assert np.all(np.diff(found) <= 1e-4 * found[:-1]), seed
        assert found[-2] - found[-1] <= 2e-3 * found[-1], seed
