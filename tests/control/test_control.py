"""Controllers against closed forms, python-control and SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.base.errors import DomainError
from linkwright.blocks import Block, BlockError
from linkwright.control import (
    LQR,
    PD,
    PID,
    ComputedTorque,
    Feedforward,
    GravityCompensation,
    JointPID,
    LeadLag,
    Observer,
    StateFeedback,
    StateSpace,
    TransferFunction,
    dlqe,
    dlqr,
    lqe,
    lqr,
)
from linkwright.control.linear import discretize
from linkwright.system import System
from tests.oracles.phase_runner import PlainRun
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import control
    from scipy import signal
else:
    control, signal = Late("control"), Late("scipy.signal")

Array = NDArray[np.float64]
ARM = "puma560:drives=off"


def cart_pole() -> lw.Mechanism:
    """Return a cart of 1 kg with a pole of 0.3 kg that stands on it."""
    m = lw.Mechanism("cart_pole")
    cart = m.body("cart", translate="x", mass=1)
    m.body("pole", parent=cart, rotate="y", mass=0.3, com=(0, 0, 0.5), inertia=(0, 0.02, 0))
    m.force("push", m.input("F", unit="N"), at=cart, along="x")
    m.gravity()
    m.output("place", "cart", unit="m")
    m.output("tilt", "pole", unit="rad")
    return m


def random_system(seed: int, n: int = 4, k: int = 2) -> tuple[Array, Array, Array]:
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=(n, n)),
        generator.normal(size=(n, k)),
        generator.normal(size=(k, n)),
    )


@pytest.mark.parametrize(
    "how", cases(["matrix", "gain", "names", "other order"], daily=["other order"])
)
def test_state_feedback_is_the_lqr_of_the_same_gain(how: str) -> None:
    """Poles of the loop are those of A - B K, and runs have the same numbers."""
    m = cart_pole()
    model = lw.linearize(m)
    found = lqr(model.a, model.b, np.diag([1, 10, 0, 0]), [[0.1]])
    names = list(model.states)
    order = names[::-1]
    given = {
        "matrix": lambda: StateFeedback(m, found.gain),
        "gain": lambda: StateFeedback(m, found, states=names, inputs=["F"]),
        "names": lambda: StateFeedback(
            m, {"F": dict(zip(names, found.gain[0].tolist(), strict=True))}
        ),
        "other order": lambda: StateFeedback(m, found.gain[:, ::-1], states=order),
    }[how]()
    ends = []
    for law in (given, LQR(m, model, Q=[1, 10, 0, 0], R=0.1)):
        s = System(m)
        s.add(law, name="law")
        ends.append(lw.simulate(s, 0.5, initial={"pole": 0.2}).final)
    for name in (*names, "law.F"):
        assert ends[0][name] == pytest.approx(ends[1][name], rel=1e-9)


def test_state_feedback_holds_where_it_should() -> None:
    m = cart_pole()
    model = lw.linearize(m)
    s = System(m)
    law = StateFeedback(m, lqr(model.a, model.b, np.eye(4), [[1.0]]), target={"cart": 0.4})
    s.add(law, rate=200)
    final = lw.simulate(s, 20.0, initial={"pole": 0.1}).final
    assert final["cart"] == pytest.approx(0.4, abs=1e-4)
    assert final["pole"] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(
    ("gain", "more", "words"),
    [
        ([[1.0, 2.0]], {}, r"shape \(1, 2\).*pole_dot"),
        ([[1.0, 2.0, np.nan, 0.0]], {}, "finite"),
        ("much", {}, "not a matrix"),
        ({"G": {"cart": 1.0}}, {}, "'G'; there is F"),
        ({"F": {"cat": 1.0}}, {}, "'cat'; there is cart"),
        ([[1.0]], {"states": ["pol"]}, "did you mean 'pole'"),
        ([[1.0]], {"states": ["pole"], "inputs": ["f"]}, "no input 'f'"),
        ([[1.0] * 4], {"target": {"pol": 1.0}}, "did you mean 'pole'"),
        ([[1.0] * 4], {"target": {"pole": np.nan}}, "target 'pole'"),
    ],
)
def test_a_gain_that_does_not_fit_is_refused(gain: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.Error, match=words):
        StateFeedback(cart_pole(), gain, **more)


# -- linear-quadratic control ----------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_lqr_is_that_of_python_control(seed: int) -> None:
    a, b, _ = random_system(seed)
    Q, R = np.diag([1.0, 2, 3, 4]), np.array([[2.0, 0.5], [0.5, 1.0]])
    K, S, E = control.lqr(a, b, Q, R)
    found = lqr(a, b, Q, R)
    np.testing.assert_allclose(found.gain, K, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.cost, S, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.sort_complex(found.poles), np.sort_complex(E), rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_discrete_lqr_and_the_hold_are_those_of_python_control(seed: int) -> None:
    a, b, c = random_system(seed)
    Q, R = np.eye(4), np.eye(2)
    held = control.c2d(control.ss(a, b, c, 0), 0.05, "zoh")
    ad, bd = discretize(a, b, 0.05)
    np.testing.assert_allclose(ad, held.A, rtol=1e-10)
    np.testing.assert_allclose(bd, held.B, rtol=1e-10)
    np.testing.assert_allclose(dlqr(ad, bd, Q, R).gain, control.dlqr(ad, bd, Q, R)[0], rtol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_kalman_gains_are_those_of_python_control(seed: int) -> None:
    a, _, c = random_system(seed)
    W, V = np.diag([1.0, 0.5, 2, 1]), np.diag([0.1, 0.2])
    L, P, _ = control.lqe(a, np.eye(4), c, W, V)
    np.testing.assert_allclose(lqe(a, c, W, V).gain, L, rtol=1e-7, atol=1e-9)
    ad, _ = discretize(a, np.eye(4), 0.05)
    L, P, E = control.dlqe(ad, np.eye(4), c, W, V)
    found = dlqe(ad, c, W, V)
    np.testing.assert_allclose(found.cost, P, rtol=1e-7)
    np.testing.assert_allclose(ad @ found.gain, L, rtol=1e-7)
    np.testing.assert_allclose(np.sort_complex(found.poles), np.sort_complex(E), rtol=1e-5)


def test_what_cannot_be_stabilized_is_refused() -> None:
    with pytest.raises(DomainError, match="Riccati"):
        lqr([[1.0]], [[0.0]], [[1.0]], [[1.0]])


@pytest.mark.parametrize("rate", cases([None, 200], daily=[200]))
def test_lqr_balances_a_pole_with_the_cost_that_riccati_says(rate: float | None) -> None:
    """From a small deviation the cost is x'Sx; in discrete time it is a sum over instants."""
    m = cart_pole()
    model = lw.linearize(m)
    period = None if rate is None else 1 / rate
    regulator = LQR(m, model, Q={"cart": 1, "pole": 10}, R=0.1, period=period)
    s = System(m, base=200)
    s.add(regulator, rate=rate)
    start = {"cart": 1e-3, "pole": 5e-4, "cart_dot": 0.0, "pole_dot": 0.0}
    s.set_initial(start)
    run = PlainRun(s.phases(), steps=4).run(3000)
    assert abs(run["pole"][-1]) < 1e-8
    rows = run["cart"] ** 2 + 10 * run["pole"] ** 2 + 0.1 * run["lqr.F"] ** 2
    x = np.array([start[name] for name in model.states])
    cost = np.trapezoid(rows, run["t"]) if rate is None else rows.sum()
    np.testing.assert_allclose(cost, x @ regulator.gain.cost @ x, rtol=2e-3)


@pytest.mark.parametrize("rate", cases([None, 500], daily=[None]))
def test_an_observer_finds_the_speeds_from_the_places(rate: float | None) -> None:
    m = cart_pole()
    model = lw.linearize(m)
    s = System(m, base=500)
    loop = s.add(LQR(m, model, Q=1.0, R=1.0))
    noise = {"cart_dot": 1.0, "pole_dot": 1.0}
    watcher = s.add(Observer(model, process=noise, measurement=1e-4, rate=rate))
    s.connect([loop.F, "place", "tilt"], watcher.u)
    s.set_initial({"cart": 1e-3, "pole": 1e-3})
    run = PlainRun(s.phases()).run(2500)
    for i, name in enumerate(model.states):
        seen = run[f"observer.y[{i}]"]
        assert abs(seen[0] - run[name][0]) > 1e-4 or run[name][0] == 0.0
        np.testing.assert_allclose(seen[1500:], run[name][1500:], atol=1e-6)


# -- computed torque and its kin -------------------------------------------------------------------
def test_computed_torque_makes_each_error_a_linear_oscillator() -> None:
    """e'' + kd e' + kp e = 0 for every joint of a PUMA arm, whatever the others do."""
    m = lw.load(ARM)
    s = System(m, base=200)
    s.add(ComputedTorque(m, kp=[25, 30, 35, 40, 45, 50], kd=8, target=[0.5, 0.2, -2, 1, -1, 0.3]))
    run = PlainRun(s.phases(), steps=2).run(200)
    times = run["t"]
    for i, (kp, target) in enumerate(
        zip([25, 30, 35, 40, 45, 50], [0.5, 0.2, -2, 1, -1, 0.3], strict=True), 1
    ):
        start = run[f"q{i}"][0] - target
        w = np.sqrt(kp - 16.0)
        error = start * np.exp(-4 * times) * (np.cos(w * times) + 4 / w * np.sin(w * times))
        np.testing.assert_allclose(run[f"q{i}"] - target, error, atol=1e-6)


def test_computed_torque_follows_a_motion_with_its_acceleration() -> None:
    m = lw.load("stanford-arm")
    s = System(m, base=500)
    servo = s.add(ComputedTorque(m, kp=100, kd=20, target=0.0))
    n = len(servo.target)
    s.connect(["0.2*sin(3*t)"] * n, servo.target)
    s.connect(["0.6*cos(3*t)"] * n, servo.target_rate)
    s.connect(["-1.8*sin(3*t)"] * n, servo.target_acceleration)
    s.set_initial(dict.fromkeys(m.coordinates, 0.0) | {f"{q}_dot": 0.6 for q in m.coordinates})
    run = PlainRun(s.phases()).run(500)
    for q in m.coordinates:
        np.testing.assert_allclose(run[q], 0.2 * np.sin(3 * run["t"]), atol=1e-8)


def test_a_feedforward_alone_gives_the_motion() -> None:
    m = lw.load("stanford-arm")
    s = System(m, base=500)
    motion = {q: f"{0.1 * (k + 1)}*sin(2*t)" for k, q in enumerate(m.coordinates)}
    s.add(Feedforward(m, motion))
    s.set_initial(
        dict.fromkeys(m.coordinates, 0.0)
        | {f"{q}_dot": 0.2 * (k + 1) for k, q in enumerate(m.coordinates)}
    )
    run = PlainRun(s.phases()).run(250)
    for k, q in enumerate(m.coordinates):
        np.testing.assert_allclose(run[q], 0.1 * (k + 1) * np.sin(2 * run["t"]), atol=1e-6)


@pytest.mark.parametrize("seed", cases(range(3), daily=1))
def test_gravity_compensation_holds_an_arm_anywhere(seed: int) -> None:
    m = lw.load(ARM)
    s = System(m)
    s.add(GravityCompensation(m))
    run = PlainRun(s.phases())
    q = np.random.default_rng(seed).uniform(-3, 3, 6)
    rates = run.rate(0.0, np.concatenate([q, np.zeros(6)]))
    np.testing.assert_allclose(rates, 0.0, atol=1e-9)


def test_pd_with_gravity_settles_at_its_target_and_without_it_below() -> None:
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    ends = []
    for gravity in (True, False):
        s = System(m)
        s.add(PD(m, kp=50, kd=14, target=0.5, gravity=gravity), rate=1000)
        ends.append(PlainRun(s.phases()).run(4000)["rod"][-1])
    assert abs(ends[0] - 0.5) < 1e-9
    sagging = ends[1]
    assert abs(50 * (0.5 - sagging) - 9.81 * np.cos(sagging)) < 1e-6


def test_a_wrong_model_is_what_the_controller_believes() -> None:
    """With the payload unknown, gravity is compensated for the arm that is believed in."""
    m = lw.load(ARM)
    light = GravityCompensation(m, values={"m3": 0.0, "m2": 0.0, "m4": 0, "m5": 0, "m6": 0})
    s = System(m)
    s.add(light)
    run = PlainRun(s.phases())
    run.record(0.0)
    assert all(run[f"gravity.tau_q{i}"][0] == 0 for i in range(1, 7))


def test_torques_are_limited() -> None:
    m = lw.Mechanism("wheel")
    m.body("w", rotate="z", mass=1, inertia=2)
    s = System(m)
    s.add(PD(m, kp=1000, target=1.0, limit=3.0), rate=1000)
    run = PlainRun(s.phases()).run(100)
    assert run["pd.tau_w"].max() == 3.0
    np.testing.assert_allclose(run["w"], 0.75 * run["t"] ** 2, atol=1e-12)


def test_a_free_body_has_no_computed_torque() -> None:
    m = lw.Mechanism("drone")
    base = m.body("base", joint=lw.Free(), mass=1, inertia=(1, 1, 1))
    m.body("arm", parent=base, rotate="z", mass=1, inertia=1)
    with pytest.raises(BlockError, match="belongs to no joint of its own"):
        ComputedTorque(m, kp=1, kd=1, joints=["arm"])
    assert list(PD(m, kp=1, joints=["arm"]).outputs) == ["tau_arm"]


# -- PID -------------------------------------------------------------------------------------------
def plant(
    limit: float, kp: float, ki: float, kd: float = 0.0, unwind: float | None = None
) -> System:
    """Return a PID controller of y' = u - 0.1 y, from a step of the reference to 1."""
    s = System(name="s", base=100)
    b = Block("tank")
    u = b.input("u")
    y = b.state("y")
    b.derivative(y, u - 0.1 * y)
    b.output("level", y)
    tank = s.add(b)
    pid = s.add(PID(kp, ki=ki, kd=kd, low=-limit, high=limit, unwind=unwind))
    s.connect(tank.level, pid.measured)
    s.connect(1.0, pid.reference)
    s.connect(pid.u, tank.u)
    return s


def test_an_unlimited_pid_is_its_transfer_function() -> None:
    """The closed loop of python-control, with derivative on the measurement only."""
    run = PlainRun(plant(np.inf, kp=2.0, ki=1.5, kd=0.3).phases(), steps=4).run(600)
    s = control.TransferFunction.s
    process, n = 1 / (s + 0.1), 100.0
    inner = control.feedback(process, 0.3 * n * s / (s + n) + 2.0 + 1.5 / s)
    closed = control.minreal(inner * (2.0 + 1.5 / s), verbose=False)
    _, y = control.step_response(closed, run["t"])
    np.testing.assert_allclose(run["tank.level"], y, atol=2e-7)


def test_a_limited_pid_is_its_equations_integrated_by_scipy() -> None:
    run = PlainRun(plant(0.5, kp=2.0, ki=1.5, unwind=0.4).phases(), steps=4).run(600)

    def rates(t: float, x: Array) -> list[float]:
        v = 2.0 * (1 - x[0]) + x[1]
        u = np.clip(v, -0.5, 0.5)
        return [u - 0.1 * x[0], 1.5 * (1 - x[0]) + (u - v) / 0.4]

    done = solve_ivp(rates, (0, 6), [0, 0], t_eval=run["t"], rtol=1e-10, atol=1e-12, max_step=0.01)
    np.testing.assert_allclose(run["tank.level"], done.y[0], atol=1e-6)


def test_anti_windup_takes_the_overshoot_away() -> None:
    """An integral that keeps growing while the drive is limited overshoots far."""
    unwound = PlainRun(plant(0.3, kp=2.0, ki=2.0, unwind=0.3).phases()).run(1500)
    wound = PlainRun(plant(0.3, kp=2.0, ki=2.0, unwind=1e9).phases()).run(1500)
    assert wound["tank.level"].max() > 1.3
    assert unwound["tank.level"].max() < 1.05
    assert np.abs(unwound["pid.u"]).max() <= 0.3


def test_joint_pids_bring_a_loaded_joint_to_its_target() -> None:
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    m.gravity(along="-y")
    s = System(m)
    s.add(JointPID(m, kp=80, ki=150, kd=20, target=0.7, limit=40), rate=500)
    run = PlainRun(s.phases()).run(5000)
    assert abs(run["rod"][-1] - 0.7) < 1e-6
    np.testing.assert_allclose(run["pid.tau_rod"][-1], 9.81 * np.cos(0.7), rtol=1e-5)


# -- filters ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("top", "bottom"),
    cases([([3.0], [1, 2, 5, 1]), ([1, 2, 3], [2, 1, 4]), ([1.0, 0.0], [0.5, 1.0])], daily=1),
)
def test_a_transfer_function_is_scipys(top: list[float], bottom: list[float]) -> None:
    s = System(name="s", base=100)
    f = s.add(TransferFunction(top, bottom))
    s.connect("1 + sin(4*t)", f.u)
    run = PlainRun(s.phases(), steps=8).run(300)
    fine = np.linspace(0, 3, 30_001)
    _, y, _ = signal.lsim((top, bottom), 1 + np.sin(4 * fine), fine)
    np.testing.assert_allclose(run["filter.y"], y[::100], atol=3e-6)


@pytest.mark.parametrize("zero", [0.5, 20.0])
def test_a_sampled_lead_lag_is_scipys_bilinear_filter(zero: float) -> None:
    s = System(name="s")
    f = s.add(LeadLag(zero, 5.0, gain=2.0, rate=100))
    s.connect("sin(6*t)", f.u)
    run = PlainRun(s.phases()).run(200)
    b, a = signal.bilinear([2 / zero, 2], [1 / 5.0, 1], fs=100)
    y = signal.lfilter(b, a, np.sin(6 * run["t"]))
    np.testing.assert_allclose(run["lead_lag.y"], y, atol=1e-11)


def test_a_lead_has_its_greatest_phase_between_zero_and_pole() -> None:
    """sin(phi) = (p - z) / (p + z) at sqrt(z p), seen in the steady response to a sine."""
    s = System(name="s", base=200)
    f = s.add(LeadLag(1.0, 9.0))
    s.connect("sin(3*t)", f.u)
    run = PlainRun(s.phases(), steps=2).run(2000)
    t, y = run["t"][1000:], run["lead_lag.y"][1000:]
    sine, cosine = np.linalg.lstsq(np.c_[np.sin(3 * t), np.cos(3 * t)], y, rcond=None)[0]
    np.testing.assert_allclose(np.arctan2(cosine, sine), np.arcsin(0.8), atol=1e-5)


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BlockError, match="do not fit"):
        StateSpace([[1.0]], [[1.0], [2.0]], [[1.0]])
    with pytest.raises(BlockError, match="higher order"):
        TransferFunction([1, 0, 0], [1, 1])
