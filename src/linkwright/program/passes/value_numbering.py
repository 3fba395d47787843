"""Value numbering: what is equal after expansion, up to its sign, is computed once.

Equality is decided in a finite field (`linkwright.program.passes.fields`), so that a*(b + c) and
a*b + a*c are one value, and sin² + cos² is 1. Locals that only stand for another value disappear.
"""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest
from linkwright.program.passes.network import Network
from linkwright.program.program import Program


def value_numbering(program: Program) -> Program:
    """Return the Program without values that are computed twice.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, c = symbols("a b c", "coordinate")
    >>> p = program("f", {"x": [a, b, c]}, {"f": [a * (b + c), a * b + a * c]})
    >>> count_operations(p).total, count_operations(value_numbering(p)).total
    (5, 2)
    """
    return cheapest(program, [through_networks(program, _as_it_is)])


def _as_it_is(network: Network) -> None:
    """Building a network finds equal values; nothing else is to be done."""
