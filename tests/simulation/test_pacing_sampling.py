"""Matrices of samples beside a paced loop: what is in them, and that they change nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.blocks import Block, Integrator
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, replay
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

pytestmark = pytest.mark.realtime


def session(every: int = 1) -> Session:
    system = System(name="sampled", base=1000)
    counter = Block("counter", rate=500)
    n = counter.discrete_state("n", 0.0)
    counter.update(n, n + counter.input("u") + 1)
    counter.output("y", n)
    added = system.add(counter, name="counter")
    system.connect(added.y, system.add(Integrator(), name="follower").u)
    return session_of(system, RunSettings(3600.0, method="rk4", every=every))[0]


def test_a_matrix_has_the_samples_of_its_ticks_and_ends_when_it_is_full() -> None:
    loop = PacedLoop(session(), clock="virtual")
    loop.set({"counter.u": 0.5})
    loop.go_to(10)
    names = ["follower.x", "counter.y", "follower.y"]  # states in the machine, and one computed
    matrix = loop.sample(names, 5, every=3, first=15)
    loop.go_to(20)
    assert matrix.ticks.tolist() == [15, 18]
    assert not matrix.full
    loop.go_to(100)
    assert matrix.ticks.tolist() == [15, 18, 21, 24, 27]
    assert matrix.full
    whole = loop.samples()
    for k, name in enumerate(names):
        assert np.array_equal(matrix.values[:, k], whole[name][matrix.ticks])


def test_samples_keep_their_phase_where_their_first_tick_has_passed() -> None:
    loop = PacedLoop(session(), clock="virtual")
    loop.go_to(16)
    matrix = loop.sample(["follower.x"], 3, every=5, first=5)
    loop.go_to(60)
    assert matrix.ticks.tolist() == [20, 25, 30]


def test_states_have_the_same_bits_with_matrices_and_without() -> None:
    plain, sampled = session(every=0), session(every=0)
    PacedLoop(plain, clock="virtual").go_to(500)
    loop = PacedLoop(sampled, clock="virtual", publishes=64)
    for k in range(3):
        loop.sample(["follower.x"], 40 + k, every=1 + k, own={"k": lambda: 1.0} if k else None)
    loop.go_to(203)
    assert loop.latest().tick == 203
    assert loop.latest()["follower.x"] == sampled.state()["follower.x"]
    loop.go_to(500)
    assert sampled.state() == plain.state()
    assert sampled.place().d == plain.place().d


def test_numbers_of_pythons_own_are_asked_for_at_each_sample() -> None:
    loop = PacedLoop(session(every=0), clock="virtual", publishes=1000)

    def fails() -> float:
        raise ValueError("no such number")

    own = {"tick": lambda: float(loop.latest().tick), "fails": fails}
    matrix = loop.sample(["counter.y"], 4, every=7, first=3, own=own)
    loop.go_to(60)
    assert matrix.names == ("counter.y", "tick", "fails")
    assert matrix.values[:, 1].tolist() == matrix.ticks.tolist() == [3, 10, 17, 24]
    assert np.isnan(matrix.values[:, 2]).all()
    assert matrix.complaints == {"fails": "fails: ValueError: no such number"}


def test_a_loop_by_the_clock_fills_matrices_by_itself_and_tells_of_them() -> None:
    told: list[int] = []
    with PacedLoop(session(every=0), priority=False) as loop:
        names = ["counter.y", "loop:tardy", "loop:length"]
        matrix = loop.sample(
            names, 20, every=2, own={"py": lambda: 2.0}, told=lambda: told.append(1)
        )
        limit = time.monotonic() + 20
        while not matrix.full and time.monotonic() < limit:
            time.sleep(0.005)
        other = loop.sample(["counter.y"], 1000)
        loop.drop(other)
        loop.drop(matrix)
    assert matrix.full
    assert told
    assert np.array_equal(np.diff(matrix.ticks), np.full(19, 2))
    assert np.all(matrix.values[:, 1] >= 0)
    assert not other.full


def test_what_cannot_be_sampled_is_refused() -> None:
    loop = PacedLoop(session(), clock="virtual")
    with pytest.raises(Error, match="follower"):
        loop.sample(["folower.x"], 5)
    with pytest.raises(Error, match="take 1 or more"):
        loop.sample(["follower.x"], 0)
    for _ in range(4):
        loop.sample(["follower.x"], 5)
    with pytest.raises(Error, match="at a time"):
        loop.sample(["follower.x"], 5)


def test_all_states_are_sampled_and_replayed_with_the_same_bits() -> None:
    loop = PacedLoop(session(every=0), clock="virtual", states=5)
    loop.go_to(7)
    loop.set({"counter.u": 0.25})
    loop.go_to(42)
    made = loop.samples()
    assert {"follower.x", "counter.n"} <= set(made.names)
    assert np.allclose(made.times, 0.005 * np.arange(9))
    again = replay(session(every=0), loop.tape(), states=5)
    assert np.array_equal(again.samples.values, made.values)
    with pytest.raises(Error, match="in place of channels"):
        PacedLoop(session(every=1), clock="virtual", states=5)
