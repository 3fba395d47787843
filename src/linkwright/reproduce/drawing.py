"""Figures drawn as the documents draw them: black on white, in boxes, distinguished by dashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.base.optional import extra
from linkwright.reproduce.reproduction import DataTable, Listing, Panel, Part, Reproduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = {
    "axes.prop_cycle": "cycler(color=['k'])",
    "axes.linewidth": 0.8,
    "font.family": "serif",
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "lines.markersize": 3,
    "svg.hashsalt": "linkwright",
    "xtick.direction": "in",
    "xtick.top": True,
    "ytick.direction": "in",
    "ytick.right": True,
}
_DASHES = ("-", "--", "-.", ":")
_LINES = 60  # of a listing, in a picture


def figure(found: Reproduction) -> Figure:
    """Draw a figure or table of a document.

    >>> figure(Reproduction([Listing("1 2 3")], [])).axes[0].texts[0].get_text()
    '1 2 3'
    """
    with extra("matplotlib", "plot").rc_context(_STYLE):
        across = min(found.across, len(found.parts))
        down = -(-len(found.parts) // across)
        heights = [
            max(map(_height, found.parts[k * across : (k + 1) * across])) for k in range(down)
        ]
        lines = [
            line for part in found.parts if isinstance(part, Listing) for line in _head(part.text)
        ]
        longest = max(map(len, lines), default=0)
        size = (max(5.6, 3.4 * across, min(14.0, 0.06 * longest + 1)), sum(heights) + 0.3)
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(size, layout="constrained")
        grid = drawing.add_gridspec(down, across, height_ratios=heights)
        for k, part in enumerate(found.parts):
            _draw(drawing.add_subplot(grid[k // across, k % across]), part)
    return drawing


def _height(part: Part) -> float:
    if isinstance(part, Panel):
        return 4.6 if part.equal else 2.7
    lines = len(part.cells) + 2 if isinstance(part, DataTable) else len(_head(part.text))
    return 0.3 + (0.19 if isinstance(part, DataTable) else 0.15) * lines


def _draw(axes: Axes, part: Part) -> None:
    axes.set_title(part.title, fontsize=9)
    if isinstance(part, Panel):
        return _draw_panel(axes, part)
    axes.set_axis_off()
    if isinstance(part, Listing):
        text = "\n".join(_head(part.text))
        axes.text(
            0, 1, text, family="monospace", fontsize=7, va="top", transform=axes.transAxes,
            in_layout=False,
        )  # fmt: skip
        return None
    return _draw_table(axes, part)


def _draw_panel(axes: Axes, part: Panel) -> None:
    lines = 0
    for curve in part.curves:
        style = curve.style
        if style == "-" and not part.solid:
            style = _DASHES[lines % len(_DASHES)]
            lines += 1
        axes.plot(curve.x, curve.y, style, color="k", label=curve.label or None)
    if any(curve.label for curve in part.curves):
        axes.legend(fontsize=8)
    axes.set_xlabel(part.x_label)
    axes.set_ylabel(part.y_label)
    if part.logarithmic:
        axes.set_yscale("log")
    if part.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if part.x_range:
        axes.set_xlim(part.x_range)
    elif not part.equal:
        axes.margins(x=0)
    if part.y_range:
        axes.set_ylim(part.y_range)


def _draw_table(axes: Axes, part: DataTable) -> None:
    cells = [[str(x) for x in row] for row in part.cells]
    widths = [
        max(len(str(head)), *(len(row[k]) for row in cells)) + 3
        for k, head in enumerate(part.columns)
    ]
    table = axes.table(
        cells,
        colLabels=[str(c) for c in part.columns],
        colWidths=[w / sum(widths) for w in widths],
        cellLoc="left",
        bbox=extra("matplotlib.transforms", "plot").Bbox.unit(),
        edges="horizontal",
    )
    for cell in table.get_celld().values():
        cell.PAD = 0.02  # of its width; a tenth, the default, runs long text into the next column
    table.auto_set_font_size(False)
    table.set_fontsize(min(8.0, 760 / sum(widths)))


def _head(text: str) -> Sequence[str]:
    lines = text.splitlines()
    more = len(lines) - _LINES
    return lines if more <= 0 else [*lines[:_LINES], f"... {more} more lines in the data"]
