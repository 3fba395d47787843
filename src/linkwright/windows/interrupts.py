"""Interrupts between processes: eventfds under numbers, each with one owner (Linux).

An owner claims a number, its vector, by an `flock`, and hands an eventfd to whoever sends: through
a Unix socket, whose connection ends with the owner, however that ends. So a sender knows at once
that nobody listens, and the interrupt is kept in a log as a stray.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkwright.base.arguments import worded
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.base.files import path_of
from linkwright.windows.mapping import Claim, keep_from_children

_LOG = logging.getLogger(__name__)
_HANDOVER = 1.0  # s that a sender waits for an owner that was stopped in the middle
_LONGEST_LOG = 1 << 20  # bytes; then it starts again, and the last one is kept
_VECTORS = 1 << 16


@dataclass(frozen=True, slots=True)
class Stray:
    """An interrupt that nobody had claimed.

    Args:
        vector: its number.
        process: that sent it.
        clock: ns on the machine's monotonic clock.

    Example:
        >>> Stray(0o300, 1, 0).vector
        192
    """

    vector: int
    process: int
    clock: int


class Interrupts(Closable):
    """The interrupts of a folder.

    Args:
        folder: that processes share; it is made where it is missing.

    Example:
        >>> import tempfile, threading
        >>> with tempfile.TemporaryDirectory() as folder, Interrupts(folder) as lines:
        ...     came = threading.Event()
        ...     claim = lines.claim(0o300, lambda count: came.set())
        ...     print(lines.send(0o300), came.wait(10))
        ...     claim.close()
        ...     print(lines.send(0o300), len(lines.strays()))
        True True
        False 1
    """

    @worded
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not hasattr(os, "eventfd"):
            raise Error("interrupts between processes need Linux", remedy="read at intervals")
        self.folder = path_of(folder, "a folder")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make a folder: {error.strerror}", file=folder) from error
        self._lock = threading.Lock()
        self._known: dict[int, tuple[socket.socket, int]] = {}
        keep_from_children(self)

    @worded
    def claim(self, vector: int, handler: Callable[[int], object]) -> InterruptClaim:
        """Own a vector: a thread calls the handler for each interrupt, until it is closed.

        Args:
            vector: a number below 65536, which nobody else owns.
            handler: gets the number of interrupts since it was called last, 1 or more. What it
                raises is logged.
        """
        return InterruptClaim(self.folder, _checked(vector), handler)

    @worded
    def send(self, vector: int, count: int = 1) -> bool:
        """Interrupt the owner, and return whether there is one; a stray is logged.

        Args:
            vector: the number.
            count: how often.
        """
        _checked(vector)
        if not 0 < count < 2**32:
            raise InputError(f"nobody is interrupted {count} times", remedy="once or more")
        with self._lock:
            line = self._line(vector)
            if line is not None:
                os.eventfd_write(line, count)
                return True
        self._log_stray(vector)
        return False

    def strays(self) -> list[Stray]:
        """Return the interrupts that nobody had claimed, the oldest first."""
        found = []
        for name in ("strays.old", "strays"):
            file = self.folder / name
            lines = file.read_text().splitlines() if file.exists() else []
            try:
                found += [Stray(*map(int, line.split())) for line in lines]
            except (TypeError, ValueError):
                raise InputError("the log of strays is damaged", file=file) from None
        return found

    def close(self) -> None:
        """Forget the owners; claims of this process stay."""
        with self._lock:
            self._drop()

    def forget(self) -> None:
        """Close a child's copies of what was handed to its parent."""
        self._lock = threading.Lock()  # another thread may have held it when the process forked
        self._drop()

    def _drop(self) -> None:
        known, self._known = self._known, {}
        for connection, line in known.values():
            connection.close()
            os.close(line)

    def _line(self, vector: int) -> int | None:
        """Return the eventfd of a vector's owner, or None where it has none."""
        known = self._known.get(vector)
        if known is not None:
            connection, line = known
            if not select.select([connection], [], [], 0)[0]:  # it can be read at its end only
                return line
            del self._known[vector]
            connection.close()
            os.close(line)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_HANDOVER)
            with _short(self.folder) as folder:
                connection.connect(f"{folder}/{vector}.socket")
            _, lines, _, _ = socket.recv_fds(connection, 1, 1)
            if not lines:
                raise ConnectionError
        except OSError:
            connection.close()
            return None
        self._known[vector] = connection, lines[0]
        return lines[0]

    def _log_stray(self, vector: int) -> None:
        _LOG.warning("interrupt %d of %s has no owner", vector, self.folder)
        file = self.folder / "strays"
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_size > _LONGEST_LOG:
                file.replace(self.folder / "strays.old")
        with file.open("ab", buffering=0) as sink:
            sink.write(b"%d %d %d\n" % (vector, os.getpid(), time.monotonic_ns()))


class InterruptClaim(Closable):
    """A vector that this process owns.

    Args:
        folder: of the interrupts.
        vector: the number.
        handler: what is called.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Interrupts(folder) as lines:
        ...     with lines.claim(3, print):
        ...         try:
        ...             lines.claim(3, print)
        ...         except Error as error:
        ...             print(error.what)
        vector 3 is claimed by another process or object
    """

    @worded
    def __init__(self, folder: Path, vector: int, handler: Callable[[int], object]) -> None:
        self.vector = vector
        self._handler = handler
        file = folder / f"{vector}.claim"
        file.touch()
        self._claim = Claim(file, f"vector {vector}")
        self._connections: dict[int, socket.socket] = {}
        self._lines: list[int] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._thread: threading.Thread | None = None
        try:
            self._lines += [os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK) for _ in range(2)]
            with _short(folder) as short:
                place = Path(f"{short}/{vector}.socket")
                place.unlink(missing_ok=True)  # of an owner that was killed
                self._listener.bind(os.fspath(place))
            self._listener.setblocking(False)
            self._listener.listen(16)
        except OSError as error:
            self.forget()
            raise InputError(f"cannot own vector {vector}: {error.strerror}", file=file) from error
        keep_from_children(self)
        self._file = folder / f"{vector}.socket"
        self._thread = threading.Thread(
            target=self._listen, name=f"interrupt {vector}", daemon=True
        )
        self._thread.start()

    @property
    def descriptor(self) -> int:
        """The eventfd, for native code that sends."""
        self._claim.check()
        return self._lines[0]

    def close(self) -> None:
        """Give the vector back; interrupts that come from now on are strays."""
        if not self._claim.held:
            return
        self._file.unlink(missing_ok=True)
        os.eventfd_write(self._lines[1], 1)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        for connection in self._connections.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # a child may not have closed its copy yet
        self._claim.release()
        self.forget()

    def forget(self) -> None:
        """Close what this process has of it."""
        for connection in (*self._connections.values(), self._listener):
            connection.close()
        lines, self._lines = self._lines, []
        for line in lines:
            os.close(line)
        self._claim.forget()

    def _listen(self) -> None:
        line, end = self._lines
        poll = select.poll()
        for descriptor in (line, end, self._listener.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if end in ready:
                return
            if line in ready:
                with contextlib.suppress(BlockingIOError):
                    self._handle(os.eventfd_read(line))
                if not self._claim.held:  # the handler closed it
                    return
            for descriptor in ready & self._connections.keys():  # a sender ended
                poll.unregister(descriptor)
                self._connections.pop(descriptor).close()
            if self._listener.fileno() in ready:
                with contextlib.suppress(OSError):
                    connection, _ = self._listener.accept()
                    self._connections[connection.fileno()] = connection
                    poll.register(connection, select.POLLIN)
                    socket.send_fds(connection, [b"!"], [line])

    def _handle(self, count: int) -> None:
        try:
            self._handler(count)
        except Exception:  # of the user's own; the next interrupt is handled all the same
            _LOG.exception("the handler of interrupt %d failed", self.vector)


def _checked(vector: int) -> int:
    if not 0 <= vector < _VECTORS:
        raise InputError(
            f"there is no vector {vector}", remedy=f"take one from 0 to {_VECTORS - 1}"
        )
    return vector


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """Give a folder a name that is short enough for the address of a socket."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)
