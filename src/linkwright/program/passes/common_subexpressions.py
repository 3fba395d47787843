"""Common subexpressions: partial sums and products that occur in several places are shared."""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choosing import cheapest
from linkwright.program.passes.extraction import extract
from linkwright.program.passes.flatten import flatten
from linkwright.program.passes.network import Network
from linkwright.program.program import Program


def common_subexpressions(program: Program) -> Program:
    """Return the Program with common partial sums and products shared, common factors taken out.

    Extraction starts once from the products as they are and once with products multiplied out
    into the terms that use them; the cheapest result is kept, or the Program itself.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count, program
    >>> a, b, c, d = symbols("a b c d", "coordinate")
    >>> f = [a * c * d, b * c * d, a + c + d, b + c + d]
    >>> p = program("f", {"x": [a, b, c, d]}, {"f": f})
    >>> count(p).total, count(common_subexpressions(p)).total
    (8, 6)
    """
    kept = through_networks(program, _flatten_and_extract)
    multiplied_out = through_networks(program, _flatten_and_extract, keep=False)
    return cheapest(program, [kept, multiplied_out])


def _flatten_and_extract(network: Network) -> None:
    flatten(network)
    extract(network)
