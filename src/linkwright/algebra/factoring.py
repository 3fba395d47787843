"""Factoring: the same value with fewer operations, as another expression.

An expression is identified by its flat sums, so A*X + B*X**2 and X*(A + B*X) are two objects of
the same value; AUTOSIM (section 5.3) makes the second while adding. Here that is a view:
`factor` takes common factors out of sums, greedily, the factor that most terms share first. It
never expands, and it never divides by anything that is not a denominator already.

Every step lowers or keeps the operations of the expression as a tree; that a sum which
was taken apart stood elsewhere too is for the passes of a Program to weigh.

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
    product,
    split_coefficient,
)
from linkwright.algebra.numbers import Number, size
from linkwright.algebra.walk import postorder, rebuild


def gcf(a: Expr, b: Expr) -> Expr:
    """Return the greatest common factor of two expressions, 1 where they share nothing.

    >>> from linkwright.algebra import symbols
    >>> A, B, X = symbols("A B X")
    >>> gcf(A * X, B * X**2)
    X
    """
    return monomial(_common([_powers(a), _powers(b)]))


def factor(expr: Expr) -> Expr:
    """Return an expression of the same value with common factors taken out of its sums.

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
    often = [(-n, base.key, not positive, base) for (base, positive), n in counts.items() if n > 1]
    for _, _, negative, base in sorted(often, key=lambda x: x[:3]):
        sign = -1 if negative else 1
        members = [(c, powers) for c, powers in terms if powers.get(base, 0) * sign > 0]
        shared = _common([powers for _, powers in members])
        if len({size(c) for c, _ in members}) > 1:
            members = [(c, p) for c, p in members if not _would_expand(c, _quotient(p, shared))]
        if len(members) > 1:
            shared = _common([powers for _, powers in members])
            if _saving(shared, members) >= 0:
                return shared, members
    return None


def _saving(shared: _Powers, members: list[tuple[Number, _Powers]]) -> int:
    """Return how many multiplications and divisions it saves to take the common factor out."""
    before = after = 0
    for c, powers in members:
        quotient = _quotient(powers, shared)
        before += _multiplications(powers) + (size(c) != 1)
        after += _multiplications(quotient) + (size(c) != 1 and bool(quotient))
    return before - after - sum(abs(e) for e in shared.values())


def _multiplications(powers: _Powers) -> int:
    """Return the multiplications and divisions of a product; a bare denominator divides 1."""
    count = sum(abs(e) for e in powers.values())
    return count - 1 if any(e > 0 for e in powers.values()) else count


def _would_expand(c: Number, quotient: _Powers) -> bool:
    """Whether the quotient is a sum that its number would be multiplied into."""
    return size(c) != 1 and [(x.op, e) for x, e in quotient.items()] == [("sum", 1)]


def _quotient(powers: _Powers, shared: _Powers) -> _Powers:
    reduced = {base: exponent - shared.get(base, 0) for base, exponent in powers.items()}
    return {base: exponent for base, exponent in reduced.items() if exponent}
