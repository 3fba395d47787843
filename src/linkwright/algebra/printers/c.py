"""Expressions as C99.

Every constant is a `double` literal that reads back to the same bits; every product has at most one
division; small powers are multiplied out the way `evaluate` does it. A comparison is a condition
inside a condition, and 1.0 or 0.0 where a number is wanted.

What C99 does not have is a call of a helper. `C_HELPERS` holds the definitions that a file needs;
tables and foreign functions are called by their own name, which the file must define.

===============================  ==========================================================
in the expression                in C
===============================  ==========================================================
``sign(x)``                      ``lw_sign(x)``
``(a + b)**2``, ``(a + b)**5``   ``lw_square(a + b)``, ``lw_power(a + b, 5)``
table `tire`, its derivative     ``tire(x)``, ``tire___p(x)``
derivatives of a table of two    ``lift___1_0(x, y)``
foreign function `f`             ``f(x, y)``
output 1 of several of `f`       ``f___1(x, y)``
===============================  ==========================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from linkwright.algebra.expr import Expr, postorder, scaled
from linkwright.algebra.numbers import Number
from linkwright.algebra.printers.layout import (
    AND,
    ATOM,
    COMPARE,
    COMPARISONS,
    NOT,
    OR,
    PRODUCT,
    SUM,
    TERNARY,
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
from linkwright.algebra.printers.names import c_identifier

Names = Callable[[Expr], str]

C_FUNCTIONS = {
    name: name
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "tanh")
} | {"abs": "fabs", "pow": "pow", "sign": "lw_sign", "floor": "floor"}

C_HELPERS: dict[str, str] = {
    "lw_sign": """static double lw_sign(double x)
{
    return (x > 0.0) ? 1.0 : ((x < 0.0) ? -1.0 : x);
}
""",
    "lw_square": """static double lw_square(double x)
{
    return x*x;
}
""",
    "lw_power": """static double lw_power(double x, long long n)
{
    double result = 1.0;
    while (n > 0) {
        if (n % 2 == 1) {
            result *= x;
        }
        x *= x;
        n /= 2;
    }
    return result;
}
""",
}

_CALL = re.compile(r"\b(lw_\w+)\(")


def symbol_name(symbol: Expr) -> str:
    """Return the identifier of a symbol in C, made from its name alone."""
    return c_identifier(symbol.name)


def called_name(node: Expr) -> str:
    """Return the identifier in C of the function that a table or foreign node calls.

    A foreign function has its own name; see `names` for what becomes of the other spellings.
    """
    name = data_name(node)
    foreign = node.op == "foreign" and node.data.function.outputs == 1
    return name if foreign else c_identifier(name)


def c_source(expr: Expr, names: Names = symbol_name, calls: Names = called_name) -> str:
    """Return the expression as C99 source.

    >>> from linkwright.algebra import where, symbols
    >>> a, b, c, d = symbols("a b c d")
    >>> print(c_source(a**2 * b / (3 * c * d) - 1))
    0.3333333333333333*(a*a)*b/(c*d) - 1.0
    >>> print(c_source(where(a < b, 1, c)))
    (a < b) ? 1.0 : c
    """
    return emit(expr, lambda x, condition: _row(x, condition, names, calls))


def c_helpers(sources: Iterable[str]) -> list[str]:
    """Return the definitions of the helpers that are called in some sources, in a fixed order.

    >>> len(c_helpers(["lw_sign(x)", "x + 1.0"]))
    1
    """
    called: set[str] = set()
    for source in sources:
        called.update(_CALL.findall(source))
    return [definition for name, definition in C_HELPERS.items() if name in called]


def c_literal(value: Number) -> str:
    """Return a constant as a `double` literal.

    >>> c_literal(2), c_literal(1e-9)
    ('2.0', '1e-09')
    """
    value = float(value)
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def named_nodes(*exprs: Expr) -> list[Expr]:
    """Return the nodes that call a table or a foreign function, in order of first use."""
    return [x for x in postorder(exprs) if x.op in ("table1", "table2", "foreign")]


def _row(x: Expr, condition: bool, names: Names, calls: Names) -> Row:
    if x.op in TRUTH_VALUED:
        if condition:
            return _condition(x)
        return TERNARY, [Hole(x, ATOM, True), " ? 1.0 : 0.0"]
    if condition:
        return COMPARE, [Hole(x, SUM), " != 0.0"]
    return _value(x, names, calls)


def _condition(x: Expr) -> Row:
    op, args = x.op, x.args
    if op in COMPARISONS:
        return COMPARE, [Hole(args[0], SUM), f" {COMPARISONS[op]} ", Hole(args[1], SUM)]
    if op == "not":
        return NOT, ["!", Hole(args[0], ATOM, True)]
    symbol = " && " if op == "and" else " || "
    return AND if op == "and" else OR, [
        Hole(args[0], COMPARE, True),
        symbol,
        Hole(args[1], COMPARE, True),
    ]


def _value(x: Expr, names: Names, calls: Names) -> Row:
    op, args = x.op, x.args
    if op == "sym":
        return ATOM, [names(x)]
    if op == "num":
        return SUM if x.data < 0 else ATOM, [c_literal(x.data)]
    if is_sum(x):
        return sum_row(x, lambda c, t: Hole(scaled(c, t), PRODUCT), c_literal)
    if op == "scale" or op == "prod":
        return quotient_row(x, c_literal, _power)
    if op == "select":
        return TERNARY, [Hole(args[0], ATOM, True), " ? ", Hole(args[1], OR), " : ", Hole(args[2])]
    if op == "min" or op == "max":
        return folded_call_row("f" + op, args)
    if op == "pi":
        return ATOM, [repr(math.pi)]
    if x.data is not None:
        return call_row(calls(x), args)
    return call_row(C_FUNCTIONS[op], args)


def _power(base: Expr, exponent: int) -> tuple[bool, list[Piece]]:
    if exponent == 1:
        return False, [Hole(base, ATOM)]
    if base.op == "sym" and exponent <= 3:
        factor = Hole(base, ATOM)
        return True, separated([factor] * exponent, "*")
    if exponent == 2:
        return False, ["lw_square(", Hole(base), ")"]
    return False, ["lw_power(", Hole(base), f", {exponent})"]
