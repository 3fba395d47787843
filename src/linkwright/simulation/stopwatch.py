"""How long something took that is done bit by bit."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds spent inside its ``with`` blocks; those inside one another count once.

    >>> watch = Stopwatch()
    >>> with watch, watch:
    ...     pass
    >>> 0 < watch.seconds < 1
    True
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._begun = 0.0

    def __enter__(self) -> None:
        if not self._depth:
            self._begun = time.perf_counter()
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._begun
