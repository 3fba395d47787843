"""Distributions of samples, recordings of streams, certificates, and runs that agree with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.cli import main
from linkwright.recording import Channel, Recording
from linkwright.sampling import (
    Bernoulli,
    Delayed,
    Loop,
    Lost,
    Markov,
    Mixture,
    Recorded,
    Uniform,
    certify,
    random_runs,
    rate_map,
    read_loop,
    switching_bounds,
)
from linkwright.sampling.answers import Answers, expectations, expected_cost
from linkwright.sampling.distributions import DISTRIBUTIONS, Distribution
from linkwright.sampling.mean_square import chain_radius, radius
from linkwright.sampling.regimes import Arrivals
from linkwright.sampling.streams import SampleStream, stream_of
from linkwright.server.clocks import SECOND
from linkwright.server.coordinator import Coordinator, Observation
from tests.seeds import cases

Array = NDArray[np.float64]
PLANT = Loop([[0, 1], [0, 0]], [[0], [1]])
GAIN = PLANT.gain_of((-1065, -62.31))

KINDS: dict[str, Distribution] = {
    "bernoulli": Bernoulli(0.010, 0.030, p=0.75),
    "uniform": Uniform(0.010, 0.030),
    "mixture": Mixture([Uniform(0.005, 0.015), Bernoulli(0.020, 0.040, 0.5)], [0.75, 0.25]),
    "recorded": Recorded([0.010, 0.020, 0.012, 0.031, 0.011]),
    "markov": Markov([Uniform(0.010, 0.012), Uniform(0.020, 0.040)], [[0.9, 0.1], [0.4, 0.6]]),
    "lost": Lost(Uniform(0.010, 0.012), loss=0.2),
    "delayed": Delayed(Uniform(0.010, 0.012), [0.8, 0.15, 0.05]),
}

MIXED = Mixture([Uniform(0.005, 0.015), Uniform(0.020, 0.040)], [0.75, 0.25])


def squared(distribution: Distribution, gain: Array = GAIN, loop: Loop = PLANT) -> float:
    """Return the mean-square radius."""
    regimes = distribution.regimes()
    return chain_radius(expectations(loop, regimes, gain)[2], regimes.transition)


# -- distributions ---------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_what_is_drawn_has_the_moments_of_the_nodes(kind: str) -> None:
    """Expectations by sums and by random numbers agree, for every kind."""
    distribution = KINDS[kind]
    regimes = distribution.regimes()
    drawn = distribution.draw(200, 500, seed=3)
    for power in (1, 2):
        exact = 0.0
        for share, regime in zip(regimes.shares, regimes.each, strict=True):
            at, weights = regime.nodes()
            assert weights.sum() == pytest.approx(1.0)
            exact += share * float(np.dot(weights, at.intervals**power))
        assert np.mean(drawn.intervals**power) == pytest.approx(exact, rel=0.02)
    assert distribution.mean == pytest.approx(float(np.mean(drawn.intervals)), rel=0.02)
    low, high = regimes.range
    if kind != "lost":  # sums of intervals are represented by some of them
        assert low - 1e-12 <= drawn.intervals.min()
        assert drawn.intervals.max() <= high + 1e-12


def test_lost_samples_are_a_loop_that_holds() -> None:
    """The second moments of a loop with a held command, of each sample sent, say the same."""
    loss, period = 0.3, 0.02
    gain = PLANT.gain_for((0.4, 0.7), 0.03)[0]
    phi, psi = (m[0] for m in PLANT.steps(period))
    got = np.block([[phi + psi @ gain, np.zeros((2, 1))], [gain, np.zeros((1, 1))]])
    held = np.block([[phi, psi], [np.zeros((1, 2)), np.ones((1, 1))]])
    sent = (1 - loss) * np.kron(got, got) + loss * np.kron(held, held)
    assert (radius(sent) < 1) == (squared(Lost(period, loss), gain) < 1)
    for other in (0.05, 0.1, 0.2, 0.5, 0.6, 0.8):
        sent = (1 - other) * np.kron(got, got) + other * np.kron(held, held)
        assert (radius(sent) < 1) == (squared(Lost(period, other), gain) < 1), other


def test_chains_without_memory_are_mixtures_and_alternation_is_a_product() -> None:
    parts = [Uniform(0.010, 0.020), Uniform(0.030, 0.050)]
    assert squared(Markov(parts, [[0.6, 0.4]] * 2)) == pytest.approx(
        squared(Mixture(parts, [0.6, 0.4])), rel=1e-12
    )
    first, second = (PLANT.steps(t) for t in (0.010, 0.050))
    product = np.eye(2)
    for phi, psi in (first, second):
        product = (phi[0] + psi[0] @ GAIN) @ product
    turns = Markov([Uniform(0.010, 0.010), Uniform(0.050, 0.050)], [[0, 1], [1, 0]])
    assert squared(turns) == pytest.approx(radius(product), rel=1e-9)
    slow = Markov(parts, [[0.98, 0.02], [0.03, 0.97]])  # the same intervals, but in a row
    assert slow.mean == pytest.approx(Mixture(parts, [0.6, 0.4]).mean)
    assert squared(slow) > 1.2 * squared(Mixture(parts, [0.6, 0.4]))


def test_a_delay_of_one_sample_is_the_loop_with_a_step_of_delay() -> None:
    late = Loop([[0, 1], [0, 0]], [0, 1], delayed=True)
    gain = 0.3 * GAIN
    always = Delayed(Uniform(0.010, 0.030), [0.0, 1.0])
    expected = squared(Uniform(0.010, 0.030), late.gain_of(gain), late)
    assert squared(always, gain) == pytest.approx(expected, rel=1e-9)
    assert squared(Delayed(Uniform(0.010, 0.030), [1.0, 0.0]), gain) == pytest.approx(
        squared(Uniform(0.010, 0.030), gain), rel=1e-9
    )


def test_complex_pairs_give_blocks_and_a_proof() -> None:
    """Server check 53: PD, PID and delayed PD, with poles that are real, or a pair."""
    cases: list[tuple[dict[str, Any], tuple[complex, ...]]] = [
        ({}, (0.5 + 0.2j, 0.5 - 0.2j)),
        ({"integral": [[1, 0]]}, (0.8, 0.5 + 0.1j, 0.5 - 0.1j)),
        ({"delayed": True}, (0.3, 0.6 + 0.1j, 0.6 - 0.1j)),
        ({"delayed": True}, (0.3, 0.5, 0.7)),
    ]
    for form, poles in cases:
        loop = Loop([[0, 1], [0, 0]], [0, 1], **form)
        gain, t = loop.gain_for(poles, 0.020)
        phi, psi = (m[0] for m in loop.steps(0.020))
        block = np.linalg.solve(t, (phi + psi @ gain) @ t)
        want = np.zeros_like(block)
        for k, p in enumerate(q for q in poles if q.imag >= 0):
            at = k + sum(q.imag > 0 for q in [q for q in poles if q.imag >= 0][:k])
            if p.imag:
                want[at : at + 2, at : at + 2] = [[p.real, p.imag], [-p.imag, p.real]]
            else:
                want[at, at] = p.real
        assert np.abs(block - want).max() < 1e-9
        found = loop.answers(Uniform(0.018, 0.022), gain, t, streams=4, steps=64)
        assert found.contraction < 0
        assert found.best_contraction <= found.contraction + 1e-9
        assert found.mean_square < 1


def test_several_inputs_get_the_poles_each() -> None:
    two = Loop(np.kron([[0, 1], [0, 0]], np.eye(2)), np.kron([[0], [1]], np.eye(2)))
    gain, t = two.gain_for((0.4, 0.7), 0.011)
    one = PLANT.gain_for((0.4, 0.7), 0.011)[0]
    assert gain == pytest.approx(np.kron(one, np.eye(2)), abs=1e-9)
    at = Uniform(0.010, 0.030)
    both = two.answers(at, gain, t, streams=4, steps=64)
    alone = PLANT.answers(at, one, PLANT.gain_for((0.4, 0.7), 0.011)[1], streams=4, steps=64)
    assert both.contraction == pytest.approx(alone.contraction, abs=1e-9)
    assert both.mean_square == pytest.approx(alone.mean_square, rel=1e-9)


# -- runs ------------------------------------------------------------------------------------------
def test_certified_runs_decay_and_the_spread_of_the_others_grows() -> None:
    """Server check 52: 50 streams, from (1, 0), 2 s; the spread of the area of the speed."""
    spread = {}
    for beta in (30, 40, 45, 50):
        runs = random_runs(PLANT, Uniform(0.010, beta / 1e3), GAIN, [1, 0], until=2.0)
        spread[beta] = float(runs.areas[:, 1].std(ddof=1))
        if beta == 30:  # certified
            assert np.abs(runs.states[:, -1, 0]).max() < 1e-9
    for certified in (KINDS["bernoulli"], KINDS["uniform"], MIXED):
        gain = PLANT.gain_for((0.4, 0.7), 0.011 if certified is not KINDS["uniform"] else 0.013)[0]
        runs = random_runs(PLANT, certified, gain, [1, 0], until=2.0)
        assert np.abs(runs.states[:, -1, 0]).max() < 1e-6
    assert spread[30] == pytest.approx(0.007, abs=0.004)
    assert all(spread[beta] >= 10 * spread[30] for beta in (40, 45, 50))


def test_the_expected_cost_is_the_mean_of_many_runs() -> None:
    at = Uniform(0.010, 0.030)
    cost = expected_cost(PLANT, at.regimes(), GAIN, [1, 0], np.diag([1.0, 0.0]), None)
    rng = np.random.default_rng(5)
    total = np.zeros(4000)
    x = np.tile([1.0, 0.0], (4000, 1))
    for _ in range(60):
        t = rng.uniform(0.010, 0.030, 4000)
        u = x @ GAIN[0]
        s, w = np.polynomial.legendre.leggauss(6)
        for node, weight in zip(0.5 * (s + 1), 0.5 * w, strict=True):
            tau = node * t
            total += weight * t * (x[:, 0] + tau * x[:, 1] + 0.5 * tau**2 * u) ** 2
        x = np.column_stack([x[:, 0] + t * x[:, 1] + 0.5 * t**2 * u, x[:, 1] + t * u])
    assert cost == pytest.approx(float(total.mean()), rel=0.02)


def test_ages_act_as_a_plant_with_late_commands_does() -> None:
    """Samples at random times, with ages of up to three intervals, event by event."""
    rng = np.random.default_rng(2)
    taken = np.cumsum(rng.uniform(0.017, 0.023, 40))
    came = taken + rng.uniform(0.024, 0.027, 40)
    gain = 0.05 * GAIN
    stream = SampleStream("eye", came, came - taken)
    record = stream.distribution()
    depth = record.regimes().depth
    assert depth >= 2
    gammas = PLANT.closed(record.samples, gain, depth)
    first = len(taken) - 1 - len(record.intervals)  # intervals before the first sample has come
    x, held, newest = np.array([1.0, 0.0]), 0.0, -1
    seen = {}
    queue = sorted(
        [(t, 0, k) for k, t in enumerate(taken)] + [(t, 1, k) for k, t in enumerate(came)]
    )
    now, commands = taken[0], np.zeros(len(taken))
    for t, what, k in queue:
        step = t - now
        x = np.array([x[0] + step * x[1] + 0.5 * step**2 * held, x[1] + step * held])
        now = t
        if what == 0:
            commands[k], seen[k] = float((gain @ x)[0]), x.copy()
        elif k > newest:
            held, newest = commands[k], k
    z = np.zeros(2 + depth)
    z[:2] = seen[first]
    for lag in range(1, depth + 1):
        z[1 + lag] = commands[first - lag] if first >= lag else 0.0
    bursts = 0
    for k, gamma in enumerate(gammas):
        z = gamma @ z
        arrivals = ((came > taken[first + k]) & (came < taken[first + k + 1])).sum()
        bursts += arrivals > 1
        if bursts:
            break  # of several that come in one interval the last counts
        assert z[:2] == pytest.approx(seen[first + k + 1], rel=1e-9, abs=1e-12)
    assert k > 20


# -- maps ------------------------------------------------------------------------------------------
def test_a_map_has_the_answers_of_its_places() -> None:
    periods, betas = (0.009, 0.016), (0.025, 0.045)
    made = [PLANT.gain_for((0.4, 0.7), t) for t in periods]
    found = rate_map(
        PLANT,
        [k for k, _ in made],
        [Uniform(0.010, b) for b in betas],
        transforms=[t for _, t in made],
    )
    for i, (k, t) in enumerate(made):
        for j, beta in enumerate(betas):
            one = PLANT.answers(Uniform(0.010, beta), k, t, steps=256)
            assert found.contraction[i, j] == pytest.approx(one.contraction, abs=1e-3)
            assert found.best_contraction[i, j] == pytest.approx(one.best_contraction, abs=3e-3)
            assert found.mean_square[i, j] == pytest.approx(one.mean_square, rel=1e-6)
            assert found.exponent[i, j] == pytest.approx(one.exponent.value, abs=1e-9)
    lost = rate_map(PLANT, [made[1][0]], [KINDS["delayed"], KINDS["markov"]], streams=4)
    assert lost.mean_square[0] == pytest.approx(
        [squared(KINDS["delayed"], made[1][0]), squared(KINDS["markov"], made[1][0])], rel=1e-6
    )


# -- streams and certificates ----------------------------------------------------------------------
def arrivals(seed: int, rate: float, *, delay: float, jitter: float, loss: float) -> SampleStream:
    """Return a stream as the faulty link lets it through: late, at random, and some of it lost."""
    rng = np.random.default_rng(seed)
    taken = (1 + np.arange(400)) / rate
    came = np.maximum.accumulate(taken + delay + jitter * rng.random(400))  # they keep their order
    kept = rng.random(400) >= loss
    return SampleStream("eye", came[kept], (came - taken)[kept])


@pytest.mark.parametrize(
    ("faults", "granted"),
    [
        ({"delay": 0.0, "jitter": 0.002, "loss": 0.0}, True),
        ({"delay": 0.002, "jitter": 0.004, "loss": 0.02}, True),
        ({"delay": 0.005, "jitter": 0.005, "loss": 0.4}, False),
        ({"delay": 0.030, "jitter": 0.020, "loss": 0.1}, False),
    ],
)
def test_what_the_faulty_link_does_is_certified_or_refused(
    faults: dict[str, float], granted: bool
) -> None:
    """Server check 57: the certificate of a loop over a network with random delays."""
    gain = PLANT.gain_for((0.4, 0.7), 0.013)[0]
    found = certify(PLANT, gain, arrivals(1, 60.0, **faults), streams=10, steps=300)
    assert found.granted == granted
    assert (found.margin > 1) == granted
    assert ("certified" in found.words) == granted


def test_the_margin_is_where_the_proof_ends() -> None:
    rng = np.random.default_rng(7)
    came = np.cumsum(rng.uniform(0.010, 0.030, 100))
    found = certify(PLANT, GAIN, SampleStream("eye", came, 0 * came), streams=4, steps=64)
    assert found.granted
    for factor, still in ((0.97, True), (1.03, False)):
        at = came * found.margin * factor
        again = PLANT.answers(Recorded(np.diff(at)), GAIN, streams=2, steps=64)
        assert again.stable == still


def test_a_coordinated_stream_with_a_liar_and_random_delays_is_certified() -> None:
    """Server check 57: fused by the coordinator, its ages recorded, and the loop certified."""
    rng = np.random.default_rng(4)
    c = Coordinator()
    cov = tuple((1e-6 * np.eye(3)).ravel())
    told = []
    for name, lie in (("eye", 0.0), ("ear", 0.0), ("liar", 0.5)):
        for n in range(90):
            t = (n + 1) / 60
            seen = np.array([0.1 + lie, 0.0, 1.0]) + rng.normal(0, 1e-3, 3)
            due = t + 0.002 + 0.004 * rng.random()
            told.append(
                (
                    due,
                    Observation(
                        name, round(t * SECOND), "point", tuple(seen), cov, "world", "ball", n
                    ),
                )
            )
    told.sort(key=lambda pair: pair[0])
    rows, times, k = [], [], 0
    for now in np.arange(0.1, 1.6, 0.001):
        while k < len(told) and told[k][0] <= now:
            c.take(told[k][1], round(told[k][0] * SECOND))
            k += 1
        ages = {r.name: r.age for r in c.sensors(round(now * SECOND))}
        times.append(now)
        rows.append([ages.get("eye", 1e9)])
    (ball,) = [o for o in c.objects(round(1.6 * SECOND)) if o.name == "ball"]
    assert ball.value[0] == pytest.approx(0.1, abs=5e-3)
    recording = Recording(times, [Channel("eye.age", "s")], rows)
    stream = stream_of(recording, "eye")
    assert 60 < len(stream.times) < 95
    gain = PLANT.gain_for((0.4, 0.7), 0.014)[0]
    found = certify(PLANT, gain, stream, streams=4, steps=64)
    assert found.granted
    assert found.margin > 1.2


def test_any_channel_is_a_stream() -> None:
    t = np.arange(100) * 0.001
    counted = Recording(t, [Channel("n")], np.floor(t / 0.01 + 1e-9)[:, None])
    assert stream_of(counted, "n").intervals == pytest.approx(np.full(8, 0.01))
    ages = np.where(t < 0.02, 1e9, (t - 0.02) % 0.01)
    shown = Recording(t, [Channel("frame.belt.age", "s")], ages[:, None])
    assert stream_of(shown, "belt").times == pytest.approx(np.arange(0.02, 0.1, 0.01), abs=2e-3)
    thousandths = Recording(t, [Channel("belt.age", "ms")], 1e3 * ages[:, None])
    assert stream_of(thousandths, "belt").times == pytest.approx(stream_of(shown, "belt").times)
    with pytest.raises(lw.Error, match="no stream 'bel'; did you mean 'belt'"):
        stream_of(shown, "bel")


def test_samples_that_came_at_once_have_no_age() -> None:
    """Ages below the period of the recorder are those of its grid; older ones count."""
    came = np.cumsum(np.random.default_rng(3).uniform(0.010, 0.030, 60))
    t = np.arange(0.04, float(came[-1]), 0.001)
    last = came[np.searchsorted(came, t, side="right") - 1]
    prompt = Recording(t, [Channel("eye.age", "s")], (t - last)[:, None])
    stream = stream_of(prompt, "eye")
    assert not stream.ages[1:].any()
    assert np.isin(stream.times[1:].round(9), came.round(9)).all()
    assert certify(PLANT, GAIN, stream, streams=2, steps=64).answers.contraction < np.inf
    late = Recording(t + 0.005, [Channel("eye.age", "s")], (t - last + 0.005)[:, None])
    assert 0.005 <= stream_of(late, "eye").ages[1:].min() < 0.006
    same = Recording(t, [Channel("const")], np.zeros((len(t), 1)))
    with pytest.raises(lw.Error, match="the stream 'const' never changes"):
        stream_of(same, "const")


# -- refusals --------------------------------------------------------------------------------------
def ask(transform: Array | None = None, seed: int = 0) -> Answers:
    return PLANT.answers(Uniform(0.010, 0.030), GAIN, transform, streams=2, steps=64, seed=seed)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Uniform(-0.01, 0.02), "above 0"),
        (lambda: Uniform(0.03, 0.02), "shortest first"),
        (lambda: Bernoulli(0.01, 0.02, p=1.5), "not a probability"),
        (lambda: Mixture([Uniform(0.01, 0.02)], [0.5]), "add up to"),
        (lambda: Recorded([0.01, -0.02]), "interval 2 of the record is -0.02 s"),
        (lambda: Recorded([]), "says nothing"),
        (lambda: Lost(0.01, loss=1.0), "all samples are lost"),
        (lambda: Delayed(KINDS["delayed"], [1.0]), "outermost"),
        (lambda: Markov([Uniform(0.01, 0.02)], [[0.5, 0.5]]), "rows of"),
        (lambda: PLANT.gain_for((0.4, 0.4), 0.01), "coincide"),
        (lambda: PLANT.gain_for((0.4, 0.5 + 0.1j), 0.01), "conjugate"),
        (lambda: PLANT.gain_for((0.4,), 0.01), "give 2"),
        (lambda: PLANT.design(Uniform(0.01, 0.02), (0.4, 1.2)), "does not settle"),
        (lambda: Loop([[0, 1]], [0, 1]), "are not those of a plant"),
        (lambda: PLANT.gain_of([1, 2, 3]), "does not fit"),
        (lambda: ask(np.ones((2, 2))), "is singular"),
        (lambda: ask(np.eye(3)), r"T of shape \(3, 3\) does not fit 2 states"),
        (lambda: ask().cost([1, 0], np.eye(3)), r"weight of shape \(3, 3\) does not fit 2 states"),
        (lambda: ask().cost([1, 0], np.eye(2), np.eye(2)), "does not fit 1 inputs"),
        (lambda: ask().cost([1, 0, 0], np.eye(2)), "start of 3 numbers"),
        (lambda: ask(seed=-1), "the seed is -1"),
        (lambda: KINDS["lost"].draw(1, 1, seed=-1), "the seed is -1"),
        (lambda: KINDS["recorded"].draw(1, 1, seed=-1), "the seed is -1"),
        (lambda: random_runs(PLANT, KINDS["uniform"], GAIN, [1, 0, 0]), "start of 3 numbers"),
        (lambda: random_runs(PLANT, KINDS["uniform"], GAIN, [1, 0], until=0), "no intervals"),
        (lambda: Loop([[0, 1], [0, 0]], [0, 1], integral=[[float("nan"), 0]]), "not numbers"),
        (
            lambda: Loop([[1.0]], [[1.0]]).answers(Uniform(1000, 2000), [[-2.0]]),
            "grows beyond all numbers",
        ),
        (
            lambda: Loop([[1.0]], [[1.0]]).answers(Uniform(300, 400), [[-2.0]]),
            "mean squares grow beyond all numbers",
        ),
        (lambda: PLANT.design(Uniform(0.001, 0.1), (0.4, 0.7), procedure="report"), "no interval"),
        (lambda: Loop([[1.0, 0.0], [0.0, 2.0]], [0, 1]).gain_for((0.4, 0.5), 0.1), "do not reach"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(make: Any, words: str) -> None:
    with pytest.raises(lw.Error, match=words) as caught:
        make()
    assert caught.value.remedy


def test_an_unstable_loop_has_no_cost_and_a_verdict() -> None:
    found = PLANT.answers(Uniform(0.010, 0.090), GAIN, streams=10, steps=500)
    assert (found.verdict, found.stable) == ("unstable", False)
    with pytest.raises(lw.Error, match="the mean square does not die out"):
        found.cost([1, 0], np.eye(2))


# -- on the limit ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("loop", "gain"),
    cases(
        [
            (PLANT, [[0, 0]]),
            (Loop([[0, 1], [-100, 0]], [0, 1]), [[0, 0]]),
            (Loop([[0.0]], [[1.0]]), [[0]]),
            (PLANT, [[0, -30]]),
        ],
        daily=2,
    ),
)
def test_what_neither_grows_nor_dies_out_is_not_proven(loop: Loop, gain: list[list[float]]) -> None:
    """Rounding is not a proof: an integrator without a controller stays where it is."""
    at = Uniform(0.010, 0.020)
    found = loop.answers(at, gain, streams=4, steps=256)
    assert not found.stable
    for streams, steps in ((4, 64), (50, 256), (50, 2000)):
        known = loop.answers(at, gain, streams=streams, steps=steps)
        assert known.exponent.low < 0 < known.exponent.high
        assert known.verdict == "open"
    with pytest.raises(lw.Error, match="does not die out"):
        found.cost(np.ones(len(loop.a)), np.eye(len(loop.a)))
    seen = rate_map(loop, [gain], [at], streams=4)
    for answer in ("contraction", "best_contraction", "mean_square"):
        assert not seen.stable(answer).any()
    came = np.cumsum(np.full(40, 0.015))
    refused = certify(loop, gain, SampleStream("eye", came, 0 * came), streams=4, steps=64)
    assert not refused.granted
    assert "no shortening of the intervals helps" in refused.words
    assert switching_bounds(loop, gain, 0.010, 0.020).verdict == "open"


def test_margins_end_where_they_were_searched() -> None:
    came = np.cumsum(np.full(40, 0.01))
    slow = certify(
        Loop([[0.0]], [[1.0]]), [[-0.1]], SampleStream("eye", came, 0 * came), streams=2, steps=64
    )
    assert slow.granted
    assert (slow.margin, slow.words) == (
        64.0,
        "certified; all intervals could be at least 64 times as long",
    )


def test_the_long_run_of_a_chain_does_not_depend_on_its_start() -> None:
    """A chain that stays where it began has no long run of its own."""
    parts = [Uniform(0.013, 0.014), Uniform(0.036, 0.036)]
    for make in (
        lambda: Markov(parts, np.eye(2)),
        lambda: Delayed(parts[0], transition=np.eye(2)),
    ):
        with pytest.raises(lw.Error, match=r"never leaves its \w+ \{1\} and \{2\}") as caught:
            make()
        assert caught.value.remedy
    left = Markov(parts, [[0.5, 0.5], [0.0, 1.0]])  # in the long run always the second
    assert left.mean == pytest.approx(0.036)


def test_decay_is_that_of_the_mean_square_in_time() -> None:
    """Long intervals take more time: the rate is not that for each sample over the mean."""
    gain = [[-1012.5, -60.75]]
    for at, value in ((Bernoulli(0.01, 0.05, p=0.9), 1.0044), (Uniform(0.01, 0.03), 24.851)):
        found = PLANT.answers(at, gain, streams=2, steps=64)
        assert found.decay == pytest.approx(value, rel=1e-4)
    turns = Markov([Uniform(0.01, 0.01), Uniform(0.03, 0.03)], [[0, 1], [1, 0]])
    product = np.eye(2)
    for t in (0.01, 0.03):
        phi, psi = PLANT.steps(t)
        product = (phi[0] + psi[0] @ GAIN) @ product
    one = PLANT.answers(turns, GAIN, streams=2, steps=64)
    assert one.decay == pytest.approx(-np.log(radius(product)) / 0.04, rel=1e-6)


def test_losses_in_a_row_of_an_unstable_plant_have_no_mean_square() -> None:
    """From loss * e^(2 lambda T) = 1 on; below, against the sum in closed form."""
    rising, gain = Loop([[1.0]], [[1.0]]), -1.002
    for growth, finite in ((2.2, False), (1.9, True)):
        found = rising.answers(Lost(0.5 * np.log(growth), 0.5), [[gain]], streams=2, steps=64)
        if not finite:
            assert found.mean_square == np.inf
            with pytest.raises(lw.Error, match="does not die out"):
                found.cost([1.0], [[1.0]])
            continue
        k = np.arange(1, 2000)
        part = np.exp(k * 0.5 * np.log(growth) + 0.5 * k * np.log(0.5))
        gamma = (1.0 + gain) * part - gain * np.exp(0.5 * k * np.log(0.5))
        assert found.mean_square == pytest.approx(float(np.sum(gamma**2)), rel=1e-9)


def test_bounds_of_probabilities_count_that_intervals_depend_on_each_other() -> None:
    """Runs of a chain that stays long in each state, against the bound."""
    chained = Markov([Uniform(0.01, 0.01), Uniform(0.045, 0.045)], [[0.99, 0.01], [0.03, 0.97]])
    found = PLANT.answers(chained, GAIN, streams=2, steps=64)
    at = chained.draw(1000, 200, seed=3)
    gammas = np.linalg.solve(
        found.best_transform, PLANT.closed(at.flat(), GAIN, 0) @ found.best_transform
    ).reshape(1000, 200, 2, 2)
    x = np.tile([1.0, 0.0], (1000, 1))
    for k in range(200):
        x = (gammas[:, k] @ x[:, :, None])[:, :, 0]
    grown = np.log(np.linalg.norm(x, axis=1))
    for margin in (0.1, 0.3, 0.6):
        seen = float(np.mean(grown < 200 * (found.best_contraction + margin)))
        assert found.bound(200, margin) <= seen
    assert 0.8 < found.bound(200, 0.6) < 1 - found.spread**2 / (200 * 0.6**2)
    with pytest.raises(lw.Error, match="no bound holds"):
        PLANT.answers(KINDS["recorded"], GAIN, streams=2, steps=64).bound(100, 0.1)


# -- the command -----------------------------------------------------------------------------------
FILE = """format = 1
[plant]
a = [[0, 1], [0, 0]]
b = [[0], [1]]
[feedback]
{feedback}
[intervals]
{intervals}
[map]
period = ["9 ms", "16 ms", 3]
[map.intervals]
high = ["20 ms", "60 ms", 4]
"""
UNIFORM = 'kind = "uniform"\nlow = "10 ms"\nhigh = "30 ms"'


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["analyze", "sampling", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_command_answers_and_maps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "loop.toml"
    file.write_text(FILE.format(feedback="poles = [0.4, 0.7]", intervals=UNIFORM))
    code, out, _ = run(capsys, file, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["gain"][0] == pytest.approx([-1012.5, -60.75])
    assert told["contraction"] == pytest.approx(-0.2258, abs=1e-4)
    assert told["verdict"] == "proven"
    code, out, _ = run(capsys, file)
    assert code == 0
    assert "poles placed for 13.33 ms (report)" in out
    picture = tmp_path / "map.svg"
    code, out, _ = run(capsys, file, "--map", "-o", picture, "--json")
    assert code == 0
    assert np.shape(json.loads(out)["mean_square"]) == (3, 4)
    assert picture.read_text().count("<path") > 10
    file.write_text(FILE.format(feedback="gain = [[-9000, -10]]", intervals=UNIFORM))
    assert run(capsys, file)[0] == 1  # nothing is proven


def test_the_command_runs_streams_and_shows_the_curve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """IAE as of `random_runs`; rows of Table 1; what belongs to neither is refused."""
    file = tmp_path / "loop.toml"
    text = FILE.format(feedback="poles = [0.4, 0.7]", intervals=UNIFORM)
    file.write_text(text)
    picture = tmp_path / "runs.svg"
    asked = ["--streams", 5, "--until", 0.5, "--seed", 3, "-o", picture]
    code, out, _ = run(capsys, file, *asked, "--json")
    assert code == 0
    told = json.loads(out)
    task = read_loop(file)
    gain = told["gain"]
    runs = random_runs(task.loop, task.distribution, gain, [1, 0], until=0.5, streams=5, seed=3)
    assert told["states"]["iae_mean"]["x1"] == pytest.approx(runs.areas[:, 0].mean())
    assert told["states"]["iae_deviation"]["x2"] == pytest.approx(runs.areas[:, 1].std(ddof=1))
    assert told["states"]["iae_maximum"]["x2"] == pytest.approx(runs.areas[:, 1].max())
    assert picture.read_text().count("<path") > 20
    code, out, _ = run(capsys, file, "--curve", "-o", tmp_path / "curve.png")
    assert code == 0
    for words in ("-0.30    0.831    1.681", "0.75    2.788     0.269", "0 at 1.964"):
        assert words in out
    for given, said in (
        (["--until", 2], "--until is that of runs"),
        (["--streams", -1], "--streams -1 are none"),
        (["--streams", 3, "--curve"], "are three answers"),
        (["--streams", 3, "-o", "x.json"], "does not name a picture"),
        (["--streams", 3, "--until", -1], "have no intervals"),
    ):
        code, _, error = run(capsys, file, *given)
        assert (code, error.count("\n")) == (2, 1), given
        assert said in error
    file.write_text(text.replace("a = [[0, 1], [0, 0]]", "a = [[0, 1], [-1, 0]]"))
    code, _, error = run(capsys, file, "--curve")
    assert code == 2
    assert "does not depend on the ratio of intervals alone" in error


def test_the_command_certifies_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = arrivals(1, 60.0, delay=0.002, jitter=0.004, loss=0.02)
    t = np.arange(0.1, 3.0, 0.001)
    at = np.searchsorted(stream.times, t, side="right") - 1
    ages = t - (stream.times - stream.ages)[at]
    path = tmp_path / "cell.parquet"
    Recording(t, [Channel("frame.eye.age", "s")], ages[:, None]).save(path)
    code, out, _ = run(capsys, path, "--stream", "eye", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["certified"]
    assert told["intervals"]["mean"] == pytest.approx(1 / 60 / 0.98, rel=0.05)
    code, out, _ = run(capsys, path, "--stream", "eye")
    assert code == 0
    assert "count as independent of those before them" in out
    assert "none: with delays" in out
    assert "inf" not in out
    assert max(map(len, out.splitlines())) <= 100
    code, out, _ = run(capsys, path, "--stream", "eye", "--predicted")
    assert code == 0
    assert "certified" in out
    assert "independent" not in out


@pytest.mark.parametrize(
    ("feedback", "intervals", "words"),
    [
        ("poles = [0.4, 0.7]", 'kind = "uniform"\nlow = "-10 ms"\nhigh = "30 ms"', "above 0"),
        ("poles = [0.4, 0.7]", 'kind = "unifrm"\nlow = 1\nhigh = 2', "did you mean 'uniform'"),
        ("poles = [0.4, 0.7]", 'kind = "uniform"\nlow = 1', "lacks high"),
        ("poles = [0.4, 0.7]", 'kind = "uniform"\nlow = 1\nhih = 2', "does not know 'hih'"),
        ("gain = [[1, 2, 3]]", UNIFORM, "does not fit"),
        ("", UNIFORM, "either a gain or poles"),
        ("poles = [0.4, 1.7]", UNIFORM, "does not settle"),
    ],
)
def test_the_command_refuses_bad_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    feedback: str,
    intervals: str,
    words: str,
) -> None:
    file = tmp_path / "loop.toml"
    file.write_text(FILE.format(feedback=feedback, intervals=intervals))
    code, out, err = run(capsys, file)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert "Traceback" not in err


def test_the_command_refuses_what_it_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "loop.toml"
    file.write_text(FILE.format(feedback="poles = [0.4, 0.7]", intervals=UNIFORM))
    assert run(capsys, file, "--map", "-o", tmp_path / "map.bmp")[0] == 2
    assert not (tmp_path / "map.bmp").exists()
    assert run(capsys, file, "--stream", "eye")[0] == 2
    assert run(capsys, file, "--predicted")[0] == 2
    path = tmp_path / "short.parquet"
    Recording([0, 1, 2], [Channel("n")], [[0], [1], [2]]).save(path)
    assert run(capsys, path)[0] == 2
    code, _, err = run(capsys, path, "--stream", "n")
    assert code == 2
    assert "record for longer" in err
    assert run(capsys, path, "--stream", "m")[0] == 2


def test_samples_without_delay_are_prompt() -> None:
    assert not Arrivals.prompt(np.ones(3)).delays.any()
