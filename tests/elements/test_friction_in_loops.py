"""Dry friction in the joints of closed loops, with speeds eliminated and with all of them kept.

Against the one equation of a four-bar linkage, written out here: with k_i = dq_i/dq of each joint,
M q'' + M' q'^2/2 + V' = P - sum_i F_i |k_i| sign(q'), and at rest it stands while
|P - V'| <= sum_i F_i |k_i|.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from tests.seeds import seeds

Array = NDArray[np.float64]
A, B, C, D = 0.3, 0.6, 0.5, 0.7  # crank, coupler, rocker, ground, m
MASSES = (1.5, 2.0, 1.2)
LENGTHS = (A, B, C)
G = 9.81
JOINTS = ("crank", "coupler", "rocker")


@cache
def linkage() -> lw.Mechanism:
    m = lw.Mechanism("linkage")
    m.gravity("-y")
    inertia = [(0, 0, mass * size**2 / 12) for mass, size in zip(MASSES, LENGTHS, strict=True)]
    parts: list[dict[str, Any]] = [
        {"rotate": "z", "mass": mass, "com": (size / 2, 0, 0), "inertia": turn}
        for mass, size, turn in zip(MASSES, LENGTHS, inertia, strict=True)
    ]
    one = m.body("crank", **parts[0])
    two = m.body("coupler", parent=one, at=(A, 0, 0), **parts[1])
    three = m.body("rocker", at=(D, 0, 0), **parts[2])
    ends = m.point("end", two, (B, 0, 0)), m.point("tip", three, (C, 0, 0))
    m.constrain_points(*ends, "x")
    m.constrain_points(*ends, "y")
    m.moment("drive", "P", on=one, about=m.z)
    for name, body in zip(JOINTS, (one, two, three), strict=True):
        m.passive(body, friction=f"F_{name}")
    m.defaults(P=0.0, F_crank=1.0, F_coupler=1.0, F_rocker=1.0)
    return m


def closed(q: float) -> Array:
    """Absolute angles of coupler and rocker, by the law of cosines; the loop closes at every q."""
    crank = A * np.exp(1j * q)
    way = D - crank
    away = abs(way)
    tip = crank + B * way / away * np.exp(1j * np.arccos((B**2 + away**2 - C**2) / (2 * B * away)))
    return np.asarray(np.angle([tip - crank, tip - D]))


def paces(q: float, x: Array) -> Array:
    """Rates of the absolute angles by that of the crank."""
    J = np.array([[-B * np.sin(x[0]), C * np.sin(x[1])], [B * np.cos(x[0]), -C * np.cos(x[1])]])
    return np.linalg.solve(J, [A * np.sin(q), -A * np.cos(q)])


def inertia_and_height(q: float) -> tuple[float, float, Array]:
    """M, V and the k_i of the joints."""
    x = closed(q)
    f, r = paces(q, x)
    (m1, m2, m3), half = MASSES, B / 2
    M = m1 * A**2 / 3 + m3 * C**2 / 3 * r**2 + m2 * B**2 / 12 * f**2
    v = np.array(
        [-A * np.sin(q) - half * f * np.sin(x[0]), A * np.cos(q) + half * f * np.cos(x[0])]
    )
    M += m2 * v @ v
    V = G * (m1 * A / 2 * np.sin(q) + m3 * C / 2 * np.sin(x[1]))
    V += G * m2 * (A * np.sin(q) + half * np.sin(x[0]))
    return float(M), float(V), np.array([1.0, f - 1.0, r])


def terms(q: float) -> tuple[float, float, float, Array]:
    """M, M', V' and the k_i."""
    h = 1e-5
    M, _, k = inertia_and_height(q)
    (Ma, Va, _), (Mb, Vb, _) = inertia_and_height(q - h), inertia_and_height(q + h)
    return M, (Mb - Ma) / 2 / h, (Vb - Va) / 2 / h, k


def moved(q: float, u: float, push: float, F: Array, until: float) -> tuple[float, float]:
    """Angle and speed of the crank at a time, from one change of what sticks to the next."""
    t = 0.0
    for _ in range(50):
        _, _, slope, k = terms(q)
        level = float(F @ np.abs(k))
        load = push - slope
        if u == 0 and abs(load) <= level:
            return q, 0.0
        way = np.sign(u) if u else np.sign(load)

        def rates(_: float, x: Any, way: float = way) -> Any:
            M, bend, slope, k = terms(x[0])
            rest = push - slope - bend * x[1] ** 2 / 2 - way * F @ np.abs(k)
            return [x[1], rest / M]

        def rests(_: float, x: Any, way: float = way) -> float:
            return float(way * x[1] + 1e-12)

        rests.terminal, rests.direction = True, -1  # type: ignore[attr-defined]
        found = solve_ivp(rates, (t, until), [q, u], "DOP853", rtol=1e-10, atol=1e-11, events=rests)
        t, (q, u) = found.t[-1], found.y[:, -1]
        if not found.status:
            return q, u
        u = 0.0
    raise AssertionError("it does not come to an end")


def start(q: float, u: float = 0.0) -> dict[str, float]:
    x = closed(q)
    f, r = paces(q, x)
    values = {"crank": q, "coupler": x[0] - q, "rocker": x[1]}
    return values | {"crank_dot": u, "coupler_dot": (f - 1) * u, "rocker_dot": r * u}


def options(method: str) -> dict[str, Any]:
    return {"method": method, "step": 0.02 if method == "dop853" else 2e-3}


CASES = [(form, m) for form in ("auto", "redundant") for m in ("dop853", "rk4", "semi-implicit")]


@pytest.mark.parametrize(("form", "method"), CASES)
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_loop_stands_still_below_break_away(form: str, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = float(rng.uniform(0.5, 2.5))
    F = rng.uniform(0.3, 1.0, 3)
    _, _, slope, k = terms(q)
    push = slope + 0.98 * float(rng.choice([-1, 1])) * F @ np.abs(k)
    values = {f"F_{n}": x for n, x in zip(JOINTS, F, strict=True)} | {"P": push}
    run = lw.simulate(linkage(), 0.2, form=form, initial=start(q), values=values, **options(method))
    for name, there in start(q).items():
        assert run[name] == pytest.approx(there, abs=1e-12), name


@pytest.mark.parametrize(("form", "method"), CASES)
@pytest.mark.parametrize("seed", seeds(3, daily=1))
def test_a_loop_slides_and_comes_to_rest_as_the_law_says(form: str, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, u = float(rng.uniform(0.8, 1.6)), float(rng.uniform(1.0, 3.0) * rng.choice([-1, 1]))
    F = rng.uniform(1.5, 3.0, 3)
    values = {f"F_{n}": x for n, x in zip(JOINTS, F, strict=True)}
    speed = 1.0
    for until in (0.02, 0.3):
        wanted = moved(q, u, 0.0, F, until)
        run = lw.simulate(
            linkage(), until, form=form, initial=start(q, u), values=values, **options(method)
        )
        error = {"dop853": 1e-7, "rk4": 1e-4}.get(method, 1e-2)
        speed = run.final["crank_dot"]
        assert (run.final["crank"], speed) == pytest.approx(wanted, abs=error)
    assert abs(speed) < 1e-12, "it slides too long"


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_loop_moves_on_where_one_of_its_joints_turns_back(method: str) -> None:
    """Friction holds nothing at a dead point: the rocker's, at 0.5857 rad of the crank."""
    q, u, F = 0.82086159, -2.91612715, np.array([1.73926042, 2.28621536, 2.15549164])
    values = {f"F_{n}": x for n, x in zip(JOINTS, F, strict=True)}
    run = lw.simulate(linkage(), 0.12, initial=start(q, u), values=values, **options(method))
    wanted = moved(q, u, 0.0, F, 0.12)
    assert wanted[0] < 0.55
    assert wanted[1] < -2.0
    assert (run.final["crank"], run.final["crank_dot"]) == pytest.approx(wanted, abs=1e-7)
