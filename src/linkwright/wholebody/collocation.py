"""Direct collocation of Systems: Hermite and Simpson, with exact first and second derivatives.

In each interval states are cubic and inputs quadratic in time (Betts, Practical Methods for Optimal
Control Using Nonlinear Programming, 2020, section 4.6; Kelly, SIAM Review 59, 2017, in the
separated form). With points a, m, b at the start, the middle and the end of an interval of h:

    x_m = (x_a + x_b)/2 + h (f_a - f_b)/8,   x_b = x_a + h (f_a + 4 f_m + f_b)/6

All rows are sums of f at single points, so the Hessian of the Lagrangian is a sum of one small
block for each point, by its states and inputs and the durations of the phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.kernel import compile as compile_kernel
from linkwright.program import Program, ProgramPort
from linkwright.program.derivatives import sparsity, vector_jacobian
from linkwright.system.phases import Phases
from linkwright.wholebody.nonlinear import Pattern

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


class PointFunctions:
    """Rates and outputs at many points, by z = (states, acting inputs, time)."""

    def __init__(self, phases: Phases, acting: Sequence[int]) -> None:
        programs = [phases.derivative]
        if phases.output is not None:
            programs.append(phases.output)
        programs = [_by_point(p, acting) for p in programs]
        adjoints = [vector_jacobian(p, None, ["z"]) for p in programs]
        self.kernels = [
            tuple(
                compile_kernel(x.derivative(None, ["z"], mode="forward", values=v, optimized=False))
                for x, v in ((p, True), (a, False))
            )
            for p, a in zip(programs, adjoints, strict=True)
        ]
        size = programs[0].inputs[0].size
        self.slopes_of = np.vstack(
            [_mask(p, p.outputs[0].name, (p.outputs[0].size, size)) for p in programs]
        )
        masks = [_mask(a, "bar_z", (size, size)) for a in adjoints]
        self.curvature_of = np.any(masks, axis=0)
        self.sizes = [p.outputs[0].size for p in programs]
        rest = [k for k in range(len(phases.w)) if k not in acting]
        self.given = [np.array([s.value for s in part]) for part in (phases.d, phases.p)]
        self.given.append(np.array([phases.w[k].value for k in rest]))

    def values(self, z: Array) -> tuple[Array, Array]:
        """Return (points, rows) and their (points, rows, z) Jacobians."""
        found = [first(z, *self.given) for first, _ in self.kernels]
        return np.hstack([v for v, _ in found]), np.concatenate([j for _, j in found], axis=1)

    def rates(self, z: Array) -> Array:
        """Return (points, states) rates."""
        found, _ = self.kernels[0][0](z, *self.given)
        return np.asarray(found)

    def curvature(self, z: Array, weights: Array) -> Array:
        """Return the (points, z, z) Hessians of the rows times weights."""
        parts = np.split(weights, np.cumsum(self.sizes)[:-1], axis=1)
        total = np.zeros((len(z), z.shape[1], z.shape[1]))
        for (_, second), part in zip(self.kernels, parts, strict=True):
            acting = part.any(axis=1)  # where nothing weighs, numbers need not be finite
            if acting.any():
                total[acting] += second(z[acting], *self.given, part[acting])
        return total


def _by_point(program: Program, acting: Sequence[int]) -> Program:
    """Return the Program of a phase with one port for all that moves."""
    ports = {p.name: p for p in program.inputs}
    w = ports["w"].entries
    z = (*ports["x"].entries, *(w[k] for k in acting), *ports["t"].entries)
    rest = tuple(x for k, x in enumerate(w) if k not in acting)
    inputs = (_port("z", z), ports["d"], ports["p"], _port("w", rest))
    return replace(program, inputs=inputs)


def _mask(program: Program, output: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which entries of a Jacobian by z can be other than zero."""
    found, mask = sparsity(program, output, "z"), np.zeros(shape, dtype=bool)
    mask[list(found.rows), list(found.columns)] = True
    return mask


def _port(name: str, entries: tuple[Any, ...]) -> ProgramPort:
    return ProgramPort(name, (len(entries),), entries)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A phase: its duration, and what holds during it.

    Args:
        nodes: 0 to 1, rising.
        shortest: of its duration, s.
        longest: s; equal to the shortest for a duration that is given.
        rows: outputs that are limited, with their limits.
        bounds: of states and acting inputs (2, both).
    """

    name: str
    nodes: Array
    shortest: float
    longest: float
    rows: tuple[tuple[int, float, float], ...]
    bounds: Array

    @property
    def points(self) -> Array:
        """Nodes and the middles between them."""
        found = np.empty(2 * len(self.nodes) - 1)
        found[::2] = self.nodes
        found[1::2] = 0.5 * (self.nodes[1:] + self.nodes[:-1])
        return found


@dataclass(frozen=True, slots=True)
class MotionGoal:
    """What is optimized: columns of the outputs, and the ends.

    Args:
        cost: the output that is integrated; -1 for none.
        end_cost: the output at the end; -1 for none.
        start: bounds of the states at the start (2, states).
        end: bounds of the states at the end.
        start_rows: outputs that are limited there.
        end_rows: outputs that are limited there.
    """

    cost: int
    end_cost: int
    start: Array
    end: Array
    start_rows: tuple[tuple[int, float, float], ...] = ()
    end_rows: tuple[tuple[int, float, float], ...] = ()


class Collocation:
    """The sparse nonlinear program of a task on a mesh.

    Variables are states and inputs at each point, then the durations that are free, all in units of
    their sizes. Rows are defects, how phases join, the middles of limited inputs (the control point
    of their parabola, within whose hull it stays), and limited outputs.
    """

    def __init__(
        self,
        functions: PointFunctions,
        task: MotionGoal,
        stretches: Sequence[Stretch],
        scale: Array,
    ) -> None:
        self.functions, self.task, self.stretches = functions, task, tuple(stretches)
        self.nx, self.nz = functions.sizes[0], len(scale)
        counts = [2 * len(s.nodes) - 1 for s in stretches]
        self.count = sum(counts)
        self.first = np.concatenate([[0], np.cumsum(counts)])
        self.share = np.concatenate([s.points for s in stretches])  # of its phase, at each point
        self.phase = np.repeat(np.arange(len(stretches)), counts)
        self.free = np.array([k for k, s in enumerate(stretches) if s.longest > s.shortest], int)
        self.fixed = np.array([s.shortest for s in stretches])
        spans = np.array([0.5 * (s.shortest + s.longest) for s in stretches])
        self.scale = np.concatenate([np.tile(scale, self.count), spans[self.free]])
        self._last: tuple[bytes, tuple[Array, Array, Array, Array]] | None = None
        self._defects(scale)
        self._rows(scale)
        self._bounds()
        self._patterns()

    # -- the layout --------------------------------------------------------------------------------
    def _defects(self, scale: Array) -> None:
        """Number the terms of the defects: row block, point, factor of x, factor of h f."""
        terms: list[tuple[int, int, float, float]] = []
        block = 0
        self.weights = np.zeros(self.count)  # of Simpson's rule, in shares of a phase
        for s, first in zip(self.stretches, self.first.tolist(), strict=False):
            for k, h in enumerate(np.diff(s.nodes)):
                a = first + 2 * k
                m, b = a + 1, a + 2
                self.weights[[a, m, b]] += h * np.array([1, 4, 1]) / 6
                terms += [(block, m, 1.0, 0.0), (block, a, -0.5, -h / 8), (block, b, -0.5, h / 8)]
                terms += [(block + 1, a, -1.0, -h / 6), (block + 1, m, 0.0, -4 * h / 6)]
                terms += [(block + 1, b, 1.0, -h / 6)]
                block += 2
        for first in self.first[1:-1].tolist():
            terms += [(block, first, 1.0, 0.0), (block, first - 1, -1.0, 0.0)]
            block += 1
        blocks, at, self.of_x, self.of_f = np.array(terms).T
        self.blocks, self.at = blocks.astype(int), at.astype(int)
        self.defects = block
        self.defect_size = np.tile(scale[: self.nx], block)

    def _rows(self, scale: Array) -> None:
        """Number the rows of middles, and of outputs: point, column, limits."""
        n, middles, outputs = self.nx, [], []
        for s, first, last in zip(self.stretches, self.first[:-1], self.first[1:], strict=True):
            for column in range(n, self.nz):
                low, high = s.bounds[:, column]
                if np.isfinite(low) or np.isfinite(high):
                    middles += [(i, column, low, high) for i in range(first + 1, last, 2)]
            for column, low, high in s.rows:
                outputs += [(i, column, low, high) for i in range(first, last)]
        outputs += [(0, *row) for row in self.task.start_rows]
        outputs += [(self.count - 1, *row) for row in self.task.end_rows]
        self.middle_at, self.middle_of = _ints(middles)
        self.row_at, self.row_of = _ints(outputs)
        self.row_of += n
        limits = np.array([r[2:] for r in (*middles, *outputs)]).reshape(-1, 2)
        size = np.abs(np.where(np.isfinite(limits), limits, 0.0)).max(axis=1)
        size[size == 0] = 1.0
        self.row_size = np.concatenate([self.defect_size, size])
        nothing = np.zeros(len(self.defect_size))
        self.low, self.high = (
            np.concatenate([nothing, limit]) / self.row_size for limit in limits.T
        )

    def _bounds(self) -> None:
        """Set the bounds of the variables."""
        lower, upper = np.empty((2, self.count, self.nz))
        for s, a, b in zip(self.stretches, self.first[:-1], self.first[1:], strict=True):
            lower[a:b], upper[a:b] = s.bounds
        for i, (low, high) in ((0, self.task.start), (-1, self.task.end)):
            lower[i, : self.nx] = np.maximum(lower[i, : self.nx], low)
            upper[i, : self.nx] = np.minimum(upper[i, : self.nx], high)
        spans = [(self.stretches[k].shortest, self.stretches[k].longest) for k in self.free]
        self.lower = np.concatenate([lower.ravel(), [low for low, _ in spans]]) / self.scale
        self.upper = np.concatenate([upper.ravel(), [high for _, high in spans]]) / self.scale

    def _patterns(self) -> None:
        """Find out where the derivatives have entries; see `slopes` and `curvature` for order."""
        n, m, free = self.nx, self.nz, len(self.free)
        by, late = self.functions.slopes_of[:, :m], self.count * m + np.arange(free)
        own = by[:n] | np.eye(n, m, dtype=bool)
        self.own = np.nonzero(own)
        base = len(self.defect_size)
        top = base + len(self.middle_at)
        k, outputs = np.arange(len(self.middle_at)), np.arange(len(self.row_at))
        parts = [
            ((self.blocks * n)[:, None] + self.own[0], (self.at * m)[:, None] + self.own[1]),
            _pairs((self.blocks * n)[:, None] + np.arange(n), late),
            (
                np.broadcast_to((base + k)[:, None], (len(k), 3)),
                (self.middle_at[:, None] + [-1, 0, 1]) * m + self.middle_of[:, None],
            ),
            _pairs((top + outputs)[:, None], np.arange(m), (self.row_at * m)[:, None, None]),
            _pairs((top + outputs)[:, None], late),
        ]
        rows, columns = (np.concatenate([np.ravel(p[q]) for p in parts]) for q in (0, 1))
        self.jacobian = Pattern(rows, columns, (len(self.row_size), len(self.scale)))
        # the Hessian: a block for each point
        bent = self.functions.curvature_of
        block = np.ones((m + free, m + free), dtype=bool)
        block[:m, :m] = bent[:m, :m]
        self.bent = np.nonzero(np.triu(block))
        places = np.hstack(
            [
                (np.arange(self.count) * m)[:, None] + np.arange(m),
                np.broadcast_to(late, (self.count, free)),
            ]
        )
        rows, columns = places[:, self.bent[0]].ravel(), places[:, self.bent[1]].ravel()
        size = len(self.scale)
        self.hessian = Pattern(rows, columns, (size, size))

    # -- numbers -----------------------------------------------------------------------------------
    def pack(self, z: Array, spans: Array) -> Array:
        """Return the variables for states and inputs at the points, and durations of the phases."""
        return np.asarray(np.concatenate([z.ravel(), spans[self.free]]) / self.scale)

    def unpack(self, v: Array) -> tuple[Array, Array]:
        """Return states and inputs at the points, and durations."""
        plain = v * self.scale
        spans = self.fixed.copy()
        spans[self.free] = plain[self.count * self.nz :]
        return plain[: self.count * self.nz].reshape(self.count, self.nz), spans

    def times(self, spans: Array) -> Array:
        """Return the time at each point, s."""
        begins = np.concatenate([[0.0], np.cumsum(spans)[:-1]])
        return np.asarray(begins[self.phase] + spans[self.phase] * self.share)

    def _at(self, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return states and inputs with the time, durations, and what the functions are there."""
        key = v.tobytes()
        if self._last is None or self._last[0] != key:
            z, spans = self.unpack(v)
            moving = np.column_stack([z, self.times(spans)])
            found, slopes = self.functions.values(moving)
            self._last = key, (moving, spans, found, slopes)
        return self._last[1]

    def values(self, v: Array) -> tuple[float, Array]:
        """Return objective and rows."""
        z, spans, found, _ = self._at(v)
        terms = self.of_x[:, None] * z[self.at, : self.nx]
        terms += (self.of_f * spans[self.phase[self.at]])[:, None] * found[self.at, : self.nx]
        defects = np.zeros((self.defects, self.nx))
        np.add.at(defects, self.blocks, terms)
        i, j = self.middle_at, self.middle_of
        middles = 2 * z[i, j] - 0.5 * (z[i - 1, j] + z[i + 1, j])
        rows = np.concatenate([defects.ravel(), middles, found[self.row_at, self.row_of]])
        total = sum(w @ found[:, self.nx + k] for k, w in self._costs(spans[self.phase]))
        return float(total), rows / self.row_size

    def slopes(self, v: Array) -> tuple[Array, Array]:
        """Return the gradient of the objective, and the entries of the Jacobian."""
        _, spans, found, slopes = self._at(v)
        n, m = self.nx, self.nz
        span, by_time = spans[self.phase], self._by_time()
        factor = (self.of_f * span[self.at])[:, None]
        blocks = factor * slopes[self.at][:, self.own[0], self.own[1]]
        blocks += self.of_x[:, None] * (self.own[0] == self.own[1])
        late = (factor * slopes[self.at, :n, m])[:, :, None] * by_time[self.at][:, None, :]
        here = self.free == self.phase[self.at][:, None]
        late += (self.of_f[:, None] * found[self.at, :n])[:, :, None] * here[:, None, :]
        given = slopes[self.row_at, self.row_of]
        parts = (
            blocks,
            late,
            np.tile([-0.5, 2.0, -0.5], len(self.middle_at)),
            given[:, :m],
            given[:, m, None] * by_time[self.row_at],
        )
        entries = self.jacobian.data(np.concatenate([np.ravel(p) for p in parts]))
        entries *= self.scale[self.jacobian.columns] / self.row_size[self.jacobian.rows]
        gradient, later = np.zeros((self.count, m)), np.zeros(len(self.free))
        for column, weights in self._costs(span):
            by = slopes[:, n + column]
            gradient += weights[:, None] * by[:, :m]
            later += (weights * by[:, m]) @ by_time
        if self.task.cost >= 0:
            run = self.weights * found[:, n + self.task.cost]
            later += np.array([run[self.phase == k].sum() for k in self.free])
        whole = np.concatenate([gradient.ravel(), later])
        return whole * self.scale, np.asarray(entries)

    def curvature(self, v: Array, weight: float, multipliers: Array) -> Array:
        """Return the entries of the Hessian of the Lagrangian."""
        z, spans, _, slopes = self._at(v)
        n, m, free = self.nx, self.nz, len(self.free)
        span = spans[self.phase]
        plain = multipliers / self.row_size
        by_row = plain[: self.defects * n].reshape(self.defects, n)
        per_time = np.zeros((self.count, slopes.shape[1]))  # weights that the durations multiply
        np.add.at(per_time[:, :n], self.at, self.of_f[:, None] * by_row[self.blocks])
        if self.task.cost >= 0:
            per_time[:, n + self.task.cost] += weight * self.weights
        weights = per_time * span[:, None]
        last = plain[len(self.defect_size) + len(self.middle_at) :]
        np.add.at(weights, (self.row_at, self.row_of), last)
        if self.task.end_cost >= 0:
            weights[-1, n + self.task.end_cost] += weight
        own = self.functions.curvature(z, weights)
        blocks = np.zeros((self.count, m + free, m + free))
        blocks[:, :m, :m] = own[:, :m, :m]
        by_time = self._by_time()
        here = self.free == self.phase[:, None]
        speed = np.einsum("pr,prz->pz", per_time, slopes)
        blocks[:, :m, m:] = own[:, :m, m, None] * by_time[:, None, :]
        blocks[:, :m, m:] += speed[:, :m, None] * here[:, None, :]
        half = speed[:, m, None, None] * here[:, :, None] * by_time[:, None, :]
        late = own[:, m, m, None, None] * by_time[:, :, None] * by_time[:, None, :]
        blocks[:, m:, m:] = late + half + half.transpose(0, 2, 1)
        entries = self.hessian.data(blocks[:, self.bent[0], self.bent[1]].ravel())
        found = entries * self.scale[self.hessian.rows] * self.scale[self.hessian.columns]
        return np.asarray(found)

    def _costs(self, span: Array) -> list[tuple[int, Array]]:
        """Return the columns of the objective with their weights at the points."""
        found = []
        if self.task.cost >= 0:
            found.append((self.task.cost, self.weights * span))
        if self.task.end_cost >= 0:
            found.append((self.task.end_cost, np.eye(1, self.count, self.count - 1)[0]))
        return found

    def _by_time(self) -> Array:
        """Return how the time of each point moves with the free durations."""
        own = self.free == self.phase[:, None]
        return np.where(own, self.share[:, None], 1.0 * (self.free < self.phase[:, None]))


def _ints(rows: Sequence[tuple[int, int, float, float]]) -> tuple[Ints, Ints]:
    return np.array([r[0] for r in rows], int), np.array([r[1] for r in rows], int)


def _pairs(rows: Ints, columns: Ints, offset: Any = 0) -> tuple[Ints, Ints]:
    """Return rows (..., 1) and columns (k) broadcast, the columns moved by an offset."""
    return (
        np.broadcast_to(rows[..., None], (*rows.shape, len(columns))),
        np.broadcast_to(columns + offset, (*rows.shape, len(columns))),
    )
