"""Squared sines and cosines inside a sum: sin(x)**2 + cos(x)**2 is 1, whatever factor they share.

A sum is a point of a vector space of monomials, in which R*sin(x)**2 + R*cos(x)**2 and R are the
same for every R. To make the result depend only on that point, and not on the order in which
terms came, the terms that share R are first written in cos(x)**2 alone, and then, angle by
angle, in the shorter of sines and cosines. The rules of AUTOSIM's make-sum (section 5.3) follow:
sin**2 + cos**2 becomes 1, 1 - sin**2 becomes cos**2, 1 - cos**2 becomes sin**2, inside larger
sums and with common factors.

A factor R that is itself a sum has lost its name in the sum that it is added to. It is looked for
term by term, and taken out where that makes the sum shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TypeAlias

from linkwright.algebra.expr import (
    ONE,
    Expr,
    collect,
    factors,
    function_node,
    monomial,
    product,
    raised,
)
from linkwright.algebra.numbers import Number, plus, size, times

# Whole powers (of sin**2, of cos**2) for each angle, in the order of the angles.
_Powers: TypeAlias = tuple[tuple[Expr, int, int], ...]
_Class: TypeAlias = dict[_Powers, Number]

# A monomial with more squared sines than this is left alone: writing it in cosines doubles the
# terms for each of them.
_MOST_SINES = 8


def merge_squares(
    terms: Mapping[Expr, Number], offset: Number
) -> tuple[dict[Expr, Number], Number]:
    """Return the terms and the constant of a sum after the identities."""
    classes: dict[Expr, _Class] = {}
    plain: dict[Expr, Number] = dict(terms)
    if offset != 0:
        plain[ONE] = offset
    for term in terms:
        rest, powers = _split(term)
        if powers and sum(i for _, i, _ in powers) <= _MOST_SINES:
            classes.setdefault(rest, {})[powers] = plain.pop(term)
    ordered = sorted(classes, key=lambda x: x.key)
    in_cosines = {rest: _in_cosines(classes[rest]) for rest in ordered}
    for rest in ordered:
        if rest.op == "sum":
            _accumulate(plain, rest, in_cosines[rest].pop((), 0))
    for rest in ordered:
        if rest.op == "sum":
            _merge_under_sum(plain, rest, in_cosines[rest])
        elif len(classes[rest]) == 1 and rest not in plain:
            ((powers, c),) = classes[rest].items()
            _add(plain, _join(rest, powers), c)
        else:
            whole = dict(in_cosines[rest])
            whole[()] = plus(whole.get((), 0), plain.pop(rest, 0))
            for powers, c in _shortest(whole).items():
                _add(plain, _join(rest, powers), c)
    offset = plain.pop(ONE, 0)
    return {term: c for term, c in plain.items() if c != 0}, offset


def _split(term: Expr) -> tuple[Expr, _Powers]:
    """Return the term without its squared sines and cosines, and those."""
    sines: dict[Expr, int] = {}
    cosines: dict[Expr, int] = {}
    for base, exponent in factors(term):
        if exponent > 1 and base.op in ("sin", "cos"):
            (sines if base.op == "sin" else cosines)[base.args[0]] = exponent // 2
    if not sines and not cosines:
        return term, ()
    rest = dict(factors(term))
    for op, squares in (("sin", sines), ("cos", cosines)):
        for angle, n in squares.items():
            rest[function_node(op, (angle,))] -= 2 * n
    angles = sorted({*sines, *cosines}, key=lambda x: x.key)
    return monomial(rest), tuple((x, sines.get(x, 0), cosines.get(x, 0)) for x in angles)


def _join(rest: Expr, powers: _Powers) -> Expr:
    parts = [rest]
    for angle, i, j in powers:
        if i:
            parts.append(raised(function_node("sin", (angle,)), 2 * i))
        if j:
            parts.append(raised(function_node("cos", (angle,)), 2 * j))
    return product(parts)


def _put(result: _Class, powers: _Powers, c: Number) -> None:
    c = plus(result.get(powers, 0), c)
    if c == 0:
        result.pop(powers, None)
    else:
        result[powers] = c


def _in_cosines(terms: _Class) -> _Class:
    """Return the polynomial with every sin**2 written as 1 - cos**2."""
    result: _Class = {}
    for powers, c in terms.items():
        expanded: list[tuple[_Powers, Number]] = [((), c)]
        for angle, i, j in powers:
            expanded = [
                ((*head, (angle, 0, j + k)) if j + k else head, times(d, (-1) ** k * comb(i, k)))
                for head, d in expanded
                for k in range(i + 1)
            ]
        for new, d in expanded:
            _put(result, new, d)
    return result


def _shortest(terms: _Class) -> _Class:
    """Return a polynomial in cos**2, angle by angle in the shorter of sines and cosines."""
    angles = sorted({angle for powers in terms for angle, _, _ in powers}, key=lambda x: x.key)
    for angle in angles:
        grouped: dict[_Powers, dict[int, Number]] = {}
        for powers, c in terms.items():
            others = tuple(p for p in powers if p[0] is not angle)
            degree = sum(j for x, _, j in powers if x is angle)
            grouped.setdefault(others, {})[degree] = c
        terms = {}
        for others, polynomial in grouped.items():
            for (i, j), c in _one_angle(polynomial).items():
                new = (*others, (angle, i, j)) if i or j else others
                terms[tuple(sorted(new, key=lambda p: p[0].key))] = c
    return terms


def _one_angle(polynomial: dict[int, Number]) -> dict[tuple[int, int], Number]:
    """Return a polynomial in y = cos**2 as coefficients of (sin**2)**i * (cos**2)**j."""
    p: list[Number] = [polynomial.get(k, 0) for k in range(max(polynomial) + 1)]
    sines = cosines = 0
    while len(p) > 1 and p[0] == 0:
        p = p[1:]
        cosines += 1
    while len(p) > 1 and _total(p) == 0:
        # Division by 1 - y: the partial sums of the coefficients.
        p = [_total(p[: k + 1]) for k in range(len(p) - 1)]
        sines += 1
    swapped: list[Number] = [0] * len(p)  # the same polynomial in 1 - y
    for k, c in enumerate(p):
        for m in range(k + 1):
            swapped[m] = plus(swapped[m], times(c, (-1) ** m * comb(k, m)))
    sizes = [sum(c != 0 for c in p), sum(c != 0 for c in swapped)]
    if sizes[1] < sizes[0] or (sizes[1] == sizes[0] and size(swapped[0]) <= size(p[0])):
        return {(sines + k, cosines): c for k, c in enumerate(swapped) if c != 0}
    return {(sines, cosines + k): c for k, c in enumerate(p) if c != 0}


def _total(values: list[Number]) -> Number:
    result: Number = 0
    for value in values:
        result = plus(result, value)
    return result


def _add(plain: dict[Expr, Number], term: Expr, c: Number) -> None:
    """Add a term to those that are there: a sum that was opened before may have brought it."""
    plain[term] = plus(plain.get(term, 0), c)


def _accumulate(plain: dict[Expr, Number], x: Expr, c: Number) -> None:
    """Add c*x to the terms, where x may be a sum."""
    if c == 0:
        return
    offset = collect(x, c, plain)
    if offset != 0:
        plain[ONE] = plus(plain.get(ONE, 0), offset)
    for term in [term for term, value in plain.items() if value == 0]:
        del plain[term]


def _merge_under_sum(plain: dict[Expr, Number], rest: Expr, terms: _Class) -> None:
    """Add rest*terms to the plain terms, with as much of `rest` taken out of them as is shorter."""
    choices: list[tuple[tuple[int, Number, int], dict[Expr, Number], _Class]] = []
    for inside in dict.fromkeys((0, times(-1, _total(list(terms.values()))))):
        remaining = dict(plain)
        _accumulate(remaining, rest, times(-1, inside))
        whole = {**terms, (): inside} if inside != 0 else terms
        short = _shortest(whole)
        _accumulate(remaining, rest, short.pop((), 0))
        weight = _total([size(c) for c in (*remaining.values(), *short.values())])
        choices.append(((len(remaining) + len(short), weight, len(choices)), remaining, short))
    _, remaining, short = min(choices, key=lambda choice: choice[0])
    plain.clear()
    plain.update(remaining)
    for powers, c in short.items():
        _add(plain, _join(rest, powers), c)
