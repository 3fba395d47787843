"""What SL's digest asks of simulations (its section 8; the number of a check stands in brackets).

Contacts that rest, slide and slip, filters, trajectories and sensors by themselves are in
`test_elements.py` and `test_motion.py`; here are floating bases, energy, momentum, quaternions,
servos, and contacts as part of whole robots.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.blocks import Element
from linkwright.control import PD
from linkwright.elements import BoxSurface, Contact, Friction, Imu, Plane, SphereSurface
from linkwright.elements.surfaces import Surface
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass, Place
from linkwright.mechanism import Body, Mechanism
from linkwright.robots import Robot
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.native.session import Outcome, Session
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from tests.oracles.phase_runner import PlainRun
from tests.seeds import cases, examples, seldom

Array = NDArray[np.float64]
G = 9.81
ROBOTS = Path(__file__).parents[1] / "robots"
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
STANCE = {
    f"{leg}_{joint}_joint": angle
    for leg in LEGS
    for joint, angle in (("hip", 0.0), ("thigh", 0.7), ("shank", -1.4))
}


def go(
    system: System,
    until: float,
    initial: dict[str, float] | None = None,
    *,
    method: str = "rk4",
    step: float | None = None,
    record: list[str] | None = None,
) -> Outcome:
    settings = RunSettings(until, method=method, step=step, every=1)
    return Session(system.phases(record), settings, initial=initial or {}).run()


def state_of(robot: Robot, outcome: Outcome, at: int) -> tuple[Array, Array]:
    q = np.array([outcome.samples[name][at] for name in robot.coordinates])
    u = np.array([outcome.samples[name][at] for name in robot.speeds])
    return q, u


def box_body(gravity: float = G) -> tuple[Mechanism, Body]:
    m = lw.Mechanism("box")
    b = m.body("b", joint=lw.Free(quaternion=True), mass=2.0, inertia=(0.1, 0.25, 0.3))
    if gravity:
        m.gravity(along="-z", g=gravity)
    return m, b


# -- clocks and servos -----------------------------------------------------------------------------
def test_servos_tick_exactly_as_often_as_their_rates_say() -> None:
    """960, 480 and 60 ticks in each simulated second (1)."""
    s = System(name="clocks", base=960)
    seen: dict[int, int] = {}

    def counting(rate: int) -> None:
        def servo(t: float) -> None:
            seen[rate] = seen.get(rate, 0) + (t < 3.0)

        s.add(servo, rate=rate, name=f"servo{rate}")

    for rate in (960, 480, 60):
        counting(rate)
    go(s, 3.0)
    assert seen == {960: 2880, 480: 1440, 60: 180}


@pytest.fixture(scope="module")
def arm() -> Robot:
    held = {"waist": 0.2, "wrist": 0.3}
    return lw.Robot(ROBOTS / "oblique_arm.urdf", friction=False, limits=False, locked=held)


def test_pd_control_is_off_by_gravity_over_stiffness(arm: Robot) -> None:
    """Without a feedforward, the static error is the torque of gravity there over kp (9)."""
    s = System(arm, base=1000)
    kp = 400.0
    inertia = np.diag(arm.mass_matrix(np.full(3, 0.3)))
    s.add(PD(arm.mechanism, kp=kp, kd=(2 * np.sqrt(kp * inertia)).tolist(), target=0.3))
    done = go(s, 6.0)
    q, u = state_of(arm, done, -1)
    assert np.abs(u).max() < 1e-6
    assert np.abs(0.3 - q).max() > 1e-3
    assert np.allclose(kp * (0.3 - q), arm.gravity(q), atol=1e-4)


# -- dynamics --------------------------------------------------------------------------------------
def test_a_load_at_the_end_adds_its_weight_through_the_jacobian() -> None:
    """A mass at the end-effector adds m g times the z row of the Jacobian, transposed (34)."""

    def loaded(mass: float) -> Robot:
        links = [Link("base"), Link("a", Mass(3.0, (0.2, 0.0, 0.1))), Link("b", Mass(2.0))]
        joints = [
            LinkJoint("j1", "revolute", "base", "a", Place((0.0, 0.0, 0.3)), (0.0, 1.0, 0.0)),
            LinkJoint("j2", "revolute", "a", "b", Place((0.5, 0.1, 0.0)), (0.3, 0.9, 0.1)),
            LinkJoint("hold", "weld", "b", "hand", Place((0.3, 0.0, -0.1))),
        ]
        hand = Link("hand", Mass(mass) if mass else None)
        return Robot(Description("loaded", (*links, hand), tuple(joints)))

    q, rest = np.array([0.4, -0.9]), np.zeros(2)
    more = loaded(1.3).inverse_dynamics(q, rest, rest) - loaded(0).inverse_dynamics(q, rest, rest)
    assert np.allclose(more, 1.3 * G * loaded(0).jacobian(q, "hand")[2], atol=1e-12)


def test_a_frictionless_arm_keeps_its_energy(arm: Robot) -> None:
    """By Runge and Kutta's method, to 1e-4 of what moves in it over 1 s (36)."""
    start = dict(zip(arm.speeds, [-1.0, 0.4, 0.05], strict=True))
    done = go(System(arm, base=1000), 1.0, start)
    found = [
        (float(arm.kinetic_energy(q, u)), float(arm.potential_energy(q)))
        for q, u in (state_of(arm, done, k) for k in range(0, 1001, 50))
    ]
    kinetic, potential = np.array(found).T
    assert np.ptp(kinetic + potential) < 1e-4 * np.ptp(potential)
    assert np.ptp(potential) > 1


def test_viscous_friction_takes_its_power_from_the_energy(arm: Robot) -> None:
    """What is lost is the integral of vis * rate^2 over all joints (40)."""
    s = System(arm, base=2000)
    vis = dict(zip(arm.coordinates, (1.5, 0.7, 3.0), strict=True))
    for name, value in vis.items():
        s.add(Friction(arm.mechanism, name, viscous=value, name=f"friction_{name}"))
    start = dict(zip(arm.speeds, [-1.0, 0.4, 0.05], strict=True))
    done = go(s, 1.0, start)
    first, last = (state_of(arm, done, k) for k in (0, -1))
    lost = [float(arm.kinetic_energy(*x) + arm.potential_energy(x[0])) for x in (first, last)]
    rates = zip(vis.values(), arm.speeds, strict=True)
    power = np.sum([c * done.samples[name] ** 2 for c, name in rates], axis=0)
    work = float(np.trapezoid(power, done.samples.times))
    assert work > 0.5
    assert lost[0] - lost[1] == pytest.approx(work, rel=1e-5)


def test_inertia_about_the_origin_or_the_center_is_the_same_body() -> None:
    """Mass times center with inertia about the origin, by the parallel-axis theorem (41)."""
    c, mass = np.array([0.2, -0.1, 0.3]), 2.5
    own = np.array([[0.3, 0.02, 0.0], [0.02, 0.4, -0.03], [0.0, -0.03, 0.35]])
    about_origin = own + mass * (c @ c * np.eye(3) - np.outer(c, c))
    six = (own[0, 0], own[1, 1], own[2, 2], own[0, 1], own[1, 2], own[2, 0])
    links = (Link("base"), Link("body", Mass(mass, (0.2, -0.1, 0.3), six)))
    robot = Robot(
        Description("one", links, (LinkJoint("spin", "ball", "base", "body"),), gravity=(0, 0, 0))
    )
    assert np.allclose(robot.mass_matrix(robot.neutral), about_origin, atol=1e-12)


# -- floating base ---------------------------------------------------------------------------------
@cache
def quadruped() -> Robot:
    return lw.Robot(ROBOTS / "quadruped.urdf", friction=False, limits=False)


def hopper(gravity: float = G) -> Robot:
    """A floating trunk on one leg."""
    links = (
        Link("trunk", Mass(6.0, (0.02, 0.01, 0.05), (0.1, 0.15, 0.2, 0.01, 0.0, 0.02))),
        Link("thigh", Mass(1.2, (0.0, 0.02, -0.1), (0.01, 0.012, 0.004, 0.0, 0.0, 0.0))),
        Link("shank", Mass(0.5, (0.01, 0.0, -0.12), (0.004, 0.004, 0.001, 0.0, 0.0, 0.0))),
        Link("foot"),
    )
    hip = Place((0.05, -0.1, -0.05))
    joints = (
        LinkJoint("hip", "revolute", "trunk", "thigh", hip, (0.6, 0.8, 0.0)),
        LinkJoint("knee", "revolute", "thigh", "shank", Place((0.0, 0.0, -0.25)), (0.0, 1.0, 0.0)),
        LinkJoint("ankle", "weld", "shank", "foot", Place((0.0, 0.0, -0.25))),
    )
    return Robot(Description("hopper", links, joints, gravity=(0.0, 0.0, -gravity)), base="free")


def test_a_floating_robot_without_gravity_keeps_its_momentum() -> None:
    """Linear and angular momentum about the mass center stay, whatever joints do (37)."""
    free = hopper(gravity=0.0)
    s = System(free, base=1000)
    s.add(PD(free.mechanism, kp=30, kd=1, joints=["hip", "knee"], target={"hip": 0.7, "knee": -1}))
    start = dict(zip(free.speeds, np.random.default_rng(3).normal(size=8), strict=True))
    done = go(s, 0.5, start, step=1e-4)
    momenta = [free.centroidal_momentum(*state_of(free, done, k)) for k in (0, 250, 500)]
    assert np.abs(momenta[0]).max() > 1
    assert np.allclose(momenta[1], momenta[0], atol=1e-6)
    assert np.allclose(momenta[2], momenta[0], atol=1e-6)


@pytest.mark.parametrize("gravity", [9.81, 1.62])
def test_a_floating_base_falls_freely(gravity: float) -> None:
    """At 9.81 m/s^2, or whatever gravity is set to, turning or not (38)."""
    m, b = box_body(gravity)
    speeds = {"b.p": 3.0, "b.q": -1.0, "b.r": 2.0}
    done = go(System(m, base=1000), 1.0, speeds)
    t = done.samples.times
    assert np.allclose(done.samples["b.z"], -gravity * t**2 / 2, atol=1e-9)
    assert b.name == "b"


@seldom(daily="test_a_floating_base_falls_freely")
def test_a_frozen_base_is_a_floating_one_that_is_held() -> None:
    """The base stays where it is, joints move as with the force that holds it (39)."""
    frozen = lw.load(ROBOTS / "quadruped.urdf", base="fixed", friction=False, limits=False)
    rng = np.random.default_rng(5)
    q, u, a = rng.uniform(-0.5, 0.5, (3, 12))
    tau = frozen.inverse_dynamics(q, u, a)
    floating = quadruped()
    whole = np.concatenate([floating.neutral[:7], q])
    still = np.zeros(6)
    both = floating.inverse_dynamics(whole, [*still, *u], [*still, *a])
    assert np.allclose(both[6:], tau, atol=1e-10)
    held = floating.forward_dynamics(whole, np.array([*still, *u]), both)
    assert np.allclose(held, [*still, *a], atol=1e-8)
    done = go(System(frozen, base=1000), 0.2, dict(zip(frozen.coordinates, q, strict=True)))
    moved, _ = state_of(frozen, done, -1)
    assert np.abs(moved - q).max() > 0.1
    assert np.allclose(frozen.pose(moved, "trunk"), frozen.pose(q, "trunk"), atol=1e-12)


# -- quaternions -----------------------------------------------------------------------------------
def test_the_rotation_of_a_quaternion() -> None:
    """A quarter turn about z: the world's x is the body's -y in SL's R, world to body (42)."""
    robot = Robot(Description("one", (Link("base", Mass(1.0)),), ()), base="free")
    q = np.array([0, 0, 0, math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    to_body = robot.pose(q, "base")[:3, :3].T
    assert np.allclose(to_body, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_rates_of_quaternions_are_those_of_sl() -> None:
    """q' = Q(q) w / 2 and w = 2 Q(q)' q' with the angular velocity w in the world's axes (43)."""
    m, _ = box_body()
    phases = System(m).phases()
    rng = np.random.default_rng(1)
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    w_body = rng.normal(size=3)
    values = {f"b.e{k}": x for k, x in enumerate(e)}
    values |= dict(zip(("b.p", "b.q", "b.r"), w_body, strict=True))
    x = np.array([values.get(s.name, 0.0) for s in phases.x])
    rate = dict(zip([s.name for s in phases.x], PlainRun(phases).rate(0.0, x), strict=True))
    found = np.array([rate[f"b.e{k}"] for k in range(4)])
    a, b, c, d = e
    big_q = np.array([[-b, -c, -d], [a, d, -c], [-d, a, b], [c, -b, a]])
    w = Rotation.from_quat(e, scalar_first=True).apply(w_body)
    assert np.allclose(found, big_q @ w / 2, atol=1e-14)
    assert np.allclose(2 * big_q.T @ found, w, atol=1e-14)


@pytest.mark.parametrize("method", ["semi-implicit", "verlet", "midpoint", "rk4"])
def test_quaternions_keep_their_length_in_every_scheme(method: str) -> None:
    """Length within 1e-9 of one after 5 s, and all schemes turn the same way (44)."""
    m, _ = box_body(0.0)
    speeds = {"b.p": 3.0, "b.q": 1e-2, "b.r": 2.0}
    step = 1e-5 if method in ("semi-implicit", "verlet") else 1e-3
    names = [f"b.e{k}" for k in range(4)]
    done = go(System(m, base=1000), 5.0, speeds, method=method, step=step, record=names)
    e = np.array([done.samples[name] for name in names])
    assert np.abs(np.linalg.norm(e, axis=0) - 1).max() < 1e-9
    tight = go(System(m, base=1000), 5.0, speeds, method="dop853", record=names)
    wanted = np.array([tight.samples[name][-1] for name in names])
    assert np.abs(e[:, -1] - wanted).max() < 1e-3


def second_scheme(q: Array, w: Array, inertia: Array, h: float, count: int) -> Array:
    """SL's second scheme (5.9), in the world's axes: w' to q'' = Q w'/2 + Q(q')w/2, which is
    integrated twice; the speed is read back from q', and the length is kept."""

    def matrix(p: Array) -> Array:
        a, b, c, d = p
        return np.array([[-b, -c, -d], [a, d, -c], [-d, a, b], [c, -b, a]])

    rate = 0.5 * matrix(q) @ w
    for _ in range(count):
        turn = Rotation.from_quat(q, scalar_first=True)
        omega = 2 * matrix(q).T @ rate
        own = turn.inv().apply(omega)
        spin = turn.apply(-np.cross(own, inertia * own) / inertia)
        change = 0.5 * matrix(q) @ spin + 0.5 * matrix(rate) @ omega
        rate = rate + h * change
        q = q + h * rate
        q = q / np.linalg.norm(q)
        rate = rate - (q @ rate) * q  # the length stays one
    return q


def test_both_schemes_of_quaternions_turn_a_body_alike() -> None:
    """SL integrates w' to w and q' to q, or w' to q'' twice. Both come to the same orientation:
    of order one, so that an eighth of the step leaves an eighth of the difference."""
    inertia, start = np.array([0.1, 0.25, 0.3]), np.array([3.0, 0.5, 2.0])
    m, _ = box_body(0.0)
    names = [f"b.e{k}" for k in range(4)]
    speeds = dict(zip(("b.p", "b.q", "b.r"), start, strict=True))
    tight = go(System(m, base=1000), 1.0, speeds, method="dop853", record=names)
    wanted = np.array([tight.samples[name][-1] for name in names])
    errors, apart = [], []
    for count in (250, 2000):
        second = second_scheme(np.eye(4)[0], start, inertia, 1.0 / count, count)
        ours = go(
            System(m, base=1000), 1.0, speeds, method="semi-implicit", step=1.0 / count,
            record=names,
        )  # fmt: skip
        first = np.array([ours.samples[name][-1] for name in names])
        errors.append(float(np.abs(second - wanted).max()))
        apart.append(float(np.abs(second - first).max()))
    assert errors[1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.2)
    assert apart[0] / apart[1] == pytest.approx(8.0, rel=0.3)


def test_an_inertial_unit_tells_the_worlds_rates_and_accelerations() -> None:
    """Turned into the world's axes, with gravity added, they are w and x'' of its place (45)."""
    m, b = box_body()
    place = m.point("corner", b, at=(0.3, -0.1, 0.2))
    s = System(m, base=10_000)
    s.add(Imu(m, place))
    push = Element("push", m)
    push.force("f", "3*sin(20*t)", at=m.point("edge", b, at=(0, 0.2, 0)), along=b.x)
    s.add(push)
    done = go(s, 0.3, {"b.p": 2.0, "b.r": -3.0, "b.u": 0.5})
    at = done.samples
    turns = Rotation.from_quat(np.array([at[f"b.e{k}"] for k in range(4)]).T, scalar_first=True)
    force = np.array([at[f"imu.accel_{c}"] for c in "xyz"]).T
    rates = np.array([at[f"imu.gyro_{c}"] for c in "xyz"]).T
    here = np.array([at[f"b.{c}"] for c in "xyz"]).T + turns.apply([0.3, -0.1, 0.2])
    h = 1e-4
    there = (here[2:] - 2 * here[1:-1] + here[:-2]) / h**2
    assert np.allclose((turns.apply(force) - [0, 0, G])[1:-1], there, atol=1e-4)
    turned = (turns[2:] * turns[:-2].inv()).as_rotvec() / (2 * h)
    assert np.allclose(turns.apply(rates)[1:-1], turned, atol=1e-5)


@pytest.mark.parametrize(("method", "order"), [("semi-implicit", 1), ("midpoint", 2), ("rk4", 4)])
def test_substeps_refine_the_result(arm: Robot, method: str, order: int) -> None:
    """Half the step, an error smaller by two to the order of the method (46)."""
    start = dict(zip(arm.speeds, [-1.0, 0.4, 0.05], strict=True))
    s = System(arm, base=100)
    tight = go(s, 0.5, start, method="dop853")
    wanted = np.concatenate(state_of(arm, tight, -1))
    errors = []
    for substeps in (5, 10):
        found = go(s, 0.5, start, method=method, step=0.01 / substeps)
        errors.append(np.abs(np.concatenate(state_of(arm, found, -1)) - wanted).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


# -- contacts --------------------------------------------------------------------------------------
def point_mass() -> tuple[Mechanism, Body]:
    m = lw.Mechanism("point")
    b = m.body("b", translate="xyz", mass=2.0, inertia=0)
    m.gravity(along="-z")
    return m, b


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0])
def test_a_damper_that_grows_with_depth_returns_what_hunt_and_crossley_say(speed: float) -> None:
    """Speeds before and after have the same v/a - log(1 + a v)/a^2, the work of the spring."""
    a = 0.6
    m = lw.Mechanism("ball")
    b = m.body("b", translate="z", mass=2.0, inertia=0)
    s = System(m, base=10_000)
    s.add(Contact(m, [b], Plane(), stiffness=2e4, dissipation=a))
    done = go(s, 0.05, {"b": 1e-4, "b_dot": -speed}, step=1e-5)

    def work(v: float) -> float:
        return v / a - math.log1p(a * v) / a**2

    back = float(brentq(lambda v: work(-v) - work(speed), 1e-6, min(speed, 0.999 / a)))
    assert done.samples["b_dot"][-1] == pytest.approx(back, rel=1e-4)
    assert done.samples["contact.normal1"].min() == 0
    jump = np.diff(done.samples["contact.normal1"]).max()
    assert jump < 0.2 * done.samples["contact.normal1"].max()


@pytest.mark.parametrize("kind", cases(["cube", "ball"], daily=["cube"]))
def test_depths_in_turned_and_scaled_objects(kind: str) -> None:
    """Distances to the nearest face, in the object's own axes (52)."""
    rng = np.random.default_rng(8)
    for _ in range(examples(3, daily=1)):
        turn = Rotation.random(rng=rng)
        center, size = rng.normal(size=3), rng.uniform(0.5, 2.0, 3)
        place = {"center": center.tolist(), "rotation": turn.as_matrix().tolist()}
        shape: Surface
        shape = (
            BoxSurface(size.tolist(), **place)
            if kind == "cube"
            else SphereSurface(size[0], **place)
        )
        m, b = point_mass()
        s = System(m, base=1000)
        s.add(Contact(m, [b], shape, stiffness=1e4))
        local = rng.uniform(-0.95, 0.95, (40, 3)) * (size if kind == "cube" else size[0])
        points = turn.apply(local) + center
        start = {f"b.{c}": points[:, k] for k, c in enumerate("xyz")}
        phases = s.phases(["contact.depth1", *(f"contact.force1_{c}" for c in "xyz")])
        found = run_batch(phases, 1e-3, initial=start, every=1, method="rk4").samples[:, 0]
        if kind == "cube":
            gaps = size / 2 - np.abs(local)
            depth = gaps.min(axis=1)
            nearest = gaps.argmin(axis=1)
            outward = np.sign(local) * (np.arange(3) == nearest[:, None])
        else:
            far = np.linalg.norm(local, axis=1)
            depth, outward = size[0] - far, local / far[:, None]
        assert np.allclose(found[:, 0], depth, atol=1e-12)
        force = 1e4 * np.maximum(depth, 0)[:, None] * turn.apply(outward)
        assert (depth > 0).any()
        assert (depth < 0).any()
        assert np.allclose(found[:, 1:], force, atol=1e-8)


@pytest.mark.parametrize(
    ("legs", "static"), cases([(1, 0.6), (4, 0.6), (4, None)], daily=[(1, 0.6)])
)
def test_a_contact_acts_on_the_joints_by_the_transposed_jacobian(
    legs: int, static: float | None
) -> None:
    """Accelerations are those of forward dynamics with J' F, user forces added (53)."""
    robot, foot = (hopper(), "foot") if legs == 1 else (quadruped(), "front_left_foot")
    m = robot.mechanism
    s = System(robot, base=1000)
    body, place = robot.assembled.places[foot]
    sole = m.point(f"sole_{static}", body, place.position)
    viscous = 40.0 if static is None else 0.0
    s.add(Contact(m, [sole], Plane(), stiffness=2e4, damping=50, viscous=viscous, static=static))
    user = Element("user", m)
    user.force_vector("f", [1.0, -2.0, 3.0], at=sole)
    s.add(user)
    rng = np.random.default_rng(4)
    q = robot.neutral.copy()
    q[3:7] = Rotation.from_rotvec([0.2, -0.1, 0.3]).as_quat(scalar_first=True)
    q[7:] = rng.uniform(-0.5, 0.5, len(q) - 7)
    q[2] -= float(robot.pose(q, foot)[2, 3]) + 0.004
    u = rng.normal(size=len(robot.speeds))
    names = [f"contact.force1_{c}" for c in "xyz"]
    start = dict(zip((*robot.coordinates, *robot.speeds), [*q, *u], strict=True))
    phases = s.phases(names)
    run = Session(phases, 1e-3, initial=start).run()
    touch = np.array([run.samples[name][0] for name in names])
    force = touch + np.array([1.0, -2.0, 3.0])
    assert force[2] > 20
    x = np.array([start.get(signal.name, 0.0) for signal in phases.x])
    rates = dict(
        zip([signal.name for signal in phases.x], PlainRun(phases).rate(0, x), strict=True)
    )
    found = np.array([rates[name] for name in robot.speeds])
    jacobian = robot.jacobian(q, foot)[:3]
    expected = robot.forward_dynamics(q, u, jacobian.T @ force)
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-7)


def test_stick_and_slip_change_only_where_they_should() -> None:
    """A sine push beyond the limit: two slips and two rests in each period, no chatter (49, 50)."""
    m, b = point_mass()
    weight = 2 * G
    s = System(m, base=10_000)
    s.add(
        Contact(m, [b], Plane(), stiffness=1e5, damping=800, static=0.5, dynamic=0.4,
                tangential=1e5, tangential_damping=800)
    )  # fmt: skip
    pull = Element("pull", m)
    pull.force("f", 0.6 * weight * lw.sin(2 * math.pi * pull.time), at=b, along="x")
    s.add(pull)
    names = ["contact.slips1", "b.u", "contact.force1_x"]
    done = go(s, 3.1, {"b.z": -weight / 1e5}, record=names)
    slips, speed, force = (done.samples[name] for name in names)
    breaks = math.asin(0.5 / 0.6) / (2 * math.pi)

    def speed_since(t: float) -> float:
        push = 0.6 / (2 * math.pi) * (math.cos(2 * math.pi * breaks) - math.cos(2 * math.pi * t))
        return G * (push - 0.4 * (t - breaks))

    rests = float(brentq(speed_since, breaks + 0.1, breaks + 0.5))
    expected = [k / 2 + at for k in range(6) for at in (breaks, rests)]
    changes = done.samples.times[1:][np.diff(slips) != 0]
    assert len(changes) == len(expected)
    assert np.allclose(changes, expected, atol=2e-3)
    moving = (slips > 0) & (np.abs(speed) > 2e-3)
    assert np.allclose(force[moving], -0.4 * weight * np.sign(speed[moving]), rtol=1e-6)
    assert np.abs(force).max() <= 0.5 * weight * (1 + 1e-3)
    assert np.abs(speed[np.flatnonzero(np.diff(slips) < 0)]).max() < 2e-3


def test_a_quadruped_stands_on_its_feet() -> None:
    """Its feet carry its weight together, each as deep as force over stiffness (47)."""
    robot = quadruped()
    m = robot.mechanism
    s = System(robot, base=2000)
    s.add(PD(m, kp=60, kd=2, joints=list(STANCE), target=STANCE))
    feet = [f"{leg}_foot" for leg in LEGS]
    s.add(Contact(robot, feet, Plane(), stiffness=5e4, damping=150, static=0.8,
                  tangential_damping=150))  # fmt: skip
    q = robot.neutral.copy()
    for name, angle in STANCE.items():
        q[robot.coordinates.index(name)] = angle
    low = min(float(robot.pose(q, f"{leg}_foot")[2, 3]) for leg in LEGS)
    height = np.array([0.0, 0.01, 0.02]) - low
    initial: dict[str, float | Array] = {**STANCE, "floating_base.z": height}
    normal = [f"contact.normal{k}" for k in range(1, 5)]
    depth = [f"contact.depth{k}" for k in range(1, 5)]
    phases = s.phases([*normal, *depth, "floating_base.z"])
    found = run_batch(phases, 3.0, method="semi-implicit", initial=initial, every=2000)
    assert isinstance(robot.source, Description)
    masses = [link.mass.mass for link in robot.source.links if link.mass is not None]
    mass = sum(masses)
    for row in found.samples[:, -1]:
        assert row[:4].sum() == pytest.approx(mass * G, rel=1e-4)
        assert np.allclose(row[4:8], row[:4] / 5e4, rtol=1e-3)
        assert (row[4:8] > 0).all()
    assert np.ptp(found.samples[:, -1, 8]) < 2e-3
