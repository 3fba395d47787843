"""The humanoid on a ground under a whole-body controller, and what its runs are held against."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwright as lw
from linkwright.robots import Robot
from linkwright.wholebody import Controller, FlatContact

Array = NDArray[np.float64]

SOLES = ("left_sole", "right_sole")
CORNERS = [(x, y, 0.0) for x in (0.125, -0.125) for y in (0.05, -0.05)]
FRICTION = 0.6


@cache
def humanoid() -> Robot:
    """The robot of the shipped model."""
    return Robot("humanoid")


@cache
def stance() -> Array:
    """Coordinates in which it stands with bent knees, soles on the ground at x = 0."""
    robot, q = humanoid(), humanoid().neutral.copy()
    angles = {"hip_pitch": -0.35, "knee": 0.7, "ankle_pitch": -0.35, "elbow": -0.4}
    for side, sign in (("left", 1), ("right", -1)):
        for joint, angle in {**angles, "shoulder_roll": 0.15 * sign}.items():
            q[robot.coordinates.index(f"{side}_{joint}")] = angle
    sole = robot.position(q, "left_sole")
    q[0] -= sole[0]
    q[2] -= sole[2]
    return q


def feet(part: float = 1.0, **options: Any) -> list[FlatContact]:
    """Both soles; their points are at the corners, or a little inside."""
    points = [(part * x, part * y, z) for x, y, z in CORNERS]
    return [FlatContact(sole, points=points, **options) for sole in SOLES]


def grounded(body: Controller, *, rate: int = 250, base: int = 1000) -> lw.System:
    """Return the System in which it stands on a ground under a controller."""
    start = dict(zip(humanoid().coordinates, stance(), strict=True))
    system = lw.robots.on_ground(humanoid(), start=start)
    system.base = Fraction(1, base)
    system.add(body, rate=rate)
    return system


def centers(run: Any, target: Callable[[float], Any]) -> Array:
    """Return by how much the center of mass misses its target, at all samples."""
    qs = np.array([run[name] for name in humanoid().coordinates]).T
    pairs = zip(run.times, qs, strict=True)
    return np.array([humanoid().center_of_mass(q) - target(t)[0] for t, q in pairs])


def within_limits(run: Any, body: Controller) -> None:
    """Hold planned forces against their cones, torques against the file's limits."""
    count = sum(len(c.points) for c in body.contacts)
    rows = [run[f"wholebody_program.forces[{k}]"] for k in range(3 * count)]
    forces = np.array(rows).T.reshape(-1, count, 3)
    friction = np.hypot(forces[..., 0], forces[..., 1]) - FRICTION * forces[..., 2]
    assert np.max(friction) < 1e-6
    limits = dict(zip(humanoid().speeds, humanoid().effort_limits, strict=True))
    for joint in body.joints:
        most = limits[next(s for s in limits if s.startswith(joint))]
        assert np.max(np.abs(run[f"wholebody.tau_{joint}"])) <= most * (1 + 1e-9)
    assert np.max(run["wholebody_program.relaxed"]) == 0
