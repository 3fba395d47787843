"""The tape as a part of a recording: saved, journaled, recovered and replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.blocks import Block
from linkwright.recording import Channel, Recording, read_recording, recovered
from linkwright.recording.streams import attached_text
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, replay, tape_of
from linkwright.simulation.recorder import Target
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

pytestmark = pytest.mark.realtime


def session() -> Session:
    system = System(name="recorded", base=500)
    block = Block("block", rate=250)
    n = block.discrete_state("n")
    block.update(n, n + block.input("u") * block.parameter("k", 3.0))
    block.output("y", n)
    system.add(block, name="block")
    return session_of(system, RunSettings(1000.0, method="rk4", every=2))[0]


def changed(loop: PacedLoop) -> None:
    """Let a loop run with some changes."""
    for tick, value in ((3, 1.0), (40, -2.5), (41, 0.1), (77, 1e300)):
        loop.go_to(tick)
        loop.set({"block.u": value, "block.k": 2.0 + tick})
    loop.go_to(101)


@pytest.mark.parametrize("ending", ["parquet", "mcap"])
def test_a_saved_tape_replays_to_the_same_bits(tmp_path: Path, ending: str) -> None:
    loop, live = PacedLoop(session(), clock="virtual"), session()
    recorder = LoopRecorder(live, Target(tmp_path / f"run.{ending}"))
    recorded = PacedLoop(live, clock="virtual", sink=recorder)
    changed(loop)
    changed(recorded)
    tape, samples = loop.tape(), loop.samples()
    found = tape_of(read_recording(recorder.finish(recorded)))
    assert list(found) == list(tape)
    assert (found.end, found.stride) == (101, 1)
    assert np.array_equal(replay(session(), found).samples.values, samples.values)


def test_what_a_killed_run_leaves_is_replayed_to_its_last_sample(tmp_path: Path) -> None:
    live = session()
    recorder = LoopRecorder(live, Target(tmp_path / "run.parquet"), {"who": "test"})
    loop = PacedLoop(live, clock="virtual", sink=recorder)
    changed(loop)
    loop.tape()  # empties the rings into the journal, as its keeper does
    left = (tmp_path / "run.parquet.journal").read_bytes()
    made = read_recording(recorder.finish(loop))
    assert tape_of(made).end == 101
    assert made.metadata["who"] == "test"
    assert not (tmp_path / "run.parquet.journal").exists()
    assert np.array_equal(replay(session(), tape_of(made)).samples.values, made.data)
    assert np.array_equal(read_recording(tmp_path / "run.parquet").data, made.data)
    for cut in (len(left), len(left) - 1, len(left) - 800):
        dead = tmp_path / "dead.journal"
        dead.write_bytes(left[:cut])
        found = recovered(dead)
        again = replay(session(), tape_of(found))
        assert np.array_equal(again.samples.values[: len(found)], found.data)


def test_a_recording_without_a_tape_or_with_a_damaged_one_says_so() -> None:
    plain = Recording([0.0], [Channel("a")], [[1.0]])
    with pytest.raises(InputError, match="no tape"):
        tape_of(plain)
    label = {"names": ["a"], "stride": 1, "tick": 0.1}
    for text, words in (
        ("?", "damaged"),
        (attached_text(bytes(100))[:8], "cut off|damaged"),
        (attached_text(bytes(100)), "tape of the recording is damaged"),
    ):
        with pytest.raises(InputError, match=words):
            tape_of(plain.with_metadata({"tape": label, "attached": text}))
