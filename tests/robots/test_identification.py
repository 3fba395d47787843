"""Identification: known parameters are found again, with honest deviations, and stay physical."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import InputError, ShapeError
from linkwright.formats.robot.description import Description
from linkwright.formats.urdf import read_urdf
from linkwright.robots.identification import estimate, excite, with_estimate
from linkwright.robots.identification.excitation import Excitation
from linkwright.robots.identification.physical import best_physical, pseudo_inertia
from tests.seeds import seldom

Array = NDArray[np.float64]
ARM = Path(__file__).parents[1] / "robots" / "oblique_arm.urdf"


@pytest.fixture(scope="module")
def description() -> Description:
    return read_urdf(ARM)


@pytest.fixture(scope="module")
def robot(description: Description) -> lw.Robot:
    return lw.Robot(description)


@pytest.fixture(scope="module")
def motion(robot: lw.Robot) -> Excitation:
    return excite(robot, trials=15, seed=2)


def test_excitation_keeps_to_the_limits_and_beats_a_single_trial(
    robot: lw.Robot, motion: Excitation
) -> None:
    _, q, u, _ = motion.sampled(100)
    assert np.all(q >= robot.limits[:, 0])
    assert np.all(q <= robot.limits[:, 1])
    assert np.all(np.abs(u) <= robot.speed_limits * 1.001)
    assert motion.condition <= excite(robot, trials=1, seed=2).condition
    assert motion.condition < 1e4


@seldom(daily="test_friction_and_rotors_are_found")
def test_parameters_are_found_exactly_without_noise(robot: lw.Robot, motion: Excitation) -> None:
    _, q, u, a = motion.sampled(30)
    tau = robot.inverse_dynamics(q, u, a)
    found = estimate(robot, q, u, a, tau)
    assert np.all(found.residuals < 1e-8)
    truth = robot.base.regrouping @ robot.inertial_parameters
    by_name = {b.name: b.value for b in found.base}
    expected = dict(zip(robot.base.names, truth, strict=True))
    shared = [name for name in expected if name in by_name]
    assert len(shared) >= 0.8 * len(expected)
    again = lw.Robot(with_estimate(robot, found))
    assert np.abs(again.inverse_dynamics(q, u, a) - tau).max() < 1e-4 * np.abs(tau).max()


def test_deviations_are_honest(robot: lw.Robot, motion: Excitation) -> None:
    """With noise of known size, the errors of the base parameters have the deviations stated."""
    _, q, u, a = motion.sampled(30)
    clean = robot.inverse_dynamics(q, u, a)
    exact = {b.name: b.value for b in estimate(robot, q, u, a, clean).base}
    sigma = 0.02 * clean.std(axis=0) + 1e-3
    scores = []
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=clean.shape) * sigma
        found = estimate(robot, q, u, a, clean + noise)
        assert np.allclose(found.residuals, sigma, rtol=0.25)
        scores += [(b.value - exact[b.name]) / b.deviation for b in found.base]
    assert 0.8 < float(np.std(scores)) < 1.2
    assert float(np.mean(np.abs(scores) < 1.96)) > 0.9


def test_what_is_found_is_physical_even_from_noisy_data(
    robot: lw.Robot, motion: Excitation
) -> None:
    _, q, u, a = motion.sampled(10)
    tau = robot.inverse_dynamics(q, u, a)
    noise = np.random.default_rng(1).normal(size=tau.shape) * 0.2 * tau.std(axis=0)
    found = estimate(robot, q, u, a, tau + noise)
    for link in robot.links:
        keys = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
        p = np.array([found.parameters[f"{link}.{key}"] for key in keys])
        values = np.linalg.eigvalsh(pseudo_inertia(p))
        assert values.min() > -1e-12 * values.max()
    assert np.all(found.physical_residuals < 1.5 * found.residuals + 1e-3)


def test_a_heavier_link_is_noticed_and_written_back(
    description: Description, robot: lw.Robot, motion: Excitation, tmp_path: Path
) -> None:
    """A payload in the last link: estimated from its forces, written to a file, read again."""
    name = robot.links[-1]
    links = []
    for link in description.links:
        if link.name == name:
            assert link.mass is not None
            links.append(replace(link, mass=replace(link.mass, mass=link.mass.mass + 2.0)))
        else:
            links.append(link)
    loaded = lw.Robot(replace(description, links=tuple(links)))
    _, q, u, a = motion.sampled(40)
    tau = loaded.inverse_dynamics(q, u, a)
    found = estimate(robot, q, u, a, tau)
    path = tmp_path / "found.urdf"
    lw.write_description(with_estimate(robot, found), path)
    again = lw.load(path, friction=True)
    assert np.abs(again.inverse_dynamics(q, u, a) - tau).max() < 1e-3 * np.abs(tau).max()
    assert np.abs(robot.inverse_dynamics(q, u, a) - tau).max() > 1e-2 * np.abs(tau).max()


def test_friction_and_rotors_are_found(description: Description, motion: Excitation) -> None:
    joints = tuple(
        replace(j, damping=0.7, friction=0.3, armature=0.05) if j.kind == "revolute" else j
        for j in description.joints
    )
    rough = lw.Robot(replace(description, joints=joints))
    _, q, u, a = motion.sampled(40)
    moving = np.all(np.abs(u) > 0.05, axis=1)  # dry friction is smooth around rest
    q, u, a = q[moving], u[moving], a[moving]
    found = estimate(lw.Robot(description), q, u, a, rough.inverse_dynamics(q, u, a))
    names = [j.name for j in description.joints if j.kind == "revolute"]
    for name in names:
        assert found.parameters[f"{name}.viscous"] == pytest.approx(0.7, abs=0.05)
        assert found.parameters[f"{name}.dry"] == pytest.approx(0.3, abs=0.05)


# -- physical links --------------------------------------------------------------------------------
def _objective(x: Array, rows: Array, goal: Array, known: Array, small: Array, w: float) -> float:
    """Return what is minimized, infinite where no link is real."""
    total = float(np.sum((rows @ x - goal) ** 2)) / 2
    for p, before in zip(x[:-1].reshape(-1, 10), known.reshape(-1, 10), strict=True):
        matrix = pseudo_inertia(p)
        if np.linalg.eigvalsh(matrix).min() <= 0:
            return np.inf
        inverse = np.linalg.inv(pseudo_inertia(before))
        total += w * (float(np.trace(inverse @ matrix)) - float(np.linalg.slogdet(matrix)[1]))
    return np.inf if x[-1] <= 0 else total + w * float(x[-1] / small[0] - np.log(x[-1]))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1e-6, 1e-2, 1.0]))
@example(1538221, 1e-6)
def test_no_other_real_parameters_are_better(seed: int, weight: float) -> None:
    """Near what was found, and toward the best without constraints, the sum only grows."""
    rng = np.random.default_rng(seed)
    ball = np.array([2.0, 0.2, 0.1, 0.0, 0.3, -0.01, 0.32, 0.0, 0.0, 0.31])
    known, small = np.concatenate([ball, 0.5 * ball]), np.array([0.01])
    rows, goal = rng.normal(size=(40, 21)), 3 * rng.normal(size=40)
    found = best_physical(rows, goal, known, small, weight)
    least = _objective(found, rows, goal, known, small, weight)
    assert np.isfinite(least)
    free = np.linalg.lstsq(rows, goal, rcond=None)[0]
    steps = [*(1e-4 * rng.normal(size=(30, 21))), 1e-3 * (free - found), found * 1e-3]
    for step in steps:
        assert _objective(found + step, rows, goal, known, small, weight) > least - 1e-9 * abs(
            least
        )


def test_without_data_what_was_known_stays() -> None:
    """A real link comes back as it was, and one that is not becomes real."""
    ball = np.array([2.0, 0.2, 0.1, 0.0, 0.3, -0.01, 0.32, 0.0, 0.0, 0.31])
    odd = np.array([1, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5])
    nothing = np.zeros((20, 21))
    found = best_physical(
        nothing, np.zeros(20), np.concatenate([ball, odd]), np.array([0.01]), 1e-6
    )
    np.testing.assert_allclose(found[:10], ball, atol=1e-9)
    np.testing.assert_allclose(found[20], 0.01)
    assert np.linalg.eigvalsh(pseudo_inertia(found[10:20])).min() > 0


def test_refusals(robot: lw.Robot) -> None:
    n = len(robot.speeds)
    z = np.zeros((2, n))
    with pytest.raises(InputError, match="too few"):
        estimate(robot, z, z, z, z)
    with pytest.raises(ShapeError, match="different numbers"):
        estimate(robot, z, z, z, np.zeros((3, n)))
    with pytest.raises(InputError, match="finite"):
        estimate(robot, z, z, z, np.full((2, n), np.nan))


@seldom(daily="test_a_heavier_link_is_noticed_and_written_back")
def test_names_that_code_cannot_have_are_written_back(description: Description) -> None:
    """Friction goes to the joint of the file, whatever that is called."""
    renamed = replace(
        description, joints=tuple(replace(j, name=f"{j.name} (left)") for j in description.joints)
    )
    robot = lw.Robot(renamed)
    q, u, a = np.random.default_rng(3).normal(size=(3, 60, len(robot.speeds)))
    tau = robot.inverse_dynamics(q, u, a) + 0.5 * u
    better = with_estimate(robot, estimate(robot, q, u, a, tau))
    moving = [joint for joint in better.joints if joint.kind != "weld"]
    before = {joint.name: joint.damping for joint in renamed.joints}
    assert [j.damping - before[j.name] for j in moving] == pytest.approx(
        [0.5] * len(moving), abs=1e-3
    )


@seldom(daily="test_a_heavier_link_is_noticed_and_written_back")
def test_a_mechanism_is_written_back_as_a_robot(puma: lw.Robot) -> None:
    """What is found of a shipped arm explains its torques when it comes back from a description."""
    q, u, a = np.random.default_rng(4).normal(size=(3, 80, 6))
    tau = puma.inverse_dynamics(q, u, a)
    again = lw.Robot(with_estimate(puma, estimate(puma, q, u, a, tau)))
    assert again.coordinates == puma.coordinates
    left = again.inverse_dynamics(q, u, a) - tau
    assert float(np.std(left)) < 0.05 * float(np.std(tau))
