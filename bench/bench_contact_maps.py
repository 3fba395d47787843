"""Maps of contact: ten thousand one-axis loops of a wrist, a law of force and a surface.

Each loop is an arm with its servo, a compliant wrist, force control that accumulates at 28 ms, and
a contact that only pushes, as one program. The peer is the same loop in NumPy, all runs at once,
with the same steps of the same method (RK4).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.measure import Row
from linkwright.contact import WristLoop, contact_map, element_system
from linkwright.contact.wrist_loops import sampled
from linkwright.simulation import simulate_batch

TITLE = "Maps of contact"
Array = NDArray[np.float64]
LOOP = WristLoop("accumulating", 0.2, m=0.1, Cw=5.0, Kw=500.0, a=0.8, Ke=1e4)
SIDE, TICKS, STEPS = 100, 214, 30
PUSH, ARM, QUICKNESS = 5.0, 5.0, 20.0
CLEAR = 0.02
_ROUNDS = 3


def run() -> list[Row]:
    """Return the rows of the table."""
    gains, poles = np.linspace(0.05, 1.4, SIDE), np.linspace(0.0, 0.95, SIDE)
    K, A = (x.ravel() for x in np.meshgrid(gains, poles, indexing="ij"))
    system = element_system(LOOP, push=PUSH, quickness=QUICKNESS)

    def ours() -> Array:
        found = simulate_batch(
            system, TICKS * LOOP.T, method="rk4", step=LOOP.T / STEPS, threads=2, every=1,
            parameters={"law.KF": K, "law.filter": A}, record=["wrist.wrench[2]"],
        )  # fmt: skip
        return np.asarray(found["wrist.wrench[2]"])

    ours()  # compiles
    mine, seconds = _timed(ours)
    theirs, peer = _timed(lambda: _peer(K, A), rounds=1)
    radius, verdicts = sampled(LOOP, {"KF": K, "a": A})
    clear = np.abs(radius - 1) > CLEAR
    same = float(((_swings_on(mine) == (verdicts == 2))[clear]).mean())
    alike = float((_swings_on(mine) == _swings_on(theirs)).mean())
    loop = LOOP.changed(Ke=0.0, order="old-place", law="position")
    _, mapped = _timed(lambda: contact_map(loop, {"Kp": gains, "a": poles}, threads=2))
    note = (
        f"{TICKS} ticks of {STEPS} steps, with start-up; {same:.1%} as the sampled loop says where "
        f"its radius is more than {CLEAR} from 1, {alike:.1%} as NumPy's runs"
    )
    return [
        Row("10,000 loops of arm, wrist, law and contact", seconds, "s", 10, "lower", note),
        Row("the same by vectorized NumPy", peer, "s", None, "lower", "one thread, once"),
        Row("runs that say what the sampled loop does", same, "1", 0.99, "higher", ""),
        Row("a map of 100 x 100: both criteria and runs", mapped, "s", 10, "lower",
            "linear surroundings, 160 ticks"),
    ]  # fmt: skip


def _timed(call: Callable[[], object], rounds: int = _ROUNDS) -> tuple[Array, float]:
    times, found = [], None
    for _ in range(rounds):
        started = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - started)
    return np.asarray(found), float(np.median(times))


def _swings_on(x: Array) -> NDArray[np.bool_]:
    """Return which runs do not settle, from the force at ticks."""
    quarter = x.shape[1] // 4
    middle, late = np.ptp(x[:, quarter : 2 * quarter], axis=1), np.ptp(x[:, -quarter:], axis=1)
    return np.asarray((late > 1e-9) & (late > 0.7 * middle))


def _peer(K: Array, a: Array) -> Array:
    """Return the force at ticks of all runs by NumPy."""
    h, w = LOOP.T / STEPS, QUICKNESS / LOOP.T
    x = np.zeros((4, K.size))  # arm, tool on it, and their speeds
    seen, offset = np.zeros(K.size), np.zeros(K.size)

    def rates(x: Array, sent: Array) -> Array:
        arm, tool, arm_dot, tool_dot = x
        depth = -(arm + tool)
        surface = np.where(depth > 0, np.maximum(LOOP.Ke * depth, 0.0), 0.0)
        wrist = -LOOP.Kw * tool - LOOP.Cw * tool_dot
        servo = ARM * w * w * (sent - arm) - 2 * ARM * w * arm_dot
        absolute = (wrist + surface) / LOOP.m
        arm_ddot = (servo - wrist) / ARM
        return np.stack([arm_dot, tool_dot, arm_ddot, absolute - arm_ddot])

    forces = []
    for _ in range(TICKS + 1):
        forces.append(LOOP.Kw * x[1])
        offset = offset + K * (seen - PUSH / LOOP.Kw)
        seen = a * seen + (1 - a) * x[1]
        for _ in range(STEPS):
            k1 = rates(x, offset)
            k2 = rates(x + h / 2 * k1, offset)
            k3 = rates(x + h / 2 * k2, offset)
            k4 = rates(x + h * k3, offset)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.array(forces).T
