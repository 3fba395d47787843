"""Sums that are simplified by sin**2 + cos**2 = 1 keep their values, however they are nested."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.algebra import Expr, cos, evaluate_all, factor, sin, symbols, total
from tests.seeds import cases, seeds

A, B, C, D = symbols("A B C D")
E, F, G = symbols("e f g")
ATOMS = (A, B, C, D, E, F, G)


def squares_in_sums(rng: np.random.Generator, depth: int) -> Expr:
    """Return a sum of squared sines and cosines, whose factors may be such sums."""
    terms = []
    for _ in range(int(rng.integers(2, 5))):
        factor_ = _factor(rng, depth)
        for _ in range(int(rng.integers(0, 3))):
            wave = (sin, cos)[int(rng.integers(2))]
            factor_ = factor_ * wave((E, F, G)[int(rng.integers(3))]) ** 2
        terms.append(int(rng.choice([-2, -1, 1, 1, 2])) * factor_ / int(rng.choice([1, 2])))
    return total(terms)


def _factor(rng: np.random.Generator, depth: int) -> Expr:
    if depth and rng.random() < 0.5:
        return squares_in_sums(rng, depth - 1)
    linear = [A - B - C, A + B - C, A, D + A / 2]
    return linear[int(rng.integers(len(linear)))]


@pytest.mark.parametrize("k", cases(seeds(40), daily=10))
def test_a_sum_is_worth_what_its_terms_are(k: int) -> None:
    rng = np.random.default_rng(k)
    terms = [squares_in_sums(rng, 2) * (cos(E) ** 2 if n % 2 else sin(F) ** 2) for n in range(3)]
    points = {x: rng.uniform(-2, 2, size=4) for x in ATOMS}
    *parts, whole = (np.broadcast_to(v, 4) for v in evaluate_all([*terms, total(terms)], points))
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.broadcast_to(evaluate_all([factor(total(terms))], points)[0], 4),
        whole,
        rtol=1e-9,
        atol=1e-9,
    )


def test_a_term_that_an_opened_sum_brings_is_added_to_what_is_there() -> None:
    first, second = A - B - C, A + B - C
    inner = D - cos(F) ** 2 * first / 2 - cos(F) ** 2 * second / 2
    parts = [cos(E) ** 2 * inner, sin(F) ** 2 * first / 2, -D]
    points = {x: np.float64(0.3 + 0.1 * k) for k, x in enumerate(ATOMS)}
    *values, whole = evaluate_all([*parts, total(parts)], points)
    assert whole == pytest.approx(sum(values), rel=1e-12)
