"""Learners of one function from samples: receptive fields, memory, random features, grids.

Each works in coordinates z that `Regressor` has scaled, predicts rows at once, learns one sample at
a time, and says the same in a Program. All fade to zero far from what they have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, ZERO, Expr, constant, cos, exp, maximum, minimum, symbol, total
from linkwright.program import Loop, Solve, Statement
from linkwright.program.program import Carried, Scanned

Array = NDArray[np.float64]
Written = tuple[list[Statement], list[Expr]]
"""Statements of a Program, and the values that it gives."""


class Learner(Protocol):
    """What each kind can do."""

    kept: ClassVar[tuple[str, ...]]

    def predict(self, z: Array) -> Array: ...
    def learn(self, z: Array, y: Array) -> None: ...
    def written(self, z: Sequence[Expr], own: str) -> Written: ...


def summed(
    own: str,
    arrays: Array,
    turn: list[Expr],
    entries: list[Expr],
    body: list[Statement] | None = None,
) -> tuple[Loop, list[Expr]]:
    """Return a loop over the rows of an array that adds up what a turn gives, and the sums."""
    sums = [
        Carried(
            here := symbol(f"sum{k}", "local", owner=own),
            ZERO,
            here + value,
            symbol(f"total{k}", "local", owner=own),
        )
        for k, value in enumerate(turn)
    ]
    scanned = tuple(
        Scanned(name, tuple(constant(float(v)) for v in column))
        for name, column in zip(entries, arrays.T, strict=True)
    )
    loop = Loop(len(arrays), tuple(sums), scanned, (), tuple(body or ()))
    return loop, [s.final for s in sums]


def _scanned(own: str, count: int) -> list[Expr]:
    return [symbol(f"c{k}", "local", owner=own) for k in range(count)]


@dataclass
class ReceptiveFields:
    """Receptive-field weighted regression (Schaal & Atkeson 1998), with the equations' numbers.

    A field has a center c, a metric D = MᵀM with weight w = exp(-(z-c)ᵀD(z-c)/2), and a linear
    model β by recursive least squares with forgetting. M descends the leave-one-out error.
    """

    inputs: int
    outputs: int
    ridge: float = 1e-4
    forgetting: float = 0.9999
    adapt: float = 0.3
    overlap: float = 0.2
    prune: float = 0.9
    penalty: float = 1e-4
    kept: ClassVar[tuple[str, ...]] = ("c", "M", "P", "b", "seen", "W", "E", "H", "R", "moments")
    FADE: ClassVar[float] = 1e-4
    """What is added to the sum of all weights, so that predictions fade to zero."""

    def __post_init__(self) -> None:
        d, m, n = self.inputs, self.outputs, self.inputs + 1
        self.c, self.M, self.P = np.zeros((0, d)), np.zeros((0, d, d)), np.zeros((0, n, n))
        self.b, self.W, self.E = np.zeros((0, n, m)), np.zeros(0), np.zeros(0)
        self.H, self.R, self.seen = np.zeros((0, n, m)), np.zeros((0, n, n)), np.zeros(0)
        self.moments = np.zeros((3, m))  # count, mean and sum of squares of what is learned

    def predict(self, z: Array) -> Array:
        """Return the weighted mean of what the fields say (eq. 3)."""
        d = z[:, None, :] - self.c
        w = np.exp(-0.5 * np.sum(np.einsum("krs,iks->ikr", self.M, d) ** 2, axis=2))
        own = np.einsum("iks,ksm->ikm", d, self.b[:, :-1]) + self.b[:, -1]
        mean: Array = np.einsum("ik,ikm->im", w, own) / (w.sum(axis=1) + self.FADE)[:, None]
        return mean

    def learn(self, z: Array, y: Array) -> None:
        """Fit the fields around a sample; make one where none is near (their table 1)."""
        count, mean, squares = self.moments
        count += 1
        step = y - mean
        mean += step / count
        squares += step * (y - mean)
        d = z - self.c
        w = np.exp(-0.5 * np.sum(np.einsum("krs,ks->kr", self.M, d) ** 2, axis=1))
        if not w.size or w.max() < self.overlap:
            self._append(z, y)
            d, w = np.vstack([d, np.zeros_like(z)]), np.append(w, 1.0)
        near = np.flatnonzero(w > 1e-3)
        self._fit(near, w[near], np.column_stack([d[near], np.ones(len(near))]), y)
        crowd = near[w[near] > self.prune]
        if len(crowd) > 1:
            self._drop(int(crowd[np.argmax(np.linalg.det(self.M[crowd]))]))

    def _fit(self, at: NDArray[np.intp], w: Array, x: Array, y: Array) -> None:
        """Do the updates of regression and metric in some fields (eqs. 5, 11 to 15)."""
        lam = self.forgetting
        P, b = self.P[at], self.b[at]
        Px = np.einsum("kij,kj->ki", P, x)
        fit = np.einsum("ki,ki->k", x, Px)
        P = (P - np.einsum("ki,kj->kij", Px, Px) / (lam / w + fit)[:, None, None]) / lam
        error = y - np.einsum("ki,kim->km", x, b)
        Px = np.einsum("kij,kj->ki", P, x)
        b = b + np.einsum("k,ki,km->kim", w, Px, error)
        after = y - np.einsum("ki,kim->km", x, b)
        self.P[at], self.b[at] = P, b
        size = 1 / (self.moments[2] / np.maximum(self.moments[0], 1) + 1e-12)
        e2 = np.einsum("km,km,m->k", error, error, size)
        self.seen[at] += w
        ripe = w * (self.seen[at] > 2 * (self.inputs + 1))  # before, what is left out fits itself
        W = lam * self.W[at] + ripe
        E = lam * self.E[at] + ripe * e2
        if self.adapt:
            known = self.inputs + 1 < W
            sums = np.maximum(W, 1e-9), E, self.H[at], self.R[at]
            turn = weight_slope(e2, Px, x, after * size, *sums)
            self._move(at[known], w[known], W[known], x[known, :-1], turn[known])
        left = np.maximum(1 - w * np.einsum("ki,ki->k", x, Px), 1e-3)
        self.W[at], self.E[at] = W, E
        self.H[at] = lam * self.H[at] + np.einsum("k,ki,km->kim", ripe / left, x, error)
        self.R[at] = lam * self.R[at] + np.einsum("k,ki,kj->kij", ripe**2 * e2 / left, x, x)

    def _move(self, at: NDArray[np.intp], w: Array, W: Array, d: Array, turn: Array) -> None:
        """Turn the metrics down the slope of their cost, a tenth of their size at most."""
        M = self.M[at]
        D = np.einsum("kri,krj->kij", M, M)
        weight = -np.einsum("k,kr,ks->krs", w, np.einsum("krs,ks->kr", M, d), d)  # of w by M
        size = 4 * self.penalty * np.einsum("krs,kst->krt", M, D)  # of the penalty by M
        step = self.adapt * (turn[:, None, None] * weight + (w / W)[:, None, None] * size)
        most = 0.1 * np.linalg.norm(M, axis=(1, 2)) / (np.linalg.norm(step, axis=(1, 2)) + 1e-300)
        self.M[at] = M - np.minimum(most, 1)[:, None, None] * step

    def _append(self, z: Array, y: Array) -> None:
        d, m, n = self.inputs, self.outputs, self.inputs + 1
        new = {"c": z, "M": np.eye(d), "P": np.eye(n) / self.ridge, "W": np.zeros(()),
               "seen": np.zeros(()),
               "b": np.vstack([np.zeros((d, m)), y]), "E": np.zeros(()), "H": np.zeros((n, m)),
               "R": np.zeros((n, n))}  # fmt: skip
        for name, value in new.items():
            setattr(self, name, np.concatenate([getattr(self, name), value[None]]))

    def _drop(self, k: int) -> None:
        for name in self.kept[:-1]:
            setattr(self, name, np.delete(getattr(self, name), k, axis=0))

    def written(self, z: Sequence[Expr], own: str) -> Written:
        """Return a turn of a loop for each field."""
        if not len(self.c):
            return [], [ZERO] * self.outputs
        n, m = self.inputs, self.outputs
        D = np.einsum("kri,krj->kij", self.M, self.M)
        upper = [(i, j) for i in range(n) for j in range(i, n)]
        squares = [D[:, i, j] * (1.0 if i != j else 0.5) for i, j in upper]
        arrays = np.column_stack([self.c, *squares, self.b.reshape(len(D), -1)])
        entries = _scanned(own, arrays.shape[1])
        c, s, b = np.split(np.array(entries, object), [n, n + len(upper)])
        d = [x - at for x, at in zip(z, c, strict=True)]
        w = exp(-total([f * d[i] * d[j] for f, (i, j) in zip(s, upper, strict=True)]))
        rows = b.reshape(n + 1, m)
        turn = [w * (total([*(rows[i, k] * d[i] for i in range(n)), rows[n, k]])) for k in range(m)]
        loop, sums = summed(own, arrays, [w, *turn], entries)
        return [loop], [v / (sums[0] + constant(self.FADE)) for v in sums[1:]]


def weight_slope(
    e2: Array, Px: Array, x: Array, after: Array, W: Array, E: Array, H: Array, R: Array
) -> Array:
    """Return how the leave-one-out error of fields changes with the weight of a sample (eq. 15)."""
    by_model = 2 * np.einsum("ki,km,kim->k", Px, after, H)
    by_spread = 2 * np.einsum("ki,kj,kij->k", Px, Px, R)
    return np.asarray((e2 - by_model - by_spread) / W - E / W**2)


@dataclass
class Neighbors:
    """Locally weighted regression over the samples themselves (Atkeson, Moore & Schaal 1997).

    A kd-tree (Bentley 1975) finds those within a distance of one, w = (1 - |z-c|²)³; a ridge keeps
    the local model small. The tree is made anew as samples come; the oldest go when it is full.
    """

    inputs: int
    outputs: int
    ridge: float = 1e-4
    size: int = 5000
    kept: ClassVar[tuple[str, ...]] = ("z", "y", "count")

    def __post_init__(self) -> None:
        self.z, self.y = np.zeros((0, self.inputs)), np.zeros((0, self.outputs))
        self.count = np.zeros((), np.int64)
        self._tree: object = None
        self._known, self._late = 0, np.zeros(0, np.int64)

    def learn(self, z: Array, y: Array) -> None:
        """Keep a sample, in the place of the oldest where there is room for only so many."""
        at = int(self.count % self.size)
        if at == len(self.z):
            room = min(max(64, 2 * at), self.size)
            self.z = np.concatenate([self.z, np.full((room - at, self.inputs), np.inf)])
            self.y = np.concatenate([self.y, np.zeros((room - at, self.outputs))])
        self.z[at], self.y[at] = z, y
        self.count = self.count + 1
        self._late = np.append(self._late, at)

    def near(self, z: Array) -> list[NDArray[np.int64]]:
        """Return which samples are within a distance of one from each row."""
        from scipy.spatial import cKDTree

        filled = min(int(self.count), len(self.z))
        if filled and (self._tree is None or len(self._late) > max(64, filled // 8)):
            self._tree, self._known = cKDTree(self.z[:filled].copy()), filled
            self._late = np.zeros(0, np.int64)
        tree: cKDTree = self._tree
        found = tree.query_ball_point(z, 1.0) if filled else [[]] * len(z)
        late = np.unique(self._late)
        rows = []
        for row, known in zip(z, found, strict=True):
            old = np.setdiff1d(np.asarray(known, np.int64), late)
            new = late[np.sum((self.z[late] - row) ** 2, axis=1) < 1.0]
            rows.append(np.concatenate([old, new]))
        return rows

    def predict(self, z: Array) -> Array:
        """Solve the local regression of each row."""
        made = np.zeros((len(z), self.outputs))
        for k, at in enumerate(self.near(z)):
            d = self.z[at] - z[k]
            w = np.maximum(1 - np.sum(d**2, axis=1), 0) ** 3
            x = np.column_stack([d, np.ones(len(at))])
            matrix = (x.T * w) @ x + self.ridge * np.eye(self.inputs + 1)
            made[k] = np.linalg.solve(matrix, (x.T * w) @ self.y[at])[-1]
        return made

    def written(self, z: Sequence[Expr], own: str) -> Written:
        """Return a loop over all samples for the sums of the regression, and its solution."""
        filled = min(int(self.count), len(self.z))
        if not filled:
            return [], [ZERO] * self.outputs
        n, m = self.inputs, self.outputs
        arrays = np.column_stack([self.z[:filled], self.y[:filled]])
        entries = _scanned(own, n + m)
        x = [*(c - v for c, v in zip(entries[:n], z, strict=True)), ONE]
        w = maximum(ONE - total([d * d for d in x[:-1]]), ZERO) ** 3
        upper = [(i, j) for i in range(n + 1) for j in range(i, n + 1)]
        turn = [w * x[i] * x[j] for i, j in upper]
        turn += [w * v * y for y in entries[n:] for v in x]  # a column for each output
        loop, sums = summed(own, arrays, turn, entries)
        place = dict(zip(upper, sums, strict=False))
        matrix = [
            place[min(i, j), max(i, j)] + (constant(self.ridge) if i == j else ZERO)
            for i in range(n + 1)
            for j in range(n + 1)
        ]
        right = sums[len(upper) :]
        found = [symbol(f"b{k}", "local", owner=own) for k in range(len(right))]
        return [loop, Solve(n + 1, tuple(matrix), tuple(right), tuple(found))], found[n :: n + 1]


@dataclass
class Features:
    """Random Fourier features (Rahimi & Recht 2007) with recursive least squares.

    Without forgetting it is ridge regression on all samples (Gijsberts & Metta 2013).
    """

    inputs: int
    outputs: int
    ridge: float = 1e-3
    size: int = 200
    forgetting: float = 1.0
    seed: int = 0
    kept: ClassVar[tuple[str, ...]] = ("w", "phase", "P", "b")
    w: Array = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.w = rng.normal(size=(self.size, self.inputs))
        self.phase = rng.uniform(0, 2 * np.pi, self.size)
        self.P = np.eye(self.size) / self.ridge
        self.b = np.zeros((self.size, self.outputs))

    def features(self, z: Array) -> Array:
        """Return the waves at some rows."""
        return np.asarray(np.sqrt(2 / self.size) * np.cos(z @ self.w.T + self.phase))

    def predict(self, z: Array) -> Array:
        """Return the sum of all waves."""
        return self.features(z) @ self.b

    def learn(self, z: Array, y: Array) -> None:
        """Do a step of recursive least squares."""
        x = self.features(z)
        Px = self.P @ x
        gain = Px / (self.forgetting + x @ Px)
        self.b += np.outer(gain, y - x @ self.b)
        self.P -= np.outer(gain, Px)
        if self.forgetting != 1:
            self.P /= self.forgetting

    def written(self, z: Sequence[Expr], own: str) -> Written:
        """Return a turn of a loop for each wave."""
        arrays = np.column_stack([self.w, self.phase, np.sqrt(2 / self.size) * self.b])
        entries = _scanned(own, arrays.shape[1])
        n = self.inputs
        wave = cos(total([*(w * x for w, x in zip(entries, z, strict=False)), entries[n]]))
        loop, sums = summed(own, arrays, [wave * b for b in entries[n + 1 :]], entries)
        return [loop], sums


@dataclass
class Grid:
    """A look-up table over a grid of nodes 0, 1, 2, ..., multilinear between them.

    A sample moves the nodes around it so that the table comes nearer to it, each by its share
    (the rule of Albus 1975). Beyond the table its edge holds.
    """

    inputs: int
    outputs: int
    cells: tuple[int, ...] = ()
    gain: float = 0.5
    kept: ClassVar[tuple[str, ...]] = ("table",)

    def __post_init__(self) -> None:
        self.table = np.zeros((*(c + 1 for c in self.cells), self.outputs))
        self._corners = np.array(list(product((0, 1), repeat=self.inputs)))

    def _shares(self, z: Array) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """Return the nodes around a point, and the share of each."""
        z = np.clip(z, 0, self.cells)
        low = np.minimum(z.astype(int), np.subtract(self.cells, 1))
        part = z - low
        share = np.prod(np.where(self._corners, part, 1 - part), axis=1)
        return tuple((low + self._corners).T), share

    def predict(self, z: Array) -> Array:
        """Interpolate."""
        made = np.zeros((len(z), self.outputs))
        for k, row in enumerate(z):
            at, share = self._shares(row)
            made[k] = share @ self.table[at]
        return made

    def learn(self, z: Array, y: Array) -> None:
        """Move the nodes around a sample."""
        at, share = self._shares(z)
        error = y - share @ self.table[at]
        self.table[at] += self.gain * np.outer(share / (share @ share), error)

    def written(self, z: Sequence[Expr], own: str) -> Written:
        """Return a turn of a loop for each node, with the product of its hats."""
        nodes = np.array(list(product(*(range(c + 1) for c in self.cells))), dtype=float)
        arrays = np.column_stack([nodes, self.table.reshape(-1, self.outputs)])
        entries = _scanned(own, arrays.shape[1])
        edges = zip(z, self.cells, strict=True)
        inside = [maximum(minimum(x, constant(c)), ZERO) for x, c in edges]
        share = ONE
        for x, node in zip(inside, entries, strict=False):
            share *= maximum(ONE - maximum(x - node, node - x), ZERO)
        loop, sums = summed(own, arrays, [share * y for y in entries[self.inputs :]], entries)
        return [loop], sums


KINDS: dict[str, type[ReceptiveFields] | type[Neighbors] | type[Features] | type[Grid]] = {
    "fields": ReceptiveFields,
    "memory": Neighbors,
    "features": Features,
    "grid": Grid,
}
"""Learners by the name that `Regressor` takes."""
