"""Error budgets, ISO 9283, and duty types of IEC 60034-1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linkwright as lw
from linkwright.formats.catalog.reader import read_catalog
from linkwright.parallel import ErrorBudget, ErrorSource, pose_accuracy
from linkwright.sizing import duty_cycle, duty_type
from linkwright.sizing.duty import DUTIES
from linkwright.sizing.thermal import ThermalNetwork, periodic


def budget() -> ErrorBudget:
    rng = np.random.default_rng(4)
    shapes = ["uniform", "normal", "sine", "uniform", "sine"]
    return ErrorBudget(
        tuple(
            ErrorSource(f"e{k}", float(rng.uniform(0.1, 1)), rng.normal(size=3), shape, k > 2)
            for k, shape in enumerate(shapes)
        ),
        ("x", "y", "z"),
    )


def test_samples_keep_the_worst_case_and_have_the_deviation_of_the_budget() -> None:
    b = budget()
    bounded = ErrorBudget(tuple(s for s in b.sources if s.shape != "normal"), b.outputs)
    samples = bounded.sampled(40_000, seed=1)
    assert (np.abs(samples) <= bounded.worst).all()
    assert (np.abs(samples).max(axis=0) > 0.7 * bounded.worst).all()
    assert_allclose(samples.std(axis=0), bounded.deviation, rtol=0.02)
    assert (b.root_of_squares <= b.worst).all()
    assert b.shares()[0][2] @ b.shares()[0][2] >= b.shares()[-1][2] @ b.shares()[-1][2]


def test_what_repeats_shifts_the_mean_of_a_machine_and_the_rest_scatters_it() -> None:
    b = budget()
    poses = b.sampled(5000, seed=2, machines=False)
    scatter = ErrorBudget(tuple(s for s in b.sources if not s.repeats), b.outputs)
    assert_allclose(poses.std(axis=0), scatter.deviation, rtol=0.05)
    found = pose_accuracy([0.0, 0.0, 0.0], poses)
    assert found.accuracy == pytest.approx(float(np.linalg.norm(poses.mean(axis=0))))


def test_repeatability_of_iso_9283_by_hand() -> None:
    seen = np.array([[1.0, 0, 0, 0.1, 0, 0], [1.0, 2, 0, 0.3, 0, 0], [1.0, 1, 3, 0.2, 0, 0]])
    found = pose_accuracy([0.0, 1.0, 1.0, 0, 0, 0], seen)
    assert found.accuracy == pytest.approx(1.0)
    away = [math.hypot(1, 1), math.hypot(1, 1), 2.0]
    mean = sum(away) / 3
    spread = math.sqrt(sum((x - mean) ** 2 for x in away) / 2)
    assert found.repeatability == pytest.approx(mean + 3 * spread)
    assert found.angle_accuracy[0] == pytest.approx(0.2)
    assert found.angle_repeatability[0] == pytest.approx(0.3)


CYCLES = {
    "S1": duty_cycle("S1", 5.0),
    "S2": duty_cycle("S2", 5.0, running=600, resting=6000),
    "S3": duty_cycle("S3", 5.0, running=4, resting=6),
    "S4": duty_cycle("S4", 5.0, starting=1, running=4, resting=6, inertia=2),
    "S5": duty_cycle("S5", 5.0, starting=1, running=4, braking=1, resting=6, inertia=20),
    "S6": duty_cycle("S6", 5.0, running=4, resting=6, idle=0.5),
    "S7": duty_cycle("S7", 5.0, starting=1, running=4, braking=1, inertia=20),
    "S8": duty_cycle("S8", [5.0, 2.0, 1.0], speed=[1, 2, 3], running=[2, 2, 2]),
    "S10": duty_cycle("S10", [5.0, 2.0, 4.0], running=[2, 3, 2]),
}


@pytest.mark.parametrize("kind", DUTIES)
def test_a_cycle_of_a_duty_type_is_told_as_that_type(kind: str) -> None:
    assert duty_type(CYCLES[kind], time_constant=900.0) == kind


def test_a_motion_without_rule_is_s9() -> None:
    t = np.linspace(0, 2, 101)
    speed, torque = 2 + np.sin(7 * t) * np.cos(3 * t), 3 + np.sin(11 * t)
    cycle = lw.sizing.JointCycle("j", "revolute", t, t, speed, 0 * t, torque)
    assert duty_type(cycle) == "S9"


def test_the_winding_of_s3_swings_between_the_temperatures_of_one_time_constant() -> None:
    """With a cool housing: the two exponentials of every textbook, at constant resistance."""
    motor = read_catalog("generic").motor["servo-200w"]
    motor = motor.model_copy(update={"housing": None, "alpha": 0.0, "winding": (1.2, 25.0)})
    squares = np.array([[9.0, 0.0]])
    found = periodic(ThermalNetwork.of([motor]), np.array([10.0, 30.0]), squares, 0 * squares, 40.0)
    rise = 1.2 * motor.R * 9.0
    hot = rise * (1 - math.exp(-10 / 25)) / (1 - math.exp(-40 / 25))
    assert_allclose(found.winding[0], [40 + hot * math.exp(-30 / 25), 40 + hot,
                                       40 + hot * math.exp(-30 / 25)], rtol=1e-8)  # fmt: skip


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: ErrorSource("e", 1.0, [1.0], "round"), "R308"),
        (lambda: ErrorSource("e", -1.0, [1.0]), "R308"),
        (lambda: ErrorBudget((ErrorSource("e", 1.0, [1.0]),), ("x", "y")), "R308"),
        (lambda: pose_accuracy([0, 0], [[0, 0]]), "R308"),
        (lambda: pose_accuracy([0, 0, 0], [[0, 0, 0]]), "R308"),
        (lambda: duty_cycle("S9", 1.0), "R309"),
        (lambda: duty_cycle("S3", 1.0), "R309"),
        (lambda: duty_cycle("S3", [1.0, 2.0], resting=1.0), "R309"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_a_number(call: object, code: str) -> None:
    assert callable(call)
    with pytest.raises(lw.InputError) as caught:
        call()
    assert caught.value.code == code
