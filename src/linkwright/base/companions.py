"""Processes of this interpreter beside this one: started, started anew where they end, ended."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linkwright.base.closable import Closable

PAUSE, LONGEST = 0.5, 30.0
"""s until a process that ended is started anew: the first time, and at most."""


class Companion(Closable):
    """A process that serves this one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     said = Path(folder, "said")
    ...     with Companion("the child", lambda n: ["-c", f"print('start {n}')"], said) as child:
    ...         child.process.wait(), child.said, next(child.look())
    (0, 'start 1', 'the child has ended: start 1; it is started anew in 0.5 s')
    """

    def __init__(
        self,
        name: str,
        arguments: Callable[[int], Sequence[str]],
        said: Path,
        *,
        listens: bool = False,
        patience: float = 5.0,
    ) -> None:
        self.name, self._arguments, self._file = name, arguments, said
        self._listens, self._patience = listens, patience
        self._starts, self._pause, self._again = 0, PAUSE, 0.0
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        self._starts, self._began = self._starts + 1, time.monotonic()
        with self._file.open("wb") as said:
            return subprocess.Popen(
                [sys.executable, *self._arguments(self._starts)],
                stdin=subprocess.PIPE if self._listens else subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=not self._listens,
            )

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    @property
    def said(self) -> str:
        """The last line that it has printed."""
        lines = self._file.read_text("utf-8", "replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "")

    def look(self) -> Iterator[str]:
        """Start it anew where it has ended, after a pause; yield lines that report it."""
        now = time.monotonic()
        if not self.ended:
            return
        if not self._again:
            pause = PAUSE if now - self._began > LONGEST else self._pause
            self._pause, self._again = min(2 * pause, LONGEST), now + pause
            why = f": {self.said}" if self.said else f" (exit status {self.process.returncode})"
            yield f"{self.name} has ended{why}; it is started anew in {pause:g} s"
        elif now >= self._again:
            self._again, self.process = 0.0, self._started()

    def tell_end(self) -> None:
        """Ask it to end, and do not wait for that."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        else:
            self.process.terminate()

    def close(self) -> None:
        """End it, by force where it takes too long; a second time does nothing."""
        self.tell_end()
        try:
            self.process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
