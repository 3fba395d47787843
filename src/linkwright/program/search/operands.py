"""From a network to a sheet and back."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra.expr import ZERO, Expr
from linkwright.program.passes.fields import PRIME
from linkwright.program.passes.network import Network, NetworkNode, NetworkTerm, Value
from linkwright.program.search.coefficients import Coefficients
from linkwright.program.search.sheet import Sheet


class OperandSheet:
    """A network as a sheet."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.coefficients = Coefficients(network.values)
        self.sheet = Sheet(self.coefficients)
        self.numbers: dict[int, int] = {}  # of the network's nodes on the sheet
        for number in self._needed():
            self._load(number)
        for value in self._mentions():
            self._hold(value)

    def _mentions(self) -> list[Value]:
        """Return what roots and the statements and functions that are needed mention."""
        network = self.network
        values = list(network.roots)
        seen: set[int] = set()
        for number in self.numbers:
            values.extend(network.nodes[number].arguments)
            made_by = network.made_by.get(number)
            if made_by is not None and made_by not in seen:
                seen.add(made_by)
                values.extend(network.opaque[made_by].operands)
                values.extend(v for _, v in network.opaque[made_by].reads)
        return values

    def _hold(self, value: Value) -> None:
        if isinstance(value, NetworkTerm):
            for literal in value.literals:
                self.sheet.held[self.numbers[literal >> 1]] += 1

    def _reads(self, number: int) -> list[int]:
        """Return the network's nodes that one is computed from."""
        network = self.network
        node = network.nodes[number]
        values: list[Value] = list(node.arguments)
        made_by = network.made_by.get(number)
        if made_by is not None:
            opaque = network.opaque[made_by]
            values.extend((*opaque.operands, *(v for _, v in opaque.reads)))
        values.extend(network.row_term[row] for row in node.rows.values())
        return [l >> 1 for v in values if isinstance(v, NetworkTerm) for l in v.literals]

    def _needed(self) -> list[int]:
        """Return what the roots need, each after what it needs itself."""
        order: list[int] = []
        done: set[int] = set()
        roots = [
            l >> 1 for v in self.network.roots if isinstance(v, NetworkTerm) for l in v.literals
        ]
        stack = [(number, False) for number in reversed(roots)]
        while stack:
            number, ready = stack.pop()
            if ready:
                order.append(number)
                continue
            if number in done:
                continue
            done.add(number)
            stack.append((number, True))
            stack.extend((other, False) for other in self._reads(number) if other not in done)
        return order

    def _load(self, number: int) -> None:
        network, sheet = self.network, self.sheet
        node = network.nodes[number]
        if not node.is_sum:
            reads = tuple(self.numbers[n] for n in self._reads(number))
            self.numbers[number] = sheet.add_node(node.value, is_sum=False, reads=reads)
            return
        rows: list[tuple[tuple[int, ...], int]] = []
        for row in node.rows.values():
            term = network.row_term[row]
            coefficient = self.coefficients.of(network.coefficients[term.coefficient])
            mapped = [2 * self.numbers[l >> 1] + (l & 1) for l in term.literals]
            rows.append((tuple(sorted(mapped)), term.sign * coefficient))
        if node.offset is not ZERO:
            rows.append(((), self.coefficients.of(node.offset)))
        value = sum(sheet.row_value(*row) for row in rows) % PRIME
        made = sheet.add_node(value, is_sum=True)
        self.numbers[number] = made
        for literals, coefficient in rows:
            if coefficient:
                sheet.add(made, literals, coefficient)

    def store(self, sheet: Sheet, names: Sequence[int]) -> None:
        """Write the rows of a sheet back into the network."""
        network = self.network
        back = {names[new]: old for old, new in self.numbers.items() if names[new] >= 0}
        for row, owner in enumerate(network.row_owner):
            if owner >= 0:
                network.remove_row(row)
        for number in self.numbers:
            network.nodes[number].offset = ZERO
        for node in range(len(sheet.value)):
            if node not in back:
                back[node] = network.add_node(NetworkNode(0, sheet.value[node]))
        for node, rows in enumerate(sheet.rows):
            target = network.nodes[back[node]]
            for literals, row in rows.items():
                coefficient = sheet.coefficient[row]
                expr = self.coefficients.expression(coefficient)
                mapped = [2 * back[l >> 1] + (l & 1) for l in literals]
                term = network.term(expr, mapped)
                if isinstance(term, Expr):  # a constant, or zero where numbers cancel in doubles
                    target.offset = target.offset + term
                else:
                    network.add_row(back[node], term)
