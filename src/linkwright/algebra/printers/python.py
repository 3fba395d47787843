"""Expressions as Python with NumPy, which works on numbers and arrays alike.

The text uses the name `np` and the names of the symbols only; tables and foreign functions are
called by their own name.
"""

from __future__ import annotations

import math

from linkwright.algebra.expr import Expr, scaled
from linkwright.algebra.numbers import Number
from linkwright.algebra.printers.c import Names
from linkwright.algebra.printers.layout import (
    ATOM,
    COMPARE,
    COMPARISONS,
    POWER,
    PRODUCT,
    SUM,
    TRUTH_VALUED,
    Hole,
    Piece,
    Row,
    call_row,
    data_name,
    emit,
    folded_call_row,
    is_sum,
    quotient_row,
    separated,
    sum_row,
)
from linkwright.algebra.printers.names import python_identifier

PYTHON_FUNCTIONS = {
    "sin": "np.sin",
    "cos": "np.cos",
    "tan": "np.tan",
    "asin": "np.arcsin",
    "acos": "np.arccos",
    "atan": "np.arctan",
    "atan2": "np.arctan2",
    "sqrt": "np.sqrt",
    "exp": "np.exp",
    "log": "np.log",
    "tanh": "np.tanh",
    "pow": "np.power",
    "abs": "np.abs",
    "sign": "np.sign",
    "floor": "np.floor",
}
_LOGIC = {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}


def symbol_name(symbol: Expr) -> str:
    """Return the identifier of a symbol in Python, made from its name alone."""
    return python_identifier(symbol.name)


def called_name(node: Expr) -> str:
    """Return the identifier in Python of the function that a table or foreign node calls.

    A foreign function has its own name; see `names` for what becomes of the other spellings.
    """
    name = data_name(node)
    foreign = node.op == "foreign" and node.data.function.outputs == 1
    return name if foreign else python_identifier(name)


def python_source(expr: Expr, names: Names = symbol_name, calls: Names = called_name) -> str:
    """Return the expression as Python source over the names `np` and those of the symbols.

    >>> from linkwright.algebra import cos, where, symbols
    >>> a, b, c = symbols("a b c")
    >>> print(python_source(a**2 * cos(b) / c))
    a*a*np.cos(b)/c
    >>> print(python_source(where(a < b, 1, c)))
    np.where(a < b, 1.0, c)
    """
    return emit(expr, lambda x, condition: _row(x, condition, names, calls))


def python_literal(value: Number) -> str:
    """Return a constant as a literal of a Python float.

    >>> python_literal(2)
    '2.0'
    """
    value = float(value)
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _row(x: Expr, condition: bool, names: Names, calls: Names) -> Row:
    if x.op in TRUTH_VALUED:
        if condition:
            return _condition(x)
        return ATOM, ["np.where(", Hole(x, condition=True), ", 1.0, 0.0)"]
    if condition:
        return COMPARE, [Hole(x, SUM), " != 0.0"]
    return _value(x, names, calls)


def _condition(x: Expr) -> Row:
    op, args = x.op, x.args
    if op in COMPARISONS:
        return COMPARE, [Hole(args[0], SUM), f" {COMPARISONS[op]} ", Hole(args[1], SUM)]
    pieces: list[Piece] = [f"{_LOGIC[op]}(", Hole(args[0], condition=True)]
    if len(args) == 2:
        pieces += [", ", Hole(args[1], condition=True)]
    return ATOM, [*pieces, ")"]


def _value(x: Expr, names: Names, calls: Names) -> Row:
    op, args = x.op, x.args
    if op == "sym":
        return ATOM, [names(x)]
    if op == "num":
        return SUM if x.data < 0 else ATOM, [python_literal(x.data)]
    if is_sum(x):
        return sum_row(x, lambda c, t: Hole(scaled(c, t), PRODUCT), python_literal)
    if op == "scale" or op == "prod":
        return quotient_row(x, python_literal, _power)
    if op == "select":
        condition = Hole(args[0], condition=True)
        return ATOM, ["np.where(", condition, ", ", Hole(args[1]), ", ", Hole(args[2]), ")"]
    if op == "min" or op == "max":
        return folded_call_row(f"np.{op}imum", args)
    if op == "pi":
        return ATOM, ["np.pi"]
    if x.data is not None:
        return call_row(calls(x), args)
    return call_row(PYTHON_FUNCTIONS[op], args)


def _power(base: Expr, exponent: int) -> tuple[bool, list[Piece]]:
    if exponent == 1:
        return False, [Hole(base, POWER)]
    if base.op == "sym" and exponent <= 3:
        factor = Hole(base, ATOM)
        return True, separated([factor] * exponent, "*")
    if exponent == 2:
        return False, ["np.square(", Hole(base), ")"]
    return False, [Hole(base, ATOM), f"**{exponent}"]
