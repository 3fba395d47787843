"""The colors and dashes of curves, in plots, in the scope and on pages.

They differ by 19 (CIE76) or more to normal eyes and to eyes without red or green cones, and by 3:1
or more in brightness from the paper that they are drawn on. From the fifth on, curves of a graph
have dashes of their own too.
"""

from __future__ import annotations

TRACES: dict[str, tuple[str, ...]] = {
    "light": (
        "#0066ac",
        "#fb261b",
        "#008a56",
        "#7f9b39",
        "#8d5fea",
        "#3b3f46",
        "#4198d1",
        "#b3427e",
    ),
    "dark": (
        "#56a6f5",
        "#ff8a4c",
        "#2ee996",
        "#f0e442",
        "#a4b4dc",
        "#d6dbe1",
        "#3f6acf",
        "#d88499",
    ),
}
"""For light and for dark paper, in the order in which curves get them."""

DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (),
    (),
    (),
    (2, 2.5),
    (9, 2.5, 2, 2.5),
    (13, 3),
    (9, 2.5, 2, 2.5, 2, 2.5),
)
"""Lengths of strokes and gaps, pixels, in the same order; none for a whole line."""

ASIDE = (5.0, 4.0)
"""Strokes and gaps of curves from recordings beside the first, and of targets."""

PAPER = {"light": "#ffffff", "dark": "#1b2128"}
"""What curves are drawn on."""
