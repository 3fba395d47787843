"""The cells of the systolic array: Faddeev's algorithm, the square root, and the cost model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import InputError, ShapeError
from linkwright.heritage.systolic import (
    STEP_CYCLES,
    ArrayFault,
    array_cost,
    faddeev,
    pseudo_inverse_cost,
    root,
    to_numbers,
    to_words,
)
from linkwright.heritage.systolic.cells import FIXED, FLOAT, boundary_cell, internal_cell
from linkwright.heritage.systolic.fixed import (
    LEAST,
    MOST,
    ONE,
    divide,
    magnitude,
    multiply,
    normalize,
)
from linkwright.heritage.systolic.roots import fixed_root


def parts(seed: int, m: int, n: int, p: int, l: int) -> tuple[Any, ...]:
    """Return well-conditioned A, B, C, D whose words do not overflow on the way."""
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.normal(size=(m, n)))[0] + 0.08 * rng.uniform(-1, 1, (m, n))
    return A, *(0.2 * rng.uniform(-1, 1, size) for size in ((m, p), (l, n), (l, p)))


@pytest.mark.parametrize(
    ("m", "n", "p", "l"), [(6, 6, 6, 6), (1, 1, 1, 1), (4, 4, 2, 7), (9, 5, 3, 2)]
)
def test_the_cells_give_faddeevs_result(m: int, n: int, p: int, l: int) -> None:
    """Server check 28: below 1e-12 in floats and 1e-5 in fixed point; tall A by least squares."""
    for seed in range(2):
        A, B, C, D = parts(seed, m, n, p, l)
        wanted = D + C @ np.linalg.lstsq(A, B)[0]
        assert abs(faddeev(A, B, C, D) - wanted).max() < 1e-12
        assert abs(faddeev(A, B, C, D, arithmetic="fixed") - wanted).max() < 1e-5
        assert abs(faddeev(A, B, -C, D) - (D - C @ np.linalg.lstsq(A, B)[0])).max() < 1e-12


def test_inverse_product_sum_and_pseudo_inverse_are_choices_of_the_four_parts() -> None:
    """Server check 28: what the report computes with one program."""
    I, O = np.eye(6), np.zeros((6, 6))
    A, B, C, _ = parts(1, 6, 6, 6, 6)
    for arithmetic, near in (("float", 1e-12), ("fixed", 1e-5)):
        inverse = faddeev(A, I / 2, I / 2, O, arithmetic=arithmetic) * 4
        assert abs(inverse @ A - I).max() < 4 * near
        assert abs(faddeev(I, B, C, O, arithmetic=arithmetic) - C @ B).max() < near
        assert abs(faddeev(I, B, I, C, arithmetic=arithmetic) - (C + B)).max() < near
        assert abs(faddeev(A, B, I, O, arithmetic=arithmetic) - np.linalg.solve(A, B)).max() < near
    J = np.hstack([A, B[:, :1]])
    squared = faddeev(np.eye(7), J.T, J, O)
    turned = faddeev(I, faddeev(squared, I, I, O), J.T, np.zeros((7, 6)))
    assert abs(turned - np.linalg.pinv(J)).max() < 1e-12


@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float", "fixed"])
def test_a_zero_pivot_turns_nothing(arithmetic: Any) -> None:
    """Server check 29: r = x = 0 gives s = 0 and c = 1, by 0/0 = 0 alone."""
    zero, one = arithmetic.read(0.0), arithmetic.one
    for M in (zero, one):
        r, s, c = (float(arithmetic.write(v)) for v in boundary_cell(zero, zero, M, arithmetic))
        assert (r, s, c) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float", "fixed"])
def test_M_turns_rotation_into_elimination_mid_stream(arithmetic: Any) -> None:
    """Server check 29: the same rules, and M alone differs."""
    r, x = arithmetic.read(0.6), arithmetic.read(0.8)
    near = 1e-6
    turned = [float(arithmetic.write(v)) for v in boundary_cell(r, x, arithmetic.one, arithmetic)]
    assert turned == pytest.approx([1.0, 0.8, 0.6], abs=near)
    zero = arithmetic.read(0.0)
    pivot, s, c = boundary_cell(r, x, zero, arithmetic)
    found = [float(arithmetic.write(v)) for v in (pivot, s, c)]
    assert found == pytest.approx([0.6, 4 / 3, 1.0], abs=near)
    held, left = internal_cell(arithmetic.read(0.5), arithmetic.read(0.25), s, c, zero, arithmetic)
    assert float(arithmetic.write(held)) == pytest.approx(0.5, abs=near)
    assert float(arithmetic.write(left)) == pytest.approx(0.25 - 0.5 * 4 / 3, abs=near)


def test_a_first_column_that_starts_with_zeros_is_no_special_case() -> None:
    """Server check 29: zero pivots on the way of a regular matrix."""
    A = np.array([[0.0, 0.0, 0.9], [0.0, 0.9, 0.1], [0.9, 0.1, 0.0]])
    I, O = np.eye(3), np.zeros((3, 3))
    assert abs(faddeev(A, I, I, O) @ A - I).max() < 1e-12
    assert abs(faddeev(A, I, I, O, arithmetic="fixed") @ A - I).max() < 1e-5


def test_the_cost_model_has_the_reports_figures() -> None:
    """Server check 30: N = 2n + p + m + l steps of 148 cycles; 0.555 and 1.74 ms at 8 MHz."""
    assert STEP_CYCLES == 148
    assert array_cost(m=2, n=3, p=5, l=7).steps == 2 * 3 + 5 + 2 + 7
    assert array_cost(6, 6, 6, 6).seconds == pytest.approx(0.555e-3, abs=1e-12)
    passes = pseudo_inverse_cost(6, 7)
    assert [one.steps for one in passes] == [33, 30, 31]
    assert round(1e3 * sum(one.seconds for one in passes), 2) == 1.74
    assert array_cost(6, 6, 6, 6, clock=16e6).seconds == pytest.approx(0.2775e-3, abs=1e-12)
    with pytest.raises(InputError, match="n is 0"):
        array_cost(1, 0, 1, 1)
    with pytest.raises(InputError, match="clock"):
        array_cost(1, 1, 1, 1, clock=0)


def test_the_root_is_exact_to_a_millionth() -> None:
    """Server check 31: seed and one step of Newton for u in [0, 1]; 2.1e-7 in fact."""
    u = np.linspace(0, 1, 20001)
    for scale in (1e-3, 1.0, 1e3):
        found = root(np.full_like(u, scale), u * scale)
        assert (abs(found / (scale * np.hypot(1, u)) - 1)).max() == pytest.approx(2.1e-7, abs=1e-8)
    words = fixed_root(to_words(np.full_like(u, 1.2)), to_words(-1.2 * u))
    assert abs(to_numbers(words) / (1.2 * np.hypot(1, u)) - 1).max() < 3e-7


def test_words_print_as_the_reports_display() -> None:
    """Server check 32: loading, complements, products and shifts, to 1e-14."""

    def shown(word: Any) -> float:
        return float(to_numbers(word))

    assert shown(to_words(0.02)) == pytest.approx(0.0199999995529652, abs=1e-14)
    assert shown(to_words(0.04)) == pytest.approx(0.0399999991059303, abs=1e-14)
    assert shown(to_words(-0.03)) == pytest.approx(-0.0299999993294477, abs=1e-14)
    assert shown(~to_words(0.04)) == pytest.approx(-0.0400000000372529, abs=1e-14)
    product = multiply(to_words(0.08), to_words(0.04))
    assert shown(product) == pytest.approx(0.0031999992206693, abs=1e-14)
    assert shown(~product) == pytest.approx(-0.0032000001519918, abs=1e-14)
    assert shown(~to_words(0.0)) == pytest.approx(-9.313226e-10, abs=1e-16)
    x, y = normalize(to_words(0.04), to_words(0.02))
    assert shown(x) == pytest.approx(1.27999997138977, abs=1e-14)
    assert shown(y) == pytest.approx(0.639999985694885, abs=1e-14)


def test_words_are_those_of_whole_numbers() -> None:
    """Products and quotients cut toward zero, for every sign and at the ends of the range."""
    rng = np.random.default_rng(3)
    words = [*(int(w) for w in rng.integers(LEAST, MOST, 30)), 0, 1, -1, ONE, -ONE, MOST, LEAST]
    for a in words:
        for b in words[::3]:
            cut = abs(a * b) // ONE * (1 if (a < 0) == (b < 0) else -1)
            one, two = np.int64(a), np.int64(b)
            if LEAST <= cut <= MOST:
                assert int(multiply(one, two)) == cut
            else:
                with pytest.raises(ArrayFault, match="overflow: the product"):
                    multiply(one, two)
            if b and LEAST <= (cut := abs(a) * ONE // abs(b)) <= MOST:
                assert abs(int(divide(one, two))) == cut
            x, y = (int(v) for v in normalize(one, two))
            assert min(x, y) >= LEAST
            assert max(x, y) <= MOST
            assert x * b == y * a
            assert abs(x) >= ONE or abs(y) >= ONE or x == y == 0 or a == 0
            assert int(magnitude(one)) in (abs(a), abs(a) - 1)


def test_what_does_not_fit_is_refused() -> None:
    """Overflow, singular and ill-sized data are named, with a remedy."""
    I, O = np.eye(2), np.zeros((2, 2))
    with pytest.raises(ArrayFault, match=r"overflow: the quotient is -5.*scale the data"):
        faddeev(0.2 * I, I, I, O, arithmetic="fixed")
    with pytest.raises(ArrayFault, match=r"2 is out of the range"):
        faddeev(2 * I, I, I, O, arithmetic="fixed")
    with pytest.raises(ArrayFault, match="a pivot is 0"):
        faddeev(O, I, I, O)
    with pytest.raises(ArrayFault, match="x/0"):
        faddeev(O, I, I, O, arithmetic="fixed")
    with pytest.raises(ShapeError, match="B is 3×2; give 2×2"):
        faddeev(I, np.ones((3, 2)), I, O)
    with pytest.raises(ShapeError, match="at least as many rows"):
        faddeev(np.ones((1, 2)), np.ones((1, 1)), I, np.ones((2, 1)))
    with pytest.raises(InputError, match="did you mean 'fixed'"):
        faddeev(I, I, I, O, arithmetic="fix")
    with pytest.raises(InputError, match="not finite"):
        faddeev(I * np.nan, I, I, O)
