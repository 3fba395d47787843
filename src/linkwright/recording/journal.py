"""A file that grows while a run goes on, and can be read whatever happens to the run.

It begins with a line that names the format and one of JSON with the channels. Blocks follow, each
with its number of rows and a check sum before the rows of 64-bit floats (time first), lowest byte
first. A block that is cut off or damaged ends what can be read; all before it is good.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwright.errors import InputError
from linkwright.recording.recording import Channel, Recording, from_json, to_json

MAGIC = b"LINKWRIGHT JOURNAL 1\n"
_HEAD = struct.Struct("<II")
_LONGEST_HEADER = 64 << 20


class Journal:
    """A recording in the making.

    Args:
        path: the file, which is begun anew.
        channels: what the columns are, time apart.
        about: where it comes from, as plain data.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "run.journal", [Channel("x", "m")], {}) as journal:
    ...         journal.append([0, 1], [[1], [2]])
    ...     recovered(Path(folder) / "run.journal")["x"]
    array([1., 2.])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        channels: Iterable[Channel],
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.channels = tuple(channels)
        header = to_json(Recording([], self.channels, [], about).about, self.channels).encode()
        try:
            self._file: BinaryIO = self.path.open("wb", buffering=0)
        except OSError as error:
            raise _refused(self.path, error) from None
        try:
            self._put(MAGIC + header + b"\n")
        except InputError:
            self._file.close()
            raise

    def append(self, times: ArrayLike, data: ArrayLike) -> None:
        """Add samples; they are in the file when this returns.

        Args:
            times: s.
            data: one row for each time, one column for each channel.
        """
        t = np.asarray(times, dtype="<f8").reshape(-1, 1)
        rows = np.asarray(data, dtype="<f8").reshape(len(t), len(self.channels))
        if not len(t):
            return
        block = np.concatenate([t, rows], axis=1).astype("<f8").tobytes()
        self._put(_HEAD.pack(len(t), zlib.crc32(block)) + block)

    def _put(self, content: bytes) -> None:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _refused(self.path, error) from None

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def recovered(path: str | os.PathLike[str]) -> Recording:
    """Return what a journal holds, up to the last block that is whole.

    Args:
        path: of the journal; of a run that was killed it lies beside its recording's place.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", file=path) from None
    if not content.startswith(MAGIC):
        raise InputError("this is not the journal of a run", file=path)
    end = content.find(b"\n", len(MAGIC), len(MAGIC) + _LONGEST_HEADER)
    try:
        about, channels = from_json(content[len(MAGIC) : end] if end > 0 else b"")
    except ValueError:
        raise InputError(
            "the journal was cut off before its first sample", file=path, line=2
        ) from None
    width = 1 + len(channels)
    place, blocks = end + 1, [np.empty((0, width))]
    while place + _HEAD.size <= len(content):
        rows, check = _HEAD.unpack_from(content, place)
        stop = place + _HEAD.size + 8 * rows * width
        block = content[place + _HEAD.size : stop]
        if len(block) < 8 * rows * width or zlib.crc32(block) != check:
            break
        blocks.append(np.frombuffer(block, "<f8").reshape(rows, width))
        place = stop
    whole = np.concatenate(blocks)
    if place < len(content):
        about = {**about, "cut_off": True}
    return Recording(whole[:, 0], channels, whole[:, 1:], about)


def _refused(path: Path, error: OSError) -> InputError:
    return InputError(
        f"the file cannot be written: {error.strerror or error}",
        file=path,
        remedy="see that the folder is there, may be written, and has room",
    )
