"""Recordings as comma-separated text and as NumPy arrays.

The text has the names with their units in brackets in its first line, then numbers in the shortest
form that reads back exactly, as pandas and PyArrow read it. The last column, `# linkwright`, is
empty but for its first cell, which reports all that is known of the channels as JSON; in files of
older versions, and of no samples, that stands in a line `# linkwright {...}` above. Any other table
of numbers with names in its first line is read too: units in square or round brackets, columns
parted by commas, semicolons or tabs (then with decimal commas, too), empty cells for what is not
known. The NumPy archive holds `times`, `data` and the same text as `metadata`; it is read without
pickle.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_bytes, write_with
from linkwright.base.reprs import brief
from linkwright.recording.bounds import require_room
from linkwright.recording.labels import TIMES, channel_of, labeled, recording_of
from linkwright.recording.recording import Recording, from_json, to_json

_MARK = "# linkwright"
_PARTED = "part columns by commas, semicolons or tabs"
_SEPARATORS = (",", ";", "\t")
_LONGEST_CELL = 64 << 20
_LONGEST_NUMBER = 2000  # characters; the shortest way to write any has 24, the longest 1,100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how what a spreadsheet would compute begins


def write_csv(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as comma-separated text."""
    info = to_json(recording.metadata, recording.channels)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    labels = [f"{c.name} [{c.unit}]" for c in recording.channels]
    rows = [
        [repr(x) for x in row]
        for row in np.column_stack([recording.times, recording.data]).tolist()
    ]
    if rows:
        rows[0].append(info)
    else:
        text.write(f"{_MARK} {info}\n")
    for row in rows[1:]:
        row.append("")
    writer.writerow(["t [s]", *map(_harmless, labels), *([_MARK] if rows else [])])
    writer.writerows(rows)
    write_bytes(path, text.getvalue().encode(), replace=replace)


def _harmless(label: str) -> str:
    """Return a label that no spreadsheet takes for a formula."""
    return f"'{label}" if label.startswith(_FORMULA) else label


def read_csv(path: Path) -> Recording:
    """Return the recording in a table of comma-separated text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not text", file=path) from None
    longest = csv.field_size_limit(_LONGEST_CELL)
    try:
        return _read_table(path, text)
    except csv.Error as error:
        raise InputError(f"the table is damaged: {error}", file=path) from None
    finally:
        csv.field_size_limit(longest)


def _read_table(path: Path, text: str) -> Recording:
    first, end, _ = text.partition("\n")
    info = first[len(_MARK) :].strip() if first.startswith(f"{_MARK} ") else None
    lines, skipped = text, 0
    while lines.startswith(("#", "\n", "\r\n")):
        _, end, lines = lines.partition("\n")
        skipped += 1
        if not end:
            lines = ""
    head = lines.partition("\n")[0]
    own = next(csv.reader(io.StringIO(lines, newline="")), [""])[-1:] == [_MARK]
    between = "," if info is not None or own else max(_SEPARATORS, key=head.count)
    read = csv.reader(io.StringIO(lines, newline=""), delimiter=between, skipinitialspace=True)
    labels = next(read, None)
    if labels is None:
        raise InputError("the table is empty", file=path)
    if all(map(_is_number, labels)):
        raise InputError(
            "the first line holds numbers, not the names of the columns",
            file=path,
            line=skipped + 1,
            remedy="write a line of names above, such as: time [s], shoulder [deg]",
        )
    width = len(labels)
    if labels[-1] == _MARK:
        labels.pop()
    rows: list[list[float]] = []
    for cells in read:
        line = skipped + read.line_num
        if not cells or cells[0].startswith("#"):
            continue
        if len(cells) != width:
            raise InputError(
                f"the line has {len(cells)} numbers, and {width} columns have names",
                file=path,
                line=line,
                remedy=None if len(cells) > 1 else _PARTED,
            )
        if width > len(labels):
            last = cells.pop()
            info = last if info is None and not rows else info
        rows.append(_numbers(cells, between, path, line))
    table = np.array(rows, dtype=float).reshape(len(rows), len(labels))
    if info is None and not rows:
        raise InputError("the table has no rows of numbers", file=path, line=skipped + 1)
    if info is None:
        return recording_of(path, [channel_of(label) for label in labels], table, skipped + 1)
    try:
        about, channels = from_json(info)
    except ValueError:
        raise InputError("what it says of itself in JSON is damaged", file=path) from None
    if len(channels) + 1 != len(labels) or labeled(labels[0])[0] not in TIMES:
        raise InputError("what it says of itself does not match the columns", file=path)
    return Recording(table[:, 0], channels, table[:, 1:], about)


def _numbers(cells: Sequence[str], between: str, path: Path, line: int) -> list[float]:
    """Return the numbers of a line."""
    try:
        row = [float(x) if x.strip() else math.nan for x in cells]
    except ValueError:
        return _unusual(cells, between, path, line)
    odd = any("_" in x or len(x) > _LONGEST_NUMBER for x in cells)
    return _unusual(cells, between, path, line) if odd else row


def _unusual(cells: Sequence[str], between: str, path: Path, line: int) -> list[float]:
    """Return the numbers of a line that are not all written as Python writes them.

    Between semicolons and tabs a comma is that of a decimal fraction.
    """
    row = []
    for cell in map(str.strip, cells):
        decimal = between != "," and cell.count(",") == 1 and "." not in cell
        text = cell.replace(",", ".") if decimal else cell
        if (text and not _is_number(text)) or len(text) > _LONGEST_NUMBER:
            raise InputError(
                f"{brief(cell)} is not a number",
                file=path,
                line=line,
                remedy=_PARTED if len(cells) == 1 else None,
            )
        row.append(float(text) if text else math.nan)
    return row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def write_numpy(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as an archive of NumPy arrays."""
    metadata = np.array(to_json(recording.metadata, recording.channels))
    write_with(
        path,
        lambda file: np.savez_compressed(
            file, times=recording.times, data=recording.data, metadata=metadata
        ),
        replace=replace,
    )


def read_numpy(path: Path) -> Recording:
    """Return the recording in an archive of NumPy arrays."""
    return read_numpy_bytes(path, path.read_bytes())


def read_numpy_bytes(path: Path, content: bytes) -> Recording:
    """Return the recording in the bytes of an archive of NumPy arrays."""
    if not content.startswith(b"PK"):
        raise InputError("this is not an archive of NumPy arrays (.npz)", file=path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            sizes = {part.filename: part.file_size for part in parts.infolist()}
            require_room(path, sum(sizes.values()), len(content))
            if sizes.get("metadata.npy", 0) > 4 * _LONGEST_CELL:
                raise ValueError("what it says of itself is too long")
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            missing = {"metadata", "times", "data"} - set(archive.files)
            if missing:
                raise ValueError(f"it has no array {min(missing)!r}")
            about, channels = from_json(str(archive["metadata"]))
            return Recording(archive["times"], channels, archive["data"], about)
    except Error:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds for a damaged file
        raise InputError(f"this is not a recording, or it is damaged: {error}", file=path) from None
