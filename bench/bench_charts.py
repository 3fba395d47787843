"""Closing loops and charts: a million poses beside SciPy's root finder and vectorized NumPy.

SciPy's peer is a loop over `scipy.optimize.root` with the exact Jacobian, as its users write it.
NumPy's peer does for a chart what we do, line by line: Newton's method from the neighbor with all
lines at once, `numpy.linalg.solve` on stacks of matrices, then condition, angles and efforts. Its
residuals and Jacobians are the same expressions, evaluated by our backend for NumPy.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

import linkwright as lw
from bench.measure import Row
from linkwright.algebra.calculus import gradient
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.equations.batch_closing import Closing
from linkwright.equations.evaluation import all_values, numbers, quantities
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.parallel import chart
from linkwright.parallel.chart_engine import ChartEngine
from linkwright.parallel.chart_space import chart_space

TITLE = "Closing loops and charts"
Array = NDArray[np.float64]
POSES, PEER_POSES = 1_000_000, 150
AXES = {"azimuth": (0, math.tau, 1441), "zenith": (0, math.radians(120), 694)}
OF = ("reach", "condition", "transmission", "effort")
STREAMED = 10_000_000
_ROUNDS = 3


def run() -> list[Row]:
    """Return the rows of the table."""
    return [*_stewart(), *_chart(), *_streamed()]


def _median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _evaluated(machine: ParallelMachine, backend: str) -> tuple[Kernel, list[Array]]:
    """Return relations, their Jacobian, direction and its derivatives, compiled."""
    q = machine.coordinates
    known = [*machine.relations, *machine.direction]
    results: dict[str, list[Any]] = {"g": known, "J": [gradient(x, q) for x in known]}
    program = quantities(machine.mechanism, "peer", results, known, q=q)
    values = all_values(machine.mechanism, None)
    fixed = [numbers(machine.mechanism, p.entries, values) for p in program.inputs[1:]]
    return compiled(program, backend=backend), fixed


def _stewart() -> list[Row]:
    machine = parallel_machine(lw.load("stewart"))
    closing = Closing(machine)
    start = closing.start
    legs = start[[closing.names.index(a.name) for a in machine.actuators]]
    r = np.random.default_rng(1)
    lengths = legs + r.uniform(-0.1, 0.1, (POSES, 6)) * legs.mean()
    closing.close(lengths[:64])
    found = closing.close(lengths, threads=2)
    ours = _median(lambda: closing.close(lengths, threads=2))
    kernel, fixed = _evaluated(machine, "llvm")
    passive = [closing.names.index(x.name) for x in machine.passive]
    driven = [closing.names.index(x.name) for x in machine.actuators]
    count = len(machine.relations)

    def peer() -> int:
        closed = 0
        q = start.copy()

        def relations(x: Array) -> tuple[Array, Array]:
            q[passive] = x
            g, jacobian = kernel.scalar(q, *fixed)
            return g[:count], jacobian[:count][:, passive]

        for row in lengths[:PEER_POSES]:
            q[driven] = row
            closed += bool(root(relations, start[passive], jac=True, tol=1e-13).success)
        return closed

    peer()
    theirs = _median(peer) / PEER_POSES
    left = found.residual[found.closed].max()
    note = f"{found.closed.mean():.4%} closed, two threads; residual {left:.1e}"
    return [
        Row("a million Stewart poses closed by Newton", ours, "s", 20.0, "lower", note),
        Row(
            "… over a loop of scipy.optimize.root", theirs / (ours / POSES), "1", 100.0, "higher",
            f"{POSES / ours:,.0f} against {1 / theirs:,.0f} poses a second",
        ),
    ]  # fmt: skip


def _chart() -> list[Row]:
    machine = parallel_machine(lw.load("mount-2-rotary"))
    engine = ChartEngine(machine, chart_space(machine, AXES, None), OF)
    engine.part(0, 1441, 2)
    ours = _median(lambda: engine.part(0, 1441, 2))
    theirs = _numpy_chart(machine, engine)
    found = chart(machine.mechanism, AXES, OF, threads=2)
    size = sum(found[n].nbytes for n in found.columns)
    small = dict(AXES, azimuth=(0, 360, 9))
    whole, little = (
        _peak(
            "from linkwright.analysis import chart\nimport linkwright as lw\n"
            f"found = chart(lw.load('mount-2-rotary'), {axes!r}, {OF!r}, threads=2)\n"
        )
        for axes in (AXES, small)
    )
    peak = max(0.0, whole - little)
    poses = 1441 * 694
    note = f"{poses:,} directions, {found.share:.1%} reached, two threads"
    return [
        Row("chart of B: reach, condition, transmission, efforts", ours, "s", 1.0, "lower", note),
        Row(
            "… over vectorized NumPy", theirs / ours, "1", 10.0, "higher",
            f"{theirs:.1f} s for all directions, from 12 places of all lines",
        ),
        Row("… memory over its result", peak / size, "1", 2.0, "lower", f"{size / 1e6:.0f} MB"),
    ]  # fmt: skip


def _numpy_chart(machine: ParallelMachine, engine: ChartEngine) -> float:
    """Return the time that vectorized NumPy would take for the whole chart, s."""
    kernel, fixed = _evaluated(machine, "python")
    count, k = len(machine.relations), len(machine.actuators)
    names = engine.closing.names
    driven = [names.index(a.name) for a in machine.actuators]
    passive = [names.index(a.name) for a in machine.passive]
    space = engine.space
    along = space.axes[-1].values
    across = space.line_values(np.arange(1441))
    q = np.repeat(engine.start[None], 1441, axis=0)
    before = q
    places = 12
    kernel.batch(q[:8], *fixed)
    started = time.perf_counter()
    for zenith in along[:places]:
        target = space.rows(across, zenith)
        guess, before = 2 * q - before, q
        q = guess
        for _ in range(3):
            g, jacobian = kernel.batch(q, *fixed)
            g = g.copy()
            g[:, count:] -= target
            square = np.swapaxes(jacobian, 1, 2) @ jacobian
            right = np.swapaxes(jacobian, 1, 2) @ g[:, :, None]
            q = q - np.linalg.solve(square + 1e-14 * np.eye(len(names)), right)[:, :, 0]
        g, jacobian = kernel.batch(q, *fixed)
        own = jacobian[:, :count]
        normal = np.swapaxes(own[:, :, passive], 1, 2)
        solved = np.linalg.solve(
            normal @ own[:, :, passive] + 1e-14 * np.eye(len(passive)),
            -normal @ own[:, :, driven],
        )
        rates = np.zeros((1441, len(names), k))
        rates[:, driven] = np.eye(k)
        rates[:, passive] = solved
        values = np.linalg.svd(jacobian[:, count:] @ rates, compute_uv=False)
        np.divide(values[:, 0], values[:, 1])
    return (time.perf_counter() - started) * len(along) / places


def _peak(code: str) -> float:
    """Return the peak of memory of a process of its own, bytes.

    Linux's `VmHWM` begins anew with each program; `ru_maxrss` begins with the peak of this process.
    """
    tail = """
with open("/proc/self/status") as told:
    print(next(line.split()[1] for line in told if line.startswith("VmHWM")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return 1024.0 * float(done.stdout.split()[-1])


def _streamed() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        axes = dict(AXES, azimuth=(0, 360, STREAMED // 694))
        started = time.perf_counter()
        peak = _peak(
            "from linkwright.analysis import chart\nimport linkwright as lw\n"
            f"chart(lw.load('mount-2-rotary'), {axes!r}, ('reach', 'condition'), threads=2, "
            f"folder={folder + '/chart'!r})\n"
        )
        seconds = time.perf_counter() - started
    note = f"{STREAMED:,} poses in {seconds:.0f} s, in parts that do not grow with their number"
    return [
        Row("peak of memory of a chart streamed to Parquet", peak / 1e6, "MB", 500.0, "lower", note)
    ]
