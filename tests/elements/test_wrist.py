"""The compliant wrist and the wave: statics, energy, exact rates and normals, refusals."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.algebra import Expr, as_expr, evaluate, symbols
from linkwright.blocks import Block, Element
from linkwright.blocks.rotation_vectors import (
    gradient_from_moment,
    moment_from_gradient,
    rate_from_spin,
)
from linkwright.elements import (
    CompliantWrist,
    Contact,
    ForceTorque,
    JointSpring,
    Wave,
    WristContact,
)
from linkwright.equations.energy import energy
from linkwright.mechanism import Mechanism

STIFFNESS = [500.0, 600.0, 700.0, 8.0, 9.0, 10.0]
DAMPING = [3.0, 3.0, 3.0, 0.05, 0.05, 0.05]
LOADS = [2.0, -2.0, 3.0, 0.4, -0.5, 0.6]


def arm(massless: bool = False) -> Mechanism:
    """Return a flange that slides, and a tool on it with six coordinates or none."""
    m = Mechanism("arm")
    flange = m.body("flange", translate="z", mass=5)
    if massless:
        m.body("tool", parent=flange, at=(0.1, 0, 0.2), mass=0, inertia=0)
    else:
        m.body(
            "tool", parent=flange, at=(0.1, 0, 0.2), translate="xyz", rotate="xyz", mass=0.1,
            inertia=(1e-4, 2e-4, 3e-4),
        )  # fmt: skip
    return m


@cache
def loaded(massless: bool) -> lw.System:
    """Return a held flange with a wrist whose tool is pushed and turned along flange's axes."""
    m = arm(massless)
    s = lw.System(m)
    s.add(JointSpring(m, "flange", 1e5, damping=500))
    wrist = s.add(CompliantWrist(m, "flange", "tool", STIFFNESS, DAMPING, massless=massless))
    if massless:
        block = Block("load")
        block.output_vector("load", block.input_vector("push", 6))
        s.connect(s.add(block).load, wrist.load)
        return s
    hand = Element("load", m)
    push = hand.input_vector("push", 6)
    flange, tool = m.bodies["flange"], m.bodies["tool"]
    for i, axis in enumerate(flange.frame.axes):
        hand.force(f"f{i}", push[i], at=tool, along=axis)
        hand.moment(f"m{i}", push[3 + i], on=tool, about=axis)
    s.add(hand)
    return s


@pytest.mark.parametrize("direction", range(6))
def test_at_rest_stiffness_times_deflection_is_the_load_with_mass_and_without(
    direction: int,
) -> None:
    found = []
    for massless in (False, True):
        values = {f"load.push[{direction}]": LOADS[direction]}
        run = lw.simulate(loaded(massless), 4.0, parameters=values, tolerance=1e-10)
        found.append([run.final[f"wrist.deflection[{i}]"] for i in range(6)])
        wrench = [run.final[f"wrist.wrench[{i}]"] for i in range(6)]
        expected = np.zeros(6)
        expected[direction] = LOADS[direction]
        np.testing.assert_allclose(wrench, expected, atol=2e-6)
        assert run.final["flange"] == pytest.approx(expected[2] / 1e5, abs=1e-9)
    np.testing.assert_allclose(found[0], found[1], atol=3e-7)


def test_large_turns_about_all_axes_rest_at_the_same_place_with_mass_and_without() -> None:
    """The moment at rest is that of the potential: L^-T(r) K r, as an independent sum says."""
    push = [1.0, 2.0, -1.0, 3.0, -2.5, 4.0]
    found = []
    for massless in (False, True):
        values = {f"load.push[{i}]": push[i] for i in range(6)}
        run = lw.simulate(loaded(massless), 6.0, parameters=values, tolerance=1e-10)
        found.append(np.array([run.final[f"wrist.deflection[{i}]"] for i in range(6)]))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
    turn = found[1][3:]
    assert np.linalg.norm(turn) > 0.5

    def potential(r: np.ndarray) -> float:
        return float(0.5 * np.dot(STIFFNESS[3:], r**2))

    step, moment = 1e-5, np.zeros(3)
    for i in range(3):  # the work of a small turn about a flange's axis
        small = Rotation.from_rotvec(step * np.eye(3)[i])
        ahead, back = (r * Rotation.from_rotvec(turn) for r in (small, small.inv()))
        moment[i] = (potential(ahead.as_rotvec()) - potential(back.as_rotvec())) / (2 * step)
    np.testing.assert_allclose(moment, push[3:], atol=1e-4)


def test_springs_alone_keep_the_energy_and_dampers_take_it() -> None:
    m = arm()
    start = {"tool.x": 0.01, "tool.rx": 0.8, "tool.ry": -0.5, "tool.rz": 0.6, "flange_dot": 0.2}
    kept = []
    for damping in ([0.0] * 6, DAMPING):
        s = lw.System(m)
        s.add(CompliantWrist(m, "flange", "tool", STIFFNESS, damping))
        run = lw.simulate(s, 0.3, initial=start, tolerance=1e-11)
        speeds = {x.symbol.name: x.symbol for x in m.kinematics().speeds}
        at: dict[Expr, Any] = {x: run[n] for n, x in {**m.coordinates, **speeds}.items()}
        kinetic = evaluate(energy(m).kinetic, at)
        springs = [0.5 * k * run[f"wrist.deflection[{i}]"] ** 2 for i, k in enumerate(STIFFNESS)]
        whole = kinetic + sum(springs)
        kept.append(whole / whole[0])
    assert np.abs(kept[0] - 1).max() < 1e-8
    assert np.all(np.diff(kept[1]) < 1e-9)
    assert kept[1][-1] < 0.7


def test_the_rate_of_the_deflection_is_its_derivative_in_time() -> None:
    m = arm()
    wrist = CompliantWrist(m, "flange", "tool", STIFFNESS, DAMPING)
    rng = np.random.default_rng(1)
    kinematics = m.kinematics()
    for size in (1e-9, 0.1, 1.5):
        q = {x: float(size * rng.normal()) for x in m.coordinates.values()}
        u = {s.symbol: float(rng.normal()) for s in kinematics.speeds}
        rates = {x: evaluate(kinematics.rates[x], {**q, **u}) for x in q}
        h = 1e-6
        for d, rate in zip(wrist.deflection, wrist.deflection_rate, strict=True):
            ahead = evaluate(d, {x: q[x] + h * rates[x] for x in q})
            back = evaluate(d, {x: q[x] - h * rates[x] for x in q})
            assert evaluate(rate, {**q, **u}) == pytest.approx((ahead - back) / (2 * h), abs=1e-7)


def test_the_turn_is_the_rotation_vector_along_the_axes_of_the_flange() -> None:
    m = arm()
    wrist = CompliantWrist(m, "flange", "tool", STIFFNESS, DAMPING)
    angles = (0.3, -0.7, 1.1)
    at = {m.coordinates[f"tool.r{c}"]: v for c, v in zip("xyz", angles, strict=True)}
    found = [evaluate(x, at) for x in wrist.deflection[3:]]
    np.testing.assert_allclose(found, Rotation.from_euler("XYZ", angles).as_rotvec(), atol=1e-14)


def test_rates_moments_and_their_inverses_agree_from_zero_to_large_turns() -> None:
    rng = np.random.default_rng(2)
    r, v = symbols("r1 r2 r3"), symbols("v1 v2 v3")
    spun = rate_from_spin(r, v, lambda x: x)
    balance = moment_from_gradient(r, v, lambda x: x)
    felt = gradient_from_moment(r, balance, lambda x: x)
    for size in (0.0, 1e-8, 1e-3, 0.22, 0.23, 1.0, 2.9):
        axis, w = rng.normal(size=3), rng.normal(size=3)
        turn = size * axis / np.linalg.norm(axis)
        at = dict(zip((*r, *v), (*turn, *w), strict=True))
        np.testing.assert_allclose([evaluate(x, at) for x in felt], w, rtol=0, atol=2e-14)
        h = 1e-6
        moved = [
            (Rotation.from_rotvec(sign * h * w) * Rotation.from_rotvec(turn)).as_rotvec()
            for sign in (1, -1)
        ]
        rate = (moved[0] - moved[1]) / (2 * h)
        np.testing.assert_allclose([evaluate(x, at) for x in spun], rate, atol=2e-8)
        power = sum(evaluate(x, at) * y for x, y in zip(balance, w, strict=True))
        assert power == pytest.approx(np.dot(w, rate), abs=2e-8)  # moment . w = gradient . r'


def test_a_tool_with_one_turn_has_exactly_its_angle_as_deflection() -> None:
    m = Mechanism("m")
    flange = m.body("flange", rotate="z", mass=1, inertia=1)
    tool = m.body("tool", parent=flange, rotate="y", mass=1, inertia=1)
    wrist = CompliantWrist(m, flange, tool, STIFFNESS, DAMPING)
    q, u = m.coordinates["tool"], m.kinematics().rates[m.coordinates["tool"]]
    zero = as_expr(0)
    assert wrist.deflection == (zero, zero, zero, zero, q, zero)
    assert wrist.deflection_rate == (zero, zero, zero, zero, u, zero)


def test_a_free_tool_swings_with_the_frequencies_of_its_springs() -> None:
    """The linear model at rest, where series stand in for the formulas of large turns."""
    m = Mechanism("m")
    tool = m.body("tool", translate="xyz", rotate="xyz", mass=0.1, inertia=(1e-4, 2e-4, 3e-4))
    s = lw.System(m)
    s.add(CompliantWrist(m, m.ground, tool, STIFFNESS, [0.0] * 6))
    poles = np.linalg.eigvals(lw.linearize(s).a)
    masses = np.array([0.1, 0.1, 0.1, 1e-4, 2e-4, 3e-4])
    expected = np.sort(np.repeat(np.sqrt(np.array(STIFFNESS) / masses), 2))
    np.testing.assert_allclose(np.sort(np.abs(poles.imag)), expected, rtol=1e-9)
    np.testing.assert_allclose(poles.real, 0, atol=1e-6)


def test_a_tool_may_hang_by_several_bodies_and_a_sensor_there_feels_what_the_wrist_does() -> None:
    m = Mechanism("m")
    flange = m.body("flange", translate="z", mass=5)
    slide = m.body("slide", parent=flange, translate="xyz", mass=0, inertia=0)
    tool = m.body("tool", parent=slide, rotate="y", mass=0.3, com=(0.02, 0, 0), inertia=1e-3)
    m.gravity()
    s = lw.System(m)
    s.add(JointSpring(m, "flange", 1e5, damping=500))
    s.add(CompliantWrist(m, flange, tool, STIFFNESS, [20.0] * 3 + [0.3] * 3))
    s.add(ForceTorque(m, slide))
    final = lw.simulate(s, 3.0, tolerance=1e-9).final
    wrench = [final[f"wrist.wrench[{k}]"] for k in range(6)]
    assert wrench[2] == pytest.approx(-0.3 * 9.81, rel=1e-6)
    turn = final["tool"]
    assert wrench[4] == pytest.approx(0.3 * 9.81 * 0.02 * np.cos(turn), rel=1e-6)
    np.testing.assert_allclose(
        wrench, [final[f"force_torque.wrench[{k}]"] for k in range(6)], atol=1e-6
    )


# -- the wave --------------------------------------------------------------------------------------
@pytest.mark.parametrize("x", [-0.13, 0.0, 0.04, 0.05, 0.117])
@pytest.mark.parametrize("depth", [-2e-3, -1e-5, 1e-5, 1e-3])
def test_depth_and_normal_of_a_wave_are_those_of_its_nearest_point(x: float, depth: float) -> None:
    wave = Wave(0.01, 0.2)
    k = 2 * math.pi / 0.2
    slope = 0.01 * k * math.cos(k * x)
    n = np.array([-slope, 1.0]) / math.hypot(slope, 1)
    place = np.array([x, 0.01 * math.sin(k * x)]) - depth * n
    found, normal = wave.depth(as_expr(place[0]), as_expr(0.3), as_expr(place[1]))
    assert evaluate(found, {}) == pytest.approx(depth, abs=1e-12)
    np.testing.assert_allclose([evaluate(c, {}) for c in normal], [n[0], 0, n[1]], atol=1e-9)


def test_far_from_a_steep_wave_above_is_outside_and_below_inside() -> None:
    wave = Wave(0.1, 0.2)
    px, py, pz = symbols("x y z")
    depth, _ = wave.depth(px, py, pz)
    rng = np.random.default_rng(3)
    x, z = rng.uniform(-1, 1, 4000), rng.uniform(-0.5, 0.5, 4000)
    found = evaluate(depth, {px: x, pz: z})
    assert np.all((found > 0) == (0.1 * np.sin(2 * np.pi * x / 0.2) > z))


def test_a_ball_rolls_into_a_trough_of_a_wave_and_sinks_in_by_its_weight() -> None:
    m = Mechanism("m")
    b = m.body("b", translate="xz", mass=1)
    m.gravity()
    s = lw.System(m, base=2000)
    s.add(Contact(m, [b], Wave(0.01, 0.2), stiffness=1e5, damping=300, viscous=20))
    run = lw.simulate(s, 3.0, method="semi-implicit", initial={"b.x": 0.12, "b.z": 0.0})
    assert run.final["b.x"] == pytest.approx(0.15, abs=1e-4)
    assert run.final["b.z"] == pytest.approx(-0.01 - 9.81 / 1e5, abs=1e-7)


# -- a massless tool that touches ------------------------------------------------------------------
def lowered(massless: bool) -> lw.System:
    """Return a slanted hand that comes down with its tool on a wave, and goes along."""
    m = Mechanism("hand")
    cart = m.body("cart", translate="x", mass=20)
    hand = m.body("hand", parent=cart, rotate="y", mass=1, inertia=1)
    if massless:
        tool = m.body("tool", parent=hand, at=(0, 0, -0.4), mass=0, inertia=0)
    else:
        tool = m.body("tool", parent=hand, at=(0, 0, -0.4), translate="xyz", mass=1e-3, inertia=0)
    s = lw.System(m)
    s.add(JointSpring(m, "hand", 400.0, damping=20.0))
    wrist = CompliantWrist(m, hand, tool, [500.0] * 6, [30.0] * 6, massless=massless)
    spring = s.add(wrist)
    wave: dict[str, Any] = {"stiffness": 1e4, "damping": 20.0, "dissipation": 1.0}
    ground = Wave(0.01, 0.2, center=(0, 0, -0.405))
    if massless:
        touch = s.add(WristContact(m, wrist, ground, name="contact", **wave))
        s.connect(touch.load, spring.load)
    else:
        s.add(Contact(m, [tool], ground, name="contact", **wave))
    return s


def test_a_massless_tool_touches_as_the_lightest_one_with_mass_does() -> None:
    start = {"hand": 0.1, "cart_dot": 0.3}
    heavy, light = (
        lw.simulate(lowered(massless), 0.6, initial=start, tolerance=1e-9, step=0.01)
        for massless in (False, True)
    )
    times = np.linspace(0.02, 0.59, 58)
    pairs = {"contact.normal1": "contact.normal"} | {
        f"wrist.deflection[{k}]": f"wrist.deflection[{k}]" for k in (0, 2)
    }
    for mine, theirs in pairs.items():
        first = np.interp(times, heavy.times, heavy[mine])
        second = np.interp(times, light.times, light[theirs])
        assert np.abs(second).max() > 5e-4
        assert np.abs(first - second).max() < 0.02 * np.abs(second).max(), mine
    assert light.final["cart"] == pytest.approx(heavy.final["cart"], abs=1e-4)


def test_the_contact_of_a_massless_tool_obeys_its_law_at_the_speed_that_it_makes() -> None:
    run = lw.simulate(lowered(True), 0.3, initial={"hand": 0.1, "cart_dot": 0.3})
    depth, normal = run["contact.depth"], run["contact.normal"]
    inside = normal > 0
    rate = np.gradient(depth, run.times)
    law = 1e4 * depth + (20.0 + 1e4 * depth) * rate
    assert np.median(np.abs(law - normal)[inside][2:-2]) < 0.02 * normal.max()


def test_a_wrist_with_mass_is_refused_where_a_massless_one_is_needed() -> None:
    m = arm()
    wrist = CompliantWrist(m, "flange", "tool", STIFFNESS, DAMPING)
    with pytest.raises(lw.Error, match="not a massless CompliantWrist; give massless=True"):
        WristContact(m, wrist, Wave(0.01, 0.2), stiffness=1e5)


# -- refusals --------------------------------------------------------------------------------------
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "zero stiffness": ({"stiffness": [500.0] * 5 + [0.0]}, "stiffness rz .* singular"),
    "negative stiffness": ({"stiffness": [500.0] * 5 + [-1.0]}, "stiffness rz .* indefinite"),
    "five numbers": ({"stiffness": [500.0] * 5}, "stiffness of 'wrist' has 5 numbers.*x, y, z"),
    "one number": ({"stiffness": 500.0}, "stiffness of 'wrist' is 500.0.*six"),
    "no number": ({"damping": [math.nan] * 6}, "damping x of 'wrist' is nan"),
    "negative damping": ({"damping": [-1.0] + [1.0] * 5}, "damping x .* -1.*0 or more"),
    "other branch": ({"flange": "other"}, "does not hang on the flange 'other'"),
    "itself": ({"flange": "tool"}, "by 0 coordinates.*massless=True"),
    "too many": ({"flange": "n"}, "by 7 coordinates"),
    "not fixed": ({"massless": True}, "massless, but the tool 'tool' has 6 coordinates"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_a_wrist_is_refused_with_what_to_do(case: str) -> None:
    given, words = BAD[case]
    m = arm()
    m.body("other", translate="x", mass=1)
    numbers: dict[str, Any] = {
        "flange": "flange", "tool": "tool", "stiffness": STIFFNESS, "damping": DAMPING,
    } | given  # fmt: skip
    with pytest.raises(lw.Error, match=words):
        CompliantWrist(m, **numbers)


def test_a_massless_wrist_without_damping_is_refused() -> None:
    with pytest.raises(lw.Error, match=r"damping x of 'wrist' is 0.*above 0"):
        CompliantWrist(arm(True), "flange", "tool", STIFFNESS, [0.0] * 6, massless=True)


def test_a_port_that_reads_a_block_brings_it_along_once() -> None:
    m = arm()
    wrist = CompliantWrist(m, "flange", "tool", STIFFNESS, DAMPING)
    law = Block("law")
    felt = law.input_vector("wrench", 6)
    law.output("twice", 2 * felt[2])
    law.default_source("wrench", wrist, "wrench")
    finals = []
    for order in ((law,), (wrist, law), (law, wrist)):  # whoever adds it, there is one
        s = lw.System(m)
        for part in order:
            s.add(part)
        assert list(s.members) == ["wrist", "law"]
        finals.append(lw.simulate(s, 0.01, initial={"tool.z": 0.01}).final)
    assert finals[0] == finals[1] == finals[2]
    assert finals[0]["law.twice"] == 2 * finals[0]["wrist.wrench[2]"] != 0
    s = lw.System(m)
    s.add(law)
    with pytest.raises(lw.Error, match=r"'wrist' is in 'arm' already.*before that member"):
        s.add(wrist, rate=100)


def test_minimum_distance_agrees_where_a_point_is_well_outside() -> None:
    """Checked against a search along the wave, up to a tenth of its radius of curvature."""
    wave = Wave(0.01, 0.2)
    x, z = 0.03, 0.016
    searched = minimize_scalar(
        lambda s: math.hypot(s - x, 0.01 * math.sin(2 * math.pi * s / 0.2) - z),
        bounds=(0.0, 0.06), method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    found, _ = wave.depth(as_expr(x), as_expr(0), as_expr(z))
    assert -evaluate(found, {}) == pytest.approx(searched.fun, abs=1e-8)
