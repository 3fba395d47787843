"""A command in a pseudo-terminal, which a test types into; every wait is bounded."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>].?|\x1b\][^\x07]*\x07")


class PseudoTerminal:
    """A command that believes to run in a terminal of some size.

    Args:
        words: of the command line, without the program.
        folder: in which it runs.
        term: the kind of terminal.
    """

    def __init__(self, words: Sequence[str], folder: Path, term: str = "xterm") -> None:
        self.shown = ""
        self._read = 0
        self.master, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "linkwright", *words],
            stdin=own,
            stdout=own,
            stderr=own,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=os.environ | {"TERM": term, "PROMPT_TOOLKIT_NO_CPR": "1"},
        )
        os.close(own)

    def wait_for(self, words: str, seconds: float = 30.0) -> None:
        """Read until some words stand behind what was read before."""
        end = time.monotonic() + seconds
        while (found := self.plain.find(words, self._read)) < 0:
            assert time.monotonic() < end, f"{words!r} did not come:\n{self.plain[-2000:]}"
            assert self._more(0.2), f"{words!r} did not come:\n{self.plain[-2000:]}"
        self._read = found + len(words)

    def type(self, *lines: str, end: str = "\r") -> None:
        """Type lines, ahead of what asks for them."""
        os.write(self.master, "".join(f"{line}{end}" for line in lines).encode())

    def wait_until(self, true: Callable[[], bool], seconds: float = 30.0) -> None:
        """Read what is shown until something is so."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, self.plain[-2000:]
            self._more(0.02)

    def ended(self, seconds: float = 30.0) -> int:
        """Wait for the end of the command, and return its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.plain[-2000:]
            self._more(0.05)
        while self._more(0.05):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        os.close(self.master)
        self.master = -1

    @property
    def plain(self) -> str:
        """What was shown, without what steers the terminal."""
        return _STEERING.sub("", self.shown)

    def _more(self, seconds: float) -> bool:
        """Read what there is; false where the terminal is closed."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return self.process.poll() is None
        with suppress(OSError):
            got = os.read(self.master, 65536).decode(errors="replace")
            self.shown += got
            return bool(got)
        return False


@contextmanager
def terminal(words: Sequence[str], folder: Path, term: str = "xterm") -> Iterator[PseudoTerminal]:
    """Run a command in a pseudo-terminal, which it does not outlive."""
    made = PseudoTerminal(words, folder, term)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            os.kill(made.process.pid, signal.SIGKILL)
        made.process.wait(60)
        if made.master >= 0:
            os.close(made.master)
