"""A camera of Video4Linux 2, as <linux/videodev2.h> has it.

Its pictures are read, or, as most cameras want it, streamed: four buffers of the driver are mapped
and queued, and a filled one is taken, copied and queued again; the newest counts.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import struct
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError

Array: TypeAlias = NDArray[np.float64]

QUERYCAP, S_FMT = 0x80685600, 0xC0D05605
REQBUFS, QUERYBUF, QBUF, DQBUF = 0xC0145608, 0xC0585609, 0xC058560F, 0xC0585611
STREAMON, STREAMOFF = 0x40045612, 0x40045613
CAPTURE, MAPPED = 1, 1  # kind of the stream, and of its memory
OF_DEVICE, READ, STREAM = 0x80000000, 0x01000000, 0x04000000  # capabilities
BUFFER = struct.Struct("=3I48xII4xI12x")  # index, kind, bytes used; memory, offset, length
GREY, YUYV = (int.from_bytes(word, "little") for word in (b"GREY", b"YUYV"))
_BUFFERS = 4
_PATIENCE = 1.0  # s that a picture may take


class VideoDevice:
    """A camera of Video4Linux 2.

    Args:
        path: such as "/dev/video0".
        width: of its pictures, pixels.
        height: likewise.
    """

    def __init__(self, path: str, width: int, height: int) -> None:
        self.path = path
        self._maps: list[mmap.mmap] = []
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        except OSError as error:
            raise InputError(f"cannot open the camera: {error.strerror}", file=path) from None
        try:
            found = self._ask(QUERYCAP, bytes(104))
            whole, own = struct.unpack_from("<II", found, 84)
            can = own if whole & OF_DEVICE else whole
            if not can & CAPTURE:
                raise InputError("this device takes no pictures", file=path)
            if not can & (READ | STREAM):
                raise InputError("the camera gives its pictures neither way", file=path)
            self._choose(width, height)
            if can & STREAM:
                self._stream()
        except OSError as error:
            self.close()
            raise InputError(f"this is not a camera: {error.strerror}", file=path) from None
        except InputError:
            self.close()
            raise

    def _ask(self, request: int, data: bytes) -> bytes:
        """Return what the driver makes of the structure of a request."""
        import fcntl

        kept = bytearray(data)
        fcntl.ioctl(self._file, request, kept)
        return bytes(kept)

    def _choose(self, width: int, height: int) -> None:
        """Ask for gray pictures, then for YUYV; the driver may change their size."""
        for wanted in (GREY, YUYV):
            kept = self._ask(S_FMT, picture_format(width, height, wanted))
            self.width, self.height, self.kind = struct.unpack_from("<III", kept, 8)
            if self.kind in (GREY, YUYV):
                least = self.width * (1 if self.kind == GREY else 2)
                self.line = max(least, struct.unpack_from("<I", kept, 24)[0])
                return
        raise InputError(
            "the camera gives neither gray nor YUYV pictures",
            file=self.path,
            remedy="copy its pictures to a folder, as with ffmpeg",
        )

    def _stream(self) -> None:
        """Map the driver's buffers, queue them, and begin."""
        count = struct.unpack_from("<I", self._ask(REQBUFS, _request(_BUFFERS)))[0]
        for k in range(count):
            told = self._ask(QUERYBUF, BUFFER.pack(k, CAPTURE, 0, MAPPED, 0, 0))
            *_, offset, length = BUFFER.unpack(told)
            self._maps.append(mmap.mmap(self._file, length, offset=offset))
            self._ask(QBUF, BUFFER.pack(k, CAPTURE, 0, MAPPED, 0, 0))
        if not self._maps:
            raise InputError("the camera has no buffers left", file=self.path)
        self._ask(STREAMON, struct.pack("=i", CAPTURE))

    def __call__(self, seconds: float) -> Array | None:
        """Return the newest picture; None where none comes within a second."""
        del seconds
        if not select.select([self._file], [], [], _PATIENCE)[0]:
            return None
        size = self.line * self.height
        data = self._newest() if self._maps else os.read(self._file, size)
        if len(data) < size:
            return None
        return brightness(data[:size], self.width, self.height, self.kind, self.line)

    def _newest(self) -> bytes:
        """Take all filled buffers, return the last one's bytes, and queue them again."""
        data = b""
        for _ in range(_BUFFERS * len(self._maps)):
            try:
                told = self._ask(DQBUF, BUFFER.pack(0, CAPTURE, 0, MAPPED, 0, 0))
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    break
                raise
            k, _, used, *_ = BUFFER.unpack(told)
            data = self._maps[k][:used]
            self._ask(QBUF, BUFFER.pack(k, CAPTURE, 0, MAPPED, 0, 0))
        return data

    def close(self) -> None:
        """Give it back."""
        if self._maps:
            with suppress(OSError):  # where it is gone already
                self._ask(STREAMOFF, struct.pack("=i", CAPTURE))
        for one in self._maps:
            one.close()
        self._maps = []
        os.close(self._file)


def _request(count: int) -> bytes:
    """Return struct v4l2_requestbuffers."""
    return struct.pack("=3I8x", count, CAPTURE, MAPPED)


def picture_format(width: int, height: int, kind: int) -> bytes:
    """Return struct v4l2_format of a picture: 208 bytes."""
    return struct.pack("<II4I", CAPTURE, 0, width, height, kind, 1).ljust(208, b"\0")


def brightness(data: bytes, width: int, height: int, kind: int, line: int = 0) -> Array:
    """Return the brightness from 0 to 1 of the bytes of a gray or YUYV picture.

    `line` is how many bytes a row takes, where it has some at its end that do not count.

    >>> brightness(bytes([0, 128, 255, 128]), 2, 1, YUYV).tolist()
    [[0.0, 1.0]]
    """
    step = 1 if kind == GREY else 2
    rows = np.frombuffer(data, np.uint8).reshape(height, line or step * width)
    return np.asarray(rows[:, : step * width : step] / 255.0)
