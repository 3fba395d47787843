"""Bode, Nyquist and Nichols plots of frequency responses, with Matplotlib (the extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.optional import extra
from linkwright.linear.responses import Array, FrequencyResponse
from linkwright.recording.colors import TRACES
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from linkwright.linear.limit_cycle_maps import LimitCycleMap

_GRAY = "#9aa3af"
_CLOSED = (-20.0, -12.0, -6.0, -3.0, 0.0, 1.0, 3.0, 6.0, 12.0)
"""Gains of the closed loop that a Nichols plot has lines for, dB."""


def bode(responses: Sequence[FrequencyResponse]) -> Figure:
    """Return magnitude and phase over frequency."""
    with styled():
        drawing, axes = _figure(2, (9.0, 6.0), sharex=True)
        top, bottom = axes
        for response, color in zip(responses, _colors(len(responses)), strict=True):
            marks = _marks(response)
            seen = response.frequencies > 0
            w = response.frequencies[seen]
            top.semilogx(w, response.decibels[seen], color=color, label=response.label, **marks)
            bottom.semilogx(w, np.degrees(response.phase[seen]), color=color, **marks)
            if response.period:
                for ax in (top, bottom):
                    ax.axvline(np.pi / response.period, color=_GRAY, linewidth=0.9, linestyle=":")
        top.set_ylabel("magnitude (dB)")
        bottom.set_ylabel("phase (deg)")
        bottom.set_xlabel("frequency (rad/s)")
        bottom.yaxis.set_major_locator(_turns(responses))
        _legend(top)
    return drawing


def nyquist(responses: Sequence[FrequencyResponse]) -> Figure:
    """Return curves in the complex plane, with the point -1."""
    with styled():
        drawing, (ax,) = _figure(1, (7.0, 6.5))
        reach = 1.5
        for response, color in zip(responses, _colors(len(responses)), strict=True):
            v, marks = response.values[np.isfinite(response.values)], _marks(response)
            ax.plot(v.real, v.imag, color=color, label=response.label, **marks)
            if not marks:
                ax.plot(v.real, -v.imag, color=color, linestyle="--", linewidth=0.9)
            reach = max(reach, min(4.0, float(np.abs(v).max(initial=0.0)) * 1.1))
        turn = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=_GRAY, linewidth=0.9, linestyle=":")
        ax.plot(-1, 0, "+", color="#b91c1c", markersize=11, markeredgewidth=1.8)
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_aspect("equal")
        ax.set_xlabel("real part")
        ax.set_ylabel("imaginary part")
        _legend(ax)
    return drawing


def nichols(responses: Sequence[FrequencyResponse]) -> Figure:
    """Return magnitude over phase, with lines of equal gain of the closed loop."""
    with styled():
        drawing, (ax,) = _figure(1, (7.5, 6.0))
        low, high = -40.0, 40.0
        lines = []
        for response, color in zip(responses, _colors(len(responses)), strict=True):
            x, y = np.degrees(response.phase), response.decibels
            lines.append(x)
            ax.plot(x, y, color=color, label=response.label, **_marks(response))
        left = 360 * np.floor(min(x.min() for x in lines) / 360)
        right = max(0.0, 90 * np.ceil(max(x.max() for x in lines) / 90))
        for start in np.arange(left, right, 360):
            ax.plot(start + 180, 0, "+", color="#b91c1c", markersize=11, markeredgewidth=1.8)
            for gain in _CLOSED:
                _closed_line(ax, gain, start)
        ax.set_xlim(left, right)
        ax.set_ylim(low, high)
        ax.xaxis.set_major_locator(_turns(responses))
        ax.set_xlabel("phase (deg)")
        ax.set_ylabel("magnitude (dB)")
        _legend(ax)
    return drawing


def map_figure(found: LimitCycleMap) -> Figure:
    """Return frequency and amplitude of limit cycles over one or two parameters."""
    with styled():
        drawing, axes = _figure(2, (8.0, 6.0), sharex=True)
        for k, (label, color) in enumerate(_lines(found)):
            lost = ~(_columns(found.multiplier)[:, k] < 1)
            for ax, values in zip(axes, (found.frequency, found.amplitude), strict=True):
                line = _columns(values)[:, k]
                ax.plot(found.axes[0], line, color=color, marker="o", ms=3.5, label=label)
                ax.plot(found.axes[0][lost], line[lost], "x", color="#b91c1c", ms=8)
        axes[0].set_ylabel("frequency (rad/s)")
        axes[1].set_ylabel("amplitude")
        axes[1].set_xlabel(found.names[0])
        if len(found.axes) > 1:
            _legend(axes[0])
    return drawing


def _columns(values: Array) -> Array:
    """Return a map over one or two parameters with a column for each value of the second."""
    return values if values.ndim > 1 else values[:, None]


def _lines(found: LimitCycleMap) -> list[tuple[str, str]]:
    """Return name and color of each column of a map."""
    labels = [found.names[0]]
    if len(found.axes) > 1:
        labels = [f"{found.names[1]} = {v:g}" for v in found.axes[1]]
    return list(zip(labels, _colors(len(labels)), strict=True))


def _closed_line(ax: Axes, gain: float, start: float) -> None:
    """Draw the open loops whose closed loop has a gain, in a turn of phase."""
    closed = 10 ** (gain / 20) * np.exp(1j * np.radians(np.linspace(-359.5, -0.5, 400)))
    with np.errstate(divide="ignore", invalid="ignore"):
        loop = closed / (1 - closed)
    phase = np.degrees(np.angle(loop)) % 360 + start
    size = 20 * np.log10(np.abs(loop))
    breaks = np.abs(np.diff(phase)) > 90
    phase[1:][breaks] = np.nan
    ax.plot(phase, size, color=_GRAY, linewidth=0.7, zorder=0)
    k = int(np.nanargmax(np.where(np.abs(size) < 38, size, np.nan)))
    if np.isfinite(phase[k]):
        ax.annotate(f"{gain:g} dB", (phase[k], size[k]), color="#6b7280", fontsize=7.5)


def _figure(rows: int, size: tuple[float, float], **more: Any) -> tuple[Figure, list[Axes]]:
    made: Figure = extra("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    return made, list(made.subplots(rows, 1, squeeze=False, **more)[:, 0])


def _colors(count: int) -> list[str]:
    return [TRACES["light"][k % len(TRACES["light"])] for k in range(count)]


def _marks(response: FrequencyResponse) -> dict[str, Any]:
    """Return how a response is drawn: what was measured, as points."""
    return {} if response.model is not None else {"linestyle": "none", "marker": "o", "ms": 3.5}


def _turns(responses: Sequence[FrequencyResponse]) -> Any:
    """Return ticks of phase at parts of a turn."""
    span = max((float(np.ptp(np.degrees(r.phase))) for r in responses), default=90.0)
    step = next((s for s in (15, 45, 90, 180) if span / s <= 8), 360)
    return extra("matplotlib.ticker", "plot").MultipleLocator(step)


def _legend(ax: Axes) -> None:
    ax.legend(loc="best")
