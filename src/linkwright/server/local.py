"""Commands and states through windows, between processes of one user on one machine.

A holder of a lease on the cell's own machine may give its commands through a window that it writes
alone, and sees answers and states through windows of the cell: nothing passes a socket. A command
is checked as one from the network is, by the same code. What goes wrong is reported over the
network: there the same command is rejected by name, and one that was taken is not taken twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from linkwright.base.errors import Error
from linkwright.server.access import check_name
from linkwright.server.registry import runtime_folder
from linkwright.windows import Field, Record, Window
from linkwright.windows.records import Frame

ANSWERED = Record(
    "answered",
    Field("sequence", type="u64"),  # of the last command that was read
    Field("refused", type="u8"),
)
_LOOK = 0.05  # s between looks at whether it is to end
_ANSWER = 0.05  # s, after which the network is asked


def local_path(cell: str, what: str) -> Path:
    """Return the file of a window of a cell."""
    return runtime_folder() / check_name(f"{cell}.{what}.window", "a window")


class LocalCommands:
    """The cell's side: reads the commands of one holder until its lease ends."""

    def __init__(
        self,
        cell: str,
        arm: str,
        client: str,
        record: Record,
        give: Callable[[Frame], None],
        holds: Callable[[], bool],
    ) -> None:
        self._window = Window.open(local_path(cell, f"{arm}.{client}.command"), record)
        self._answers = Window.create(local_path(cell, f"{arm}.{client}.answer"), ANSWERED)
        self._give, self._holds = give, holds
        threading.Thread(target=self._serve, name="linkwright-local", daemon=True).start()

    def _serve(self) -> None:
        last = self._window.read().tick
        try:
            while self._holds():
                frame = self._window.receive(_LOOK)
                if frame is None or frame.tick == last:
                    continue
                last, refused = frame.tick, 0
                try:
                    self._give(frame)
                except Error:
                    refused = 1
                self._answers.send({"sequence": frame.tick, "refused": refused})
        finally:
            for window in (self._window, self._answers):
                window.close()
            if self._answers.path is not None:
                self._answers.path.unlink(missing_ok=True)


class LocalStates:
    """The cell's side: the newest state in a window, for whoever commands from this machine."""

    def __init__(self, cell: str, record: Record, file: Path | None = None) -> None:
        self._path = local_path(cell, "state")
        if file is not None or self._path.is_symlink():  # that of a cell that was killed
            self._path.unlink(missing_ok=True)
        self._window = None if file is not None else Window.create(self._path, record)
        if file is not None:
            self._path.symlink_to(file.absolute())

    def show(self, frame: Frame) -> None:
        """Put a state into the window and wake who waits for it, unless the loop does."""
        if self._window is not None:
            self._window.send(frame.values, tick=frame.tick, clock=frame.clock)

    def close(self) -> None:
        """Take the window away."""
        self._path.unlink(missing_ok=True)
        if self._window is not None:
            self._window.close()


class LocalHand:
    """The holder's side: a window for its commands; made before the lease is asked for."""

    def __init__(
        self,
        cell: str,
        arm: str,
        client: str,
        record: Record,
        state: Record,
        see: Callable[[Frame], None],
    ) -> None:
        self._names = cell, f"{arm}.{client}.answer"
        self._window = Window.create(local_path(cell, f"{arm}.{client}.command"), record)
        self._answers: Window | None = None
        self._state, self._see = state, see
        self._ending = threading.Event()

    def begin(self) -> None:
        """Open the windows of the cell, which it has made for the lease."""
        cell, answers = self._names
        self._answers = Window.open(local_path(cell, answers), ANSWERED, within=1.0)
        seen = Window.open(local_path(cell, "state"), self._state, within=1.0)
        threading.Thread(
            target=self._watch, args=(seen,), name="linkwright-local", daemon=True
        ).start()

    def give(self, data: bytes, sequence: int) -> bool:
        """Give a command; False where it was not taken, or where nobody has read it in time."""
        if self._answers is None:
            return False
        values = self._window.record.unpack(data).values
        self._window.send(values, tick=sequence)
        while (answer := self._answers.receive(_ANSWER)) is not None:
            found = answer.values
            if found["sequence"] == sequence:
                return not found["refused"]
        return False

    def close(self) -> None:
        """Take the window away."""
        self._ending.set()
        if self._window.path is not None:
            self._window.path.unlink(missing_ok=True)
        self._window.close()
        if self._answers is not None:
            self._answers.close()

    def _watch(self, seen: Window) -> None:
        with seen:
            while not self._ending.is_set():
                if seen.wait(_LOOK):
                    with suppress(Error):  # torn: the cell was stopped in the middle of a frame
                        self._see(seen.read())
