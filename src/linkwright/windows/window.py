"""Windows: one frame of a record in memory that processes share; one writes, any number read.

A reader never waits for the writer, nor the writer for a reader. The sequence of the head is odd
while the frame is written (a seqlock), so that a reader tries again; the checksum finds the rest.
"""

from __future__ import annotations

import os
import secrets
import struct
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from linkwright.base.arguments import worded
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.base.files import path_of
from linkwright.windows import futex
from linkwright.windows.mapping import Claim, Mapped, Place
from linkwright.windows.records import HEAD, Frame, Record, RecordError, Values

_SEQUENCE, _WAKES = 16, 56  # bytes of the head
_TORN, _TRIES = 0.05, 200  # s and tries of a read, before the writer must have died in a frame
_NAP = 1e-5  # s between tries, at first


class Window(Closable):
    """A frame in memory that processes share: made by `create` or `in_memory`, seen by `open`.

    Args:
        record: the declaration.
        mapped: the memory.
        claim: the right to write, or None where it is only read.
        path: of the file, or None where it has no name.

    Example:
        >>> import tempfile
        >>> from linkwright.windows import Field
        >>> record = Record("state", Field("q", "rad"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Window.create(f"{folder}/state", record) as state:
        ...         state.write({"q": 0.5}, tick=1)
        ...         with Window.open(f"{folder}/state", record) as seen:
        ...             print(seen.read().values["q"])
        0.5
    """

    def __init__(
        self, record: Record, mapped: Mapped, claim: Claim | None, path: Path | None
    ) -> None:
        self.record = record
        self.path = path
        self._mapped = mapped
        self._claim = claim
        self._lock = threading.Lock()
        self._seen = self._wakes()

    @classmethod
    @worded
    def create(cls, path: str | os.PathLike[str], record: Record) -> Window:
        """Return a window to write to; the file is made, or taken over from a writer that ended.

        A file with another declaration is replaced, so that nobody who looks through the old window
        sees it change under him.

        Args:
            path: of the file; `/dev/shm` is a good place.
            record: the declaration.
        """
        file = path_of(path, "a window")
        for _ in range(1000):
            claim = _claimed(file, record)
            if claim is not None:
                break
        else:
            raise Error(f"others keep replacing {file}", remedy="give each writer its own window")
        window = cls(record, Mapped(file, record.size, writable=True), claim, file)
        window._mend()
        return window

    @classmethod
    @worded
    def in_memory(cls, record: Record) -> Window:
        """Return a window to write to that has no file and cannot be cut (a memfd; Linux).

        Another process opens its `descriptor`, which was handed to it.

        Args:
            record: the declaration.

        Example:
            >>> from linkwright.windows import Field
            >>> record = Record("state", Field("q", "rad"))
            >>> with Window.in_memory(record) as state:
            ...     state.write({"q": 0.5})
            ...     with Window.open(state.descriptor, record) as seen:
            ...         print(seen.read().sequence)
            2
        """
        if not hasattr(os, "memfd_create"):
            raise Error("this system has no memory files", remedy="use Window.create with a path")
        import fcntl

        opened = os.memfd_create(record.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.write(opened, _empty(record))
            fcntl.fcntl(opened, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            claim = Claim(f"/proc/self/fd/{opened}", f"the window '{record.name}'")
            return cls(record, Mapped(opened, record.size, writable=True), claim, None)
        finally:
            os.close(opened)

    @classmethod
    @worded
    def open(cls, place: Place, record: Record, *, offset: int = 0, within: float = 0.0) -> Window:
        """Return a window to read from.

        Args:
            place: a path, that of a UIO device too, or the number of a descriptor.
            record: the declaration; a window of another one is rejected.
            offset: bytes before it, in a file that holds more.
            within: s to wait for a file that its writer has yet to make.
        """
        end = time.monotonic() + within
        while not isinstance(place, int) and not Path(place).exists():
            if time.monotonic() >= end:
                raise InputError(
                    f"there is no window '{record.name}'",
                    file=path_of(place, "a window"),
                    remedy="start its writer first",
                )
            time.sleep(0.001)
        mapped = Mapped(place, record.size, offset=offset)
        path = None if isinstance(place, int) else path_of(place)
        window = cls(record, mapped, None, path)
        try:
            window.read()
        except RecordError as error:
            if error.reason != "torn":
                window.close()
                raise
        return window

    def read(self) -> Frame:
        """Return the newest frame.

        A writer may be kept from a processor in the middle of one. Where it is for very long
        (50 ms), this raises `RecordError` with the reason "torn".
        """
        end, nap = 0.0, _NAP
        for number in count():
            data = bytearray(self._mapped.read())
            data[_WAKES:HEAD] = bytes(HEAD - _WAKES)
            odd = data[_SEQUENCE] & 1
            try:
                if not odd:
                    return self.record.unpack(data)
            except RecordError as error:
                if error.reason != "checksum":
                    raise
            now = time.monotonic()
            end = end or now + _TORN
            if now >= end and number > _TRIES:  # it may be us who got no processor
                break
            if number > 10:
                time.sleep(nap)
                nap = min(1.1 * nap, 1e-3)
        raise RecordError(
            "torn",
            f"the writer of window '{self.record.name}' is in the middle of a frame",
            remedy="it may have been stopped or ended there; start it again",
        )

    @worded
    def write(self, values: Values, *, tick: int = 0, clock: int | None = None) -> None:
        """Put a frame in place of the last one.

        Args:
            values: a number or array for each field, by name.
            tick: of the loop.
            clock: ns; the monotonic clock of the machine where it is not given.
        """
        self._own()
        with self._lock:
            memory = self._mapped.memory
            self._mapped.check()
            (last,) = struct.unpack_from("<Q", memory, _SEQUENCE)
            now = time.monotonic_ns() if clock is None else clock
            data = self.record.filled(values, (last + 2) % 2**64, tick, now)
            place_frame(memory, data)

    def wake(self) -> int:
        """Wake whoever waits for this window, and return how many slept (Linux)."""
        self._own()
        with self._lock:
            self._mapped.check()
            struct.pack_into("<I", self._mapped.memory, _WAKES, (self._wakes() + 1) % 2**32)
        return futex.wake(self.address + _WAKES)

    @worded
    def wait(self, seconds: float) -> bool:
        """Sleep until the writer wakes this window, and return whether it did in time (Linux).

        A wake-up that came since the last `wait` returned, or since the window was opened, counts:
        none is lost in between.

        Args:
            seconds: the longest time to sleep, s.
        """
        if not 0 <= seconds < 1e9:
            raise InputError(f"a wait lasts some seconds, not {seconds}")
        self._mapped.check()
        woken = futex.wait(self.address + _WAKES, self._seen, seconds)
        self._seen = self._wakes()
        return woken

    def send(self, values: Values, *, tick: int = 0, clock: int | None = None) -> None:
        """Write a frame and wake whoever waits for it, as `Wire.send` gives it to its peer.

        Args:
            values: a number or array for each field, by name.
            tick: of the loop.
            clock: ns; the monotonic clock of the machine where it is not given.
        """
        self.write(values, tick=tick, clock=clock)
        self.wake()

    def receive(self, seconds: float = 0.0) -> Frame | None:
        """Return the newest frame, or None where a new one is waited for and does not come.

        Args:
            seconds: the longest time to wait for one, s.
        """
        if seconds and not self.wait(seconds):
            return None
        return self.read()

    @property
    def address(self) -> int:
        """Where the frame is in memory, for native code; valid until `close`."""
        return self._mapped.address

    @property
    def memory(self) -> memoryview:
        """The bytes of the frame; as long as somebody holds them the window cannot be closed."""
        return self._mapped.memory

    @property
    def descriptor(self) -> int:
        """The number of the open file, for another process."""
        return self._mapped.descriptor

    @property
    def writable(self) -> bool:
        """Whether this process may write to it: a child of a fork may not."""
        return self._claim is not None and self._claim.held

    def close(self) -> None:
        """Give back memory and claim; the file stays, with its last frame."""
        self._mapped.close()
        if self._claim is not None:
            self._claim.release()

    def __repr__(self) -> str:
        return f"Window({self.record.name}, {self._mapped.name})"

    def _wakes(self) -> int:
        (count,) = struct.unpack_from("<I", self._mapped.memory, _WAKES)
        return int(count)

    def _own(self) -> None:
        if self._claim is None:
            raise Error(
                f"the window '{self.record.name}' was opened to be read",
                remedy="its one writer makes it by Window.create",
            )
        self._claim.check()

    def _mend(self) -> None:
        """Take over from a writer that ended: a frame that it left half written is emptied."""
        try:
            self.read()
        except RecordError:
            memory = self._mapped.memory
            (last,) = struct.unpack_from("<Q", memory, _SEQUENCE)
            data = bytearray(self.record.size)
            self.record.seal(data, (last | 1) + 1, 0, 0)
            place_frame(memory, data)


def place_frame(memory: memoryview, data: bytearray) -> None:
    """Copy a frame into a window, its sequence last; the count of wake-ups stays."""
    (sequence,) = struct.unpack_from("<Q", data, _SEQUENCE)
    words = memory[_SEQUENCE : _SEQUENCE + 8].cast("Q")
    words[0] = sequence - 1
    memory[HEAD:] = data[HEAD:]
    memory[:_SEQUENCE] = data[:_SEQUENCE]
    memory[_SEQUENCE + 8 : _WAKES] = data[_SEQUENCE + 8 : _WAKES]
    words[0] = sequence


def _empty(record: Record) -> bytes:
    data = bytearray(record.size)
    record.seal(data, 0, 0, 0)
    return bytes(data)


def _is_window(file: Path, record: Record) -> bool:
    """Return whether a file is there that a new writer of the record can go on with."""
    try:
        head = file.read_bytes()[:HEAD] if file.stat().st_size == record.size else b""
    except OSError:
        return False
    return head[:_SEQUENCE] == _empty(record)[:_SEQUENCE]


def _is_at(file: Path, claim: Claim) -> bool:
    """Return whether a claim is on the file that is there now."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return False
    return claim.inode == (found.st_dev, found.st_ino)


def _claimed(file: Path, record: Record) -> Claim | None:
    """Return a claim on a file that a writer can begin with; None where another came in between.

    Whoever replaces a file has claimed it, and has claimed the new one before others can see it.
    """
    what = f"the window '{record.name}'"
    old = None
    with suppress(FileNotFoundError):
        old = Claim(file, what)
    if old is not None and not _is_at(file, old):
        old.release()
        return None
    if old is not None and _is_window(file, record):
        return old
    made = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    try:
        with made.open("xb") as sink:
            sink.write(_empty(record))
        new = Claim(made, what)
        if old is not None:
            made.replace(file)
            return new
        try:
            file.hardlink_to(made)
        except FileExistsError:
            return None
        return new
    except OSError as error:
        raise InputError(f"cannot make a window: {error.strerror}", file=file) from error
    finally:
        made.unlink(missing_ok=True)
        if old is not None:
            old.release()
