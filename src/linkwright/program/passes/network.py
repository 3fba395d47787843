"""A block of statements as a network of n-ary sums of products: what the counting passes work on.

Every value is a node: an atom (an input, or the result of a loop, call or solve), a function of
other nodes, or a sum

    offset + s1*c1*x*y/z + s2*c2*u + ...

Offsets and coefficients c are fixed expressions (parameters; in a loop's body all that comes from
outside it), which are free; signs s are +1 or -1 and free as well. What is left of a term are its
literals: `2*node` for a factor and `2*node + 1` for a divisor. A product is a sum with one term.
Local symbols vanish when the network is built and are given out again, one for each node that is
used more than once, when it is written back. Nodes with equal field values are one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from linkwright.algebra.expr import ONE, ZERO, Expr, constant, product, raised, scaled, total
from linkwright.algebra.numbers import Number
from linkwright.algebra.walk import fill
from linkwright.program.passes.fields import (
    PRIME,
    FieldValues,
    function_value,
    inverse_value,
)
from linkwright.program.passes.replacement import rebuilt, with_reads
from linkwright.program.program import Assign, Loop, Statement
from linkwright.program.rates import Rate, is_impure

Literals: TypeAlias = tuple[int, ...]
_LONGEST_POWER = 3  # higher powers are nodes of their own, computed by squaring


class NetworkTerm(NamedTuple):
    """sign * coefficient * literals; the coefficient is an index of `Network.coefficients`."""

    sign: int
    coefficient: int
    literals: Literals

    @property
    def is_node(self) -> bool:
        """Whether this is a node or its negative."""
        literals = self.literals
        return self.coefficient == 0 and len(literals) == 1 and not literals[0] & 1


Value: TypeAlias = NetworkTerm | Expr  # an Expr is fixed


@dataclass(slots=True)
class NetworkNode:
    """A node; `function` is None for atoms and sums, `atom` is None for functions and sums."""

    rate: int
    value: int
    atom: Expr | None = None
    function: tuple[str, Any] | None = None
    arguments: tuple[Value, ...] = ()
    rows: dict[Literals, int] = field(default_factory=dict)
    offset: Expr = ZERO
    name: Expr | None = None
    note: str = ""

    @property
    def is_sum(self) -> bool:
        """Whether this node is a sum or product."""
        return self.atom is None and self.function is None

    def copy(self) -> NetworkNode:
        """Return a node of the same content with rows of its own."""
        return NetworkNode(
            self.rate,
            self.value,
            self.atom,
            self.function,
            self.arguments,
            dict(self.rows),
            self.offset,
            self.name,
            self.note,
        )


@dataclass(slots=True)
class Opaque:
    """A loop, call or solve with the values of its operands and of what its body reads."""

    statement: Statement
    operands: list[Value]
    reads: list[tuple[Expr, Value]]
    targets: list[int]


def split_sign(x: Expr) -> tuple[int, Expr]:
    """Return (s, y) with x = s*y, where y does not start with a minus."""
    if (x.op == "num" or x.op == "scale") and x.data < 0:
        return -1, scaled(-1, x)
    return 1, x


def node_uses(network: Network) -> dict[int, int]:
    """Return how often each node is mentioned by rows, arguments, statements and roots."""
    uses: dict[int, int] = {}
    values: list[Value] = list(network.roots)
    for opaque in network.opaque:
        values.extend(opaque.operands)
        values.extend(v for _, v in opaque.reads)
    for node in network.nodes:
        values.extend(node.arguments)
        values.extend(network.row_term[row] for row in node.rows.values())
    for value in values:
        if isinstance(value, NetworkTerm):
            for literal in value.literals:
                uses[literal >> 1] = uses.get(literal >> 1, 0) + 1
    return uses


class Network:
    """Nodes and terms of one block."""

    def __init__(
        self, moving: Mapping[Expr, int], *, keep: bool = True, open_quotients: bool = False
    ) -> None:
        self.keep = keep
        self.open_quotients = open_quotients
        self.nodes: list[NetworkNode] = []
        self.by_value: dict[int, int] = {}
        self.values = FieldValues()
        self.coefficients: list[Expr] = [ONE]
        self.coefficient_ids: dict[Expr, int] = {ONE: 0}
        self.coefficient_values: list[int] = [1]
        self.inverses: dict[int, int] = {}
        self.numbers: dict[Number, int] = {}  # signed indices of coefficients that are numbers
        self.row_owner: list[int] = []  # -1 where the row is gone
        self.row_term: list[NetworkTerm] = []
        self.known: dict[Expr, Value] = {}
        self.fixed: list[Statement] = []
        self.fixed_values: dict[int, Expr] = {}
        self.opaque: list[Opaque] = []
        self.made_by: dict[int, int] = {}
        self.roots: list[Value] = []
        self.uses: dict[Expr, int] = {}
        for x, rate in moving.items():
            self.known[x] = self.atom(x, rate)

    def copy(self) -> Network:
        """Return a network whose rows can be changed apart from this one's."""
        made = Network({}, keep=self.keep, open_quotients=self.open_quotients)
        made.nodes = [node.copy() if node.is_sum else node for node in self.nodes]
        made.by_value, made.values, made.known = self.by_value, self.values, self.known
        made.coefficients = list(self.coefficients)
        made.coefficient_ids = dict(self.coefficient_ids)
        made.coefficient_values = list(self.coefficient_values)
        made.inverses = self.inverses
        made.row_owner, made.row_term = list(self.row_owner), list(self.row_term)
        made.fixed, made.fixed_values = list(self.fixed), self.fixed_values
        made.opaque, made.made_by = self.opaque, self.made_by
        made.roots, made.uses = self.roots, self.uses
        return made

    # -- nodes -------------------------------------------------------------------------------------
    def add_node(self, node: NetworkNode) -> int:
        """Return the number of a new node."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def atom(self, x: Expr, rate: int) -> NetworkTerm:
        """Return a symbol as a term."""
        number = self.add_node(NetworkNode(rate, self.values.of(x), atom=x))
        self.by_value.setdefault(self.nodes[number].value, number)
        return NetworkTerm(1, 0, (2 * number,))

    def coefficient_id(self, x: Expr) -> int:
        """Return the index of a coefficient without sign."""
        found = self.coefficient_ids.get(x)
        if found is None:
            found = self.coefficient_ids[x] = len(self.coefficients)
            self.coefficients.append(x)
            self.coefficient_values.append(self.values.of(x))
        return found

    def term(self, coefficient: Expr, literals: Iterable[int]) -> Value:
        """Return coefficient * literals, with literals sorted and those that cancel left out."""
        if coefficient is ZERO:
            return ZERO
        ordered = sorted(literals)
        if not ordered:
            return coefficient
        if any(a & 1 for a in ordered):
            ordered = _cancelled(ordered)
            if not ordered:
                return coefficient
        sign, rest = split_sign(coefficient)
        return NetworkTerm(sign, self.coefficient_id(rest), tuple(ordered))

    def coefficient(self, term: NetworkTerm) -> Expr:
        """Return the coefficient of a term with its sign."""
        return scaled(term.sign, self.coefficients[term.coefficient])

    def rate(self, literals: Literals) -> int:
        """Return the highest rate among literals."""
        nodes, highest = self.nodes, 0
        for literal in literals:
            rate = nodes[literal >> 1].rate
            if rate > highest:
                highest = rate
        return highest

    def literal_value(self, literal: int) -> int:
        """Return the field value of a literal."""
        value = self.nodes[literal >> 1].value
        if not literal & 1:
            return value
        found = self.inverses.get(value)
        if found is None:
            found = self.inverses[value] = inverse_value(value)
        return found

    def term_value(self, term: NetworkTerm) -> int:
        """Return the field value of a term."""
        sign, coefficient, literals = term
        value = self.coefficient_values[coefficient] if coefficient else 1
        nodes = self.nodes
        for literal in literals:
            factor = self.literal_value(literal) if literal & 1 else nodes[literal >> 1].value
            value = value * factor % PRIME
        return value if sign > 0 else -value % PRIME

    def add_row(self, owner: int, term: NetworkTerm) -> int:
        """Return the number of a new row of a sum; -1 where it cancels another one."""
        node = self.nodes[owner]
        old = node.rows.get(term.literals)
        if old is not None:
            self.remove_row(old)
            merged = self.coefficient(self.row_term[old]) + self.coefficient(term)
            again = self.term(merged, term.literals)
            if isinstance(again, Expr):
                return -1
            term = again
        number = len(self.row_owner)
        self.row_owner.append(owner)
        self.row_term.append(term)
        node.rows[term.literals] = number
        return number

    def remove_row(self, row: int) -> None:
        """Take a row out of its sum."""
        owner = self.row_owner[row]
        self.row_owner[row] = -1
        rows = self.nodes[owner].rows
        if rows.get(self.row_term[row].literals) == row:
            del rows[self.row_term[row].literals]

    def sum_node(self, terms: Sequence[NetworkTerm], offset: Expr) -> Value:
        """Return the sum of terms, as an existing node where one has the same value."""
        merged: dict[Literals, NetworkTerm] = {}
        for term in terms:
            old = merged.get(term.literals)
            if old is None:
                merged[term.literals] = term
                continue
            again = self.term(self.coefficient(old) + self.coefficient(term), term.literals)
            if isinstance(again, Expr):
                del merged[term.literals]
            else:
                merged[term.literals] = again
        if not merged:
            return offset
        if len(merged) == 1 and offset is ZERO:
            return next(iter(merged.values()))
        return self.node_of(list(merged.values()), offset)

    def node_of(self, terms: Sequence[NetworkTerm], offset: Expr = ZERO) -> Value:
        """Return a node for terms with different literals, or an existing one of that value."""
        value = self.values.of(offset)
        for term in terms:
            value += self.term_value(term)
        value %= PRIME
        if value == 0:
            return ZERO
        found = self.found(value)
        if found is not None:
            return found
        rate = max(self.rate(term.literals) for term in terms)
        number = self.add_node(NetworkNode(rate, value, offset=offset))
        self.by_value[value] = number
        for term in terms:
            self.add_row(number, term)
        return NetworkTerm(1, 0, (2 * number,))

    def found(self, value: int) -> NetworkTerm | None:
        """Return the node with this field value or its negative, if there is one."""
        number = self.by_value.get(value)
        if number is not None:
            return NetworkTerm(1, 0, (2 * number,))
        number = self.by_value.get(PRIME - value)
        return None if number is None else NetworkTerm(-1, 0, (2 * number,))

    def held(self, value: Value) -> Value:
        """Return a value as a node, its negative, or a fixed expression."""
        if isinstance(value, Expr) or value.is_node:
            return value
        return self.node_of([value])

    def function_of(self, op: str, data: Any, arguments: Sequence[Value]) -> NetworkTerm:
        """Return a function of values, as an existing node where one has the same value."""
        args = tuple(self.held(a) for a in arguments)
        numbers = [self.values.of(a) if isinstance(a, Expr) else self.term_value(a) for a in args]
        value = function_value(op, data, numbers)
        number = self.by_value.get(value)
        if number is None:
            rates = [self.rate(a.literals) for a in args if isinstance(a, NetworkTerm)]
            rate = max(rates, default=int(Rate.ACCELERATION))
            number = self.add_node(NetworkNode(rate, value, function=(op, data), arguments=args))
            self.by_value[value] = number
        return NetworkTerm(1, 0, (2 * number,))

    # -- from expressions --------------------------------------------------------------------------
    def value(self, root: Expr) -> Value:
        """Return the value of an expression, building what is not there yet."""
        found = self.known.get(root)
        if found is None:
            fill(self.known, (root,), self._build)
            found = self.known[root]
        return found

    def _build(self, node: Expr) -> Value:
        if node.is_atom:
            return node
        values = [self.known[a] for a in node.args]
        if all(isinstance(v, Expr) for v in values) and not is_impure(node):
            return rebuilt(node, tuple(v for v in values if isinstance(v, Expr)))
        if node.op == "sum":
            return self._build_sum(node, values)
        if node.op == "scale":
            (value,) = values
            assert isinstance(value, NetworkTerm)
            return self.scaled(node.data, value)
        if node.op == "prod":
            made = self.times(list(zip(values, node.data, strict=True)))
            return self.kept(made, self.uses.get(node, 0))
        return self.function_of(node.op, node.data, values)

    def kept(self, value: Value, uses: int) -> Value:
        """Return a product as a node where it has several uses and is not to be multiplied out."""
        if self.keep and uses > 1 and isinstance(value, NetworkTerm) and not value.is_node:
            return self.held(value)
        return value

    def _build_sum(self, node: Expr, values: Sequence[Value]) -> Value:
        terms: list[NetworkTerm] = []
        fixed: list[Expr] = [scaled(node.data[0], ONE)]
        for c, v in zip(node.data[1:], values, strict=True):
            if isinstance(v, Expr):
                fixed.append(scaled(c, v))
                continue
            terms.append(self.scaled(c, v) if c != 1 else v)
        return self.sum_node(terms, total(fixed) if len(fixed) > 1 else fixed[0])

    def scaled(self, factor: Number, term: NetworkTerm) -> NetworkTerm:
        """Return a number, not zero, times a term."""
        sign, coefficient, literals = term
        if factor == -1:
            return NetworkTerm(-sign, coefficient, literals)
        if coefficient:
            other, rest = split_sign(scaled(factor, self.coefficients[coefficient]))
            return NetworkTerm(sign * other, self.coefficient_id(rest), literals)
        found = self.numbers.get(factor)
        if found is None:
            other, rest = split_sign(constant(factor))
            found = self.numbers[factor] = other * self.coefficient_id(rest)
        return NetworkTerm(sign if found > 0 else -sign, abs(found), literals)

    def times(self, factors: Sequence[tuple[Value, int]], coefficient: Expr = ONE) -> Value:
        """Return the product of powers of values."""
        fixed = [coefficient]
        literals: list[int] = []
        for value, exponent in factors:
            if isinstance(value, Expr):
                fixed.append(raised(value, exponent))
                continue
            if value.sign != 1 or value.coefficient:
                fixed.append(raised(self.coefficient(value), exponent))
            if abs(exponent) > _LONGEST_POWER:
                base = self.held(NetworkTerm(1, 0, value.literals))
                assert isinstance(base, NetworkTerm)
                if base.sign < 0:
                    fixed.append(scaled(-1 if exponent % 2 else 1, ONE))
                    base = NetworkTerm(1, 0, base.literals)
                (literal,) = self.function_of("power", abs(exponent), [base]).literals
                literals.append(literal | (exponent < 0))
            else:
                for literal in value.literals:
                    literals.extend([literal ^ (exponent < 0)] * abs(exponent))
        return self.term(product(fixed) if len(fixed) > 1 else coefficient, literals)

    # -- statements --------------------------------------------------------------------------------
    def read(self, statements: Sequence[Statement], roots: Sequence[Expr]) -> None:
        """Build the network of a block."""
        self.uses = _uses(statements, roots)
        for statement in statements:
            if isinstance(statement, Assign):
                self._assign(statement)
            else:
                self._opaque(statement)
        self.roots = [self.held(self.value(x)) for x in roots]

    def _assign(self, statement: Assign) -> None:
        value = self.value(statement.value)
        target = statement.target
        if isinstance(value, Expr):
            self.known[target] = self.fixed_symbol(target, value, statement.note)
            return
        value = self.held(value) if self.keep else value
        self.known[target] = value
        if isinstance(value, NetworkTerm) and value.is_node and value.sign > 0:
            node = self.nodes[value.literals[0] >> 1]
            if node.name is None and node.atom is None:
                node.name, node.note = target, statement.note

    def fixed_symbol(self, target: Expr, value: Expr, note: str = "") -> Expr:
        """Return what stands for a fixed local: itself, or something of the same value.

        Where quotients are open, one stands for itself, so that it cancels against what it is
        divided by; the local keeps its name when that is written.
        """
        sign, rest = split_sign(value)
        if rest.is_atom:
            return value
        number = self.values.of(rest)
        known = self.fixed_values.get(number)
        if known is None and number:
            known = self.fixed_values.get(PRIME - number)
            sign = -sign
        if known is not None:
            return scaled(sign, known)
        self.fixed.append(Assign(target, value, note))
        self.values.known[target] = self.values.of(value)
        is_quotient = rest.op == "prod" and min(rest.data) < 0
        stays = value if self.open_quotients and is_quotient else target
        self.fixed_values[self.values.known[target]] = stays
        return stays

    def _opaque(self, statement: Statement) -> None:
        if all(x in self.known for x in statement.targets):
            return  # the same statement again, see `auxiliary`
        operands = [self.held(self.value(x)) for x in statement.operands]
        reads: list[tuple[Expr, Value]] = []
        if isinstance(statement, Loop):
            reads = [(x, self.held(self.value(x))) for x in statement.outer_reads]
        values = [*operands, *(v for _, v in reads)]
        fixed = [v for v in values if isinstance(v, Expr)]
        if len(fixed) == len(values):
            made = statement.with_operands(fixed[: len(operands)])
            changed = {x: v for x, v in reads if isinstance(v, Expr) and v is not x}
            self.fixed.append(with_reads(made, changed))
            for x in statement.targets:
                self.known[x] = x
            return
        rate = max(self.rate(v.literals) for v in values if isinstance(v, NetworkTerm))
        opaque = Opaque(statement, operands, reads, [])
        for x in statement.targets:
            term = self.atom(x, rate)
            self.known[x] = term
            number = term.literals[0] >> 1
            opaque.targets.append(number)
            self.made_by[number] = len(self.opaque)
        self.opaque.append(opaque)


def _cancelled(literals: list[int]) -> list[int]:
    kept: list[int] = []
    for literal in literals:  # a factor sorts just before the divisor of the same node
        if kept and literal & 1 and kept[-1] == literal ^ 1:
            kept.pop()
        else:
            kept.append(literal)
    return kept


def _uses(statements: Sequence[Statement], roots: Sequence[Expr]) -> dict[Expr, int]:
    """Return how many nodes and statements mention each expression."""
    uses: dict[Expr, int] = {}
    everything = list(roots)
    for statement in statements:
        everything.extend(statement.operands)
        if isinstance(statement, Loop):
            everything.extend(statement.outer_reads)
    for x in everything:
        uses[x] = uses.get(x, 0) + 1
    seen = set(everything)
    stack = list(seen)
    while stack:
        for a in stack.pop().args:
            uses[a] = uses.get(a, 0) + 1
            if a not in seen:
                seen.add(a)
                stack.append(a)
    return uses
