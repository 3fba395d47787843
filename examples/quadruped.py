"""A quadruped is dropped on its feet, alone and two thousand times at once.

The robot is read from a URDF file; each joint has a PD servo at 500 Hz, each foot one point of
contact with the ground (a spring, a damper, friction with stick and slip), and an inertial unit
sits in the trunk. First one run is recorded and told step by step. Then, in a batch, the robot
lands with a speed to its side; every run has its own friction, height and speed, and the table
tells how far it slides and how often it stays on its feet.

    python examples/quadruped.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

import linkwright as lw
from linkwright.cli.tables import print_table
from linkwright.control import PD
from linkwright.elements import Contact, Imu, Plane
from linkwright.robots import Robot

FILE = Path(__file__).parents[1] / "tests" / "robots" / "quadruped.urdf"
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
STANCE = {
    f"{leg}_{joint}_joint": angle
    for leg in LEGS
    for joint, angle in (("hip", 0.0), ("thigh", 0.7), ("shank", -1.4))
}
HEIGHT = "floating_base.z"
RUNS, GROUPS = 2000, 10


def main() -> None:
    """Drop the robot once, then many times."""
    robot = lw.load(FILE, friction=False)
    system = standing(robot)
    stance = lifted(robot, 0.0)
    _one(system, stance)
    _many(robot, system, stance)


def standing(robot: Robot) -> lw.System:
    """Return the robot with its servos, the ground under its feet, and an inertial unit."""
    system = lw.System(robot, name="quadruped", base=2000)
    servo = PD(robot, kp=80, kd=2.5, joints=list(STANCE), target=STANCE, limit=40.0)
    system.add(servo, rate=500)
    ground = Contact(
        robot, [f"{leg}_foot" for leg in LEGS], Plane(), stiffness=5e4, damping=80,
        static=0.8, dynamic=0.7, tangential=2e4, tangential_damping=30,
    )  # fmt: skip
    system.add(ground)
    system.add(Imu(robot, "trunk"))
    return system


def lifted(robot: Robot, above: float) -> float:
    """Return the height of the base at which the feet are so far above the ground, m."""
    q = robot.neutral.copy()
    for name, angle in STANCE.items():
        q[robot.coordinates.index(name)] = angle
    return above - min(float(robot.position(q, f"{leg}_foot")[2]) for leg in LEGS)


def _one(system: lw.System, stance: float) -> None:
    """Record one run and tell it."""
    start = {**STANCE, HEIGHT: stance + 0.1}
    run = lw.simulate(system, 1.0, method="semi-implicit", initial=start, every=2)
    depth = np.max([run[f"contact.depth{k}"] for k in range(1, 5)], axis=0)
    load = np.sum([run[f"contact.normal{k}"] for k in range(1, 5)], axis=0)
    rows = []
    for t in (0.0, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0):
        k = int(np.searchsorted(run.times, t - 1e-9))
        felt = float(run["imu.accel_z"][k])
        deep = f"{1e3 * max(depth[k], 0):.2f}"
        above = f"{1e3 * (run[HEIGHT][k] - stance):.1f}"
        rows.append((f"{t:.2f}", above, deep, f"{load[k]:.0f}", f"{felt:.2f}"))
    headings = (
        "time, s",
        "trunk above its stance, mm",
        "deepest foot, mm",
        "feet carry, N",
        "trunk feels, m/s²",
    )
    title = f"One drop from 0.1 m: 1 s simulated in {run.seconds:.3f} s"
    print_table(headings, rows, title=title, numbers=headings)
    touches = [event.time for event in run.events if event.name.startswith("contact.touch")]
    print(f"the first foot touches at {min(touches):.4f} s\n")


def _many(robot: Robot, system: lw.System, stance: float) -> None:
    """Let friction, height and speed differ from run to run."""
    rng = np.random.default_rng(0)
    friction = np.repeat(np.linspace(0.05, 0.95, GROUPS), RUNS // GROUPS)
    initial: dict[str, ArrayLike] = {
        **STANCE,
        HEIGHT: stance + rng.uniform(0.05, 0.1, RUNS),
        robot.speeds[1]: rng.uniform(1.0, 2.5, RUNS),
    }
    values: dict[str, ArrayLike] = {
        "contact.static": friction,
        "contact.dynamic": 0.9 * friction,
    }
    begun = time.perf_counter()
    found = lw.simulate_batch(
        system, 2.0, method="semi-implicit", initial=initial, parameters=values
    )
    took = time.perf_counter() - begun
    stands = (found[HEIGHT] > stance - 0.05).reshape(GROUPS, -1)
    slides = found["floating_base.y"].reshape(GROUPS, -1)
    rows = [
        (f"{c:.2f}", f"{np.median(y):.2f}", f"{100 * np.mean(up):.0f} %")
        for c, y, up in zip(friction[:: RUNS // GROUPS], slides, stands, strict=True)
    ]
    headings = ("friction", "slides, m", "stays on its feet")
    pace = 2.0 * RUNS / took
    title = f"{RUNS} landings of 2 s in {took:.2f} s, compiling included ({pace:.0f} x real time)"
    print_table(headings, rows, title=title, numbers=headings)


if __name__ == "__main__":
    main()
