"""Optimal motions against closed forms, Riccati's equation, other optimizers and simulation."""

from __future__ import annotations

import math
import runpy
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import linkwright as lw
from linkwright.wholebody.collocation import Collocation
from linkwright.wholebody.nonlinear import Pattern, solve
from linkwright.wholebody.optimal_meshes import guessed, on_mesh
from linkwright.wholebody.optimal_tasks import OptimalTask, phases_of
from linkwright.wholebody.optimization import OptimalMotion, optimize_motion
from tests.seeds import seeds, seldom

CART_POLE = "src/linkwright/learning/shipped/cart-pole.toml"
REST = {"x": 0, "theta": 0, "x_dot": 0, "theta_dot": 0}


def cart(mass: float = 2.0) -> lw.Mechanism:
    """A cart on a rail."""
    m = lw.Mechanism("cart")
    m.body("x", translate="x", mass=mass)
    return m


def worst(values: dict[str, float]) -> float:
    return max(values.values())


def dense(pattern: Pattern, entries: np.ndarray) -> np.ndarray:
    """A sparse matrix in full."""
    found = np.zeros(pattern.shape)
    found[pattern.rows, pattern.columns] = entries
    return found


def test_the_least_effort_of_a_cart_is_the_cubic_of_its_place() -> None:
    """x = d (3 s^2 - 2 s^3), so the integral of force squared is 12 m^2 d^2 / T^3."""
    found = optimize_motion(
        cart(3.0),
        act="x",
        until=1.5,
        final={"x": 0.7, "x_dot": 0},
        minimize="tau_x**2",
        intervals=4,
    )
    assert found.objective == pytest.approx(12 * 9 * 0.7**2 / 1.5**3, rel=1e-7)
    s = np.linspace(0, 1, 50)
    place = found.trajectory()(1.5 * s)[:, 0]
    assert place == pytest.approx(0.7 * (3 * s**2 - 2 * s**3), abs=1e-8)
    assert worst(found.deviation) < 1e-8
    assert found.as_dict()["duration_s"] == 1.5
    for bad, words in (
        ({"act": {"y": 1.0}}, "no input or coordinate 'y'"),
        ({"act": ()}, "nothing acts"),
        ({"until": None}, "no end"),
        ({"until": (2.0, 1.0)}, "from 2 down to 1"),
        ({"minimize": None}, "nothing is minimized"),
        ({"limits": {"x_dot": -1.0}}, "magnitude"),
        ({"limits": {"speed": 1.0}}, "unknown name 'speed'"),
        ({"guess": {"z": [0, 1]}}, "the guess names 'z'"),
        ({"until": None, "phases": {"a": {"until": 1, "limit": {}}}}, "unknown key 'limit'"),
    ):
        asked: dict[str, Any] = {"act": "x", "until": 1.0, "minimize": "1", **bad}
        with pytest.raises(lw.Error, match=words):
            optimize_motion(cart(), **asked)


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_the_shortest_time_is_full_effort_that_changes_its_sign_once() -> None:
    """2 sqrt(m d / F), and the bead that slides fastest, on a cycloid."""
    found = optimize_motion(
        cart(),
        act={"x": 3},
        until=(0.1, 5),
        final={"x": 1, "x_dot": 0},
        minimize="1",
        intervals=60,
    )
    assert found.duration == pytest.approx(2 * math.sqrt(2 / 3), rel=2e-4)
    assert found.duration > 2 * math.sqrt(2 / 3) - 1e-7  # nothing is faster
    assert np.abs(found.inputs(np.linspace(0, found.duration, 999))).max() < 3 + 1e-6
    bead, s = lw.Block("bead"), lw.System(name="slide")
    angle = bead.input("a")
    v = bead.state("v", "9.81*sin(a)", 0.0)
    bead.state("x", v * lw.algebra.cos(angle), 0.0)
    bead.state("y", v * lw.algebra.sin(angle), 0.0)
    s.add(bead)
    found = optimize_motion(
        s,
        act={"bead.a": (-0.5, 2.0)},
        until=(0.1, 3.0),
        final={"bead.x": 2.0, "bead.y": 1.0},
        minimize="1",
        guess={"bead.v": [0, 4]},
    )
    turn = brentq(lambda c: (c - math.sin(c)) / (1 - math.cos(c)) - 2.0, 0.1, 6.2)
    exact = turn * math.sqrt(1 / (1 - math.cos(turn)) / 9.81)
    assert found.duration == pytest.approx(exact, rel=1e-6)


def chain(random: np.random.Generator, count: int) -> lw.Mechanism:
    """Masses in a row with springs and dampers between."""
    m = lw.Mechanism("chain")
    links = [m.ground]
    for k in range(count):
        mass = float(random.uniform(0.5, 2))
        links.append(m.body(f"q{k}", parent=links[-1], translate="x", mass=mass))
    for k, body in enumerate(links[1:]):
        c, d = random.uniform(-3, 6), random.uniform(-0.3, 0.6)
        law = f"-({c})*q{k} - ({d})*q{k}_dot"
        m.force(f"f{k}", law, at=body.origin, along="x", reaction=links[k].origin)
    return m


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
@pytest.mark.parametrize("seed", seeds(3))
def test_linear_quadratic_problems_have_the_costs_of_riccati(seed: int) -> None:
    """Random chains, weights and starts against x0' P(0) x0, P by an adaptive integration."""
    random = np.random.default_rng(seed)
    m, until = chain(random, 2), float(random.uniform(0.8, 2.5))
    q, r, f = random.uniform(0.1, 2, 4), random.uniform(0.05, 0.5), random.uniform(0, 3, 4)
    start = random.normal(size=4)
    model = lw.linearize(m)
    names = model.states
    push = lw.System(m)
    extra = lw.blocks.Element("push", push.mechanism)
    extra.effort("f", "q1", extra.input("u", 0.0))
    push.add(extra)
    model = lw.linearize(push)
    b = model.b[:, list(model.inputs).index("push.u")][:, None]

    def riccati(_: float, flat: np.ndarray) -> np.ndarray:
        p = flat.reshape(4, 4)
        rate = p @ model.a + model.a.T @ p - p @ b @ b.T @ p / r + np.diag(q)
        return np.asarray(rate.ravel())

    solved = solve_ivp(riccati, (0, until), np.diag(f).ravel(), rtol=1e-11, atol=1e-12)
    exact = float(start @ solved.y[:, -1].reshape(4, 4) @ start)

    def squares(weights: np.ndarray) -> str:
        return " + ".join(f"{w}*{n}**2" for w, n in zip(weights, names, strict=True))

    found = optimize_motion(
        m,
        act="q1",
        until=until,
        initial=dict(zip(names, start.tolist(), strict=True)),
        minimize=f"{squares(q)} + {r}*tau_q1**2",
        minimize_end=squares(f),
        tolerance=1e-7,
    )
    assert found.objective == pytest.approx(exact, rel=1e-6)
    assert worst(found.deviation) < 1e-5
    # its feedback is that of a regulator with the sizes of states and inputs as weights
    sizes = np.where(start != 0, np.abs(start), 1.0)
    q, r, f = sizes**-2.0, 1.0, 10 * sizes**-2.0
    p = solve_ivp(riccati, (0, until), np.diag(f).ravel(), rtol=1e-9, atol=1e-12).y[:, -1]
    gain = (b.T @ p.reshape(4, 4) / r)[0]
    assert np.abs(found._gains(0.0) - gain).max() < 2e-3 * np.abs(gain).max()


def asked(model: Any, **given: Any) -> tuple[Collocation, np.ndarray]:
    """The discretized problem, and its guess."""
    usual = {"initial": None, "final": None, "minimize_end": None, "limits": None}
    given = {**usual, "parameters": None, **given}
    parts = phases_of(given.pop("until", None), given.pop("phases", None), 5)
    setting = OptimalTask.of(model, parts=parts, **given)
    mesh = on_mesh(setting, [np.linspace(0, 1, 6) ** 1.2 for _ in parts])
    return mesh, guessed(setting, None).on(mesh)


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_derivatives_are_those_of_differences_and_vanish_at_the_optimum() -> None:
    """Two phases of free durations, a cost with time in it, limited expressions at all places."""
    mesh, start = asked(
        CART_POLE,
        act={"x": 15},
        initial={"x - theta": (-4, 0)},
        final={**REST, "x*theta": (-1, 1)},
        minimize="tau_x**2 + 5 + 0.1*sin(t)*theta**2",
        minimize_end="x_dot + 0.01*tau_x**2*t",
        limits={"x": 2.0},
        phases={
            "a": {"until": (0.5, 2.0), "limits": {"x + 0.1*sin(t*theta)": 1.5}},
            "b": {"until": (0.5, 2.0)},
        },
    )
    random = np.random.default_rng(3)
    v = start + 0.1 * random.normal(size=start.shape)
    row, d, h = random.normal(size=mesh.low.shape), random.normal(size=v.shape), 1e-6

    def slope(at: np.ndarray) -> np.ndarray:
        gradient, entries = mesh.slopes(at)
        return np.asarray(0.7 * gradient + dense(mesh.jacobian, entries).T @ row)

    def value(at: np.ndarray) -> float:
        f, c = mesh.values(at)
        return 0.7 * f + float(row @ c)

    assert (value(v + h * d) - value(v - h * d)) / (2 * h) == pytest.approx(slope(v) @ d, rel=1e-6)
    upper = dense(mesh.hessian, mesh.curvature(v, 0.7, row))
    full = upper + np.triu(upper, 1).T
    assert (slope(v + h * d) - slope(v - h * d)) / (2 * h) == pytest.approx(full @ d, abs=1e-5)
    # first-order optimality, with gradients by differences and multipliers by least squares
    found = solve(mesh, start, tolerance=1e-9, most=500)
    assert found.reached, found.why
    x = found.v

    def differences(function: Any) -> np.ndarray:
        steps = 1e-5 * np.eye(len(x))
        return np.array([(function(x + s) - function(x - s)) / 2e-5 for s in steps])

    gradient = differences(lambda y: mesh.values(y)[0])
    rows = differences(lambda y: mesh.values(y)[1])  # (variables, rows)
    c = mesh.values(x)[1]
    assert np.maximum(mesh.low - c, c - mesh.high).max() < 1e-7
    free = np.minimum(x - mesh.lower, mesh.upper - x) > 1e-5
    active = np.minimum(c - mesh.low, mesh.high - c) < 1e-5
    left = np.linalg.lstsq(rows[free][:, active], -gradient[free], rcond=None)[0]
    remain = gradient[free] + rows[free][:, active] @ left
    assert np.abs(remain).max() < 1e-4 * np.abs(gradient).max()


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_a_cart_swings_its_pole_up() -> None:
    """Simulated without feedback it arrives; with feedback, from elsewhere and heavier, too."""
    found = optimize_motion(
        CART_POLE,
        act={"x": 15},
        until=2.0,
        final=REST,
        minimize="tau_x**2",
        limits={"x": 2.0},
    )
    assert found.objective == pytest.approx(74.0443, rel=1e-5)  # CasADi's own derivatives: same
    assert found.error <= 1e-4
    assert found.excess < 1e-6
    assert worst(found.deviation) < 1e-3
    final = found.simulate().final
    assert max(abs(final[name]) for name in REST) < 1e-3
    changed: dict[str, Any] = {"initial": {"theta": 3.05, "x": 0.03}, "parameters": {"m": 0.105}}
    far = found.simulate(**changed).final
    near = found.simulate(feedback=True, **changed).final
    assert max(abs(near[name]) for name in REST) < 0.1 < max(abs(far[name]) for name in REST)
    # a warm start has little left to do, and a coarser tolerance fewer intervals
    again = optimize_motion(
        CART_POLE, act={"x": 15}, until=2.0, final=REST, minimize="tau_x**2",
        limits={"x": 2.0}, guess=found, tolerance=3e-3,
    )  # fmt: skip
    assert again.intervals < found.intervals
    assert again.rounds < found.rounds
    assert again.objective == pytest.approx(found.objective, rel=1e-3)


def two_links(**more: Any) -> OptimalMotion:
    """A move of two links within their torques."""
    return optimize_motion(
        "double-pendulum",
        act={"phi1": 40.0, "phi2": 12.0},
        until=(0.1, 3.0),
        initial={"phi1": 0.2, "phi2": 0.5},
        minimize="1",
        tolerance=1e-4,
        **more,
    )


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_the_fastest_move_along_a_path_is_that_of_the_linear_programs() -> None:
    """A straight line of the joints, by their accelerations, against `time_optimal`."""
    arm = lw.Robot("double-pendulum")
    line = lw.motion.through([0, 0.5, 1], [[0.2, 0.5], [0.8, -0.05], [1.4, -0.6]])
    limits = lw.motion.Limits(effort=[40.0, 12.0], dynamics=arm.inverse_dynamics)
    exact = lw.motion.time_optimal(line, limits, points=2000).duration
    rest = {"phi1_dot": 0, "phi2_dot": 0}
    found = two_links(
        final={"phi1": 1.4, **rest}, limits={"1.2*phi2_dot_dot + 1.1*phi1_dot_dot": 0}
    )
    assert found.duration == pytest.approx(exact, rel=3e-4)
    free = two_links(final={"phi1": 1.4, "phi2": -0.6, **rest})
    assert free.duration < 0.9 * exact
    assert max(worst(found.deviation), worst(free.deviation)) < 1e-3


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_loops_stay_closed() -> None:
    """A four-bar is moved by its crank; what loops compute is that of its assembly."""
    start = {s.name: s.value for s in lw.System(lw.load("four-bar")).phases(()).x}
    found = optimize_motion(
        "four-bar",
        act="a",
        until=1.0,
        initial={"a_dot": 0},
        final={"a": start["a"] + 1.0, "a_dot": 0},
        minimize="1e-4*tau_a**2",
    )
    assert worst(found.deviation) < 1e-3  # the simulation closes its loops by itself
    end = lw.simulate("four-bar", 1e-9, initial={"a": start["a"] + 1.0}).recording
    for name in ("a", "b", "c"):
        assert found.values[name][-1] == pytest.approx(float(end[name][0]), abs=1e-5)


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_a_hopper_jumps_with_its_foot_at_rest_until_it_leaves() -> None:
    """Ground forces are inputs: in their cone while the foot stands, zero in the air."""
    found = runpy.run_path("examples/hopper.py")["jump"]()
    assert worst(found.deviation_with_feedback) < 1e-3
    leave = found.phases["push"]
    run = found.simulate(feedback=True, tolerance=1e-11)
    t = run.times
    stands = t < leave
    assert np.abs(run["foot_x"][stands]).max() < 1e-4 > np.abs(run["foot_z"][stands]).max()
    forces = found.inputs(t[stands])[:, 2:]
    assert (forces[:, 1] > -1e-6).all()
    assert (np.abs(forces[:, 0]) <= 0.62 * forces[:, 1]).all()  # between points too
    # in the air the center of mass falls freely, and it carries it as far as asked
    assert np.abs(found.inputs(t[t > leave + 1e-9])[:, 2:]).max() < 1e-6
    assert run.final["foot_x"] == pytest.approx(0.6, abs=1e-4)
    s = np.linspace(0, leave, 20001)
    speed = np.trapezoid(found.inputs(s)[:, 3] / 5.8 - 9.81, s)  # that the ground has given
    air = found.phases["flight"]
    height = np.interp([leave, leave + air], t, run["height"])
    assert height[1] - height[0] == pytest.approx(speed * air - 9.81 * air**2 / 2, abs=2e-4)


@seldom(daily="test_the_least_effort_of_a_cart_is_the_cubic_of_its_place")
def test_what_has_no_derivative_is_rejected() -> None:
    """Sampled members, with the name; a task that cannot be done, with how far it is away."""
    s = lw.System(lw.load("pendulum"))
    s.add(lw.control.PID(kp=1.0, name="slow"), rate=100)
    with pytest.raises(lw.Error, match="sampled"):
        optimize_motion(s, act="phi", until=1.0, minimize="1")
    with pytest.raises(lw.Error, match="no motion of 'cart' was found"):
        optimize_motion(cart(), act={"x": 1}, until=0.1, final={"x": 5.0}, minimize="tau_x**2")
