"""Many poses closed at once: a compiled Newton loop, who needs more turns, and grids on one branch.

A call of the kernel takes all lanes a few turns further; lanes that are not closed yet go on in
further calls, as long as that helps. On a grid, each pose starts from its neighbor along the first
axis, and the whole hyperplane advances at once: what a pose starts from depends on the grid alone,
never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import Amount
from linkwright.brief import one_line
from linkwright.equations.closing import (
    closing_program,
    known_entries,
    known_expressions,
    residual_names,
)
from linkwright.equations.closure import assemble
from linkwright.equations.evaluation import Evaluator, all_values, numbers, quantities
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.errors import InputError, ShapeError
from linkwright.program import Program

Array = NDArray[np.float64]

CLOSED, NOT_CLOSED, OFF_BRANCH = 0, 1, 2
WORDS = ("closed", "not closed", "ran off the branch")
"""What became of a pose, by the number of its status."""

_ENOUGH = 1e-10  # residual below which loops are closed, as in `assemble`
_SHARP = 1e-14  # below which more turns bring nothing
_CALLS = 12
_PROGRESS = 0.7  # of the residual at most that another call leaves behind, or it was the last
_WAY = 2.0  # of the first step, within which Newton's method converges (Kantorovich)
_PIECES = (2, 8)  # steps in place of one, where that did not close
_MANY = (32, 128)  # and on the way to the first pose
_STILL = 1e-6  # rad or m, a way that is never too far


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ClosedPoses:
    """Poses whose loops were closed; the axes of all arrays begin with those of what was known.

    Args:
        names: of all coordinates.
        q: their values, rad or m.
        residual: what is left, relative to the size of the Jacobian: about the change of
            coordinates that would remove it.
        status: 0 closed, 1 not closed, 2 closed on another branch than the start's.
        worst: the number of the relation that is left over most.
        relations: the names of all relations and of what was known.
    """

    names: tuple[str, ...]
    q: Array = field(repr=False)
    residual: Array = field(repr=False)
    status: NDArray[np.int8] = field(repr=False)
    worst: NDArray[np.int_] = field(repr=False)
    relations: tuple[str, ...] = field(repr=False)

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Which poses are closed and on the branch."""
        return np.asarray(self.status == CLOSED)

    def __getitem__(self, name: str) -> Array:
        """Return the values of one coordinate."""
        if name not in self.names:
            raise InputError(
                f"there is no coordinate {name!r}", remedy=f"choose one of {', '.join(self.names)}"
            )
        return np.asarray(self.q[..., self.names.index(name)])

    def words(self, *index: int) -> str:
        """Return what became of a pose.

        Args:
            index: which one, a number for each axis.
        """
        status = int(self.status[index])
        if status != NOT_CLOSED:
            return WORDS[status]
        worst = self.relations[int(self.worst[index])]
        return f"not closed: {worst!r} is left by {float(self.residual[index]):.3g}"


@dataclass(slots=True)
class _Rows:
    """What was found of some poses."""

    q: Array
    residual: Array
    status: NDArray[np.int8]
    worst: NDArray[np.int_]

    def take(self, rows: Any, found: _Rows) -> None:
        """Put what was found of some of the poses in its place."""
        self.q[rows], self.residual[rows] = found.q, found.residual
        self.status[rows], self.worst[rows] = found.status, found.worst

    def reshaped(self, *shape: int) -> _Rows:
        """Return views of other axes."""
        return _Rows(
            self.q.reshape(*shape, self.q.shape[-1]),
            self.residual.reshape(shape),
            self.status.reshape(shape),
            self.worst.reshape(shape),
        )

    def at(self, index: Any) -> _Rows:
        """Return views of a part."""
        return _Rows(self.q[index], self.residual[index], self.status[index], self.worst[index])


@dataclass(slots=True)
class _Front:
    """The last closed pose of each line, the one before it, and whether the last place closed."""

    x: Array
    q: Array
    before: Array
    known: NDArray[np.bool_]


class Closing:
    """The compiled closing of a machine for what is known.

    Args:
        machine: whose loops are closed.
        known: names of coordinates, or of `linkwright.equations.closing.KNOWN`.
        unknown: names of the coordinates that are computed; by default all that are not known.
        values: values of parameters by name, over the mechanism's own.

    >>> from linkwright.equations.parallel_machine import parallel_machine
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> a = m.body("a", rotate="z")
    >>> b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_distance(m.point("p", b, (1, 0, 0)), m.point("o2", at=(1, 1, 0)), 1)
    >>> m.actuate("a")
    >>> m.set_initial({"b": 0.5})
    >>> closing = Closing(parallel_machine(m, platform="b"), ["a"])
    >>> closing.close([[0.0], [3.0]]).q.round(6).tolist()
    [[0.0, 0.523599], [3.0, -2.734883]]
    """

    def __init__(
        self,
        machine: ParallelMachine,
        known: Sequence[str] = ("actuators",),
        unknown: Sequence[str] | None = None,
        values: Mapping[str, Amount] | None = None,
    ) -> None:
        from linkwright.backends.kernel import compile as compiled

        self.machine = machine
        self.known = tuple(known)
        self.entries = known_entries(machine, self.known)
        self.names = tuple(q.name for q in machine.coordinates)
        self.relations = residual_names(machine, self.known)
        self.program: Program = closing_program(machine, self.known, unknown)
        self._values = all_values(machine.mechanism, values)
        self._kernel = compiled(self.program)
        self._fixed = [
            np.zeros(1) if port.name == "t" else numbers(machine.mechanism, port.entries,
                                                         self._values)
            for port in self.program.inputs[2:]
        ]  # fmt: skip
        self._start: Array | None = None
        self._read: Evaluator | None = None

    @property
    def start(self) -> Array:
        """The mechanism's own configuration, closed as near as it can be."""
        if self._start is None:
            self._start = self.assembled(None)
        return self._start

    def assembled(self, initial: Mapping[str, Amount] | None) -> Array:
        """Return a closed configuration from coordinates by name, over the mechanism's own."""
        found = assemble(self.machine.mechanism, initial, self._values)
        return np.array([found.coordinates[n] for n in self.names])

    def close(
        self, x: ArrayLike, start: ArrayLike | None = None, *, threads: int = 1
    ) -> ClosedPoses:
        """Return the poses with given numbers, each closed by itself from a start.

        Args:
            x: what is known, rows of numbers in the order of `entries`.
            start: all coordinates to begin with, one row or one for each pose; by default the
                mechanism's own configuration.
            threads: that share the work; the result has the same bits for any number.
        """
        given = self._rows(x)
        first = self._starts(start, len(given))
        q, residual, worst, _ = self.turned(given, first, threads)
        status = np.where(residual <= _ENOUGH, CLOSED, NOT_CLOSED).astype(np.int8)
        return ClosedPoses(self.names, q, residual, status, worst, self.relations)

    def _rows(self, x: ArrayLike) -> Array:
        given = np.asarray(x, dtype=float)
        if given.ndim != 2 or given.shape[1] != len(self.entries):
            raise ShapeError(
                f"what is known has the shape {given.shape}",
                remedy=f"give rows of {len(self.entries)} numbers: {', '.join(self.entries)}",
            )
        if not np.isfinite(given).all():
            raise InputError("what is known holds numbers that are not finite")
        return given

    def _starts(self, start: ArrayLike | None, count: int) -> Array:
        first = self.start if start is None else np.asarray(start, dtype=float)
        n = len(self.names)
        if first.shape not in ((n,), (count, n)):
            raise ShapeError(
                f"the start has the shape {first.shape}",
                remedy=f"give {n} coordinates, or {count} rows of them",
            )
        return np.broadcast_to(first, (count, n))

    def turned(
        self, x: Array, start: Array, threads: int = 1
    ) -> tuple[Array, Array, NDArray[np.int_], NDArray[np.bool_]]:
        """Return coordinates, residuals, the worst relations, and who ran far from its start."""
        q, residual, worst, first, moved = self._call(x, start, threads)
        far = moved > _WAY * first + _STILL
        rows = np.flatnonzero(residual > _SHARP)
        for _ in range(_CALLS):
            if not len(rows):
                break
            before = residual[rows]
            again, left, which, _, _ = self._call(x[rows], q[rows], threads)
            better = left < before
            q[rows[better]] = again[better]
            residual[rows[better]], worst[rows[better]] = left[better], which[better]
            way = np.sqrt(((q[rows] - start[rows]) ** 2).sum(axis=1))
            far[rows] = way > _WAY * first[rows] + _STILL
            rows = rows[(left > _SHARP) & (left < _PROGRESS * before)]
        return q, residual, worst, far

    def _call(
        self, x: Array, start: Array, threads: int
    ) -> tuple[Array, Array, NDArray[np.int_], Array, Array]:
        q, residual, worst, first, moved = self._kernel.batch(
            start, x, *self._fixed, size=len(x), threads=threads
        )
        return q, residual[:, 0], np.rint(worst[:, 0]).astype(int), first[:, 0], moved[:, 0]

    # -- grids -------------------------------------------------------------------------------------
    def follow(
        self, x: ArrayLike, start: ArrayLike | None = None, *, threads: int = 1
    ) -> ClosedPoses:
        """Return the poses of a grid, each closed from its neighbor, on the branch of the start.

        The first pose is reached from the start in small steps, the rest of the last axis from
        there, and so on; along the first axis all lines advance together. A pose that does not
        close, or closes elsewhere than where Newton's method converges to from its neighbor, is
        tried again in smaller steps before it is given up.

        Args:
            x: what is known, in the order of `entries` along the last axis; the other axes are
                those of the grid.
            start: a closed configuration of the branch; by default the mechanism's own.
            threads: that share the work; the result has the same bits for any number.
        """
        grid = np.asarray(x, dtype=float)
        if grid.ndim < 1:
            raise ShapeError("a grid of what is known has at least one axis")
        shape, k = grid.shape[:-1], grid.shape[-1]
        self._rows(grid.reshape(-1, k))
        first = self._starts(start, 1)[0]
        n = len(self.names)
        made = _Rows(
            np.empty((*shape, n)),
            np.empty(shape),
            np.empty(shape, dtype=np.int8),
            np.empty(shape, dtype=int),
        )
        if grid.size:
            self._fill(grid, made, first, threads)
        found = (made.q, made.residual, made.status, made.worst)
        return ClosedPoses(self.names, *found, self.relations)

    def _fill(self, x: Array, out: _Rows, start: Array, threads: int) -> None:
        """Fill a part of a grid: its first hyperplane, then one after the other."""
        if x.ndim == 1:
            out.reshaped(1).take(slice(None), self._approached(x, start))
            return
        self._fill(x[0], out.at(slice(0, 1)).reshaped(*x.shape[1:-1]), start, threads)
        count = len(x)
        lines, flat = x.reshape(count, -1, x.shape[-1]), out.reshaped(count, x[0, ..., 0].size)
        known = flat.status[0] == CLOSED
        q = np.where(known[:, None], flat.q[0], start)
        front = _Front(lines[0].copy(), q, q.copy(), known)
        for i in range(1, count):
            flat.take(i, self._advanced(lines[i], front, threads))

    def _advanced(self, x: Array, front: _Front, threads: int) -> _Rows:
        """Close all lines at their next place, and move the front there."""
        predicted = np.where(front.known[:, None], 2.0 * front.q - front.before, front.q)
        found = self._tried(x, predicted, threads)
        rows = np.flatnonzero((found.status != CLOSED) & front.known)
        for pieces in _PIECES:
            if not len(rows):
                break
            again = self._stepped(front.x[rows], x[rows], front.q[rows], pieces, threads)
            found.take(rows, again)
            rows = rows[again.status != CLOSED]
        good = found.status == CLOSED
        front.before[good] = np.where(front.known[good, None], front.q[good], found.q[good])
        front.q[good], front.x[good] = found.q[good], x[good]
        front.known = good
        return found

    def _tried(self, x: Array, start: Array, threads: int) -> _Rows:
        q, residual, worst, far = self.turned(x, start, threads)
        status = np.where(residual > _ENOUGH, NOT_CLOSED, np.where(far, OFF_BRANCH, CLOSED))
        return _Rows(q, residual, status.astype(np.int8), worst)

    def _stepped(self, before: Array, x: Array, q: Array, pieces: int, threads: int) -> _Rows:
        """Go from one place to the next in several steps."""
        found = self._tried(self._between(before, x, 1 / pieces), q, threads)
        for k in range(2, pieces + 1):
            after = self._tried(self._between(before, x, k / pieces), found.q, threads)
            lost = found.status != CLOSED
            after.status[lost] = np.maximum(after.status[lost], found.status[lost])
            found = after
        return found

    def _approached(self, x: Array, start: Array) -> _Rows:
        """Go from a closed configuration to a pose, in as many steps as it takes."""
        at = self.values_of(start[None])
        found = self._stepped(at, x[None], start[None], 1, 1)
        for pieces in (*_PIECES, *_MANY):
            if found.status[0] == CLOSED:
                break
            found = self._stepped(at, x[None], start[None], pieces, 1)
        return found

    def values_of(self, q: Array) -> Array:
        """Return what is known of configurations, in the order of `entries`."""
        if self._read is None:
            entries = known_expressions(self.machine, self.known)
            made = quantities(
                self.machine.mechanism, "known", {"x": entries}, entries, q=self.machine.coordinates
            )
            self._read = Evaluator(self.machine.mechanism, made, self._values)
        read = self._read
        return np.array([read(q=row)[0] for row in np.asarray(q, dtype=float)])

    def _between(self, before: Array, after: Array, share: float) -> Array:
        """Return what is known on the way from one place to another."""
        if share == 1.0:
            return after
        found = (1.0 - share) * before + share * after
        for name in ("direction.x", "rotation.xx", "rotation.xy"):
            if name in self.entries:
                k = self.entries.index(name)
                axis = found[:, k : k + 3]
                if name == "rotation.xy":
                    other = found[:, k - 3 : k]
                    axis -= (axis * other).sum(axis=1, keepdims=True) * other
                axis /= np.linalg.norm(axis, axis=1, keepdims=True)
        return found
