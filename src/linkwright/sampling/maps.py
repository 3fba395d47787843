"""Maps of the four answers, over gains and distributions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.results import Result, plain
from linkwright.sampling.answers import (
    expectations,
    lyapunov_transform,
    mean_square_radius,
    mean_transform,
    monte_carlo,
)
from linkwright.sampling.contraction import best_pairs, best_transform, log_norms
from linkwright.sampling.exponents import exponent_of, growths_of_gains, rounded_up
from linkwright.sampling.mean_square import chain_radius
from linkwright.sampling.regimes import TOLERANCE, Array, Distribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.sampling.loops import Loop

_PANELS = 6
ANSWERS = ("contraction", "best_contraction", "mean_square", "exponent")
"""What a map has at each place."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RateMap(Result):
    """The four answers on a grid: a row for each gain, a column for each distribution.

    Args:
        gains: what the rows are, such as the interval of the design.
        rates: what the columns are, such as the longest interval.
        contraction: E[gamma] with the T of each gain.
        best_contraction: E[gamma] with the best T.
        mean_square: spectral radius of E[Gamma (x) Gamma].
        exponent: Lyapunov exponent.
        low: lower end of its band.
        high: upper end of its band.
        labels: of both axes.

    >>> one = np.zeros((1, 2))
    >>> RateMap(np.zeros(1), np.zeros(2), one, one, one, one - 1, one - 2, one)
    RateMap(1 x 2: 0 proven by the T given, 0 by the best T, 2 by mean squares; 2 decay)
    """

    gains: Array
    rates: Array
    contraction: Array
    best_contraction: Array
    mean_square: Array
    exponent: Array
    low: Array
    high: Array
    labels: tuple[str, str] = ("gain", "rate")

    def __repr__(self) -> str:
        rows, columns = self.contraction.shape
        told = (int(self.stable(name).sum()) for name in ANSWERS)
        plain, best, square, decay = told
        return (
            f"RateMap({rows} x {columns}: {plain} proven by the T given, {best} by the best T, "
            f"{square} by mean squares; {decay} decay)"
        )

    def stable(self, answer: str) -> NDArray[np.bool_]:
        """Return where an answer says that the loop is stable, by more than rounding does.

        Args:
            answer: one of `ANSWERS`.
        """
        limit = 1.0 if answer == "mean_square" else 0.0
        values: Array = getattr(self, answer)
        return values < limit - TOLERANCE

    def plot(self) -> Figure:
        """Return the exponent as colors, with the limits of all four answers as lines."""
        from linkwright.sampling.map_plots import map_figure

        return map_figure(self)

    def as_dict(self) -> dict[str, object]:
        """Return the map as plain data."""
        found: dict[str, object] = {
            "rows": {"label": self.labels[0], "values": self.gains.tolist()},
            "columns": {"label": self.labels[1], "values": self.rates.tolist()},
        }
        return found | {name: plain(getattr(self, name)) for name in (*ANSWERS, "low", "high")}


@worded
def rate_map(
    loop: Loop,
    gains: Sequence[ArrayLike],
    distributions: Sequence[Distribution],
    *,
    transforms: Sequence[ArrayLike] | None = None,
    rows: ArrayLike | None = None,
    columns: ArrayLike | None = None,
    labels: tuple[str, str] = ("gain", "rate"),
    streams: int = 50,
    steps: int = 256,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> RateMap:
    """Return the four answers for many gains and distributions.

    Args:
        loop: that is asked about.
        gains: K of u = K x, each a row of the map.
        distributions: of intervals, each a column.
        transforms: the T of the first answer for each gain; by default that which diagonalizes the
            loop at the mean interval.
        rows: numbers that say which gain it is; 0, 1, 2, ... by default.
        columns: numbers that say which distribution it is.
        labels: what these numbers are.
        streams: of the Monte Carlo.
        steps: of each stream.
        seed: of all that is random; the same streams are used for all gains.
        threads: as many as there are processors by default.
        progress: called now and then with the part that is done.

    >>> from linkwright.sampling import Loop, Uniform
    >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
    >>> gains = [loop.gain_for((0.4, 0.7), t)[0] for t in (0.012, 0.020)]
    >>> rate_map(loop, gains, [Uniform(0.010, t) for t in (0.03, 0.05, 0.07)], streams=8)
    RateMap(2 x 3: 4 proven by the T given, 4 by the best T, 3 by mean squares; 5 decay)
    """
    if not len(gains) or not len(distributions):
        raise InputError("a map has at least one gain and one distribution", remedy="give both")
    ks = np.array([loop.gain_of(k) for k in gains])
    ts = None if transforms is None else np.array([loop.transform_of(t) for t in transforms])
    if ts is not None and len(ts) != len(ks):
        raise InputError(
            f"{len(ks)} gains have {len(ts)} transformations T", remedy="give one for each gain"
        )
    done = 0

    def one(distribution: Distribution) -> Array:
        nonlocal done
        found = _column(loop, ks, ts, distribution, streams, steps, seed)
        done += 1
        if progress is not None:
            progress(done / len(distributions))
        return found

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        table = np.array(list(pool.map(one, distributions)))  # column, answer, row
    answers = table.transpose(1, 2, 0)
    return RateMap(
        np.arange(len(ks), dtype=float) if rows is None else np.asarray(rows, dtype=float),
        np.arange(len(distributions), dtype=float)
        if columns is None
        else np.asarray(columns, dtype=float),
        answers[0],
        answers[1],
        answers[2],
        answers[3],
        answers[4],
        answers[5],
        labels,
    )


def _column(
    loop: Loop,
    gains: Array,
    transforms: Array | None,
    distribution: Distribution,
    streams: int,
    steps: int,
    seed: int,
) -> Array:
    """Return the six numbers of each gain for one distribution."""
    regimes = distribution.regimes()
    found = np.full((6, len(gains)), np.inf)
    if len(regimes.each) == 1 and regimes.depth == 0 and distribution.tail(loop.growth) == 0.0:
        at, weights = regimes.each[0].nodes(_PANELS)
        phi, psi = loop.steps(at.intervals)
        gammas = phi + psi @ gains[:, None]
        given = (
            np.array([mean_transform(loop, regimes, k) for k in gains])
            if transforms is None
            else transforms
        )
        found[0] = log_norms(gammas, given[:, None]) @ weights
        found[2] = np.abs(np.linalg.eigvals(_moments(gammas, weights))).max(axis=-1)
        if loop.size == 2:
            starts = _starts(_moments(gammas, weights), found[2])
            found[1] = np.minimum(best_pairs(gammas, weights, starts), found[0])
        else:
            for i, g in enumerate(gammas):
                moment = [_moments(g[None], weights)[0]]
                start = lyapunov_transform(moment, regimes.transition, float(found[2, i]))
                found[1, i] = min(best_transform(g, weights, start)[0], float(found[0, i]))
        drawn = distribution.draw(streams, rounded_up(steps), seed)
        phi, psi = loop.steps(drawn.intervals.ravel())
        shape = drawn.intervals.shape
        grown, drifts = growths_of_gains(
            phi.reshape(*shape, *phi.shape[1:]), psi.reshape(*shape, *psi.shape[1:]), gains
        )
    else:
        grown, drifts = np.empty((2, len(gains), streams))
        for i, gain in enumerate(gains):
            parts, weights_of, moments = expectations(loop, regimes, gain, _PANELS)
            square = mean_square_radius(loop, distribution, gain)
            plainly = chain_radius(moments, regimes.transition)
            start = lyapunov_transform(moments, regimes.transition, plainly)
            whole = np.concatenate(parts)
            shares = np.concatenate(
                [s * w for s, w in zip(regimes.shares, weights_of, strict=True)]
            )
            found[1, i], found[2, i] = best_transform(whole, shares, start)[0], square
            if regimes.depth == 0:
                t = mean_transform(loop, regimes, gain) if transforms is None else transforms[i]
                found[0, i] = float(np.dot(shares, log_norms(whole, t)))
            grown[i], drifts[i] = monte_carlo(loop, distribution, gain, streams, steps, seed)
    for i, (rates, drift) in enumerate(zip(grown, drifts, strict=True)):
        one = exponent_of(rates, drift, regimes.mean, steps)
        found[3:, i] = one.value, one.low, one.high
    return found


def _starts(moments: Array, squares: Array) -> Array:
    """Return for each gain the T of the norm in which mean squares shrink evenly."""
    scaled = moments / (1.02 * np.maximum(squares, 1e-300))[:, None, None]
    size = scaled.shape[-1]
    n = round(size**0.5)
    right = np.tile(np.eye(n).reshape(-1, 1), (len(scaled), 1, 1))
    solved = np.linalg.solve(np.eye(size) - scaled.transpose(0, 2, 1), right).reshape(-1, n, n)
    p = 0.5 * (solved + solved.transpose(0, 2, 1))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(p)).transpose(0, 2, 1))


def _moments(gammas: Array, weights: Array) -> Array:
    """Return E[Gamma (x) Gamma] for each gain."""
    g, m, n = gammas.shape[:3]
    flat = gammas.reshape(g, m, n * n)
    product = (flat * weights[:, None]).transpose(0, 2, 1) @ flat
    made: Array = product.reshape(g, n, n, n, n).transpose(0, 1, 3, 2, 4).reshape(g, n * n, n * n)
    return made
