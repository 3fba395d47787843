"""What a block is made of: ports, parameters, states, memory, noise and events.

Each is a record over symbols that the block owns; a System gives them names of its own when the
block is added, so that the same block may be added twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from linkwright.algebra import Expr, evaluate, free_symbols
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
        labels: of an output, names of the entries; by default they are numbered.
    """

    name: str
    unit: str
    shape: tuple[int, ...]
    symbols: tuple[Expr, ...]
    values: tuple[Expr, ...]
    initial: float = 0.0
    doc: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = math.prod(self.shape)
        if size < 1 or len(self.symbols) != size or len(self.values) != size:
            raise BlockError(
                f"the port {self.name!r} has the shape {self.shape}, but {len(self.values)} values"
            )

    def entries(self) -> list[tuple[str, Expr]]:
        """Return the names of the entries with what they are."""
        if self.labels:
            named = [f"{self.name}.{label}" for label in self.labels]
            return list(zip(named, self.values, strict=True))
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
    most: float = math.inf
    default: Expr | None = None
    """What it is of other parameters of the block, as long as it is given no value itself."""

    def checked(self, value: float, block: str) -> float:
        """Return a value for it, or reject one that makes no sense."""
        what = f"{self.symbol.name} of {block!r}"
        if self.symbol.data.sign == "positive":
            return checked(value, what, above=0.0, least=self.least, most=self.most)
        if self.symbol.data.sign == "nonzero" and value == 0:
            raise BlockError(f"{what} is 0", remedy="give another number")
        return checked(value, what, least=self.least, most=self.most)


@dataclass(frozen=True, slots=True)
class BlockRelation:
    """A relation between parameters without which a block makes no sense, and why."""

    holds: Expr
    why: str = ""

    def check(self, values: Mapping[Expr, Any], block: str) -> None:
        """Reject values, or arrays of them, for which it does not hold."""
        met = np.atleast_1d(np.asarray(evaluate(self.holds, values), dtype=bool))
        if met.all():
            return
        used = [(x, np.atleast_1d(values[x])) for x in free_symbols(self.holds)]
        worst = int(np.argmin(met))
        told = ", ".join(f"{x} = {v[worst % len(v)]:g}" for x, v in used)
        raise BlockError(
            f"{block!r} needs {self.holds}" + (f" ({self.why})" if self.why else "") + f": {told}",
            remedy="give numbers for which that holds",
        )


@dataclass(frozen=True, slots=True)
class BlockState:
    """A number with memory."""

    symbol: Expr
    following: Expr | None
    initial: Expr
    unit: str = "?"
    doc: str = ""
    step: Expr | None = None
    """Of a continuous state, its next value at a rate, where the block says it."""


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
    at_start: bool = False
