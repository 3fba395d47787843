"""Recordings as comma-separated text and as NumPy arrays.

The text has a first line `# linkwright {...}` with all that is known of the channels, then the
names with their units in brackets, then numbers in the shortest form that reads back exactly. Any
other table of numbers with names in its first line is read too: units in square or round brackets,
columns parted by commas, semicolons or tabs (then with decimal commas, too), empty cells for what
is not known. The NumPy archive holds `times`, `data` and the same text as `about`; it is read
without pickle.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkwright.errors import InputError
from linkwright.files import write_bytes, write_with
from linkwright.recording.bounds import require_room
from linkwright.recording.labels import TIMES, channel_of, recording_of
from linkwright.recording.recording import Recording, from_json, to_json

_MARK = "# linkwright "
_SEPARATORS = (",", ";", "\t")
_DAMAGED = (
    ValueError,
    KeyError,
    EOFError,
    OSError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # of zipfile, for what it cannot unpack
)


def write_csv(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as comma-separated text.

    Args:
        path: where to.
        recording: what to write.
        replace: whether a file that is there already may be replaced.
    """
    text = io.StringIO()
    text.write(f"{_MARK}{to_json(recording.about, recording.channels)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["t [s]", *(f"{c.name} [{c.unit}]" for c in recording.channels)])
    rows = np.column_stack([recording.times, recording.data]).tolist()
    writer.writerows([map(repr, row) for row in rows])
    write_bytes(path, text.getvalue().encode(), replace=replace)


def read_csv(path: Path) -> Recording:
    """Return the recording in a table of comma-separated text.

    Args:
        path: the file; a column named time or t is the time, otherwise rows are counted.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not text", file=path) from None
    known = None
    first = text.split("\n", 1)[0]
    if first.startswith(_MARK):
        try:
            known = from_json(first[len(_MARK) :])
        except ValueError:
            raise InputError("the line of JSON is damaged", file=path, line=1) from None
    numbered = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line and line[0] != "#"]
    if not numbered:
        raise InputError("the table is empty", file=path)
    between = max(_SEPARATORS, key=numbered[0][1].count)
    labels = next(csv.reader([numbered[0][1]], delimiter=between, skipinitialspace=True))
    if all(map(_is_number, labels)):
        raise InputError(
            "the first line holds numbers, not the names of the columns",
            file=path,
            line=numbered[0][0],
            remedy="write a line of names above, such as: time [s], shoulder [deg]",
        )
    rows = []
    for k, line in numbered[1:]:
        cells = next(csv.reader([line], delimiter=between))
        try:
            row = [float(x) if x.strip() else math.nan for x in cells]
        except ValueError:
            row = _unusual(cells, between, path, k)
        if len(row) != len(labels):
            raise InputError(
                f"the line has {len(row)} numbers, and {len(labels)} columns have names",
                file=path,
                line=k,
            )
        rows.append(row)
    table = np.array(rows, dtype=float).reshape(len(rows), len(labels))
    channels = [channel_of(label) for label in labels]
    if known is None:
        return recording_of(path, channels, table, numbered[0][0])
    about, told = known
    timed = channels[0].name.lower() in TIMES
    if len(told) != len(labels) - timed:
        raise InputError("the line of JSON does not match the columns", file=path, line=1)
    times = table[:, 0] if timed else np.arange(len(table), dtype=float)
    return Recording(times, told, table[:, int(timed) :], about)


def _unusual(cells: Sequence[str], between: str, path: Path, line: int) -> list[float]:
    """Return the numbers of a line that are not all written as Python writes them.

    Between semicolons and tabs a comma is that of a decimal fraction.
    """
    row = []
    for cell in map(str.strip, cells):
        decimal = between != "," and cell.count(",") == 1 and "." not in cell
        text = cell.replace(",", ".") if decimal else cell
        if text and not _is_number(text):
            raise InputError(
                f"{cell!r} is not a number",
                file=path,
                line=line,
                remedy="part columns by commas, semicolons or tabs" if len(cells) == 1 else None,
            )
        row.append(float(text) if text else math.nan)
    return row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_numpy(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as an archive of NumPy arrays.

    Args:
        path: where to.
        recording: what to write.
        replace: whether a file that is there already may be replaced.
    """
    about = np.array(to_json(recording.about, recording.channels))
    write_with(
        path,
        lambda file: np.savez_compressed(
            file, times=recording.times, data=recording.data, about=about
        ),
        replace=replace,
    )


def read_numpy(path: Path) -> Recording:
    """Return the recording in an archive of NumPy arrays.

    Args:
        path: the file.
    """
    return read_numpy_bytes(path, path.read_bytes())


def read_numpy_bytes(path: Path, content: bytes) -> Recording:
    """Return the recording in the bytes of an archive of NumPy arrays.

    Args:
        path: the file they come from, for messages.
        content: of the archive.
    """
    if not content.startswith(b"PK"):
        raise InputError("this is not an archive of NumPy arrays (.npz)", file=path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            require_room(path, sum(part.file_size for part in parts.infolist()))
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            missing = {"about", "times", "data"} - set(archive.files)
            if missing:
                raise ValueError(f"it has no array {min(missing)!r}")
            about, channels = from_json(str(archive["about"]))
            return Recording(archive["times"], channels, archive["data"], about)
    except _DAMAGED as error:
        raise InputError(f"this is not a recording, or it is damaged: {error}", file=path) from None
