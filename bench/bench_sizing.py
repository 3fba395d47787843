"""Sizing: many motors and gears for six joints, and the front of sets against exhaustive search.

The peer of the first row is what a selection program does for one axis at a time: the torque at the
motor sample by sample with NumPy, for some of the pairs, scaled to all.
"""

from __future__ import annotations

import time

import numpy as np

import linkwright as lw
from bench.measure import Row
from linkwright.sizing import Catalog, JointCycle, read_catalog
from linkwright.sizing.arm import Arm, arm_of
from linkwright.sizing.choice import options_of
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.pairs import Demands, Pairs, judge, shaft_torque
from linkwright.sizing.pareto import front

TITLE = "Sizing"
PAIRS, JOINTS, SAMPLES = 100, 6, 10_000
DEMANDS = Demands(20_000.0, 40.0, 320.0)


def run() -> list[Row]:
    """Return the rows of the table."""
    catalog = many(PAIRS, PAIRS, seed=1)
    loads = [load(k) for k in range(JOINTS)]
    pairs = Pairs.all_of(catalog, "revolute", DEMANDS.voltage)
    started = time.perf_counter()
    fits = sum(int(judge(x, pairs, DEMANDS).fits.sum()) for x in loads)
    ours = time.perf_counter() - started
    peer = plain(loads[0], pairs, 50) * len(pairs) * JOINTS
    sets, same, nodes, took = exhaustive()
    return [
        Row(
            f"{len(pairs):,} pairs, {JOINTS} joints, {SAMPLES:,} samples",
            ours,
            "s",
            5.0,
            "lower",
            f"{fits:,} fit; NumPy, a pair at a time: {peer:.0f} s for torque and RMS alone",
        ),
        Row(
            f"Front of {sets:,} sets equals exhaustive search",
            float(same),
            "1",
            1.0,
            "higher",
            f"{nodes:,} of 2,353 sets of masses judged, {took:.1f} s",
        ),
    ]


def load(k: int) -> JointLoad:
    """A joint that swings with some harmonics."""
    rng = np.random.default_rng(k)
    t = np.linspace(0.0, 10.0, SAMPLES)
    orders, size = np.arange(1, 6), rng.normal(size=5) / np.arange(1, 6)
    w = 2.0 * np.pi / 10.0 * orders
    q = np.sin(np.outer(t, w)) @ size
    u, a = np.cos(np.outer(t, w)) @ (size * w), -np.sin(np.outer(t, w)) @ (size * w * w)
    inertia = 1.0 + 0.3 * np.cos(q)
    torque = inertia * a + 20.0 * np.cos(q)
    return JointLoad(JointCycle(f"j{k}", "revolute", t, q, u, a, torque), inertia)


def many(motors: int, gears: int, seed: int) -> Catalog:
    """Motors and gears of random sizes around the generic ones."""
    generic, rng = read_catalog("generic"), np.random.default_rng(seed)
    motor, gear = generic.motor["servo-400w"], generic.gear["strain-25-100"]
    made: dict[str, dict[str, object]] = {"motor": {}, "gear": {}}
    for k in range(motors):
        s, x, y, z = float(rng.uniform(0.4, 3.0)), *map(float, rng.uniform(0.7, 1.3, 3))
        made["motor"][f"m{k}"] = motor.model_copy(
            update={
                "R": motor.R / s**1.2,
                "continuous": motor.continuous * s,
                "peak": motor.peak * s * x,
                "J": motor.J * s**1.5,
                "mass": motor.mass * s * y,
                "price": motor.price * s * z,
            }
        )
    for k in range(gears):
        s = float(rng.uniform(0.5, 3.0))
        made["gear"][f"g{k}"] = gear.model_copy(
            update={
                "ratio": float(rng.integers(50, 160)),
                **{x: getattr(gear, x) * s for x in ("rated", "average", "repeated")},
                "momentary": gear.momentary * 3 * s,
                "efficiency": float(rng.uniform(0.6, 0.9)),
                "mass": gear.mass * s,
                "price": gear.price * s,
            }
        )
    return generic.model_copy(update={**made, "bearing": {}})


def plain(x: JointLoad, pairs: Pairs, count: int) -> float:
    """Return the seconds that one pair takes as a person would write it."""
    started = time.perf_counter()
    for k in range(count):
        torque = shaft_torque(x, *pairs.parts(k))
        np.abs(torque).max()
        np.sqrt(np.mean(torque**2))
    return (time.perf_counter() - started) / count


def planar_arm() -> Arm:
    """Three joints in a vertical plane."""
    m = lw.Mechanism("planar")
    for k, mass in enumerate((4.0, 3.0, 2.0)):
        at, parent = ((0.4, 0, 0), f"j{k}") if k else ((0, 0, 0), None)
        m.body(f"j{k + 1}", parent=parent, at=at, rotate="y", mass=mass, com=(0.2, 0, 0),
               inertia=0.05)  # fmt: skip
    m.gravity("-z")
    robot = lw.Robot(m)
    t = np.linspace(0.0, 3.0, 41)
    w = 2.0 * np.pi / 3.0
    wave = np.outer(np.cos(w * t), [-0.4, 0.8, 0.0]) + np.outer(np.sin(w * t), [0.0, 0.0, 0.5])
    rate = np.outer(np.sin(w * t), [0.4, -0.8, 0.0]) + np.outer(np.cos(w * t), [0.0, 0.0, 0.5])
    q, u, a = wave - np.array([0.3, 0.0, 0.0]), w * rate, -w * w * wave
    tau = robot.inverse_dynamics(q, u, a)
    cycles = [
        JointCycle(x, "revolute", t, q[:, k], u[:, k], a[:, k], tau[:, k])
        for k, x in enumerate(robot.coordinates)
    ]
    return arm_of(cycles, robot)


def exhaustive() -> tuple[int, bool, int, float]:
    """Return the number of sets that fit, whether both fronts agree, nodes and seconds."""
    arm, catalog = planar_arm(), many(8, 6, seed=3)
    started = time.perf_counter()
    found = front(arm, catalog, DEMANDS)
    took = time.perf_counter() - started
    third = options_of(arm, catalog, DEMANDS, "j3", {}).judged
    rows = []
    for c in np.flatnonzero(third.fits):
        masses = {"j3": float(third.mass[c])}
        second = options_of(arm, catalog, DEMANDS, "j2", masses).judged
        for b in np.flatnonzero(second.fits):
            masses["j2"] = float(second.mass[b])
            first = options_of(arm, catalog, DEMANDS, "j1", masses).judged
            margin = np.minimum(first.margin, min(second.margin[b], third.margin[c]))
            sums = [
                getattr(first, x) + getattr(second, x)[b] + getattr(third, x)[c]
                for x in ("mass", "energy", "price")
            ]
            rows.append(np.stack([-margin, *sums], axis=1)[first.fits])
    every = np.round(np.concatenate(rows), 9)
    best: list[np.ndarray] = []
    for row in every[np.lexsort(every.T[::-1])]:
        if not best or not (np.array(best) <= row).all(axis=1).any():
            best.append(row)
    seen = sorted((-s.margin, s.mass, s.energy, s.price) for s in found.sets)
    wanted = sorted(map(tuple, best))
    same = len(seen) == len(wanted) and bool(np.allclose(seen, wanted, rtol=1e-9, atol=1e-9))
    return len(every), same and found.proven, found.judged, took
