"""The shifter: two words times one power of two, so that the one of bus A is in [1, 2)."""

from __future__ import annotations

from linkwright.heritage.systolic.fixed import normalize
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation, UnitOutput

SHIFTER = ArrayUnit(
    "Shifter",
    ("SHIFTA", "SHIFTB"),
    (UnitOutput("SFTA&B", on_a=0, on_b=1),),
    operations=(Operation("SHIFT", ("Shifter",), normalize),),
)
