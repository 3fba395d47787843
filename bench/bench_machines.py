"""Machines with closed loops: inverse dynamics with all reactions in batches, controlled runs.

The prismatic antenna mount has 15 bodies' joints and five loops. Its poses are closed and differ;
the peer is the way of the textbooks for one pose at a time in NumPy: the multipliers from a dense
solve with the Jacobian of all constraints, whose matrices are given for nothing.
"""

from __future__ import annotations

import time

import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved
from linkwright.equations.closure import Relations, assemble
from linkwright.equations.evaluation import all_values

TITLE = "parallel machines"
_POSES, _PEER = 100_000, 500


def run() -> list[Row]:
    """Return the figures."""
    mount = lw.load("mount-prismatic")
    m = mount.mechanism
    start = assemble(m).coordinates
    rng = np.random.default_rng(1)
    legs = [start[name] for name in mount.actuators] + rng.uniform(-0.1, 0.1, (_POSES, 2))
    q = np.asarray(lw.robots.closed(mount, {"actuators": legs}).q)
    u, a = rng.uniform(-0.2, 0.2, (2, _POSES, 2))
    relations = Relations(m, all_values(m, None))
    jacobian, _ = relations.speed(q[0], 0.0)
    driven = [f"{name}_dot" for name in mount.actuators]
    passive = [k for k, x in enumerate(relations.speeds) if x.name not in driven]
    square, right = jacobian[:, passive].T, rng.uniform(-1, 1, len(passive))

    def peer() -> None:
        for _ in range(_PEER):
            np.linalg.solve(square, right)

    times = interleaved(
        {
            "loads": lambda: mount.loop_loads(q, u, a),
            "forces": lambda: mount.inverse_dynamics(q, u, a),
            "peer": peer,
        },
        rounds=7,
        clock=time.process_time,
    )
    loads, forces = (_POSES / times[key] for key in ("loads", "forces"))
    alone = _PEER / times["peer"]
    return [
        Row(
            "prismatic mount: inverse dynamics with all reactions, a CPU second",
            loads / 1e6,
            "1e6",
            1.0,
            "higher",
            f"{loads / alone:.0f} times NumPy's solve for the multipliers alone, one by one",
        ),
        Row("the same without reactions, a CPU second", forces / 1e6, "1e6"),
        tracked(mount),
    ]


def tracked(mount: lw.Robot) -> Row:
    """Return how much faster than real time computed torque on the jacks runs at 1 kHz."""
    system = lw.System(mount)
    target = {"leg1": assemble(mount).coordinates["leg1"] + 0.05}
    goal = assemble(mount).coordinates | target
    wanted = {name: goal[name] for name in mount.actuators}
    system.add(lw.control.ComputedTorque(mount, kp=400, kd=40, target=wanted), rate=1000)
    spent = []
    for until in (0.5, 0.5, 4.5):
        begun = time.process_time()
        lw.simulate(system, until, record=["leg1"])
        spent.append(time.process_time() - begun)
    speed = 4.0 / (spent[2] - spent[1])
    return Row(
        "the same, controlled at 1 kHz: times real time, one core", speed, "1", 30.0, "higher"
    )
