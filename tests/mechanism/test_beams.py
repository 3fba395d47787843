"""Beams of segments: deflection and frequencies of the textbook, and a beam that is spun up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.mechanism import Mechanism, MechanismError

LENGTH, EI, LINE = 10.0, 1.4e4, 1.2  # m, N m^2, kg/m: the beam of Kane, Ryan and Banerjee (1987)


def cantilever(segments: int, force: float = 0.0) -> Mechanism:
    m = Mechanism("cantilever")
    parts = m.beam("b", length=LENGTH, mass=LINE * LENGTH, bending=EI, segments=segments)
    tip = m.point("tip", parts[-1], (LENGTH / segments, 0, 0))
    if force:
        m.force("load", force, at=tip, along="y")
    m.output("deflection", "dot(pos(tip), [n2])", unit="m")
    return m


@pytest.mark.parametrize("segments", [4, 10])
def test_a_load_at_the_tip_bends_it_as_the_textbook_says(segments: int) -> None:
    force = 0.5
    found = lw.equilibrium(cantilever(segments, force))
    place = {f"b{k}": found.coordinates[f"b{k}"] for k in range(1, segments + 1)}
    angles = np.cumsum([place[f"b{k}"] for k in range(1, segments + 1)])
    deflection = LENGTH / segments * np.sin(angles).sum()
    wanted = force * LENGTH**3 / (3 * EI)
    assert deflection == pytest.approx(wanted, rel=2e-5)


def test_it_swings_with_the_frequencies_of_a_cantilever() -> None:
    model = lw.linear.second_order(cantilever(8))
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(model.mass, model.stiffness)).real)
    unit = math.sqrt(EI / (LINE * LENGTH**4))
    wanted = [unit * x**2 for x in (1.8751041, 4.6940911)]
    assert np.sqrt(squares[:2]) / wanted == pytest.approx([1, 1], abs=0.025)
    assert math.sqrt(squares[0]) == pytest.approx(wanted[0], rel=0.004)


def ritz(until: float) -> float:
    """Return the largest lag of the tip of a beam that is spun up, by polynomials and stiffening.

    w'' M + (K + W^2 (G - M)) w = -W' p, with G of the tension that the spin makes.
    """
    x = np.linspace(0, LENGTH, 4001)
    powers = range(2, 7)
    shape = np.array([(x / LENGTH) ** k for k in powers])
    slope = np.array([k / LENGTH * (x / LENGTH) ** (k - 1) for k in powers])
    curve = np.array([k * (k - 1) / LENGTH**2 * (x / LENGTH) ** (k - 2) for k in powers])

    def over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        whole: np.ndarray = np.trapezoid(a[:, None] * b[None], x, axis=2)
        return whole

    mass, stiff = LINE * over(shape, shape), EI * over(curve, curve)
    tension = LINE / 2 * (LENGTH**2 - x**2)
    tight = over(slope * tension, slope)
    load = LINE * np.trapezoid(shape * x, x, axis=1)
    inverse = np.linalg.inv(mass)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        w, wd = y[:5], y[5:]
        spin, gain = speed(t), 6 / 15 * (1 - math.cos(2 * math.pi * t / 15))
        return np.concatenate(
            [wd, inverse @ (-gain * load - (stiff + spin**2 * (tight - mass)) @ w)]
        )

    found = solve_ivp(rates, (0, until), np.zeros(10), rtol=1e-8, atol=1e-10, max_step=0.05)
    return float((found.y[:5].sum(axis=0)).min())


def speed(t: float) -> float:
    return 6 / 15 * (t - 15 / (2 * math.pi) * math.sin(2 * math.pi * t / 15))


def test_a_beam_that_is_spun_up_lags_and_straightens_again() -> None:
    """Its stiffening keeps it: without, it would bend away without end (Kane and others 1987)."""
    m = Mechanism("spin")
    hub = m.body("hub", rotate="z", mass=1, inertia=1)
    parts = m.beam("b", hub, length=LENGTH, mass=LINE * LENGTH, bending=EI, segments=8)
    m.point("tip", parts[-1], (LENGTH / 8, 0, 0))
    m.constrain("hub_dot - 6/15*(t - 15/(2*pi)*sin(2*pi*t/15))", eliminate="hub_dot")
    m.output("lag", "dot(pos(tip), [hub2])", unit="m")
    run = lw.simulate(m, 15.0, tolerance=1e-7)
    assert run.recording["lag"].min() == pytest.approx(ritz(15.0), rel=0.01)
    assert abs(run.recording["lag"][-1]) < 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segments": 0}, "1 to 100 segments"),
        ({"segments": 2.0}, "1 to 100"),
        ({"bends": "x"}, "y or z"),
    ],
)
def test_what_is_no_beam_is_rejected(change: dict[str, object], message: str) -> None:
    given = {"length": 1, "mass": 1, "bending": 1, **change}
    with pytest.raises(MechanismError, match=message):
        Mechanism("m").beam("b", **given)  # type: ignore[arg-type]
