"""The PUMA 560 through the robot's interface: the numbers of Corke's and Armstrong's model."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.robots import Robot
from tests.random.robots import random_robot

QN = np.array([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])
NONE, ONES = np.zeros(6), np.ones(6)


@pytest.fixture(scope="module")
def puma() -> Robot:
    """Return the arm with its drives."""
    return lw.Robot(lw.load("puma560"))


@pytest.fixture(scope="module")
def bare() -> Robot:
    """Return the arm without drives."""
    return lw.Robot(lw.load("puma560:drives=off"))


@pytest.mark.parametrize(
    ("u", "a", "tau"),
    [
        (NONE, NONE, [0, 31.6398803784, 6.0351380230, 0, 0.0282528, 0]),
        (
            NONE,
            ONES,
            [3.3531108581, 36.0025112440, 7.4259640774, 0.1900430346, 0.2034409311, 0.1941327899],
        ),
        (
            ONES,
            ONES,
            [32.4952427549, 60.8669884751, 17.7435949128, 1.4545190261, 1.2991104105, 0.7137808875],
        ),
        (
            ONES,
            NONE,
            [29.1421318969, 56.5043576095, 16.3527688584, 1.2644759915, 1.1239222794, 0.5196480975],
        ),
    ],
)
def test_inverse_dynamics_at_the_nominal_pose(
    puma: Robot, u: np.ndarray, a: np.ndarray, tau: list[float]
) -> None:
    """Torques with rotors and friction are those of the published model."""
    np.testing.assert_allclose(puma.inverse_dynamics(QN, u, a), tau, atol=2e-9)


def test_mass_matrix_gravity_and_release_from_rest(puma: Robot, bare: Robot) -> None:
    """M with and without rotors, gravity torques, and accelerations from rest without torque."""
    mass = puma.mass_matrix(QN)
    diagonal = [3.6593754122, 4.4137419336, 0.9378415752, 0.1925317061, 0.1713484517, 0.1941045057]
    np.testing.assert_allclose(np.diag(mass), diagonal, atol=1e-9)
    np.testing.assert_allclose(
        mass[0, 1:4], [-0.4043612460, 0.1006136478, -0.0025169558], atol=1e-9
    )
    assert mass[1, 2] == pytest.approx(0.3508906650, abs=1e-9)
    plain = [2.8753454435, 2.0889270886, 0.3609682433, 0.0017410800, 0.0006421600, 0.0000400000]
    np.testing.assert_allclose(np.diag(bare.mass_matrix(QN)), plain, atol=1e-9)
    hold = [0, 31.6398803784, 6.0351380230, 0, 0.0282528, 0]
    np.testing.assert_allclose(puma.gravity(QN), hold, atol=1e-9)
    fall = [-0.6619970387, -6.9292906973, -3.7714835420, -0.0086542491, -0.0368875517, 0.0000012611]
    np.testing.assert_allclose(puma.forward_dynamics(QN, NONE, NONE), fall, atol=1e-9)


def test_a_generic_state_on_both_branches_of_friction(puma: Robot, bare: Robot) -> None:
    """Torques with friction of both signs, and without drives."""
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    u = np.array([1, -1, 0.5, -0.5, 2, -2.0])
    a = np.arange(1.0, 7.0)
    full = [33.3082428366, 24.8467601133, 8.8705264359, -0.7194352309, 2.3604639121, -0.0720627448]
    np.testing.assert_allclose(puma.inverse_dynamics(q, u, a), full, atol=2e-9)
    off = [1.9910066000, 37.3488640651, -1.9395381551, 0.0082400394, -0.0136405681, 0.0003997278]
    np.testing.assert_allclose(bare.inverse_dynamics(q, u, a), off, atol=2e-9)
    np.testing.assert_allclose(bare.forward_dynamics(q, u, off), a, atol=1e-5)


def test_symbolic_parameters_are_an_input_with_the_values_of_the_file() -> None:
    """With symbolic parameters the forces are the same, and follow a parameter that is changed."""
    description = random_robot(21, ["revolute", "revolute"], chain=True)
    numbers, symbols = Robot(description), Robot(description, symbolic=True)
    q, u, a = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_allclose(
        symbols.inverse_dynamics(q, u, a), numbers.inverse_dynamics(q, u, a), atol=1e-12
    )
    names = symbols.inverse_dynamics.parameters
    p = np.array([symbols.parameters[name] for name in names])
    twice = p * np.array([2.0 if name.endswith("_m") or "_I" in name else 1.0 for name in names])
    np.testing.assert_allclose(
        symbols.inverse_dynamics(q, u, a, twice), 2 * numbers.inverse_dynamics(q, u, a), atol=1e-12
    )
    rows = symbols.inverse_dynamics(q, u, a, np.array([p, twice]))
    np.testing.assert_allclose(rows[1], 2 * rows[0], atol=1e-12)
