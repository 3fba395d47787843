"""Choices for bodies change the operations, never the motion; counts stay at or below the stated.

Oracle of the motion: Kane's equations, which know nothing of the choices (and are compared with
Pinocchio and MuJoCo in `test_dynamics_properties`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwright.equations import FORMULATIONS, derive
from linkwright.equations.choices import (
    DEFAULT,
    NO_SHIFT,
    SHIFT_ALL,
    SHIFT_TURNING,
    Choices,
    options,
    places,
)
from linkwright.equations.search import dynamics
from linkwright.mechanism import Kinematics, Mechanism
from tests.random_mechanisms import mechanism_of, random_sample, solved

TURNING = ("revolute", "minus", "referred", "prismatic", "revolute", "weld", "planar", "free")


def random_choices(kinematics: Kinematics, rng: np.random.Generator) -> Choices:
    """Return choices that differ from the usual ones in about half of all settings."""
    at = places(kinematics)
    made = {}
    for body in kinematics.mechanism.bodies.values():
        offer = options(kinematics, body, at[body])
        picked = {k: v[rng.integers(len(v))] for k, v in offer.items() if rng.random() < 0.6}
        made[body.name] = replace(DEFAULT, **picked)
    shift = (NO_SHIFT, SHIFT_TURNING, SHIFT_ALL)[rng.integers(3)]
    return Choices(made, shift)


def with_choices(m: Mechanism, choices: Choices, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setitem(FORMULATIONS, "trial", lambda k, r, w: dynamics(k, r, w, choices))
    return derive(m, "trial")


@pytest.mark.parametrize("seed", range(24))
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
