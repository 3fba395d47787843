"""Periodic orbits of continuous Systems by shooting, with their Floquet multipliers.

An orbit is a start x0 and a period T with x(T; x0) = x0. Newton's method solves this together with
a condition that holds the phase (Parker and Chua, Practical Numerical Algorithms for Chaotic
Systems, 1989, chapter 5). The derivatives are central differences of whole runs, one lane of a
batch each, so they count every switch of a nonlinearity as it happens. The derivative of x(T) by
x0 is the monodromy matrix. Its eigenvalues are the Floquet multipliers: one is 1, along the
orbit; the orbit is stable where all others lie inside the unit circle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.kernel import compile as compile_kernel
from linkwright.base.errors import Error
from linkwright.simulation import simulate_batch
from linkwright.system import System

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_STEPS = 40  # of Newton's method
_HALVINGS = 6  # of one of its steps
_DIFFERENCE = 1e-5  # of the size of a state
_TOLERANCE = 1e-11  # of the runs


@dataclass(frozen=True, slots=True, eq=False)
class PeriodicOrbit:
    """A periodic orbit."""

    start: dict[str, float]  # a state on the orbit, by name
    period: float  # s
    # Floquet multipliers, largest first; the one along the orbit, 1, is left out
    multipliers: Complex
    residual: float  # how far the end of the period is from its start, of the size of the states

    @property
    def frequency(self) -> float:
        """Angular frequency, rad/s."""
        return 2 * math.pi / self.period

    @property
    def stable(self) -> bool:
        """Whether neighboring motions come nearer."""
        return bool(np.all(np.abs(self.multipliers) < 1))


def shoot(
    system: System, start: Mapping[str, float], period: float, sizes: Mapping[str, float]
) -> PeriodicOrbit:
    """Return the periodic orbit near a guess (`period` in s)."""
    flow = _Flow(system, tuple(start), np.array([max(sizes[n], 1e-12) for n in start]))
    x, length = np.array([start[n] for n in start]) / flow.sizes, float(period)
    end, slopes, speed = flow.over(x, length)
    best = float(np.linalg.norm(end - x))
    for _ in range(_STEPS):
        last = np.append(speed, 0.0) / max(float(np.linalg.norm(speed)), 1e-300)
        left = np.vstack([np.column_stack([slopes - np.eye(len(x)), speed]), last])
        right = np.concatenate([x - end, [0.0]])
        move = np.linalg.lstsq(left, right, rcond=1e-12)[0]
        share = min(1.0, 0.3 * length / max(abs(move[-1]), 1e-300))
        for _ in range(_HALVINGS):
            trial, longer = x + share * move[:-1], length + share * move[-1]
            found = flow.over(trial, longer)
            gap = float(np.linalg.norm(found[0] - trial))
            if gap < best or gap < 1e-9:
                break
            share /= 2
        else:
            break
        x, length, (end, slopes, speed), best = trial, float(longer), found, gap
        if best < 1e-9 * max(1.0, float(np.linalg.norm(x))):
            break
    size = float(np.linalg.norm(x))
    values = np.linalg.eigvals(slopes)
    values = values[np.argsort(np.abs(values - 1))][1:]
    values = values[np.argsort(-np.abs(values))]
    return PeriodicOrbit(
        dict(zip(start, (x * flow.sizes).tolist(), strict=True)),
        length,
        np.asarray(values, dtype=complex),
        best / max(size, 1e-12),
    )


class _Flow:
    """Where a System goes from a state in some time; states are in units of their sizes."""

    def __init__(self, system: System, names: tuple[str, ...], sizes: Array) -> None:
        phases = system.phases(())
        self.system = system
        self.names = names
        self.sizes = sizes
        self.rates = compile_kernel(phases.derivative, backend="python")
        self.given = [np.array([s.value for s in part]) for part in (phases.d, phases.p, phases.w)]
        self.places = [[s.name for s in phases.x].index(n) for n in names]

    def over(self, x: Array, time: float) -> tuple[Array, Array, Array]:
        """Return the state after a time, its derivatives by the start, and its rate there."""
        n = len(x)
        moves = _DIFFERENCE * np.eye(n)
        starts = np.vstack([x, x + moves, x - moves]) * self.sizes
        whole = self._ends(starts, time)
        ends = whole[:, self.places] / self.sizes
        slopes = (ends[1 : n + 1] - ends[n + 1 :]).T / (2 * _DIFFERENCE)
        d, p, w = self.given
        rates = np.ravel(self.rates(whole[0], d, p, w, np.zeros(1)))
        return ends[0], slopes, rates[self.places] / self.sizes

    def _ends(self, starts: Array, time: float) -> Array:
        runs = simulate_batch(
            self.system,
            time,
            initial={n: starts[:, k] for k, n in enumerate(self.names)},
            every=0,
            tolerance=_TOLERANCE,
        )
        if np.isfinite(runs.stopped).any():
            raise Error(
                f"a run of {self.system.name!r} ended before the period of the orbit: "
                f"{next(r for r in runs.reasons if r)}",
                remedy="start nearer to the orbit",
                code="R612",
            )
        return runs.x
