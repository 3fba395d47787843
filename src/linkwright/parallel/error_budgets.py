"""Error budgets: named sources of error, what each does to an output, and what all do together.

A source has a limit, ±size, in its own unit, and a sensitivity: the output's change for a unit of
it. Together they are bounded by the sum of magnitudes (worst case), by the root of the sum of
squares, or sampled (Monte Carlo). Sources that are the same each time a pose is taken shift its
mean; the others scatter it, which is how ISO 9283 distinguishes accuracy from repeatability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.results import Result, in_columns

__all__ = ["ErrorBudget", "ErrorSource", "PoseAccuracy", "pose_accuracy"]

Array: TypeAlias = NDArray[Any]

SHAPES = {"uniform": 1.0 / math.sqrt(3.0), "normal": 1.0 / 3.0, "sine": 1.0 / math.sqrt(2.0)}
"""Standard deviation of a source as a part of its limit; normal ones reach it at three sigma."""


@dataclass(frozen=True, slots=True)
class ErrorSource:
    """One source of error.

    Args:
        name: of the source.
        size: its limit, ±, in its own unit.
        sensitivity: change of each output for a unit of it.
        shape: "uniform", "normal" (three sigma at the limit) or "sine" (of a harmonic).
        repeats: whether it is the same each time a pose is taken.

    Example:
        >>> ErrorSource("backlash", 1e-4, [0.5, 0.0, 0.0]).shape
        'uniform'
    """

    name: str
    size: float
    sensitivity: Array
    shape: str = "uniform"
    repeats: bool = False

    def __init__(
        self,
        name: str,
        size: float,
        sensitivity: ArrayLike,
        shape: str = "uniform",
        repeats: bool = False,
    ) -> None:
        row = np.atleast_1d(np.array(sensitivity, dtype=float))
        if shape not in SHAPES:
            raise InputError(
                f"the error {name!r} has the shape {shape!r}",
                remedy=f"choose one of {', '.join(SHAPES)}",
                code="R308",
            )
        if row.ndim != 1 or not np.isfinite(row).all() or not 0.0 <= float(size) < math.inf:
            raise InputError(
                f"the error {name!r} has no finite size, or no finite sensitivity per output",
                remedy="give a size of 0 or more, and one number for each output",
                code="R308",
            )
        row.setflags(write=False)
        for key, value in (
            *(("name", name), ("size", float(size)), ("sensitivity", row)),
            *(("shape", shape), ("repeats", bool(repeats))),
        ):
            object.__setattr__(self, key, value)

    @property
    def effect(self) -> Array:
        """Its limit in each output."""
        return np.asarray(np.abs(self.sensitivity) * self.size)


@dataclass(frozen=True, slots=True)
class ErrorBudget(Result):
    """What several sources of error do to some outputs.

    Args:
        sources: of error, each with a sensitivity for every output.
        outputs: their names.

    Example:
        >>> budget = ErrorBudget(
        ...     (ErrorSource("a", 3.0, [1.0]), ErrorSource("b", 4.0, [-1.0])), ("x",)
        ... )
        >>> budget.worst, budget.root_of_squares
        (array([7.]), array([5.]))
        >>> print(budget)
        source           limit     x
        b                    4     4
        a                    3     3
        worst                      7
        root of squares            5
        deviation               2.89
    """

    sources: tuple[ErrorSource, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        for source in self.sources:
            if len(source.sensitivity) != len(self.outputs):
                raise InputError(
                    f"the error {source.name!r} has {len(source.sensitivity)} sensitivities, and "
                    f"there are {len(self.outputs)} outputs",
                    remedy="give one for each output",
                    code="R308",
                )

    @property
    def matrix(self) -> Array:
        """Sensitivities, one row for each output and one column for each source."""
        return np.array([s.sensitivity for s in self.sources]).reshape(-1, len(self.outputs)).T

    @property
    def worst(self) -> Array:
        """Sum of magnitudes: never exceeded where each source keeps its limit."""
        return np.asarray(np.abs(self.matrix) @ [s.size for s in self.sources])

    @property
    def root_of_squares(self) -> Array:
        """Root of the sum of squares of the limits."""
        return np.asarray(np.sqrt(self.matrix**2 @ np.array([s.size**2 for s in self.sources])))

    @property
    def deviation(self) -> Array:
        """Standard deviation of each output, for sources that do not know of each other."""
        sigma = np.array([SHAPES[s.shape] * s.size for s in self.sources])
        return np.asarray(np.sqrt(self.matrix**2 @ sigma**2))

    def sampled(self, count: int = 10_000, seed: int = 0, *, machines: bool = True) -> Array:
        """Return samples of the outputs, one row each (Monte Carlo).

        Args:
            count: of samples.
            seed: of the random numbers.
            machines: whether sources that repeat differ from sample to sample, as from machine to
                machine; otherwise they are drawn once, as for one machine.
        """
        rng = np.random.default_rng(seed)
        effects = []
        for source in self.sources:
            same = source.repeats and not machines
            drawn = _drawn(rng, source.shape, 1 if same else count) * source.size
            effects.append(np.broadcast_to(drawn, (count,)))
        return np.asarray(np.stack(effects, axis=1) @ self.matrix.T)

    def shares(self) -> list[tuple[str, float, Array]]:
        """Return name, limit and effect of each source, largest effect first."""
        rows = [(s.name, s.size, s.effect) for s in self.sources]
        return sorted(rows, key=lambda r: -float(np.linalg.norm(r[2])))

    def __str__(self) -> str:
        rows = [(name, f"{size:.3g}", *map(_short, effect)) for name, size, effect in self.shares()]
        rows += [
            (name, "", *map(_short, values))
            for name, values in (
                *(("worst", self.worst), ("root of squares", self.root_of_squares)),
                ("deviation", self.deviation),
            )
        ]
        return in_columns([("source", "limit", *self.outputs), *rows])


def _short(value: float) -> str:
    return f"{value:.3g}"


def _drawn(rng: np.random.Generator, shape: str, count: int) -> Array:
    if shape == "normal":
        return rng.normal(0.0, SHAPES["normal"], count)
    if shape == "sine":
        return np.asarray(np.sin(rng.uniform(0.0, 2.0 * math.pi, count)))
    return rng.uniform(-1.0, 1.0, count)


@dataclass(frozen=True, slots=True)
class PoseAccuracy(Result):
    """Accuracy and repeatability of a pose by ISO 9283:1998, 7.2.

    Args:
        accuracy: AP_p, from the command to the mean of the positions attained, m.
        repeatability: RP_l, mean distance from that mean plus three deviations, m.
        angle_accuracy: AP_a, AP_b, AP_c, differences of the mean angles, rad; or nothing.
        angle_repeatability: RP_a, RP_b, RP_c, three deviations, rad; or nothing.

    Example:
        >>> PoseAccuracy(1e-3, 2e-4).repeatability
        0.0002
    """

    accuracy: float
    repeatability: float
    angle_accuracy: tuple[float, ...] = ()
    angle_repeatability: tuple[float, ...] = ()
    _units = (
        ("accuracy", "m"),
        ("repeatability", "m"),
        ("angle_accuracy", "rad"),
        ("angle_repeatability", "rad"),
    )


def pose_accuracy(command: Sequence[float] | Array, attained: ArrayLike) -> PoseAccuracy:
    """Return accuracy and repeatability of a pose that was taken several times.

    Args:
        command: three positions, m; with angles, three more, rad.
        attained: one row for each time; ISO 9283 takes it 30 times.

    Example:
        >>> found = pose_accuracy([0, 0, 0], [[1, 0, 0], [3, 0, 0]])
        >>> found.accuracy, found.repeatability
        (2.0, 1.0)
    """
    wanted, seen = np.asarray(command, dtype=float), np.asarray(attained, dtype=float)
    if wanted.shape not in ((3,), (6,)) or seen.ndim != 2 or seen.shape[1:] != wanted.shape:
        raise InputError(
            f"a pose has 3 or 6 numbers, and those attained as many: {wanted.shape}, {seen.shape}",
            remedy="give one row for each time that the pose was taken",
            code="R308",
        )
    if len(seen) < 2:
        raise InputError(
            "a pose that was taken once says nothing about repeatability",
            remedy="give two rows or more; ISO 9283 asks for 30",
            code="R308",
        )
    mean = seen.mean(axis=0)
    away = np.linalg.norm(seen[:, :3] - mean[:3], axis=1)
    shift = float(np.linalg.norm(mean[:3] - wanted[:3]))
    spread = float(away.mean() + 3.0 * away.std(ddof=1))
    if len(wanted) == 3:
        return PoseAccuracy(shift, spread)
    angles = tuple(map(float, mean[3:] - wanted[3:]))
    return PoseAccuracy(
        shift, spread, angles, tuple(map(float, 3.0 * seen[:, 3:].std(axis=0, ddof=1)))
    )
