"""Order of smallness: what is dropped, what is kept, against exact Taylor expansions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    ExprError,
    asin,
    atan,
    atan2,
    cos,
    evaluate,
    exp,
    order,
    sin,
    smallness_threshold,
    sqrt,
    substitute,
    symbol,
    symbols,
    tan,
    tanh,
    total,
)
from tests.support.late import Late

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")

A, B = symbols("A B")
x, y = symbols("x y", "coordinate", small=1)
K = symbol("K", small=-1)
m = symbol("m", sign="positive")


def test_small_arguments_and_relative_dropping() -> None:
    assert cos(x) is ONE
    assert sin(x) is x
    assert 1 + x**2 is ONE
    assert x + x**3 is x
    assert (x + x * y).args == tuple(sorted((x, x * y), key=lambda e: e.key))
    assert len((x**2 + x**3).args) == 2
    assert (A + x) + x * y is A + x
    assert A * (x + x * y) is not A * x, "the rule is relative to the leading term"


def test_large_times_small_survives() -> None:
    assert order(K * x) == 0
    assert len((A + K * x).args) == 2
    assert A + K * x * y is not A
    assert A + K * x * y * x is A, "order 2 beside order 0"
    assert K + x is K, "order 1 beside order -1"


def test_orders_of_products_powers_and_sums() -> None:
    assert order(x**3 * y) == 4
    assert order(A * x + x * y) == 1
    assert order(1 / x) == -1
    assert order(sqrt(x**2 * y**2 + x**4)) == 2
    assert order(A) == 0
    assert order(sin(A * x) * K) == 0


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (sin, "sin"),
        (cos, "cos"),
        (tan, "tan"),
        (asin, "asin"),
        (atan, "atan"),
        (exp, "exp"),
        (tanh, "tanh"),
    ],
)
@pytest.mark.parametrize("threshold", [2, 3, 4, 6])
def test_series_match_sympy(ours: Callable[[Expr], Expr], name: str, threshold: int) -> None:
    s, theirs = sympy.Symbol("s"), getattr(sympy, name)
    with smallness_threshold(threshold):
        made = ours(x)
    lead = 0 if theirs(sympy.Integer(0)) != 0 else 1
    expected = sympy.series(theirs(s), s, 0, lead + threshold).removeO()
    for value in (0.3, -0.7):
        assert evaluate(made, {x: value}) == pytest.approx(
            float(expected.subs(s, value)), abs=1e-14
        )


def test_a_threshold_of_six_keeps_the_fifth_order() -> None:
    with smallness_threshold(6):
        assert 1 + x**5 is not ONE
        assert 1 + x**6 is ONE
        assert len(sin(x).args) == 3
    assert 1 + x**5 is ONE
    with pytest.raises(ExprError), smallness_threshold(0):
        pass


def test_smallness_is_inherited_by_a_symbol_that_replaces_an_expression() -> None:
    for expr in (A * x, x * y, K * x, A + B, K * A):
        z = symbol("z", "local", small=order(expr))
        assert order(z) == order(expr)
        for other in (ONE, x, x**2):
            assert substitute(z + other, {z: expr}) is expr + other


def test_atan2_of_a_small_angle_divides_only_by_what_is_positive() -> None:
    assert atan2(x, m) is x / m
    assert atan2(x, A).op == "atan2"


def test_a_truncated_model_is_the_first_order_expansion() -> None:
    exact_x, exact_y = symbols("ex ey", "coordinate")

    def model(p: Expr, r: Expr) -> Expr:
        return total([A * sin(p) * cos(r), B * cos(p), A * sin(r) ** 2, (1 + p) * (A + r)])

    truncated = model(x, y)
    exact = model(exact_x, exact_y)
    values = {A: 1.3, B: -0.4}
    for h in (1e-3, 1e-4):
        low = evaluate(truncated, {**values, x: h, y: 2 * h})
        full = evaluate(exact, {**values, exact_x: h, exact_y: 2 * h})
        assert math.isclose(low, full, abs_tol=20 * h**2)
        assert abs(low - evaluate(exact, {**values, exact_x: 0, exact_y: 0})) > h / 10


def test_cancellation_leaves_what_was_not_dropped() -> None:
    assert (x + x**2) - x is x**2
    assert (1 + x) - 1 is x
    assert x - x is ZERO
