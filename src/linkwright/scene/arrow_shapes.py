"""The shape of an arrow, the same in pages and in the live studio.

An arrow has always a shaft and a tip: one that is shorter than usual is the same arrow, smaller.
It starts where its force acts. Along a strut that pulls it would lie on the strut; there it ends
where the force acts instead, on the same line, and leaves the strut in sight.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

FULL, HEAD, HEAD_RADIUS, SHAFT_RADIUS = 0.15, 0.07, 0.022, 0.0085
"""Of the scene's radius: the length from which arrows are as thick as this, and how thick."""

SHORTEST = 0.02
"""Of the scene's radius: arrows that would be shorter are not shown."""

_SIDES = 16
CORNERS = 8 * _SIDES
"""Of one arrow."""


def sizes(length: ArrayLike, radius: float) -> Array:
    """Return the length of the head, its radius and that of the shaft, ... x 3, m.

    >>> sizes([0.3, 0.05], 1.0).round(4).tolist()
    [[0.07, 0.022, 0.0085], [0.0233, 0.0073, 0.0028]]
    """
    part = np.minimum(radius, np.asarray(length, float) / FULL)
    return np.asarray(part[..., None] * np.array([HEAD, HEAD_RADIUS, SHAFT_RADIUS]))


def points_of(starts: Array, ways: Array, radius: float, cut: ArrayLike = 0.0) -> Array:
    """Return the corners of arrows, one arrow after the other, n x 3, m."""
    long = np.linalg.norm(ways, axis=1)
    z = np.where(long[:, None] > 0, ways / np.maximum(long, 1e-30)[:, None], [0.0, 0.0, 1.0])
    other = np.where(np.abs(z[:, :1]) < 0.7, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    y = np.cross(z, other)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    head, wide, thin = sizes(long, radius).T
    none, neck = np.zeros_like(long), long - head
    foot = np.minimum(neck, none + cut)
    rings = [(none, foot), (thin, foot), (thin, foot), (thin, neck)]
    rings += [(thin, neck), (wide, neck), (wide, neck), (none, long)]
    angle = 2 * np.pi * np.arange(_SIDES) / _SIDES
    round_ = np.cos(angle)[:, None] * np.cross(y, z)[:, None] + np.sin(angle)[:, None] * y[:, None]
    made = [
        starts[:, None] + r[:, None, None] * round_ + (h[:, None] * z)[:, None] for r, h in rings
    ]
    return np.concatenate(made, axis=1).reshape(-1, 3)


def starts_of(
    points: Array, ways: Array, ending: Flags, radius: float, floor: float | None
) -> tuple[Array, Array]:
    """Return where arrows start, arrows x 3, and how much of their shafts the ground hides, m."""
    long = np.linalg.norm(ways, axis=1)
    if floor is None:
        return np.where(ending[:, None], points - ways, points), np.zeros_like(long)
    below = points[:, 2] + ways[:, 2] < floor - sizes(long, radius)[:, 1]
    back = ending | (below & (points[:, 2] > floor))
    starts = np.where(back[:, None], points - ways, points)
    hidden = back & (starts[:, 2] < floor) & (ways[:, 2] > 0)
    cut = np.where(hidden, (floor - starts[:, 2]) * long / np.where(hidden, ways[:, 2], 1.0), 0.0)
    return starts, cut


def faces_of(count: int) -> NDArray[np.uint32]:
    """Return the triangles between the corners of some arrows, n x 3."""
    k = np.arange(_SIDES)
    j = (k + 1) % _SIDES
    bands = []
    for low in range(0, 8, 2):  # each from one ring to the next; edges between bands stay sharp
        a, b = low * _SIDES, (low + 1) * _SIDES
        bands += [np.stack([a + k, a + j, b + j], axis=1), np.stack([a + k, b + j, b + k], axis=1)]
    one = np.concatenate(bands)
    each = np.arange(count)[:, None, None] * CORNERS
    return np.asarray((one[None] + each).reshape(-1, 3), np.uint32)
