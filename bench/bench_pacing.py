"""The paced loop against a bare loop in C that sleeps to absolute times, in alternating slices.

Both have real-time priority where the system gives it, at 1 kHz; once alone, and once while a
thread of this Python computes without a pause. A tick is lost where its instant has passed by a
whole period.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.measure import Row
from linkwright.simulation.pacing.latency import loop_latency

TITLE = "pacing: lateness at 1 kHz against a bare loop in C"
RATE = 1000
SLICE = 1  # s
ROUNDS = 15
BEHIND = 1.5  # times the lateness of the bare loop
LOST = 1e-4  # share of ticks beyond those that the bare loop loses

_SOURCE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int count, char **words) {
    long long period = 1000000000LL / atoll(words[1]), events = atoll(words[2]), seen = 0;
    long long *late = malloc(events * sizeof *late), next, missed = 0;
    struct sched_param wanted = {.sched_priority = 40};
    if (count < 3 || !late) return 1;
    for (long long i = 0; i < events; i++) late[i] = 0;
    sched_setscheduler(0, SCHED_FIFO, &wanted);
    next = now() + period;
    while (seen + missed < events) {
        struct timespec t = {next / 1000000000LL, next % 1000000000LL};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        long long behind = now() - next, passed = behind / period;
        missed += passed;
        next += passed * period;
        if (seen < events) late[seen++] = behind - passed * period;
        next += period;
    }
    fwrite(&missed, sizeof missed, 1, stdout);
    fwrite(late, sizeof *late, seen, stdout);
    return 0;
}
"""


def run() -> list[Row]:
    """Measure both, alone and beside a thread that computes."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = bare_program(Path(folder))
        rows += compared(program, "alone")
        with spinning():
            rows += compared(program, "beside a Python thread that computes")
    return rows


def bare_program(folder: Path) -> Path:
    """Compile the bare loop; return where it is."""
    source, program = folder / "bare.c", folder / "bare"
    source.write_text(_SOURCE)
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


def bare_slice(program: Path, rate: int, events: int) -> tuple[int, NDArray[np.float64]]:
    """Let the bare loop run; return how many it missed, and how late the others were, s."""
    words = [str(program), str(rate), str(events)]
    done = subprocess.run(words, capture_output=True, check=True).stdout
    numbers = np.frombuffer(done, np.int64)
    return int(numbers[0]), 1e-9 * numbers[1:].astype(float)


def compared(program: Path, how: str) -> list[Row]:
    """Return the rows of one comparison."""
    events = RATE * SLICE
    ours, bare = [], []
    lost = [0, 0]
    rights = ""
    for _ in range(ROUNDS):
        made = loop_latency(RATE, events)
        ours.append([made.counters.percentile(50), made.counters.percentile(99)])
        lost[0] += made.counters.missed
        rights = "real-time" if made.rights.priority else "no real-time priority"
        missed, late = bare_slice(program, RATE, events)
        lost[1] += missed
        bare.append(np.percentile(late, [50, 99]))
    rows = []
    for place, word in ((0, "50 %"), (1, "99 %")):
        mine, peer = (float(np.median([pair[place] for pair in found])) for found in (ours, bare))
        note = f"C {1e6 * peer:.0f} µs, {rights}, {ROUNDS} slices of {SLICE} s each"
        rows.append(Row(f"lateness at {word}, {how}", mine, "s", BEHIND * peer, note=note))
    share = lost[0] / (events * ROUNDS)
    most = lost[1] / (events * ROUNDS) + LOST
    note = f"{lost[0]} of {events * ROUNDS}, C {lost[1]}"
    rows.append(Row(f"ticks lost, {how}", share, "1", most, note=note))
    return rows


@contextmanager
def spinning() -> Iterator[None]:
    """Let a thread of this Python compute all the time."""
    end = threading.Event()

    def spin() -> None:
        n = 0
        while not end.is_set():
            n += 1

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
