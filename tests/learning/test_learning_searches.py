"""Searches: their updates by hand, functions with known minima, and a cart-pole that swings up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.learning.primitives import Primitive
from linkwright.learning.searches import search, step_of
from tests.seeds import seeds

Array = NDArray[np.float64]


def test_an_update_of_pi2_is_that_of_its_table() -> None:
    """In loops, as it is printed: S of a step to the end, P of lanes, weights of steps."""
    rng = np.random.default_rng(0)
    costs, noise, active = (
        rng.uniform(size=(6, 4)),
        rng.normal(size=(6, 3)),
        rng.uniform(size=(4, 3)),
    )
    wanted = np.zeros(3)
    for j in range(3):
        above = below = 0.0
        for i in range(4):
            s = [sum(costs[k, i:]) for k in range(6)]
            p = [np.exp(-10 * (v - min(s)) / (max(s) - min(s))) for v in s]
            step = sum(p[k] / sum(p) * noise[k, j] for k in range(6))
            above += (4 - i) * active[i, j] * step
            below += (4 - i) * active[i, j]
        wanted[j] = above / below
    assert step_of(costs, noise, active) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("method", ["pi2", "cma"])
@pytest.mark.parametrize("seed", seeds(5, daily=1))
def test_a_bowl_in_ten_directions(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, size = rng.normal(size=10), rng.uniform(0.5, 2, 10)

    def cost(x: Array) -> Any:
        found = np.sum(size * (x - low) ** 2, axis=1)
        found[x[:, 0] > low[0] + 2] = np.nan  # where a run fails
        return found

    found = search(cost, np.zeros(10), 0.5, method=method, lanes=20, updates=90, seed=seed)
    assert found.cost == pytest.approx(float(cost(found.x[None])[0]))
    assert found.cost < 0.02 * found.history[0]
    assert np.abs(found.x - low).max() < 0.3


def test_a_primitive_learns_to_pass_a_point_on_its_way() -> None:
    """Its weights are lanes of one batch; costs are of time steps, so that PI2 knows which act."""
    t = np.linspace(0, 1, 101)
    block = Primitive(t**3 * (10 - 15 * t + 6 * t**2), t, bases=8)
    s = lw.System(name="s", base=100)
    s.add(block)

    x = np.exp(-np.log(100) * t)
    c = np.exp(-np.log(100) * np.linspace(0, 1, 8))
    h = 1 / np.append(np.diff(c), np.diff(c)[-1]) ** 2
    psi = np.exp(-h * (x[:, None] - c) ** 2)

    def miss(w: Array) -> Array:
        """Half way it shall be at 0.8, and at rest in the end; forces cost a little."""
        values = {f"primitive.w0_{k}": w[:, k] for k in range(8)}
        half = lw.simulate_batch(s, 0.5, parameters=values, method="rk4")["primitive.y_0"]
        costs = np.full((len(w), 101), 1e-11) * np.sum(w**2, axis=1)[:, None]
        costs[:, 50] += (half - 0.8) ** 2
        return np.asarray(costs)

    start = block.weights[0]
    found = search(miss, start, 60.0, active=psi, lanes=16, updates=25)
    assert found.history[0] > 0.05
    assert found.cost < 0.02 * found.history[0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"start": []}, "finite numbers"),
        ({"spread": 0.0}, "above 0"),
        ({"method": "pi3"}, "'pi2' or 'cma'"),
        ({"lanes": 1}, "3 or more"),
        ({"decay": 2.0}, "up to 1"),
        ({"cost": lambda x: 1.0}, "for each row"),
        ({"cost": lambda x: np.full(len(x), np.nan)}, "no cost"),
        ({"active": np.ones((3, 2))}, "active"),
        ({"method": "cma", "active": np.ones((1, 2))}, "leave out active"),
        ({"method": "cma", "start": [1.0]}, "two parameters"),
    ],
)
def test_what_cannot_be_searched_is_said(change: dict[str, Any], word: str) -> None:
    given = {"cost": lambda x: np.sum(x**2, axis=1), "start": [1.0, 2.0], "spread": 0.1}
    with pytest.raises(Error, match=word):
        search(**{**given, **change})
