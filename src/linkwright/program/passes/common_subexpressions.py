"""Common subexpressions: partial sums and products that occur in several places are shared."""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest, cost
from linkwright.program.passes.extraction import extract
from linkwright.program.passes.flatten import flatten
from linkwright.program.passes.network import Network
from linkwright.program.program import Program

_LARGE = 10_000  # beyond so many operations there is one start only


def common_subexpressions(program: Program) -> Program:
    """Return the Program with common partial sums and products shared, common factors taken out.

    Extraction is greedy, so it is tried from two starts: products as they are, and multiplied out
    into the terms that use them. The cheapest result is kept, or the Program itself.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, c, d = symbols("a b c d", "coordinate")
    >>> f = [a * c * d, b * c * d, a + c + d, b + c + d]
    >>> p = program("f", {"x": [a, b, c, d]}, {"f": f})
    >>> count_operations(p).total, count_operations(common_subexpressions(p)).total
    (8, 6)
    """
    found = [through_networks(program, _flatten_and_extract)]
    if cost(program)[0] <= _LARGE:
        found.append(through_networks(program, _flatten_and_extract, keep=False))
    return cheapest(program, found)


def _flatten_and_extract(network: Network) -> None:
    flatten(network)
    extract(network)
