"""Shared state of a laboratory: what a publish and a read cost from Python, and whether any tears.

Two processes for the count of torn reads: one publishes as fast as it can, one reads. The number is
`LAB_PUBLISHES` in the environment, ten million by default.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

from bench.measure import Row, interleaved
from linkwright.simulation.pacing import Mirror
from linkwright.windows import Field, Record, Window

JOINTS = 38
WITHIN = 2e-6  # s
PUBLISHES = int(os.environ.get("LAB_PUBLISHES", "10_000_000"))
STATE = Record(
    "joint_state",
    *(Field(name, "rad", shape=(JOINTS,)) for name in ("th", "thd", "thdd", "ufb", "u", "load")),
)
_WRITER = """
import sys
from linkwright.simulation.pacing import Mirror
from linkwright.windows import Record, Window
record = Record.from_text(open(sys.argv[2]).read())
with Mirror(Window.create(sys.argv[1], record)) as mirror:
    print("ready", flush=True)
    numbers, push = mirror.flat, mirror.push
    for tick in range(1, int(sys.argv[3]) + 1):
        numbers.fill(tick)
        push(tick, tick)
"""


def bench_shared() -> list[Row]:
    """Return the rows of shared state."""
    window = Window.in_memory(STATE)
    with Mirror(window) as writer, Mirror(Window.open(window.descriptor, STATE)) as reader:

        def both() -> None:
            writer.push(1)
            reader.pull()

        times = interleaved(
            {"publish": lambda: writer.push(1), "both": both}, calls=20_000, clock=process_time
        )
    what = f"shared state of {JOINTS} joints"
    pulled, torn = _torn()
    return [
        Row(f"{what}: publish", times["publish"], "s", WITHIN, "lower", "from Python"),
        Row(
            f"{what}: read", times["both"] - times["publish"], "s", WITHIN, "lower", "of a new one"
        ),
        Row(f"{what}: torn reads", torn, "1", 0, "lower", f"{PUBLISHES} publishes, {pulled} reads"),
    ]


def _torn() -> tuple[int, int]:
    """Return how many frames were read from another process, and how many were not whole."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "record").write_text(STATE.text)
        arguments = [str(folder / "state"), str(folder / "record"), str(PUBLISHES)]
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, *arguments], stdout=subprocess.PIPE, text=True
        )
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            pulled = torn = 0
            with Mirror(Window.open(folder / "state", STATE)) as mirror:
                numbers, pull = mirror.flat, mirror.pull
                while writer.poll() is None:
                    if pull() and mirror.tick:
                        pulled += 1
                        torn += int(numbers.min() != numbers.max() or numbers[0] != mirror.tick)
            return pulled, torn
        finally:
            writer.kill()
            writer.communicate()
