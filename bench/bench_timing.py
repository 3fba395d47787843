"""Fastest motions along paths, against TOPPRA."""

from __future__ import annotations

import time

import numpy as np

from bench.measure import Row
from linkwright import Robot, load
from linkwright.motion import Limits, Trajectory, through, time_optimal_batch

TITLE = "Timing"
_PATHS, _PEER_PATHS, _POINTS = 1000, 10, 400
_SPEED = np.array([2.5, 2.5, 2.5, 4.0, 4.0, 4.0])
_EFFORT = np.array([90.0, 140.0, 70.0, 20.0, 15.0, 15.0])


def run() -> list[Row]:
    """Time 1,000 paths of the PUMA 560 with limits of torque and speed, and compare durations."""
    robot = Robot(load("puma560:drives=off"))
    paths = _paths(_PATHS)
    limits = Limits(speed=_SPEED, effort=_EFFORT, dynamics=robot.inverse_dynamics)
    time_optimal_batch(paths[:8], limits, points=_POINTS)
    begin = time.perf_counter()
    found = time_optimal_batch(paths, limits, points=_POINTS)
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    theirs = [_peer(robot, path) for path in paths[:_PEER_PATHS]]
    peer = (time.perf_counter() - begin) / _PEER_PATHS
    off = max(abs(f.duration / t - 1) for f, t in zip(found, theirs, strict=False))
    note = f"{_POINTS} points, six torques and speeds; TOPPRA {peer * _PATHS:.3g} s for as many"
    return [
        Row("1,000 fastest motions of the PUMA 560", ours, "s", 10.0, "lower", note),
        Row("largest difference of duration to TOPPRA", 100 * off, "%", 0.5, "lower"),
    ]


def _paths(count: int) -> list[Trajectory]:
    rng = np.random.default_rng(5)
    times = np.linspace(0, 1, 5)
    return [through(times, rng.uniform(-1, 1, (5, 6))) for _ in range(count)]


def _peer(robot: Robot, path: Trajectory) -> float:
    import toppra
    from toppra import algorithm, constraint

    times = np.linspace(0, 1, 5)
    spline = toppra.SplineInterpolator(times, path(times))
    speeds = constraint.JointVelocityConstraint(np.column_stack([-_SPEED, _SPEED]))
    efforts = constraint.JointTorqueConstraint(
        robot.inverse_dynamics,
        np.column_stack([-_EFFORT, _EFFORT]),
        np.zeros(6),
        discretization_scheme=constraint.DiscretizationType.Interpolation,
    )
    grid = np.linspace(0, 1, _POINTS + 1)
    solver = algorithm.TOPPRA([speeds, efforts], spline, gridpoints=grid)
    return float(solver.compute_trajectory(0, 0).duration)
