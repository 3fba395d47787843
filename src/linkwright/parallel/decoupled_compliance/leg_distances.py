"""Distances between the legs of a platform along a motion: all fifteen pairs, as segments.

Lines that are not parallel are apart by their mutual moment over the sine of the angle between
them; the nearest points of segments may be their ends, and parallel ones are taken apart: see
`linkwright.parallel.distances`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.backends.kernel import compile as compiled
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.parallel.decoupled_compliance.leg_platforms import LegPlatform, rigid_tips
from linkwright.parallel.distances import segments_program

__all__ = ["LegDistances", "link_distances"]

Array = NDArray[np.float64]
PAIRS = tuple(combinations(range(1, 7), 2))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LegDistances:
    """How far the legs of a platform are from each other along a motion.

    Args:
        pairs: numbers of the legs, from 1, fifteen pairs.
        distances: a row for each pose and a column for each pair, m.
        shared: whether a pair meets in a common joint, where that is not a collision.
        radius: of the legs, m; distances are those of their axes.

    >>> from linkwright.parallel.decoupled_compliance import mechanism_2
    >>> link_distances(mechanism_2(a=0.3, h=0.2), np.eye(4)[None])
    LegDistances(1 pose, 15 pairs, 6 share a joint, nearest 3 and 5: 0.1431 m)
    """

    pairs: tuple[tuple[int, int], ...]
    distances: Array
    shared: NDArray[np.bool_]
    radius: float = 0.0

    def __repr__(self) -> str:
        (one, two), _, far = self.nearest
        count = len(self.distances)
        poses = f"{count} pose{'' if count == 1 else 's'}"
        return (
            f"LegDistances({poses}, {len(self.pairs)} pairs, {int(self.shared.sum())} share a "
            f"joint, nearest {one} and {two}: {far:.4g} m)"
        )

    @property
    def nearest(self) -> tuple[tuple[int, int], int, float]:
        """The pair that comes nearest without a common joint, at which pose, and how far, m."""
        free = np.where(self.shared, np.inf, self.distances)
        pose, pair = np.unravel_index(int(np.argmin(free)), free.shape)
        return self.pairs[pair], int(pose), float(self.distances[pose, pair])

    @property
    def collisions(self) -> tuple[tuple[tuple[int, int], int, float], ...]:
        """Pairs whose legs touch, at which pose first, and how far their axes are then, m."""
        found = []
        for k, pair in enumerate(self.pairs):
            hit = np.flatnonzero(self.distances[:, k] <= max(2 * self.radius, _TOUCH))
            if hit.size and not self.shared[k]:
                found.append((pair, int(hit[0]), float(self.distances[hit[0], k])))
        return tuple(found)


_TOUCH = 1e-12


@worded
def link_distances(platform: LegPlatform, poses: ArrayLike, *, radius: float = 0.0) -> LegDistances:
    """Return the distances of all fifteen pairs of legs along a motion of the platform.

    Args:
        platform: at its own place where a pose is the identity.
        poses: homogeneous matrices (n, 4, 4), in the order of the motion.
        radius: of the legs, m; 0 for lines.

    >>> from linkwright.parallel.decoupled_compliance import leg_platform
    >>> crossing = [[-1, 0, 1], [0, -1, 1]] + [[k, 5, 0] for k in range(4)]
    >>> tips = [[1, 0, 1], [0, 1, 1]] + [[k, 5, 1] for k in range(4)]
    >>> link_distances(leg_platform(crossing, tips), np.eye(4)).collisions
    (((1, 2), 0, 0.0),)
    """
    if radius < 0:
        raise InputError(f"the radius of the legs is {radius:g} m", remedy="give 0 or more")
    tips = rigid_tips(platform, poses)
    if not len(tips):
        raise InputError("the motion has no poses", remedy="give one or more")
    bases = np.broadcast_to(platform.points[0], tips.shape)
    first, second = (np.array([pair[k] - 1 for pair in PAIRS]) for k in (0, 1))
    ends = [bases[:, first], tips[:, first], bases[:, second], tips[:, second]]
    found = _kernel()(*(np.ascontiguousarray(e.reshape(-1, 3)) for e in ends))
    shape = len(tips), len(PAIRS)
    return LegDistances(PAIRS, np.asarray(found).reshape(shape), _shared(platform), float(radius))


@cache
def _kernel() -> Any:
    return compiled(segments_program())


def _shared(platform: LegPlatform) -> NDArray[np.bool_]:
    """Return which pairs have an end in common."""
    size = max(float(np.abs(p).max()) for p in platform.points)
    return np.array(
        [
            any(np.abs(p[i - 1] - p[j - 1]).max() <= 1e-12 * size for p in platform.points)
            for i, j in PAIRS
        ]
    )
