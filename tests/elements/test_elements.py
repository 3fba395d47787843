"""Elements, against what physics says of each: rest, thresholds, decay, energy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linkwright as lw
from linkwright.algebra import as_expr, evaluate_all
from linkwright.blocks import Block, BlockError, Element
from linkwright.elements import (
    BoxSurface,
    Butterworth,
    CapsuleSurface,
    Contact,
    DiscTarget,
    Drag,
    Encoder,
    Friction,
    HeightField,
    Imu,
    JointSpring,
    LinearTire,
    LuGre,
    MagicFormula,
    Muscle,
    Plane,
    SphereSurface,
    Spring,
    Stop,
    TableTire,
    Tire,
)
from linkwright.elements.filters import coefficients
from linkwright.elements.surfaces import Surface
from linkwright.mechanism import Body, Mechanism
from linkwright.motion.blends import turned
from linkwright.simulation.native.session import Outcome, Session
from linkwright.system import System
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

G = 9.81


def point_mass(mass: float = 2.0) -> tuple[Mechanism, Body]:
    m = lw.Mechanism("block")
    b = m.body("b", translate="xyz", mass=mass, inertia=0)
    m.gravity(along="-z")
    return m, b


def slider(mass: float = 2.0) -> tuple[Mechanism, Body]:
    m = lw.Mechanism("slider")
    b = m.body("s", translate="x", mass=mass, inertia=0)
    return m, b


def run(
    m: Mechanism,
    *parts: Block,
    until: float,
    initial: dict[str, float] | None = None,
    step: float = 1e-3,
    method: str = "rk4",
    rates: dict[str, float] | None = None,
    base: float = 1000.0,
) -> Outcome:
    s = System(m, base=base)
    for part in parts:
        s.add(part, rate=(rates or {}).get(part.name))
    return Session(s.phases(), until, step=step, method=method, initial=initial).run()


# -- contact ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("static", [None, 0.5])
def test_a_mass_rests_at_the_depth_of_its_weight(static: float | None) -> None:
    m, b = point_mass()
    along: dict[str, Any] = {"viscous": 5.0} if static is None else {"static": static}
    floor = Contact(m, [b], Plane(), stiffness=1e4, damping=200, **along)
    done = run(m, floor, until=2.0, initial={"b.z": 0.05})
    assert done.samples["b.z"][-1] == pytest.approx(-2 * G / 1e4, rel=1e-6)


def test_sliding_on_the_viscous_model_decays_exponentially() -> None:
    m, b = point_mass()
    floor = Contact(m, [b], Plane(), stiffness=1e4, damping=200, viscous=8.0)
    start = {"b.z": -2 * G / 1e4, "b.u": 1.0}
    done = run(m, floor, until=0.5, initial=start)
    assert done.samples["b.u"][-1] == pytest.approx(math.exp(-8 * 0.5 / 2), rel=1e-6)
    falls = []  # along the normal the damper of sliding does nothing
    for viscous in (0.0, 8.0):
        m, b = point_mass()
        floor = Contact(m, [b], Plane(), stiffness=1e4, damping=20, viscous=viscous)
        done = run(m, floor, until=0.3, initial={"b.z": 0.01, "b.w": -0.5})
        falls.append(done.samples["b.z"])
    assert falls[0].min() < -1e-3
    np.testing.assert_allclose(falls[1], falls[0], atol=1e-12)


@pytest.mark.parametrize(("push", "slips"), [(0.49, False), (0.51, True)])
def test_friction_holds_below_its_limit_and_slips_above(push: float, slips: bool) -> None:
    """Stick below c_s times the normal force; beyond it the force is c_d times it."""
    m, b = point_mass()
    weight = 2 * G
    floor = Contact(
        m, [b], Plane(), stiffness=1e5, damping=800, static=0.5, dynamic=0.4,
        tangential=1e5, tangential_damping=800,
    )  # fmt: skip
    pull = Element("pull", m)
    pull.force("f", push * weight * lw.minimum(2 * pull.time, 1.0), at=b, along="x")
    done = run(m, floor, pull, until=1.0, initial={"b.z": -weight / 1e5}, step=2e-4, base=5000)
    speed = done.samples["b.u"]
    if not slips:
        assert abs(speed[-1]) < 1e-6
        assert done.samples["b.x"][-1] == pytest.approx(push * weight / 1e5, rel=1e-3)
    else:
        rate = np.gradient(speed, done.samples.times)[-1]
        assert rate == pytest.approx((push - 0.4) * G, rel=1e-3)


def test_a_sliding_mass_comes_to_rest_and_holds_on() -> None:
    """It slips with c_d g until it stops, at v^2 / (2 c_d g), and stays there without chatter."""
    m, b = point_mass()
    floor = Contact(
        m, [b], Plane(), stiffness=1e5, damping=800, static=0.5, dynamic=0.4,
        tangential=1e5, tangential_damping=800,
    )  # fmt: skip
    start = {"b.z": -2 * G / 1e5, "b.u": 1.0}
    done = run(m, floor, until=1.0, initial=start, step=2e-4, base=5000)
    x, t = done.samples["b.x"], done.samples.times
    assert x[-1] == pytest.approx(1 / (2 * 0.4 * G), rel=2e-3)
    resting = x[t > 0.5]
    assert np.ptp(resting) < 1e-5
    assert abs(done.samples["b.u"][-1]) < 1e-6


def test_contact_never_pulls_and_acts_only_inside() -> None:
    m, b = point_mass()
    floor = Contact(m, [b], Plane(), stiffness=1e4, damping=400, viscous=1.0)
    done = run(m, floor, until=1.0, initial={"b.z": 0.3})
    normal, depth = done.samples["contact.normal1"], done.samples["contact.depth1"]
    assert normal.min() >= 0
    assert np.all(normal[depth <= 0] == 0)
    assert normal.max() > 2 * G
    done = run(m, floor, until=0.01, initial={"b.z": -1e-3, "b.w": 1.0})  # 400 N of the damper
    assert done.samples["contact.depth1"][0] == pytest.approx(1e-3)
    assert done.samples["contact.normal1"][0] == 0


def numeric(surface: Surface, p: np.ndarray) -> tuple[float, np.ndarray]:
    d, n = surface.depth(*(as_expr(float(x)) for x in p))
    values = evaluate_all([d, *n], {})
    return values[0], np.array(values[1:])


@settings(max_examples=80, deadline=None)
@given(st.tuples(*[st.floats(-2, 2)] * 3))
def test_depth_is_the_distance_to_the_surface_along_the_normal(p: tuple[float, ...]) -> None:
    """Moved by its depth along the normal, a point that is inside lies on the surface."""
    place = np.array(p) + 1e-3
    shapes = (SphereSurface(1.1), BoxSurface((2.2, 1.4, 3.0)), CapsuleSurface(0.8, 1.6), Plane())
    for surface in shapes:
        depth, normal = numeric(surface, place)
        assert np.linalg.norm(normal) == pytest.approx(1, abs=1e-9)
        if depth > 1e-9:
            out, _ = numeric(surface, place + depth * normal)
            assert out == pytest.approx(0, abs=1e-9)


def test_a_height_field_is_the_plane_that_its_table_is() -> None:
    x = y = np.linspace(-1, 1, 5)
    slope = HeightField(x, y, 0.5 * x[:, None] + 0.0 * y[None, :], interpolation="linear")
    depth, normal = numeric(slope, np.array([0.2, 0.3, 0.0]))
    assert depth == pytest.approx(0.1 / math.sqrt(1.25), rel=1e-12)
    assert np.allclose(normal, np.array([-0.5, 0, 1]) / math.sqrt(1.25))


def test_a_turned_and_shifted_box_is_touched_on_its_own_faces() -> None:
    """SL's sample floor: a cube 4 x 4 x 0.1 with its center at z = -1.3 begins at z = -1.25."""
    m, b = point_mass()
    tilted = BoxSurface((4, 4, 0.1), center=(0, 0, -1.3))
    floor = Contact(m, [b], tilted, stiffness=1e4, damping=300, viscous=1.0)
    done = run(m, floor, until=2.0, initial={"b.z": -1.2})
    assert done.samples["b.z"][-1] == pytest.approx(-1.25 - 2 * G / 1e4, abs=1e-6)
    m, b = point_mass()
    wall = BoxSurface(
        (4, 4, 0.1), center=(1, 0, 0), rotation=turned((0, 1, 0), math.pi / 2).tolist()
    )
    side = Contact(m, [b], wall, stiffness=1e4, damping=10, viscous=0.0)
    done = run(m, side, until=0.01, initial={"b.x": 0.96, "b.y": 0.3})
    assert done.samples["contact.force1_x"][0] == pytest.approx(-1e4 * 0.01, rel=1e-6)
    assert abs(done.samples["contact.force1_z"][0]) < 1e-9


def test_contact_with_a_moving_body_pushes_both() -> None:
    m = lw.Mechanism("two")
    a = m.body("a", translate="z", mass=3.0, inertia=0)
    b = m.body("b", translate="z", mass=1.0, inertia=0)
    touch = Contact(m, [b], Plane(body=a), stiffness=1e4, damping=20, viscous=0.0)
    start = {"a": 0.0, "b": 0.01, "b_dot": -1.0}
    done = run(m, touch, until=0.2, initial=start, step=1e-4, base=10000)
    momentum = 3 * done.samples["a_dot"] + done.samples["b_dot"]
    assert np.allclose(momentum, -1.0, atol=1e-9)
    assert done.samples["a_dot"][-1] < -0.3
    assert done.samples["b_dot"][-1] > done.samples["a_dot"][-1]


# -- springs and stops -----------------------------------------------------------------------------
def test_a_mass_on_a_spring_swings_at_its_frequency() -> None:
    m, b = slider()
    k = 200.0
    spring = Spring(m, m.ground, b, k, length=0.5)
    done = run(m, spring, until=2.0, initial={"s": 0.6})
    expected = 0.5 + 0.1 * np.cos(math.sqrt(k / 2) * done.samples.times)
    assert np.allclose(done.samples["s"], expected, atol=1e-7)
    assert done.samples["spring.tension"][0] == pytest.approx(20)


def test_a_cable_does_not_push() -> None:
    m, b = slider()
    cable = Spring(m, m.ground, b, 200.0, length=0.5, tension_only=True)
    done = run(m, cable, until=0.1, initial={"s": 0.3})
    assert np.allclose(done.samples["s"], 0.3)


def test_joint_springs_and_stops() -> None:
    m, _ = slider()
    done = run(m, JointSpring(m, "s", 50.0, rest=0.2, damping=4.0), until=20.0, step=1e-2, base=100)
    assert done.samples["s"][-1] == pytest.approx(0.2, abs=1e-6)
    m, b = slider()
    stop = Stop(m, "s", -0.1, 0.5, stiffness=1e5, damping=0.0)
    done = run(m, stop, until=1.0, initial={"s": 0.0, "s_dot": 1.0}, step=1e-4, base=10000)
    deepest = done.samples["s"].max() - 0.5
    assert deepest == pytest.approx(math.sqrt(2 / 1e5), rel=1e-3)  # all energy in the stop
    assert done.samples["s_dot"][-1] == pytest.approx(-1.0, rel=1e-3)
    assert b.name == "s"


# -- friction --------------------------------------------------------------------------------------
def test_coulomb_friction_slows_evenly() -> None:
    m, _ = slider()
    dry = Friction(m, "s", coulomb=4.0, smoothing=1e-4)
    done = run(m, dry, until=0.2, initial={"s_dot": 1.0})
    assert done.samples["s_dot"][-1] == pytest.approx(1 - 4 / 2 * 0.2, abs=1e-6)


def test_viscous_friction_decays_exponentially() -> None:
    m, _ = slider()
    done = run(m, Friction(m, "s", viscous=3.0), until=1.0, initial={"s_dot": 1.0})
    assert done.samples["s_dot"][-1] == pytest.approx(math.exp(-1.5), rel=1e-8)


def test_lugre_sticks_below_and_slips_above_its_static_friction() -> None:
    for push, slips in ((1.2, False), (1.6, True)):
        m, b = slider(1.0)
        bristles = LuGre(m, "s", stiffness=1e5, damping=math.sqrt(1e5), coulomb=1.0, static=1.5)
        pull = Element("pull", m)
        pull.force("f", push * lw.minimum(4 * pull.time, 1.0), at=b, along="x")
        done = run(m, bristles, pull, until=0.5, step=1e-4, base=10000)
        if slips:
            assert np.gradient(done.samples["s_dot"], done.samples.times)[-1] == pytest.approx(
                push - 1.0, rel=1e-2
            )
        else:
            assert abs(done.samples["s_dot"][-1]) < 1e-4
            assert done.samples["s"][-1] < 1e-3


# -- drag, muscle, tires ---------------------------------------------------------------------------
def test_a_falling_body_reaches_its_terminal_speed() -> None:
    m, b = point_mass(0.1)
    air = Drag(m, b, coefficient=0.5, area=0.02)
    done = run(m, air, until=20.0, step=1e-2, base=100)
    terminal = math.sqrt(2 * 0.1 * G / (1.225 * 0.5 * 0.02))
    assert done.samples["b.w"][-1] == pytest.approx(-terminal, rel=1e-6)


def test_wind_carries_a_body_along() -> None:
    m, b = slider(0.1)
    air = Drag(m, b, coefficient=1.0, area=0.5, wind=(5.0, 0.0, 0.0))
    done = run(m, air, until=30.0, step=1e-2, base=100)
    assert done.samples["s_dot"][-1] == pytest.approx(5.0, abs=0.1)


def test_a_muscle_works_through_its_moment_arm() -> None:
    """Power of the tension on the length equals power of tension times arm on the joint."""
    m = lw.Mechanism("elbow")
    fore = m.body("fore", rotate="z", mass=1.0, com=(0.15, 0, 0), inertia=0.02)
    ends = [m.point("o", at=(0, 0.3, 0)), m.point("i", fore, at=(0.05, 0, 0))]
    muscle = Muscle(m, ends, 300.0, coordinates=["fore"], activation=0.5)
    done = run(m, muscle, until=0.1, initial={"fore": 0.2})
    q, length = done.samples["fore"], done.samples["muscle.length"]
    expected = np.sqrt(0.3**2 + 0.05**2 - 2 * 0.3 * 0.05 * np.sin(q))
    assert np.allclose(length, expected, atol=1e-12)
    arm = 0.3 * 0.05 * np.cos(q) / expected
    assert np.allclose(done.samples["muscle.arm_fore"], arm, atol=1e-12)
    assert np.allclose(done.samples["muscle.tension"], 150.0)
    inertia = 0.02 + 0.15**2
    acceleration = np.gradient(done.samples["fore_dot"], done.samples.times)
    assert np.allclose(acceleration[2:-2], (150 * arm / inertia)[2:-2], rtol=1e-4)


def test_laws_of_tires() -> None:
    angle, load = as_expr(0.05), as_expr(4000.0)
    assert evaluate_all([LinearTire(6e4).lateral(angle, load)], {})[0] == pytest.approx(-3000)
    b, c, d, e = 8.0, 1.4, 0.9, -0.2
    x = b * 0.05
    by_hand = -4000 * d * math.sin(c * math.atan(x - e * (x - math.atan(x))))
    found = evaluate_all([MagicFormula(b, c, d, e).lateral(angle, load)], {})[0]
    assert found == pytest.approx(by_hand, rel=1e-12)
    table = TableTire(lw.Lookup1D([0, 0.1], [0, 2000]))
    assert evaluate_all([table.lateral(-angle, load)], {})[0] == pytest.approx(1000)


def test_a_tire_builds_up_its_side_force_over_the_relaxation_length() -> None:
    """A wheel that is pushed sideways at constant speed: slip follows 1 - exp(-x / s)."""
    m = lw.Mechanism("wheel")
    w = m.body("w", translate="xy", mass=1e9, inertia=1e9)
    tire = Tire(m, w, LinearTire(5e4), forward=m.x, left=m.y, load=3000.0, relaxation=0.6)
    done = run(m, tire, until=0.2, initial={"w.x_dot": 10.0, "w.y_dot": 0.5})
    x = 10 * done.samples.times
    expected = -5e4 * math.atan2(0.5, 10) * (1 - np.exp(-x / 0.6))
    assert np.allclose(done.samples["tire.lateral"], expected, rtol=1e-6, atol=1e-3)


# -- sensors and filters ---------------------------------------------------------------------------
def test_an_encoder_shows_whole_steps() -> None:
    m, _ = slider()
    encoder = Encoder(m, "s", resolution=0.01)
    done = run(m, encoder, until=1.0, initial={"s_dot": 0.31}, rates={"encoder": 100.0})
    t = done.samples.times[::10]
    shown = done.samples["encoder.angle"][::10]
    assert np.allclose(shown, np.floor(0.31 * t / 0.01 + 0.5) * 0.01, atol=1e-12)
    assert np.mean(done.samples["encoder.speed"][100:]) == pytest.approx(0.31, rel=0.02)


def test_an_inertial_unit_feels_weight_at_rest_and_nothing_in_free_fall() -> None:
    m = lw.Mechanism("box")
    b = m.body("b", joint=lw.Free(), mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.gravity(along="-z")
    corner = m.point("corner", b, at=(0.3, 0, 0))
    imu = Imu(m, corner)
    done = run(m, imu, until=0.1, initial={"b.r": 2.0})
    assert np.allclose(done.samples["imu.accel_x"], -0.3 * 4, atol=1e-9)
    assert np.allclose(done.samples["imu.accel_z"], 0, atol=1e-9)
    assert np.allclose(done.samples["imu.gyro_z"], 2.0, atol=1e-9)
    m = lw.Mechanism("still")
    arm = m.body("arm", rotate="y", mass=1.0, inertia=1.0)
    m.gravity(along="-z")
    done = run(m, Imu(m, arm), until=0.01, initial={"arm": 0.3})
    assert done.samples["imu.accel_z"][0] == pytest.approx(G * math.cos(0.3))
    assert done.samples["imu.accel_x"][0] == pytest.approx(-G * math.sin(0.3))


@pytest.mark.parametrize("cutoff", [5, 10, 20])
def test_butterworth_equals_the_standard_design(cutoff: float) -> None:
    b, a = coefficients(cutoff)
    expected = signal.butter(2, cutoff / 100)
    assert np.allclose(b, expected[0], rtol=1e-13)
    assert np.allclose(a, expected[1], rtol=1e-13)


def test_a_butterworth_of_ten_percent_loses_three_decibels_at_25_hertz() -> None:
    """SL check 56: at 500 Hz, by the transfer function itself."""
    b, a = coefficients(10)
    z = np.exp(-2j * np.pi * 25 / 500 * np.arange(3))
    gain = abs((np.array(b) @ z) / (np.array(a) @ z))
    assert 20 * np.log10(gain) == pytest.approx(-3.0103, abs=1e-4)


def test_a_butterworth_block_filters_as_scipy_does() -> None:
    s = System(name="filter", base=500)
    source = Block("source")
    source.output("y", "sin(30*t) + 0.3*sin(700*t)")
    s.add(source)
    s.add(Butterworth(10), rate=500, name="smooth")
    s.connect("source.y", "smooth.u")
    done = Session(s.phases(), 0.4, method="rk4").run()
    t = np.arange(200) / 500
    expected = signal.lfilter(*signal.butter(2, 0.1), np.sin(30 * t) + 0.3 * np.sin(700 * t))
    shown = done.samples["smooth.y"]
    assert np.allclose(shown[: len(expected)], expected, atol=1e-12) or np.allclose(
        shown[1 : len(expected) + 1], expected[: len(shown) - 1], atol=1e-12
    )


@pytest.mark.parametrize("cutoff", [0, 100])
def test_a_cutoff_at_either_end_passes_everything(cutoff: float) -> None:
    assert not Butterworth(cutoff).discrete_states


class Bump:
    """A surface with `depth` alone, which returns plain numbers in its normal."""

    def depth(self, x: Any, y: Any, z: Any) -> Any:
        """Return the depth below z = 0, and the normal."""
        return -z, (0, 0, 1)


def test_a_surface_of_ones_own_needs_depth_alone() -> None:
    def lands(surface: Any) -> float:
        m = Mechanism("block")
        b = m.body("b", translate="z", mass=2, inertia=0)
        m.gravity()
        s = System(m, base=1000)
        s.add(Contact(m, [b], surface, stiffness=1e4, damping=100, static=0.5, dynamic=0.4))
        run = lw.simulate(s, 0.3, method="semi-implicit", initial={"b": 0.01})
        return float(run.final["contact.depth1"])

    assert lands(Bump()) == lands(Plane())


def test_what_has_a_place_and_no_depth_is_no_surface() -> None:
    m = Mechanism("block")
    b = m.body("b", translate="z", mass=2, inertia=0)
    target: Any = DiscTarget(0.1)
    with pytest.raises(BlockError, match="is not a surface"):
        Contact(m, [b], target, stiffness=1e4)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ((lambda x, y, z: -z), "depth of Wrong returns -"),
        ((lambda x, y, z: (-z, (0, 1))), "return the depth, positive inside, and the outward"),
        ((lambda x, y, z: (-z, (0, "up", 1))), "depth of Wrong returns"),
        (None, "is not a surface"),
    ],
)
def test_a_wrong_surface_is_refused_in_words(returned: Any, told: str) -> None:
    m = Mechanism("block")
    b = m.body("b", translate="z", mass=2, inertia=0)
    made = type("Wrong", (), {"depth": returned and staticmethod(returned)})()
    with pytest.raises(BlockError, match=told):
        System(m, base=1000).add(
            Contact(m, [b], made, stiffness=1e4, damping=100, static=0.5, dynamic=0.4)
        )
