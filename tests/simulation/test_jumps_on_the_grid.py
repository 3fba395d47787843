"""What jumps in time at a point of the grid of fixed steps has its value of each step, in all its
stages: conditions on time, floors, signs, tables, functions, motions; in every kind of run."""

from __future__ import annotations

import itertools
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import foreign, sign
from linkwright.simulation import loop
from linkwright.simulation.native.methods import METHODS
from linkwright.system import breaks
from tests.codegen.test_written_loops import written
from tests.seeds import cases, seeds

FIXED = [m.name for m in METHODS.values() if not m.adaptive]
Pulse = Callable[[Any, float, float], Any]


def table(t: Any, a: float, b: float) -> Any:
    rows = [[y, 0.0, 0.0, 0.0] for y in (0.0, 1.0, 0.0)]
    return lw.Lookup1D.of_pieces([a, b], rows, name="pulse")(t)


PULSES: dict[str, Pulse] = {
    "from": lambda t, a, b: lw.where(t >= a, 1, 0) - lw.where(t > b, 1, 0),
    "after": lambda t, a, b: lw.where(t > a, 1, 0) - lw.where(t >= b, 1, 0),
    "sign": lambda t, a, b: (sign(t - a) - sign(t - b)) / 2,
    "floor": lambda t, a, b: lw.floor(t / a) - 2 * lw.floor(t / b),
    "table": table,
    "function": lambda t, a, b: foreign("pulse", python=lambda s: float(a <= s < b))(t),
}


def pushed(kind: str, a: float, b: float) -> lw.System:
    """A cart that is pushed from a to b, and a state of a block."""
    m = lw.Mechanism("cart")
    cart = m.body("c", translate="x", mass=1)
    m.force("f", 3 * PULSES[kind](m.time, a, b), at=cart, along="x")
    s = lw.System(m)
    block = lw.Block("b")
    block.state("y", PULSES[kind](block.time, a, b))
    s.add(block)
    return s


def instants(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The step, the begin and the end of a pulse on its grid, and the end of the run."""
    step = float(rng.choice([1e-4, 1e-3 / 3, 0.01]) * rng.integers(1, 4))
    first = int(rng.integers(20, 200))
    return step, first * step, 2 * first * step, (3 * first - 1) * step


@pytest.mark.parametrize(
    ("kind", "method"),
    cases(
        itertools.product(PULSES, FIXED),
        daily=list(zip(itertools.cycle(PULSES), FIXED, strict=False)),
    ),
)
@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_a_pulse_on_the_grid_is_exactly_as_long_as_it_should_be(
    kind: str, method: str, seed: int
) -> None:
    step, a, b, until = instants(np.random.default_rng(seed))
    s = pushed(kind, a, b)
    more: dict[str, Any] = {"method": method, "step": step}
    if kind == "function" and method == "implicit-speeds":
        return  # it needs the derivative of the function
    finals = [lw.simulate(s, until, executor=e, **more).final for e in ("native", "python")]
    batch = lw.simulate_batch(s, until, runs=3, **more)
    finals += [{n: float(batch[n][k]) for n in batch.states} for k in range(3)]
    exact = method not in ("semi-implicit", "implicit-speeds")
    for final in finals:
        assert final["b.y"] == pytest.approx(b - a, rel=1e-12)
        assert final["c_dot"] == pytest.approx(3 * (b - a), rel=1e-12)
        way = 1.5 * (b - a) ** 2 + 3 * (b - a) * (until - b)
        assert final["c"] == pytest.approx(way, rel=1e-11 if exact else 0.1)


@pytest.mark.parametrize("target", ["c", "python"])
def test_a_pulse_on_the_grid_is_exact_in_written_programs(target: str, tmp_path: Path) -> None:
    step, a, b, until = instants(np.random.default_rng(0))
    call = written(pushed("after", a, b), tmp_path, until, step, target)
    subprocess.run(call, cwd=tmp_path, capture_output=True, check=True)
    lines = (x.split() for x in (tmp_path / "final").read_text().splitlines())
    final = {x[0]: float(x[1]) for x in lines if len(x) > 1 and x[0] in ("c_dot", "b.y")}
    assert final == pytest.approx({"c_dot": 3 * (b - a), "b.y": b - a}, rel=1e-12)


@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_work_of_a_force_that_begins_and_ends_at_steps(method: str) -> None:
    """With a function for an input: the work is what the body has at the end."""
    m = lw.Mechanism("cart")
    cart = m.body("c", translate="x", mass=2)
    m.force("f", m.input("F", unit="N"), at=cart, along="x")
    force = {"F": lambda t: 8.0 if 0.5 <= t < 1.5 else 0.0}
    for step in (1e-3, 1e-2):
        run = lw.simulate(m, 2.0, method=method, step=step, inputs=force)
        assert run.final["energy.kinetic"] == pytest.approx(16.0, rel=1e-12)


def test_smooth_functions_of_time_keep_the_order_of_the_method() -> None:
    block = lw.Block("b")
    block.state("y", lw.cos(7 * block.time))
    s = lw.System(name="s")
    s.add(block)
    for until in (1.0, 1000.0):
        run = lw.simulate(s, until, method="rk4", step=1e-3)
        assert run.final["b.y"] == pytest.approx(math.sin(7 * until) / 7, abs=1e-12)


def test_every_kind_of_run_has_the_same_sizes_of_rounding() -> None:
    """The loop of a run needs nothing of Linkwright, so it has them, too."""
    assert (loop.NEAR, loop.LEAST) == (breaks.NEAR, breaks.LEAST)
