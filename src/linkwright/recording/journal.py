"""A file that grows while a run goes on, and can be read whatever happens to the run.

It begins with a line that names the format and one of JSON with the channels. Blocks follow, each
with its number of rows and a check sum before the rows of 64-bit floats (time first), lowest byte
first. Blocks of other bytes may be among them (`Journal.attach`): their number has its highest bit
set, and counts bytes. A block that is cut off or damaged ends what can be read; all before it is
good. A block is with the system when it has been appended, so that it outlasts the process; it is
flushed to the disk once a second, so that it outlasts a power failure. The file is locked while the
run lives.
"""

from __future__ import annotations

import base64
import errno
import os
import stat
import struct
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwright.errors import InputError
from linkwright.files import file_refused, flush_folder, try_lock
from linkwright.recording.recording import Channel, Recording, from_json, to_json

MAGIC = b"LINKWRIGHT JOURNAL 1\n"
_HEAD = struct.Struct("<II")
_OTHER = 1 << 31
_LONGEST_HEADER = 64 << 20
_FLUSH = 1.0  # s from one flush to the disk to the next, about


class Journal:
    """A recording in the making.

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
        metadata: Mapping[str, Any] | None = None,
        *,
        replace: bool = False,
    ) -> None:
        self.path = Path(path)
        self.channels = tuple(channels)
        header = to_json(
            Recording([], self.channels, [], metadata).metadata, self.channels
        ).encode()
        try:
            self._file: BinaryIO = _begun(self.path, replace)
        except FileExistsError:
            require_no_journal(self.path, replace=False)
            raise _left(self.path) from None
        except OSError as error:
            raise file_refused(self.path, error) from None
        self._flushed = time.monotonic()
        try:
            self._put(MAGIC + header + b"\n")
            self.flush()
            flush_folder(self.path.parent)
        except BaseException:
            self.remove()
            raise

    def append(self, times: ArrayLike, data: ArrayLike) -> None:
        """Add samples; they are in the file when this returns."""
        t = np.asarray(times, dtype="<f8").reshape(-1, 1)
        rows = np.asarray(data, dtype="<f8").reshape(len(t), len(self.channels))
        if not len(t):
            return
        block = np.concatenate([t, rows], axis=1).astype("<f8").tobytes()
        self._put(_HEAD.pack(len(t), zlib.crc32(block)) + block)
        if time.monotonic() - self._flushed > _FLUSH:
            self.flush()

    def attach(self, content: bytes) -> None:
        """Add bytes that are no samples, such as a part of a tape; they are read as one.

        Args:
            content: at most a gigabyte.
        """
        if content:
            self._put(_HEAD.pack(_OTHER | len(content), zlib.crc32(content)) + content)

    def _put(self, content: bytes) -> None:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise file_refused(self.path, error) from None

    def flush(self) -> None:
        """Flush what was appended to the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # of what is not a file on a disk
                raise file_refused(self.path, error) from None
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()

    def remove(self) -> None:
        """Close the file, and take it away."""
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self.path.unlink(missing_ok=True)
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


def _begun(path: Path, replace: bool) -> BinaryIO:
    """Open a journal that is this run's alone; FileExistsError where there is one."""
    if path.exists() and not path.is_file():  # a pipe or a device is written to as it is
        return path.open("wb", buffering=0)
    if replace and path.exists():
        require_no_journal(path, replace=True)
        path.unlink(missing_ok=True)
    file = path.open("xb", buffering=0)
    try_lock(file.fileno())
    if not os.fstat(file.fileno()).st_nlink:  # another took it for that of a dead run
        file.close()
        raise FileExistsError
    return file


def require_no_journal(path: Path, *, replace: bool) -> None:
    """Refuse to begin a run where another goes on, or has left its journal."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            dead = try_lock(file.fileno())
    except OSError as error:
        raise file_refused(path, error) from None
    if not dead:
        raise InputError(
            "another run is being recorded here", file=path, remedy="wait, or choose another file"
        )
    if not replace:
        raise _left(path)


def _left(path: Path) -> InputError:
    return InputError(
        "an earlier run has left its journal",
        file=path,
        remedy=f"linkwright recover {path}, or use --force to start over",
    )


def recovered(path: str | os.PathLike[str]) -> Recording:
    """Return what a journal holds, up to the last block that is whole.

    What was attached is in `metadata["attached"]`; see `attached_text`.
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
    place, blocks, attached = end + 1, [np.empty((0, width))], []
    while place + _HEAD.size <= len(content):
        rows, check = _HEAD.unpack_from(content, place)
        size = rows - _OTHER if rows & _OTHER else 8 * rows * width
        block = content[place + _HEAD.size : place + _HEAD.size + size]
        if len(block) < size or zlib.crc32(block) != check:
            break
        if rows & _OTHER:
            attached.append(block)
        else:
            blocks.append(np.frombuffer(block, "<f8").reshape(rows, width))
        place += _HEAD.size + size
    whole = np.concatenate(blocks)
    about = {**about, "recovered": True}
    if attached:
        about["attached"] = attached_text(b"".join(attached))
    if place < len(content):
        about["cut_off"] = True
    return Recording(whole[:, 0], channels, whole[:, 1:], about)


def attached_text(content: bytes) -> str:
    """Return bytes as the text by which metadata holds them: packed, in base 64.

    >>> attached_bytes(attached_text(bytes(3)))
    b'\\x00\\x00\\x00'
    """
    return base64.b64encode(zlib.compress(content, 1)).decode("ascii")


def attached_bytes(text: str) -> bytes:
    """Return the bytes of `attached_text`.

    >>> attached_bytes("no text of ours")
    Traceback (most recent call last):
        ...
    linkwright.errors.InputError: what was attached to the recording is damaged
    """
    try:
        return zlib.decompress(base64.b64decode(text, validate=True))
    except (ValueError, zlib.error):
        raise InputError("what was attached to the recording is damaged") from None
