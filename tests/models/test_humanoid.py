"""The humanoid: proportions, dynamics as Pinocchio has them, and what it does on a ground."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.robot.ground import grounded
from linkwright.robots import Robot
from tests.seeds import seeds, seldom
from tests.support.late import Late

pinocchio = Late("pinocchio")

FILE = Path(lw.__file__).parent / "models" / "robots" / "humanoid.urdf"


@cache
def humanoid() -> Robot:
    """The robot of the shipped model."""
    return Robot("humanoid")


def test_it_has_the_proportions_of_a_person_and_is_symmetric() -> None:
    """65 kg; legs a third of it and arms a tenth (Winter); the mirror of one side is the other."""
    robot, q = humanoid(), humanoid().neutral
    assert robot.mass == pytest.approx(65.0)
    assert len(robot.speeds) == 28
    center = robot.center_of_mass(q)
    assert center[1] == pytest.approx(0.0, abs=1e-12)
    assert 0.55 < center[2] / 1.70 < 0.60  # Winter: the height of the center over that of the body
    masses = {b.name: float(str(b.inertia.mass)) for b in robot.mechanism.depth_first()}
    leg = ("hip", "thigh", "shank", "ankle", "foot")
    share = {
        "legs": sum(m for name, m in masses.items() if any(word in name for word in leg)),
        "arms": sum(m for n, m in masses.items() if "arm" in n or "shoulder" in n),
    }
    assert share["legs"] / 65.0 == pytest.approx(2 * 0.161, abs=0.02)
    assert share["arms"] / 65.0 == pytest.approx(2 * 0.050, abs=0.02)
    for name in ("sole", "thigh", "forearm"):
        left, right = (robot.position(q, f"{side}_{name}") for side in ("left", "right"))
        assert left == pytest.approx(right * [1, -1, 1], abs=1e-12)


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_its_dynamics_are_those_of_pinocchio(seed: int) -> None:
    robot, rng = humanoid(), np.random.default_rng(seed)
    model = pinocchio.buildModelFromUrdf(str(FILE))
    data, limits = model.createData(), robot.limits[7:]
    q, still = robot.neutral.copy(), np.zeros(28)
    q[:3], e = rng.normal(size=3), rng.normal(size=4)
    q[3:7] = e / np.linalg.norm(e)
    q[7:] = rng.uniform(limits[:, 0], limits[:, 1])
    q_p, rotation = np.zeros(29), robot.pose(q, "pelvis")[:3, :3]
    q_p[:3], q_p[3:7] = q[:3], [*q[4:7], q[3]]
    S = np.zeros((28, 28))  # speeds of Pinocchio of ours: the base along its own axes
    J = robot.jacobian(q, "pelvis")  # place of the pelvis along the world's, then its turning
    S[:3], S[3:6] = rotation.T @ J[:3], rotation.T @ J[3:]
    names = [name.rpartition(".")[2] for name in robot.coordinates[7:]]
    for k, name in enumerate(names):
        joint = model.joints[model.getJointId(name)]
        q_p[joint.idx_q], S[joint.idx_v, 6 + k] = q[7 + k], 1.0
        strong = model.effortLimit[joint.idx_v] >= 100  # motors behind gears of 30
        model.armature[joint.idx_v] = 30**2 * (5e-5 if strong else 2e-5)
    assert robot.mass_matrix(q) == pytest.approx(
        S.T @ pinocchio.crba(model, data, q_p) @ S, abs=1e-9
    )
    weight = S.T @ pinocchio.nonLinearEffects(model, data, q_p, np.zeros(model.nv))
    assert robot.nonlinear_effects(q, still) == pytest.approx(weight, abs=1e-9)
    center = pinocchio.centerOfMass(model, data, q_p)
    assert robot.center_of_mass(q) == pytest.approx(center, abs=1e-12)


@seldom(daily="test_its_dynamics_are_those_of_pinocchio")
def test_without_torques_it_falls_onto_the_ground() -> None:
    """It touches with four corners of each foot; its knees give way, and it loses height."""
    found = grounded(humanoid())
    assert sorted(t.link for t in found.touches) == ["left_foot"] * 4 + ["right_foot"] * 4
    assert len({tuple(np.round(t.at, 9)) for t in found.touches}) == 4
    system = lw.robots.on_ground(humanoid())
    run = lw.simulate(system, 0.3, every=50)
    q = np.array([run.final[name] for name in humanoid().coordinates])
    height = humanoid().center_of_mass(humanoid().neutral)[2] - humanoid().center_of_mass(q)[2]
    assert 0.0 < height < 9.81 * 0.3**2 / 2  # it falls, and no faster than freely
    assert math.isclose(float(np.linalg.norm(q[3:7])), 1.0, rel_tol=1e-9)
