"""Pictures of charts, with Matplotlib (the extra `plot`): polar for directions, else maps.

Directions are drawn as on a map of the sky that lies on the ground: north is up, east is right, the
zenith in the middle. Places that are not reached have the color of their cause, with its share in
the legend. The colors differ to eyes without red or green cones too (Okabe and Ito 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.optional import extra
from linkwright.parallel.chart_engine import CAUSES
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.parallel.charts import Chart

Array = NDArray[np.float64]
_COLORS = ("#dcebf5", "#b6bcc4", "#e69f00", "#cc79a7", "#d55e00", "#0072b2")
"""One for each cause."""
INK = "#111827"
_COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_MOST = 720  # cells along a side, more than a picture shows
_FAR = 20.0  # times the median, from which on values are drawn by their logarithms
_FARTHEST = 1e3  # times the median, where colors end
_STEPS = 721  # of the line of a pass
_PATH = "#b91c1c"
_TITLE: dict[str, Any] = {"loc": "left", "y": 1.0, "pad": 26}
"""Above the compass of a map, where the layout keeps room for it."""
_PAPER = {"facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}
"""Behind labels on a map."""


class DrawnPass(Protocol):
    """What crosses the sky: a pass of a satellite (`linkwright.mounts.passes.Pass`)."""

    @property
    def culminates(self) -> float:
        """When it is highest, s."""

    @property
    def culmination(self) -> float:
        """Its highest elevation, rad."""

    @property
    def rises(self) -> bool:
        """Whether it rises at its beginning."""

    @property
    def sets(self) -> bool:
        """Whether it sets at its end."""

    @property
    def duration(self) -> float:
        """From the first place to the last, s."""

    def __call__(self, t: Array) -> Array:
        """Return unit vectors East, North, up."""

    def time(self, t: float) -> datetime:
        """Return the time of day, UTC."""


def figure(chart: Chart, of: str | None, passes: Sequence[DrawnPass] = ()) -> Figure:
    """Return the picture of a column over the last two axes."""
    if len(chart.axes) > 2:
        raise InputError(
            f"a picture has two axes, and the chart has {len(chart.axes)}",
            remedy="chart two axes, and fix the others: at={...}",
        )
    if passes and not is_sky(chart):
        names = " and ".join(a.name for a in chart.axes)
        raise InputError(
            f"passes are drawn on a map of the sky, and the chart is over {names}",
            remedy="chart azimuth and elevation, or leave out the passes",
        )
    shown = [n for n in chart.columns if n not in ("reach", "bound")]
    asked = (of or next(iter(shown), "reach")).split(",")
    wanted = [part for name in asked for part in _alike(chart, name)]
    made = extra("matplotlib.figure", "plot")
    with styled():
        if len(chart.axes) == 1:
            return _line(chart, wanted[-1], made)
        drawing: Figure = made.Figure(figsize=(7.5 * len(wanted), 6.8), layout="constrained")
        for k, name in enumerate(wanted):
            ax = drawing.add_subplot(
                1, len(wanted), k + 1, projection="polar" if is_sky(chart) else None
            )
            draw(drawing, ax, chart, name)
            for one in passes:
                draw_pass(ax, one, _PATH)
            ax.set_title(f"{chart.name}: {_label(name, _unit(chart, name))}", **_TITLE)
        if is_sky(chart):
            drawing.draw_without_rendering()  # the second layout knows how high the title is
    return drawing


def is_sky(chart: Chart) -> bool:
    """Whether a chart is about directions."""
    return {a.name for a in chart.axes} in ({"azimuth", "zenith"}, {"azimuth", "elevation"})


def draw(drawing: Figure, ax: Any, chart: Chart, name: str) -> None:
    """Draw a column of a chart with two axes, its bar and its legend."""
    values, reach = _column(chart, name), np.asarray(chart["reach"])
    polar = is_sky(chart)
    if polar:
        across, along, values, reach = _polar(chart, values, reach)
        sky(ax, float(max(along.max(), 10.0)))
    else:
        across, along = (a.shown(a.values) for a in chart.axes)
        ax.set_xlabel(_label(chart.axes[0].name, chart.axes[0].shown_unit))
        ax.set_ylabel(_label(chart.axes[1].name, chart.axes[1].shown_unit))
    ax.grid(False)
    _mesh(drawing, ax, (across, along), (values, reach), _label(name, _unit(chart, name)))
    _ends(ax, chart, polar)
    _legend(ax, reach, colored=name == "reach")
    if polar:
        ax.grid(True, color="#9aa3af", linewidth=0.5, alpha=0.6)


def sky(ax: Any, most: float = 90.0) -> None:
    """Make polar axes a map of the sky: north up, east right, rings of zenith angle."""
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    ax.set_ylim(0, most)
    ax.set_xticks(np.radians(np.arange(0, 360, 45)), _COMPASS)
    rings = [r for r in (30, 60, 90, 120, 150) if r <= most]
    ax.set_yticks(rings, [f"{r}°" for r in rings], fontsize=7, bbox=_PAPER)
    ax.set_rlabel_position(112.5)
    ax.spines["polar"].set_color("#9aa3af")
    if most > 90:
        ring = np.linspace(0, 2 * np.pi, 181)
        ax.plot(ring, np.full_like(ring, 90.0), color="#374151", linewidth=0.9, dashes=(4, 3))


def draw_curve(ax: Any, directions: Array, **style: Any) -> None:
    """Draw a curve of directions on a map of the sky."""
    ax.plot(*places(directions), **style)


def draw_pass(ax: Any, path: DrawnPass, color: str) -> None:
    """Draw a pass on a map of the sky, with the times of its rise, culmination and set.

    A pass that was up when the search began has a start instead of a rise, and one that still was
    when it ended an end.
    """
    effects = extra("matplotlib.patheffects", "plot")
    halo = [effects.withStroke(linewidth=3.0, foreground="#ffffff")]
    draw_curve(
        ax, path(np.linspace(0.0, path.duration, _STEPS)), color=color, linewidth=2.0,
        path_effects=halo, zorder=4,
    )  # fmt: skip
    marks = [
        ("rise" if path.rises else "start", 0.0, "o"),
        ("set" if path.sets else "end", path.duration, "s"),
    ]
    if 0 < path.culminates < path.duration:
        marks.insert(1, (f"top {np.degrees(path.culmination):.1f}°", path.culminates, "^"))
    for words, t, marker in marks:
        (azimuth,), (zenith,) = places(path(np.array([t])))
        ax.plot(
            [azimuth], [zenith], marker, color=color, markersize=6, markeredgecolor="#ffffff",
            zorder=5, clip_on=zenith > ax.get_ylim()[1] + 0.5,
        )  # fmt: skip
        # into the map from its left and right edges, so that labels stay on it
        right = np.sin(azimuth) * zenith > 0
        ax.annotate(
            f"{words}\n{path.time(t):%H:%M:%S} UTC", (azimuth, zenith),
            xytext=(-8 if right else 8, 0), textcoords="offset points",
            ha="right" if right else "left", va="center", fontsize=8, color=INK,
            bbox=_PAPER, zorder=6,
        )  # fmt: skip


def pass_figure(path: DrawnPass, title: str) -> Figure:
    """Return a map of the sky with a pass."""
    made = extra("matplotlib.figure", "plot")
    with styled():
        drawing: Figure = made.Figure(figsize=(6.4, 6.4), layout="constrained")
        ax = drawing.add_subplot(projection="polar")
        lowest = float(places(path(np.linspace(0.0, path.duration, _STEPS)))[1].max())
        sky(ax, max(90.0, lowest))
        draw_pass(ax, path, _PATH)
        ax.set_title(title, **_TITLE)
        drawing.draw_without_rendering()
    return drawing


def places(directions: Array) -> tuple[Array, Array]:
    """Return compass azimuths, rad, and angles from the zenith, deg.

    >>> [x.round(9).tolist() for x in places(np.array([[1.0, 0, 0], [0, 0, 1]]))]
    [[1.570796327, 0.0], [90.0, 0.0]]
    """
    d = np.asarray(directions, dtype=float)
    out = np.hypot(d[:, 0], d[:, 1])
    return np.unwrap(np.arctan2(d[:, 0], d[:, 1])), np.degrees(np.arctan2(out, d[:, 2]))


def _label(name: str, unit: str) -> str:
    shown = unit.replace("*", "·")
    return f"{name} ({shown})" if unit else name


def _parts(chart: Chart, name: str) -> list[str]:
    """Return the columns that a name stands for."""
    if name in chart.columns:
        return [name]
    return [n for n in chart.columns if n.startswith(f"{name} ")]


def _alike(chart: Chart, name: str) -> list[str]:
    """Return a name, or its columns one by one where they are in different units."""
    parts = _parts(chart, name)
    return parts if len({chart.units.get(n, "") for n in parts}) > 1 else [name]


def _unit(chart: Chart, name: str) -> str:
    return next((chart.units.get(n, "") for n in _parts(chart, name)), "")


def _column(chart: Chart, name: str) -> Array:
    parts = _parts(chart, name)
    if len(parts) > 1 or (parts and parts[0] != name):
        return np.asarray(np.max([np.abs(chart[n]) for n in parts], axis=0), dtype=float)
    return np.asarray(chart[name], dtype=float)


def _polar(chart: Chart, *columns: NDArray[Any]) -> tuple[Any, ...]:
    """Return azimuths in rad, zenith angles in deg, and columns with azimuths first."""
    by_name = {a.name: (k, a.shown(a.values)) for k, a in enumerate(chart.axes)}
    first, azimuth = by_name["azimuth"]
    zenith = 90 - by_name["elevation"][1] if "elevation" in by_name else by_name["zenith"][1]
    return np.radians(azimuth), zenith, *(c if first == 0 else c.T for c in columns)


def _mesh(
    drawing: Figure, ax: Any, places: tuple[Any, Any], columns: tuple[Any, Any], label: str
) -> None:
    colors = extra("matplotlib.colors", "plot")
    across, along = places
    steps = [max(1, -(-len(v) // _MOST)) for v in places]
    values, reach = (c[:: steps[0], :: steps[1]] for c in columns)
    across, along = edges(across[:: steps[0]]), edges(along[:: steps[1]])
    if ax.name == "polar":
        along = np.maximum(along, 0.0)
    options: dict[str, Any] = {"shading": "flat", "rasterized": True}
    scale = colors.ListedColormap(_COLORS)
    causes = np.where(reach == 0, np.nan, reach) if label != "reach" else reach.astype(float)
    if np.isfinite(causes).any():
        span = {"vmin": -0.5, "vmax": len(CAUSES) - 0.5}
        ax.pcolormesh(across, along, causes.T, cmap=scale, **span, **options)
    if label == "reach":
        return
    values = np.where((reach == 0) & np.isfinite(values), values, np.nan)
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0 and known.max() > _FAR * np.median(known):
        middle = float(np.median(known))
        ends = max(known.min(), middle / _FARTHEST), min(known.max(), middle * _FARTHEST)
        options["norm"] = colors.LogNorm(*ends)
    elif len(known) and np.ptp(known) > 0:
        options["vmin"], options["vmax"] = known.min(), np.quantile(known, 0.995)
    mesh = ax.pcolormesh(across, along, values.T, cmap="viridis", **options)
    over = bool(len(known)) and "vmax" in options and known.max() > 1.05 * options["vmax"]
    bar = drawing.colorbar(
        mesh, ax=ax, shrink=0.72, pad=0.08, aspect=26, extend="max" if over else "neither"
    )
    bar.set_label(label)
    bar.outline.set_visible(False)


def edges(values: Array) -> Array:
    """Return the edges of cells about values."""
    if len(values) < 2:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    ends = 2 * values[0] - middle[0], 2 * values[-1] - middle[-1]
    return np.concatenate([[ends[0]], middle, [ends[1]]])


def _legend(ax: Any, reach: NDArray[Any], *, colored: bool) -> None:
    """Say which part is reached, where it has a color of its own, and why not the rest."""
    patches = extra("matplotlib.patches", "plot")
    counts = np.bincount(reach.reshape(-1), minlength=len(CAUSES))
    if counts[0] == reach.size:
        return
    entries = [
        patches.Patch(facecolor=_COLORS[k], edgecolor="#6b7280", linewidth=0.5,
                      label=f"{cause}, {counts[k] / reach.size:.1%}")
        for k, cause in enumerate(CAUSES)
        if counts[k] and (k or colored)
    ]  # fmt: skip
    ax.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=3)


def _ends(ax: Any, chart: Chart, polar: bool) -> None:
    """Draw where lines stop being reached."""
    first, last = chart.axes
    across, all_ends = first.shown(first.values), last.shown(chart.ends)
    for side in range(2):
        ends = all_ends[..., side]
        if not np.isfinite(ends).any():
            continue
        if not polar:
            ax.plot(across, ends, color=INK, linewidth=1.2)
        elif first.name == "azimuth":
            radius = 90 - ends if last.name == "elevation" else ends
            ax.plot(first.values, radius, color=INK, linewidth=1.2)


def _line(chart: Chart, name: str, made: Any) -> Figure:
    (axis,) = chart.axes
    drawing: Figure = made.Figure(figsize=(8.0, 4.5), layout="constrained")
    ax = drawing.add_subplot()
    parts: Sequence[str] = _parts(chart, name) or [name]
    for part in parts:
        ax.plot(axis.shown(axis.values), chart[part], label=part)
    ax.set_xlabel(_label(axis.name, axis.shown_unit))
    ax.set_ylabel(_label(name, _unit(chart, name)))
    if len(parts) > 1:
        ax.legend()
    ax.set_title(chart.name, loc="left")
    return drawing
