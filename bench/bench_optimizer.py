"""Time of fast mode for each operation that is left, and of the derivation before it.

The bar is 150 µs for each operation of the result; it is meant for Programs that take long enough
to notice, so those below 200 operations have no bar. A row that is named after a URDF file has
numbers for its parameters, the others have symbols. Times are of the processor. The note has the
operations before and after, and the time of `derive`, which counts formulations and choices for
every body.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from typing import TypeVar

from bench.measure import Row
from linkwright.equations import derive
from linkwright.equations.kernels import kernel_program
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.program import count_operations, optimize

T = TypeVar("T")

TITLE = "time of the optimizer"

BAR = 150e-6
_NOTICED = 200  # operations

MODELS = (
    "car-small",
    "cart",
    "car",
    "four-bar",
    "stanford-arm",
    "stanford-arm-controlled",
    "puma560:drives=off",
    "spacecraft-2",
    "spacecraft-1-small",
    "spacecraft-1",
    "whipple",
)
ROBOTS = ("panda.urdf", "ur5_robot.urdf", "talos_reduced.urdf")


def run() -> list[Row]:
    """Time fast mode on arms, vehicles, spacecraft and a humanoid."""
    return [row for name, mechanism in _mechanisms() for row in _rows(name, mechanism)]


def _mechanisms() -> Iterator[tuple[str, Mechanism]]:
    for name in MODELS:
        yield name, load_model(name)
    files = metadata.files("example-robot-data") or []
    for name in ROBOTS:
        found = sorted(str(f.locate()) for f in files if f.name == name)
        if found:
            yield name, load_model(found[0])


def _rows(name: str, mechanism: Mechanism) -> Iterator[Row]:
    equations, deriving = _timed(partial(derive, mechanism))
    for kernel in ("forward", "inverse"):
        if kernel == "inverse" and equations.reduction.dependent:
            continue
        source, choosing = _timed(partial(kernel_program, equations, kernel))
        runs = [_timed(partial(optimize, source)) for _ in range(3)]
        before, after = count_operations(source), count_operations(runs[0][0])
        taken = min(seconds for _, seconds in runs)
        yield Row(
            f"{name}, {kernel}: fast mode for each operation",
            taken / after.total,
            "s",
            bar=BAR if after.total >= _NOTICED else None,
            note=f"{before.total} to {after.total} operations in {1e3 * taken:.0f} ms, "
            f"derived in {1e3 * (choosing + (deriving if kernel == 'forward' else 0)):.0f} ms",
        )


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


__all__ = ["BAR", "TITLE", "run"]
