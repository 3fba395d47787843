"""Kernels of machines with closed loops at poses of symmetry, where a fixed pivot may vanish."""

from __future__ import annotations

import numpy as np

from linkwright.algebra import evaluate_all
from linkwright.algebra.calculus import gradient
from linkwright.equations.energy import energy
from linkwright.parallel.machine_rates import machine_rates
from linkwright.robots import Robot, closed


def test_efforts_at_symmetric_poses_are_slopes_of_the_potential() -> None:
    """Mount check 27: the efforts of the truss peak at 60, 180 and 300 deg."""
    robot = Robot("mount-truss-3")
    m = robot.mechanism
    down = np.radians(np.linspace(0.0, 90.0, 13))
    around = np.radians(np.arange(0.0, 360.0, 7.5))
    ring = np.stack([np.cos(around), np.sin(around), 0.0 * around], axis=-1)
    far = np.array(m.values["D"])
    sky = np.stack([np.sin(down), 0.0 * down, np.cos(down)], axis=-1)
    way = closed(robot, {"direction": sky, "distance": far}, follow=True)
    poses = closed(robot, {"direction": ring, "distance": far}, start=way.q[-1], follow=True)
    assert poses.closed.all()
    efforts = np.asarray(robot.gravity(poses.q))
    assert np.isfinite(efforts).all()
    rates = machine_rates(robot)
    driven = rates.driven
    slopes = gradient(energy(m).potential, rates.machine.coordinates)
    known = {x: m.values[name] for name, x in m.parameters.items()}
    columns = dict(zip(rates.machine.coordinates, poses.q.T, strict=True))
    falling = np.array(
        [np.broadcast_to(x, (len(ring),)) for x in evaluate_all(slopes, {**known, **columns})]
    ).T
    jacobians = rates.at(poses.q).jacobian
    for k, jacobian in enumerate(jacobians):
        rank = len(jacobian)
        null = np.linalg.svd(jacobian)[2][rank:].T  # motions that keep the loops closed
        motions = null @ np.linalg.pinv(null[driven])
        np.testing.assert_allclose(efforts[k], motions.T @ falling[k], rtol=1e-7, atol=1e-6)
    peaks = np.degrees(around[np.abs(efforts).argmax(axis=0)])
    assert sorted(peaks.round(1)) == [60.0, 180.0, 300.0]
