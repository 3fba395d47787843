"""Pictures of contact maps, with Matplotlib (the extra `plot`): one panel for each answer.

The colors differ to eyes without red or green cones too (Okabe and Ito 2008). The line in every
panel is where the spectral radius of the exact sampled loop is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.base.optional import extra
from linkwright.contact.parameter_maps import UNITS, ContactMap
from linkwright.contact.wrist_loops import VERDICTS
from linkwright.parallel.chart_plots import INK, edges
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#cfe3f1", "#f0c566", "#d55e00")
"""Of stable, ringing and unstable."""
_TITLES = {
    "continuous": "Routh's conditions",
    "sampled": "exact sampled loop",
    "simulated": "simulation",
}


def figure(found: ContactMap) -> Figure:
    """Return the answers of a map side by side."""
    made, colors = extra("matplotlib.figure", "plot"), extra("matplotlib.colors", "plot")
    patches, lines = extra("matplotlib.patches", "plot"), extra("matplotlib.lines", "plot")
    answers = found.answers
    with styled():
        drawing: Figure = made.Figure(figsize=(4.1 * len(answers), 4.6), layout="constrained")
        panels = drawing.subplots(1, len(answers), sharex=True, sharey=True, squeeze=False)[0]
        across, along = (edges(axis) for axis in found.axes)
        for ax, (name, codes) in zip(panels, answers.items(), strict=True):
            ax.pcolormesh(
                across, along, codes.T, cmap=colors.ListedColormap(COLORS), vmin=-0.5, vmax=2.5,
                shading="flat", rasterized=True,
            )  # fmt: skip
            ax.grid(False)
            if min(found.radius.shape) > 1 and found.radius.min() < 1 < found.radius.max():
                ax.contour(*found.axes, found.radius.T, levels=[1.0], colors=INK, linewidths=1.3)
            other = name == "continuous" and found.loop.order != found.loop.continuous_order
            told = f" ({found.loop.continuous_order})" if other else ""
            ax.set_title(_TITLES[name] + told, loc="left")
            ax.set_xlabel(_label(found.names[0]))
        panels[0].set_ylabel(_label(found.names[1]))
        shown = [
            patches.Patch(facecolor=color, edgecolor="#6b7280", linewidth=0.5, label=word)
            for word, color in zip(VERDICTS, COLORS, strict=True)
        ]
        shown.append(lines.Line2D([], [], color=INK, linewidth=1.3, label="spectral radius 1"))
        drawing.legend(handles=shown, loc="outside lower center", ncols=4)
        drawing.suptitle(_title(found), x=0.01, ha="left", fontsize=10)
    return drawing


def _label(name: str) -> str:
    unit = UNITS.get(name, "").replace("*", "·")
    return f"{name} ({unit})" if unit else name


def _title(found: ContactMap) -> str:
    """Return the law, the order, and the numbers that stay."""
    loop = found.loop
    kept = [
        f"{n} = {v:g}{' ' + UNITS[n].replace('*', '·') if n in UNITS else ''}"
        for n, v in loop.values.items()
        if n not in found.names and (v or n not in ("Ke", "Ce"))
    ]
    return f"{loop.law} law, {loop.order}: {', '.join(kept)}"
