"""The live run of a studio, made once in the background for whoever asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwright.studio.live import Live


class LiveMaker:
    """Makes a live run when it is first asked for, in a thread of its own.

    What holds: it is made by one thread at a time, and never replaced. Of those who ask while it is
    made the last is answered: who has pressed *Run* and then *Reset* wants it reset. Where it was
    not made, `cannot` says why; who asks again lets it be tried again.
    """

    def __init__(self, build: Callable[[], Live], report: Callable[[str], None]) -> None:
        self._build, self._report = build, report
        self.live: Live | None = None
        self.cannot = ""
        self._making, self._closed = False, False
        self._waiting: Callable[[], None] | None = None
        self._turn = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether somebody waits for the run, which is being made."""
        waited = self._making and self._waiting is not None
        return waited and self.live is None and not self.cannot

    def prepare(self, then: Callable[[], None] | None = None) -> None:
        """Make the run if it is not there, and then do something."""
        with self._turn:
            there, making = self.live is not None, self._making
            if not there:
                self._waiting = then or self._waiting
                self._making = True
        if there and then is not None:
            then()
        elif not there and not making:
            threading.Thread(target=self._prepared, name="linkwright build", daemon=True).start()

    def _prepared(self) -> None:
        self.make()
        with self._turn:
            then, self._waiting = self._waiting, None
        if then is not None and self.live is not None:
            try:
                then()
            except Exception as error:
                self._report(str(error))

    def make(self) -> None:
        """Derive, compile and start the run; it stands still until someone runs it."""
        try:
            made = self._build()
            with self._turn:
                if not self._closed:  # else the studio has been closed meanwhile
                    made.start()
                    self.live, self.cannot = made, ""
        except Exception as error:
            self.cannot = f"Cannot run live: {error}"
            self._making = False

    def close(self) -> None:
        """End the run, also one that is being made."""
        with self._turn:
            self._closed = True
        if self.live is not None:
            self.live.close()
