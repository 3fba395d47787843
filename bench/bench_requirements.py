"""Tasks of a six-joint arm: many runs reduced natively, against a Python loop over Pinocchio.

1,000 runs of a PUMA 560, 10 s at 1 kHz each, with another payload in each run: torques, powers,
force and moment in each joint, and peak, time, mean and RMS of all of them. Two threads. The peer
computes torques alone, by `pinocchio.rnea` in a loop over samples whose motion is given; its time
is that of 20,000 samples. Times are of the processor, both threads together, so that a busy machine
does not count; the wall's stand beside them. Memory is the growth of the process from before the
first run.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import pinocchio as pin

import linkwright as lw
from bench.bench_robots import puma
from bench.measure import Row
from linkwright.motion import Move, TaskSegment, ToolLine
from linkwright.motion.task_parts import Part
from linkwright.robots import Robot

TITLE = "requirements of tasks against a loop over Pinocchio's rnea"
RUNS, SAMPLES, PEER = 1000, 10_000, 20_000
START = (0.3, 0.8, 2.9, 0.4, 0.7, -0.2)


def run() -> list[Row]:
    """Time runs of joint and of tool control."""
    pair = puma()
    arm = pair.ours
    names = arm.coordinates
    start = dict(zip(names, START, strict=True))
    there = {names[0]: 0.8, names[1]: 0.5, names[4]: 1.2}
    payloads = np.random.default_rng(0).uniform(0, 3, RUNS)
    joints: list[Part] = [Move(there, 2.5), Move(start, 2.5)] * 2
    lines: list[Part] = [ToolLine({x: by}, 2.5) for x, by in (("z", 0.1), ("x", -0.2))]
    lines += [ToolLine({x: by}, 2.5) for x, by in (("x", 0.2), ("z", -0.1))]
    rows = []
    theirs = _peer(pair.model)
    for what, parts, bar in (("joint control", joints, 3.0), ("tool control", lines, 8.0)):
        task = lw.Task(parts, start, frame="link6")
        lw.sizing.screen(arm, task, payloads=payloads[:8])  # compiled now
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, busy = _timed(arm, task, payloads)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        note = f"{seconds:.3g} s on the wall; Pinocchio {theirs * 1e6:.3g} µs a sample"
        rows.append(Row(f"{RUNS} runs of 10 s at 1 kHz, {what}", busy, "s", bar, note=note))
        rows.append(Row(f"memory of it, {what}", grown, "MB", 300))
        rows.append(
            Row(
                f"samples a second as multiple of Pinocchio's torques, {what}",
                theirs * RUNS * SAMPLES / busy,
                "1",
                10 if what == "joint control" else None,
                "higher",
                "by processor time of both",
            )
        )
    rows.append(_poses(arm))
    return rows


def _poses(arm: Robot) -> Row:
    """Count the seeds whose search reaches the best of a million random poses."""
    rates = dict(zip(arm.coordinates, (4.0, 0.0, -6.0, 0.0, 5.0, 0.0), strict=True))
    joint = arm.coordinates[1]
    turn = TaskSegment({name: [0.0, rate] for name, rate in rates.items()}, duration=0.2)
    q, u, a = (
        np.outer(row, list(rates.values()))
        for row in ([0.0, 0.005, 0.02], [0.0, 0.1, 0.2], [1.0, 1.0, 1.0])
    )
    rng = np.random.default_rng(99)
    best = 0.0
    for _ in range(20):
        starts = rng.uniform(-np.pi, np.pi, (50_000, 1, 6))
        best = max(best, float(np.abs(arm.inverse_dynamics(starts + q, u, a)[..., 1]).max()))
    task = lw.Task([turn])
    found = [lw.sizing.worst_pose(arm, task, joint, seed=s, step=0.1) for s in range(10)]
    reached = sum(abs(x.value) >= best * (1 - 1e-9) for x in found)
    note = f"{best:.6g} N*m; {max(x.evaluations for x in found)} evaluations at most"
    what = "worst pose: seeds of 10 that reach the best of 10^6 random poses"
    return Row(what, reached, "1", 9, "higher", note)


def _timed(arm: Robot, task: lw.Task, payloads: np.ndarray) -> tuple[float, float]:
    """Return the least of three times, on the wall and of the processors."""
    found = []
    for _ in range(3):
        wall, busy = time.perf_counter(), time.process_time()
        lw.sizing.screen(arm, task, payloads=payloads, threads=2)
        found.append((time.perf_counter() - wall, time.process_time() - busy))
    return min(x for x, _ in found), min(x for _, x in found)


def _peer(model: pin.Model) -> float:
    """Return seconds of one sample."""
    data = model.createData()
    q, u, a = np.random.default_rng(1).normal(size=(3, PEER, 6))
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        for row in range(PEER):
            pin.rnea(model, data, q[row], u[row], a[row])
        best = min(best, time.process_time() - began)
    return best / PEER
