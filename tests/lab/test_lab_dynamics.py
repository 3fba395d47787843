"""The inverse-dynamics servo of a laboratory and its robot, against robots of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import EndEffector, JointConfig, LabConfig
from linkwright.lab.contacts import contacts
from linkwright.lab.lab import Lab
from linkwright.lab.plant import HELD, HOLD, LabMechanism, RobotDrive, lab_mechanism
from linkwright.lab.servos import InverseDynamicsServo
from linkwright.lab.sources import lab_config
from linkwright.lab.system import lab_system
from linkwright.robots import Robot
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from tests.support.lab_blocks import Array, driven

N, TICKS = 3, 12


def described(heavier: float = 1.0, *, root: Mass | None = None) -> Description:
    """A spatial arm with friction, whose mass centers lie off its axes."""
    masses = [
        Mass(heavier * m, at, (0.02, 0.03, 0.015, 0.0, 0.001, 0.0))
        for m, at in (
            (2.0, (0.1, 0.02, -0.1)),
            (1.5, (0.0, 0.03, -0.15)),
            (0.7, (0.05, 0.0, -0.05)),
        )
    ]
    links = (Link("base", root), *(Link(f"l{i}", mass) for i, mass in enumerate(masses)))
    joints = (
        LinkJoint("SFE", "revolute", "base", "l0", Place((0, 0.1, 0.3)), (0, 1, 0), damping=0.4),
        LinkJoint("SAA", "revolute", "l0", "l1", Place((0.1, 0, -0.3)), (1, 0, 0), damping=0.3),
        LinkJoint("EB", "revolute", "l1", "l2", Place((0, 0.05, -0.3)), (0, 1, 0), damping=0.1),
    )
    return Description("arm", links, joints)


HAND = EndEffector("HAND", "l2", (0.02, 0.01, -0.2), (0.3, -0.4, 0.5))


def config(*, description: Description | None = None, **changed: Any) -> LabConfig:
    given = described() if description is None else description
    joints = tuple(JointConfig(joint.name, -2, 2) for joint in given.joints)
    return LabConfig("arm", given, joints, **{"end_effectors": (HAND,), **changed})


@pytest.fixture(scope="module")
def arm() -> Robot:
    """The robot by itself, with its friction."""
    return Robot(described(), friction=True)


def motion_rows() -> dict[str, Array]:
    rng = np.random.default_rng(4)
    keys = ("des_q", "des_u", "des_a", "q", "u", "uex")
    return {key: rng.standard_normal((TICKS, N)) for key in keys} | {"mode": np.ones(TICKS)}


@pytest.mark.parametrize("executor", ["native", "python"])
def test_torques_are_of_the_wanted_or_of_the_measured_state(arm: Robot, executor: str) -> None:
    """SL checks 33 and 35: the one ignores the measured state; uex shifts the torques."""
    given = motion_rows()
    given["measured"] = np.repeat([0.0, 1.0], TICKS // 2)
    found = driven(InverseDynamicsServo(config()), given, executor)["tau"]
    rows = [given[key] for key in ("des_q", "des_u", "des_a")]
    wanted = arm.inverse_dynamics(*rows) + given["uex"]
    half = TICKS // 2
    np.testing.assert_allclose(found[:half], wanted[:half], rtol=1e-11, atol=1e-11)
    measured = arm.inverse_dynamics(given["q"], given["u"], given["des_a"]) + given["uex"]
    np.testing.assert_allclose(found[half:], measured[half:], rtol=1e-11, atol=1e-11)
    other = driven(InverseDynamicsServo(config()), given | {"q": given["q"] + 1}, executor)["tau"]
    np.testing.assert_array_equal(other[:half], found[:half])
    assert np.abs(other[half:] - found[half:]).max() > 0.1


def test_torques_are_given_where_mode_and_list_ask_for_them(arm: Robot) -> None:
    given = motion_rows()
    given["mode"] = np.repeat([0.0, 1.0, 2.0, 0.0], TICKS // 4)
    given["always"] = np.repeat([0.0, 0.0, 0.0, 1.0], TICKS // 4)
    found = driven(InverseDynamicsServo(config(servos={"invdyn": ("SFE", "EB")})), given)["tau"]
    rows = [given[key] for key in ("des_q", "des_u", "des_a")]
    wanted = arm.inverse_dynamics(*rows) + given["uex"]
    wanted[:, 1] = 0.0
    wanted[: TICKS // 4] = 0.0
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_a_load_at_the_hand_that_changes_during_a_run_adds_its_weight(arm: Robot) -> None:
    """SL check 34: mass m at rest adds m 9.81 times the z-row of J."""
    made = lab_mechanism(config())
    given = motion_rows()
    for key in ("des_u", "des_a", "uex"):
        given[key][:] = 0
    mass = np.linspace(0, 3, TICKS)
    load = np.tile([*made.load_values(HAND).values()], (TICKS, 1))
    load[:, 0] = mass
    given["HAND_load"] = load
    found = driven(InverseDynamicsServo(config(), made), given)["tau"]
    still = np.zeros(N)
    for k, q in enumerate(given["des_q"]):
        jacobian = arm.jacobian(q, "l2")
        rotation = arm.pose(q, "l2")[:3, :3]
        lever = rotation @ np.array(HAND.x)
        # velocity of the hand is v + w x lever
        row = jacobian[2] + np.cross(jacobian[3:].T, lever)[:, 2]
        wanted = arm.inverse_dynamics(q, still, still) + mass[k] * 9.81 * row
        np.testing.assert_allclose(found[k], wanted, rtol=1e-10, atol=1e-10)


def test_gravity_changes_during_a_run(arm: Robot) -> None:
    """setG: the servo's gravity is an input, not a folded number."""
    given = motion_rows()
    given["gravity"] = np.random.default_rng(5).standard_normal((TICKS, 3))
    given["gravity"][: TICKS // 2] = [0, 0, -9.81]
    found = driven(InverseDynamicsServo(config()), given)["tau"]
    rows = [given[key] for key in ("des_q", "des_u", "des_a")]
    base = np.array([0, 0, -9.81]) - given["gravity"]
    wanted = arm.inverse_dynamics(*rows, base=base) + given["uex"]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_the_model_of_the_servo_is_apart_from_the_simulation() -> None:
    given = motion_rows()
    found = driven(InverseDynamicsServo(config(model=described(1.7))), given)["tau"]
    rows = [given[key] for key in ("des_q", "des_u", "des_a")]
    heavy = Robot(described(1.7), friction=True)
    wanted = heavy.inverse_dynamics(*rows) + given["uex"]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


ROOT = Mass(4.0, (0.02, 0.0, 0.1), (0.2, 0.15, 0.1, 0.0, 0.01, 0.0))


def test_a_floating_base_counts_as_it_is_measured() -> None:
    described_root = described(root=ROOT)
    free = Robot(described_root, base="free", friction=True)
    floating = config(description=described_root, base="floating")
    given = motion_rows()
    rng = np.random.default_rng(6)
    turn = rng.standard_normal((TICKS, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    given["base"] = np.hstack([rng.standard_normal((TICKS, 3)), turn])
    given["base_rate"] = rng.standard_normal((TICKS, 6))
    given["base_acceleration"] = rng.standard_normal((TICKS, 6))
    found = driven(InverseDynamicsServo(floating), given)["tau"]
    rows = [
        np.hstack([given[first], given[second]])
        for first, second in (
            ("base", "des_q"),
            ("base_rate", "des_u"),
            ("base_acceleration", "des_a"),
        )
    ]
    wanted = free.inverse_dynamics(*rows)[:, 6:] + given["uex"]
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


# -- a base that is held ---------------------------------------------------------------------------
CONTACTS = {1: (2e4, 50.0, 30.0), 2: (2e4, 50.0, 1e3, 0.8, 0.5)}


def pushed_loop(base: str) -> tuple[PacedLoop, LabMechanism]:
    """An arm over two floors in one place, driven by sines and pushed at its hand."""
    floors = tuple(
        SceneObject(f"floor{k}", "cube", (), (0, 0, -0.48), (0, 0, 0), (9, 9, 0.2), k, (), given)
        for k, given in CONTACTS.items()
    )
    arm, frames = described(root=ROOT), (NamedFrame("tip", "l1", Place((0, 0.05, -0.55))),)
    arm = replace(arm, links=arm.links[:3], joints=arm.joints[:2], frames=frames)
    given = config(
        description=arm, base=base, end_effectors=(), vertices={"TIP": "tip"}, objects=floors
    )
    robot = lab_mechanism(given)
    system = lw.System(robot.mechanism, name="pushed", base=1000)
    system.set_initial({"SFE": 0.7, "SAA": 0.3})
    if robot.base:
        system.set_initial({robot.base[2].name: 0.3})
    drive = system.add(RobotDrive(robot))
    for contact in contacts(given, robot):
        system.add(contact)
    for i in range(2):
        system.connect(f"{4 + i}*sin({3 + i}*t)", drive.u[i])
    push = lw.Element("push", robot.mechanism)
    push.force_vector("user", [push.expr("20*sin(40*t)"), 5, -8], at=robot.point("tip"))
    system.add(push)
    settings = RunSettings(3600.0, method="rk4", step=1e-3, every=1)
    return PacedLoop(session_of(system, settings)[0], clock="virtual"), robot


def test_joints_on_a_base_that_is_held_move_as_on_a_fixed_one() -> None:
    """SL check 39: switched during a run; contacts and forces of the user still act."""
    free, robot = pushed_loop("floating")
    free.go_to(100)
    base, speeds = ([x.name for x in part] for part in (robot.base, robot.base_speeds))
    joints = [x.name for x in (*robot.joints, *robot.speeds)]
    before = free.session.state()
    assert before[base[2]] < 0.29  # it falls
    still = dict.fromkeys([*base, *speeds], 0.0) | {base[3]: 1.0}
    free.move(still)
    free.set({HOLD: HELD})
    free.go_to(600)
    fixed, _ = pushed_loop("fixed")
    fixed.go_to(100)
    fixed.move({name: before[name] for name in joints})
    fixed.go_to(600)
    held, wanted = free.samples(), fixed.samples()
    assert all(wanted[f"floor{k}.force1_z"].max() > 1 for k in CONTACTS)
    for name in joints:
        np.testing.assert_allclose(held[name][101:], wanted[name][101:], rtol=0, atol=1e-9)
    for name in base:
        np.testing.assert_allclose(held[name][101:], still[name], rtol=0, atol=1e-12)
    free.set({HOLD: 0.0})
    free.go_to(700)
    assert abs(free.session.state()[base[2]]) > 0.001


def test_a_laboratory_holds_its_base_and_lets_it_go() -> None:
    """SL check 39: back where it started, at rest, for as long as it is held; then it falls."""
    arm = described(root=ROOT)
    arm = replace(arm, links=arm.links[:2], joints=arm.joints[:1])
    joint = JointConfig("SFE", -2, 2, 0.4, kp=40.0, kd=2.0, max_effort=100.0)
    with Lab(LabConfig("hopper", arm, (joint,), base="floating")) as lab:
        lab.run(0.2)
        assert lab.base.x[2] < -0.1
        lab.freeze_base()
        lab.run(1.0)
        still = lab.base
        np.testing.assert_allclose(still.x, 0.0, atol=1e-9)
        np.testing.assert_allclose(still.q, [1, 0, 0, 0], atol=1e-9)
        np.testing.assert_allclose([*still.xd, *still.w], 0.0, atol=1e-9)
        # as on a fixed base: gravity over stiffness
        error = lab.state.q[0] - lab.desired.q[0]
        held = Robot(arm, friction=False).inverse_dynamics(lab.state.q, [0.0], [0.0])[0]
        assert error == pytest.approx(-held / 40.0, abs=1e-4)
        lab.freeze_base(False)
        lab.run(0.2)
        assert lab.base.x[2] == pytest.approx(-9.81 * 0.04 / 2, abs=0.02)


def test_a_link_may_have_the_name_of_a_servo() -> None:
    arm = described()
    links = (arm.links[0], replace(arm.links[1], name="motor"))
    joint = replace(arm.joints[0], child="motor")
    given = config(description=replace(arm, links=links, joints=(joint,)), end_effectors=())
    assert list(lab_system(given)["motor"].block.outputs) == ["ufb", "ahead", "tau"]


def test_joints_that_follow_others_count_in_torques_and_frames() -> None:
    """A gripper whose second finger mimics the first."""
    given = lab_config(Path(__file__).parents[1] / "robots" / "gripper.urdf")
    robot = Robot(given.description)
    n = len(given.joints)
    rng = np.random.default_rng(7)
    rows = {key: 0.1 * rng.standard_normal((TICKS, n)) for key in ("des_q", "des_u", "des_a")}
    found = driven(InverseDynamicsServo(given), rows | {"mode": np.ones(TICKS)})["tau"]
    np.testing.assert_allclose(found, robot.inverse_dynamics(*rows.values()), atol=1e-10)


TWO = """<robot name="two"><link name="base"/>
<link name="a"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="jb" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0.6 0 0"/>
<axis xyz="0 1 0"/></joint></robot>"""


def test_a_robot_that_swings_freely_keeps_its_energy(tmp_path: Path) -> None:
    """Kinetic energy by the mass matrix of inverse dynamics, potential energy by hand."""
    (tmp_path / "two.urdf").write_text(TWO)
    robot = Robot(str(tmp_path / "two.urdf"))

    def energy(q: np.ndarray, u: np.ndarray) -> float:
        still = np.zeros(2)
        rest = np.asarray(robot.inverse_dynamics(q, still, still))
        rows = [np.asarray(robot.inverse_dynamics(q, still, e)) - rest for e in np.eye(2)]
        high = 1.2 * np.sin(q[0]) + 0.2 * np.sin(q[0] + q[1])
        return float(0.5 * u @ np.array(rows) @ u - 9.81 * high)

    with Lab(str(tmp_path / "two.urdf")) as lab:
        lab.run(0.1)
        lab.stop("let it swing")
        lab.run(0.01)
        start = energy(lab.state.q, lab.state.u)
        for _ in range(4):
            lab.run(0.5)
            assert abs(energy(lab.state.q, lab.state.u) - start) < 1e-3  # of 13.7 J
        assert np.abs(lab.state.u).max() > 1
