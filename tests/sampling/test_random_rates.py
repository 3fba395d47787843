"""Loops whose samples come at random: the report's numbers, and four answers that differ."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import linkwright as lw
from linkwright.control.joints import driven_joints
from linkwright.mechanism import mechanism_of
from linkwright.sampling import Bernoulli, Loop, Mixture, Uniform, switching_bounds
from linkwright.sampling.answers import Answers, expectations
from linkwright.sampling.contraction import best_transform, log_norms
from linkwright.sampling.designs import UnitCurve, bernoulli_range
from linkwright.sampling.distributions import Distribution
from linkwright.sampling.holds import RandomHold
from linkwright.sampling.mean_square import radius
from linkwright.sampling.rate_files import read_loop
from linkwright.sampling.streams import SampleStream
from tests.seeds import cases, seldom

Array = NDArray[np.float64]
POLES = (0.4, 0.7)
PLANT = Loop([[0, 1], [0, 0]], [[0], [1]])
CURVE = UnitCurve(PLANT, POLES)
GAINS = {13.0: (-1065, -62.31), 40 / 3: (-1012.5, -60.75)}
"""The report's gains by the interval, in ms, for which they were made."""
MIXED = Mixture([Uniform(0.005, 0.015), Uniform(0.020, 0.040)], [0.75, 0.25])
PAIR = Bernoulli(0.010, 0.030, p=0.75)


def test_the_example_of_the_page_runs_as_it_is_written() -> None:
    loop = lw.sampling.Loop([[0, 1], [0, 0]], [[0], [1]])
    found = loop.design(lw.sampling.Uniform(0.010, 0.030), poles=(0.4, 0.7))
    assert found.gain == pytest.approx(np.array([[-1012.5, -60.75]]))
    assert found.contraction == pytest.approx(-0.2258, abs=1e-4)
    assert found.mean_square < 1
    assert found.exponent.low < found.exponent.value < found.exponent.high < 0
    assert found.verdict == "proven"


# -- the report's curve and tables -----------------------------------------------------------------
def test_gain_and_transformation_are_those_of_the_report() -> None:
    """Server check 51."""
    assert CURVE.gain == pytest.approx(np.array([[-0.18, -0.81]]))
    expected = np.array([[-0.759, -0.943], [0.651, 0.333]])
    assert CURVE.transform == pytest.approx(expected, abs=5e-4)


def test_gamma_has_the_minimum_and_the_zeros_of_the_report() -> None:
    """Server check 51."""
    at, least = CURVE.lowest
    assert least == pytest.approx(-0.417, abs=1e-3)
    assert at == pytest.approx(1.343, abs=1e-3)
    assert CURVE.zero == pytest.approx(1.964, abs=1e-3)
    assert CURVE.g_zero == pytest.approx(2.89, abs=5e-3)
    assert CURVE.g(CURVE.zero) == pytest.approx(-0.483, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "first", "second"),
    [
        (-0.05, 0.175, 1.923),
        (-0.10, 0.321, 1.881),
        (-0.15, 0.451, 1.837),
        (-0.20, 0.575, 1.791),
        (-0.25, 0.700, 1.740),
        (-0.30, 0.831, 1.681),
        (-0.35, 0.978, 1.607),
        (-0.40, 1.174, 1.485),
    ],
)
def test_rows_of_table_1(level: float, first: float, second: float) -> None:
    """Server check 51."""
    assert CURVE.pair(level) == pytest.approx((first, second), abs=6e-4)


@pytest.mark.parametrize(
    ("start", "partner", "ratio"),
    [
        (0.5, 2.848, 0.176),
        (0.75, 2.788, 0.269),
        (1.0, 2.695, 0.371),
        (1.25, 2.564, 0.487),
        (1.5, 2.391, 0.627),
    ],
)
def test_pairs_of_equal_g(start: float, partner: float, ratio: float) -> None:
    """Server check 51."""
    found = CURVE.g_partner(start)
    assert found == pytest.approx(partner, abs=6e-4)
    assert start / found == pytest.approx(ratio, abs=6e-4)


def test_the_bernoulli_example() -> None:
    """Server check 51: theta* is 3.245, not 3.64, and so the shortest interval is 9.24 ms."""
    low, high = bernoulli_range(PLANT, PAIR, POLES)
    assert 0.030 / low == pytest.approx(3.2455, abs=1e-3)
    assert low == pytest.approx(9.24e-3, abs=1e-5)
    assert high == pytest.approx(15.3e-3, abs=5e-5)
    assert -CURVE.gamma(30 / 11) / 3 == pytest.approx(-0.278, abs=5e-4)
    assert CURVE.pair(-0.30)[0] < 10 / 11 < CURVE.pair(-0.30)[1]
    gain, transform = PLANT.gain_for(POLES, 0.011)
    assert gain == pytest.approx(np.array([[-1488, -73.64]]), rel=3e-4)
    assert expected(PAIR, gain, transform) == pytest.approx(-0.0369, abs=5e-5)


def test_expectations_of_the_uniform_and_the_mixed_example() -> None:
    """Server check 51."""
    for period, value in ((13.0, -0.2025), (40 / 3, -0.2258)):
        gain, transform = PLANT.gain_for(POLES, period / 1e3)
        assert gain == pytest.approx(np.array([GAINS[period]]), rel=1e-4)
        assert expected(Uniform(0.010, 0.030), gain, transform) == pytest.approx(value, abs=5e-5)
    at_11 = PLANT.gain_for(POLES, 0.011)
    assert expected(MIXED, *at_11) == pytest.approx(-0.0414, abs=5e-5)


def test_designs_by_the_tables_keep_a_margin() -> None:
    """Server check 51: the report takes 11 ms for the mixed example, not the first below zero."""
    found = PLANT.design(MIXED, POLES, procedure="report", streams=2, steps=64)
    assert found.period == pytest.approx(0.011, abs=1e-4)
    assert found.contraction == pytest.approx(-0.0414, abs=5e-4)
    every = [PAIR, *(Bernoulli(0.010, 0.030, p=p) for p in (0.05, 0.95))]
    for rates in cases(every, daily=1):
        ours, best = (
            PLANT.design(rates, POLES, procedure=how, streams=2, steps=64).contraction
            for how in ("report", "strongest")
        )
        assert ours <= 0.199 * best


@pytest.mark.parametrize("period", [0.003, 0.011, 0.5, 7.0])
@pytest.mark.parametrize(
    ("form", "poles"),
    [
        ({}, (0.4, 0.7)),
        ({}, (0.5 + 0.3j, 0.5 - 0.3j)),
        ({"integral": [[1, 0]]}, (0.4, 0.6, 0.7)),
        ({"integral": [[1, 0]]}, (0.7, 0.5 + 0.2j, 0.5 - 0.2j)),
        ({"delayed": True}, (0.2, 0.5, 0.7)),
    ],
)
def test_gamma_depends_on_the_ratio_of_intervals_alone(
    form: dict[str, object], poles: tuple[complex, ...], period: float
) -> None:
    """Server checks 51 and 53: PD, PID, PD with a step of delay, real and complex poles."""
    loop = Loop([[0, 1], [0, 0]], [0, 1], **form)  # type: ignore[arg-type] # each has its own
    at_one, at_period = loop.gain_for(poles, 1.0), loop.gain_for(poles, period)
    for ratio in (0.3, 1.0, 1.7, 2.6):
        plain = loop.gamma(ratio, *at_one)[0]
        assert loop.gamma(ratio * period, *at_period)[0] == pytest.approx(plain, abs=1e-9)
    scale = loop.sizes(period)
    assert at_period[1] == pytest.approx(scale[:, None] * at_one[1], rel=1e-9)


def test_gains_scale_with_the_interval() -> None:
    """Server check 51: K(t) = -(kp/t^2, kv/t), kp = (1 - p)(1 - q), kv = 2 - p - q - kp/2."""
    kp = 0.6 * 0.3
    kv = 2 - 0.4 - 0.7 - kp / 2
    for t in (0.007, 0.011, 0.2, 3.0):
        gain, _ = PLANT.gain_for(POLES, t)
        assert gain == pytest.approx(-np.array([[kp / t**2, kv / t]]), rel=1e-9)


# -- the four limits -------------------------------------------------------------------------------
def expected(distribution: Distribution, gain: ArrayLike, transform: ArrayLike) -> float:
    """Return E[gamma]."""
    (regime,) = distribution.regimes().each
    at, weights = regime.nodes()
    return float(np.dot(weights, PLANT.gamma(at.intervals, gain, transform)))


def moments(beta: float, gain: ArrayLike) -> tuple[np.ndarray, np.ndarray, float]:
    """Return matrices, weights and the mean-square radius for U[10, beta] ms."""
    k = PLANT.gain_of(gain)
    (g,), (w,), (m,) = expectations(PLANT, Uniform(0.010, beta / 1e3).regimes(), k)
    return g, w, radius(m)


@pytest.mark.parametrize(("period", "limit"), [(13.0, 36.16), (40 / 3, 37.17)])
def test_limit_by_the_norm_of_the_report(period: float, limit: float) -> None:
    """Server check 51: the condition is g(low) > g(high), and the limits are 36.16 and 37.17 ms."""
    transform = PLANT.gain_for(POLES, period / 1e3)[1]
    for beta, certain in ((limit - 0.01, True), (limit + 0.01, False)):
        mean = expected(Uniform(0.010, beta / 1e3), GAINS[period], transform)
        assert (mean < 0) == certain
    if period > 13.1:  # the gain is exactly that of its interval
        for beta, certain in ((limit - 0.01, True), (limit + 0.01, False)):
            assert (CURVE.g(10 / period) > CURVE.g(beta / period)) == certain


@pytest.mark.parametrize(("period", "limit"), [(13.0, 43.84), (40 / 3, 45.02)])
def test_limit_by_mean_squares(period: float, limit: float) -> None:
    for beta, below in ((limit - 0.01, True), (limit + 0.01, False)):
        assert (moments(beta, GAINS[period])[2] < 1) == below


@pytest.mark.parametrize(("period", "limit"), [(13.0, 48.3), (40 / 3, 49.6)])
def test_limit_by_the_best_norm(period: float, limit: float) -> None:
    start = PLANT.gain_for(POLES, period / 1e3)[1]
    for beta, below in ((limit - 0.05, True), (limit + 0.05, False)):
        g, w, _ = moments(beta, GAINS[period])
        best, t = best_transform(g, w, start)
        assert best == pytest.approx(float(w @ log_norms(g, t)), abs=1e-9)
        assert (best < 0) == below


@pytest.mark.parametrize(
    ("period", "limit"), cases([(13.0, 62.6), (40 / 3, 64.3)], daily=[(13.0, 62.6)])
)
def test_limit_by_the_exponent(period: float, limit: float) -> None:
    """The band is clear of zero half a millisecond off the limit."""
    for beta, sign in ((limit - 0.5, -1), (limit + 0.5, 1)):
        found = ask(Uniform(0.010, beta / 1e3), GAINS[period], steps=3000)
        assert np.sign(found.exponent.low) == np.sign(found.exponent.high) == sign


def ask(distribution: Uniform, gain: ArrayLike, steps: int) -> Answers:
    return PLANT.answers(distribution, gain, steps=steps)


def test_mean_square_radii_of_the_examples() -> None:
    gain = PLANT.gain_of((-1488, -73.64))
    for distribution, value in ((PAIR, 0.5587), (MIXED, 0.6934)):
        (moment,) = expectations(PLANT, distribution.regimes(), gain)[2]
        assert radius(moment) == pytest.approx(value, abs=5e-5)


# -- intervals of which only bounds are known ------------------------------------------------------
def test_bounds_of_the_joint_spectral_radius_enclose_what_any_order_does() -> None:
    rng = np.random.default_rng(0)
    for beta, verdict in ((0.020, "proven"), (0.030, "proven"), (0.036, "unstable")):
        found = switching_bounds(PLANT, GAINS[13.0], 0.010, beta)
        assert found.verdict == verdict
        assert found.low <= found.high
        phi, psi = PLANT.steps(rng.uniform(0.010, beta, 4000))
        gammas = phi + psi @ PLANT.gain_of(GAINS[13.0])
        assert np.exp(log_norms(gammas, found.transform)).max() <= found.high + 1e-12
        product = np.eye(2)
        for t in found.worst:
            phi, psi = PLANT.steps(t)
            product = (phi[0] + psi[0] @ PLANT.gain_of(GAINS[13.0])) @ product
        assert radius(product) ** (1 / len(found.worst)) == pytest.approx(found.low)
    tight = switching_bounds(PLANT, GAINS[13.0], 0.010, 0.020)
    assert tight.high - tight.low < 2e-3


def test_each_interval_may_be_stable_and_an_order_of_them_not() -> None:
    """Alternation can grow although each interval alone dies out."""
    a = Loop([[0.0, 1.0], [-1.0, -0.02]], [[0.0], [1.0]])
    gain = a.gain_of((-1.2, 0.3))
    steps = [sum(a.steps(t)[k][0] @ (np.eye(2) if k == 0 else gain) for k in (0, 1)) for t in TWO]
    alone = max(radius(np.asarray(g)) for g in steps)
    found = switching_bounds(a, gain, TWO[0], TWO[1])
    assert found.low >= alone - 1e-9


TWO = (0.3, 1.4)


# -- a robot ---------------------------------------------------------------------------------------
TARGET = np.array([0.0, 0.7, -0.7, 0.0, 0.5, 0.0])


def puma() -> lw.Mechanism:
    m = mechanism_of("puma560")
    m.defaults({n: 0.0 for n in m.parameters if n.startswith("Tc")})  # without dry friction
    return m


@seldom(
    daily="tests/sampling/test_rate_streams.py::test_what_the_faulty_link_does_is_certified_or_refused"
)
def test_a_puma_under_recorded_intervals_decays_where_it_is_certified() -> None:
    """Eight random runs with gains that are certified, and eight with gains that are refused."""
    m = puma()
    names = [str(q) for q, _ in driven_joints(m)]
    loop = Loop(lw.linearize(m, at=dict(zip(names, TARGET, strict=True))))
    came = np.cumsum(np.random.default_rng(6).uniform(0.010, 0.030, 200))
    record = SampleStream("eye", came, 0 * came).distribution()
    tried = ((1012.5, 60.75, True), (9000.0, 180.0, False))
    for kp, kd, good in tried:
        (moment,) = expectations(loop, record.regimes(), loop.computed_torque(kp, kd))[2]
        assert (radius(moment) < 1) == good
    s = lw.System(m)
    servo = s.add(lw.control.ComputedTorque(m, kp=1012.5, kd=60.75, target=list(TARGET)), rate=1000)
    hold = s.add(RandomHold(record, 12), rate=1000)
    for i, (q, u) in enumerate(driven_joints(m)):
        s.connect(q, hold.u[i])
        s.connect(u, hold.u[6 + i])
        s.connect(hold.y[i], servo.q[i])
        s.connect(hold.y[6 + i], servo.u[i])
    values = {
        f"computed_torque.{word}": np.repeat([row[k] for row in tried], 8)
        for k, word in enumerate(("kp", "kd"))
    }
    start = dict(zip(names, TARGET + 0.02, strict=True))
    run = lw.simulate_batch(
        s, 0.4, initial=start, parameters=values, every=0, method="rk4", step=0.001
    )
    error = np.abs(np.array([run[n] for n in names]).T - TARGET).max(axis=1)
    assert error[:8].max() < 1e-3
    assert error[8:].min() > 0.02


LOOP_FILE = """format = 1
[plant]
a = [[0, 1], [0, 0]]
b = [[0], [1]]
[feedback]
poles = [0.4, 0.7]
[intervals]
kind = "uniform"
low = "10 ms"
high = "30 ms"
[map]
period = ["8 ms", "20 ms", 4]
[map.intervals]
high = ["12 ms", "80 ms", 4]
"""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (6, "poles = [0.4]"),
        (6, "poles = [0.4, 0.7, 0.7]"),
        (6, "poles = [[0.4, 0.1], 0.7]"),
        (12, 'period = ["8 ms", "20 m", 4]'),
        (12, 'period = ["8 ms", "20 ms", 0]'),
        (12, "gain = [2.0, 0.5, 4]"),
        (14, 'higher = ["12 ms", "80 ms", 4]'),
        (14, 'high = ["12 ms", "80 m", 4]'),
        (14, 'high = ["1 ms", "80 ms", 4]'),
    ],
)
def test_what_is_wrong_in_a_file_of_a_loop_is_told_where_it_stands(
    line: int, wrong: str, tmp_path: Path
) -> None:
    """As it is read, whether a map is asked for or not."""
    lines = LOOP_FILE.splitlines()
    place = tmp_path / "loop.toml"
    place.write_text(LOOP_FILE)
    read_loop(place)
    lines[line - 1] = wrong
    place.write_text("\n".join(lines) + "\n")
    with pytest.raises(lw.InputError) as caught:
        read_loop(place)
    told = re.search(r"loop\.toml:(\d+):", str(caught.value))
    assert told is not None
    assert int(told[1]) in (line, 13)
