"""Dynamics of described robots: against Pinocchio, whose model is built joint by joint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.formats.description import JOINT_KINDS, Description
from linkwright.program import lower
from linkwright.program.interpret import interpret
from linkwright.robots import Quantity, Robot
from tests.pinocchio_models import pin, pinocchio_model
from tests.random_robots import random_robot

KINDS = [kind for kind in JOINT_KINDS if kind not in ("fixed", "planar", "free")]


def relative(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the size of the numbers."""
    return float(np.abs(np.asarray(ours) - theirs).max() / max(1.0, np.abs(theirs).max()))


def full(upper: Any) -> Any:
    """Return a symmetric matrix from its upper triangle."""
    return np.triu(upper) + np.triu(upper, 1).T


def value(quantity: Quantity, *inputs: Any) -> Any:
    """Return a quantity from its Program as it is derived, without optimiser and compiler."""
    (result,) = interpret(lower(quantity.derived()), inputs)
    return result


def compare(description: Description, base: str = "file", seed: int = 0) -> None:
    """Compare every quantity of the equations of motion at a random state."""
    robot = Robot(description, base=base)
    model = pinocchio_model(description, base)
    data = model.createData()
    rng = np.random.default_rng(seed)
    q = robot.random(seed=seed)
    u, a = rng.normal(size=(2, len(robot.speeds)))
    tau = value(robot.inverse_dynamics, q, u, a)
    q_, u_, a_, tau_ = robot.to_pinocchio(q, u, a, tau, model=model)
    back = robot.from_pinocchio(q_, u_, a_, tau_, model=model)
    for given, found in zip((q, u, a, tau), back, strict=True):
        np.testing.assert_allclose(found, given, atol=1e-12)
    order = robot.to_pinocchio(q, np.arange(len(robot.speeds)), model=model)[1].astype(int)
    place = np.argsort(order)
    assert relative(tau_, pin.rnea(model, data, q_, u_, a_)) < 1e-11
    mass = full(pin.crba(model, data, q_))[np.ix_(place, place)]
    assert relative(value(robot.mass_matrix, q), mass) < 1e-11
    assert relative(value(robot.inverse_mass_matrix, q) @ mass, np.eye(len(u))) < 1e-9
    assert relative(value(robot.forward_dynamics, q, u, tau), a) < 1e-9
    assert (
        relative(value(robot.gravity, q), pin.computeGeneralizedGravity(model, data, q_)[place])
        < 1e-11
    )
    assert (
        relative(value(robot.bias, q, u), pin.nonLinearEffects(model, data, q_, u_)[place]) < 1e-11
    )


@pytest.mark.parametrize("kind", [k for k in JOINT_KINDS if k != "fixed"])
def test_a_joint_of_each_kind_on_the_ground_and_what_hangs_on_it(kind: str) -> None:
    """The joint, a turning and a sliding one behind it, agree with Pinocchio's joints."""
    compare(random_robot(3, [kind, "revolute", "prismatic"], chain=True, armature=0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_of_each_kind_within_a_chain(kind: str) -> None:
    """The joint between two turning ones agrees with Pinocchio's."""
    compare(random_robot(4, ["revolute", kind, "revolute"], chain=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("right_angles", [False, True])
def test_trees_of_mixed_joints_on_a_free_base(seed: int, right_angles: bool) -> None:
    """Random trees on a free base agree with Pinocchio, base force and moment included."""
    rng = np.random.default_rng(seed)
    kinds = list(rng.choice(["revolute", "revolute", "prismatic", "fixed", "ball"], 7))
    compare(random_robot(seed, kinds, right_angles=right_angles, armature=0.05), "free", seed)


@pytest.mark.parametrize("seed", range(3))
def test_arms_with_right_angles(seed: int) -> None:
    """Chains of turning joints whose axes are axes of the links agree with Pinocchio."""
    compare(random_robot(seed, ["revolute"] * 6, right_angles=True, chain=True), seed=seed)
