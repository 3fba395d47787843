"""A served cell as a process: stopped, killed -9, and what its device and journal tell."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.models.rerun import rerun
from linkwright.recording import Recording
from linkwright.recording.journal import recovered
from linkwright.server.cell_file import read_cell
from linkwright.server.face import LIVES
from linkwright.server.registry import VARIABLE
from tests.support.processes import Begin, begin

pytestmark = pytest.mark.realtime

__all__ = ["begin"]

LIMIT = 60.0
"""s, of every wait."""

ROOT = Path(__file__).resolve().parents[2]


def until(happens: Callable[[], bool], what: str) -> None:
    """Wait until something happens."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < end, f"it has not happened: {what}"
        time.sleep(0.01)


def panics(log: Path) -> NDArray[np.float64]:
    return np.asarray(recovered(log)["plane_card.panicked"])


def journaled(journal: Path) -> str:
    """Return the life of the arm at the end of a journal that is being written."""
    return LIVES[int(recovered(journal)["plane_supervisor.life"][-1])]


def first_panic(told: Recording) -> int:
    """Check the first PANIC of a device's log; return its row."""
    row = int(np.argmax(told["plane_card.panicked"] == 1))
    missing, closed = told["plane_card.missing"], told["plane_card.closed"]
    cell = read_cell("axes2")
    allowed = {round(x * cell.rate) for x in (cell.heartbeat, cell.relaxed)}
    assert missing[row] - 1 in allowed  # its own ticks since the loop's last sign of life
    assert (closed[row - 1], closed[row]) == (0, 1)
    assert not told["plane_card.flowing"][row]
    return row


def test_a_server_that_is_stopped_or_killed_is_panic_of_its_device(
    tmp_path: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 16: the device's own log counts the ticks; the journal that is left replays."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))  # nobody else has a cell of that name
    path = tmp_path / "cell.parquet"
    server: subprocess.Popen[str] = begin(
        *("cell", "serve", "axes2", "--listen", "tcp/127.0.0.1:0", "--record", str(path)),
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("axes2: 1 arm, 2 axes, 500 Hz, tcp/127.0.0.1:"), line
    log, journal = tmp_path / "cell.device.journal", tmp_path / "cell.parquet.journal"
    with suppress(lw.server.LostError), lw.server.connect("axes2") as cell:
        arm = cell.arm("plane")
        until(lambda: arm.state.life == "inactive", "inactive")
        with arm.command(silence=30.0) as hand:
            hand.enable()
            until(lambda: arm.state.life == "active", "active")
            server.send_signal(signal.SIGSTOP)
            until(lambda: bool(panics(log)[-1:].any()), "PANIC of the device")
            server.send_signal(signal.SIGCONT)
            until(lambda: arm.state.life == "fault", "fault")
            assert arm.state.cause == "card"  # the loop is told by its device
            hand.clear()
            hand.enable()
            until(lambda: arm.state.life == "active", "active again")
            until(lambda: journaled(journal) == "active", "active in the journal")
            server.kill()
            server.wait(LIMIT)  # nobody is there to take the lease back
    assert server.returncode == -signal.SIGKILL
    first = first_panic(recovered(log))
    again = first + int(np.argmin(panics(log)[first:]))  # cleared
    until(lambda: bool(panics(log)[again:].any()), "PANIC of the device")
    found = rerun(journal)
    assert found.difference is None
    assert found.samples > 10
    lives = recovered(journal)["plane_supervisor.life"]
    assert lives[-1] == LIVES.index("active")
