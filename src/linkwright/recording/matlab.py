"""Recordings as MATLAB's MAT files of version 5, as `mrdplot_convert` of SL gives them.

`D` has a row for each sample and a column for each channel, `names` and `units` are cells, `freq`
is the rate in Hz, or NaN where steps are uneven (SL's manual, section 5.5.4.2). Beside them stand
the times `t`, in s, and all that is known of the channels, `linkwright`, as JSON. A file of others
needs D, names, units and freq; its times begin at one period, as SL's do. Other variables are not
looked at.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, savemat, whosmat

from linkwright.base.errors import InputError
from linkwright.base.files import write_bytes
from linkwright.recording.bounds import MOST_COLUMNS, require_room
from linkwright.recording.recording import Channel, Recording, RecordingError, from_json, to_json

_KEYS = ("D", "names", "units", "freq", "t", "linkwright")
_HEAD = b"MATLAB 5.0 MAT-file, by linkwright".ljust(116)
_REMEDY = "save D (samples by channels), names, units (cells) and freq"
_HEADER = 128
_MOST = 2**31 - 1
"""Bytes of a variable in such a file."""


def write_matlab(path: Path, recording: Recording, replace: bool = True) -> None:
    """Write a recording as a MAT file."""
    if recording.data.nbytes >= _MOST:
        raise RecordingError(
            f"a MAT file holds at most 2 GiB, and this is {recording.data.nbytes / 2**30:.1f} GiB",
            remedy="record less often, or choose .parquet",
        )
    rate = recording.rate
    content = io.BytesIO()
    values = {
        "D": recording.data,
        "names": _cells([c.name for c in recording.channels]),
        "units": _cells([c.unit for c in recording.channels]),
        "freq": np.nan if rate is None else float(rate),
        "t": recording.times,
        "linkwright": to_json(recording.metadata, recording.channels),
    }
    savemat(content, values, oned_as="column", long_field_names=True)
    written = _HEAD + content.getvalue()[len(_HEAD) :]  # without the date
    write_bytes(path, written, replace=replace)


def _cells(texts: list[str]) -> NDArray[Any]:
    made = np.empty((len(texts), 1), dtype=object)
    made[:, 0] = texts
    return made


def read_matlab(path: Path) -> Recording:
    """Return the recording in a MAT file."""
    content = path.read_bytes()
    try:
        found = _variables(path, content)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # what SciPy raises of damaged files is of many kinds
        raise InputError(
            f"it is not a MAT file of version 5, or damaged: {' '.join(str(error).split())[:200]}",
            file=path,
            remedy="in MATLAB, save with -v7 or -v6",
        ) from None
    missing = [key for key in _KEYS[:4] if key not in found]
    if missing:
        raise InputError(f"it has no variable {', '.join(missing)}", file=path, remedy=_REMEDY)
    data = np.asarray(found["D"])
    if data.dtype.kind not in "fiub" or data.ndim != 2 or data.shape[1] > MOST_COLUMNS:
        raise InputError("D is not a matrix of real numbers", file=path, remedy=_REMEDY)
    return _recording(path, found, data.astype(float))


def _variables(path: Path, content: bytes) -> dict[str, Any]:
    _require_whole(content)
    sizes = whosmat(io.BytesIO(content))
    total = sum(8 * int(np.prod(shape, dtype=float)) for name, shape, _ in sizes if name in _KEYS)
    require_room(path, total, len(content))
    return dict(loadmat(io.BytesIO(content), variable_names=list(_KEYS)))


def _require_whole(content: bytes) -> None:
    """Raise an error where the last of the elements, each with its size before it, is cut off."""
    order, at = ("<" if content[126:128] == b"IM" else ">"), _HEADER
    while at < len(content):
        if len(content) < at + 8:
            raise ValueError("it is cut off")
        at += 8 + int(struct.unpack_from(f"{order}I", content, at + 4)[0])
    if at != len(content) or at == _HEADER:
        raise ValueError("it is cut off")


def _recording(path: Path, found: dict[str, Any], data: NDArray[np.float64]) -> Recording:
    names, units = _texts(path, found["names"], "names"), _texts(path, found["units"], "units")
    if not len(names) == len(units) == data.shape[1]:
        raise InputError(
            f"D has {data.shape[1]} columns, with {len(names)} names and {len(units)} units",
            file=path,
            remedy=_REMEDY,
        )
    channels = [Channel(n, u or "?") for n, u in zip(names, units, strict=True)]
    about: dict[str, Any] = {"source": path.name}
    if "linkwright" in found:
        try:
            told, own = from_json(str(np.ravel(found["linkwright"])[0]))
        except (ValueError, IndexError):
            raise InputError("what it says of itself in JSON is damaged", file=path) from None
        if [(c.name, c.unit) for c in own] == list(zip(names, units, strict=True)):
            about, channels = told, list(own)
    times = np.ravel(found["t"]) if "t" in found else None
    if times is not None and times.dtype.kind in "fiu" and len(times) == len(data):
        return Recording(times.astype(float), channels, data, about)
    rate = np.ravel(found["freq"])
    if rate.dtype.kind not in "fiu" or len(rate) != 1 or not 0 < float(rate[0]) < np.inf:
        raise InputError("freq is not a rate in Hz above zero", file=path, remedy=_REMEDY)
    return Recording(np.arange(1, len(data) + 1) / float(rate[0]), channels, data, about)


def _texts(path: Path, value: Any, what: str) -> list[str]:
    """Return the texts of cells, or of the rows of a matrix of characters."""
    cells = np.ravel(np.asarray(value))
    found = [np.ravel(cell) if isinstance(cell, np.ndarray) else [cell] for cell in cells]
    if any(len(cell) > 1 or (len(cell) and not isinstance(cell[0], str)) for cell in found):
        raise InputError(f"{what} are not cells of texts", file=path, remedy=_REMEDY)
    return [str(cell[0]).strip() if len(cell) else "" for cell in found]
