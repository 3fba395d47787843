"""Factors of symmetric matrices for many right sides, and Programs written into others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.algebra import ONE, ZERO, Expr, symbol, symbols
from linkwright.program import (
    Assign,
    Carried,
    Loop,
    Namer,
    ProgramError,
    Solve,
    factors as module,
    lower,
    program,
)
from linkwright.program.factors import Factors, factors
from linkwright.program.inline import inlined
from linkwright.program.interpret import interpret
from linkwright.program.linear import LinearError


def spread(n: int, band: int) -> tuple[list[list[Expr]], list[Expr], Any]:
    """Return a symmetric matrix of symbols with a band, its entries, and numbers for them."""
    rng = np.random.default_rng(n)
    entries: list[Expr] = []
    matrix: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
    numbers = np.zeros((n, n))
    for i in range(n):
        for j in range(max(0, i - band), i + 1):
            x = symbol(f"m{i}_{j}", "coordinate")
            matrix[i][j] = matrix[j][i] = x
            entries.append(x)
            numbers[i, j] = numbers[j, i] = rng.normal() + (8.0 if i == j else 0.0)
    return matrix, entries, numbers


def solved(n: int, band: int, sides: int) -> tuple[Factors, Any, Any, Any]:
    """Return factors, and the numbers of matrix, right sides and solutions with the inverse."""
    matrix, entries, numbers = spread(n, band)
    given = [[symbol(f"r{k}_{i}", "coordinate") for i in range(n)] for k in range(sides)]
    made = factors(matrix, Namer(None, "z"))
    found = made.solve_all(given)
    inverse = made.inverse()
    flat = [x for column in given for x in column]
    made_program = program(
        "solve", {"m": entries, "r": flat}, {"x": found, "w": inverse}, statements=made.statements
    )
    right = np.random.default_rng(1).normal(size=(sides, n))
    held = [numbers[i, j] for i in range(n) for j in range(max(0, i - band), i + 1)]
    x, w = interpret(lower(made_program), [np.array(held), right.ravel()])
    return made, numbers, (right, x), w


@pytest.mark.parametrize(("n", "band"), [(1, 0), (4, 3), (7, 2)])
@pytest.mark.parametrize("limit", [10**6, 0])
def test_solutions_and_inverse_are_numpys(
    n: int, band: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right sides one by one, and in a loop, are solved as NumPy solves them."""
    monkeypatch.setattr(module, "_UNROLLED", limit)
    made, numbers, (right, x), w = solved(n, band, 3)
    np.testing.assert_allclose(x, np.linalg.solve(numbers, right.T).T, rtol=1e-12)
    np.testing.assert_allclose(w, np.linalg.inv(numbers), atol=1e-12)
    loops = sum(isinstance(s, Loop) for s in made.statements)
    assert loops == (2 if limit == 0 and band else 0)


def test_a_band_matrix_gets_no_new_entries() -> None:
    """Eliminated from its end, a banded matrix keeps its band, with one division a pivot."""
    matrix, _, _ = spread(9, 1)
    made = factors(matrix, Namer(None, "z"))
    assert sorted(made.lower) == [(k, k + 1) for k in range(8)]
    divisions = [s for s in made.statements if isinstance(s, Assign) and "1/" in str(s.value)]
    assert len(divisions) == 9


def test_a_pivot_that_is_zero_is_refused() -> None:
    """A matrix with an empty row is named as such."""
    with pytest.raises(LinearError, match="pivot of unknown 1 is zero"):
        factors([[ONE, ZERO], [ZERO, ZERO]], Namer(None, "z"))


def test_inlined_programs_keep_their_values() -> None:
    """Assignments and solves under new names, fed with expressions, give the same numbers."""
    x, y, a, b, c = symbols("x y a b c", "coordinate")
    inner = program(
        "inner",
        {"v": [x, y]},
        {"s": [a + b, c]},
        statements=[
            Assign(c, x * y),
            Solve(2, (x, ONE, -ONE, y), (c, x), (a, b)),
        ],
    )
    p, q = symbols("p q", "coordinate")
    namer = Namer(None, "n")
    first, one = inlined(inner, {"v": [p + q, q]}, namer)
    second, two = inlined(inner, {"v": [one["s"][0], p]}, namer)
    outer = program(
        "outer", {"w": [p, q]}, {"r": [*one["s"], *two["s"]]}, statements=[*first, *second]
    )

    def plain(u: float, v: float) -> tuple[float, float]:
        s, t = np.linalg.solve([[u, 1.0], [-1.0, v]], [u * v, u])
        return s + t, u * v

    (found,) = interpret(lower(outer), [np.array([0.7, -1.3])])
    middle = plain(0.7 - 1.3, -1.3)
    np.testing.assert_allclose(found, [*middle, *plain(middle[0], 0.7)], rtol=1e-13)


def test_loops_are_not_inlined() -> None:
    """A Program with a loop says that it is to be called."""
    x, s, f = symbols("x s f", "coordinate")
    turned = Loop(3, (Carried(s, x, s * s, f),), (), (), ())
    held = program("powers", {"x": [x]}, {"y": [f]}, statements=[turned])
    with pytest.raises(ProgramError, match="'powers' holds a loop"):
        inlined(held, {"x": [ONE]}, Namer(None, "z"))
