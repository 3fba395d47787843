"""Timing and tables that the benches share."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Row", "interleaved"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a figure, and where there is one, the bar that it is held against.

    Args:
        what: what was measured, with its size and settings.
        value: the figure.
        unit: its unit, "1" for a ratio.
        bar: the figure asked for, or None for a row that only informs.
        better: whether the figure should be at most or at least the bar.
        note: peers, accuracy and settings that belong to the figure.
    """

    what: str
    value: float
    unit: str = "1"
    bar: float | None = None
    better: Literal["lower", "higher"] = "lower"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.better == "lower" else self.value >= self.bar


def interleaved(
    contenders: dict[str, Callable[[], object]],
    *,
    rounds: int = 9,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    pick: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Return the median time of one call of each contender, in seconds.

    The contenders take turns within each round, so that a busy moment of the machine falls on all.

    Args:
        contenders: what to time, by name.
        rounds: how many times each takes its turn, after one turn that is not counted.
        calls: calls in one turn.
        clock: what tells the time, s; `time.process_time` where others use the machine too.
        pick: of the times of all rounds; `min` where others use its memory too.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, call in contenders.items():
            start = clock()
            for _ in range(calls):
                call()
            if turn:
                times[name].append((clock() - start) / calls)
    return {name: pick(values) for name, values in times.items()}
