"""Slots: blocks with fixed ports whose function is exchanged during a run.

A slot has the ports of a function, but no function of its own. A session has functions for it by
number (`Session.install`), native or Python's; the input `number` says which one is called at its
instants, so that an exchange is the change of an input: it enters between two ticks, with whatever
else changes there, and it is on the tape. Number 0 is not a function: the outputs hold. Nothing is
derived or compiled again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linkwright.blocks.block import Block
from linkwright.blocks.foreign import Foreign
from linkwright.blocks.ports import Port
from linkwright.blocks.rates import BlockError, Rate

NUMBER = "number"
"""The input of a slot that says which of its functions is called."""


@dataclass(frozen=True, slots=True)
class SlotPort:
    """A port of a slot.

    Args:
        shape: () for a number, (n,) for a vector, in C order.
        unit: of its entries.
        value: what an input is where nothing drives it, and what an output holds at the start.
        doc: what it is.

    >>> SlotPort((3,), "m").size
    3
    """

    shape: tuple[int, ...] = ()
    unit: str = "?"
    value: float = 0.0
    doc: str = ""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        size = 1
        for n in self.shape:
            size *= n
        return size


def _no_function(**_: Any) -> None:
    """Stand for the function of a slot where none is called."""


class FunctionSlot(Foreign):
    """A block whose function is exchanged during a run.

    Args:
        inputs: its input ports in order; `number` comes before them.
        outputs: its output ports in order.
        rate: hertz or a `Rate`.
        name: of the block.
        doc: one line that says what it is.

    >>> angles = SlotPort((2,), "rad")
    >>> FunctionSlot({"q": angles}, {"target": angles}, rate=500)
    FunctionSlot(slot: number, q -> target)
    """

    def __init__(
        self,
        inputs: Mapping[str, SlotPort],
        outputs: Mapping[str, SlotPort],
        *,
        rate: Rate | float | Fraction | None = None,
        name: str = "slot",
        doc: str = "",
    ) -> None:
        Block.__init__(self, name, rate=rate, doc=doc)
        if NUMBER in inputs or not outputs:
            raise BlockError(
                f"the slot {name!r} has {NUMBER!r} besides its inputs, and needs an output"
            )
        self.function = _no_function
        self._wants_time = False
        self.optional = {NUMBER, *inputs}
        chosen = SlotPort((), "1", 0.0, "of the function that is called; 0 for none")
        for key, port in {NUMBER: chosen, **inputs}.items():
            self._input(key, port.shape, [port.value] * port.size, port.unit, port.doc)
        for key, port in outputs.items():
            self._refuse_taken(key)
            made = self._symbols(key, port.shape, "input", port.unit)
            self.outputs[key] = Port(
                key, port.unit, port.shape, made, made, initial=port.value, doc=port.doc
            )
