"""What a block is made of: ports, parameters, states, memory, noise and events.

Each is a record over symbols that the block owns; a System gives them names of its own when the
block is added, so that the same block may be added twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from linkwright.algebra import Expr
from linkwright.blocks.numbers import checked
from linkwright.blocks.rates import BlockError


@dataclass(frozen=True, slots=True)
class Port:
    """A named array of numbers that goes into or comes out of a block.

    Args:
        name: its name, unique in the block.
        unit: the unit of its entries as text, "?" where it is not known.
        shape: () for a number, (n,) for a vector, in C order.
        symbols: one for each entry.
        values: of an output the expressions; of an input what it is where nothing drives it: a
            number, which makes it an input of the System, or an expression of the mechanism.
        initial: of an output of a sampled block, what it holds before the first instant.
        doc: what it is.
    """

    name: str
    unit: str
    shape: tuple[int, ...]
    symbols: tuple[Expr, ...]
    values: tuple[Expr, ...]
    initial: float = 0.0
    doc: str = ""

    def __post_init__(self) -> None:
        size = math.prod(self.shape)
        if size < 1 or len(self.symbols) != size or len(self.values) != size:
            raise BlockError(
                f"the port {self.name!r} has the shape {self.shape}, but {len(self.values)} values"
            )

    def entries(self) -> list[tuple[str, Expr]]:
        """Return the names of the entries with what they are."""
        indices = product(*(range(n) for n in self.shape))
        names = [f"{self.name}[{','.join(map(str, i))}]" if i else self.name for i in indices]
        return list(zip(names, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that stays the same during a run."""

    symbol: Expr
    value: float
    unit: str = "?"
    doc: str = ""
    least: float = -math.inf

    def checked(self, value: float, block: str) -> float:
        """Return a value for it, or refuse one that makes no sense."""
        what = f"{self.symbol.name} of {block!r}"
        if self.symbol.data.sign == "positive":
            return checked(value, what, above=0.0)
        if self.symbol.data.sign == "nonzero" and value == 0:
            raise BlockError(f"{what} is 0", remedy="give another number")
        return checked(value, what, least=self.least)


@dataclass(frozen=True, slots=True)
class BlockState:
    """A number with memory."""

    symbol: Expr
    following: Expr | None
    initial: Expr
    unit: str = "?"
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Noise:
    """A stream of random numbers, new at each instant of the block; uniform in (0, 1) in pairs."""

    name: str
    first: Expr
    second: Expr


@dataclass(frozen=True, slots=True)
class Crossing:
    """A value whose way through zero is an event."""

    name: str
    value: Expr
    direction: int = 0
    terminal: bool = False
    resets: tuple[tuple[Expr, Expr], ...] = ()
