"""A file that grows while a run goes on, and can be read whatever happens to the run.

It begins with a line that names the format and one of JSON with the channels. Blocks follow: frames
of records, as they are in windows and on a wire (`linkwright.windows.records`). Those of samples
are rows of 64-bit floats (time first), and their tick counts rows; those of other bytes may be
among them (`Journal.attach`, `Journal.note`), and their tick counts bytes. The sequence counts
blocks, and the clock is that of the day, in ns. A block that is cut off or damaged ends what can be
read; all before it is good. A block is with the system when it has been appended, so that it
outlasts the process; it is flushed to the disk once a second, so that it outlasts a power failure.
The file is locked while the run lives.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.closable import Closable
from linkwright.base.errors import InputError
from linkwright.base.files import file_refused, flush_folder, try_lock
from linkwright.recording.recording import Channel, Recording, from_json, to_json
from linkwright.recording.streams import Stream, StreamPart, changes_of, whole
from linkwright.windows import Field, Record, RecordError
from linkwright.windows.records import HEAD, Frame

MAGIC = b"LINKWRIGHT JOURNAL 2\n"
_BLOCK = 16 << 20  # bytes of a block of samples, about
_LONGEST_HEADER = 64 << 20
_FLUSH = 1.0  # s from one flush to the disk to the next, about


class Journal(Closable):
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
        self._blocks = self._rows = self._size = 0
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
        whole = np.concatenate([t, rows], axis=1)
        most = max(1, _BLOCK // whole[:1].nbytes)
        for first in range(0, len(whole), most):
            part = whole[first : first + most]
            self._block(sample_record(*part.shape), {"rows": part}, self._rows)
            self._rows += len(part)
        if time.monotonic() - self._flushed > _FLUSH:
            self.flush()

    def attach(self, content: bytes) -> None:
        """Add bytes that are not samples, such as a part of a tape; they are read as one."""
        if content:
            data = np.frombuffer(content, np.uint8)
            self._block(attached_record(len(content)), {"bytes": data}, len(content))

    def note(self, text: str) -> None:
        """Add a line of text, such as what was asked for at a moment."""
        content = text.encode()
        data = np.frombuffer(content, np.uint8)
        self._block(noted_record(len(content)), {"text": data}, len(content))

    def _block(self, record: Record, values: Mapping[str, Any], tick: int) -> None:
        clock = time.time_ns()
        self._put(record.pack(values, sequence=self._blocks, tick=tick, clock=clock))
        self._blocks += 1

    def _put(self, content: bytes) -> None:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):  # what was written of a block that is not whole
                os.ftruncate(self._file.fileno(), self._size)
            raise file_refused(self.path, error) from None
        self._size += len(content)

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


@lru_cache(maxsize=12)
def sample_record(rows: int, width: int) -> Record:
    """Return the record of a block of samples.

    >>> sample_record(2, 3).size
    112
    """
    return Record("samples", Field("rows", shape=(rows, width)))


@lru_cache(maxsize=12)
def attached_record(count: int) -> Record:
    """Return the record of a block of other bytes.

    >>> attached_record(20).size
    88
    """
    return Record("attached", Field("bytes", type="u8", shape=(count,)))


@lru_cache(maxsize=12)
def noted_record(count: int) -> Record:
    """Return the record of a block of text.

    >>> noted_record(20).size
    88
    """
    return Record("noted", Field("text", type="u8", shape=(count,)))


def _frames(file: BinaryIO, width: int) -> Iterator[Frame]:
    """Yield the blocks from a place on, up to the first that is not whole."""
    count, size = 0, os.fstat(file.fileno()).st_size
    while len(head := file.read(HEAD)) == HEAD:
        schema, tick, payload = (int.from_bytes(head[k : k + 8], "little") for k in (8, 24, 48))
        if not 0 < payload <= size - file.tell():
            return
        rows, rest = divmod(payload, 8 * width)
        record = None if rest else sample_record(rows, width)
        if (record is None or record.schema != schema) and 0 < tick <= payload:
            record = attached_record(tick)
            if record.schema != schema:
                record = noted_record(tick)
        try:
            if record is None:
                return
            frame = record.unpack(head + file.read(payload))
        except RecordError:
            return
        if frame.sequence != count:
            return
        yield frame
        count += 1


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
    """Reject to begin a run where another goes on, or has left its journal."""
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
        remedy=f"linkwright tools recover {path}, or use --force to start over",
    )


def recovered(path: str | os.PathLike[str]) -> Recording:
    """Return what a journal holds, up to the last block that is whole.

    What was attached is in `metadata["attached"]` (see `attached_text`), the lines that were noted
    in `metadata["noted"]`.
    """
    return whole(journal_stream(path))


def journal_stream(path: str | os.PathLike[str]) -> Stream:
    """Return the same in parts."""
    path, noted = Path(path), []
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError("this is not the journal of a run", file=path)
            header = file.readline(_LONGEST_HEADER)
            about, channels = from_json(header if header.endswith(b"\n") else b"")
            end = begin = file.tell()
            for frame in _frames(file, 1 + len(channels)):
                end += len(frame.data)
                if frame.record.name == "noted":
                    noted.append(frame.values["text"].tobytes().decode(errors="replace"))
            cut_off = end < os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", file=path) from None
    except ValueError:
        raise InputError(
            "the journal was cut off before its first sample", file=path, line=2
        ) from None
    about = {**about, "recovered": True}
    about |= ({"noted": noted} if noted else {}) | ({"cut_off": True} if cut_off else {})

    def parts() -> Iterator[StreamPart]:
        with path.open("rb") as file:
            file.seek(begin)
            for frame in _frames(file, 1 + len(channels)):
                rows, content = frame.values.get("rows", none), frame.values.get("bytes")
                changes = changes_of(b"" if content is None else content.tobytes())
                yield StreamPart(rows[:, 0], rows[:, 1:], changes)

    none = np.empty((0, 1 + len(channels)))
    return Stream(about, channels, parts)
