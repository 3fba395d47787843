"""Three legs of two arms each: dimensions, and one Program of all that a mirror plane decides.

The ball joint B = p + l (x sin(b) + z cos(b)) of an arm with hinge p = r x is in the mirror plane
n.B = D/2, where D is the distance of the centers of base and platform and n the normal half way
between the vertical and the direction. With a = l n.x, c = l n_z and w = D/2 - r n.x,

    b = atan2(a, c) +- acos(w / sqrt(a^2 + c^2)),

real where |w| does not exceed the root; the working branch is +. Nothing is divided by a distance
from the plane, so a hinge may be in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import (
    ONE,
    Expr,
    absolute,
    acos,
    atan2,
    constant,
    cos,
    sin,
    sqrt,
    symbol,
    total,
)
from linkwright.algebra.triples import dot
from linkwright.backends.kernel import Kernel, compile as compile_program
from linkwright.base.errors import DomainError, InputError
from linkwright.mechanism import ModelLike, mechanism_of
from linkwright.models.masses import RADIAL
from linkwright.program import Program, program

Array = NDArray[np.float64]
Triple = tuple[float, float, float]

HALF = constant(0.5)
_OWNER = "closed forms"
_NONE: Triple = (0.0, 0.0, 0.0)


class OutOfReachError(DomainError):
    """A direction or length that a mount cannot reach, with the leg that is at its end."""


@dataclass(frozen=True, slots=True)
class Legs:
    """Dimensions of three legs around the vertical, at azimuths of 0, 120 and 240 degrees.

    Args:
        r: radius of the hinges of base and platform, m.
        l: length of an arm, m.
        base: what each hinge of the base is farther out than r, m.
        platform: the same at the platform, m.
        lower: what each lower arm is longer than l, m.
        upper: the same of the upper arms, m.

    >>> Legs().is_symmetric, Legs(upper=(-0.141, 0, 0)).is_symmetric
    (True, False)
    """

    r: float = 0.28033
    l: float = 0.841
    base: Triple = _NONE
    platform: Triple = _NONE
    lower: Triple = _NONE
    upper: Triple = _NONE

    def __post_init__(self) -> None:
        sizes = [self.r, self.l, *(self.l + x for x in (*self.lower, *self.upper))]
        if not all(np.isfinite(x) and x > 0 for x in sizes):
            raise InputError(f"legs have lengths above zero: {self}")

    @classmethod
    def of(cls, source: ModelLike) -> Self:
        """Return the dimensions of a shipped mount.

        Args:
            source: its name, or the mechanism with its values.

        >>> Legs.of("mount-2-rotary").r
        0.28033
        """
        v = mechanism_of(source).values
        if v.get("arm_offset"):
            raise InputError(
                "arms beside the planes of their legs have no closed form",
                remedy="close the loops of the model: lw.robots.closed",
            )

        def three(word: str) -> Triple:
            one, two, more = (float(v[f"{word}{k}"]) for k in (1, 2, 3))
            return one, two, more

        return cls(
            v["r"],
            v["l"],
            three("r_base"),
            three("r_platform"),
            three("l_lower"),
            three("l_upper"),
        )

    @property
    def is_symmetric(self) -> bool:
        """Whether platform and upper arms mirror base and lower arms, and all legs are alike."""
        return all(x == 0 for x in (*self.base, *self.platform, *self.lower, *self.upper))

    def require_symmetric(self) -> None:
        """Reject legs that are not alike, which have no mirror plane."""
        if not self.is_symmetric:
            raise InputError(
                "legs that differ have no mirror plane, and no such closed form",
                remedy="use platform_modes, or close the loops of the model",
            )


class LegPose(NamedTuple):
    """What follows from the mirror plane."""

    arms: Array  # angles of the lower arms from the vertical, ... x 3, rad
    slack: Array  # what is left until an arm does not reach the plane, ... x 3, as a fraction
    elbows: Array  # the ball joints, ... x 3 x 3, m
    by_normal: Array  # derivatives of the arms along changes of the normal, ... x 3 x 3
    by_distance: Array  # derivatives of the arms by the distance D, ... x 3, rad/m
    by_plane: Array  # derivatives of the lengths between elbows 12, 23, 31 along the normal, m


def leg_pose(
    normal: ArrayLike, distance: ArrayLike, legs: Legs, signs: Sequence[int] = (1, 1, 1)
) -> LegPose:
    """Return all that follows from a mirror plane; NaN where an arm does not reach it.

    Units: `distance` in m.
    """
    legs.require_symmetric()
    if len(signs) != 3 or any(s not in (1, -1) for s in signs):
        raise InputError(f"three arms have three signs, 1 or -1, not {signs!r}")
    n = np.asarray(normal, float)
    lead = np.broadcast_shapes(n.shape[:-1], np.shape(distance))
    rows = np.ascontiguousarray(np.broadcast_to(n, (*lead, 3)).reshape(-1, 3))
    far = np.ascontiguousarray(np.broadcast_to(np.asarray(distance, float), lead).reshape(-1))
    if not np.all(far > 0):
        raise InputError("the distance of base and platform is a length above zero")
    sizes = np.broadcast_to([legs.r, legs.l], (len(rows), 2))
    branch = np.broadcast_to(np.asarray(signs, float), (len(rows), 3))
    found = _kernel().batch(rows, far, np.ascontiguousarray(sizes), np.ascontiguousarray(branch))
    return LegPose(*(x.reshape(*lead, *x.shape[1:]) for x in found))


def refuse_far(slack: Array, what: str) -> None:
    """Reject poses that a leg does not reach, by the first of them and its leg."""
    bad = ~(slack >= 0)
    if not bad.any():
        return
    first = np.unravel_index(int(np.flatnonzero(bad)[0]), bad.shape)
    where = f" of {', '.join(map(str, first[:-1]))}" if len(first) > 1 else ""
    raise OutOfReachError(
        f"{what}{where} is out of reach: arm {first[-1] + 1} does not come to the mirror plane",
        remedy="point higher, or take a shorter distance between base and platform",
    )


@cache
def _kernel() -> Kernel:
    return compile_program(leg_program())


def leg_program() -> Program:
    """Return the Program of `leg_pose`: normal n[3], distance D, sizes[2] (r, l), signs[3].

    >>> [port.name for port in leg_program().outputs][:3]
    ['arms', 'slack', 'elbows']
    """
    n = [symbol(f"n_{c}", "input", owner=_OWNER) for c in "xyz"]
    far = symbol("D", "input", owner=_OWNER)
    r, length = (symbol(c, "input", owner=_OWNER) for c in ("r", "l"))
    signs = [symbol(f"s{k}", "input", owner=_OWNER) for k in RADIAL]
    arms, slack, elbows, by_normal, by_distance, moves = [], [], [], [], [], []
    for sign, (cx, cy) in zip(signs, RADIAL.values(), strict=True):
        x = (constant(cx), constant(cy))
        out = n[0] * x[0] + n[1] * x[1]
        size = length * sqrt(out**2 + n[2] ** 2)
        ratio = (far / 2 - r * out) / size
        arm = atan2(out, n[2]) + sign * acos(ratio)
        c, s = cos(arm), sin(arm)
        radius = r + length * s
        elbow = [radius * x[0], radius * x[1], length * c]
        lift = length * (out * c - n[2] * s)  # how n.B grows with the arm's angle
        arms.append(arm)
        slack.append(ONE - absolute(ratio))
        elbows.append(elbow)
        by_normal.append([-b / lift for b in elbow])
        by_distance.append(HALF / lift)
        moves.append([length * c * x[0], length * c * x[1], -length * s])
    by_plane = [_member(elbows, moves, by_normal, i, j) for i, j in ((0, 1), (1, 2), (2, 0))]
    return program(
        "legs",
        {"n": n, "D": far, "sizes": [r, length], "signs": signs},
        {
            "arms": arms,
            "slack": slack,
            "elbows": elbows,
            "by_normal": by_normal,
            "by_distance": by_distance,
            "by_plane": by_plane,
        },
    )


def _member(
    elbows: Sequence[Sequence[Expr]],
    moves: Sequence[Sequence[Expr]],
    by_normal: Sequence[Sequence[Expr]],
    i: int,
    j: int,
) -> list[Expr]:
    """Return the derivatives of the distance of two elbows along changes of the normal."""
    span = [b - a for a, b in zip(elbows[i], elbows[j], strict=True)]
    size = sqrt(total(x**2 for x in span))
    first = dot(span, moves[i]) / size
    second = dot(span, moves[j]) / size
    return [second * b - first * a for a, b in zip(by_normal[i], by_normal[j], strict=True)]
