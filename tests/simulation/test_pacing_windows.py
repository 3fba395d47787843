"""Windows of a paced loop: readings by the seqlock, snapshots with a checksum, a device's clock."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.blocks import Block, FunctionSlot, Integrator, SlotPort
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, Reads, Writes, replay
from linkwright.simulation.pacing.memory import COUNTED
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from linkwright.windows import Field, Record, Window

pytestmark = pytest.mark.realtime

EVERY_TYPE = ("f64", "f32", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
STATES = Record("states", *(Field(kind, "1", kind) for kind in EVERY_TYPE), Field("q", shape=(3,)))
COMMANDS = Record("commands", *(Field(kind, "1", kind) for kind in EVERY_TYPE), Field("n"))


def session() -> Session:
    """Return a controller: channels are inputs doubled, and a count of its instants."""
    system = System(name="controller", base=1000)
    block = Block("law", rate=1000)
    for kind in EVERY_TYPE:
        block.output(f"out_{kind}", 2 * block.input(kind))
    q = [block.input(f"q{i}") for i in range(3)]
    block.output("sum", q[0] + q[1] + q[2])
    n = block.discrete_state("n", "n + 1")
    block.output("count", n)
    for name in ("sequence", "tick", "missed", "timeouts"):
        block.output(f"seen_{name}", block.input(name) + 0.0)
    system.add(block, name="law")
    return session_of(system, RunSettings(1000.0, method="rk4", every=1))[0]


def reads(window: Window) -> Reads:
    fields = {kind: f"law.{kind}" for kind in EVERY_TYPE} | {"q": [f"law.q{i}" for i in range(3)]}
    return Reads(window, fields, sequence="law.sequence", tick="law.tick")


def writes(window: Window) -> Writes:
    return Writes(window, {k: f"law.out_{k}" for k in EVERY_TYPE} | {"n": "law.count"})


def state(value: float) -> dict[str, object]:
    return {**dict.fromkeys(EVERY_TYPE, value), "q": [value, 2 * value, 3 * value]}


def test_readings_come_in_and_snapshots_go_out_in_every_type(tmp_path: Path) -> None:
    with (
        Window.create(tmp_path / "states", STATES) as states,
        Window.create(tmp_path / "commands", COMMANDS) as commands,
    ):
        loop = PacedLoop(
            session(), clock="virtual", reads=[reads(states)], writes=[writes(commands)]
        )
        states.write(state(7), tick=41)
        loop.go_to(3)
        seen = commands.read()
        assert {k: float(seen.values[k]) for k in EVERY_TYPE} == dict.fromkeys(EVERY_TYPE, 14.0)
        assert (seen.tick, float(seen.values["n"])) == (3, 3.0)
        latest = loop.latest()
        assert [latest[f"law.{n}"] for n in ("sum", "seen_tick", "seen_sequence")] == [42, 41, 2]
        states.write({**state(-3), **dict.fromkeys(("u64", "u32", "u16", "u8"), 200)}, tick=42)
        loop.go_to(4)
        seen = commands.read()
        assert [int(seen.values[k]) for k in ("i8", "u16", "u8")] == [-6, 400, 255], "it saturates"
        assert loop.counters.failures == 0
        tape, samples = loop.tape(), loop.samples()
        assert set(tape.ticks.tolist()) == {0, 4}
        assert np.array_equal(replay(session(), tape).samples.values, samples.values)


def test_torn_and_damaged_frames_are_counted_and_the_last_good_one_holds(tmp_path: Path) -> None:
    with Window.create(tmp_path / "states", STATES) as states:
        loop = PacedLoop(session(), clock="virtual", reads=[reads(states)])
        states.write(state(1))
        loop.go_to(0)
        memory = states._mapped.memory
        whole = bytes(memory)
        struct.pack_into("<d", memory, 64, 99.0)
        struct.pack_into("<Q", memory, 16, 4)  # a sequence that goes on, a checksum that is wrong
        loop.go_to(1)
        memory[:] = whole
        struct.pack_into("<Q", memory, 16, 3)  # a writer that was stopped in the middle
        loop.go_to(2)
        assert loop.counters.failures == 2
        assert loop.latest()["law.out_f64"] == 2.0
        memory[:] = whole
        states.write(state(5))
        loop.go_to(3)
        assert loop.latest()["law.out_f64"] == 10.0
        del memory


def test_a_device_gives_the_ticks_and_its_silence_is_an_input(tmp_path: Path) -> None:
    """Check 17. One clock, the device's: its ticks are run or missed, none is invented."""
    with (
        Window.create(tmp_path / "states", STATES) as states,
        Window.create(tmp_path / "commands", COMMANDS) as commands,
    ):
        told = {"missed": "law.missed", "timeouts": "law.timeouts"}
        loop = PacedLoop(
            session(),
            clock=states,
            timeout=0.25,
            reads=[reads(states)],
            writes=[writes(commands)],
            tells=told,
        )
        loop.start()
        try:
            for tick in (*range(10, 60), 63, 64):
                states.write(state(tick % 7), tick=tick)
                states.wake()
                end = time.monotonic() + 10
                while loop.latest().tick < 0 or loop.latest()["law.seen_tick"] != tick:
                    assert time.monotonic() < end, "the loop does not follow its device"
                    time.sleep(0.0002)
            before = loop.counters
            end = time.monotonic() + 10
            while loop.counters.timeouts <= before.timeouts and time.monotonic() < end:
                time.sleep(0.01)
        finally:
            loop.stop()
        after = loop.counters
        assert after.missed == 3
        assert after.due == 64 - 10 + 1
        assert after.timeouts >= 1
        assert commands.read().tick == loop.session.tick
        tape, samples = loop.tape(), loop.samples()
        assert np.array_equal(replay(session(), tape).samples.values, samples.values)


def test_a_window_is_not_closed_under_a_loop_that_reads_it(tmp_path: Path) -> None:
    states = Window.create(tmp_path / "states", STATES)
    loop = PacedLoop(session(), reads=[reads(states)], priority=False)
    with loop:
        with pytest.raises(Error, match="stop the loop"):
            states.close()
        states.write(state(3))
        end = time.monotonic() + 10
        while loop.latest().tick < 0 or loop.latest()["law.out_f64"] != 6.0:
            assert time.monotonic() < end
            time.sleep(0.001)
    states.close()
    loop.start()
    with pytest.raises(Error, match="closed"):
        loop.stop()


def test_windows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with Window.create(tmp_path / "states", STATES) as states:
        for given, words in (
            (Reads(states, {"qq": "law.q0"}), "did you mean 'q'"),
            (Reads(states, {"q": "law.q0"}), "3 numbers"),
            (Reads(states, {"f64": "law.nothing"}), "no parameter or input"),
        ):
            with pytest.raises(Error, match=words):
                PacedLoop(session(), reads=[given])
        with pytest.raises(Error, match="nothing is written to 'f32'"):
            PacedLoop(session(), writes=[Writes(states, {"f64": "law.count"})])
        with (
            Window.open(tmp_path / "states", STATES) as seen,
            pytest.raises(Error, match="opened to be read"),
        ):
            PacedLoop(session(), writes=[Writes(seen, {})])


def test_windows_are_told_what_the_loop_counts() -> None:
    record = Record("counts", *(Field(name) for name in COUNTED))
    system = System(name="s", base=1000)
    system.add(Integrator(), name="i")
    session = session_of(system, RunSettings(60.0, every=0))[0]
    with Window.in_memory(record) as window:
        told = Writes(window, {name: f"loop:{name}" for name in COUNTED})
        loop = PacedLoop(session, clock="virtual", writes=[told])
        loop.go_to(9)
        frame = window.read()
    counted = loop.counters
    assert (frame.tick, frame.values["total"]) == (9, 10.0)
    assert [frame.values[n] for n in COUNTED] == [getattr(counted, n) for n in COUNTED]


def test_slots_hold_what_windows_say_and_windows_show_states_at_their_rate() -> None:
    """What another process computes for a slot enters its outputs, and is on the tape."""
    wanted = Record("wanted", Field("y", shape=(2,)))
    shown = Record("shown", Field("y", shape=(2,)), Field("count"), Field("gain"))

    def made() -> Session:
        system = System(name="controller", base=1000)
        slot = FunctionSlot({"u": SlotPort()}, {"y": SlotPort((2,))}, rate=500, name="task")
        system.add(slot)
        law = Block("law", rate=1000)
        y = law.input_vector("y", 2)
        law.output("sum", law.input("gain", 2.0) * (y[0] + y[1]))
        count = law.discrete_state("n", "n + 1")
        law.output("count", count)
        member = system.add(law)
        system.connect(system["task"].y, member.y)
        settings = RunSettings(1000.0, method="rk4", every=1)
        return session_of(system, settings, ["law.sum"])[0]

    with Window.in_memory(wanted) as task, Window.in_memory(shown) as seen:
        names = [f"task.y[{i}]" for i in range(2)]
        told = {"y": names, "count": "law.count", "gain": "law.gain"}
        loop = PacedLoop(
            made(),
            clock="virtual",
            reads=[Reads(task, {"y": names})],
            writes=[Writes(seen, told, every=4)],
        )
        loop.go_to(5)
        task.write({"y": [1.5, 2.0]})
        loop.go_to(7)
        assert (seen.read().tick, seen.read().values["y"].tolist()) == (4, [0.0, 0.0])
        loop.go_to(11)
        frame = seen.read()
        assert (frame.tick, frame.values["y"].tolist()) == (8, [1.5, 2.0])
        assert (frame.values["count"], frame.values["gain"]) == (8.0, 2.0)
        tape, samples = loop.tape(), loop.samples()
    assert samples.values[5:8, 0].tolist() == [0.0, 7.0, 7.0]
    assert [change.tick for change in tape] == [6, 6]
    assert np.array_equal(replay(made(), tape).samples.values, samples.values)
