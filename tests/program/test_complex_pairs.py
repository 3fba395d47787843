"""Programs over complex numbers as Programs over pairs of reals, against NumPy's arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwright import algebra
from linkwright.algebra import Expr, atan, symbol, symbols, where
from linkwright.program import Solve, interpret, lower, program
from linkwright.program.passes.complex_pairs import complex_pairs
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Program,
    ProgramError,
    Scanned,
    Stacked,
)


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1)


def values(made: Program, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a Program of pairs, as complex numbers where they are pairs."""
    given = [pairs(x) if np.iscomplexobj(x) else x for x in inputs]
    found = interpret(lower(made), given)
    return [x[..., 0] + 1j * x[..., 1] if x.shape[-1:] == (2,) else x for x in found]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


X, Y, Z = symbols("x y z")
FORMS: dict[str, Callable[..., Any]] = {
    "sum": lambda f, x, y, z: x + 2 * y - 3 * z + 0.5,
    "product": lambda f, x, y, z: x * y * z,
    "power": lambda f, x, y, z: x**5 * y**2,
    "quotient": lambda f, x, y, z: x**2 / (y * z**3),
    "nested": lambda f, x, y, z: (x + y) ** 3 / (1 + z**2) - x * (y - z) ** -2,
    "circular": lambda f, x, y, z: f.sin(x) * f.cos(y) + f.tan(z),
    "hyperbolic": lambda f, x, y, z: f.sinh(x) * f.cosh(y) + f.exp(z) * f.tanh(x),
}


@pytest.mark.parametrize("name", FORMS)
def test_arithmetic_is_that_of_complex_numbers(name: str) -> None:
    form = FORMS[name]
    made = complex_pairs(program("f", {"a": [X, Y, Z]}, {"f": form(algebra, X, Y, Z)}))
    z = random(50, 3)
    np.testing.assert_allclose(values(made, z)[0], form(np, *z.T), rtol=1e-11)


def test_what_is_real_stays_real() -> None:
    t = symbol("t")
    made = complex_pairs(
        program("f", {"z": [X], "t": t}, {"f": [X * t], "g": 2 * t + 1}), real=("t", "g")
    )
    assert [p.shape for p in (*made.inputs, *made.outputs)] == [(1, 2), (), (1, 2), ()]
    assert made.port("f").entries[0] == made.port("z").entries[0] * t
    with pytest.raises(ProgramError, match="'f' of 'f' is not real"):
        complex_pairs(program("f", {"z": [X]}, {"f": X}), real=("f",))
    with pytest.raises(ProgramError, match="has no array u"):
        complex_pairs(program("f", {"z": [X]}, {"f": X}), real=("u",))


def test_the_imaginary_unit_is_a_symbol() -> None:
    unit = symbol("i")
    given = program("f", {"z": [X], "unit": unit}, {"f": [unit * X + unit**2]})
    made = complex_pairs(replace(given, inputs=given.inputs[:1]), imaginary=unit)
    z = random(3, 1)
    np.testing.assert_allclose(values(made, z)[0], 1j * z - 1, rtol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_system_is_solved_with_pivoting(size: int) -> None:
    a, b = (
        symbols(" ".join(f"a{k}" for k in range(size**2))),
        [symbol(f"b{k}") for k in range(2 * size)],
    )
    x = [symbol(f"u{k}", "local") for k in range(2 * size)]
    solve = Solve(size, tuple(a), tuple(b), tuple(x))
    made = complex_pairs(program("f", {"a": list(a), "b": b}, {"x": x}, statements=[solve]))
    matrix, right = random(20, size, size), random(20, 2, size)
    if size > 1:
        matrix[:, 0, 0] = 0  # needs an exchange of rows
    (found,) = values(made, matrix.reshape(20, -1), right.reshape(20, -1))
    expected = np.linalg.solve(matrix, right.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_allclose(found.reshape(20, 2, size), expected, rtol=1e-9)


def test_loops_calls_and_choices_are_carried_over() -> None:
    """A recurrence z -> z^2 + c with a real counter, inside a call, chosen by a real condition."""
    z, c, t = symbol("z", "local"), symbol("c"), symbol("t", "local")
    end, turns, last = (symbol(n, "local") for n in ("end", "turns", "last"))
    kept = tuple(symbol(f"k{i}", "local") for i in range(3))
    step, weight = symbol("step", "local"), symbol("weight", "local")
    chosen: Expr = where(t < 1.5, step, step + 1)
    loop = Loop(
        3,
        (Carried(z, c, chosen, end), Carried(t, 0 * c, t + 1, turns)),
        (Scanned(weight, (c, 2 * c, c * c)),),
        (Stacked(z, kept),),
        (Assign(step, z * z + weight),),
    )
    inner = program("inner", {"c": c}, {"z": end + turns, "kept": list(kept)}, statements=[loop])
    d, found = symbol("d"), [symbol(f"f{k}", "local") for k in range(4)]
    outer = program(
        "outer", {"d": d}, {"f": [last * 2, *found[1:]]},
        statements=[Call(inner, (d,), tuple(found)), Assign(last, found[0])],
    )  # fmt: skip
    made = complex_pairs(outer)
    at = random(9, seed=2) * 0.4
    state, rows = at, []
    for k, w in enumerate((at, 2 * at, at * at)):
        rows.append(state)
        state = state * state + w + (0 if k < 1.5 else 1)
    np.testing.assert_allclose(
        values(made, at)[0], np.stack([2 * (state + 3), *rows], -1), rtol=1e-12
    )


def test_what_is_not_analytic_is_refused_by_name() -> None:
    with pytest.raises(ProgramError, match="'atan' of a complex number"):
        complex_pairs(program("f", {"z": [X]}, {"f": atan(X)}))
    with pytest.raises(ProgramError, match="'lt' of a complex number"):
        complex_pairs(program("f", {"z": [X]}, {"f": where(X < 1, X, 0)}))
