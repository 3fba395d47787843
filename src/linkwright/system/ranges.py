"""Between which bounds an expression stays while one symbol goes through an interval.

Interval arithmetic (Moore 1966) on expressions: the bounds are expressions themselves, of the ends
of the interval and of all other symbols. They are safe, up to rounding, but not always narrow.
"""

from __future__ import annotations

from linkwright.algebra import (
    ONE,
    PI,
    ZERO,
    Expr,
    Lookup1D,
    absolute,
    as_expr,
    free_symbols,
    maximum,
    minimum,
    postorder,
    where,
)
from linkwright.algebra.functions import FUNCTIONS, TRUTH_VALUED
from linkwright.algebra.walk import rebuild

HUGE = 1e100
"""What stands for infinity: at poles, and where a table goes on without end."""
_TINY = 1e-300
_FIXED: dict[str, tuple[Expr, Expr]] = {
    **dict.fromkeys(("sin", "cos"), (as_expr(-1), ONE)),
    **dict.fromkeys(TRUTH_VALUED, (ZERO, ONE)),
    "acos": (ZERO, PI),
    "atan2": (-PI, PI),
}
_LEAST = {"sqrt": 0.0, "log": _TINY}
Range = tuple[Expr, Expr]


def expr_range(
    expr: Expr, moving: Expr, low: Expr, high: Expr, *, narrow: bool = False
) -> Range | None:
    """Return bounds of an expression while a symbol is between two values; None if unknown.

    Example:
        >>> from linkwright.algebra import sin, symbols
        >>> a, t = symbols("a t")
        >>> expr_range(2 * sin(a * t) + 5, t, t, t + 1)
        (3, 7)
    """
    known: dict[Expr, Range | None] = {}
    for node in postorder([expr]):
        if node is moving:
            known[node] = (low, high)
        elif moving not in free_symbols(node):
            known[node] = (node, node)
        else:
            parts = [known[x] for x in node.args]
            found = [x for x in parts if x is not None]
            known[node] = _of_node(node, found) if len(found) == len(parts) else None
            if narrow and node.op in ("sin", "cos") and len(found) == len(parts):
                known[node] = _near(node, *found[0])
    return known[expr]


def _of_node(node: Expr, of: list[Range]) -> Range | None:
    op, data = node.op, node.data
    if op in _FIXED:
        return _FIXED[op]
    if op == "scale":
        return _scaled(data, of[0])
    if op == "sum":
        parts = [_scaled(c, x) for c, x in zip(data[1:], of, strict=True)]
        low, high = (sum((x[i] for x in parts), as_expr(data[0])) for i in range(2))
        return low, high
    if op == "prod":
        result = (ONE, ONE)
        for base, exponent in zip(of, data, strict=True):
            result = _times(result, _power(base, exponent))
        return result
    if op == "abs":
        return _size(of[0])
    if op == "select":
        return minimum(of[1][0], of[2][0]), maximum(of[1][1], of[2][1])
    if op == "table1":
        return _of_table(data)
    if op == "pow" and of[1][0] is of[1][1]:
        ends = [rebuild(node, (maximum(x, _TINY), of[1][0])) for x in of[0]]
        return minimum(*ends), maximum(*ends)
    if op in FUNCTIONS and FUNCTIONS[op].rises:
        least = _LEAST.get(op)
        low, high = (
            rebuild(node, tuple(x[i] if least is None else maximum(x[i], least) for x in of))
            for i in range(2)
        )
        return low, high
    return None


def _near(node: Expr, low: Expr, high: Expr) -> Range:
    """Return bounds of a sine or cosine, which moves by no more than its argument."""
    middle, half = rebuild(node, (0.5 * (low + high),)), 0.5 * (high - low)
    return maximum(middle - half, -1), minimum(middle + half, 1)


def _scaled(factor: float, x: Range) -> Range:
    low, high = factor * x[0], factor * x[1]
    return (low, high) if factor > 0 else (high, low)


def _times(a: Range, b: Range) -> Range:
    if a == (ONE, ONE):
        return b
    corners = [x * y for x in dict.fromkeys(a) for y in dict.fromkeys(b)]
    return minimum(*corners), maximum(*corners)


def _size(x: Range) -> Range:
    low, high = x
    if low is high:
        return absolute(low), absolute(low)
    ends = absolute(low), absolute(high)
    return where(low * high > 0, minimum(*ends), 0), maximum(*ends)


def _power(x: Range, exponent: int) -> Range:
    low, high = _size(x) if exponent % 2 == 0 else x
    if exponent > 0:
        return low**exponent, high**exponent
    apart = where(low > 0, 1, where(high < 0, 1, 0)) > 0
    low, high = (1 / where(apart, y, 1) ** -exponent for y in (high, low))
    return where(apart, low, -HUGE), where(apart, high, HUGE)


def _of_table(table: Lookup1D) -> Range:
    """Return bounds of all pieces of a table; it has none where it goes on with a slope."""
    x, pieces = table.breakpoints, table.coefficients
    most = 0.0
    for i, (piece, origin) in enumerate(zip(pieces, table.origins, strict=True)):
        ends = x[max(i - 1, 0)], x[min(i, len(x) - 1)]
        far = max(abs(end - origin) for end in ends) if 0 < i < len(x) else HUGE
        most = max(most, sum(abs(c) * far**k for k, c in enumerate(piece) if c != 0.0))
    bound = as_expr(float(min(most, HUGE)))
    return -bound, bound
