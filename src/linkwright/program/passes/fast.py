"""Fast mode: what the passes do one after the other, done on one network.

Every pass reads a Program into a network and writes it back, and counts it before and after. Here a
block is read as it stands, fixed factors are merged, and partial sums and products shared from
three starts: from there, from products multiplied out into the terms that use them, and from the
same with common factors taken out before. The network with the fewest operations is written.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from linkwright.algebra.expr import ZERO, Expr
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.program.passes.blocks import Rewriting
from linkwright.program.passes.emission import NetworkWriter
from linkwright.program.passes.extraction import extract, literals_cost
from linkwright.program.passes.flatten import flatten
from linkwright.program.passes.liveness import liveness
from linkwright.program.passes.merge_constants import merge
from linkwright.program.passes.network import Network, NetworkTerm, Value
from linkwright.program.passes.schedule import schedule
from linkwright.program.program import Program, Statement
from linkwright.program.rates import Rate

_CALL = 8  # a function weighs as much as so many multiplications


def fast(program: Program, *, whole: bool = False, brief: bool = False) -> Program:
    """Return the Program with fixed factors merged and common sums and products shared.

    It is usually cheaper than the Program, but that is for the caller to count. Where it is to be
    `brief`, only the first start is tried, in less than half the time.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> a, b, c, d = symbols("a b c d", "coordinate")
    >>> f = [a * c * d, b * c * d, a + c + d, b + c + d]
    >>> p = program("f", {"x": [a, b, c, d]}, {"f": f})
    >>> count_operations(p).total, count_operations(fast(p)).total
    (8, 6)
    """
    if not whole:
        program = liveness(program)
    with smallness_threshold(KEEP_ALL), _uncollected():
        return schedule(_Fast(program, brief=brief).run(Rate.PARAMETER))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let the cyclic collector rest: the tables hold no cycles, and it would walk them for long."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


class _Fast(Rewriting):
    """Rewrites every block by the cheapest of several networks."""

    def __init__(
        self, program: Program, called: dict[int, Program] | None = None, *, brief: bool = False
    ) -> None:
        super().__init__(program, flatten, True, called)
        self.brief = brief
        self.main: set[int] | None = None
        if program.auxiliary:
            ports = [p for p in program.outputs for _ in p.entries]
            self.main = {k for k, p in enumerate(ports) if p.name not in program.auxiliary}

    def network(
        self, statements: Sequence[Statement], roots: Sequence[Expr], moving: Mapping[Expr, int]
    ) -> Network:
        main = self.main if tuple(roots) == self.program.output_values() else None
        kept = _read(statements, roots, moving, keep=True)
        flatten(kept)
        if self.brief:
            extract(kept)
            return kept
        factored = kept.copy()
        extract(kept)
        best, names = kept, (self.locals, self.constants)
        least = network_cost(kept, main)

        spread = _read(statements, roots, moving, keep=False)
        merge(spread)
        extract(spread)
        cost = network_cost(spread, main)
        if cost < least:
            best, least = spread, cost

        merge(factored)
        extract(factored, products=False, common_only=True)
        others = self.locals.copy(), self.constants.copy()
        fixed, moved, again = NetworkWriter(factored, *others).write()
        factored = Network(moving, keep=False)
        factored.read([*fixed, *moved], again)
        merge(factored)
        extract(factored)
        if network_cost(factored, main) < least:
            best, names = factored, others
        self.locals, self.constants = names
        return best

    def another(self, program: Program) -> Rewriting:
        return _Fast(program, self.called, brief=self.brief)


def _read(
    statements: Sequence[Statement],
    roots: Sequence[Expr],
    moving: Mapping[Expr, int],
    *,
    keep: bool,
) -> Network:
    """Return the network of a block in which named quotients may cancel."""
    network = Network(moving, keep=keep, open_quotients=True)
    network.read(statements, roots)
    return network


def network_cost(network: Network, main: set[int] | None = None) -> tuple[int, int]:
    """Return the operations of a network: of its main roots, and of what else its roots need."""
    seen: set[int] = set()
    costs = []
    for wanted in (True, False):
        roots = [v for k, v in enumerate(network.roots) if (main is None or k in main) is wanted]
        costs.append(_reached(network, roots, seen))
    return costs[0], costs[1]


def _reached(network: Network, roots: Iterable[Value], seen: set[int]) -> int:
    """Return the operations of what roots need and was not seen yet."""
    nodes, terms = network.nodes, network.row_term
    stack = _numbers(roots)
    cost = 0
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        node = nodes[number]
        if node.rows:
            cost += len(node.rows) - (node.offset is ZERO)
            for row in node.rows.values():
                _, coefficient, literals = terms[row]
                cost += literals_cost(literals, coefficient)
                for literal in literals:
                    stack.append(literal >> 1)
        elif node.function is not None:
            cost += _CALL
            stack.extend(_numbers(node.arguments))
        elif number in network.made_by:
            opaque = network.opaque[network.made_by[number]]
            seen.update(opaque.targets)
            stack.extend(_numbers(opaque.operands))
            stack.extend(_numbers([v for _, v in opaque.reads]))
    return cost


def _numbers(values: Iterable[Value]) -> list[int]:
    """Return the nodes that values mention."""
    return [literal >> 1 for v in values if isinstance(v, NetworkTerm) for literal in v.literals]


__all__ = ["fast", "network_cost"]
