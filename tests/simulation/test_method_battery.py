"""Every method of integration in every form: its measured order, and what it conserves.

The body tumbles freely about its center of mass (Euler's top) with random inertia and spin, so that
rates depend on speeds, and coordinates are a quaternion or three angles. Its motion is compared
with SciPy's solution of Euler's equations, written out here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.simulation.native.methods import METHODS
from tests.seeds import cases, seeds

UNTIL = 1.0
SEEDS = seeds(1)
FIXED = [m for m in METHODS.values() if not m.adaptive]
ADAPTIVE = [m for m in METHODS.values() if m.adaptive]


@cache
def example(seed: int) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Moments of inertia of a body that can be, kg m^2, and its spin, rad/s."""
    chance = np.random.default_rng(seed)
    sides = np.sort(chance.uniform(0.5, 2.0, 3))
    inertia = sides @ sides - sides**2
    spin = chance.uniform(0.6, 1.4, 3) * chance.choice([-1, 1], 3)
    return inertia, dict(zip(("b.p", "b.q", "b.r"), spin, strict=True))


@cache
def top(seed: int, quaternion: bool) -> lw.Mechanism:
    """The body, turned by a ball joint about its center of mass."""
    m = lw.Mechanism("top")
    m.body("b", joint=lw.Ball(quaternion=quaternion), mass=1, inertia=tuple(example(seed)[0]))
    return m.frozen()


@cache
def exact(seed: int) -> NDArray[np.float64]:
    """The quaternion and the angular velocity at the end, by Euler's equations."""
    inertia, spin = example(seed)

    def rates(t: float, x: Any) -> Any:
        (a, b, c, d), w = x[:4], x[4:]
        p, q, r = w
        turn = [-b * p - c * q - d * r, a * p + c * r - d * q, a * q + d * p - b * r]
        turn.append(a * r + b * q - c * p)
        return [*(0.5 * np.array(turn)), *(np.cross(inertia * w, w) / inertia)]

    start = [1.0, 0.0, 0.0, 0.0, *spin.values()]
    found = solve_ivp(rates, (0, UNTIL), start, "DOP853", rtol=1e-13, atol=1e-13)
    return np.asarray(found.y[:, -1])


# -- forms -----------------------------------------------------------------------------------------
def native(m: lw.Mechanism, **how: Any) -> dict[str, float]:
    """Natively, in independent speeds."""
    return lw.simulate(m, UNTIL, **how).final


def redundant(m: lw.Mechanism, **how: Any) -> dict[str, float]:
    """With all speeds kept."""
    return lw.simulate(m, UNTIL, form="redundant", **how).final


def system(m: lw.Mechanism, **how: Any) -> dict[str, float]:
    """As a System."""
    base = 1 / how["step"] if "step" in how else None
    return lw.simulate(lw.System(m, base=base), UNTIL, **how).final


def batch(m: lw.Mechanism, **how: Any) -> dict[str, float]:
    """Among others in a batch."""
    given = {name: [value, 0.3] for name, value in how.pop("initial").items()}
    found = lw.simulate_batch(m, UNTIL, initial=given, **how)
    names = (*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds))
    return {name: float(found[name][0]) for name in names}


FORMS = (native, redundant, system, batch)


def named(x: Any) -> str:
    """What a form or a method is called."""
    return str(getattr(x, "__name__", None) or x.name)


def pairs(methods: list[Any]) -> list[tuple[Any, Any]]:
    """Each method in each form; every day each method in one, by turns."""
    daily = list(zip(methods, itertools.cycle(FORMS), strict=False))
    return cases(itertools.product(methods, FORMS), daily=daily)


def states(final: dict[str, float]) -> NDArray[np.float64]:
    """The quaternion and the angular velocity."""
    names = [*(f"b.e{k}" for k in range(4)), "b.p", "b.q", "b.r"]
    return np.array([final[n] for n in names])


def energy(seed: int, x: NDArray[np.float64]) -> float:
    """Twice the kinetic energy, J."""
    return float(example(seed)[0] @ x[4:] ** 2)


def momentum(seed: int, x: NDArray[np.float64]) -> float:
    """The size of the angular momentum, N m s."""
    return float(np.linalg.norm(example(seed)[0] * x[4:]))


def step_errors(seed: int, form: Callable[..., Any], method: str) -> list[NDArray[np.float64]]:
    """What a method is wrong by at the end, with steps of two sizes."""
    m, spin = top(seed, quaternion=True), example(seed)[1]
    runs = [form(m, method=method, step=UNTIL / n, initial=spin) for n in (50, 100)]
    return [states(run) for run in runs]


@pytest.mark.parametrize(("method", "form"), pairs(FIXED), ids=named)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_method_with_fixed_steps_has_its_order(seed: int, method: Any, form: Any) -> None:
    """In all states, and in energy and angular momentum, which the body keeps."""
    coarse, fine = step_errors(seed, form, method.name)
    wanted = exact(seed)
    first, second = (float(np.abs(x - wanted).max()) for x in (coarse, fine))
    assert abs(np.log2(first / second) - method.order) < 0.3
    for kept in (energy, momentum):
        lost = [abs(kept(seed, x) - kept(seed, wanted)) for x in (coarse, fine)]
        assert lost[1] < 1.7 * lost[0] / 2**method.order + 1e-13  # one order less would be 2
        assert lost[1] < (0.1 if method.order == 1 else 0.01 if method.order == 2 else 1e-7)


@pytest.mark.parametrize(("method", "form"), pairs(ADAPTIVE[::-1]), ids=named)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_adaptive_method_keeps_to_its_tolerance(seed: int, method: Any, form: Any) -> None:
    m, spin = top(seed, quaternion=True), example(seed)[1]
    wanted = exact(seed)
    for tolerance in (1e-5, 1e-8):
        how = {"method": method.name, "tolerance": tolerance, "step": UNTIL / 4}
        found = states(form(m, initial=spin, **how))
        assert np.abs(found - wanted).max() < 30 * tolerance
        assert abs(energy(seed, found) / energy(seed, wanted) - 1) < 30 * tolerance


@pytest.mark.parametrize("name", cases(METHODS, daily=["dopri5", "midpoint", "verlet"]))
@pytest.mark.parametrize("seed", SEEDS)
def test_each_form_is_integrated_by_the_method_that_was_asked_for(seed: int, name: str) -> None:
    """The same numbers natively and in Python, to rounding; or to a part of the tolerance."""
    m, spin = top(seed, quaternion=False), example(seed)[1]
    how = {"method": name, "step": UNTIL / 20, "initial": spin, "tolerance": 1e-6}
    found = [form(m, **how) for form in (native, redundant)]
    close = 1e-6 if METHODS[name].adaptive else 1e-9
    for other in found[1:]:
        assert max(abs(found[0][n] - other[n]) for n in ("b.rx", "b.ry", "b.rz", "b.p")) < close


@pytest.mark.parametrize("seed", SEEDS)
def test_verlet_has_its_order_with_three_angles_too(seed: int) -> None:
    """Rates of the angles depend on the angles."""
    m, spin = top(seed, quaternion=False), example(seed)[1]
    wanted = native(m, method="dop853", tolerance=1e-12, initial=spin)
    errors = []
    for n in (50, 100):
        found = native(m, method="verlet", step=UNTIL / n, initial=spin)
        errors.append(max(abs(found[k] - wanted[k]) for k in ("b.rx", "b.ry", "b.rz")))
    assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.4


@pytest.mark.parametrize("name", cases(METHODS, daily=["dop853", "implicit-speeds"]))
def test_a_loop_moves_alike_in_both_forms(name: str) -> None:
    """A crank and a slider, whose relations leave one speed."""
    m = lw.load("slider-crank")
    step = 0.0125 if METHODS[name].adaptive else 1e-3
    runs = [
        lw.simulate(m, 0.025, method=name, step=step, tolerance=1e-8, form=form)
        for form in ("independent", "redundant")
    ]
    a, b = (run.final for run in runs)
    close = {1: 2e-3, 2: 1e-5}.get(METHODS[name].order, 1e-6)
    assert max(abs(a[n] - b[n]) / max(1.0, abs(a[n])) for n in m.coordinates) < close
    assert [run.metadata["method"] for run in runs] == [name, name]


@pytest.mark.parametrize(("name", "sign"), [("semi-implicit", 1), ("implicit-speeds", -1)])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_methods_of_first_order_do_to_energy_is_said(seed: int, name: str, sign: int) -> None:
    m, spin = top(seed, quaternion=True), example(seed)[1]
    word = "gains energy" if sign > 0 else "loses energy"
    runs = (
        lw.simulate(m, UNTIL, method=name, step=0.02, initial=spin),
        lw.simulate(lw.System(m, base=50), UNTIL, method=name, initial=spin),
    )
    for run in runs:
        grown = energy(seed, states(run.final)) - energy(seed, exact(seed))
        assert sign * grown > 0
        assert word in run.recording.metadata["notes"][0]
    assert any(word in line for line in runs[0].report)
    swing = lw.Mechanism("swing")
    swing.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    assert "notes" not in lw.simulate(swing, 0.1, method=name).recording.metadata
