"""Sizes of pixels, and how far away something is whose area is known.

A pixel at the distance u is Kx u wide and Ky u high. What has the area A and covers N pixels,
square to the camera's axis, is at the distance u = sqrt(A / (N Kx Ky)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwright.blocks import checked
from linkwright.errors import InputError


@dataclass(frozen=True, slots=True)
class PixelScale:
    """Width and height of a pixel at the unit of distance.

    Args:
        across: Kx, along the lines of a picture, m per pixel and m.
        down: Ky, across them.

    >>> PixelScale(1 / 800, 1 / 600).focal
    (800.0, 600.0)
    """

    across: float
    down: float

    def __post_init__(self) -> None:
        checked(self.across, "across of a PixelScale", above=0)
        checked(self.down, "down of a PixelScale", above=0)

    @property
    def focal(self) -> tuple[float, float]:
        """The focal length of a camera with such pixels, in pixels."""
        return 1 / self.across, 1 / self.down


def depth_from_area(area: float, pixels: float, scale: PixelScale) -> float:
    """Return how far away something is, m.

    Args:
        area: of it, m^2.
        pixels: that it covers.
        scale: of the camera's pixels.

    >>> round(depth_from_area(0.01, 1600.0, PixelScale(1 / 800, 1 / 800)), 9)
    2.0
    """
    size = checked(area, "area", above=0)
    if not checked(pixels, "pixels", least=0):
        raise InputError(
            "nothing is seen of the target: it covers no pixels",
            remedy="bring it into view, and look at `visible` before its area",
        )
    return math.sqrt(size / (pixels * scale.across * scale.down))


def calibrated_scale(
    moved: ArrayLike, seen: ArrayLike, distance: float | Sequence[float]
) -> PixelScale:
    """Return the scale of a camera's pixels from a target that was moved by known steps.

    The target is moved in a plane square to the camera's axis, along the lines of the picture and
    across them; both scales are found by least squares, with the place of the first picture.

    Args:
        moved: places of the target along the camera's x and y axes, one row each, m.
        seen: its centroids in the pictures, one row each, pixels.
        distance: from the camera to the plane: one for all pictures, or one for each, m.

    >>> places = [(0, 0), (0.1, 0), (0, 0.1)]
    >>> calibrated_scale(places, [(100, 100), (180, 100), (100, 160)], 1.0).focal
    (800.0, 600.0)
    """
    x, p = np.asarray(moved, dtype=float), np.asarray(seen, dtype=float)
    if x.ndim != 2 or x.shape[1:] != (2,) or x.shape != p.shape or not np.isfinite([x, p]).all():
        raise InputError(
            f"places have the shape {x.shape} and pictures {p.shape}",
            remedy="give a row of two finite numbers for each picture in both",
        )
    away = np.broadcast_to(np.asarray(distance, dtype=float), len(x))
    if not (np.isfinite(away).all() and (away > 0).all()):
        raise InputError(f"distance is {distance!r}", remedy="give positive numbers, m")
    found = []
    for axis, word in enumerate(("the lines of the picture", "its columns")):
        rows = np.column_stack([x[:, axis] / away, np.ones(len(x))])
        slope, _ = np.linalg.lstsq(rows, p[:, axis], rcond=None)[0]
        if np.ptp(rows[:, 0]) < 1e-9 or abs(slope) < 1e-9:
            raise InputError(f"the target was not moved along {word}", remedy="move it along both")
        found.append(1 / abs(float(slope)))
    return PixelScale(*found)
