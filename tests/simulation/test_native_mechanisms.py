"""Mechanisms that run natively: the same motion with all speeds kept, and in batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwright import Free, Mechanism, Revolute, assemble
from linkwright.base.errors import DomainError, Error
from linkwright.models import load_model
from linkwright.simulation import simulate, simulate_batch
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from tests.seeds import cases


def four_bar() -> Mechanism:
    m = Mechanism("linkage")
    a = m.body("a", rotate="z", mass=0.5, com=(0.05, 0, 0), inertia=(0, 0, 4e-4))
    b = m.body(
        "b", parent=a, at=(0.1, 0, 0), rotate="z", mass=2, com=(0.2, 0, 0), inertia=(0, 0, 0.03)
    )
    c = m.body("c", at=(0.4, 0, 0), rotate="z", mass=1.5, com=("L/2", 0, 0), inertia=(0, 0, 0.01))
    m.defaults(L=0.3)
    ends = m.point("bp", b, (0.4, 0, 0)), m.point("cp", c, ("L", 0, 0))
    m.close_loop("pin", *ends, Revolute("z"))
    m.gravity(along="-y")
    m.set_initial(a=1.2, b=-0.6, c=1.9)
    return m


@pytest.mark.parametrize(
    ("name", "method"),
    cases(
        [
            ("four-bar", "midpoint"),
            ("four-bar", "dop853"),
            ("whipple", "rk4"),
            ("slider-crank", "rk4"),
            ("slider-crank", "dop853"),
            ("car", "midpoint"),
            ("spacecraft-2", "dop853"),
        ],
        daily=[("car", "midpoint"), ("four-bar", "dop853")],
    ),
)
def test_native_runs_agree_with_those_that_solve_constraints_in_python(
    name: str, method: str
) -> None:
    model = load_model(name)
    end = {"spacecraft-2": 100.0, "four-bar": 0.2}.get(name, 0.5)
    native = simulate(model, end, step=end / 200, method=method, every=20)
    plain = simulate(model, end, step=end / 200, method=method, every=20, form="redundant")
    assert np.array_equal(native.times, plain.times)
    close = 1e-4 if method == "midpoint" else 2e-8  # whose own error is about as large
    for channel, values in (*plain.states.items(), *plain.outputs.items()):
        size = max(float(np.abs(values).max()), 1e-6)
        assert native[channel] / size == pytest.approx(values / size, abs=close), channel
    assert native.residual < 1e-12


def test_most_steps_of_a_linkage_are_native() -> None:
    session, _ = session_of(System(four_bar()), RunSettings(3.0, 0.002, "rk4"))
    kept, before = 0, 0
    while not session.done:
        near = session.fallback is not None and session.fallback.stepwise
        session.advance(5)
        kept += (session.steps - before) * near
        before = session.steps
    assert kept < 0.1 * session.steps
    run = simulate(four_bar(), 3.0, method="rk4", step=0.002)
    assert run.residual < 1e-13
    energy = run.energies().total
    assert energy == pytest.approx(np.full(len(energy), energy[0]), abs=1e-4)


@pytest.mark.parametrize(
    "method", cases(["semi-implicit", "verlet", "dopri5", "rodas4"], daily=["verlet", "rodas4"])
)
def test_new_methods_run_mechanisms(method: str) -> None:
    m = Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    wanted = simulate(m, 2.0, tolerance=1e-12).final
    step = 1e-4 if method in ("semi-implicit", "verlet") else 0.1
    run = simulate(m, 2.0, method=method, step=step, every=100)
    assert run.final["rod"] == pytest.approx(wanted["rod"], abs=2e-3 if "semi" in method else 1e-6)


def test_a_tumbling_body_keeps_its_quaternion_and_energy() -> None:
    m = Mechanism("tumbling")
    m.body("b", joint=Free(quaternion=True), mass=1, inertia=(1.0, 2.0, 3.0))
    speeds = [s.symbol.name for s in m.kinematics().speeds][-3:]
    start = dict(zip(speeds, (0.1, 2.0, 0.1), strict=True))
    for method, step in (("rk4", 0.01), ("verlet", 0.001), ("dopri5", 0.1)):
        run = simulate(m, 5.0, method=method, step=step, initial=start)
        parts = [run[e.name] for e in m.bodies["b"].rotations]
        assert sum(p**2 for p in parts) == pytest.approx(np.ones(len(run.times)), abs=1e-13)
        energy = run.energies().kinetic
        assert energy == pytest.approx(np.full(len(energy), energy[0]), rel=5e-3)


def test_a_motion_without_finite_values_names_its_states() -> None:
    m = Mechanism("runaway")
    b = m.body("b", translate="x", mass=1)
    m.force("push", "1e6*b_dot**3", at=b.origin, along="x")
    with pytest.raises(DomainError, match=r"no finite value of b.* after t = 0"):
        simulate(m, 1.0, method="rk4", step=0.01, initial={"b_dot": 1.0})


def test_functions_of_time_are_still_called_in_python() -> None:
    m = Mechanism("cart")
    b = m.body("b", translate="x", mass=2)
    m.force("push", m.input("f"), at=b.origin, along="x")
    called = []

    def push(t: float) -> float:
        called.append(t)
        return 2 * t

    run = simulate(m, 1.0, method="dopri5", inputs={"f": push})
    assert called
    assert run.final["b"] == pytest.approx(1 / 6, abs=1e-9)


# -- batches ---------------------------------------------------------------------------------------
def test_a_batch_of_linkages_closes_each_of_them() -> None:
    m = four_bar()
    lengths = np.linspace(0.28, 0.32, 5)
    crank = np.linspace(1.0, 1.4, 5)
    found = simulate_batch(
        m, 0.5, method="rk4", step=0.001, initial={"a": crank}, parameters={"L": lengths}
    )
    for i in (0, 4):
        alone = simulate(
            m,
            0.5,
            method="rk4",
            step=0.001,
            initial={"a": crank[i]},
            parameters={"L": float(lengths[i])},
        )
        assert found["a"][i] == pytest.approx(alone.final["a"], abs=1e-9)
        closed = assemble(m, {n: float(found[n][i]) for n in "abc"}, {"L": float(lengths[i])})
        assert closed.coordinates["c"] == pytest.approx(found["c"][i], abs=1e-10)


def test_a_batch_samples_outputs_and_agrees_with_single_runs() -> None:
    m = load_model("car")
    steer = np.radians([0.5, 1.0, 1.5])
    found = simulate_batch(
        m,
        2.0,
        step=0.025,
        every=2,
        parameters={"STEER": steer},
        record=["r", "Ay"],
        tolerance=1e-10,
    )
    assert found.samples.shape == (3, 41, 2)
    for i in range(3):
        run = simulate(m, 2.0, step=0.05, parameters={"STEER": float(steer[i])})
        assert found["r"][i] == pytest.approx(run["r"], abs=1e-8)


def test_batches_refuse_what_does_not_fit() -> None:
    m = four_bar()
    with pytest.raises(Error, match="no state 'aa'"):
        simulate_batch(m, 1.0, initial={"aa": [1.0]})
    with pytest.raises(Error, match="different lengths"):
        simulate_batch(m, 1.0, initial={"a": [1.0, 1.1]}, parameters={"L": [0.3, 0.3, 0.3]})
    with pytest.raises(Error, match="not after the start"):
        simulate_batch(m, 0.0)


def test_a_system_runs_in_batches_as_a_mechanism_does() -> None:
    m = Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0)
    m.gravity(along="-y")
    m.defaults(L=1.0)
    lengths = np.array([0.5, 1.0, 2.0])
    found = simulate_batch(System(m), 1.0, parameters={"L": lengths})
    for length, angle in zip(lengths, found["rod"], strict=True):
        run = simulate(m, 1.0, parameters={"L": float(length)})
        assert angle == pytest.approx(run.final["rod"], abs=1e-6)
    assert math.isfinite(found["rod_dot"].sum())
