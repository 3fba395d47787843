"""Factoring: fewer operations, the same value, nothing expanded."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import (
    ONE,
    Expr,
    constant,
    cos,
    evaluate,
    factor,
    factor_all,
    gcf,
    postorder,
    product,
    sin,
    symbols,
    total,
)
from tests.seeds import examples

A, B, C, D, X, Y = symbols("A B C D X Y")
VALUES = {A: 0.7, B: -1.3, C: 2.1, D: 0.9, X: 0.4, Y: -0.6}


def operations(expr: Expr) -> int:
    """Count additions, multiplications and divisions of the expression written out as a tree."""
    count: dict[Expr, int] = {}
    for node in postorder([expr]):
        own = 0
        if node.op == "sum":
            own = len(node.args) - (node.data[0] == 0) + sum(abs(c) != 1 for c in node.data[1:])
        elif node.op == "prod":
            own = sum(abs(e) for e in node.data) - 1 + all(e < 0 for e in node.data)
        elif node.op == "scale":
            own = int(node.data != -1)
        count[node] = own + sum(count[x] for x in node.args)
    return count[expr]


def test_common_factors_are_taken_out_of_a_sum() -> None:
    assert factor(A * X + B * X**2) is X * (A + B * X)
    assert factor(A * X + B * X + C) is C + X * (A + B)
    assert factor(A / X + B / X**2) is (A + B / X) / X
    assert factor(2 * A * X - 2 * B * X) is 2 * X * (A - B)
    assert factor(sin(X) * A + A) is A * (1 + sin(X))


def test_nothing_is_expanded() -> None:
    for expr in ((A + B) * (C + D), (A + B + C) ** 2, A * (B + C) ** 2 + D):
        assert factor(expr) is expr
    assert operations((A + B + C) ** 2) == 3


def test_a_polynomial_becomes_horners_scheme() -> None:
    polynomial = total([A * X**3, B * X**2, C * X, D])
    assert factor(polynomial) is D + X * (C + X * (B + X * A))


def test_sums_are_found_at_every_depth() -> None:
    inner = A * X + B * X
    assert factor(cos(inner) * Y + sin(inner)) is cos(X * (A + B)) * Y + sin(X * (A + B))
    deep: Expr = X
    for _ in range(3000):
        deep = A * sin(deep) + A
    assert evaluate(factor(deep), VALUES) == pytest.approx(evaluate(deep, VALUES), rel=1e-12)


def test_a_nest_of_many_factors() -> None:
    names = symbols(" ".join(f"n{i}" for i in range(120)))
    terms = []
    running: Expr = ONE
    for s in names:
        running = running * s
        terms.append(running)
    nested = factor(total(terms))
    assert operations(nested) == 119 + 119


def test_the_greatest_common_factor() -> None:
    assert gcf(A * X, B * X**2) is X
    assert gcf(A * (B + C), X * (B + C)) is B + C
    assert gcf(A / X**2, B / X**3) is X**-2
    assert gcf(A * X, B / X) is ONE
    assert gcf(constant(2), A) is ONE


@settings(max_examples=examples(100, daily=40), deadline=None)
@given(st.integers(0, 10**9))
def test_factoring_keeps_the_value_and_never_adds_operations(seed: int) -> None:
    generator = random.Random(seed)
    atoms = [A, B, C, D, X, Y, sin(X), A + B, 1 / Y]
    terms = [
        generator.choice([1, -1, 2, 0.3])
        * product(generator.choices(atoms, k=generator.randint(0, 4)))
        for _ in range(generator.randint(1, 7))
    ]
    expr = total(terms) * generator.choice(atoms) + generator.choice(atoms)
    (shorter,) = factor_all([expr])
    assert evaluate(shorter, VALUES) == pytest.approx(evaluate(expr, VALUES), abs=1e-11)
    assert operations(shorter) <= operations(expr)
