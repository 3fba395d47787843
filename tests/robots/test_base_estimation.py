"""State of a floating base from an inertial unit and legs: consistency, and a simulated robot."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.control import consistency_band
from linkwright.elements import Contact, Imu, Plane
from linkwright.formats.robot.description import Description, NamedFrame, Place
from linkwright.formats.robot.transforms import euler_rotation
from linkwright.robots import BaseEstimator, Robot
from tests.seeds import cases

Array = NDArray[np.float64]
FILE = Path(__file__).parent / "quadruped.urdf"
FEET = tuple(f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right"))
DT = 0.008
FALL = np.array([0.0, 0.0, -9.81])
GYRO, ACCEL, GYRO_WALK, ACCEL_WALK, SLIP, ENCODER = 2e-3, 2e-2, 1e-4, 1e-3, 5e-3, 2e-3
START = (0.05, 0.1, 0.02, 0.02, 0.1)


@cache
def dog() -> Robot:
    """A quadruped with a free base."""
    return Robot(FILE, friction=False)


def standing() -> Array:
    """Coordinates in which it stands with bent legs."""
    q = dog().neutral.copy()
    for k, name in enumerate(dog().coordinates):
        q[k] = {"thigh": 0.7, "shank": -1.4}.get(name.rsplit("_", 2)[-2], q[k])
    q[2] -= min(float(dog().position(q, foot)[2]) for foot in FEET)
    return q


def made(robot: Robot, imu: str | None = None) -> BaseEstimator:
    """The filter that knows of the noise of these tests."""
    return BaseEstimator(
        robot,
        FEET,
        imu=imu,
        gyro_noise=GYRO,
        accel_noise=ACCEL,
        gyro_walk=GYRO_WALK,
        accel_walk=ACCEL_WALK,
        slip=SLIP,
        encoder_noise=ENCODER,
        deviations=START,
    )


def origin() -> Array:
    """Where the trunk is where its coordinates are zero."""
    found: Array = dog().position(dog().neutral, "trunk")
    return found


def legs(seen: Array, q: Array) -> Array:
    """Joints with which the feet are where the base sees them, by Newton's method."""
    robot = dog()
    for _ in range(8):
        miss = np.concatenate(
            [robot.position(q, foot) - origin() - at for foot, at in zip(FEET, seen, strict=True)]
        )
        J = np.concatenate([robot.jacobian(q, foot)[:3, 6:] for foot in FEET])
        q = q.copy()
        q[7:] -= np.linalg.solve(J, miss)
    return q


@cache
def motion(count: int) -> tuple[Array, ...]:
    """A base that sways on feet which stand, two of which are moved on the way: rotation, velocity,
    position, what a perfect inertial unit shows, joints, and which feet stand.

    Readings hold over a step, so that the motion between two instants is that of a constant turn
    and of accelerations that SciPy integrates over it.
    """
    home = standing()
    middle = dog().position(home, "trunk")
    R, p, v = np.eye(3), middle.copy(), np.array([0.1, 0.0, 0.02])
    places = np.array([dog().position(home, foot) for foot in FEET])
    still, rows = home.copy(), []
    nodes, weights = np.polynomial.legendre.leggauss(4)
    for k in range(count):
        t = k * DT
        omega = 0.4 * np.array([np.sin(5 * t), np.cos(6 * t), np.sin(3 * t + 1)])
        sway = -60.0 * (p - middle) - 6.0 * v + np.array([np.sin(6 * t), np.cos(5 * t), 0.3])
        accel = R.T @ (sway - FALL)
        stands = np.ones(4)
        if 0.4 < (k / count) < 0.5:
            stands[[0, 3]] = 0
            places[[0, 3]] += [0.0004, 0.0002, 0.0]
        still = legs((places - p) @ R, np.concatenate([dog().neutral[:7], still[7:]]))
        rows.append((R, v, p, omega, accel, still[7:], stands))
        # the velocity and position that readings make which hold, by quadrature
        at = (nodes + 1) / 2 * DT
        turns = [R @ Rotation.from_rotvec(omega * s).as_matrix() @ accel for s in at]
        pull = [x + FALL for x in turns]
        shares = weights * DT / 2
        p = p + v * DT + sum(w * (DT - s) * x for w, s, x in zip(shares, at, pull, strict=True))
        v = v + sum(w * x for w, x in zip(shares, pull, strict=True))
        R = R @ Rotation.from_rotvec(omega * DT).as_matrix()
    return tuple(map(np.array, zip(*rows, strict=True)))


def run_of(seed: int, count: int) -> tuple[Array, Array, BaseEstimator]:
    """NEES over a run whose noise is as the filter takes it to be, and the last error in m."""
    random = np.random.default_rng(seed)
    R, v, p, omega, accel, q, stands = motion(count)
    turn, speed, place, gyro, pull = (s * random.normal(size=3) for s in START)
    filter_ = made(dog())
    first = Rotation.from_rotvec(turn).as_matrix() @ R[0]
    whole = dog().neutral.copy()
    whole[:3] = p[0] + place - origin()
    whole[3:7] = Rotation.from_matrix(first).as_quat(scalar_first=True)
    speeds = np.zeros(18)
    speeds[:3] = first.T @ (v[0] + speed)
    filter_.start(whole, speeds)
    bias, found = [gyro, pull], []
    slips = np.zeros((4, 3))
    for k in range(count):
        joints = q[k]
        slips += SLIP * np.sqrt(DT) * random.normal(size=(4, 3)) * (k > 0)
        slips[stands[k] == 0] = 0.0
        if k % 10 == 0:  # as often as there are readings of legs
            base = np.concatenate([dog().neutral[:7], joints])
            at = np.array([dog().position(base, foot) for foot in FEET]) - origin() + slips @ R[k]
            shown = legs(at, base)[7:] + ENCODER * random.normal(size=12)
            filter_.correct(shown, stands[k])
            xi = np.concatenate(
                [filter_.error(R[k], v[k], p[k]),
                 filter_.gyro_bias - bias[0], filter_.accel_bias - bias[1]]
            )  # fmt: skip
            own = np.r_[0:9, 21:27]
            P = filter_.covariance[np.ix_(own, own)]
            found.append(float(xi @ np.linalg.solve(P, xi)))
        root = np.sqrt(DT)
        w = omega[k] + bias[0] + GYRO / root * random.normal(size=3)
        a = accel[k] + bias[1] + ACCEL / root * random.normal(size=3)
        filter_.predict(DT, w, a)
        bias[0] = bias[0] + GYRO_WALK * root * random.normal(size=3)
        bias[1] = bias[1] + ACCEL_WALK * root * random.normal(size=3)
    return np.array(found), np.abs(filter_.position - p[-1]), filter_


def test_errors_are_as_large_as_the_filter_says() -> None:
    """NEES of rotation, velocity, position and biases over runs: within its band of 99.9 % at the
    start, before feet are moved, and at the end."""
    runs, count = 8, 250
    rows = np.array([run_of(seed, count)[0] for seed in range(runs)])
    low, high = consistency_band(15, runs, 0.999)
    for at in (0, 9, -1):
        assert low < rows[:, at].mean() < high


def test_without_noise_the_base_is_found_again() -> None:
    """Perfect readings and a wrong start: tilt and velocity are found, and biases with them; the
    filter's motion between readings is that of the quadrature."""
    R, v, p, omega, accel, q, stands = motion(250)
    filter_ = made(dog())
    whole = np.concatenate([p[0] - origin(), [1, 0, 0, 0], q[0]])
    filter_.start(whole, np.concatenate([R[0].T @ v[0], np.zeros(15)]))
    for k in range(20):
        filter_.predict(DT, omega[k], accel[k])
    assert filter_.position == pytest.approx(p[20], abs=1e-9)
    assert filter_.velocity == pytest.approx(v[20], abs=1e-9)
    assert filter_.rotation == pytest.approx(R[20], abs=1e-9)
    tilted = Rotation.from_rotvec([0.05, -0.04, 0.0]).as_matrix()
    whole[3:7] = Rotation.from_matrix(tilted).as_quat(scalar_first=True)
    filter_.start(whole)
    for k in range(250):
        filter_.step(DT, omega[k] + 0.01, accel[k], q[k], stands[k])
    error = filter_.error(*after(250, R, v, p, omega, accel))
    assert np.abs(error[:2]).max() < 5e-3
    assert filter_.gyro_bias == pytest.approx(0.01, abs=3e-3)
    assert filter_.sigma[:2].max() < 0.02


def after(k: int, *rows: Array) -> tuple[Array, Array, Array]:
    """The state one step behind the last."""
    R, v, p, omega, accel = (row[k - 1] for row in rows)
    pull = R @ accel + FALL
    turn = Rotation.from_rotvec(omega * DT).as_matrix()
    return R @ turn, v + pull * DT, p + v * DT + pull * DT**2 / 2


@pytest.mark.parametrize("imu", cases([None, "unit"], daily=["unit"]))
def test_a_simulated_quadruped_knows_where_its_trunk_is(imu: str | None) -> None:
    """On compliant ground, swaying, with noise, as a block beside the simulation: all errors are
    within four of its deviations, and the trunk is within a centimeter."""
    robot, home = dog(), standing()
    if imu:
        given = robot.source
        assert isinstance(given, Description)
        place = Place((0.1, -0.02, 0.05), euler_rotation((0.3, -0.2, 0.7)))
        robot = Robot(replace(given, frames=(NamedFrame("unit", "trunk", place),)), friction=False)
    names = robot.coordinates
    start = dict(zip(names, home.tolist(), strict=True))
    body = lw.wholebody.Controller(robot, FEET, friction=0.5)
    center = robot.center_of_mass(home)

    def sway(t: float) -> tuple[Array, Array, Array]:
        way = np.array([0.0, 0.02, 0.01])
        return center + way * np.sin(8 * t), way * 8 * np.cos(8 * t), -64 * way * np.sin(8 * t)

    body.track(lw.wholebody.center_of_mass, position=sway, weight=10.0)
    body.track("trunk", orientation=np.eye(3), weight=1.0)
    body.posture(home[7:].tolist(), priority=2)
    s = lw.System(robot, name="dog", base=1000)
    s.add(
        Contact(
            robot, FEET, Plane(), stiffness=5e4, damping=300, static=0.8, tangential=2e4,
            tangential_damping=100,
        )
    )  # fmt: skip
    s.add(body, rate=200)
    noisy = {"accel_noise": ACCEL * np.sqrt(200), "gyro_noise": GYRO * np.sqrt(200)}
    unit = s.add(Imu(robot, imu or "trunk", gyro_bias=0.01, accel_bias=0.05, **noisy), rate=200)
    estimator = made(robot, imu)
    member = s.add(estimator, rate=200)
    for word, port in (("gyro", member.gyro), ("accel", member.accel)):
        s.connect([unit[f"{word}_{c}"] for c in "xyz"], port)
    s.connect(list(names[7:]), member.q)
    s.connect([1.0] * 4, member.contact)
    s.connect([float(x) for x in (*(home[:3] + 0.01), 0.9997, 0.0, 0.0245, 0.0)], member.start)
    wanted = [f"base_estimator.{key}[{k}]" for key in ("base", "sigma") for k in range(7)]
    run = lw.simulate(
        s, 0.6, method="semi-implicit", initial=start, every=20, record=[*names[:7], *wanted]
    )
    found = np.array([run[f"base_estimator.base[{k}]"] for k in range(7)])
    true = np.array([run[name] for name in names[:7]])
    sigma = np.array([run[f"base_estimator.sigma[{k}]"] for k in range(3)])
    away = (
        Rotation.from_quat(found[3:].T, scalar_first=True)
        * Rotation.from_quat(true[3:].T, scalar_first=True).inv()
    )
    tilt = np.abs(away.as_rotvec()).T
    assert (tilt[:, 10:] < 4 * sigma[:, 10:]).all()
    assert tilt[:2, -1].max() < 0.01
    drift = (found[:3] - true[:3])[:, -1] - 0.01
    assert np.abs(drift).max() < 0.01


def test_what_cannot_be_is_rejected_in_words() -> None:
    """A fixed robot, a frame that is not there, noise below zero, and no rate."""
    with pytest.raises(Error, match="has no base that floats"):
        BaseEstimator(Robot(lw.load("puma560")), ["tool"])
    with pytest.raises(Error, match="the robot has no frame 'front_left_fot'; did you mean"):
        BaseEstimator(dog(), ["front_left_fot"])
    with pytest.raises(Error, match="slip of 'base_estimator'"):
        BaseEstimator(dog(), FEET, slip=-1.0)
    with pytest.raises(Error, match="there are no feet"):
        BaseEstimator(dog(), [])
    with pytest.raises(Error, match="takes readings"):
        lw.System(dog(), name="dog", base=1000).add(BaseEstimator(dog(), FEET))
