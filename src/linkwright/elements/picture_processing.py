"""Pictures of real cameras: read from files, made binary by a level, and edges.

What `find_regions` takes as regions is what these say: pixels above a level, above the mean around
them, or with a steep change of brightness.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import read_bytes
from linkwright.base.optional import extra
from linkwright.blocks import checked

Array = NDArray[np.float64]
Binary = NDArray[np.bool_]
_MOST = 64 * 2**20  # bytes of a file
_BROKEN = (OSError, ValueError, SyntaxError)  # of damaged pictures
_WEIGHTS = (0.299, 0.587, 0.114)  # of red, green and blue in brightness (ITU-R BT.601)


def read_picture(path: str | os.PathLike[str]) -> Array:
    """Return a picture as brightness from 0 to 1, a row for each line.

    Args:
        path: of a file that ends in .pgm or .ppm; or .png, with the extra `plot`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.pgm"
    >>> _ = file.write_bytes(b"P5 2 1 255 " + bytes([0, 255]))
    >>> read_picture(file).tolist()
    [[0.0, 1.0]]
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".pgm", ".ppm", ".png"):
        raise InputError(
            f"a picture that ends in {kind!r} is not read", file=file, remedy="use .pgm, .ppm, .png"
        )
    data = read_bytes(file, _MOST)
    if kind == ".png":
        import io

        try:
            found = np.asarray(extra("matplotlib.image", "plot").imread(io.BytesIO(data)), float)
        except _BROKEN:
            raise InputError("this is not a PNG picture", file=file) from None
        return _bright(found)
    return _bright(_portable(data, file))


def _portable(data: bytes, file: Path) -> Array:
    """Return the numbers of a PGM or PPM file, binary or as text, from 0 to 1."""
    words: list[bytes] = []
    at = 0
    while len(words) < 4 and at < len(data):
        end = at
        if data[at : at + 1] == b"#":
            at = (data.find(b"\n", at) + 1) or len(data)
            continue
        while end < len(data) and not data[end : end + 1].isspace():
            end += 1
        if end > at:
            words.append(data[at:end])
        at = end + 1
    broken = InputError("this is not a PGM or PPM picture", file=file)
    channels = {b"P2": 1, b"P5": 1, b"P3": 3, b"P6": 3}.get(words[0] if words else b"")
    if len(words) < 4 or channels is None or not all(w.isdigit() and len(w) < 7 for w in words[1:]):
        raise broken
    width, height, most = map(int, words[1:])
    if not (width and height and 0 < most < 65536) or width * height * channels > _MOST:
        raise broken
    size = width * height * channels
    if words[0] in (b"P2", b"P3"):
        text = data[at:].split()
        if len(text) < size or not all(w.isdigit() and len(w) < 7 for w in text[:size]):
            raise broken
        values = np.array(text[:size], dtype=float)
    else:
        kind = np.dtype("u1" if most < 256 else ">u2")
        if len(data) - at < size * kind.itemsize:
            raise broken
        values = np.frombuffer(data, kind, size, at).astype(float)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.clip(values / most, 0.0, 1.0).reshape(shape)


def _bright(found: Array) -> Array:
    if found.ndim == 3:
        found = found[:, :, :3] @ np.array(_WEIGHTS) if found.shape[2] >= 3 else found[:, :, 0]
    return np.ascontiguousarray(found)


def _picture(given: ArrayLike) -> Array:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError(
            f"a picture has the shape {found.shape}",
            remedy="give finite numbers, a row for each line",
        )
    return found


def best_level(picture: ArrayLike) -> float:
    """Return the level that divides a picture's brightness into two classes (Otsu 1979).

    Args:
        picture: brightness, a row for each line.

    >>> best_level([[0, 0, 1], [0, 1, 1]])
    0.5
    """
    given = _picture(picture)
    values, counts = np.unique(given, return_counts=True)
    if len(values) == 1:
        return float(values[0])
    if len(values) > 256:
        counts, ends = np.histogram(given, 256)
        values = (ends[:-1] + ends[1:]) / 2
    share = counts / counts.sum()
    below, mean = np.cumsum(share)[:-1], np.cumsum(share * values)
    total, mean = mean[-1], mean[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (total * below - mean) ** 2 / (below * (1 - below))
    k = int(np.nanargmax(spread))
    return float((values[k] + values[k + 1]) / 2)


def threshold(picture: ArrayLike, level: float | None = None, *, dark: bool = False) -> Binary:
    """Return which pixels are brighter than a level.

    Args:
        picture: brightness, a row for each line.
        level: of brightness; by default that of `best_level`.
        dark: take those that are darker instead.

    >>> threshold([[0.1, 0.9, 0.8]]).tolist()
    [[False, True, True]]
    """
    given = _picture(picture)
    at = best_level(given) if level is None else checked(level, "level")
    return given < at if dark else given > at


def adaptive_threshold(
    picture: ArrayLike, window: int = 31, *, offset: float = 0.03, dark: bool = False
) -> Binary:
    """Return which pixels are brighter than the mean around them, whatever the light is like.

    Args:
        picture: brightness, a row for each line.
        window: width of the square around a pixel, an odd number; larger than what is looked for.
        offset: by how much brightness it has to be above.
        dark: take those that are darker instead.

    >>> adaptive_threshold([[0.1, 0.1, 0.2, 0.7, 0.6, 0.6]], 3).tolist()
    [[False, False, False, True, False, False]]
    """
    given = _picture(picture)
    if window < 3 or window % 2 != 1:
        raise InputError(f"the window is {window!r}", remedy="give an odd number from 3 on")
    least = checked(offset, "offset")
    half = window // 2
    sums = np.pad(np.cumsum(np.cumsum(given, 0), 1), ((1, 0), (1, 0)))
    low, high = ([np.clip(np.arange(n) + k, 0, n) for n in given.shape] for k in (-half, half + 1))
    area = np.outer(high[0] - low[0], high[1] - low[1])
    around = sums[np.ix_(high[0], high[1])] - sums[np.ix_(low[0], high[1])]
    around += sums[np.ix_(low[0], low[1])] - sums[np.ix_(high[0], low[1])]
    mean = around / area
    return given < mean - least if dark else given > mean + least


def edges(picture: ArrayLike) -> Array:
    """Return how steep the brightness is at each pixel, per pixel, by Sobel's operator.

    Args:
        picture: brightness, a row for each line.

    >>> edges([[0, 1, 2, 3]] * 3)[1].tolist()
    [0.5, 1.0, 1.0, 0.5]
    """
    given = np.pad(_picture(picture), 1, mode="edge")
    smooth: list[Any] = []
    for axis in (0, 1):
        ahead, behind = (np.roll(given, k, axis) for k in (-1, 1))
        slope = (ahead - behind) / 2
        across = 1 - axis
        smooth.append((np.roll(slope, 1, across) + 2 * slope + np.roll(slope, -1, across)) / 4)
    return np.asarray(np.hypot(*smooth)[1:-1, 1:-1])
