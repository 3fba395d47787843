"""The four-joint wrist: its solutions, its singular set, and the way through the poles."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError, ShapeError
from linkwright.blocks import BlockError
from linkwright.robots import Robot
from linkwright.robots.ik import RateLimits, blended_angles, primary_angles, secondary_angles
from tests.support.shared import robot

H = 1e-3
OFFSET = 0.002
FASTEST = 3.0


@pytest.fixture(scope="module")
def wrist() -> Robot:
    """Return the wrist alone."""
    return Robot("wrist-4r")


def turned(wrist: Robot, q: np.ndarray) -> np.ndarray:
    return np.asarray(wrist.pose(q, "link4")[..., :3, :3])


def sweep() -> np.ndarray:
    """Return rotations whose third axis passes the pole in 2 s, turned as little as can be."""
    x = np.linspace(-0.5, 0.5, 2001)
    y = np.full_like(x, OFFSET)
    z = np.sqrt(1 - x**2 - y**2)
    cross = np.zeros((len(x), 3, 3))
    cross[:, 0, 2], cross[:, 1, 2] = x, y
    cross[:, 2, 0], cross[:, 2, 1] = -x, -y
    return np.asarray(np.eye(3) + cross + cross @ cross / (1 + z)[:, None, None])


def rates(angles: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(np.diff(np.unwrap(angles, axis=0), axis=0)).max(axis=0) / H)


# -- the solutions ---------------------------------------------------------------------------------
def test_angles_give_their_rotation_for_any_first_one(wrist: Robot) -> None:
    """Server check 46: forward of inverse below 1e-12, at right angles of the third joint too."""
    rng = np.random.default_rng(1)
    q = rng.uniform(-math.pi, math.pi, (300, 4))
    q[:100, 2] = math.pi / 2 * rng.choice([-1, 1], 100) + rng.choice([0, 1e-6, 1e-10, 1e-14], 100)
    q[100:120, 1:3] = 0.0
    rotations = turned(wrist, q)
    first = np.where(np.arange(300) < 100, q[:, 0], rng.uniform(-9, 9, 300))
    found = secondary_angles(rotations, first)
    assert np.abs(turned(wrist, found) - rotations).max() < 1e-12
    assert np.all(found[:, 0] == first)
    assert np.all(np.abs(found[:, 2]) <= math.pi / 2 + 1e-15)
    primary = primary_angles(rotations)
    assert np.abs(turned(wrist, primary) - rotations).max() < 1e-12
    assert np.all(primary[:, 2] == 0)
    assert np.all(primary[:, 1] >= 0)
    regular = np.abs(q[:, 2]) < 1.5
    same = secondary_angles(rotations, q[:, 0])[regular]
    wrapped = np.abs((same - q[regular] + math.pi) % (2 * math.pi) - math.pi)
    near = np.abs(q[regular][:, 1:3]).max(axis=1) < 1.5
    assert wrapped[near].max() < 1e-12


def test_angles_of_the_report_are_these(wrist: Robot) -> None:
    """The digest's formulas, section 3.8, with the signs of its forward kinematics."""
    q = np.array([0.4, 0.7, -0.3, 1.1])
    r = turned(wrist, q)
    (nx, ny, _), (ox, oy, _), (ax, ay, az) = r.T
    c, s = math.cos(0.4), math.sin(0.4)
    expected = [
        0.4,
        math.atan2(ax * c + ay * s, az),
        math.atan2(ax * s - ay * c, math.hypot(ax * c + ay * s, az)),
        math.atan2(-nx * s + ny * c, -ox * s + oy * c),
    ]
    assert secondary_angles(r, 0.4) == pytest.approx(expected, abs=1e-15)
    assert expected == pytest.approx(q, abs=1e-15)


def test_both_poles_have_a_solution(wrist: Robot) -> None:
    for pole in (np.eye(3), np.diag([1.0, -1.0, -1.0])):
        for found in (primary_angles(pole), secondary_angles(pole, 2.0)):
            assert np.abs(turned(wrist, found) - pole).max() < 1e-15


# -- the poles -------------------------------------------------------------------------------------
def test_the_pole_is_passed_with_bounded_rates(wrist: Robot) -> None:
    """Server check 46: 245 rad/s by the primary solution, 1.5 by the blended one, 3 allowed."""
    path = sweep()
    assert rates(primary_angles(path))[0] == pytest.approx(245, abs=0.5)
    found = blended_angles(path, H, FASTEST)
    peak = rates(found)
    assert peak[0] <= FASTEST * math.hypot(0.5, OFFSET) + 1e-9
    assert round(peak[0], 3) == 1.5
    assert peak[1:].max() <= 1.4
    assert np.abs(turned(wrist, found) - path).max() < 1e-9
    nearer = blended_angles(path, H, FASTEST, either=True)
    assert rates(nearer).max() < 0.7
    assert np.abs(turned(wrist, nearer) - path).max() < 1e-9


def test_the_first_joint_arrives_at_the_primary_solution_and_stays() -> None:
    path = np.repeat(sweep()[:1], 800, axis=0)
    wanted = primary_angles(path[0])
    for start in (0.2, wanted[0] + 3.0, wanted[0] + 20 * math.pi - 1.0):
        found = blended_angles(path, 0.01, 1.0, initial=start)
        away = (found[-1] - wanted + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(away).max() < 1e-12
        assert abs(found[-1, 0] - start) <= math.pi


def test_the_block_is_the_function() -> None:
    """As a sampled block with a quaternion of any length; angles do not jump by a turn."""
    s = lw.System(name="hand")
    s.add(lw.control.FourJointWrist(FASTEST), rate=1000, name="wrist")
    x = "(-0.5 + 0.5*t)"
    s.connect(
        [f"2 + 2*sqrt(1 - {x}**2 - {OFFSET}**2)", f"-2*{OFFSET}", f"2*{x}", "0"], "wrist.turn"
    )
    run = lw.simulate(s, until=2.0, step=H, every=1)
    angles = np.stack([run[f"wrist.command[{k}]"] for k in range(4)], axis=-1)
    speeds = np.stack([run[f"wrist.command_rate[{k}]"] for k in range(4)], axis=-1)
    expected = blended_angles(sweep(), H, FASTEST)
    away = (angles - expected + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(away).max() < 1e-9
    assert np.abs(np.diff(angles, axis=0)).max() < 2 * H
    assert np.abs(speeds[1:] - np.diff(angles, axis=0) / H).max() < 1e-6
    assert np.all(speeds[0] == 0)


# -- the wrist itself ------------------------------------------------------------------------------
def test_only_two_right_angles_together_are_singular(wrist: Robot) -> None:
    """Server check 47: a grid over the second and third angle, and the minors in closed form."""
    grid = np.radians(np.arange(-180, 181, 10))
    second, third = (x.ravel() for x in np.meshgrid(grid, grid))
    rng = np.random.default_rng(2)
    q = np.stack([rng.uniform(-3, 3, second.size), second, third, 0 * second], axis=-1)
    jacobian = wrist.jacobian(q, "link4")[:, 3:]
    smallest = np.linalg.svd(jacobian, compute_uv=False)[:, -1]
    right = (np.abs(np.cos(second)) < 1e-9) & (np.abs(np.cos(third)) < 1e-9)
    assert right.sum() == 4
    assert smallest[right].max() < 1e-9
    assert smallest[~right].min() > 0.1
    c2, s2, c3, s3 = np.cos(second), np.sin(second), np.cos(third), np.sin(third)
    for drop, value in enumerate((-c3, -s3 * c2, -s2 * c3, -c2)):
        minor = np.linalg.det(np.delete(jacobian, drop, axis=2))
        assert np.abs(minor - value).max() < 1e-12
    zero = wrist.jacobian(np.zeros(4), "link4")[3:]
    assert math.sqrt(np.linalg.det(zero @ zero.T)) == pytest.approx(math.sqrt(2))


def test_its_rates_keep_limits_through_the_pole(wrist: Robot) -> None:
    """Three components for four joints: a partition with one free joint, within limits."""
    path = sweep()[::10]
    h = 10 * H
    turn = np.einsum("kij,klj->kil", np.diff(path, axis=0), path[:-1]) / h
    spin = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=-1)
    limits = RateLimits(h, lower=-4.0, upper=4.0, speed=1.0, acceleration=30.0)
    q, u = primary_angles(path[0]), np.zeros(4)
    scales = []
    for w in spin:
        rate = [0, 0, 0, *w]
        found = wrist.joint_rates(
            q, rate, "link4", method="partition", weights=(0, 0, 0, 1, 1, 1), limits=limits, last=u
        )
        assert np.abs(found.rates).max() <= 1.0
        assert np.abs(found.rates - u).max() <= 0.3 + 1e-12
        scales.append(float(found.scale))
        u = found.rates
        q = q + h * u
    assert min(scales[3:]) == 1.0
    hand = turned(wrist, q)[:, 2]
    assert hand == pytest.approx(path[-1, :, 2], abs=0.05)


# -- on an arm -------------------------------------------------------------------------------------
def test_the_arm_with_four_wrist_joints_is_the_arm_with_three() -> None:
    """With the third at zero it stands where the PUMA does, whose joint 5 turns the other way."""
    four, three = robot("puma560:wrist=4r,drives=off"), robot("puma560:drives=off")
    q = np.random.default_rng(3).uniform(-2, 2, (10, 7))
    q[:, 5] = 0
    plain = np.stack([*q.T[:4], -q[:, 4], q[:, 6]], axis=-1)
    assert np.abs(four.pose(q, "tool") - three.pose(plain, "tool")).max() < 1e-15
    with pytest.raises(InputError, match="one of 3r, 4r"):
        lw.load("puma560:wrist=2r")
    with pytest.raises(InputError, match="electric drives"):
        lw.load("puma560:wrist=4r,drives=electric")


def test_the_arm_passes_the_pole_of_its_wrist() -> None:
    """Where the joints of three run away, those of four do not, and the tool keeps its rate."""
    four, three = robot("puma560:wrist=4r,drives=off"), robot("puma560:drives=off")
    q = np.array([0.3, 0.7, -2.6, 0.0, -0.3, 0.004, 0.0])
    plain = np.array([0.3, 0.7, -2.6, math.atan2(0.004, 0.3), 0.3, 0.0])
    h, fastest, fastest_of_three = 2e-3, 0.0, 0.0
    axis = four.jacobian(q, "tool")[3:, 4]  # the second axis of the wrist
    rate = np.array([0.0, 0.0, 0.0, *axis])
    for _ in range(300):
        found = four.joint_rates(q, rate, "tool", method="partition")
        assert np.abs(found.residual).max() < 1e-9
        fastest = max(fastest, np.abs(found.rates).max())
        q = q + h * found.rates
        other = np.linalg.pinv(three.jacobian(plain, "tool")) @ rate
        fastest_of_three = max(fastest_of_three, np.abs(other).max())
        plain = plain + h * np.clip(other, -50, 50)
    assert q[4] > 0.2  # through the pole
    assert fastest < 1.5
    assert fastest_of_three > 20


def test_bad_wrists_are_named() -> None:
    with pytest.raises(ShapeError, match="3 x 3"):
        primary_angles(np.zeros(3))
    with pytest.raises(InputError, match="is not one"):
        primary_angles(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(InputError, match="not finite"):
        secondary_angles(np.full((3, 3), math.nan), 0.0)
    with pytest.raises(InputError, match="above 0"):
        blended_angles(np.eye(3)[None], 0.0, 1.0)
    with pytest.raises(ShapeError, match="one after the other"):
        blended_angles(np.eye(3), 0.1, 1.0)
    with pytest.raises(BlockError, match="fastest"):
        lw.control.FourJointWrist(0.0)
