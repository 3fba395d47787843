"""What every distribution of sampling intervals comes down to: regimes, and their order in time.

A regime is a mixture of single values and ranges of equal density, with one delay. The command that
follows from a sample begins to act `age` after the sample was taken; until then an older one acts.
The regime of
each interval depends on that of the interval before it through a table of probabilities; where all
rows of the table are the same, intervals are independent of each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount, amount
from linkwright.base.errors import InputError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

TOLERANCE = 1e-5
"""What is closer to a limit than this is neither proven nor unstable: rounding may do as much."""

_PANELS = 16  # into which a range is cut, for logarithms of norms have kinks
_ORDER = 6  # of Gauss's rule on each of them


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """What happens from sample to sample, as arrays of one shape.

    >>> Arrivals.prompt(np.array([0.01])).delays
    array([0])
    """

    intervals: Array  # until the next sample, s
    delays: Counts  # how many samples old the command is that acts in the end
    befores: Counts  # how many samples old that is which acts until the age is over
    ages: Array  # how long that is, s

    @staticmethod
    def prompt(intervals: Array) -> Arrivals:
        """Return samples whose commands act at once.

        Args:
            intervals: s.
        """
        none = np.zeros(intervals.shape, dtype=np.int64)
        return Arrivals(intervals, none, none, np.zeros(intervals.shape))

    def flat(self) -> Arrivals:
        """Return the same along one axis."""
        return Arrivals(*(getattr(self, name).ravel() for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a distribution: a range with equal density, or one value where both ends agree.

    >>> Piece(0.5, 0.01, 0.03).mean
    0.02
    """

    weight: float  # its probability
    low: float  # the shortest interval, s
    high: float  # the longest, s
    # how long after the beginning of the interval the new command begins to act, s
    age: float = 0.0

    @property
    def mean(self) -> float:
        """The mean interval, s."""
        return 0.5 * (self.low + self.high)


@dataclass(frozen=True, slots=True)
class Regime:
    """Intervals of one kind.

    >>> Regime((Piece(0.75, 0.01, 0.01), Piece(0.25, 0.03, 0.03))).mean
    0.015
    """

    pieces: tuple[Piece, ...]  # what they are taken from; the weights add up to 1
    delay: int = 0  # how many samples old the command is that acts in the end
    # how many samples old that is which acts until the age is over; one more than the delay by
    # default
    before: int | None = None

    @property
    def earlier(self) -> int:
        """How many samples old the command is that acts at the beginning of an interval."""
        if all(p.age == 0.0 for p in self.pieces):
            return self.delay
        return self.delay + 1 if self.before is None else self.before

    @property
    def mean(self) -> float:
        """The mean interval, s."""
        return sum(p.weight * p.mean for p in self.pieces)

    def nodes(self, panels: int = _PANELS) -> tuple[Arrivals, Array]:
        """Return samples and weights with which expectations are sums.

        Args:
            panels: into which a range is cut, each with a Gauss rule.

        >>> at, weights = Regime((Piece(1.0, 0.0, 1.0),)).nodes()
        >>> round(float(weights @ at.intervals**2), 12)
        0.333333333333
        """
        x, w = np.polynomial.legendre.leggauss(_ORDER)
        at, weights, ages = [], [], []
        for p in self.pieces:
            if p.low == p.high:
                at.append(np.array([p.low]))
                weights.append(np.array([p.weight]))
                ages.append(np.array([p.age]))
                continue
            edges = np.linspace(p.low, p.high, panels + 1)
            half = 0.5 * (p.high - p.low) / panels
            at.append((edges[:-1, None] + half * (1.0 + x)).ravel())
            weights.append(np.tile(p.weight * w / (2.0 * panels), panels))
            ages.append(np.full(len(at[-1]), p.age))
        made = np.concatenate(at)
        late, earlier = np.full(len(made), self.delay), np.full(len(made), self.earlier)
        return Arrivals(made, late, earlier, np.concatenate(ages)), np.concatenate(weights)

    def draw(self, chance: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Return random intervals and ages.

        Args:
            chance: the source of random numbers.
            count: how many.
        """
        weights = np.array([p.weight for p in self.pieces])
        which = np.searchsorted(np.cumsum(weights)[:-1], chance.random(count), side="right")
        low = np.array([p.low for p in self.pieces])
        high = np.array([p.high for p in self.pieces])
        ages = np.array([p.age for p in self.pieces])
        found: Array = low[which] + (high - low)[which] * chance.random(count)
        return found, ages[which]


@dataclass(frozen=True, slots=True, eq=False)
class Regimes:
    """Regimes and the table of which follows which.

    >>> one = Regimes.independent([Piece(1.0, 0.01, 0.01)])
    >>> one.mean, one.depth
    (0.01, 0)
    """

    each: tuple[Regime, ...]  # the regimes
    transition: Array  # row i has the probabilities of the regimes that follow regime i

    @staticmethod
    def independent(pieces: Iterable[Piece]) -> Regimes:
        """Return intervals that do not depend on each other.

        Args:
            pieces: what they are taken from.
        """
        return Regimes((Regime(tuple(pieces)),), np.ones((1, 1)))

    @property
    def mixed(self) -> bool:
        """Whether each interval is independent of those before it."""
        return bool(np.allclose(self.transition, self.transition[0], atol=1e-15))

    @property
    def shares(self) -> Array:
        """The part of all intervals that each regime has in the long run."""
        m = len(self.each)
        system = np.vstack([self.transition.T - np.eye(m), np.ones(m)])
        found: Array = np.linalg.lstsq(system, np.append(np.zeros(m), 1.0), rcond=None)[0]
        return np.clip(found, 0.0, 1.0)

    @property
    def mean(self) -> float:
        """The mean interval, s."""
        return float(sum(p * r.mean for p, r in zip(self.shares, self.each, strict=True)))

    @property
    def depth(self) -> int:
        """The longest delay, in samples."""
        return max(max(r.delay, r.earlier) for r in self.each)

    @property
    def range(self) -> tuple[float, float]:
        """The shortest and the longest interval, s."""
        pieces = [p for r in self.each for p in r.pieces]
        return min(p.low for p in pieces), max(p.high for p in pieces)

    def scaled(self, factor: float) -> Regimes:
        """Return the same with all intervals and ages longer by a factor.

        Args:
            factor: above 0.
        """
        each = tuple(
            replace(
                r,
                pieces=tuple(
                    Piece(p.weight, p.low * factor, p.high * factor, p.age * factor)
                    for p in r.pieces
                ),
            )
            for r in self.each
        )
        return Regimes(each, self.transition)

    def fewer(self, count: int) -> Regimes:
        """Return the same with at most so many values in each regime, each a mean of some."""
        each = []
        for r in self.each:
            points = [p for p in r.pieces if p.low == p.high]
            if len(points) > count:
                points.sort(key=lambda p: (p.low, p.age))
                weights = np.array([p.weight for p in points])
                middle = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
                group = np.minimum((middle * count).astype(np.int64), count - 1)
                made = [
                    np.bincount(group, weights * values, count)
                    for values in (1.0, [p.low for p in points], [p.age for p in points])
                ]
                ranges = [p for p in r.pieces if p.low != p.high]
                merged = [Piece(w, t / w, t / w, a / w) for w, t, a in zip(*made, strict=True) if w]
                r = replace(r, pieces=(*ranges, *merged))
            each.append(r)
        return Regimes(tuple(each), self.transition)

    def order(self, streams: int, count: int, chance: np.random.Generator) -> Counts:
        """Return the number of the regime of each interval, for each stream.

        Args:
            streams: how many.
            count: of intervals in each.
        """
        m = len(self.each)
        if m == 1:
            return np.zeros((streams, count), dtype=np.int64)
        luck = chance.random((count, streams))
        table = np.cumsum(self.transition, axis=1)[:, :-1]
        found = np.empty((count, streams), dtype=np.int64)
        now = np.searchsorted(np.cumsum(self.shares)[:-1], luck[0], side="right")
        for k in range(count):
            if k:
                now = (luck[k][:, None] >= table[now]).sum(axis=1)
            found[k] = now
        return found.T.copy()


class Distribution(ABC):
    """A distribution of sampling intervals; `regimes` says what it is."""

    kind: str = ""
    """The word for it in files."""

    @abstractmethod
    def regimes(self, growth: float = 0.0) -> Regimes:
        """Return what it comes down to.

        Args:
            growth: rate of what is to be expected, 1/s: long intervals are kept although they are
                rare, as long as they matter times e^(growth * interval).
        """

    def tail(self, growth: float) -> float:
        """Return the ratio of the last terms of E[e^(growth interval)]; from 1 on, it is infinite.

        Args:
            growth: 1/s.
        """
        return 0.0

    def draw(self, streams: int, count: int, seed: int = 0) -> Arrivals:
        """Return random samples, a row for each stream.

        Args:
            streams: how many.
            count: of intervals in each.
            seed: of all that is random.
        """
        return drawn(self.regimes(), streams, count, seed)

    @property
    def mean(self) -> float:
        """The mean interval, s."""
        return self.regimes().mean


def drawn(regimes: Regimes, streams: int, count: int, seed: int) -> Arrivals:
    """Return random samples, a row for each stream.

    >>> drawn(Regimes.independent([Piece(1.0, 0.5, 0.5)]), 1, 2, 0).intervals
    array([[0.5, 0.5]])
    """
    chance = generator(seed)
    which = regimes.order(streams, count, chance)
    found, ages = np.empty(which.shape), np.empty(which.shape)
    for k, regime in enumerate(regimes.each):
        here = which == k
        found[here], ages[here] = regime.draw(chance, int(here.sum()))
    delays = np.array([r.delay for r in regimes.each], dtype=np.int64)
    befores = np.array([r.earlier for r in regimes.each], dtype=np.int64)
    return Arrivals(found, delays[which], befores[which], ages)


def generator(seed: int) -> np.random.Generator:
    """Return the source of random numbers of a seed.

    >>> generator(0).integers(10)
    np.int64(8)
    """
    if seed < 0:
        raise InputError(f"the seed is {seed}", remedy="give a whole number, 0 or more")
    return np.random.default_rng(seed)


def interval(value: Amount, what: str) -> float:
    """Return an interval in seconds; what is not above zero is rejected.

    Units: `value` in s.

    >>> interval("10 ms", "the interval")
    0.01
    """
    found = amount(value, what, "s")
    if not (math.isfinite(found) and found > 0.0):
        raise InputError(
            f"{what} is {found:g} s; a sample follows the one before it after some time",
            remedy="give an interval above 0, such as 0.010 or '10 ms'",
            code="R621",
        )
    return found


def probability(value: float, what: str) -> float:
    """Return a probability; what is not within 0 and 1 is rejected."""
    found = amount(value, what, "1")
    if not 0.0 <= found <= 1.0:
        raise InputError(
            f"{what} is {found:g}, which is not a probability",
            remedy="give a number from 0 to 1",
            code="R622",
        )
    return found


def chain(rows: Sequence[Array], what: str) -> tuple[tuple[float, ...], ...]:
    """Return a transition table; one whose long run depends on its start is rejected.

    >>> chain([np.array([0.5, 0.5]), np.array([1.0, 0.0])], "states")
    ((0.5, 0.5), (1.0, 0.0))
    """
    table = np.array(rows)
    count = len(table)
    reached = np.linalg.matrix_power(((table > 0.0) | np.eye(count, dtype=bool)) * 1.0, count) > 0.0
    both = reached & reached.T
    closed = {
        tuple((np.flatnonzero(both[i]) + 1).tolist())
        for i in range(count)
        if not (reached[i] & ~both[i]).any()
    }
    if len(closed) > 1:
        parts = " and ".join("{" + ", ".join(map(str, members)) + "}" for members in sorted(closed))
        raise InputError(
            f"the chain never leaves its {what} {parts}, so that its long run depends on where it "
            "starts",
            remedy="ask about each of these parts by itself, or give a probability of a change",
            code="R622",
        )
    return tuple(tuple(map(float, row)) for row in table)


def probabilities(values: Sequence[float], what: str) -> Array:
    """Return probabilities that add up to 1; others are rejected."""
    found = np.array([probability(v, what) for v in values])
    if not len(found) or abs(found.sum() - 1.0) > 1e-9:
        raise InputError(
            f"{what} add up to {found.sum():g}", remedy="let them add up to 1", code="R622"
        )
    return np.asarray(found / found.sum(), dtype=float)
