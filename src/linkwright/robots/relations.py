"""The tree of a mechanism with what its constraints make of it.

Without constraints all speeds are independent. A joint that follows another has its coordinate put
in wherever it occurs, so that it is no input of any quantity. A loop keeps all coordinates as
inputs, which must satisfy it; its dependent speeds follow from the independent ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.algebra import Expr
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.constraints import choose, reduce
from linkwright.equations.equations import in_order
from linkwright.equations.writer import Writer
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Namer
from linkwright.robots.tree import Tree


def tree_of(mechanism: Mechanism, known: Mapping[Expr, Expr | float] | None = None) -> Tree:
    """Return the tree of a mechanism.

    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="y", mass=1, com=(1, 0, 0), inertia=0)
    >>> tree_of(m).speeds
    (rod_dot,)
    """
    kinematics = mechanism.kinematics()
    put_in = dict(known or {})
    if not mechanism.constraints:
        return Tree(kinematics, values=put_in or None)
    samples = closed_samples(mechanism, mechanism.values, None)
    mechanism = with_exact_rates(mechanism, samples)
    kinematics = mechanism.kinematics()
    eliminations = choose(kinematics, mechanism.values, samples)
    writer = Writer(mechanism.name)
    rates = dict(kinematics.rates)
    reduction = reduce(
        kinematics, eliminations, rates, writer, Namer(None, "r"), mechanism.values, samples
    )
    statements = [s for s in in_order(writer.statements) if isinstance(s, Assign)]
    return Tree(kinematics, reduction, tuple(statements), put_in or None)
