"""Recordings as Parquet files: a column for each channel, its labels in the schema.

Needs PyArrow (the extra `recording`). The schema's metadata hold the key `linkwright` with a line
of JSON; files of others are read as well, with the column named t or time as time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwright.errors import InputError
from linkwright.files import write_with
from linkwright.optional import extra
from linkwright.recording.bounds import require_room
from linkwright.recording.labels import TIMES, channel_of, recording_of
from linkwright.recording.recording import Channel, Recording, from_json, to_json

_KEY = b"linkwright"


def write_parquet(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as a Parquet file."""
    arrow, parquet = extra("pyarrow", "recording"), extra("pyarrow.parquet", "recording")
    fields = [arrow.field("t", arrow.float64(), False, {"unit": "s"})]
    for c in recording.channels:
        labels = {"unit": c.unit, "long": c.long, "generic": c.generic, "body": c.body}
        fields.append(arrow.field(_column(c.name), arrow.float64(), False, labels))
    metadata = {_KEY: to_json(recording.metadata, recording.channels).encode()}
    columns = [
        arrow.array(recording.times),
        *map(arrow.array, np.ascontiguousarray(recording.data.T)),
    ]
    table = arrow.Table.from_arrays(columns, schema=arrow.schema(fields, metadata))
    write_with(path, lambda file: parquet.write_table(table, file), replace=replace)


def _column(name: str) -> str:
    return f"{name}." if name.rstrip(".") == "t" else name


def read_parquet(path: Path) -> Recording:
    """Return the recording in a Parquet file."""
    arrow, parquet = extra("pyarrow", "recording"), extra("pyarrow.parquet", "recording")
    try:
        info = parquet.read_metadata(path)
        groups = (info.row_group(k).total_byte_size for k in range(info.num_row_groups))
        numbers = 8 * info.num_rows * info.num_columns
        require_room(path, max(numbers, sum(groups)), path.stat().st_size)
        table = parquet.read_table(path, memory_map=False)
        names = list(table.schema.names)
        channels = [_channel(field) for field in table.schema]
    except (arrow.ArrowException, OSError, ValueError) as error:
        journal = path.with_name(path.name + ".journal")
        remedy = f"linkwright recover {journal}" if journal.exists() else None
        words = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"this is not a Parquet file, or it is damaged: {words}", file=path, remedy=remedy
        ) from None
    data = np.column_stack(
        [_numbers(path, table, k) for k in range(len(names))] or [np.empty((table.num_rows, 0))]
    )
    known = (table.schema.metadata or {}).get(_KEY)
    if known is None:
        return recording_of(path, channels, data)
    try:
        about, told_channels = from_json(known)
    except ValueError:
        raise InputError("its metadata are damaged", file=path) from None
    if len(told_channels) + 1 != len(names) or names[0] not in TIMES:
        raise InputError("its metadata do not match its columns", file=path)
    return Recording(data[:, 0], told_channels, data[:, 1:], about)


def _numbers(path: Path, table: Any, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        column = np.asarray(table.column(k).to_numpy(), dtype=float)
        if column.ndim != 1:
            raise ValueError
        return column
    except (TypeError, ValueError, NotImplementedError):
        name = table.schema.names[k]
        raise InputError(f"the column {name!r} holds no numbers", file=path) from None


def _channel(field: Any) -> Channel:
    labels = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
    if "unit" not in labels:
        return channel_of(field.name)
    keys = ("long", "generic", "body")
    return Channel(field.name, labels["unit"], *(labels.get(k, "") for k in keys))
