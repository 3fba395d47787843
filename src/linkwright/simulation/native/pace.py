"""How fast a run goes, and whether it will ever come to its end."""

from __future__ import annotations

from linkwright.simulation.loop import CRAWL

OFTEN = 500_000
"""How many steps the pace is taken over."""


class Pace:
    """Watches whether steps have become so short that a run would never come to its end."""

    def __init__(self, until: float, often: int | None = None) -> None:
        self.until = until
        self.often = OFTEN if often is None else often
        self._last = (0, 0.0)

    def restart(self, steps: int, t: float) -> None:
        """Count from here."""
        self._last = (steps, t)

    def crawls(self, steps: int, t: float) -> float | None:
        """Return the mean step, s, of a run that would take too many to the end, or None.

        >>> Pace(1.0, often=10).crawls(10, 1e-12)
        1e-13
        """
        done = steps - self._last[0]
        if done < self.often:
            return None
        mean = (t - self._last[1]) / done
        self._last = (steps, t)
        return mean if mean * CRAWL < self.until - t else None
