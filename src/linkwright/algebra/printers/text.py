"""Expressions as text in the spelling of the expression language, which reads them again."""

from __future__ import annotations

import math
from fractions import Fraction

from linkwright.algebra.expr import Expr, scaled
from linkwright.algebra.functions.registry import SPELLING
from linkwright.algebra.numbers import Number, number_text
from linkwright.algebra.printers.layout import (
    AND,
    ATOM,
    COMPARE,
    COMPARISONS,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SUM,
    Hole,
    Piece,
    Row,
    call_row,
    data_name,
    emit,
    is_sum,
    magnitude,
    quotient,
    separated,
    sum_row,
)
from linkwright.algebra.spelling import quoted


def text(expr: Expr, *, limit: int | None = None) -> str:
    """Return the expression as text in the spelling of the expression language.

    >>> from linkwright.algebra import sin, symbols
    >>> a, b, c, d = symbols("a b c d")
    >>> print(text(a * b / (c * d) - sin(a) / 3))
    a*b/(c*d) - sin(a)/3
    >>> print(text(2 * (b - a) ** 2, limit=5))
    2*(a …
    """
    return emit(expr, _row, limit=limit)


def _row(x: Expr, condition: bool) -> Row:
    op = x.op
    if op == "sym":
        return ATOM, [quoted(x.name)]
    if op == "num":
        return _number(x.data)
    if is_sum(x):
        return sum_row(x, lambda c, t: Hole(scaled(c, t), PRODUCT), _literal)
    if op == "scale" or op == "prod":
        return _product(x)
    return _function(x)


def _literal(value: Number) -> str:
    return "inf" if value == math.inf else number_text(value)


def _number(value: Number) -> Row:
    if value < 0:
        return SUM, ["-", _literal(-value)]
    exact = isinstance(value, Fraction) and value.denominator & (value.denominator - 1)
    return PRODUCT if exact else ATOM, [_literal(value)]


def _product(x: Expr) -> Row:
    coefficient, over, under = quotient(x)
    size = magnitude(coefficient)
    above = [_power(*factor) for factor in over]
    below = [_power(*factor) for factor in under]
    divisor: list[Piece] = []
    if isinstance(size, Fraction) and size.denominator & (size.denominator - 1):
        divisor = [str(size.denominator)]
        size = size.numerator
    if size != 1 or not above:
        above.insert(0, [_literal(size)])
    pieces: list[Piece] = ["-"] if coefficient < 0 else []
    pieces += _chain(above)
    if divisor and len(under) == 1 and under[0][0].op == "sum":
        pieces += ["/", *divisor]  # read inside the parentheses it would multiply the sum out
    elif divisor:
        below.insert(0, divisor)
    if below:
        pieces += ["/", *_chain(below)] if len(below) == 1 else ["/(", *_chain(below), ")"]
    return SUM if coefficient < 0 else PRODUCT, pieces


def _power(base: Expr, exponent: int) -> list[Piece]:
    return [Hole(base, POWER)] if exponent == 1 else [Hole(base, ATOM), f"**{exponent}"]


def _chain(rows: list[list[Piece]]) -> list[Piece]:
    pieces: list[Piece] = []
    for row in rows:
        pieces += ["*", *row] if pieces else row
    return pieces


def _function(x: Expr) -> Row:
    op, args = x.op, x.args
    if op in COMPARISONS:
        return COMPARE, [Hole(args[0], SUM), f" {COMPARISONS[op]} ", Hole(args[1], SUM)]
    if op == "and" or op == "or":
        level = AND if op == "and" else OR
        return level, [Hole(args[0], level), f" {op} ", Hole(args[1], level + 1)]
    if op == "not":
        return NOT, ["not ", Hole(args[0], NOT)]
    if op == "pow":
        return POWER, [Hole(args[0], ATOM), "**", Hole(args[1], ATOM)]
    if op == "pi":
        return ATOM, ["pi"]
    if x.data is not None:
        return _named(x)
    return call_row(SPELLING.get(op, op), args)


def _named(x: Expr) -> Row:
    """Return the call of a table or a foreign function, which the scope of the text must know."""
    from linkwright.algebra.language.standard import standard_functions

    name = data_name(x)
    holes: list[Piece] = [Hole(a) for a in x.args]
    if name in standard_functions():
        return ATOM, ["func(", *separated([quoted(name), *holes], ", "), ")"]
    return ATOM, [f"{quoted(name)}(", *separated(holes, ", "), ")"]
