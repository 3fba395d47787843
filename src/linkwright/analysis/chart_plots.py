"""Pictures of charts, with Matplotlib (the extra `plot`): polar for directions, else maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.analysis.chart_engine import CAUSES
from linkwright.errors import InputError
from linkwright.optional import extra
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.analysis.charts import Chart

_COLORS = ("#d9f0e3", "#9aa3af", "#f2c14e", "#c77dff", "#e4572e", "#4d7ea8")
"""One for each cause."""


def figure(chart: Chart, of: str | None) -> Figure:
    """Return the picture of a column over the last two axes.

    Args:
        chart: with one axis or two.
        of: a column; by default the first that is shown besides the reach, or the reach.
    """
    if len(chart.axes) > 2:
        raise InputError(
            f"a picture has two axes, and the chart has {len(chart.axes)}",
            remedy="chart two axes, and fix the others: at={...}",
        )
    shown = [n for n in chart.columns if n not in ("reach", "bound")]
    name = of or next(iter(shown), "reach")
    made = extra("matplotlib.figure", "plot")
    with styled():
        if len(chart.axes) == 1:
            return _line(chart, name, made)
        polar = {a.name for a in chart.axes} in ({"azimuth", "zenith"}, {"azimuth", "elevation"})
        drawing: Figure = made.Figure(figsize=(7.5, 6.5), layout="constrained")
        ax: Any = drawing.add_subplot(projection="polar" if polar else None)
        values = np.asarray(chart[name], dtype=float)
        if polar:
            across, along, values = _polar(chart, values)
            ax.set_theta_zero_location("N")
            ax.set_theta_direction(-1)
            if along.max() <= 90:
                ax.set_ylim(0, 90)
        else:
            across, along = (a.values for a in chart.axes)
            ax.set_xlabel(_label(chart.axes[0].name, chart.axes[0].unit))
            ax.set_ylabel(_label(chart.axes[1].name, chart.axes[1].unit))
        ax.grid(False)
        _mesh(drawing, ax, chart, name, across, along, values)
        _ends(ax, chart, polar)
        if polar:
            ax.grid(True, color="#6b7280", linewidth=0.4, alpha=0.5)
        ax.set_title(f"{chart.name}: {_label(name, chart.units.get(name, ''))}", loc="left")
    return drawing


def _label(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _polar(chart: Chart, values: Any) -> tuple[Any, Any, Any]:
    """Return azimuths in rad, zenith angles in deg, and values with azimuths first."""
    by_name = {a.name: (k, a.values) for k, a in enumerate(chart.axes)}
    first, azimuth = by_name["azimuth"]
    zenith = 90 - by_name["elevation"][1] if "elevation" in by_name else by_name["zenith"][1]
    return np.radians(azimuth), zenith, values if first == 0 else values.T


def _mesh(
    drawing: Figure, ax: Any, chart: Chart, name: str, across: Any, along: Any, values: Any
) -> None:
    colors = extra("matplotlib.colors", "plot")
    most = 720  # cells along a side, more than a picture shows
    steps = [max(1, -(-len(v) // most)) for v in (across, along)]
    values = values[:: steps[0], :: steps[1]]
    across, along = across[:: steps[0]], along[:: steps[1]]
    if name == "reach":
        scale = colors.ListedColormap(_COLORS)
        mesh = ax.pcolormesh(
            across, along, values.T, cmap=scale, vmin=-0.5, vmax=len(CAUSES) - 0.5,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        bar = drawing.colorbar(mesh, ax=ax, ticks=range(len(CAUSES)), shrink=0.7)
        bar.ax.set_yticklabels(CAUSES)
        return
    known = values[np.isfinite(values)]
    options: dict[str, Any] = {}
    if len(known) and known.min() > 0 and known.max() > 1e3 * np.median(known):
        options["norm"] = colors.LogNorm(known.min(), 1e3 * float(np.median(known)))
    mesh = ax.pcolormesh(
        across, along, values.T, cmap="viridis", shading="nearest", rasterized=True, **options
    )
    drawing.colorbar(mesh, ax=ax, shrink=0.7)


def _ends(ax: Any, chart: Chart, polar: bool) -> None:
    """Draw where lines stop being reached."""
    first, last = chart.axes
    for side in range(2):
        ends = chart.ends[..., side]
        if not np.isfinite(ends).any():
            continue
        if not polar:
            ax.plot(first.values, ends, color="#111827", linewidth=1.2)
        elif first.name == "azimuth":
            radius = 90 - ends if last.name == "elevation" else ends
            ax.plot(np.radians(first.values), radius, color="#111827", linewidth=1.2)


def _line(chart: Chart, name: str, made: Any) -> Figure:
    (axis,) = chart.axes
    drawing: Figure = made.Figure(figsize=(8.0, 4.5), layout="constrained")
    ax = drawing.add_subplot()
    ax.plot(axis.values, chart[name])
    ax.set_xlabel(_label(axis.name, axis.unit))
    ax.set_ylabel(_label(name, chart.units.get(name, "")))
    ax.set_title(chart.name, loc="left")
    return drawing
