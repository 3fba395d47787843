"""The seven units of a processing element, each in a file of its own, and their registry."""

from __future__ import annotations

from linkwright.heritage.systolic.units import adders, divider, multipliers, shifter, sorter
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation, UnitOutput

__all__ = ["OPERATIONS", "OUTPUTS", "UNITS", "ArrayUnit", "Operation", "UnitOutput"]

UNITS: tuple[ArrayUnit, ...] = (
    adders.ADDER1,
    adders.ADDER2,
    multipliers.MULTIPLIER1,
    multipliers.MULTIPLIER2,
    divider.DIVIDER,
    shifter.SHIFTER,
    sorter.SORTER,
)
"""In the order of the processor's display."""

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for unit in UNITS for operation in unit.operations
}
"""Every operation by its mnemonic."""

OUTPUTS: dict[str, UnitOutput] = {output.name: output for unit in UNITS for output in unit.outputs}
"""What can be put on a bus, by its mnemonic."""
