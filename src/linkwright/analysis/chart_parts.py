"""Parts of charts: lines computed together, then filled from places beside them in all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.analysis.chart_engine import ChartEngine, ChartPart
from linkwright.analysis.chart_space import Array
from linkwright.equations.grid_closing import Places

PART = 2**17
"""Poses of a part, which is computed at once."""

_KEPT = 2**27  # numbers of parts that are kept until they are filled, 1 GiB of memory
_LAID = 2**30  # the same where they are laid into files, 8 GiB of the disk


@dataclass(frozen=True, slots=True, eq=False)
class ComputedPart:
    """A part of a chart as it stands.

    Args:
        number: of the part.
        lines: of the chart that it has.
        part: what was computed.
        ends: values of the last axis where lines stop being reached, lower and upper.
        causes: why.
        filled: how many places of each line were closed from beside it.
    """

    number: int
    lines: slice
    part: ChartPart
    ends: Array
    causes: NDArray[np.int8]
    filled: NDArray[np.int32]


def parts_of(engine: ChartEngine) -> list[tuple[int, int]]:
    """Return the first line of each part and the one after its last, by the axes alone."""
    lines, places = engine.space.lines, len(engine.space.axes[-1])
    size = max(1, PART // places)
    return [(k, min(k + size, lines)) for k in range(0, lines, size)]


def computed_parts(
    engine: ChartEngine,
    threads: int,
    there: Callable[[int], NDArray[np.bool_] | None] = lambda number: None,
    beside: Path | None = None,
) -> Iterator[ComputedPart]:
    """Yield all parts of a chart; those of which more closes from beside them come a second time.

    Args:
        there: gives which places of a part closed along their lines, where that is known from
            before; such a part is not computed again, unless it is needed.
        beside: a folder for files of what is kept until it is filled; in memory by default.
    """
    parts, places = parts_of(engine), len(engine.space.axes[-1])
    closed = np.empty((engine.space.lines, places), dtype=bool)
    kept: dict[int, ChartPart] = {}
    room = _KEPT if beside is None else _LAID
    for number, (first, last) in enumerate(parts):
        known = there(number)
        if known is None:
            part = engine.part(first, last, threads)
            known = part.closed
            size = part.q.size + part.values.size
            if not known.all() and size < room:
                kept[number], room = part, room - size
            yield _computed(engine, number, (first, last), part, threads)
            if number in kept and beside is not None:
                part.lay_into(beside / f"{number:05d}")
        closed[first:last] = known
    if closed.all():
        return
    starts = np.array([first for first, _ in parts])

    def part_of(number: int) -> ChartPart:
        return kept[number] if number in kept else engine.part(*parts[number], threads)

    def poses(wanted: Places) -> Array:
        lines, place = np.divmod(wanted, places)
        owner = np.searchsorted(starts, lines, side="right") - 1
        found = np.empty((len(wanted), len(engine.closing.names)))
        for number in np.unique(owner).tolist():
            rows = owner == number
            found[rows] = part_of(number).q[place[rows], lines[rows] - starts[number]]
        return found

    filled = engine.filled(closed, poses, threads)
    lines, place = np.divmod(filled.places, places)
    owner = np.searchsorted(starts, lines, side="right") - 1
    for number in np.unique(owner).tolist():
        rows, part = owner == number, part_of(number)
        kept.pop(number, None)
        own = lines[rows] - starts[number]
        part.fill(own, place[rows], filled.q[rows], threads)
        yield _computed(engine, number, parts[number], part, threads, own)


def _computed(
    engine: ChartEngine,
    number: int,
    lines: tuple[int, int],
    part: ChartPart,
    threads: int,
    filled: Places | None = None,
) -> ComputedPart:
    found, every = part.ends(), np.arange(*lines)
    ends = [engine.ends(every, found[k], s, threads) for k, s in ((0, -1), (1, 1))]
    causes = np.stack([found[0].cause, found[1].cause], axis=1)
    counts = np.bincount([] if filled is None else filled, minlength=len(every))
    return ComputedPart(
        number, slice(*lines), part, np.stack(ends, axis=1), causes, counts.astype(np.int32)
    )
