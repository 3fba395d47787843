"""From a network back to statements.

A node that is used more than once gets a local symbol, the one it had before where it had one; any
other node is written in place. Statements come in the order of a depth-first walk from the roots,
so that a value is computed shortly before it is used, and what nothing uses is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkwright.algebra.expr import ZERO, Expr, function_node, product, raised, scaled, total
from linkwright.algebra.functions import apply
from linkwright.algebra.nodes import SMALL
from linkwright.program.passes.network import (
    Network,
    NetworkTerm,
    Value,
    split_sign,
)
from linkwright.program.passes.replacement import with_reads
from linkwright.program.program import Assign, Loop, Namer, Statement


class NetworkWriter:
    """Writes one network."""

    def __init__(self, network: Network, locals_: Namer, constants: Namer) -> None:
        self.network = network
        self.locals = locals_
        self.constants = constants
        self.uses: dict[int, int] = {}
        self.forced: set[int] = set()
        self.written: dict[int, Expr] = {}
        self.statements: list[Statement] = []
        self.fixed_symbols: dict[Expr, Expr] = {}
        self.new_fixed: list[Statement] = []
        for statement in network.fixed:
            if isinstance(statement, Assign):
                sign, rest = split_sign(statement.value)
                self.fixed_symbols.setdefault(rest, scaled(sign, statement.target))

    def write(
        self, *, name_roots: bool = False
    ) -> tuple[list[Statement], list[Statement], list[Expr]]:
        """Return the fixed statements, the moving ones and the expressions of the roots."""
        self._count_uses()
        for value in self.network.roots:
            for number in self._nodes_of([value]):
                self._write_node(number)
        roots = [
            value if isinstance(value, Expr) and not name_roots else self.expression(value)
            for value in self.network.roots
        ]
        return self._live_fixed(roots), self.statements, roots

    # -- counting ----------------------------------------------------------------------------------
    def resolved(self, number: int) -> tuple[int, int]:
        """Return sign and number of the node that a node is merely another name for."""
        sign = 1
        while True:
            node = self.network.nodes[number]
            if not node.is_sum or len(node.rows) != 1 or node.offset is not ZERO:
                return sign, number
            term = self.network.row_term[next(iter(node.rows.values()))]
            if not term.is_node:
                return sign, number
            sign *= term.sign
            number = term.literals[0] >> 1

    def _nodes_of(self, values: Sequence[Value]) -> Iterator[int]:
        for value in values:
            if isinstance(value, NetworkTerm):
                for literal in value.literals:
                    yield self.resolved(literal >> 1)[1]

    def _mentions(self, number: int) -> Iterator[int]:
        """Yield the nodes that a node reads, as often as it costs to have them in place."""
        network = self.network
        node = network.nodes[number]
        if node.is_sum:
            for row in node.rows.values():
                seen = -1
                for literal in network.row_term[row].literals:
                    other = self.resolved(literal >> 1)[1]
                    if other == seen and not self._is_product(other):
                        continue
                    seen = other
                    yield other
        elif node.function is not None:
            yield from self._nodes_of(node.arguments)
        elif number in network.made_by:
            opaque = network.opaque[network.made_by[number]]
            yield from self._nodes_of(opaque.operands)
            yield from self._nodes_of([v for _, v in opaque.reads])

    def _is_product(self, number: int) -> bool:
        node = self.network.nodes[number]
        return node.is_sum and len(node.rows) == 1 and node.offset is ZERO

    def _count_uses(self) -> None:
        network = self.network
        stack = list(self._nodes_of(network.roots))
        seen_statements: set[int] = set()
        while stack:
            number = stack.pop()
            count = self.uses.get(number, 0)
            self.uses[number] = count + 1
            if count:
                continue
            made_by = network.made_by.get(number)
            if made_by is not None:
                if made_by in seen_statements:
                    continue
                seen_statements.add(made_by)
                self.forced.update(self._nodes_of([v for _, v in network.opaque[made_by].reads]))
            self.forced.update(self._scaled_sums(number))
            stack.extend(self._mentions(number))

    def _scaled_sums(self, number: int) -> Iterator[int]:
        """Yield the sums that stand in a node with a number before them.

        In place, 2*(a + b) would become 2*a + 2*b.
        """
        network = self.network
        for row in network.nodes[number].rows.values():
            term = network.row_term[row]
            if len(term.literals) == 1 and network.coefficients[term.coefficient].op == "num":
                other = self.resolved(term.literals[0] >> 1)[1]
                if term.coefficient and len(network.nodes[other].rows) > 1:
                    yield other

    # -- writing -----------------------------------------------------------------------------------
    def _write_node(self, root: int) -> None:
        stack: list[tuple[int, Iterator[int]]] = []
        if root not in self.written:
            stack.append((root, self._mentions(root)))
        while stack:
            number, rest = stack[-1]
            for other in rest:
                if other not in self.written:
                    stack.append((other, self._mentions(other)))
                    break
            else:
                stack.pop()
                if number not in self.written:
                    self._finish(number)

    def _finish(self, number: int) -> None:
        network = self.network
        node = network.nodes[number]
        if node.atom is not None:
            made_by = network.made_by.get(number)
            if made_by is None:
                self.written[number] = node.atom
            else:
                self._write_opaque(made_by)
            return
        value = self._node_expression(number)
        if (self.uses[number] > 1 or number in self.forced) and not value.is_atom:
            target = node.name if node.name is not None else self.locals()
            self.statements.append(Assign(target, value, node.note))
            value = target
        self.written[number] = value

    def _write_opaque(self, index: int) -> None:
        opaque = self.network.opaque[index]
        made = opaque.statement.with_operands([self.expression(v) for v in opaque.operands])
        changed = {}
        for x, value in opaque.reads:
            now = self.expression(value)
            if now is not x:
                changed[x] = now
        self.statements.append(with_reads(made, changed))
        for target in opaque.targets:
            atom = self.network.nodes[target].atom
            assert atom is not None
            self.written[target] = atom

    def _node_expression(self, number: int) -> Expr:
        node = self.network.nodes[number]
        if node.function is None:
            terms = [self.term(self.network.row_term[row]) for row in node.rows.values()]
            return total([self.fixed(node.offset), *terms])
        op, data = node.function
        args = tuple(self.expression(a) for a in node.arguments)
        if op == "power":
            return raised(args[0], data)
        if any(a.roles & SMALL for a in args):
            return function_node(op, args, data)
        return apply(op, args, data)

    def literal(self, literal: int) -> Expr:
        """Return the expression of a literal."""
        sign, number = self.resolved(literal >> 1)
        x = scaled(sign, self.written[number])
        return raised(x, -1) if literal & 1 else x

    def term(self, term: NetworkTerm) -> Expr:
        """Return the expression of a term."""
        factors = [self.literal(l) for l in term.literals]
        coefficient = self.fixed(self.network.coefficients[term.coefficient])
        return scaled(term.sign, product([coefficient, *factors]))

    def expression(self, value: Value) -> Expr:
        """Return the expression of a value."""
        return self.fixed(value) if isinstance(value, Expr) else self.term(value)

    def fixed(self, value: Expr) -> Expr:
        """Return a fixed expression: as it is if it is an atom, otherwise by its local symbol."""
        if value.is_atom or value.op == "pi":
            return value
        if value.op == "ne" and all(x.is_atom for x in value.args):
            return value  # how a condition that has a name is read
        sign, rest = split_sign(value)
        if rest.is_atom:
            return value
        known = self.fixed_symbols.get(rest)
        if known is None:
            known = self.constants()
            self.new_fixed.append(Assign(known, rest))
            self.fixed_symbols[rest] = known
        return scaled(sign, known)

    def _live_fixed(self, roots: Sequence[Expr]) -> list[Statement]:
        """Return the fixed statements that are needed, in their order."""
        live: set[Expr] = set()

        def need(exprs: Sequence[Expr]) -> None:
            stack = list(exprs)
            while stack:
                x = stack.pop()
                if x not in live:
                    live.add(x)
                    stack.extend(x.args)

        need(roots)
        for statement in self.statements:
            need(statement.operands)
            if isinstance(statement, Loop):
                need(statement.outer_reads)
        kept: list[Statement] = []
        for statement in reversed([*self.network.fixed, *self.new_fixed]):
            if any(x in live for x in statement.targets):
                need(statement.operands)
                if isinstance(statement, Loop):
                    need(statement.outer_reads)
                kept.append(statement)
        kept.reverse()
        return kept
