"""The walk and the splitting that every printer shares.

A printer says, for one node, which strings and which arguments stand in a row, and how tightly the
row binds. `emit` strings these rows together with an explicit stack, so that depth does not matter,
and puts parentheses only where an argument binds less tightly than its place asks for.

A text shows an expression as a tree: what is shared is written as often as it is used. Programs,
not printers, give names to shared values; `limit` cuts a text that would grow out of hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from linkwright.algebra.expr import Expr, factors, split_coefficient
from linkwright.algebra.numbers import Number, times
from linkwright.algebra.walk import postorder

# How tightly a row binds, from the loosest; the same ladder serves all four languages.
TERNARY = 0
OR = 1
AND = 2
NOT = 3
COMPARE = 4
SUM = 5
PRODUCT = 6
POWER = 7
ATOM = 8

COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


class Hole(NamedTuple):
    """A place for an argument: it gets parentheses where it binds less tightly than `level`."""

    expr: Expr
    level: int = TERNARY
    condition: bool = False


Piece: TypeAlias = str | Hole
Row: TypeAlias = tuple[int, Sequence[Piece]]


def emit(
    root: Expr,
    row: Callable[[Expr, bool], Row],
    *,
    brackets: tuple[str, str] = ("(", ")"),
    limit: int | None = None,
) -> str:
    """Return the text of an expression."""
    opening, closing = brackets
    out: list[str] = []
    length = 0
    stack: list[Piece] = [Hole(root)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            length += len(piece)
            if limit is not None and length > limit:
                return "".join(out)[:limit] + "…"
            continue
        level, pieces = row(piece.expr, piece.condition)
        if level < piece.level:
            out.append(opening)
            stack.append(closing)
        stack.extend(reversed(pieces))
    return "".join(out)


def reading_order(x: Expr) -> tuple[int, tuple[int, ...], str]:
    """Return what factors and terms are sorted by: rank and names first, never a digest.

    Pi stands with the numbers. Symbols stand before functions and functions before sums, each
    group by the names in it. Where this does not decide, the canonical order does.
    """
    if x.op == "pi":
        return 0, (), ""
    return x.key >> 60, tuple([a.key >> 60 for a in x.args]), x.op


def tree_size(root: Expr) -> int:
    """Return how many nodes an expression has when it is written as a tree.

    >>> from linkwright.algebra import sin, symbols
    >>> (a,) = symbols("a")
    >>> tree_size(a + sin(a))
    4
    """
    sizes: dict[Expr, int] = {}
    for x in postorder([root]):
        sizes[x] = 1 + sum([sizes[a] for a in x.args])
    return sizes[root]


class Quotient(NamedTuple):
    """coefficient * over / under, each side a list of bases with positive exponents."""

    coefficient: Number
    over: list[tuple[Expr, int]]
    under: list[tuple[Expr, int]]


def quotient(x: Expr) -> Quotient:
    """Return any expression as a coefficient and the two sides of a fraction bar."""
    coefficient, rest = split_coefficient(x)
    powers = sorted(factors(rest), key=lambda power: reading_order(power[0]))
    return Quotient(
        coefficient,
        [(base, exponent) for base, exponent in powers if exponent > 0],
        [(base, -exponent) for base, exponent in powers if exponent < 0],
    )


def magnitude(value: Number) -> Number:
    """Return a constant without its sign."""
    return -value if value < 0 else value


def is_sum(x: Expr) -> bool:
    """Whether x prints as a sum: it is one, or the negative of one."""
    return x.op == "sum" or (x.op == "scale" and x.data == -1 and x.args[0].op == "sum")


def signed_terms(x: Expr) -> list[tuple[Number, Expr | None]]:
    """Return the terms of a sum, or of its negative, as `(coefficient, term)` in printing order.

    The constant has the term None. A positive constant stands first and a negative one last; a text
    starts with a minus sign only where every term is negative.
    """
    negated = x.op == "scale"
    if negated:
        x = x.args[0]
    sign = -1 if negated else 1
    offset = times(sign, x.data[0])
    terms: list[tuple[Number, Expr | None]] = [
        (times(sign, c), t)
        for c, t in sorted(
            zip(x.data[1:], x.args, strict=True), key=lambda pair: reading_order(pair[1])
        )
    ]
    if offset > 0:
        return [(offset, None), *terms]
    if offset < 0:
        terms.append((offset, None))
    first = next((i for i, (c, _) in enumerate(terms) if c > 0), 0)
    return [terms[first], *terms[:first], *terms[first + 1 :]]


def sum_row(
    x: Expr, scale: Callable[[Number, Expr], Piece], literal: Callable[[Number], str]
) -> Row:
    """Return the row of a sum."""
    pieces: list[Piece] = []
    for c, term in signed_terms(x):
        if c < 0:
            pieces.append(" - " if pieces else "-")
        elif pieces:
            pieces.append(" + ")
        size = magnitude(c)
        pieces.append(literal(size) if term is None else scale(size, term))
    return SUM, pieces


def separated(holes: Sequence[Piece], separator: str) -> list[Piece]:
    """Return the pieces with a separator between them."""
    pieces: list[Piece] = []
    for hole in holes:
        if pieces:
            pieces.append(separator)
        pieces.append(hole)
    return pieces


def data_name(x: Expr) -> str:
    """Return what a node of a table or foreign function calls, as the expression language names it.

    The derivative of a table has a prime, `tire'`, or in two dimensions the orders, `lift[1,0]`; an
    output of a foreign function that has several has its number, `solver[1]`.
    """
    data = x.data
    name: str = data.name
    if x.op == "table1":
        primes: str = "'" * data.order
        return name + primes
    if x.op == "table2" and any(data.orders):
        return f"{name}[{data.orders[0]},{data.orders[1]}]"
    if x.op == "foreign" and data.function.outputs > 1:
        return f"{name}[{data.output}]"
    return name


def call_row(name: str, args: Sequence[Expr]) -> Row:
    """Return the row of a function call."""
    return ATOM, [f"{name}(", *separated([Hole(x) for x in args], ", "), ")"]
