"""Parts of charts: lines computed together, then filled from places beside them in all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.equations.grid_closing import Places, shifted
from linkwright.parallel.chart_engine import NO_SOLUTION, ChartEngine, Columns, LineEnds, line_ends
from linkwright.parallel.chart_space import Array

PART = 2**17
"""Poses of a part, which is computed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ComputedPart:
    """A part of a chart as it stands, or what has changed in it."""

    number: int  # of the part
    lines: slice  # of the chart that it has
    places: Any  # where columns have changed, numbers of its lines and of places; all by default
    columns: Columns  # values there
    ended: Places  # the lines of the chart whose ends are told
    ends: Array  # values of the last axis where these stop being reached, lower and upper
    causes: NDArray[np.int8]  # why
    filled: NDArray[np.int32]  # how many places of each line were closed from beside it


@dataclass(slots=True, eq=False)
class _KeptPart:
    """What is needed of a part when it is filled."""

    first: int  # of its lines
    cause: NDArray[np.int8]  # at all places, which are its first axis
    numbers: Places  # of the poses that can be asked for, over the whole chart, in rising order
    q: Array  # their coordinates, rows

    def poses(self, numbers: Places) -> Array:
        """Return the coordinates of poses, not numbers of those that were not kept."""
        if not len(self.numbers):
            return np.full((len(numbers), self.q.shape[1]), np.nan)
        rows = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where((self.numbers[rows] == numbers)[:, None], self.q[rows], np.nan)

    def fill(self, numbers: Places, q: Array, cause: Array) -> None:
        """Take poses that were closed from beside them."""
        line, place = np.divmod(numbers, len(self.cause))
        self.cause[place, line - self.first] = cause
        every = np.concatenate([numbers, self.numbers])  # what was filled counts
        self.numbers, rows = np.unique(every, return_index=True)
        self.q = np.concatenate([q, self.q])[rows]

    def ends(self, lines: Places, origin: int) -> tuple[LineEnds, LineEnds]:
        """Return the ends of lines: each is at a pose that was filled, or where it was before."""
        places = len(self.cause)
        return line_ends(
            self.cause[:, lines - self.first], origin, lambda at: self.poses(lines * places + at)
        )


def parts_of(engine: ChartEngine) -> list[tuple[int, int]]:
    """Return the first line of each part and the one after its last, by the axes alone."""
    lines, places = engine.space.lines, len(engine.space.axes[-1])
    size = max(1, PART // places)
    return [(k, min(k + size, lines)) for k in range(0, lines, size)]


def computed_parts(
    engine: ChartEngine,
    threads: int,
    there: Callable[[int], NDArray[np.bool_] | None] = lambda number: None,
) -> Iterator[ComputedPart]:
    """Yield all parts of a chart, then what changes in those of which more closes from beside them.

    Of a part, only poses are kept from which others may be closed, and those at the ends of lines.
    """
    parts, places = parts_of(engine), len(engine.space.axes[-1])
    closed = np.zeros((engine.space.lines, places), dtype=bool)
    kept: dict[int, _KeptPart] = {}

    def computed(number: int) -> tuple[ComputedPart, _KeptPart]:
        whole, lines = slice(*parts[number]), np.arange(*parts[number])
        part, own = engine.part(*parts[number], threads), lines - lines[0]
        cause = part.columns["reach"]
        closed[whole] = (cause != NO_SOLUTION).T
        found = line_ends(cause, engine.origin, lambda place: part.q[place, own])
        chosen = closed[whole] & _beside_open(engine.space.shape, closed, lines)
        for end in found:
            some = end.place >= 0  # a line that reaches nothing has no pose to begin from
            chosen[own[some], end.place[some]] = True
        line, place = np.nonzero(chosen)
        numbers = lines[line] * places + place
        held = _KeptPart(whole.start, cause, numbers, part.q[place, line])
        told = *_ends(engine, lines, found, threads), np.zeros(len(lines), dtype=np.int32)
        columns = {name: values.T for name, values in part.columns.items()}
        return ComputedPart(number, whole, ..., columns, lines, *told), held

    for number, (first, last) in enumerate(parts):
        known = there(number)
        if known is None:
            made, kept[number] = computed(number)
            yield made
            del made
        else:
            closed[first:last] = known
    if closed.all():
        return
    starts = np.array([first for first, _ in parts])

    def owners(wanted: Places) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        owner = np.searchsorted(starts, wanted // places, side="right") - 1
        for number in np.unique(owner).tolist():
            if number not in kept:
                kept[number] = computed(number)[1]
            yield number, owner == number

    def poses(wanted: Places) -> Array:
        found = np.empty((len(wanted), len(engine.closing.names)))
        for number, rows in owners(wanted):
            found[rows] = kept[number].poses(wanted[rows])
        return found

    filled = engine.filled(closed, poses, threads)
    for number, rows in owners(filled.places):
        part, own, q = kept.pop(number), filled.places[rows], filled.q[rows]
        columns = engine.computed(q, np.ones(len(q), dtype=bool), threads)
        part.fill(own, q, columns["reach"])
        line, place = np.divmod(own, places)
        ended, counts = np.unique(line, return_counts=True)
        told = _ends(engine, ended, part.ends(ended, engine.origin), threads)
        more = np.zeros(part.cause.shape[1], dtype=np.int32)
        more[ended - part.first] = counts
        at = (line - part.first, place)
        yield ComputedPart(number, slice(*parts[number]), at, columns, ended, *told, more)


def _beside_open(
    shape: Sequence[int], closed: NDArray[np.bool_], lines: Places
) -> NDArray[np.bool_]:
    """Return which places of some lines have a neighbor that is not closed."""
    own = closed[lines]
    found = np.zeros(own.shape, dtype=bool)
    found[:, 1:] |= ~own[:, :-1]
    found[:, :-1] |= ~own[:, 1:]
    for axis in range(len(shape) - 1):
        for way in (-1, 1):
            rows, beside = shifted(shape[:-1], lines, axis, way, None)
            found[rows] |= ~closed[beside]
    return found


def _ends(
    engine: ChartEngine, lines: Places, found: tuple[LineEnds, LineEnds], threads: int
) -> tuple[Array, NDArray[np.int8]]:
    """Return where lines stop being reached, and why."""
    ends = [
        engine.ends(lines, own, side, threads) for own, side in zip(found, (-1, 1), strict=True)
    ]
    return np.stack(ends, axis=1), np.stack([own.cause for own in found], axis=1)
