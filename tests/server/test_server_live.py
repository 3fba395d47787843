"""A live cell: its loop, its device in another process, and the replay of all that happened."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.models.rerun import rerun
from linkwright.recording import Recording, read_recording
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell
from linkwright.server.face import LIVES, Command
from linkwright.server.live import PATIENCE, LiveCell
from linkwright.simulation.pacing import tape_of
from linkwright.simulation.recorder import Target
from tests.seeds import seldom

pytestmark = pytest.mark.realtime

LIMIT = 60.0
"""s, of every wait."""


def until(happens: Callable[[], bool], what: str) -> None:
    """Wait until something happens."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < end, f"it has not happened: {what}"
        time.sleep(0.005)


def _signal(cell: LiveCell, number: int) -> None:
    """Send a signal to the device of a cell."""
    assert cell.device is not None
    os.kill(cell.device.pid, number)


class Session:
    """A live cell, and what is asked of it."""

    def __init__(self, cell: LiveCell) -> None:
        self.cell, self.sequence = cell, 0
        self.is_("life", "inactive")

    def is_(self, word: str, wanted: str) -> None:
        names = LIVES if word == "life" else CAUSES
        until(
            lambda: names[int(self.cell.latest().values[f"plane.{word}"])] == wanted,
            f"{word} {wanted}",
        )

    def ask(self, kind: str, *values: float) -> int:
        self.sequence += 1
        self.cell.command("plane", Command(kind, self.sequence, values))
        return self.sequence

    def enable(self) -> None:
        self.cell.beat("plane", 7, 30.0)
        self.ask("clear")
        self.ask("enable")
        self.is_("life", "active")

    def heard(self, name: str) -> float:
        """Return an input of the loop."""
        stood = self.cell.loop.latest()
        return float(stood.w[[s.name for s in stood.phases.w].index(name)])


def _check_missed_instants(cell: LiveCell) -> None:
    """Stop the device for a while: every instant of its clock is run, or a missed tick."""

    def first() -> float:
        """Return when the first instant was, by those that were counted since, in ticks."""
        values = (frame := cell.latest()).values
        total, silent, missed = (values[f"cell.{x}"] for x in ("total", "timeouts", "missed"))
        return float(frame.clock * 1e-9 * cell.rate - (total - silent + missed))

    before, began = first(), cell.latest().values
    _signal(cell, signal.SIGSTOP)
    until(lambda: cell.latest().values["cell.timeouts"] >= began["cell.timeouts"] + 40, "silence")
    _signal(cell, signal.SIGCONT)
    until(lambda: cell.latest().values["cell.missed"] >= began["cell.missed"] + 150, "missed")
    assert min(abs(first() - before) for _ in range(20)) < 25, "in ticks, of some 200"


def test_a_live_session_with_every_stop_is_replayed_bit_for_bit(tmp_path: Path) -> None:
    """Check 16: button, halt, silence while Python stalls, device killed; then the same bits.

    Before anybody moves the arm its device misses instants, which are missed ticks of the cell.
    """
    path = tmp_path / "cell.parquet"
    with LiveCell("axes2", record=Target(path)) as cell:
        run = Session(cell)
        _check_missed_instants(cell)
        run.enable()
        moved = run.ask("joints", 0.0, 0.5)
        until(lambda: cell.latest().values["plane.done"] == moved, "done")
        for knot in ((0.0, 0.0, 0.5), (0.3, 0.02, 0.48), (0.6, 0.0, 0.5)):
            run.ask("knot", *knot)
        timed = run.ask("trajectory", 3.0)
        until(lambda: cell.latest().values["plane.done"] == timed, "the trajectory")
        _signal(cell, signal.SIGUSR1)
        run.is_("cause", "button")
        _signal(cell, signal.SIGUSR2)
        until(lambda: run.heard("plane_supervisor.button") == 0, "released")
        run.enable()
        cell.halt("a test")
        run.is_("cause", "halt")
        run.enable()
        cell.beat("plane", 8, 0.1)
        before = cell.loop.counters.due
        ctypes.PyDLL(None).usleep(500_000)  # holds the lock of the interpreter
        assert cell.loop.counters.due - before >= 200  # and the loop goes on
        run.is_("cause", "silence")
        run.enable()
        _signal(cell, signal.SIGKILL)
        run.is_("cause", "device")
        run.is_("life", "fault")
        assert cell.loop.counters.timeouts >= round(cell.cell.heartbeat * cell.rate / PATIENCE)
        assert not cell.latest().values["plane.current"].any()
        lines: list[str] = []
        last = run.heard("plane_supervisor.device")

        def anew() -> bool:
            lines.extend(cell.look())
            return run.heard("plane_supervisor.device") not in (0, last)

        until(anew, "another device")
        assert lines == ["the device has ended (exit status -9); it is started anew in 0.5 s"]
        run.enable()
        moved = run.ask("joints", 0.0, 0.5)
        until(lambda: cell.latest().values["plane.done"] == moved, "done with another device")
    assert (tmp_path / "cell.device.2.journal").exists()
    found = rerun(path)
    assert found.difference is None
    recording = read_recording(path)
    assert len(recording) == found.samples > 300
    cause, life = (recording[f"plane_supervisor.{x}"] for x in ("cause", "life"))
    for word in ("button", "halt", "silence", "device"):
        first = int(np.argmax(cause == CAUSES.index(word)))
        assert cause[first] == CAUSES.index(word), word
        assert life[first] == LIVES.index("active" if word == "silence" else "fault"), word
    silent = int(np.argmax(cause == CAUSES.index("silence")))
    beats = [c.tick for c in tape_of(recording) if c.name == "plane_supervisor.beats"]
    assert silent - max(tick for tick in beats if tick <= silent) == round(0.1 * 500) + 1
    assert recording["plane_supervisor.holder"][silent] == 0


def test_a_recording_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    for about, words in (({}, "cannot be run again"), ({"cell": 1}, "not the recording of a cell")):
        Recording([0.0, 1.0], [], np.zeros((2, 0)), about).save(path)
        with pytest.raises(lw.Error, match=words):
            rerun(path)


@seldom(
    daily="tests/simulation/test_hardware.py::test_a_device_process_serves_windows_and_when_killed_is_a_fault"
)
def test_behind_windows_is_whoever_writes_them_and_may_come_back(tmp_path: Path) -> None:
    """A device that somebody else starts, kills and starts again."""
    file, folder = tmp_path / "cell.toml", tmp_path / "device"
    model, given = 'model = "servo-arm"', 'hardware = {kind = "window", folder = "device"}'
    file.write_text(read_cell("axes2").text.replace(model, f"{model}\n{given}"))
    command = [sys.executable, "-m", "linkwright.server.device", str(file), str(folder)]
    devices: list[subprocess.Popen[bytes]] = []
    folder.mkdir()
    try:
        devices.append(subprocess.Popen(command))
        with LiveCell(file) as cell:
            assert cell.device is None
            session = Session(cell)
            session.enable()
            moved = session.ask("joints", 0.0, 0.3)
            until(lambda: cell.latest().values["plane.done"] == moved, "done")
            devices[0].kill()
            devices[0].wait()
            session.is_("life", "fault")
            session.is_("cause", "device")
            devices.append(subprocess.Popen(command))

            def again() -> bool:
                session.ask("clear")
                session.ask("enable")
                time.sleep(0.3)
                return LIVES[int(cell.latest().values["plane.life"])] == "active"

            until(again, "active with a new device")
        assert not list(folder.glob("*.journal"))  # nobody asked for a log
    finally:
        for device in devices:
            device.kill()
            device.wait()


def test_arms_of_other_hardware_are_refused_with_what_to_do() -> None:
    text = read_cell("cell1").text
    for first, second, message in (
        ('"replay"', '"replay"', r"arm\[0\].hardware.*linkwright rerun"),
        ('"python"', '"python"', "name its window"),
        ('"windw"', '"windw"', "did you mean 'window'"),
        ('"window"', '"window"', "window hardware has no folder"),
        ('"simulated"', '{kind = "window", folder = "x"}', r"arm\[1\].hardware.*'ref' has other"),
    ):
        made = text.replace('model = "puma560"', f'model = "puma560"\nhardware = {first}')
        made = made.replace('model = "ref6"', f'model = "ref6"\nhardware = {second}')
        with pytest.raises(InputError, match=message):
            read_cell(made)
