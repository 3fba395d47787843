"""Flattening: a Program as elementary operations on atoms, with one local symbol for each.

Derivatives are accumulated over the nodes of the graph, never over the tree of an expression, and
the canonical form of a sum would merge a sum inside it. So each node of an expression gets a
local symbol, products are cut into binary ones (what changes seldom first), and what is left is
of these forms:

- linear: c0 + c1*x1 + c2*x2 + ..., or c*x;
- x*y, x/y, 1/x, and a whole power of x;
- a function of atoms; minimum and maximum take two.

An atom is a number, a symbol, pi, or a truth value: conditions are not given symbols, because a
condition in a symbol would be a number that is compared with 0 again.

Symbols of a small order are read through a plain local symbol, so that a derivative is exact and
no term of it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from linkwright.algebra.calculus import substitute_all
from linkwright.algebra.expr import (
    ONE,
    Expr,
    constant,
    function_node,
    linear_combination,
    mul,
    product,
    raised,
    scaled,
    split_coefficient,
)
from linkwright.algebra.functions import TRUTH_VALUED, apply
from linkwright.algebra.nodes import SMALL
from linkwright.algebra.numbers import Number, times
from linkwright.algebra.walk import postorder
from linkwright.program.program import Assign, Call, Loop, Namer, Program, Solve, Statement
from linkwright.program.rates import Rate, symbol_rate


def is_atom(x: Expr) -> bool:
    """Whether x is a number, a symbol, pi or a truth value."""
    return x.op in ("num", "sym", "pi") or x.op in TRUTH_VALUED


def is_light(x: Expr) -> bool:
    """Whether x is an atom or a number times an atom, which needs no symbol of its own."""
    return is_atom(x) or (x.op == "scale" and is_atom(x.args[0]))


@dataclass(slots=True)
class FlatScope:
    """One level of a Program: its statements so far, and the atoms that stand for known nodes.

    `weights` holds nodes that only derivatives mention; what is flattened later does not find
    them there.
    """

    out: list[Statement] = field(default_factory=list)
    atoms: dict[Expr, Expr] = field(default_factory=dict)
    weights: dict[Expr, Expr] = field(default_factory=dict)


class Builder:
    """Writes flat statements; the last of its scopes is the one that is written to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.scopes: list[FlatScope] = [FlatScope()]
        self.rates: dict[Expr, Rate] = {}
        self.body_scopes: dict[int, FlatScope] = {}
        self._namers: dict[str, Namer] = {}
        self._weighing = False
        for x in program.input_symbols():
            self.rates[x] = symbol_rate(x, program.slow)
        for x in program.input_symbols():
            self.plain(x)

    @property
    def scope(self) -> FlatScope:
        """The scope that is written to."""
        return self.scopes[-1]

    @contextmanager
    def inside(self, *scopes: FlatScope) -> Iterator[None]:
        """Write to the last of these scopes for a while."""
        self.scopes.extend(scopes)
        try:
            yield
        finally:
            del self.scopes[-len(scopes) :]

    def fresh(self, prefix: str) -> Expr:
        """Return a new local symbol whose name begins with the prefix."""
        namer = self._namers.get(prefix)
        if namer is None:
            namer = self._namers[prefix] = Namer(self.program, prefix)
        return namer()

    def plain(self, x: Expr) -> None:
        """Let a symbol of a small (or large) order be read through a local one."""
        if x.roles & SMALL:
            self.scope.atoms[x] = self.assign("w", x)

    def assign(self, prefix: str, value: Expr, target: Expr | None = None) -> Expr:
        """Append an assignment and return its target."""
        if target is None or target.roles & SMALL:
            target = self.fresh(prefix)
        self.rates[target] = max([self.rate(a) for a in value.args], default=self.rate(value))
        self.scope.out.append(Assign(target, value))
        return target

    def rate(self, x: Expr) -> Rate:
        """Return how often an atom changes; what is not known is taken to change always."""
        if x.op in ("num", "pi"):
            return Rate.CONSTANT
        if x.op == "scale":
            return self.rate(x.args[0])
        return self.rates.get(x, Rate.ACCELERATION)

    # -- expressions -------------------------------------------------------------------------------
    def find(self, x: Expr) -> Expr | None:
        """Return the atom of a node that is known."""
        if x.op == "num":
            return x
        for scope in reversed(self.scopes):
            found = scope.atoms.get(x)
            if found is None and self._weighing:
                found = scope.weights.get(x)
            if found is not None:
                return found
        return x if x.op == "sym" else None

    def _known(self, x: Expr) -> bool:
        return self.find(x) is not None

    def atom(self, root: Expr, target: Expr | None = None) -> Expr:
        """Return the atom of an expression, appending the assignments that it takes."""
        found = self.find(root)
        if found is not None:
            return found
        memo = self.scope.weights if self._weighing else self.scope.atoms
        for node in postorder([root], stop=self._known):
            if self.find(node) is None:
                memo[node] = self._elementary(node, target if node is root else None)
        return memo[root]

    def weight(self, x: Expr) -> Expr:
        """Return a local derivative as a number times a product of powers of atoms."""
        self._weighing = True
        try:
            coefficient, rest = split_coefficient(x)
            if rest.op == "prod":
                parts = [raised(self.atom(b), e) for b, e in zip(rest.args, rest.data, strict=True)]
                return scaled(coefficient, product(parts))
            return scaled(coefficient, self.atom(rest))
        finally:
            self._weighing = False

    def settled(self, prefix: str, value: Expr) -> Expr:
        """Return the value itself if it is light, else a new symbol for it."""
        return value if is_light(value) else self.assign(prefix, value)

    def _settle(self, value: Expr, target: Expr | None = None) -> Expr:
        found = value if is_atom(value) else self.find(value)
        if found is not None:
            return found
        if not all(is_atom(a) for a in value.args):
            return self.atom(value, target)
        memo = self.scope.weights if self._weighing else self.scope.atoms
        result = self.assign("p" if self._weighing else "w", value, target)
        memo[value] = result
        return result

    def _elementary(self, node: Expr, target: Expr | None) -> Expr:
        args = []
        for a in node.args:
            found = self.find(a)
            assert found is not None
            args.append(found)
        op = node.op
        if op == "sum":
            pairs = zip(node.data[1:], args, strict=True)
            return self._settle(linear_combination(pairs, node.data[0]), target)
        if op == "scale":
            return self._settle(scaled(node.data, args[0]), target)
        if op == "prod":
            return self._product(args, node.data, target)
        if op in ("min", "max"):
            return self._extremum(op, args, target)
        return self._settle(apply(op, tuple(args), node.data), target)

    def _extremum(self, op: str, args: Sequence[Expr], target: Expr | None) -> Expr:
        """Chain a minimum or maximum in the order given: the first of equals is chosen."""
        value = args[0]
        for i, x in enumerate(args[1:]):
            last = i == len(args) - 2
            if x is value:
                continue
            if x.op == "num" and value.op == "num":
                value = apply(op, (value, x))
            else:
                value = self._settle(function_node(op, (value, x)), target if last else None)
        return value

    def _product(self, args: Sequence[Expr], exponents: Sequence[int], target: Expr | None) -> Expr:
        """Cut a product into binary ones; parameters meet first, then what moves."""
        coefficient: Number = 1
        above: list[Expr] = []
        below: list[Expr] = []
        for base, exponent in zip(args, exponents, strict=True):
            if base.op == "num":
                coefficient = times(coefficient, raised(base, exponent).data)
            else:
                power = self._settle(raised(base, abs(exponent)))
                (above if exponent > 0 else below).append(power)
        ready = None if coefficient == 1 else constant(coefficient)
        steps: list[tuple[Expr, int]] = []
        if above:
            for fixed in (True, False):
                steps.extend((x, 1) for x in self._by_rate(above, fixed))
                divisor = self._chain(self._by_rate(below, fixed))
                steps.extend([] if divisor is None else [(divisor, -1)])
        else:
            divisor = self._chain([*self._by_rate(below, True), *self._by_rate(below, False)])
            steps.extend([] if divisor is None else [(divisor, -1)])
        for i, (x, exponent) in enumerate(steps):
            factor = raised(x, exponent)
            value = factor if ready is None else mul(ready, factor)
            ready = self._settle(value, target if i == len(steps) - 1 else None)
        return ONE if ready is None else ready

    def _by_rate(self, values: Iterable[Expr], fixed: bool) -> list[Expr]:
        chosen = [x for x in values if (self.rate(x) <= Rate.PARAMETER) == fixed]
        return sorted(chosen, key=self.rate)

    def _chain(self, values: Sequence[Expr]) -> Expr | None:
        result: Expr | None = None
        for x in values:
            result = x if result is None else self._settle(mul(result, x))
        return result

    # -- statements --------------------------------------------------------------------------------
    def flatten(self, statement: Statement) -> None:
        """Append the flat form of a statement and of what it reads."""
        if isinstance(statement, Assign):
            found = self.atom(statement.value, statement.target)
            if found is not statement.target:
                self.scope.atoms[statement.target] = found
        elif isinstance(statement, Loop):
            flat, scope = self.flatten_loop(statement)
            self.body_scopes[id(flat)] = scope
            self.scope.out.append(flat)
        else:
            self.scope.out.append(self.with_atoms(statement))
            for x in statement.targets:
                self.plain(x)

    def with_atoms(self, statement: Call | Solve) -> Call | Solve:
        """Return a call or solve that reads atoms."""
        return statement.with_operands([self.atom(x) for x in statement.operands])

    def flatten_loop(self, loop: Loop) -> tuple[Loop, FlatScope]:
        """Return the flat form of a loop, and the scope of its body."""
        outer = loop.with_operands([self.atom(x) for x in loop.operands])
        scope = FlatScope()
        with self.inside(scope):
            for x in loop.inner_symbols:
                self.plain(x)
            for statement in loop.body:
                self.flatten(statement)
            inner = [self.atom(x) for x in loop.inner_operands]
        return with_inner(outer, inner, scope.out), scope


def with_inner(loop: Loop, operands: Sequence[Expr], body: Iterable[Statement]) -> Loop:
    """Return the loop with another body and other values computed in each turn."""
    rest = iter(operands)
    carried = tuple(replace(c, following=next(rest)) for c in loop.carried)
    stacked = tuple(replace(s, value=next(rest)) for s in loop.stacked)
    return replace(loop, carried=carried, stacked=stacked, body=tuple(body))


def rename(statements: Iterable[Statement], names: dict[Expr, Expr]) -> tuple[Statement, ...]:
    """Return the statements reading other symbols; what they define keeps its name."""
    result: list[Statement] = []
    for statement in statements:
        changed = statement.with_operands(substitute_all(statement.operands, names))
        if isinstance(changed, Loop):
            inner = substitute_all(changed.inner_operands, names)
            changed = with_inner(changed, inner, rename(changed.body, names))
        result.append(changed)
    return tuple(result)


def symbols_read(statements: Iterable[Statement], exprs: Iterable[Expr] = ()) -> tuple[Expr, ...]:
    """Return all symbols that occur in what the statements, and these expressions, read."""
    roots = list(exprs)
    blocks = [iter(statements)]
    while blocks:
        for statement in blocks[-1]:
            roots.extend(statement.operands)
            if isinstance(statement, Loop):
                roots.extend(statement.inner_operands)
                blocks.append(iter(statement.body))
                break
        else:
            blocks.pop()
    return tuple(x for x in postorder(roots) if x.op == "sym")
