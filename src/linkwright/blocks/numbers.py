"""Numbers that a block is given: finite, and within the bounds that make sense for it.

A stiffness below zero or a gain that is not a number would run without a word and give results that
mean nothing, so they are rejected where they are given, and once more where a run gives a parameter
another value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import SupportsFloat

from linkwright.base.checks import checked as base_checked
from linkwright.blocks.rates import BlockError

checked = partial(base_checked, kind=BlockError)
"""Return a number that a user gave, or say why it cannot be meant, as `base.checks.checked`."""


def checked_all(
    values: Sequence[SupportsFloat], what: str, *, count: int, least: float = -math.inf
) -> tuple[float, ...]:
    """Return as many finite numbers as are needed, or say what is wrong with those given.

    >>> checked_all((1, 2, 3), "the wind of 'drag'", count=3)
    (1.0, 2.0, 3.0)
    """
    try:
        given = list(values)
    except TypeError as error:
        raise BlockError(f"{what} is {values!r}", remedy=f"give {count} numbers") from error
    if len(given) != count or isinstance(values, str):
        raise BlockError(f"{what} has {len(given)} numbers", remedy=f"give {count}")
    return tuple(checked(v, what, least=least) for v in given)


def checked_rotation(
    rows: Sequence[Sequence[SupportsFloat]], what: str
) -> tuple[tuple[float, ...], ...]:
    """Return the rows of a rotation matrix, or say why those given are not one.

    >>> checked_rotation(((0, -1, 0), (1, 0, 0), (0, 0, 1)), "rotation of 'eye'")[0]
    (0.0, -1.0, 0.0)
    """
    remedy = "give three rows, orthogonal and of length 1"
    try:
        a, b, c = found = tuple(checked_all(row, what, count=3) for row in rows)
    except (TypeError, ValueError, BlockError) as error:
        raise BlockError(f"{what} is not a rotation matrix", remedy=remedy) from error
    pairs = ((a, a, 1), (b, b, 1), (c, c, 1), (a, b, 0), (a, c, 0), (b, c, 0))
    if any(abs(_dot(v, w) - dot) > 1e-8 for v, w, dot in pairs):
        raise BlockError(f"{what} is not a rotation matrix", remedy=remedy)
    (ax, ay, az), (bx, by, bz) = a, b
    if _dot((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), c) < 0:
        raise BlockError(
            f"{what} is not a rotation matrix: it is a reflection, with left-handed axes",
            remedy="turn one of its columns round",
        )
    return found


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
