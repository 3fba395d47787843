"""Kalman filters made from Systems: linear ones agree, nonlinear ones are those of the textbook."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import Expr, sin, tanh, total, where
from linkwright.blocks import Block
from linkwright.control import correct, inside, predict
from linkwright.control.linear import discretize
from linkwright.control.step_model import Measurement
from linkwright.system.controllers import controller_phases
from tests.backends.test_firmware import Firmware
from tests.oracles.joint_chain import PROCESS, SENSOR, STATES, blocks
from tests.seeds import cases

Array = NDArray[np.float64]
KINDS = ("time-varying", "steady", "extended", "unscented")


def driven(block: Block, name: str = "s") -> lw.System:
    """Return a System of one block."""
    s = lw.System(name=name)
    s.add(block)
    return s


def mass(block: str = "cart") -> Block:
    """Return a mass on a spring that a force moves."""
    b = Block(block)
    F, k = b.input("F"), b.parameter("k", 40.0)
    x = b.state("x", initial=0.2)
    v = b.state("v")
    b.derivative(v, F - k * x - 0.5 * v)
    b.derivative(x, v)
    return b


def estimates(
    plant: lw.System, f: Block, sensors: list[str], u: str, until: float
) -> dict[str, Array]:
    """Return the channels of a filter beside its System, both driven by the same input."""
    s = plant.copy()
    member = s.add(f)
    for name, port in zip(sensors, member.z, strict=True):
        s.connect(name, port)
    (driven,) = plant.inputs()
    s.connect(u, driven)
    s.connect(u, member.u[0])
    run = lw.simulate(s, until, method="rk4", step=1 / 400)
    return {n: run[n] for n in run.recording.names}


def test_all_kinds_are_one_filter_where_the_system_is_linear() -> None:
    plant = driven(mass())
    more: dict[str, Any] = {"rate": 100, "density": {"cart.v": 0.3}, "covariance": 0.01}
    found = {}
    for kind in KINDS:
        f = lw.control.kalman(plant, {"cart.x": 0.02}, kind, steps=4, **more)
        assert f.state_names == ("cart.x", "cart.v")
        found[kind] = estimates(plant, f, ["cart.x + 0.01*sin(70*t)"], "sin(3*t)", 2.0)
    want = found["time-varying"]
    for kind in ("extended", "unscented"):
        for name in ("kalman.x[0]", "kalman.x[1]", "kalman.sigma[1]", "kalman.nis"):
            np.testing.assert_allclose(found[kind][name], want[name], atol=2e-6, rtol=2e-6)
    for name in ("kalman.x[0]", "kalman.sigma[1]"):
        np.testing.assert_allclose(found["steady"][name][-20:], want[name][-20:], rtol=1e-3)


def test_an_operating_point_off_zero_is_part_of_the_filter() -> None:
    """A mass on a spring under its weight, with an estimate that starts where it hangs."""
    b = Block("m")
    v = b.state("v")
    x = b.state("x", v, -0.2)
    b.derivative(v, -10 - 50 * x - 2 * v)
    b.output("force", 3 + 7 * x)
    s = driven(b)
    f = s.add(
        lw.control.kalman(s, {"m.force": 0.1}, rate=100, covariance=0.01, density={"m.v": 1.0})
    )
    s.connect("m.force", f.z[0])
    run = lw.simulate(s, 1.0)
    assert abs(run["kalman.innovation[0]"]).max() < 1e-9
    assert run.final["kalman.x[1]"] == pytest.approx(-0.2)


# -- nonlinear -------------------------------------------------------------------------------------
T, G = 0.01, 9.81


def pendulum() -> lw.System:
    """Return a pendulum of 1 m that a torque moves."""
    b = Block("rod")
    tau, g = b.input("tau"), b.parameter("g", G)
    w = b.state("w")
    q = b.state("q", w, 1.2)
    b.derivative(w, tau - g * sin(q) - 0.1 * w)
    b.output("height", 1 - lw.cos(q))
    return driven(b)


def rates(x: Array, tau: float) -> Array:
    return np.array([tau - G * np.sin(x[1]) - 0.1 * x[0], x[0]])


def step(x: Array, tau: float) -> Array:
    for _ in range(2):
        h = T / 2
        a = rates(x, tau)
        b = rates(x + h / 2 * a, tau)
        c = rates(x + h / 2 * b, tau)
        x = x + h / 6 * (a + 2 * b + 2 * c + rates(x + h * c, tau))
    return x


def seen(x: Array) -> Array:
    return np.array([1 - np.cos(x[1]), x[0]])


def jacobian(f: Callable[[Array], Array], x: Array) -> Array:
    far = 1e-6
    return np.array([(f(x + far * e) - f(x - far * e)) / (2 * far) for e in np.eye(len(x))]).T


def textbook(kind: str, z: Array, tau: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """Return estimates and deviations of an extended or unscented filter in plain NumPy."""
    x, P = np.array([0.3, 1.0]), np.diag([0.2, 0.1])
    rows = []
    for now, u in zip(z, tau, strict=True):
        if kind == "extended":
            H = jacobian(seen, x)
            K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
            expected, P = seen(x), (np.eye(2) - K @ H) @ P
        else:
            points = _sigma(x, P)
            images = np.array([seen(p) for p in points])
            expected = images.mean(axis=0)
            S = (images - expected).T @ (images - expected) / 4 + R
            K = (points - x).T @ (images - expected) / 4 @ np.linalg.inv(S)
            P = P - K @ S @ K.T
        x = x + K @ (now - expected)
        rows.append([*x, *np.sqrt(np.diag(P))])
        if kind == "extended":
            F = jacobian(partial(step, tau=u), x)
            x, P = step(x, u), F @ P @ F.T + Q
        else:
            images = np.array([step(p, u) for p in _sigma(x, P)])
            x = images.mean(axis=0)
            P = (images - x).T @ (images - x) / 4 + Q
    return np.array(rows)[:, :2], np.array(rows)[:, 2:]


def _sigma(x: Array, P: Array) -> Array:
    L = np.sqrt(2.0) * np.linalg.cholesky(P)
    return np.array([x + s * L[:, j] for j in range(2) for s in (1.0, -1.0)])


@pytest.mark.parametrize("kind", ["extended", "unscented"])
def test_nonlinear_filters_are_those_of_the_textbook(kind: Any) -> None:
    """A pendulum that swings far, seen by its height and its speed."""
    plant = pendulum()
    f = lw.control.kalman(
        plant, {"rod.height": 0.05, "rod.w": 0.1}, kind, rate=100, process={"rod.w": 0.02},
        initial={"rod.w": 0.3, "rod.q": 1.0}, covariance={"rod.w": 0.2, "rod.q": 0.1},
    )  # fmt: skip
    noisy = ["rod.height + 0.05*sin(91*t)", "rod.w + 0.1*cos(57*t)"]
    found = estimates(plant, f, noisy, "sin(2*t)", 2.0)
    t = np.arange(201) * T
    z = np.column_stack(
        [found["rod.height"] + 0.05 * np.sin(91 * t), found["rod.w"] + 0.1 * np.cos(57 * t)]
    )
    x, sigma = textbook(kind, z, np.sin(2 * t), np.diag([4e-4, 0.0]), np.diag([0.0025, 0.01]))
    for i in range(2):
        np.testing.assert_allclose(found[f"kalman.x[{i}]"], x[:, i], atol=1e-7)
        np.testing.assert_allclose(found[f"kalman.sigma[{i}]"], sigma[:, i], atol=1e-7)


def test_a_filter_may_believe_in_other_parameters() -> None:
    plant = pendulum()
    f = lw.control.kalman(plant, {"rod.w": 0.1}, "extended", rate=100, covariance=0.0)
    s = plant.copy()
    s.connect("rod.w", s.add(f).z[0])
    right = lw.simulate(s, 1.0, parameters={"kalman.rod.g": G})
    wrong = lw.simulate(s, 1.0, parameters={"kalman.rod.g": 2 * G})
    assert abs(right["kalman.innovation[0]"]).max() < 1e-6
    assert abs(wrong["kalman.innovation[0]"]).max() > 1.0


def test_a_controller_with_its_filter_is_firmware(tmp_path: Path) -> None:
    """One tick of both as C99 gives the bits of the native run."""
    plant = pendulum()
    f = lw.control.kalman(plant, {"rod.q": 0.01}, "extended", rate=100, covariance=0.1)
    servo = Block("servo", rate=100)
    w, q = servo.input_vector("x", 2)
    servo.output("tau", -20 * q - 5 * w)
    s = plant.copy()
    s.name = "swing"
    member, law = s.add(f), s.add(servo)
    s.connect("rod.q", member.z[0])
    s.connect(member.x, law.x)
    s.connect(law.tau, member.u[0])
    s.connect(law.tau, "rod.tau")
    lw.codegen(s, tmp_path, target="firmware")
    phases = controller_phases(s)
    held = [x.name for x in phases.d if x.kind == "held"]
    names = [*(x.name for x in phases.w), *held]
    run = lw.simulate(s, 1.0, method="rk4", step=1 / 400, record=names, every=1)
    board = Firmware(tmp_path, "swing", phases)
    found = [board.tick(row) for row in np.array([run[x.name] for x in phases.w]).T]
    assert np.array_equal(found, np.array([run[name] for name in held]).T)
    assert abs(run["servo.tau"][-1]) < 0.5 * abs(run["servo.tau"][0])


@pytest.mark.parametrize("kind", cases(["time-varying", "extended"], daily=["extended"]))
def test_sensors_that_are_slow_or_late(kind: Any) -> None:
    """A sensor that is three instants late, and one with a new value at every fourth instant."""
    plant = driven(mass())
    sensors = {
        "cart.x": Measurement(0.02, delay=3),
        "cart.v": Measurement(0.1, quantum=0.02, every=4),
    }
    f = lw.control.kalman(
        plant, sensors, kind, rate=100, process={"cart.v": 0.03}, covariance=0.01, steps=8
    )
    assert len(f.state_names) == 5
    found = estimates(plant, f, ["0.1*sin(3*t)", "0.3*cos(3*t)"], "sin(t)", 1.0)
    model = lw.linearize(plant)
    phi, theta = discretize(model.a, model.b, 0.01)
    whole = np.zeros((5, 5))
    whole[:2, :2], whole[2, 0], whole[3, 2], whole[4, 3] = phi, 1.0, 1.0, 1.0
    x = np.array([float(f.discrete_states[p].initial.data) for p in f._prior])
    P = np.array(f.covariance)
    h = np.array([[0, 0, 0, 0, 1.0], [0, 1.0, 0, 0, 0]])
    r = np.diag([4e-4, 0.01 + 0.0004 / 12])
    for n in range(101):
        t = n / 100
        rows = [0, 1] if n % 4 == 0 else [0]
        z = np.array([0.1 * np.sin(3 * t), 0.3 * np.cos(3 * t)])
        now = correct(x, P, z[rows], h[rows], r[np.ix_(rows, rows)])
        for i in range(5):
            assert found[f"kalman.x[{i}]"][n] == pytest.approx(now.x[i], abs=1e-7)
        u = np.vstack([theta, np.zeros((3, 1))])
        x, P = predict(now.x, now.covariance, whole, [0, 9e-4, 0, 0, 0], theta=u, u=[np.sin(t)])


# -- a drive with a gap ----------------------------------------------------------------------------
def gapped(gap: float, friction: float, noise: float) -> Block:
    """Return V10 with a gap in its gear and friction in its motor, with the noise of V11."""
    phi, theta = blocks()
    b = Block("joint", rate=2000)
    x = [b.discrete_state(name) for name in STATES]
    u, v, _, omega, theta_m, delta, omega_L, theta_L = x
    seen = zip((v, omega, theta_m, theta_L), SENSOR, strict=True)
    z = b.output_vector(
        "z", [s + noise * float(d) * b.noise(f"v{k}") for k, (s, d) in enumerate(seen)]
    )
    b.output_vector("x", x)
    r, fed = b.input("r", 4.0), b.input_vector("fed_back", 4, z if noise else 0.0)
    twist: Expr = delta
    if gap:
        twist = where(delta > gap, delta - gap, where(delta < -gap, delta + gap, 0))
    torque = 500 * twist + 2 * (omega / 50 - omega_L)
    inputs = [
        r - 0.02 * fed[1] - 8 * fed[3], u, v, torque + 50 * friction * tanh(omega / 0.5), omega,
        omega_L, torque,
    ]  # fmt: skip
    for i in range(8):
        moved = total(float(phi[i, j]) * x[j] for j in range(8))
        forced = total(float(theta[i, j]) * inputs[j] for j in range(7))
        b.update(x[i], moved + forced + noise * float(PROCESS[i]) * b.noise(f"w{i}"))
    return b


@pytest.mark.parametrize(
    "kind", cases(["time-varying", "extended", "unscented"], daily=["unscented"])
)
def test_v10_with_a_gap_needs_a_filter_that_knows_the_gap(kind: Any) -> None:
    """±5 mrad, 0.01 N·m dry friction of the motor, a square wave of ±0.5 rad, known start."""
    known = (0.0, 0.0) if kind == "time-varying" else (5e-3, 0.01)
    model = lw.System(name="model", base=2000)
    model.add(gapped(*known, noise=0.0))
    f = lw.control.kalman(
        model, {f"joint.z[{k}]": float(d) for k, d in enumerate(SENSOR)}, kind, rate=2000,
        process={f"joint.{n}": float(d) for n, d in zip(STATES, PROCESS, strict=True)},
        covariance=1e-12, truth=True,
    )  # fmt: skip
    s = lw.System(name="drive", base=2000)
    plant, member = s.add(gapped(5e-3, 0.01, noise=1.0)), s.add(f)
    square = "where(sin(2*pi*t) >= 0, 4, -4)"
    s.connect(square, plant.r)
    for source, port in zip([square, *plant.z], member.u, strict=True):
        s.connect(source, port)
    s.connect(plant.z, member.z)
    s.connect(plant.x, member.truth)
    names = ["kalman.nees", "kalman.x[7]", "joint.x[7]"]
    runs = [lw.simulate(s, 1.0, seed=seed, record=names) for seed in range(4)]
    nees = np.array([run["kalman.nees"] for run in runs])
    error = np.std([run["kalman.x[7]"] - run["joint.x[7]"] for run in runs])
    if kind == "time-varying":
        assert nees.mean() > 1000
        assert error > 3e-3
    else:
        assert inside(nees, 8) > 0.9
        assert nees.mean() == pytest.approx(8.0, abs=1.0)
        assert error < 3e-4


# -- what is refused -------------------------------------------------------------------------------
def refused(match: str, *arguments: Any, **more: Any) -> None:
    with pytest.raises(lw.Error, match=match):
        lw.control.kalman(*arguments, **{"rate": 100, **more})


def test_what_a_filter_cannot_follow_is_refused_by_number() -> None:
    plant = driven(mass())
    refused(r"kind of filter 'extendid'.*'extended'.*\[R505\]", plant, {"cart.x": 0.1}, "extendid")
    refused(r"no sensors.*\[R501\]", plant, {})
    refused(
        r"no open input 'cart.G'.*'cart.F'.*\[R508\]", plant, {"cart.x": 0.1}, inputs=["cart.G"]
    )
    refused(r"\[R508\]", plant, {"cart.x": 0.1}, "extended", inputs=["cart.G"])
    refused(
        r"initial is given for 'cart.y'.*\[R501\]", plant, {"cart.x": 0.1}, initial={"cart.y": 1}
    )
    refused(
        r"density is given for 'cart.y'.*\[R501\]", plant, {"cart.x": 0.1}, density={"cart.y": 1}
    )
    refused(r"deviation of a sensor is -1.*\[R502\]", plant, {"cart.x": -1.0})
    refused(r"density of kalman is 3", "pendulum", {"phi": 0.1}, density=3)
    refused(r"no sensors.*\[R501\]", plant, ["cart.x"])
    refused(r"given no rate.*\[R507\]", plant, {"cart.x": 0.1}, rate=None)
    slow = {"cart.x": Measurement(0.1, every=3)}
    refused(r"slower than it.*\[R507\]", plant, slow, "steady", density={"cart.v": 1.0})
    refused(
        r"never settles: no sensor determines cart.x.*\[R504\]", _free(), {"cart.v": 0.1}, "steady"
    )
    for kind in ("time-varying", "extended"):
        found = lw.control.kalman(_free(), {"cart.v": 0.1}, kind, rate=100)
        assert found.unobservable == ("cart.x",)
    sampled = lw.System(name="s")
    sampled.add(mass(), rate=40)
    refused(r"repeats every 0.025 s.*\[R508\]", sampled, {"cart.x": 0.1})
    refused(r"every 0.025 s, the filter every 0.01.*\[R508\]", sampled, {"cart.x": 0.1}, "extended")
    foreign = lw.System(name="f")
    foreign.add(lambda t: t, rate=100, outputs="y", name="clock")
    foreign.add(mass())
    refused(r"'clock' is a Python function.*\[R508\]", foreign, {"cart.x": 0.1}, "extended")


def _free() -> lw.System:
    """Return a mass that only its speed tells of."""
    b = Block("cart")
    v = b.state("v", b.input("F"))
    b.state("x", v)
    return driven(b)
