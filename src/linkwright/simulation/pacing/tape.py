"""The tape of a paced run: every change of an input, with the tick that saw it first.

What a run does follows from where it starts and from what reached it, when. A `Tape` is the second
part. `replay` puts each change where it was: a run in virtual time from the tape has the bits of
the run that was live, whoever or whatever the changes came from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.built import MOST, require_places, whole
from linkwright.base.errors import Error, InputError
from linkwright.recording import Recording
from linkwright.recording.streams import Stream, stream_of

_END = -1  # in place of a name: the tick where the run has ended


@dataclass(frozen=True, slots=True)
class Change:
    """A number that became another one.

    Args:
        tick: the first base tick that saw it; it holds from the end of the tick before.
        name: of the input, parameter or discrete state.
        value: what it became.

    >>> Change(3, "u", 0.5).tick
    3
    """

    tick: int
    name: str
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Tape:
    """The changes of a run in order.

    Args:
        names: what has changed, each once.
        ticks: of each change.
        places: of each change, its name's place in `names`.
        values: of each change.
        end: the last tick that the run has reached, or where it stopped.
        stride: base ticks from one instant of the loop to the next.
        waits: whether Python blocks were called at their ticks; else the tape has what they gave.

    >>> tape = Tape(("u",), np.array([3]), np.array([0]), np.array([0.5]), 10)
    >>> list(tape)
    [Change(tick=3, name='u', value=0.5)]
    """

    names: tuple[str, ...]
    ticks: NDArray[np.int64]
    places: NDArray[np.int64]
    values: NDArray[np.float64]
    end: int
    stride: int = 1
    waits: bool = False

    def __post_init__(self) -> None:
        if not len(self.ticks) == len(self.places) == len(self.values):
            raise Error("a tape has as many ticks as places and values")
        if len(self.ticks) and bool(np.any(np.diff(self.ticks) < 0)):
            raise Error("the ticks of a tape go backward")
        require_places("the tape", self.places, len(self.names))
        require_places("a tick of the tape", self.ticks, MOST)

    def __len__(self) -> int:
        return len(self.ticks)

    def __iter__(self) -> Iterator[Change]:
        rows = zip(self.ticks.tolist(), self.places.tolist(), self.values.tolist(), strict=True)
        return (Change(tick, self.names[place], value) for tick, place, value in rows)

    def parts(self, until: int) -> Iterator[Tape]:
        """Yield the changes up to a tick."""
        k = int(np.searchsorted(self.ticks, until, "right"))
        yield replace(self, ticks=self.ticks[:k], places=self.places[:k], values=self.values[:k])

    def batches(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield each tick at which something changed, with what it became.

        >>> tape = Tape(("a", "b"), np.array([2, 2]), np.array([0, 1]), np.array([1.0, 5.0]), 9)
        >>> list(tape.batches())
        [(2, {'a': 1.0, 'b': 5.0})]
        """
        now: dict[str, float] = {}
        at = -1
        for change in self:
            if change.tick != at and now:
                yield at, now
                now = {}
            at = change.tick
            now[change.name] = change.value
        if now:
            yield at, now


def end_row(tick: int) -> bytes:
    """Return the row that says where a run has ended."""
    return np.array([tick, _END, 0], "<i8").tobytes()


def tape_label(
    names: Sequence[str], stride: int, tick_seconds: float, waits: bool = False
) -> dict[str, Any]:
    """Return what the metadata of a recording says of its tape."""
    return {"names": list(names), "stride": stride, "tick": tick_seconds, "waits": waits}


def tape_of(recording: Recording) -> Tape:
    """Return the tape of a recording; of one that was cut off, up to its last sample."""
    stored = stored_tape(stream_of(recording))
    rows = np.concatenate([part.changes for part in stored.stream.parts()])
    return stored.part(rows)


@dataclass(frozen=True, slots=True)
class StoredTape:
    """The tape of a recording with so many samples, read part by part; else like `Tape`."""

    stream: Stream
    names: tuple[str, ...]
    end: int
    stride: int
    waits: bool
    samples: int
    span: float  # from the first sample to the last, s

    def part(self, rows: NDArray[np.void]) -> Tape:
        """Return some changes as a tape."""
        kept = rows[(rows["place"] != _END) & (rows["tick"] <= self.end)]
        ticks, places, values = (kept[name].copy() for name in ("tick", "place", "value"))
        return Tape(self.names, ticks, places, values, self.end, self.stride, self.waits)

    def parts(self, until: int) -> Iterator[Tape]:
        """Yield the changes up to a tick, in parts."""
        for part in self.stream.parts():
            yield from self.part(part.changes).parts(until)

    def batches(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield each tick at which something changed, with what it became."""
        for part in self.stream.parts():
            yield from self.part(part.changes).batches()


def stored_tape(stream: Stream) -> StoredTape:
    """Return the tape of a recording in parts; of one that was cut off, up to its last sample."""
    label = stream.metadata.get("tape")
    if not isinstance(label, Mapping):
        raise InputError("the recording has no tape", remedy="record a paced run")
    names, tick = tuple(map(str, label.get("names", ()))), label.get("tick")
    stride = whole("the stride of the recording's tape", label.get("stride"), 1)
    whole("the interval of samples of the recording's tape", label.get("states", 0))
    if not (isinstance(tick, int | float) and 0 < tick < math.inf):
        raise InputError(f"the tick of the recording's tape is {tick!r}, not some seconds")
    end, first, last, count = None, 0.0, 0.0, 0
    for part in stream.parts():
        ends = part.changes["tick"][part.changes["place"] == _END]
        end = int(ends[-1]) if len(ends) else end
        if len(part.times):
            first, last = first if count else float(part.times[0]), float(part.times[-1])
        count += len(part.times)
    end = whole("the end of the recording's tape", round(last / tick) if end is None else end)
    return StoredTape(
        stream, names, end, stride, bool(label.get("waits", False)), count, last - first
    )
