"""Recordings of paced runs that last for hours: ten million ticks written, read back and replayed.

The ticks are synthetic: a block at 1000 Hz that adds up its input, which changes at every tick, so
that the tape has as many rows as the samples. Each stage is a process of its own, which tells its
CPU time and the most memory it held over what it held at its start. `RECORDING_TICKS` in the
environment is the number of ticks, where ten million are too many.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.measure import Row

if TYPE_CHECKING:
    from linkwright.simulation.native.session import Session

TITLE = "long recordings of paced runs"
TICKS = int(os.environ.get("RECORDING_TICKS", "10_000_000"))
PART = 5000
MEMORY = 300.0  # MB, whatever the number of ticks


def run() -> list[Row]:
    """Write, read and replay, one after the other."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.parquet"
        for stage in STAGES:
            command = [sys.executable, "-m", "bench.bench_recordings", stage, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            told = json.loads(done.stdout)
            what, note = f"{stage} {TICKS:,} ticks", told["note"]
            rows.append(Row(f"{what}: CPU time", told["seconds"], "s", note=note))
            rows.append(Row(f"{what}: memory", told["memory"], "MB", bar=MEMORY))
        size = path.stat().st_size / TICKS
        rows.append(Row("bytes of a tick in the file", size, "B", note="time, value and change"))
    return rows


def write(path: Path) -> str:
    """Record as many ticks as if they had run; the journal is compared with the file at the end."""
    from linkwright.simulation.native.session import Samples
    from linkwright.simulation.pacing import LoopRecorder, PacedLoop
    from linkwright.simulation.recorder import Target

    live = _session()
    recorder, loop = LoopRecorder(live, Target(path)), PacedLoop(live, clock="virtual")
    place, total = live.tape_names.index("block.u"), 0.0
    for first, last in pairwise([*range(0, TICKS, PART), TICKS]):
        k = np.arange(first, last)
        u = np.where(k, 1.0 + k % 7, 0.0)
        y = total + np.cumsum(u) - u
        total = float(y[-1] + u[-1])
        new = k > 0
        changes = np.stack([k, np.full(len(k), place), u.view(np.int64)], axis=1)[new]
        recorder.take(changes, Samples(("block.y",), k / 1000, y[:, None]))
    loop.tape_end = lambda: TICKS - 1  # type: ignore[method-assign]
    recorder.finish(loop)
    if list(path.parent.glob("*.journal")):
        raise RuntimeError("the journal is still there")
    return "journal, Parquet, and both compared"


def read(path: Path) -> str:
    """Read every sample and every change, part by part."""
    from linkwright.recording.files import open_stream

    samples = changes = 0
    for part in open_stream(path).parts():
        samples += len(part.times)
        changes += len(part.changes)
    if samples != TICKS or changes < TICKS - 1:
        raise RuntimeError(f"{samples} samples and {changes} changes were read")
    return f"{samples:,} samples and {changes:,} rows of the tape"


def replay(path: Path) -> str:
    """Run it again from the tape, and compare every bit."""
    from linkwright.recording.comparison import compared
    from linkwright.recording.files import open_stream
    from linkwright.recording.streams import Stream
    from linkwright.server.recorded import replayed
    from linkwright.simulation.pacing.tape import stored_tape

    stream = open_stream(path)
    session, tape = _session(), stored_tape(stream)
    times = (part.times for part in stream.parts())
    again = Stream(stream.metadata, stream.channels, lambda: replayed(session, tape, times))
    difference = compared(stream, again).difference
    if difference is not None:
        raise RuntimeError(str(difference))
    return f"{tape.samples:,} samples, the same bits"


STAGES: dict[str, Callable[[Path], str]] = {"write": write, "read": read, "replay": replay}


def _session() -> Session:
    """Return a run that adds up its input, at 1000 Hz."""
    from linkwright.blocks import Block
    from linkwright.simulation.runs import session_of
    from linkwright.simulation.settings import RunSettings
    from linkwright.system import System

    system, block = System(name="recorded", base=1000), Block("block", rate=1000)
    n = block.discrete_state("n")
    block.update(n, n + block.input("u"))
    block.output("y", n)
    system.add(block, name="block")
    return session_of(system, RunSettings(1e7, method="rk4", every=1))[0]


def main(stage: str, path: str) -> None:
    """Do one stage, and print what it took."""
    _session()  # what is imported and compiled once does not count
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    note = STAGES[stage](Path(path))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, memory = time.process_time() - start, (after - before) / 1024
    print(json.dumps({"seconds": seconds, "memory": memory, "note": note}))


if __name__ == "__main__":
    main(*sys.argv[1:])
