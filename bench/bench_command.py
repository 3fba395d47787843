"""What the command line costs: a recorded run of the Stanford arm, and the car's sweep.

The command is started anew each time, with everything in the cache; beside it stands what the same
interpreter takes to start and to import the packages that the command cannot do without.
"""

from __future__ import annotations

import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Row

TITLE = "the command line, with a warm cache"
ROUNDS = 9
RUNS = 10_000
PACKAGES = "import numpy, llvmlite.binding, typer, pyarrow.parquet"
STUDY = f"""model = "car"
until = 5.0
step = 0.025
method = "rk4"
runs = {RUNS}
seed = 1
[parameters]
CA1 = {{ uniform = [-33000, -18000] }}
KROLL = {{ uniform = [249000, 462000] }}
SPEED = {{ uniform = [680, 1260] }}
[channels]
r = ["final", "max", "rms"]
Ay = "max"
"""


def run() -> list[Row]:
    """Time whole processes: the run, its packages alone, and the sweep."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(STUDY, encoding="utf-8")
        simulate = [
            "-m",
            "linkwright",
            "simulate",
            "stanford-arm-controlled",
            "--until",
            "10",
            "-q",
        ]
        sweep = ["-m", "linkwright", "sweep", "study.toml", "--force", "-q"]
        whole, busy = measured(simulate, folder)
        start, start_busy = measured(["-c", PACKAGES], folder)
        swept, _ = measured(sweep, folder, rounds=3)
        asked = statistics.median(first_prompt(folder) for _ in range(ROUNDS))
    note = f"median of {ROUNDS} fresh processes"
    return [
        Row("simulate stanford-arm-controlled --until 10", whole, "s", bar=1.5, note=note),
        Row("of it processor time", busy, "s"),
        Row("Python and the packages alone", start, "s", note=PACKAGES),
        Row("of it processor time", start_busy, "s"),
        Row("first prompt of the dialogue", asked, "s", bar=0.5, note="in a pseudo-terminal"),
        Row(f"sweep of the car, {RUNS:,} runs of 5 s", swept, "s", note="200 steps of rk4 each"),
    ]


def measured(words: list[str], folder: str, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the seconds that a process takes, and those of the processor; the first one warms."""
    times, loads = [], []
    for _ in range(rounds + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([sys.executable, *words], cwd=folder, check=True)
        times.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        loads.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times[1:]), statistics.median(loads[1:])


def first_prompt(folder: str) -> float:
    """Return the seconds until the dialogue asks its first question in a terminal."""
    screen, own = pty.openpty()
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "linkwright", "tools", "guide", "bench.toml"],
        stdin=own,
        stdout=own,
        stderr=own,
        cwd=folder,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(own)
    shown = b""
    while b"quit" not in shown:
        shown += os.read(screen, 4096)
    taken = time.perf_counter() - start
    process.kill()
    process.wait()
    os.close(screen)
    return taken
