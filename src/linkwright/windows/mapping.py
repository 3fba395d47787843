"""Stretches of files, memory and devices that processes share, and claims on them.

A claim is an `flock` on a descriptor of its own. It goes with the process that made it, however
that ends; a child of a fork has none of it.
"""

from __future__ import annotations

import mmap
import os
import stat
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.files import path_of

Place = str | os.PathLike[str] | int
"""A path, or the number of a descriptor, such as a memfd's."""

_UIO = Path("/sys/class/uio")


class Claim:
    """The right to write to something, which one process has at a time."""

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self._what = what
        self._descriptor = -1
        self._unlock: Callable[[], None] | None = None
        try:
            import fcntl
        except ModuleNotFoundError:
            raise Error(
                f"cannot claim {what}: this system has no such locks",
                remedy="write windows on Linux or macOS; virtual runs need none",
            ) from None
        try:
            opened = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InputError(f"cannot claim {what}: {error.strerror}", file=path) from error
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(opened)
            if not isinstance(error, BlockingIOError):
                raise InputError(f"cannot claim {what}: {error.strerror}", file=path) from error
            raise InputError(
                f"{what} is claimed by another process or object",
                file=path,
                remedy="end or close the other one first",
            ) from None
        self._descriptor = opened
        self._unlock = partial(fcntl.flock, opened, fcntl.LOCK_UN)
        keep_from_children(self)

    @property
    def held(self) -> bool:
        """Whether it is still this process that has it."""
        return self._descriptor >= 0

    @property
    def inode(self) -> tuple[int, int]:
        """Which file it is on."""
        found = os.fstat(self._descriptor)
        return found.st_dev, found.st_ino

    def check(self) -> None:
        """Raise an error where this process has it no longer, or never had."""
        if self._descriptor < 0:
            raise Error(
                f"this process has no claim on {self._what}",
                remedy="claim it here: it was closed, or this is the child of a fork",
            )

    def release(self) -> None:
        """Give it back."""
        if self._descriptor >= 0:
            if self._unlock is not None:
                self._unlock()  # a child may not have closed its copy yet
            self.forget()

    def forget(self) -> None:
        """Close the descriptor; the claim stays with the process that made it."""
        if self._descriptor >= 0:
            opened, self._descriptor = self._descriptor, -1
            os.close(opened)

    def __del__(self) -> None:
        self.release()


class Forgetful(Protocol):
    """What belongs to the process that made it, and not to a child of a fork."""

    def forget(self) -> None:
        """Close a child's copies of descriptors, and nothing else."""


_own: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def keep_from_children(what: Forgetful) -> None:
    """Let a child of a fork close its copies: claims stay with the parent, and end with it."""
    _own.add(what)


def _forget_copies() -> None:
    for what in list(_own):
        what.forget()


if hasattr(os, "register_at_fork"):  # others do not fork
    os.register_at_fork(after_in_child=_forget_copies)


class Mapped:
    """A stretch of a file, memfd or UIO device in memory."""

    def __init__(
        self, place: Place, length: int, *, offset: int = 0, writable: bool = False
    ) -> None:
        self._memory: mmap.mmap | None = None
        self.name = f"descriptor {place}" if isinstance(place, int) else str(path_of(place))
        self.length = length
        self.offset = offset
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC
        try:
            self._descriptor = os.dup(place) if isinstance(place, int) else os.open(place, flags)
        except OSError as error:
            raise InputError(f"cannot open {self.name}: {error.strerror}") from error
        try:
            found = os.fstat(self._descriptor)
            self.is_device = stat.S_ISCHR(found.st_mode)
            if not self.is_device and not stat.S_ISREG(found.st_mode):
                raise InputError(f"{self.name} is neither a file nor a device")
            self.check()
            start = offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
            self._skip = offset - start
            access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
            self._memory = mmap.mmap(
                self._descriptor, self._skip + length, mmap.MAP_SHARED, access, offset=start
            )
        except (OSError, ValueError) as error:
            os.close(self._descriptor)
            raise InputError(f"cannot map {length} bytes of {self.name}: {error}") from error
        except InputError:
            os.close(self._descriptor)
            raise

    @property
    def memory(self) -> memoryview:
        """The bytes."""
        if self._memory is None:
            raise Error(f"the window on {self.name} is closed")
        return memoryview(self._memory)[self._skip : self._skip + self.length]

    @property
    def address(self) -> int:
        """Where the bytes are, for native code; valid until it is closed."""
        return int(np.frombuffer(self.memory, np.uint8).ctypes.data)

    @property
    def descriptor(self) -> int:
        """The number of the open file."""
        return self._descriptor

    def available(self) -> int:
        """Return how many bytes there are from the offset on."""
        if self.is_device:
            return _device_bytes(self._descriptor, self.name, self.offset)
        return os.fstat(self._descriptor).st_size - self.offset

    def check(self) -> None:
        """Raise an error where the file has become too short: touching it would end the process."""
        there = self.available()
        if there < self.length:
            raise InputError(
                f"{self.name} has {max(there, 0)} bytes from byte {self.offset} on, "
                f"not {self.length}",
                remedy="whoever made it must give it its full size, and never cut it",
            )

    def read(self) -> bytes:
        """Return a copy of the bytes; a file that was cut is an error, and never a signal."""
        return bytes(self.memory) if self.is_device else self.get(0, self.length)

    def get(self, at: int, count: int) -> bytes:
        """Return a copy of some bytes of a file; one that was cut is an error, never a signal."""
        self._bounds(at, count)
        data = os.pread(self._descriptor, count, self.offset + at)
        if len(data) < count:
            self.check()
        return data

    def put(self, at: int, data: bytes) -> None:
        """Write some bytes to a file that is long enough."""
        self._bounds(at, len(data))
        self.check()
        os.pwrite(self._descriptor, data, self.offset + at)

    def _bounds(self, at: int, count: int) -> None:
        if self._memory is None:
            raise Error(f"the window on {self.name} is closed")
        if at < 0 or count < 0 or at + count > self.length:
            raise InputError(
                f"bytes {at} to {at + count} lie outside the {self.length} of {self.name}"
            )

    def close(self) -> None:
        """Take it out of memory."""
        if self._memory is not None:
            try:
                self._memory.close()
            except BufferError:
                raise Error(
                    f"the window on {self.name} is in use",
                    remedy="stop the loop that uses it first",
                ) from None
            self._memory = None
            os.close(self._descriptor)

    def __del__(self) -> None:
        with suppress(Error):  # somebody looks at the memory still
            self.close()


def _device_bytes(descriptor: int, name: str, offset: int) -> int:
    """Return the size of a UIO device's map, as the kernel reports it."""
    number = os.fstat(descriptor).st_rdev
    for folder in _UIO.glob("uio*"):
        if (folder / "dev").read_text().strip() == f"{os.major(number)}:{os.minor(number)}":
            page = mmap.PAGESIZE
            size = folder / "maps" / f"map{offset // page}" / "size"
            return int(size.read_text(), 16) - offset % page if size.exists() else 0
    raise InputError(f"{name} is a device, but none of the kernel's UIO devices")
