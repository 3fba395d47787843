"""The registry of functions: each with its rules, derivative and evaluation.

A function is one record and one call of `register`. A `WrittenFunction` is written by others:
what it is applied to becomes that expression, so that everything that knows these knows it too. A
`Function` is a node of its own. Its `simplify` rule brings
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

from linkwright.algebra.expr import ZERO, Expr, function_node
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
        numpy: its name in NumPy, where that is another one.
        word: its name in formulas, where that is another one.
        rises: whether its value never falls where an argument grows.
    """

    name: str
    arity: int | None
    simplify: Callable[[Args, Any], Expr | None]
    partial: Callable[[Args, Any, int], Expr]
    evaluate: Callable[..., Any]
    column: str = "call"
    tangent: Callable[[Args, Any, Args], Expr] | None = None
    numpy: str = ""
    word: str = ""
    rises: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "numpy", self.numpy or self.name)
        object.__setattr__(self, "word", self.word or self.name)


@dataclass(frozen=True, slots=True)
class WrittenFunction:
    """A function of scalars that is written by others.

    Args:
        name: its spelling in text models.
        arity: number of arguments; None for one or more.
        value: arguments to the expression that stands for it.
    """

    name: str
    arity: int | None
    value: Callable[..., Expr]


FUNCTIONS: dict[str, Function] = {}
WRITTEN_FUNCTIONS: dict[str, WrittenFunction] = {}
SPELLING = {"select": "where"}
TRUTH_VALUED = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})
"""Functions whose value is true or false, 1 or 0."""


def register(function: Function | WrittenFunction) -> None:
    """Make a function known to the algebra, its language and printers, and the backends."""
    if function.name in FUNCTIONS or function.name in WRITTEN_FUNCTIONS:
        raise ExprError(f"a function {function.name!r} is registered already; choose another name")
    if isinstance(function, WrittenFunction):
        WRITTEN_FUNCTIONS[function.name] = function
    else:
        FUNCTIONS[function.name] = function


def flat(args: Args, data: Any, i: int) -> Expr:
    """Return the partial derivative of what is flat wherever it has one: zero."""
    return ZERO


def is_flat(op: str) -> bool:
    """Whether the derivatives of a function vanish wherever they exist."""
    return op in FUNCTIONS and FUNCTIONS[op].partial is flat


def apply(op: str, args: Args, data: Any = None) -> Expr:
    """Return the simplified application of a registered function.

    >>> from linkwright.algebra import constant
    >>> apply("cos", (constant(0),))
    1
    """
    function = FUNCTIONS.get(op) or WRITTEN_FUNCTIONS.get(op)
    if function is None:
        known = sorted([*FUNCTIONS, *WRITTEN_FUNCTIONS])
        raise ExprError(f"unknown function {op!r}; known are {', '.join(known)}")
    if len(args) != function.arity and (function.arity is not None or not args):
        wanted = "one or more" if function.arity is None else function.arity
        raise ExprError(f"{op} takes {wanted} argument(s), not {len(args)}")
    if isinstance(function, WrittenFunction):
        return function.value(*args)
    simpler = function.simplify(args, data)
    return function_node(op, args, data) if simpler is None else simpler
