"""Python blocks of a paced loop: a thread and a deadline; late ones hold, all is on the tape."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from linkwright.blocks import Integrator
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, replay
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

pytestmark = pytest.mark.realtime


class Law:
    """A function that can be made to wait, or to fail."""

    def __init__(self) -> None:
        self.calls: list[float] = []
        self.going = threading.Event()
        self.going.set()
        self.fails = False

    def __call__(self, t: float) -> float:
        self.calls.append(t)
        self.going.wait(20)
        if self.fails:
            raise ValueError("no answer")
        return float(len(self.calls))


def session(law: Law) -> Session:
    system = System(name="with python", base=200)
    member = system.add(lambda t: law(t), rate=100, name="law", outputs="y")
    follower = system.add(Integrator(), name="follower")
    system.connect(member.y, follower.u)
    return session_of(system, RunSettings(1000.0, method="rk4", every=1))[0]


def test_answers_enter_at_the_tick_after_and_are_on_the_tape() -> None:
    law = Law()
    loop = PacedLoop(session(law), clock="virtual")
    loop.go_to(5)
    assert law.calls == [0.0, 0.01, 0.02]
    changes = [(c.tick, c.name, c.value) for c in loop.tape()]
    assert changes == [(1, "law.y", 1.0), (3, "law.y", 2.0), (5, "law.y", 3.0)]
    again = replay(session(law), loop.tape())
    assert len(law.calls) == 3, "a replay calls nothing"
    assert np.array_equal(again.samples.values, loop.samples().values)


def test_a_block_that_is_late_holds_and_the_loop_goes_on() -> None:
    law = Law()
    loop = PacedLoop(session(law), priority=False)
    law.going.clear()
    with loop:
        end = time.monotonic() + 20
        while loop.counters.late < 3 and time.monotonic() < end:
            time.sleep(0.002)
        held = loop.latest().d.copy()
        law.going.set()
        while not len(loop.tape()) and time.monotonic() < end:
            time.sleep(0.002)
    assert loop.counters.late >= 3
    assert held.tolist() == [0.0]
    first = next(iter(loop.tape()))
    assert first.value == 1.0
    assert first.tick > 4, "it was late, and entered when it came"
    assert np.array_equal(replay(session(Law()), loop.tape()).samples.values, loop.samples().values)


def test_a_block_that_fails_is_told_once_and_its_outputs_hold() -> None:
    law = Law()
    loop = PacedLoop(session(law), clock="virtual")
    loop.go_to(1)
    law.fails = True
    loop.go_to(9)
    assert loop.latest().d.tolist() == [1.0]
    assert loop.counters.late == 4
    assert all("no answer" in line for line in loop.complaints)


def test_a_loop_that_waits_gives_what_any_run_gives() -> None:
    law = Law()
    loop = PacedLoop(session(law), clock="virtual", waits=True)
    loop.go_to(20)
    plain = session(Law())
    plain.extend(20)
    assert np.array_equal(loop.samples().values, plain.run().samples.values)
    assert np.array_equal(
        replay(session(Law()), loop.tape()).samples.values, plain.collected().values
    )
