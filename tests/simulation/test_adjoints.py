"""Adjoints of runs beside forward sensitivities, complex steps and closed forms."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.simulation.sensitivity import SensitiveRun
from linkwright.simulation.settings import settings_of
from tests.seeds import seeds, seldom
from tests.simulation.test_sensitivity import ball, differences


def both(model: Any, until: float, of: Any, to: Any, within: float = 1e-9, **given: Any) -> Any:
    """The derivatives back, which are those forward."""
    forth, back = (
        lw.sensitivity(model, until, of=of, to=to, mode=mode, **given)
        for mode in ("forward", "adjoint")
    )
    np.testing.assert_allclose(back.values, forth.values, rtol=within, atol=within)
    scale = np.abs(forth.jacobian).max()
    assert scale > 1e-3
    np.testing.assert_allclose(back.jacobian, forth.jacobian, rtol=within, atol=within * scale)
    assert back.reason == forth.reason
    return back


@seldom(daily="test_a_fall_that_bounces_has_the_derivatives_of_its_closed_form_in_50_digits")
def test_steps_that_are_rough_have_the_derivatives_of_a_complex_step() -> None:
    """Through rk4 written out, with coefficients in the rates and in what they are made of."""
    b = lw.Block("rough")
    for name, value in {"a": 1.3, "c": 0.4}.items():
        b.parameter(name, value)
    x, y = b.state("x", initial=0.7), b.state("y", initial=-0.2)
    b.derivative(x, "-a*x**3 + sin(a)*y")
    b.derivative(y, "c*x*y - exp(c)*y + t/5")
    s = lw.System(name="s")
    s.add(b)
    to = ["rough.a", "rough.c", "rough.x", "rough.y"]
    found = lw.sensitivity(s, 2.1, of="rough.x", to=to, step=0.25, mode="adjoint")

    def stepped(a: complex, c: complex, x: complex, y: complex) -> complex:
        def rates(t: float, x: complex, y: complex) -> np.ndarray:
            return np.array([-a * x**3 + np.sin(a) * y, c * x * y - np.exp(c) * y + t / 5])

        z, times = np.array([x, y]), [*(0.25 * k for k in range(9)), 2.1]
        for t, end in pairwise(times):
            h = end - t
            k1 = rates(t, *z)
            k2 = rates(t + h / 2, *(z + h / 2 * k1))
            k3 = rates(t + h / 2, *(z + h / 2 * k2))
            k4 = rates(t + h, *(z + h * k3))
            z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return complex(z[0])

    at = [1.3, 0.4, 0.7, -0.2]
    for j, name in enumerate(to):
        moved = [v + 1e-30j * (i == j) for i, v in enumerate(at)]
        assert found[name] == pytest.approx(stepped(*moved).imag / 1e-30, rel=1e-13)


def test_a_fall_that_bounces_has_the_derivatives_of_its_closed_form_in_50_digits() -> None:
    b = lw.Block("ball")
    for name, value in {"g": 9.81, "e": 0.8}.items():
        b.parameter(name, value)
    h, v = b.state("h", initial=1.3), b.state("v")
    b.derivative(h, v)
    b.derivative(v, "-g")
    b.event("floor", h, direction=-1, resets={v: "-e*v"})
    s = lw.System(name="bouncing")
    s.add(b)
    to = ["ball.g", "ball.e", "ball.h"]
    found = lw.sensitivity(s, 1.1, of="ball.h", to=to, step=0.01, mode="adjoint")

    def height(g: Any, e: Any, h: Any) -> Any:
        first = mpmath.sqrt(2 * h / g)
        t, v = mpmath.mpf("1.1") - first, e * g * first
        return v * t - g * t * t / 2

    with mpmath.workdps(50):
        at = tuple(mpmath.mpf(x) for x in ("9.81", "0.8", "1.3"))
        for j, name in enumerate(to):
            exact = mpmath.diff(height, at, tuple(int(i == j) for i in range(3)))
            assert found[name] == pytest.approx(float(exact), rel=1e-9)


def random_loop(seed: int) -> tuple[lw.System, list[str], list[str], dict[str, Any]]:
    """A random plant with a floor and a limit, under a sampled controller with memory."""
    rng = np.random.default_rng(seed)
    plant, hand = lw.Block("plant"), lw.Block("hand")
    for name in ("m", "k", "c", "e"):
        plant.parameter(name, float(rng.uniform(0.5, 1.0)))
    x = plant.state("x", initial=float(rng.uniform(0.2, 0.5)))
    v = plant.state("v", initial=float(rng.uniform(-2.0, -1.0)))
    z = plant.state("z", initial=0.1)
    plant.input("F")
    plant.derivative(x, v)
    plant.derivative(v, "(F - k*sin(3*x) - c*v + z*t)/m")
    plant.derivative(z, "x*v - z/k")
    plant.event("floor", x, direction=-1, resets={v: "-e*v - 0.1*x", z: "z + 0.2*v*k"})
    if seed % 3 == 0:
        plant.event("out", plant.expr("x - 0.45 - 0.1*t"), direction=1, terminal=True)
    plant.output("y", plant.expr("x + 0.1*v*k"))
    for name in ("kp", "ki", "kd"):
        hand.parameter(name, float(rng.uniform(0.5, 4.0)))
    hand.input("u")
    hand.discrete_state("total", "total + 0.01*u")
    hand.discrete_state("last", "u")
    hand.output(
        "F", hand.expr("-kp*u - ki*total - kd*(u - last)") + hand.noise() * hand.expr("kp/50")
    )
    s = lw.System(name=f"random{seed}")
    rates = (int(rng.choice([20, 50])), int(rng.choice([50, 100])))
    p, c = s.add(plant), s.add(hand, rate=rates[seed % 2])
    s.connect(p.y, c.u)
    s.connect(c.F, p.F)
    to = ["plant.m", "plant.k", "plant.e", "plant.x", "plant.v", "hand.kp", "hand.ki", "hand.kd"]
    given = {"step": float(rng.choice([0.002, 0.0037, 0.05])), "every": int(rng.integers(1, 9))}
    return s, ["plant.y", "plant.v", "hand.F"][: 1 + seed % 3], to, given


@pytest.mark.parametrize("seed", seeds(12, daily=1))
def test_random_loops_with_jumps_have_the_same_derivatives_back_as_forth(seed: int) -> None:
    s, of, to, given = random_loop(seed)
    until = 0.9 + 0.013 * (seed % 12)
    found = both(s, until, of, to, **given)
    exact = differences(s, until, of[0], to[:2], 1e-4, step=given["step"])
    if not found.reason:
        np.testing.assert_allclose(found.jacobian[0, :2], exact, rtol=1e-4, atol=1e-4)


@seldom(daily="test_random_loops_with_jumps_have_the_same_derivatives_back_as_forth")
@pytest.mark.parametrize("step", [1e-2, 1.7e-3])
def test_many_runs_with_jumps_go_back_each_by_its_own(step: float) -> None:
    heights, g = [1.0, 0.2, 0.4], [9.81, 3.0, 6.0]
    given: Any = {"parameters": {"ball.g": g}, "initial": {"ball.h": heights}, "step": step}
    to = ["ball.g", "ball.e", "ball.h"]
    found = both(ball(), 0.9, ["ball.h", "ball.v"], to, **given)
    assert found.jacobian.shape == (3, 2, 3)
    for k in range(3):
        one = lw.sensitivity(
            ball(), 0.9, of=["ball.h", "ball.v"], to=to, step=step, mode="adjoint",
            parameters={"ball.g": g[k]}, initial={"ball.h": heights[k]},
        )  # fmt: skip
        np.testing.assert_allclose(found.jacobian[k], one.jacobian, rtol=1e-12)


def test_many_runs_without_jumps_go_back_in_lanes() -> None:
    lengths, angles = np.linspace(0.8, 1.2, 11), np.linspace(0.1, 0.9, 11)
    found = both(
        "pendulum", 1.003, ["phi", "phi_dot"], ["L", "g", "phi"],
        parameters={"L": lengths}, initial={"phi": angles}, step=1e-2,
    )  # fmt: skip
    one = lw.sensitivity(
        "pendulum", 1.003, of=["phi", "phi_dot"], to=["L", "g", "phi"],
        parameters={"L": lengths[7]}, initial={"phi": angles[7]}, step=1e-2,
    )  # fmt: skip
    np.testing.assert_allclose(found.jacobian[7], one.jacobian, rtol=1e-11)
    assert found["L"].shape == (11, 2)
    assert len(found.table()) == 1 + 22


@seldom(daily="test_random_loops_with_jumps_have_the_same_derivatives_back_as_forth")
@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "double-pendulum", "top"])
def test_what_runs_behind_steps_is_gone_back_through(name: str) -> None:
    """Loops that are closed again, quaternions that are made unit ones."""
    if name != "top":
        to = {"four-bar": ["L2", "L4"], "slider-crank": ["Ic", "Ir"]}.get(name, ["L1", "L2"])
        both(name, 0.0503, next(iter(lw.load(name).coordinates)), to, step=1e-3)
        return
    m = lw.Mechanism("top")
    m.body(
        "b", joint=lw.Free(quaternion=True), mass="M", com=(0.1, 0.2, 0), inertia=("I", 0.2, 0.3)
    )
    m.gravity(g="g")
    m.defaults(M=2.0, I=0.1, g=9.81)
    spins = {"b.p": [1.0, 2.0, 0.3], "b.q": 0.5, "b.r": 0.2}
    both(m, 0.3, ["b.x", "b.e0", "b.e2"], ["M", "I", "b.p"], step=1e-2, initial=spins)


def test_the_way_is_chosen_by_counts() -> None:
    many = ["L", "g", "phi"]
    run = SensitiveRun("pendulum", settings_of(0.1, method="rk4"), ["phi"], many)
    assert run.goes_back()
    assert not SensitiveRun(
        "pendulum", settings_of(0.1, method="dopri5"), ["phi"], ["L"]
    ).goes_back()
    assert run.goes_back("cuda")
    assert not SensitiveRun(
        ball(), settings_of(0.1, method="rk4"), ["ball.h"], ["ball.g"]
    ).goes_back("cuda")
    b = lw.Block("b")
    for k in range(9):
        b.parameter(f"a{k}", 0.1 * k)
    b.state("x", " + ".join(f"a{k}*x**{k}" for k in range(3)), initial=0.5)
    s = lw.System(name="s")
    s.add(b)
    to = [f"b.a{k}" for k in range(3)]
    assert len(lw.sensitivity(s, 1.0, of="b.x", to=to, step=0.1).rates) == 11  # forth: over time
    assert len(lw.sensitivity(s, 1.0, of="b.x", to=to, step=0.1, mode="adjoint").rates) == 1
    with pytest.raises(Error, match=r"no mode 'back'; choose one of auto, forward, adjoint"):
        lw.sensitivity(s, 1.0, of="b.x", to=to, mode="back")
    with pytest.raises(Error, match=r"steps of dopri5 have no adjoints; take rk4"):
        lw.sensitivity(s, 1.0, of="b.x", to=to, method="dopri5", mode="adjoint")
    with pytest.raises(Error, match=r"runs with events go back on the processor; take device"):
        lw.sensitivity(ball(), 1.0, of="ball.h", to=["ball.g"], mode="adjoint", device="cuda")
