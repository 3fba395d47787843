"""What the scope shows: graphs of channels over time, and what is derived from them, as plain data.

The functions are those of SL's plotter: stacked graphs with several traces in each, sums and
differences of two channels, rates of change, a Butterworth low-pass (percent of half the sampling
rate), and phase plots of one channel over another. A `ScopeLayout` says what is asked for; it comes
from a page as JSON and holds names only, so that it can be laid over any recording. Curves are
thinned to the points that a screen can show, keeping the lowest and the highest value of each
stretch, and gaps where values are not numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.recording import Channel, Recording
from linkwright.recording.colors import DASHES, TRACES
from linkwright.recording.derived import filtered, rate_of_change

Array: TypeAlias = NDArray[np.float64]
MOST_POINTS = 800
"""Of a curve on the screen."""

KINDS = ("rate", "filter", "add", "sub")
"""Of channels made from channels."""

_MOST_GRAPHS = 40
_MOST_TRACES = 40
_FIRST_TRACES = 6  # of a graph that nobody has chosen
_ROUNDING = 1e-9  # of the greatest value of a unit: what changes less stands still
_MOST_DERIVED = 200
_FEWEST = 9  # samples that cannot be filtered yet
_SHORTEST = 1e-12  # s, of a window


# -- what is asked for -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Derived:
    """A channel made from channels."""

    name: str
    kind: str
    a: str
    b: str = ""  # the second one, of a sum or a difference
    cutoff: float = 0.0


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph of the stack."""

    traces: tuple[str, ...] = ()
    across: str = ""


@dataclass(frozen=True, slots=True)
class ScopeLayout:
    """What is asked of the scope."""

    graphs: tuple[Graph, ...] = ()
    derived: tuple[Derived, ...] = ()
    window: tuple[float, float] | None = None
    mark: float | None = None  # time of the second cursor, s; None for none
    last: float = 20.0  # seconds of a live run that are shown while it runs

    def plain(self) -> dict[str, Any]:
        """Return it as plain data.

        >>> ScopeLayout((Graph(("x",)),)).plain()["graphs"]
        [{'traces': ['x'], 'across': ''}]
        """
        return {
            "graphs": [{"traces": list(g.traces), "across": g.across} for g in self.graphs],
            "derived": [
                {"name": d.name, "kind": d.kind, "a": d.a, "b": d.b, "cutoff": d.cutoff}
                for d in self.derived
            ],
            "window": None if self.window is None else list(self.window),
            "mark": self.mark,
            "last": self.last,
        }


def layout_from(info: object) -> ScopeLayout:
    """Return a layout from plain data; what is not a layout is an error that says where.

    >>> layout_from({"graphs": [{"traces": ["x"]}]}).graphs
    (Graph(traces=('x',), across=''),)
    """
    whole = _mapping(info, "a layout")
    graphs = [_mapping(g, "a graph") for g in _list(whole.get("graphs", []), "graphs")]
    made = [_mapping(d, "a derived channel") for d in _list(whole.get("derived", []), "derived")]
    if len(graphs) > _MOST_GRAPHS or len(made) > _MOST_DERIVED:
        raise InputError(f"more than {_MOST_GRAPHS} graphs or {_MOST_DERIVED} derived channels")
    window = whole.get("window")
    ends = None if window is None else tuple(_number(t, "window") for t in _list(window, "window"))
    if ends is not None and (len(ends) != 2 or not ends[1] - ends[0] > _SHORTEST):
        raise InputError("a window is two times, the second after the first")
    mark = whole.get("mark")
    return ScopeLayout(
        tuple(
            Graph(
                tuple(_text(n, "a trace") for n in _list(g.get("traces", []), "traces"))[
                    :_MOST_TRACES
                ],
                _text(g.get("across", ""), "across"),
            )
            for g in graphs
        ),
        tuple(_derived(d) for d in made),
        None if ends is None else (ends[0], ends[1]),
        None if mark is None else _number(mark, "mark"),
        max(0.0, _number(whole.get("last", 20.0), "last")),
    )


def _derived(info: Mapping[str, Any]) -> Derived:
    made = Derived(
        _text(info.get("name", ""), "name"),
        _text(info.get("kind", ""), "kind"),
        _text(info.get("a", ""), "a"),
        _text(info.get("b", ""), "b"),
        _number(info.get("cutoff", 0.0), "cutoff"),
    )
    if not made.name or made.kind not in KINDS:
        raise InputError(
            f"a derived channel needs a name and a kind, not {made.name!r} and {made.kind!r}",
            remedy=f"kinds are {', '.join(KINDS)}",
        )
    return made


def _mapping(info: object, what: str) -> Mapping[str, Any]:
    if not isinstance(info, Mapping):
        raise InputError(f"{what} is a table of names and values, not {type(info).__name__}")
    return info


def _list(info: object, what: str) -> list[Any]:
    if not isinstance(info, list):
        raise InputError(f"{what} is a list, not {type(info).__name__}")
    return info


def _text(info: object, what: str) -> str:
    if not isinstance(info, str):
        raise InputError(f"{what} is a text, not {type(info).__name__}")
    return info


def _number(info: object, what: str) -> float:
    if isinstance(info, bool) or not isinstance(info, int | float) or not np.isfinite(info):
        raise InputError(f"{what} is a finite number, not {info!r}")
    return float(info)


def first_layout(recording: Recording) -> ScopeLayout:
    """Return what is shown before anyone has chosen: channels of a unit together, those that move.

    >>> r = Recording(
    ...     [0, 1],
    ...     [Channel("x", "m"), Channel("y", "m"), Channel("a", "rad")],
    ...     [[0, 0, 1], [1, 2, 2]],
    ... )
    >>> [g.traces for g in first_layout(r).graphs]
    [('x', 'y'), ('a',)]
    """
    if not recording.channels:
        return ScopeLayout()
    rows = recording.data[:: max(1, len(recording) // 2000)]
    moves = _moving(rows, [c.unit for c in recording.channels])
    names = [c.name for c, on in zip(recording.channels, moves, strict=True) if on]
    names = names or [c.name for c in recording.channels]
    chosen = [[n for n in graph if n in names] for graph in _story(recording)]
    groups: dict[str, list[str]] = {}
    for channel in recording.channels:
        if channel.name in names and not any(channel.name in graph for graph in chosen):
            groups.setdefault(channel.unit, []).append(channel.name)
    info = [graph for graph in chosen if graph]
    if len(info) < 2:
        info += [group[:_FIRST_TRACES] for group in groups.values()]
    return ScopeLayout(tuple(Graph(tuple(graph)) for graph in info[:3]))


def _moving(rows: Array, units: Sequence[str]) -> NDArray[np.bool_]:
    """Return which columns change by more than rounding of what there is in their unit.

    >>> _moving(np.array([[1.0, 0.0, 5e-12], [2.0, 1e-15, 0.0]]), ["m", "m", "A"])
    array([ True, False,  True])
    """
    if not len(rows):
        return np.zeros(len(units), bool)
    finite = np.isfinite(rows)
    high, low = (
        np.where(finite, rows, -np.inf).max(axis=0),
        np.where(finite, rows, np.inf).min(axis=0),
    )
    sizes = np.abs(np.where(finite, rows, 0.0)).max(axis=0)
    greatest = dict.fromkeys(units, 0.0)
    for unit, size in zip(units, sizes, strict=True):
        greatest[unit] = max(greatest[unit], float(size))
    return np.asarray(high - low > [_ROUNDING * greatest[u] for u in units])


def _story(recording: Recording) -> list[tuple[str, ...]]:
    """Return the graphs that say what happens: those of a shipped model, the feet's forces."""
    from linkwright.scene.model_shapes import STORIES

    found = list(STORIES.get(str(recording.metadata.get("model", "")), ()))
    forces = recording.metadata.get("forces")
    info = [f for f in forces if isinstance(f, Mapping)] if isinstance(forces, list | tuple) else []
    feet = [str(f["force"][-1]) for f in info if f.get("touch") and f.get("force")]
    return [tuple(feet[:_FIRST_TRACES]), *found] if feet else found


# -- what is computed ------------------------------------------------------------------------------
@dataclass(eq=False)
class Columns:
    """The channels of a recording, and those that a layout derives from them.

    >>> r = Recording([0, 1, 2], [Channel("x", "m")], [[0], [1], [4]])
    >>> made = Columns(r, (Derived("v", "rate", "x"), Derived("sum", "add", "v", "v")))
    >>> made.channel("v").unit, made.values("sum")
    ('m/s', array([0., 4., 8.]))
    """

    recording: Recording = field(repr=False)
    derived: tuple[Derived, ...] = ()
    computed: dict[str, tuple[Channel, Array]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._places = {c.name: k for k, c in enumerate(self.recording.channels)}
        self._made: dict[str, tuple[int, Derived]] = {}
        for k, d in enumerate(self.derived):
            if d.name not in self._places:
                self._made.setdefault(d.name, (k, d))

    @property
    def times(self) -> Array:
        """Of the samples, s."""
        return self.recording.times

    def channel(self, name: str) -> Channel:
        """Return what is known of a channel; one that cannot be had is an error."""
        place = self._places.get(name)
        return self.recording.channels[place] if place is not None else self._of(name)[0]

    def values(self, name: str) -> Array:
        """Return a channel over time; one that cannot be had is an error that says why."""
        place = self._places.get(name)
        if place is None:
            return self._of(name)[1]
        if name not in self.computed:
            column = np.ascontiguousarray(self.recording.data[:, place])
            self.computed[name] = self.recording.channels[place], column
        return self.computed[name][1]

    def _of(self, name: str) -> tuple[Channel, Array]:
        if name not in self.computed:
            if name not in self._made:
                self.recording.index(name)  # tells the nearest spelling
            order, d = self._made[name]
            for used in (d.a, d.b) if d.kind in ("add", "sub") else (d.a,):
                if used in self._made and self._made[used][0] >= order:
                    raise Error(f"{name!r} is made from {used!r}, which comes after it")
            self.computed[name] = self._make(d)
        return self.computed[name]

    def _make(self, d: Derived) -> tuple[Channel, Array]:
        first = self.channel(d.a)
        if d.kind in ("add", "sub"):
            second = self.channel(d.b)
            a, b = self.values(d.a), self.values(d.b)
            unit = first.unit if first.unit == second.unit else "?"
            words = f"{d.a} {'plus' if d.kind == 'add' else 'minus'} {d.b}"
            return Channel(d.name, unit, words), a + b if d.kind == "add" else a - b
        values = self.values(d.a)
        if d.cutoff not in (0, 100) and len(values) <= _FEWEST:
            raise Error(f"{len(values)} samples are too few for a filter")
        if d.cutoff not in (0, 100) and not np.isfinite(values).all():
            count = int((~np.isfinite(values)).sum())
            raise Error(f"{d.a!r} cannot be filtered: {count} of its values are not finite numbers")
        alone = Recording(self.times, [first], values[:, None])
        if d.kind == "filter":
            words = f"{d.a} through a low-pass of {d.cutoff:g} %"
            return Channel(d.name, first.unit, words, first.generic, first.body), np.asarray(
                filtered(alone, first.name, d.cutoff)
            )
        rate, slope = rate_of_change(alone, first.name, d.cutoff)
        return Channel(d.name, rate.unit, rate.long, rate.generic, rate.body), slope

    def whole(self) -> Recording:
        """Return the recording with all derived channels that can be made.

        >>> r = Recording([0, 1, 2], [Channel("x", "m")], [[0], [1], [4]])
        >>> Columns(r, (Derived("d/dt x", "rate", "x"),)).whole().names
        ('x', 'd/dt x')
        """
        channels, columns = list(self.recording.channels), [self.recording.data]
        for name in self._made:
            try:
                channel, values = self._of(name)
            except Error:
                continue
            channels.append(channel)
            columns.append(values[:, None])
        data, source = np.hstack(columns), self.recording
        return Recording(self.times, channels, data, source.metadata, source.source)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One curve of a picture."""

    label: str
    times: Array
    values: Array
    color: str = TRACES["light"][0]
    dash: tuple[float, ...] = ()


def curve_of(columns: Columns, name: str, window: tuple[float, float] | None = None) -> Curve:
    """Return a channel over a stretch of time, with a sample before and after it."""
    part = within(columns.times, window)
    label = labeled(columns.channel(name))
    return Curve(label, columns.times[part], columns.values(name)[part])


def curves_of(columns: Columns, graph: Graph, window: tuple[float, float] | None) -> list[Curve]:
    """Return the curves of a graph, those that can be had, with their colors and dashes."""
    made = []
    for k, name in enumerate(graph.traces):
        try:
            c = curve_of(columns, name, window)
        except Error:
            continue
        inks = TRACES["light"]
        made.append(replace(c, color=inks[k % len(inks)], dash=DASHES[k % len(DASHES)]))
    return made


def within(times: Array, window: tuple[float, float] | None) -> slice:
    """Return the samples of a stretch of time, and one beyond each end.

    >>> within(np.arange(10.0), (2.5, 4.5))
    slice(2, 6, None)
    """
    if window is None:
        return slice(0, len(times))
    first = int(np.searchsorted(times, window[0], "left"))
    last = int(np.searchsorted(times, window[1], "right"))
    return slice(max(0, first - 1), min(len(times), last + 1))


def labeled(channel: Channel) -> str:
    """Return a channel's name with its unit.

    >>> labeled(Channel("r", "rad/s", "yaw rate"))
    'r [rad/s]'
    """
    return channel.name if channel.unit in ("?", "1", "") else f"{channel.name} [{channel.unit}]"


def kept(values: Array, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Return which samples of a curve are shown: the extremes of each stretch, and its gaps.

    >>> spike = np.where(np.arange(10_000) == 5003, 9.0, 0.0)
    >>> chosen = kept(spike, 100)
    >>> len(chosen) <= 100, 5003 in chosen, int(chosen[0]), int(chosen[-1])
    (True, True, 0, 9999)
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, max(1, (most - 2) // 3) + 1).astype(int)
    bad = ~np.isfinite(values)
    gaps = bool(bad.any())
    low = np.where(bad, np.inf, values) if gaps else values
    high = np.where(bad, -np.inf, values) if gaps else values
    found = {0, n - 1}
    for a, b in pairwise(edges.tolist()):
        found.add(a + int(low[a:b].argmin()))
        found.add(a + int(high[a:b].argmax()))
        if gaps and bad[a:b].any():
            found.add(a + int(bad[a:b].argmax()))
    return np.array(sorted(found), dtype=np.intp)


def thinned(curve: Curve, most: int = MOST_POINTS) -> Curve:
    """Return a curve of at most so many points that keeps its extremes.

    >>> t = np.arange(10_000.0)
    >>> thin = thinned(Curve("x", t, np.where(t == 5003, 9.0, 0.0)), 100)
    >>> len(thin.times) <= 100, float(thin.values.max())
    (True, 9.0)
    """
    which = kept(curve.values, most)
    return replace(curve, times=curve.times[which], values=curve.values[which])


def value_at(times: Array, values: Array, time: float) -> float:
    """Return a curve's value at a time, between samples on a straight line; nan beyond its ends.

    >>> value_at(np.array([0.0, 1.0]), np.array([0.0, 4.0]), 0.25)
    1.0
    """
    if not len(times):
        return float("nan")
    near = 1e-9 * max(1.0, abs(float(times[0])), abs(float(times[-1])))
    if not times[0] - near <= time <= times[-1] + near:
        return float("nan")
    k = int(np.clip(np.searchsorted(times, time, "right") - 1, 0, max(len(times) - 2, 0)))
    part = slice(k, k + 2)
    return float(np.interp(time, times[part], values[part]))


def lowest_and_highest(values: Array) -> tuple[float, float]:
    """Return the ends of the values that are finite numbers; nan where there are none.

    >>> lowest_and_highest(np.array([1.0, np.nan, -2.0]))
    (-2.0, 1.0)
    """
    good: Sequence[float] | Array = values[np.isfinite(values)]
    if not len(good):
        return float("nan"), float("nan")
    return float(np.min(good)), float(np.max(good))
