"""The systolic array: its machine, and its cells as a kernel against NumPy."""

from __future__ import annotations

import time

import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved
from linkwright.heritage.systolic import STEP_CYCLES, faddeev, run_faddeev

TITLE = "Systolic array"
_BATCH = 4096


def run() -> list[Row]:
    """Time a 6×6 inverse on the machine, and batches of 6×6 systems on one core."""
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.normal(size=(6, 6)))[0] + 0.05 * rng.normal(size=(6, 6))
    parts = (A, np.eye(6) / 2, np.eye(6) / 2, np.zeros((6, 6)))
    found = run_faddeev(*parts)
    worst = abs(4 * found.results - np.linalg.inv(A)).max()
    machine = interleaved({"machine": lambda: run_faddeev(*parts)}, rounds=3)["machine"]
    float_error = abs(4 * faddeev(*parts) - np.linalg.inv(A)).max()
    many, sides = rng.normal(size=(_BATCH, 6, 6)), rng.normal(size=(_BATCH, 6, 6))
    solve, out = lw.small_solver(6, 6), np.empty((_BATCH, 6, 6))
    times = interleaved(
        {
            "ours": lambda: solve.batch(many, sides, out=out),
            "numpy": lambda: np.linalg.solve(many, sides),
        },
        rounds=15,
        calls=8,
        clock=time.process_time,
        pick=min,
    )
    ours, theirs = times["ours"] / _BATCH, times["numpy"] / _BATCH
    residual = (
        abs(many @ out - sides).max() / abs(many @ np.linalg.solve(many, sides) - sides).max()
    )
    return [
        Row("6×6 inverse on the machine", machine, "s", 1.0),
        Row("cycles of a step, with constants", found.cost.cycles / 30, "1", STEP_CYCLES),
        Row("error of the cells in floats", float_error, "1", 1e-12),
        Row("error of the machine in fixed point", worst, "1", 1e-5),
        Row(
            "6×6 systems with six right sides, times numpy.linalg.solve",
            theirs / ours,
            "1",
            8,
            "higher",
            f"{ours * 1e9:.0f} and {theirs * 1e9:.0f} ns each, one core; "
            f"residual {residual:.2g} times NumPy's",
        ),
    ]
