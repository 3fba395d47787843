"""Signals that end a command: SIGTERM and SIGHUP are treated as Ctrl-C is.

Whatever a command does at a keyboard interrupt (finish a recording, keep the parts of a sweep) it
does for them, too. Its exit code says which signal it was, as shells have it: 128 and its number.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_ISCHR
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ending:
    """Which signal has come to end the command, if any.

    >>> Ending().code(0), Ending().code(INTERRUPTED)
    (0, 130)
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def come(self, number: int, frame: FrameType | None) -> None:
        """Take a signal: from here on it is a keyboard interrupt."""
        del frame
        self.signal = signal.Signals(number)
        if number == signal.SIGHUP:
            leave_terminal()
        raise KeyboardInterrupt

    def code(self, code: int) -> int:
        """Return the exit code of a command that would end with another one."""
        return 128 + self.signal if self.signal and code in (0, INTERRUPTED) else code


def leave_terminal() -> None:
    """Let what is still printed to a terminal that is gone go nowhere.

    A terminal that is gone does not say that it is one, but is still a device.
    """
    for stream in (sys.stdout, sys.stderr):
        if S_ISCHR(os.fstat(stream.fileno()).st_mode):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


@contextmanager
def ending() -> Iterator[Ending]:
    """Treat signals as keyboard interrupts; those that are ignored (nohup) stay so."""
    found = Ending()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for each in _SIGNALS:
            if signal.getsignal(each) is signal.SIG_DFL:
                before[each] = signal.signal(each, found.come)
    try:
        yield found
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
