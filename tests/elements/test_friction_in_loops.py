"""Dry friction in the joints of closed loops, with speeds eliminated and with all of them kept.

Against the one equation of the loop, which `tests/oracles/crank_loop.py` writes out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwright as lw
from tests.oracles.crank_loop import CrankLoop, G, crank_mechanism
from tests.seeds import cases, seeds

LOOP = CrankLoop()


def options(method: str) -> dict[str, Any]:
    return {"method": method, "step": 0.02 if method == "dop853" else 2e-3}


CASES = cases(
    [(form, m) for form in ("auto", "redundant") for m in ("dop853", "rk4", "semi-implicit")],
    daily=[("auto", "dop853"), ("auto", "semi-implicit"), ("redundant", "rk4")],
)


@pytest.mark.parametrize(("form", "method"), CASES)
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_loop_stands_still_below_break_away(form: str, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = float(rng.uniform(0.5, 2.5))
    F = rng.uniform(0.3, 1.0, 3)
    _, _, slope, k = LOOP.terms(q)
    push = float(slope + 0.98 * rng.choice([-1, 1]) * F @ np.abs(k))
    values = LOOP.values(F, push)
    run = lw.simulate(
        crank_mechanism(),
        0.2,
        form=form,
        initial=LOOP.start(q),
        parameters=values,
        **options(method),
    )
    within = 1e-11 if form == "redundant" else 1e-12  # speeds of a loop are solved for
    for name, there in LOOP.start(q).items():
        assert run[name] == pytest.approx(there, abs=within), name


@pytest.mark.parametrize(("form", "method"), CASES)
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_loop_slides_and_comes_to_rest_as_the_law_says(form: str, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, u = float(rng.uniform(0.8, 1.6)), float(rng.uniform(1.0, 3.0) * rng.choice([-1, 1]))
    F = rng.uniform(1.5, 3.0, 3)
    start, values = LOOP.start(q, u), LOOP.values(F, 0.0)
    run = lw.simulate(
        crank_mechanism(), 0.3, form=form, initial=start, parameters=values, **options(method)
    )
    error = {"dop853": 1e-7, "rk4": 1e-4}.get(method, 1e-2)
    for until in (0.02, 0.3):
        at = int(np.argmin(np.abs(run.times - until)))
        assert run.times[at] == pytest.approx(until)
        found = run["crank"][at], run["crank_dot"][at]
        assert found == pytest.approx(LOOP.moved(q, u, 0.0, F, until), abs=error)
    speed = run.final["crank_dot"]
    # where gravity pulls it over, as the law says, it is still on its way
    assert abs(speed) < 1e-12 or LOOP.moved(q, u, 0.0, F, 0.29)[1] != 0, "it slides too long"


@pytest.mark.parametrize("method", cases(["dop853", "dopri5"], daily=["dop853"]))
def test_a_loop_moves_on_where_one_of_its_joints_turns_back(method: str) -> None:
    """Friction holds nothing at a dead point: the rocker's, at 0.5857 rad of the crank."""
    q, u, F = 0.82086159, -2.91612715, np.array([1.73926042, 2.28621536, 2.15549164])
    values = LOOP.values(F, 0.0)
    run = lw.simulate(
        crank_mechanism(), 0.12, initial=LOOP.start(q, u), parameters=values, **options(method)
    )
    wanted = LOOP.moved(q, u, 0.0, F, 0.12)
    assert wanted[0] < 0.55
    assert wanted[1] < -2.0
    assert (run.final["crank"], run.final["crank_dot"]) == pytest.approx(wanted, abs=1e-7)


METHODS = [("dop853", "auto"), ("dopri5", "auto"), ("rodas4", "auto"), ("dop853", "redundant")]


def random_loop(rng: np.random.Generator) -> CrankLoop:
    """Draw a loop whose crank turns around, and whose coupler and rocker never are in line."""
    while True:
        a, b, c, d = (float(x) for x in rng.uniform(0.15, 0.8, 4))
        angles = [(b**2 + c**2 - way**2) / (2 * b * c) for way in (d - a, d + a)]
        if a < min(b, c, d) and max(map(abs, angles)) < 0.85:
            one, two, three = (float(m) for m in rng.uniform(0.3, 3.0, 3))
            return CrankLoop((a, b, c, d), (one, two, three), int(rng.choice([-1, 1])))


@pytest.mark.parametrize("seed", seeds(12, daily=1))
def test_random_loops_move_and_rest_as_the_law_says_at_any_tolerance(seed: int) -> None:
    """Loops that swing, turn around, come to rest and break away, some beside dead points.

    All steps together may err by `steps` times the tolerance: as much as a start or frictions that
    are off by that part do.
    """
    rng = np.random.default_rng([7, seed])
    method, form = METHODS[seed % len(METHODS)]
    for turn in range(4 if form == "auto" else 2):
        loop = random_loop(rng)
        weight = G * sum(loop.masses) * loop.sizes[0]
        F = weight * rng.uniform(0.01, 0.15, 3) * 10 ** rng.uniform(-1.0, 0.3)
        q, u = float(rng.uniform(-np.pi, np.pi)), float(rng.uniform(-6.0, 6.0) * (turn != 1))
        push = float(weight * rng.uniform(-0.3, 0.3))
        if turn % 2:  # slow, or at rest, beside a dead point
            q = rng.choice(loop.dead_points()) + float(rng.normal() * 10 ** rng.uniform(-4, -0.5))
            _, _, slope, k = loop.terms(q)
            u, push = 0.3 * u, float(slope + rng.uniform(-1.5, 1.5) * F @ np.abs(k))
        tolerance, until = float(10 ** rng.uniform(-9.0, -3.0)), float(rng.uniform(0.2, 0.8))
        run = lw.simulate(
            crank_mechanism(), until, step=until, method=method, form=form, tolerance=tolerance,
            initial=loop.start(q, u), parameters=loop.values(F, push),
        )  # fmt: skip
        error = run.steps * tolerance
        wanted = np.array(loop.moved(q, u, push, F, until))
        others = [
            loop.moved(q + error, u * (1 + error), push, F, until),
            *(loop.moved(q, u, push, F * (1 + part), until) for part in (error, -error)),
        ]
        bound = np.abs(np.array(others) - wanted).max(axis=0)
        bound += error * np.maximum(1.0, np.abs(wanted))
        found = np.array([run.final["crank"], run.final["crank_dot"]])
        assert np.all(np.abs(found - wanted) <= bound), (turn, tolerance, found, wanted, bound)
