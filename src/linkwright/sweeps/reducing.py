"""Reductions over the runs of a sweep, so that a billion runs take no more memory than a thousand.

Each part of a sweep becomes a small state, and states are merged in the order of the parts: what
comes out depends on the plan alone, whether it was interrupted, and wherever the parts ran.

Quantiles come from a sketch of counts in bins that grow by a factor (Masson, Rim and Lee, DDSketch,
VLDB 2019): each is right to one part in a thousand of itself, and merging is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.reprs import brief

Array = NDArray[np.float64]
KINDS = (
    "min",
    "max",
    "mean",
    "variance",
    "quantiles",
    "histogram LOW HIGH BINS",
    "worst K",
    "least K",
)
"""How the values of all runs can be reduced."""
USUAL = ("min", "max", "mean", "variance", "quantiles", "worst 10")
QUANTILES = (0.05, 0.5, 0.95)
"""Those that tables and results show."""
_ACCURACY = 1e-3
_LOG = math.log((1 + _ACCURACY) / (1 - _ACCURACY))
_SMALLEST = 1e-100
"""What is nearer to zero is zero."""
_MOST = 100_000
_DENSE = 1 << 20


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of values in bins of one width, and of those outside."""

    edges: Array
    counts: NDArray[np.int64]
    below: int
    above: int


@dataclass(slots=True)
class Reduced:
    """What is known of a number of many runs.

    Args:
        count: runs that have it.
        missing: runs that ended before they had it.
        mean: of the runs.
        minimum: the least.
        maximum: the greatest.
        histogram: counts in bins, where they were asked for.
        worst: runs with the greatest values, the first one first: number, value and inputs.
        least: runs with the least ones.

    >>> made = Reduced.of(np.arange(1000.0), ["quantiles", "worst 2"], {"run": np.arange(1000)})
    >>> made.mean, made.maximum, round(made.quantile(0.5)), [row["run"] for row in made.worst]
    (499.5, 999.0, 499, [999, 998])
    """

    count: int = 0
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squares about the mean
    minimum: float = math.inf
    maximum: float = -math.inf
    bins: dict[int, int] | None = field(default=None, repr=False)
    histogram: Histogram | None = field(default=None, repr=False)
    worst: list[dict[str, Any]] = field(default_factory=list, repr=False)
    least: list[dict[str, Any]] = field(default_factory=list, repr=False)
    kept: tuple[int, int] = (0, 0)  # how many of the worst and the least

    @property
    def variance(self) -> float:
        """Of the runs, over one less than their number."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0

    def quantile(self, part: float) -> float:
        """Return a quantile, right to one part in a thousand of itself.

        Args:
            part: of the runs that are below it, from 0 to 1.
        """
        if self.bins is None:
            raise Error("quantiles were not kept", remedy='reduce=["quantiles"]')
        if not 0 <= part <= 1:
            raise Error(f"a quantile is from 0 to 1, not {part}")
        if not self.count:
            return math.nan
        rank, passed = part * (self.count - 1), 0
        for index in sorted(self.bins):
            passed += self.bins[index]
            if passed > rank:
                return min(max(_middle(index), self.minimum), self.maximum)
        return self.maximum

    @classmethod
    def of(
        cls, values: Array, wanted: Sequence[str], inputs: Mapping[str, NDArray[Any]]
    ) -> Reduced:
        """Return what is known of the values of some runs."""
        good = np.isfinite(values)
        own = values[good]
        made = cls(len(own), int(len(values) - len(own)))
        if len(own):
            made.mean = float(own.mean())
            made.squares = float(((own - made.mean) ** 2).sum())
            made.minimum, made.maximum = float(own.min()), float(own.max())
        for kind in wanted:
            word, numbers = parsed(kind)
            if word == "quantiles":
                made.bins = _counted(_places(own))
            elif word == "histogram":
                low, high, count = numbers
                edges = np.linspace(low, high, int(count) + 1)
                counts, _ = np.histogram(own, edges)
                outside = int((own < low).sum()), int((own > high).sum())
                made.histogram = Histogram(edges, counts.astype(np.int64), *outside)
            elif word in ("worst", "least"):
                k, at = int(numbers[0]), np.flatnonzero(good)
                sign = -1.0 if word == "worst" else 1.0
                size = sign * own
                if len(own) > k:  # those that may be among them, in the order of the runs
                    near = np.flatnonzero(size <= np.partition(size, k - 1)[k - 1])
                    at, size = at[near], size[near]
                order = at[np.argsort(size, kind="stable")[:k]]
                rows = [
                    {**{n: v[i].item() for n, v in inputs.items()}, "value": float(values[i])}
                    for i in order
                ]
                setattr(made, word, rows)
                made.kept = (k, made.kept[1]) if word == "worst" else (made.kept[0], k)
        return made

    def add(self, other: Reduced) -> None:
        """Add what is known of other runs (Chan, Golub and LeVeque 1979 for the squares)."""
        count = self.count + other.count
        if other.count:
            apart = other.mean - self.mean
            self.squares += other.squares + apart**2 * self.count * other.count / count
            self.mean += apart * other.count / count
        self.count, self.missing = count, self.missing + other.missing
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        if other.bins is not None:
            bins = {} if self.bins is None else self.bins
            for index, number in other.bins.items():
                bins[index] = bins.get(index, 0) + number
            self.bins = bins
        if other.histogram is not None:
            old = self.histogram
            self.histogram = (
                other.histogram
                if old is None
                else Histogram(
                    old.edges,
                    old.counts + other.histogram.counts,
                    old.below + other.histogram.below,
                    old.above + other.histogram.above,
                )
            )
        self.kept = max(self.kept, other.kept)
        # ties stay in the order of the runs, since sorting is stable
        self.worst = sorted(self.worst + other.worst, key=lambda r: -r["value"])[: self.kept[0]]
        self.least = sorted(self.least + other.least, key=lambda r: r["value"])[: self.kept[1]]

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, from which `from_data` makes the same again."""
        h = self.histogram
        return {
            **{n: getattr(self, n) for n in ("count", "missing", "mean", "squares")},
            "minimum": self.minimum if self.count else None,
            "maximum": self.maximum if self.count else None,
            "bins": None if self.bins is None else sorted(self.bins.items()),
            "histogram": None
            if h is None
            else [h.edges.tolist(), h.counts.tolist(), h.below, h.above],
            "worst": self.worst,
            "least": self.least,
            "kept": list(self.kept),
        }

    def as_result(self) -> dict[str, Any]:
        """Return what is known as plain data, for people and programs that read results."""
        own, h = self.as_data(), self.histogram
        found = {n: own[n] for n in ("count", "missing", "mean", "minimum", "maximum")}
        found["variance"] = self.variance
        if self.bins is not None and self.count:
            found["quantiles"] = {f"{part:g}": self.quantile(part) for part in QUANTILES}
        if h is not None:
            found["histogram"] = {
                "edges": h.edges.tolist(), "counts": h.counts.tolist(),
                "below": h.below, "above": h.above,
            }  # fmt: skip
        return found | {n: own[n] for n in ("worst", "least") if own[n]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Reduced:
        """Return what plain data holds."""
        h = data["histogram"]
        return cls(
            int(data["count"]),
            int(data["missing"]),
            float(data["mean"]),
            float(data["squares"]),
            math.inf if data["minimum"] is None else data["minimum"],
            -math.inf if data["maximum"] is None else data["maximum"],
            None if data["bins"] is None else {int(k): int(v) for k, v in data["bins"]},
            None if h is None else Histogram(np.array(h[0]), np.array(h[1], np.int64), h[2], h[3]),
            list(data["worst"]),
            list(data["least"]),
            (int(data["kept"][0]), int(data["kept"][1])),
        )


def _places(values: Array) -> NDArray[np.int64]:
    """Return the bins of values: those of negative ones are below 0."""
    size = np.abs(values)
    zero = size < _SMALLEST
    grown = np.ceil(np.log(np.where(zero, 1.0, size) / _SMALLEST) / _LOG).astype(np.int64) + 1
    return np.where(zero, 0, np.where(values < 0, -grown, grown))


def _counted(places: NDArray[np.int64]) -> dict[int, int]:
    """Return how many values are in each bin."""
    if not len(places):
        return {}
    low = int(places.min())
    if int(places.max()) - low < _DENSE:
        counts = np.bincount(places - low)
        there = np.flatnonzero(counts)
        return dict(zip((there + low).tolist(), counts[there].tolist(), strict=True))
    indices, numbers = np.unique(places, return_counts=True)
    return dict(zip(indices.tolist(), numbers.tolist(), strict=True))


def _middle(index: int) -> float:
    """Return a value of a bin that is near all in it."""
    if index == 0:
        return 0.0
    top = _SMALLEST * math.exp((abs(index) - 1) * _LOG)
    return math.copysign(2 * top / (1 + math.exp(_LOG)), index)


def parsed(kind: str) -> tuple[str, tuple[float, ...]]:
    """Return the word of a reduction and its numbers, or say what is wrong with it.

    >>> parsed("worst 5"), parsed("mean")
    (('worst', (5.0,)), ('mean', ()))
    """
    word, *texts = str(kind).split() or [""]
    wanted = {"histogram": 3, "worst": 1, "least": 1}.get(word, 0)
    try:
        numbers = tuple(map(float, texts))
    except ValueError:
        numbers = ()
    known = {k.split()[0] for k in KINDS}
    sound = word in known and len(numbers) == wanted == len(texts)
    if sound and word == "histogram":
        low, high, count = numbers
        sound = math.isfinite(high - low) and low < high and count in range(1, _MOST + 1)
    elif sound and wanted:
        sound = numbers[0] in range(1, _MOST + 1)
    if not sound:
        raise InputError(
            f"runs cannot be reduced by {brief(kind)}", remedy=f"choose {', '.join(KINDS)}"
        )
    return word, numbers


def reduce_part(
    columns: Mapping[str, NDArray[Any]], kept: Sequence[str], wanted: Sequence[str]
) -> dict[str, Any]:
    """Return what is known of the runs of a part, as plain data."""
    inputs = {n: v for n, v in columns.items() if n not in kept and n != "stopped"}
    found = {name: Reduced.of(columns[name], wanted, inputs).as_data() for name in kept}
    return {"stopped": int(np.isfinite(columns["stopped"]).sum()), "columns": found}


@dataclass(slots=True)
class ReducedParts:
    """What is known of the parts that are done, merged in their order."""

    parts: int = 0
    stopped: int = 0
    columns: dict[str, Reduced] = field(default_factory=dict)
    waiting: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def take(self, part: int, data: Mapping[str, Any]) -> None:
        """Add a part, once all before it are there."""
        self.waiting[part] = data
        while self.parts in self.waiting:
            own = self.waiting.pop(self.parts)
            self.stopped += own["stopped"]
            for name, known in own["columns"].items():
                self.columns.setdefault(name, Reduced()).add(Reduced.from_data(known))
            self.parts += 1

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        columns = {n: r.as_data() for n, r in self.columns.items()}
        return {"parts": self.parts, "stopped": self.stopped, "columns": columns}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ReducedParts:
        """Return what plain data holds."""
        columns = {n: Reduced.from_data(r) for n, r in data["columns"].items()}
        return cls(int(data["parts"]), int(data["stopped"]), columns)
