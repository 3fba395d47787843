"""The mount whose strut two jacks tilt, in closed form.

A jack from the point h n of the strut to the anchor A has the length q with
q^2 = h^2 + A.A - 2 h n.A; two of them give n.A1 and n.A2, and with |n| = 1 two normals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.errors import InputError
from linkwright.mechanism import ModelLike, mechanism_of
from linkwright.mounts.closed_forms.legs import Array, OutOfReachError
from linkwright.mounts.pointing import mirrored, normal


@dataclass(frozen=True, slots=True)
class Jacks:
    """Where two jacks hold the strut and the base.

    Args:
        h: place on the strut, from the base center, m; below it where negative.
        radius: of the circle of the anchors, m.
        height: of the anchors above the base, m.
        azimuths: of the anchors, from x to y, rad.

    >>> Jacks().anchors.round(4)
    array([[0.8   , 0.    , 0.3465],
           [0.    , 0.8   , 0.3465]])
    """

    h: float = 0.49
    radius: float = 0.8
    height: float = 0.3465
    azimuths: tuple[float, float] = (0.0, math.pi / 2)

    def __post_init__(self) -> None:
        numbers = (self.h, self.radius, self.height, *self.azimuths)
        if not all(map(math.isfinite, numbers)) or self.h == 0:
            raise InputError(f"jacks hold the strut away from its foot: {self}")

    @classmethod
    def of(cls, source: ModelLike) -> Self:
        """Return the places of a shipped mount.

        Args:
            source: its name, or the mechanism with its values.

        >>> Jacks.of("mount-prismatic").h
        0.49
        """
        v = mechanism_of(source).values
        azimuths = v["azimuth1"], v["azimuth2"]
        return cls(v["h"], v["anchor_radius"], v["anchor_height"], azimuths)

    @property
    def anchors(self) -> Array:
        """The anchors, 2 x 3, m."""
        return np.array(
            [
                (self.radius * math.cos(a), self.radius * math.sin(a), self.height)
                for a in self.azimuths
            ]
        )


def jack_lengths(d: ArrayLike, jacks: Jacks | None = None) -> Array:
    """Return the lengths of both jacks for directions, ... x 2, m.

    >>> jack_lengths((0.0, 0.0, 1.0)).round(4)
    array([0.8128, 0.8128])
    """
    jacks = jacks or Jacks()
    found: Array = np.linalg.norm(_spans(normal(d), jacks), axis=-1)
    return found


def jack_directions(
    lengths: ArrayLike, jacks: Jacks | None = None, *, missing: str = "refuse"
) -> Array:
    """Return both directions for the lengths of two jacks, ... x 2 x 3; the higher one first.

    Units: `lengths` in m.

    >>> jack_directions(jack_lengths((0.48, 0.6, 0.64)))[0].round(9)
    array([0.48, 0.6 , 0.64])
    """
    jacks = jacks or Jacks()
    q = np.asarray(lengths, float)
    a1, a2 = jacks.anchors
    across = np.cross(a1, a2)
    size = across @ across
    if size < 1e-12 * (a1 @ a1) * (a2 @ a2):
        raise InputError(
            "both anchors lie on one line through the base center, so both jacks do the same",
            remedy="give the anchors azimuths that differ",
        )
    w = (jacks.h**2 + np.array([a1 @ a1, a2 @ a2]) - q**2) / (2 * jacks.h)
    foot = (w[..., :1] * np.cross(a2, across) + w[..., 1:] * np.cross(across, a1)) / size
    rest = 1 - (foot**2).sum(axis=-1, keepdims=True)
    if missing == "refuse" and not (rest >= 0).all():
        raise OutOfReachError(
            "jacks 1 and 2 of these lengths do not meet on the strut", remedy="other lengths"
        )
    with np.errstate(invalid="ignore"):
        along = np.sqrt(rest) * across / math.sqrt(size)
    both = np.stack([foot + along, foot - along], axis=-2)
    higher = both[..., :1, 2:] >= both[..., 1:, 2:]
    return mirrored(np.where(higher, both, both[..., ::-1, :]))


def jack_transmission(d: ArrayLike, jacks: Jacks | None = None) -> Array:
    """Return the angles between strut and jacks, ... x 2, rad, 90 deg at most.

    >>> np.degrees(jack_transmission((1.0, 0.0, 0.0))).round(2)
    array([45.  , 73.68])
    """
    jacks = jacks or Jacks()
    n = normal(d)
    spans = _spans(n, jacks)
    along = np.abs(np.einsum("...kj,...j->...k", spans, n)) / np.linalg.norm(spans, axis=-1)
    found: Array = np.arccos(np.minimum(along, 1))
    return found


def jack_singularity(d: ArrayLike, jacks: Jacks | None = None) -> Array:
    """Return the sine of the angle of the strut to the plane of both anchors and the base center.

    It is zero just where the mount is singular: the strut is in that plane.

    >>> round(float(jack_singularity((0.0, 0.0, 1.0))), 4)
    0.8527
    """
    jacks = jacks or Jacks()
    across = np.cross(*jacks.anchors)
    found: Array = normal(d) @ across / np.linalg.norm(across)
    return found


def _spans(n: Array, jacks: Jacks) -> Array:
    """Return the vectors from the strut to the anchors, ... x 2 x 3."""
    spans: Array = jacks.anchors - jacks.h * n[..., None, :]
    return spans
