"""The trusses in closed form: members of driven length between the ball joints of three legs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwright.mounts.closed_forms.legs import Array, Legs, leg_pose, refuse_far
from linkwright.mounts.closed_forms.rotary import _OUT, _PAIRS, _UP
from linkwright.mounts.pointing import normal
from linkwright.parallel.resultants import TriangleModes, closures, triangle_modes


def member_lengths(d: ArrayLike, distance: ArrayLike = 0.98, legs: Legs | None = None) -> Array:
    """Return the lengths of the members 12, 23 and 31 for directions, ... x 3, m.

    Units: `distance` in m.

    >>> member_lengths((0.0, 0.0, 1.0)).round(3)
    array([1.669, 1.669, 1.669])
    """
    pose = leg_pose(normal(d), distance, legs or Legs())
    refuse_far(pose.slack, "direction")
    b = pose.elbows
    return np.stack([np.linalg.norm(b[..., j, :] - b[..., i, :], axis=-1) for i, j in _PAIRS], -1)


def member_determinant(d: ArrayLike, distance: ArrayLike = 0.98, legs: Legs | None = None) -> Array:
    """Return the determinant of members 12 and 23 by the direction, over sin(tilt/2), m^2.

    Where it is zero, the truss of two members and a strut is singular. NaN out of reach.

    Units: `distance` in m.

    >>> float(member_determinant((0.0, 0.0, 1.0))) != 0
    True
    """
    n = normal(d)
    e = leg_pose(n, distance, legs or Legs()).by_plane
    found: Array = -0.5 * (np.cross(e[..., 0, :], e[..., 1, :]) * n).sum(-1)
    return found


def truss_modes(lengths: ArrayLike, legs: Legs | None = None) -> TriangleModes:
    """Return all real triples of lower arms whose ball joints three members join.

    Each goes on to the ways of `platform_modes`; the mirrored one is `mirror_pose`.

    Units: `lengths` in m.

    >>> len(truss_modes([1.669, 1.669, 1.669]).angles) > 0
    True
    """
    legs = legs or Legs()
    hinges = (legs.r + np.array(legs.base))[:, None] * _OUT
    arms = legs.l + np.array(legs.lower)
    return triangle_modes(closures(hinges, _OUT, _UP + 0 * _OUT, arms, lengths))
