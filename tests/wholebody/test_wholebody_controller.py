"""Whole-body control: conditions of optimality with Pinocchio's terms, closed forms, and runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.elements import Contact, Plane
from linkwright.robots import Robot
from linkwright.wholebody import (
    Controller,
    FlatContact,
    capture_point,
    center_of_mass,
    center_of_pressure,
    contact_dynamics,
    support_margin,
)
from tests.seeds import seeds
from tests.support.late import Late

pinocchio = Late("pinocchio")
optimize = Late("scipy.optimize")

Array = NDArray[np.float64]

FILE = Path(__file__).parents[1] / "robots" / "quadruped.urdf"
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
FEET = tuple(f"{leg}_foot" for leg in LEGS)
STANCE = {
    f"{leg}_{joint}_joint": angle
    for leg in LEGS
    for joint, angle in (("hip", 0.0), ("thigh", 0.7), ("shank", -1.4))
}


@cache
def dog() -> Robot:
    """A quadruped with a free base."""
    return Robot(FILE, friction=False)


def standing() -> Array:
    """Coordinates in which its feet are on the ground."""
    q = dog().neutral.copy()
    for name, angle in STANCE.items():
        q[dog().coordinates.index(name)] = angle
    q[2] -= min(float(dog().position(q, foot)[2]) for foot in FEET)
    return q


def somewhere(seed: int) -> tuple[Array, Array]:
    """A random state near the stance."""
    rng = np.random.default_rng(seed)
    q = standing()
    q[7:] += rng.uniform(-0.3, 0.3, 12)
    e = np.array([1.0, *rng.uniform(-0.2, 0.2, 3)])
    q[3:7] = e / np.linalg.norm(e)
    return q, rng.uniform(-0.5, 0.5, 18)


@pytest.mark.parametrize("seed", seeds(12, daily=2))
def test_efforts_are_optimal_in_the_program_of_others(seed: int) -> None:
    """Terms of Pinocchio, the program written out whole: what we chose is feasible and optimal."""
    robot, mu, settling, rng = dog(), 0.5, 0.05, np.random.default_rng(seed)
    q, u = somewhere(seed)
    place = robot.pose(q, "trunk")[:3, 3] + rng.uniform(-0.05, 0.05, 3)  # far: limits act
    turn = np.eye(3)
    body = Controller(robot, FEET, friction=mu, settling=settling, braking=None)
    body.track("trunk", position=place, weight=5.0, kp=200.0, kd=20.0, name="place")
    body.track("trunk", orientation=turn, weight=3.0, kp=150.0, kd=25.0, name="turn")
    body.posture(STANCE, weight=0.2, kp=50.0, kd=10.0)
    ours = body.solve(q, u)
    assert ours.relaxed == {}

    model, data, q_p, v_p, S = in_pinocchio(q, u)
    M = S.T @ pinocchio.crba(model, data, q_p) @ S
    h = S.T @ pinocchio.nonLinearEffects(model, data, q_p, v_p)
    pinocchio.computeJointJacobians(model, data, q_p)
    pinocchio.forwardKinematics(model, data, q_p, v_p, 0 * v_p)
    pinocchio.updateFramePlacements(model, data)
    aligned = pinocchio.LOCAL_WORLD_ALIGNED

    def frame(name: str) -> tuple[Array, Array, Array]:
        k = model.getFrameId(name)
        J = pinocchio.getFrameJacobian(model, data, k, aligned) @ S
        slow = pinocchio.getFrameClassicalAcceleration(model, data, k, aligned)
        return J, np.concatenate([slow.linear, slow.angular]), data.oMf[k].homogeneous

    rows = [frame(foot) for foot in FEET]
    J = np.concatenate([r[0][:3] for r in rows])
    drift = np.concatenate([r[1][:3] for r in rows])
    n, m = 18, 12
    E = np.block([[M[:6], -J[:, :6].T], [J, np.zeros((m, m))]])
    e = np.concatenate([-h[:6], -drift - J @ u / settling])
    effort, limit = np.hstack([M[6:], -J[:, 6:].T]), 20.0
    cone = np.zeros((5 * 4, n + m))
    for k in range(4):
        a = mu / math.sqrt(2.0)
        sides = [[0, 0, 1], [1, 0, a], [-1, 0, a], [0, 1, a], [0, -1, a]]
        cone[5 * k : 5 * k + 5, n + 3 * k : n + 3 * k + 3] = np.array(sides)
    Jt, dt, T = frame("trunk")
    error = pinocchio.log3(turn @ T[:3, :3].T)
    A = [Jt[:3], Jt[3:], np.eye(18)[6:]]
    b = [
        200 * (place - T[:3, 3]) - 20 * (Jt[:3] @ u) - dt[:3],
        150 * error - 25 * (Jt[3:] @ u) - dt[3:],
        50 * (np.array([STANCE[j] for j in body.joints]) - q[7:]) - 10 * u[6:],
    ]
    weights = (5.0, 3.0, 0.2)
    H = np.diag([1e-8] * n + [0.01 / (9.81 * robot.mass) ** 2] * m)
    f = np.zeros(n + m)
    for w, rows_of, wanted in zip(weights, A, b, strict=True):
        H[:n, :n] += w * rows_of.T @ rows_of
        f[:n] -= w * rows_of.T @ wanted
    x = np.concatenate([ours.acceleration, *(ours.forces[foot].ravel() for foot in FEET)])
    assert ours.effort == pytest.approx(effort @ x + h[6:], abs=1e-8)
    assert E @ x == pytest.approx(e, abs=1e-7)
    G = np.concatenate([effort, -effort, -cone])
    left = np.concatenate([limit - h[6:], limit + h[6:], np.zeros(20)]) - G @ x
    assert np.min(left) > -1e-7
    acting = G[left < 1e-6]
    assert len(acting), "limits should act, or the test says little"
    # it is optimal if and only if multipliers exist, those of limits that act not negative
    slope = H @ x + f
    bounds = (np.r_[np.full(len(e), -np.inf), np.zeros(len(acting))], np.inf)
    rows_of = np.concatenate([E, acting]).T
    multipliers = optimize.lsq_linear(rows_of, -slope, bounds, tol=1e-14)
    assert rows_of @ multipliers.x == pytest.approx(-slope, abs=1e-4 * np.max(np.abs(f)))


def in_pinocchio(q: Array, u: Array) -> tuple[Any, Any, Array, Array, Array]:
    """The same state there, and the matrix that takes our speeds to its."""
    model = pinocchio.buildModelFromUrdf(str(FILE))
    q_p, v_p = dog().to_pinocchio(q, u, model=model)
    columns = [dog().to_pinocchio(q, row, model=model)[1] for row in np.eye(18)]
    return model, model.createData(), q_p, v_p, np.stack(columns, axis=1)


@pytest.mark.parametrize("seed", seeds(12, daily=2))
def test_orthogonal_decomposition_and_least_efforts_agree(seed: int) -> None:
    """Against the smallest efforts that the equations of motion allow, and the program."""
    q, u = somewhere(seed)
    body = Controller(dog(), FEET, friction=1e3, braking=None, effort_weight=1e-9)
    body.track("trunk", pose=dog().pose(q, "trunk"), name="hold")
    body.momentum()
    chosen = body.solve(q, u)
    found = contact_dynamics(dog(), q, u, chosen.acceleration, FEET)
    J = np.concatenate([dog().jacobian(q, foot)[:3] for foot in FEET])
    demand = dog().mass_matrix(q) @ chosen.acceleration + dog().nonlinear_effects(q, u)
    forces = np.concatenate([found.forces[foot].ravel() for foot in FEET])
    given = J.T @ forces
    given[6:] += found.effort
    assert given == pytest.approx(demand, abs=1e-8)
    S = np.eye(18)[:, 6:]
    whole = np.hstack([S, J.T])  # all (tau, f) that give the demand: one, and its null space
    one = np.linalg.lstsq(whole, demand, rcond=None)[0]
    _, s, Vt = np.linalg.svd(whole)
    Z = Vt[np.sum(s > 1e-9 * s[0]) :].T
    least = one - Z @ np.linalg.lstsq(Z[:12], one[:12], rcond=None)[0]
    assert found.effort == pytest.approx(least[:12], abs=1e-7)


def test_a_point_at_rest_stays_at_rest_and_the_first_priority_wins() -> None:
    q, u = somewhere(5)
    body = Controller(dog(), FEET, settling=0.02, braking=None)
    up = np.array([0.0, 0.0, 0.01])
    high = dog().position(q, "trunk") + up
    body.track("trunk", position=high, kp=50.0, name="up")
    body.track(center_of_mass, position=dog().center_of_mass(q) - up, priority=2)
    found = body.solve(q, u)
    for foot in FEET:
        a = dog().acceleration(q, u, found.acceleration, foot)[:3]
        v = dog().velocity(q, u, foot)[:3]
        assert a == pytest.approx(-v / 0.02, abs=1e-6)
    wanted = 50 * up - 2 * math.sqrt(50) * dog().velocity(q, u, "trunk")[:3]
    assert dog().acceleration(q, u, found.acceleration, "trunk")[:3] == pytest.approx(
        wanted, abs=1e-3
    )
    assert found.errors["up"] < 1e-3 < found.errors[center_of_mass]


def test_what_cannot_be_kept_gives_way_and_is_named() -> None:
    q, still = standing(), np.zeros(18)
    weak = Controller(dog(), [FlatContact(foot, max_force=10.0) for foot in FEET])
    weak.track("trunk", pose=dog().pose(q, "trunk"))
    found = weak.solve(q, still)  # 40 N carry 122 N: it falls, and nothing has to give way
    assert found.relaxed == {}
    center = dog().center_of_mass_jacobian(q) @ found.acceleration
    assert center[2] == pytest.approx(-9.81 + 40 / dog().mass, abs=1e-3)
    assert all(f[0, 2] <= 10.0 + 1e-6 for f in found.forces.values())
    q[dog().coordinates.index("front_left_shank_joint")] = -5.0  # beyond its stop
    u = still.copy()
    u[dog().speeds.index("front_left_shank_joint_dot")] = -300.0
    stop = Controller(dog(), FEET, braking=0.01)
    stop.posture({})
    relaxed = stop.solve(q, u).relaxed
    assert "limit of front_left_shank_joint" in relaxed or "effort of front_left_shank_joint" in (
        relaxed
    )


def test_points_of_a_turning_foot_do_not_contradict_each_other_but_contacts_may() -> None:
    """On a circle they are accelerated toward its center, whatever is asked of them."""
    q, u = standing(), np.zeros(18)
    u[3:6] = 0.3, -0.2, 1.0
    points = [(0, 0, 0), (0.1, 0, 0), (0.1, 0.2, 0), (0.0, 0.2, 0.0)]
    slow = Controller(dog(), [FlatContact("trunk", points=points)], settling=0.04, braking=None)
    found = slow.solve(q, u)
    assert found.relaxed == {}
    turning = dog().acceleration(q, u, found.acceleration, "trunk")[3:]
    assert turning == pytest.approx(-dog().velocity(q, u, "trunk")[3:] / 0.04, abs=1e-6)
    u[6:9] = 1.0, 2.0, -3.0
    chain = ["trunk", "front_left_thigh", "front_left_shank", "front_left_foot"]
    tied = Controller(dog(), [FlatContact(c, points=points) for c in chain], braking=None)
    assert tied.solve(q, u).relaxed["contacts at rest"] > 1e-3


def constant(value: float, _t: float) -> float:
    """A share that stays."""
    return value


@pytest.mark.parametrize("foot", FEET)
def test_an_open_contact_has_no_force_and_lets_go_evenly(foot: str) -> None:
    q, u = standing(), np.zeros(18)
    share = np.linspace(1, 0, 6)
    loads = []
    for part in share:
        opening = FlatContact(foot, share=partial(constant, float(part)))
        contacts = [opening if f == foot else FlatContact(f) for f in FEET]
        body = Controller(dog(), contacts)
        body.track("trunk", pose=dog().pose(q, "trunk"))
        found = body.solve(q, u)
        loads.append(found.forces[foot][0, 2] if foot in found.forces else 0.0)
    assert loads[-1] == 0.0
    assert all(a >= b - 1e-9 for a, b in pairwise(loads))


def test_a_quadruped_squats_within_two_millimeters_and_in_its_cones() -> None:
    robot, q, mu = dog(), standing(), 0.5
    center, w = robot.center_of_mass(q), 2 * math.pi * 1.0

    def squat(t: float) -> tuple[Array, Array, Array]:
        up = np.array([0.0, 0.0, 1.0])
        return (
            center - 0.01 * (1 - math.cos(w * t)) * up,
            -0.01 * w * math.sin(w * t) * up,
            -0.01 * w * w * math.cos(w * t) * up,
        )

    body = Controller(robot, FEET, friction=mu)
    body.track(center_of_mass, position=squat, weight=10.0)
    body.track("trunk", orientation=np.eye(3), weight=10.0)
    body.posture(STANCE, priority=2)
    system = lw.System(robot, name="dog", base=1000)
    system.add(
        Contact(
            robot, FEET, Plane(), stiffness=5e4, damping=300, static=0.8, tangential=2e4,
            tangential_damping=100,
        )
    )  # fmt: skip
    system.add(body, rate=250)
    start = dict(zip(robot.coordinates, q, strict=True))
    run = lw.simulate(system, 0.5, method="semi-implicit", initial=start, every=20)
    qs = np.array([run[name] for name in robot.coordinates]).T
    error = [robot.center_of_mass(x) - squat(t)[0] for t, x in zip(run.times, qs, strict=True)]
    assert np.max(np.abs(error)) < 2e-3
    assert np.max(run["wholebody_program.relaxed"]) == 0
    forces = np.array([run[f"wholebody_program.forces[{k}]"] for k in range(12)]).T
    for f in forces.reshape(-1, 3):
        assert math.hypot(f[0], f[1]) <= mu * f[2] + 1e-6
    loads = sum(run[f"contact.normal{k}"][-1] for k in range(1, 5))
    mean = robot.mass * (9.81 - 0.01 * w * w * math.cos(w * 0.5))
    assert loads == pytest.approx(mean, rel=0.02)


def test_flat_feet_say_the_same_thing_several_times() -> None:
    """Four points of a foot are six equations, not twelve; forces are shared among them."""
    m = lw.Mechanism("biped")
    trunk = m.body("trunk", joint=lw.Free(), mass=30, inertia=(2, 2, 1))
    for side, y in (("left", 0.1), ("right", -0.1)):
        hip = m.body(f"{side}_hip", parent=trunk, joint=lw.Revolute("x"), at=(0, y, -0.3), mass=1,
                     inertia=0.01)  # fmt: skip
        thigh = m.body(f"{side}_thigh", parent=hip, joint=lw.Revolute("y"), mass=4,
                       com=(0, 0, -0.2), inertia=0.06)  # fmt: skip
        shank = m.body(f"{side}_shank", parent=thigh, joint=lw.Revolute("y"), at=(0, 0, -0.4),
                       mass=3, com=(0, 0, -0.2), inertia=0.04)  # fmt: skip
        ankle = m.body(f"{side}_ankle", parent=shank, joint=lw.Revolute("y"), at=(0, 0, -0.4),
                       mass=0.5, inertia=0.003)  # fmt: skip
        m.body(f"{side}_foot", parent=ankle, joint=lw.Revolute("x"), mass=1, com=(0.03, 0, -0.03),
               inertia=0.004)  # fmt: skip
    m.gravity()
    robot = Robot(m)
    corners = [
        (0.15, 0.05, -0.06),
        (0.15, -0.05, -0.06),
        (-0.07, 0.05, -0.06),
        (-0.07, -0.05, -0.06),
    ]
    feet = [FlatContact(f"{side}_foot", points=corners) for side in ("left", "right")]
    q, still = robot.neutral.copy(), np.zeros(len(robot.speeds))
    bend = {"thigh": -0.4, "shank": 0.8, "ankle": -0.4}
    for side in ("left", "right"):
        for joint, angle in bend.items():
            q[robot.coordinates.index(f"{side}_{joint}")] = angle
    body = Controller(robot, feet, friction=0.7)
    body.track(center_of_mass, position=robot.center_of_mass(q), weight=10.0)
    body.track("trunk", orientation=robot.pose(q, "trunk")[:3, :3])
    found = body.solve(q, still)
    assert found.relaxed == {}
    assert np.max(np.abs(found.acceleration)) < 1e-3
    loads = np.concatenate([found.forces[c.frame] for c in feet])
    assert loads[:, 2].sum() == pytest.approx(9.81 * robot.mass, rel=1e-5)
    assert np.min(loads[:, 2]) >= -1e-6
    points = np.concatenate(
        [[robot.point_position(q, np.array(p), c.frame) for p in corners] for c in feet]
    )
    pressure = center_of_pressure(points, loads)
    assert pressure == pytest.approx(robot.center_of_mass(q)[:2], abs=1e-5)  # at rest: below it
    assert support_margin(pressure, points) > 0.05


def test_the_capture_point_is_where_a_pendulum_comes_to_rest() -> None:
    """A mass on a leg without mass, x'' = (g / h) (x - p), integrated with p there: it stops."""
    m = lw.Mechanism("point")
    m.body("mass", translate="xyz", mass=3, inertia=0)
    m.gravity()
    robot, h = Robot(m), 0.7
    q, u = np.array([0.1, -0.2, h]), np.array([0.5, -0.3, 0.0])
    p = capture_point(robot, q, u)
    rate = math.sqrt(9.81 / h)
    x, v = q[:2] - p, u[:2]
    for t in (0.5, 1.0, 2.0):  # solution of the linear pendulum
        at = x * math.cosh(rate * t) + v / rate * math.sinh(rate * t)
        assert at == pytest.approx(x * math.exp(-rate * t), abs=1e-9)
    assert capture_point(robot, q, u, ground=0.2)[0] == pytest.approx(
        0.1 + 0.5 * (0.5 / 9.81) ** 0.5
    )


def test_pendulums_fall_with_the_gravity_of_the_robot() -> None:
    """On the moon they are slower; what is given counts before what the robot has."""
    m = lw.Mechanism("lander")
    m.parameter("g", 1.62)
    m.body("mass", translate="xyz", mass=3, inertia=0)
    m.gravity(g="g")
    robot, q, u = Robot(m), np.array([0.0, 0.0, 0.5]), np.array([0.3, 0.0, 0.0])
    assert capture_point(robot, q, u)[0] == pytest.approx(0.3 * math.sqrt(0.5 / 1.62))
    assert capture_point(robot, q, u, gravity=4.0)[0] == pytest.approx(0.3 * math.sqrt(0.125))
    m.set_parameters(g=3.71)
    assert capture_point(robot, q, u)[0] == pytest.approx(0.3 * math.sqrt(0.5 / 3.71))
    m.gravity(g=0)
    with pytest.raises(Error, match="no gravity"):
        capture_point(Robot(m), q, u)


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_the_margin_of_support_is_that_of_a_linear_program(seed: int) -> None:
    """Inside: the largest disc about the point within the half planes of the hull."""
    rng = np.random.default_rng(seed)
    points = np.hstack([rng.uniform(-1, 1, (9, 2)), np.zeros((9, 1))])
    for p in rng.uniform(-1.2, 1.2, (20, 2)):
        around = optimize.minimize(
            lambda s, p=p: float(np.sum((s @ points[:, :2] - p) ** 2)), np.full(9, 1 / 9),
            bounds=[(0, 1)] * 9, constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        outside = math.sqrt(around.fun)
        margin = support_margin(p, points)
        if outside > 1e-4:
            assert margin == pytest.approx(-outside, abs=1e-3)
        else:
            assert margin > -1e-6


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: Controller(dog(), ["front_left_fot"]), "front_left_foot"),
    (lambda: Controller(dog(), FEET, friction=0.0), "friction"),
    (lambda: Controller(dog(), FEET, friction=-1.0), "friction"),
    (lambda: Controller(dog(), [FEET[0], FEET[0]]), "given twice"),
    (lambda: FlatContact("trunk", points=[]), "no points"),
    (lambda: FlatContact("trunk", points=[(0, math.nan, 0)]), "give x, y, z"),
    (lambda: FlatContact("trunk", normal=(0, 0, 0)), "normal"),
    (lambda: FlatContact("trunk", max_force=0.0), "max_force"),
    (lambda: Controller(dog(), FEET).track("trunk"), "0 targets"),
    (lambda: Controller(dog(), FEET).track("trunc", position=(0, 0, 0)), "trunk"),
    (lambda: Controller(dog(), FEET).track(center_of_mass, pose=np.eye(4)), "no pose"),
    (lambda: Controller(dog(), FEET).track("trunk", position=(0, 0, 0), weight=0.0), "weight"),
    (lambda: Controller(dog(), FEET).track("trunk", position=(0, 0, 0), priority=0), "priority"),
    (lambda: Controller(dog(), FEET).posture({"knee": 1.0}), "knee"),
    (lambda: Controller(dog(), FEET).posture([1.0, 2.0]), "2 numbers for 12"),
    (lambda: Controller(dog(), FEET).force("trunk", (0, 0, 1)), "not a contact"),
    (lambda: lw.System(dog()).add(Controller(dog(), FEET)), "at a rate"),
    (lambda: contact_dynamics(dog(), standing(), np.zeros(18), np.eye(18)[2], ()), "missing"),
    (lambda: asked_twice(), "two tasks"),
    (lambda: asked(orientation=np.diag([1.0, 1.0, -1.0])), "not a rotation matrix"),
    (lambda: asked(pose=np.diag([-1.0, 1.0, 1.0, 1.0])), "not a rotation matrix"),
    (lambda: asked(pose=lambda t: np.eye(3)), "not a homogeneous 4 x 4 matrix"),
    (lambda: asked(position=(0, 0, 0), priority=1.5), "priority is 1.5; give a whole number"),
    (lambda: Controller(dog(), FEET).posture([math.nan] * 12), "hip_joint' is nan"),
    (lambda: Controller(dog(), FEET).solve(standing()[:-1], np.zeros(18)), "not .19,."),
    (lambda: Controller(dog(), FEET).solve(standing() * math.nan, np.zeros(18)), "q has a number"),
    (lambda: Controller(lw.load("pendulum")), "is not a robot"),
    (lambda: FlatContact("trunk", points=cast(Any, [1, 2, 3])), "give x, y, z"),
    (lambda: contact_dynamics(dog(), standing(), np.zeros(18), np.zeros(17), FEET), "a has the"),
    (lambda: capture_point(dog(), standing(), np.zeros(18), gravity=0.0), "gravity is 0"),
    (lambda: support_margin((0, math.nan), [(0, 0), (1, 0), (0, 1)]), "rows of finite x, y, z"),
    (lambda: support_margin((0, 0), []), "rows of finite x, y, z"),
    (lambda: center_of_pressure([(0, 0, 0)], [(0, 0, 0)]), "no force"),
]


def asked_twice() -> None:
    """Two tasks of one name."""
    body = Controller(dog(), FEET)
    body.momentum()
    body.momentum()


def asked(**target: Any) -> None:
    """A task of the trunk, and the program in one state."""
    body = Controller(dog(), FEET)
    body.track("trunk", **target)
    body.solve(standing(), np.zeros(18))


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_cannot_be_is_rejected_in_words(case: int) -> None:
    make, words = BAD[case]
    with pytest.raises(Error, match=words):
        make()


def test_a_mechanism_that_changes_changes_the_controller() -> None:
    """Masses, the field of gravity and limits are those of now, as for a controller made now."""
    m = lw.Mechanism("stool")
    m.parameter("M", 5.0)
    m.parameter("g", 9.81)
    seat = m.body("seat", joint=lw.Free(quaternion=True), mass="M", inertia=(0.1, 0.2, 0.3))
    for k, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0))):
        m.point(f"foot{k}", seat, (x, y, -0.3))
    m.body("arm", parent=seat, rotate="y", mass=1.5, com=(0.1, 0, 0.2), inertia=(0.01, 0.01, 0.01))
    m.gravity(g="g")
    robot = lw.Robot(m)
    q, still = robot.neutral, np.zeros(len(robot.speeds))

    def made() -> lw.wholebody.Controller:
        body = lw.wholebody.Controller(robot, ["foot0", "foot1", "foot2"], friction=0.6)
        body.posture({"arm": 0.2})
        return body

    used = made()
    before = used.solve(q, still)
    m.set_parameters(M=9.0, g=4.0)
    m.limit("arm", -0.5, 0.7)
    found, fresh = used.solve(q, still), made().solve(q, still)
    np.testing.assert_allclose(found.effort, fresh.effort, rtol=1e-9)
    for name, force in fresh.forces.items():
        np.testing.assert_allclose(found.forces[name], force, rtol=1e-9, atol=1e-9)
    weight = sum(float(f[0, 2]) for f in found.forces.values())
    lifted = 1.5 * float(found.acceleration[-1]) * -0.1  # of the arm's mass center
    assert weight == pytest.approx(10.5 * 4.0 + lifted, rel=1e-6)
    assert abs(float(before.effort[-1] - found.effort[-1])) > 0.1
