"""The inverse-kinematics servo of laboratories: bases that float, and joints that it lists."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass, Place
from linkwright.lab.config import EndEffector, JointConfig, LabConfig
from linkwright.lab.servos.invkin import add_invkin, inverse_kinematics_servo
from linkwright.robots import Robot

START = np.array([0.1, 0.5, 0.6, 0.2])
AT, ANGLE = np.array([1.0, 2.0, 3.0]), 0.4
TURN = np.array(
    [[np.cos(ANGLE), -np.sin(ANGLE), 0], [np.sin(ANGLE), np.cos(ANGLE), 0], [0, 0, 1.0]]
)


def config() -> LabConfig:
    """An arm of four joints on a base that floats; the servo lists three of them."""
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)]
    links, joints = [Link("base", Mass(5.0))], []
    for k, axis in enumerate(axes):
        place = Place((0.2 if k else 0.0, 0.0, 0.0))
        joints.append(LinkJoint(f"j{k}", "revolute", links[-1].name, f"l{k}", place, axis))
        links.append(Link(f"l{k}", Mass(1.0)))
    found = (
        JointConfig(f"j{k}", -2, 2, default=x, rest=x) for k, x in enumerate(map(float, START))
    )
    return LabConfig(
        "diver",
        Description("diver", tuple(links), tuple(joints)),
        tuple(found),
        base="floating",
        end_effectors=(EndEffector("HAND", "l3", x=(0.1, 0.0, 0.0)),),
        servos={"invkin": ("j0", "j1", "j2")},
    )


def test_a_hand_stays_in_the_world_while_its_base_drifts() -> None:
    """Targets are along the world's axes; a joint that is not listed holds (SL check 5)."""
    lab = config()
    robot = Robot(lab.description, base="fixed")

    def hand(q: np.ndarray, t: float) -> np.ndarray:
        pose = robot.pose(q, "l3")
        seen = pose[:3, 3] + pose[:3, :3] @ [0.1, 0.0, 0.0]
        return np.asarray(AT + [0.1 * t, 0, 0] + TURN @ seen)

    goal = hand(START, 0.0)
    world = lw.Block("world")
    half = [np.cos(ANGLE / 2), 0.0, 0.0, np.sin(ANGLE / 2)]
    world.output_vector("base", [AT[0] + 0.1 * world.time, AT[1], AT[2], *half])
    world.output_vector("twist", [0.1, 0, 0, 0, 0, 0])
    world.output_vector("target", [*goal, *[0] * 6, 1, 0, 0, 0, *[0] * 6])
    world.output_vector("status", [1, 1, 1, 0, 0, 0])
    system = lw.System(name="drift")
    source = system.add(world)
    q, _, _ = add_invkin(
        system,
        lab,
        rate=480,
        on=1,
        start=list(START),
        target=list(source.target),
        status=list(source.status),
        base=list(source.base),
        base_rate=list(source.twist),
    )
    for k, joint in enumerate(q):
        system.expose(f"q{k}", joint)
    run = lw.simulate(system, until=0.5)
    rows = np.stack([run[f"q{k}"] for k in range(4)], axis=1)
    away = [np.linalg.norm(hand(x, t) - goal) for t, x in zip(run.times, rows, strict=True)]
    assert max(away) < 1e-6
    assert np.abs(rows[-1] - rows[0])[:3].max() > 0.05
    assert np.all(rows[:, 3] == START[3])


def test_a_laboratory_without_an_end_effector_has_no_such_servo() -> None:
    bare = LabConfig("bare", config().description, config().joints)
    with pytest.raises(InputError, match="no end-effector for inverse kinematics"):
        inverse_kinematics_servo(bare)
