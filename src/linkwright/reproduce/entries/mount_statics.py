"""Mounts 6 and 9: what motors of the built mounts hold, modeled and measured."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linkwright.mounts import bench_test
from linkwright.mounts.bench_tests import BenchTest
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series, checks
from linkwright.robots import Robot, closed

Array = NDArray[np.float64]
READ = "what the balance must have read is not legible; the points are the model's, with the errors"


@cache
def _bare(mount: str, **values: float) -> Robot:
    """Return a mount as it was built: without an antenna."""
    return Robot(Robot(mount).mechanism.with_parameters({"antenna_mass": 0.0} | values))


def _experiment(fine: BenchTest, points: BenchTest) -> Panel:
    """Return the model and points with error bars; torques as the report counts them."""
    at, torque = np.degrees(points.angles), -points.efforts
    bars = [
        Series([x, x], [y - e, y + e], style="_-")
        for x, y, e in zip(at, torque, points.errors, strict=True)
    ]
    model = Series(np.degrees(fine.angles), -fine.efforts, "Model")
    return Panel(
        [model, Series(at, torque, "Points", "o"), *bars],
        "Arm angle (degs)",
        "Torque (Nm)",
        solid=True,
        x_range=(at[0] - 5.0, at[-1] + 10.0),
    )


def _tested(
    mount: str, held: dict[str, float], moved: str, low: float, high: float, **values: float
) -> tuple[BenchTest, BenchTest]:
    """Return an experiment at close places, and at every 20 degrees."""
    rows = [np.radians(np.arange(low, high + 0.1, step)) for step in (2.5, 20.0)]
    locked = {name: math.radians(x) for name, x in held.items()}
    given = {"antenna_mass": 0.0} | values
    fine, points = (bench_test(mount, locked, moved, row, parameters=given) for row in rows)
    return fine, points


def three_motors() -> Reproduction:
    """Return figure 6.4: arms 1 and 2 at 20 and 0 deg, arm 3 from 0 to 120 deg."""
    fine, points = _tested("mount-3-rotary", {"arm1": 20.0, "arm2": 0.0}, "arm3", 0.0, 120.0)
    names = [f"arm 3 at {b} deg" for b in range(0, 121, 20)]
    known = "5.933 101.047 202.803 289.631 345.831 363.148 339.510"
    return Reproduction(
        [_experiment(fine, points)],
        [
            *checks(names, known, -points.efforts, unit="N m", recomputed=True),
            Check("least error", "30", points.errors.min(), "N m", within=5.0,
                  why="the sum of the errors named; the report rounds"),
            Check("greatest error", "40", points.errors.max(), "N m", within=5.0,
                  why="the same; 45 is said of the other mount"),
        ],
        note=READ,
    )  # fmt: skip


def two_motors() -> Reproduction:
    """Return figure 6.7: arm 1 at 20 deg, arm 2 from -15 to 110 deg, strut of 0.9 m."""
    fine, points = _tested("mount-2-rotary", {"arm1": 20.0}, "arm2", -15.0, 110.0, D=0.9)
    names = [f"arm 2 at {b} deg" for b in range(-15, 106, 20)]
    known = "-194.892 -111.539 -54.889 -18.704 -2.364 4.809 104.578"
    return Reproduction(
        [_experiment(fine, points)],
        [
            *checks(names, known, -points.efforts, unit="N m", recomputed=True),
            Check("least error", "30", points.errors.min(), "N m", within=5.0,
                  why="the sum of the errors named; the report rounds"),
        ],
        note=f"{READ}. The strut has the 0.9 m of the report's program.",
    )  # fmt: skip


def _around(robot: Robot) -> tuple[Array, Array]:
    """Return poses around the horizon, and their azimuths in degrees."""
    turn = np.arange(0.0, 360.5, 5.0)
    a = np.radians(turn)
    down = np.radians(np.linspace(90.0, 0.0, 19))
    more = {} if len(robot.speeds) < 3 else {"distance": np.array(0.98)}
    way = np.stack([np.cos(down), 0 * down, np.sin(down)], axis=-1)
    level = np.stack([np.cos(a), np.sin(a), 0 * a], axis=-1)
    start = closed(robot, {"direction": way} | more, follow=True).q[-1]
    return closed(robot, {"direction": level} | more, start=start, follow=True).q, turn


def _static_and_dynamic(mount: str, known: str) -> Reproduction:
    """Return torques by joint forces in equilibrium, and those of the dynamics at rest."""
    robot = _bare(mount)
    q, turn = _around(robot)
    still = np.zeros((len(q), len(robot.actuators)))
    static = -np.asarray(robot.gravity(q))
    dynamic = -np.asarray(robot.inverse_dynamics(q, still, still))
    lines = [Series(turn, static[:, k], f"Chapter 6, arm {k + 1}") for k in range(still.shape[1])]
    points = [Series(turn[::4], x[::4], "", "x") for x in dynamic.T]
    names = [f"arm 1 at {b} deg" for b in (0, 60, 120, 180)]
    return Reproduction(
        [Panel([*lines, *points], "phi3a (degs)", "Torque (Nm)", x_range=(0, 360))],
        [
            *checks(names, known, static[[0, 12, 24, 36], 0], unit="N m", recomputed=True),
            Check("largest difference", "0.000001", np.abs(static - dynamic).max(), "N m",
                  at_most=True, recomputed=True),
        ],
        note="Crosses are the dynamics of chapter 9 at rest; no antenna, 0.98 m from base to "
        "platform.",
    )  # fmt: skip


def static_and_dynamic_three() -> Reproduction:
    """Return figure 9.3; its axis runs from -50 to 300 N m."""
    return _static_and_dynamic("mount-3-rotary", "357.433 263.997 22.303 -63.861")


def static_and_dynamic_two() -> Reproduction:
    """Return figure 9.4."""
    return _static_and_dynamic("mount-2-rotary", "284.719 355.429 0.000 -276.361")
