"""Two recordings beside each other, bit by bit and part by part; any NaN is like another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from linkwright.base.reprs import one_line
from linkwright.recording.recording import Array
from linkwright.recording.streams import Stream, chunks


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that differs; of the times, or their number, where there is no channel."""

    sample: int
    time: float
    channel: str
    recorded: float
    again: float
    tick: int | None = None  # the base tick, where the recording knows it

    def __str__(self) -> str:
        what = self.channel or "t"
        return f"{what} of sample {self.sample} was {self.recorded!r}, and here is {self.again!r}"


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class BitComparison:
    """What was compared, and what differs."""

    samples: int  # of the first
    others: int  # of the other one
    channels: int
    difference: Difference | None
    largest: dict[str, float]  # difference of each channel that differs
    end: float  # time of the last sample of the first, s
    notes: tuple[str, ...] = ()  # what there is to say besides, in sentences

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "same": self.difference is None,
            "samples": self.samples,
            "channels": self.channels,
            "difference": None if self.difference is None else asdict(self.difference),
            "largest": dict(self.largest),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Return what differs, and by how much at most, in words."""
        first = self.difference
        if first is None:
            size = f"{self.samples} samples of {self.channels} channels"
            return [f"the same bit for bit, {size}", *self.notes]
        if not first.channel:
            return [f"differs from t = {first.time:.9g} s on: other times", *self.notes]
        tick = "" if first.tick is None else f" (tick {first.tick})"
        worst = sorted(self.largest.items(), key=lambda item: -item[1])[:5]
        return [
            f"differs first at t = {first.time:.9g} s{tick} in {first.channel}: "
            f"{first.recorded!r} recorded, {first.again!r} now",
            "largest differences: " + ", ".join(f"{n} {v:.3g}" for n, v in worst),
            *self.notes,
        ]


def compared(
    old: Stream,
    new: Stream,
    names: Sequence[str] | None = None,
    *,
    ended: bool = False,
) -> BitComparison:
    """Return what differs in channels of these names; in all of them, in their order, by default.

    Where the first has ended early, its last sample may be at a time of its own, and the other goes
    on after it.

    >>> from linkwright.recording import Channel, Recording
    >>> from linkwright.recording.streams import stream_of
    >>> a, b = (Recording([0, 1], [Channel("x")], [[1], [x]]) for x in (2, 2.5))
    >>> str(compared(stream_of(a), stream_of(b)).difference)
    'x of sample 1 was 2.0, and here is 2.5'
    """
    told = [c.name for c in old.channels] if names is None else list(names)
    tables = (_table(old, names), _table(new, names))
    counts, largest, end = [0, 0], dict[str, float](), 0.0
    first: Difference | None = None
    held: tuple[int, Array, Array] | None = None

    def look(start: int, a: Array, b: Array) -> None:
        nonlocal first
        unlike = (a.view(np.int64) != b.view(np.int64)) & ~(np.isnan(a) & np.isnan(b))
        for column in np.flatnonzero(unlike.any(axis=0)).tolist():
            name = told[column - 1] if column else "t"
            with np.errstate(invalid="ignore"):
                gaps = np.abs(a[:, column] - b[:, column])[unlike[:, column]]
            largest[name] = max(largest.get(name, 0.0), float(np.nanmax(gaps, initial=0.0)))
        if first is None and unlike.any():
            row, column = (int(k[0]) for k in np.nonzero(unlike))
            name = told[column - 1] if column else ""
            values = float(a[row, column]), float(b[row, column])
            first = Difference(start + row, float(a[row, 0]), name, *values)

    none = np.empty((0, 1 + len(told)))
    over: Difference | None = None
    for a, b in zip_longest(*tables, fillvalue=none):
        n, start = min(len(a), len(b)), counts[0]
        if n:
            if held is not None:
                look(*held)
            held = start, a[:n], b[:n]
        end = float(a[-1, 0]) if len(a) else end
        counts[0] += len(a)
        counts[1] += len(b)
        if over is None and len(a) != len(b):
            over = Difference(start + n, float((a if len(a) > n else b)[n, 0]), "", 0, 0)
    if held is not None:
        start, a, b = held
        cut = ended and bool(a[-1, 0] != b[-1, 0])
        look(start, a[: len(a) - cut], b[: len(b) - cut])
    if first is None and over is not None and not (ended and counts[0] < counts[1]):
        first = Difference(over.sample, over.time, "", *counts)
    return BitComparison(counts[0], counts[1], len(old.channels), first, largest, end)


def _table(stream: Stream, names: Sequence[str] | None) -> Iterator[Array]:
    """Yield times and channels, in pieces of the same length but for the last."""
    known = [c.name for c in stream.channels]
    columns = range(len(known)) if names is None else [known.index(n) for n in names]
    parts = (np.column_stack([p.times, p.data[:, columns]]) for p in stream.parts())
    yield from chunks(parts)
