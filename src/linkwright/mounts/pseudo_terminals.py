"""A device behind a pseudo-terminal: programs open it as they would a serial port."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

from linkwright.base.closable import Closable
from linkwright.base.errors import Error

_LOOK = 0.05  # s, from one look for the end to the next


class PseudoTerminal(Closable):
    """A device's end of a pseudo-terminal, answered in a thread of its own.

    Units: `every` in s.

    >>> with (
    ...     PseudoTerminal(lambda data: data.upper()) as line,
    ...     open(line.path, "r+b", 0) as port,
    ... ):
    ...     written = port.write(b"az")
    ...     port.read(2)
    b'AZ'
    """

    def __init__(self, take: Callable[[bytes], bytes], *, every: float = _LOOK) -> None:
        import pty
        import tty

        self._take, self._every = take, min(every, _LOOK)
        self._device, self._kept = pty.openpty()  # kept open: a client that goes hangs nobody up
        tty.setraw(self._kept)
        os.set_blocking(self._device, False)
        self.path = os.ttyname(self._kept)
        self.failure: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pseudo-terminal", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                ready, _, _ = select.select([self._device], [], [], self._every)
                said = self._take(os.read(self._device, 4096) if ready else b"")
                with suppress(BlockingIOError):  # nobody reads: it is lost, as on a wire
                    while said:
                        said = said[os.write(self._device, said) :]
        except BaseException as error:  # it is raised where the terminal is closed
            self.failure = error

    def close(self) -> None:
        """End the thread, and take the terminal away; a second time does nothing."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join(10.0)
        if self._thread.is_alive():
            raise Error("the device behind a pseudo-terminal has not ended within 10 s")
        os.close(self._device)
        os.close(self._kept)
        if self.failure is not None:
            raise self.failure
