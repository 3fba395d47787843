"""Seeds of the batteries: the same in every run of the tests, new ones in `make test-random`.

A battery says how many seeds it has, and how many of them `make test` takes where all would cost
more than they tell; `make test-all` (`pytest --all`) takes them all. `LINKWRIGHT_SEED` says where
they begin, so that a failure that a random run has found is repeated by its number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, cast

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

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


def cases(every: Iterable[T], daily: Collection[T] | int) -> list[T]:
    """All cases of a battery, or those of them that `make test` takes: these, or so many of them.

    >>> cases([1, 2, 3], daily=[2]) in ([2], [1, 2, 3])
    True
    >>> cases("abcdef", daily=3) in (["a", "c", "e"], list("abcdef"))
    True
    >>> cases("abc", daily=5)
    ['a', 'b', 'c']
    """
    all_of_them = list(every)
    if isinstance(daily, int):
        count = len(all_of_them)
        daily = min(daily, count)
        taken = [all_of_them[k * count // daily] for k in range(daily)]
    else:
        taken = list(daily)
        assert all(case in all_of_them for case in taken)
    return all_of_them if everything() else taken


def seldom(*, daily: str) -> Callable[[F], F]:
    """Leave a test to `make test-rest`; `daily` names the one that holds its kind every day.

    >>> @seldom(daily="test_one")
    ... def test_another() -> None: ...
    >>> test_another is None or everything()
    True
    """
    assert daily

    def chosen(test: F) -> F:
        return test if everything() else cast("F", None)

    return chosen


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
