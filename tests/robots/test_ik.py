"""Inverse kinematics: closed form, damped least squares, pseudo-inverse."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linkwright as lw
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.rotations import quaternion_of
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Place,
)
from linkwright.motion.blends import turned
from linkwright.robots.ik import (
    NoClosedForm,
    branches,
    joint_rates,
    pseudo_inverse,
    solve,
    spherical_arm,
)
from linkwright.robots.ik.general import GeneralArm, general_branches
from tests.seeds import examples, seldom

ROBOTS = Path(__file__).parents[1] / "robots"
Rows = tuple[tuple[float, float, float], ...]


def about_x(angle: float) -> Rows:
    c, s = math.cos(angle), math.sin(angle)
    return ((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c))


def arm(table: list[tuple[float, float, float]], limit: float = math.pi) -> Description:
    """An arm of revolute joints by modified Denavit-Hartenberg parameters (alpha, a, d)."""
    links = [Link("base")]
    joints = []
    for k, (alpha, a, d) in enumerate(table, 1):
        r = about_x(alpha)
        place = Place((a, r[1][2] * d, r[2][2] * d), (r[0], r[1], r[2]))
        links.append(Link(f"l{k}", Mass(1.0)))
        limits = JointLimits(-limit, limit, 2.0, 100.0)
        joints.append(LinkJoint(f"j{k}", "revolute", links[-2].name, f"l{k}", place, limits=limits))
    return Description("arm", tuple(links), tuple(joints))


H = math.pi / 2
PUMA = [
    (0, 0, 0),
    (-H, 0, 0.2435),
    (0, 0.4318, -0.0934),
    (H, -0.0203, 0.4331),
    (-H, 0, 0),
    (H, 0, 0),
]
MEETING = [(0, 0, 0.3), (-H, 0, 0), (H, 0.1, 0.4), (-H, 0.05, 0.3), (H, 0, 0), (-H, 0, 0)]
SKEW_WRIST = [(0, 0, 0), (-H, 0, 0.2), (0, 0.4, 0), (H, 0, 0.4), (-1.0, 0, 0), (1.2, 0, 0)]


@pytest.fixture(scope="module")
def puma() -> lw.Robot:
    return lw.Robot(arm(PUMA))


def test_the_puma_has_eight_branches_that_all_reach_the_pose(puma: lw.Robot) -> None:
    screws = spherical_arm(puma, "l6")
    for q in puma.random(40, seed=3):
        goal = puma.pose(q, "l6")
        found = branches(screws, goal)
        assert np.all(np.isfinite(found))
        assert np.abs(puma.pose(found, "l6") - goal).max() < 1e-9
        assert min(np.abs(np.angle(np.exp(1j * (found - q)))).max(axis=1)) < 1e-7
        for i in range(8):
            for j in range(i):
                assert np.abs(np.angle(np.exp(1j * (found[i] - found[j])))).max() > 1e-6


@pytest.mark.parametrize("table", [MEETING, SKEW_WRIST], ids=["axes meet", "skew wrist"])
def test_other_arms_with_a_spherical_wrist_are_solved(
    table: list[tuple[float, float, float]],
) -> None:
    robot = lw.Robot(arm(table))
    screws = spherical_arm(robot, "l6")
    for q in robot.random(25, seed=5):
        goal = robot.pose(q, "l6")
        found = branches(screws, goal)
        there = found[np.isfinite(found).all(axis=1)]
        assert np.abs(robot.pose(there, "l6") - goal).max() < 1e-8
        assert min(np.abs(np.angle(np.exp(1j * (there - q)))).max(axis=1)) < 1e-6


def test_a_pose_out_of_reach_has_no_branch(puma: lw.Robot) -> None:
    far = np.eye(4)
    far[:3, 3] = (3, 0, 0)
    assert np.all(np.isnan(branches(spherical_arm(puma, "l6"), far)))


def test_singular_wrists_are_solved(puma: lw.Robot) -> None:
    screws = spherical_arm(puma, "l6")
    q = np.array([0.3, -0.4, 0.5, 0.7, 0.0, 0.2])
    goal = puma.pose(q, "l6")
    found = branches(screws, goal)
    assert np.abs(puma.pose(found, "l6") - goal).max() < 1e-9


@seldom(daily="test_an_arm_without_a_spherical_wrist_gets_all_its_branches")
def test_a_general_arm_has_sixteen_branches() -> None:
    """The arm of Manseur and Doty (1989), all of whose 16 solutions are real at one pose."""
    twists = np.radians([90, 1, 90, 1, 90])
    lengths, shifts = np.array([0.3, 1, 0, 1.5, 0]), np.array([0, 0.2, 0, 0])
    nearly = GeneralArm(lengths, shifts, twists, np.zeros(6), np.eye(4), np.eye(4))
    goal = np.eye(4)
    goal[:3] = [
        [-0.760117, -0.641689, 0.102262, -1.140175],
        [0.133333, 0, 0.991071, 0],
        [-0.635959, 0.766965, 0.085558, 0],
    ]
    left, _, right = np.linalg.svd(goal[:3, :3])
    goal[:3, :3] = left @ right
    found = general_branches(nearly, goal)
    assert np.isfinite(found).all()
    assert found.shape == (16, 6)
    apart = np.abs(np.angle(np.exp(1j * (found[:, None] - found[None])))).max(axis=2)
    assert (apart + np.eye(16)).min() > 1e-3


def test_an_arm_without_a_spherical_wrist_gets_all_its_branches() -> None:
    first = [(0, 0, 0.3), (-H, 0.1, 0.1), (0.4, 0.4, 0)]
    robot = lw.Robot(arm([*first, (H, 0.05, 0.4), (-1.0, 0.1, 0), (1.2, 0, 0.1)]))
    for q in robot.random(examples(4, daily=1), seed=5):
        goal = robot.pose(q, "l6")
        found = robot.inverse_kinematics_branches(goal, "l6")
        there = found[np.isfinite(found).all(axis=1)]
        assert found.shape == (16, 6)
        assert len(there) % 2 == 0
        assert np.abs(robot.pose(there, "l6") - goal).max() < 1e-8
        assert min(np.abs(np.angle(np.exp(1j * (there - q)))).max(axis=1)) < 1e-6
    with pytest.raises(NoClosedForm, match="6 revolute"):
        lw.Robot(arm(PUMA[:5])).inverse_kinematics_branches(np.eye(4), "l5")


def test_what_is_no_such_arm_is_refused(puma: lw.Robot) -> None:
    offset = [*PUMA[:4], (-H, 0.05, 0), PUMA[5]]
    with pytest.raises(NoClosedForm, match="do not meet"):
        spherical_arm(lw.Robot(arm(offset)), "l6")
    with pytest.raises(NoClosedForm, match="6 revolute"):
        spherical_arm(lw.Robot(arm(PUMA[:5])), "l5")


@settings(max_examples=examples(60, daily=24), deadline=None)
@given(st.tuples(*[st.floats(-1, 1)] * 3), st.floats(-math.pi, math.pi))
def test_quaternions_give_back_their_rotation(axis: tuple[float, ...], angle: float) -> None:
    v = np.array(axis) + np.array([1e-3, 2e-3, 3e-3])
    r = turned(v, angle)
    w, x, y, z = quaternion_of(r)
    made = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert np.abs(made - r).max() < 1e-14


# -- damped least squares --------------------------------------------------------------------------
SEVEN = [
    (0, 0, 0.3),
    (-H, 0, 0),
    (H, 0, 0.32),
    (H, 0.08, 0),
    (-H, -0.08, 0.38),
    (H, 0, 0),
    (H, 0.09, 0),
]


@pytest.fixture(scope="module")
def seven() -> lw.Robot:
    return lw.Robot(arm(SEVEN, limit=2.7))


def test_nearly_all_poses_are_found_within_the_limits(seven: lw.Robot) -> None:
    goals = seven.pose(seven.random(300, seed=1), "l7")
    found = solve(seven, goals, "l7")
    assert found.reached.mean() > 0.99
    there = found.q[found.reached]
    assert np.abs(seven.pose(there, "l7") - goals[found.reached]).max() < 5e-6
    assert np.all(there >= seven.limits[:, 0] - 1e-12)
    assert np.all(there <= seven.limits[:, 1] + 1e-12)


def test_a_goals_solution_does_not_depend_on_the_others(seven: lw.Robot) -> None:
    goals = seven.pose(seven.random(24, seed=2), "l7")
    together = solve(seven, goals, "l7", seed=7)
    first = solve(seven, goals[:9], "l7", seed=7)
    assert np.array_equal(together.q[:9], first.q)


def test_one_goal_gives_one_answer(seven: lw.Robot) -> None:
    q = seven.random(seed=4)
    found = solve(seven, seven.pose(q, "l7"), "l7", q + 0.05)
    assert found.q.shape == (7,)
    assert bool(found.reached)
    assert int(found.attempts) == 1


def test_free_directions_are_left_free(seven: lw.Robot) -> None:
    """With no weight on orientation only the place is met."""
    goal = seven.pose(seven.random(seed=6), "l7")
    found = solve(seven, goal, "l7", weights=(1, 1, 1, 0, 0, 0))
    pose = seven.pose(found.q, "l7")
    assert np.abs(pose[:3, 3] - goal[:3, 3]).max() < 2e-6
    assert np.abs(pose[:3, :3] - goal[:3, :3]).max() > 1e-3


def test_freedom_is_used_for_the_rest_posture(seven: lw.Robot) -> None:
    """In the null space the arm comes closer to rest while the tool stays."""
    start = seven.random(seed=8) * 0.6
    goal = seven.pose(start, "l7")
    rest = np.zeros(7)
    lazy = solve(seven, goal, "l7", start)
    drawn = start
    for _ in range(40):
        drawn = solve(seven, goal, "l7", drawn, posture=rest, posture_gain=0.2).q
    assert np.abs(seven.pose(drawn, "l7") - goal).max() < 1e-5
    assert np.linalg.norm(drawn - rest) < np.linalg.norm(lazy.q - rest) - 1e-3


def test_the_unreachable_is_reported_with_the_closest_place(seven: lw.Robot) -> None:
    far = np.eye(4)
    far[:3, 3] = (3, 0, 0.3)
    found = solve(seven, far, "l7", attempts=3)
    assert not found.reached
    reach = float(np.linalg.norm(seven.position(found.q, "l7") - [0, 0, 0.3]))
    assert found.error > 3 - 0.95
    assert reach > 0.6


def test_refusals(seven: lw.Robot) -> None:
    with pytest.raises(InputError, match="no frame"):
        solve(seven, np.eye(4), "hand")
    with pytest.raises(InputError, match="between 0 and 1"):
        solve(seven, np.eye(4), "l7", posture_gain=2.0)
    with pytest.raises(InputError, match="finite"):
        solve(seven, np.full((4, 4), np.nan), "l7")
    with pytest.raises(InputError, match="not a rotation"):
        solve(seven, np.diag([1.0, 1.0, -1.0, 1.0]), "l7")
    with pytest.raises(ShapeError, match=r"start has the shape \(2,\); give 7 numbers"):
        solve(seven, np.eye(4), "l7", [0.0, 0.0])
    with pytest.raises(InputError, match="at least one attempt"):
        solve(seven, np.eye(4), "l7", attempts=0)
    with pytest.raises(ShapeError, match="six numbers"):
        joint_rates(seven, np.zeros(7), "l7", [1.0, 0.0, 0.0])


# -- several frames at once ------------------------------------------------------------------------
@cache
def two_hands() -> lw.Robot:
    """A torso that turns, with two arms of five joints: each hand's pose needs the torso too."""
    one = arm(SEVEN[:5], limit=2.7)
    links, joints = [Link("base"), Link("torso", Mass(1.0))], []
    limits = JointLimits(-2.7, 2.7, 2.0, 100.0)
    joints.append(LinkJoint("waist", "revolute", "base", "torso", Place(), limits=limits))
    for side, y in (("left", 0.2), ("right", -0.2)):
        links += [Link(f"{side}_{x.name}", x.mass) for x in one.links[1:]]
        for j in one.joints:
            first = j.parent == "base"
            parent = "torso" if first else f"{side}_{j.parent}"
            at, r = j.place.position, j.place.rotation
            place = Place((at[0], at[1] + y, at[2]), r) if first else j.place
            name, child = f"{side}_{j.name}", f"{side}_{j.child}"
            joints.append(LinkJoint(name, "revolute", parent, child, place, limits=limits))
    return lw.Robot(Description("hands", tuple(links), tuple(joints)))


def test_two_hands_reach_their_goals_together() -> None:
    robot = two_hands()
    q = 0.6 * robot.random(4)
    goals = {"left_l5": robot.pose(q, "left_l5"), "right_l5": robot.pose(q, "right_l5")}
    found = robot.inverse_kinematics(goals, initial=q + 0.1)
    assert found.reached.all()
    for frame, goal in goals.items():
        assert np.abs(robot.pose(found.q, frame) - goal).max() < 1e-5
    one = robot.inverse_kinematics(
        {name: goal[3] for name, goal in goals.items()}, initial=q[3] + 0.1
    )
    assert one.reached
    assert one.q == pytest.approx(found.q[3], abs=1e-5)


def test_one_goal_for_a_hand_counts_for_all_of_the_other() -> None:
    robot = two_hands()
    still = np.full(11, 0.3)
    held = robot.pose(still, "left_l5")
    places = robot.pose(still, "right_l5")[:3, 3] + np.array([[0.0, 0, 0], [0.02, 0, 0.02]])
    found = robot.inverse_kinematics({"left_l5": held, "right_l5": places}, initial=still)
    assert found.reached.all()
    for row, place in zip(found.q, places, strict=True):
        assert np.abs(robot.pose(row, "left_l5") - held).max() < 1e-5
        assert np.abs(robot.pose(row, "right_l5")[:3, 3] - place).max() < 1e-5


def test_four_feet_stand_where_they_are_told_to() -> None:
    robot = lw.load(ROBOTS / "quadruped.urdf", base="fixed")
    feet = [name for name in robot.frames if name.endswith("foot")]
    low, high = robot.limits.T
    q = np.clip((low + high) / 2 + 0.1, low, high)
    goals = {foot: robot.pose(q, foot)[:3, 3] + (0.01, 0.0, 0.02) for foot in feet}
    found = robot.inverse_kinematics(goals, initial=q)
    assert found.reached
    for foot in feet:
        assert robot.pose(found.q, foot)[:3, 3] == pytest.approx(goals[foot], abs=2e-6)
    assert np.all((low <= found.q) & (found.q <= high))


def test_the_elbow_of_a_redundant_arm_goes_where_it_is_told_to(seven: lw.Robot) -> None:
    q = np.array([0.4, 0.5, -0.3, 1.1, 0.2, 0.6, -0.4])
    hand, elbow = seven.pose(q, "l7"), seven.pose(q, "l4")[:3, 3]
    other = seven.inverse_kinematics(hand, "l7", initial=q + 0.5)
    assert np.linalg.norm(seven.pose(other.q, "l4")[:3, 3] - elbow) > 1e-3
    both = seven.inverse_kinematics({"l7": hand, "l4": elbow}, initial=q + 0.2)
    assert both.reached
    assert np.abs(seven.pose(both.q, "l7") - hand).max() < 1e-5
    assert np.abs(seven.pose(both.q, "l4")[:3, 3] - elbow).max() < 1e-5
    away = elbow + np.array([0.0, 0.0, 1.0])  # out of reach: the hand alone can be had
    torn = seven.inverse_kinematics({"l7": hand, "l4": away}, initial=q, attempts=2)
    assert not torn.reached
    assert torn.error > 0.1
    free = {"l4": [0.0] * 6}
    loose = seven.inverse_kinematics({"l7": hand, "l4": away}, initial=q + 0.1, weights=free)
    assert loose.reached


def test_one_frame_in_a_mapping_is_one_frame(seven: lw.Robot) -> None:
    q = np.array([0.4, 0.5, -0.3, 1.1, 0.2, 0.6, -0.4])
    hand = seven.pose(q, "l7")
    one = seven.inverse_kinematics(hand, "l7", initial=q + 0.1)
    assert np.array_equal(seven.inverse_kinematics({"l7": hand}, initial=q + 0.1).q, one.q)


def test_goals_of_frames_that_do_not_fit_are_refused(seven: lw.Robot) -> None:
    one, many = np.eye(4), np.broadcast_to(np.eye(4), (3, 4, 4))
    for target, more, match in (
        (one, {}, "needs the name of its frame"),
        ({}, {}, "no frame with a goal"),
        ({"l7": one}, {"frame": "l7"}, "named besides"),
        ({"hand": one, "l7": one}, {}, "no frame 'hand'"),
        ({"l7": many, "l4": many[:2]}, {}, "2 and 3 goals"),
        ({"l7": one}, {"weights": {"l4": [1] * 6}}, "weights for 'l4'"),
        ({"l7": one}, {"weights": [1, 1, 1]}, "six numbers"),
        ({"l7": one, "l4": one}, {"weights": [1, 1, 1, 1, 1, -1]}, "none is below 0"),
        ({"l7": 2 * one}, {}, "not a rotation"),
    ):
        with pytest.raises((InputError, ShapeError), match=match):
            seven.inverse_kinematics(target, **more)


# -- rates -----------------------------------------------------------------------------------------
def test_the_pseudo_inverse_of_robsim() -> None:
    """ROBSIM's digest, case V7."""
    found = pseudo_inverse([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    expected = [[-1 / 30, -1 / 15, 5 / 6], [1 / 15, 2 / 15, -2 / 3], [1 / 30, 1 / 15, 1 / 6]]
    assert found.rank == 2
    assert np.allclose(found.matrix, expected, atol=1e-14)


@settings(max_examples=examples(60, daily=24), deadline=None)
@given(
    rows=st.integers(1, 10),
    columns=st.integers(1, 10),
    rank=st.integers(0, 10),
    seed=st.integers(0, 2**32),
)
def test_all_conditions_of_moore_and_penrose_hold(
    rows: int, columns: int, rank: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rank = min(rank, rows, columns)
    a = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    found = pseudo_inverse(a)
    p = found.matrix
    scale = 1e-7 * (1 + np.abs(p).max(initial=0) ** 2)
    assert found.rank == rank
    assert np.abs(a @ p @ a - a).max(initial=0) < scale
    assert np.abs(p @ a @ p - p).max(initial=0) < scale
    assert np.abs(a @ p - (a @ p).T).max(initial=0) < scale
    assert np.abs(p @ a - (p @ a).T).max(initial=0) < scale


def test_rates_are_exact_off_singular_poses_and_finite_in_them(puma: lw.Robot) -> None:
    q = np.array([0.3, -0.4, 0.5, 0.7, 0.6, 0.2])
    wanted = np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    found = joint_rates(puma, q, "l6", wanted)
    assert found.rank == 6
    assert np.abs(puma.jacobian(q, "l6") @ found.rates - wanted).max() < 1e-10
    singular = np.array([0.3, -0.4, 0.5, 0.7, 0.0, 0.2])
    found = joint_rates(puma, singular, "l6", wanted)
    assert found.rank == 5
    assert np.abs(found.rates).max() < 1e3
    assert np.abs(found.residual).max() > 1e-3


def test_a_robot_solves_its_own_poses(puma: lw.Robot) -> None:
    q = np.array([0.3, -0.4, 0.5, 0.7, 0.6, 0.2])
    goal = puma.pose(q, "l6")
    found = puma.inverse_kinematics(goal, "l6", q + 0.1)
    assert np.abs(found.q - q).max() < 1e-5
    assert puma.inverse_kinematics_branches(goal, "l6").shape == (8, 6)
