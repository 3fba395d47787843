"""What ``import linkwright`` costs over ``import numpy``, each time in a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.measure import Row

TITLE = "import time"
ROUNDS = 15

# The process takes the time itself, so that starting an interpreter adds no noise.
PROGRAM = """
from time import perf_counter
start = perf_counter()
import numpy
between = perf_counter()
import linkwright
print(between - start, perf_counter() - between)
"""


def run() -> list[Row]:
    """Time both imports in processes of their own; the first process only warms the disk."""
    times = [imports() for _ in range(ROUNDS + 1)][1:]
    numpy, linkwright = (statistics.median(column) for column in zip(*times, strict=True))
    note = f"median of {ROUNDS} fresh processes"
    return [
        Row("import numpy", numpy, "s", note=note),
        Row("import linkwright, over numpy", linkwright, "s", bar=0.1, note=note),
    ]


def imports() -> tuple[float, float]:
    """Return the seconds that NumPy, then Linkwright, took in one fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    numpy, linkwright = done.stdout.split()
    return float(numpy), float(linkwright)
