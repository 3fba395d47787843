"""How late instants are met: by a loop in native code, and by a thread of Python's.

The report on the motion server measured ten times 10,000 interrupts at 2 ms; the same numbers are
reported here: the mean, the share of instants below it, and the worst.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwright.base.errors import Error
from linkwright.blocks import Block
from linkwright.simulation.pacing.counters import Counters, edges
from linkwright.simulation.pacing.loop import PacedLoop
from linkwright.simulation.pacing.rights import NO_RIGHTS, Rights
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

_BAR = 40  # characters of the longest line of a histogram


@dataclass(frozen=True, slots=True, eq=False)
class Latency:
    """How late the instants of one measurement were."""

    name: str  # of what met them
    counters: Counters  # what was counted
    rights: Rights = NO_RIGHTS  # what its thread was given

    @property
    def below_mean(self) -> float:
        """The share of instants that were less late than the mean."""
        counted = self.counters.histogram
        bounds = edges()
        middles = (bounds[:-1] + bounds[1:]) / 2
        seen = int(counted.sum())
        return float(counted[middles < self.counters.mean].sum() / seen) if seen else 0.0

    def lines(self) -> list[str]:
        """Return the figures and a histogram as text."""
        counted, micro = self.counters, 1e6
        shares = ", ".join(
            f"{p:g} % within {micro * counted.percentile(p):.0f} µs" for p in (50, 90, 99, 99.9)
        )
        return [
            f"{self.name}: {counted.total} instants met, {counted.missed} missed",
            f"  mean {micro * counted.mean:.1f} µs, {100 * self.below_mean:.1f} % below it, "
            f"worst {micro * counted.worst:.0f} µs",
            f"  {shares}",
            *(f"  {line}" for line in histogram_lines(counted)),
        ]


def histogram_lines(counted: Counters) -> list[str]:
    """Return a histogram of lateness as text, a line for each doubling.

    >>> seen = np.zeros(len(edges()) - 1, np.int64)
    >>> seen[[40, 41, 60]] = 1, 1, 6
    >>> for line in histogram_lines(Counters(8, 0, 0, 0, 0, 0, 0, 0, 0, 0, seen)):
    ...     print(line.rstrip())
    below  0.1 µs        2 #############
    below  0.2 µs        6 ########################################
    """
    bounds = edges()
    groups: dict[float, int] = {}
    for i in np.flatnonzero(counted.histogram):
        above = 1e-7
        while bounds[i + 1] > above * (1 + 1e-9):
            above *= 2
        groups[above] = groups.get(above, 0) + int(counted.histogram[i])
    most = max(groups.values(), default=1)
    return [
        f"below {1e6 * above:4.{0 if above >= 1e-6 else 1}f} µs {count:8d} "
        + "#" * max(1, round(_BAR * count / most))
        for above, count in sorted(groups.items())
    ]


def loop_latency(rate: float, events: int, *, priority: bool = True) -> Latency:
    """Return how late the native loop meets instants.

    >>> loop_latency(2000, 20, priority=False).counters.due >= 20
    True
    """
    system = System(name="latency", base=round(rate))
    block = Block("count", rate=round(rate))
    block.output("n", block.discrete_state("n_", "n_ + 1"))
    system.add(block)
    _require(rate, events)
    session = session_of(system, RunSettings(1e6 / rate, method="rk4", every=1_000_000))[0]
    loop = PacedLoop(session, priority=priority)
    with loop:
        while loop.counters.due < events and loop.running:
            time.sleep(0.002)
    return Latency("the native loop", loop.counters, loop.rights)


def thread_latency(rate: float, events: int) -> Latency:
    """Return how late a thread of Python's meets instants, by time.sleep.

    >>> thread_latency(2000, 20).counters.due
    20
    """
    _require(rate, events)
    late: list[int] = []
    missed = 0

    def run() -> None:
        nonlocal missed
        period = round(1e9 / rate)
        at = time.monotonic_ns() + period
        while len(late) + missed < events:
            time.sleep(max(0, at - time.monotonic_ns()) * 1e-9)
            behind = time.monotonic_ns() - at
            passed = min(behind // period, events - len(late) - missed - 1)
            missed += passed
            at += passed * period
            late.append(max(0, behind - passed * period))
            at += period

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    found = 1e-9 * np.array(late)
    counted, _ = np.histogram(found, edges())
    worst, mean = float(found.max()), float(found.mean())
    counters = Counters(len(late), missed, 0, worst, mean, 0, 0, 0, 0, 0, counted.astype(np.int64))
    return Latency("a Python thread", counters)


def measured(
    rate: float, trials: int, events: int, told: Callable[[Latency], None]
) -> list[Latency]:
    """Measure both in turn, so many times."""
    found = []
    for _ in range(trials):
        for made in (loop_latency(rate, events), thread_latency(rate, events)):
            told(made)
            found.append(made)
    return found


def _require(rate: float, events: int) -> None:
    if not 1 <= rate <= 100_000:
        raise Error(f"a rate of {rate:g} Hz is not measured", remedy="take 1 to 100,000 Hz")
    if events < 1:
        raise Error(f"the number of events is {events}", remedy="take 1 or more")
