"""Two adders: a sum on one bus, and its one's complement on the other."""

from __future__ import annotations

from linkwright.heritage.systolic.fixed import Words, add
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation, UnitOutput


def _sum(a: Words, b: Words) -> tuple[Words, ...]:
    return (add(a, b),)


ADDER1 = ArrayUnit(
    "Adder1",
    ("SUM1",),
    (UnitOutput("SUM1A", on_a=0), UnitOutput("CSUM1B", on_b=0, complement=True)),
)
ADDER2 = ArrayUnit(  # the report lists CSUM2A under bus B; its name and its use say A
    "Adder2",
    ("SUM2",),
    (UnitOutput("SUM2B", on_b=0), UnitOutput("CSUM2A", on_a=0, complement=True)),
    operations=(
        Operation("ADD2", ("Adder2",), _sum),
        Operation("ADDD", ("Adder1", "Adder2"), _sum),
    ),
)
