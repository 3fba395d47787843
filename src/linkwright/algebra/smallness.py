"""Order of smallness: terms that do not matter are dropped the moment they appear.

A symbol has an order: 1 if it is small, 0 by default, -1 if it is large. A product adds the
orders of its factors, a power multiplies, a sum has the least order of its terms. In a sum whose
least order is k, every term of order k + threshold or more is dropped: the rule is relative to
the leading term (AUTOSIM, section 5.3 and 8.1). Functions of a small argument become truncated
Taylor polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from weakref import WeakKeyDictionary

from linkwright.algebra.expr import ONE, ZERO, Expr, linear_combination
from linkwright.algebra.nodes import SMALL, ExprError
from linkwright.algebra.numbers import Number
from linkwright.algebra.walk import postorder

KEEP_ALL = 1_000_000_000
"""A threshold at which nothing is dropped, and functions of small arguments stay functions."""

_threshold: ContextVar[int] = ContextVar("linkwright_smallness_threshold", default=2)
_orders: WeakKeyDictionary[Expr, int] = WeakKeyDictionary()


@contextmanager
def smallness_threshold(threshold: int) -> Iterator[None]:
    """Keep terms up to another order while expressions are built inside the block.

    >>> from linkwright.algebra import symbol, cos
    >>> x = symbol("x", small=1)
    >>> with smallness_threshold(4):
    ...     print(cos(x))
    1 - 0.5*x**2
    """
    if threshold < 1:
        raise ExprError("the threshold of smallness is a whole number of at least 1")
    token = _threshold.set(threshold)
    try:
        yield
    finally:
        _threshold.reset(token)


@contextmanager
def terms_kept(highest: int) -> Iterator[None]:
    """Keep terms of small variables up to an order inside the block, or what is kept already.

    >>> with terms_kept(5):
    ...     current_threshold()
    6
    """
    if highest + 1 <= _threshold.get():
        yield
        return
    with smallness_threshold(highest + 1):
        yield


def current_threshold() -> int:
    """Return how many orders above the leading term a term is dropped here and now.

    >>> with smallness_threshold(6):
    ...     current_threshold()
    6
    """
    return _threshold.get()


def order(x: Expr) -> int:
    """Return the order of smallness of an expression.

    >>> from linkwright.algebra import symbol
    >>> x, k = symbol("x", small=1), symbol("k", small=-1)
    >>> order(x**2), order(k * x)
    (2, 0)
    """
    if not x.roles & SMALL:
        return 0
    known = _orders.get(x)
    if known is not None:
        return known
    for node in postorder([x], stop=lambda e: e in _orders or not e.roles & SMALL):
        if node.roles & SMALL and node not in _orders:
            _orders[node] = _node_order(node)
    return _orders[x]


def _node_order(node: Expr) -> int:
    if node.op == "sym":
        small: int = node.data.small
        return small
    orders = [order(a) for a in node.args]
    if node.op == "sum":
        return min([*orders, 0]) if node.data[0] != 0 else min(orders)
    if node.op == "prod":
        return sum(o * e for o, e in zip(orders, node.data, strict=True))
    if node.op in ("scale", "abs", "sin", "tan", "asin", "atan", "tanh"):
        return orders[0]
    if node.op == "sqrt":
        return orders[0] // 2
    if node.op in ("min", "max"):
        return min(orders)
    if node.op == "select":
        return min(orders[1:])
    if node.op == "atan2":
        return max(orders[0] - orders[1], 0)
    return 0


def drop_small_terms(
    terms: dict[Expr, Number], constant_part: Number
) -> tuple[dict[Expr, Number], Number]:
    """Return the terms and the constant of a sum without what is negligible in it."""
    orders = {term: order(term) for term in terms}
    least = min(orders.values(), default=0)
    if constant_part != 0:
        least = min(least, 0)
    limit = least + _threshold.get()
    kept = {term: c for term, c in terms.items() if orders[term] < limit}
    return kept, constant_part if limit > 0 else 0


def taylor(op: str, x: Expr) -> Expr | None:
    """Return the truncated series of a function of a small argument, None where it is not small."""
    first = order(x)
    count = _threshold.get()
    if first <= 0 or count >= KEEP_ALL:
        return None
    series = _SERIES[op]
    leading = 0 if series(0) != 0 else 1
    limit = leading * first + count
    pairs = [
        (series(k), x**k if k else ONE) for k in range(leading, limit + 1) if k * first < limit
    ]
    return linear_combination((c, p) for c, p in pairs if c != 0) if pairs else ZERO


def _alternating(k: int, parity: int) -> Fraction | int:
    return Fraction((-1) ** (k // 2), math.factorial(k)) if k % 2 == parity else 0


def _tangent(k: int) -> Fraction | int:
    """Return the coefficients of tan from tan' = 1 + tan**2."""
    coefficients: list[Fraction] = [Fraction(0), Fraction(1)]
    for n in range(2, k + 1):
        square = sum(
            (coefficients[i] * coefficients[n - 1 - i] for i in range(n)), start=Fraction(0)
        )
        coefficients.append(square / n)
    return coefficients[k]


def _arcsine(k: int) -> Fraction | int:
    if k % 2 == 0:
        return 0
    n = (k - 1) // 2
    return Fraction(math.factorial(2 * n), 4**n * math.factorial(n) ** 2 * k)


_SERIES: dict[str, Callable[[int], Fraction | int]] = {
    "sin": lambda k: _alternating(k, 1),
    "cos": lambda k: _alternating(k, 0),
    "tan": _tangent,
    "asin": _arcsine,
    "atan": lambda k: Fraction((-1) ** (k // 2), k) if k % 2 else 0,
    "tanh": lambda k: (-1) ** (k // 2) * _tangent(k),
    "exp": lambda k: Fraction(1, math.factorial(k)),
}
