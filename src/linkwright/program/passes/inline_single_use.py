"""Single-use inlining: a local that is read once is written where it is read.

Sayers' thesis (section 8.5) gives the reasons: expressions simplify further, code reads better, and
compilers keep nested temporaries in registers. The operations stay the same.
"""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest
from linkwright.program.passes.flatten import flatten
from linkwright.program.program import Program


def inline_single_use(program: Program) -> Program:
    """Return the Program without locals that are read only once, if it costs no more.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import Assign, program
    >>> x, y = symbols("x y", "coordinate")
    >>> a, b = symbols("a b", "local")
    >>> p = program(
    ...     "f",
    ...     {"x": [x, y]},
    ...     {"f": [b, b * x]},
    ...     statements=[Assign(a, x + y), Assign(b, a + 1)],
    ... )
    >>> inline_single_use(p).statements
    (Assign(target=b, value=1 + x + y, note=''),)
    """
    return cheapest(program, [through_networks(program, flatten)], or_equal=True)
