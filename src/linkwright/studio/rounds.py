"""What goes on beside a live run: panels that refresh themselves, trouble, and who looks.

A thread goes round at most sixty times a second. The live run never waits for it, and it never
waits for a browser, whose messages are queued. Trouble of one panel is reported, and stops no
other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from linkwright.studio.live import Live

FASTEST = 60
"""Rounds in a second."""

UNSEEN = 15.0
"""Seconds without a browser after which a live run is paused."""

_AGAIN = 10.0  # s, after which the same trouble is told again
_REMEMBERED = 50  # troubles


class Notices:
    """Trouble that users are informed of; the same again only after some seconds."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._told: dict[str, float] = {}
        self.words: list[str] = []

    def report(self, words: str) -> None:
        """Report trouble."""
        now = time.monotonic()
        before = self._told.pop(words, -np.inf)
        if now - before < _AGAIN:
            self._told[words] = before
            return
        self._told[words] = now
        self.words = [*self.words[-_REMEMBERED:], words]
        for old in list(self._told)[:-_REMEMBERED]:
            del self._told[old]
        for client in self._server.get_clients().values():
            client.add_notification("Error", words, color="red")


class Rounds:
    """Calls functions again and again, one after the other, each at its period."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self.refreshers: list[tuple[float, Callable[[], None], list[float]]] = []
        self._quit = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="linkwright panels", daemon=True)

    def every(self, seconds: float, refresh: Callable[[], None]) -> None:
        """Call a function again and again."""
        self.refreshers.append((seconds, refresh, [-np.inf]))

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, and the round that is under way."""
        self._quit.set()
        self._thread.join(timeout=5)

    def _loop(self) -> None:
        while not self._quit.wait(1 / FASTEST):
            self.go_round(time.monotonic())

    def go_round(self, now: float) -> None:
        """Call those whose time has come."""
        for period, refresh, last in tuple(self.refreshers):
            if not 0 <= now - last[0] < period:
                last[0] = now
                try:
                    refresh()
                except Exception as error:
                    self._report(f"{type(error).__name__}: {error}")


class Audience:
    """Pauses a live run that nobody has looked at for a while, once somebody has come."""

    def __init__(self) -> None:
        self.unseen = False  # whether it has paused the run, which stands since
        self._met, self._since = False, 0.0  # when somebody looked last, s

    def rest(self, live: Live | None, looking: bool, now: float) -> None:
        """Take notice of whether anybody looks."""
        runs = live is not None and live.latest.running
        if looking or not self._met:
            self._met, self._since = self._met or looking, now
            self.unseen = self.unseen and not runs and live is not None
        elif live is not None and runs and now - self._since > UNSEEN:
            live.pause()
            self.unseen = True
