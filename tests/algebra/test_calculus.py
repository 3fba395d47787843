"""Derivatives, substitution and solving, against SymPy and finite differences."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    ExprError,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    constant,
    constant_part,
    cos,
    diff,
    evaluate,
    exp,
    free_symbols,
    gradient,
    linear_coefficients,
    log,
    maximum,
    minimum,
    nominal,
    postorder,
    sin,
    solve_for,
    sqrt,
    substitute,
    symbol,
    symbols,
    tan,
    tanh,
    time_derivative,
    where,
)
from linkwright.algebra.functions import FUNCTIONS, Function, apply, register
from tests.seeds import examples
from tests.support.late import Late

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")

a, b, x, y = symbols("a b x y")
q, r = symbols("q r", "coordinate")
u, w = symbols("u w", "speed")
t = symbol("t", "time")
POINT = {a: 0.7, b: -1.3, x: 0.4, y: 1.1}


def _difference(expr: Expr, at: Expr, point: dict[Expr, float], h: float = 1e-6) -> float:
    up = evaluate(expr, {**point, at: point[at] + h})
    down = evaluate(expr, {**point, at: point[at] - h})
    return float(up - down) / (2 * h)


FUNCTIONS_OF_X: list[Expr] = [
    a * sin(x) ** 2 + b * x,
    cos(a * x + b) * x**3,
    tan(x) / (1 + x**2),
    asin(x) * acos(x),
    atan(a * x) + atan2(x, y) + atan2(y, x),
    sqrt(x**2 + y**2) ** 3,
    1 / sqrt(x + y),
    exp(a * x) * log(x + 2),
    apply("pow", (x, a)) + apply("pow", (constant(2), x)),
    absolute(x - y) * x,
    minimum(x, x**2, y) + maximum(x, b * x),
    where(x < y, sin(x), cos(x)),
    (a + x) ** 2 * (b - x) ** -3,
]


@pytest.mark.parametrize("expr", FUNCTIONS_OF_X, ids=str)
def test_partial_derivatives_match_finite_differences(expr: Expr) -> None:
    for variable in (x, y, a):
        expected = _difference(expr, variable, POINT)
        found = evaluate(diff(expr, variable), POINT)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)


def test_every_registered_function_has_a_right_derivative() -> None:
    generator = random.Random(3)
    checked = 0
    for name, function in sorted(FUNCTIONS.items()):
        if function.arity == 0 or name in ("table1", "table2", "foreign"):
            continue
        args = (x, y, a)[: 2 if function.arity is None else function.arity]
        node = apply(name, args)
        for _ in range(5):
            point = {s: generator.uniform(0.1, 0.9) for s in (x, y, a, b)}
            for s in args:
                expected = _difference(node, s, point)
                found = evaluate(diff(node, s), point)
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-8), name
                checked += 1
    assert checked > 100


@settings(max_examples=examples(60, daily=24), deadline=None)
@given(st.integers(0, 10**9))
def test_derivatives_of_random_trees_match_sympy(seed: int) -> None:
    leaves: list[tuple[Expr, Any]] = [(s, sympy.Symbol(str(s), real=True)) for s in (a, b, x, y)]
    same: list[tuple[Callable[..., Any], Callable[..., Any], int]] = [
        (lambda e, f: e + f, lambda e, f: e + f, 2),
        (lambda e, f: e - f, lambda e, f: e - f, 2),
        (lambda e, f: e * f, lambda e, f: e * f, 2),
        (lambda e: e**2, lambda e: e**2, 1),
        (sin, sympy.sin, 1),
        (cos, sympy.cos, 1),
        (atan, sympy.atan, 1),
        (tanh, sympy.tanh, 1),
        (lambda e: 1 / (e**2 + 2), lambda e: 1 / (e**2 + 2), 1),
        (lambda e: sqrt(e**2 + 2), lambda e: sympy.sqrt(e**2 + 2), 1),
    ]
    generator = random.Random(seed)
    pool = [*leaves, (constant(2), sympy.Integer(2)), (constant(0.5), sympy.Rational(1, 2))]
    for _ in range(8):
        ours, theirs, arity = generator.choice(same)
        picked = [generator.choice(pool) for _ in range(arity)]
        pool.append((ours(*[p[0] for p in picked]), theirs(*[p[1] for p in picked])))
    expr, reference = pool[-1]
    for ours_at, theirs_at in leaves:
        values = {theirs: POINT[ours] for ours, theirs in leaves}
        expected = float(sympy.diff(reference, theirs_at).subs(values))
        found = evaluate(diff(expr, ours_at), POINT)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


# -- singular points -------------------------------------------------------------------------------
def test_a_selection_hides_the_singular_derivative_of_the_other_branch() -> None:
    guarded = where(x < 1e-12, ZERO, sqrt(x) + atan2(x, x * y))
    assert evaluate(diff(guarded, x), {x: 0.0, y: 1.0}) == 0.0
    for chosen in (maximum(sqrt(x), 1), minimum(-sqrt(x), -1)):
        assert evaluate(diff(chosen, x), {x: 0.0}) == 0.0


def test_derivatives_at_kinks_and_singularities() -> None:
    assert evaluate(diff(sqrt(x), x), {x: 0.0}) == math.inf
    assert math.isnan(evaluate(diff(atan2(y, x), x), {x: 0.0, y: 0.0}))
    assert evaluate(diff(absolute(x), x), {x: 0.0}) == 0.0
    assert diff(minimum(x, y), x) is where(y < x, ZERO, ONE)
    at_equal = {x: 1.0, y: 1.0}
    both = evaluate(diff(minimum(x, y), x), at_equal) + evaluate(diff(minimum(x, y), y), at_equal)
    assert both == 1.0, "of equals exactly one counts"


# -- time ------------------------------------------------------------------------------------------
def test_time_derivatives_match_differences_along_a_path() -> None:
    expr = a * sin(q) * cos(r) + u * q * t + sqrt(1 + r**2)
    rate = time_derivative(expr, {q: u, r: w, u: -a * q, w: ZERO})

    def path(at: float) -> dict[Expr, float]:
        return {
            a: 4.0,
            q: math.sin(2 * at),
            u: 2 * math.cos(2 * at),
            r: 0.3 + 0.7 * at,
            w: 0.7,
            t: at,
        }

    h = 1e-5
    difference = (evaluate(expr, path(0.4 + h)) - evaluate(expr, path(0.4 - h))) / (2 * h)
    assert evaluate(rate, path(0.4)) == pytest.approx(difference, rel=1e-8)


@pytest.mark.parametrize("role", ["coordinate", "speed", "acceleration", "input", "local"])
def test_an_unknown_rate_is_an_error(role: str) -> None:
    s = symbol("s", role)
    with pytest.raises(ExprError, match="'s'"):
        time_derivative(a * s, {})
    assert time_derivative(a * s, {s: 2}) is 2 * a
    assert time_derivative(a * t**2, {}) is 2 * a * t


# -- substitution, nominal, constant part ----------------------------------------------------------
def test_substitution_is_simultaneous_and_simplifies() -> None:
    assert substitute(a + 2 * b, {a: b, b: a}) is 2 * a + b
    assert substitute(sin(q) * (a + b), {q: 0}) is ZERO
    assert substitute(a * sin(x) + cos(sin(x)), {sin(x): y}) is a * y + cos(y)
    assert substitute(a, {}) is a


def test_nominal_and_constant_part() -> None:
    expr = a + 3 + a * cos(q) + u * b
    assert nominal(expr) is 2 * a + 3
    assert constant_part(expr) is a + 3
    assert constant_part(-2 * expr) is -2 * a - 6
    assert constant_part(q * a) is ZERO
    assert constant_part(a * b) is a * b


def test_free_symbols_are_sorted_by_name() -> None:
    assert free_symbols(y * x + sin(b) - a) == (a, b, x, y)


# -- solving ---------------------------------------------------------------------------------------
def test_solve_for_is_exact_for_a_linear_equation() -> None:
    assert solve_for(x, a * x + b, y) is (y - b) / a
    solution = solve_for(x, a * (x - y) + 3 * x - cos(b), 2 * x)
    assert substitute(a * (x - y) + 3 * x - cos(b) - 2 * x, {x: solution}) is not None
    residual = evaluate(
        a * (x - y) + 3 * x - cos(b) - 2 * x, {**POINT, x: evaluate(solution, POINT)}
    )
    assert residual == pytest.approx(0, abs=1e-14)


def test_solve_for_gives_the_newton_update_only_when_allowed() -> None:
    with pytest.raises(ExprError, match="newton"):
        solve_for(x, x**2, a)
    step = solve_for(x, x**2, a, newton=True)
    value = 1.0
    for _ in range(7):
        value = evaluate(step, {x: value, a: 2.0})
    assert value == pytest.approx(math.sqrt(2), rel=1e-15)
    with pytest.raises(ExprError, match="does not contain"):
        solve_for(x, a + b)


@settings(max_examples=examples(50, daily=20), deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=4, max_size=4))
def test_linear_coefficients_reassemble(c: list[int]) -> None:
    expr = a * (c[0] * x + c[1] * y) + c[2] * x * b + c[3] * cos(a)
    coefficients, rest = linear_coefficients(expr, [x, y])
    again = sum((k * s for s, k in coefficients.items()), start=rest)
    assert evaluate(again, POINT) == pytest.approx(evaluate(expr, POINT), abs=1e-12)
    with pytest.raises(ExprError, match="not linear"):
        linear_coefficients(x * y, [x, y])


# -- extension, depth ------------------------------------------------------------------------------
def test_a_function_is_added_without_editing_anything() -> None:
    register(
        Function(
            "sinh_of_test",
            1,
            lambda args, data: ZERO if args[0] is ZERO else None,
            lambda args, data, i: (exp(args[0]) + exp(-args[0])) / 2,
            lambda data, v: np.sinh(v),
        )
    )
    f = apply("sinh_of_test", (a * x,))
    assert apply("sinh_of_test", (ZERO,)) is ZERO
    assert evaluate(f, POINT) == pytest.approx(math.sinh(0.28))
    assert evaluate(diff(f, x), POINT) == pytest.approx(0.7 * math.cosh(0.28))
    with pytest.raises(ExprError, match="already"):
        register(Function("sinh_of_test", 1, FUNCTIONS["sin"].simplify, *_sine_rules()))


def _sine_rules() -> tuple[Any, Any]:
    return FUNCTIONS["sin"].partial, FUNCTIONS["sin"].evaluate


def test_derivatives_at_a_depth_of_five_thousand() -> None:
    e: Expr = x
    slope, value = 1.0, 0.3
    for i in range(5_000):
        if i % 2:
            e = sin(e)
            slope, value = slope * math.cos(value), math.sin(value)
        else:
            e = x + e * y
            slope, value = 1 + slope * 0.9, 0.3 + value * 0.9
    derivative = diff(e, x)
    assert len(list(postorder([derivative]))) > 5_000
    point = {x: 0.3, y: 0.9}
    assert evaluate(e, point) == pytest.approx(value, rel=1e-9)
    assert evaluate(derivative, point) == pytest.approx(slope, rel=1e-9)


def test_the_gradient_is_the_partial_derivatives() -> None:
    assert gradient(a * x + sin(b), [a, x, b, y]) == [x, a, cos(b), ZERO]
