"""A live cell: real processes and signals; what stops, by ticks in the device's own log."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwright.recording import Recording
from linkwright.recording.journal import recovered
from linkwright.server.cell import CAUSES
from linkwright.server.face import LIVES, Command
from linkwright.server.live import LiveCell
from linkwright.server.recorded import replay_cell
from linkwright.simulation.recorder import Target

LIMIT = 30.0
"""s, of every wait."""


def until(happens: Callable[[], bool]) -> None:
    """Wait until something happens."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.005)


def life(cell: LiveCell) -> str:
    return LIVES[int(cell.latest().values["plane.life"])]


def cause(cell: LiveCell) -> str:
    return CAUSES[int(cell.latest().values["plane.cause"])]


def enable(cell: LiveCell, first: int = 1) -> None:
    cell.beat("plane", 7, 5.0)
    cell.command("plane", Command("clear", first))
    cell.command("plane", Command("enable", first + 1))
    until(lambda: life(cell) == "active")


def heard(cell: LiveCell, name: str) -> float:
    """Return an input of the loop."""
    stood = cell.loop.latest()
    return float(stood.w[[s.name for s in stood.phases.w].index(name)])


def log(cell: LiveCell) -> Recording:
    return recovered(cell.log)


@pytest.fixture
def cell() -> Iterator[LiveCell]:
    with LiveCell("axes2") as found:
        until(lambda: life(found) == "inactive")
        yield found


def test_a_live_session_with_stops_is_replayed_bit_for_bit(tmp_path: Path) -> None:
    """Commands, a button, a halt and silence; then the same bits from the tape."""
    path = tmp_path / "cell.parquet"
    with LiveCell("axes2", record=Target(path)) as cell:
        until(lambda: life(cell) == "inactive")
        enable(cell)
        cell.command("plane", Command("joints", 3, (0.0, 0.5)))
        until(lambda: cell.latest().values["plane.done"] == 3)
        os.kill(cell.device.pid, signal.SIGUSR1)
        until(lambda: cause(cell) == "button")
        os.kill(cell.device.pid, signal.SIGUSR2)
        until(lambda: heard(cell, "plane_supervisor.button") == 0)
        enable(cell, 4)
        cell.halt("test")
        until(lambda: cause(cell) == "halt")
        enable(cell, 6)
        cell.beat("plane", 8, 0.05)
        until(lambda: cause(cell) == "silence")
    found = replay_cell(path)
    assert found.difference == ""
    assert len(found.recording) == len(found.again) > 100
    seen = set(found.recording["plane_supervisor.cause"])
    assert {CAUSES.index(x) for x in ("button", "halt", "silence")} <= seen


def test_a_device_that_is_killed_is_panic(cell: LiveCell) -> None:
    """Check 16: unplugged, noticed by the loop in its ticks."""
    enable(cell)
    os.kill(cell.device.pid, signal.SIGKILL)
    until(lambda: life(cell) == "fault")
    assert cause(cell) == "device"
    assert cell.loop.counters.timeouts >= round(cell.cell.heartbeat * cell.rate / 5)


def test_a_server_that_stops_is_panic_of_the_device_in_its_own_ticks(cell: LiveCell) -> None:
    """Check 16: the heartbeat of the loop stays away; the device's own log counts the ticks."""
    enable(cell)
    cell.loop.stop()  # as a stopped server: nothing beats any more
    until(lambda: log(cell)["plane_card.panicked"][-1] == 1)
    told = log(cell)
    missing = told["plane_card.missing"]
    first = int(np.argmax(told["plane_card.panicked"] == 1))
    allowed = {round(x * cell.rate) for x in (cell.cell.heartbeat, cell.cell.relaxed)}
    assert missing[first] - 1 in allowed
    assert missing[first - 1] == missing[first] - 1
    assert not told["plane_card.flowing"][first:].any()
    assert told["plane_card.closed"][first:].all()
    assert not told["plane_card.closed"][first - 1]
