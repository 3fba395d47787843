"""Angles of a wrist with four joints, as functions of rotations; see `control.four_joint_wrist`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ZERO, Expr, symbol
from linkwright.base.errors import InputError, ShapeError
from linkwright.control.four_joint_wrist import next_first, other_angles, primary_first
from linkwright.program import program
from linkwright.robots.quantity import Quantity

if TYPE_CHECKING:
    from linkwright.program import Program

Array = NDArray[np.float64]


def primary_angles(rotation: ArrayLike) -> Array:
    """Return the angles of a four-joint wrist with the third at zero.

    The second angle is between 0 and pi; at both poles the first is zero.

    >>> primary_angles([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).round(3).tolist()
    [0.0, 1.571, 0.0, 1.571]
    """
    return np.asarray(_solution("primary")(_rotations(rotation)))


def secondary_angles(rotation: ArrayLike, first: ArrayLike) -> Array:
    """Return the angles of a four-joint wrist for any first one.

    The third angle is between -pi/2 and pi/2. Where it is at one of these ends the second and the
    fourth turn about one axis, and the second is zero.

    Units: `first` in rad.

    >>> secondary_angles([[0, 0, 1], [1, 0, 0], [0, 1, 0]], 0.5).round(3).tolist()
    [0.5, 1.571, 0.5, 1.571]
    """
    given = np.asarray(first, dtype=float)
    if not np.isfinite(given).all():
        raise InputError("the first angle of a wrist is a finite number")
    return np.asarray(_solution("secondary")(_rotations(rotation), given))


def blended_angles(
    rotations: ArrayLike,
    period: float,  # s, from one to the next
    fastest: float,  # greatest rate of the first joint, rad/s
    *,
    initial: float | None = None,  # rad
    either: bool = False,
) -> Array:
    """Return the angles of a four-joint wrist along a path, with a bounded rate of the first.

    The first angle goes on as far as it needs to; the others are within a turn of zero. The block
    `linkwright.control.FourJointWrist` is the same as a part of a System.

    >>> turn = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    >>> blended_angles([turn, turn], 0.1, 3.0, initial=1.0).round(3).tolist()
    [[1.0, 1.571, 1.0, 1.571], [0.7, 1.571, 0.7, 1.571]]
    """
    path = _rotations(rotations)
    if path.ndim != 3:
        raise ShapeError("a path of a wrist is rotations one after the other, m x 3 x 3")
    for name, value in (("period", period), ("fastest rate", fastest)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"the {name} of a wrist is {value}; it is above 0")
    if not len(path):
        return np.zeros((0, 4))
    step = _solution("nearer" if either else "next")
    place = float(primary_angles(path[0])[0]) if initial is None else float(initial)
    firsts = [place]
    reach = np.array(fastest * period)
    for turn in path[1:]:
        place = float(step(turn, np.array(place), reach))
        firsts.append(place)
    return secondary_angles(path, np.array(firsts))


def _rotations(given: ArrayLike) -> Array:
    found = np.asarray(given, dtype=float)
    if found.shape[-2:] != (3, 3):
        raise ShapeError(f"a rotation is a 3 x 3 matrix, and here the shape is {found.shape}")
    if not np.isfinite(found).all():
        raise InputError("a rotation has entries that are not finite")
    off = np.abs(found @ np.swapaxes(found, -1, -2) - np.eye(3)).max(initial=0.0)
    if off > 1e-6 or (found.size and np.linalg.det(found).min() < 0):
        raise InputError(
            "a matrix given as a rotation is not one", remedy="its rows are orthonormal"
        )
    return found


def _program(
    write: Callable[[Sequence[Expr], Sequence[Expr]], Expr | list[Expr]],
    name: str,
    more: Sequence[Expr],
) -> Program:
    entries = [symbol(f"R{i}{j}", "input", owner="wrist") for i in range(3) for j in range(3)]
    rows = [entries[3 * i : 3 * i + 3] for i in range(3)]
    side, hand = ([row[k] for row in rows] for k in (0, 2))
    return program(name, {"R": rows, **{x.name: x for x in more}}, {"found": write(side, hand)})


@cache
def _solution(kind: str) -> Quantity:
    """Return the function of one of the solutions."""
    first, reach = (symbol(name, "input", owner="wrist") for name in ("first", "reach"))

    def primary(side: Sequence[Expr], hand: Sequence[Expr]) -> list[Expr]:
        at = primary_first(hand)
        second, _, fourth = other_angles(side, hand, at)
        return [at, second, ZERO, fourth]

    def secondary(side: Sequence[Expr], hand: Sequence[Expr]) -> list[Expr]:
        return [first, *other_angles(side, hand, first)]

    def following(side: Sequence[Expr], hand: Sequence[Expr]) -> Expr:
        return next_first(hand, first, reach, either=kind == "nearer")

    ways = {"primary": (primary, ()), "secondary": (secondary, (first,))}
    write, more = ways.get(kind, (following, (first, reach)))
    return Quantity(f"wrist, {kind}", lambda: _program(write, f"wrist_{kind}", more))
