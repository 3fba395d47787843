"""Pictures of runs with random sampling, and of gamma and g, with Matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwright.base.optional import extra
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.sampling.designs import UnitCurve
    from linkwright.sampling.runs import RandomRuns

_SHOWN = 20  # streams of a picture


def runs_figure(found: RandomRuns, names: Sequence[str]) -> Figure:
    """Return each state at the samples of the first streams."""
    with styled():
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(
            figsize=(7.0, 2.4 * len(names)), layout="constrained"
        )
        rows = drawing.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for k, (axes, name) in enumerate(zip(rows, names, strict=True)):
            for times, states in zip(found.times[:_SHOWN], found.states[:_SHOWN], strict=True):
                axes.plot(times, states[:, k], "o-", markersize=2, linewidth=0.7, alpha=0.6)
            axes.set_ylabel(name)
            axes.set_xlim(0.0, float(found.times[:, -1].min()))
        rows[-1].set_xlabel("time - s")
    return drawing


def curve_figure(curve: UnitCurve) -> Figure:
    """Return gamma and g over the ratio of an interval to that of the design."""
    ratios = np.linspace(0.0, 1.1 * curve.g_zero, 200)
    with styled():
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(
            figsize=(6.0, 4.0), layout="constrained"
        )
        axes = drawing.subplots()
        axes.plot(ratios, [curve.gamma(float(x)) for x in ratios], label="gamma")
        axes.plot(ratios, [curve.g(float(x)) for x in ratios], "--", label="g")
        axes.axhline(0.0, color="#6b7280", linewidth=0.8)
        axes.set_xlabel("interval/interval of the design")
        axes.legend()
    return drawing
