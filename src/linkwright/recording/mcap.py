"""Recordings as MCAP files, which Foxglove and PlotJuggler open.

Needs the package mcap (the extra `plot`). Each body has a topic of its own, and one message
of JSON for each sample; channels without a body stand under `/channels`. The keys are names without
their body, and dots are underscores, so that `/arm.speed` is a path that both understand. Numbers
that JSON cannot hold (nan, infinities) are null there; the exact values stand in an attachment in
our own form, so that nothing is lost on the way back.
"""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_with
from linkwright.base.optional import extra
from linkwright.recording import bounds
from linkwright.recording.recording import Channel, Recording, to_json

_ARCHIVE = "linkwright.npz"


def write_mcap(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as an MCAP file."""
    module = extra("mcap.writer", "plot")
    topics: dict[str, list[int]] = {}
    for k, channel in enumerate(recording.channels):
        topics.setdefault(f"/{channel.body or 'channels'}", []).append(k)

    def fill(file: Any) -> None:
        writer = module.Writer(file)
        writer.start(profile="", library="linkwright")
        writer.add_metadata("linkwright", {"recording": to_json(recording.metadata)})
        ids = {
            topic: _register(writer, topic, [recording.channels[k] for k in columns])
            for topic, columns in topics.items()
        }
        stamps = np.round(recording.times * 1e9).astype(np.int64).tolist()
        rows = recording.data.tolist()
        keys = {
            k: key
            for columns in topics.values()
            for k, key in zip(columns, _keys([recording.channels[k] for k in columns]), strict=True)
        }
        for number, (stamp, row) in enumerate(zip(stamps, rows, strict=True)):
            for topic, columns in topics.items():
                message = {keys[k]: row[k] if math.isfinite(row[k]) else None for k in columns}
                writer.add_message(ids[topic], stamp, json.dumps(message).encode(), stamp, number)
        archive = io.BytesIO()
        metadata = np.array(to_json(recording.metadata, recording.channels))
        np.savez_compressed(archive, times=recording.times, data=recording.data, metadata=metadata)
        writer.add_attachment(0, 0, _ARCHIVE, "application/octet-stream", archive.getvalue())
        writer.finish()

    write_with(path, fill, replace=replace)


def _keys(channels: list[Channel]) -> list[str]:
    """Return a key for each channel of a topic, different from one another."""
    plain = [c.name.removeprefix(f"{c.body}.").replace(".", "_") for c in channels]
    return [
        key if plain.count(key) == 1 else c.name.replace(".", "_")
        for key, c in zip(plain, channels, strict=True)
    ]


def _register(writer: Any, topic: str, channels: list[Channel]) -> int:
    schema = {
        "type": "object",
        "title": topic.lstrip("/"),
        "properties": {
            key: {"type": ["number", "null"], "title": c.label, "description": c.unit}
            for key, c in zip(_keys(channels), channels, strict=True)
        },
    }
    number = writer.register_schema(topic.lstrip("/"), "jsonschema", json.dumps(schema).encode())
    units = {key: c.unit for key, c in zip(_keys(channels), channels, strict=True)}
    return int(writer.register_channel(topic, "json", number, {"units": json.dumps(units)}))


def read_mcap(path: Path) -> Recording:
    """Return the recording in an MCAP file: one of ours, or one with messages of JSON."""
    from linkwright.recording.tables import read_numpy_bytes

    reading = extra("mcap.reader", "plot")
    try:
        with path.open("rb") as file:
            reader = reading.SeekingReader(file, record_size_limit=bounds.MOST_BYTES)
            if reader.get_summary() is None:  # then all of it is read for attachments, too
                _require_room(path, file)
            for attachment in reader.iter_attachments():
                if attachment.name == _ARCHIVE:
                    return read_numpy_bytes(path, attachment.data)
            _require_room(path, file)
            return _from_messages(path, reader)
    except Error:
        raise
    except Exception as error:  # the package raises many kinds for a damaged file
        words = str(error) or type(error).__name__
        raise InputError(
            f"this is not an MCAP file, or it is damaged: {words}", file=path
        ) from None


def _require_room(path: Path, file: BinaryIO) -> None:
    """Reject a file whose chunks unpack to more than fits, before any of them is."""
    streaming, records = (
        extra("mcap.stream_reader", "plot"),
        extra("mcap.records", "plot"),
    )
    total = 0
    file.seek(0)
    stream = streaming.StreamReader(file, emit_chunks=True, record_size_limit=bounds.MOST_BYTES)
    for record in stream.records:
        if isinstance(record, records.Chunk):
            size = max(record.uncompressed_size, len(record.data))
            if record.compression == "zstd":
                size = max(size, extra("zstandard", "plot").frame_content_size(record.data))
            total += size
            bounds.require_room(path, total, path.stat().st_size)


def _from_messages(path: Path, reader: Any) -> Recording:
    """Return the numbers of all JSON messages, each held until the next one of its topic."""
    samples: dict[int, dict[str, float]] = {}
    units: dict[str, str] = {}
    for _, channel, message in reader.iter_messages():
        if channel.message_encoding != "json":
            continue
        topic = channel.topic.strip("/")
        content = json.loads(message.data)
        given = json.loads(channel.metadata.get("units", "{}"))
        for key, value in content.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                samples.setdefault(message.log_time, {})[f"{topic}/{key}"] = float(value)
                units[f"{topic}/{key}"] = str(given.get(key, "?"))
    if not samples:
        raise InputError("it has no messages of JSON with numbers", file=path)
    times = sorted(samples)
    data = np.full((len(times), len(units)), np.nan)
    held = dict.fromkeys(units, math.nan)
    for k, stamp in enumerate(times):
        held |= samples[stamp]
        data[k] = list(held.values())
    start = times[0]
    seconds = [(stamp - start) / 1e9 for stamp in times]
    channels = [Channel(name, unit) for name, unit in units.items()]
    return Recording(seconds, channels, data, {"source": path.name})
