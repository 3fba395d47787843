"""What the scope shows: curves of channels, made from a recording as SL's plotter did.

Each chosen channel is a graph of its own, stacked over the same time. A curve may be filtered (a
Butterworth low-pass, percent of half the sampling rate), differentiated, and two channels may be
added or subtracted; one over another is a phase plot. Curves are thinned to the points that a
screen can show, keeping the lowest and the highest value of each stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.errors import Error
from linkwright.recording import Channel, Recording
from linkwright.recording.derived import filtered, rate_of_change

Array: TypeAlias = NDArray[np.float64]
MOST_POINTS = 400
"""Of a curve on the screen."""

COLOURS = ("#e8710a", "#1f77b4", "#2ca02c", "#9467bd", "#c2185b", "#00838f")
"""Of curves, readable on light and dark."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One curve of the scope.

    Args:
        label: name and unit.
        times: s.
        values: at these.
        colour: as in style sheets.
    """

    label: str
    times: Array
    values: Array
    colour: str = COLOURS[0]


@dataclass(frozen=True, slots=True)
class View:
    """What is asked of the scope.

    Args:
        names: of the channels, each a graph.
        rate: whether rates of change are shown in place of the values.
        cutoff: of the filter, percent of half the sampling rate; 0 for none.
        combine: "", "+" or "-": the first two channels in one curve.
        last: only so many seconds; 0 for all.
    """

    names: tuple[str, ...]
    rate: bool = False
    cutoff: float = 0.0
    combine: str = ""
    last: float = 0.0


def curves(recording: Recording, view: View) -> list[Curve]:
    """Return the curves of a view, one for each graph from the top.

    Args:
        recording: the samples so far.
        view: what is asked for.

    >>> r = Recording(
    ...     [0, 1, 2], [Channel("x", "m"), Channel("y", "m")], [[0, 1], [1, 1], [4, 1]]
    ... )
    >>> [c.label for c in curves(r, View(("x", "y"), rate=True))]
    ['d/dt x [m/s]', 'd/dt y [m/s]']
    >>> curves(r, View(("x", "y"), combine="-"))[0].values
    array([-1.,  0.,  3.])
    """
    shown = latest(recording, view.last)
    made = [_curve(shown, name, view) for name in view.names if name in shown]
    if view.combine and len(made) >= 2:
        made = [_combined(made[0], made[1], view.combine), *made[2:]]
    return [
        Curve(c.label, c.times, c.values, COLOURS[k % len(COLOURS)]) for k, c in enumerate(made)
    ]


def latest(recording: Recording, last: float) -> Recording:
    """Return the last seconds of a recording; all of it for zero.

    Args:
        recording: any.
        last: s.
    """
    if not last or not len(recording):
        return recording
    first = int(np.searchsorted(recording.times, recording.times[-1] - last))
    return Recording(
        recording.times[first:], recording.channels, recording.data[first:], recording.about
    )


def _curve(recording: Recording, name: str, view: View) -> Curve:
    channel = recording.channel(name)
    try:
        if view.rate:
            channel, values = rate_of_change(recording, name, view.cutoff)
        else:
            values = filtered(recording, name, view.cutoff)
    except Error:  # too few samples yet
        values = np.full(len(recording), np.nan)
    return Curve(labelled(channel), recording.times, np.asarray(values, float))


def labelled(channel: Channel) -> str:
    """Return a channel's name with its unit.

    >>> labelled(Channel("r", "rad/s", "yaw rate"))
    'r [rad/s]'
    """
    return channel.name if channel.unit in ("?", "1", "") else f"{channel.name} [{channel.unit}]"


def _combined(first: Curve, second: Curve, sign: str) -> Curve:
    values = first.values + second.values if sign == "+" else first.values - second.values
    mark = "+" if sign == "+" else "−"
    return Curve(f"{first.label} {mark} {second.label}", first.times, values)


def thinned(curve: Curve, most: int = MOST_POINTS) -> Curve:
    """Return a curve of at most so many points that keeps its extremes.

    Args:
        curve: any.
        most: points.

    >>> t = np.arange(10_000.0)
    >>> spike = np.where(t == 5003, 9.0, 0.0)
    >>> thin = thinned(Curve("x", t, spike), 100)
    >>> len(thin.times) <= 100, float(thin.values.max())
    (True, 9.0)
    """
    n = len(curve.times)
    if n <= most:
        return curve
    edges = np.linspace(0, n, most // 2 + 1).astype(int)
    safe = np.nan_to_num(curve.values)
    kept: list[int] = []
    for a, b in pairwise(edges.tolist()):
        pair = {a + int(safe[a:b].argmin()), a + int(safe[a:b].argmax())}
        kept += sorted(pair)
    return Curve(curve.label, curve.times[kept], curve.values[kept], curve.colour)


def value_at(curve: Curve, time: float) -> float:
    """Return a curve's value at a time, between samples on a straight line.

    Args:
        curve: any.
        time: s.

    >>> value_at(Curve("x", np.array([0.0, 1.0]), np.array([0.0, 4.0])), 0.25)
    1.0
    """
    if not len(curve.times):
        return float("nan")
    return float(np.interp(time, curve.times, curve.values))


def derived(recording: Recording, views: Sequence[View]) -> Recording:
    """Return a recording with the curves of some views added to its channels.

    Args:
        recording: any.
        views: what was looked at; plain values are there already.

    >>> r = Recording([0, 1, 2], [Channel("x", "m")], [[0], [1], [4]])
    >>> derived(r, [View(("x",), rate=True)]).names
    ('x', 'd/dt x')
    """
    channels, columns = list(recording.channels), [recording.data]
    names = set(recording.names)
    for view in views:
        for curve in curves(recording, view):
            name, _, unit = curve.label.partition(" [")
            plain = not view.rate and not view.cutoff and not view.combine
            if plain or len(curve.times) != len(recording):
                continue
            label = name if not view.combine else curve.label
            label = f"{label} filtered" if view.cutoff and not view.rate else label
            if label in names:
                continue
            names.add(label)
            unit = unit.split("]")[0] if not view.combine else "?"
            channels.append(Channel(label, unit or "?"))
            columns.append(curve.values[:, None])
    return Recording(recording.times, channels, np.hstack(columns), recording.about)
