"""Clients that fall silent, networks that fail, and bytes that are not messages.

Times of stops are counted in the ticks of the cell's own log.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import linkwright as lw
from linkwright.server.access import ROOT
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command, RefusedError
from linkwright.server.hand import ArmHand
from linkwright.server.host import CellHost
from linkwright.server.messages import BEAT, FRAME, LEASE, command_record, pack_command
from linkwright.server.network import open_session
from linkwright.server.recorded import whole_session
from linkwright.server.registry import VARIABLE
from linkwright.server.running import RunningCell
from linkwright.simulation.pacing import PacedLoop
from linkwright.windows.records import Frame
from tests.seeds import cases
from tests.support.faulty_link import FaultyLink
from tests.support.server_faces import ToyCell

LIMIT = 60.0  # s for anything that is waited for
SILENT = CAUSES.index("silence")
SILENCE = 1.0  # s of the clients that fall silent


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))


class LoggedCell(RunningCell):
    """A cell with its simulated arm, in a native loop that goes by the wall's clock.

    Its log has a row of each tick that was run.
    """

    def __init__(self) -> None:
        cell = read_cell("axes2")
        super().__init__(cell, PacedLoop(whole_session(cell, 1)))
        self._rows: list[dict[str, float]] = []

    def log(self) -> list[dict[str, float]]:
        """All rows so far."""
        samples = self.loop.samples()
        for time_, values in zip(samples.times, samples.values, strict=True):
            row = dict(zip(samples.names, map(float, values), strict=True))
            self._rows.append(row | {"tick": round(time_ * self.rate)})
        return self._rows

    def wait(self, ready: Callable[[dict[str, float]], bool], start: int) -> dict[str, float]:
        """The first row of the log that is ready, from a row on."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            for row in self.log()[start:]:
                start += 1
                if ready(row):
                    return row
            time.sleep(0.02)
        raise AssertionError(self.log()[-1])


CLIENT = textwrap.dedent("""
    import sys, time
    import linkwright as lw
    with lw.server.connect(sys.argv[1], client="alice") as cell:
        with cell.arm("plane").command(silence=float(sys.argv[2])) as hand:
            hand.enable()
            hand.joints([1.5, 1.0], speed=0.05)
            print("moving", flush=True)
            time.sleep(600)
""")


@pytest.fixture(scope="module")
def live() -> Iterator[LoggedCell]:
    cell = LoggedCell()
    with cell.loop:
        yield cell


def end_by_stop(client: subprocess.Popen[str], link: FaultyLink) -> None:
    client.send_signal(signal.SIGSTOP)


def end_by_kill(client: subprocess.Popen[str], link: FaultyLink) -> None:
    client.kill()


def end_by_cut(client: subprocess.Popen[str], link: FaultyLink) -> None:
    link.hold()


def stall_the_server(client: subprocess.Popen[str], link: FaultyLink) -> None:
    """Hold the lock of Python in the server's own process: nobody hands on beats."""
    ctypes.PyDLL(None).usleep(round(1.5e6 * SILENCE))


ENDS = [end_by_stop, end_by_kill, end_by_cut, stall_the_server]


@pytest.mark.parametrize("end", cases(ENDS, daily=[end_by_kill, stall_the_server]))
def test_a_silent_client_loses_the_arm_in_ticks(
    live: LoggedCell, end: Callable[[subprocess.Popen[str], FaultyLink], None]
) -> None:
    """Stopped, killed -9, cut off, or not heard because the server's Python stalls: the arm brakes
    along its path and holds; the lease is free.

    From the last beat that entered the loop to the end of the lease are as many ticks as the
    silence has, and one.
    """
    root = Path(__file__).resolve().parents[2]
    cell, rates = live, ("plane_supervisor.measured_rate[0]", "plane_supervisor.measured_rate[1]")
    begin = len(cell.log())
    with (
        CellHost(cell) as host,
        FaultyLink(str(host.endpoint), seed=1) as link,
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(link.endpoint), str(SILENCE)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(root / "src")},
        ) as client,
    ):
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "moving\n"
            cell.wait(lambda row: abs(row[rates[0]]) > 0.05, begin)
            end(client, link)
            lost = cell.wait(lambda row: row["plane_supervisor.cause"] == SILENT, begin)
            beats = [c.tick for c in cell.loop.tape() if c.name == "plane_supervisor.beats"]
            last = max(tick for tick in beats if tick <= lost["tick"])
            assert lost["tick"] - last == round(SILENCE * cell.rate) + 1
            assert lost["plane_supervisor.holder"] == 0
            held = cell.wait(
                lambda row: row["tick"] > lost["tick"] and row["plane_supervisor.moves"] == 0, begin
            )
            braking = [row for row in cell.log() if lost["tick"] <= row["tick"] <= held["tick"]]
            for before, after in pairwise(braking):
                for axis, rate in zip(cell.cell.arms[0].axes, rates, strict=True):
                    assert abs(after[rate] - before[rate]) * cell.rate <= 1.5 * axis.acceleration
            assert held["plane_supervisor.measured[0]"] < 1.4  # it never got there
            with lw.server.connect(cell.name, client="bob") as other:
                assert other.states.wait(lambda f: f.values["plane.holder"] == 0, LIMIT)
                assert other.arm("plane").state.life == "active"  # it holds
                with other.arm("plane").command(silence=5.0) as hand:  # and the lease is free
                    hand.joints([-1.0, 0.7]).wait(LIMIT)
        finally:
            client.kill()
            client.wait(LIMIT)


FAULTS: dict[str, dict[str, Any]] = {
    "delay": {"delay": 0.005, "jitter": 0.01},
    "loss": {"loss": 0.03},
    "reordering": {"reordered": 0.1, "delay": 0.001},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_command_is_taken_once_over_a_bad_network(fault: str) -> None:
    """What is lost or late is asked again, and what is asked twice is taken once, in order."""
    with (
        ToyCell("toy") as toy,
        CellHost(toy) as host,
        FaultyLink(str(host.endpoint), seed=5, **FAULTS[fault]) as link,
        lw.server.connect(str(link.endpoint)) as cell,
    ):
        hand = cell.arm("puma").command(silence=20.0, expiry=30.0)
        hand.take()
        goals = [(k / 20, 0.5) for k in range(15)]
        for goal in goals:
            hand.joints(goal)
        given = [c for _, c in toy.given]
        assert [c.values for c in given] == goals
        assert [c.sequence for c in given] == list(range(1, 16))
        assert link.passed > 30
        assert cell.states.damaged == 0


def _is_later(tick: int, frame: Frame) -> bool:
    return frame.tick > tick


def test_a_connection_that_breaks_comes_back() -> None:
    with (
        ToyCell("toy") as toy,
        CellHost(toy) as host,
        FaultyLink(str(host.endpoint), seed=1) as link,
        lw.server.connect(str(link.endpoint)) as cell,
    ):
        hand = cell.arm("puma").command(silence=20.0)
        hand.take()
        for _ in range(3):
            link.cut()
            newer = cell.frame.tick + 1
            assert cell.states.wait(partial(_is_later, newer), LIMIT)
            hand.joints([0.5, 0.5]).wait(LIMIT)
        assert toy.stops == []


def test_a_cell_that_starts_again_is_seen_again() -> None:
    """Its ticks begin at 0; leases of its former life are over."""
    with ToyCell("toy") as first, CellHost(first) as host:
        cell = lw.server.connect(str(host.endpoint))
        hand = cell.arm("puma").command(silence=20.0)
        hand.take()
        assert cell.states.wait(lambda f: f.values["puma.holder"] == hand.number, LIMIT)
    with ToyCell("toy") as second, CellHost(second, listen=str(host.endpoint)), cell:
        assert cell.states.wait(lambda f: f.values["puma.holder"] == 0, LIMIT)
        with pytest.raises(RefusedError) as caught:
            hand.stop()
        assert caught.value.name == "lease"
        assert second.given == []


def test_a_slow_reader_costs_only_itself() -> None:
    """One takes 2 kB a second, and sees old states; the other sees all of them."""
    with (
        ToyCell("toy") as toy,
        CellHost(toy) as host,
        FaultyLink(str(host.endpoint), seed=1, rate=1e6) as link,
        lw.server.connect(str(link.endpoint), rate=1e9) as slow,
        lw.server.connect("toy", rate=1e9) as quick,
    ):
        first = slow.frame.tick
        link.rate = 2e3
        start = quick.frame.tick
        count = quick.states.count
        assert quick.states.wait(lambda f: f.tick > start + 100, LIMIT)
        assert quick.states.count - count > 50
        assert slow.frame.tick < quick.frame.tick
        assert slow.frame.tick >= first
        assert toy.tick > start + 100


def _mutated(chance: random.Random, data: bytes) -> bytes:
    """Damage bytes: flip, cut, double, insert."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed)) if changed else 0
        match chance.randrange(5):
            case 0 if changed:
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = chance.randbytes(chance.randint(1, 16))
            case 3:
                changed += changed[at:]
            case _:
                changed[at : at + 8] = chance.randbytes(8)
    return bytes(changed)


@pytest.fixture
def holding() -> Iterator[tuple[ToyCell, CellHost, ArmHand]]:
    with ToyCell("toy") as toy, CellHost(toy) as host, lw.server.connect("toy") as cell:
        hand = cell.arm("puma").command(silence=30.0)
        hand.take()
        yield toy, host, hand


def test_damaged_frames_are_refused_and_nothing_is_taken(
    holding: tuple[ToyCell, CellHost, ArmHand],
) -> None:
    """Bytes that came over a real socket; `bench` does the same ten thousand times."""
    toy, host, hand = holding
    chance = random.Random(20)
    arm = toy.arms["puma"]
    record, cell = command_record(arm), hand.arm.cell
    good = pack_command(arm, record, Command("joints", 10, (0.1, 0.2)), hand._key, 0)
    lease = LEASE.pack({"take": 2, "lease": 5, "silence": 1.0, "local": 0})
    count = 0
    for _ in range(150):
        for what, frame in (("command/puma", good), ("lease/puma", lease)):
            bad = _mutated(chance, frame)
            if bad == frame:
                continue
            count += 1
            with pytest.raises(RefusedError):
                cell.ask(what, bad)
        for what, sent in (
            ("beat/puma", BEAT.pack({"lease": hand._key, "seen": 0})),
            ("frame/x", FRAME.pack({"pose": [0.0] * 7, "twist": [0.0] * 6, "time": 0})),
        ):
            cell.send(what, _mutated(chance, sent))
    assert sum(host.refusals.values()) >= count
    assert "fault" not in host.refusals
    assert toy.given == []
    assert toy.frames == {}
    assert hand.joints([0.1, 0.1]).wait(LIMIT).done  # and the cell goes on


def test_damaged_streams_do_no_harm(holding: tuple[ToyCell, CellHost, ArmHand]) -> None:
    """Messages of zenoh itself, damaged on their way to the cell."""
    toy, host, hand = holding
    for seed in range(4):
        with FaultyLink(str(host.endpoint), seed=seed) as link:
            network = open_session(connect=str(link.endpoint))
            link.mutation = _mutated
            for k in range(30):
                network.session.put(f"{ROOT}/as/eve/beat/puma", bytes([k] * 100))
            network.close()
    assert toy.given == []
    assert toy.stops == []
    assert hand.joints([0.1, 0.1]).wait(LIMIT).done
