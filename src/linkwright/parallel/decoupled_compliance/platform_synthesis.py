"""Synthesis of decoupled platforms of six equal legs, by damped Newton steps from many starts.

Legs of length L rise by h from points (X, Y, 0) of the base in the direction theta. With
r = sqrt(L^2 - h^2) the line of one is

    U = (r cos theta, r sin theta, h, h Y, -h X, X r sin theta - Y r cos theta),

three unknowns a leg. A = P P^T/L^2 is diagonal where its 15 elements off the diagonal vanish. Three
chosen diagonal elements make 18 equations of 18 unknowns; one leg that is given leaves 15 of each.
Some of the diagonal is known beforehand: A_x + A_y = 6 (1 - h^2/L^2) and A_z = 6 h^2/L^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, unknown
from linkwright.blocks.places import AXES
from linkwright.parallel.decoupled_compliance.leg_platforms import LegPlatform, leg_platform

__all__ = ["Synthesis", "synthesize"]

Array = NDArray[np.float64]
_OFF = tuple(combinations(range(6), 2))
_TURNS = 200
_SINGULAR = 1e-4  # of the diagonal, below which a platform is not held in a direction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthesis:
    """What was found for a decoupled platform, and what was not reached.

    Args:
        platform: the best that was found.
        residuals: what is left of each equation by its element of A, such as "x ry", or "rz" of the
            diagonal; 1, m and m^2.
        reached: whether all equations hold.
        turns: Newton steps from the start that led to it.
        tried: starts in all.
        failed: starts that ended without a solution.
        singular: starts that ended in a platform that its legs do not hold.

    >>> found = synthesize(0.5, 0.25, diagonals={"x": 2.25, "rx": 0.05, "rz": 0.1}, seed=1)
    >>> found.reached, found.platform.decoupled
    (True, True)
    """

    platform: LegPlatform
    residuals: Mapping[str, float]
    reached: bool
    turns: int
    tried: int
    failed: int
    singular: int

    def __repr__(self) -> str:
        return f"Synthesis({self.words})"

    @property
    def words(self) -> str:
        """What was reached, and what was not."""
        starts = f"{self.tried} start{'' if self.tried == 1 else 's'}"
        if self.reached:
            lost = f", {self.failed} failed, {self.singular} singular" if self.tried > 1 else ""
            return (
                f"all {len(self.residuals)} equations hold after {self.turns} steps; {starts}{lost}"
            )
        worst = sorted(self.residuals.items(), key=lambda item: -abs(item[1]))[:3]
        told = ", ".join(f"{name} by {value:.3g}" for name, value in worst)
        return (
            f"not reached from {starts} ({self.singular} ended where the legs do not hold the "
            f"platform); the best misses {told}"
        )


@worded
def synthesize(
    length: float,
    height: float,
    *,
    diagonals: Mapping[str, float] | None = None,
    leg: Sequence[float] | None = None,
    start: ArrayLike | None = None,
    starts: int = 20,
    seed: int = 0,
    stiffness: float = 1.0,
) -> Synthesis:
    """Return a decoupled platform of six equal legs.

    Args:
        length: L of the legs, m.
        height: h that they rise by, m.
        diagonals: up to three elements of the diagonal of A that are wished, by axis: "x", "y"
            (no unit), "rx", "ry", "rz" (m^2). "z" and "x" beside "y" follow from L and h.
        leg: theta (rad), X and Y (m) of the first leg, which then stays.
        start: theta, X and Y of each leg, six rows; random by default.
        starts: how many starts are tried at most, the given one first.
        seed: of the random starts.
        stiffness: k of every leg, N/m.

    >>> synthesize(0.5, 0.2, leg=[0.0, 0.1, 0.3]).reached
    True
    """
    problem = _Problem.of(length, height, diagonals or {}, leg)
    random = np.random.default_rng(seed)
    begun = [] if start is None else [_checked_start(start, length)]
    if starts < 1:
        raise InputError(f"{starts} starts", remedy="give 1 or more")
    best: tuple[float, Array, Array, int] | None = None
    failed = singular = tried = 0
    while tried < starts:
        x = begun.pop() if begun else _random_start(random)
        if leg is not None:
            x[0] = problem.leg
        x, left, turns = _newton(problem, x)
        tried += 1
        worst = float(np.abs(left).max())
        held = problem.diagonal(x).min() > _SINGULAR
        if worst < 1e-11 and held:
            best = worst, x, left, turns
            break
        failed += not worst < 1e-11
        singular += worst < 1e-11
        if best is None or worst + (not held) < best[0]:
            best = worst + (not held), x, left, turns
    if best is None:
        raise AssertionError("no start was tried")
    _, x, left, turns = best
    reached = float(np.abs(left).max()) < 1e-11 and problem.diagonal(x).min() > _SINGULAR
    named = {
        name: value * length ** _turns(name)
        for name, value in zip(problem.names, left.tolist(), strict=True)
    }
    made = _platform(x, length, height, stiffness)
    return Synthesis(made, named, bool(reached), turns, tried, failed, singular)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The equations, of lengths by L."""

    r: float
    h: float
    wanted: tuple[tuple[int, float], ...]
    leg: Array | None
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, length: float, height: float, diagonals: Mapping[str, float],
        leg: Sequence[float] | None,
    ) -> _Problem:  # fmt: skip
        if not (np.isfinite(length) and 0 < height < length):
            raise InputError(
                f"legs of {length:g} m do not rise by {height:g} m",
                remedy="give a height above 0 and below the length",
            )
        h = height / length
        _refuse_wishes(diagonals, h)
        scale = {"x": 1.0, "y": 1.0, "z": 1.0}
        wanted = tuple(
            (AXES.index(n), float(v) / scale.get(n, length**2)) for n, v in diagonals.items()
        )
        fixed = None
        if leg is not None:
            fixed = np.array(leg, dtype=float)
            if fixed.shape != (3,) or not np.isfinite(fixed).all():
                raise InputError("a leg is not three numbers", remedy="give theta, X and Y")
            fixed = fixed / [1.0, length, length]
        off = tuple(f"{AXES[i]} {AXES[j]}" for i, j in _OFF)
        return cls(float(np.sqrt(1 - h * h)), h, wanted, fixed, (*off, *diagonals))

    def lines(self, x: Array) -> tuple[Array, Array]:
        """Return P, and its derivatives (6, 3, 6) with respect to theta, X and Y of each leg."""
        theta, X, Y = x.T
        c, s = self.r * np.cos(theta), self.r * np.sin(theta)
        one, zero = np.ones(6), np.zeros(6)
        h = self.h * one
        P = np.array([c, s, h, h * Y, -h * X, X * s - Y * c])
        slopes = np.array(
            [
                [-s, c, zero, zero, zero, X * c + Y * s],
                [zero, zero, zero, zero, -h, s],
                [zero, zero, zero, h, zero, -c],
            ]
        )
        return P, slopes.transpose(2, 0, 1)

    def diagonal(self, x: Array) -> Array:
        """Return the diagonal of A."""
        P, _ = self.lines(x)
        return np.asarray((P * P).sum(axis=1), dtype=float)

    def equations(self, x: Array) -> tuple[Array, Array]:
        """Return what is left of each equation, and its derivatives."""
        P, slopes = self.lines(x)
        A = P @ P.T
        # dA_ij of leg l is dU_i U_j + U_i dU_j
        dA = np.einsum("lui,jl->luij", slopes, P)
        dA = dA + dA.transpose(0, 1, 3, 2)
        places = [*_OFF, *((i, i) for i, _ in self.wanted)]
        aims = [0.0] * len(_OFF) + [v for _, v in self.wanted]
        left = np.array([A[i, j] - aim for (i, j), aim in zip(places, aims, strict=True)])
        jacobian = np.array([dA[:, :, i, j] for i, j in places])
        if self.leg is not None:
            jacobian = jacobian[:, 1:]
        return left, jacobian.reshape(len(places), -1)


def _newton(problem: _Problem, x: Array) -> tuple[Array, Array, int]:
    """Return where damped Newton steps lead, what is left there, and their number."""
    left, jacobian = problem.equations(x)
    damping, turns = 1e-3, 0
    unknowns = jacobian.shape[1]
    while turns < _TURNS and damping < 1e8 and np.abs(left).max() > 1e-14:
        damped = np.vstack([jacobian, np.sqrt(damping) * np.eye(unknowns)])
        shift = np.linalg.lstsq(damped, -np.append(left, np.zeros(unknowns)))[0]
        tried = x.copy()
        tried[-unknowns // 3 :] += shift.reshape(-1, 3)
        new_left, new_jacobian = problem.equations(tried)
        if float(new_left @ new_left) < float(left @ left):
            x, left, jacobian = tried, new_left, new_jacobian
            damping = max(damping / 8, 1e-16)
            turns += 1
        else:
            damping *= 8
    return x, left, turns


def _turns(name: str) -> int:
    """Return the power of m in an element of A, by its name."""
    axes = name.split()
    return sum(axis.startswith("r") for axis in axes) * (3 - len(axes))


def _random_start(random: np.random.Generator) -> Array:
    theta = random.uniform(0, 2 * np.pi, 6)
    return np.column_stack([theta, random.uniform(-1, 1, (6, 2))])


def _checked_start(start: ArrayLike, length: float) -> Array:
    x = np.array(start, dtype=float)
    if x.shape != (6, 3) or not np.isfinite(x).all():
        raise InputError(
            "the start is not theta, X and Y of six legs", remedy="give six rows of three numbers"
        )
    return x / [1.0, length, length]


def _refuse_wishes(diagonals: Mapping[str, float], h: float) -> None:
    known = {"x", "y", "rx", "ry", "rz"}
    for name, value in diagonals.items():
        if name not in AXES:
            raise unknown("axis", name, AXES)
        if name == "z":
            raise InputError(
                f"the element z of the diagonal is 6 h^2/L^2 = {6 * h * h:.6g} and no choice",
                remedy="choose another height, or leave it out",
            )
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"the element {name} is {value:g}", remedy="give a positive number")
        if name in ("x", "y") and value >= 6 * (1 - h * h):
            raise InputError(
                f"the element {name} is {value:g}, and x and y together are 6 (1 - h^2/L^2) = "
                f"{6 * (1 - h * h):.6g}",
                remedy="choose a smaller one, or a lower height",
            )
    if {"x", "y"} <= set(diagonals) and len(diagonals) > 1:
        raise InputError(
            f"x and y together are 6 (1 - h^2/L^2) = {6 * (1 - h * h):.6g} and no two choices",
            remedy="leave one of them out",
        )
    if len(set(diagonals) & known) > 3:
        raise InputError(
            f"{len(diagonals)} elements of the diagonal are chosen",
            remedy="choose three at most: there are 18 unknowns, and 15 make it diagonal",
        )


def _platform(x: Array, length: float, height: float, stiffness: float) -> LegPlatform:
    r = np.sqrt(length**2 - height**2)
    bases = np.column_stack([x[:, 1:] * length, np.zeros(6)])
    way = np.column_stack([r * np.cos(x[:, 0]), r * np.sin(x[:, 0]), np.full(6, height)])
    return leg_platform(bases.tolist(), (bases + way).tolist(), stiffness=stiffness)
