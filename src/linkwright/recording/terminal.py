"""Plots in the terminal, drawn with the dots of Braille characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.recording.plots import limits
from linkwright.recording.recording import Array

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # rows of a cell, left and right
_BLANK = 0x2800


def text_plot(
    x: Array, lines: Sequence[Array], *, width: int = 72, height: int = 12, unit: str = ""
) -> list[str]:
    """Return lines of text that show curves, with the ends of both axes.

    >>> for line in text_plot(np.arange(3.0), [np.arange(3.0)], width=6, height=2):
    ...     print(line.rstrip())
              2 ┤⠀⠀⠀⡠⠔⠊
              0 ┤⡠⠔⠊⠀⠀⠀
                 0    2
    """
    low, high = limits(lines)
    left, right = limits([x])
    cells = np.full((height, width), 0, dtype=int)
    columns, rows = 2 * width, 4 * height
    for y in lines:
        _mark(cells, _pixels(x, left, right, columns), _pixels(y, low, high, rows), rows)
    ends = {0: high, height - 1: low}
    found = [
        f"{_number(ends[k]) if k in ends else '':>11} {'┤' if k in ends else '│'}"
        + "".join(chr(_BLANK + int(c)) for c in row)
        for k, row in enumerate(cells)
    ]
    if unit:
        found.insert(0, f"{'':11}  {unit}")
    start, end = _number(left), _number(right)
    found.append(f"{'':13}{start}{end:>{max(width - len(start), 1)}}")
    return found


def _pixels(values: Array, low: float, high: float, count: int) -> Array:
    with np.errstate(invalid="ignore"):
        return (values - low) / (high - low) * (count - 1)


def _mark(cells: NDArray[np.int_], px: Array, py: Array, rows: int) -> None:
    """Set the dots along the straight pieces between samples."""
    for k in range(max(len(px) - 1, 1)):
        nxt = min(k + 1, len(px) - 1)
        ends = px[k], py[k], px[nxt], py[nxt]
        if not np.all(np.isfinite(ends)):
            continue
        x0, y0, x1, y1 = ends
        steps = int(max(abs(x1 - x0), abs(y1 - y0))) + 1
        for i in range(steps + 1):
            cx = round(x0 + (x1 - x0) * i / steps)
            cy = rows - 1 - round(y0 + (y1 - y0) * i / steps)
            cells[cy // 4, cx // 2] |= _DOTS[cy % 4][cx % 2]


def _number(value: float) -> str:
    return f"{value:.4g}"
