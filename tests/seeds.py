"""Seeds of the batteries: the same in every run of `make test`, new ones in `make test-random`.

A battery asks for as many seeds as it has time for. `LINKWRIGHT_SEED` says where they begin, so
that a failure that a random run has found is repeated by its number.
"""

from __future__ import annotations

import os

#: The variable that moves all batteries to other seeds.
VARIABLE = "LINKWRIGHT_SEED"

_MORE = 4  # times as many examples in a random run


def examples(count: int) -> int:
    """How many examples of Hypothesis: `count`, and more in a random run.

    >>> examples(5) in (5, 20)
    True
    """
    return count * _MORE if VARIABLE in os.environ else count


def seeds(count: int) -> range:
    """`count` seeds in a row, from 0 on or from where `LINKWRIGHT_SEED` says."""
    first = int(os.environ.get(VARIABLE, "0"))
    return range(first, first + count)
