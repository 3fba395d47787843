"""Charts as SVG text: phase plots on the page, and the scope saved as a picture.

The colors of axes and text follow the page (`currentColor`), so that one text serves on light and
on dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.pages.scope import Columns, Curve, Graph, ScopeLayout, curves_of, thinned
from linkwright.recording.colors import ASIDE
from linkwright.recording.spread import spread

Array: TypeAlias = NDArray[np.float64]
_FONT = "font-family='system-ui, sans-serif'"


@dataclass(frozen=True, slots=True)
class _Axis:
    """A straight scale from values to places of the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: Array) -> Array:
        share = (x - self.low) / (self.high - self.low)
        return np.asarray(self.start + share * (self.end - self.start))

    def ticks(self, wanted: int) -> list[float]:
        """Return round values."""
        return nice_ticks(self.low, self.high, wanted)


def nice_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round values between two ends.

    >>> nice_ticks(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


def _spread(values: Array) -> tuple[float, float]:
    """Return ends a little beyond the values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    reach = high - low
    if reach <= 1e-12 * max(abs(low), abs(high), 1e-300):
        reach = max(abs(high), 1.0) * 0.1
        return low - reach, high + reach
    return low - 0.05 * reach, high + 0.05 * reach


@dataclass(frozen=True, slots=True)
class SvgPicture:
    """A picture with its size, pixels."""

    width: int
    height: int
    parts: Sequence[str]
    style: str = ""

    def text(self, y: int | None = None) -> str:
        """Return it as SVG text; at a height within another picture where one is given."""
        place = "" if y is None else f"y='{y}' "
        look = f" style='{self.style}'" if self.style else ""
        size = f"viewBox='0 0 {self.width} {self.height}' width='{self.width}' "
        return (
            f"<svg {place}xmlns='http://www.w3.org/2000/svg' {size}height='{self.height}'{look}>"
            f"{''.join(self.parts)}</svg>"
        )


def phase_plot(across: Curve, up: Curve, *, width: int = 360, height: int = 300) -> SvgPicture:
    """Return one channel over another, a dot where it stands now."""
    n = min(len(across.times), len(up.times))
    x, y = across.values[-n:], up.values[-n:]
    thin = spread(n, 4000)
    x, y = x[thin], y[thin]
    box = (56.0, 10.0, width - 12.0, height - 40.0)
    h = _Axis(*_spread(x), box[0], box[2])
    v = _Axis(*_spread(y), box[3], box[1])
    parts = [_frame(box), *_grid(h, v, box), _line(h(x), v(y), up.color)]
    if n:
        parts.append(
            f"<circle cx='{float(h(x)[-1]):.1f}' cy='{float(v(y)[-1]):.1f}' r='4' "
            f"fill='{up.color}'/>"
        )
    parts += [
        _text((box[0] + box[2]) / 2, height - 6, across.label, "middle"),
        _text(14, (box[1] + box[3]) / 2, up.label, "middle", turned=True),
    ]
    return SvgPicture(width, height, parts)


def stacked_plot(
    graphs: Sequence[Sequence[Curve]],
    *,
    title: str = "",
    width: int = 900,
    each: int = 180,
    window: tuple[float, float] | None = None,
) -> SvgPicture:
    """Return graphs stacked over the same time, for a file."""
    top = 34.0 if title else 12.0
    height = int(top + each * max(len(graphs), 1) + 34)
    ends = [t for made in graphs for c in made for t in (c.times[:1], c.times[-1:])]
    span = window or (0.0, 0.0)
    if not span[1] > span[0]:  # one sample, say
        span = _spread(np.concatenate(ends)) if ends else (0.0, 1.0)
    parts = [f"<rect width='{width}' height='{height}' fill='white'/>"]
    if title:
        parts.append(_text(width / 2, 22, title, "middle", size=15))
    for k, made in enumerate(graphs):
        box = (70.0, top + k * each, width - 16.0, top + (k + 1) * each - 22)
        parts += _stack(k, [thinned(c, 2 * width) for c in made], box, span)
    parts.append(_text(width / 2, height - 8, "time [s]", "middle"))
    return SvgPicture(width, height, parts, "color:#222")


def _stack(
    k: int,
    made: Sequence[Curve],
    box: tuple[float, float, float, float],
    span: tuple[float, float],
) -> list[str]:
    """Return one graph of a stack: frame, scales, curves, and their names in their colors."""
    everything = np.concatenate([c.values for c in made]) if made else np.zeros(0)
    h, v = _Axis(*span, box[0], box[2]), _Axis(*_spread(everything), box[3], box[1])
    clip = (
        f"<clipPath id='g{k}'><rect x='{box[0]}' y='{box[1]}' width='{box[2] - box[0]}' "
        f"height='{box[3] - box[1]}'/></clipPath>"
    )
    lines = "".join(_line(h(c.times), v(c.values), c.color, c.dash) for c in made)
    parts = [clip, _frame(box), *_grid(h, v, box), f"<g clip-path='url(#g{k})'>{lines}</g>"]
    at = box[0] + 8
    for c in made:
        words = c.label if len(c.label) <= 60 else c.label[:57] + "..."
        parts.append(_text(at, box[1] + 15, words, "start", color=c.color))
        at += 7.2 * len(words) + 16
    return parts


def layout_picture(
    recordings: Sequence[tuple[str, Columns]],
    layout: ScopeLayout,
    window: tuple[float, float],
    title: str = "",
) -> str:
    """Return all graphs of a scope as one SVG text, phase plots below the others."""
    over_time = [_overlaid(recordings, g, window) for g in layout.graphs if not g.across]
    pictures = [stacked_plot(over_time, title=title, window=window)] if over_time else []
    for graph in layout.graphs:
        for _, columns in recordings if graph.across else ():
            across = curves_of(columns, Graph((graph.across,)), window)
            ups = curves_of(columns, graph, window) if across else []
            pictures += [phase_plot(across[0], up, width=900, height=500) for up in ups]
    if len(pictures) == 1:
        return pictures[0].text()
    placed, height = [], 0
    for picture in pictures:
        placed.append(picture.text(height))
        height += picture.height
    height = max(height, 40)
    back = f"<rect width='900' height='{height}' fill='white'/>"
    return SvgPicture(900, height, [back, *placed], "color:#222").text()


def _overlaid(
    recordings: Sequence[tuple[str, Columns]], graph: Graph, window: tuple[float, float]
) -> list[Curve]:
    """Return the curves of a graph from all recordings, with their names where there are more."""
    made = []
    for k, (name, columns) in enumerate(recordings):
        for c in curves_of(columns, graph, window):
            label = f"{c.label} · {name}" if len(recordings) > 1 else c.label
            made.append(replace(c, label=label, dash=ASIDE if k else c.dash))
    return made


def _frame(box: tuple[float, float, float, float]) -> str:
    x, y, right, low = box
    return (
        f"<rect x='{x}' y='{y}' width='{right - x}' height='{low - y}' fill='none' "
        "stroke='currentColor' stroke-opacity='0.35'/>"
    )


def _grid(h: _Axis, v: _Axis, box: tuple[float, float, float, float]) -> list[str]:
    made = []
    for x in h.ticks(max(2, int((box[2] - box[0]) / 80))):
        at = float(h(np.array(x)))
        made.append(_rule(at, box[1], at, box[3]))
        made.append(_text(at, box[3] + 14, f"{x:g}", "middle", size=11))
    for y in v.ticks(max(2, int((box[3] - box[1]) / 45))):
        at = float(v(np.array(y)))
        made.append(_rule(box[0], at, box[2], at))
        made.append(_text(box[0] - 5, at + 4, f"{y:g}", "end", size=11))
    return made


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' "
        "stroke='currentColor' stroke-opacity='0.12'/>"
    )


def _line(x: Array, y: Array, color: str, dashes: tuple[float, ...] = ()) -> str:
    dash = f" stroke-dasharray='{' '.join(f'{d:g}' for d in dashes)}'" if dashes else ""
    good = np.isfinite(x) & np.isfinite(y)
    edges = np.diff(np.concatenate([[0], good.astype(int), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    made = []
    for a, b in zip(starts, ends, strict=True):  # a gap where there is no number
        if a == b:
            made.append(f"<circle cx='{x[a]:.1f}' cy='{y[a]:.1f}' r='2' fill='{color}'/>")
            continue
        places = zip(x[a : b + 1], y[a : b + 1], strict=True)
        points = " ".join(f"{p:.1f},{q:.1f}" for p, q in places)
        made.append(
            f"<polyline points='{points}' fill='none' stroke='{color}' stroke-width='1.5'{dash}/>"
        )
    return "".join(made)


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str,
    *,
    size: int = 12,
    turned: bool = False,
    color: str = "currentColor",
) -> str:
    turn = f" transform='rotate(-90 {x:.1f} {y:.1f})'" if turned else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' {_FONT} fill='{color}' "
        f"text-anchor='{anchor}'{turn}>{escape(words)}</text>"
    )
