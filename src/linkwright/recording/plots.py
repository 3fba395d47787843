"""Figures of recordings.

Channels of the same unit share a graph, graphs share the time axis, and everything is labeled
with names and units, so that a plot needs no options. Needs Matplotlib (the extra `plot`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.files import write_with
from linkwright.base.optional import extra
from linkwright.recording.colors import DASHES, TRACES
from linkwright.recording.derived import chosen, filtered, rate_of_change, spectrum
from linkwright.recording.document import typeset
from linkwright.recording.plot_format import SYMBOLS, PlotFormat, apply_format, smooth_curve
from linkwright.recording.recording import Array, Channel, Recording, RecordingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = ("-", "--", ":", "-.")
"""How the lines of one recording after the other are drawn."""

_WIDTH = 1.6  # of curves, points
_STYLE = {
    "axes.edgecolor": "#9aa3af",
    "axes.facecolor": "#ffffff",
    "axes.grid": True,
    "axes.labelcolor": "#1f2937",
    "axes.labelsize": 9.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": "#ffffff",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": _WIDTH,
    "svg.hashsalt": "linkwright",
    "text.color": "#1f2937",
    "xtick.color": "#4b5563",
    "ytick.color": "#4b5563",
}
_LONGEST = 34
"""Letters of a name in a legend."""
_APART = 300.0
"""How many times larger the next channel of a unit is, to be drawn in a graph of its own."""
_TARGETS = frozenset({"target", "targets", "reference", "setpoint", "desired", "goal", "way"})
_ENTRY = 0.165
"""Height of an entry of a legend, inches."""
ENDINGS = (".png", ".svg", ".pdf")


def figure(
    recordings: Sequence[Recording],
    channels: Sequence[str] = (),
    *,
    vs: str | None = None,
    fft: bool = False,
    rate: bool = False,
    cutoff: float = 0,
    labels: Sequence[str] = (),
    title: str = "",
    layout: PlotFormat | None = None,
) -> Figure:
    """Return a figure of channels, those of a unit in one graph.

    >>> r = Recording([0, 1], [Channel("x", "m"), Channel("v", "m/s")], [[1, 2], [3, 4]])
    >>> [ax.get_ylabel() for ax in figure([r]).axes]
    ['m', 'm/s']
    """
    if not recordings:
        raise RecordingError("there is no recording to draw")
    if fft and (vs or rate):
        raise RecordingError("a spectrum is drawn over frequency; leave out --vs and --d/dt")
    for recording in recordings:
        if not len(recording):
            raise RecordingError("the recording has no samples")
    plt_figure = extra("matplotlib.figure", "plot")
    recordings = [recording.printed for recording in recordings]
    names = [n for n in chosen(recordings[0], channels) if n != vs]
    if not names:
        raise RecordingError("there is no channel to draw")
    layout = layout or PlotFormat()
    made = [_drawn(r, names, vs, fft, rate, cutoff) for r in recordings]
    groups = _graphs(made)
    if not (channels or fft or rate):
        groups = [g for g in groups if not _is_nothing(made, g)] or groups[:1]
    with styled():
        width = 9.0
        height = max(min(1.4 + 2.1 * len(groups), 16.0), 0.8 + 1.4 * len(groups))
        if vs and len(groups) == 1:
            width, height = 7.0, 6.0
        drawing: Figure = plt_figure.Figure(figsize=(width, height), layout="constrained")
        info = _has_long_names([c for c, _, _ in made[0]])
        axes = drawing.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for ax, columns in zip(axes, groups, strict=True):
            _draw(ax, made, columns, labels, int(height / len(groups) / _ENTRY), info, layout)
        axes[-1].set_xlabel(_x_label(recordings[0], vs, fft))
        if fft:
            axes[-1].set_xlim(0, max(_bandwidth(x, y) for lines in made for _, x, y in lines))
        words = title or str(recordings[0].metadata.get("model", ""))
        if words:
            axes[0].set_title(words, loc="left")
        apply_format(drawing, list(axes), layout)
    return drawing


def styled() -> AbstractContextManager[None]:
    """Return the context in which figures of our style are made.

    >>> with styled():
    ...     pass
    """
    context: AbstractContextManager[None] = extra("matplotlib", "plot").rc_context(_STYLE)
    return context


def drawn_lines(
    recordings: Sequence[Recording],
    channels: Sequence[str] = (),
    vs: str | None = None,
    fft: bool = False,
    rate: bool = False,
    cutoff: float = 0,
) -> dict[str, list[tuple[str, Array, list[Array]]]]:
    """Return by unit the names of channels, what they go over, and a curve for each recording.

    >>> r = Recording([0, 1], [Channel("x", "m")], [[1], [2]])
    >>> drawn_lines([r])
    {'m': [('x', array([0., 1.]), [array([1., 2.])])]}
    """
    recordings = [recording.printed for recording in recordings]
    names = [n for n in chosen(recordings[0], channels) if n != vs]
    made = [_drawn(r, names, vs, fft, rate, cutoff) for r in recordings]
    groups = _by_unit([c for c, _, _ in made[0]])
    found: dict[str, list[tuple[str, Array, list[Array]]]] = {}
    for unit, columns in groups.items():
        for k in columns:
            channel, x, _ = made[0][k]
            curves = [
                y if np.array_equal(over, x) else np.interp(x, over, y)
                for _, over, y in (lines[k] for lines in made)
            ]
            found.setdefault(unit, []).append((channel.long or channel.name, x, curves))
    return found


_Line = tuple[Channel, Array, Array]


def _drawn(
    recording: Recording, names: Sequence[str], vs: str | None, fft: bool, rate: bool, cutoff: float
) -> list[_Line]:
    """Return for each channel its labels and what is drawn over what."""
    over = recording.times if vs is None else recording[vs]
    found: list[_Line] = []
    for name in names:
        channel = recording.channel(name)
        if fft:
            found.append((channel, *spectrum(recording, name)))
        elif rate:
            changed, values = rate_of_change(recording, name, cutoff)
            found.append((changed, over, values))
        else:
            found.append((channel, over, filtered(recording, name, cutoff)))
    return found


def _by_unit(channels: Sequence[Channel]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for k, channel in enumerate(channels):
        groups.setdefault(channel.unit, []).append(k)
    return groups


def _graphs(made: Sequence[Sequence[_Line]]) -> list[list[int]]:
    """Return which channels are drawn together: those of a unit and of like magnitude.

    There are no more in a graph than there are colors.
    """
    found: list[list[int]] = []
    for columns in _by_unit([c for c, _, _ in made[0]]).values():
        for alike in _of_like_magnitude(columns, {k: _peak(made, k) for k in columns}):
            parts = -(-len(alike) // len(TRACES["light"]))
            found += [[int(k) for k in part] for part in np.array_split(alike, parts)]
    return found


def _of_like_magnitude(columns: Sequence[int], peaks: Mapping[int, float]) -> list[list[int]]:
    """Part channels where some are so small that they would be a line at zero beside others."""
    ranked = sorted((k for k in columns if peaks[k] > 0), key=lambda k: peaks[k])
    groups: list[set[int]] = []
    for before, k in zip([None, *ranked], ranked, strict=False):
        if before is None or peaks[k] > _APART * peaks[before]:
            groups.append(set())
        groups[-1].add(k)
    if not groups:
        return [list(columns)]
    groups[-1] |= {k for k in columns if not peaks[k] > 0}
    return [[k for k in columns if k in group] for group in reversed(groups)]


def _peak(made: Sequence[Sequence[_Line]], k: int) -> float:
    """Return the largest finite magnitude of a channel."""
    return max(
        float(np.abs(lines[k][2][np.isfinite(lines[k][2])]).max(initial=0.0)) for lines in made
    )


def _is_nothing(made: Sequence[Sequence[_Line]], columns: Sequence[int]) -> bool:
    """Whether a graph would show zero and nothing else."""
    return all(not np.any(lines[k][2]) for lines in made for k in columns)


def _is_target(channel: Channel) -> bool:
    """Whether a channel is what another one should be."""
    words = channel.name.lower().replace(".", "_").split("_")
    return any(word.rstrip("0123456789[]") in _TARGETS for word in words)


def _has_long_names(channels: Sequence[Channel]) -> bool:
    """Whether a legend can have long names for all channels of a figure, and not only for some."""
    return all(c.long for c in channels) and max(len(c.long) for c in channels) <= _LONGEST


def _names(channels: Sequence[Channel], info: bool) -> list[str]:
    """Return names for a legend, all long ones or all short ones."""
    found = [c.long if info else c.name for c in channels]
    if max(map(len, found)) > _LONGEST and len(found) > 1:
        columns = zip(*found, strict=False)  # letters in which all agree, from the left
        same = len(list(itertools.takewhile(lambda letters: len(set(letters)) == 1, columns)))
        while same and found[0][same - 1].isalnum():
            same -= 1  # to where a word begins
        found = [f"…{name[same:]}" if same > 1 else name for name in found]
    return [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in found]


def _draw(
    ax: Axes,
    made: Sequence[Sequence[_Line]],
    columns: Sequence[int],
    labels: Sequence[str],
    rows: int,
    info: bool,
    layout: PlotFormat,
) -> None:
    several = len(made) > 1
    first = [made[0][k][0] for k in columns]
    names = _names(first, info)
    drawn = False
    for number, lines in enumerate(made):
        for place, k in enumerate(columns):
            _, x, y = lines[k]
            words = names[place]
            drawn = drawn or bool(np.isfinite(y).any())
            if several:
                label = labels[number] if number < len(labels) else f"{number + 1}"
                words = f"{words} · {label}"
            _draw_curve(ax, x, y, words, _line(lines[k][0], number, place), place, layout)
    ax.set_ylabel(_y_label(first))
    ax.margins(x=0.01)
    count = len(columns) * len(made)
    if layout.legend and (count > 1 or names[0] not in ax.get_ylabel()):
        ncols = -(-count // max(rows, 1))
        ax.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), ncols=ncols)
    if not drawn:
        words, at = "no finite value", ax.transAxes
        ax.text(0.5, 0.5, words, transform=at, ha="center", va="center", color="#6b7280")
        ax.set_yticks([])


def _draw_curve(
    ax: Axes, x: Array, y: Array, words: str, line: Any, place: int, layout: PlotFormat
) -> None:
    """Draw a curve through samples, and marks at some of them."""
    color = TRACES["light"][place % len(TRACES["light"])]
    mark = SYMBOLS[place % len(SYMBOLS)] if layout.symbols else "o" if len(x) == 1 else None
    every = layout.symbols or 1
    if layout.smooth and len(x) > 1:
        ax.plot(*smooth_curve(x, y), linestyle=line, color=color, label=None if mark else words)
        line = "none"
        if not mark:
            return
    ax.plot(
        x, y, linestyle=line, color=color, label=words, marker=mark, markevery=every, markersize=4.5
    )


def _line(channel: Channel, number: int, place: int) -> str | tuple[float, tuple[float, ...]]:
    """Return how a curve is drawn: whole or dashed, as Matplotlib has it."""
    if _is_target(channel):
        return "--"
    dashes = DASHES[place % len(DASHES)]
    if number or not dashes:
        return LINES[number % len(LINES)]
    return 0.0, tuple(d / _WIDTH for d in dashes)  # in widths of the line


def _y_label(channels: Sequence[Channel]) -> str:
    unit = channels[0].unit
    shown = "" if unit in ("?", "1", "") else typeset(unit)
    generic = {c.generic for c in channels}
    if len(channels) == 1:
        name = channels[0].generic or ""
    else:
        name = next(iter(generic)) if len(generic) == 1 else ""
    return f"{name} ({shown})" if name and shown else name or shown or "without unit"


def _bandwidth(frequencies: Array, amplitudes: Array) -> float:
    """Return the frequency up to which a spectrum is worth showing, in Hz."""
    finite = np.where(np.isfinite(amplitudes), amplitudes, 0.0)
    seen = np.flatnonzero(finite > 0.01 * finite.max(initial=0.0))
    last = 0 if not len(seen) else int(1.25 * seen[-1])
    return float(frequencies[min(max(last, 40), len(frequencies) - 1)])


def _x_label(recording: Recording, vs: str | None, fft: bool) -> str:
    if fft:
        return "frequency (Hz)"
    return "time (s)" if vs is None else recording.channel(vs).label


def save_figure(path: str | os.PathLike[str], drawing: Figure, *, replace: bool = True) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of the name."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise RecordingError(
            f"the ending {ending!r} does not name a picture", remedy=f"use {', '.join(ENDINGS)}"
        )
    metadata: Mapping[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(
        ending, {"Software": "linkwright"}
    )
    with styled():
        write_with(
            target,
            lambda file: drawing.savefig(file, format=ending[1:], dpi=150, metadata=metadata),
            replace=replace,
        )


def limits(values: Sequence[Array]) -> tuple[float, float]:
    """Return the smallest and largest finite value; a little room where they are equal.

    >>> limits([np.array([1.0, np.nan, 3.0])]), limits([np.array([2.0])])
    ((1.0, 3.0), (1.5, 2.5))
    """
    every = np.concatenate([np.ravel(v) for v in values])
    every = every[np.isfinite(every)]
    if not len(every):
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
