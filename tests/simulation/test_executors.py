"""Executors: the same run natively and in plain Python, to the bit where kernels are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.simulation import executors
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.native.session import Outcome, Samples, Session
from linkwright.simulation.plain import machine
from linkwright.simulation.plain.machine import PlainMachine
from linkwright.system import System
from tests.seeds import cases
from tests.simulation.test_native_run import driven_pendulum

EXPLICIT = [name for name, method in METHODS.items() if not method.implicit]


class NativeKernels(PlainMachine):
    """The loop in Python around native kernels: any difference is one of the loops."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, backend="llvm", **named)


@pytest.fixture(autouse=True)
def _mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "NativeKernels", NativeKernels, raising=False)
    home = "linkwright.simulation.plain.machine:NativeKernels"
    monkeypatch.setitem(executors.EXECUTORS, "mixed", home)


def same_bits(a: Outcome, b: Outcome) -> None:
    """Samples, states, memory, steps and events are the same."""
    assert np.array_equal(a.samples.values, b.samples.values, equal_nan=True)
    assert np.array_equal(a.samples.times, b.samples.times)
    for one, other in ((a.x, b.x), (a.d, b.d)):
        assert np.array_equal(list(one.values()), list(other.values()), equal_nan=True)
    assert (a.steps, a.rejected, a.time) == (b.steps, b.rejected, b.time)
    assert a.events == b.events
    assert a.stop == b.stop


@pytest.mark.parametrize("method", cases(EXPLICIT, daily=["dopri5", "rk4", "verlet"]))
def test_every_explicit_method_has_the_bits_of_the_native_loop(method: str) -> None:
    """With an end between two ticks; NumPy's own functions agree to rounding."""
    settings: dict[str, Any] = {"method": method, "step": 0.004, "every": 3}
    runs = [
        Session(driven_pendulum(), 0.503, executor=name, **settings).run()
        for name in ("native", "mixed", "python")
    ]
    same_bits(*runs[:2])
    np.testing.assert_allclose(runs[2].samples.values, runs[0].samples.values, atol=1e-13)


def busy_system(*, python: bool = True) -> System:
    """Ticks at three rates, one late; noise, delay, memory, a bounce, an end, a Python function."""
    s = System(name="busy")
    ball = lw.Block("ball")
    height, speed = ball.state("h", initial=0.2), ball.state("v")
    ball.derivative(height, speed)
    ball.derivative(speed, -9.81 + ball.input("push"))
    hits = ball.discrete_state("hits", "hits")
    ball.event("floor", height, direction=-1, resets={speed: -0.8 * speed, hits: hits + 1})
    ball.event("over", "t - 1.301 + 0.01*h", terminal=True)
    ball.output("y", height)
    ball.output("most", ball.discrete_state("top", "max(top, h)"))
    thrown = s.add(ball)
    hand = lw.Block("hand")
    hand.output("y", hand.delay(lw.sin(9 * hand.input("u")), 2) + 0.3 * hand.noise())
    held = s.add(hand, rate=lw.sampled(100, offset=0.004))
    count = lw.Block("count")
    count.input("u")
    count.output("y", count.discrete_state("n", "n + 0.25*u"))
    counted = s.add(count, rate=125)
    s.connect(thrown.y, held.u)
    s.connect(held.y, counted.u)
    s.connect(held.y + 0.1 * counted.y, thrown.push)
    if python:
        s.add(lambda t, y: 2 * y - t, rate=40, name="script", outputs="z", inputs={"y": None})
        s.connect(thrown.y, "script.y")
    return s


@pytest.mark.parametrize("method", cases(["rk4", "dopri5"], daily=["dopri5"]))
def test_a_busy_system_has_the_bits_of_the_native_loop(method: str) -> None:
    """Visited often and with little room, so that the loops come back at many places."""
    runs = []
    for name in ("native", "mixed"):
        phases = busy_system().phases()
        session = Session(phases, 2.0, method=method, seed=7, rows=5, every=3, executor=name)
        parts = []
        while not session.done:
            parts.append(session.advance(3))
        values = np.concatenate([part.values for part in parts])
        times = np.concatenate([part.times for part in parts])
        runs.append(session.outcome(Samples(parts[0].names, times, values)))
    same_bits(*runs)
    names = [e.name for e in runs[0].events]
    assert names[:5] == ["ball.floor"] * 5
    assert names[-1] == "ball.over"
    assert runs[0].stop is not None


def test_a_plain_run_is_interrupted_and_restored() -> None:
    whole = Session(driven_pendulum(), 0.3, executor="python").run()
    session = Session(driven_pendulum(), 0.3, executor="python")
    session.advance(4)
    other = Session(driven_pendulum(), 0.3, executor="python")
    other.restore(session.snapshot())
    assert other.run().x == whole.x


def test_simulate_takes_an_executor() -> None:
    """A recording says so, where it is not the usual one."""
    s = lw.System(lw.load("pendulum"))
    native, plain = (
        lw.simulate(s, until=0.2, executor=name, every=100) for name in ("native", "python")
    )
    for name in native.recording.names:
        np.testing.assert_allclose(plain[name], native[name], atol=1e-12)
    assert "executor" not in native.recording.metadata
    assert plain.recording.metadata["executor"] == "python"


def test_what_an_executor_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(Error, match="rodas4 has no form in plain Python"):
        Session(driven_pendulum(), 0.1, method="rodas4", executor="python")
    with pytest.raises(Error, match="there is no executor 'abacus'; choose one of native, python"):
        Session(driven_pendulum(), 0.1, executor="abacus")
