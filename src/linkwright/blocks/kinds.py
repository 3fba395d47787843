"""The kinds of blocks that ship, as a list that tests and documents walk."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.blocks.block import Block


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of block or element.

    >>> from linkwright.blocks import Integrator
    >>> Kind(Integrator).name
    'Integrator'
    """

    block: type[Block]
    passive: bool = False

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.block.__name__
