"""Compare what cards compute with the processor, bit by bit: `make test-gpu`.

Kernels of robots, and the derivative of every shipped model, at random states; then how fast.
Where there is no card it says so and exits with 1. `--report FILE` writes the table as Markdown.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwright as lw
from linkwright.backends.cuda.arrays import CardArray
from linkwright.backends.cuda.backend import CudaNative
from linkwright.backends.cuda.driver import GraphicsCard, call, card
from linkwright.base.errors import Error
from linkwright.models import MODELS
from linkwright.program import Program
from linkwright.robots import Robot
from linkwright.system import system_of

Array = NDArray[np.float64]

ROBOTS = ("puma560:drives=off", "stanford-arm", "tests/robots/quadruped.urdf")
KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
ROWS, MANY = 2000, 4_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, measure, and print or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="write the tables to this file")
    chosen = parser.parse_args(arguments)
    try:
        owner = card()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    lines = [f"# On a card: {owner.name}", "", *_compared(), *_measured(owner)]
    text = "\n".join(lines) + "\n"
    print(text)
    if chosen.report is not None:
        chosen.report.write_text(text, encoding="utf-8")
    return int("**differs**" in text)


def _compared() -> Iterator[str]:
    """Say what has the bits of the processor."""
    yield f"Made by `make test-gpu`: {ROWS:,} random rows each, the card beside the processor."
    yield ""
    yield "| Program | entries | bits |"
    yield "|---|---|---|"
    for model in ROBOTS:
        robot = lw.load(model) if "." in model else Robot(model)
        rng = np.random.default_rng(1)
        q = robot.random(ROWS, seed=2)
        u, a = rng.normal(size=(2, ROWS, len(robot.speeds)))
        for name in KERNELS:
            quantity = getattr(robot, name)
            given = {"q": q, "u": u, "a": a, "tau": a}
            inputs = [given[port] for port, _ in quantity.inputs if port in given]
            yield _row(f"{robot.mechanism.name}: {name}", quantity._for_speed(), [
                *inputs, *([quantity._usual] if quantity.inputs[-1][0] == "p" else [])
            ], quantity(*inputs))  # fmt: skip
    for name in sorted(MODELS):
        try:
            phases = system_of(lw.load(name)).phases(())
        except Error as error:
            yield f"| {name} | - | not derived: {error} |"
            continue
        made = phases.derivative
        if not phases.x:
            continue
        rng = np.random.default_rng(3)
        inputs = [_near(port.name, port.size, phases, rng) for port in made.inputs]
        shaped = [x.reshape(ROWS, *port.shape) for x, port in zip(inputs, made.inputs, strict=True)]
        yield _row(f"{name}: derivative", made, shaped, lw.compile(made).batch(*shaped))
    yield ""


def _near(name: str, size: int, phases: Any, rng: np.random.Generator) -> Array:
    """Rows of states and numbers near those that a model starts with."""
    signals = getattr(phases, name, ())
    usual = np.array([float(s.value) for s in signals]) if len(signals) == size else np.zeros(size)
    return np.asarray(usual + rng.normal(scale=1e-2, size=(ROWS, size)) * (1 + np.abs(usual)))


def _row(what: str, program: Program, inputs: Sequence[Any], wanted: Any) -> str:
    try:
        found = CudaNative(program).batch(*inputs, size=ROWS)
    except Error as error:
        return f"| {what} | - | {error} |"
    pairs = list(zip(_several(found), _several(wanted), strict=True))
    same = all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)
    worst = max(float(np.nanmax(np.abs(x - y), initial=0.0)) for x, y in pairs)
    count = sum(x.size for x, _ in pairs)
    return f"| {what} | {count:,} | {'equal' if same else f'**differs** by {worst:.1e}'} |"


def _several(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _measured(owner: GraphicsCard) -> Iterator[str]:
    """Say how fast the PUMA arm is computed, beside copies of as much memory."""
    robot = Robot("puma560:drives=off")
    rng = np.random.default_rng(0)
    rows = [CardArray.of(owner, rng.uniform(-3, 3, (MANY, 6))) for _ in range(3)]
    out = CardArray(owner, (MANY, 6), np.dtype(np.float64))
    copied = [CardArray(owner, (12 * MANY,), np.dtype(np.float64)) for _ in range(2)]

    def copy() -> None:
        source, target = (ctypes.c_uint64(x.memory.address) for x in copied)
        call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(96 * MANY), None)

    limit = 2 * 96 * MANY / _seconds(owner, copy)
    yield f"{MANY:,} rows of the PUMA 560, double precision; a copy moves {limit / 1e12:.2f} TB/s."
    yield ""
    yield "| kernel | rows a second | memory | of a copy |"
    yield "|---|---|---|---|"
    for name in ("inverse_dynamics", "forward_dynamics"):
        quantity = getattr(robot, name)
        took = _seconds(owner, partial(quantity, *rows, out=out))
        moved = 4 * 6 * 8 * MANY / took
        rate = f"{MANY / took / 1e9:.1f} G | {moved / 1e12:.2f} TB/s | {moved / limit:.2f}"
        yield f"| {name} | {rate} |"


def _seconds(owner: GraphicsCard, work: Callable[[], Any], calls: int = 20) -> float:
    """Return the least time of a call in five rounds."""
    work()
    times = []
    for _ in range(5):
        owner.wait()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        owner.wait()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
