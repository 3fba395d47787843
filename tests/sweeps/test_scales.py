"""The same motion at every size: `tolerance` is relative to what moves, and `absolute` is given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.models.rerun import rerun
from linkwright.recording.files import read_recording
from linkwright.simulation.native.methods import METHODS
from linkwright.sweeps.plans import read_plan
from linkwright.sweeps.sweep import run_sweep
from tests.seeds import cases

ADAPTIVE = [name for name, method in METHODS.items() if method.adaptive]
SIZES = [10.0**k for k in (-15, -12, -9, -6, -2, 3, 9, 15)]

Problem = tuple[lw.System, dict[str, float], str, float, float]


def block(*pairs: tuple[str, str]) -> lw.System:
    """A System of states by their rates."""
    b = lw.Block("b")
    made = {name: b.state(name) for name, _ in pairs}
    for name, rate in pairs:
        b.derivative(made[name], rate)
    s = lw.System(name="s")
    s.add(b)
    return s


def oscillation(size: float) -> Problem:
    """A linear one, from rest: x = a cos t."""
    return block(("x", "v"), ("v", "-x")), {"b.x": size}, "b.x", 20.0, size * math.cos(20)


def braked(size: float) -> Problem:
    """What is slowed down by the square of its speed: v = a / (1 + t)."""
    return block(("v", "-v*v/a"), ("a", "0")), {"b.v": size, "b.a": size}, "b.v", 5.0, size / 6


def growing(size: float) -> Problem:
    """What grows a thousandfold."""
    rate = math.log(1000.0)
    return block(("x", f"{rate!r}*x")), {"b.x": size}, "b.x", 1.0, 1000 * size


def spring(size: float) -> Problem:
    """A mass on a spring, with coordinates and speeds of their own units."""
    m = lw.Mechanism("spring")
    body = m.body("p", translate="xy", mass=1)
    m.force("pull", "-9*p.x", at=body.origin, along="x")
    m.force("side", "-4*p.y", at=body.origin, along="y")
    start = {"p.x": 0.5 * size, "p.y_dot": size}
    return lw.System(m), start, "p.y", 8.0, size * math.sin(16) / 2


PROBLEMS = list(itertools.product([oscillation, braked, growing, spring], ADAPTIVE))


@pytest.mark.parametrize(("problem", "method"), cases(PROBLEMS, daily=PROBLEMS[::4]))
def test_a_motion_is_as_exact_at_every_size(
    method: str, problem: Callable[[float], Problem]
) -> None:
    """And takes about as many steps: those of a motion of 1 or fewer."""
    steps = []
    for size in (1.0, *SIZES):
        system, start, name, until, true = problem(size)
        how: dict[str, Any] = {"method": method, "initial": start, "tolerance": 1e-9}
        run = lw.simulate(system, until, every=1, step=until, **how)
        many = lw.simulate_batch(system, until, runs=2, **how)
        assert run.final[name] == pytest.approx(true, rel=1e-6, abs=0)
        np.testing.assert_allclose(many[name], true, rtol=1e-6)
        steps.append(run.steps)
    assert max(steps) <= 1.6 * steps[0] + 4
    assert len(set(steps[1:5])) == 1  # of 1e-15 to 1e-6, where only the unit is another


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_every_executor_scales_alike(method: str) -> None:
    system, start, name, until, true = oscillation(1e-12)
    how: dict[str, Any] = {"method": method, "initial": start, "step": until, "every": 1}
    plain = lw.simulate(system, until, executor="python", **how)
    native = lw.simulate(system, until, **how)
    assert plain.steps == native.steps
    assert plain.final[name] == pytest.approx(true, rel=1e-8, abs=0)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_many_runs_have_sizes_of_their_own(method: str) -> None:
    system = oscillation(1.0)[0]
    sizes = np.array(SIZES)
    found = lw.simulate_batch(system, 20.0, method=method, initial={"b.x": sizes})
    np.testing.assert_allclose(found["b.x"] / sizes, math.cos(20), rtol=1e-7)
    alone = lw.simulate_batch(system, 20.0, method=method, runs=1, initial={"b.x": sizes[1]})
    assert alone["b.x"][0] == found["b.x"][1]


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("start", [0.0, 1e-17])
def test_what_rounding_leaves_of_an_equilibrium_is_no_motion(method: str, start: float) -> None:
    """A weight on a spring that carries it stands still in few steps."""
    s = block(("x", "v"), ("v", "9.81 - 30.1*(x + 9.81/30.1) - 0.1*v"))
    run = lw.simulate(s, 100.0, method=method, step=100.0, every=1, initial={"b.x": start})
    assert run.steps < 2000
    assert abs(run.final["b.x"]) < 1e-12


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_absolute_tolerance_is_given_at_every_door(method: str, tmp_path: Path) -> None:
    """A decay to 4e-18 of where it began, which the default does not follow."""
    s, true = block(("x", "-x")), math.exp(-40)
    how: dict[str, Any] = {"method": method, "absolute": 1e-30, "initial": {"b.x": 1.0}}
    run = lw.simulate(s, 40.0, **how)
    assert run.final["b.x"] == pytest.approx(true, rel=1e-6, abs=0)
    assert run.metadata["absolute"] == 1e-30
    assert rerun(run.recording).difference is None
    many = lw.simulate_batch(s, 40.0, runs=1, every=None, **how)
    assert many["b.x"][0, -1] == pytest.approx(true, rel=1e-6, abs=0)
    assert rerun(many.recording(0)).difference is None
    found = lw.sweep(s, 40.0, channels={"b.x": ["final"]}, **how)
    assert found["b.x.final"][0] == pytest.approx(true, rel=1e-6, abs=0)


def test_the_absolute_tolerance_is_given_at_the_command_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'format = 1\nmodel = "pendulum"\nuntil = 1.0\nmethod = "dopri5"\nabsolute = 1e-3\n'
        '[channels]\nphi = ["final"]\n',
        encoding="utf-8",
    )
    rough = run_sweep(read_plan(plan))["phi.final"][0]
    how: dict[str, Any] = {"method": "dopri5", "tolerance": 1e-10}
    assert rough == lw.simulate_batch("pendulum", 1.0, absolute=1e-3, runs=1, **how)["phi"][0]
    out = tmp_path / "run.csv"
    words = ["simulate", "pendulum", "--until", "1", "--method", "dopri5", "--absolute", "1e-3"]
    assert main([*words, "-q", "--out", str(out)]) == 0
    saved = read_recording(out)
    run = lw.simulate("pendulum", 1.0, absolute=1e-3, **how)
    assert saved.metadata["absolute"] == 1e-3
    assert saved.final == run.recording.final
    assert run.steps < lw.simulate("pendulum", 1.0, **how).steps
