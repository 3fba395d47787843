"""Choices for bodies change the operations, never the motion; counts stay at or below the stated.

Oracle of the motion: Kane's equations, which know nothing of the choices (and are compared with
Pinocchio and MuJoCo in `test_dynamics_properties`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwright.equations import FORMULATIONS, Equations, derive
from linkwright.equations.choices import (
    DEFAULT,
    NO_SHIFT,
    SHIFT_ALL,
    SHIFT_TURNING,
    Choices,
    options,
    places,
)
from linkwright.equations.kernels import inverse_dynamics_program, mass_matrix_program
from linkwright.equations.search import dynamics
from linkwright.mechanism import Kinematics, Mechanism
from linkwright.models import load_model
from linkwright.program import Program, lower
from linkwright.program.interpret import interpret
from tests.random_mechanisms import mechanism_of, random_sample, solved

TURNING = ("revolute", "minus", "referred", "prismatic", "revolute", "weld", "planar", "free")


def random_choices(kinematics: Kinematics, rng: np.random.Generator) -> Choices:
    """Return choices that differ from the usual ones in about half of all settings."""
    at = places(kinematics)
    made = {}
    for body in kinematics.mechanism.bodies.values():
        offer = options(kinematics, body, at[body])
        picked = {k: v[rng.integers(len(v))] for k, v in offer.items() if rng.random() < 0.6}
        made[body.name] = replace(DEFAULT, **picked)  # type: ignore[arg-type]
    shift = (NO_SHIFT, SHIFT_TURNING, SHIFT_ALL)[rng.integers(3)]
    return Choices(made, shift)


def with_choices(m: Mechanism, choices: Choices, monkeypatch: pytest.MonkeyPatch) -> Equations:
    monkeypatch.setitem(FORMULATIONS, "trial", lambda k, r, w: dynamics(k, r, w, choices))
    return derive(m, "trial")


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_changes_the_motion_of_a_tree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = TURNING if seed % 2 else ("revolute", "prismatic", "screw", "ball", "free quaternion")
    sample = random_sample(seed, 5, kinds)
    m = mechanism_of(sample)
    expected = solved(derive(m, "kane"), sample.coordinates, sample.speeds)["u_dot"]
    rng = np.random.default_rng(seed)
    for _ in range(3):
        choices = random_choices(m.kinematics(), rng)
        made = with_choices(m, choices, monkeypatch)
        found = solved(made, sample.coordinates, sample.speeds)["u_dot"]
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-8), choices.told()


@pytest.mark.parametrize("seed", range(40, 48))
def test_inverse_dynamics_and_mass_matrix_of_a_tree(seed: int) -> None:
    """The one recursion gives M a - f, with M and f of Kane's equations."""
    sample = random_sample(seed, 4, TURNING)
    m = mechanism_of(sample)
    oracle = derive(m, "kane")
    choices = random_choices(m.kinematics(), np.random.default_rng(seed))
    check_kernels(oracle, {**sample.coordinates, **sample.speeds}, choices)


@pytest.mark.parametrize("name", ["cart", "four-bar", "whipple", "puma560"])
def test_inverse_dynamics_and_mass_matrix_of_models(name: str) -> None:
    """Also where speeds are eliminated, and with geared rotors; inputs count as zero."""
    m = load_model(name)
    rng = np.random.default_rng(7)
    names = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
    state = {n: float(rng.uniform(0.2, 0.5)) for n in names}
    check_kernels(derive(m, "kane"), state, None)


def check_kernels(oracle: Equations, state: dict[str, float], choices: Choices | None) -> None:
    m, n = oracle.mechanism, len(oracle.speeds)
    roots = [*(x for row in oracle.mass for x in row), *oracle.right]
    program = oracle.assemble(
        "oracle", {"M": [list(r) for r in oracle.mass], "f": list(oracle.right)}, {}, roots
    )
    idle = dict.fromkeys(m.inputs, 0.0)
    given = {**m.values, **idle, **state, "t": 0.0}
    mass, right = run(program, given)
    rates = np.random.default_rng(3).normal(size=n)
    given |= {
        oracle.kinematics.accelerations[u].name: float(a)
        for u, a in zip(oracle.speeds, rates, strict=True)
    }
    (tau,) = run(inverse_dynamics_program(oracle, choices), given)
    expected = mass.reshape(n, n) @ rates - right
    assert tau == pytest.approx(expected, rel=1e-8, abs=1e-8 * np.abs(expected).max())
    (found,) = run(mass_matrix_program(oracle, choices), given)
    assert found.ravel() == pytest.approx(mass.ravel(), rel=1e-8, abs=1e-9)


def run(program: Program, given: dict[str, float]) -> list[np.ndarray]:
    inputs = [np.array([given[x.name] for x in port.entries]) for port in program.inputs]
    return [np.asarray(x) for x in interpret(lower(program), inputs)]
