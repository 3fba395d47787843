"""Processes of the bench of the server: a cell with an echo beside it, and some that watch."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.server.access import ROOT
from linkwright.server.cell_file import read_cell
from linkwright.server.client import connect
from linkwright.server.device import STATES, states_record
from linkwright.server.host import CellHost, quick_switches
from linkwright.server.live import LiveCell
from linkwright.windows import Window


def serve(ended: threading.Event, folder: str) -> None:
    """Run the cell that ships, its simulated hardware in a process of its own."""

    def echo(query: Any) -> None:
        with query:
            query.reply(query.key_expr, query.payload)

    with (
        quick_switches(),
        LiveCell("cell1", folder=Path(folder)) as cell,
        CellHost(cell) as host,
    ):
        host._network.session.declare_queryable(f"{ROOT}/echo", echo)
        print("ready", flush=True)
        ended.wait()


def watch(ended: threading.Event, _: str) -> None:
    """See every state that comes."""
    with connect("cell1", rate=1e9) as cell:
        first, start = cell.states.count, time.monotonic()
        print("ready", flush=True)
        ended.wait()
        print(round((cell.states.count - first) / (time.monotonic() - start)), flush=True)


def currents(ended: threading.Event, folder: str) -> None:
    """Keep the currents of every tick of the device, and write them down at the end."""
    rows = []
    with Window.open(Path(folder) / STATES, states_record(read_cell("cell1"))) as window:
        print("ready", flush=True)
        while not ended.is_set():
            if window.wait(0.1):
                frame = window.read()
                rows.append((frame.clock, *frame.values["puma.current"]))
    np.save(Path(folder) / "currents.npy", np.array(rows))


if __name__ == "__main__":
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    {"cell": serve, "watch": watch, "currents": currents}[sys.argv[1]](done, sys.argv[2])
