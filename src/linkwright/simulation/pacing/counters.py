"""What a paced loop counts: ticks that were run, missed and overrun, and how late they were."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwright.simulation.pacing.memory import BUCKETS, SUBDIVISIONS


@dataclass(frozen=True, slots=True, eq=False)
class Counters:
    """What a loop has counted since it was made.

    Args:
        total: ticks that were run.
        missed: instants that passed without a tick.
        overrun: ticks that ended after the next instant.
        worst: the greatest lateness of a tick, s.
        mean: the mean lateness, s.
        timeouts: ticks that were run because the device's tick did not come.
        held: ticks at which changes had to wait for room on the tape.
        lost: samples that found no room in their ring.
        late: results of Python blocks that came too late, and calls that were left out.
        failures: readings of windows that were torn or damaged.
        histogram: how many ticks were how late; bucket `i` begins at `edges()[i]`.
        unkept: samples that were lost because the sink had failed, as where a disk is full.
    """

    total: int
    missed: int
    overrun: int
    worst: float
    mean: float
    timeouts: int
    held: int
    lost: int
    late: int
    failures: int
    histogram: NDArray[np.int64]
    unkept: int = 0

    @property
    def due(self) -> int:
        """The instants that have been due; a tick without its device's stands for none.

        >>> counted = np.zeros(BUCKETS, np.int64)
        >>> Counters(10, 2, 0, 1e-8, 1e-8, 3, 0, 0, 0, 0, counted).due
        9
        """
        return max(self.total - self.timeouts, 0) + self.missed  # a tick is counted when done

    def since(self, before: Counters) -> Counters:
        """Return what was counted after others; a greatest lateness of before is not in it.

        Args:
            before: what was counted until then.

        >>> counted = np.zeros(BUCKETS, np.int64)
        >>> first = Counters(4, 1, 2, 1e-8, 1e-8, 0, 0, 0, 0, 0, counted)
        >>> more = Counters(6, 1, 3, 1e-8, 1e-8, 0, 0, 0, 0, 0, counted)
        >>> found = more.since(first)
        >>> found.total, found.missed, found.overrun, found.worst
        (2, 0, 1, 0.0)
        """
        names = [
            "total",
            "missed",
            "overrun",
            "timeouts",
            "held",
            "lost",
            "late",
            "failures",
            "unkept",
        ]
        counts = {name: getattr(self, name) - getattr(before, name) for name in names}
        seen = self.histogram - before.histogram
        number, earlier = int(seen.sum()), int(before.histogram.sum())
        worst, mean = self.worst, 0.0
        if number:
            mean = (self.mean * (number + earlier) - before.mean * earlier) / number
        if not self.worst > before.worst:  # the upper edge of the last bucket that has grown
            last = np.flatnonzero(seen)
            worst = min(worst, float(edges()[last[-1] + 1])) if len(last) else 0.0
        return replace(self, **counts, worst=worst, mean=mean, histogram=seen)

    def percentile(self, percent: float) -> float:
        """Return the lateness that so many percent of the ticks do not exceed, s.

        Args:
            percent: from 0 to 100.

        >>> counted = np.zeros(BUCKETS, np.int64)
        >>> counted[10] = 4
        >>> round(Counters(4, 0, 0, 1e-8, 1e-8, 0, 0, 0, 0, 0, counted).percentile(50) * 1e9, 6)
        10.5
        """
        seen = int(self.histogram.sum())
        if not seen:
            return 0.0
        wanted = percent / 100 * seen
        place = int(np.searchsorted(np.cumsum(self.histogram), max(wanted, 1)))
        bounds = edges()
        return float((bounds[place] + bounds[place + 1]) / 2)


def edges() -> NDArray[np.float64]:
    """Return where the buckets of a histogram of lateness begin, and where the last ends, s.

    >>> [round(float(x) * 1e9) for x in edges()[[0, 1, 32, 33, 48]]]
    [0, 1, 32, 34, 64]
    """
    bucket = np.arange(BUCKETS + 1)
    shift = np.maximum(bucket // SUBDIVISIONS - 1, 0)
    return np.asarray(1e-9 * (bucket - SUBDIVISIONS * shift) * 2.0**shift)
