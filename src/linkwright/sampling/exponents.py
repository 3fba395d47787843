"""The Lyapunov exponent by Monte Carlo: how fast a typical run grows or dies out.

A random direction is carried through random steps and brought back to length 1 after each; the mean
of the logarithms of its lengths tends to the exponent (Furstenberg and Kesten 1960; Benettin et al.
1980). Streams are independent, so their scatter gives the band of the mean. What they have in
common does not scatter: where the state grows as a power of time, all streams still grow, and less
so the later it is. So the band is widened by how much the second half of the streams differs from
the first, and by a factor of e between both ends of a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from linkwright.algebra import log, sqrt, symbol
from linkwright.algebra.expr import Expr, as_expr
from linkwright.backends.kernel import Kernel, compile as compile_kernel
from linkwright.program.program import Assign, Carried, Loop as Scan, Scanned, program
from linkwright.sampling.regimes import Array

_TURNS = 64  # steps in one call of the kernel
_TOGETHER = 8  # steps from one length to the next
_TINY = 1e-150
_COMMON = 2.0  # times what the halves differ by: growth as a power of time is within it


@dataclass(frozen=True, slots=True)
class Exponent:
    """A Lyapunov exponent with its band, for each sample.

    Args:
        value: mean of the logarithm by which the state grows from sample to sample.
        low: lower end of the band in which the exponent is with a probability of 95 %.
        high: upper end.
        interval: mean interval, s.

    >>> Exponent(-0.2, -0.21, -0.19, 0.02).rate
    -10.0
    """

    value: float
    low: float
    high: float
    interval: float

    @property
    def rate(self) -> float:
        """The exponent for each second, 1/s."""
        return self.value / self.interval

    def __format__(self, form: str) -> str:
        return f"{self.value:{form}} ({self.low:{form}} to {self.high:{form}})"


@lru_cache(maxsize=16)
def growth_kernel(states: int, inputs: int) -> Kernel:
    """Return the kernel that carries a state through steps with Phi + Psi K.

    >>> [port.shape for port in growth_kernel(2, 1).inputs]
    [(2,), (1, 2), (64, 2, 2), (64, 2, 1)]
    """
    x0 = [symbol(f"x{i}") for i in range(states)]
    gain = [[symbol(f"k{i}_{j}") for j in range(states)] for i in range(inputs)]
    phi, psi = _table("a", states, states), _table("b", states, inputs)
    carried = [symbol(f"y{i}") for i in range(states)]
    grown, zero = symbol("grown"), as_expr(0)
    scanned: list[Scanned] = []
    body: list[Assign] = []

    def entry(table: list[list[list[Expr]]], name: str, at: int, i: int, j: int) -> Expr:
        made = symbol(f"{name}{at}_{i}_{j}")
        scanned.append(Scanned(made, tuple(turn[i][j] for turn in table[at::_TOGETHER])))
        return made

    def named(name: str, value: Expr) -> Expr:
        made = symbol(name)
        body.append(Assign(made, value))
        return made

    y = carried
    for at in range(_TOGETHER):
        fed = [
            named(f"u{at}_{i}", sum((g * v for g, v in zip(row, y, strict=True)), zero))
            for i, row in enumerate(gain)
        ]
        y = [
            named(
                f"y{at}_{i}",
                sum((entry(phi, "phi", at, i, j) * y[j] for j in range(states)), zero)
                + sum((entry(psi, "psi", at, i, j) * fed[j] for j in range(inputs)), zero),
            )
            for i in range(states)
        ]
    length = named("length", sqrt(sum((v * v for v in y), zero) + _TINY))
    inverse = named("inverse", 1 / length)
    turned = [
        Carried(carried[i], x0[i], y[i] * inverse, symbol(f"final{i}")) for i in range(states)
    ]
    total = symbol("total")
    turned.append(Carried(grown, zero, grown + log(length), total))
    scan = Scan(_TURNS // _TOGETHER, tuple(turned), tuple(scanned), (), tuple(body))
    given = {"x": x0, "gain": gain, "phi": phi, "psi": psi} if inputs else {"x": x0, "phi": phi}
    outputs = {"following": [c.final for c in turned[:-1]], "grown": total}
    return compile_kernel(program("growth", given, outputs, statements=[scan]))


def growths(phi: Array) -> tuple[Array, Array]:
    """Return the mean logarithm of growth for each stream, after a part that is left out.

    With it comes by how much that of the second half is above that of the first.
    """
    streams, count, n = phi.shape[:3]
    kernel = growth_kernel(n, 0)
    x = _starts(streams, n)
    calls, skipped = _calls(count)
    found = np.zeros((calls, streams))
    for k in range(calls):
        part = np.ascontiguousarray(phi[:, k * _TURNS : (k + 1) * _TURNS])
        x, found[k] = kernel.batch(x, part)
    return _means(found[skipped:])


def growths_of_gains(phi: Array, psi: Array, gains: Array) -> tuple[Array, Array]:
    """Return the mean logarithm of growth for each gain and stream, and its drift.

    Units: `gains` in K.
    """
    streams, count, n = phi.shape[:3]
    kernel = growth_kernel(n, psi.shape[-1])
    calls, skipped = _calls(count)
    found = np.zeros((calls, len(gains), streams))
    gains = np.ascontiguousarray(gains)
    for stream, start in enumerate(_starts(streams, n)):
        x = np.tile(start, (len(gains), 1))
        for k in range(calls):
            part = slice(k * _TURNS, (k + 1) * _TURNS)
            x, found[k, :, stream] = kernel.batch(x, gains, phi[stream, part], psi[stream, part])
    return _means(found[skipped:])


def _starts(streams: int, n: int) -> Array:
    """Return a direction for each stream, so that they have as little in common as can be."""
    found = np.random.default_rng(streams).normal(size=(streams, n))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _calls(count: int) -> tuple[int, int]:
    """Return how often the kernel is called, and how many of these calls are left out."""
    calls = count // _TURNS
    return calls, max(1, calls // 8)


def _means(found: Array) -> tuple[Array, Array]:
    """Return means for each sample and their drift; what grew beyond all numbers is infinite."""
    known = np.where(np.isnan(found), np.inf, found) / _TURNS
    half = len(known) // 2
    with np.errstate(invalid="ignore"):
        drift = known[half:].mean(axis=0) - known[:half].mean(axis=0)
    return known.mean(axis=0), np.where(np.isfinite(drift), drift, 0.0)


def exponent_of(rates: Array, drifts: Array, interval: float, steps: int) -> Exponent:
    """Return an exponent from the growth in each stream."""
    from scipy.special import stdtrit

    mean = float(rates.mean())
    if len(rates) < 2:
        return Exponent(mean, -np.inf, np.inf, interval)
    if not np.isfinite(mean):
        return Exponent(mean, mean, mean, interval)
    factor = float(stdtrit(len(rates) - 1, 0.975)) / float(np.sqrt(len(rates)))
    half = factor * float(rates.std(ddof=1))
    common = abs(float(drifts.mean())) - factor * float(drifts.std(ddof=1))
    calls, skipped = _calls(rounded_up(steps))
    half += _COMMON * max(0.0, common) + 1.0 / ((calls - skipped) * _TURNS)
    return Exponent(mean, mean - half, mean + half, interval)


def rounded_up(count: int) -> int:
    """Return a number of steps that the kernel takes whole: one part to leave out, and two halves.

    >>> rounded_up(100), rounded_up(200)
    (192, 256)
    """
    return max(3, -(-count // _TURNS)) * _TURNS


def _table(name: str, rows: int, columns: int) -> list[list[list[Expr]]]:
    return [
        [[symbol(f"{name}{k}_{i}_{j}") for j in range(columns)] for i in range(rows)]
        for k in range(_TURNS)
    ]
