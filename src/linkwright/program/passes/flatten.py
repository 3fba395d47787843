"""Sums and products that are used once become part of the sum or product that uses them.

This costs nothing and lets the other passes see terms and factors side by side. A network
transformation, not a pass of its own: `inline_single_use` does the same for statements.
"""

from __future__ import annotations

from linkwright.algebra.expr import ZERO, Expr, raised, scaled
from linkwright.program.passes.network import Network, NetworkNode, NetworkTerm, node_uses


def flatten(network: Network) -> None:
    """Put sums and products with one use in place."""
    uses = node_uses(network)
    for number, node in enumerate(network.nodes):
        if not node.is_sum:
            continue
        for row in list(node.rows.values()):
            if network.row_owner[row] == number:
                _flatten_row(network, number, node, row, uses)


def _flatten_row(
    network: Network, number: int, node: NetworkNode, row: int, uses: dict[int, int]
) -> None:
    term = network.row_term[row]
    inner = [
        literal
        for literal in term.literals
        if uses.get(literal >> 1) == 1 and network.nodes[literal >> 1].is_sum
    ]
    if not inner:
        return
    if term.is_node:
        other = network.nodes[inner[0] >> 1]
        network.remove_row(row)
        node.offset = node.offset + scaled(term.sign, other.offset)
        for old in list(other.rows.values()):
            moved = network.row_term[old]
            network.remove_row(old)
            network.add_row(number, NetworkTerm(moved.sign * term.sign, *_rest(moved)))
        return
    coefficient: Expr = network.coefficient(term)
    literals = list(term.literals)
    changed = False
    for literal in inner:
        other = network.nodes[literal >> 1]
        if len(other.rows) != 1 or other.offset is not ZERO:
            continue
        (old,) = other.rows.values()
        factor = network.row_term[old]
        network.remove_row(old)
        literals.remove(literal)
        below = literal & 1
        literals.extend(l ^ below for l in factor.literals)
        coefficient = coefficient * raised(network.coefficient(factor), -1 if below else 1)
        changed = True
    if changed:
        network.remove_row(row)
        made = network.term(coefficient, literals)
        if isinstance(made, Expr):
            node.offset = node.offset + made
        else:
            network.add_row(number, made)


def _rest(term: NetworkTerm) -> tuple[int, tuple[int, ...]]:
    return term.coefficient, term.literals
