"""Linear models: published eigenvalues, finite differences of the nonlinear motion, hand-over."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.backends.kernel import compile as compile_kernel
from linkwright.equations import derive
from linkwright.equations.closure import Relations
from linkwright.linear import linearize_along
from linkwright.linear.linearization import linearize
from linkwright.mechanism import Ball, Mechanism
from linkwright.models import load_model
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import control
else:
    control = Late("control")

WHIPPLE = {  # Meijaard et al. 2007, cases/whipple.md: eigenvalues in 1/s by forward speed in m/s
    0.0: [-5.53094371765394, -3.13164324790656, 3.13164324790656, 5.53094371765394],
    5.0: [
        -14.0783896927982,
        -0.775341882195845 - 4.46486771378823j,
        -0.775341882195845 + 4.46486771378823j,
        -0.322866429004087,
    ],
    7.0: [
        -18.1578846612520,
        -2.13875644258364 - 7.19525913329805j,
        -2.13875644258364 + 7.19525913329805j,
        0.102681705747663,
    ],
}


@pytest.mark.parametrize("v", cases(WHIPPLE, daily=[5.0]))
def test_whipple_bicycle_has_the_published_eigenvalues(v: float) -> None:
    model = linearize(load_model("whipple"), parameters={"v": v})
    assert model.eigenvalues() == pytest.approx(np.array(WHIPPLE[v]), abs=1e-9)


def test_whipple_matrix_in_roll_and_steer_is_that_of_the_paper() -> None:
    """M q'' + v C1 q' + (g K0 + v² K2) q = 0 with the matrices of the benchmark."""
    v, g = 5.0, 9.81
    m = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    c1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    k0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    k2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    model = linearize(load_model("whipple"), parameters={"v": v})
    rows = [model.states.index(n) for n in ("phi_dot", "delta_dot")]
    q = [model.states.index(n) for n in ("phi", "delta")]
    assert model.a[np.ix_(rows, q)] == pytest.approx(-np.linalg.solve(m, g * k0 + v**2 * k2))
    assert model.a[np.ix_(rows, rows)] == pytest.approx(-np.linalg.solve(m, v * c1))


def test_car_has_the_poles_of_the_thesis() -> None:
    """seeds/autosim-use.md 4.1: poles of the small model, lateral and roll motion."""
    model = linearize(load_model("car-small"))
    poles = model.eigenvalues()
    expected = [
        -5.524948 - 0.346889j,
        -5.524948 + 0.346889j,
        -0.930228 - 6.460622j,
        -0.930228 + 6.460622j,
    ]
    assert np.array(sorted(poles, key=lambda x: (x.real, x.imag))) == pytest.approx(
        np.array(expected), abs=2e-6
    )


@pytest.mark.parametrize(
    "name", cases(["four-bar", "slider-crank", "whipple"], daily=["slider-crank"])
)
def test_linear_model_of_a_closed_loop_agrees_with_finite_differences(name: str) -> None:
    """Perturb independent coordinates and speeds, close the loops again, and compare the rates."""
    m = load_model(name)
    equations = derive(m)
    start = {next(iter(m.coordinates)): -0.3} if name == "four-bar" else {}
    model = linearize(m, start)
    point = dict(model.point)
    program = equations.program(outputs=False)
    kernel = compile_kernel(program, backend="python")
    free = [s for s in model.states if s in m.coordinates]
    speeds = [u.name for u in equations.speeds]

    relations = Relations(m, m.values, "python")
    names = [x.name for x in program.inputs[0].entries]
    computed = [names.index(n) for n in model.computed]

    def rates(state: dict[str, float]) -> np.ndarray:
        q, _ = relations.closed(np.array([state[n] for n in names]), 0.0, computed)
        full = {**m.values, **state, **dict(zip(names, q, strict=True)), "t": 0.0}
        arrays = [np.array([full[x.name] for x in port.entries]) for port in program.inputs]
        q_dot, u_dot = kernel(*arrays)
        by_name = dict(zip(names, q_dot, strict=True))
        return np.array([*(by_name[n] for n in free), *u_dot])

    step = 1e-5
    for column, n in enumerate((*free, *speeds)):
        ahead, behind = dict(point), dict(point)
        ahead[n] += step
        behind[n] -= step
        slope = (rates(ahead) - rates(behind)) / (2 * step)
        scale = max(1.0, float(np.abs(model.a).max()))
        assert np.abs(slope - model.a[:, column]).max() < 1e-7 * scale, n


def test_top_precesses_the_same_with_angles_and_quaternion_at_rest() -> None:
    """Hanging at rest, both descriptions of a ball joint are the same spherical pendulum."""
    found = []
    for joint in (Ball("xyz"), Ball(quaternion=True)):
        m = Mechanism("bob")
        m.body("b", joint=joint, mass=2, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.05))
        m.gravity()
        found.append(linearize(m).eigenvalues())
    frequency = [np.sqrt(2 * 9.81 * 0.5 / (0.1 + 0.5)), np.sqrt(2 * 9.81 * 0.5 / (0.2 + 0.5))]
    for values in found:
        assert sorted(v.imag for v in values if v.imag > 0) == pytest.approx(sorted(frequency))


def test_fast_top_in_body_axes() -> None:
    """I1 λ² - i I3 r λ - m g l = 0 seen from the turning body: λ - i r."""
    m = Mechanism("top")
    m.body("b", joint=Ball(quaternion=True), mass=1, com=(0, 0, 0.3), inertia=(0.02, 0.02, 0.01))
    m.gravity()
    r, i1, i3 = 40.0, 0.02 + 0.09, 0.01
    roots = np.roots([i1, -1j * i3 * r, -9.81 * 0.3]) - 1j * r
    found = linearize(m, {"b.r": r}).eigenvalues()
    expected = np.concatenate([roots, roots.conj()])
    for value in found:
        assert np.abs(expected - value).min() < 1e-9


def test_model_is_handed_over_to_python_control() -> None:
    m = Mechanism("oscillator")
    b = m.body("b", translate="x", mass=2)
    m.input("F")
    m.force("push", "F - 8*x - 0.4*v", at=b.origin, along="x")
    m.output("place", "b", unit="m")
    system = linearize(m).to_control()
    assert isinstance(system, control.StateSpace)
    assert control.dcgain(system) == pytest.approx(1 / 8)
    assert sorted(system.poles(), key=lambda p: p.imag)[1] == pytest.approx(
        -0.1 + np.sqrt(3.99) * 1j
    )


def test_a_model_without_outputs_puts_out_its_states() -> None:
    m = Mechanism("oscillator")
    b = m.body("b", translate="x", mass=2)
    m.input("F")
    m.force("push", "F - 8*x - 0.4*v", at=b.origin, along="x")
    system = linearize(m).to_control()
    assert system.output_labels == ["b", "b_dot"]
    assert control.step_response(system).outputs.shape[0] == 2
    np.testing.assert_allclose(control.dcgain(system).ravel(), [1 / 8, 0], atol=1e-12)


def test_the_extra_that_to_control_needs_is_named_and_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = Mechanism("free")
    m.body("b", translate="x", mass=2)
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(lw.Error, match=r"pip install 'linkwright\[analysis\]'"):
        linearize(m).to_control()
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert any(x.startswith("control") for x in extras["analysis"])


def test_linear_models_along_a_motion_follow_the_state() -> None:
    m = Mechanism("pendulum")
    m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity("-y")
    angles = np.linspace(-2, 2, 9)
    models = linearize_along(m, [{"b": float(x)} for x in angles])
    assert [x.a[1, 0] for x in models] == pytest.approx(9.81 * np.sin(angles))


def test_a_speed_that_constraints_do_not_allow_is_rejected() -> None:
    """It was 2.77 m/s for 5, without a word: the wheels had kept their speed."""
    with pytest.raises(lw.Error, match=r"heading\.u cannot be 5 with the other speeds.*2\.767"):
        lw.linearize("whipple", at={"heading.u": 5.0})
    both = {"heading.u": 5.0, "theta_R_dot": -5.0 / 0.3}
    assert lw.linearize("whipple", at=both).point["heading.u"] == pytest.approx(5.0)
