"""Regions of a binary picture with their moments, by runs of pixels.

A picture is cut into runs, pixels of one line that follow each other. Runs of neighboring lines
that touch belong together (Rosenfeld and Pfaltz 1966, Sequential operations in digital picture
processing); what is connected is found on the graph of runs, of which there are few. Moments are
sums over runs, and are those of the squares that the pixels cover, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.blocks import checked


@dataclass(frozen=True, slots=True)
class PictureRegion(Result):
    """A region of a binary picture. Pixel 0 reaches from 0 to 1, so that its middle is at 0.5.

    Args:
        area: pixels; in a field those of the lines that it lacks are counted in.
        u: centroid along the lines, pixels.
        v: centroid across the lines, pixels of the whole picture.
        variance: of its points about the centroid: along u, of u with v, along v; pixels^2.
        box: least u, least v, greatest u, greatest v.
        cut: whether it touches the edge of the picture, so that a part of it may be missing.

    >>> find_regions([[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]])[0].u
    2.0
    """

    area: float
    u: float
    v: float
    variance: tuple[float, float, float]
    box: tuple[float, float, float, float]
    cut: bool
    _units = (
        ("area", "pixels"),
        ("u", "pixels"),
        ("variance", "pixels^2"),
    )


@worded
def find_regions(
    picture: ArrayLike, *, parity: int | None = None, diagonal: bool = False, min_area: float = 1.0
) -> tuple[PictureRegion, ...]:
    """Return the regions of a binary picture, the largest first.

    Args:
        picture: a row for each line; what is not zero belongs to a region.
        parity: where it is a field: 0 for one of even lines, 1 for one of odd lines.
        diagonal: whether pixels that touch at a corner belong together.
        min_area: area below which a region is left out, pixels.

    >>> found = find_regions([[1, 1, 0, 0], [1, 1, 0, 1]])
    >>> [(region.area, region.u, region.v) for region in found]
    [(4.0, 1.0, 1.0), (1.0, 3.5, 1.5)]
    """
    given = np.asarray(picture)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "biuf":
        raise InputError(
            f"a picture has the shape {given.shape} of {given.dtype}",
            remedy="give an array of numbers with a row for each line",
        )
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("a picture has pixels that are not numbers", remedy="give finite numbers")
    if parity not in (None, 0, 1):
        raise InputError(
            f"parity is {parity!r}", remedy="give 0, 1, or nothing for a whole picture"
        )
    smallest = checked(min_area, "min_area", least=0)
    row, start, stop = _runs(given)
    if not len(row):
        return ()
    count, label = _connected(row, start, stop, given.shape[1] + 1, diagonal)
    first, step = (0, 1) if parity is None else (parity, 2)
    n, x, y = (stop - start).astype(float), (start + stop) / 2, first + step * row + 0.5

    def summed(weights: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(label, weights, count)

    pixels = summed(n)
    u, v = summed(n * x) / pixels, summed(n * y) / pixels
    dx, dy = x - u[label], y - v[label]
    uu = summed(n * (dx * dx + n * n / 12)) / pixels
    uv = summed(n * dx * dy) / pixels
    vv = summed(n * dy * dy) / pixels + step * step / 12
    order = np.argsort(label, kind="stable")
    begins = np.searchsorted(label[order], np.arange(count))
    left, right = (
        np.minimum.reduceat(start[order], begins),
        np.maximum.reduceat(stop[order], begins),
    )
    top, bottom = np.minimum.reduceat(row[order], begins), np.maximum.reduceat(row[order], begins)
    height, width = given.shape
    cut = (left == 0) | (right == width) | (top == 0) | (bottom == height - 1)
    found = [
        PictureRegion(
            float(pixels[i] * step),
            float(u[i]),
            float(v[i]),
            (float(uu[i]), float(uv[i]), float(vv[i])),
            (
                float(left[i]),
                float(first + step * top[i]),
                float(right[i]),
                float(first + step * bottom[i] + 1),
            ),
            bool(cut[i]),
        )
        for i in np.argsort(-pixels, kind="stable")
        if pixels[i] * step >= smallest
    ]
    return tuple(found)


def nearest_region(
    found: tuple[PictureRegion, ...], u: float, v: float, *, within: float = np.inf
) -> PictureRegion | None:
    """Return the region whose centroid is nearest to a place in the picture; None without one.

    Args:
        found: the regions to choose from.
        u: of the place, pixels.
        v: likewise.
        within: how far from it a region may be, pixels.

    >>> nearest_region(find_regions([[1, 0, 0, 1]]), 3, 0).u
    3.5
    """
    near = [(np.hypot(one.u - u, one.v - v), one) for one in found]
    near = [(far, one) for far, one in near if far <= within]
    return min(near, key=lambda pair: pair[0])[1] if near else None


_Whole = NDArray[np.int64]


def _runs(picture: NDArray[np.generic]) -> tuple[_Whole, _Whole, _Whole]:
    """Return the line of each run, its first pixel, and that after its last."""
    height, width = picture.shape
    wide = width + 1  # a pixel without anything ends each line
    flat = np.zeros(height * wide + 1, dtype=np.bool_)
    flat[1:].reshape(height, wide)[:, :width] = (
        picture if picture.dtype == np.bool_ else picture != 0
    )
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    starts, stops = edges[::2], edges[1::2]
    row = starts // wide
    return row, starts - row * wide, stops - row * wide


def _connected(
    row: _Whole, start: _Whole, stop: _Whole, wide: int, diagonal: bool
) -> tuple[int, _Whole]:
    """Return how many regions there are, and that of each run."""
    begin, end = row * wide + start, row * wide + stop
    low = np.searchsorted(end, begin - wide, side="left" if diagonal else "right")
    high = np.searchsorted(begin, end - wide, side="right" if diagonal else "left")
    many = np.maximum(high - low, 0)
    below = np.repeat(np.arange(len(row)), many)
    above = np.arange(len(below)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(low, many)
    graph = coo_array((np.ones(len(below), np.int8), (below, above)), shape=(len(row), len(row)))
    count, label = connected_components(graph, directed=False)
    return int(count), label.astype(np.int64)
