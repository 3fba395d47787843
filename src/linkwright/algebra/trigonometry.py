"""Merging of squared sines and cosines inside a sum.

c*F*sin(x)**2 + c*F*cos(x)**2 becomes c*F; c*F - c*F*sin(x)**2 becomes c*F*cos(x)**2 and the other way
round, whatever the common factor F (AUTOSIM, section 5.3, rules of make-sum). Only sums that hold a
squared sine or cosine come here.
"""

from __future__ import annotations

from linkwright.algebra.expr import (
    ONE,
    Expr,
    factors,
    function_node,
    linear_combination,
    mul,
    product,
    raised,
)
from linkwright.algebra.numbers import Number, plus, times


def merge_squares(terms: dict[Expr, Number], constant_part: Number) -> Expr | None:
    """Return the simplified sum, or None where no identity applies.

    Args:
        terms: coefficient of each monomial.
        constant_part: the constant of the sum.
    """
    known = dict(terms)
    if constant_part != 0:
        known[ONE] = constant_part
    for term in sorted(terms, key=lambda x: x.key):
        for base, exponent in factors(term):
            if exponent < 2 or base.op not in ("sin", "cos"):
                continue
            replaced = _merge_one(known, term, base)
            if replaced is not None:
                return linear_combination((c, x) for x, c in replaced.items())
    return None


def _merge_one(known: dict[Expr, Number], term: Expr, base: Expr) -> dict[Expr, Number] | None:
    other = function_node("cos" if base.op == "sin" else "sin", base.args)
    rest = product((term, raised(base, -2)))
    partner = mul(rest, raised(other, 2))
    coefficient = known[term]
    if known.get(partner) == coefficient:
        new = {x: c for x, c in known.items() if x is not term and x is not partner}
        new[rest] = plus(new.get(rest, 0), coefficient)
        return new
    if known.get(rest) == times(-1, coefficient):
        new = {x: c for x, c in known.items() if x is not term and x is not rest}
        new[partner] = plus(new.get(partner, 0), times(-1, coefficient))
        return new
    return None
