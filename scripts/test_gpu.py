"""Compare what cards compute with the processor, bit by bit: `make test-gpu`.

Kernels of robots, and the derivative of every shipped model, at random states; then how fast.
Where there is no card it says so and exits with 1. `--report FILE` writes the table as Markdown.
Whole runs of every shipped model are compared too, in as many processes as `--jobs` says.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
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
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.settings import settings_of
from linkwright.system import system_of

Array = NDArray[np.float64]

ROBOTS = ("puma560:drives=off", "stanford-arm", "tests/robots/quadruped.urdf")
KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
ROWS, MANY = 2000, 4_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, measure, and print or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="write the tables to this file")
    parser.add_argument("--jobs", type=int, default=8, help="processes that compare runs")
    parser.add_argument(
        "--sweep", type=int, default=2_000_000, help="runs of a car that are reduced"
    )
    parser.add_argument("--models", nargs="*", help="those of which runs are compared")
    parser.add_argument("--runs-only", action="store_true", help="leave kernels out")
    parser.add_argument("--gradients", action="store_true", help="gradients of runs alone")
    chosen = parser.parse_args(arguments)
    try:
        owner = card()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    kernels = () if chosen.runs_only else (*_compared(), *_measured(owner))
    if chosen.gradients:
        print("\n".join(_gradients()))
        return 0
    runs = (
        *_raced(),
        *_gradients(),
        *_swept(chosen.sweep),
        *_whole_runs(chosen.jobs, chosen.models),
    )
    lines = [f"# On a card: {owner.name}", "", *kernels, "", *runs]
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


# -- whole runs ------------------------------------------------------------------------------------
def _swept(runs: int) -> Iterator[str]:
    """Say how long a sweep of runs of a car takes that are reduced."""
    for count in (runs // 50, runs):
        if not count:
            return
        begun = time.perf_counter()
        found = lw.sweep(
            "car",
            5.0,
            step=0.025,
            method="rk4",
            seeds=count,
            parameters={"CA1": {"normal": [-25439, 2500]}},
            channels={"r": ["final"]},
            reduce=["mean", "quantiles", "worst 3"],
            device="cuda",
        )["r.final"]
        took = time.perf_counter() - begun
        row = f"{count:,} runs of the car, 200 steps of rk4, drawn and reduced in {took:.1f} s: "
        row += f"mean {found.mean:.9f}, median {found.quantile(0.5):.4f}; "
        row += f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB of memory"
        print(row, flush=True)
        yield row
    yield ""


def _whole_runs(jobs: int, only: Sequence[str] | None) -> Iterator[str]:
    """Say which batches have the bits of the processor."""
    yield "Batches of 200 runs over 0.2 s, from other starts, with samples: the card beside the"
    yield "processor."
    yield ""
    yield "| model | method | numbers | bits |"
    yield "|---|---|---|---|"
    tasks = [(name, METHODS_OF_RUNS[i % 3]) for i, name in enumerate(sorted(MODELS))]
    tasks += [("car", "dopri5"), ("pendulum", "rodas4"), ("puma560", "dop853")]
    tasks += [("double-pendulum", "rodas4"), ("whipple", "midpoint"), ("servo-arm", "dopri5")]
    tasks = [task for task in tasks if only is None or task[0] in only]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for done in as_completed([pool.submit(whole_run, task) for task in tasks]):
            print(done.result(), flush=True)
            yield done.result()


METHODS_OF_RUNS = ("semi-implicit", "rk4", "dopri5")
_KEPT = ("x", "d", "stopped", "samples", "event_counts", "event_times")


def whole_run(task: tuple[str, str]) -> str:
    """Compare a batch of a model on the card with the processor."""
    name, method = task
    rng = np.random.default_rng(5)
    try:
        phases = system_of(lw.load(name)).phases(None)
        starts = {s.name: s.value + 1e-3 * rng.normal(size=200) for s in phases.x}
        settings = settings_of(0.2, method=method, every=20).timed(tick=phases.tick_seconds)
        wanted, found = (
            run_batch(phases, settings, initial=starts, runs=200, device=device)
            for device in ("cpu", "cuda")
        )
    except Error as error:
        return f"| {name} | {method} | - | {error} |"
    pairs = [(getattr(wanted, n), getattr(found, n)) for n in _KEPT]
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    same = same and wanted.reasons == found.reasons
    count = sum(a.size for a, _ in pairs)
    return f"| {name} | {method} | {count:,} | {'equal' if same else '**differs**'} |"


RACES = (
    ("puma560:drives=off", "semi-implicit", 1 << 18, 10_000, 0.0001),
    ("puma560:drives=off", "rk4", 1 << 18, 5000, 0.0001),
    ("four-bar", "rk4", 1 << 18, 10_000, 0.0001),
    ("stewart", "rk4", 1 << 16, 300, 0.0001),
    ("humanoid", "semi-implicit", 1 << 14, 2000, 0.0002),
    ("car", "rk4", 1 << 20, 4000, 0.00125),
)


def _raced() -> Iterator[str]:
    """Say how many steps a second batches take, beyond what a batch takes to begin and end."""
    yield "| model | method | runs | begin and end | steps a second |"
    yield "|---|---|---|---|---|"
    for model, method, count, steps, step in RACES:
        phases = system_of(lw.load(model)).phases(())
        state = phases.x[0]
        starts = {state.name: state.value + 1e-3 * np.linspace(-1, 1, count)}
        times, taken = [], []
        for many in (1, steps, 3 * steps):
            settings = settings_of(many * step, method=method, step=step, every=0)
            begun = time.perf_counter()
            found = run_batch(phases, settings, initial=starts, device="cuda")
            times.append(time.perf_counter() - begun)
            taken.append(found.steps)  # a run that ends early takes fewer
        rate = (taken[2] - taken[1]) / (times[2] - times[1])
        rest = times[1] - taken[1] / rate if rate else times[1]
        row = f"| {model} | {method} | {count:,} | {rest:.2f} s | {rate / 1e6:,.0f} M |"
        print(row, times, flush=True)
        yield row
    yield ""


MOVED = (
    *("Ixx2", "Ixx3", "Ixx4", "Ixx5", "Iyy1", "Iyy2", "Iyy3", "Iyy4", "Izz2", "Izz3", "Izz4"),
    *("a2", "a3", "d3", "d4", "g", "m2", "m3", "m4", "m5"),
)


def _gradients() -> Iterator[str]:
    """Say what gradients of runs of an arm take, beside central differences of as many runs."""
    model, until, to = "puma560:drives=off", 2.0, list(MOVED)
    known = {s.name: s.value for s in system_of(lw.load(model)).phases(()).p}
    given: dict[str, Any] = {"of": "q2", "to": to, "step": 1e-3}
    yield f"Gradients of runs of the {model} over 2 s (rk4, 1 ms), of an angle to {len(to)} numbers"
    yield "by adjoints; central differences are two runs for each number, in one batch."
    yield ""
    yield "| runs | adjoints | central differences | ratio | to those forward |"
    yield "|---|---|---|---|---|"
    for runs in (1, 1 << 12, 1 << 15, 1 << 17):
        rng = np.random.default_rng(7)
        starts = {f"q{i + 1}": rng.uniform(-0.3, 0.3, runs) for i in range(6)}
        values = {n: np.full((runs, 2 * len(to)), known[n]) for n in to}
        for k, n in enumerate(to):
            values[n][:, 2 * k : 2 * k + 2] += 1e-5 * np.array([1.0, -1.0])
        many = {n: np.repeat(x, 2 * len(to)) for n, x in starts.items()}
        flat = {n: x.ravel() for n, x in values.items()}
        took, found = [], []
        for _ in range(2):  # the first time everything is compiled
            begun = time.perf_counter()
            back = lw.sensitivity(
                model, until, mode="adjoint", initial=starts, device="cuda", **given
            )
            found.append(back.jacobian[:16])
            took.append(time.perf_counter() - begun)
        for _ in range(2):
            begun = time.perf_counter()
            lw.simulate_batch(
                model, until, initial=many, parameters=flat, step=1e-3, every=0, device="cuda"
            )
            took.append(time.perf_counter() - begun)
        few = {n: x[:16] for n, x in starts.items()}
        forth = lw.sensitivity(model, until, mode="forward", initial=few, **given).jacobian
        apart = np.abs(found[-1] - forth).max() / np.abs(forth).max()
        row = f"| {runs:,} | {took[1]:.2f} s | {took[3]:.2f} s | {took[1] / took[3]:.2f} "
        row += f"| {apart:.0e} |"
        print(row, took, flush=True)
        yield row
    yield ""


if __name__ == "__main__":
    sys.exit(main())
