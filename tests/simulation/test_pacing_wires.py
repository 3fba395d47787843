"""Wires of a paced loop: datagrams of real sockets, sorted and counted in native code."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.blocks import Block
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, Reads, Writes, replay
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from linkwright.windows import Field, Record, Wire
from linkwright.windows.wire import WireCounts

pytestmark = pytest.mark.realtime

STATES = Record("states", Field("q", "rad", shape=(2,)))
COMMANDS = Record("commands", Field("u", "N*m", shape=(2,)))
FIELDS = {"q": ["law.q0", "law.q1"]}
CHANNELS = {"u": ["law.u0", "law.u1"]}


def session() -> Session:
    system = System(name="controller", base=1000)
    block = Block("law", rate=1000)
    for i in range(2):
        block.output(f"u{i}", -3.0 * block.input(f"q{i}"))
    block.output("seen_tick", block.input("tick") + 0.0)
    block.output("silent", block.input("timeouts") + 0.0)
    system.add(block, name="law")
    return session_of(system, RunSettings(1000.0, method="rk4", every=1))[0]


def udp() -> tuple[socket.socket, socket.socket]:
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    one.bind(("127.0.0.1", 0))
    other.bind(("127.0.0.1", 0))
    one.connect(other.getsockname())
    other.connect(one.getsockname())
    return one, other


def unix() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


@pytest.fixture(params=[udp, unix])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Wire, Wire]]:
    """The wire of a laboratory and that of its robot."""
    make: Callable[[], tuple[socket.socket, socket.socket]] = request.param
    one, other = make()
    with (
        Wire(one, inward=STATES, outward=COMMANDS) as lab,
        Wire(other, inward=COMMANDS, outward=STATES) as robot,
    ):
        yield lab, robot


def test_the_newest_sound_frame_wins_and_everything_else_is_counted(
    pair: tuple[Wire, Wire],
) -> None:
    lab, robot = pair

    def frame(sequence: int, value: float) -> bytes:
        return STATES.pack({"q": [value, 2 * value]}, sequence=sequence, tick=sequence)

    sent = [frame(n, float(n)) for n in range(1, 12)]
    damaged = bytearray(frame(20, 9.0))
    damaged[-3] ^= 1
    other = Record("others", Field("q", "rad", shape=(2,))).pack({"q": [1.0, 2.0]}, sequence=30)
    version = bytearray(frame(40, 1.0))
    version[4] = 2
    packets = [
        *(sent[0], sent[1], sent[4]),  # 3 and 4 are lost
        *(sent[3], sent[4]),  # late, and twice
        *(bytes(damaged), frame(21, 9.0)[:-8], frame(22, 9.0) + b"12345678"),
        *(other, bytes(version), b"hello", b"\0" * 100),
        sent[7],  # 6 and 7 are lost
    ]
    loop = PacedLoop(session(), clock="virtual", reads=[Reads(lab, FIELDS, tick="law.tick")])
    for packet in packets:
        robot._link.send(packet)
    deadline = time.monotonic() + 10
    while lab.counts.received < 4 and time.monotonic() < deadline:
        loop.go_to(loop.session.tick + 1)
    assert lab.counts == WireCounts(4, 4, 2, 3, 4, 0, 0)
    assert loop.counters.failures == 7
    assert loop.latest()["law.u1"] == -3.0 * 16.0
    assert loop.latest()["law.seen_tick"] == 8
    loop.go_to(loop.session.tick + 3)
    assert loop.latest()["law.u1"] == -3.0 * 16.0  # what came last holds


def test_python_sorts_frames_as_native_code_does(pair: tuple[Wire, Wire]) -> None:
    lab, robot = pair
    for sequence in (1, 2, 5, 4, 5):
        robot._link.send(STATES.pack({"q": [sequence, 0.0]}, sequence=sequence))
    robot._link.send(b"hello")
    robot._link.send(STATES.pack({"q": [0.0, 0.0]}, sequence=9)[:-8])
    robot._link.send(STATES.pack({"q": [8.0, 0.0]}, sequence=8))
    seen, end = None, time.monotonic() + 10
    while lab.counts.received < 4 and time.monotonic() < end:
        seen = lab.receive(0.1) or seen
    assert seen is not None
    assert seen.values["q"][0] == 8.0
    assert lab.counts == WireCounts(4, 4, 2, 1, 1, 0, 0)


def test_a_robot_gives_the_ticks_over_a_wire(pair: tuple[Wire, Wire]) -> None:
    """Its frames are the ticks: each is run or missed, and its silence is an input."""
    lab, robot = pair
    loop = PacedLoop(
        session(),
        clock=lab,
        timeout=0.25,
        reads=[Reads(lab, FIELDS, tick="law.tick")],
        writes=[Writes(lab, CHANNELS)],
        tells={"timeouts": "law.timeouts"},
    )
    with loop:
        with pytest.raises(Error, match="in use"):
            lab.close()
        for tick in (*range(10, 60), 63, 64):
            robot.send({"q": [tick, -tick]}, tick=tick)
            answer = robot.receive(10.0)
            while answer is not None and answer.values["u"][0] != -3.0 * tick:
                answer = robot.receive(10.0)
            assert answer is not None, "the loop does not follow its robot"
        end = time.monotonic() + 10
        while loop.latest()["law.silent"] < 1 and time.monotonic() < end:
            time.sleep(0.01)
    counted = loop.counters
    assert counted.missed == 3
    assert counted.timeouts >= 1
    assert counted.due == 64 - 10 + 1
    assert lab.counts.sent == counted.total
    assert lab.counts.unsent == 0
    tape, samples = loop.tape(), loop.samples()
    assert np.array_equal(replay(session(), tape).samples.values, samples.values)


def test_a_wire_without_a_listener_counts_what_it_cannot_send(pair: tuple[Wire, Wire]) -> None:
    lab, robot = pair
    robot.close()
    loop = PacedLoop(session(), clock="virtual", writes=[Writes(lab, CHANNELS)])
    loop.go_to(50)
    assert lab.counts.sent + lab.counts.unsent == loop.counters.total
    assert lab.counts.unsent >= 10


def test_what_is_no_wire_is_refused(tmp_path: Path) -> None:
    one, other = unix()
    with other, pytest.raises(Error, match="too large for a datagram"):
        Wire(one, inward=Record("image", Field("pixels", shape=(9000,))))
    with one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lonely:
        with pytest.raises(Error, match="no peer"):
            Wire(lonely, inward=STATES)
        with socket.socket() as stream, pytest.raises(Error, match="takes datagrams"):
            Wire(stream, inward=STATES)
        with Wire(one, outward=COMMANDS) as wire, pytest.raises(Error, match="nothing comes in"):
            PacedLoop(session(), reads=[Reads(wire, FIELDS)])
