"""The shipped models against published and independently computed numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from linkwright.algebra import evaluate_all
from linkwright.algebra.units import parse_unit
from linkwright.base.errors import InputError
from linkwright.equations import FORMULATIONS
from linkwright.equations.closure import assemble
from linkwright.equations.redundant import tree_program
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.mechanism.plausibility import implausible
from linkwright.models import MODELS, load_model, option_texts
from linkwright.models.spacecraft1 import thruster
from linkwright.program import interpret, lower
from linkwright.recording import read_recording
from linkwright.simulation import simulate
from linkwright.system import System
from tests.oracles.mechanism import evaluate_numerically
from tests.seeds import cases, examples
from tests.support.model_states import closed, equations, inverse_dynamics, state
from tests.support.shared import model
from tests.support.shipped_models import DIFFERENT


def close(found: object, wanted: object, digits: float) -> None:
    """Compare to a number of absolute digits, as numbers in tables are given."""
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(wanted, float), rtol=0, atol=0.51 * 10**-digits
    )


def near(found: object, wanted: object, relative: float) -> None:
    """Compare to a relative error."""
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(wanted, float), rtol=relative, atol=1e-12
    )


@cache
def shipped(name: str) -> Mechanism:
    """The mechanism of a model or of the System that it is, made once."""
    return mechanism_of(name)


# -- names ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_complete(name: str) -> None:
    """Each parameter and input has a value, a unit and a description; initial values have names."""
    m = shipped(name)
    assert m.doc
    for symbol in (*m.parameters, *m.inputs):
        assert symbol in m.values, symbol
        assert m.units.get(symbol, "?") != "?", symbol
        assert m.docs.get(symbol), symbol
    speeds = {s.symbol.name for s in m.kinematics().speeds}
    assert set(m.initial) <= speeds | set(m.coordinates)


def test_options_of_a_name_reach_the_model() -> None:
    assert len(load_model("n-four-bar:n=4").bodies) == 9
    assert not load_model("puma560:drives=off").armatures
    assert set(load_model("spacecraft-1:small=on,external=off").inputs) >= {"CLKCMD", "FIRE3"}
    assert option_texts("n-four-bar") == ("n=2",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stanfrod-arm", "there is no model 'stanfrod-arm'; did you mean 'stanford-arm'?"),
        ("zzz", "there is no model 'zzz'; `linkwright model list` lists them"),
        ("n-four-bar:m=3", "model 'n-four-bar' has no option 'm'; it has n"),
        ("puma560:drive=on", "has no option 'drive'; did you mean 'drives'?"),
        ("pendulum:n=3", "model 'pendulum' has no option 'n'; it has none"),
        ("n-four-bar:n", "option 'n' of model 'n-four-bar' has no value; write n=VALUE"),
        ("n-four-bar:n=2.5", "option 'n' of model 'n-four-bar' is a whole number, not '2.5'"),
        ("n-four-bar:n=0", "at least one four-bar linkage, not 0"),
        (
            "puma560:drives=maybe",
            "option 'drives' of model 'puma560' is one of on, off, electric, not 'maybe'",
        ),
        ("nowhere.toml", "there is no file 'nowhere.toml'"),
    ],
)
def test_a_wrong_name_is_explained(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(name)
    assert message in str(caught.value)


WITH_CONSTRAINTS = [f for f in FORMULATIONS if not f.startswith("articulated")]
#: Models with the joints and loads of others, which have all formulations: two are enough for them.
ALIKE = ("double-pendulum", "ref6", "stanford-arm", "spacecraft-1", "stewart", "wrist-4r")
#: Parallel machines whose joints are those of others: the composite formulation is enough for them.
MACHINES = ("delta", "five-bar", "agile-eye", "mount-prismatic", "mount-alt-az", "mount-equatorial")
#: A tree, a loop and a machine that rolls: they have all formulations between them every day.
EACH_WAY = ("double-pendulum", "stanford-arm", "four-bar", "cart", "car")
#: Models that no other test here derives: every day without the search, which takes longest.
ALONE = (*MACHINES, "ref6", "stewart", "wrist-4r")
CASES = [
    (name, formulation)
    for name in DIFFERENT
    if not name.endswith("-small") and name not in ("servo-arm", "joint-drive", "puma-on-wave")
    for formulation in (WITH_CONSTRAINTS if model(name).constraints else FORMULATIONS)
    if name not in ALIKE or formulation in ("composite", "composite-usual", "kane")
    if name not in MACHINES or formulation in ("composite", "composite-usual")
]
DAILY = [
    (name, formulation)
    for name, formulation in CASES
    if name in EACH_WAY or formulation == ("composite-usual" if name in ALONE else "composite")
]


@cache
def plain_states(name: str, speeds: tuple[str, ...]) -> list[tuple[Mapping[str, float], ...]]:
    """Random states of a model: coordinates and speeds, and by the oracle how they change."""
    m = model(name)
    generator = np.random.default_rng(20_250_311)
    made: list[tuple[Mapping[str, float], ...]] = []
    for _ in range(examples(3, daily=1)):
        shifted = {x: m.initial.get(x, 0.0) + 0.2 * generator.uniform(-1, 1) for x in m.coordinates}
        u = {x: float(generator.uniform(-1, 1)) for x in speeds}
        independent = {k: v for k, v in shifted.items() if f"{k}_dot" in u}
        place = assemble(m, independent if m.constraints else shifted).coordinates
        found = evaluate_numerically(m, place, u)
        made.append((place, u, found.coordinate_rates, found.accelerations))
    return made


@pytest.mark.parametrize(("name", "formulation"), cases(CASES, daily=DAILY))
def test_model_agrees_with_a_plain_numeric_evaluation(name: str, formulation: str) -> None:
    """At random states, Newton and Euler body by body with multipliers give the same."""
    e = equations(name, formulation)
    names = tuple(u.name for u in e.speeds)
    for place, speeds, rates, accelerations in plain_states(name, names):
        q = [place[x.name] for x in e.coordinates]
        found = state(name, q, list(speeds.values()), formulation=formulation)
        wanted = [accelerations[u] for u in names]
        scale = 1 + np.abs(wanted).max()
        np.testing.assert_allclose(found["u_dot"], wanted, rtol=0, atol=1e-9 * scale)
        wanted = [rates[x.name] for x in e.coordinates]
        np.testing.assert_allclose(found["q_dot"], wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_all_units_of_a_model_are_of_one_system(name: str) -> None:
    """Inside, everything is SI, whatever the model prints."""
    m = shipped(name)
    m.kinematics()
    units = {**m.units, **{o.name: o.unit for o in m.outputs if o.unit != "g's"}}
    for what, text in units.items():
        unit = parse_unit("1" if text == "?" else text)
        assert unit.factor == 1.0, (what, text)


# -- passenger car ---------------------------------------------------------------------------------
INCHES = np.array([0.0254, 1, 1])  # of the speeds of the car, and of their rates


def test_car_is_in_si_units_and_prints_inches(tmp_path: Path) -> None:
    m = load_model("car")
    run = simulate(m, 0.5, step=0.05)
    units = {c.name: c.unit for c in run.recording.channels}
    assert (units["X"], units["nrb.v"], units["yaw_dot"]) == ("m", "m/s", "rad/s")
    printed = run.recording.printed
    assert (printed.channel("X").unit, printed.channel("FY1").unit) == ("in", "lbf")
    near(printed["X"], run["X"] / 0.0254, 1e-15)
    near(printed["nrb.u"][0], 968, 1e-13)
    axes = run.plot("Y").axes[0]
    (line,) = axes.get_lines()
    assert axes.get_ylabel().endswith("(in)")
    near(line.get_ydata(), run["Y"] / 0.0254, 1e-15)
    for name, unit in (("car.csv", "m/s"), ("car.parquet", "m/s"), ("car.erd", "in/s")):
        run.save(tmp_path / name)
        read = read_recording(tmp_path / name)
        assert read.channel("nrb.u").unit == unit
        near(read.printed["nrb.u"], printed["nrb.u"], 1e-7)
    phases = {s.name: s.unit for s in System(m).phases().outputs}
    assert phases == {n: u for n, u in units.items() if n in phases}


def test_car_eliminates_its_forward_speed() -> None:
    e = equations("car")
    assert [x.name for x in e.coordinates] == ["X", "Y", "yaw", "roll"]
    assert [x.name for x in e.speeds] == ["nrb.v", "yaw_dot", "roll_dot"]
    assert [(k.constraint.name, str(k.speed)) for k in e.eliminations] == [
        ("constant forward speed", "nrb.u")
    ]


def test_car_parameters_without_effect_are_not_listed() -> None:
    """HRA and five inertias never matter; nor does IYY in the small version."""
    idle = {"HRA", "NRBI11", "NRBI22", "NRBI12", "NRBI23", "NRBI13"}
    full = {x.name for x in equations("car").parameters()}
    small = {x.name for x in equations("car-small").parameters()}
    assert set(load_model("car").parameters) - full == idle
    assert full - small == {"IYY"}


@pytest.mark.parametrize("name", ["car", "car-small"])
def test_car_at_rest_in_sideslip(name: str) -> None:
    found = state(name, [0, 0, 0, 0], [0, 0, 0])
    close(found["u_dot"] / INCHES, [12.4409473909, 0.7620956764, -1.2365734163], 8)
    close(found["Ay"], 0.109977, 6)


IXZ = 300 * parse_unit("lbf*in*s^2").factor
CAR = [
    ("car", 0.05, (20, 0.1, 0.2), {}, (-165.058680, 0.407115822, -1.38694910), 6),
    ("car-small", 0.05, (20, 0.1, 0.2), {}, (-165.080380, 0.405320858, -1.38136387), 6),
    ("car", 0.05, (20, 0.1, 0.2), {"IXZ": IXZ}, (-165.306222, 0.417523877, -1.41143260), 6),
    ("car", 0.05, (-20, 0.15, 0.2), {}, (-11.0341932432, 0.6819562058, -5.6488600767), 9),
    ("car-small", 0.05, (-20, 0.15, 0.2), {}, (-10.8095584250, 0.6792632470, -5.6507499439), 9),
    ("car", 0.4, (-50, 0.5, -0.7), {}, (-86.8569013280, 2.2765034471, -23.9985173688), 9),
]


@pytest.mark.parametrize(("name", "roll", "u", "values", "wanted", "digits"), CAR)
def test_car_accelerations(
    name: str,
    roll: float,
    u: tuple[float, ...],
    values: dict[str, float],
    wanted: tuple[float, ...],
    digits: int,
) -> None:
    found = state(name, [0, 0, 0.3, roll], INCHES * u, values)
    close(found["u_dot"] / INCHES, wanted, digits)


@pytest.mark.parametrize("name", ["car", "car-small"])
def test_car_kinematics_keep_the_large_yaw_angle(name: str) -> None:
    found = state(name, [0, 0, 0.3, 0.05], INCHES * [20, 0.1, 0.2])
    close(found["q_dot"][:2] / 0.0254, [918.855317, 305.170290], 6)


@pytest.mark.parametrize("formulation", WITH_CONSTRAINTS)
def test_small_car_is_the_linear_model(formulation: str) -> None:
    """The system matrix and the column of the steer angle, to the digits of the thesis' digest."""
    matrix = [
        [-5.18228983, -1060.41542, 21.7297299, 556.401301],
        [-0.0139249294, -5.66109573, 0.0972297568, 9.36774782],
        [0.118216741, 9.18567143, -2.06696584, -60.2859851],
    ]

    def rates(x: np.ndarray, steer: float) -> np.ndarray:
        values = {"STEER": steer}
        speeds = INCHES * x[:3]
        found = state("car-small", [0, 0, 0, x[3]], speeds, values, formulation=formulation)
        return np.asarray(found["u_dot"] / INCHES)

    zero = rates(np.zeros(4), 0.0)
    found = np.array([rates(x, 0.0) - zero for x in np.eye(4)]).T
    near(found, matrix, 3e-9)
    near(rates(np.zeros(4), 1.0) - zero, [712.813779, 43.6648658, -70.8504378], 3e-9)
    poles = np.sort_complex(np.linalg.eigvals(np.vstack([found, [0, 0, 1, 0]])))
    near(poles[0].real, -5.524948, 1e-6)
    near(abs(poles[3].imag), 6.460622, 1e-6)


# -- cart ------------------------------------------------------------------------------------------
def test_cart_constraints_eliminate_six_speeds_and_two_are_redundant() -> None:
    e = equations("cart")
    told = [(k.constraint.name, None if k.speed is None else k.speed.name) for k in e.eliminations]
    assert told == [
        ("rrw rolls", "rrw_dot"),
        ("lrw rolls", "lrw_dot"),
        ("rfw rolls", "rfw_dot"),
        ("lfw rolls", "lfw_dot"),
        ("rrw does not slip", "yaw_dot"),
        ("lrw does not slip", None),
        ("rfw does not slip", "steer_dot"),
        ("lfw does not slip", None),
    ]
    assert [x.name for x in e.coordinates] == [
        *("X", "Y", "yaw", "steer"),
        *("lfw", "rfw", "lrw", "rrw"),
    ]
    assert [x.name for x in e.speeds] == ["b.u", "b.v"]


def test_cart_at_rest() -> None:
    found = state("cart", [0, 0, 0, 0.25, 0, 0, 0, 0], [0, 0])
    close(found["u_dot"], [3.1340506241, 0.2123356258], 9)
    close(found["mass"], [[38.2960793113, -94.2934149327], [-94.2934149327, 1391.7604962996]], 9)


def test_cart_moving() -> None:
    found = state("cart", [0, 0, 0.3, 0.25, 0, 0, 0, 0], [2, 0.7])
    rates = (1.91067298, 0.59104041, 1.54, 15.89379776, 56.13113434, -31.03785444, 13.85, 6.15)
    close(found["q_dot"], rates, 8)
    close(found["u_dot"], [-7.25744006, 10.90173865], 8)
    again = state("cart", [0, 0, 0, 0.3, 0, 0, 0, 0], [2, -0.1])
    again_rates = (-0.22, -8.8430145473, -13.5917798181, 31.7232929186, 9.45, 10.55)
    close(again["q_dot"][2:], again_rates, 9)
    close(again["u_dot"], [3.7008652832, -4.4274048486], 9)


# -- four-bar --------------------------------------------------------------------------------------
def test_four_bar_points_convert_from_global_coordinates() -> None:
    m = load_model("four-bar")
    assert str(m.points["bp"].local) == "L4*b.y"
    assert str(m.points["s1"].local) == "L2*b.y"
    assert str(m.points["cp"].local) == "(L1 - L5)*c.x"
    assert [str(x) for x in m.bodies["b"].inertia.center] == ["0", "L3", "0"]


def test_four_bar_closes() -> None:
    m = load_model("four-bar")
    found = closed(m, {"a": -0.5}, {"b": 0.5, "c": -0.5})
    close([found["b"], found["c"]], [0.5634732703, -0.6444917734], 10)


FOUR_BAR = [
    (0.0, 0.0, {}, -19.6133, 0.0),
    (0.0, 2.0, {}, -35.6133, 89.4427191),
    (-0.5, 0.0, {}, 246.379342075, -2062.637507),
    (0.2, 1.5, {}, -202.986172, 990.640334),
    (0.2, 1.5, {"D": 10}, -191.150924, 926.885806),
    (-0.3, -2.0, {}, 193.821282, -1361.59785),
]


@pytest.mark.parametrize(("a", "u", "values", "wanted", "force"), FOUR_BAR)
def test_four_bar_acceleration_and_strut(
    a: float, u: float, values: dict[str, float], wanted: float, force: float
) -> None:
    place = closed(model("four-bar"), {"a": a}, {"b": -a, "c": a})
    found = state("four-bar", [place[k] for k in "abc"], [u], values)
    close(found["u_dot"], [wanted], 6)
    close(-found["tension"], force, 5)


def test_four_bar_speeds_follow_the_crank() -> None:
    found = state("four-bar", [0.2, -0.191463321, 0.250934537], [1.5])
    close(found["q_dot"], [1.5, -1.36888561, 1.89617199], 8)


def test_four_bar_rests_in_its_equilibrium() -> None:
    place = closed(model("four-bar"), {"a": -0.024778341}, {"b": 0.02, "c": -0.03})
    close([place["b"], place["c"]], [0.024906300, -0.030974716], 8)
    found = state("four-bar", [place[k] for k in "abc"], [0.0])
    close(found["u_dot"], [0], 5)
    close(found["tension"], 110.41027, 4)


# -- spacecraft ------------------------------------------------------------------------------------
SC1 = "spacecraft-1:external=off"
SC1_Q = np.array([0, 0, 0, 0.1, 0.2, 0.3, 4, -0.5, 0.02, -0.03])
SC1_U = np.array([0.1, -0.2, 0.3, 0.04, -0.05, 0.06, 0.07, -0.08, 0.09, -0.1])
SC1_INPUTS = {"CLKCMD": 3.9, "CAMCMD": -0.45, "FIRE1": 1.0, "FIRE2": 0.0, "FIRE3": -1.0}


def test_spacecraft_1_moving() -> None:
    found = state(SC1, SC1_Q, SC1_U, SC1_INPUTS)
    rates = (0.21072496, -0.18764820, 0.24588041, 0.05406721, -0.03594602, 0.04925850)
    close(found["q_dot"][:6], rates, 8)
    wanted = (
        *(0.671533334, 0.590828512, 0.687511496, 1.179478485, -1.417344888),
        *(0.761932345, -54.175585005, 18.769519138, -1.382731812, -0.888297600),
    )
    close(found["u_dot"], wanted, 9)


def test_spacecraft_1_at_rest() -> None:
    q = [0, 0, 0, 0, 0, 0, 4, -0.5, 0, 0]
    found = state(SC1, q, np.zeros(10), {"CLKCMD": 3.99, "CAMCMD": -0.49})
    wanted = (
        *(0.06772863, 0.05381652, 0.13136429, 0.08227973, -0.18730615),
        *(0.06142988, -5.35109065, 3.81153586, -0.09561702, -0.0742635),
    )
    close(found["u_dot"], wanted, 8)


@pytest.mark.parametrize("formulation", cases(FORMULATIONS, daily=["composite", "kane"]))
def test_small_spacecraft_1_is_right_to_first_order(formulation: str) -> None:
    """With states of size h and stiffnesses of size 1/h it misses the full model by h squared."""
    small = "spacecraft-1:small=on,external=off"
    large = ("KB", "BB")
    still = np.array([0, 0, 0, 0, 0, 0, 1, 1, 0, 0])

    def miss(h: float) -> np.ndarray:
        q = np.where(still, SC1_Q, h * SC1_Q)
        u = np.where(still, SC1_U, h * SC1_U)
        stiff = {k: equations(SC1).mechanism.values[k] / h for k in large}
        values = {**SC1_INPUTS, **stiff}
        a = state(SC1, q, u, values)
        b = state(small, q, u, values, formulation=formulation)
        return np.concatenate([a["u_dot"] - b["u_dot"], (a["q_dot"] - b["q_dot"]) / h])

    coarse, fine = miss(0.02), miss(0.002)
    assert np.abs(fine).max() < 2e-4
    assert np.abs(fine).max() < 0.015 * np.abs(coarse).max()


def test_spacecraft_1_commands_follow_their_timetable() -> None:
    """The command of the clock acts on its drive: 4, then down by 0.025 a second, then 3.75."""
    q = [0, 0, 0, 0, 0, 0, 4, -0.5, 0, 0]
    for time, clock, camera in ((0.5, 4, -0.5), (5, 3.9, -0.46), (20, 3.75, -0.4)):
        wanted = state(SC1, q, np.zeros(10), {"CLKCMD": clock, "CAMCMD": camera})
        near(state("spacecraft-1", q, np.zeros(10), time=time)["u_dot"], wanted["u_dot"], 1e-12)


def test_thrusters_remember() -> None:
    """Beyond the dead band they fire against the error, and not shorter than 20 ms."""
    fire = thruster().python
    assert fire is not None
    story = [(0.0, 0.0), (0.02, -0.003), (0.03, 0.0), (0.041, 0.0), (0.05, 0.01), (0.06, -0.01)]
    assert [fire(t, 2, error) for t, error in story] == [0, 1, 1, 0, -1, 1]
    assert fire(0.06, 1, 0.0) == 0
    assert fire(0.0, 2, 0.0) == 0


def test_spacecraft_2_moving() -> None:
    q = [0, 0, 0, 0.1, 0.2, 0.3, 0.05, -0.06, 0.07, -0.08]
    found = state("spacecraft-2", q, SC1_U)
    rates = (0.17041363, -0.26402943, 0.20309518, 0.02391414, -0.05958763, 0.06475101)
    close(found["q_dot"][:6], rates, 8)
    wanted = (
        *(0.0070439330, 0.0140037017, 0.0069936916, -0.0004249454, -0.0009523272),
        *(-0.0005472264, 0.0015206199, 0.0181598457, 0.0155077295, 0.0056682985),
    )
    close(found["u_dot"], wanted, 10)


def test_spacecraft_2_spinning() -> None:
    u = [0, 0, 0, 0.5, -0.4, 0.3, 0.2, 0.1, -0.2, -0.1]
    wanted = (
        *(4.5984252e-3, 8.4857828e-4, -1.3072991e-3, -1.38632229e-2, -5.62264368e-2),
        *(-5.40606936e-2, 0.310732114, 0.804836355, 0.916168114, -8.44564453e-3),
    )
    near(state("spacecraft-2", np.zeros(10), u)["u_dot"], wanted, 2e-8)


# -- Stanford arm ----------------------------------------------------------------------------------
ARM_Q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
ARM_U = [0.7, -0.8, 0.9, -1, 1.1, -1.2]
ARM = [
    (
        "stanford-arm-controlled",
        {},
        *((-9.9628061686, 4.7271557222, -7.4315643353, 113.4112467426, -54.5129570678),),
        *(112.7956012161, 9),
    ),
    (
        "stanford-arm",
        {},
        *((-1.8387701184, 3.9205186867, -9.2911155187, 18.035202185, -2.2476184599),),
        *(-15.5278301809, 9),
    ),
    (
        "stanford-arm",
        {"MB": 5},
        *((-1.93107683, 3.90957718, -9.29253394, 18.28787943, -2.19153323), -15.67623848, 8),
    ),
]


@pytest.mark.parametrize(("name", "values", "first", "last", "digits"), ARM)
def test_arm_accelerations(
    name: str, values: dict[str, float], first: tuple[float, ...], last: float, digits: int
) -> None:
    close(state(name, ARM_Q, ARM_U, values)["u_dot"], (*first, last), digits)


def test_arm_starts_under_control() -> None:
    found = state("stanford-arm-controlled", [0, math.pi / 2, 0, 0, 0, 0], np.zeros(6))
    wanted = (
        2.1431461358,
        -1.8038658227,
        0.7061178923,
        43.6332312999,
        21.3032198588,
        87.2664625997,
    )
    close(found["u_dot"], wanted, 9)
    assert load_model("stanford-arm-controlled").initial == {"b": math.pi / 2}


def test_arm_does_not_depend_on_the_mass_of_its_base() -> None:
    assert "MA" not in {x.name for x in equations("stanford-arm").parameters()}
    assert "MB" in {x.name for x in equations("stanford-arm").parameters()}


# -- planar benchmarks -----------------------------------------------------------------------------
def test_pendulum_swings_as_it_must() -> None:
    found = state("pendulum", [0.3], [0.5], {"L": 2.0, "m": 7.0})
    close(found["u_dot"], [-9.81 / 2 * math.sin(0.3)], 14)
    close([found["x"], found["y"]], [2 * math.sin(0.3), -2 * math.cos(0.3)], 14)


def test_double_pendulum_agrees_with_the_textbook() -> None:
    """Lagrange's equations in absolute angles, the second angle being relative here."""
    p1, p2, w1, w2 = 0.4, 1.1, 0.7, -0.9
    m1, m2, l1, l2, g = 1.3, 0.7, 0.8, 1.2, 9.81
    mass = np.array(
        [
            [(m1 + m2) * l1**2, m2 * l1 * l2 * math.cos(p1 - p2)],
            [m2 * l1 * l2 * math.cos(p1 - p2), m2 * l2**2],
        ]
    )
    right = [
        -m2 * l1 * l2 * math.sin(p1 - p2) * w2**2 - (m1 + m2) * g * l1 * math.sin(p1),
        m2 * l1 * l2 * math.sin(p1 - p2) * w1**2 - m2 * g * l2 * math.sin(p2),
    ]
    first, second = np.linalg.solve(mass, right)
    values = {"m1": m1, "m2": m2, "L1": l1, "L2": l2}
    found = state("double-pendulum", [p1, p2 - p1], [w1, w2 - w1], values)
    close(found["u_dot"], [first, second - first], 12)


def test_slider_crank_at_rest_at_right_angles() -> None:
    """With the crank upright the rod only shifts: one equation for the crank by virtual power."""
    m = load_model("slider-crank")
    v = m.values
    r, l = v["r"], v["l"]
    lean = math.asin(r / l)
    place = closed(m, {"crank": math.pi / 2}, {"rod": -2.0, "piston": 0.0})
    close(place["rod"], -math.pi / 2 - lean, 12)
    inertia = v["Ic"] + v["mc"] * r**2 / 4 + (v["mr"] + v["mp"]) * r**2
    found = state("slider-crank", list(place.values()), [0.0])
    close(found["mass"], [[inertia]], 12)
    close(found["u_dot"], [v["T"] / inertia], 8)


@pytest.mark.parametrize("n", cases([1, 2, 5], daily=[1, 2]))
def test_n_four_bar_moves_as_one_body(n: int) -> None:
    """The exact reduction of the benchmark to one degree of freedom."""
    phi = 0.7
    q = [*([phi, -phi] * n), phi]
    found = state(f"n-four-bar:n={n}", q, [1.3])
    pull = ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    close(found["u_dot"], [9.81 * pull * math.sin(phi)], 10)
    close([found["x"], found["y"]], [math.sin(phi), math.cos(phi)], 12)


# -- Andrews' squeezer -----------------------------------------------------------------------------
ANDREWS = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")  # order of the literature


def andrews_start() -> dict[str, float]:
    m = model("andrews")
    return {k: m.initial.get(k, 0.0) for k in m.coordinates}


def andrews_rates(place: dict[str, float], beta_dot: float) -> tuple[np.ndarray, np.ndarray]:
    """Return q' and q'' in the order of the literature."""
    e = equations("andrews")
    q = [place[x.name] for x in e.coordinates]
    found = state("andrews", q, [beta_dot])
    speeds = dict(zip((x.name for x in e.coordinates), found["q_dot"], strict=True))
    names = [u.name.removesuffix("_dot") for u in (*e.speeds, *e.reduction.dependent)]
    values = np.concatenate([found["u_dot"], found["dependent"]])
    rates = dict(zip(names, values, strict=True))
    return np.array([speeds[k] for k in ANDREWS]), np.array([rates[k] for k in ANDREWS])


def test_andrews_starts_closed() -> None:
    m = model("andrews")
    values = {x: m.values[k] for k, x in m.parameters.items()}
    values |= {m.coordinates[k]: v for k, v in andrews_start().items()}
    residuals = evaluate_all([c.position for c in m.constraints if c.position is not None], values)
    assert len(residuals) == 6
    assert np.abs(residuals).max() < 1e-16


def test_andrews_mass_matrix_of_the_tree() -> None:
    """Entries of the literature's table, its order of coordinates."""
    m = model("andrews")
    p = tree_program(m)
    arrays = {"q": list(andrews_start().values()), "u": [0.0] * 7}
    given = [
        np.array(arrays.get(port.name) or [m.values[x.name] for x in port.entries])
        for port in p.inputs
    ]
    outputs = {port.name: v for port, v in zip(p.outputs, interpret(lower(p), given), strict=True)}
    found = outputs["M"]
    order = [list(m.coordinates).index(k) for k in ANDREWS]
    wanted = np.zeros((7, 7))
    wanted[0, 0], wanted[0, 1], wanted[1, 1] = 2.7455193e-6, 6.298875e-7, 9.237125e-7
    wanted[2, 2] = 1.6170147425e-5
    wanted[3, 3] = wanted[5, 5] = 8.03380146e-7
    wanted[3, 4] = wanted[5, 6] = 1.16446316724475e-6
    wanted[4, 4], wanted[6, 6] = 6.79812821884895e-5, 4.13408445184895e-5
    wanted = np.triu(wanted) + np.triu(wanted, 1).T
    np.testing.assert_allclose(found[np.ix_(order, order)], wanted, rtol=1e-13, atol=1e-21)


def test_andrews_accelerations_at_the_start() -> None:
    speeds, rates = andrews_rates(andrews_start(), 0.0)
    assert not speeds.any()
    np.testing.assert_allclose(
        rates, [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0], rtol=1e-12, atol=1e-8
    )


def test_andrews_after_30_ms() -> None:
    """Speeds and accelerations at the converged state of the benchmark."""
    angles = (
        *(15.8107711951537, -15.7563710584118, 0.0408222401196458, -0.534730116342080),
        *(0.524409965879954, 0.534730116342080, 1.04808074104194),
    )
    speeds, rates = andrews_rates(dict(zip(ANDREWS, angles, strict=True)), 1139.92030225911)
    wanted = (
        *(1139.92030225911, -1424.37929517754, 11.0329119106, 19.2933741050),
        *(0.573569914830, -19.2933741050, 0.323179149249),
    )
    np.testing.assert_allclose(speeds, wanted, rtol=1e-9, atol=1e-8)
    wanted = (
        *(-24631.7631, 51850.3196, 324102.601, 566749.422, 16743.6354, -566749.422, 9826.5078),
    )
    np.testing.assert_allclose(rates, wanted, rtol=1e-7)


# -- Whipple's bicycle -----------------------------------------------------------------------------
def bicycle_pose(phi: float, delta: float) -> dict[str, float]:
    return closed(model("whipple"), {"phi": phi, "delta": delta}, {"theta": 0.0})


def bicycle(
    phi: float, delta: float, u: tuple[float, float, float], **torques: float
) -> dict[str, float]:
    """Return speeds and accelerations by name; u are the rates of phi, delta and theta_R."""
    e = equations("whipple")
    pose = bicycle_pose(phi, delta)
    q = [pose.get(x.name, 0.0) for x in e.coordinates]
    given = dict(zip(("phi_dot", "delta_dot", "theta_R_dot"), u, strict=True))
    found = state("whipple", q, [given[x.name] for x in e.speeds], torques)
    names = [x.name for x in (*e.speeds, *e.reduction.dependent)]
    values = np.concatenate([found["u_dot"], found["dependent"]])
    rates = {f"{x.name}_dot": v for x, v in zip(e.coordinates, found["q_dot"], strict=True)}
    return {**rates, **{f"{k}_dot": v for k, v in zip(names, values, strict=True)}}


PITCH = [
    (0, 0.1, -0.00011468747065),
    (0.1, 0.1, -0.00083804669708),
    (0.2, 0.4, -0.00578224303992),
    (0, 1, -0.00692446864413),
    (0.5, -0.5, 0.02521283934231),
]


@pytest.mark.parametrize(("phi", "delta", "theta"), PITCH)
def test_bicycle_pitches_with_roll_and_steer(phi: float, delta: float, theta: float) -> None:
    close(bicycle_pose(phi, delta)["theta"], theta, 13)


def test_bicycle_in_a_wild_state() -> None:
    found = bicycle(0.2, 0.4, (0.3, -0.5, -5 / 0.3))
    wanted = {
        "psi_dot": 1.986212737484,
        "theta_dot": 0.001165954624,
        "theta_F_dot": -15.58073402309,
        "phi_dot_dot": -6.438780583955,
        "delta_dot_dot": 4.142580389,
        "theta_R_dot_dot": -5.618417349,
        "psi_dot_dot": -1.834949401,
        "theta_F_dot_dot": -2.134212752,
    }
    close([found[k] for k in wanted], list(wanted.values()), 9)


def test_bicycle_answers_to_torques() -> None:
    roll = bicycle(0, 0, (0, 0, 0), Tphi=1.0)
    close([roll["phi_dot_dot"], roll["delta_dot_dot"]], [0.015934978918, -0.124092025412], 11)
    steer = bicycle(0, 0, (0, 0, 0), Tdelta=1.0)
    close([steer["phi_dot_dot"], steer["delta_dot_dot"]], [-0.124092025412, 4.323840180804], 11)


EIGENVALUES = [
    (0.0, [-5.53094371765, -3.13164324791, 3.13164324791, 5.53094371765]),
    (5.0, [-14.0783896928, -0.775341882196 - 4.46486771379j, -0.775341882196 + 4.46486771379j]),
    (7.0, [-18.1578846613, -2.13875644258 - 7.19525913330j, -2.13875644258 + 7.19525913330j]),
]
LAST = {5.0: -0.322866429004, 7.0: 0.102681705748}


@pytest.mark.parametrize(("v", "wanted"), EIGENVALUES)
def test_bicycle_has_the_eigenvalues_of_the_benchmark(v: float, wanted: list[complex]) -> None:
    """Central differences of the nonlinear model, its pitch following roll and steer."""
    spin, h = -v / 0.3, 1e-3

    def rates(x: np.ndarray) -> np.ndarray:
        found = bicycle(x[0], x[1], (x[2], x[3], spin))
        return np.array([x[2], x[3], found["phi_dot_dot"], found["delta_dot_dot"]])

    def slope(e: np.ndarray) -> np.ndarray:
        near_by, far = (rates(k * h * e) - rates(-k * h * e) for k in (1, 2))
        found: np.ndarray = (8 * near_by - far) / (12 * h)
        return found

    matrix = np.array([slope(e) for e in np.eye(4)]).T
    found = np.sort_complex(np.linalg.eigvals(matrix))
    full = wanted if v == 0 else [*wanted, LAST[v]]
    assert np.abs(found - np.sort_complex(np.array(full))).max() < 1e-8


def test_bicycle_starts_at_the_speed_that_is_set() -> None:
    m = load_model("whipple")
    m.set_parameters(v=6.0)
    assert m.initial["theta_R_dot"] == pytest.approx(-20.0)


# -- PUMA 560 --------------------------------------------------------------------------------------
QN = [0, math.pi / 4, math.pi, 0, math.pi / 4, 0]
ONES = np.ones(6)
PUMA = [
    ("on", 0, 0, (0, 31.6398803784, 6.0351380230, 0, 0.0282528, 0)),
    (
        *("on", 0, 1),
        (3.3531108581, 36.0025112440, 7.4259640774, 0.1900430346, 0.2034409311, 0.1941327899),
    ),
    (
        *("on", 1, 1),
        (32.4952427549, 60.8669884751, 17.7435949128, 1.4545190261, 1.2991104105, 0.7137808875),
    ),
    (
        *("on", 1, 0),
        (29.1421318969, 56.5043576095, 16.3527688584, 1.2644759915, 1.1239222794, 0.5196480975),
    ),
    (
        *("off", 0, 1),
        (2.5690808894, 33.6776963990, 6.8490907454, -0.0007475916, 0.0327346395, 0.0000682843),
    ),
    (
        *("off", 1, 1),
        (1.1780065183, 35.4606149883, 6.0970639905, 0.0004754903, 0.0351141179, 0.0002165685),
    ),
]


@pytest.mark.parametrize(("drives", "u", "a", "wanted"), PUMA)
def test_puma_torques(drives: str, u: float, a: float, wanted: tuple[float, ...]) -> None:
    close(inverse_dynamics(f"puma560:drives={drives}", QN, u * ONES, a * ONES), wanted, 9.9)


GENERIC = [
    (
        "on",
        (33.3082428366, 24.8467601133, 8.8705264359, -0.7194352309, 2.3604639121, -0.0720627448),
    ),
    (
        "off",
        (1.9910066000, 37.3488640651, -1.9395381551, 0.0082400394, -0.0136405681, 0.0003997278),
    ),
]


@pytest.mark.parametrize(("drives", "wanted"), GENERIC)
def test_puma_torques_with_both_signs_of_friction(drives: str, wanted: tuple[float, ...]) -> None:
    q, u, a = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, -1, 0.5, -0.5, 2, -2], [1, 2, 3, 4, 5, 6]
    close(inverse_dynamics(f"puma560:drives={drives}", q, u, a), wanted, 9.9)


@pytest.mark.parametrize("drives", ["on", "off"])
def test_puma_mass_matrix(drives: str) -> None:
    rotors = [3.6593754122, 4.4137419336, 0.9378415752, 0.1925317061, 0.1713484517, 0.1941045057]
    plain = [2.8753454435, 2.0889270886, 0.3609682433, 0.0017410800, 0.0006421600, 0.0000400000]
    wanted = np.diag(rotors if drives == "on" else plain)
    entries = {
        (0, 1): -0.4043612460,
        (0, 2): 0.1006136478,
        (0, 3): -0.0025169558,
        (1, 2): 0.3508906650,
        (1, 4): 0.0023595131,
        (2, 4): 0.0014801664,
        (3, 5): 0.0000282843,
    }
    for (i, j), value in entries.items():
        wanted[i, j] = wanted[j, i] = value
    close(state(f"puma560:drives={drives}", QN, 0 * ONES)["mass"], wanted, 10)


def test_puma_falls_when_released() -> None:
    wanted = [
        -0.6619970387,
        -6.9292906973,
        -3.7714835420,
        -0.0086542491,
        -0.0368875517,
        0.0000012611,
    ]
    close(state("puma560", QN, 0 * ONES)["u_dot"], wanted, 9.9)


POSES = [
    ([0, 0, 0, 0, 0, 0], (0.4521, -0.15005, 1.10363), (37.48366665, 0.24892875, 0)),
    (
        [0, math.pi / 2, -math.pi / 2, 0, 0, 0],
        (0.0203, -0.15005, 1.53543),
        (-0.77523525, 0.24892875, 0),
    ),
    (
        [0, 0, -math.pi / 2, 0, 0, 0],
        (0.8636, -0.15005, 0.65153),
        (46.006938, 8.7722001, 0.0282528),
    ),
    (
        [0, math.pi / 4, -math.pi, 0, math.pi / 4, 0],
        (0.5963031486, -0.15005, 0.6574757323),
        (31.6398803784, 6.0351380230, 0.0282528),
    ),
]


@pytest.mark.parametrize(("q", "tool", "gravity"), POSES)
def test_puma_named_poses(
    q: list[float], tool: tuple[float, ...], gravity: tuple[float, float, float]
) -> None:
    found = state("puma560", q, 0 * ONES)
    close([found[f"tool {axis}"] for axis in "xyz"], tool, 10)
    second, third, fifth = gravity
    close(-found["right"], [0, second, third, 0, fifth, 0], 9.9)


def test_puma_inertias_that_no_body_has_are_reported() -> None:
    """Links 1 and 3 of the published data; the arm is simulated all the same."""
    assert implausible(load_model("puma560")) == [
        "link1: it has moments of inertia but no mass",
        "link3: its largest moment of inertia, 0.086 kg*m^2, exceeds the sum of the other two, "
        "0.0785 kg*m^2",
    ]


def test_only_published_data_are_implausible() -> None:
    """The bus of spacecraft 1 and the car's rolling body come so from the thesis."""
    found = {name: [line.split(":")[0] for line in implausible(shipped(name))] for name in MODELS}
    assert {name: bodies for name, bodies in found.items() if bodies} == {
        "car": ["rb"],
        "car-small": ["rb"],
        "puma-sees": ["link1", "link3"],
        "puma560": ["link1", "link3"],
        "puma-on-wave": ["link1", "link3"],
        "spacecraft-1": ["b"],
        "spacecraft-1-small": ["b"],
    }


def test_armature_needs_a_joint_that_moves() -> None:
    m = Mechanism("m")
    still = m.body("b")
    with pytest.raises(Exception, match="'b' has no coordinate; an armature needs one"):
        m.armature(still, "J")
