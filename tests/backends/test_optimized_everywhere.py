"""Everything that is computed passes through the one optimizer: fewer operations, equal values.

Oracle of the values: evaluation in a finite field, which knows no rules but those of arithmetic
(`linkwright.program.search.verification`); there a Program before and after are
equal, not nearly so. Where parameters are numbers, folding them rounds: there the interpreter's
doubles agree to 1e-11.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import linkwright as lw
from linkwright.control import ComputedTorque
from linkwright.equations.kernels import kernel_program
from linkwright.models import load_model
from linkwright.program import Program, count_operations, lower
from linkwright.program.interpret import interpret
from linkwright.program.search import field_outputs
from linkwright.robots import Robot
from linkwright.system import Phases, System, flatten
from tests.seeds import cases
from tests.support.model_states import equations, optimized


def check(before: Program, after: Program, saved: float) -> None:
    """Hold the values equal, and the operations below a part of those before."""
    assert field_outputs(after) == field_outputs(before)
    check_counts(before, after, saved)


def check_numbers(before: Program, after: Program, saved: float) -> None:
    """Hold the doubles at a random state together, and the operations as `check` does."""
    rng = np.random.default_rng(4)
    inputs = [rng.uniform(-1, 1, port.shape) for port in before.inputs]
    expected, found = (
        np.concatenate([np.ravel(x) for x in interpret(lower(p), inputs)]) for p in (before, after)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    check_counts(before, after, saved)


def check_counts(before: Program, after: Program, saved: float) -> None:
    assert count_operations(after).total <= (1 - saved) * count_operations(before).total
    assert count_operations(after).call <= count_operations(before).call


@pytest.mark.parametrize(
    ("model", "kernel"),
    cases(
        itertools.product(
            ["stanford-arm", "puma560:drives=off", "whipple"], ["forward", "inverse", "mass"]
        ),
        daily=[("stanford-arm", "inverse"), ("stanford-arm", "mass")],
    ),
)
def test_kernels_of_mechanisms(model: str, kernel: str) -> None:
    check(kernel_program(equations(model, "auto"), kernel), optimized(model, kernel), 0.02)


@pytest.mark.parametrize(
    "model", cases(["four-bar", "cart", "double-pendulum"], daily=["four-bar"])
)
def test_linearizations(model: str) -> None:
    """Jacobians of the accelerations by coordinates and speeds, as `Program.derivative` gives."""
    program = equations(model, "auto").program(outputs=False)
    before = program.derivative("u_dot", ["q", "u"], optimized=False)
    check(before, program.derivative("u_dot", ["q", "u"]), 0.1)


@cache
def arm() -> Robot:
    """The arm whose quantities are looked at."""
    return Robot(load_model("puma560:drives=off"))


@pytest.mark.parametrize(
    "quantity",
    cases(
        ["inverse_dynamics", "forward_dynamics", "mass_matrix", "center_of_mass_jacobian"],
        daily=["inverse_dynamics", "center_of_mass_jacobian"],
    ),
)
def test_quantities_of_robots(quantity: str) -> None:
    robot = arm()
    found = getattr(robot, quantity)
    check_numbers(found.derived(), found.program, 0.01)


@pytest.mark.parametrize("reference", cases(["local", "local-world-aligned"], daily=["local"]))
def test_jacobians_of_robots(reference: str) -> None:
    robot = arm()
    found = robot.jacobian.of(robot.links[-1], reference=reference)
    check_numbers(found.derived(), found.program, 0.01)
    slopes = robot.inverse_dynamics.derivative("q", "u")
    check_numbers(slopes.derived(), slopes.program, 0.01)


def closed_loop(m: lw.Mechanism) -> System:
    """Return a mechanism with computed torque in its joints."""
    system = System(m, name="closed loop")
    system.add(ComputedTorque(m, kp=100, kd=20))
    return system


def test_closed_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant and controller become one Program, and share what both compute."""
    m = load_model("stanford-arm")
    made = closed_loop(m).phases(record=[]).derivative
    with monkeypatch.context() as patch:
        patch.setattr(flatten, "optimize", lambda program, **_: program)
        written: Phases = closed_loop(m).phases(record=[])
    check(written.derivative, made, 0.05)
    apart = [count_operations(optimized("stanford-arm", k)) for k in ("forward", "inverse")]
    assert count_operations(made).call == max(
        c.call for c in apart
    )  # one sine of an angle for both
    assert count_operations(made).total < sum(c.total for c in apart)
