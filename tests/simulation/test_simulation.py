"""Runs of mechanisms against published, converged or analytic motions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from linkwright.base.errors import Error
from linkwright.equations import derive
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.models.spacecraft1 import build as spacecraft
from linkwright.simulation import simulate, switching
from linkwright.system import System
from linkwright.system.forms import reference_of
from tests.seeds import cases, seldom
from tests.support.shared import model

DEGREE = math.pi / 180.0


def test_pendulum_released_horizontal_swings_as_the_elliptic_integral_says() -> None:
    run = simulate(load_model("pendulum"), 10.0, step=1.0, tolerance=1e-13)
    wanted = {
        1.0: (0.986291751132, -0.165010853126),
        2.0: (-0.793566195343, -0.608483930444),
        5.0: (-0.942305435044, -0.334754338414),
        10.0: (-0.275087462577, -0.961419205099),
    }
    for t, (x, y) in wanted.items():
        state = run.at(t)
        assert state["x"] == pytest.approx(x, abs=2e-11)
        assert state["y"] == pytest.approx(y, abs=2e-11)
    assert np.abs(run.energies().imbalance).max() < 1e-10


CAR: dict[str, list[tuple[float, float | None, float]]] = {
    "car": [(0.5, 0.215290, 6.22807), (1.0, 0.261443, 6.11997), (2.0, 0.269506, 6.17175)],
    "car-small": [(0.5, None, 6.22385), (1.0, None, 6.11284), (2.0, None, 6.16489)],
}


@pytest.mark.parametrize("name", CAR)
def test_car_answers_a_step_of_the_steering_wheel(name: str) -> None:
    run = simulate(model(name), 2.0, step=0.025, method="midpoint")
    for t, sideways, yaw in CAR[name]:
        state = run.at(t)
        assert state["r"] / DEGREE == pytest.approx(yaw, abs=2e-5)
        if sideways is not None:
            assert state["Ay"] == pytest.approx(sideways, abs=6e-7)
    roll = {"car": -3.03773, "car-small": -3.04221}[name]
    assert run.final["roll"] / DEGREE == pytest.approx(roll, abs=6e-6)


def test_car_converges_with_short_steps() -> None:
    run = simulate(model("car"), 2.0, step=0.001, method="midpoint", every=1000)
    assert run.final["r"] / DEGREE == pytest.approx(6.167391, abs=6e-7)


def test_midpoint_takes_two_evaluations_a_step_and_one_to_begin_with() -> None:
    run = simulate(model("car"), 2.0, step=0.025, method="midpoint", every=2)
    assert (run.steps, len(run.times)) == (80, 41)
    run = simulate(model("car"), 2.0, step=0.025, method="rk4")
    assert run.steps == 80


def test_cart_pushed_from_rest_with_its_front_axle_turned() -> None:
    run = simulate(load_model("cart"), 3.0, step=0.5)
    half, one, two, end = (run.at(t) for t in (0.5, 1.0, 2.0, 3.0))
    assert [half[k] for k in ("r", "steer rate", "yaw", "steer")] == pytest.approx(
        [0.09907, -0.41018, 0.04002, 0.11247], abs=6e-6
    )
    assert [one[k] for k in ("r", "steer", "yaw")] == pytest.approx(
        [-0.06699, -0.02612, 0.04848], abs=6e-6
    )
    assert [two[k] for k in ("r", "yaw", "X")] == pytest.approx(
        [-0.01832, -0.01724, 6.41486], abs=6e-6
    )
    assert [end[k] for k in ("yaw", "steer", "Y", "X", "b.u")] == pytest.approx(
        [-0.02133, -0.00002, -0.0694, 14.4606, 9.6604], abs=6e-5
    )
    assert "lrw does not slip" in " ".join(run.report)


def test_four_bar_runs() -> None:
    m = load_model("four-bar")
    run = simulate(m, 1.0, step=0.0005, method="midpoint", initial={"a": 0.0}, every=10)
    assert run.at(0.1)["a"] == pytest.approx(-0.039585, abs=6e-7)
    assert run.at(0.1)["tension"] == pytest.approx(183.52, abs=6e-3)
    assert run.at(1.0)["a"] == pytest.approx(-0.025147, abs=6e-7)
    run = simulate(m, 1.0, step=0.0005, method="midpoint", initial={"a": -0.5})
    assert run.at(0.0)["b"] == pytest.approx(0.56347327, abs=6e-9)
    assert run.at(0.05)["a"] == pytest.approx(-0.224809, abs=6e-7)
    assert run.at(0.05)["a_dot"] == pytest.approx(9.75477, abs=6e-6)
    assert run.at(0.1)["a"] == pytest.approx(0.205925, abs=6e-7)
    assert run.at(1.0)["a"] == pytest.approx(-0.019314, abs=6e-7)
    tension = run["tension"]
    assert tension.max() == pytest.approx(2062.6, abs=0.06)
    assert tension.min() == pytest.approx(-1216.2, abs=0.06)
    assert run.residual < 1e-13


def test_spacecraft_1_slews_with_its_thrusters_firing() -> None:
    run = simulate(load_model("spacecraft-1"), 30.0, step=0.02, method="midpoint", every=1)
    angles = np.array([run[k] for k in ("b.rx", "b.ry", "b.rz")]) * 1e3
    assert angles[:, 250] == pytest.approx([1.365, -2.074, 0.745], abs=6e-4)
    assert angles[:, 500] == pytest.approx([2.251, -2.454, 1.811], abs=6e-4)
    assert np.abs(angles).max() < 2.5
    assert np.abs(np.array([run["e"], run["f"]])).max() * 1e3 < 0.17
    assert run.at(15.0)["c"] == pytest.approx(3.75, abs=1e-3)
    assert run.at(15.0)["d"] == pytest.approx(-0.40, abs=1e-3)


@seldom(daily="test_spacecraft_1_slews_with_its_thrusters_firing")
def test_spacecraft_1_with_thrusters_sampled_once_a_step_stays_within_its_bounds() -> None:
    fire, off = [0.0] * 3, [0.0] * 3

    m = spacecraft(external=False)
    kinematics = m.kinematics()
    names = [*(q.name for q in kinematics.rates), *(u.symbol.name for u in kinematics.speeds)]

    def thrusters(t: float, q: Sequence[float], u: Sequence[float]) -> list[float]:
        state = dict(zip(names, (*q, *u), strict=True))
        for i, (axis, rate) in enumerate(zip("xyz", "pqr", strict=True)):
            error = 2.0 * state[f"b.{rate}"] + state[f"b.r{axis}"]
            if abs(error) > 0.0025:
                fire[i], off[i] = -math.copysign(1.0, error), t + 0.02
            elif t >= off[i] - 1e-9:
                fire[i] = 0.0
        return fire

    def clock(t: float) -> float:
        return 4.0 - 0.025 * min(max(t - 1.0, 0.0), 10.0)

    s = System(m)
    s.add(thrusters, rate=50, outputs=("x", "y", "z"))
    for i, axis in enumerate("xyz", start=1):
        s.connect(f"thrusters.{axis}", f"FIRE{i}")
    run = simulate(
        s,
        10.0,
        method="midpoint",
        inputs={"CLKCMD": clock, "CAMCMD": lambda t: -0.5 + 0.01 * min(max(t - 1.0, 0.0), 10.0)},
    )
    angles = np.array([run[k] for k in ("b.rx", "b.ry", "b.rz")]) * 1e3
    assert np.abs(angles).max() < 2.6
    assert set(np.unique(run["FIRE1"])) <= {-1.0, 0.0, 1.0}
    assert np.ptp(run["FIRE1"]) > 0
    assert run["CLKCMD"][-1] == pytest.approx(3.775)


def test_spacecraft_2_coasts_for_a_thousand_seconds() -> None:
    run = simulate(load_model("spacecraft-2"), 1000.0, step=200.0)
    antennas = ("a1", "a2", "a3", "a4")
    assert [run.at(200.0)[k] for k in antennas] == pytest.approx(
        [0.0048764, 0.0147685, 0.0054541, -0.0155180], abs=6e-8
    )
    end = run.final
    assert [end[k] for k in antennas] == pytest.approx(
        [0.0049071, 0.0120323, 0.0053227, -0.0123097], abs=6e-8
    )
    assert [end[k] for k in ("w.r", "w.q", "w.p")] == pytest.approx(
        [1.7017708e-3, 5.0766e-5, 2.22034e-4], abs=6e-10
    )
    assert [end[k] for k in ("w.u", "w.v", "w.w")] == pytest.approx(
        [1.8397e-5, -2.1761e-5, -2.136e-6], abs=6e-10
    )


def test_controlled_arm_reaches_its_targets() -> None:
    run = simulate(load_model("stanford-arm-controlled"), 10.0, step=1.0)
    wanted = {
        1.0: (0.372638, 1.473753, 0.058902, 0.404829, 0.409831, 0.661287),
        2.0: (0.722569, 1.359125, 0.085873, 0.670800, 0.665907, 0.906722),
        5.0: (1.024869, 1.138826, 0.098439, 0.977822, 0.970145, 1.040425),
        10.0: (1.047165, 1.056017, 0.099954, 1.043205, 1.040888, 1.047144),
    }
    for t, q in wanted.items():
        assert [run.at(t)[k] for k in "abcdef"] == pytest.approx(q, abs=6e-7)


@seldom(daily="tests/cli/test_cli_linearize.py::test_bicycle_at_five_meters_a_second")
def test_whipple_bicycle_weaves_upright() -> None:
    start = {"phi_dot": 0.5, "delta_dot": 0.0, "theta_R_dot": -4.6 / 0.3}
    run = simulate(load_model("whipple"), 5.0, step=1.0, initial=start, tolerance=1e-11)
    wanted = {
        1.0: (-0.04129386972, -0.03998848700, 0.2947919935, -15.40561939646),
        2.0: (0.05618080870, 0.06309731908, 0.1926634165, -15.45668192763),
        5.0: (0.01034244064, 0.00818567097, 0.2160751816, -15.40845186803),
    }
    for t, values in wanted.items():
        state = run.at(t)
        found = [state[k] for k in ("phi", "delta", "psi", "theta_R_dot")]
        assert found == pytest.approx(values, abs=1e-9)
    assert run.energies().total == pytest.approx(np.full(6, 1837.0311763095), abs=1e-6)
    assert run.residual < 1e-14


def test_andrews_squeezer_runs_to_its_reference() -> None:
    order = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
    q = [15.8107711951537, -15.7563710584118, 0.0408222401196458, -0.534730116342080]
    q += [0.524409965879954, 0.534730116342080, 1.04808074104194]
    rates = [1139.92030225911, -1424.37929517754, 11.0329119106, 19.2933741050]
    rates += [0.573569914830, -19.2933741050, 0.323179149249]
    channels = [*order, *(f"{k}_dot" for k in order), "beta_dot_dot"]
    run = simulate(load_model("andrews"), 0.03, step=0.01, tolerance=1e-12, record=channels)
    end = run.final
    assert [end[k] for k in order] == pytest.approx(q, abs=1e-9)
    assert [end[f"{k}_dot"] for k in order] == pytest.approx(rates, abs=5e-8)
    middle = run.at(0.01)
    assert [middle[k] for k in order[:3]] == pytest.approx(
        [2.16011313153, -1.88336423111, 0.158516758001], abs=1e-10
    )
    assert run.residual < 1e-14
    assert run["beta_dot_dot"][0] == pytest.approx(14222.4439199541, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "step", "form"),
    cases([("dop853", 1.0, "auto"), ("rk4", 0.005, "redundant")], daily=[("dop853", 1.0, "auto")]),
)
def test_n_four_bar_goes_through_its_singular_configurations(
    method: str, step: float, form: str
) -> None:
    run = simulate(load_model("n-four-bar"), 10.0, step=step, method=method, form=form)
    wanted = {
        1.0: (-0.1950203019, -0.9807992057),
        2.0: (0.0578157958, 0.9983272679),
        5.0: (-0.8113104610, -0.5846155454),
        10.0: (0.3284581115, 0.9445185382),
    }
    for t, (x, y) in wanted.items():
        assert abs(run.at(t)["x"]) == pytest.approx(abs(x), abs=5e-7)
        assert run.at(t)["y"] == pytest.approx(y, abs=5e-7)
    passed = [line for line in run.report if "singular configuration at t" in line]
    assert len([line for line in passed if "constraints dependent" in line]) == 10
    assert all("kept to its branch" in line for line in passed if "dependent" in line)
    if form == "auto":  # one line for each
        assert len([line for line in run.report if "singular configuration" in line]) == 10
        assert all(len(line) < 200 and "speeds were kept from" in line for line in passed)
    assert run.residual < 1e-12


@seldom(daily="test_n_four_bar_goes_through_its_singular_configurations")
@pytest.mark.parametrize("n", cases([4, 6, 20], daily=[20]))
def test_a_row_of_four_bars_passes_too(n: int) -> None:
    run = simulate(load_model(f"n-four-bar:n={n}"), 2.0, step=1.0)
    rate = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    reference = solve_ivp(
        lambda _, y: [y[1], rate * math.sin(y[0])],
        (0, 2),
        [0.0, 1.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    assert run.final["y"] == pytest.approx(math.cos(reference.y[0, -1]), abs=1e-6)


# -- a kite: two pairs of equal links, whose motion has a closed form ------------------------------
def kite() -> Mechanism:
    from linkwright.mechanism import Revolute

    m = Mechanism("kite")
    a = m.body("a", rotate="z", mass=1, com=(0.5, 0, 0), inertia=(0, 0, 1 / 12))
    b = m.body(
        "b", parent=a, at=(1, 0, 0), rotate="z", mass=1, com=(0.5, 0, 0), inertia=(0, 0, 1 / 12)
    )
    c = m.body("c", rotate="z", at=(2, 0, 0), mass=2, com=(1, 0, 0), inertia=(0, 0, 2 / 3))
    m.close_loop(
        "pin", m.point("end of b", b, (1, 0, 0)), m.point("end of c", c, (2, 0, 0)), Revolute("z")
    )
    return m


def kite_vertices(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the crank's tip and the opposite vertex: the crank's pivot mirrored in the axis."""
    tip, pivot = np.array([math.cos(angle), math.sin(angle)]), np.array([2.0, 0.0])
    axis = (tip - pivot) / np.linalg.norm(tip - pivot)
    return tip, pivot + (2 * np.outer(axis, axis) - np.eye(2)) @ -pivot


def kite_inertia(angle: float, h: float = 1e-4) -> float:
    """Return twice the kinetic energy at unit rate of the crank."""
    (tip, far), pivot = kite_vertices(angle), np.array([2.0, 0.0])
    near = [kite_vertices(angle + k * h) for k in (-2, -1, 1, 2)]
    tip_rate, far_rate = (
        (near[0][i] - 8 * near[1][i] + 8 * near[2][i] - near[3][i]) / (12 * h) for i in (0, 1)
    )

    def turning(span: np.ndarray, rate: np.ndarray) -> float:
        return float((span[0] * rate[1] - span[1] * rate[0]) / (span @ span))

    middle = (tip_rate + far_rate) / 2
    coupler = float(middle @ middle) + turning(far - tip, far_rate - tip_rate) ** 2 / 12
    return 1 / 3 + coupler + 8 / 3 * turning(far - pivot, far_rate) ** 2


def kite_start(angle: float, rate: float) -> dict[str, float]:
    """Return where a kite starts."""
    tip, far = kite_vertices(angle)
    along, rocker = far - tip, far - np.array([2.0, 0.0])
    return {
        "a": angle,
        "b": math.atan2(along[1], along[0]) - angle,
        "c": math.atan2(rocker[1], rocker[0]),
        "a_dot": rate,
    }


@pytest.mark.parametrize(
    ("method", "step", "tolerance"),
    cases(
        [("dop853", 1.0, 1e-9), ("dop853", 5.0, 1e-11), ("rk4", 0.005, 1e-10)],
        daily=[("dop853", 1.0, 1e-9)],
    ),
)
def test_kite_passes_its_singular_position(method: str, step: float, tolerance: float) -> None:
    angle, rate = 0.8, -1.0
    start = kite_start(angle, rate)
    energy = kite_inertia(angle) * rate**2
    reference = solve_ivp(
        lambda _, y: [-math.sqrt(energy / kite_inertia(y[0]))],
        (0, 5),
        [angle],
        method="DOP853",
        rtol=1e-11,
        atol=1e-11,
    )
    run = simulate(kite(), 5.0, step=step, method=method, tolerance=tolerance, initial=start)
    assert run.final["a"] == pytest.approx(reference.y[0, -1], abs=2e-8)
    assert run.final["a"] < -1.0  # it has gone through the flat position at a = 0
    assert any("went through a singular configuration" in line for line in run.report)
    assert np.abs(run.energies().imbalance).max() < 1e-6


def test_a_ball_on_a_circle_switches_the_speed_that_it_eliminates() -> None:
    """Where x is 0 the constraint x x' + y y' = 0 does not give x', where y is 0 it gives no y'."""
    m = Mechanism("ball")
    ball = m.body("b", translate="xy", mass=2)
    m.gravity("-y", g=9.81)
    m.constrain_distance(ball, m.origin, 1)
    m.set_initial({"b.x": 1.0})
    run = simulate(m, 3.0, step=1.0, method="dop853", tolerance=1e-9)
    angle = solve_ivp(
        lambda _, y: [y[1], -9.81 * math.cos(y[0])],
        (0, 3),
        [0, 0],
        method="DOP853",
        rtol=1e-11,
        atol=1e-11,
    ).y[0, -1]
    assert run.final["b.x"] == pytest.approx(math.cos(angle), abs=2e-8)
    assert run.final["b.y"] == pytest.approx(math.sin(angle), abs=2e-8)
    told = [line.split()[-1] for line in run.report if line.startswith("switched at t = ")]
    assert told == ["b.y_dot", "b.x_dot", "b.y_dot", "b.x_dot", "b.y_dot"]


def test_guards_that_compare_with_a_reference_notice_a_singular_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def counted(part: NDArray[np.float64]) -> dict[str, float]:
        taken.append(len(part))
        return reference_of(part)

    monkeypatch.setattr(switching, "FEW", 0)
    monkeypatch.setattr(switching, "reference_of", counted)
    run = simulate(kite(), 0.9, step=0.005, method="rk4", initial=kite_start(0.3, -1.0))
    assert run.final["a"] < 0.0
    assert any("went through a singular configuration" in line for line in run.report)
    assert 3 < len(taken) < 60  # of 180 steps


# -- inputs, states, errors ------------------------------------------------------------------------
def test_inputs_of_time_and_extra_states_follow_their_differential_equations() -> None:
    m = Mechanism("push")
    m.body("b", translate="x", mass=2, inertia=0, coordinates=["x"])
    m.input("F")
    m.force("push", "F", at=m.bodies["b"].origin, along="x")
    m.state("z", "x - 3*z", initial=0.5)
    run = simulate(m, 2.0, step=1.0, inputs={"F": lambda t: 4.0 * math.cos(t)})
    for t in (0.0, 1.0, 2.0):
        x = 2.0 - 2.0 * math.cos(t)
        # z' = x - 3 z, z(0) = 1/2
        particular = 2 / 3 - 2 * (3 * math.cos(t) + math.sin(t)) / 10
        z = particular + (0.5 - 2 / 3 + 0.6) * math.exp(-3 * t)
        assert run.at(t)["x"] == pytest.approx(x, abs=1e-10)
        assert run.at(t)["z"] == pytest.approx(z, abs=1e-10)
    assert run["F"][-1] == pytest.approx(4.0 * math.cos(2.0))


def test_prescribed_support_shakes_a_pendulum() -> None:
    m = Mechanism("shaken")
    cart = m.body("s", translate="x", mass=1, inertia=0)
    m.body("p", parent=cart, rotate="z", mass=1, com=(0, -1, 0), inertia=0)
    m.gravity(along="-y")
    m.prescribe("s", "A*sin(3*t)")
    m.defaults(A=0.2)
    run = simulate(m, 2.0, step=1.0, initial={"p": 0.5})
    reference = solve_ivp(
        lambda t, y: [y[1], -9.81 * math.sin(y[0]) + 1.8 * math.sin(3 * t) * math.cos(y[0])],
        (0, 2),
        [0.5, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    assert run.final["p"] == pytest.approx(reference.y[0, -1], abs=1e-9)
    assert run["s"] == pytest.approx(0.2 * np.sin(3 * run.times), abs=1e-12)
    assert run["s_dot"] == pytest.approx(0.6 * np.cos(3 * run.times), abs=1e-12)


def test_free_body_with_quaternion_keeps_unit_length_and_momentum() -> None:
    from linkwright.mechanism import Free

    m = Mechanism("tumbling")
    m.body("b", joint=Free(quaternion=True), mass=3, inertia=(1, 2, 4))
    run = simulate(m, 5.0, step=0.01, method="rk4", initial={"b.p": 0.1, "b.q": 2.0, "b.r": 0.1})
    length = sum(run[f"b.e{k}"] ** 2 for k in range(4))
    assert length == pytest.approx(np.ones(501), abs=1e-14)
    spin = (run["b.p"]) ** 2 + (2 * run["b.q"]) ** 2 + (4 * run["b.r"]) ** 2
    assert spin == pytest.approx(np.full(501, spin[0]), rel=1e-8)


def test_equations_can_be_run_as_they_are() -> None:
    m = load_model("slider-crank")
    derived = simulate(derive(m, "composite-usual"), 0.1, step=0.1)
    direct = simulate(m, 0.1, step=0.1)
    for name, value in derived.final.items():
        assert direct.final[name] == pytest.approx(value, abs=1e-8)


def test_wrong_requests_say_what_to_do() -> None:
    m = load_model("pendulum")
    with pytest.raises(Error, match=r"no method 'euler'; choose one of midpoint.*, auto$"):
        simulate(m, 1.0, method="euler")
    with pytest.raises(Error, match="did you mean 'phi'"):
        simulate(m, 1.0, initial={"pji": 1.0})
    with pytest.raises(Error, match="has no parameter or input 'LL'"):
        simulate(m, 1.0, parameters={"LL": 1.0})
    with pytest.raises(Error, match="has no parameter or input 'F'"):
        simulate(m, 1.0, inputs={"F": 1.0})
    with pytest.raises(Error, match=r"0\.3 s was not recorded"):
        simulate(m, 1.0, step=0.5, method="rk4").at(0.3)
    with pytest.raises(Error, match="no channel 'omega'"):
        simulate(m, 1.0, step=0.5, method="rk4")["omega"]
