"""Tires: combined slip, load, the moment on the wheel; against balances and limits of physics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

import linkwright as lw
from linkwright.algebra import as_expr, evaluate
from linkwright.blocks import BlockError
from linkwright.elements import Friction, LinearTire, MagicFormula, TableTire, Tire
from linkwright.elements.tire_laws import TireLaw
from linkwright.mechanism import Mechanism
from tests.support.element_values import Evaluated

RADIUS, LOAD, MASS, INERTIA = 0.3, 3000.0, 300.0, 1.2
ROAD_TIRE = MagicFormula(
    10.0, 1.6, 1.0, 0.9, longitudinal_b=14.0, longitudinal_d=1.1,
    nominal_load=3000.0, friction_slope=-0.15, stiffest_load=1.8,
)  # fmt: skip
LAWS: dict[str, TireLaw] = {
    "even": MagicFormula(10.0, 1.9, 1.0, 0.97),
    "road": ROAD_TIRE,
    "limited": LinearTire(4e4, 6e4, friction=0.9),
    "table": TableTire(
        lw.Lookup1D([0, 0.1, 0.5, 2.0], [0, 2400, 2700, 2000]),
        lw.Lookup1D([0, 0.1, 0.5, 2.0], [0, 2600, 2900, 2100]),
    ),
}
FRICTION = {"even": 1.0, "road": 1.1, "limited": 0.9, "table": 2900 / LOAD}


def rig(law: TireLaw, *, where: str = "carrier", **more: Any) -> tuple[Mechanism, Tire]:
    """Return a hub that glides over the road with a wheel on an axle, and its tire."""
    m = Mechanism("rig")
    hub = m.body("hub", translate="xy", mass=MASS, inertia=0)
    wheel = m.body("wheel", parent=hub, rotate="y", mass=0, inertia=(0, INERTIA, 0))
    given = {"wheel": wheel} | more
    at = hub if where == "carrier" else wheel
    tire = Tire(
        m, at, law, forward=m.x, left=m.y, load=LOAD, radius=RADIUS, **given
    )  # fmt: skip
    return m, tire


def grid(count: int = 41) -> dict[str, Any]:
    """Return speeds of the hub and the wheel: forward and back, locked, spinning, sideways."""
    x, y, w = np.meshgrid(
        np.linspace(-12, 12, count), np.linspace(-9, 9, count), np.linspace(-60, 60, count)
    )
    return {"hub.x_dot": x, "hub.y_dot": y, "wheel_dot": w}


@pytest.mark.parametrize("law", LAWS)
def test_the_force_never_exceeds_friction_times_load(law: str) -> None:
    _, tire = rig(LAWS[law])
    found = Evaluated(tire, grid())
    size = np.hypot(found["lateral"], found["longitudinal"])
    assert size.max() <= FRICTION[law] * LOAD * (1 + 1e-9)
    assert size.max() > 0.9 * FRICTION[law] * LOAD


@pytest.mark.parametrize("where", ["carrier", "wheel"])
@pytest.mark.parametrize("law", LAWS)
def test_a_tire_takes_energy_and_never_gives_any(law: str, where: str) -> None:
    """Its power is the force times the velocity of the tread over the road, never above zero."""
    _, tire = rig(LAWS[law], where=where, rolling_resistance=0.015)
    at = grid()
    found = Evaluated(tire, at)
    slip = at["hub.x_dot"] - RADIUS * at["wheel_dot"]
    rolling = np.sqrt((RADIUS * at["wheel_dot"]) ** 2 + 0.1**2)
    resists = 0.015 * LOAD * (RADIUS * at["wheel_dot"]) ** 2 / rolling
    expected = found["longitudinal"] * slip + found["lateral"] * at["hub.y_dot"] - resists
    np.testing.assert_allclose(found.power, expected, atol=1e-6)
    assert np.max(found.power) <= 1e-9


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("heading", np.linspace(0.1, 3.0, 7))
def test_a_locked_wheel_is_pushed_against_its_motion(law: str, heading: float) -> None:
    _, tire = rig(LAWS[law])
    vx, vy = 10 * np.cos(heading), 10 * np.sin(heading)
    found = Evaluated(tire, {"hub.x_dot": vx, "hub.y_dot": vy})
    size = np.hypot(found["lateral"], found["longitudinal"])
    assert found["longitudinal"] == pytest.approx(-size * np.cos(heading), abs=1e-6 * size)
    assert found["lateral"] == pytest.approx(-size * np.sin(heading), abs=1e-6 * size)


@pytest.mark.parametrize("law", LAWS)
def test_pure_slip_is_exactly_the_law(law: str) -> None:
    _, tire = rig(LAWS[law])
    load = as_expr(LOAD)
    angle = np.array([-1.2, -0.3, -0.02, 0.02, 0.3, 1.2])
    rolling = {"hub.x_dot": 10.0, "wheel_dot": 10 / RADIUS, "hub.y_dot": 10 * np.tan(angle)}
    expected = [evaluate(LAWS[law].lateral(as_expr(a), load), {}) for a in angle]
    np.testing.assert_allclose(Evaluated(tire, rolling)["lateral"], expected, rtol=1e-6)
    ratio = np.array([-0.9, -0.1, -0.01, 0.01, 0.1, 0.9])
    straight = {"hub.x_dot": 10.0, "wheel_dot": 10 * (1 + ratio) / RADIUS}
    expected = [evaluate(LAWS[law].longitudinal(as_expr(k), load), {}) for k in ratio]
    np.testing.assert_allclose(Evaluated(tire, straight)["longitudinal"], expected, rtol=1e-6)


@pytest.mark.parametrize("law", ["even", "road", "limited"])
def test_small_slip_in_both_directions_is_linear(law: str) -> None:
    """To first order the two directions do not know of each other."""
    _, tire = rig(LAWS[law])
    a, k, h = 3e-4, 2e-4, 1e-7
    at = {"hub.x_dot": 10.0, "hub.y_dot": 10 * np.tan(a), "wheel_dot": 10 * (1 + k) / RADIUS}
    found = Evaluated(tire, at)
    cornering = -evaluate(LAWS[law].lateral(as_expr(h), as_expr(LOAD)), {}) / h
    driving = evaluate(LAWS[law].longitudinal(as_expr(h), as_expr(LOAD)), {}) / h
    assert found["lateral"] == pytest.approx(-cornering * a, rel=2e-3)
    assert found["longitudinal"] == pytest.approx(driving * k, rel=2e-3)


@pytest.mark.parametrize("how", ["wheel", "spin", "on the wheel"])
def test_a_wheel_at_rest_is_turned_by_the_road(how: str) -> None:
    """m v R + I w stays what it was, until the wheel rolls: v = R w."""
    more: dict[str, Any] = {"spin": {"wheel": None, "spin": "wheel_dot"}}.get(how, {})
    m, tire = rig(LAWS["even"], where="wheel" if how == "on the wheel" else "carrier", **more)
    s = lw.System(m)
    s.add(tire)
    run = lw.simulate(s, until=2.0, initial={"hub.x_dot": 10.0})
    v, w = run["hub.x_dot"], run["wheel_dot"]
    np.testing.assert_allclose(MASS * v * RADIUS + INERTIA * w, MASS * 10 * RADIUS, rtol=1e-8)
    rolls = 10 * MASS * RADIUS**2 / (MASS * RADIUS**2 + INERTIA)
    assert run.final["hub.x_dot"] == pytest.approx(rolls, rel=1e-5)
    assert run.final["wheel_dot"] == pytest.approx(rolls / RADIUS, rel=1e-5)


@pytest.mark.parametrize(("torque", "locks"), [(500.0, False), (1200.0, True)])
def test_a_braked_wheel_locks_where_the_brake_is_stronger_than_the_road(
    torque: float, locks: bool
) -> None:
    """Below the peak the wheel keeps rolling: R |F| = T - I |w_dot|; above it the wheel stops."""
    law = LAWS["even"]
    m, tire = rig(law)
    brake = Friction(m, "wheel", coulomb=torque, smoothing=0.05)
    s = lw.System(m)
    s.add(tire)
    s.add(brake)
    start = {"hub.x_dot": 20.0, "wheel_dot": 20 / RADIUS}
    run = lw.simulate(s, until=0.6, initial=start)
    np.testing.assert_allclose(run["tire.spin_moment"], -RADIUS * run["tire.longitudinal"])
    moments = run["tire.spin_moment"] + run["friction.effort"]
    impulse = cumulative_trapezoid(moments, run.times, initial=0)
    change = INERTIA * (run["wheel_dot"] - run["wheel_dot"][0])
    assert np.abs(impulse - change).max() < 0.01 * np.abs(change).max()
    if locks:
        assert abs(run.final["wheel_dot"]) < 0.1
        slides = evaluate(law.longitudinal(as_expr(1.0), as_expr(LOAD)), {})
        assert run.final["tire.longitudinal"] == pytest.approx(-slides, rel=1e-3)
    else:
        assert run.final["tire.slip_ratio"] > -0.1
        assert run.final["wheel_dot"] > 30


def test_friction_falls_and_stiffness_has_a_peak_over_the_load() -> None:
    slip, load = lw.symbols("slip load")
    force = -ROAD_TIRE.lateral(slip, load)
    loads = np.linspace(500.0, 9000.0, 200)
    angles = np.linspace(0.0, 1.5, 400)[:, None]
    peaks = evaluate(force, {slip: angles, load: loads}).max(axis=0) / loads
    np.testing.assert_allclose(peaks, 1.0 - 0.15 * (loads - 3000) / 3000, rtol=1e-3)
    stiffness = evaluate(force, {slip: 1e-7, load: loads}) / 1e-7
    x = loads / (1.8 * 3000)
    shape = (x / (1 + x**2)) / ((1 / 1.8) / (1 + 1 / 1.8**2))
    np.testing.assert_allclose(stiffness, 10.0 * 1.6 * 1.0 * 3000 * shape, rtol=1e-5)
    assert loads[int(np.argmax(stiffness))] == pytest.approx(1.8 * 3000, rel=0.01)


def bicycle(front: float, law: TireLaw) -> float:
    """Return the yaw rate over that of a neutral car in a steady turn, for a part of the weight."""
    base, mass, speed, steer = 2.6, 1400.0, 20.0, 0.02
    m = Mechanism("bicycle")
    a, b = base * (1 - front), base * front
    car = m.body("car", translate="xy", rotate="z", mass=mass, inertia=mass * a * b)
    m.constrain(m.expr("dot(vel(car0), [car1])") - speed)
    s = lw.System(m)
    x, y = car.frame.x, car.frame.y
    weight = mass * 9.81
    tip, tail = m.point("tip", car, (a, 0, 0)), m.point("tail", car, (-b, 0, 0))
    c, d = np.cos(steer), np.sin(steer)
    ahead, left = x * c + y * d, y * c - x * d
    s.add(Tire(m, tip, law, forward=ahead, left=left, load=weight * front, name="front"))
    s.add(Tire(m, tail, law, forward=x, left=y, load=weight * (1 - front), name="rear"))
    run = lw.simulate(s, until=4.0)
    return run.final["car.rz_dot"] / (speed * steer / base)


def test_the_distribution_of_weight_makes_a_car_understeer_or_oversteer() -> None:
    """With stiffness in proportion to load every car is neutral; a real tire tells them apart."""
    plain = MagicFormula(10.0, 1.6, 1.0, 0.9)
    assert bicycle(0.6, plain) == pytest.approx(1.0, abs=0.02)
    real = MagicFormula(10.0, 1.6, 1.0, 0.9, nominal_load=7000.0, stiffest_load=1.5)
    nose, tail = (bicycle(part, real) for part in (0.6, 0.4))
    assert nose < 0.97 < 1.03 < tail


def test_the_aligning_moment_turns_the_wheel_into_its_motion() -> None:
    m = Mechanism("caster")
    hub = m.body("hub", translate="xy", rotate="z", mass=10, inertia=0.5)
    frame = hub.frame
    tire = Tire(
        m, hub, LAWS["even"], forward=frame.x, left=frame.y, load=LOAD, trail=0.03
    )  # fmt: skip
    found = Evaluated(tire, {"hub.u": 10.0, "hub.v": 0.1})
    assert found["aligning"] == pytest.approx(-0.03 * found["lateral"], rel=0.02)
    assert found["aligning"] > 0  # it moves to the left, so it is turned to the left
    assert abs(Evaluated(tire, {"hub.u": 10.0, "hub.v": 10.0})["aligning"]) < 15


def test_a_lifted_wheel_has_no_force() -> None:
    _, tire = rig(LAWS["road"])
    at = {"hub.x_dot": 10.0, "hub.y_dot": 2.0}
    found = Evaluated(tire, at, {"load": -500.0})
    assert found["lateral"] == found["longitudinal"] == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"wheel": None, "spin": "2*wheel_dot"}, "not the speed of one joint.*wheel="),
        ({"spin": "wheel_dot"}, "both a wheel and a spin"),
        ({"wheel": "whel"}, "whel.*wheel"),
        ({"wheel": None, "rolling_resistance": 0.01}, "no wheel"),
        ({"rolling_resistance": -0.01}, "rolling_resistance of 'tire' is -0.01"),
        ({"relaxation": -1.0}, "relaxation of 'tire' is -1"),
    ],
)
def test_what_cannot_be_meant_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.Error, match=words):
        rig(LAWS["even"], **more)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MagicFormula(-1.0, 1.6, 1.0, 0.9),
        lambda: MagicFormula(10.0, 2.5, 1.0, 0.9),
        lambda: MagicFormula(10.0, 1.6, -1.0, 0.9),
        lambda: MagicFormula(10.0, 1.6, 1.0, 1.5),
        lambda: MagicFormula(10.0, 1.6, 1.0, float("nan")),
        lambda: MagicFormula(10.0, 1.6, 1.0, 0.9, stiffest_load=2.0),
        lambda: LinearTire(-1.0),
        lambda: LinearTire(1.0, friction=-0.5),
    ],
)
def test_laws_refuse_factors_that_would_give_energy(make: Any) -> None:
    with pytest.raises(BlockError):
        make()
