"""What a unit of a processing element is: registers for results, and operations that fill them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.systolic.fixed import Words


@dataclass(frozen=True, slots=True)
class UnitOutput:
    """A result that a bus can carry.

    Args:
        name: its mnemonic, such as "CSUM1B".
        on_a: the register of the unit that it puts on bus A, or None.
        on_b: that on bus B.
        complement: whether it is the one's complement.
    """

    name: str
    on_a: int | None = None
    on_b: int | None = None
    complement: bool = False


@dataclass(frozen=True, slots=True)
class ArrayUnit:
    """A unit.

    Args:
        name: as in the display.
        registers: names of its dynamic registers.
        outputs: how buses see them; none where they cannot be reached.
        latency: cycles from the load to the result; 0 is ready for the next cycle.
        operations: that it brings; they may fill the registers of other units too.
    """

    name: str
    registers: tuple[str, ...]
    outputs: tuple[UnitOutput, ...] = ()
    latency: int = 0
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """What a unit can be told to do.

    Args:
        name: its mnemonic.
        units: whose registers it fills.
        compute: words of buses A and B (or the registers of `source`) into those registers.
        source: the unit whose registers it takes, or None for the buses.
    """

    name: str
    units: tuple[str, ...]
    compute: Callable[[Words, Words], tuple[Words, ...]]
    source: str | None = None
