"""The paced loop: what it counts, what it tapes, and that a tape gives the same bits."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.blocks import Block, Integrator
from linkwright.mechanism import Mechanism, Revolute
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, Tape, replay
from linkwright.simulation.pacing.memory import SLOTS
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System, system_of
from tests.seeds import seeds
from tests.support.waiting import soon

pytestmark = pytest.mark.realtime


def sampled_system() -> System:
    """Return a System with a sampled block, a continuous state and a parameter."""
    system = System(name="paced", base=1000)
    counter = Block("counter", rate=500)
    u = counter.input("u")
    gain = counter.parameter("gain", 2.0)
    n = counter.discrete_state("n", 0.0)
    counter.update(n, n + gain * u + 1)
    counter.output("y", n)
    added = system.add(counter, name="counter")
    follower = system.add(Integrator(), name="follower")
    system.connect(added.y, follower.u)
    missed = Block("told")
    missed.output("m", missed.input("missed"))
    system.add(missed, name="told")
    return system


def session(seconds: float = 1000.0) -> Session:
    return session_of(sampled_system(), RunSettings(seconds, method="rk4", every=1))[0]


def change_from_threads(loop: PacedLoop) -> None:
    def change(k: int) -> None:
        for i in range(5):
            loop.wait_for(loop.set({"counter.u": k + 0.1 * i, "counter.gain": 1.0 + k + i}))

    threads = [threading.Thread(target=change, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)


def test_a_live_run_replayed_from_its_tape_has_the_same_bits() -> None:
    """Changes from three threads, missed ticks that are an input, a stop and another start."""
    live = session()
    loop = PacedLoop(live, tells={"missed": "told.missed"})
    with loop:
        change_from_threads(loop)
    loop.go_to(live.tick + 7)
    loop.start()
    time.sleep(0.01)
    loop.stop()
    tape, samples, counted = loop.tape(), loop.samples(), loop.counters
    assert counted.lost == 0
    assert len(tape) >= 15
    again = replay(session(), tape)
    assert np.array_equal(again.samples.values, samples.values)
    assert np.array_equal(again.samples.times, samples.times)
    assert again.x == live.state()
    assert len(samples.times) == tape.end + 1 == counted.total


def test_ticks_run_and_missed_are_exactly_those_that_were_due() -> None:
    """Check 21. A tick that overruns is counted, and no burst makes up for it."""
    system = System(name="slow", base=500)
    block = Block("block", rate=500)
    block.output("y", block.input("u") + 0.0)
    system.add(block, name="block")
    loop = PacedLoop(session_of(system, RunSettings(100.0, method="rk4", every=1))[0])
    begun = time.monotonic_ns()
    with loop:
        soon(lambda: loop.counters.due >= 50)
    ended = time.monotonic_ns()
    counted = loop.counters
    assert counted.total == loop.session.tick + 1
    assert counted.histogram.sum() == counted.total
    assert counted.due <= (ended - begun) / 2_000_000 + 1
    assert counted.worst < 1.1 * 2e-3, "what is later than a period is missed, not late"


def test_overruns_are_counted_and_no_instant_is_lost_or_doubled() -> None:
    """Check 21. Ticks that take too long: every instant from the first to the last is accounted."""

    def dawdle() -> dict[str, float]:
        time.sleep(0.004)
        return {}

    loop = PacedLoop(session(), priority=False, visitor=dawdle)
    loop.visited = True
    begun = time.monotonic_ns()
    loop.start()
    soon(lambda: loop.latest().tick >= 0)
    noticed = time.monotonic_ns()
    soon(lambda: loop.counters.overrun >= 5)
    loop.visited = False
    soon(lambda: loop.latest().tick >= 20)
    loop.stop()
    counted = loop.counters
    assert counted.missed >= 5
    assert counted.total == loop.session.tick + 1
    first = loop._get("next") - counted.due * 1_000_000
    assert begun <= first <= noticed


def test_a_loop_that_is_far_behind_does_not_try_to_catch_up() -> None:
    loop = PacedLoop(session(), patience=0.25, priority=False)
    loop._put("next", time.monotonic_ns() - 100_000_000_000)
    loop._put("last", 3)
    assert loop._unit.pace(loop._memory.control.ctypes.data) == 1
    counted = loop.counters
    assert counted.total == 4
    assert counted.missed >= 100_000
    assert counted.overrun <= counted.total


def test_a_loop_that_catches_up_runs_every_tick_that_was_due() -> None:
    """None is missed, and ticks that are late for another's sake are not overruns."""
    loop = PacedLoop(session(), priority=False)
    loop.set_speed(1.0, "catch-up")
    loop._put("next", time.monotonic_ns() - 2_000_000_000)
    loop._put("last", 1999)
    assert loop._unit.pace(loop._memory.control.ctypes.data) == 1
    counted = loop.counters
    assert (counted.total, counted.missed) == (2000, 0)
    assert counted.overrun < 1000
    with pytest.raises(Error, match=r"no 'hurry'; choose skip or catch-up"):
        loop.set_speed(1.0, "hurry")


def test_changes_wait_where_the_tape_is_full_and_none_is_lost() -> None:
    loop = PacedLoop(session(), priority=False)
    room = loop._get("tape_mask") + 1
    loop._put("tape_head", room)  # as if nobody had taken anything away
    number = loop.set({"counter.u": 4.0})
    loop._put("last", 5)
    loop._put("clock", 1)
    assert loop._unit.pace(loop._memory.control.ctypes.data) == 1
    assert loop.counters.held == 6
    assert not loop.entered(number)
    loop._put("tape_tail", room)
    loop.go_to(10)
    assert loop.entered(number)
    assert [(c.tick, c.name, c.value) for c in loop.tape()] == [(6, "counter.u", 4.0)]


def test_a_full_ring_of_samples_counts_what_is_lost_and_never_waits() -> None:
    loop = PacedLoop(session(), priority=False)
    loop._memory.place_ring("ring", 64, 5)
    loop._put("clock", 1)
    loop._put("last", 99)
    loop._put("next", 1)
    loop._put("patience", 1 << 62)
    assert loop._unit.pace(loop._memory.control.ctypes.data) == 1
    assert loop.counters.lost == 100 - 64
    assert loop.session.tick == 99
    assert len(loop.samples().times) == 64


def test_a_run_that_ends_itself_ends_the_loop_and_the_tape_leads_there() -> None:
    def made() -> Session:
        system = System(name="ends", base=200)
        block = Block("ramp")
        x = block.state("x", block.input("u"), 0.0)
        block.event("there", x - 0.0123, terminal=True)
        system.add(block, name="ramp")
        return session_of(system, RunSettings(100.0, every=1))[0]

    loop = PacedLoop(made())
    loop.set({"ramp.u": 1.0})
    loop.start()
    soon(lambda: not loop.running)
    loop.stop()
    assert loop.stopped is not None
    assert "there" in loop.stopped.reason
    again = replay(made(), loop.tape())
    assert again.stop == loop.stopped
    assert again.time == loop.session.time
    with pytest.raises(Error, match="cannot go on"):
        loop.start()


@pytest.mark.parametrize("line", range(4, 15))
def test_a_signal_at_any_line_of_a_start_leaves_a_loop_that_stops(line: int) -> None:
    """A signal interrupts the thread that starts a loop, wherever that is."""
    loop = PacedLoop(session(), priority=False)
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code is not PacedLoop.start.__code__:
            return None
        count += event == "line"
        if count == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(KeyboardInterrupt):
            loop.start()
    finally:
        sys.settrace(before)
    loop.stop()
    assert not loop.running
    with loop:
        soon(lambda: loop.counters.total > 2)


def test_a_stalled_interpreter_does_not_stop_the_loop() -> None:
    """Nothing of Python runs while the loop goes on: a thread holds the lock all the time."""
    import sys

    loop = PacedLoop(session(), priority=False)
    with loop:
        before, interval = loop.counters.due, sys.getswitchinterval()
        sys.setswitchinterval(5.0)
        try:
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                pass
            after = loop.counters.due
        finally:
            sys.setswitchinterval(interval)
    assert after - before >= 50


def kite(more: Callable[[System], object] = lambda _: None) -> Session:
    """Return a linkage with equal arms, which all bars pass in one line: a singular position."""
    m = Mechanism("kite")
    a = m.body("a", rotate="z", mass=1, com=(0.5, 0, 0), inertia=(0, 0, 0.1))
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z", mass=1, inertia=(0, 0, 0.1))
    c = m.body("c", rotate="z", at=(2, 0, 0), mass=2, com=(1, 0, 0), inertia=(0, 0, 0.6))
    ends = m.point("end of b", b, (1, 0, 0)), m.point("end of c", c, (2, 0, 0))
    m.close_loop("pin", *ends, Revolute("z"))
    m.gravity(along="-y", g=m.parameter("g", 0.0))
    system = system_of(m)
    a0, c0 = 0.2, math.pi - 2 * math.atan2(math.sin(0.2), 2 - math.cos(0.2))
    far = complex(2, 0) + 2 * complex(math.cos(c0), math.sin(c0))
    along = far - complex(math.cos(a0), math.sin(a0))
    start = {"a": a0, "b": math.atan2(along.imag, along.real) - a0, "c": c0, "a_dot": -1.0}
    system.set_initial(start)
    more(system)
    return session_of(system, RunSettings(10.0, method="rk4", step=0.01, every=1))[0]


def test_forms_of_equations_change_while_it_keeps_pace() -> None:
    """A loop that passes a singular configuration goes on in another form, by Python's advice."""
    live = kite()
    loop = PacedLoop(live, clock="virtual")
    loop.go_to(40)
    loop.set({"g": 0.1})
    loop.go_to(60)
    tape, samples = loop.tape(), loop.samples()
    assert live.fallback is not None
    assert any("went through a singular configuration" in line for line in live.fallback.report)
    assert [(c.tick, c.name, c.value) for c in tape] == [(41, "g", 0.1)]
    assert np.array_equal(replay(kite(), tape).samples.values, samples.values)


def test_strides_are_replayed_as_they_were() -> None:
    def made() -> Session:
        system = System(name="s", base=100)
        system.add(Integrator(), name="i")
        return session_of(system, RunSettings(10.0, every=1))[0]

    loop = PacedLoop(made(), clock="virtual", stride=7)
    loop.go_to(30)
    loop.set({"i.u": 1.5})
    loop.go_to(60)
    tape = loop.tape()
    assert (tape.end, tape.ticks.tolist()) == (63, [36])
    assert np.array_equal(replay(made(), tape).samples.values, loop.samples().values)


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_a_replay_enters_native_code_no_oftener_for_changes_at_every_tick(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes wait in the ring for their ticks; those of one tick may lie in two parts."""
    rng, end = np.random.default_rng(seed), 6000
    ticks = np.sort(rng.integers(1, end, 9000))
    places, values = rng.integers(0, 2, len(ticks)), rng.normal(size=len(ticks))
    tape = Tape(("counter.u", "counter.gain"), ticks, places, values, end)

    slow = PacedLoop(session(), clock="virtual")
    for tick, given in tape.batches():
        slow.go_to(tick - 1)
        slow.enter(given)
    slow.go_to(end)

    halves = [
        replace(tape, ticks=ticks[x], places=places[x], values=values[x])
        for x in (slice(4500), slice(4500, None))
    ]
    seen: list[int] = []
    go_to = PacedLoop.go_to

    def counted(loop: PacedLoop, tick: int) -> None:
        seen.append(tick)
        go_to(loop, tick)

    monkeypatch.setattr(PacedLoop, "go_to", counted)
    monkeypatch.setattr(Tape, "parts", lambda *_: iter(halves))
    again = replay(session(), tape)
    assert np.array_equal(again.samples.values, slow.samples().values)
    assert len(seen) < 20


def test_what_cannot_be_is_refused_with_a_remedy() -> None:
    loop = PacedLoop(session(), priority=False)
    for values, words in (({"counter.v": 1.0}, "counter.u"), ({"counter.u": np.nan}, "finite")):
        with pytest.raises(Error, match=words):
            loop.set(values)
    with pytest.raises(Error, match="clock"):
        PacedLoop(session(), clock="sun")
    with pytest.raises(Error, match="counts"):
        PacedLoop(session(), tells={"birds": "told.missed"})
    with pytest.raises(Error, match="backward"):
        Tape(("u",), np.array([2, 1]), np.array([0, 0]), np.zeros(2), 3)


def test_where_a_loop_stands_is_told_at_once_and_whole() -> None:
    """Whatever its thread is at, and whoever keeps others from changing it."""
    loop = PacedLoop(session(), clock="virtual", priority=False)
    loop.go_to(4)
    _, latest = loop._stood
    slots = latest[1:].reshape(SLOTS, -1)
    following = slots[(latest[0] + 1) % SLOTS]
    following[:] = -1  # in the middle of the next tick: it may stay there for any time
    before = loop.latest()
    assert (before.tick, before["counter.y"]) == (4, 2.0)
    with loop._lock:
        seen: list[int] = []
        reader = threading.Thread(target=lambda: seen.append(loop.latest().tick))
        reader.start()
        reader.join(20.0)
    assert seen == [4]

    runner = threading.Thread(target=loop.go_to, args=(20_000,))
    runner.start()
    try:
        while runner.is_alive():
            stood = loop.latest()
            assert stood["counter.y"] == stood.tick // 2
    finally:
        runner.join(60.0)
    assert loop.latest().tick == 20_000
