"""Processes of the bench of the server: a cell with an echo beside it, or a client that watches."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

from linkwright.server.access import ROOT
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import whole_system
from linkwright.server.client import connect
from linkwright.server.host import CellHost
from linkwright.server.running import RunningCell
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings


def serve(ended: threading.Event) -> None:
    """Run the cell that ships, with simulated arms, by the clock on the wall."""
    cell = read_cell("cell1")
    settings = RunSettings(1e6, 1 / cell.rate, "semi-implicit", every=0)
    running = RunningCell(cell, PacedLoop(session_of(whole_system(cell), settings)[0]))

    def echo(query: Any) -> None:
        with query:
            query.reply(query.key_expr, query.payload)

    with running.loop, CellHost(running) as host:
        host._network.session.declare_queryable(f"{ROOT}/echo", echo)
        print("ready", flush=True)
        ended.wait()


def watch(ended: threading.Event) -> None:
    """See every state that comes."""
    with connect("cell1", rate=1e9) as cell:
        first, start = cell.states.count, time.monotonic()
        print("ready", flush=True)
        ended.wait()
        print(round((cell.states.count - first) / (time.monotonic() - start)), flush=True)


if __name__ == "__main__":
    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    {"cell": serve, "watch": watch}[sys.argv[1]](done)
