"""A long run of a cell with clients that command it: nothing is lost, nothing grows.

``python -m bench.soak`` runs for 10 minutes; ``python -m bench.soak 20`` for 20 s, in which memory
is not judged. Four clients share the two arms of `cell1` and hand them to each other after a few
motions. It ends with kill -9, or with ``--interrupt`` as by Ctrl-C, where every tick is counted.
Printed are ticks run, missed and due, commands and stops of the clients, memory and descriptors of
the server over time, sizes of its files, and what its journal or recording replays to. It ends with
1 where ticks do not add up, memory grows by more than 2 MB after the first minutes, descriptors
change, a client fails, or the replay differs.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from linkwright.base.errors import Error
from linkwright.models.rerun import rerun
from linkwright.recording.journal import recovered
from linkwright.server.client import connect
from linkwright.server.face import RefusedError
from linkwright.server.hand import ArmHand, StoppedError
from linkwright.server.registry import VARIABLE

SECONDS = 600.0
ARMS = ("puma", "ref", "puma", "ref")
"""What each of the clients commands."""

GROWTH = 2e6  # bytes, after the first minutes
_WARM = 120.0  # s
_MOTIONS = 5  # until an arm is given to the next


def memory(pid: int) -> int:
    """Return the resident memory of a process, bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def descriptors(pid: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Commanding:
    """Clients in threads that move the arms of a cell in turns.

    Args:
        cell: its name.
    """

    def __init__(self, cell: str) -> None:
        self.counted: Counter[str] = Counter()
        self.faults: list[str] = []
        self._cell, self._ended = cell, threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(f"client{k}", arm))
            for k, arm in enumerate(ARMS)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let them finish."""
        self._ended.set()
        for thread in self._threads:
            thread.join(60.0)

    def _guarded(self, client: str, arm: str) -> None:
        try:
            self._work(client, arm)
        except Error as error:
            self.faults.append(f"{client}: {error}")

    def _work(self, client: str, name: str) -> None:
        with connect(self._cell, client=client, rate=100.0) as cell:
            arm, phase = cell.arm(name), 0.0
            while not self._ended.is_set():
                try:
                    with arm.command(silence=2.0) as hand:
                        if arm.state.life == "fault":
                            self.counted["clear"] += 1
                            hand.clear()
                        hand.enable()
                        phase = self._moved(hand, phase)
                except RefusedError as error:
                    if error.name != "held":
                        self.counted[f"refused: {error.name}"] += 1
                except StoppedError as error:
                    self.counted[f"stopped: {error.cause}"] += 1
                self._ended.wait(0.2)

    def _moved(self, hand: ArmHand, phase: float) -> float:
        """Move an arm about where it started, by every kind of motion."""
        joints = hand.arm.state.joints
        hand.home(speed=0.5).wait(60.0)
        for _ in range(_MOTIONS):
            phase += 0.7
            q = hand.arm.state.q.copy()
            swing = [0.05 * math.sin(phase + k) for k in range(len(joints))]
            hand.joints(q + swing, speed=0.5)
            hand.joints(q, speed=0.5, blend=0.1).wait(60.0)
            for share in (0.2, 0.4, 0.6, 0.8, 1.0):
                hand.track(q + [share * x for x in swing], speed=0.5)
                self._ended.wait(0.05)
            hand.jog({joints[-1]: 0.1})
            self._ended.wait(0.2)
            hand.stop().wait(60.0)
            self.counted["commands"] += 9
        return phase


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; return 0 where all is well."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=SECONDS, help="how long")
    parser.add_argument("--interrupt", action="store_true", help="end it as Ctrl-C does")
    given = parser.parse_args(arguments)
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ[VARIABLE] = folder
        path = Path(folder) / "soak.parquet"
        command = [sys.executable, "-m", "linkwright", "cell", "serve", "cell1"]
        command += ["--listen", "tcp/127.0.0.1:0", "--record", str(path)]
        began = time.monotonic()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(server.wait)
        stack.callback(server.kill)
        assert server.stdout is not None
        print(server.stdout.readline().strip(), f"(ready in {time.monotonic() - began:.1f} s)")
        with connect("cell1", rate=20.0) as cell:
            first = cell.frame.values
            started = time.monotonic()
            clients = Commanding("cell1")
            faults += _watch(server.pid, given.seconds, path)
            clients.end()
            values = cell.frame.values
            total, missed, silent = (
                values[f"cell.{x}"] - first[f"cell.{x}"] for x in ("total", "missed", "timeouts")
            )
            due = round((time.monotonic() - started) * 1000)
        faults += clients.faults
        told = ", ".join(f"{name} {count}" for name, count in sorted(clients.counted.items()))
        print(f"clients: {told}")
        ran = total + missed - silent
        print(f"{total:.0f} ticks run, {silent:.0f} without the device, ", end="")
        print(f"{missed:.0f} missed; {ran:.0f} of about {due} due")
        if abs(ran - due) > 200:
            faults.append(f"{ran:.0f} ticks run and missed, where about {due} were due")
        ended = _interrupted if given.interrupt else _killed
        faults += ended(server, path, int(values["cell.total"]))
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


def _journal(path: Path) -> Path:
    return path.with_name(path.name + ".journal")


def _killed(server: subprocess.Popen[str], path: Path, total: int) -> list[str]:
    """Kill a server, and replay its journal; return what is wrong."""
    server.send_signal(signal.SIGKILL)
    server.wait()
    rows = len(recovered(_journal(path)))
    found = rerun(_journal(path))
    print(f"killed; the journal has {rows} ticks: {found.difference or 'the same bits'}")
    return ["the journal is not whole"] if found.difference or rows < total - 100 else []


def _interrupted(server: subprocess.Popen[str], path: Path, total: int) -> list[str]:
    """Interrupt a server, and replay its recording; return what is wrong."""
    began = time.monotonic()
    server.send_signal(signal.SIGINT)
    told, _ = server.communicate()
    print(told.strip(), f"({time.monotonic() - began:.0f} s)")
    counted = re.search(r"(\d+) ticks, ", told)
    assert counted is not None, told
    began = time.process_time()
    found = rerun(path)
    print(
        f"recording of {path.stat().st_size / 1e6:.0f} MB; {found.samples} ticks replayed in "
        f"{time.process_time() - began:.0f} s of the processor: "
        f"{found.difference or 'the same bits'}"
    )
    whole = not found.difference and found.samples == int(counted[1]) >= total
    return [] if whole else ["the recording is not whole"]


def _watch(pid: int, seconds: float, path: Path) -> list[str]:
    """Look on while time goes by; return what grew."""
    start, warm, opened = time.monotonic(), 0, 0
    while (gone := time.monotonic() - start) < seconds:
        time.sleep(min(10.0, seconds / 4))
        if gone >= _WARM and not warm:
            warm, opened = memory(pid), descriptors(pid)
        print(
            f"{gone:6.0f} s: {memory(pid) / 1e6:.1f} MB, {descriptors(pid)} files open, journal "
            f"{_journal(path).stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    faults = []
    if warm and memory(pid) - warm > GROWTH:
        faults.append(f"memory grew by {(memory(pid) - warm) / 1e6:.1f} MB")
    if opened and descriptors(pid) != opened:
        faults.append(f"{opened} files were open, now {descriptors(pid)} are")
    return faults


if __name__ == "__main__":
    sys.exit(main())
