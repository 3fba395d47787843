"""Kalman filters: ROBSIM's V8 and V11, three forms of one filter, and what filters refuse."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import total
from linkwright.base.errors import DomainError
from linkwright.blocks import Block, BlockError
from linkwright.control import (
    KalmanFilter,
    SteadyKalmanFilter,
    consistency_band,
    correct,
    inside,
    predict,
    whiteness,
)
from linkwright.control.covariances import FORMS, CorrectionForm
from tests.oracles.joint_chain import PROCESS, SENSOR, SIGMAX, STATES, chain
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import control
else:
    control = Late("control")

Array = NDArray[np.float64]


def joint() -> Block:
    """Return V10 with the noise of V11 as a block that steps with its matrices."""
    phi, theta, h, _ = chain()
    b = Block("joint", rate=2000)
    x = [b.discrete_state(name) for name in STATES]
    seen = [total(float(h[k, j]) * x[j] for j in range(8)) for k in range(4)]
    b.output_vector(
        "z", [s + d * b.noise(f"v{k}") for k, (s, d) in enumerate(zip(seen, SENSOR, strict=True))]
    )
    b.output_vector("x", x)
    alpha = [b.input("r", 4.0), *b.input_vector("fed_back", 4)]
    w = [float(d) * b.noise(f"w{k}") for k, d in enumerate(PROCESS)]
    for i in range(8):
        moved = total(float(phi[i, j]) * x[j] for j in range(8))
        b.update(x[i], moved + total(float(theta[i, j]) * alpha[j] for j in range(5)) + w[i])
    return b


@cache
def filtered(kind: type[KalmanFilter | SteadyKalmanFilter], fed_back: str = "z") -> lw.System:
    """Return V10 with a filter of V11 beside it; `fed_back` is what the controller reads."""
    phi, theta, h, q = chain()
    s = lw.System(name="drive", base=2000)
    plant = s.add(joint())
    f = s.add(kind(phi, h, q, SENSOR**2, theta=theta, states=STATES, truth=True, rate=2000))
    s.connect(plant.z, f.z)
    s.connect(plant.x, f.truth)
    read = plant.z if fed_back == "z" else getattr(f, fed_back)
    for source, port in zip([4.0, *read], f.u, strict=True):
        s.connect(source, port)
    s.connect(read, plant.fed_back)
    return s


@cache
def runs(fed_back: str = "z", seeds: int = 20) -> dict[str, Array]:
    """Return channels of some seeds of V11, a row each, from step 101 on."""
    system = filtered(KalmanFilter, fed_back)
    names = ["kalman.nees", "kalman.nis", "kalman.x[7]", "joint.x[7]", "joint.x[0]", "joint.z[3]"]
    found = [lw.simulate(system, 0.4, seed=seed, record=names) for seed in range(seeds)]
    return {name: np.array([run[name][101:] for run in found]) for name in names}


# -- one state -------------------------------------------------------------------------------------
V8 = {
    "P": [0.2493768073, 0.1341255331, 0.1026379689],
    "x": [0.9975072290, 1.1061450325, 1.0215118027],
}


@pytest.mark.parametrize("form", FORMS)
def test_v8_the_scalar_filter_in_every_form(form: CorrectionForm) -> None:
    """Check 59."""
    x, P = np.zeros(1), np.full((1, 1), 100.0)
    for k, z in enumerate([1.0, 1.2, 0.9]):
        x, P = predict(x, P, [[1.0]], 0.04)
        now = correct(x, P, [z], [[1.0]], 0.25, form=form)
        x, P = now.x, now.covariance
        assert P[0, 0] == pytest.approx(V8["P"][k], abs=5e-11)
        assert x[0] == pytest.approx(V8["x"][k], abs=5e-11)


def test_v8_as_a_block_and_its_steady_gain() -> None:
    """Check 59: the block starts with P = 100, and does not use what it reads at the start."""
    s = lw.System(name="s", base=10)
    f = s.add(KalmanFilter([[1.0]], [[1.0]], 0.04, 0.25, rate=10))
    s.connect("where(t < 0.15, 1, where(t < 0.25, 1.2, 0.9))", f.z[0])
    s.connect("where(t < 0.05, 0, 1)", f.used[0])
    run = lw.simulate(s, 0.3)
    np.testing.assert_allclose(run["kalman.sigma[0]"][1:] ** 2, V8["P"], atol=5e-11)
    np.testing.assert_allclose(run["kalman.x[0]"][1:], V8["x"], atol=5e-11)
    steady = SteadyKalmanFilter([[1.0]], [[1.0]], 0.04, 0.25)
    assert steady.gain.gain[0, 0] == pytest.approx(0.3279215611, abs=5e-11)


# -- a joint ---------------------------------------------------------------------------------------
def test_information_and_scalar_forms_are_josephs_on_v11() -> None:
    """Check 59: 300 steps of each form from P = 100 I."""
    phi, theta, h, q = chain()
    generator = np.random.default_rng(3)
    z = generator.normal(size=(300, 4))
    ends = {}
    for form in FORMS:
        x, P, nis = np.zeros(8), 100.0 * np.eye(8), 0.0
        for row in z:
            x, P = predict(x, P, phi, q, theta=theta, u=[4.0, *row])
            now = correct(x, P, row, h, SENSOR**2, form=form)
            x, P, nis = now.x, now.covariance, now.nis
        scale = np.sqrt(np.diag(P))
        ends[form] = (x / scale, P / np.outer(scale, scale), nis)
    for form in FORMS[1:]:
        for a, b in zip(ends[form], ends["joseph"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_the_block_is_the_filter_of_plain_matrices() -> None:
    """With correlated noise, an exact sensor and one that is used every third time."""
    generator = np.random.default_rng(5)
    phi = 0.4 * generator.normal(size=(4, 4))
    theta, h = generator.normal(size=(4, 1)), generator.normal(size=(3, 4))
    root = generator.normal(size=(2, 2))
    R = np.zeros((3, 3))
    R[:2, :2] = root @ root.T
    q = np.diag([0.1, 0.2, 0.3, 0.4])
    s = lw.System(name="s", base=10)
    f = s.add(KalmanFilter(phi, h, q, R, theta=theta, covariance=2.0, rate=10, truth=True))
    for k in range(3):
        s.connect(f"sin({k + 2}*t) + {k}", f.z[k])
    s.connect("cos(t)", f.u[0])
    third = "where(floor(10*t/3 + 1e-6)*3 - 10*t < -0.5, 0, 1)"
    s.connect(third, f.used[2])
    run = lw.simulate(s, 4.0)
    x, P = np.zeros(4), 2.0 * np.eye(4)
    for n, t in enumerate(run.times):
        z = np.array([np.sin((k + 2) * t) + k for k in range(3)])
        rows = [0, 1, 2] if n % 3 == 0 else [0, 1]
        now = correct(x, P, z[rows], h[rows], R[np.ix_(rows, rows)])
        for i in range(4):
            assert run[f"kalman.x[{i}]"][n] == pytest.approx(now.x[i], abs=1e-9)
            sigma = np.sqrt(now.covariance[i, i])
            assert run[f"kalman.sigma[{i}]"][n] == pytest.approx(sigma, abs=1e-9)
        assert run["kalman.nis"][n] == pytest.approx(now.nis, rel=1e-8)
        x, P = predict(now.x, now.covariance, phi, q, theta=theta, u=[np.cos(t)])


def test_v11_where_the_filter_settles() -> None:
    """Check 60: the deviations, from Riccati's equation and from the run of the block."""
    phi, theta, h, q = chain()
    steady = SteadyKalmanFilter(phi, h, q, SENSOR**2, theta=theta)
    np.testing.assert_allclose(np.sqrt(np.diag(steady.covariance)), SIGMAX, rtol=5e-6)
    gain, prior, _ = control.dlqe(phi, np.eye(8), h, q, np.diag(SENSOR**2))
    np.testing.assert_allclose(phi @ steady.gain.gain, gain, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(steady.gain.cost, prior, rtol=1e-8, atol=1e-12)
    run = lw.simulate(filtered(KalmanFilter), 20.0, every=1000)
    settled = [run.final[f"kalman.sigma[{i}]"] for i in range(8)]
    np.testing.assert_allclose(settled, np.sqrt(np.diag(steady.covariance)), rtol=1e-6)


def test_v11_errors_are_as_large_as_the_filter_says() -> None:
    """Check 60: per instant over 20 seeds, in the band at 90 % of instants; the NIS is white."""
    found = runs()
    assert [round(x, 2) for x in consistency_band(8, 20)] == [6.34, 9.85]
    assert [round(x, 2) for x in consistency_band(4, 20)] == [2.86, 5.33]
    assert inside(found["kalman.nees"], 8) > 0.9
    assert inside(found["kalman.nis"], 4) > 0.9
    assert found["kalman.nis"].mean() == pytest.approx(4.0, abs=0.1)
    assert whiteness(found["kalman.nis"]).white
    assert not whiteness(found["kalman.nees"]).white
    error = np.std(found["kalman.x[7]"] - found["joint.x[7]"])
    raw = np.std(found["joint.z[3]"] - found["joint.x[7]"])
    assert error == pytest.approx(1.9e-4, rel=0.15)
    assert raw == pytest.approx(2.0e-3, rel=0.05)


@pytest.mark.parametrize("fed_back", cases(["y", "z_hat"], daily=["z_hat"]))
def test_a_filter_in_the_loop_calms_the_control_signal(fed_back: str) -> None:
    """Check 61: the controller reads H x or the prediction in place of the sensors."""
    raw, calm = runs(), runs(fed_back, 8)
    tail = slice(-200, None)
    noise = [np.std(found["joint.x[0]"][:, tail], axis=0).mean() for found in (raw, calm)]
    assert noise[0] == pytest.approx(0.0263, rel=0.1)
    assert noise[1] == pytest.approx(0.0062, rel=0.15)
    assert inside(calm["kalman.nis"], 4) > 0.9
    long = lw.simulate(filtered(KalmanFilter, fed_back), 2.0, every=1000)
    assert long.final["joint.x[7]"] == pytest.approx(0.5, abs=2e-3)


def drive_chain(update: str) -> lw.drives.Chain:
    """Return V10 with the noise of V11 as a chain of a drive."""
    d = lw.drives
    names = ("controller.u", "amplifier.v", "motor.i", "motor.speed", "motor.angle")
    process = dict(zip((*names, "train.twist", "load.speed", "load.angle"), PROCESS, strict=True))
    sensors = ["amplifier.v", "motor.speed", "motor.angle", "load.angle"]
    return d.Chain(
        d.PD(8, 0.02),
        d.Lag(10, 1e-3),
        d.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
        d.Elastic(50, stiffness=500, damping=2),
        d.Inertia(0.5, 0.1),
        update=update,
        sensors=sensors,
        noise=d.DriveNoise(process=process, sensors=dict(zip(sensors, SENSOR, strict=True))),
        reference=0.5,
        rate=2000,
    )


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
def test_v11_the_chain_of_a_drive_gives_the_filter_its_matrices(update: str) -> None:
    """Check 60: in the sequential update Θ acts within the step, and Q is F Q Fᵀ."""
    found = drive_chain(update).matrices()
    phi, theta, h, q = chain(update)
    assert found.states[3] == "motor.speed"
    np.testing.assert_allclose(found.Phi, phi, atol=1e-12)
    np.testing.assert_allclose(found.Theta, theta, atol=1e-12)
    np.testing.assert_allclose(found.H, h, atol=1e-12)
    np.testing.assert_allclose(found.Q, q, atol=1e-15)
    at_amplifier = (h @ theta)[0, 0]
    assert at_amplifier == pytest.approx(0.0 if update == "simultaneous" else 3.93, abs=0.01)


def test_v11_in_the_sequential_update_the_filter_predicts_with_its_inputs() -> None:
    """Check 60: with ẑ = H(Φ x + Θ α) the errors are as large as the filter says."""
    plant = drive_chain("sequential")
    m = plant.matrices()
    s = lw.System(name="drive", base=2000)
    joint = s.add(plant)
    f = s.add(KalmanFilter(m.Phi, m.H, m.Q, m.R, theta=m.Theta, truth=True, rate=2000))
    s.connect(joint.Z, f.z)
    for source, port in zip([*joint.R, *joint.Z], f.u, strict=True):
        s.connect(source, port)
    for name, port in zip(m.states, f.truth, strict=True):
        s.connect(f"joint.{name}", port)
    names = ["kalman.nees", "kalman.nis"]
    found = [lw.simulate(s, 0.4, seed=seed, record=names) for seed in range(6)]
    nees, nis = (np.array([run[name][101:] for run in found]) for name in names)
    assert nis.mean() == pytest.approx(4.0, abs=0.2)
    assert inside(nees, 8) > 0.85
    assert inside(nis, 4) > 0.9


def test_a_filter_at_the_port_of_a_chain_calms_its_control_signal() -> None:
    """Check 61: what the filter makes of the sensors goes into `feedback` of the drive itself."""
    noise = []
    for fed_back in (False, True):
        plant = drive_chain("simultaneous")
        m = plant.matrices()
        s = lw.System(name="drive", base=2000)
        joint = s.add(plant)
        f = s.add(KalmanFilter(m.Phi, m.H, m.Q, m.R, theta=m.Theta, rate=2000))
        s.connect(joint.Z, f.z)
        for source, port in zip([*joint.R, *joint.Z], f.u, strict=True):
            s.connect(source, port)
        if fed_back:
            s.connect(f.z_hat, joint.feedback)
        run = lw.simulate(s, 1.6, seed=3, record=["joint.controller.u", "joint.load.angle"])
        noise.append(np.std(run["joint.controller.u"][-400:]))
        assert run["joint.load.angle"][-400:].mean() == pytest.approx(0.5, abs=5e-3)
        assert np.abs(run["joint.load.angle"]).max() < 0.6
    assert noise[1] < 0.6 * noise[0]


def test_the_steady_filter_becomes_the_one_that_varies() -> None:
    """After the start both give the same estimate, NIS and NEES."""
    ends = [
        lw.simulate(filtered(kind), 20.0, every=1000).final
        for kind in (KalmanFilter, SteadyKalmanFilter)
    ]
    for name in [*(f"kalman.x[{i}]" for i in range(8)), "kalman.nis", "kalman.nees"]:
        assert ends[0][name] == pytest.approx(ends[1][name], rel=1e-4, abs=1e-7)


def test_the_covariance_stays_positive_where_it_is_badly_conditioned() -> None:
    """A certain sensor after an uncertain start, for 1000 steps."""
    phi = np.array([[1.0, 0.1], [0.0, 1.0]])
    s = lw.System(name="s", base=10)
    s.add(KalmanFilter(phi, [[1.0, 0.0]], 1e-16, 1e-14, covariance=1e12, rate=10))
    run = lw.simulate(s, 100.0)
    sigma = np.array([run["kalman.sigma[0]"], run["kalman.sigma[1]"]])
    assert np.isfinite(sigma).all()
    steady = SteadyKalmanFilter(phi, [[1.0, 0.0]], 1e-16, 1e-14)
    np.testing.assert_allclose(sigma[:, -1], np.sqrt(np.diag(steady.covariance)), rtol=1e-6)


# -- what is refused -------------------------------------------------------------------------------
def test_exact_sensors_are_taken_as_exact_or_refused_with_a_number() -> None:
    """Check 64."""
    for form in ("joseph", "scalar"):
        now = correct([0.0, 1.0], np.eye(2), [3.0], [[1.0, 0.0]], 0.0, form=form)
        assert now.x.tolist() == [3.0, 1.0]
        again = correct(now.x, now.covariance, [3.0], [[1.0, 0.0]], 0.0, form=form)
        assert again.x.tolist() == [3.0, 1.0]
        assert again.nis == 0.0
    with pytest.raises(DomainError, match=r"0 has no noise.*\[R503\]"):
        correct([0.0, 1.0], np.eye(2), [3.0], [[1.0, 0.0]], 0.0, form="information")
    with pytest.raises(DomainError, match=r"covariance is singular.*\[R503\]"):
        correct([0.0, 1.0], [1.0, 0.0], [3.0], [[1.0, 0.0]], 1.0, form="information")
    with pytest.raises(DomainError, match=r"no noise in sensor 0.*\[R503\]"):
        SteadyKalmanFilter([[1.0]], [[1.0]], 1.0, 0.0)
    s = lw.System(name="s", base=10)
    s.connect("3", s.add(KalmanFilter([[1.0]], [[1.0]], 0.0, 0.0, rate=10)).z[0])
    run = lw.simulate(s, 1.0)
    assert run.final["kalman.x[0]"] == 3.0
    assert run.final["kalman.sigma[0]"] == 0.0


def test_states_that_no_sensor_tells_are_named() -> None:
    phi = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]]
    found = KalmanFilter(phi, [[0, 1, 0]], 1.0, 1.0, states=["place", "speed", "heat"])
    assert found.unobservable == ("place", "heat")
    with pytest.raises(DomainError, match=r"no sensor determines place, and.*\[R504\]"):
        SteadyKalmanFilter(phi, [[0, 1, 0]], 1.0, 1.0, states=["place", "speed", "heat"])
    whole, theta, h, q = chain()
    assert KalmanFilter(whole, h, q, SENSOR**2, theta=theta).unobservable == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]], [[1.0, 0.0]], 1.0, 1.0), r"phi .* shape \(1, 2\).*\[R501\]"),
        (([[1.0]], [[1.0, 2.0]], 1.0, 1.0), r"h of 'kalman' has the shape.*\[R501\]"),
        (([[1.0]], [[1.0]], [1.0, 2.0], 1.0), r"process of 'kalman' has.*\[R501\]"),
        (([[1.0]], [[np.inf]], 1.0, 1.0), r"h of 'kalman' is not finite.*\[R501\]"),
        (([[1.0]], [[1.0]], -1.0, 1.0), r"process of 'kalman' is not a cov.*\[R502\]"),
        (([[1.0]], [[1.0]], 1.0, -1.0), r"measurement of 'kalman' is not.*\[R502\]"),
        (([[1.0]], [[1.0]], {"y": 1.0}, 1.0), r"process .* given for 'y'.*\[R501\]"),
    ],
)
def test_matrices_that_do_not_fit_are_refused_by_number(arguments: Any, message: str) -> None:
    for kind in (KalmanFilter, SteadyKalmanFilter):
        with pytest.raises(BlockError, match=message):
            kind(*arguments)


def test_statistics_of_too_little_are_refused_by_number() -> None:
    with pytest.raises(BlockError, match=r"3 instants are too few.*\[R506\]"):
        whiteness([[1.0, 2.0, 3.0]])
    with pytest.raises(BlockError, match=r"\[R506\]"):
        inside([[np.nan]], 2)
    with pytest.raises(BlockError, match=r"there is no form 'jozeph'.*'joseph'.*\[R505\]"):
        correct([0.0], 1.0, [0.0], [[1.0]], 1.0, form="jozeph")  # type: ignore[arg-type]
