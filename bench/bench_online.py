"""Jerk-limited motion to changing targets: time of a tick and of a plan, beside Ruckig.

A tick is one of a System with nothing else in it, run unpaced by native code; Ruckig's is one
`update` of its Python class, whose own calculation time is in the note. Times are of the processor.
10,000 random states within limits go to rest at random targets.
"""

from __future__ import annotations

import time

import numpy as np
import ruckig

import linkwright as lw
from bench.measure import Row
from linkwright.motion import Limits, online
from linkwright.motion.plans import PLAN, evaluation, planning

TITLE = "jerk-limited motion to targets that change"
AXES = 16
PERIOD = 0.001


def ticks(source: str, count: int) -> float:
    """Return the time of a tick, s, of axes whose targets are an expression of time."""
    s = lw.System(name="axes")
    member = s.add(online(np.zeros(AXES), Limits(speed=1, acceleration=2, jerk=10), rate=1000))
    for k in range(AXES):
        s.connect(f"{1 - 0.03 * k}*({source})", member.target[k])
    lw.simulate(s, until=0.1)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        lw.simulate(s, until=count * PERIOD, every=count)
        best = min(best, time.process_time() - start)
    return best / count


def peer_ticks(count: int, every: int) -> tuple[float, float]:
    """Return the time of an update of Ruckig's, s, and that of its planning."""
    made, given = ruckig.Ruckig(AXES, PERIOD), ruckig.InputParameter(AXES)
    out = ruckig.OutputParameter(AXES)
    given.max_velocity, given.max_acceleration = [1.0] * AXES, [2.0] * AXES
    given.max_jerk = [10.0] * AXES
    planned = []
    start = time.process_time()
    for k in range(count):
        if k % every == 0:
            side = 1 if k // every % 2 else -1
            given.target_position = [side * (1 - 0.03 * j) for j in range(AXES)]
        made.update(given, out)
        if out.new_calculation:
            planned.append(out.calculation_duration)
        out.pass_to_input(given)
    return (time.process_time() - start) / count, float(np.median(planned)) * 1e-6


def states(count: int) -> tuple[float, float]:
    """Return the largest difference of arrival, s, and the largest excess over a limit."""
    rng = np.random.default_rng(7)
    shape = (count, 1)
    V, A, J = (10 ** rng.uniform(low, low + 1.5, shape) for low in (-0.5, 0.0, 0.5))
    v, a = V * rng.uniform(-1, 1, shape), A * rng.uniform(-1, 1, shape)
    a = np.where(np.abs(v + a * np.abs(a) / (2 * J)) < V, a, 0.0)
    d, none = rng.normal(size=shape) * 10 ** rng.uniform(-3, 1, shape), np.zeros(shape)
    p, e = planning(1), evaluation(1)
    given = {"x": none, "v": v, "a": a, "V": V, "A": A, "J": J, "target": d, "speed": none}
    given |= {"mode": np.zeros(count), "on": np.ones(count)}
    found = lw.compile(p)(*(given[port.name] for port in p.inputs))
    plan = dict(zip((port.name for port in p.outputs), found, strict=True))
    over = 0.0
    for part in np.linspace(0, 1, 200):
        held = {"t": part * plan["duration"], **{n: plan[f"{n}_plan"] for n in PLAN}}
        _, *rates = lw.compile(e)(*(held[port.name] for port in e.inputs))
        over = max([over, *((np.abs(r) - x).max() for r, x in zip(rates, (V, A, J), strict=True))])
    late = 0.0
    maker, asked = ruckig.Ruckig(1, PERIOD), ruckig.InputParameter(1)
    made = ruckig.Trajectory(1)
    for k in range(count):
        asked.current_velocity, asked.current_acceleration = v[k].tolist(), a[k].tolist()
        asked.target_position = d[k].tolist()
        asked.max_velocity, asked.max_acceleration = V[k].tolist(), A[k].tolist()
        asked.max_jerk = J[k].tolist()
        try:
            maker.calculate(asked, made)
        except ruckig.RuckigError:
            continue
        late = max(late, abs(made.duration - plan["duration"][k]))
    return late, over


def run() -> list[Row]:
    """Return the table."""
    mean = ticks("1.0 if sin(6*t) > 0 else -1.0", 100_000)
    worst = ticks("sin(3*t)", 10_000)
    peer, planned = peer_ticks(20_000, 524)
    late, over = states(10_000)
    note = f"Ruckig: update from Python {peer * 1e6:.1f} us, its plan alone {planned * 1e6:.1f} us"
    changed = "new targets every 0.52 s"
    return [
        Row(f"a tick of {AXES} axes, {changed}", mean * 1e6, "us", 5.0, note=note),
        Row(f"a tick of {AXES} axes that plans, all targets new", worst * 1e6, "us"),
        Row("10,000 states to rest: difference to Ruckig", late / PERIOD, "periods", 1.0),
        Row("10,000 states to rest: excess over a limit", over, "1", 1e-9),
    ]
