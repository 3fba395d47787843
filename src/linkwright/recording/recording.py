"""A recording: channels over time, with what is known about the run that made them.

Times and values are 64-bit floats. `metadata` holds plain data (texts, numbers, lists and tables of
them): the model and its hash, parameters, seeds, method and step, the version of Linkwright.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import MKS, SYSTEMS
from linkwright.base.errors import Error, unknown
from linkwright.base.reprs import brief
from linkwright.recording.holder import Recorded

Array = NDArray[np.float64]


class RecordingError(Error):
    """A recording that cannot be made, read or shown."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What is known of one channel.

    Args:
        name: short and unique within the recording.
        unit: as in models: "rad", "m/s"; "1" for a pure number, "?" where it is not known.
        long: what it is, in words.
        generic: the kind of quantity, with which an axis is labeled: "angle", "force".
        body: the body it belongs to.

    >>> Channel("r", "rad/s", "yaw rate").label
    'yaw rate (rad/s)'
    """

    name: str
    unit: str = "?"
    long: str = ""
    generic: str = ""
    body: str = ""

    @property
    def label(self) -> str:
        """The name in words with its unit.

        >>> Channel("r", "rad/s", "yaw rate").label
        'yaw rate (rad/s)'
        """
        words = self.long or self.name
        return words if self.unit in ("?", "1", "") else f"{words} ({self.unit})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording(Recorded):
    """Channels over time.

    Args:
        times: s, not decreasing.
        channels: what the columns are.
        data: one row for each time, one column for each channel.
        metadata: where it comes from, as plain data.
        source: the mechanism or System that moved, while it is at hand; files hold what
            `linkwright.formats.origins` describes it.

    >>> r = Recording([0, 0.5, 1], (Channel("x", "m"),), [[0], [1], [4]], {"model": "slide"})
    >>> r["x"], r.final, len(r)
    (array([0., 1., 4.]), {'x': 4.0}, 3)
    """

    times: Array
    channels: tuple[Channel, ...]
    data: Array = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    source: Any = field(default=None, repr=False)

    def __init__(
        self,
        times: ArrayLike,
        channels: Iterable[Channel],
        data: ArrayLike,
        metadata: Mapping[str, Any] | None = None,
        source: Any = None,
    ) -> None:
        try:
            t = np.ascontiguousarray(times, dtype=float)
            labels = tuple(channels)
            rows = np.ascontiguousarray(data, dtype=float)
        except (TypeError, ValueError):
            raise RecordingError(
                f"a recording has times, channels and numbers, not {brief(times, 20)}, "
                f"{brief(channels, 20)} and {brief(data, 20)}",
                remedy='such as Recording([0, 1], [Channel("x", "m")], [[0.0], [0.5]])',
            ) from None
        if t.ndim != 1 or rows.size != len(t) * len(labels):
            raise RecordingError(
                f"{len(labels)} channels at {t.size} times are not {rows.size} numbers"
            )
        rows = rows.reshape(len(t), len(labels))
        names = [c.name for c in labels]
        if len(set(names)) < len(names):
            twice = sorted({n for n in names if names.count(n) > 1})
            raise RecordingError(f"channels must differ in name; there are two of {twice[0]!r}")
        if not np.isfinite(t).all():
            where = int(np.flatnonzero(~np.isfinite(t))[0])
            raise RecordingError(f"the time of sample {where + 1} is {t[where]}, no finite number")
        if np.any(np.diff(t) < 0):
            raise RecordingError("the times of a recording do not go backward")
        object.__setattr__(self, "times", t)
        object.__setattr__(self, "channels", labels)
        object.__setattr__(self, "data", rows)
        try:
            object.__setattr__(self, "metadata", plain(metadata or {}))
        except RecursionError:
            raise RecordingError("what is known of the recording is nested too deeply") from None
        object.__setattr__(self, "source", source)

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} s to {self.times[-1]:g} s" if len(self.times) else "empty"
        return (
            f"Recording({len(self.times)} samples of {len(self.channels)} channels, {span}: "
            f"{brief([c.name for c in self.channels])[1:-1]})"
        )

    @property
    def recording(self) -> Recording:
        """This, so that whatever can be done with a run can be done with a recording."""
        return self

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Array:
        """Return a channel over time."""
        return self.data[:, self.index(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the channels."""
        return tuple(c.name for c in self.channels)

    def index(self, name: str) -> int:
        """Return the column of a channel; an unknown name is an error with the nearest spelling."""
        for k, channel in enumerate(self.channels):
            if channel.name == name:
                return k
        if not isinstance(name, str):
            raise RecordingError(
                f"a channel is asked for by its name, not by {brief(name)}",
                remedy="`names` has the names, `times` the samples",
            )
        raise unknown("channel", name, self.names, kind=RecordingError)

    def channel(self, name: str) -> Channel:
        """Return what is known of a channel."""
        return self.channels[self.index(name)]

    @property
    def final(self) -> dict[str, float]:
        """The last value of each channel."""
        return dict(zip(self.names, map(float, self.data[-1]), strict=True)) if len(self) else {}

    @property
    def rate(self) -> float | None:
        """Samples in a second where they are evenly spaced, otherwise None.

        >>> Recording([0, 0.01, 0.02], (), np.empty((3, 0))).rate
        100.0
        """
        steps = np.diff(self.times)
        if not len(steps) or steps[0] <= 0:
            return None
        even = np.allclose(steps, steps[0], rtol=1e-6, atol=1e-9 * abs(float(self.times[-1])))
        return round(float((len(self) - 1) / (self.times[-1] - self.times[0])), 9) if even else None

    @property
    def even(self) -> Recording:
        """The recording without its last sample where that is the end of a run between two others.

        >>> Recording([0, 0.1, 0.2, 0.3, 0.34], (), np.empty((5, 0))).even.rate
        10.0
        """
        t = self.times
        if len(t) < 4 or t[-1] - t[-2] > (1 - 1e-6) * (t[1] - t[0]):
            return self
        return Recording(t[:-1], self.channels, self.data[:-1], self.metadata, self.source)

    @property
    def printed(self) -> Recording:
        """The recording in the units in which its model prints results; SI but for `display`.

        >>> r = Recording([0], [Channel("x", "m")], [[0.254]], {"display": "in-lb"}).printed
        >>> r["x"], r.channel("x").unit
        (array([10.]), 'in')
        """
        system = SYSTEMS.get(str(self.metadata.get("display")), MKS)
        ways = [system.printed(c.unit) for c in self.channels]
        if all(factor == 1.0 for _, factor in ways):
            return self
        channels = [replace(c, unit=u) for c, (u, _) in zip(self.channels, ways, strict=True)]
        data = self.data / np.array([factor for _, factor in ways])
        return Recording(self.times, channels, data, self.metadata, self.source)

    def select(self, names: Sequence[str]) -> Recording:
        """Return a recording of some channels, in the order given.

        Args:
            names: of channels.

        >>> r = Recording([0, 1], map(Channel, "ab"), [[1, 2], [3, 4]])
        >>> r.select(["b"]).data.tolist()
        [[2.0], [4.0]]
        """
        columns = [self.index(n) for n in names]
        chosen = tuple(self.channels[k] for k in columns)
        return Recording(self.times, chosen, self.data[:, columns], self.metadata, self.source)

    def with_channel(self, channel: Channel, values: ArrayLike) -> Recording:
        """Return the recording with one more channel.

        Args:
            channel: what it is.
            values: one for each time.

        >>> Recording([0, 1], (), np.empty((2, 0))).with_channel(Channel("a"), [1, 2])["a"]
        array([1., 2.])
        """
        column = np.asarray(values, dtype=float).reshape(len(self), 1)
        data = np.concatenate([self.data, column], axis=1)
        return Recording(self.times, (*self.channels, channel), data, self.metadata, self.source)

    def renamed(self, names: Mapping[str, str]) -> Recording:
        """Return the recording with other names for some channels.

        Args:
            names: from old to new.

        >>> Recording([0], [Channel("a")], [[1]]).renamed({"a": "b"}).names
        ('b',)
        """
        channels = [replace(c, name=names.get(c.name, c.name)) for c in self.channels]
        return Recording(self.times, channels, self.data, self.metadata, self.source)

    def with_extrema(self) -> Recording:
        """Return the recording with its number of records and the extrema of its channels known:
        `metadata["records"]` and `metadata["extrema"]`, name to least and greatest value.

        >>> r = Recording([0, 1], [Channel("a")], [[3], [-1]]).with_extrema()
        >>> r.metadata["records"], r.metadata["extrema"]
        (2, {'a': [-1.0, 3.0]})
        """
        known = {}
        for channel, column in zip(self.channels, self.data.T, strict=True):
            finite = column[~np.isnan(column)]
            if len(finite):
                known[channel.name] = [float(finite.min()), float(finite.max())]
        return self.with_metadata({**self.metadata, "records": len(self), "extrema": known})

    def with_metadata(self, metadata: Mapping[str, Any]) -> Recording:
        """Return the recording with something else known about it.

        Args:
            metadata: in place of what is known now.

        >>> Recording([0], [Channel("a")], [[1]]).with_metadata({"model": "slide"}).metadata
        {'model': 'slide'}
        """
        return Recording(self.times, self.channels, self.data, metadata, self.source)


_DEEPEST = 100


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as plain data: what JSON can hold, numbers of NumPy turned into Python's.

    >>> plain({"a": np.float64(1.5), "b": (np.arange(2),)})
    {'a': 1.5, 'b': [[0, 1]]}
    """
    if depth > _DEEPEST:  # what Python itself refuses differs from one version to the next
        raise RecursionError("nested too deeply")
    if isinstance(value, Mapping):
        return {str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), depth + 1)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v, depth + 1) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def to_json(metadata: Mapping[str, Any], channels: Iterable[Channel] = ()) -> str:
    """Return what is known of a recording as one line of JSON, in a fixed order."""
    labels = [[c.name, c.unit, c.long, c.generic, c.body] for c in channels]
    return json.dumps(
        {"metadata": metadata, "channels": labels}, sort_keys=True, ensure_ascii=False
    )


def from_json(text: str | bytes) -> tuple[dict[str, Any], tuple[Channel, ...]]:
    """Return what `to_json` wrote; ValueError where it is something else."""
    try:
        found = json.loads(text)
        channels = tuple(Channel(*map(str, label)) for label in found["channels"])
        return dict(found["metadata"]), channels
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from None
