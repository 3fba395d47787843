"""Factoring: what the terms of a sum have in common is multiplied once."""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest
from linkwright.program.passes.extraction import extract
from linkwright.program.passes.flatten import flatten
from linkwright.program.passes.network import Network
from linkwright.program.program import Program


def factor(program: Program) -> Program:
    """Return the Program with common factors taken out of its sums where that is cheaper.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, x, y = symbols("a b x y", "coordinate")
    >>> p = program("f", {"x": [a, b, x, y]}, {"f": a * x + b * x * y})
    >>> factor(p).outputs[0].entries
    (x*(a + b*y),)
    """
    return cheapest(program, [through_networks(program, _factor)])


def _factor(network: Network) -> None:
    flatten(network)
    extract(network, products=False, common_only=True)
