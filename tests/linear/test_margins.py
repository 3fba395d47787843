"""Margins of random loops against dense evaluation of L, both ends of the axis included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import linkwright as lw
from linkwright.linear.frequency import Margins, OpenLoop
from linkwright.linear.linearization import LinearModel
from tests.seeds import seeds
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")


def _open(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, period: float, parts: int = 1
) -> OpenLoop:
    return OpenLoop("cut", LinearModel(a, b, -c, -d, (), (), (), period=period), parts)


def _random(seed: int, sampled: bool) -> tuple[tuple[np.ndarray, ...], float]:
    """A loop gain whose closed loop is stable: poles, zeros, integrators, any sign and size."""
    random = np.random.default_rng(seed)
    while True:
        order = int(random.integers(1, 5))

        def roots(count: int, unstable: float) -> np.ndarray:
            found: list[complex] = []
            while len(found) < count:
                size = 10 ** random.uniform(-1, 1)
                side = 1 if random.random() < unstable else -1
                if len(found) + 2 <= count and random.random() < 0.5:
                    p = size * np.exp(1j * side * random.uniform(0.05, 1.5))
                    p = complex(side * abs(p.real), p.imag)
                    found += [p, p.conjugate()]
                else:
                    found.append(side * size)
            return np.array(found)

        poles = roots(order, 0.1)
        if random.random() < 0.4:
            poles[np.argmax(np.abs(poles.imag) == 0)] *= bool(np.abs(poles.imag).all())
        top = np.atleast_1d(np.poly(roots(int(random.integers(0, order + 1)), 0.2)).real)
        size = 10 ** random.uniform(-3, 3) * random.choice([1, -1], p=[0.7, 0.3])
        a, b, c, d = signal.tf2ss(size * top, np.poly(poles).real)
        period = 0.0
        if sampled:
            period = 10 ** random.uniform(-2, 0)
            a, b, c, d, _ = signal.cont2discrete((a, b, c, d), period)
        if abs(1 + d[0, 0]) < 1e-3:
            continue
        closed = np.linalg.eigvals(a - b @ c / (1 + d[0, 0]))
        growth = np.abs(closed) - 1 if sampled else closed.real
        if growth.max() < -1e-3 * (1 if sampled else np.abs(closed).min()):
            return (a, b, c, d), period


def _gain(matrices: tuple[np.ndarray, ...], s: np.ndarray) -> np.ndarray:
    """L as a sum over its poles, at s (or z)."""
    a, b, c, d = matrices
    poles, shapes = np.linalg.eig(a)
    shares = (c @ shapes)[0] * np.linalg.solve(shapes, b.astype(complex))[:, 0]
    return np.asarray(sum((r / (s - p) for r, p in zip(shares, poles, strict=True)), d[0, 0]))


def _dense(matrices: tuple[np.ndarray, ...], period: float) -> Margins:
    """The margins by brute force."""
    if period:
        w = np.unique(np.concatenate([np.geomspace(1e-7, 1, 100001), np.linspace(0, 1, 200001)]))
        w *= math.pi / period
        w[0] = 1e-9 * w[-1]
        values = _gain(matrices, np.exp(1j * w * period))
    else:
        w = np.geomspace(1e-7, 1e7, 600001)
        values = _gain(matrices, 1j * w)
        w, values = np.append(w, math.inf), np.append(values, matrices[3][0, 0])
    far = np.abs(1 + values)
    poles = np.linalg.eigvals(matrices[0])
    integrates = np.abs(poles - (1 if period else 0)).min() < 1e-9
    change = np.flatnonzero((values.imag[:-1] < 0) != (values.imag[1:] < 0))
    change = change[np.abs(values.imag[change]) < 0.1 * np.abs(values[change])]
    real = [-1 / values[k].real for k in change if w[k + 1] < math.inf]
    real += [-1 / values[-1].real] if values[-1].real < -1e-9 else []
    real += [] if integrates else [-1 / values[0].real]
    lags = np.flatnonzero((np.abs(values[:-1]) < 1) != (np.abs(values[1:]) < 1))
    share = np.abs(values[lags]) - 1  # of the way to the next sample, linearly
    share /= np.abs(values[lags]) - np.abs(values[lags + 1])
    there = values[lags] + share * (values[lags + 1] - values[lags])
    lag = (np.angle(there) + math.pi) % (2 * math.pi)
    return Margins(
        min((g for g in real if 1 < g < 1e9), default=math.inf),
        max((g for g in real if 0 < g < 1), default=0.0),
        float(np.minimum(lag, 2 * math.pi - lag).min(initial=math.inf)),
        float((lag / w[lags]).min(initial=math.inf)),
        float(far.min()),
        modulus_frequency=float(w[np.argmin(far)]),
    )


@pytest.mark.parametrize("sampled", [False, True])
def test_margins_of_random_loops_are_those_of_dense_evaluation(sampled: bool) -> None:
    for seed in seeds(25, daily=8):
        matrices, period = _random(seed, sampled)
        found, dense = (
            _open(matrices[0], matrices[1], matrices[2], matrices[3], period).margins(),
            _dense(matrices, period),
        )
        for name in ("gain", "least_gain", "phase", "delay", "modulus"):
            value, wanted = getattr(found, name), getattr(dense, name)
            assert value == pytest.approx(wanted, rel=5e-3), (seed, name)
        assert found.modulus <= dense.modulus * (1 + 1e-9), seed
        if found.gain < math.inf:  # there the loop gain is -1/gain
            assert found.modulus <= (1 - 1 / found.gain) * (1 + 1e-9), seed


@pytest.mark.parametrize("parts", [2, 3])
def test_a_lifted_loop_has_the_margins_and_frequencies_of_the_plain_one(parts: int) -> None:
    for seed in seeds(12, daily=4):
        (a, b, c, d), period = _random(seed, sampled=True)
        power = np.linalg.matrix_power
        inputs = np.hstack([power(a, parts - 1 - k) @ b for k in range(parts)])
        outputs = np.vstack([c @ power(a, k) for k in range(parts)])
        through = np.diag([d[0, 0]] * parts)
        for i in range(parts):
            for j in range(i):
                through[i, j] = (c @ power(a, i - j - 1) @ b)[0, 0]
        wide = _open(power(a, parts), inputs, outputs, through, period=parts * period, parts=parts)
        lifted, plain = wide.margins(), _open(a, b, c, d, period=period).margins()
        for name in ("gain", "least_gain", "phase", "delay", "modulus", "gain_frequency"):
            value, wanted = getattr(lifted, name), getattr(plain, name)
            assert value == pytest.approx(wanted, rel=1e-5, abs=1e-9, nan_ok=True), (seed, name)
        # The distance may be flat, and is nearly the same wherever it is told.
        z = np.exp(1j * period * np.array([lifted.modulus_frequency]))
        near = np.abs(1 + _gain((a, b, c, d), z))[0]
        assert near == pytest.approx(plain.modulus, rel=1e-5), seed


def test_a_loop_may_be_nearest_to_minus_one_at_half_the_rate() -> None:
    m = lw.Mechanism("p")
    m.body("rod", rotate="z", mass=1.3, com=(0.4, 0, 0), inertia=0.05)
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=60, kd=90), rate=200)
    found = lw.linear.cut_loop(s, "pd.tau_rod").margins()
    assert found.modulus == pytest.approx(1 - 1 / found.gain) == pytest.approx(0.127907, abs=1e-6)
    assert found.modulus_frequency == found.gain_frequency == pytest.approx(200 * math.pi)


@pytest.mark.parametrize("rate", [None, 100])
def test_positive_feedback_is_limited_at_rest(rate: float | None) -> None:
    plant = lw.Block("plant")
    u, x = plant.input("u"), plant.state("x")
    plant.derivative(x, u - x)
    plant.output("o", plant.state("y", "x - 2*y"))
    law = lw.Block("law")
    law.output("v", 1.9 * law.input("e"))
    s = lw.System(name="s")
    p, c = s.add(plant), s.add(law, rate=rate)
    s.connect(p.o, c.e)
    s.connect(c.v, p.u)
    found = lw.linear.cut_loop(s, "plant.u").margins()
    assert found.gain == pytest.approx(2 / 1.9, rel=1e-6)
    assert found.modulus == pytest.approx(0.05, rel=1e-6)
    assert found.gain_frequency == found.modulus_frequency == 0.0
