"""A cell on the network: how soon a command shows, what states cost, and ten thousand bad frames.

The cell and its clients are processes of their own. Beside a command stands the bare echo of zenoh
in Python, of as many bytes, between the same two processes, in turns with it: a command cannot show
before it has gone there and back, and before a tick has taken it up.

`BENCH_SHORT=1` takes a tenth of all counts.
"""

from __future__ import annotations

import math
import os
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Row
from linkwright.robots import Robot
from linkwright.server.access import ROOT
from linkwright.server.cell_file import read_cell
from linkwright.server.client import RemoteCell, connect
from linkwright.server.face import Command, RefusedError
from linkwright.server.hand import ArmHand, StoppedError
from linkwright.server.messages import command_record, pack_command
from linkwright.server.registry import VARIABLE
from linkwright.windows.records import Frame

TITLE = "a cell on the network, 1 kHz, 12 axes"
SHORT = 10 if os.environ.get("BENCH_SHORT") else 1
COMMANDS = 1000 // SHORT
CLIENTS = 4
WATCHED = 5.0  # s
FRAMES = 10_000 // SHORT
SETPOINTS = int(os.environ.get("BENCH_SETPOINTS", 300 // SHORT))  # 10,000 take an hour
READY = 900.0  # s, in which a process must be ready; without a cache the cell is derived first
REACHED = 0.005  # A
SILENCE = 5.0


def run() -> list[Row]:
    """Serve a cell from a process of its own, command it and watch it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ[VARIABLE] = folder
        process = stack.enter_context(_process("cell", folder))
        with connect("cell1", rate=1e9) as cell:
            with cell.arm("puma").command(silence=SILENCE) as hand:
                _enable(hand)
                rows = _latency(*_commands(cell, hand), 1.0 / cell.rate)
                rows += _damaged(cell, hand)
            cell.follow(1.0)
            with cell.arm("puma").command(silence=SILENCE, local=True) as hand:
                _enable(hand)
                rows += _through_windows(_commands(cell, hand)[0], 1.0 / cell.rate)
                rows += _setpoints(hand, folder)
        rows += _states(process, folder)
    return rows


def _enable(hand: ArmHand) -> None:
    """Enable an arm, after a fault too: a machine may be so busy that the device misses beats."""
    for _ in range(20):
        try:
            if hand.arm.state.life == "fault":
                hand.clear()
            hand.enable()
            return
        except (RefusedError, StoppedError):
            time.sleep(0.2)
    raise RuntimeError("this machine is too busy for the device")


def _taken(cell: RemoteCell, sequence: int) -> bool:
    """Wait for the state that shows a command; False where none came."""
    return cell.states.wait(lambda f: f.values["puma.taken"] >= sequence, 5.0)


def _commands(cell: RemoteCell, hand: ArmHand) -> tuple[list[float], list[float]]:
    """Time commands until the state that shows them, in turns with echoes of as many bytes."""
    record = command_record(hand.arm.face)
    value = hand.arm.face.parameters["kp.1"]
    payload, session = bytes(record.size), cell._network.session
    chance = random.Random(1)
    shown, echoes = [], []
    for turn in range(COMMANDS + 50):
        time.sleep(chance.uniform(0.001, 0.003))  # at any place between two ticks
        start = time.perf_counter()
        try:
            given = hand.set("kp.1", value)
        except (RefusedError, StoppedError):
            _enable(hand)
            continue
        taken = _taken(cell, given.sequence)
        seconds = time.perf_counter() - start
        time.sleep(chance.uniform(0.001, 0.003))
        start = time.perf_counter()
        session.get(f"{ROOT}/echo", payload=payload).recv()
        echo = time.perf_counter() - start
        if turn >= 50 and taken:
            shown.append(seconds)
            echoes.append(echo)
    return shown, echoes


def _latency(shown: list[float], echoes: list[float], tick: float) -> list[Row]:
    half, most = statistics.median(echoes), float(np.percentile(echoes, 99))
    note = f"{len(shown)} commands; bare echo {half * 1e3:.2f} ms and {most * 1e3:.2f} ms"
    last = float(np.percentile(shown, 99))
    return [
        Row(
            "command to the state that shows it, median",
            statistics.median(shown),
            "s",
            bar=1.5 * (half + tick),
            note=f"{note}; bar: 1.5 x (echo + tick)",
        ),
        Row(
            "the same, 99 %, beside 99 % of echoes",
            last,
            "s",
            bar=2.0 * (most + tick),
            note="bar: 2 x (99 % of echoes + tick)",
        ),
        Row(
            "the same, 99 %, beside the median of echoes",
            last,
            "s",
            bar=2.0 * (half + tick),
            note="bar: 2 x (median of echoes + tick)",
        ),
    ]


def _through_windows(shown: list[float], tick: float) -> list[Row]:
    return [
        Row(
            "command through a window to the state that shows it, 99 %",
            float(np.percentile(shown, 99)),
            "s",
            bar=2.0 * tick,
            note=f"median {statistics.median(shown) * 1e3:.2f} ms; bar: two ticks",
        )
    ]


def _setpoints(hand: ArmHand, folder: str) -> list[Row]:
    """Time set-points from here to the first current of the device that follows them.

    The arm stands, is told to go to a pose 50 mm up or down, and is stopped as soon as it has
    begun. The currents of all ticks come from the device's own window, in a process that does
    nothing else.
    """
    robot = Robot(read_cell("cell1").arms[0].mechanism)
    here = np.array(robot.pose(hand.arm.state.q, "tool"))
    sent, faults = [], 0
    with _process("currents", folder) as watcher:
        for turn in range(SETPOINTS):
            goal = here.copy()
            goal[2, 3] += 0.05 * (-1) ** turn
            start = time.monotonic_ns()
            try:
                hand.pose(goal)
                sent.append(start)
                time.sleep(0.02)
                stopped = hand.stop().sequence
                hand.arm.cell.states.wait(partial(_stands, hand, stopped), 2.0)
            except (RefusedError, StoppedError):  # the machine was too busy for the device
                faults += 1
                break
            time.sleep(0.05)  # until the currents are still
        watcher.terminate()
        watcher.wait(30.0)
    rows = np.load(Path(folder) / "currents.npy")
    clocks, currents = rows[:, 0], rows[:, 1:]
    took = []
    for start in sent:
        first = int(np.searchsorted(clocks, start))
        after = currents[first : first + 100]
        moved = np.abs(after - currents[first - 1]).max(axis=1) > REACHED
        if moved.any():
            took.append((clocks[first + int(np.argmax(moved))] - start) / 1e9)
    edges = [0, 2, 3, 4, 5, 6, 8, 10, 100]
    counts = np.histogram(np.array(took) * 1e3, edges)[0]
    shares = ", ".join(f"<{high} ms: {n}" for high, n in zip(edges[1:], counts, strict=True))
    return [
        Row(
            f"Cartesian set-point to current in the device, 99 % of {len(took)}",
            float(np.percentile(took, 99)) if took else math.inf,
            "s",
            bar=0.005,
            note=f"median {statistics.median(took or [0.0]) * 1e3:.2f} ms; {shares}; "
            f"{faults} stops of the device",
        )
    ]


def _stands(hand: ArmHand, sequence: int, frame: Frame) -> bool:
    state = hand.arm.state_of(frame)
    return state.taken >= sequence and not state.moving


def _damaged(cell: RemoteCell, hand: ArmHand) -> list[Row]:
    """Send frames that were damaged, over the socket: every one is refused."""
    arm, chance = hand.arm.face, random.Random(2)
    good = pack_command(
        arm, command_record(arm), Command("set", 10**6, (1.0,), name="kp.1"), hand._key, 0
    )
    refused = 0
    taken = hand.arm.state.taken
    for _ in range(FRAMES):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            bad[chance.randrange(len(bad) - 8)] ^= 1 << chance.randrange(8)
        if chance.random() < 0.3:
            del bad[chance.randrange(len(bad)) :]
        if bytes(bad) == good or _is_wake_word_only(bytes(bad), good):
            refused += 1  # unchanged after all, or where nothing is read
            continue
        try:
            cell.ask("command/puma", bytes(bad))
        except RefusedError:
            refused += 1
    same = hand.arm.state.taken == taken
    return [
        Row(
            f"of {FRAMES:,} damaged frames over a socket, refused by name",
            refused,
            "frames",
            bar=FRAMES,
            better="higher",
            note="nothing was taken" if same else "SOMETHING WAS TAKEN",
        )
    ]


def _is_wake_word_only(bad: bytes, good: bytes) -> bool:
    """Whether frames differ in the word that windows wake by, which a wire does not use."""
    return len(bad) == len(good) and bad[:56] == good[:56] and bad[64:] == good[64:]


def _states(process: subprocess.Popen[str], folder: str) -> list[Row]:
    """Count what the cell's process takes to send every state to four clients."""
    alone = _busy(process)
    with ExitStack() as stack:
        watchers = [stack.enter_context(_process("watch", folder)) for _ in range(CLIENTS)]
        load = _busy(process)
        for watcher in watchers:
            watcher.terminate()
        seen = [int((watcher.communicate()[0] or "0").split()[-1]) for watcher in watchers]
    return [
        Row(
            f"states at 1 kHz to {CLIENTS} clients, cores taken",
            load - alone,
            "1",
            bar=0.5,
            note=f"of the cell's process, beyond the {alone:.2f} of its loop; "
            f"states a second seen: {', '.join(str(n) for n in seen)}",
        )
    ]


def _busy(process: subprocess.Popen[str]) -> float:
    """How many cores a process takes."""
    ticks = os.sysconf("SC_CLK_TCK")

    def used() -> float:
        words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / ticks

    start, began = used(), time.perf_counter()
    time.sleep(WATCHED)
    return (used() - start) / (time.perf_counter() - began)


@contextmanager
def _process(what: str, folder: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.server_cell", what, folder],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], READY)
        said: Any = process.stdout.readline() if ready else "nothing"
        if said != "ready\n":
            raise RuntimeError(f"{what} did not start: {said!r}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
