"""Sizes of pixels, and how far away something is whose area is known.

A pixel at the distance u is Kx u wide and Ky u high. What has the area A and covers N pixels,
square to the camera's axis, is at the distance u = sqrt(A / (N Kx Ky)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.blocks import checked

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PixelScale(Result):
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


def calibrate_scale(
    moved: ArrayLike,
    seen: ArrayLike,
    distance: float | Sequence[float],
    *,
    tolerance: float = 2.0,
) -> PixelScale:
    """Return the scale of a camera's pixels from a target that was moved by known steps.

    The target is moved in a plane square to the camera's axis, along the lines of the picture and
    across them; both scales are found by least squares, with the place of the first picture.
    Pictures that contradict this are rejected: a mirrored axis, a picture that is turned against
    the steps, and one that lies further than the tolerance from where the scales put it.

    Args:
        moved: places of the target along the camera's x and y axes, one row each, m; three or more,
            not all on one line.
        seen: its centroids in the pictures, one row each, pixels.
        distance: from the camera to the plane: one for all pictures, or one for each, m.
        tolerance: how far a centroid may lie from where the scales put it, pixels.

    >>> places = [(0, 0), (0.1, 0), (0, 0.1)]
    >>> found = calibrate_scale(places, [(100, 100), (180, 100), (100, 160)], 1.0)
    >>> [round(x, 6) for x in found.focal]
    [800.0, 600.0]
    """
    x, p = _pairs(moved, "moved"), _pairs(seen, "seen")
    if len(x) != len(p):
        raise InputError(
            f"there are {len(x)} places and {len(p)} pictures", remedy="give one picture for each"
        )
    most = checked(tolerance, "tolerance", above=0)
    x = x / _distances(distance, len(x))[:, None]
    middle = p.mean(axis=0)
    x, p = x - x.mean(axis=0), p - middle
    reach = np.ptp(x, axis=0)
    for axis, word in enumerate(("the lines of the picture", "its columns")):
        if reach[axis] < 1e-9:
            raise InputError(f"the target was not moved along {word}", remedy="move it along both")
    if np.linalg.svd(x / reach, compute_uv=False)[1] < 1e-3:
        raise InputError(
            f"the {len(x)} places lie on one line, which cannot show a turned picture",
            remedy="move the target along the lines of the picture and its columns by turns",
        )
    slopes = (x * p).sum(axis=0) / (x * x).sum(axis=0)
    _check_pictures(x, p, slopes, most)
    return PixelScale(*(1 / float(slope) for slope in slopes))


def _check_pictures(x: Floats, p: Floats, slopes: Floats, tolerance: float) -> None:
    """Reject pictures that are not the places times the slopes."""
    missed = np.linalg.norm(p - x * slopes, axis=1)
    full = np.linalg.lstsq(x, p, rcond=None)[0].T  # with the cross terms
    rest = np.linalg.norm(p - x @ full.T, axis=1)
    turns = np.degrees([np.arctan2(-full[0, 1], full[0, 0]), np.arctan2(full[1, 0], full[1, 1])])
    remedy = "say the steps along the picture's own axes, or turn the camera"
    if missed.max() > tolerance >= rest.max() and abs(turns[0] - turns[1]) < 3:
        raise InputError(
            f"the picture is turned by {turns.mean():.1f}° against the steps: centroids lie up to "
            f"{missed.max():.3g} pixels off, and the tolerance is {tolerance:g}",
            remedy=remedy,
        )
    if (slopes * np.ptp(x, axis=0) < -tolerance).all():
        raise InputError("the picture is turned by 180° against the steps", remedy=remedy)
    for axis, word in enumerate(("along the lines of the picture", "along its columns")):
        if slopes[axis] * np.ptp(x[:, axis]) < -tolerance:
            raise InputError(
                f"the target went the other way {word}: the picture is mirrored, or a sign wrong",
                remedy="let x go along the lines and y down across them, in places and pictures",
            )
        if slopes[axis] * np.ptp(x[:, axis]) <= tolerance:
            raise InputError(
                f"the picture of the target did not move {word} by more than the tolerance",
                remedy="move it further, and along both",
            )
    if missed.max() > tolerance:
        worst = int(missed.argmax())
        raise InputError(
            f"picture {worst} lies {missed[worst]:.3g} pixels from where the scales put it, and "
            f"the tolerance is {tolerance:g}",
            remedy="look at that picture and its place (rows count from 0); more pictures show "
            "which one is wrong",
        )


def _pairs(given: ArrayLike, name: str) -> Floats:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[1] != 2 or len(found) < 3 or not np.isfinite(found).all():
        raise InputError(
            f"{name} is not a table of places",
            remedy="give a row of two finite numbers for each picture, three or more",
        )
    return found


def _distances(given: float | Sequence[float], count: int) -> Floats:
    try:
        away = np.broadcast_to(np.asarray(given, dtype=float), count)
    except (TypeError, ValueError):
        away = np.zeros(1)
    if not (np.isfinite(away).all() and (away > 0).all()):
        raise InputError(
            f"distance is {given!r}", remedy=f"give a positive number, m, or {count} of them"
        )
    return away
