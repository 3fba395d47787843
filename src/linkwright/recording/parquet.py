"""Recordings as Parquet files: a column for each channel, its labels in the schema.

Needs PyArrow (the extra `plot`). The schema's metadata hold the key `linkwright` with a line
of JSON; files of others are read as well, with the column named t or time as time, and moments of
the calendar as seconds since the first. The tape of a paced run is the last column: in each row the
changes that this sample was the first to see.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import write_with
from linkwright.base.optional import extra
from linkwright.recording.bounds import require_room
from linkwright.recording.labels import TIMES, channel_of, recording_of
from linkwright.recording.recording import Channel, Recording, from_json, to_json
from linkwright.recording.streams import (
    ROWS,
    TAPE,
    Stream,
    StreamPart,
    early_changes,
    stream_of,
    whole,
)

_KEY = b"linkwright"
_TAPE = "linkwright.tape"
_WORDS = list(TAPE.names or ())
_TEMPORAL = ("timestamp", "duration", "date")


def write_parquet(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as a Parquet file."""
    write_stream(path, stream_of(recording), replace)


def write_stream(path: Path, stream: Stream, replace: bool = True) -> None:
    """Write a recording that comes in parts as a Parquet file."""
    arrow, parquet = extra("pyarrow", "plot"), extra("pyarrow.parquet", "plot")
    fields = [arrow.field("t", arrow.float64(), False, {"unit": "s"})]
    for c in stream.channels:
        labels = {"unit": c.unit, "long": c.long, "generic": c.generic, "body": c.body}
        fields.append(arrow.field(_column(c.name), arrow.float64(), False, labels))
    label = stream.metadata.get("tape")
    seconds = float(label["tick"]) if isinstance(label, Mapping) else 0.0
    kinds = arrow.struct([(n, arrow.from_numpy_dtype(TAPE[n])) for n in _WORDS])
    if seconds:
        fields.append(arrow.field(_TAPE, arrow.list_(kinds), False))

    def fill(file: Any) -> None:
        groups = stream.grouped()
        first = next(groups, None)
        bare = first is not None and len(first.changes) and not (seconds and len(first.times))
        about = whole(stream).metadata if bare else stream.metadata  # no rows to go with
        known = {_KEY: to_json(about, stream.channels).encode()}
        schema = arrow.schema(fields, known)
        with parquet.ParquetWriter(file, schema) as writer:
            for part in itertools.chain(() if first is None else (first,), groups):
                columns = map(arrow.array, (part.times, *np.ascontiguousarray(part.data.T)))
                lists = [_lists(arrow, part, seconds)] if seconds else []
                writer.write_table(arrow.Table.from_arrays([*columns, *lists], schema=schema))

    write_with(path, fill, replace=replace)


def _lists(arrow: Any, part: StreamPart, seconds: float) -> Any:
    """Return the changes of a part as lists, each with the first sample that saw them."""
    seen = np.searchsorted(part.times, (part.changes["tick"] - 0.5) * seconds)
    rows = np.minimum(np.maximum.accumulate(seen), len(part.times) - 1)
    starts = np.searchsorted(rows, np.arange(len(part.times) + 1))
    values = [arrow.array(np.ascontiguousarray(part.changes[n])) for n in _WORDS]
    table = arrow.StructArray.from_arrays(values, _WORDS)
    return arrow.ListArray.from_arrays(arrow.array(starts, arrow.int32()), table)


def _column(name: str) -> str:
    return f"{name}." if name.rstrip(".") == "t" else name


def read_parquet(path: Path) -> Recording:
    """Return the recording in a Parquet file."""
    file = _opened(path)
    info = file.metadata
    groups = (info.row_group(k).total_byte_size for k in range(info.num_row_groups))
    numbers = 8 * info.num_rows * info.num_columns
    require_room(path, max(numbers, sum(groups)), path.stat().st_size)
    if _KEY in (file.schema_arrow.metadata or {}):
        return whole(parquet_stream(path))
    with _arrow_errors(path):
        table = file.read()
    channels = [_channel(field) for field in table.schema]
    for k, field in enumerate(table.schema):
        if str(field.type).startswith(_TEMPORAL):
            channels[k] = replace(channels[k], unit="s", generic="time")
    data = np.column_stack(
        [_numbers(path, table, k) for k in range(len(channels))] or [np.empty((table.num_rows, 0))]
    )
    return recording_of(path, channels, data)


def parquet_stream(path: Path) -> Stream:
    """Return the recording in a Parquet file of ours in parts."""
    schema = _opened(path).schema_arrow
    try:
        about, channels = from_json((schema.metadata or {}).get(_KEY, b""))
    except ValueError:
        raise InputError("its metadata are damaged", file=path) from None
    taped = schema.names[-1:] == [_TAPE]
    if len(channels) + 1 + taped != len(schema.names) or schema.names[0] not in TIMES:
        raise InputError("its metadata do not match its columns", file=path)
    early = early_changes(about)

    def parts() -> Iterator[StreamPart]:
        yield StreamPart(np.empty(0), np.empty((0, len(channels))), early)
        file = _opened(path)  # all groups at once would all be kept in memory
        groups = (file.iter_batches(ROWS, [k]) for k in range(file.num_row_groups))
        with _arrow_errors(path):
            for batch in itertools.chain.from_iterable(groups):
                columns = [batch.column(k).to_numpy() for k in range(1 + len(channels))]
                data = np.column_stack([np.empty((len(batch), 0)), *columns[1:]])
                changes = _changes(batch.column(len(columns))) if taped else early[:0]
                yield StreamPart(columns[0], data, changes)

    return Stream(about, channels, parts)


def _changes(lists: Any) -> NDArray[Any]:
    """Return the changes in a column of lists."""
    values = lists.flatten()
    found = np.empty(len(values), TAPE)
    for name, part in zip(_WORDS, values.flatten(), strict=True):
        found[name] = part.to_numpy()
    return found


def _opened(path: Path) -> Any:
    """Return a Parquet file; its metadata may be as long as it is, as those of older ones are.

    Arrow counts them by an int32; the file itself may be longer.
    """
    size = min(max(path.stat().st_size, 1 << 16), (1 << 31) - 1)
    limits = {"thrift_string_size_limit": size, "thrift_container_size_limit": size}
    with _arrow_errors(path):
        return extra("pyarrow.parquet", "plot").ParquetFile(path, **limits)


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (extra("pyarrow", "plot").ArrowException, OSError, ValueError) as error:
        journal = path.with_name(path.name + ".journal")
        remedy = f"linkwright tools recover {journal}" if journal.exists() else None
        words = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"this is not a Parquet file, or it is damaged: {words}", file=path, remedy=remedy
        ) from None


def _numbers(path: Path, table: Any, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        column = table.column(k).to_numpy()
        if column.dtype.kind in "mM":
            return _since_the_first(column)
        column = np.asarray(column, dtype=float)
        if column.ndim != 1:
            raise ValueError
        return column
    except (TypeError, ValueError, NotImplementedError):
        name = table.schema.names[k]
        raise InputError(f"the column {name!r} holds no numbers", file=path) from None


def _since_the_first(column: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return durations in s; moments of the calendar as durations since the first of them."""
    known = ~np.isnat(column)
    if column.dtype.kind == "M" and known.any():
        column = column - column[known][0]
    nanoseconds = column.astype("m8[ns]").astype(np.int64)
    return np.where(known, nanoseconds / 1e9, np.nan)


def _channel(field: Any) -> Channel:
    labels = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
    if "unit" not in labels:
        return channel_of(field.name)
    keys = ("long", "generic", "body")
    return Channel(field.name, labels["unit"], *(labels.get(k, "") for k in keys))
