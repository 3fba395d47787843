"""Grids of poses filled from what is closed: every place is tried from each neighbor that closes.

Lines of a grid can begin out of reach, and end before a gap. What is closed then spreads over the
grid, along all axes and both ways, one place further in each wave, until nothing changes. Where a
wave goes depends on the grid alone, so that neither the order of axes nor the number of threads
decides what is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.equations.batch_closing import CLOSED, Closing

Array = NDArray[np.float64]
Places = NDArray[np.int_]

_SEEDS = 64  # places all over the grid to which the straight way from the start is tried
_NEAREST = 8  # and places next to the start


@dataclass(frozen=True, slots=True, eq=False)
class FilledPlaces:
    """Places that closed in the end."""

    places: Places  # their numbers in the grid, in rising order
    q: Array  # their coordinates, rows


def fill(
    closing: Closing,
    shape: Sequence[int],
    known: Callable[[Places], Array],
    closed: NDArray[np.bool_],
    poses: Callable[[Places], Array],
    start: Array,
    *,
    around: int | None = None,
    threads: int = 1,
) -> FilledPlaces:
    """Return the places of a grid that close from a neighbor, or straight from the start."""
    done = np.array(closed, dtype=bool).reshape(-1)
    numbers: list[Places] = []
    found: list[Array] = []
    if not done.all():
        front = np.flatnonzero(done & _beside(shape, ~done, around))
        q = poses(front) if len(front) else np.empty((0, len(start)))
        seeds = _seeds(closing, shape, known, done, start)
        at = np.broadcast_to(closing.values_of(start[None]), (len(seeds), len(closing.entries)))
        first = np.broadcast_to(start, (len(seeds), len(start)))
        walked = closing.walk(at, known(seeds), first, threads=threads)
        new, rows = seeds[walked.status == CLOSED], walked.q[walked.status == CLOSED]
        while True:
            if len(new):
                done[new] = True
                numbers.append(new)
                found.append(rows)
                front, q = np.concatenate([front, new]), np.concatenate([q, rows])
            if not len(front):
                break
            new, rows = _wave(closing, shape, known, done, (front, q), around, threads)
            front, q = np.empty(0, dtype=int), np.empty((0, len(start)))
            if not len(new):
                break
    if not numbers:
        return FilledPlaces(np.empty(0, dtype=int), np.empty((0, len(start))))
    places = np.concatenate(numbers)
    order = np.argsort(places)
    return FilledPlaces(places[order], np.concatenate(found)[order])


def _wave(
    closing: Closing,
    shape: Sequence[int],
    known: Callable[[Places], Array],
    done: NDArray[np.bool_],
    front: tuple[Places, Array],
    around: int | None,
    threads: int,
) -> tuple[Places, Array]:
    """Return the places next to a front that close, the shortest way first, and their poses."""
    pairs = [shifted(shape, front[0], a, w, around) for a in range(len(shape)) for w in (-1, 1)]
    source = np.concatenate([rows for rows, _ in pairs])
    target = np.concatenate([places for _, places in pairs])
    open_ = ~done[target]
    source, target = source[open_], target[open_]
    if not len(target):
        return target, front[1][:0]
    order = np.lexsort((front[0][source], target))
    source, target = source[order], target[order]
    x, before = known(target), known(front[0][source])
    walked = closing.walk(before, x, front[1][source], threads=threads)
    good = np.flatnonzero(walked.status == CLOSED)
    way = ((x[good] - before[good]) ** 2).sum(axis=1)
    order = np.lexsort((way, target[good]))
    places, which = np.unique(target[good][order], return_index=True)
    return places, walked.q[good[order[which]]]


def shifted(
    shape: Sequence[int], places: Places, axis: int, way: int, around: int | None
) -> tuple[Places, Places]:
    """Return the rows that have a neighbor along an axis, and the neighbors."""
    index = list(np.unravel_index(places, tuple(shape)))
    moved = index[axis] + way
    if axis == around:
        moved = moved % shape[axis]
    rows = np.flatnonzero((moved >= 0) & (moved < shape[axis]))
    index[axis] = moved
    return rows, np.ravel_multi_index([i[rows] for i in index], tuple(shape))


def _beside(
    shape: Sequence[int], chosen: NDArray[np.bool_], around: int | None
) -> NDArray[np.bool_]:
    """Return the places with a chosen neighbor."""
    grid = chosen.reshape(tuple(shape))
    found = np.zeros(grid.shape, dtype=bool)
    for axis in range(len(shape)):
        one, two = np.moveaxis(grid, axis, 0), np.moveaxis(found, axis, 0)
        two[1:] |= one[:-1]
        two[:-1] |= one[1:]
        if axis == around:
            two[0] |= one[-1]
            two[-1] |= one[0]
    return found.reshape(-1)


def _seeds(
    closing: Closing,
    shape: Sequence[int],
    known: Callable[[Places], Array],
    done: NDArray[np.bool_],
    start: Array,
) -> Places:
    """Return places that are not closed, next to the start and all over the grid."""
    many = max(2, round(_SEEDS ** (1 / len(shape))))
    spread = [np.unique(np.linspace(0, n - 1, min(n, many)).round().astype(int)) for n in shape]
    mesh = np.meshgrid(*spread, indexing="ij")
    chosen = np.ravel_multi_index([m.reshape(-1) for m in mesh], tuple(shape))
    if not done.any():
        every = np.arange(len(done))
        gaps = ((known(every) - closing.values_of(start[None])[0]) ** 2).sum(axis=1)
        chosen = np.concatenate([chosen, np.argsort(gaps, kind="stable")[:_NEAREST]])
    chosen = np.unique(chosen)
    return np.asarray(chosen[~done[chosen]])
