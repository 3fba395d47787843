"""How many threads share some work."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from linkwright.base.errors import ShapeError


def checked_threads(threads: SupportsIndex) -> int:
    """Return a number of threads; another one is an error.

    >>> checked_threads(2)
    2
    """
    try:
        count = index(threads)
    except TypeError:
        raise ShapeError(
            f"threads must be an integer, not {threads!r}", remedy="pass 1 or more, such as 2"
        ) from None
    if count < 1:
        raise ShapeError(f"threads={threads} leaves nobody to do the work", remedy="pass 1")
    return count
