"""The reference cases of ROBSIM's digest (section 5.2, V1 to V7), through `lw.Robot`.

ROBSIM's joints: a hinge turns about y, a swivel about x, a slider moves along x of the joint's own
frame; x runs along the link. Rotations are sequences about moving axes. The numbers are those of
the digest, which come from an independent implementation; V7 stands in `test_ik.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation as SciPyRotation

import linkwright as lw
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
    Rotation,
)
from linkwright.formats.robot.transforms import product, turned
from linkwright.motion import TaskSegment
from linkwright.robots import Robot
from linkwright.robots.ik import joint_rates

Array = NDArray[np.float64]
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
KINDS = {"hinge": ("revolute", "y"), "swivel": ("revolute", "x"), "slider": ("prismatic", "x")}


def sequence(axes: str, *degrees: float) -> Rotation:
    """Return a rotation by a sequence of angles about moving axes."""
    factors = [turned(AXES[a], math.radians(d)) for a, d in zip(axes, degrees, strict=True)]
    start: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return reduce(product, factors, start)


Section = tuple[str, float, Rotation]
STRAIGHT = sequence("")


def robot(
    sections: Sequence[Section],
    tool: float,
    *,
    base: Rotation = STRAIGHT,
    masses: Sequence[Mass | None] = (),
    gravity: tuple[float, float, float] | None = None,
) -> Robot:
    """Return a robot of ROBSIM: kind, place along x and rotation of each joint, then the tool."""
    links = [Link("ground"), Link("l0")]
    joints = [LinkJoint("mount", "weld", "ground", "l0", Place((0.0, 0.0, 0.0), base))]
    given = [*masses, *[None] * (len(sections) - len(masses))]
    for k, ((kind, along, rotation), mass) in enumerate(zip(sections, given, strict=True), 1):
        joint, axis = KINDS[kind]
        links.append(Link(f"l{k}", mass))
        place = Place((along, 0.0, 0.0), rotation)
        joints.append(LinkJoint(f"q{k}", joint, f"l{k - 1}", f"l{k}", place, AXES[axis]))
    frames = (NamedFrame("tool", f"l{len(sections)}", Place((tool, 0.0, 0.0))),)
    return Robot(Description("robsim", tuple(links), tuple(joints), frames, gravity=gravity))


# -- V1 --------------------------------------------------------------------------------------------
def test_v1_a_sequence_of_rotations_about_moving_axes() -> None:
    """The frame after 30 degrees about x, 20 about the new y, 10 about the newest z."""
    expected = [
        [0.9254165784, -0.1631759112, 0.3420201433],
        [0.3187957776, 0.8231729446, -0.4698463104],
        [-0.2048741287, 0.5438381425, 0.8137976813],
    ]
    turned_base = robot([("hinge", 0.0, STRAIGHT)], 1.0, base=sequence("xyz", 30, 20, 10))
    found = turned_base.pose([0.0], "l0")[:3, :3]
    assert np.allclose(found, expected, atol=1e-9)
    assert np.allclose(
        found, SciPyRotation.from_euler("XYZ", [30, 20, 10], degrees=True).as_matrix(), atol=1e-12
    )
    assert np.linalg.det(found) == pytest.approx(1, abs=1e-12)


# -- V2 --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def ref6() -> Robot:
    """The six-joint arm REF6, in inches."""
    sections: list[Section] = [
        ("swivel", 10.0, STRAIGHT),
        ("hinge", 12.0, STRAIGHT),
        ("hinge", 30.0, STRAIGHT),
        ("hinge", 24.0, STRAIGHT),
        ("hinge", 6.0, sequence("x", 90)),
        ("swivel", 4.0, sequence("x", -90)),
    ]
    return robot(sections, 6.0, base=sequence("z", 90))


Q2 = np.radians([20.0, 40.0, 50.0, -30.0, 25.0, 15.0])


def test_v2_pose_of_the_tool(ref6: Robot) -> None:
    pose = ref6.pose(Q2, "tool")
    assert np.allclose(pose[:3, 3], [-23.2368409096, 52.5128722288, -51.4861643659], atol=1e-8)
    assert np.allclose(pose[:3, 0], [-0.6655779362, 0.4531538935, -0.5930072172], atol=1e-9)


def test_v2_jacobian(ref6: Robot) -> None:
    jacobian = ref6.jacobian(Q2, "tool")
    assert abs(np.linalg.det(jacobian)) == pytest.approx(24233.8726, abs=1e-4)
    values = np.linalg.svd(jacobian, compute_uv=False)
    assert np.allclose(values, [75.33484, 57.21218, 10.29002, 1.09644, 0.78793, 0.63248], atol=6e-6)


def test_v2_joint_rates_of_a_tool_rate(ref6: Robot) -> None:
    found = joint_rates(ref6, Q2, "tool", [1, 0, 0, 0, 0, 0])
    expected = [-0.0193831863, -0.0142925716, 0.0267548809, -0.0169815734, 0.0167863317]
    assert np.allclose(found.rates, [*expected, 0.0106934899], atol=1e-9)
    assert found.rank == 6
    assert np.abs(found.residual).max() < 1e-10


def test_v2_the_zero_pose_cannot_move_along_itself(ref6: Robot) -> None:
    zero = np.zeros(6)
    assert np.allclose(ref6.pose(zero, "tool")[:3, 3], [0, 92, 0], atol=1e-12)
    found = joint_rates(ref6, zero, "tool", [0, 1, 0, 0, 0, 0])
    assert found.rank == 4
    assert np.allclose(found.rates, 0, atol=1e-12)  # rounding is the machine's
    assert np.allclose(found.residual, [0, 1, 0, 0, 0, 0], atol=1e-12)


# -- V3 --------------------------------------------------------------------------------------------
def rod(mass: float, length: float) -> Mass:
    """Return a thin rod along x whose end is the joint."""
    across = mass * length**2 / 12  # mL^2/3 about the joint
    return Mass(mass, (length / 2, 0.0, 0.0), (0.0, across, across, 0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def two_links() -> Robot:
    """Two rods, 5 kg and 1 m, 3 kg and 0.8 m, with hinges about y under gravity along -z."""
    sections: list[Section] = [("hinge", 0.0, STRAIGHT), ("hinge", 1.0, STRAIGHT)]
    return robot(sections, 0.8, masses=[rod(5.0, 1.0), rod(3.0, 0.8)])


V3: list[tuple[list[float], list[float], list[float], list[float], list[float] | None]] = [
    ([0, 0], [0, 0], [0, 0], [-65.727, -11.772], [0, 0, 78.48]),
    ([-90, 0], [0, 0], [0, 0], [0, 0], [0, 0, 78.48]),
    ([30, 45], [1, -0.5], [0.2, 0.8], [-46.5452552588, -1.388584034],
     [-6.5498964259, 0, 80.2565669496]),
    ([-40, 75], [0.6, 1.1], [-0.4, 0.3], [-55.9934946962, -9.4140110501], None),
]  # fmt: skip


@pytest.mark.parametrize(("degrees", "u", "a", "torques", "force"), V3)
def test_v3_torques_and_the_force_in_the_first_joint(
    two_links: Robot,
    degrees: list[float],
    u: list[float],
    a: list[float],
    torques: list[float],
    force: list[float] | None,
) -> None:
    q = np.radians(degrees)
    assert np.allclose(two_links.inverse_dynamics(q, u, a), torques, atol=1e-8)
    if force is not None:
        assert np.allclose(first_joint_force(two_links, q, u, a), force, atol=1e-8)


def first_joint_force(arm: Robot, q: Array, u: Sequence[float], a: Sequence[float]) -> Array:
    """Return the force of the ground on the first link, in the world's axes."""
    own = arm.reactions(q, u, a)[0, :3]
    return np.asarray(arm.pose(q, "l1")[:3, :3] @ own)


@pytest.mark.parametrize("printed", [True, False])
def test_v3_own_weights_have_moments(two_links: Robot, printed: bool) -> None:
    """Check 35: the recursion with S6 as printed, m r x (w x (w x r)), fails; m r x a does not.

    It is ROBSIM's own: inertia about the joints, torques from the tip inward.
    """
    worst = 0.0
    for q, u, a in (
        ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
        (np.radians([30.0, 45.0]), [1.0, -0.5], [0.2, 0.8]),
    ):
        angle, w, bend = np.cumsum(q), np.cumsum(u), np.cumsum(a)
        along = [np.array([math.cos(x), 0.0, -math.sin(x)]) for x in angle]
        places = [np.zeros(3), 1.0 * along[0]]
        y = np.array([0.0, 1.0, 0.0])
        moved = [np.array([0.0, 0.0, 9.81])]
        spin, turn = w[0] * y, bend[0] * y
        moved.append(
            moved[0] + np.cross(turn, places[1]) + np.cross(spin, np.cross(spin, places[1]))
        )
        found: list[float] = []
        force, torque = np.zeros(3), np.zeros(3)
        for k in (1, 0):
            mass, length = (5.0, 1.0) if k == 0 else (3.0, 0.8)
            spin, turn, r = w[k] * y, bend[k] * y, length / 2 * along[k]
            inner = np.cross(spin, np.cross(spin, r))
            own = mass * (moved[k] + np.cross(turn, r) + inner)
            lever = places[1] - places[0] if k == 0 else np.zeros(3)
            sixth = mass * np.cross(r, inner if printed else moved[k])
            torque = torque + mass * length**2 / 3 * turn + np.cross(lever, force) + sixth
            force = force + own
            found.insert(0, float(torque[1]))
        worst = max(worst, float(np.abs(found - two_links.inverse_dynamics(q, u, a)).max()))
        if printed and not any(u):
            assert found == pytest.approx([-29.43, 0.0], abs=1e-12)
    assert worst > 11 if printed else worst < 1e-12


def test_v3_mass_matrix(two_links: Robot) -> None:
    found = two_links.mass_matrix([0.3, math.radians(45)])
    expected = [[7.0037229415, 1.4885281374], [1.4885281374, 0.64]]
    assert np.allclose(found, expected, atol=1e-9)


def test_v3_a_force_at_the_tool_is_held_by_the_transposed_jacobian(two_links: Robot) -> None:
    """Check 38: the wrench enters the recursion; work in a small motion equals the joints'."""
    q, f = np.radians([20.0, 50.0]), np.array([3.0, 0.0, -7.0])
    step, still = 1e-6, np.zeros(2)

    def height(at: Array) -> float:
        return float(f @ two_links.position(at, "tool"))

    by_differences = [(height(q + step * e) - height(q - step * e)) / (2 * step) for e in np.eye(2)]
    wrench = [*f, 0.0, 0.0, 0.0]
    loaded = two_links.inverse_dynamics(q, still, still, wrench=wrench, frame="tool")
    assert np.allclose(loaded - two_links.gravity(q), by_differences, atol=1e-8)


# -- V4 --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_v4_a_point_mass_that_slides_on_a_turning_rail(seed: int) -> None:
    """tau = m rho^2 theta'' + 2 m rho rho' theta', F = m (rho'' - rho theta'^2)."""
    sections: list[Section] = [("hinge", 0.0, STRAIGHT), ("slider", 0.0, STRAIGHT)]
    rail = robot(sections, 0.0, masses=[None, Mass(1.7)], gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(seed)
    (theta, rho), (w, v), (alpha, a) = rng.uniform(-2, 2, (3, 2))
    found = rail.inverse_dynamics([theta, rho], [w, v], [alpha, a])
    expected = [1.7 * rho**2 * alpha + 2 * 1.7 * rho * v * w, 1.7 * (a - rho * w**2)]
    assert np.allclose(found, expected, atol=1e-12)


def test_a_mixed_arm_with_a_slider_keeps_its_energy() -> None:
    """Six joints, one of them a slider, in free motion for 1 s by RK4 with 1 ms (check 36)."""
    sections: list[Section] = [
        ("swivel", 0.1, STRAIGHT),
        ("hinge", 0.3, STRAIGHT),
        ("slider", 0.4, STRAIGHT),
        ("hinge", 0.4, sequence("x", 90)),
        ("hinge", 0.2, sequence("x", -90)),
        ("swivel", 0.1, STRAIGHT),
    ]
    masses = [
        Mass(m, (0.1, 0.01, 0.02), (0.05, 0.08, 0.07, 0.0, 0.0, 0.0)) for m in range(6, 0, -1)
    ]
    arm = robot(sections, 0.1, masses=masses)
    q, u = np.array([0.2, 0.3, 0.1, -0.4, 0.5, 0.6]), np.array([0.5, -0.3, 0.2, 0.4, -0.6, 1.0])
    start = dict(zip((*arm.coordinates, *arm.speeds), [*q, *u], strict=True))
    run = lw.simulate(arm.mechanism, 1.0, step=1e-3, method="rk4", initial=start)
    q_end = np.array([run.final[name] for name in arm.coordinates])
    u_end = np.array([run.final[name] for name in arm.speeds])

    def energy(q: Array, u: Array) -> float:
        return float(arm.kinetic_energy(q, u) + arm.potential_energy(q))

    assert np.abs(q_end - q).max() > 0.5
    scale = float(arm.kinetic_energy(q_end, u_end))
    assert abs(energy(q_end, u_end) - energy(q, u)) < 1e-6 * scale


# -- V5 --------------------------------------------------------------------------------------------
def test_v5_a_profile_of_rates_and_its_displacement(two_links: Robot) -> None:
    """Checks 21 and 22: rates c0 + c1 t + c2 t^2, exact; ROBSIM's steps approach them slowly."""
    task = lw.Task([TaskSegment({"q1": [0.1, 0.02, -0.001]})], stop=10.0)
    exact = lw.sizing.require(two_links, task, step=0.1, dynamics=False)
    assert exact["q1_dot"][50] == pytest.approx(0.175, abs=1e-12)
    assert exact["q1"][-1] == pytest.approx(1.6666667, abs=1e-7)
    errors = []
    for step, expected in ((0.1, 1.66165), (0.05, 1.6641625), (0.025, 1.665415625)):
        old = lw.sizing.require(two_links, task, step=step, scheme="robsim", dynamics=False)
        assert old.times[-1] == pytest.approx(10.0)
        assert old["q1"][-1] == pytest.approx(expected, abs=1e-9)
        errors.append(exact["q1"][-1] - old["q1"][-1])
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.01)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.01)


# -- V6 --------------------------------------------------------------------------------------------
V6 = lw.Task(
    [TaskSegment({"x": 0.1, "z": -0.05}, 0.0, 2.0, control="tool", free=("y", "rx", "ry", "rz"))],
    start={"q1": math.radians(-60), "q2": math.radians(90)},
)


@pytest.mark.parametrize(
    ("step", "expected"), [(0.02, 2.56635e-4), (0.01, 1.28356e-4), (0.005, 6.41875e-5)]
)
def test_v6_a_tool_rate_drifts_with_the_step(
    two_links: Robot, step: float, expected: float
) -> None:
    """Check 28: steps of Euler by the x and z rows, without feedback of position."""
    old = lw.sizing.require(two_links, V6, step=step, scheme="robsim", dynamics=False)
    assert old["tool.error"][-1] == pytest.approx(expected, rel=1e-5)


def test_v6_correction_removes_the_drift(two_links: Robot) -> None:
    """Check 28: the default feeds the error back, and follows the curve."""
    need = lw.sizing.require(two_links, V6, step=0.02)
    assert np.nanmax(need["tool.error"][1:]) < 1e-6
    fine = lw.sizing.require(two_links, V6, step=0.002)
    assert np.nanmax(fine["tool.error"][2:]) < 1e-10
    q = np.array([fine["q1"], fine["q2"]]).T
    start = two_links.position(q[0], "tool")
    line = start + fine.times[:, None] * [0.1, 0.0, -0.05]
    assert np.allclose(two_links.position(q, "tool"), line, atol=1e-9)
    loose = lw.sizing.require(two_links, V6, step=0.002, correct=False)
    assert 1e-13 < loose["tool.error"][-1] < 1e-7  # it follows the curve, and drifts a little
