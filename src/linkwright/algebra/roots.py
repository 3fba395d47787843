"""Square roots inside a product: sqrt(x)**2 is x, whatever else the product holds.

A product is a point of a lattice of exponents, in which sqrt(x)**2 and x are the same. Every
product is first brought to the one representative whose roots have the exponent 0 or 1; from
there a root takes the exponent -1 where all of x is in the denominator already. The result
depends only on the value of the product: 1/sqrt(x), sqrt(x)/x and x/sqrt(x)**3 are the same object.
"""

from __future__ import annotations

from linkwright.algebra.expr import Expr, factors, split_coefficient


def merge_roots(exponents: dict[Expr, int]) -> tuple[int, dict[Expr, int]]:
    """Return the sign and the canonical exponents of a product that holds square roots."""
    roots = [base for base in exponents if base.op == "sqrt"]
    if len(roots) == 1 and abs(exponents[roots[0]]) == 1:
        inside = split_coefficient(roots[0].args[0])[1]
        if not any(base in exponents or base.op == "sqrt" for base, _ in factors(inside)):
            return 1, exponents
    merged = dict(exponents)
    sign = 1
    pending = list(roots)
    while pending:
        root = pending.pop()
        pending += [b for b, _ in _inside(root) if b.op == "sqrt"]
        sign *= _move_out(merged, root, merged.get(root, 0) // 2)
    found = [base for base in merged if base.op == "sqrt"]
    for root in sorted(found, key=lambda x: (-_nesting(x), x.key)):
        exponent = merged[root]
        sign *= _move_out(merged, root, exponent // 2)
        if exponent % 2 and _is_denominator(merged, root):
            sign *= _move_out(merged, root, 1)
    return sign, {base: exponent for base, exponent in merged.items() if exponent}


def _inside(root: Expr) -> tuple[tuple[Expr, int], ...]:
    return factors(split_coefficient(root.args[0])[1])


def _move_out(exponents: dict[Expr, int], root: Expr, pairs: int) -> int:
    """Replace root**(2*pairs) by what is under the root, and return the sign of that."""
    if pairs == 0:
        return 1
    exponents[root] = exponents.get(root, 0) - 2 * pairs
    for base, exponent in _inside(root):
        exponents[base] = exponents.get(base, 0) + exponent * pairs
    return -1 if pairs % 2 and split_coefficient(root.args[0])[0] < 0 else 1


def _is_denominator(exponents: dict[Expr, int], root: Expr) -> bool:
    """Whether 1/sqrt(x) is shorter than sqrt(x)/x, with all of x in the denominator already."""
    inside = _inside(root)
    if any(exponents.get(b, 0) >= 0 for b, e in inside if e > 0):
        return False
    now = sum(abs(exponents.get(b, 0)) for b, _ in inside)
    then = sum(abs(exponents.get(b, 0) + e) for b, e in inside)
    return then < now


def _nesting(root: Expr) -> int:
    """Return how many square roots are stacked as factors of each other."""
    depth, level = 0, {root}
    while level:
        depth += 1
        level = {b for x in level for b, _ in _inside(x) if b.op == "sqrt"}
    return depth
