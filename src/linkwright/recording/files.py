"""The files that hold recordings, by the endings of their names.

To add a format, write a reader and a writer and one line in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import file_exists, is_there, path_of
from linkwright.base.lazy import later
from linkwright.base.optional import extra
from linkwright.recording.comparison import compared
from linkwright.recording.erd import ErdChannel, ErdFile, read_erd, write_erd
from linkwright.recording.journal import MAGIC, journal_stream, recovered
from linkwright.recording.labels import SECONDS
from linkwright.recording.origins import as_read, to_be_written
from linkwright.recording.parquet import (
    parquet_stream,
    read_parquet,
    write_parquet,
    write_stream,
)
from linkwright.recording.recording import Channel, Recording, RecordingError
from linkwright.recording.sl import NAME, read_sl, sl_bytes
from linkwright.recording.streams import Stream, chunks, stream_of, whole
from linkwright.recording.tables import read_csv, read_numpy, write_csv, write_numpy


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format: what it is, how it is read, how it is written (None where it is only read).

    `package` is what both need besides Linkwright itself; `exact` says whether every bit is kept.
    """

    words: str
    read: Callable[[Path], Recording]
    write: Callable[[Path, Recording, bool], None] | None
    package: str = ""
    exact: bool = True

    def require(self) -> None:
        """Raise an error where the package that the format needs is not installed."""
        if self.package:
            extra(self.package, "recording")


_TIMES = {"": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us"}


def _read_erd(path: Path) -> Recording:
    erd = read_erd(path)
    names = _unique([c.short for c in erd.channels])
    channels = [
        Channel(name, c.unit or "?", c.long, c.general, c.body)
        for name, c in zip(names, erd.channels, strict=True)
    ]
    about = {"title": erd.title, "history": list(erd.history), "source": path.name}
    return Recording(_seconds(erd.x_unit, path) * erd.times, channels, erd.data, about)


def _seconds(unit: str, path: Path) -> float:
    """Return the seconds in what the samples of an ERD file go over."""
    word = unit.lower()
    found = SECONDS.get(_TIMES.get(word, word))
    if found is None:
        raise InputError(
            f"its samples go over {unit!r}, which is not a unit of time",
            file=path,
            remedy="take them as they are: linkwright.recording.read_erd",
        )
    return found


def _write_erd(path: Path, recording: Recording, replace: bool) -> None:
    whole, recording = recording, recording.printed.even
    rate, left = recording.rate, len(whole) - len(recording)
    if rate is None or recording.times[0] != 0:
        raise RecordingError(
            "an ERD file holds samples at even steps from time zero, and these are not",
            remedy="record at a fixed step, or choose another format",
        )
    if not replace and path.exists():
        raise file_exists(path)
    labels = tuple(
        ErdChannel(c.name, c.long, c.unit, c.generic, c.body) for c in recording.channels
    )
    title = str(recording.metadata.get("model", ""))
    data = recording.data.astype("float32")
    told = (f"Left out, as between two samples: the end, t = {whole.times[-1]:.9g} s",)
    write_erd(path, ErdFile(labels, data, 1 / rate, title=title, history=told * left))


def _write_sl(path: Path, recording: Recording, replace: bool) -> None:
    from linkwright.base.files import write_bytes

    write_bytes(path, sl_bytes(recording), replace=replace)


_SL = FileFormat("SL data file", read_sl, _write_sl, exact=False)
FORMATS: dict[str, FileFormat] = {
    ".parquet": FileFormat("Parquet", read_parquet, write_parquet, "pyarrow.parquet"),
    ".csv": FileFormat("comma-separated text", read_csv, write_csv),
    ".npz": FileFormat("NumPy arrays", read_numpy, write_numpy),
    ".mcap": FileFormat(
        "MCAP (Foxglove, PlotJuggler)",
        later("linkwright.recording.mcap:read_mcap"),
        later("linkwright.recording.mcap:write_mcap"),
        "mcap.writer",
    ),
    ".mat": FileFormat(
        "MATLAB 5",
        later("linkwright.recording.matlab:read_matlab"),
        later("linkwright.recording.matlab:write_matlab"),
    ),
    ".erd": FileFormat("ERD header and .bin", _read_erd, _write_erd, exact=False),
    ".traj": _SL,
    ".journal": FileFormat("journal of a run", recovered, None),
}


def file_format(path: Path) -> FileFormat:
    """Return the format that a name stands for.

    >>> file_format(Path("run.parquet")).words, file_format(Path("d00123")).words
    ('Parquet', 'SL data file')
    """
    if NAME.fullmatch(path.name):
        return _SL
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise InputError(
            f"the ending {path.suffix!r} names no format of recordings",
            file=path,
            remedy=f"use {', '.join(FORMATS)}, or d and five digits for SL's",
        )
    return found


def is_recording(name: str | Path) -> bool:
    """Whether the name of a file is that of a recording.

    >>> is_recording("run.csv"), is_recording("d00042"), is_recording(Path("arm.urdf"))
    (True, True, False)
    """
    path = Path(name)
    return path.suffix.lower() in FORMATS or NAME.fullmatch(path.name) is not None


@worded
def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Return the recording that a file holds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Recording([0, 0.1], [Channel("x", "m")], [[1], [2]])
    ...     made.save(Path(folder) / "run.csv")
    ...     read_recording(Path(folder) / "run.csv")["x"]
    array([1., 2.])
    """
    path = path_of(path, "a recording")
    try:
        if not path.is_file():
            why = "this is a folder, not a recording" if path.is_dir() else "there is no such file"
            raise InputError(why, file=path)
        with path.open("rb") as file:
            journal = file.read(len(MAGIC)) == MAGIC
        made = recovered(path) if journal else file_format(path).read(path)
        return as_read(made, path.parent)
    except RecordingError as error:
        raise InputError(error.what, file=path, remedy=error.remedy) from None
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", file=path) from None
    except MemoryError:
        raise InputError("the recording does not fit into memory", file=path) from None


def write_recording(
    path: str | os.PathLike[str], recording: Recording, *, replace: bool = True
) -> None:
    """Write a recording; the ending of the name says the format."""
    path = Path(path)
    chosen = file_format(path)
    if chosen.write is None:
        raise InputError(f"a {chosen.words} is only read", file=path)
    chosen.write(path, to_be_written(recording, path.parent), replace)


def open_stream(path: Path) -> Stream:
    """Return what a file holds in parts; those of journals and Parquet take little memory."""
    if is_there(path) and path.is_file():
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return journal_stream(path)
        if path.suffix.lower() == ".parquet":
            return parquet_stream(path)
    return stream_of(read_recording(path))


def keep_stream(path: Path, stream: Stream, *, replace: bool = True) -> None:
    """Write a recording, read it back, and raise an error where it differs."""
    chosen = file_format(path)
    if chosen.write is write_parquet:
        bare = Recording([], stream.channels, [], stream.metadata)
        about = to_be_written(bare, path.parent).metadata
        write_stream(path, Stream(about, stream.channels, stream.parts), replace)
    else:
        write_recording(path, whole(stream), replace=replace)
    again = open_stream(path)
    if not chosen.exact:
        return
    difference: object = compared(stream, again).difference
    tapes = (chunks(part.changes for part in s.parts()) for s in (stream, again))
    if any(a.tobytes() != b.tobytes() for a, b in zip_longest(*tapes, fillvalue=np.empty(0))):
        difference = difference or "the tape has other changes"
    if difference:
        raise InputError(f"it reads back otherwise than it was written: {difference}", file=path)


def _unique(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        count = seen[name] = seen.get(name, 0) + 1
        found.append(name if count == 1 else f"{name}_{count}")
    return found
