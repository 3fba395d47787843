"""Batches of small linear systems, solved without a branch by the cells of the systolic array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.heritage.systolic import faddeev
from linkwright.program import ProgramError, faddeev_program, lower


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
    plain = {"input", "const", "add", "sub", "mul", "div", "neg", "sqrt"}
    assert used <= plain | {"eq", "lt", "gt", "select"}
    assert {"select", "sqrt"} <= used


def test_nothing_over_nothing_is_nothing() -> None:
    """Server check 29: a column of zeros takes no part where nothing asks for it."""
    A, B = [[1.0, 0.0], [2.0, 0.0]], [[1.0], [1.0]]
    kernel = lw.compile(faddeev_program(2, 2, 1, 1))
    found = kernel(A, B, [[0.5, 0.0]], [[2.0]])  # the second unknown is not asked for
    assert found[0, 0] == pytest.approx(2 + 0.5 * 0.6)
    assert not np.isfinite(kernel(A, B, [[0.0, 1.0]], [[0.0]])).any()


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e307, 1e-307, 1e150, 1e-155])
def test_the_scale_of_a_system_does_not_matter(scale: float) -> None:
    """In lanes beside one of ordinary size too."""
    A = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    B = np.array([[1.0], [2], [3]])
    many, sides = np.stack([A * scale, A]), np.stack([B * scale, B])
    wanted = np.linalg.solve(A, B)
    assert abs(lw.small_solver(3)(many, sides) - wanted).max() < 1e-14
    assert lw.small_solver(3)(A * scale, B) == pytest.approx(wanted / scale, rel=1e-13)


def test_pivots_tell_of_singular_systems() -> None:
    """A pivot of 0 gives no number; after rounding only `pivot` tells."""
    hidden = np.arange(1.0, 10).reshape(3, 3)
    A = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.zeros((3, 3)), hidden, hidden * 1e200])
    X, pivot = lw.small_solver(3, pivot=True)(A, np.ones((5, 3, 1)) * [[1], [2], [4]])
    assert np.isfinite(X[0]).all()
    assert not np.isfinite(X[1]).all()
    assert not np.isfinite(X[2]).any()
    assert pivot[0] == 1
    assert (pivot[1:] < 1e-14).all()
    good = np.random.default_rng(5).normal(size=(50, 4, 4))
    found = lw.small_solver(4, pivot=True)(good, np.ones((50, 4, 1)))[1]
    assert (1 / found <= np.linalg.cond(good) * (1 + 1e-9)).all()
    diagonal = abs(np.diagonal(np.linalg.qr(good).R, axis1=1, axis2=2))
    assert found == pytest.approx(diagonal.min(axis=1) / diagonal.max(axis=1), rel=1e-9)


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
