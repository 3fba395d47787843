"""Streams of samples in recordings: when did they come, how old were they, and is that certified?

Any channel is a stream: a sample comes when its value changes. Channels of ages (`eye.age`, as the
coordinator of a cell records them, or `frame.conveyor.age` of a cell) show more: a sample has come
when the time at which it was taken, the time less the age, is another. An age below the period of
the recorder is that of its grid: such a sample came when it was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, suggestion
from linkwright.base.results import Result
from linkwright.recording import Recording
from linkwright.recording.in_units import in_units
from linkwright.sampling.answers import Answers, expectations, lyapunov_transform
from linkwright.sampling.contraction import best_transform, log_norms
from linkwright.sampling.distributions import Markov, Recorded
from linkwright.sampling.mean_square import chain_radius
from linkwright.sampling.regimes import TOLERANCE, Array, Distribution, Regimes

if TYPE_CHECKING:
    from linkwright.sampling.loops import Loop

_LEAST = 20  # intervals that a certificate needs
_SAME = 1e-6  # s, by which times of one sample differ at most
_NEVER = 1e8  # s; an age beyond says that nothing has come yet
_KEPT = 40  # values of each regime with which the margin is searched
_MOST = 64.0  # up to which factor of longer or shorter intervals the margin is searched


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SampleStream:
    """When samples came, and how old they were then.

    Args:
        name: of the stream.
        times: at which samples came, s.
        ages: of each when it came, s; 0 where it is not known.

    >>> SampleStream("eye", np.array([0.0, 0.02, 0.05]), np.zeros(3))
    SampleStream('eye', 2 intervals from 20 to 30 ms)
    """

    name: str
    times: Array
    ages: Array

    def __repr__(self) -> str:
        at = 1e3 * self.intervals
        span = f" from {at.min():.4g} to {at.max():.4g} ms" if len(at) else ""
        return f"SampleStream({self.name!r}, {len(at)} intervals{span})"

    @property
    def intervals(self) -> Array:
        """Between samples, s."""
        return np.diff(self.times)

    @property
    def correlation(self) -> float:
        """How much an interval says about the next: from -1 to 1, 0 for nothing."""
        at = self.intervals
        if len(at) < 3 or np.ptp(at[:-1]) == 0.0 or np.ptp(at[1:]) == 0.0:
            return 0.0
        return float(np.corrcoef(at[:-1], at[1:])[0, 1])

    def distribution(self, ages: bool = True) -> Recorded:
        """Return the distribution of its intervals.

        With ages, intervals are those between the times at which samples were taken. In each, that
        command acts whose sample came last; where several come in one, the last of them counts.

        Args:
            ages: whether they count; not where the controller predicts them away.
        """
        if not ages or not self.ages.any():
            return Recorded(self.intervals)
        taken = self.times - self.ages
        at = np.diff(taken)
        each = np.arange(len(at))
        first = np.searchsorted(self.times, taken[:-1], side="right") - 1  # acts at the beginning
        last = np.searchsorted(self.times, taken[1:], side="left") - 1  # and at the end
        known = (first >= 0) & (at > _SAME)
        began = np.where(last > first, self.times[np.maximum(last, 0)] - taken[:-1], 0.0)
        return Recorded(
            at[known],
            (each - last)[known],
            np.clip(began, 0.0, at)[known],
            np.where(last > first, each - first, each - last)[known],
        )


@worded
def stream_of(recording: Recording, name: str) -> SampleStream:
    """Return a stream of samples from a recording.

    Args:
        recording: any; of a cell, of a coordinator, or of a simulation.
        name: of a sensor, of a frame, or of a channel.

    >>> from linkwright.recording import Channel
    >>> t = np.arange(6) * 0.01
    >>> r = Recording(
    ...     t, [Channel("eye.age", "s")], [[0], [0.01], [0.02], [0.002], [0.012], [0.001]]
    ... )
    >>> stream = stream_of(r, "eye")
    >>> stream.times.round(3), stream.ages.round(3)
    (array([0.   , 0.028, 0.049]), array([0., 0., 0.]))
    """
    names = [c.name for c in recording.channels]
    for candidate in (f"{name}.age", f"frame.{name}.age", f"frame_{name}.age"):
        if candidate in names:
            return _by_age(recording, name, candidate)
    if name in names:
        if name.endswith(".age"):
            return _by_age(recording, name, name)
        values = recording[name]
        new = np.flatnonzero(np.isfinite(values[1:]) & (np.diff(values) != 0.0)) + 1
        if not len(new):
            raise InputError(
                f"the stream {name!r} never changes",
                remedy="name a channel whose value changes with each sample, or one of ages",
                code="R624",
            )
        return SampleStream(name, recording.times[new], np.zeros(len(new)))
    known = sorted({n.removesuffix(".age").removeprefix("frame.") for n in names})
    hint = suggestion(name, known, f"it has {', '.join(known[:8])}")
    raise InputError(f"the recording has no stream {name!r}", remedy=hint, code="R631")


def _by_age(recording: Recording, name: str, channel: str) -> SampleStream:
    ages = in_units(recording, {channel: "s"})[channel]
    known = np.isfinite(ages) & (ages < _NEVER)
    times, ages = recording.times[known], ages[known]
    taken = times - ages
    new = np.concatenate([[True], np.diff(taken) > _SAME]) if len(taken) else np.zeros(0, bool)
    if not new.any():
        raise InputError(
            f"nothing has come in the stream {name!r}", remedy="record for longer", code="R624"
        )
    grid = float(np.median(np.diff(recording.times))) if len(recording.times) > 1 else 0.0
    seen, old = times[new], ages[new]
    at_once = old < grid * (1.0 + 1e-6)
    return SampleStream(name, np.where(at_once, seen - old, seen), np.where(at_once, 0.0, old))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RateCertificate(Result):
    """Whether a loop was stable at the rate at which samples came.

    Args:
        stream: what was measured.
        answers: the four, with the measured intervals.
        chained: mean-square radius with the measured order of intervals too (a Markov chain of
            three states).
        error: standard error of the best contraction, for the record is of some length only.
        margin: factor by which all intervals could be longer until nothing is proven any more;
            below 1 where nothing is proven now, 0 where shorter intervals prove nothing either; 64
            at most.

    >>> from linkwright.sampling import Loop, Uniform
    >>> found = Loop([[0.0]], [[1.0]]).answers(Uniform(0.1, 0.3), [[-2.0]], streams=2, steps=64)
    >>> came = SampleStream("eye", np.arange(30) * 0.2, np.zeros(30))
    >>> RateCertificate(came, found, found.mean_square, 0.01, 2.5)
    RateCertificate('eye': certified; all intervals could be 150% longer)
    """

    stream: SampleStream
    answers: Answers
    chained: float
    error: float
    margin: float

    def __repr__(self) -> str:
        return f"RateCertificate({self.stream.name!r}: {self.words})"

    @property
    def granted(self) -> bool:
        """Whether the loop is certified: twice the error of the record counts against it."""
        best = min(self.answers.contraction, self.answers.best_contraction)
        square = max(self.answers.mean_square, self.chained)
        return best + 2.0 * self.error < -TOLERANCE or square < 1.0 - TOLERANCE

    @property
    def words(self) -> str:
        """The certificate, or the rejection, in a sentence."""
        share = abs(self.margin - 1.0)
        if self.granted and self.margin >= _MOST:
            return f"certified; all intervals could be at least {_MOST:.0f} times as long"
        if self.margin == 0.0:
            return (
                "rejected; no shortening of the intervals helps, for the gain is not proven with "
                f"intervals {_MOST:.0f} times as short either"
            )
        if self.granted:
            return f"certified; all intervals could be {share:.0%} longer"
        if self.margin < 1.0:
            return f"rejected; all intervals would have to be {share:.0%} shorter"
        return "rejected; the record is too short for what it shows"

    def as_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        at = self.stream.intervals
        return {
            "stream": self.stream.name,
            "intervals": {
                "count": len(at),
                "shortest": float(at.min()),
                "mean": float(at.mean()),
                "longest": float(at.max()),
                "correlation": self.stream.correlation,
            },
            "oldest": float(self.stream.ages.max()),
            "certified": self.granted,
            "margin": self.margin,
            "words": self.words,
            "order_counts": self.answers.distribution.regimes().depth == 0,
            "error": self.error,
            "chained_mean_square": self.chained,
            **self.answers.as_dict(),
        }


@worded
def certify(
    loop: Loop,
    gain: ArrayLike,
    stream: SampleStream,
    *,
    transform: ArrayLike | None = None,
    ages: bool = True,
    streams: int = 50,
    steps: int = 1000,
    seed: int = 0,
) -> RateCertificate:
    """Return whether a loop is stable at the rate at which samples came, or why it is not certain.

    Args:
        loop: that is asked about.
        gain: K of u = K x.
        stream: when samples came.
        transform: the T of the first answer.
        ages: whether ages count as delays; not where the controller predicts them away.
        streams: of the Monte Carlo, parts of what was measured.
        steps: of each stream.
        seed: of their places.

    >>> from linkwright.sampling import Loop
    >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
    >>> came = np.cumsum(np.random.default_rng(0).uniform(0.010, 0.030, 400))
    >>> found = certify(loop, [-1065, -62.31], SampleStream("eye", came, 0 * came))
    >>> found.granted, round(found.margin, 2)
    (True, 1.49)
    """
    if len(stream.times) <= _LEAST:
        raise InputError(
            f"the stream {stream.name!r} has {len(stream.times)} samples, and a certificate needs "
            f"more than {_LEAST}",
            remedy="record for longer",
            code="R624",
        )
    distribution = stream.distribution(ages)
    found = loop.answers(distribution, gain, transform, streams=streams, steps=steps, seed=seed)
    chained = found.mean_square
    if distribution.regimes().depth == 0:
        chain = Markov.fitted(distribution.intervals, min(3, len(distribution.intervals) // 10))
        chained = _mean_square(loop, chain.regimes(), found.gain)
    return RateCertificate(
        stream,
        found,
        chained,
        _error(loop, distribution, found),
        _margin(loop, distribution, found),
    )


def _mean_square(loop: Loop, regimes: Regimes, gain: Array) -> float:
    moments = expectations(loop, regimes, gain)[2]
    return chain_radius(moments, regimes.transition)


def _error(loop: Loop, distribution: Recorded, found: Answers) -> float:
    """Return the standard error of the mean of gamma, from means of parts of the record."""
    gammas = loop.closed(distribution.samples, found.gain, distribution.regimes().depth)
    values = log_norms(gammas, found.best_transform)
    parts = min(20, len(values) // 5)
    size = len(values) // parts
    means = values[: parts * size].reshape(parts, size).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(parts))


def _margin(loop: Loop, distribution: Distribution, found: Answers) -> float:
    """Return the factor of all intervals at which the proofs end; with delays, by mean squares."""
    regimes = distribution.regimes().fewer(_KEPT)

    def proven(factor: float) -> bool:
        scaled = regimes.scaled(factor)
        gammas, weights, moments = expectations(loop, scaled, found.gain)
        square = chain_radius(moments, scaled.transition)
        if square < 1.0 - TOLERANCE or scaled.depth:
            return square < 1.0 - TOLERANCE
        shares = np.concatenate([s * w for s, w in zip(scaled.shares, weights, strict=True)])
        start = lyapunov_transform(moments, scaled.transition, square)
        return best_transform(np.concatenate(gammas), shares, start)[0] < -TOLERANCE

    held = found.stable
    step, end = (1.25, _MOST) if held else (0.8, 1.0 / _MOST)
    factor, following = 1.0, step
    while proven(following) == held:  # until the verdict is another
        if following == end:
            return end if held else 0.0
        factor, following = following, following * step
        following = min(following, end) if held else max(following, end)
    inside, outside = (factor, following) if held else (following, factor)
    for _ in range(6):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if proven(middle) else (inside, middle)
    return inside
