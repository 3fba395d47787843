"""The registry of functions: each with its rules, derivative and evaluation.

A function is one `Function` record and one call of `register`. Its `simplify` rule brings
arguments into canonical form (AUTOSIM, section 5.3: fold numbers, use parity, cancel inverse
pairs) or returns None where nothing is to be done. Rules hold for every real argument in the
domain: `sin(asin(x))` is x, but `asin(sin(x))` stays, because it is x only between -pi/2 and
pi/2.

Comparisons and logical functions have the value 1 or 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwright.algebra.expr import Expr, function_node
from linkwright.algebra.nodes import ExprError

Args = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of scalars.

    Args:
        name: the operator's name, also its spelling in text models but for `SPELLING`.
        arity: number of arguments; None for one or more.
        simplify: arguments and data to a simpler expression, or None to keep the node.
        partial: arguments, data and index to the partial derivative by that argument.
        evaluate: data and argument arrays to the value, with NumPy.
        column: where it is counted: "call", "mul" (like sqrt) or "select".
        tangent: arguments, data and their rates to the rate of the value, where that is not the sum
            of partial derivatives times rates: a selection selects between rates, because 0 times
            the infinite rate of a branch that is not taken would be nan.
    """

    name: str
    arity: int | None
    simplify: Callable[[Args, Any], Expr | None]
    partial: Callable[[Args, Any, int], Expr]
    evaluate: Callable[..., Any]
    column: str = "call"
    tangent: Callable[[Args, Any, Args], Expr] | None = None


FUNCTIONS: dict[str, Function] = {}
SPELLING = {"select": "where"}


def register(function: Function) -> None:
    """Make a function known to the algebra, its printers and the backends."""
    if FUNCTIONS.setdefault(function.name, function) is not function:
        raise ExprError(f"a function {function.name!r} is registered already; choose another name")


def apply(op: str, args: Args, data: Any = None) -> Expr:
    """Return the simplified application of a registered function.

    >>> from linkwright.algebra import constant
    >>> apply("cos", (constant(0),))
    1
    """
    function = FUNCTIONS.get(op)
    if function is None:
        raise ExprError(f"unknown function {op!r}; known are {', '.join(sorted(FUNCTIONS))}")
    if len(args) != function.arity and (function.arity is not None or not args):
        wanted = "one or more" if function.arity is None else function.arity
        raise ExprError(f"{op} takes {wanted} argument(s), not {len(args)}")
    simpler = function.simplify(args, data)
    return function_node(op, args, data) if simpler is None else simpler
