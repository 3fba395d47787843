"""The sorter: the larger of two words on bus A, the smaller on bus B."""

from __future__ import annotations

import numpy as np

from linkwright.heritage.systolic.fixed import Words
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation, UnitOutput


def _sorted(a: Words, b: Words) -> tuple[Words, ...]:
    return np.maximum(a, b), np.minimum(a, b)


SORTER = ArrayUnit(
    "Sorter",
    ("HIGH", "LOW"),
    (UnitOutput("HIGHA", on_a=0), UnitOutput("LOWB", on_b=1)),
    operations=(Operation("SORT", ("Sorter",), _sorted),),
)
