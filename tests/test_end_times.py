"""Runs that end between two ticks: the last gap is shorter, through every door."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import WhiteNoise
from linkwright.models.runner import Request, run_model
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.settings import RunSettings

END = math.pi / 3


def swing() -> lw.Mechanism:
    """A pendulum."""
    m = lw.Mechanism("swing")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    return m


def sampled() -> lw.System:
    """The same with a servo, a counter, noise and a Python function at 20 Hz."""
    m = swing()
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=4, kd=1), rate=20)
    b = lw.Block("count")
    b.output("y", b.discrete_state("n", "n + 1"))
    s.add(b, rate=20)
    s.add(WhiteNoise(0.1, rate=20), name="noise")
    s.add(lambda t, rod: t, rate=20, name="f", outputs="y")
    return s


def exact(system: lw.System | None = None) -> float:
    """Where the rod is at the end, by a run that has a whole number of ticks."""
    given = lw.System(swing(), base=3000 / math.pi) if system is None else system
    return float(lw.simulate(given, END, tolerance=1e-12).final["rod"])


@pytest.mark.parametrize("method", METHODS)
def test_a_system_ends_where_it_is_told_to(method: str) -> None:
    """As one that goes on, with the ticks before the end and none at it."""
    s = sampled()
    how: dict[str, Any] = {"method": method, "step": 0.001, "tolerance": 1e-9}
    run = lw.simulate(s, END, every=1, **how)
    longer = lw.simulate(s, 1.05, every=1, **how)
    ticks = math.floor(END * 20)
    assert run.times[-1] == END
    assert len(run.times) == ticks + 2
    np.testing.assert_array_equal(run.times[:-1], longer.times[: ticks + 1])
    for name in run.recording.names:
        np.testing.assert_allclose(run[name][:-1], longer[name][: ticks + 1], rtol=1e-9, atol=1e-12)
    for name in ("noise.y", "f.y", "count.y", "pd.tau_rod"):
        assert run[name][-1] == run[name][-2]  # held: nothing is due at the end
    assert run.final["count.n"] == ticks + 1
    assert longer["rod"][-2] != run["rod"][-1] != run["rod"][-2]


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_the_last_sample_is_at_the_end(every: int) -> None:
    run = lw.simulate(sampled(), END, every=every, method="rk4", step=0.001)
    assert run.times[-1] == END
    assert (np.diff(run.times) > 0).all()
    assert run["rod"][-1] == run.final["rod"]


def doors() -> dict[str, Callable[[], float]]:
    """Ways to run the pendulum to an end that is not a whole number of steps."""
    m = swing()
    many = {"rod": [0.0, 0.1]}
    return {
        "mechanism": lambda: lw.simulate(m, END, step=0.01).final["rod"],
        "fixed": lambda: lw.simulate(m, END, step=0.01, method="rk4").final["rod"],
        "redundant": lambda: lw.simulate(m, END, step=0.01, form="redundant").final["rod"],
        "longer step": lambda: lw.simulate(m, END, step=2.0).final["rod"],
        "system": lambda: lw.simulate(lw.System(m, base=100), END).final["rod"],
        "batch": lambda: float(lw.simulate_batch(m, END, step=0.01, initial=many)["rod"][0]),
        "sampled batch": lambda: float(
            lw.simulate_batch(lw.System(m, base=100), END, initial=many, every=3)["rod"][0, -1]
        ),
        "sweep": lambda: float(
            lw.sweep(m, END, step=0.01, channels={"rod": ["final"]}, initial=many)["rod.final"][0]
        ),
    }


@pytest.mark.parametrize("name", doors())
def test_every_door_ends_where_it_is_told_to(name: str) -> None:
    assert doors()[name]() == pytest.approx(exact(), abs=1e-6)


@pytest.mark.parametrize("model", ["pendulum", "slider-crank"])
def test_the_command_line_ends_where_it_is_told_to(model: str) -> None:
    whole = run_model(Request(model, RunSettings(END, step=END / 100))).recording
    found = run_model(Request(model, RunSettings(END, step=0.01))).recording
    assert found.times[-1] == END
    for name in found.names:
        if "energy" not in name:
            assert found[name][-1] == pytest.approx(whole[name][-1], abs=1e-5)


def test_a_batch_counts_the_short_gap_among_its_samples() -> None:
    found = lw.simulate_batch(sampled(), END, runs=3, every=4, method="rk4", step=0.001)
    assert found.times[-1] == END
    assert found["rod"].shape == (3, len(found.times))
    alone = lw.simulate(sampled(), END, every=4, method="rk4", step=0.001)
    np.testing.assert_allclose(found["rod"][0], alone["rod"], rtol=1e-9)


def test_every_door_has_as_many_samples_by_default() -> None:
    m = swing()
    found = [
        len(lw.simulate(m, 2.0).times),
        len(lw.simulate(m, 2.0, method="rk4").times),
        len(lw.simulate(lw.System(m), 2.0).times),
        len(run_model(Request("pendulum", RunSettings(2.0))).recording.times),
    ]
    assert found == [1001] * 4
