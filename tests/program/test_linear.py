"""Symbolic linear systems: right against NumPy, and as cheap as their structure allows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.algebra import ZERO, Expr, constant, evaluate_all, symbol
from linkwright.program import (
    Counts,
    Namer,
    Program,
    Solve,
    count_operations,
    interpret,
    lower,
    program,
)
from linkwright.program.linear import (
    LinearError,
    elimination_order,
    kinds,
    ldlt,
    lu,
    order_cost,
)
from tests.seeds import examples

Pattern = list[list[int]]


def system(
    pattern: Pattern, *, symmetric: bool, sides: int = 1, order: str | list[int] = "auto"
) -> tuple[Program, list[list[Expr]]]:
    """Return the Program that solves a system of symbols with these structural zeros."""
    n = len(pattern)
    matrix = [[ZERO] * n for _ in range(n)]
    entries = []
    for i in range(n):
        for j in range(i + 1 if symmetric else n):
            if pattern[i][j]:
                role = "parameter" if pattern[i][j] == 1 else "coordinate"
                matrix[i][j] = symbol(f"m{i}_{j}", role)
                entries.append(matrix[i][j])
                if symmetric:
                    matrix[j][i] = matrix[i][j]
    right = [[symbol(f"y{c}_{i}", "input") for i in range(n)] for c in range(sides)]
    solve = ldlt if symmetric else lu
    statements, unknowns = solve(matrix, right, Namer(None, "z"), order)
    made = program(
        "solve", {"m": entries, "y": right}, {"x": unknowns}, statements=list(statements)
    )
    return made, matrix


def numeric(
    matrix: list[list[Expr]],
    entries: tuple[Expr, ...],
    values: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    known = dict(zip(entries, values, strict=True))
    return np.array([[0.0 if x is ZERO else known[x] for x in row] for row in matrix])


def assert_solves(made: Program, matrix: list[list[Expr]], seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    entries = made.inputs[0].entries
    values = rng.uniform(-1.0, 1.0, len(entries))
    diagonal = {matrix[i][i] for i in range(len(matrix))}
    for k, x in enumerate(entries):
        if x in diagonal:
            values[k] += shift * (1 if values[k] > 0 else -1)
    right = rng.uniform(-1.0, 1.0, made.inputs[1].shape)
    expected = np.linalg.solve(numeric(matrix, entries, values), right.T).T
    (found,) = interpret(lower(made), [values, right])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@st.composite
def patterns(draw: st.DrawFn, symmetric: bool) -> Pattern:
    n = draw(st.integers(1, 7))
    entry = st.sampled_from([0, 0, 1, 2])
    pattern = [[draw(entry) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        pattern[i][i] = draw(st.sampled_from([1, 2]))
        for j in range(i):
            if symmetric:
                pattern[j][i] = pattern[i][j]
    return pattern


@settings(max_examples=examples(40, daily=16), deadline=None)
@given(patterns(True), st.integers(1, 2), st.integers(0, 99))
def test_sparse_symmetric_systems_agree_with_numpy(p: Pattern, sides: int, seed: int) -> None:
    made, matrix = system(p, symmetric=True, sides=sides)
    assert_solves(made, matrix, seed, float(len(p)))


@settings(max_examples=examples(40, daily=16), deadline=None)
@given(patterns(False), st.integers(1, 2), st.integers(0, 99))
def test_sparse_general_systems_agree_with_numpy(p: Pattern, sides: int, seed: int) -> None:
    made, matrix = system(p, symmetric=False, sides=sides)
    assert_solves(made, matrix, seed, float(len(p)))


@settings(max_examples=30, deadline=None)
@given(patterns(True))
def test_the_structural_cost_is_what_is_executed(p: Pattern) -> None:
    """The cost that ranks orders equals the operations counted in the Program.

    Where parameters are about, several of them may merge, and the count may be lower.
    """
    order = elimination_order(p)
    made, _ = system(p, symmetric=True, order=list(order))
    cost = order_cost(p, order)
    assert cost is not None
    assert cost >= count_operations(made).total
    moving = [[2 if x else 0 for x in row] for row in p]
    made, _ = system(moving, symmetric=True, order=list(order))
    assert order_cost(moving, order) == count_operations(made).total


@settings(max_examples=15, deadline=None)
@given(patterns(True).filter(lambda p: len(p) <= 5))
def test_no_order_is_cheaper(p: Pattern) -> None:
    costs = [order_cost(p, o) for o in permutations(range(len(p)))]
    assert order_cost(p, elimination_order(p)) == min(c for c in costs if c is not None)


def test_a_dense_system_of_six_takes_86_multiplies_and_65_adds() -> None:
    made, matrix = system([[2] * 6 for _ in range(6)], symmetric=True)
    assert count_operations(made) == Counts(add=65, mul=86)
    assert_solves(made, matrix, 3, 6.0)


def test_an_arrow_is_reordered_to_no_fill() -> None:
    """Hub first in input order: 21 multiplies and divisions instead of 55."""
    n = 5
    arrow = [[2 if i == j or 0 in (i, j) else 0 for j in range(n)] for i in range(n)]
    hub_first, _ = system(arrow, symmetric=True, order=list(range(n)))
    assert count_operations(hub_first).mul == 55
    made, matrix = system(arrow, symmetric=True)
    assert count_operations(made).mul == 21
    assert_solves(made, matrix, 5, 5.0)


def stanford_mass_matrix(q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the arm's mass matrix from Jacobians in the world frame (autosim-use 4.6)."""
    l1, l2, l3, l5, l6 = 0.1, 0.6, 0.2, 0.7, 0.06
    #         axis, joint point in the parent, translates, mass, center, principal inertias
    bodies = [
        (1, (0.0, 0, 0), False, 9.0, (0.0, 0, 0), (0.01, 0.02, 0.03)),
        (0, (0.0, 0, 0), False, 6.0, (l1, 0, 0), (0.06, 0.01, 0.05)),
        (1, (l1, 0, 0), True, 4.0, (0.0, 0, 0), (0.4, 0.01, 0.4)),
        (1, (0.0, 0, 0), False, 1.0, (0, l5, 0), (0.0005, 0.001, 0.001)),
        (0, (0, l2, 0), False, 0.6, (0, l6, 0), (0.0005, 0.0002, 0.0005)),
        (1, (0.0, 0, 0), False, 0.5, (0, l3, 0), (0.001, 0.002, 0.003)),
    ]
    frame, origin = np.eye(3), np.zeros(3)
    mass = np.zeros((6, 6))
    moves = []
    for i, (axis, at, translates, m, center, inertia) in enumerate(bodies):
        direction = frame[:, axis].copy()
        origin = origin + frame @ np.array(at, float)
        if translates:
            origin = origin + direction * q[i]
        else:
            c, s = np.cos(q[i]), np.sin(q[i])
            a, b = (axis + 1) % 3, (axis + 2) % 3
            turn = np.eye(3)
            turn[a, a] = turn[b, b] = c
            turn[b, a], turn[a, b] = s, -s
            frame = frame @ turn
        moves.append((direction, origin, translates))
        place = origin + frame @ np.array(center, float)
        v = np.zeros((3, 6))
        w = np.zeros((3, 6))
        for k, (d, o, slides) in enumerate(moves):
            v[:, k] = d if slides else np.cross(d, place - o)
            w[:, k] = 0 if slides else d
        mass += m * v.T @ v + w.T @ frame @ np.diag(inertia) @ frame.T @ w
    return mass


def test_the_stanford_arm_is_solved_in_64_multiplies_and_46_adds() -> None:
    rng = np.random.default_rng(0)
    seen = np.sum([np.abs(stanford_mass_matrix(rng.uniform(-1, 1, 6))) for _ in range(5)], axis=0)
    pattern = [[2 if x > 1e-12 else 0 for x in row] for row in seen]
    printed, _ = system(pattern, symmetric=True, order=[2, 5, 3, 4, 0, 1])
    made, matrix = system(pattern, symmetric=True)
    assert (count_operations(made).mul, count_operations(made).add) <= (64, 46)
    assert count_operations(made).total == count_operations(printed).total == 110
    assert_solves(made, matrix, 1, 6.0)


def test_a_large_band_keeps_its_band() -> None:
    """Thirty unknowns coupled to their neighbors, scrambled: no more than the band costs."""
    n = 30
    place = np.random.default_rng(4).permutation(n)
    band = [[2 if abs(int(place[i] - place[j])) <= 1 else 0 for j in range(n)] for i in range(n)]
    best = order_cost(band, elimination_order(band))
    natural = order_cost(band, [int(k) for k in np.argsort(place)])
    assert best is not None
    assert natural is not None
    assert best <= natural


def test_constant_matrices_are_factored_in_the_parameter_stage() -> None:
    """Only the substitutions remain: 12 multiplies, 6 divisions' worth, 12 adds for n=4."""
    made, _ = system([[1] * 4 for _ in range(4)], symmetric=True)
    assert count_operations(made) == Counts(add=12, mul=16)


def test_zero_diagonals_need_other_rows() -> None:
    made, matrix = system([[0, 2, 0], [0, 0, 2], [2, 0, 2]], symmetric=False)
    assert_solves(made, matrix, 2, 1.0)


def test_numbers_and_zero_sides_cost_nothing() -> None:
    a, b = symbol("a", "coordinate"), symbol("b", "coordinate")
    one = constant(1)
    statements, ((x, y),) = ldlt([[one, a], [a, b]], [[one, ZERO]], Namer(None, "z"))
    made = program("p", {"ab": [a, b]}, {"x": [x, y]}, statements=list(statements))
    (found,) = interpret(lower(made), [[0.5, 2.0]])
    np.testing.assert_allclose(found, np.linalg.solve([[1, 0.5], [0.5, 2]], [1, 0]), rtol=1e-14)


def test_refusals_say_what_to_do() -> None:
    a, b = symbol("a"), symbol("b")
    namer = Namer(None, "z")
    with pytest.raises(LinearError, match="use lu"):
        ldlt([[a, b], [a, b]], [[a, b]], namer)
    with pytest.raises(LinearError, match="structurally zero"):
        ldlt([[ZERO, b], [b, ZERO]], [[a, b]], namer)
    with pytest.raises(LinearError, match="singular"):
        lu([[ZERO, b], [ZERO, a]], [[a, b]], namer)
    with pytest.raises(LinearError, match="does not name"):
        ldlt([[a, b], [b, a]], [[a, b]], namer, (0, 0))
    with pytest.raises(LinearError, match="auto"):
        ldlt([[a, b], [b, a]], [[a, b]], namer, "best")
    with pytest.raises(LinearError, match="columns"):
        lu([[a, b]], [[a]], namer)
    with pytest.raises(LinearError, match="entries"):
        lu([[a]], [[a, b]], namer)
    with pytest.raises(LinearError, match="pivots at run time"):
        ldlt([[ZERO, b], [b, a]], [[a, b]], namer, (0, 1))


def test_kinds_tell_parameters_from_what_moves() -> None:
    q, k = symbol("q", "coordinate"), symbol("k")
    assert kinds([[q * k, k], [ZERO, constant(2)]]) == [[2, 1], [0, 1]]


# -- the statement that pivots at run time ---------------------------------------------------------
@settings(max_examples=examples(40, daily=16), deadline=None)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 999), st.booleans())
def test_solve_pivots(n: int, sides: int, seed: int, zero_diagonal: bool) -> None:
    """Random dense matrices, also with zeros on the diagonal, need exchanges of rows."""
    a = [[symbol(f"a{i}_{j}", "coordinate") for j in range(n)] for i in range(n)]
    y = [[symbol(f"y{k}_{i}", "input") for i in range(n)] for k in range(sides)]
    x = [[symbol(f"x{k}_{i}", "local") for i in range(n)] for k in range(sides)]
    flat = tuple(e for row in a for e in row)
    statement = Solve(n, flat, tuple(e for c in y for e in c), tuple(e for c in x for e in c))
    made = program("pivot", {"a": a, "y": y}, {"x": x}, statements=[statement])
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-1, 1, (n, n))
    if zero_diagonal and n > 1:
        np.fill_diagonal(matrix, 0.0)
    if np.linalg.cond(matrix) > 1e6:
        return
    right = rng.uniform(-1, 1, (sides, n))
    (found,) = interpret(lower(made), [matrix, right])
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right.T).T, rtol=1e-8, atol=1e-9)


def test_statements_are_assignments() -> None:
    a, b = symbol("a", "coordinate"), symbol("b", "coordinate")
    statements, _ = lu([[a, b], [b, 2 * a]], [[a, b]], Namer(None, "z"))
    assert [s.target.data.role for s in statements] == ["local"] * len(statements)


def test_a_pivot_may_vanish_where_the_matrix_does_not() -> None:
    """With static pivoting and one refinement, as accurately as with exchanged rows."""
    names = [[f"a{i}{j}" for j in range(3)] for i in range(3)]
    matrix = [[symbol(name, "coordinate") for name in row] for row in names]
    right = [symbol(f"b{i}", "coordinate") for i in range(3)]
    for least, fails in ((0.0, True), (1e-8, False)):
        statements, (found,) = lu(matrix, [right], Namer(None, "z"), [0, 1, 2], least=least)
        for corner in (0.0, 1e-13, -1e-10, 1e-7, 1e-4):
            values = np.array([[corner, 1.0, -0.4], [0.7, 0.3, 0.2], [-0.5, 0.8, 1.1]])
            side = np.array([0.3, -1.0, 0.6])
            known: dict[Expr, object] = {}
            known |= {x: values[i, j] for i, row in enumerate(matrix) for j, x in enumerate(row)}
            known |= dict(zip(right, side, strict=True))
            with np.errstate(all="ignore"):
                for s in statements:
                    (known[s.target],) = evaluate_all([s.value], known)
                answer = np.array([float(x) for x in evaluate_all(found, known)])
            error = np.abs(answer - np.linalg.solve(values, side)).max()
            if fails and abs(corner) < 1e-9:
                assert not error < 1e-9
            if not fails:
                assert error < 1e-13
