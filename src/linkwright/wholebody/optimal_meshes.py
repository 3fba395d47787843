"""Meshes of an optimal motion: where they begin, how exact they are, what they give over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from linkwright.base.errors import InputError, suggestion
from linkwright.motion.trajectory import POWERS, Trajectory, hermite
from linkwright.recording.recording import Recording
from linkwright.simulation.run import Run
from linkwright.wholebody.collocation import Collocation, Stretch
from linkwright.wholebody.nonlinear import SparseSolution, solve
from linkwright.wholebody.optimal_tasks import OptimalTask, middle

Array = NDArray[np.float64]
_CLOSED = 25
"""Places on the way of a guess where loops are closed."""
_TRIES = 4
MOST = 1000
"""Rounds of Ipopt."""


def on_mesh(setting: OptimalTask, nodes: Sequence[Array]) -> Collocation:
    parts = zip(setting.parts, nodes, setting.rows, setting.bounds, strict=True)
    stretches = [Stretch(p.name, n, p.shortest, p.longest, r, b) for p, n, r, b in parts]
    return Collocation(setting.functions, setting.task, stretches, setting.scale)


@dataclass(frozen=True, slots=True)
class Begun:
    """A guess, on points of its own."""

    share: tuple[Array, ...]  # of its phase, at the points; for each phase
    values: tuple[Array, ...]
    spans: Array | None
    near: bool = False

    @staticmethod
    def of(mesh: Collocation, v: Array) -> Begun:
        """Return a solution as a guess."""
        z, spans = mesh.unpack(v)
        cut = mesh.first[1:-1]
        return Begun(tuple(np.split(mesh.share, cut)), tuple(np.split(z, cut)), spans, near=True)

    def on(self, mesh: Collocation) -> Array:
        """Return the variables of a mesh."""
        z = np.empty((mesh.count, mesh.nz))
        for k, (share, values) in enumerate(zip(self.share, self.values, strict=True)):
            own = mesh.phase == k
            for column in range(mesh.nz):
                z[own, column] = np.interp(mesh.share[own], share, values[:, column])
        middle = np.array([0.5 * (s.shortest + s.longest) for s in mesh.stretches])
        return np.clip(
            mesh.pack(z, middle if self.spans is None else self.spans), mesh.lower, mesh.upper
        )


def guessed(setting: OptimalTask, guess: Any) -> Begun:
    """Return where to begin."""
    names = [*setting.states, *setting.labels]
    spans = np.array([0.5 * (p.shortest + p.longest) for p in setting.parts])
    begins = np.concatenate([[0.0], np.cumsum(spans)]) / spans.sum()
    first, last = (
        np.array([middle((low, high)) for low, high in ends.T])
        for ends in (setting.task.start, setting.task.end)
    )
    known = np.isfinite(setting.task.end).any(axis=0)
    last = np.where(known, last, first)
    given: dict[str, tuple[Array, Array]] = {}
    if isinstance(guess, Run):
        guess = guess.recording
    if isinstance(guess, Recording):
        times = np.asarray(guess.times, dtype=float)
        share = (times - times[0]) / max(times[-1] - times[0], 1e-300)
        there = {c.name for c in guess.channels}
        for name, full in zip(names, (*setting.states, *setting.inputs), strict=True):
            if full in there:
                given[name] = share, np.asarray(guess[full], dtype=float)
    else:
        for name, values in (guess or {}).items():
            if name not in names:
                raise InputError(
                    f"the guess names {name!r}, which is neither a state nor an input",
                    remedy=suggestion(name, names, f"there are {', '.join(names)}"),
                )
            row = np.atleast_1d(np.asarray(values, dtype=float))
            if row.ndim != 1 or not np.isfinite(row).all():
                raise InputError(f"the guess of {name!r} is not a row of finite numbers")
            given[name] = np.linspace(0, 1, len(row)), row
    shares, tables = [], []
    for a, b in pairwise(begins):
        share = np.linspace(0, 1, 101)
        at = a + (b - a) * share
        table = np.zeros((len(at), len(names)))
        table[:, : len(first)] = _straight(setting, at, first, last, known)
        for name, (own, row) in given.items():
            table[:, names.index(name)] = np.interp(at, own, row)
        shares.append(share)
        tables.append(table)
    return Begun(tuple(shares), tuple(tables), None)


def _straight(setting: OptimalTask, at: Array, first: Array, last: Array, known: Any) -> Array:
    """Return the line from start to end, where loops are closed on the way."""
    line = first + at[:, None] * (last - first)
    if not setting.system.mechanism.constraints:
        return line
    now, rows = setting.system.copy(), []
    moved = [k for k, s in enumerate(setting.phases.x) if known[k] and s.kind == "coordinate"]
    shares = np.linspace(at[0], at[-1], _CLOSED)
    for share in shares:
        now.set_initial({setting.states[k]: first[k] + share * (last[k] - first[k]) for k in moved})
        rows.append([s.value for s in now.phases(()).x])
    table = np.array(rows)
    for k, s in enumerate(setting.phases.x):
        if s.kind == "coordinate":
            line[:, k] = np.interp(at, shares, table[:, k])
    return line


def first_solution(mesh: Collocation, begun: Begun, starts: int) -> SparseSolution:
    """Return the best solution from the guess and others beside it."""
    best: SparseSolution | None = None
    random = np.random.default_rng(1)
    for turn in range(max(starts, _TRIES)):
        start = begun.on(mesh)
        if turn:
            share = (mesh.phase + mesh.share) / len(mesh.stretches)
            waves = np.sin(np.outer(share * math.pi, [1, 2, 3]))
            bent = waves @ random.normal(0, 0.4, (3, mesh.nz))
            start[: bent.size] += bent.ravel()
        start = np.clip(start, mesh.lower, mesh.upper)
        found = solve(mesh, start, tolerance=1e-8, most=MOST)
        if best is None or (not found.reached, found.objective) < (
            not best.reached,
            best.objective,
        ):
            best = found
        if best.reached and turn + 1 >= starts:
            break
    assert best is not None
    return best


def errors_of(setting: OptimalTask, mesh: Collocation, v: Array) -> list[Array]:
    """Return the error of each interval, by phases, in sizes of the states.

    It is how much the cubic's rate differs from the rate of the System, integrated (Betts 2020,
    section 4.7.2), which stiff Systems do not spoil.
    """
    z, spans = mesh.unpack(v)
    times, n = mesh.times(spans), mesh.nx
    f = setting.functions.rates(np.column_stack([z, times]))
    shares, weights = np.polynomial.legendre.leggauss(5)
    found = []
    for first, last in pairwise(mesh.first):
        a, m, b = (np.arange(first + k, last - (2 - k), 2) for k in range(3))
        h = (times[b] - times[a])[:, None]
        rise = (z[b, :n] - z[a, :n]) / h
        second, third = 3 * rise - 2 * f[a] - f[b], f[a] + f[b] - 2 * rise
        total = np.zeros(n)
        for s, weight in zip((shares + 1) / 2, weights / 2, strict=True):
            x = z[a, :n] + h * s * (f[a] + s * (second + s * third))
            u = (1 - s) * (1 - 2 * s) * z[a, n:] + 4 * s * (1 - s) * z[m, n:]
            u = u + s * (2 * s - 1) * z[b, n:]
            moving = np.column_stack([x, u, times[a] + s * h[:, 0]])
            slope = f[a] + s * (2 * second + 3 * s * third)
            total = total + weight * h * np.abs(setting.functions.rates(moving) - slope)
        found.append((total / setting.scale[:n]).max(axis=1))
    return found


def finer(nodes: Array, errors: Array) -> Array:
    """Return a mesh with intervals cut into as many as their errors ask for."""
    parts = np.clip(np.ceil(1.1 * errors**0.25), 1, 6).astype(int)
    pieces = [
        np.linspace(a, b, k + 1)[:-1] for a, b, k in zip(nodes[:-1], nodes[1:], parts, strict=True)
    ]
    return np.append(np.concatenate(pieces), 1.0)


def quintic(
    mesh: Collocation, z: Array, rates: Array, slopes: Array, times: Array, phase: int
) -> Array:
    """Return the pieces of a phase that have values, rates and accelerations of the states."""
    n, here = mesh.nx, slice(int(mesh.first[phase]), int(mesh.first[phase + 1]))
    x, u, t = z[here, :n], z[here, n:], times[here]
    h = (t[2::2] - t[:-2:2])[:, None]
    first = (4 * u[1::2] - 3 * u[:-2:2] - u[2::2]) / h  # rate of the inputs at both ends
    last = (3 * u[2::2] + u[:-2:2] - 4 * u[1::2]) / h
    f, by = rates[here, :n], slopes[here, :n]
    one = np.ones_like(h)
    turning = [
        np.einsum("pij,pj->pi", by[k], np.hstack([f[k], du, one]))
        for k, du in ((slice(None, -2, 2), first), (slice(2, None, 2), last))
    ]
    return hermite(t[::2], x[::2], f[::2], np.array(turning)).coefficients


def excess_of(
    setting: OptimalTask, mesh: Collocation, states: Trajectory, inputs: Trajectory
) -> float:
    """Return by how much limits are passed between the points, in their own sizes."""
    worst, ends = 0.0, states.instants
    count = 0
    for stretch, first, last in zip(mesh.stretches, mesh.first, mesh.first[1:], strict=False):
        pieces = (int(last) - int(first)) // 2
        here = ends[count : count + pieces + 1]
        count += pieces
        at = (here[:-1, None] + np.diff(here)[:, None] * np.linspace(0.05, 0.95, 10)).ravel()
        both = np.hstack([states(at), inputs(at)])
        low, high = stretch.bounds
        beyond = np.maximum(low - both, both - high) / setting.scale
        found, _ = setting.functions.values(np.column_stack([both, at]))
        worst = max(worst, float(beyond.max(initial=0.0)))
        for column, low, high in stretch.rows:
            value = found[:, mesh.nx + column]
            size = max((abs(x) for x in (low, high) if math.isfinite(x)), default=0.0) or 1.0
            worst = max(worst, float(np.maximum(low - value, value - high).max() / size))
    return worst


def gains_of(
    setting: OptimalTask,
    h: Array,
    slopes: Array,
    points: tuple[Array, Array, Array],
    instants: Array,
) -> Trajectory:
    """Return gains over time, by Riccati's equation from the end to the start.

    With P x the costate, P goes over an interval as the exponential of the Hamiltonian matrix in
    its middle says (Magnus). Weights are the squares of the sizes, ten times that at the end.
    """
    n, z = len(setting.states), slopes.shape[2] - 1
    scale = setting.scale**2
    q, r = np.diag(1 / scale[:n]), scale[n:z]
    a, b = slopes[points[1], :n, :n], slopes[points[1], :n, n:z]
    still = np.broadcast_to(-q, a.shape)
    back = np.block([[a, -(b * r) @ b.swapaxes(1, 2)], [still, -a.swapaxes(1, 2)]])
    steps = expm(-h[:, None, None] * back)
    nodes = np.append(points[0], points[2][-1])
    p, found = 10 * q, [10 * q]
    for step in steps[::-1]:
        p = (step[n:, :n] + step[n:, n:] @ p) @ np.linalg.inv(step[:n, :n] + step[:n, n:] @ p)
        p = 0.5 * (p + p.T)
        found.append(p)
    by = slopes[nodes, :n, n:z].swapaxes(1, 2) * r[:, None]
    values = (by @ np.array(found[::-1])).reshape(len(nodes), -1)
    pieces = np.zeros((len(h), POWERS, values.shape[1]))
    pieces[:, 0], pieces[:, 1] = values[:-1], np.diff(values, axis=0) / h[:, None]
    return Trajectory(instants, pieces)
