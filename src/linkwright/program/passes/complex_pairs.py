"""Complex numbers as pairs of real ones: a Program over complex numbers becomes one over pairs.

Every input and output that is not named as real gets one more axis at its end, real and imaginary
part. Sums, products, whole powers, quotients, the analytic functions of `_ANALYTIC`, choices by
real conditions, loops, calls and solves are carried over; what is not analytic (a comparison, a
square root, a table) is rejected where its argument is complex. A value that is real is never made
into a pair, so that a real step size costs half a product.

A solve becomes elimination in complex arithmetic, with the largest entry of each column brought up
by exchanging rows: half the products of the real system of twice the size, and a quarter of its
divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from linkwright.algebra.expr import ONE, ZERO, Expr, linear_combination, raised, scaled
from linkwright.algebra.functions.calls import absolute, cos, cosh, exp, sin, sinh, where
from linkwright.algebra.symbols import symbol
from linkwright.algebra.walk import fill, rebuild
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Namer,
    Program,
    ProgramError,
    ProgramPort,
    Scanned,
    Solve,
    Stacked,
    Statement,
    check,
)

Pair: TypeAlias = tuple[Expr, Expr]


def complex_pairs(
    program: Program, *, real: Iterable[str] = (), imaginary: Expr | None = None
) -> Program:
    """Return a Program that does with pairs of reals what another does with complex numbers.

    >>> from linkwright.program import interpret, lower, program
    >>> p = program("square", {"z": ["x", "y"]}, {"f": lambda x, y: [x * x, x / y]})
    >>> pairs = complex_pairs(p)
    >>> pairs.inputs[0].shape
    (2, 2)
    >>> interpret(lower(pairs), [[[3.0, 4.0], [0.0, 1.0]]])[0].tolist()
    [[-7.0, 24.0], [4.0, -3.0]]
    """
    made = _Pairs(program, frozenset(real), imaginary).program()
    check(made)
    return made


class _Pairs:
    """The real and imaginary parts of what a Program has computed so far."""

    def __init__(self, program: Program, real: frozenset[str], imaginary: Expr | None) -> None:
        self.source = program
        self.real = real
        known = {p.name for p in (*program.inputs, *program.outputs)}
        if unknown := sorted(real - known):
            raise ProgramError(f"program {program.name!r} has no array {', '.join(unknown)}")
        if program.gate and program.gate not in real:
            raise ProgramError(f"the gate {program.gate!r} of {program.name!r} is not real")
        self.values: dict[Expr, Pair] = {}
        if imaginary is not None:
            self.values[imaginary] = (ZERO, ONE)
        self.imaginary = imaginary
        self.namer = Namer(program, "w")
        self.calls: dict[int, Program] = {}

    def program(self) -> Program:
        source = self.source
        inputs = tuple(self.input(p) for p in source.inputs)
        statements = self.block(source.statements)
        outputs = tuple(self.output(p) for p in source.outputs)
        slow = frozenset(x for s in source.slow for x in self.values[s] if x.op == "sym")
        return Program(
            f"{source.name}_pairs",
            inputs,
            outputs,
            tuple(statements),
            slow,
            source.auxiliary,
            source.gate,
        )

    def input(self, port: ProgramPort) -> ProgramPort:
        if port.name in self.real:
            self.values.update({x: (x, ZERO) for x in port.entries})
            return port
        owner = f"{self.source.name} pairs"
        entries: list[Expr] = []
        for k, x in enumerate(port.entries):
            names = (f"{port.name}_{k}_re", f"{port.name}_{k}_im")
            first, second = (symbol(name, x.data.role, owner=owner) for name in names)
            self.values[x] = (first, second)
            entries += [first, second]
        return ProgramPort(port.name, (*port.shape, 2), tuple(entries))

    def output(self, port: ProgramPort) -> ProgramPort:
        pairs = [self.pair(x) for x in port.entries]
        if port.name not in self.real:
            return ProgramPort(port.name, (*port.shape, 2), tuple(x for p in pairs for x in p))
        if any(im is not ZERO for _, im in pairs):
            raise ProgramError(f"the output {port.name!r} of {self.source.name!r} is not real")
        return replace(port, entries=tuple(re for re, _ in pairs))

    # -- statements --------------------------------------------------------------------------------
    def block(self, statements: Iterable[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Assign):
                made += self.assign(statement)
            elif isinstance(statement, Solve):
                made += self.solve(statement)
            elif isinstance(statement, Call):
                made.append(self.call(statement))
            else:
                made.append(self.loop(statement))
        return made

    def fresh(self, x: Expr, is_real: bool = False) -> Pair:
        pair = (self.namer(), ZERO if is_real else self.namer())
        self.values[x] = pair
        return pair

    def assign(self, statement: Assign) -> list[Statement]:
        value = self.pair(statement.value)
        target = self.fresh(statement.target, is_real=value[1] is ZERO)
        parts = zip(target, value, strict=True)
        return [Assign(x, v, statement.note) for x, v in parts if x is not ZERO]

    def call(self, statement: Call) -> Call:
        inner = self.calls.get(id(statement.program))
        if inner is None:
            inner = complex_pairs(statement.program, imaginary=self.imaginary)
            self.calls[id(statement.program)] = inner
        arguments = tuple(part for x in statement.arguments for part in self.pair(x))
        targets = tuple(part for x in statement.targets for part in self.fresh(x))
        return Call(inner, arguments, targets)

    def loop(self, loop: Loop) -> Loop:
        """Carry a loop over; what it carries is real where it stays so from turn to turn."""
        starts = [self.pair(c.initial) for c in loop.carried]
        arrays = [[self.pair(v) for v in s.values] for s in loop.scanned]
        reals = [im is ZERO for _, im in starts]
        while True:
            inside = [self.fresh(c.symbol, r) for c, r in zip(loop.carried, reals, strict=True)]
            read = [
                self.fresh(s.symbol, all(im is ZERO for _, im in pairs))
                for s, pairs in zip(loop.scanned, arrays, strict=True)
            ]
            outer = dict(self.values)
            body = self.block(loop.body)
            following = [self.pair(c.following) for c in loop.carried]
            stacked = [self.pair(s.value) for s in loop.stacked]
            self.values = outer
            stay = [r and im is ZERO for r, (_, im) in zip(reals, following, strict=True)]
            if stay == reals:
                break
            reals = stay
        ends = [self.fresh(c.final, r) for c, r in zip(loop.carried, reals, strict=True)]
        kept = [
            [self.fresh(x, value[1] is ZERO) for x in s.targets]
            for s, value in zip(loop.stacked, stacked, strict=True)
        ]
        carried = [
            Carried(*parts)
            for pairs in zip(inside, starts, following, ends, strict=True)
            for parts in zip(*pairs, strict=True)
            if parts[0] is not ZERO
        ]
        scanned = [
            Scanned(x, tuple(pair[k] for pair in pairs))
            for own, pairs in zip(read, arrays, strict=True)
            for k, x in enumerate(own)
            if x is not ZERO
        ]
        out = [
            Stacked(value[k], tuple(pair[k] for pair in targets))
            for value, targets in zip(stacked, kept, strict=True)
            for k in range(2)
            if targets[0][k] is not ZERO
        ]
        return Loop(loop.count, tuple(carried), tuple(scanned), tuple(out), tuple(body))

    def solve(self, statement: Solve) -> list[Statement]:
        n = statement.size
        matrix = [self.pair(x) for x in statement.matrix]
        right = [self.pair(x) for x in statement.right]
        if all(im is ZERO for _, im in (*matrix, *right)):
            targets = tuple(self.fresh(x, is_real=True)[0] for x in statement.targets)
            reals = tuple(re for re, _ in matrix), tuple(re for re, _ in right)
            return [Solve(n, *reals, targets)]
        made: list[Statement] = []

        def held(value: Expr) -> Expr:
            if value.is_atom:
                return value
            target = self.namer()
            made.append(Assign(target, value))
            return target

        def both(value: Pair) -> Pair:
            return held(value[0]), held(value[1])

        columns = len(right) // n
        rows = [
            [both(x) for x in matrix[i * n : i * n + n]]
            + [both(right[k * n + i]) for k in range(columns)]
            for i in range(n)
        ]
        pivots: list[Pair] = []
        for k in range(n):
            for i in range(k + 1, n):
                if rows[i][k] == (ZERO, ZERO):
                    continue
                larger = held(_size(rows[k][k]) < _size(rows[i][k]))
                for j in range(k, n + columns):
                    a, b = rows[k][j], rows[i][j]
                    if a is not b:
                        rows[k][j] = both(_chosen(larger, b, a))
                        rows[i][j] = both(_chosen(larger, a, b))
            pivots.append(both(_inverse(rows[k][k])))
            for i in range(k + 1, n):
                if rows[i][k] == (ZERO, ZERO):
                    continue
                factor = both(_product(rows[i][k], pivots[k]))
                for j in range(k + 1, n + columns):
                    rows[i][j] = both(_minus(rows[i][j], _product(factor, rows[k][j])))
        for c in range(columns):
            unknown: list[Pair] = [(ZERO, ZERO)] * n
            for i in reversed(range(n)):
                value = rows[i][n + c]
                for j in range(i + 1, n):
                    value = _minus(value, _product(rows[i][j], unknown[j]))
                unknown[i] = both(_product(both(value), pivots[i]))
                self.values[statement.targets[c * n + i]] = unknown[i]
        return made

    # -- expressions -------------------------------------------------------------------------------
    def pair(self, x: Expr) -> Pair:
        """Return the real and the imaginary part of an expression."""
        fill(self.values, [x], self.node)
        return self.values[x]

    def node(self, node: Expr) -> Pair:
        op = node.op
        if op == "num":
            return node, ZERO
        if op == "sym":
            raise ProgramError(f"program {self.source.name!r} reads {node} before it is defined")
        parts = [self.values[a] for a in node.args]
        if all(im is ZERO for _, im in parts):
            return rebuild(node, tuple(re for re, _ in parts)), ZERO
        if op == "sum":
            first, *factors = node.data
            return (
                linear_combination(
                    [(c, re) for c, (re, _) in zip(factors, parts, strict=True)], first
                ),
                linear_combination([(c, im) for c, (_, im) in zip(factors, parts, strict=True)], 0),
            )
        if op == "scale":
            ((re, im),) = parts
            return scaled(node.data, re), scaled(node.data, im)
        if op == "prod":
            return _power_product(parts, node.data)
        if op == "select":
            condition, yes, no = parts
            if condition[1] is ZERO:
                return _chosen(condition[0], yes, no)
        found = _ANALYTIC.get(op)
        if found is None:
            raise ProgramError(
                f"{op!r} of a complex number in {self.source.name!r} has no pair of real parts",
                remedy=f"it can have {', '.join(sorted(_ANALYTIC))}, sums, products and quotients",
            )
        return found(*parts[0])


def _power_product(parts: Sequence[Pair], exponents: Sequence[int]) -> Pair:
    """Return a product of powers, what lies below the line inverted once."""
    above: Pair | None = None
    below: Pair | None = None
    for part, exponent in sorted(
        zip(parts, exponents, strict=True), key=lambda x: x[0][1] is not ZERO
    ):
        value = _power(part, abs(exponent))
        if exponent > 0:
            above = value if above is None else _product(above, value)
        else:
            below = value if below is None else _product(below, value)
    if below is None:
        assert above is not None
        return above
    inverse = _inverse(below)
    return inverse if above is None else _product(above, inverse)


def _power(x: Pair, exponent: int) -> Pair:
    if x[1] is ZERO:
        return raised(x[0], exponent), ZERO
    if exponent == 1:
        return x
    half = _power(x, exponent // 2)
    square = (half[0] ** 2 - half[1] ** 2, 2 * half[0] * half[1])
    return _product(square, x) if exponent % 2 else square


def _product(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _minus(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def _inverse(x: Pair) -> Pair:
    if x[1] is ZERO:
        return 1 / x[0], ZERO
    scale = 1 / (x[0] ** 2 + x[1] ** 2)
    return x[0] * scale, -x[1] * scale


def _size(x: Pair) -> Expr:
    """Return a size to choose pivots by: within a factor of 1.42 the magnitude."""
    return absolute(x[0]) + absolute(x[1])


def _chosen(condition: Expr, yes: Pair, no: Pair) -> Pair:
    return where(condition, yes[0], no[0]), where(condition, yes[1], no[1])


def _quotient(a: Pair, b: Pair) -> Pair:
    return _product(a, _inverse(b))


def _sin(x: Expr, y: Expr) -> Pair:
    return sin(x) * cosh(y), cos(x) * sinh(y)


def _cos(x: Expr, y: Expr) -> Pair:
    return cos(x) * cosh(y), -sin(x) * sinh(y)


def _sinh(x: Expr, y: Expr) -> Pair:
    return sinh(x) * cos(y), cosh(x) * sin(y)


def _cosh(x: Expr, y: Expr) -> Pair:
    return cosh(x) * cos(y), sinh(x) * sin(y)


_ANALYTIC: dict[str, Callable[[Expr, Expr], Pair]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": lambda x, y: _quotient(_sin(x, y), _cos(x, y)),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": lambda x, y: _quotient(_sinh(x, y), _cosh(x, y)),
    "exp": lambda x, y: (exp(x) * cos(y), exp(x) * sin(y)),
}
