"""Seeds of the batteries: the same in every run of the tests, new ones in `make test-random`.

A battery says how many seeds it has, and how many of them `make test` takes where all would cost
more than they tell; `make test-all` (`pytest --all`) takes them all. `LINKWRIGHT_SEED` says where
they begin, so that a failure that a random run has found is repeated by its number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: The variable that moves all batteries to other seeds.
VARIABLE = "LINKWRIGHT_SEED"

#: The variable that asks for everything; `pytest --all` sets it.
ALL = "LINKWRIGHT_TEST_ALL"

_MORE = 4  # times as many examples in a random run


def everything() -> bool:
    """Whether all seeds and cases are asked for, not only those of `make test`."""
    return VARIABLE in os.environ or ALL in os.environ


def examples(count: int, daily: int | None = None) -> int:
    """How many examples of Hypothesis: `count`, more in a random run, `daily` in `make test`.

    >>> examples(5) in (5, 20)
    True
    """
    if VARIABLE in os.environ:
        return count * _MORE
    return count if daily is None or everything() else daily


def cases(every: Sequence[T], daily: Sequence[T]) -> Sequence[T]:
    """All cases of a battery, or those of them that `make test` takes.

    >>> cases([1, 2, 3], daily=[2]) in ([2], [1, 2, 3])
    True
    """
    assert set(daily) <= set(every)
    return every if everything() else daily


def seeds(count: int, daily: int | None = None) -> range:
    """Seeds in a row, from 0 on or from where `LINKWRIGHT_SEED` says.

    Args:
        count: how many there are.
        daily: how many of them `make test` takes; all by default.

    >>> len(seeds(4)), len(seeds(4, daily=1)) in (1, 4)
    (4, True)
    """
    first = int(os.environ.get(VARIABLE, "0"))
    return range(first, first + (count if daily is None or everything() else daily))
