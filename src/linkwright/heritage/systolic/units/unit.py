"""What a unit of a processing element is: registers for results, and operations that fill them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.heritage.systolic.fixed import Words


@dataclass(frozen=True, slots=True)
class UnitOutput:
    """A result that a bus can carry."""

    name: str  # its mnemonic, such as "CSUM1B"
    on_a: int | None = None  # the register of the unit that it puts on bus A, or None
    on_b: int | None = None  # that on bus B
    complement: bool = False  # whether it is the one's complement


@dataclass(frozen=True, slots=True)
class ArrayUnit:
    """A unit."""

    name: str  # as in the display
    registers: tuple[str, ...]  # names of its dynamic registers
    outputs: tuple[UnitOutput, ...] = ()  # how buses see them; none where they cannot be reached
    latency: int = 0  # cycles from the load to the result; 0 is ready for the next cycle
    # that it brings; they may fill the registers of other units too
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """What a unit can do."""

    name: str  # its mnemonic
    units: tuple[str, ...]  # whose registers it fills
    # words of buses A and B (or the registers of `source`) into those registers
    compute: Callable[[Words, Words], tuple[Words, ...]]
    source: str | None = None  # the unit whose registers it takes, or None for the buses
