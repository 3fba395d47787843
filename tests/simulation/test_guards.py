"""Events are followed over whole steps: every method finds what a root finder of its own finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright import drives, elements, motion
from linkwright.simulation.native.session import Session
from linkwright.system.breaks import _knots
from tests.seeds import cases, seeds

METHODS = ("dop853", "dopri5", "rodas4")
Function = Callable[[float], float]


def roots(g: Function, until: float, fastest: float) -> list[tuple[float, int]]:
    """All sign changes of a function, with their directions: a fine grid, extrema, Brent's rule."""
    count = int(max(200, 40 * until * fastest))
    t = np.linspace(0.0, until, count + 1)
    values = np.array([g(x) for x in t])
    found = []
    for i in range(count):
        parts = [t[i], t[i + 1]]
        inside = 0 < i < count - 1 and values[i] * values[i + 1] > 0
        if (
            inside
            and min(abs(values[i : i + 2])) < 4 * np.abs(np.diff(values[i - 1 : i + 3])).max()
        ):
            fine = np.linspace(t[i], t[i + 1], 65)
            parts = fine.tolist()
        at = [g(x) for x in parts]
        for a, b, low, high in zip(parts, parts[1:], at, at[1:], strict=False):
            if low * high < 0:
                found.append((brentq(g, a, b, xtol=1e-14), 1 if high > 0 else -1))
    return found


def random_guard(rng: np.random.Generator, until: float) -> tuple[lw.System, Function, float, int]:
    """A swinging state beside time, an event on some function of both, and that function."""
    w = 2 * math.pi * rng.uniform(0.3, 6.0) / until * (1 if until < 50 else 3)
    start, rate = rng.uniform(0.5, 1.5), rng.uniform(-1.0, 1.0)
    block = lw.Block("b")
    x, v = block.state("x", initial=start), block.state("v", initial=rate * w)
    block.derivative(x, v)
    block.derivative(v, -(w**2) * x)
    t = block.time
    kind, fast = int(rng.integers(5)), w
    direction = int(rng.integers(-1, 2))

    def swing(s: float) -> float:
        return start * math.cos(w * s) + rate * math.sin(w * s)

    size = math.hypot(start, rate)
    if kind == 0:  # near an extremum: two crossings close together, or none
        level = size * (1 - rng.choice([1e-2, 1e-4, -1e-3]))
        value, g = x - level, lambda s: swing(s) - level
    elif kind == 1:  # a polynomial in time with roots close together
        a = np.sort(rng.uniform(0.05, 0.95, 3)) * until
        a[1] = a[0] + 0.003 * until
        value = (t - a[0]) * (t - a[1]) * (t - a[2])
        g = lambda s: (s - a[0]) * (s - a[1]) * (s - a[2])  # noqa: E731
    elif kind == 2:  # many crossings in a step of the slow state
        fast, level = w * rng.uniform(8, 20), rng.uniform(-0.95, 0.95)
        value, g = lw.sin(fast * t) - level, lambda s: math.sin(fast * s) - level
    elif kind == 3:  # both
        fast = w * rng.uniform(3, 9)
        value = x * lw.cos(fast * t) - 0.1
        g = lambda s: swing(s) * math.cos(fast * s) - 0.1  # noqa: E731
    else:  # a fast function of the state
        times, level = rng.uniform(3, 8), rng.uniform(-0.9, 0.9)
        fast = w * times * size
        value, g = lw.sin(times * x) - level, lambda s: math.sin(times * swing(s)) - level
    n = block.state("n", 0.0)  # an action that leaves the value where it is, or none
    resets = {n: n + 1} if rng.random() < 0.5 else {}
    block.event("hit", value, direction=direction, resets=resets)
    system = lw.System(name="s")
    system.add(block)
    return system, g, fast + w, direction


@pytest.mark.parametrize("seed", seeds(12, daily=1))
def test_random_guards_are_found_by_every_method(seed: int) -> None:
    rng = np.random.default_rng(seed)
    until = float(rng.choice([1.0, 30.0, 1e4]))
    system, g, fast, direction = random_guard(rng, until)
    true = [t for t, way in roots(g, until, fast / 2 / math.pi) if direction in (0, way)]
    for method in METHODS:
        run = lw.simulate(system, until, method=method, every=10**6)
        found = [e.time for e in run.events]
        assert len(found) == len(true), (method, len(found), len(true))
        assert found == pytest.approx(true, abs=2e-6 * until), method
    for more in ({"method": "dopri5"}, {}, {"step": until}):
        batch = lw.simulate_batch(system, until, runs=3, **more)
        assert batch.event_counts[:, 0].tolist() == [len(true)] * 3, more
    fixed = lw.simulate(system, until, method="rk4", step=min(until / 400, 0.3 / fast))
    assert len(fixed.events) == len(true)


def bouncing(until: float, restitution: float) -> tuple[float, int]:
    """Height and bounces of a ball that falls from 1 m."""
    t, count = math.sqrt(2 / 9.81), 1
    v = 9.81 * t * restitution
    while t + 2 * v / 9.81 < until:
        t, v, count = t + 2 * v / 9.81, v * restitution, count + 1
    return v * (until - t) - 4.905 * (until - t) ** 2, count


def ball(restitution: float) -> lw.System:
    block = lw.Block("ball")
    v = block.state("v", -9.81)
    h = block.state("h", v, 1.0)
    block.event("floor", h, direction=-1, resets={v: -restitution * v, h: 0.0})
    system = lw.System(name="s")
    system.add(block)
    return system


@pytest.mark.parametrize(
    ("until", "restitution", "method"),
    cases(
        [
            (*fall, method)
            for fall in ((2.5, 0.8), (3.9, 0.8), (100.0, 1.0))
            for method in (*METHODS, "rk4", "midpoint", "verlet")
        ],
        daily=[(2.5, 0.8, "rodas4"), (3.9, 0.8, "midpoint"), (100.0, 1.0, "dopri5")],
    ),
)
def test_a_ball_bounces_as_often_as_it_should(
    until: float, restitution: float, method: str
) -> None:
    height, count = bouncing(until, restitution)
    step: dict[str, Any] = {} if method in METHODS else {"step": 0.003}
    run = lw.simulate(ball(restitution), until, method=method, **step)
    if method == "verlet":
        assert len(run.events) == pytest.approx(count, abs=1 + 0.02 * count)
        return  # of this Block it knows no coordinates, so it is the explicit rule
    assert len(run.events) == count
    assert run.final["ball.h"] == pytest.approx(height, abs=1e-7)
    batch = lw.simulate_batch(ball(restitution), until, runs=5, method=method, **step)
    assert batch.event_counts[:, 0].tolist() == [count] * 5
    assert batch["ball.h"] == pytest.approx([height] * 5, abs=1e-7)
    swept = lw.sweep(ball(restitution), until, seeds=range(2), channels={"ball.h": ["final"]})
    assert swept["ball.h.final"] == pytest.approx([height] * 2, abs=1e-7)


@pytest.mark.parametrize(
    ("seed", "method"),
    cases(itertools.product(seeds(6), [*METHODS, "rk4", "midpoint"]), daily=3),
)
def test_a_ball_that_comes_to_rest_is_told_and_never_falls_through(seed: int, method: str) -> None:
    """Its bounces accumulate at a time that is known: whatever the floor and the scale are.

    Whether its height is reset too, whether it bounces at all, and how far from zero the floor is.
    """
    rng = np.random.default_rng(seed)
    scale, far = float(10.0 ** rng.uniform(-4, 4)), (3.0, 1000.0)[seed % 2]
    level, share, g = (
        scale * rng.uniform(-far, far),
        rng.uniform(0, 0.8),
        scale * rng.uniform(2, 20),
    )
    share *= seed % 3 > 0  # or it lies where it falls
    high, unit = scale * rng.uniform(0.5, 2), float(10.0 ** rng.uniform(-3, 3))
    block = lw.Block("ball")
    v = block.state("v", -g)
    h = block.state("h", v, level + high)
    resets = {v: -share * v, h: level} if rng.random() < 0.3 else {v: -share * v}
    block.event("floor", unit * (h - level), direction=-1, resets=resets)
    system = lw.System(name="s")
    system.add(block)
    fall = math.sqrt(2 * high / g)
    end = fall * (1 + share) / (1 - share)
    step: dict[str, Any] = {} if method in METHODS else {"step": fall / 150}
    with pytest.raises(lw.RunStopped, match=r"'ball\.floor' happens without end") as told:
        lw.simulate(system, 2 * end, method=method, absolute=1e-10 * scale, **step)
    run = told.value.run
    assert float(run.times[-1]) == pytest.approx(end, rel=2e-4)
    assert run["ball.h"].min() >= level - 1e-6 * scale
    many = lw.simulate_batch(system, 2 * end, runs=3, method=method, **step)
    assert many.reasons == ("'ball.floor' happens without end",) * 3
    assert many["ball.h"] == pytest.approx([level] * 3, abs=1e-6 * scale)


@pytest.mark.parametrize("method", cases([*METHODS, "rk4"], daily=["dop853", "rk4"]))
def test_pulses_at_round_instants_are_as_long_as_they_should_be(method: str) -> None:
    """Two events of one value, on and off, at instants where its value is zero to the last bit."""
    block = lw.Block("b")
    duty, f = block.parameter("duty", 0.25), block.parameter("f", 2000.0)
    on, phase = block.discrete_state("on"), f * block.time
    block.update(on, on)
    v, y = block.state("v"), block.state("y", initial=1.0)
    block.derivative(v, 500 * (on - v))
    block.derivative(y, on)
    value = duty - lw.absolute(2 * (phase - lw.floor(phase)) - 1)
    block.event("rises", value, direction=1, resets={on: 1})
    block.event("falls", value, direction=-1, resets={on: 0})
    system = lw.System(name="s")
    system.add(block)
    count = 40
    shares, rates = (x.ravel() for x in np.meshgrid([0.1, 0.25, 0.75], [250.0, 2000.0]))
    for share, rate in zip(shares, rates, strict=True):
        values, until = {"b.duty": share, "b.f": rate}, count / rate
        step = {"step": until / 1000} if method == "rk4" else {}
        one = lw.simulate(system, until, method=method, parameters=values, **step)
        assert [e.name for e in one.events] == ["b.rises", "b.falls"] * count
        assert one.final["b.y"] - 1 == pytest.approx(share * until, rel=1e-9)
        many = lw.simulate_batch(system, until, runs=2, method=method, parameters=values, **step)
        assert many.event_counts.tolist() == [[count, count]] * 2
        assert many.x[:, many.states.index("b.y")] - 1 == pytest.approx(share * until, rel=1e-9)


def test_an_event_is_located_in_few_tries() -> None:
    """A pendulum's passages, 0.1 s steps: seven tries of a step for each at most."""
    block = lw.Block("b")
    q, u = block.state("q", initial=1.0), block.state("u")
    block.derivative(q, u)
    block.derivative(u, -9.0 * q)
    block.event("passes", q)
    system = lw.System(name="s")
    system.add(block)
    run = Session(system.phases(["b.q"]), 100.0, method="rk4", step=0.1, every=0).run()
    assert len(run.events) == 95
    assert run.rejected <= 7 * len(run.events)


@pytest.mark.parametrize("method", cases([*METHODS, "rk4"], daily=["dopri5", "rodas4"]))
@pytest.mark.parametrize("executor", ["native", "python"])
def test_a_jump_at_a_tick_counts_after_a_crossing_without_action(
    method: str, executor: str
) -> None:
    counter = lw.Block("counter")
    counter.output("y", counter.discrete_state("n", "n + 1"))
    block = lw.Block("b")
    n, x = block.input("n"), block.state("x", 1.0, -0.95)
    block.event("e", x - 1000 * lw.where(n > 0.5, lw.where(n < 1.5, 1, 0), 0))
    s = lw.System(name="s")
    s.connect(s.add(counter, rate=1).y, s.add(block).n)
    if method == "rodas4" and executor == "python":
        return  # it has no form there
    run = lw.simulate(s, 3.5, method=method, executor=executor)
    assert [e.time for e in run.events] == pytest.approx([0.95, 1.0, 2.0])
    assert lw.simulate_batch(s, 3.5, runs=2, method=method).event_counts.tolist() == [[3.0], [3.0]]


def thrown_back(speed: float, dissipation: float) -> float:
    """Speed after a contact with the force k d (1 + c d'), from v dv/(1 + c v) = -k d dd."""

    def potential(v: float) -> float:
        return v / dissipation - math.log(1 + dissipation * v) / dissipation**2

    return float(brentq(lambda v: potential(v) - potential(speed), -speed, -0.1, xtol=1e-14))


@pytest.mark.parametrize(
    ("until", "method"),
    cases(
        itertools.product([2.0, 600.0], METHODS),
        daily=[(2.0, "dopri5"), (600.0, "rodas4")],
    ),
)
def test_a_point_does_not_fly_through_a_ball(until: float, method: str) -> None:
    m = lw.Mechanism("shot")
    body = m.body("b", translate="x", mass=1)
    s = lw.System(m)
    surface = elements.SphereSurface(0.05, center=(1.0, 0, 0))
    s.add(elements.Contact(m, [body], surface, stiffness=1e5, dissipation=0.2))
    run = lw.simulate(s, until, method=method, initial={"b_dot": 1.0})
    assert run.final["b_dot"] == pytest.approx(thrown_back(1.0, 0.2), abs=1e-7)
    assert [e.name for e in run.events] == ["contact.touch1"] * 2
    both = lw.simulate_batch(s, until, initial={"b_dot": [1.0, 1.1]}, method=method)
    true = [thrown_back(v, 0.2) for v in (1.0, 1.1)]
    assert both["b_dot"] == pytest.approx(true, abs=1e-7)


@pytest.mark.parametrize(
    ("legs", "share"), cases([(1, 0.05), (2, 0.8), (2, 0.95)], daily=[(2, 0.95)])
)
def test_no_pulse_of_a_bridge_is_dropped(legs: int, share: float) -> None:
    """Against the linear motor between exact instants of switching."""
    r, inductance, kt, rotor, b, ratio, load, bus, f, until = (
        *(1.0, 2e-3, 0.05, 1e-4, 1e-5, 50, 0.5),
        *(48.0, 20e3, 2e-3),
    )
    total = rotor + load / ratio**2
    matrix = np.zeros((3, 3))
    matrix[:2] = [[-r / inductance, -kt / inductance, 1 / inductance], [kt / total, -b / total, 0]]
    duties = [share] if legs == 1 else [(1 + share) / 2, (1 - share) / 2]
    cuts = {0.0, until}
    for k in range(round(until * f)):
        cuts |= {(k + x) / f for u in duties for x in ((1 - u) / 2, (1 + u) / 2)}
    state, instants = np.zeros(3), sorted(cuts)
    for begin, end in itertools.pairwise(instants):
        phase = f * (begin + end) / 2
        on = [float(u > abs(2 * (phase - math.floor(phase)) - 1)) for u in duties]
        state[2] = bus * (on[0] - (on[1] if legs == 2 else 0))
        state = expm(matrix * (end - begin)) @ state
    s = lw.System(name="s")
    bridge = drives.SwitchedPWM(bus, f, legs=legs)
    motor = drives.DC(R=r, L=inductance, kt=kt, J=rotor, b=b)
    train, mass = drives.Rigid(ratio), drives.Inertia(load)
    law, asked = drives.PD(1, 0), share * bus
    s.add(drives.Chain(law, bridge, motor, train, mass, closed=False, reference=asked))
    for method in cases(METHODS, daily=["dopri5", "rodas4"]):
        run = lw.simulate(s, until=until, method=method)
        assert run.final["joint.motor.i"] == pytest.approx(state[0], rel=1e-6), method
        assert run.final["joint.motor.speed"] == pytest.approx(state[1], rel=1e-6), method


def test_switchings_of_three_legs_are_found_where_they_are_in_few_tries() -> None:
    """Of a rotor that turns evenly, in steps of a fixed size that end where the carrier turns."""
    f, speed, pairs, u, until = 2e3, 100.0, 3, 200.0, 0.02
    motor = drives.PMSM(R=3.6, Ld=0.036, Lq=0.051, flux=0.545, pairs=pairs, J=1e12)
    s, train, mass = lw.System(name="s"), drives.Rigid(1), drives.Inertia(1e12)
    joint = s.add(drives.Chain(None, drives.SwitchedPWM(540, f), motor, train, mass))
    s.connect(str(u), joint.u_q)
    fixed: dict[str, Any] = {"method": "rk4", "step": 1 / (2 * f), "every": 0}
    run = Session(s.phases(), until, initial={"joint.load.speed": speed}, **fixed).run()
    wanted = []
    for k, leg in itertools.product(range(round(2 * f * until)), range(3)):

        def g(t: float, leg: int = leg) -> float:
            angle = pairs * speed * t - 2 * math.pi / 3 * leg
            return 0.5 - u / 540 * math.sin(angle) - abs(2 * (f * t - math.floor(f * t)) - 1)

        wanted.append(brentq(g, (k + 1e-9) / (2 * f), (k + 1 - 1e-9) / (2 * f), xtol=1e-16))
    assert [e.time for e in run.events] == pytest.approx(sorted(wanted), abs=1e-12)
    assert run.rejected <= 4 * len(run.events)


@pytest.mark.parametrize("method", cases(METHODS, daily=["dop853"]))
def test_what_begins_at_a_time_is_not_stepped_over(method: str) -> None:
    table = lw.Lookup1D(x=[0, 3, 3.1, 3.2, 9], y=[0, 0, 10, 0, 0], name="force")
    block = lw.Block("b")
    block.state("impulse", table(block.time))
    block.state("step", lw.where(block.time > 7.123, lw.where(block.time < 7.124, 1000, 0), 0))
    s = lw.System(name="s")
    s.add(block)
    for until in (10.0, 1e4):
        final = lw.simulate(s, until, method=method).final
        assert (final["b.impulse"], final["b.step"]) == pytest.approx((1.0, 1.0), rel=1e-9)
        batch = lw.simulate_batch(s, until, runs=2, method=method)
        assert batch["b.impulse"] == pytest.approx([1.0, 1.0], rel=1e-9)
    m = lw.Mechanism("cart")
    cart = m.body("c", translate="x", mass=1)
    m.force("f", m.input("F", unit="N"), at=cart, along="x")
    blow = {"F": lambda t: 500.0 if 3.304 < t < 3.306 else 0.0}
    if method != "rodas4":  # which refuses a function without a derivative
        final = lw.simulate(m, 10.0, method=method, inputs=blow).final
        assert final["c_dot"] == pytest.approx(1.0)
    there = motion.point_to_point([0], [1], 0.2).then(motion.point_to_point([1], [0], 0.2))
    s = lw.System(m)
    servo = s.add(lw.control.PD(m, kp=100, kd=10))
    way = s.add(there.delayed(3.337).block("way"))
    s.connect(way.q, servo.target)
    run = lw.simulate(s, until=4.0, method=method)
    assert run.final["c"] == pytest.approx(-0.124037, abs=1e-6)


def time_above_zero(g: Callable[[Any], Any], until: float, fine: int = 400) -> float:
    """How long a function of time is above zero: a grid, and Brent's rule where signs change."""
    t = np.linspace(0.0, until, int(fine * until) + 2)
    values = g(t)
    cuts = [0.0, until]
    for i in np.nonzero(values[:-1] * values[1:] < 0)[0]:
        cuts.append(brentq(g, t[i], t[i + 1], xtol=1e-15, rtol=1e-15))
    return float(sum(b - a for a, b in itertools.pairwise(sorted(cuts)) if g((a + b) / 2) > 0))


TABLE = ([-1.0, 0.0, 0.3, 1.0], [0.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("seed", seeds(3))
def test_knots_of_a_table_are_where_its_polynomials_do_not_go_on(seed: int) -> None:
    """One cubic about every breakpoint by NumPy, and two of its pieces raised."""
    rng = np.random.default_rng(seed)
    x, whole = np.sort(rng.uniform(-5, 5, 30)), np.polynomial.Polynomial(rng.normal(size=4))
    rows = [whole(np.polynomial.Polynomial([at, 1.0])).coef for at in (x[0], *x)]
    rows[7] = rows[7] + [0.1, 0, 0, 0]
    rows[20] = rows[20] + [0, 0, 0.1, 0]
    table = lw.Lookup1D.of_pieces(x, rows, name="pieces")
    assert _knots(table) == [x[k] for k in (6, 7, 19, 20)]


GATES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sine": (lambda t: lw.sin(t) - 0.5, lambda t: np.sin(t) - 0.5),
    "square wave": (lambda t: lw.sin(3 * t), lambda t: np.sin(3 * t)),
    "pulses": (lambda t: lw.cos(3 * t + 1) - 0.9999, lambda t: np.cos(3 * t + 1) - 0.9999),
    "product": (
        lambda t: lw.sin(t) * lw.cos(2.3 * t) - 0.3,
        lambda t: np.sin(t) * np.cos(2.3 * t) - 0.3,
    ),
    "of a sine": (
        lambda t: lw.sin(5 * lw.sin(t)) - 0.9,
        lambda t: np.sin(5 * np.sin(t)) - 0.9,
    ),
    "growing": (lambda t: t * lw.sin(t) - 3, lambda t: t * np.sin(t) - 3),
    "faster": (lambda t: lw.sin(t * t / 50) - 0.5, lambda t: np.sin(t * t / 50) - 0.5),
    "dying": (
        lambda t: lw.exp(-t / 100) * lw.sin(t) - 0.1,
        lambda t: np.exp(-t / 100) * np.sin(t) - 0.1,
    ),
    "late": (lambda t: lw.exp(-t) - 1e-3, lambda t: np.exp(-t) - 1e-3),
    "square": (lambda t: 0.81 - t * t, lambda t: 0.81 - t * t),
    "once": (lambda t: lw.sqrt(t + 1) - 1.25, lambda t: np.sqrt(t + 1) - 1.25),
    "power": (lambda t: 4 - t**1.5 / 20, lambda t: 4 - t**1.5 / 20),
    "size": (lambda t: lw.absolute(lw.sin(t)) - 0.5, lambda t: np.abs(np.sin(t)) - 0.5),
    "larger": (
        lambda t: lw.maximum(lw.sin(t), lw.cos(2 * t)) - 0.9,
        lambda t: np.maximum(np.sin(t), np.cos(2 * t)) - 0.9,
    ),
    "against time": (lambda t: lw.sin(t) - t / 9, lambda t: np.sin(t) - t / 9),
    "quotient": (lambda t: 1 / (2 + lw.sin(t)) - 0.6, lambda t: 1 / (2 + np.sin(t)) - 0.6),
    "pole": (lambda t: lw.tan(t) - 0.5, lambda t: np.tan(t) - 0.5),
    "floor": (lambda t: lw.floor(2.9 * lw.sin(t)) - 0.5, lambda t: 2.9 * np.sin(t) - 1),
    "table": (
        lambda t: lw.Lookup1D(*TABLE, name="q")(lw.sin(t)) - 0.5,
        lambda t: np.interp(np.sin(t), *TABLE) - 0.5,
    ),
}


GATES_DAILY = ("pulses", "of a sine", "dying", "power", "larger", "quotient", "pole", "table")


def gated(gate: Callable[[Any], Any]) -> lw.System:
    """A state that grows while a condition on time alone holds, and nothing else happens."""
    block = lw.Block("b")
    block.state("y", lw.where(gate(block.time) > 0, 1, 0))
    s = lw.System(name="s")
    s.add(block)
    return s


@pytest.mark.parametrize(
    ("gate", "method"),
    cases(
        itertools.product(GATES, METHODS),
        daily=list(zip(GATES_DAILY, itertools.cycle(METHODS), strict=False)),
    ),
)
def test_conditions_on_time_alone_hold_as_long_as_they_should(gate: str, method: str) -> None:
    made, plain = GATES[gate]
    s = gated(made)
    for until in (1.0, 30.0, 1000.0):
        true = time_above_zero(plain, until)
        run = lw.simulate(s, until, method=method)
        assert run.final["b.y"] == pytest.approx(true, rel=1e-9, abs=1e-7), until
        assert not run.events
        batch = lw.simulate_batch(s, until, runs=2, method=method)
        assert batch["b.y"] == pytest.approx([true] * 2, rel=1e-9, abs=1e-7), until


@pytest.mark.parametrize("seed", seeds(8, daily=1))
def test_pulses_of_random_waves_are_as_long_as_they_should_be(seed: int) -> None:
    """cos(w t + p) > c with parameters that a sweep changes, single and in a mechanism."""
    rng = np.random.default_rng(seed)
    m = lw.Mechanism("cart")
    cart = m.body("c", translate="x", mass=1)
    names = [m.parameter(n, v) for n, v in (("w", 1.0), ("p", 0.0), ("level", 0.5))]
    wave = lw.cos(names[0] * m.time + names[1])
    m.force("f", lw.where(wave > names[2], 1, 0), at=cart, along="x")

    def true(until: float, w: float, p: float, c: float) -> float:
        half, total = math.acos(c), 0.0
        for k in range(math.floor(p / (2 * math.pi)) - 1, math.ceil((p + w * until) / 6.28) + 2):
            middle = 2 * math.pi * k
            total += max(0.0, min(middle + half, p + w * until) - max(middle - half, p))
        return total / w

    until = float(rng.choice([1.0, 40.0, 1000.0]))
    w = rng.uniform(0.5, 30.0, 3) / math.sqrt(until)
    p, c = float(rng.uniform(-3, 3)), float(rng.choice([0.0, 0.7, 0.9999, -0.95]))
    for method in cases(METHODS, daily=["dop853", "rodas4"]):
        run = lw.simulate(m, until, method=method, parameters={"w": w[0], "p": p, "level": c})
        wanted = [true(until, x, p, c) for x in w]
        assert run.final["c_dot"] == pytest.approx(wanted[0], rel=1e-8, abs=1e-7), method
        swept = lw.sweep(
            m,
            until,
            method=method,
            parameters={"w": w, "p": [p], "level": [c]},
            channels={"c_dot": "final"},
        )
        assert np.ravel(swept["c_dot.final"]) == pytest.approx(wanted, rel=1e-8, abs=1e-7), method


@pytest.mark.parametrize(
    "gate", cases(["sine", "growing", "pole", "floor", "table"], daily=["growing", "floor"])
)
def test_plain_python_ends_steps_at_conditions_on_time_too(gate: str) -> None:
    made, plain = GATES[gate]
    run = lw.simulate(gated(made), 5.0, method="dopri5", executor="python")
    assert run.final["b.y"] == pytest.approx(time_above_zero(plain, 5.0), abs=1e-9)


@pytest.mark.parametrize("method", cases(METHODS, daily=["dop853", "rodas4"]))
def test_a_run_that_begins_where_a_condition_changes_goes_on(method: str) -> None:
    """At the start, and at a tick."""
    block = lw.Block("b")
    jumps = lw.where(block.time > 0, 1, 0) + lw.where(block.time > 0.5, 1, 0)
    block.state("y", jumps)
    clock = lw.Block("k")
    clock.discrete_state("n", "n + 1")
    s = lw.System(name="s")
    s.add(block)
    s.add(clock, rate=10)
    for until in (1.0, 300.0):
        run = lw.simulate(s, until, method=method)
        assert run.final["b.y"] == pytest.approx(2 * until - 0.5, abs=1e-9)
        batch = lw.simulate_batch(s, until, runs=2, method=method)
        assert batch["b.y"] == pytest.approx([2 * until - 0.5] * 2, abs=1e-9)


@pytest.mark.parametrize("method", cases([*METHODS, "rk4"], daily=["dopri5"]))
def test_a_value_that_jumps_through_zero_is_an_event(method: str) -> None:
    """By the output of a sampled member, and by the reset of another event."""
    s = lw.System(name="s")
    step = lw.Block("step")
    step.output("u", lw.where(step.time > 0.45, 1, 0))
    command = s.add(step, rate=10)
    count = lw.Block("count")
    u, n = count.input("u"), count.state("n", 0.0)
    count.event("on", u - 0.5, direction=1, resets={n: n + 1})
    first, y = count.state("first", 1.0), count.state("y", 0.0)
    m = count.state("m", 0.0)
    count.event("timer", first - 0.3, resets={y: 1.0})
    count.event("carried", y - 0.5, resets={m: m + 1})
    s.connect(command.u, s.add(count).u)
    run = lw.simulate(s, until=1.0, method=method)
    assert (run.final["count.n"], run.final["count.m"]) == (1.0, 1.0)
    times = {e.name: e.time for e in run.events}
    assert times == pytest.approx({"count.on": 0.5, "count.timer": 0.3, "count.carried": 0.3})
    batch = lw.simulate_batch(s, 1.0, runs=3, method=method)
    assert (batch["count.n"].tolist(), batch["count.m"].tolist()) == ([1.0] * 3, [1.0] * 3)


@pytest.mark.parametrize("rate", [10, 1000])
def test_an_event_in_a_sampled_block_happens_once(rate: float) -> None:
    block = lw.Block("b")
    x = block.discrete_state("x", f"x + {1 / rate}")
    n = block.discrete_state("n", "n")
    block.event("half", x - 0.5 - 1e-9, direction=1, resets={n: n + 1})
    s = lw.System(name="s")
    s.add(block, rate=rate)
    run = lw.simulate(s, until=1.0)
    assert [e.name for e in run.events] == ["b.half"]
    assert run.final["b.n"] == 1.0


def test_a_stop_has_the_order_of_the_method() -> None:
    """No stage of a step sees the other side of the border (rk4, damped stop)."""
    end, k, c = 0.5012345, 1e4, 100.0
    m = lw.Mechanism("cart")
    m.body("c", translate="x", mass=1)
    s = lw.System(m)
    s.add(elements.Stop(m, "c", upper=end, stiffness=k, damping=c))
    w = math.sqrt(k - c * c / 4)

    def pushed(t: float) -> float:
        d = 3 / w * math.exp(-c / 2 * t) * math.sin(w * t)
        return k * d + c * speed(t)

    def speed(t: float) -> float:
        turn = w * math.cos(w * t) - c / 2 * math.sin(w * t)
        return 3 / w * math.exp(-c / 2 * t) * turn

    true = speed(brentq(pushed, 1e-6, math.pi / w))
    for step, most in ((4e-4, 1e-4), (1e-4, 5e-6), (2.5e-5, 2e-6)):
        run = lw.simulate(s, until=0.3, method="rk4", step=step, initial={"c_dot": 3.0})
        assert run.final["c_dot"] == pytest.approx(true, abs=most)


@pytest.mark.parametrize(
    "method", cases([*METHODS, "rk4", "semi-implicit"], daily=["dop853", "semi-implicit"])
)
def test_a_batch_tells_which_event_ended_which_run(method: str) -> None:
    """The same as each run alone; of several terminal events, and of one without end."""
    block = lw.Block("b")
    pace = block.parameter("pace", 1.0)
    x = block.state("x", pace)
    block.event("left", x + 0.3, terminal=True)
    block.event("counted", x - 0.1)
    block.event("right", x - 0.7, terminal=True)
    v = block.state("v", -9.81)
    h = block.state("h", v, block.parameter("height", 100.0))
    block.event("floor", h, direction=-1, resets={v: -0.5 * v})
    s = lw.System(name="s")
    s.add(block)
    paces = np.array([1.0, -1.0, 0.1, 0.0, 2.0, -0.5])
    heights = np.array([100.0, 100.0, 100.0, 0.1, 100.0, 100.0])
    step: dict[str, Any] = {} if method in METHODS else {"step": 1e-3}
    batch = lw.simulate_batch(
        s, 1.0, parameters={"b.pace": paces, "b.height": heights}, method=method, **step
    )
    whys = ("'b.right' ended it", "'b.left' ended it", "", "'b.floor' happens without end")
    assert batch.reasons == (*whys, whys[0], whys[1])
    for k, words in enumerate(batch.reasons):
        values = {"b.pace": paces[k], "b.height": heights[k]}
        try:
            run = lw.simulate(s, 1.0, parameters=values, method=method, **step)
        except lw.RunStopped as stopped:
            run = stopped.run
        told = "" if run.stop is None else run.stop.reason
        assert told.startswith(words.partition(" ")[0]), told
        assert bool(told) == bool(words)


@cache
def starting(direction: int, at_start: bool, terminal: bool) -> lw.System:
    """A value that moves in the direction of its event, at another pace from 0.5 s on."""
    block = lw.Block("b")
    pace, late = block.parameter("pace", 1.0), block.parameter("late", 0.0)
    x = block.state("x", direction * (pace + lw.where(block.time > 0.5, late, 0)))
    n = block.state("n", 0.0)
    more: dict[str, Any] = {"terminal": True} if terminal else {"resets": {n: n + 1}}
    block.event("beyond", x, direction=direction, at_start=at_start, **more)
    s = lw.System(name="s")
    s.add(block)
    return s


AT_START = [  # side, pace, late pace, when it happens
    (0.2, 1.0, 0.0, 0.0),
    (0.2, -0.1, 0.0, 0.0),
    (1e-14, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.5),
    (0.0, -1.0, 2.0, 1.0),
    (0.0, -1.0, 0.0, None),
    (0.0, 0.0, 0.0, None),
    (-0.25, 1.0, 0.0, 0.25),
    (-0.25, -1.0, 0.0, None),
]


STARTED = list(itertools.product([*METHODS, "rk4", "verlet"], [1, -1], [False, True]))


STARTED_DAILY = [("dopri5", 1, False), ("rodas4", -1, True), ("rk4", -1, False)]


@pytest.mark.parametrize(("method", "direction", "terminal"), cases(STARTED, daily=STARTED_DAILY))
def test_an_event_may_happen_at_the_start(method: str, direction: int, terminal: bool) -> None:
    """Where its value is beyond zero; where it is zero, as soon as it leaves in that direction."""
    step: dict[str, Any] = {} if method in METHODS else {"step": 0.05}
    s = starting(direction, True, terminal)
    for side, pace, late, when in AT_START:
        given: dict[str, Any] = {"initial": {"b.x": direction * side}, "method": method, **step}
        given["parameters"] = {"b.pace": pace, "b.late": late}
        wanted = [] if when is None else [when]
        for executor in ("native", "python") if method != "rodas4" else ("native",):
            run = lw.simulate(s, 1.2, executor=executor, every=10**6, **given)
            assert [e.time for e in run.events] == pytest.approx(wanted, abs=1e-7), (side, pace)
            assert (run.stop is not None) == (terminal and when is not None)
            assert terminal or run.final["b.n"] == len(wanted)
        batch = lw.simulate_batch(s, 1.2, runs=2, **given)
        assert batch.event_counts[:, 0].tolist() == [len(wanted)] * 2
        assert np.isfinite(batch.stopped).all() == (terminal and when is not None)


def test_an_event_that_is_beyond_at_the_start_waits_for_its_way_through_unless_asked() -> None:
    run = lw.simulate(starting(1, False, False), 1.0, initial={"b.x": 0.2})
    assert not run.events
    with pytest.raises(lw.Error, match=r"'e' of 'b' cannot happen at the start.*direction"):
        lw.Block("b").event("e", "t", at_start=True)


STANDING = [
    (seed, method, scale)
    for method in ("dop853", "rk4", "dopri5")
    for scale in ((1.0, 1e-9, 1e6) if method == "rk4" else (1.0,))
    for seed in seeds(3)
]
FIRST = STANDING[0][0]
STANDING_DAILY = [(FIRST, "rk4", 1e-9), (FIRST + 1, "dop853", 1.0), (FIRST, "dopri5", 1.0)]


@pytest.mark.parametrize(("seed", "method", "scale"), cases(STANDING, daily=STANDING_DAILY))
def test_what_stands_on_the_ground_but_for_rounding_stays_on_it(
    seed: int, method: str, scale: float
) -> None:
    """Feet of a body in any attitude, at the surface within the last bits, sink in as a spring.

    Their depths are sums that cancel, so whether they touch at the start is up to rounding; that
    makes no event, and none without end.
    """
    rng = np.random.default_rng(seed)
    m = lw.Mechanism("stool")
    body = m.body("b", translate="xyz", rotate="xyz", mass=5, inertia=(scale**2,) * 3)
    m.gravity("-z", 9.81 * scale)
    angles = rng.uniform(-1.2, 1.2, 3)
    turn = Rotation.from_euler("XYZ", angles).as_matrix()
    height = float(rng.uniform(0.2, 2.0)) * scale
    corners = itertools.product((scale, -scale), (scale, -scale), (-height,))
    feet = [m.point(f"p{k}", body, tuple(turn.T @ at)) for k, at in enumerate(corners)]
    system = lw.System(m)
    ground = elements.Contact(
        m, feet, elements.Plane(), stiffness=1e4, damping=200, viscous=50, name="ground"
    )
    system.add(ground)
    start = dict(zip(("b.rx", "b.ry", "b.rz"), map(float, angles), strict=True))
    options: dict[str, Any] = {"step": 1e-3} if method == "rk4" else {}
    run = lw.simulate(
        system,
        until=0.1,
        initial={**start, "b.z": height},
        method=method,
        executor="python" if method == "dopri5" else "native",
        **options,
    )
    assert run.events == ()
    depth = height - run.final["b.z"]
    c, k, mass = 4 * 200.0, 4e4, 5.0  # m z'' = m g - c z' - k z, from rest
    a, w = c / (2 * mass), math.sqrt(k / mass - (c / (2 * mass)) ** 2)
    swing = math.exp(-a * 0.1) * (math.cos(0.1 * w) + a / w * math.sin(0.1 * w))
    assert depth == pytest.approx(mass * 9.81 * scale / k * (1 - swing), rel=1e-5)


SQUARES = [
    *((1000.0, 5e-4, 5e-4), (1000.0, 1e-3, 1e-3), (10.0, 1e-6, 1e-6)),
    *((7e6, 5.0, 5.0), (7e6, 50.0, 50.0), (1.0, 0.3, 0.3)),
]


@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize(("place", "radius", "speed"), SQUARES)
def test_no_small_ball_far_away_is_missed(
    place: float, radius: float, speed: float, method: str
) -> None:
    """(x - a)^2 - r^2 on the way in and out: it is small where x and a are large."""
    block = lw.Block("b")
    x = block.state("x", speed, place - 1.6 * radius)
    block.event("e", (x - place) ** 2 - radius**2)
    system = lw.System(name="s")
    system.add(block)
    options: dict[str, Any] = {"step": 0.013} if method == "rk4" else {}
    run = lw.simulate(system, until=3.0, method=method, **options)
    known = 1e-12 + 3000 * 2.3e-16 * place / speed  # s: what steps round the place by
    assert [e.time for e in run.events] == pytest.approx([0.6, 2.6], abs=known)


@pytest.mark.parametrize("ahead", [1e-12, 1e-13, 1e-14])
def test_what_begins_a_little_before_zero_goes_through_it(ahead: float) -> None:
    block = lw.Block("b")
    x = block.state("x", 1.0, 1.0 - ahead)
    block.event("e", x - 1.0)
    system = lw.System(name="s")
    system.add(block)
    (event,) = lw.simulate(system, until=1.0).events
    assert event.time == pytest.approx(ahead, abs=1e-14)


def folded(straight: bool) -> lw.System:
    """A thrown body, and its distance from a point below where it starts, less a radius."""
    block = lw.Block("b")
    pull, radius, aside = (block.parameter(n, 1.0) for n in ("pull", "radius", "aside"))
    x = block.state("x", block.state("v", -2 * pull))
    below = x + radius
    distance = lw.sqrt(below**2) if straight else lw.sqrt(below**2 + aside**2)
    block.event("e", distance - radius)
    system = lw.System(name="s")
    system.add(block)
    return system


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_no_ball_is_stepped_over_by_what_is_thrown_up_before_it(seed: int, straight: bool) -> None:
    """Up, down and through the ball in one step: its value is above zero at both ends of that.

    It is x = x0 + v t - a t^2, and on the ball where x + r is +-w, with w^2 = r^2 - aside^2.
    """
    rng, system, count = np.random.default_rng(seed), folded(straight), 40
    pull, radius = 10 ** rng.uniform(-0.5, 1, count), 10 ** rng.uniform(-3, 0, count)
    aside = radius * (0.0 if straight else rng.uniform(0, 0.9, count))
    start = radius * rng.uniform(0.01, 3, count) * (rng.random(count) < 0.7 if straight else 1)
    speed, until = rng.uniform(0.1, 2, count), 10 ** rng.uniform(-0.2, 0.5)
    true = np.zeros((count, 2))
    for i, way in enumerate((-1, 1)):
        fall = start + radius + way * np.sqrt(radius**2 - aside**2)
        true[:, i] = (speed + np.sqrt(speed**2 + 4 * pull * fall)) / (2 * pull)
    clear = np.min(abs(true - until), axis=1) > 1e-3
    values = {"b.pull": pull, "b.radius": radius, "b.aside": aside + 0.0 * pull}
    initial = {"b.x": start, "b.v": speed}
    batch = lw.simulate_batch(system, until, initial=initial, parameters=values)
    expected = (true < until).sum(axis=1)
    assert batch.event_counts[clear, 0].tolist() == expected[clear].tolist()
    for method in ("dopri5", "rodas4"):
        for k in np.flatnonzero(clear):
            own = {n: float(x[k]) for n, x in values.items()}
            begin = {n: float(x[k]) for n, x in initial.items()}
            run = lw.simulate(system, until, method=method, parameters=own, initial=begin)
            found = [e.time for e in run.events]
            assert found == pytest.approx(true[k][: expected[k]], abs=1e-9), (method, k)
