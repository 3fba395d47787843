"""Numbers that come from a file, compared with what native code was built with.

Native code goes where sizes, places and counts say: one that is wrong reads or writes memory that
is not its own. Whoever has such a number from elsewhere (a recording, a session, an entry of the
cache, a saved state) asks here before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, ShapeError

MOST = 2**62
"""The greatest number that native code counts to."""


def whole(what: str, number: Any, least: int = 0, most: int = MOST) -> int:
    """Return a number as the integer that it is, or reject it.

    >>> whole("the stride", 2.0, 1)
    2
    >>> whole("the stride", 0.5, 1)
    Traceback (most recent call last):
        ...
    linkwright.InputError: the stride is 0.5, not a whole number from 1 on
    """
    real = isinstance(number, int | float | np.number) and not isinstance(number, bool)
    if not (real and least <= number <= most and number == int(number)):
        up = "on" if most == MOST else f"to {most}"
        said = repr(number) if len(repr(number)) < 40 else f"{repr(number)[:36]} ..."
        raise InputError(f"{what} is {said}, not a whole number from {least} {up}")
    return int(number)


def require_sizes(what: str, given: Sequence[object], built: Sequence[object]) -> None:
    """Reject arrays of other sizes or shapes than native code was built for.

    >>> require_sizes("the function 'wave'", [1, 300], [1, 293])
    Traceback (most recent call last):
        ...
    linkwright.ShapeError: the function 'wave' has the sizes [1, 300], where [1, 293] fit
    """
    if list(given) != list(built):
        raise ShapeError(f"{what} has the sizes {list(given)}, where {list(built)} fit")


def require_places(what: str, places: NDArray[Any] | Sequence[int], count: int) -> None:
    """Reject places outside an array of so many entries.

    >>> require_places("the tick", [0, 3], 3)
    Traceback (most recent call last):
        ...
    linkwright.ShapeError: the tick uses place 3, and there are 3, from 0 on
    """
    found = np.asarray(places)
    sound = found.dtype.kind in "iu" or not found.size
    wrong = found[(found < 0) | (found >= count)] if sound else found
    if wrong.size:
        raise ShapeError(f"{what} uses place {wrong.flat[0]}, and there are {count}, from 0 on")
