"""SL's recordings: dNNNNN files of big-endian 32-bit floats (`linkwright.recording.numbering`).

The header is text in which blanks separate all: the number of values, columns, rows, the rate in
Hz, then a name and a unit for each column. The values are the last 4 times rows times columns
bytes, row by row (SL's technical report, section 5.5). Common readers skip exactly three
characters after the last unit and take the first row to stand at one period, so two blanks and an
end of line are written there, and times begin at one period.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from linkwright.base.checks import checked
from linkwright.base.errors import InputError
from linkwright.recording.bounds import MOST_COLUMNS
from linkwright.recording.recording import Channel, Recording, RecordingError

NAME = re.compile(r"d(\d{5,})\Z")
_SEPARATOR = b"  \n"
_LONGEST_HEADER = 4 << 20


def read_sl(path: str | os.PathLike[str]) -> Recording:
    """Return the contents of an SL data file."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", file=path) from None
    head = content[:_LONGEST_HEADER]
    words = re.finditer(rb"\S+", head)
    try:
        total, columns, rows = int(next(words)[0]), int(next(words)[0]), int(next(words)[0])
        frequency = float(next(words)[0])
    except (ValueError, StopIteration):
        raise InputError(
            "the header does not begin with three whole numbers and a rate", file=path, line=1
        ) from None
    if not (0 < columns <= MOST_COLUMNS and rows >= 0 and total == rows * columns):
        raise InputError(
            f"the header counts {total} values in {rows} rows of {columns}", file=path, line=1
        )
    checked(frequency, "the header's rate in Hz", above=0, file=path, line=1)
    labels = [next(words, None) for _ in range(2 * columns)]
    last = labels[-1]
    size = 4 * total
    if last is None or _cut_off(content, last.end(), size):
        raise InputError(
            f"the file is cut off: {rows} rows of {columns} columns take {size} bytes", file=path
        )
    texts = [label[0].decode("latin-1") for label in labels if label is not None]
    values = np.frombuffer(content[len(content) - size :], ">f4").reshape(rows, columns)
    channels = [Channel(n, u) for n, u in zip(texts[::2], texts[1::2], strict=True)]
    with np.errstate(invalid="ignore", over="ignore"):  # of what is not finite
        times = np.arange(1, rows + 1) / frequency
        data = values.astype(float)
    return Recording(times, channels, data, {"source": path.name})


def _cut_off(content: bytes, end: int, size: int) -> bool:
    """Whether values are missing behind a header that ends there."""
    usual = end + len(_SEPARATOR) if content.startswith(_SEPARATOR, end) else None
    start = len(content) - size
    return start <= end or (usual is not None and start < usual)


def sl_bytes(recording: Recording) -> bytes:
    """Return a recording as the contents of an SL data file."""
    recording = recording.even
    rate = recording.rate
    if rate is None:
        raise RecordingError(
            "an SL file holds evenly spaced samples, and these are not",
            remedy="record at a fixed step, or choose another format",
        )
    labels = []
    for channel in recording.channels:
        unit = "-" if channel.unit in ("?", "") else channel.unit
        if re.search(r"\s", channel.name + unit) or not channel.name:
            raise RecordingError(
                f"an SL file cannot hold the name or unit of {channel.name!r}, which has blanks",
                remedy="use underscores (Recording.renamed)",
            )
        labels.append(f"{channel.name} {unit}")
    rows, columns = recording.data.shape
    head = f"{rows * columns} {columns} {rows} {rate:.9g} {' '.join(labels)}  \n"
    return head.encode("utf-8") + recording.data.astype(">f4").tobytes()
