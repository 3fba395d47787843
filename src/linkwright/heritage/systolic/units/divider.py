"""The divider: bus B over bus A in nine cycles, where 0/0 is 0.

It needs one operand with a magnitude in [1, 2): the shifter sees to that.
"""

from __future__ import annotations

import numpy as np

from linkwright.heritage.systolic.fixed import ONE, ArrayFault, Words, divide
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation, UnitOutput


def _quotient(a: Words, b: Words) -> tuple[Words, ...]:
    small = (np.maximum(np.abs(a), np.abs(b)) < ONE) & ((a != 0) | (b != 0))
    if small.any():
        raise ArrayFault(
            "the operands of the division are both below 1",
            remedy="use SHIFT, and DIVS in the next cycle",
            elements=tuple(int(i) for i in np.flatnonzero(small)),
        )
    return (divide(b, a),)


DIVIDER = ArrayUnit(
    "Divider",
    ("QUOT",),
    (UnitOutput("QUOTA", on_a=0),),
    latency=9,
    operations=(
        Operation("DIVS", ("Divider",), _quotient, source="Shifter"),
        Operation("DIV", ("Divider",), _quotient),
    ),
)
