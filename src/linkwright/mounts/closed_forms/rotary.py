"""The mounts with motors at the base, in closed form: three motors, or two and a strut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.models.masses import RADIAL
from linkwright.mounts.closed_forms.legs import (
    Array,
    Legs,
    OutOfReachError,
    leg_pose,
    refuse_far,
)
from linkwright.mounts.pointing import mirrored, normal
from linkwright.parallel.resultants import closures, triangle_modes

_OUT = np.array([[x, y, 0.0] for x, y in RADIAL.values()])
_UP = np.array([0.0, 0.0, 1.0])


def arm_angles(
    d: ArrayLike,
    distance: ArrayLike = 0.98,  # of base center and platform center, m
    legs: Legs | None = None,
    signs: Sequence[int] = (1, 1, 1),
    *,
    missing: str = "refuse",
) -> Array:
    """Return the angles of the three lower arms for directions, ... x 3, rad from the vertical.

    >>> np.degrees(arm_angles((0.0, 0.0, 1.0))).round(4)
    array([54.3636, 54.3636, 54.3636])
    """
    if missing not in ("refuse", "nan"):
        raise InputError(f'what is missing is "refuse" or "nan", not {missing!r}')
    pose = leg_pose(normal(d), distance, legs or Legs(), signs)
    if missing == "refuse":
        refuse_far(pose.slack, "direction")
    return pose.arms


def elbows(arms: ArrayLike, legs: Legs | None = None) -> Array:
    """Return the ball joints of arms, ... x 3 x 3, m.

    Units: `arms` in rad.

    >>> elbows(np.radians([60, 45, 30]))[0].round(6)
    array([1.008657, 0.      , 0.4205  ])
    """
    legs = legs or Legs()
    b = np.asarray(arms, float)
    out = legs.r + np.array(legs.base) + (legs.l + np.array(legs.lower)) * np.sin(b)
    up = (legs.l + np.array(legs.lower)) * np.cos(b)
    found: Array = out[..., None] * _OUT + up[..., None] * _UP
    return found


def mirror_pose(arms: ArrayLike, legs: Legs | None = None) -> tuple[Array, Array]:
    """Return the platform's center, m, and its direction, for the angles of three lower arms.

    Of all ways to assemble equal legs it is the one whose platform mirrors the base.

    >>> mirror_pose(np.radians([60, 45, 30]))[0].round(5)
    array([0.20426, 0.1256 , 1.14945])
    """
    legs = legs or Legs()
    legs.require_symmetric()
    b = elbows(arms, legs)
    w = np.cross(b[..., 1, :] - b[..., 0, :], b[..., 2, :] - b[..., 0, :])
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    w *= np.where(w[..., 2:] < 0, -1.0, 1.0)
    center: Array = 2 * (b[..., 0, :] * w).sum(axis=-1, keepdims=True) * w
    return center, mirrored(w)


def strut_poses(
    arms: ArrayLike,  # angles of lower arms 1 and 2, ... x 2, rad.
    distance: float = 0.98,  # length of the strut, m
    legs: Legs | None = None,
    *,
    missing: str = "refuse",
) -> Array:
    """Return both centers of the platform for two driven arms and a strut, ... x 2 x 3, m.

    The middle M of the strut is in the mirror plane, so M.B1 = M.B2 = M.M = D^2/4; the first of
    the two has the larger height, and is the one that works.

    >>> strut_poses(np.radians([60, 45]), 0.9)[0].round(5)
    array([ 0.0314 , -0.14415,  0.88783])
    """
    legs = legs or Legs()
    legs.require_symmetric()
    two = np.asarray(arms, float)
    if two.shape[-1:] != (2,):
        raise InputError(f"two arms are driven: angles have the shape ... x 2, not {two.shape}")
    b = elbows(np.concatenate([two, np.zeros((*two.shape[:-1], 1))], axis=-1), legs)
    b1, b2 = b[..., 0, :], b[..., 1, :]
    q = distance**2 / 4
    across = np.cross(b1, b2)
    size = (across**2).sum(axis=-1, keepdims=True)
    # The shortest vector with both products: combine b2 x across and across x b1.
    middle = q * (np.cross(b2, across) + np.cross(across, b1)) / size
    rest = q - (middle**2).sum(axis=-1, keepdims=True)
    if missing == "refuse" and not (rest >= 0).all():
        raise OutOfReachError(
            "the line through the ball joints of arms 1 and 2 comes too near the base center "
            "for the strut",
            remedy="other angles, or a shorter strut",
        )
    with np.errstate(invalid="ignore"):
        along = np.sqrt(rest) * across / np.sqrt(size)
    along *= np.where(along[..., 2:] < 0, -1.0, 1.0)
    found: Array = 2 * np.stack([middle + along, middle - along], axis=-2)
    return found


def arm_rates(
    d: ArrayLike,
    d_rate: ArrayLike,  # their rates, across them, 1/s
    distance: ArrayLike = 0.98,  # D, m
    distance_rate: ArrayLike = 0.0,  # its rate, m/s
    legs: Legs | None = None,
) -> Array:
    """Return the speeds of the three lower arms, rad/s; the zenith is a direction as any other.

    >>> arm_rates((0.0, 0.0, 1.0), (0.1, 0.0, 0.0)).round(6)
    array([ 0.070507, -0.035253, -0.035253])
    """
    n = normal(d)
    pose = leg_pose(n, distance, legs or Legs())
    refuse_far(pose.slack, "direction")
    w = np.asarray(d_rate, float)
    lift = np.linalg.norm(np.asarray(d, float) + _UP, axis=-1, keepdims=True)
    turning = (w - n * (n * w).sum(axis=-1, keepdims=True)) / lift
    by_normal = np.einsum("...ij,...j->...i", pose.by_normal, turning)
    found: Array = by_normal + pose.by_distance * np.asarray(distance_rate)[..., None]
    return found


def inverse_jacobian(d: ArrayLike, distance: ArrayLike = 0.98, legs: Legs | None = None) -> Array:
    """Return the derivatives of the arms by azimuth (x to y), angle to the zenith and distance.

    The columns are per rad, rad and m, ... x 3 x 3; the first vanishes at the zenith, which is a
    matter of the angles alone (see `arm_rates`).

    >>> inverse_jacobian((1.0, 0.0, 0.0)).shape
    (3, 3)
    """
    n = normal(d)
    pose = leg_pose(n, distance, legs or Legs())
    refuse_far(pose.slack, "direction")
    flat = np.hypot(n[..., 0], n[..., 1])[..., None]
    with np.errstate(invalid="ignore"):
        out = np.where(flat > 0, n[..., :2] / np.where(flat > 0, flat, 1), [1.0, 0.0])
    turn = np.stack([-n[..., 1], n[..., 0], 0 * n[..., 0]], axis=-1)
    tilt = 0.5 * np.concatenate([n[..., 2:] * out, -flat], axis=-1)
    columns = [np.einsum("...ij,...j->...i", pose.by_normal, v) for v in (turn, tilt)]
    return np.stack([*columns, pose.by_distance], axis=-1)


def determinants(
    d: ArrayLike, distance: ArrayLike = 0.98, legs: Legs | None = None
) -> tuple[Array, Array]:
    """Return the determinants of the inverse Jacobian over sin(tilt/2): of three arms, and of two.

    The second is that of arms 1 and 2 at constant distance. They are smooth at the zenith, zero or
    without bound at singular poses, and NaN out of reach.

    >>> [round(float(abs(x)), 4) for x in determinants((0.0, 0.0, 1.0))]
    [1.8896, 0.861]
    """
    n = normal(d)
    pose = leg_pose(n, distance, legs or Legs())
    g = pose.by_normal
    pairs = [-0.5 * (np.cross(g[..., i, :], g[..., j, :]) * n).sum(-1) for i, j in _PAIRS]
    h = pose.by_distance
    return pairs[0] * h[..., 2] + pairs[1] * h[..., 0] + pairs[2] * h[..., 1], pairs[0]


_PAIRS = ((0, 1), (1, 2), (2, 0))


def transmission_ratio(d: ArrayLike, distance: ArrayLike = 0.98, legs: Legs | None = None) -> Array:
    """Return how fast passive arm 3 turns for each turn of arm 1 while arm 2 is locked.

    >>> round(float(abs(transmission_ratio((1.0, 0.0, 0.0)))), 4)
    3.6256
    """
    n = normal(d)
    g = leg_pose(n, distance, legs or Legs()).by_normal
    turning = np.cross(n, g[..., 1, :])
    found: Array = (g[..., 2, :] * turning).sum(-1) / (g[..., 0, :] * turning).sum(-1)
    return found


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class PlatformModes:
    """All real ways in which the platform goes onto three locked arms, of one case or many."""

    row: NDArray[np.intp]  # to which case each belongs
    upper: Array  # angles of the upper arms in the platform, ... x 3, rad.
    position: Array  # the platform's center, ... x 3, m.
    # from the platform's to the ground's components, ... x 3 x 3.
    rotation: Array = field(repr=False)
    residual: Array = field(repr=False)  # of the closures, over their size
    # of the polynomials of degree 16 in the tangent of half the angle of upper arm 2, from the
    # constant up
    coefficients: Array = field(repr=False)

    @property
    def direction(self) -> Array:
        """Where the platform points."""
        return self.rotation[..., :, 2]

    @property
    def degree(self) -> int:
        """How many ways there are, complex ones too."""
        return int(self.coefficients.shape[-1]) - 1


def platform_modes(arms: ArrayLike, legs: Legs | None = None) -> PlatformModes:
    """Return all real ways to assemble the platform on three locked lower arms.

    The legs need not be alike. The resultant has degree 16, so the list is complete.

    Units: `arms` in rad.

    >>> platform_modes(np.radians([60, 45, 30]), Legs(upper=(-0.141, 0, 0))).position.round(4)
    array([[ 0.2743,  0.1122,  1.0477],
           [ 0.1526, -0.1579,  0.3294],
           [ 0.2413, -0.1034,  0.8286],
           [ 0.1009,  0.0056,  0.0723]])
    """
    legs = legs or Legs()
    base = elbows(np.atleast_2d(np.asarray(arms, float)), legs)
    sides = np.stack([np.linalg.norm(base[:, j] - base[:, i], axis=-1) for i, j in _PAIRS], -1)
    hinges = (legs.r + np.array(legs.platform))[:, None] * _OUT
    lengths = legs.l + np.array(legs.upper)
    found = triangle_modes(closures(hinges, _OUT, -_UP + 0 * _OUT, lengths, sides))
    b = found.angles
    tips = hinges + lengths[:, None] * (np.sin(b)[..., None] * _OUT - np.cos(b)[..., None] * _UP)
    here, there = _frame(tips), _frame(base[found.row])
    rotation = there @ here.swapaxes(-1, -2)
    position = base[found.row, 0] - np.einsum("...ij,...j->...i", rotation, tips[:, 0])
    return PlatformModes(found.row, b, position, rotation, found.residual, found.coefficients)


def _frame(points: Array) -> Array:
    """Return the axes on three points, as columns."""
    u = points[..., 1, :] - points[..., 0, :]
    u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    w = np.cross(u, points[..., 2, :] - points[..., 0, :])
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    return np.stack([u, np.cross(w, u), w], axis=-1)
