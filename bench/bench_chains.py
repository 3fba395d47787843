"""Long chains: time to derive, optimize, compile, and to evaluate beside Pinocchio's aba.

The chain has revolute joints about x, y and z in turn, unlike masses, and numbers as parameters.
Both evaluate the same states in the same process, called from Python. Pinocchio's workspace grows
with the third power of the number of joints, so that 1,000 links do not fit into memory; the rows
for 1,000 links stand beside five times its time for 200, because both are linear.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved
from linkwright.equations import derive
from linkwright.mechanism import Mechanism
from linkwright.program import count_operations
from linkwright.program.passes import optimize

TITLE = "long chains: loops over like bodies"
_AT, _CENTER, _INERTIA = (1.0, 0.1, -0.2), (0.4, 0.1, -0.05), (0.1, 0.2, 0.15)


def chain(n: int) -> Mechanism:
    """Return a chain of n links."""
    m = Mechanism("chain")
    m.gravity(along=-m.z)
    last = m.ground
    for k in range(n):
        last = m.body(
            f"b{k}",
            parent=last,
            at=_AT,
            rotate="xyz"[k % 3],
            mass=1 + 0.3 * np.cos(k),
            com=_CENTER,
            inertia=_INERTIA,
        )
    return m


def peer(n: int) -> tuple[Any, Any, Any]:
    """Return Pinocchio, its model of the same chain, and its workspace."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, 0.0, -9.81]), np.zeros(3))
    joints = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    last = 0
    for k in range(n):
        place = pin.SE3(np.eye(3), np.array(_AT))
        last = model.addJoint(last, joints[k % 3](), place, f"j{k}")
        body = pin.Inertia(1 + 0.3 * np.cos(k), np.array(_CENTER), np.diag(_INERTIA))
        model.appendBodyToJoint(last, body, pin.SE3.Identity())
    return pin, model, model.createData()


def run() -> list[Row]:
    """Return the table."""
    os.environ["LINKWRIGHT_CACHE_DIR"] = "off"
    rng = np.random.default_rng(5)
    rows: list[Row] = []
    kernels = {n: _prepared(n, rows) for n in (200, 1000)}
    contenders: dict[str, Any] = {}
    pin, model, data = peer(200)
    states = {n: (rng.uniform(-3, 3, n), rng.normal(size=n)) for n in kernels}
    for n, (forward, inverse) in kernels.items():
        q, u = states[n]
        a = np.zeros(n)
        contenders[f"forward {n}"] = lambda k=forward, q=q, u=u: k(q, u)
        contenders[f"inverse {n}"] = lambda k=inverse, q=q, u=u, a=a: k(q, u, a)
    q, u = states[200]
    zero = np.zeros(200)
    contenders["aba"] = lambda: pin.aba(model, data, q, u, zero)
    contenders["rnea"] = lambda: pin.rnea(model, data, q, u, zero)
    error = np.abs(kernels[200][0](q, u)[1] - pin.aba(model, data, q, u, zero)).max()
    error /= np.abs(pin.aba(model, data, q, u, zero)).max()
    times = interleaved(contenders, rounds=15, calls=20)
    for kernel, theirs in (("forward", "aba"), ("inverse", "rnea")):
        for n in kernels:
            ratio = times[f"{kernel} {n}"] / (times[theirs] * n / 200)
            note = f"Pinocchio {theirs} {times[theirs] * 1e6:.1f} µs for 200"
            note += f"; they differ by {error:.0e}" if kernel == "forward" else ""
            rows.append(Row(f"{kernel} dynamics, {n} links", times[f"{kernel} {n}"], "s"))
            rows.append(Row(f"{kernel} dynamics, {n} links / {theirs}", ratio, bar=1.0, note=note))
    return rows


def _prepared(n: int, rows: list[Row]) -> tuple[Any, Any]:
    """Derive and compile; add rows for the time that takes where the chain is long."""
    start = time.perf_counter()
    equations = derive(chain(n))
    written = equations.program()
    derived = time.perf_counter()
    forward = optimize(written)
    optimized = time.perf_counter()
    kernel = lw.compile(forward)
    kernel(np.zeros(n), np.zeros(n))
    compiled = time.perf_counter()
    inverse = lw.compile(optimize(equations.inverse_dynamics_program()))
    inverse(np.zeros(n), np.zeros(n), np.zeros(n))
    if n >= 1000:
        told = count_operations(forward)
        note = f"{told.add} / {told.mul} / {told.call} operations executed"
        rows.append(Row(f"derive {n} links", derived - start, "s", bar=3.0, note=note))
        rows.append(Row(f"optimize {n} links", optimized - derived, "s"))
        rows.append(Row(f"compile {n} links", compiled - optimized, "s", bar=3.0))
    return kernel, inverse
