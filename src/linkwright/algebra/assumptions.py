"""What is known of the sign of an expression, from what symbols promise.

Nothing is assumed of a parameter that is not declared: masses may be zero, lengths negative.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from linkwright.algebra.expr import ONE, Expr, factors, product, raised, split_coefficient
from linkwright.algebra.walk import postorder

# Bits: the value is never negative; the value is never zero.
_NONNEGATIVE = 1
_NONZERO = 2
_bits: WeakKeyDictionary[Expr, int] = WeakKeyDictionary()


def is_positive(x: Expr) -> bool:
    """Whether x > 0 follows from the declarations.

    >>> from linkwright.algebra import symbol
    >>> m = symbol("m", sign="positive")
    >>> is_positive(2 * m + m**2), is_positive(m - 1)
    (True, False)
    """
    return _known(x) == _NONNEGATIVE | _NONZERO


def is_nonnegative(x: Expr) -> bool:
    """Whether x >= 0 follows from the declarations."""
    return bool(_known(x) & _NONNEGATIVE)


def is_nonzero(x: Expr) -> bool:
    """Whether x != 0 follows from the declarations."""
    return bool(_known(x) & _NONZERO)


def common_positive_factor(a: Expr, b: Expr) -> Expr:
    """Return the product of the positive factors that both expressions have."""
    in_b = dict(factors(split_coefficient(b)[1]))
    shared = [
        raised(base, min(exponent, in_b[base]))
        for base, exponent in factors(split_coefficient(a)[1])
        if base in in_b and exponent > 0 and in_b[base] > 0 and is_positive(base)
    ]
    return product(shared) if shared else ONE


def _known(x: Expr) -> int:
    for node in postorder([x], stop=lambda e: e in _bits):
        if node not in _bits:
            _bits[node] = _node_bits(node, [_bits[a] for a in node.args])
    return _bits[x]


def _node_bits(node: Expr, of: list[int]) -> int:
    op = node.op
    both = _NONNEGATIVE | _NONZERO
    if op == "num":
        return (_NONNEGATIVE if node.data >= 0 else 0) | (_NONZERO if node.data != 0 else 0)
    if op == "sym":
        return {"positive": both, "nonzero": _NONZERO}.get(node.data.sign, 0)
    if op == "scale":
        return of[0] & _NONZERO | (of[0] & _NONNEGATIVE if node.data > 0 else 0)
    if op == "prod":
        bits = both
        for known, exponent in zip(of, node.data, strict=True):
            bits &= known | (_NONNEGATIVE if exponent % 2 == 0 else 0)
        return bits
    if op == "sum":
        offset = node.data[0]
        if offset < 0 or not all(
            b & _NONNEGATIVE and c > 0 for b, c in zip(of, node.data[1:], strict=True)
        ):
            return 0
        return _NONNEGATIVE | (_NONZERO if offset > 0 or any(b & _NONZERO for b in of) else 0)
    if op in ("exp", "pi"):
        return both
    if op == "sqrt":
        return _NONNEGATIVE | of[0] & _NONZERO
    if op == "abs":
        return _NONNEGATIVE | of[0] & _NONZERO
    if op in ("min", "max"):
        combined = both
        for known in of:
            combined &= known
        return combined
    if op == "select":
        return of[1] & of[2]
    return 0
