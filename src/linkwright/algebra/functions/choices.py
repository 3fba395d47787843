"""Functions with kinks and jumps: absolute value, extrema, comparisons, logic and selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwright.algebra.expr import (
    ONE,
    ZERO,
    Expr,
    constant,
    function_node,
    scaled,
    split_coefficient,
)
from linkwright.algebra.functions.calls import absolute, sign, where
from linkwright.algebra.functions.registry import (
    TRUTH_VALUED,
    Args,
    Function,
    apply,
    flat,
    register,
)
from linkwright.algebra.numbers import number


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


def _simplify_floor(args: Args, data: Any) -> Expr | None:
    (x,) = args
    if x.op == "num" and math.isfinite(x.data):
        return constant(math.floor(x.data))
    return x if x.op == "floor" else None


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
            result = where(wins, result, ZERO)
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


def _truth(x: Expr) -> Expr:
    """Return x as a truth value: x != 0 unless it is one already."""
    if x.op == "num":
        return ONE if x.data != 0 else ZERO
    return x if x.op in TRUTH_VALUED else apply("ne", (x, ZERO))


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
        return where(truth.args[0], no, yes)
    return None if truth is condition else function_node("select", (truth, yes, no))


def _unary(derivative: Callable[[Expr], Expr]) -> Callable[[Args, Any, int], Expr]:
    return lambda args, data, i: derivative(args[0])


def _select_partial(args: Args, data: Any, i: int) -> Expr:
    if i == 0:
        return ZERO
    return where(args[0], ONE, ZERO) if i == 1 else where(args[0], ZERO, ONE)


def _select_tangent(args: Args, data: Any, rates: Args) -> Expr:
    return where(args[0], rates[1], rates[2])


def _extremum_tangent(name: str) -> Callable[[Args, Any, Args], Expr]:
    """Return the rate of the argument that is chosen, the first of equals."""

    def tangent(args: Args, data: Any, rates: Args) -> Expr:
        best, rate = args[0], rates[0]
        for x, its_rate in zip(args[1:], rates[1:], strict=True):
            rate = where(x < best if name == "min" else x > best, its_rate, rate)
            best = apply(name, (best, x))
        return rate

    return tangent


def _truth_value(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, a, b: np.where(compare(a, b), 1.0, 0.0)


for _record in (
    Function("abs", 1, _simplify_abs, _unary(lambda x: sign(x)), lambda d, x: np.abs(x), "select"),
    Function(
        "sign", 1, _simplify_sign, flat, lambda d, x: np.sign(x), "select", word="sgn", rises=True
    ),
    Function("floor", 1, _simplify_floor, flat, lambda d, x: np.floor(x), "select", rises=True),
    *(
        Function(
            name,
            None,
            _simplify_extremum(name, choose),
            _extremum_partial(name),
            lambda d, *x, compute=compute: compute.reduce(np.broadcast_arrays(*x)),
            "select",
            _extremum_tangent(name),
            numpy=compute.__name__,
            rises=True,
        )
        for name, choose, compute in (("min", min, np.minimum), ("max", max, np.maximum))
    ),
    *(
        Function(name, 2, simplify, flat, _truth_value(compare), "select")
        for name, simplify, compare in (
            ("lt", _simplify_comparison(lambda a, b: bool(a < b), ZERO), np.less),
            ("le", _simplify_comparison(lambda a, b: bool(a <= b), None), np.less_equal),
            ("eq", _simplify_symmetric("eq", lambda a, b: bool(a == b)), np.equal),
            ("ne", _simplify_symmetric("ne", lambda a, b: bool(a != b)), np.not_equal),
        )
    ),
    *(
        Function(
            name,
            2,
            _simplify_logic(name, neutral, absorbing),
            flat,
            _truth_value(compute),
            "select",
            numpy=compute.__name__,
        )
        for name, neutral, absorbing, compute in (
            ("and", ONE, ZERO, np.logical_and),
            ("or", ZERO, ONE, np.logical_or),
        )
    ),
    Function(
        "not",
        1,
        _simplify_not,
        flat,
        lambda d, x: np.where(np.equal(x, 0), 1.0, 0.0),
        "select",
        numpy="logical_not",
    ),
    Function(
        "select",
        3,
        _simplify_select,
        _select_partial,
        lambda d, c, a, b: np.where(np.not_equal(c, 0), a, b),
        "select",
        _select_tangent,
        numpy="where",
    ),
):
    register(_record)
