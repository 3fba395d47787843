"""Factoring: the same value with fewer operations, as another expression.

An expression is identified by its flat sums, so A*X + B*X**2 and X*(A + B*X) are two objects of
the same value; AUTOSIM (section 5.3) makes the second while adding. Here that is a view:
`factor` takes common factors out of sums, greedily, the factor that most terms share first. It
never expands, and it never divides by anything that is not a denominator already.

Numbers are not taken out: a number times a sum is the sum of the multiples (see `expr`).
"""

from __future__ import annotations

from collections.abc import Iterable

from linkwright.algebra.expr import (
    ONE,
    Expr,
    factors,
    linear_combination,
    monomial,
    postorder,
    product,
    rebuild,
    split_coefficient,
)
from linkwright.algebra.numbers import Number


def gcf(a: Expr, b: Expr) -> Expr:
    """Return the greatest common factor of two expressions, 1 where they share nothing.

    Args:
        a: an expression; a sum counts as one factor.
        b: another one.

    >>> from linkwright.algebra import symbols
    >>> A, B, X = symbols("A B X")
    >>> gcf(A * X, B * X**2)
    X
    """
    return monomial(_common([_powers(a), _powers(b)]))


def factor(expr: Expr) -> Expr:
    """Return an expression of the same value with common factors taken out of its sums.

    Args:
        expr: any expression; it is entered to every depth.

    >>> from linkwright.algebra import symbols
    >>> A, B, X = symbols("A B X")
    >>> factor(A * X + B * X**2)
    X*(A + B*X)
    """
    return factor_all([expr])[0]


def factor_all(exprs: Iterable[Expr]) -> list[Expr]:
    """Return several expressions with common factors taken out of their sums."""
    exprs = list(exprs)
    done: dict[Expr, Expr] = {}
    for node in postorder(exprs):
        new = rebuild(node, tuple([done[x] for x in node.args])) if node.args else node
        coefficient, rest = split_coefficient(new)
        if rest.op == "sum":
            pairs = zip(rest.data[1:], rest.args, strict=True)
            shorter = _factor_sum([(c, _powers(t)) for c, t in pairs], rest.data[0])
            new = linear_combination([(coefficient, shorter)])
        done[node] = new
    return [done[x] for x in exprs]


_Powers = dict[Expr, int]


def _powers(x: Expr) -> _Powers:
    return dict(factors(split_coefficient(x)[1]))


def _common(all_powers: list[_Powers]) -> _Powers:
    """Return the powers that all have; of denominators the lesser one."""
    first, *others = all_powers
    shared = {}
    for base, exponent in first.items():
        exponents = [exponent, *[powers.get(base, 0) for powers in others]]
        if all(e > 0 for e in exponents):
            shared[base] = min(exponents)
        elif all(e < 0 for e in exponents):
            shared[base] = max(exponents)
    return shared


def _factor_sum(terms: list[tuple[Number, _Powers]], offset: Number) -> Expr:
    """Return offset + sum of the terms, in factored form.

    A group of terms with a common factor becomes factor * (sum of the quotients). Sums wait on a
    stack until the quotients in them are factored; what no group holds is added as it is.
    """
    # A frame: the common factor, terms still to be grouped, finished parts, and the constant.
    stack = [_Frame(ONE, terms, offset)]
    while True:
        frame = stack[-1]
        group = _best_group(frame.terms)
        if group is not None:
            shared, members = group
            inside = [(c, _quotient(powers, shared)) for c, powers in members]
            chosen = {id(powers) for _, powers in members}
            frame.terms = [t for t in frame.terms if id(t[1]) not in chosen]
            constants = [c for c, powers in inside if not powers]
            rest = [(c, powers) for c, powers in inside if powers]
            stack.append(_Frame(monomial(shared), rest, constants[0] if constants else 0))
            continue
        parts = [*frame.parts, *[(c, monomial(powers)) for c, powers in frame.terms]]
        result = linear_combination(parts, frame.offset)
        stack.pop()
        if not stack:
            return result
        stack[-1].parts.append((1, product((frame.factor, result))))


class _Frame:
    """A sum that is being factored."""

    __slots__ = ("factor", "offset", "parts", "terms")

    def __init__(self, factor: Expr, terms: list[tuple[Number, _Powers]], offset: Number) -> None:
        self.factor = factor
        self.terms = terms
        self.offset = offset
        self.parts: list[tuple[Number, Expr]] = []


def _best_group(
    terms: list[tuple[Number, _Powers]],
) -> tuple[_Powers, list[tuple[Number, _Powers]]] | None:
    """Return the terms that share the most frequent factor, and all that they have in common."""
    counts: dict[tuple[Expr, bool], int] = {}
    for _, powers in terms:
        for base, exponent in powers.items():
            which = base, exponent > 0
            counts[which] = counts.get(which, 0) + 1
    shared_often = [(n, which) for which, n in counts.items() if n > 1]
    if not shared_often:
        return None
    _, (base, positive) = min(shared_often, key=lambda x: (-x[0], x[1][0].key, not x[1][1]))
    members = [
        (c, powers) for c, powers in terms if base in powers and (powers[base] > 0) is positive
    ]
    return _common([powers for _, powers in members]), members


def _quotient(powers: _Powers, shared: _Powers) -> _Powers:
    reduced = {base: exponent - shared.get(base, 0) for base, exponent in powers.items()}
    return {base: exponent for base, exponent in reduced.items() if exponent}
