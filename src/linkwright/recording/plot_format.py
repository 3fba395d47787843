"""How a figure is laid out: symbols, smoothing, scales, labels, page and logo.

Everything has a default, so that a plot needs no options. Lengths on paper are in inches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

import numpy as np

from linkwright.base.arguments import fits
from linkwright.base.files import read_bytes
from linkwright.base.optional import extra
from linkwright.base.reprs import brief
from linkwright.recording.recording import Array, RecordingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SYMBOLS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""The marks of one curve after the other."""

PAGES = {"letter": (11.0, 8.5), "a4": (11.69, 8.27), "a5": (8.27, 5.83)}
"""Sheets of paper that have a name: width and height in inches."""

_FINE = 12  # points of a smooth curve between two samples
_LARGEST_PAGE = 100.0
_LARGEST_LOGO = 16_000_000  # bytes
_MOST_TICKS = 200

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlotFormat:
    """How a figure is laid out.

    Args:
        symbols: draw a mark at every so many samples; 0 for none.
        smooth: draw a smooth curve through the samples in place of straight lines.
        legend: whether there is one.
        x_limits: ends of the horizontal axis; chosen from the data by default.
        y_limits: ends of the vertical axes.
        x_step: between ticks of the horizontal axis; chosen by default.
        y_step: between ticks of the vertical axes.
        x_label: of the horizontal axis; by default what is drawn there, with its unit.
        y_label: of the vertical axes.
        page: width and height, inches; by default as large as the curves need.
        origin: of the axes on the page, from its lower left corner, inches.
        axes: lengths of the horizontal and of the vertical axis, inches.
        logo: a picture (PNG or JPEG) to be set on the page.
        logo_at: its lower left corner, inches.
        logo_size: its width, inches.

    Example:
        >>> PlotFormat(page=(11.0, 8.5), symbols=10).page
        (11.0, 8.5)
    """

    symbols: int = 0
    smooth: bool = False
    legend: bool = True
    x_limits: Pair | None = None
    y_limits: Pair | None = None
    x_step: float | None = None
    y_step: float | None = None
    x_label: str = ""
    y_label: str = ""
    page: Pair | None = None
    origin: Pair | None = None
    axes: Pair | None = None
    logo: Path | None = None
    logo_at: Pair = (0.3, 0.3)
    logo_size: float = 1.0

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(PlotFormat).items():
            if not fits(getattr(self, name), hint):
                raise RecordingError(
                    f"{name} of a layout is {brief(getattr(self, name))}",
                    remedy="see the arguments of PlotFormat",
                    code="R803",
                )
        for name, ends in (("x", self.x_limits), ("y", self.y_limits)):
            if ends is not None and not (all(map(math.isfinite, ends)) and ends[0] < ends[1]):
                raise RecordingError(
                    f"the {name} scale runs from {ends[0]:g} to {ends[1]:g}",
                    remedy="give the smaller end first, both finite",
                    code="R801",
                )
        for name, step in (("x", self.x_step), ("y", self.y_step)):
            if step is not None and not (math.isfinite(step) and step > 0):
                raise RecordingError(
                    f"ticks of the {name} axis are {step:g} apart",
                    remedy="give a positive distance",
                    code="R802",
                )
        if self.symbols < 0:
            raise RecordingError(
                f"a mark at every {self.symbols} samples", remedy="give 0 or more", code="R803"
            )
        self._check_page()

    def _check_page(self) -> None:
        """Reject a page without extent, and axes that leave it."""
        lengths = [*(self.page or ()), *(self.axes or ()), self.logo_size]
        if not all(math.isfinite(x) and 0 < x <= _LARGEST_PAGE for x in lengths):
            raise RecordingError(
                "a page, an axis or a logo has a length that is not positive",
                remedy=f"give inches between 0 and {_LARGEST_PAGE:g}",
                code="R804",
            )
        if (self.origin or self.axes) and self.page is None:
            object.__setattr__(self, "page", PAGES["letter"])
        if self.page is None:
            return
        at, size = self.place
        inside = all(
            a >= 0 and a + b <= p * (1 + 1e-9) for a, b, p in zip(at, size, self.page, strict=True)
        )
        if not inside:
            raise RecordingError(
                f"axes of {size[0]:g} by {size[1]:g} in at ({at[0]:g}, {at[1]:g}) leave the page "
                f"of {self.page[0]:g} by {self.page[1]:g} in",
                remedy="give a larger page or shorter axes",
                code="R804",
            )

    @property
    def place(self) -> tuple[Pair, Pair]:
        """Where the axes are on the page and how long they are, inches.

        Example:
            >>> PlotFormat(page=(10.0, 8.0)).place
            ((1.0, 1.0), (8.0, 6.0))
        """
        width, height = self.page or PAGES["letter"]
        at = self.origin or (1.0, 1.0)
        return at, self.axes or (width - at[0] - 1.0, height - at[1] - 1.0)


def smooth_curve(x: Array, y: Array) -> tuple[Array, Array]:
    """Return a smooth curve through samples, which need not go from left to right.

    The curve passes through every sample and does not overshoot (Akima's spline in the modified
    form); it is drawn over the length along the samples, so that loops are smooth too.

    >>> fine, curve = smooth_curve(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    >>> len(fine) > 20, float(curve.max())
    (True, 1.0)
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    scales = [float(np.ptp(v)) or 1.0 for v in (x, y)] if len(x) else [1.0, 1.0]
    steps = np.hypot(np.diff(x) / scales[0], np.diff(y) / scales[1])
    keep = np.concatenate([[True], steps > 0])[: len(x)]
    x, y = x[keep], y[keep]
    if len(x) < 3:
        return x, y
    from scipy.interpolate import Akima1DInterpolator

    forward = bool(np.all(np.diff(x) > 0))
    along = x if forward else np.concatenate([[0.0], np.cumsum(steps[keep[1:]])])
    parts = np.linspace(along[:-1], along[1:], _FINE, endpoint=False, axis=1).ravel()
    fine = np.append(parts, along[-1])
    curve = Akima1DInterpolator(along, np.stack([x, y], axis=1), method="makima")(fine)
    return (fine if forward else curve[:, 0]), curve[:, 1]


def apply_format(drawing: Figure, axes: list[Axes], layout: PlotFormat) -> None:
    """Set scales, ticks, labels, page and logo of a figure that is drawn."""
    for ax in axes:
        if layout.y_label:
            ax.set_ylabel(layout.y_label)
        if layout.y_limits is not None:
            ax.set_ylim(*layout.y_limits)
        if layout.x_limits is not None:
            ax.set_xlim(*layout.x_limits)
        _ticks(ax, "x", layout.x_step)
        _ticks(ax, "y", layout.y_step)
    if layout.x_label:
        axes[-1].set_xlabel(layout.x_label)
    if layout.page is not None:
        _set_page(drawing, axes, layout)
    if layout.logo is not None:
        _set_logo(drawing, layout, layout.logo)


def _ticks(ax: Axes, which: str, step: float | None) -> None:
    if step is None:
        return
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    count = (high - low) / step
    if count > _MOST_TICKS:
        raise RecordingError(
            f"ticks of the {which} axis {step:g} apart are {count:.0f} ticks",
            remedy=f"take a step of {(high - low) / 10:.2g}",
            code="R802",
        )
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(extra("matplotlib.ticker", "plot").MultipleLocator(step))


def _set_page(drawing: Figure, axes: list[Axes], layout: PlotFormat) -> None:
    """Set the axes where they belong on the page, one over the other."""
    assert layout.page is not None
    width, height = layout.page
    drawing.set_layout_engine("none")
    drawing.set_size_inches(width, height)
    (left, below), (wide, high) = layout.place
    gap = 0.45 if len(axes) > 1 else 0.0
    each = (high - gap * (len(axes) - 1)) / len(axes)
    for k, ax in enumerate(axes):
        bottom = below + high - each - k * (each + gap)
        ax.set_position((left / width, bottom / height, wide / width, each / height))
        legend = ax.get_legend()
        if legend is not None:  # the page has no room beside the axes
            names = [text.get_text() for text in legend.get_texts()]
            columns = max(1, min(len(names), int(wide / (0.5 + 0.08 * max(map(len, names))))))
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns)


def _set_logo(drawing: Figure, layout: PlotFormat, file: Path) -> None:
    """Set a picture on the page, as wide as it should be."""
    import io

    content = read_bytes(file, _LARGEST_LOGO)
    image_module = extra("matplotlib.image", "plot")
    try:
        kind = "jpeg" if content[:2] == b"\xff\xd8" else "png"
        picture = image_module.imread(io.BytesIO(content), format=kind)
    except (ValueError, OSError, SyntaxError) as error:
        raise RecordingError(
            f"{file} cannot be read as a picture: {error}",
            remedy="give a PNG or JPEG file",
            code="R805",
        ) from None
    width, height = drawing.get_size_inches()
    tall = layout.logo_size * picture.shape[0] / picture.shape[1]
    at = layout.logo_at
    box = (at[0] / width, at[1] / height, layout.logo_size / width, tall / height)
    if min(at) < 0 or box[0] + box[2] > 1 or box[1] + box[3] > 1:
        raise RecordingError(
            f"a logo of {layout.logo_size:g} by {tall:g} in at ({at[0]:g}, {at[1]:g}) leaves the "
            f"page of {width:g} by {height:g} in",
            remedy="set it elsewhere, or make it smaller",
            code="R804",
        )
    ax = drawing.add_axes(box, label="logo")
    ax.imshow(picture)
    ax.set_axis_off()
