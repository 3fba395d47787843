"""Recordings that are read, written and compared in parts: as long as one likes, in little memory.

A tape (every change of an input, with its tick) goes along with the samples. It is rows of `TAPE`:
bytes in journals, a column of tables in Parquet files, a text in the metadata of all else.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.recording.recording import Array, Channel, Recording

TAPE = np.dtype([("tick", "<i8"), ("place", "<i8"), ("value", "<f8")])
"""A change: the tick that saw it first, the place of what changed, what it became."""
ROWS = 1 << 16
"""Samples of a part, about."""
_MOST_ATTACHED = 1 << 31


class StreamPart(NamedTuple):
    """Some samples of a recording, and the changes that came meanwhile."""

    times: Array
    data: Array
    changes: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stream:
    """A recording in parts: what is known of it, its channels, and what gives the parts anew."""

    metadata: Mapping[str, Any]
    channels: tuple[Channel, ...]
    parts: Callable[[], Iterator[StreamPart]]

    def grouped(self) -> Iterator[StreamPart]:
        """Yield larger parts, each with some rows: changes at the end go with the last."""
        held: list[StreamPart] = []
        count = 0
        for part in self.parts():
            if len(part.times) and count >= ROWS:
                yield _joined(held)
                held, count = [], 0
            held.append(part)
            count += len(part.times)
        if held:
            yield _joined(held)


def _joined(parts: list[StreamPart]) -> StreamPart:
    return StreamPart(*(np.concatenate(list(x)) for x in zip(*parts, strict=True)))


def chunks(arrays: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield the rows of arrays in pieces of the same length, but for the last."""
    held: list[NDArray[Any]] = []
    count = 0
    for array in arrays:
        held.append(array)
        count += len(array)
        if count >= ROWS:
            whole = np.concatenate(held)
            for k in range(0, len(whole) - ROWS + 1, ROWS):
                yield np.ascontiguousarray(whole[k : k + ROWS])
            held, count = [whole[count // ROWS * ROWS :]], count % ROWS
    if count:
        yield np.ascontiguousarray(np.concatenate(held))


def stream_of(recording: Recording) -> Stream:
    """Return a recording in memory as one of a single part."""
    about = dict(recording.metadata)
    part = StreamPart(recording.times, recording.data, early_changes(about))
    return Stream(about, recording.channels, lambda: iter((part,)))


def whole(stream: Stream) -> Recording:
    """Return a recording that comes in parts as one in memory."""
    none = StreamPart(np.empty(0), np.empty((0, len(stream.channels))), changes_of(b""))
    times, data, changes = _joined([none, *stream.parts()])
    more = {"attached": attached_text(changes.tobytes())} if len(changes) else {}
    return Recording(times, stream.channels, data, {**stream.metadata, **more})


def early_changes(about: dict[str, Any]) -> NDArray[Any]:
    """Return the changes of a tape that is in the metadata, and take it out of these."""
    return changes_of(attached_bytes(str(about.pop("attached", attached_text(b"")))))


def changes_of(content: bytes) -> NDArray[Any]:
    """Return the rows of a tape from its bytes."""
    if len(content) % TAPE.itemsize:
        raise InputError("the tape of the recording is damaged")
    return np.frombuffer(content, TAPE)


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
    linkwright.InputError: what was attached to the recording is damaged
    """
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(base64.b64decode(text, validate=True), _MOST_ATTACHED)
    except (ValueError, zlib.error):
        raise InputError("what was attached to the recording is damaged") from None
    if not unpacker.eof:
        raise InputError("what was attached to the recording is cut off, or more than fits")
    return found
