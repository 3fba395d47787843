"""How late a laboratory's loop is at 960 Hz, beside a bare loop in C in the same seconds.

sl-arm drives a fake robot in a process of its own; both loops have real-time priority where the
system gives it. `LAB_SECONDS` in the environment is how long each comparison takes, 15 by default.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.bench_pacing import BEHIND, LOST, bare_program, bare_slice, spinning
from bench.lab_soak import driving, since
from bench.measure import Row
from linkwright.lab.lab import Lab

SECONDS = float(os.environ.get("LAB_SECONDS", "15"))


def bench_pacing() -> list[Row]:
    """Return the rows of lateness, alone and beside a thread that computes."""
    if sys.platform != "linux":
        return []
    rows = []
    with tempfile.TemporaryDirectory() as folder, driving() as lab:
        program = bare_program(Path(folder))
        rows += _compared(lab, program, "alone")
        with spinning():
            rows += _compared(lab, program, "beside a Python thread that computes")
    return rows


def _compared(lab: Lab, program: Path, how: str) -> list[Row]:
    """Return the rows of one comparison: both loops at the same time, in slices."""
    rate = round(1 / lab.period)
    slices = max(1, round(SECONDS))
    ours, bare, lost, due = [], [], [0, 0], 0
    for _ in range(slices):
        before = lab.loop.counters
        missed, late = bare_slice(program, rate, rate)
        made = since(lab.loop.counters, before)
        ours.append([made.percentile(50), made.percentile(99)])
        bare.append(np.percentile(late, [50, 99]))
        lost[0] += made.missed
        lost[1] += missed
        due += made.due
    rights = "real-time" if lab.loop.rights.priority else "no real-time priority"
    rows = []
    for place, word in ((0, "50 %"), (1, "99 %")):
        mine, peer = (float(np.median([pair[place] for pair in found])) for found in (ours, bare))
        note = f"C {1e6 * peer:.0f} µs, {rights}, {slices} s, the same ones"
        what = f"lateness of sl-arm's loop at {rate} Hz, {word}, {how}"
        rows.append(Row(what, mine, "s", BEHIND * peer, note=note))
    most = lost[1] / (rate * slices) + LOST
    note = f"{lost[0]} of {due}, C {lost[1]}"
    rows.append(Row(f"ticks lost of sl-arm's loop, {how}", lost[0] / due, "1", most, note=note))
    return rows
