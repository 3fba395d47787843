"""Pictures of maps of random rates, with Matplotlib (the extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.optional import extra
from linkwright.recording.colors import TRACES
from linkwright.recording.plots import styled
from linkwright.sampling.maps import RateMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = (
    ("contraction", "proven by the T given", 0.0, "-"),
    ("best_contraction", "proven by the best T", 0.0, "--"),
    ("mean_square", "mean square stable", 1.0, "-."),
    ("exponent", "Lyapunov exponent 0", 0.0, "-"),
)
_SPAN = 1.0  # of the exponent that colors show


def map_figure(found: RateMap) -> Figure:
    """Return the exponent as colors, with the limits of all four answers as lines."""
    with styled():
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(
            figsize=(8.0, 5.6), layout="constrained"
        )
        ax = drawing.subplots()
        values = np.clip(np.nan_to_num(found.exponent, posinf=_SPAN), -_SPAN, _SPAN)
        mesh = ax.pcolormesh(
            found.rates,
            found.gains,
            values,
            cmap="RdBu_r",
            vmin=-_SPAN,
            vmax=_SPAN,
            shading="nearest",
            alpha=0.55,
            rasterized=True,
        )
        bar = drawing.colorbar(mesh, ax=ax)
        bar.set_label("Lyapunov exponent for each sample; below 0 runs die out")
        handles: list[Any] = []
        line = extra("matplotlib.lines", "plot").Line2D
        colors = (TRACES["light"][0], TRACES["light"][2], TRACES["light"][4], "#111827")
        for (name, words, limit, style), color in zip(_LINES, colors, strict=True):
            data = getattr(found, name)
            inside = np.isfinite(data)
            if min(data.shape) > 1 and inside.all() and data.min() < limit < data.max():
                ax.contour(
                    found.rates, found.gains, data, [limit], colors=[color], linestyles=[style]
                )
                handles.append(line([], [], color=color, linestyle=style, label=words))
        ax.set_ylabel(found.labels[0])
        ax.set_xlabel(found.labels[1])
        if handles:
            drawing.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return drawing
