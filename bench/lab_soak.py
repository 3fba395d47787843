"""A long run of a laboratory by the clock: missed ticks, lateness, drift against the clock, memory.

``make soak MINUTES=60`` or ``python -m bench.lab_soak --minutes 60``: sl-arm at 960 Hz drives a
fake robot in a process of its own, with a task; with ``--simulated`` its robot is simulated in it.
A line a minute is printed. It ends with 1 where the ticks run and missed are not those that the
clock has had, memory grows by more than 2 MB after the first minute, or the laboratory is stopped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from typing import Any

from bench.soak import memory
from linkwright.lab import Task, sin
from linkwright.lab.lab import Lab
from linkwright.simulation.pacing.counters import Counters

SOURCE = "sl-arm"
GROWTH = 2e6  # bytes, after the first minute
DRIFT = 2.0  # ticks
_PERCENT = (50, 99, 99.9, 100)


class Sway(Task):
    """Joints that sway a little about where they are."""

    native = True

    def init(self, lab: Any) -> bool | None:
        """Take where they are wanted."""
        self.middle = lab.desired.q.copy()
        return None

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Sway."""
        desired.q = self.middle + 0.02 * sin(2 * t)


@contextmanager
def driving(source: str = SOURCE, *, simulated: bool = False) -> Iterator[Lab]:
    """Give a laboratory that follows the clock, with a task.

    Args:
        source: of the laboratory.
        simulated: whether its robot is simulated in it, not in a process of its own.
    """
    if simulated:
        with Lab(source) as lab:
            lab.pace(1)
            lab.start(lab.add(Sway)[0])
            yield lab
        return
    place = f"shm://soak-{os.getpid()}"
    command = [sys.executable, "-m", "linkwright", "lab", "fake-robot", source, "--listen", place]
    robot = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert robot.stdout is not None
        url = robot.stdout.readline().strip()
        with Lab(source, driver=url) as lab:
            lab.start(lab.add(Sway)[0])
            yield lab
    finally:
        robot.terminate()  # jobs in the background hand on that Ctrl-C is ignored
        robot.communicate(timeout=60)


def since(now: Counters, before: Counters) -> Counters:
    """Return what was counted from one moment to another; the worst is that of its bucket."""
    found = replace(
        now,
        total=now.total - before.total,
        missed=now.missed - before.missed,
        overrun=now.overrun - before.overrun,
        histogram=now.histogram - before.histogram,
    )
    return replace(found, worst=found.percentile(100))


def instant(lab: Lab, looks: int = 20) -> float:
    """Return when the tick zero would have been by the ticks run and missed since, s.

    It is the median of some looks, and stays the same where nothing drifts.
    """
    loop = lab.loop
    found: list[float] = []
    while len(found) < looks:
        missed = loop.counters.missed
        row = loop.latest()
        if loop.counters.missed == missed:
            found.append(1e-9 * row.clock - (row.tick + missed) * float(lab.period))
        time.sleep(0.003)
    return median(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak; return 0 where all is well."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab_soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long")
    parser.add_argument("--simulated", action="store_true", help="no robot in another process")
    parser.add_argument("--source", default=SOURCE, help="the laboratory")
    chosen = parser.parse_args(arguments)
    faults: list[str] = []
    with driving(chosen.source, simulated=chosen.simulated) as lab:
        period, rights = float(lab.period), lab.loop.rights
        print(f"{lab.config.name} at {1 / period:g} Hz,", end=" ")
        print("real-time priority" if rights.priority else "no real-time priority")
        print("minute    ticks missed overrun  50 % us  99 %  99.9 %   worst  drift us  memory MB")
        begun, first = time.monotonic(), lab.loop.counters
        at, before, warm = instant(lab), first, 0
        end = begun + 60 * chosen.minutes
        minute = 0
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(60.0, left))
            minute += 1
            counted, resident = lab.loop.counters, memory(os.getpid())
            late = since(counted, before)
            drift = instant(lab) - at
            times = " ".join(f"{1e6 * late.percentile(p):7.0f}" for p in _PERCENT)
            print(
                f"{minute:6d} {late.total:8d} {late.missed:6d} {late.overrun:7d}  {times} "
                f"{1e6 * drift:9.1f} {resident / 1e6:10.1f}",
                flush=True,
            )
            before, warm = counted, warm or resident
            if abs(drift) > DRIFT * period:
                faults.append(f"minute {minute}: {drift / period:.1f} ticks from the clock")
            if lab.stopped is not None:
                faults.append(f"minute {minute}: stopped: {lab.stopped}")
                break
        whole = since(lab.loop.counters, first)
        grown = memory(os.getpid()) - warm
        print(f"{whole.total} ticks run, {whole.missed} missed, {whole.due} due; ", end="")
        print(f"{grown / 1e6:+.1f} MB after the first minute")
        if lab.task is None:
            faults.append("the task does not run any more")
        if minute > 1 and grown > GROWTH:
            faults.append(f"memory grew by {grown / 1e6:.1f} MB")
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
