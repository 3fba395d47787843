"""Numerical evaluation of expressions with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwright.algebra.expr import Expr
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.nodes import ExprError
from linkwright.algebra.walk import postorder


def evaluate(expr: Expr, values: Mapping[Expr, Any] | None = None) -> Any:
    """Return the value of an expression; arrays as values give an array, element by element.

    >>> from linkwright.algebra import symbols
    >>> a, b = symbols("a b")
    >>> evaluate(a**2 + b, {a: np.array([1.0, 2.0]), b: 1.0})
    array([2., 5.])
    """
    return evaluate_all([expr], values)[0]


def evaluate_all(exprs: Sequence[Expr], values: Mapping[Expr, Any] | None = None) -> list[Any]:
    """Return the values of several expressions, sharing what they have in common."""
    known: dict[Expr, Any] = {}
    given = {} if values is None else values
    with np.errstate(all="ignore"):
        for node in postorder(exprs, stop=lambda x: x in given):
            known[node] = _value(node, known, given)
    return [known[x] if np.ndim(known[x]) else np.asarray(known[x]).item() for x in exprs]


def _value(node: Expr, known: Mapping[Expr, Any], given: Mapping[Expr, Any]) -> Any:
    if node in given:
        value = np.asarray(given[node])
        if value.dtype.kind in "biu":
            value = value.astype(float)
        return value[()]
    op = node.op
    if op == "num":
        return float(node.data)
    if op == "sym":
        if node.data.default is None:
            raise ExprError(f"the symbol {node.name!r} has no value; give it one")
        return float(node.data.default)
    args = [known[x] for x in node.args]
    if op == "scale":
        return -args[0] if node.data == -1 else float(node.data) * args[0]
    if op == "prod":
        result: Any = None
        for base, exponent in zip(args, node.data, strict=True):
            part = base if exponent == 1 else _power(base, exponent)
            result = part if result is None else result * part
        return result
    if op == "sum":
        result = float(node.data[0]) if node.data[0] != 0 else None
        for c, term in zip(node.data[1:], args, strict=True):
            part = term if c == 1 else float(c) * term
            result = part if result is None else result + part
        return result
    return FUNCTIONS[op].evaluate(node.data, *args)


def _power(base: Any, exponent: int) -> Any:
    """Return a whole power by repeated squaring, as the backends compute it."""
    result: Any = None
    square = base
    n = abs(exponent)
    while n:
        if n & 1:
            result = square if result is None else result * square
        n >>= 1
        if n:
            square = square * square
    return np.divide(1.0, result) if exponent < 0 else result
