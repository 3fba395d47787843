"""Swing-up of the cart-pole, found from rest: derivation, compilation and solution together.

Each time is that of a fresh process with an empty cache, from the model's file to the motion that
was simulated; only the imports stand before it. The peer writes the same collocation in CasADi's
own symbols, with the accelerations of the cart-pole by hand, and solves it with the same Ipopt.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import Row

TITLE = "optimal motions"
ROUNDS = 5
BAR = 2.0
ROOT = Path(__file__).parent.parent
MODEL = ROOT / "src" / "linkwright" / "learning" / "shipped" / "cart-pole.toml"


def ours() -> tuple[float, float, str]:
    """Find the motion once; return the time, the cost and what is known of it."""
    import casadi  # noqa: F401
    import llvmlite.binding  # noqa: F401

    import linkwright as lw
    from linkwright.wholebody.optimization import optimize_motion

    model = lw.load("pendulum")
    lw.simulate(model, 0.01)  # imports what every run needs
    start, begun = time.perf_counter(), time.process_time()
    found = optimize_motion(
        str(MODEL),
        act={"x": 15},
        until=2.0,
        final={"x": 0, "theta": 0, "x_dot": 0, "theta_dot": 0},
        minimize="tau_x**2",
        limits={"x": 2.0},
    )
    wall, busy = time.perf_counter() - start, time.process_time() - begun
    far = max(found.deviation.values())
    note = f"{busy:.2f} s of processor, {found.intervals} intervals, simulated within {far:.0e}"
    return wall, found.objective, note


def theirs(count: int = 42) -> tuple[float, float, str]:
    """Solve the same problem in CasADi's symbols, on as many even intervals as ours has at last."""
    import casadi as ca
    import numpy as np

    start = time.perf_counter()
    x, u = ca.SX.sym("x", 4), ca.SX.sym("u")
    cart, pole, length, gravity = 1.0, 0.1, 1.0, 9.81
    half, c, s = length / 2, ca.cos(x[1]), ca.sin(x[1])
    inertia = pole * half**2 + pole * length**2 / 12
    mass = ca.vertcat(
        ca.horzcat(cart + pole, -pole * half * c), ca.horzcat(-pole * half * c, inertia)
    )
    right = ca.vertcat(u - pole * half * s * x[3] ** 2, pole * gravity * half * s)
    rate = ca.Function("f", [x, u], [ca.vertcat(x[2], x[3], ca.solve(mass, right))])
    points, h = 2 * count + 1, 2.0 / count
    states, inputs = ca.MX.sym("X", 4, points), ca.MX.sym("U", 1, points)
    f = rate.map(points)(states, inputs)
    a, m, b = states[:, 0:-1:2], states[:, 1::2], states[:, 2::2]
    fa, fm, fb = f[:, 0:-1:2], f[:, 1::2], f[:, 2::2]
    rows = [m - (a + b) / 2 - h / 8 * (fa - fb), b - a - h / 6 * (fa + 4 * fm + fb)]
    ua, um, ub = inputs[0:-1:2], inputs[1::2], inputs[2::2]
    middles = 2 * um - (ua + ub) / 2
    cost = h / 6 * ca.sum2(ua**2 + 4 * um**2 + ub**2)
    v = ca.vertcat(ca.vec(states), ca.vec(inputs))
    g = ca.vertcat(*(ca.vec(r) for r in rows), ca.vec(middles))
    options: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": 1e-8}
    solver = ca.nlpsol("s", "ipopt", {"x": v, "f": cost, "g": g},
                       {"ipopt": options, "print_time": False})  # fmt: skip
    low = np.full((4, points), -np.inf)
    low[0], high = -2.0, np.full((4, points), np.inf)
    high[0] = 2.0
    begin, end = np.array([0, np.pi, 0, 0]), np.zeros(4)
    low[:, 0] = high[:, 0] = begin
    low[:, -1] = high[:, -1] = end
    guess = begin[:, None] + (end - begin)[:, None] * np.linspace(0, 1, points)
    force = np.full(points, 15.0)
    found = solver(
        x0=np.concatenate([guess.T.ravel(), 0 * force]),
        lbx=np.concatenate([low.T.ravel(), -force]),
        ubx=np.concatenate([high.T.ravel(), force]),
        lbg=np.concatenate([np.zeros(8 * count), -force[:count]]),
        ubg=np.concatenate([np.zeros(8 * count), force[:count]]),
    )
    return time.perf_counter() - start, float(found["f"]), f"{count} even intervals, not simulated"


def run() -> list[Row]:
    """Measure both in turns, each in processes of its own."""
    walls: dict[str, list[float]] = {"ours": [], "theirs": []}
    costs, notes = {}, {}
    for _ in range(ROUNDS):
        for name, times in walls.items():
            wall, costs[name], notes[name] = _fresh(name)
            times.append(wall)
    apart = abs(costs["ours"] / costs["theirs"] - 1)
    middle = {name: statistics.median(times) for name, times in walls.items()}
    note = f"{notes['ours']}; cost {costs['ours']:.4f}, {apart:.0e} from the peer's"
    return [
        Row("swing-up of the cart-pole, all together", middle["ours"], "s", BAR, note=note),
        Row("CasADi by hand, same Ipopt", middle["theirs"], "s", note=notes["theirs"]),
    ]


def _fresh(name: str) -> tuple[float, float, str]:
    """Measure once in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "LINKWRIGHT_CACHE_DIR": f"{folder}/cache"}
        done = subprocess.run(
            [sys.executable, "-m", "bench.bench_optimal", name],
            env=settings, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
    wall, cost, note = json.loads(done.stdout.splitlines()[-1])
    return float(wall), float(cost), str(note)


if __name__ == "__main__":
    print(json.dumps({"ours": ours, "theirs": theirs}[sys.argv[1]]()))
