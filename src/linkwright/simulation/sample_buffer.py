"""The samples of a live run that are kept: the latest, in arrays that do not grow."""

from __future__ import annotations

import numpy as np

from linkwright.recording.recording import Array

MOST = 20_000
"""Samples."""


class Kept:
    """Samples of channels over time.

    >>> kept = Kept(1)
    >>> kept.add(np.array([0.0, 1.0, 2.0]), np.array([[5.0], [6.0], [7.0]]))
    >>> kept.of_late(1.0)[1].tolist()
    [[6.0], [7.0]]
    """

    def __init__(self, channels: int) -> None:
        self._rows = np.zeros((MOST, channels))
        self._times = np.zeros(MOST)
        self._count = 0

    def add(self, times: Array, rows: Array) -> None:
        """Keep samples; the older half goes where there is no room."""
        times, rows = times[-MOST:], rows[-MOST:]
        n = len(times)
        if self._count + n > MOST:
            left = max(0, min(self._count - MOST // 2, MOST - n))
            self._rows[:left] = self._rows[self._count - left : self._count]
            self._times[:left] = self._times[self._count - left : self._count]
            self._count = left
        self._times[self._count : self._count + n] = times
        self._rows[self._count : self._count + n] = rows
        self._count += n

    def of_late(self, last: float | None = None) -> tuple[Array, Array]:
        """Return times and rows, copies."""
        t = self._times[: self._count]
        first = 0 if last is None or not len(t) else int(np.searchsorted(t, t[-1] - last))
        return t[first:].copy(), self._rows[first : self._count].copy()
