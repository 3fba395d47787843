"""Components as expressions, against the same in NumPy at random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.algebra import ONE, ZERO, Expr, evaluate_all, symbols
from linkwright.algebra.rotations import quaternion_cosines
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    add,
    apply,
    combination,
    conjugate,
    cross,
    dot,
    held,
    held_rows,
    is_nothing,
    matrix_product,
    quaternion_matrix,
    quaternion_product,
    remembering,
    row_products,
    subtract,
    times,
    transposed,
)
from linkwright.base import rotations
from linkwright.program.linear import gram

NAMES = [f"{letter}{k}" for letter in "abmnpqs" for k in range(9)]
X = dict(zip(NAMES, symbols(" ".join(NAMES)), strict=True))
A, B = (tuple(X[f"{c}{k}"] for k in range(3)) for c in "ab")
P, Q = (tuple(X[f"{c}{k}"] for k in range(4)) for c in "pq")
M, N = (tuple(tuple(X[f"{c}{3 * i + k}"] for k in range(3)) for i in range(3)) for c in "mn")


@pytest.fixture
def numbers() -> dict[str, float]:
    rng = np.random.default_rng(29)
    return dict(zip(NAMES, rng.normal(size=len(NAMES)).tolist(), strict=True))


def at(value: Any, numbers: dict[str, float]) -> NDArray[np.float64]:
    """Return the numbers of nested expressions."""
    if isinstance(value, Expr):
        return np.array(evaluate_all([value], {X[n]: x for n, x in numbers.items()})[0], float)
    return np.array([at(part, numbers) for part in value])


def test_products_and_sums_are_those_of_numpy(numbers: dict[str, float]) -> None:
    a, b, m, n = (at(x, numbers) for x in (A, B, M, N))
    for ours, theirs in (
        (add(A, B, A), a + b + a),
        (subtract(A, B), a - b),
        (times(X["s0"], A), numbers["s0"] * a),
        (cross(A, B), np.cross(a, b)),
        (dot(A, B), a @ b),
        (combination([2.0, 0.0, -1.0], B), np.array([2.0, 0.0, -1.0]) @ b),
        (dot([2.0, 0.5, -1.0], B), np.array([2.0, 0.5, -1.0]) @ b),
        (apply(M, A), m @ a),
        (row_products([*M, *N], A), np.concatenate([m @ a, n @ a])),
        (transposed(M), m.T),
        (matrix_product(M, N), m @ n),
    ):
        np.testing.assert_allclose(at(ours, numbers), theirs, atol=1e-14)


def test_quaternions_are_those_in_numbers(numbers: dict[str, float]) -> None:
    p, q = (x / np.linalg.norm(x) for x in (at(P, numbers), at(Q, numbers)))
    given = dict(numbers) | {f"p{k}": p[k] for k in range(4)} | {f"q{k}": q[k] for k in range(4)}
    both = at(quaternion_product(P, Q), given)
    np.testing.assert_allclose(both, rotations.quaternion_product(p, q), atol=1e-15)
    back = at(quaternion_product(conjugate(Q), Q), given)
    np.testing.assert_allclose(back, [1, 0, 0, 0], atol=1e-15)
    matrix = at(quaternion_matrix(Q), given)
    np.testing.assert_allclose(matrix, rotations.quaternion_matrix(q), atol=1e-15)
    np.testing.assert_allclose(at(quaternion_cosines(Q), given), matrix.T, atol=0)


def test_the_product_turns_by_its_second_factor_first(numbers: dict[str, float]) -> None:
    """R(p q) = R(p) R(q), as expressions of quaternions of length one."""
    given = dict(numbers)
    for c in "pq":
        size = np.linalg.norm([given[f"{c}{k}"] for k in range(4)])
        given |= {f"{c}{k}": float(given[f"{c}{k}"] / size) for k in range(4)}
    one = matrix_product(quaternion_matrix(P), quaternion_matrix(Q))
    other = quaternion_matrix(quaternion_product(P, Q))
    np.testing.assert_allclose(at(one, given), at(other, given), atol=4e-15)


def test_nothing_and_identity_cost_nothing() -> None:
    assert apply(IDENTITY, A) == A
    assert matrix_product(IDENTITY, M) == M
    assert quaternion_product((ONE, ZERO, ZERO, ZERO), Q) == Q
    assert add(A, NOTHING) == A
    assert is_nothing(cross(A, A))


def test_names_are_given_to_what_is_computed_alone() -> None:
    asked: list[Expr] = []

    def hold(x: Expr) -> Expr:
        asked.append(x)
        return X["s1"]

    assert held(hold, (ZERO, X["a0"], X["a0"] + X["a1"])) == (ZERO, X["a0"], X["s1"])
    assert asked == [X["a0"] + X["a1"]]
    assert held_rows(hold, IDENTITY) == IDENTITY


def test_what_is_remembered_is_the_same() -> None:
    plain = dot(A, B), add(A, B)
    with remembering():
        assert (dot(A, B), add(A, B)) == plain
        assert (dot(A, B), add(A, B)) == plain


def test_products_of_rows_are_symmetric_and_lifted_on_the_diagonal(
    numbers: dict[str, float],
) -> None:
    rows = at(M, numbers)
    found = at(gram(lambda x: x, M, X["s0"]), numbers)
    np.testing.assert_allclose(found, rows @ rows.T + numbers["s0"] * np.eye(3), atol=1e-14)
