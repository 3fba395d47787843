"""Constants merged into the parameter stage: AUTOSIM's precomputed constants PC (section 5.3).

Parts of an expression that only hold parameters get local symbols of their own and are computed
once. A fixed factor in front of a sum goes into the sum where it meets other fixed factors:
A*(B*X + C*Y) is (A*B)*X + (A*C)*Y, with two multiplications per evaluation instead of three.
"""

from __future__ import annotations

from linkwright.algebra.expr import Expr
from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.choice import cheapest
from linkwright.program.passes.flatten import flatten
from linkwright.program.passes.network import Network, NetworkTerm, Value, split_sign
from linkwright.program.program import Program


def merge_constants(program: Program) -> Program:
    """Return the Program with its fixed parts named and its fixed factors merged.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> A, B, C = symbols("A B C")
    >>> x, y = symbols("x y", "coordinate")
    >>> p = program("f", {"k": [A, B, C], "x": [x, y]}, {"f": A * (B * x + C * y)})
    >>> count_operations(p).mul, count_operations(merge_constants(p)).mul
    (3, 2)
    """
    return cheapest(program, [through_networks(program, merge)], or_equal=True)


def merge(network: Network) -> None:
    """Merge fixed factors of a network."""
    flatten(network)
    mentions = _mentions(network)
    for number in reversed(range(len(network.nodes))):
        node = network.nodes[number]
        if not node.is_sum or not node.rows:
            continue
        places = mentions.get(number)
        if places is None:
            continue
        coefficient = _shared_coefficient(network, number, places)
        if coefficient == 0:
            continue
        terms = [network.row_term[row] for row in node.rows.values()]
        new = sum(1 for t in terms if t.coefficient == 0)
        if new == 0 or (new == len(places) == 1 and _is_term(network, places[0])):
            _push(network, number, coefficient, places)
    flatten(network)


def _is_term(network: Network, row: int) -> bool:
    """Whether a row is a node with a coefficient and stands in a sum with others."""
    alone = len(network.row_term[row].literals) == 1
    return alone and len(network.nodes[network.row_owner[row]].rows) > 1


def _mentions(network: Network) -> dict[int, list[int] | None]:
    """Return the rows that mention each node as a factor; None where it is mentioned otherwise."""
    found: dict[int, list[int] | None] = {}
    for row, owner in enumerate(network.row_owner):
        if owner < 0:
            continue
        literals = network.row_term[row].literals
        for literal in literals:
            number = literal >> 1
            places = found.setdefault(number, [])
            if literal & 1 or literals.count(literal) > 1:
                found[number] = None
            elif places is not None:
                places.append(row)
    values: list[Value] = list(network.roots)
    for node in network.nodes:
        values.extend(node.arguments)
    for opaque in network.opaque:
        values.extend(opaque.operands)
        values.extend(v for _, v in opaque.reads)
    for value in values:
        if isinstance(value, NetworkTerm):
            for literal in value.literals:
                found[literal >> 1] = None
    return found


def _shared_coefficient(network: Network, number: int, places: list[int]) -> int:
    """Return the coefficient that stands in front of a node wherever it is mentioned, else 0."""
    shared = -1
    for row in places:
        if network.row_owner[row] < 0 or 2 * number not in network.row_term[row].literals:
            return 0
        coefficient = network.row_term[row].coefficient
        if shared not in (-1, coefficient):
            return 0
        shared = coefficient
    return max(shared, 0)


def _push(network: Network, number: int, coefficient: int, places: list[int]) -> None:
    """Move a coefficient from all mentions of a node into the node."""
    factor = network.coefficients[coefficient]
    for row in places:
        term = network.row_term[row]
        network.row_term[row] = NetworkTerm(term.sign, 0, term.literals)
    node = network.nodes[number]
    node.offset = factor * node.offset
    node.value = 0  # it no longer has the value under which it is known
    for row in node.rows.values():
        network.row_term[row] = _scaled_term(network, factor, network.row_term[row])


def _scaled_term(network: Network, factor: Expr, term: NetworkTerm) -> NetworkTerm:
    sign, rest = split_sign(factor * network.coefficient(term))
    return NetworkTerm(sign, network.coefficient_id(rest), term.literals)
