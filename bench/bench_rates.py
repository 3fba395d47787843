"""Random rates: a map with all four answers, and runs that agree with every verdict."""

from __future__ import annotations

import time

import numpy as np

from bench.measure import Row
from linkwright.sampling import Loop, Uniform, random_runs, rate_map
from linkwright.sampling.answers import expectations
from linkwright.sampling.maps import RateMap
from linkwright.sampling.mean_square import radius
from linkwright.sampling.regimes import Array

TITLE = "Random rates"
_LOOP = Loop([[0, 1], [0, 0]], [[0], [1]])
_GAINS = {
    "K = -(1065, 62.31)": ((-1065.0, -62.31), (36.16, 43.84, 48.3, 62.6)),
    "K = -(1012.5, 60.75)": ((-1012.5, -60.75), (37.17, 45.02, 49.6, 64.3)),
}
"""Limits of the longest interval in ms: report's T, mean square, best T, Lyapunov exponent."""
_PEER = 40  # places of the map that the plain NumPy loop computes


def run() -> list[Row]:
    """Time a map of 100 by 100, and run 50 streams on both sides of each limit."""
    periods, betas = np.linspace(0.008, 0.025, 100), np.linspace(0.011, 0.080, 100)
    started, used = time.perf_counter(), time.process_time()
    found = _map(periods, betas)
    took, used = time.perf_counter() - started, time.process_time() - used
    started = time.perf_counter()
    worst = max(
        abs(_numpy_exponent(float(periods[i]), float(betas[j])) - float(found.exponent[i, j]))
        for i, j in np.random.default_rng(0).integers(100, size=(_PEER, 2))
    )
    plain = (time.perf_counter() - started) / _PEER * found.exponent.size
    rows = [
        Row(
            "map of 100 x 100, all four answers",
            took,
            "s",
            20.0,
            "lower",
            f"{used:.1f} s of processors; a NumPy loop for each place would take {plain:.0f} s for "
            f"the exponent alone; they differ by {worst:.1g}",
        )
    ]
    for name, (gain, limits) in _GAINS.items():
        rows.append(
            Row(
                f"{name}: verdicts that runs agree with, of 8",
                _agreed(gain, limits),
                "1",
                8,
                "higher",
            )
        )
    return rows


def _map(periods: Array, betas: Array) -> RateMap:
    made = [_LOOP.gain_for((0.4, 0.7), float(t)) for t in periods]
    return rate_map(
        _LOOP,
        [k for k, _ in made],
        [Uniform(0.010, float(b)) for b in betas],
        transforms=[t for _, t in made],
    )


def _numpy_exponent(period: float, beta: float) -> float:
    """Return the exponent of the same streams, as one writes it with NumPy."""
    gain = _LOOP.gain_for((0.4, 0.7), period)[0]
    at = Uniform(0.010, beta).draw(50, 256, 0).intervals
    x, total = np.full((50, 2), np.sqrt(0.5)), np.zeros(50)
    for k in range(256):
        t, u = at[:, k], x @ gain[0]
        x = np.column_stack([x[:, 0] + t * x[:, 1] + 0.5 * t * t * u, x[:, 1] + t * u])
        length = np.linalg.norm(x, axis=1)
        x = x / length[:, None]
        if k >= 64:
            total += np.log(length)
    return float(total.mean() / 192)


def _agreed(gain: tuple[float, float], limits: tuple[float, ...]) -> int:
    """Return how many of the verdicts, 3 % below and above each limit, 50 streams agree with.

    Below the limits of the norms and of the exponent all streams die out. Above the limits of the
    norms nothing is said, and below the exponent's they die out still. Mean squares of many times
    50 streams shrink below their limit and grow above it.
    """
    agreed = 0
    for k, limit in enumerate(limits):
        for side in (0.97, 1.03):
            rates = Uniform(0.010, limit * side / 1e3)
            if k == 1:
                agreed += _shrinks(rates, gain) == (side < 1)
            else:
                runs = random_runs(_LOOP, rates, gain, [1.0, 0.0], until=30.0)
                last = np.abs(runs.states[:, -1, 0])
                died = np.median(last) < 1.0 if k == 3 else (last < 1e-2).all()
                agreed += bool(died) == (side < 1 or k != 3)
    return agreed


def _shrinks(rates: Uniform, gain: tuple[float, float]) -> bool:
    """Whether the mean square falls, in 50 streams at a time, by the share of its own motion."""
    k = _LOOP.gain_of(gain)
    (moment,) = expectations(_LOOP, rates.regimes(), k)[2]
    rng = np.random.default_rng(0)
    values, vectors = np.linalg.eig(moment.T)
    p = vectors[:, int(np.argmax(np.abs(values)))].real.reshape(2, 2)
    ratios = []
    for _ in range(2000):  # x'Px grows by the radius on average, whatever the direction is
        x = rng.normal(size=(50, 2)) @ np.diag([1.0, 60.0])
        t = rng.uniform(rates.low, rates.high, 50)
        u = x @ k[0]
        y = np.column_stack([x[:, 0] + t * x[:, 1] + 0.5 * t * t * u, x[:, 1] + t * u])
        before = np.einsum("ij,jk,ik->i", x, p, x).sum()
        ratios.append((np.einsum("ij,jk,ik->i", y, p, y).sum(), before))
    measured = sum(a for a, _ in ratios) / sum(b for _, b in ratios)
    assert abs(measured - radius(moment)) < 0.1
    return bool(measured < 1.0)
