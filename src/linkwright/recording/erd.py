"""ERD files: a text header and a binary file of 32-bit floating-point records.

The format is that of AUTOSIM's programs (Sayers' thesis, appendices B and C), made for plots that
label themselves. The header starts with `ERDFILEV2.00` and a record of numbers: channels, samples,
records, bytes of a record, the key of the type (1 for 32-bit floats), and the time between
samples. Records of a keyword of eight characters and fields follow: SHORTNAM and UNITSNAM with
fields of 8 characters; LONGNAME, GENNAME and RIGIBODY with fields of 32. The data stand in a file
with the header's name and `.bin`, one record of floats for each sample, lowest byte first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import write_bytes
from linkwright.recording.bounds import MOST_COLUMNS, require_room

_MAGIC = "ERDFILEV2.00"
_FIELDS = {"SHORTNAM": 8, "LONGNAME": 32, "UNITSNAM": 8, "GENNAME": 32, "RIGIBODY": 32}


@dataclass(frozen=True, slots=True)
class ErdChannel:
    """The labels of a channel."""

    short: str
    long: str = ""
    unit: str = ""
    general: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ErdFile:
    """Channels sampled at equal intervals."""

    channels: tuple[ErdChannel, ...]  # their labels
    # one row for each sample, one column for each channel
    data: NDArray[np.float32] = field(repr=False)
    step: float  # time between samples, s
    title: str = ""  # a title of the run
    history: tuple[str, ...] = ()  # lines that say where the data come from
    x_label: str = "Time"  # what the samples go over
    x_unit: str = "sec"  # the unit of that

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of the samples, s."""
        return self.step * np.arange(len(self.data), dtype=float)

    def __getitem__(self, short: str) -> NDArray[np.float32]:
        """Return a channel by its short name."""
        for k, channel in enumerate(self.channels):
            if channel.short == short:
                return self.data[:, k]
        known = ", ".join(c.short for c in self.channels)
        raise InputError(f"there is no channel {short!r}; there are {known}")


@worded
def read_erd(path: str | os.PathLike[str]) -> ErdFile:
    """Return the contents of an ERD file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = ErdFile((ErdChannel("r", "yaw rate"),), np.ones((3, 1), np.float32), 0.5)
    ...     write_erd(Path(folder) / "run.erd", made)
    ...     found = read_erd(Path(folder) / "run.erd")
    >>> found.channels[0].long, found["r"].tolist(), found.times.tolist()
    ('yaw rate', [1.0, 1.0, 1.0], [0.0, 0.5, 1.0])
    """
    path = Path(path)
    lines = _lines(path)
    if not lines or lines[0].strip() != _MAGIC:
        raise InputError(f"the file does not begin with {_MAGIC}", file=path, line=1)
    channels, samples, step = _numbers(path, lines)
    data = _data(path, samples, channels)
    fields: dict[str, list[str]] = {key: [""] * channels for key in _FIELDS}
    texts = {"TITLE": "", "XLABEL": "Time", "XUNITS": "sec"}
    history = []
    for line in lines[2:]:
        key, rest = line[:8].strip(), line[8:]
        if key == "END":
            break
        if key in _FIELDS:
            width = _FIELDS[key]
            fields[key] = [rest[k * width : (k + 1) * width].strip() for k in range(channels)]
        elif key in texts:
            texts[key] = rest.strip()
        elif key == "HISTORY":
            history.append(rest.strip())
    labels = zip(*(fields[key] for key in _FIELDS), strict=True)
    return ErdFile(
        tuple(ErdChannel(*label) for label in labels),
        data,
        step,
        texts["TITLE"],
        tuple(history),
        texts["XLABEL"],
        texts["XUNITS"],
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", file=path) from error


def _numbers(path: Path, lines: Sequence[str]) -> tuple[int, int, float]:
    """Return the numbers of channels and samples, and the step."""
    try:
        *counts, step = lines[1].split(",")
        channels, samples, _, size, key = (int(x) for x in counts)
        step_value = float(step)
    except (IndexError, ValueError):
        raise InputError("the second record is not six numbers", file=path, line=2) from None
    if key != 1 or size != 4 * channels or channels < 0 or samples < 0:
        raise InputError(
            f"records of {size} bytes with key {key} are not {channels} 32-bit floats",
            file=path,
            line=2,
        )
    if channels > MOST_COLUMNS:
        raise InputError(
            f"the header counts {channels} channels; {MOST_COLUMNS} are read at the most",
            file=path,
            line=2,
        )
    require_room(path, 8 * samples * (channels + 1))
    if not 0 <= step_value < math.inf or step_value * samples == math.inf:
        raise InputError(f"the step between samples is {step_value} s", file=path, line=2)
    return channels, samples, step_value


def _data(path: Path, samples: int, channels: int) -> NDArray[np.float32]:
    for ending in (".bin", ".BIN"):
        binary = path.with_name(path.name + ending)
        if binary.is_file():
            break
    else:
        raise InputError(f"the data are not there: {path.name}.bin", file=path)
    size = binary.stat().st_size
    if size != 4 * samples * channels:
        raise InputError(
            f"the data have {size} bytes, not 4 for each of {samples} samples of {channels} "
            "channels",
            file=binary,
        )
    found = np.frombuffer(binary.read_bytes(), dtype="<f4")
    with np.errstate(invalid="ignore"):  # of values that are not numbers
        return found.reshape(samples, channels).astype(np.float32)


def write_erd(path: str | os.PathLike[str], erd: ErdFile) -> None:
    """Write an ERD file: the header under a name, the data with `.bin` behind it."""
    path = Path(path)
    samples, channels = erd.data.shape
    if channels != len(erd.channels):
        raise InputError(f"{channels} columns of data have {len(erd.channels)} labels")
    columns = {
        "SHORTNAM": [c.short for c in erd.channels],
        "LONGNAME": [c.long for c in erd.channels],
        "UNITSNAM": [c.unit for c in erd.channels],
        "GENNAME": [c.general for c in erd.channels],
        "RIGIBODY": [c.body for c in erd.channels],
    }
    counts = "".join(f"{n:6d}," for n in (channels, samples, samples, 4 * channels, 1))
    lines = [
        _MAGIC,
        f"{counts}{erd.step:13.6G}",
        f"{'TITLE':8}{erd.title}",
        *(
            f"{key:8}" + "".join(f"{text[: _FIELDS[key]]:{_FIELDS[key]}}" for text in texts)
            for key, texts in columns.items()
        ),
        f"{'XLABEL':8}{erd.x_label}",
        f"{'XUNITS':8}{erd.x_unit}",
        *(f"{'HISTORY':8}{line}" for line in erd.history),
        "END",
        "",
    ]
    data = erd.data.astype("<f4").tobytes()
    write_bytes(path.with_name(path.name + ".bin"), data, replace=True)
    write_bytes(path, "\n".join(lines).encode("ascii", "replace"), replace=True)
