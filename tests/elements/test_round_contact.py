"""Balls and capsules that touch: rolling, sliding, resting and colliding, as mechanics has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import linkwright as lw
from linkwright.algebra import evaluate
from linkwright.elements import BoxSurface, CapsuleSurface, Plane, RoundContact, SphereSurface
from linkwright.equations.energy import energy
from linkwright.mechanism import Mechanism
from linkwright.motion.blends import turned
from tests.seeds import cases, seeds
from tests.support.element_values import Evaluated

G, RADIUS, MASS = 9.81, 0.1, 2.0
ASKEW = turned((1, 0, 0), 1.2).tolist()
BALL = 0.4 * MASS * RADIUS**2


def on_slope(tilt: float, **more: Any) -> lw.System:
    """Return a ball in the plane y = 0 on a slope that falls along x."""
    m = Mechanism("slope")
    m.body("ball", translate="xz", rotate="y", mass=MASS, inertia=BALL)
    m.gravity(along="-z")
    slope = Plane(rotation=turned((0, 1, 0), tilt).tolist())
    s = lw.System(m)
    s.add(
        RoundContact(
            m, SphereSurface(RADIUS, body="ball"), slope, stiffness=1e5, damping=300, **more
        )
    )
    deep = MASS * G * math.cos(tilt) / 1e5
    up = RADIUS - deep
    s.set_initial({"ball.x": up * math.sin(tilt), "ball.z": up * math.cos(tilt)})
    return s


@pytest.mark.parametrize("friction", [0.6, 0.0])
def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_the_pull(friction: float) -> None:
    """Exactly g sin / (1 + 2/5 (R/R')^2), where R' is less than R by half of the depth."""
    tilt = 0.3
    run = lw.simulate(on_slope(tilt, friction=friction), until=1.0, tolerance=1e-8)
    speed = np.hypot(run["ball.u"], run["ball.w"])
    at = int(np.searchsorted(run.times, 0.2))
    rate = (speed[-1] - speed[at]) / (run.times[-1] - run.times[at])
    if not friction:
        assert rate == pytest.approx(G * math.sin(tilt), rel=1e-6)
        assert run.final["ball.ry_dot"] == pytest.approx(0, abs=1e-12)
        return
    assert rate == pytest.approx(5 / 7 * G * math.sin(tilt), rel=1e-3)
    rolls_on = RADIUS - MASS * G * math.cos(tilt) / 1e5 / 2
    share = 1 / (1 + 0.4 * (RADIUS / rolls_on) ** 2)
    assert rate == pytest.approx(share * G * math.sin(tilt), rel=1e-5)
    assert run.final["round_contact.slip1"] < 1e-3
    assert run.final["ball.ry_dot"] * rolls_on == pytest.approx(speed[-1], rel=1e-3)


def test_a_ball_with_little_friction_slides_and_spins_up() -> None:
    """Friction mu N gives g (sin - mu cos) forward and 5 mu g cos / (2 R) in spin."""
    tilt, mu = 0.5, 0.1
    run = lw.simulate(on_slope(tilt, friction=mu, creep=1e-4), until=1.0, tolerance=1e-8)
    speed = math.hypot(run.final["ball.u"], run.final["ball.w"])
    assert speed == pytest.approx(G * (math.sin(tilt) - mu * math.cos(tilt)), rel=2e-3)
    spin = 2.5 * mu * G * math.cos(tilt) / RADIUS
    assert run.final["ball.ry_dot"] == pytest.approx(spin, rel=2e-3)


def test_rolling_resistance_slows_a_ball_on_the_flat() -> None:
    """The couple r m g takes 5 r g / (7 R) of the speed in a second."""
    s = on_slope(0.0, friction=0.8, rolling=0.002)
    s.set_initial({"ball.u": 1.0, "ball.ry_dot": 1.0 / RADIUS})
    run = lw.simulate(s, until=1.0, tolerance=1e-8)
    speed = math.hypot(run.final["ball.u"], run.final["ball.w"])
    assert 1 - speed == pytest.approx(5 / 7 * 0.002 * G / RADIUS, rel=0.01)


def test_a_capsule_rests_on_the_balls_at_its_ends() -> None:
    m = Mechanism("log")
    m.body("log", translate="xz", rotate="y", mass=MASS, inertia=0.05)
    m.gravity(along="-z")
    lying = turned((0, 1, 0), math.pi / 2).tolist()
    log = CapsuleSurface(RADIUS, 0.8, body="log", rotation=lying)
    s = lw.System(m)
    s.add(RoundContact(m, log, Plane(), stiffness=1e4, damping=200, friction=0.5))
    run = lw.simulate(s, until=3.0, initial={"log.z": 0.15, "log.ry": 0.1})
    for k in (1, 2):
        assert run.final[f"round_contact.normal{k}"] == pytest.approx(MASS * G / 2, rel=1e-4)
    assert run.final["log.z"] == pytest.approx(RADIUS - MASS * G / 2e4, rel=1e-5)
    assert run.final["log.ry"] == pytest.approx(0, abs=1e-6)


def total_energy(m: Mechanism, run: Any) -> Any:
    found = energy(m)
    at = {x: run[n] for n, x in m.coordinates.items()}
    at |= {s.symbol: run[s.symbol.name] for s in m.kinematics().speeds}
    return evaluate(found.kinetic + found.potential, at)


def pair(first: Any, second: Any, **more: Any) -> tuple[Mechanism, lw.System]:
    """Return two free bodies without gravity, one of which is hit by the other."""
    m = Mechanism("pair")
    for name, mass in (("a", 1.0), ("b", 3.0)):
        m.body(name, joint=lw.Free(), mass=mass, inertia=(0.02 * mass, 0.03 * mass, 0.04 * mass))
    s = lw.System(m)
    s.add(RoundContact(m, first, second, stiffness=2e4, friction=0.4, creep=0.01, **more))
    return m, s


PAIRS: dict[str, tuple[Any, Any]] = {
    "balls": (SphereSurface(0.1, body="a"), SphereSurface(0.2, body="b")),
    "ball and capsule": (
        SphereSurface(0.1, body="a", center=(0.02, 0, 0.01)), CapsuleSurface(0.2, 0.3, body="b"),
    ),
    "capsules": (
        CapsuleSurface(0.1, 0.4, body="a"), CapsuleSurface(0.15, 0.5, body="b", rotation=ASKEW),
    ),
}  # fmt: skip


@pytest.mark.parametrize("shapes", cases(PAIRS, daily=["ball and capsule"]))
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_what_collides_keeps_momentum_and_makes_no_energy(shapes: str, damping: float) -> None:
    m, s = pair(*PAIRS[shapes], damping=damping)
    start = {"a.x": -0.6, "a.y": 0.05, "a.z": 0.03, "a.u": 2.0, "a.q": 3.0, "b.r": -2.0}
    run = lw.simulate(s, until=0.6, initial=start, tolerance=1e-10)
    assert run["round_contact.normal1"].max() > 10
    symbols = {s.symbol: run[s.symbol.name] for s in m.kinematics().speeds}
    at: dict[Any, Any] = {x: run[n] for n, x in m.coordinates.items()} | symbols
    found = energy(m)
    for part in (*found.momentum, *found.angular_momentum):
        value = evaluate(part, at)
        np.testing.assert_allclose(value, np.full(len(run.times), np.ravel(value)[0]), atol=1e-7)
    held = total_energy(m, run)
    assert np.max(held - held[0]) < 1e-6 * held[0]
    assert held[-1] < held[0] * (1 - 1e-5)


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_capsules_touch_where_their_segments_are_nearest(seed: int) -> None:
    """The depth equals the radii less the least distance, found by an independent search."""
    r = np.random.default_rng(seed)
    lengths, radii = r.uniform(0.2, 1.0, 2), r.uniform(0.05, 0.2, 2)
    turns = [turned(tuple(r.normal(size=3)), float(r.uniform(0, 3))) for _ in "ab"]
    shapes = [
        CapsuleSurface(float(radii[k]), float(lengths[k]), body="ab"[k], rotation=turns[k].tolist())
        for k in range(2)
    ]
    _, s = pair(shapes[0], shapes[1])
    block: Any = s.members["round_contact"].block
    places = r.uniform(-0.6, 0.6, (2, 3))
    at = {f"{n}.{c}": float(places[k][i]) for k, n in enumerate("ab") for i, c in enumerate("xyz")}
    still = {n: v for n, v in block.mechanism.initial.items() if n not in at}
    found = Evaluated(block, at | still)["depth1"]
    ends = [
        [places[k] + sign * turns[k][:, 2] * lengths[k] / 2 for sign in (-1, 1)] for k in range(2)
    ]

    def apart(x: Any) -> float:
        one, two = ((1 - x[k]) * ends[k][0] + x[k] * ends[k][1] for k in range(2))
        return float(np.sum((one - two) ** 2))

    best = min(
        minimize(apart, x0, bounds=[(0, 1), (0, 1)], tol=1e-14).fun
        for x0 in ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0))
    )
    assert found == pytest.approx(sum(radii) - math.sqrt(best), abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (SphereSurface(-0.1, body="a"), Plane(), "radius"),
        (SphereSurface(0.1, body="a"), SphereSurface(0.1, body="a"), "both sides"),
        (SphereSurface(0.1, body="a"), BoxSurface((1, 1, 1)), "Box.*Sphere or a Capsule"),
        (CapsuleSurface(0.1, -1.0, body="a"), Plane(), "length"),
        (SphereSurface(0.1, body="c"), Plane(), "no point, body or frame 'c'"),
    ],
)
def test_what_cannot_touch_is_refused(first: Any, second: Any, words: str) -> None:
    with pytest.raises(lw.Error, match=words):
        pair(first, second)
