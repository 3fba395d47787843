"""Smooth functions: trigonometric and inverse ones, roots, exponentials, powers, and pi."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from linkwright.algebra.expr import (
    MINUS_ONE,
    ONE,
    ZERO,
    Expr,
    constant,
    factors,
    product,
    raised,
    scaled,
    split_coefficient,
    sum_terms,
)
from linkwright.algebra.functions.calls import (
    absolute,
    atan2,
    cos,
    cosh,
    exp,
    log,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from linkwright.algebra.functions.registry import (
    Args,
    Function,
    WrittenFunction,
    apply,
    flat,
    register,
)
from linkwright.algebra.nodes import SMALL, ExprError
from linkwright.algebra.numbers import number, power


# -- pi --------------------------------------------------------------------------------------------
def _keep(args: Args, data: Any) -> Expr | None:
    return None


register(Function("pi", 0, _keep, flat, lambda data: math.pi))
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


def _simplify_wave(name: str, ahead: int) -> Callable[[Args, Any], Expr | None]:
    """Return the rule of the sine, or of the cosine, which is a quarter of a turn ahead."""
    inverses = ("asin", "acos") if name == "sin" else ("acos", "asin")

    def simplify(args: Args, data: Any) -> Expr | None:
        (x,) = args
        if x.op == "num":
            exact = x is ZERO
            return (ONE if ahead else ZERO) if exact else constant(getattr(math, name)(x.data))
        if _is_negated(x):
            return scaled(1 if ahead else -1, apply(name, (scaled(-1, x),)))
        turns = _pi_multiple(x)
        if turns is not None:
            return _EXACT_SINES.get((turns + Fraction(ahead, 2)) % 2)
        quarters, rest = _quarter_turns(x)
        if quarters:
            waves = (sin, cos, lambda y: -sin(y), lambda y: -cos(y))
            return waves[(quarters + ahead) % 4](rest)
        if rest is not x:
            return apply(name, (rest,))
        if x.op == inverses[0]:
            return x.args[0]
        if x.op == inverses[1]:
            return sqrt(1 - x.args[0] ** 2)
        return _taylor(name, x)

    return simplify


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


for _record in (
    Function("sin", 1, _simplify_wave("sin", 0), _unary(lambda x: cos(x)), lambda d, x: np.sin(x)),
    Function("cos", 1, _simplify_wave("cos", 1), _unary(lambda x: -sin(x)), lambda d, x: np.cos(x)),
    Function("tan", 1, _simplify_tan, _unary(lambda x: 1 + tan(x) ** 2), lambda d, x: np.tan(x)),
    Function(
        "asin",
        1,
        _simplify_odd("asin", math.asin),
        _unary(lambda x: 1 / sqrt(1 - x**2)),
        lambda d, x: np.arcsin(x),
        numpy="arcsin",
        word="arcsin",
        rises=True,
    ),
    Function(
        "acos",
        1,
        _simplify_acos,
        _unary(lambda x: -1 / sqrt(1 - x**2)),
        lambda d, x: np.arccos(x),
        numpy="arccos",
        word="arccos",
    ),
    Function(
        "atan",
        1,
        _simplify_odd("atan", math.atan),
        _unary(lambda x: 1 / (1 + x**2)),
        lambda d, x: np.arctan(x),
        numpy="arctan",
        word="arctan",
        rises=True,
    ),
    Function(
        "atan2",
        2,
        _simplify_atan2,
        _atan2_partial,
        lambda d, y, x: np.arctan2(y, x),
        numpy="arctan2",
    ),
    Function(
        "sqrt",
        1,
        _simplify_sqrt,
        _unary(lambda x: 1 / (2 * sqrt(x))),
        lambda d, x: np.sqrt(x),
        "mul",
        rises=True,
    ),
    Function("exp", 1, _simplify_exp, _unary(lambda x: exp(x)), lambda d, x: np.exp(x), rises=True),
    Function(
        "tanh",
        1,
        _simplify_odd("tanh", math.tanh),
        _unary(lambda x: 1 - tanh(x) ** 2),
        lambda d, x: np.tanh(x),
        rises=True,
    ),
    Function(
        "log",
        1,
        _simplify_log,
        _unary(lambda x: 1 / x),
        lambda d, x: np.log(x),
        word="ln",
        rises=True,
    ),
    Function("pow", 2, _simplify_pow, _pow_partial, lambda d, x, y: np.power(x, y), numpy="power"),
    WrittenFunction("sinh", 1, sinh),
    WrittenFunction("cosh", 1, cosh),
):
    register(_record)
