"""A long run of a cell with clients on the network, then kill -9: nothing is lost, nothing grows.

``python -m bench.soak`` runs for 10 minutes; ``python -m bench.soak 20`` for 20 s, in which memory
is not judged. Printed are
ticks run, missed and due, memory and descriptors of the server over time, and what its journal
replays to. It ends with 1 where ticks do not add up, memory grows by more than 2 MB after the first
minute, descriptors change, or the journal does not replay.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from linkwright.recording.journal import recovered
from linkwright.server.client import connect
from linkwright.server.recorded import replay_cell
from linkwright.server.registry import VARIABLE

SECONDS = 600.0
CLIENTS = 4
GROWTH = 2e6  # bytes, after the first minute
_WARM = 60.0  # s


def memory(pid: int) -> int:
    """Return the resident memory of a process, bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def descriptors(pid: int) -> int:
    """Return how many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def main(seconds: float = SECONDS) -> int:
    """Run the soak; return 0 where all is well."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ[VARIABLE] = folder
        path = Path(folder) / "soak.parquet"
        command = [sys.executable, "-m", "linkwright", "serve", "cell1"]
        command += ["--listen", "tcp/127.0.0.1:0", "--record", str(path)]
        began = time.monotonic()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(server.wait)
        stack.callback(server.kill)
        assert server.stdout is not None
        print(server.stdout.readline().strip(), f"(ready in {time.monotonic() - began:.1f} s)")
        cells = [stack.enter_context(connect("cell1", rate=1000.0)) for _ in range(CLIENTS)]
        first = [cells[0].frame.values[f"cell.{x}"] for x in ("total", "missed")]
        started = time.monotonic()
        faults += _watch(server.pid, seconds)
        values = cells[0].frame.values
        total, missed = (values[f"cell.{x}"] for x in ("total", "missed"))
        due = round((time.monotonic() - started) * 1000)
        ran = total + missed - sum(first)
        print(f"{total:.0f} ticks run, {missed:.0f} missed; {ran:.0f} of about {due} due")
        if abs(ran - due) > 200 + 1e-3 * due:
            faults.append(f"{ran:.0f} ticks run and missed, where about {due} were due")
        server.send_signal(signal.SIGKILL)
        server.wait()
        journal = path.with_name(path.name + ".journal")
        rows = len(recovered(journal))
        found = replay_cell(journal)
        print(f"killed; the journal has {rows} ticks: {found.difference or 'the same bits'}")
        if found.difference or rows < total - 100:
            faults.append("the journal is not whole")
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


def _watch(pid: int, seconds: float) -> list[str]:
    """Let clients look while time goes by; return what grew."""
    start, warm, opened = time.monotonic(), 0, 0
    while (gone := time.monotonic() - start) < seconds:
        time.sleep(min(10.0, seconds / 4))
        opened = opened or descriptors(pid)
        warm = warm or (memory(pid) if gone >= _WARM else 0)
        print(f"{gone:6.0f} s: {memory(pid) / 1e6:.1f} MB, {descriptors(pid)} files open")
    faults = []
    if warm and memory(pid) - warm > GROWTH:
        faults.append(f"memory grew by {(memory(pid) - warm) / 1e6:.1f} MB")
    if opened and descriptors(pid) != opened:
        faults.append(f"{opened} files were open, now {descriptors(pid)} are")
    return faults


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
