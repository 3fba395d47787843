"""Batches of small linear systems, solved without a branch by the cells of the systolic array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.program import ProgramError, faddeev_program, lower
from linkwright.systolic import faddeev


@pytest.fixture(scope="module")
def systems() -> Any:
    """Return a batch of 6×6 matrices with six right sides, and the solutions."""
    rng = np.random.default_rng(11)
    A, B = rng.normal(size=(301, 6, 6)), rng.normal(size=(301, 6, 6))
    return A, B, lw.small_solver(6, 6)(A, B)


def test_a_batch_is_solved_as_numpy_does(systems: Any) -> None:
    A, B, X = systems
    wanted = np.linalg.solve(A, B)
    scale = abs(wanted).max(axis=(1, 2), keepdims=True) * np.linalg.cond(A)[:, None, None]
    assert (abs(X - wanted) / scale).max() < 1e-14


def test_one_system_and_rows_of_a_batch_are_the_same(systems: Any) -> None:
    A, B, X = systems
    assert abs(lw.small_solver(6, 6)(A[7], B[7]) - X[7]).max() < 1e-12 * abs(X[7]).max()
    assert (lw.small_solver(6, 6)(A[100:109], B[100:109]) == X[100:109]).all()


def test_the_cells_of_the_array_do_the_same(systems: Any) -> None:
    """Server check 28: the rules of the cells, as a Program with all four parts."""
    rng = np.random.default_rng(4)
    A, B, C, D = (rng.normal(size=size) for size in ((5, 3), (5, 2), (4, 3), (4, 2)))
    found = lw.compile(faddeev_program(5, 3, 2, 4))(A, B, C, D)
    assert abs(found - faddeev(A, B, C, D)).max() < 1e-12
    A, B, X = systems
    assert abs(faddeev(A[3], B[3], np.eye(6), np.zeros((6, 6))) - X[3]).max() < 1e-11


def test_zero_pivots_need_no_branch() -> None:
    """Server check 29: columns that begin with zeros, in lanes beside others that do not."""
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(9, 4, 4)), rng.normal(size=(9, 4, 1))
    A[2, :3, 0] = 0
    A[3] = np.eye(4)[::-1]
    A[5, :2, :2] = 0
    X = lw.small_solver(4, 1)(A, B)
    assert abs(A @ X - B).max() < 1e-11
    code = lower(faddeev_program(4, 4, 1))
    used = {instruction.op for instruction in code.instructions}
    assert used <= {"input", "const", "add", "sub", "mul", "div", "neg", "sqrt", "eq", "select"}
    assert {"select", "sqrt"} <= used


def test_nothing_over_nothing_is_nothing() -> None:
    """Server check 29: a column of zeros takes no part where nothing asks for it."""
    A, B = [[1.0, 0.0], [2.0, 0.0]], [[1.0], [1.0]]
    kernel = lw.compile(faddeev_program(2, 2, 1, 1))
    found = kernel(A, B, [[0.5, 0.0]], [[2.0]])  # the second unknown is not asked for
    assert found[0, 0] == pytest.approx(2 + 0.5 * 0.6)
    assert not np.isfinite(kernel(A, B, [[0.0, 1.0]], [[0.0]])).any()


def test_a_singular_system_gives_no_number_that_looks_like_one() -> None:
    A = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.ones((3, 3)) * 0])
    X = lw.small_solver(3, 1)(A, np.ones((3, 3, 1)))
    assert np.isfinite(X[0]).all()
    assert not np.isfinite(X[1]).all()
    assert not np.isfinite(X[2]).any()


def test_more_rows_than_unknowns_are_least_squares() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(5, 7, 3)), rng.normal(size=(5, 7, 2))
    X = lw.small_solver(3, 2, rows=7)(A, B)
    for i in range(5):
        assert abs(X[i] - np.linalg.lstsq(A[i], B[i])[0]).max() < 1e-12


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ProgramError, match="at least as many rows as columns"):
        lw.small_solver(3, 1, rows=2)
    with pytest.raises(ProgramError, match="16 together at most"):
        lw.small_solver(10, 7)
    with pytest.raises(ProgramError, match="p is 0; give a whole number from 1 to 64"):
        lw.small_solver(3, 0)
