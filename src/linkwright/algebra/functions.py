"""The functions that may occur in an expression, each with its rules, derivative and evaluation.

A function is one `Function` record and one call of `register`. Its `simplify` rule brings
arguments into canonical form (AUTOSIM, section 5.3: fold numbers, use parity, cancel inverse
pairs) or returns None where nothing is to be done. Rules hold for every real argument in the
domain: `sin(asin(x))` is x, but `asin(sin(x))` stays, because it is x only between -pi/2 and
pi/2.

Comparisons and logical functions have the value 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from linkwright.algebra.expr import (
    MINUS_ONE,
    ONE,
    SMALL,
    ZERO,
    Expr,
    ExprError,
    Scalar,
    as_expr,
    constant,
    factors,
    function_node,
    product,
    raised,
    scaled,
    split_coefficient,
    sum_terms,
)
from linkwright.algebra.numbers import number, power

Args = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of scalars.

    Args:
        name: the operator's name, also its spelling in text models.
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


def register(function: Function) -> None:
    """Make a function known to the algebra, its printers and the backends.

    Args:
        function: the record; its name must be new.
    """
    if FUNCTIONS.setdefault(function.name, function) is not function:
        raise ExprError(f"a function {function.name!r} is registered already; choose another name")


def apply(op: str, args: Args, data: Any = None) -> Expr:
    """Return the simplified application of a registered function.

    Args:
        op: the function's name.
        args: its arguments.
        data: what belongs to the node itself (a table, a foreign function), else None.

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


# -- pi --------------------------------------------------------------------------------------------
def _keep(args: Args, data: Any) -> Expr | None:
    return None


register(Function("pi", 0, _keep, lambda args, data, i: ZERO, lambda data: math.pi))
PI = apply("pi", ())


def _pi_multiple(x: Expr) -> Fraction | None:
    """Return r where x is exactly r*pi."""
    coefficient, rest = split_coefficient(x)
    if rest is PI and not isinstance(coefficient, float):
        return Fraction(coefficient)
    return Fraction(0) if x is ZERO else None


def _quarter_turns(x: Expr) -> tuple[int, Expr]:
    """Return k modulo 4 and the rest where x = k*pi/2 + rest."""
    if x.op == "sum" or (x.op == "scale" and x.args[0].op == "sum"):
        for coefficient, term in sum_terms(x)[1]:
            twice = coefficient * 2
            if term is PI and not isinstance(coefficient, float) and twice == int(twice):
                return int(twice) % 4, x - scaled(coefficient, PI)
    return 0, x


# -- trigonometric functions -----------------------------------------------------------------------
_EXACT_SINES = {
    Fraction(0): ZERO,
    Fraction(1, 6): constant(Fraction(1, 2)),
    Fraction(1, 2): ONE,
    Fraction(5, 6): constant(Fraction(1, 2)),
    Fraction(1): ZERO,
    Fraction(7, 6): constant(Fraction(-1, 2)),
    Fraction(3, 2): MINUS_ONE,
    Fraction(11, 6): constant(Fraction(-1, 2)),
}


def _is_negated(x: Expr) -> bool:
    return x.op == "scale" and x.data < 0


def _taylor(op: str, x: Expr) -> Expr | None:
    if x.roles & SMALL:
        from linkwright.algebra.smallness import taylor

        return taylor(op, x)
    return None


def _simplify_sin(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x.op == "num":
        return ZERO if x is ZERO else constant(math.sin(x.data))
    if _is_negated(x):
        return scaled(-1, sin(scaled(-1, x)))
    turns = _pi_multiple(x)
    if turns is not None:
        return _EXACT_SINES.get(turns % 2)
    quarters, rest = _quarter_turns(x)
    if quarters:
        return (sin, cos, lambda y: -sin(y), lambda y: -cos(y))[quarters](rest)
    if rest is not x:
        return sin(rest)
    if x.op == "asin":
        return x.args[0]
    if x.op == "acos":
        return sqrt(1 - x.args[0] ** 2)
    return _taylor("sin", x)


def _simplify_cos(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x.op == "num":
        return ONE if x is ZERO else constant(math.cos(x.data))
    if _is_negated(x):
        return cos(scaled(-1, x))
    turns = _pi_multiple(x)
    if turns is not None:
        return _EXACT_SINES.get((turns + Fraction(1, 2)) % 2)
    quarters, rest = _quarter_turns(x)
    if quarters:
        return (cos, lambda y: -sin(y), lambda y: -cos(y), sin)[quarters](rest)
    if rest is not x:
        return cos(rest)
    if x.op == "acos":
        return x.args[0]
    if x.op == "asin":
        return sqrt(1 - x.args[0] ** 2)
    return _taylor("cos", x)


def _simplify_tan(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x.op == "num":
        return ZERO if x is ZERO else constant(math.tan(x.data))
    if _is_negated(x):
        return scaled(-1, tan(scaled(-1, x)))
    turns = _pi_multiple(x)
    if turns is not None and turns.denominator == 1:
        return ZERO
    if x.op == "atan":
        return x.args[0]
    return _taylor("tan", x)


def _fold(name: str, compute: Callable[..., float], args: Args) -> Expr | None:
    """Return the value of a function of numbers, or None where an argument is not a number."""
    if any(x.op != "num" for x in args):
        return None
    try:
        value = compute(*[float(x.data) for x in args])
    except (ValueError, OverflowError, ZeroDivisionError):
        text = ", ".join(str(x) for x in args)
        raise ExprError(f"{name}({text}) has no real value") from None
    return constant(value)


def _simplify_odd(name: str, compute: Callable[..., float]) -> Callable[[Args, Any], Expr | None]:
    def simplify(args: Args, data: Any) -> Expr | None:
        (x,) = args
        if x is ZERO:
            return ZERO
        if x.op == "num":
            return _fold(name, compute, args)
        if _is_negated(x):
            return scaled(-1, apply(name, (scaled(-1, x),)))
        return _taylor(name, x)

    return simplify


def _simplify_acos(args: Args, data: Any) -> Expr | None:
    return ZERO if args[0] is ONE else _fold("acos", math.acos, args)


def _simplify_atan2(args: Args, data: Any) -> Expr | None:
    from linkwright.algebra.assumptions import common_positive_factor, is_positive

    y, x = args
    if y.op == "num" and x.op == "num":
        if y is ZERO and x.data > 0:
            return ZERO
        if y is ZERO and x.data < 0:
            return PI
        return _fold("atan2", math.atan2, args)
    if y is ZERO and is_positive(x):
        return ZERO
    shared = common_positive_factor(y, x)
    if shared is not ONE:
        return atan2(y / shared, x / shared)
    common = abs(split_coefficient(y)[0])
    if common != 1 and common == abs(split_coefficient(x)[0]):
        return atan2(scaled(power(number(common), -1), y), scaled(power(number(common), -1), x))
    if (y.roles | x.roles) & SMALL and is_positive(x):
        return _taylor("atan", y / x)
    return None


# -- roots, exponentials ---------------------------------------------------------------------------
def _simplify_sqrt(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x.op == "num":
        if x.data < 0:
            raise ExprError(f"sqrt({x}) has no real value")
        return _exact_root(x)
    coefficient, rest = split_coefficient(x)
    if abs(coefficient) != 1:
        outside = _exact_root(constant(number(abs(coefficient))))
        return scaled(outside.data, sqrt(rest if coefficient > 0 else scaled(-1, rest)))
    if coefficient == 1 and rest.op == "prod" and all(e % 2 == 0 for e in rest.data):
        return product([raised(absolute(b), e // 2) for b, e in factors(rest)])
    return None


def _exact_root(x: Expr) -> Expr:
    value = x.data
    if isinstance(value, float):
        return constant(math.sqrt(value))
    exact = Fraction(value)
    top, bottom = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
    if top * top == exact.numerator and bottom * bottom == exact.denominator:
        return constant(Fraction(top, bottom))
    return constant(math.sqrt(value))


def _simplify_exp(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x is ZERO:
        return ONE
    if x.op == "log":
        return x.args[0]
    return _fold("exp", math.exp, args) if x.op == "num" else _taylor("exp", x)


def _simplify_log(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x is ONE:
        return ZERO
    if x.op == "exp":
        return x.args[0]
    return _fold("log", math.log, args)


def _simplify_pow(args: Args, data: Any) -> Expr | None:
    base, exponent = args
    if exponent.op == "num":
        value = exponent.data
        if isinstance(value, int):
            return raised(base, value)
        if value == Fraction(1, 2):
            return sqrt(base)
        if value == Fraction(-1, 2):
            return raised(sqrt(base), -1)
    if base is ONE:
        return ONE
    return _fold("pow", math.pow, args)


# -- absolute value, sign, minimum, maximum --------------------------------------------------------
def _simplify_abs(args: Args, data: Any) -> Expr | None:
    from linkwright.algebra.assumptions import is_nonnegative

    (x,) = args
    if x.op == "num":
        return constant(abs(x.data))
    coefficient, rest = split_coefficient(x)
    if coefficient != 1:
        return scaled(number(abs(coefficient)), absolute(rest))
    if is_nonnegative(x):
        return x
    if x.op == "prod" and all(e % 2 == 0 for e in x.data):
        return x
    return x if x.op == "abs" else None


def _simplify_sign(args: Args, data: Any) -> Expr | None:
    from linkwright.algebra.assumptions import is_positive

    (x,) = args
    if x.op == "num":
        return constant((x.data > 0) - (x.data < 0))
    coefficient, rest = split_coefficient(x)
    if coefficient != 1:
        return scaled(1 if coefficient > 0 else -1, sign(rest))
    return ONE if is_positive(x) else None


def _simplify_extremum(name: str, choose: Callable[..., Any]) -> Callable[[Args, Any], Expr | None]:
    def simplify(args: Args, data: Any) -> Expr | None:
        flat: dict[Expr, None] = {}
        bound: Any = None
        for x in args:
            for part in x.args if x.op == name else (x,):
                if part.op == "num":
                    bound = part.data if bound is None else choose(bound, part.data)
                else:
                    flat[part] = None
        ordered = sorted(flat, key=lambda x: x.key)
        if bound is not None:
            ordered.insert(0, constant(bound))
        if len(ordered) == 1:
            return ordered[0]
        return None if tuple(ordered) == args else function_node(name, tuple(ordered))

    return simplify


def _extremum_partial(name: str) -> Callable[[Args, Any, int], Expr]:
    """Return the derivative: 1 where this argument is the chosen one, the first of equals."""

    def partial(args: Args, data: Any, i: int) -> Expr:
        result: Expr = ONE
        x = args[i]
        for j, other in enumerate(args):
            if j == i:
                continue
            wins = (
                (x < other if j < i else x <= other)
                if name == "min"
                else (x > other if j < i else x >= other)
            )
            result = select(wins, result, ZERO)
        return result

    return partial


# -- comparisons, logic, selection -----------------------------------------------------------------
def _simplify_comparison(
    holds: Callable[[Any, Any], bool], same: Expr | None
) -> Callable[[Args, Any], Expr | None]:
    def simplify(args: Args, data: Any) -> Expr | None:
        a, b = args
        if a.op == "num" and b.op == "num":
            return ONE if holds(a.data, b.data) else ZERO
        return same if a is b else None

    return simplify


def _simplify_symmetric(
    name: str, holds: Callable[[Any, Any], bool]
) -> Callable[[Args, Any], Expr | None]:
    def simplify(args: Args, data: Any) -> Expr | None:
        a, b = args
        if a.op == "num" and b.op == "num":
            return ONE if holds(a.data, b.data) else ZERO
        return function_node(name, (b, a)) if b.key < a.key else None

    return simplify


_TRUTH_VALUED = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})


def _truth(x: Expr) -> Expr:
    """Return x as a truth value: x != 0 unless it is one already."""
    if x.op == "num":
        return ONE if x.data != 0 else ZERO
    return x if x.op in _TRUTH_VALUED else apply("ne", (x, ZERO))


def _simplify_logic(
    name: str, neutral: Expr, absorbing: Expr
) -> Callable[[Args, Any], Expr | None]:
    def simplify(args: Args, data: Any) -> Expr | None:
        a, b = _truth(args[0]), _truth(args[1])
        if a is absorbing or b is absorbing:
            return absorbing
        if a is neutral or a is b:
            return b
        if b is neutral:
            return a
        if b.key < a.key:
            a, b = b, a
        return None if (a, b) == args else function_node(name, (a, b))

    return simplify


def _simplify_not(args: Args, data: Any) -> Expr | None:
    x = _truth(args[0])
    if x.op == "num":
        return ZERO if x is ONE else ONE
    if x.op == "not":
        return x.args[0]
    if x.op == "eq":
        return function_node("ne", x.args)
    if x.op == "ne":
        return function_node("eq", x.args)
    return None if x is args[0] else function_node("not", (x,))


def _simplify_select(args: Args, data: Any) -> Expr | None:
    condition, yes, no = args
    truth = _truth(condition)
    if truth.op == "num":
        return yes if truth is ONE else no
    if yes is no:
        return yes
    if truth.op == "not":
        return select(truth.args[0], no, yes)
    return None if truth is condition else function_node("select", (truth, yes, no))


def _zero(args: Args, data: Any, i: int) -> Expr:
    return ZERO


def _unary(derivative: Callable[[Expr], Expr]) -> Callable[[Args, Any, int], Expr]:
    return lambda args, data, i: derivative(args[0])


def _atan2_partial(args: Args, data: Any, i: int) -> Expr:
    y, x = args
    scale = raised(x**2 + y**2, -1)
    return x * scale if i == 0 else -(y * scale)


def _pow_partial(args: Args, data: Any, i: int) -> Expr:
    base, exponent = args
    if i == 0:
        return exponent * apply("pow", (base, exponent - 1))
    return apply("pow", args) * log(base)


def _select_partial(args: Args, data: Any, i: int) -> Expr:
    if i == 0:
        return ZERO
    return select(args[0], ONE, ZERO) if i == 1 else select(args[0], ZERO, ONE)


def _select_tangent(args: Args, data: Any, rates: Args) -> Expr:
    return select(args[0], rates[1], rates[2])


def _extremum_tangent(name: str) -> Callable[[Args, Any, Args], Expr]:
    """Return the rate of the argument that is chosen, the first of equals."""

    def tangent(args: Args, data: Any, rates: Args) -> Expr:
        best, rate = args[0], rates[0]
        for x, its_rate in zip(args[1:], rates[1:], strict=True):
            rate = select(x < best if name == "min" else x > best, its_rate, rate)
            best = apply(name, (best, x))
        return rate

    return tangent


def _truth_value(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, a, b: np.where(compare(a, b), 1.0, 0.0)


for _record in (
    Function("sin", 1, _simplify_sin, _unary(lambda x: cos(x)), lambda d, x: np.sin(x)),
    Function("cos", 1, _simplify_cos, _unary(lambda x: -sin(x)), lambda d, x: np.cos(x)),
    Function("tan", 1, _simplify_tan, _unary(lambda x: 1 + tan(x) ** 2), lambda d, x: np.tan(x)),
    Function(
        "asin",
        1,
        _simplify_odd("asin", math.asin),
        _unary(lambda x: 1 / sqrt(1 - x**2)),
        lambda d, x: np.arcsin(x),
    ),
    Function(
        "acos", 1, _simplify_acos, _unary(lambda x: -1 / sqrt(1 - x**2)), lambda d, x: np.arccos(x)
    ),
    Function(
        "atan",
        1,
        _simplify_odd("atan", math.atan),
        _unary(lambda x: 1 / (1 + x**2)),
        lambda d, x: np.arctan(x),
    ),
    Function("atan2", 2, _simplify_atan2, _atan2_partial, lambda d, y, x: np.arctan2(y, x)),
    Function(
        "sqrt",
        1,
        _simplify_sqrt,
        _unary(lambda x: 1 / (2 * sqrt(x))),
        lambda d, x: np.sqrt(x),
        "mul",
    ),
    Function("exp", 1, _simplify_exp, _unary(lambda x: exp(x)), lambda d, x: np.exp(x)),
    Function("log", 1, _simplify_log, _unary(lambda x: 1 / x), lambda d, x: np.log(x)),
    Function("pow", 2, _simplify_pow, _pow_partial, lambda d, x, y: np.power(x, y)),
    Function("abs", 1, _simplify_abs, _unary(lambda x: sign(x)), lambda d, x: np.abs(x), "select"),
    Function("sign", 1, _simplify_sign, _zero, lambda d, x: np.sign(x), "select"),
    Function(
        "min",
        None,
        _simplify_extremum("min", min),
        _extremum_partial("min"),
        lambda d, *x: np.minimum.reduce(np.broadcast_arrays(*x)),
        "select",
        _extremum_tangent("min"),
    ),
    Function(
        "max",
        None,
        _simplify_extremum("max", max),
        _extremum_partial("max"),
        lambda d, *x: np.maximum.reduce(np.broadcast_arrays(*x)),
        "select",
        _extremum_tangent("max"),
    ),
    Function(
        "lt",
        2,
        _simplify_comparison(lambda a, b: bool(a < b), ZERO),
        _zero,
        _truth_value(np.less),
        "select",
    ),
    Function(
        "le",
        2,
        _simplify_comparison(lambda a, b: bool(a <= b), None),
        _zero,
        _truth_value(np.less_equal),
        "select",
    ),
    Function(
        "eq",
        2,
        _simplify_symmetric("eq", lambda a, b: bool(a == b)),
        _zero,
        _truth_value(np.equal),
        "select",
    ),
    Function(
        "ne",
        2,
        _simplify_symmetric("ne", lambda a, b: bool(a != b)),
        _zero,
        _truth_value(np.not_equal),
        "select",
    ),
    Function(
        "and", 2, _simplify_logic("and", ONE, ZERO), _zero, _truth_value(np.logical_and), "select"
    ),
    Function(
        "or", 2, _simplify_logic("or", ZERO, ONE), _zero, _truth_value(np.logical_or), "select"
    ),
    Function(
        "not", 1, _simplify_not, _zero, lambda d, x: np.where(np.equal(x, 0), 1.0, 0.0), "select"
    ),
    Function(
        "select",
        3,
        _simplify_select,
        _select_partial,
        lambda d, c, a, b: np.where(np.not_equal(c, 0), a, b),
        "select",
        _select_tangent,
    ),
):
    register(_record)


# -- the spelling people use -----------------------------------------------------------------------
def sin(x: Scalar) -> Expr:
    """Return the sine of an angle in rad.

    Args:
        x: the angle in rad.

    >>> sin(PI / 6), sin(-PI)
    (0.5, 0)
    """
    return apply("sin", (as_expr(x),))


def cos(x: Scalar) -> Expr:
    """Return the cosine of an angle in rad.

    Args:
        x: the angle in rad.

    >>> cos(0), cos(PI)
    (1, -1)
    """
    return apply("cos", (as_expr(x),))


def tan(x: Scalar) -> Expr:
    """Return the tangent of an angle in rad.

    Args:
        x: the angle in rad.

    >>> tan(0), tan(PI)
    (0, 0)
    """
    return apply("tan", (as_expr(x),))


def asin(x: Scalar) -> Expr:
    """Return the angle in rad between -pi/2 and pi/2 whose sine is x.

    Args:
        x: a number between -1 and 1.

    >>> asin(0)
    0
    """
    return apply("asin", (as_expr(x),))


def acos(x: Scalar) -> Expr:
    """Return the angle in rad between 0 and pi whose cosine is x.

    Args:
        x: a number between -1 and 1.

    >>> acos(1)
    0
    """
    return apply("acos", (as_expr(x),))


def atan(x: Scalar) -> Expr:
    """Return the angle in rad between -pi/2 and pi/2 whose tangent is x.

    Args:
        x: any number.

    >>> atan(0)
    0
    """
    return apply("atan", (as_expr(x),))


def atan2(y: Scalar, x: Scalar) -> Expr:
    """Return the angle in rad of the point (x, y), between -pi and pi.

    Args:
        y: the ordinate.
        x: the abscissa.

    >>> atan2(0, -1)
    pi
    """
    return apply("atan2", (as_expr(y), as_expr(x)))


def sqrt(x: Scalar) -> Expr:
    """Return the square root.

    Args:
        x: a number that is not negative.

    >>> sqrt(9), sqrt(constant(9) / 4)
    (3, 1.5)
    """
    return apply("sqrt", (as_expr(x),))


def exp(x: Scalar) -> Expr:
    """Return e to the power x.

    Args:
        x: the exponent.

    >>> exp(0)
    1
    """
    return apply("exp", (as_expr(x),))


def log(x: Scalar) -> Expr:
    """Return the natural logarithm.

    Args:
        x: a positive number.

    >>> log(1), log(exp(PI))
    (0, pi)
    """
    return apply("log", (as_expr(x),))


def absolute(x: Scalar) -> Expr:
    """Return the absolute value.

    Args:
        x: any number.

    >>> absolute(-3)
    3
    """
    return apply("abs", (as_expr(x),))


def sign(x: Scalar) -> Expr:
    """Return 1, 0 or -1 by the sign of x.

    Args:
        x: any number.

    >>> sign(-3), sign(0)
    (-1, 0)
    """
    return apply("sign", (as_expr(x),))


def minimum(*values: Scalar) -> Expr:
    """Return the smallest of the values.

    Args:
        values: one or more.

    >>> minimum(3, 1, 2)
    1
    """
    return apply("min", tuple(as_expr(x) for x in values))


def maximum(*values: Scalar) -> Expr:
    """Return the largest of the values.

    Args:
        values: one or more.

    >>> maximum(3, 1, 2)
    3
    """
    return apply("max", tuple(as_expr(x) for x in values))


def equal(a: Scalar, b: Scalar) -> Expr:
    """Return 1 where a equals b, else 0 (`==` on expressions asks for identity).

    Args:
        a: one value.
        b: the other.

    >>> equal(1, 1), equal(1, 2)
    (1, 0)
    """
    return apply("eq", (as_expr(a), as_expr(b)))


def different(a: Scalar, b: Scalar) -> Expr:
    """Return 1 where a differs from b, else 0.

    Args:
        a: one value.
        b: the other.

    >>> different(1, 1), different(1, 2)
    (0, 1)
    """
    return apply("ne", (as_expr(a), as_expr(b)))


def select(condition: Scalar, yes: Scalar, no: Scalar) -> Expr:
    """Return `yes` where the condition holds, else `no`.

    Args:
        condition: a comparison, or any expression that counts as true where it is not 0.
        yes: the value where it holds.
        no: the value elsewhere.

    >>> from linkwright.algebra import symbols
    >>> (x,) = symbols("x")
    >>> select(x > 0, x, 0)
    select(0 < x, x, 0)
    """
    return apply("select", (as_expr(condition), as_expr(yes), as_expr(no)))
