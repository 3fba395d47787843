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
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.reprs import one_line
from linkwright.equations.closing import (
    ENOUGH,
    STILL,
    WAY,
    closing_program,
    known_entries,
    known_expressions,
    line_program,
    residual_names,
)
from linkwright.equations.closure import assemble
from linkwright.equations.evaluation import Evaluator, all_values, numbers, quantities
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.program import Program

Array = NDArray[np.float64]

CLOSED, NOT_CLOSED, OFF_BRANCH = 0, 1, 2
WORDS = ("closed", "not closed", "ran off the branch")
"""What became of a pose, by the number of its status."""

_SHARP = 1e-14  # below which more turns bring nothing
PLACES = 16
"""Places of a line that one call of the kernel closes."""

_FEW = 3  # turns from a neighbor
_CALLS = 12
_PROGRESS = 0.7  # of the residual at most that another call leaves behind, or it was the last
_WALK = 60  # steps of a walk to a place that did not close
_SHORTEST = 1 / 500  # of the way


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ClosedPoses:
    """Poses whose loops were closed; the axes of all arrays begin with those of what was known."""

    names: tuple[str, ...]  # of all coordinates
    q: Array = field(repr=False)  # their values, rad or m
    # what is left, relative to the size of the Jacobian: about the change of coordinates that would
    # remove it
    residual: Array = field(repr=False)
    # 0 closed, 1 not closed, 2 closed on another branch than the start's
    status: NDArray[np.int8] = field(repr=False)
    worst: NDArray[np.int_] = field(repr=False)  # the number of the relation that is left over most
    # the names of all relations and of what was known
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
        left = f"{worst!r} is left by {float(self.residual[index]):.3g} where the steps ended"
        return f"not closed: {left}; it is out of reach, or far from the start"


@dataclass(slots=True)
class PoseRows:
    """What was found of some poses, as rows; the arrays are those of `ClosedPoses`."""

    q: Array
    residual: Array
    status: NDArray[np.int8]
    worst: NDArray[np.int_]

    def take(self, rows: Any, found: PoseRows) -> None:
        """Put what was found of some of the poses in its place."""
        self.q[rows], self.residual[rows] = found.q, found.residual
        self.status[rows], self.worst[rows] = found.status, found.worst

    def of(self, rows: Any) -> PoseRows:
        """Return a part of the poses."""
        return PoseRows(self.q[rows], self.residual[rows], self.status[rows], self.worst[rows])


@dataclass(slots=True)
class LineFront:
    """Where lines of poses have come to: for each the last pose on the branch, and those before."""

    x: Array  # what was known there
    q: list[Array]  # its coordinates, the newest first
    # how many poses in a row have closed, up to three; 0 where the last did not
    length: NDArray[np.int_]
    here: PoseRows  # the poses at the last place, closed or not

    def of(self, rows: Any) -> LineFront:
        """Return the front of some lines, which goes on by itself."""
        q = [last[rows].copy() for last in self.q]
        return LineFront(self.x[rows].copy(), q, self.length[rows].copy(), self.here.of(rows))

    def put(self, rows: Any, other: LineFront) -> None:
        """Put the front of some lines back in its place."""
        self.x[rows], self.length[rows] = other.x, other.length
        for own, last in zip(self.q, other.q, strict=True):
            own[rows] = last

    def move(self, x: Array, found: PoseRows) -> None:
        """Go to the next place, where some poses have closed."""
        good = found.status == CLOSED
        column = good[:, None]
        shifted = [found.q, *self.q[:2]]
        self.q = [np.where(column, new, old) for new, old in zip(shifted, self.q, strict=True)]
        self.x = np.where(column, x, self.x)
        self.length = np.where(good, np.minimum(self.length + 1, 3), 0)
        self.here = found

    def predicted(self) -> Array:
        """Return where the poses at the next place are expected, by the last three at most."""
        now, before, first = self.q
        many = self.length[:, None]
        return np.where(
            many >= 3, 3.0 * (now - before) + first, np.where(many == 2, 2.0 * now - before, now)
        )


def _stacked(rows: Sequence[PoseRows]) -> PoseRows:
    """Return poses with one more axis in front."""
    return PoseRows(*(np.array([getattr(r, n) for r in rows]) for n in PoseRows.__slots__))


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
        self.machine = machine
        self.known = tuple(known)
        self.entries = known_entries(machine, self.known)
        self.names = tuple(q.name for q in machine.coordinates)
        self.relations = residual_names(machine, self.known)
        self.program: Program = closing_program(machine, self.known, unknown)
        self._values = all_values(machine.mechanism, values)
        self._unknown = None if unknown is None else tuple(unknown)
        self._kernel = compiled(self.program)
        computed = set(self.names) - set(self.entries) if unknown is None else set(unknown)
        self._computed = [i for i, n in enumerate(self.names) if n in computed]
        self._along: Kernel | None = None
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
        status = np.where(residual <= ENOUGH, CLOSED, NOT_CLOSED).astype(np.int8)
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
        self,
        x: Array,
        start: Array,
        threads: int = 1,
        wanted: NDArray[np.bool_] | None = None,
        longest: float = WAY,
    ) -> tuple[Array, Array, NDArray[np.int_], NDArray[np.bool_]]:
        """Return coordinates, residuals, the worst relations, and who ran far from its start.

        Args:
            x: what is known, rows.
            start: coordinates, rows.
            wanted: who is worth more calls; all by default.
            longest: the way, in first steps, from which on a pose ran far.
        """
        q, residual, worst, first, moved = self._call(x, start, threads)
        far = moved > longest * first + STILL
        late = residual > _SHARP
        rows = np.flatnonzero(late if wanted is None else late & wanted)
        for _ in range(_CALLS):
            if not len(rows):
                break
            before = residual[rows]
            again, left, which, _, _ = self._call(x[rows], q[rows], threads)
            better = left < before
            q[rows[better]] = again[better]
            residual[rows[better]], worst[rows[better]] = left[better], which[better]
            steps = q[rows][:, self._computed] - start[rows][:, self._computed]
            way = np.sqrt((steps**2).sum(axis=1))
            far[rows] = way > longest * first[rows] + STILL
            rows = rows[(left > _SHARP) & (left < _PROGRESS * before)]
        return q, residual, worst, far

    def _call(
        self, x: Array, start: Array, threads: int
    ) -> tuple[Array, Array, NDArray[np.int_], Array, Array]:
        q, residual, worst, first, moved = self._kernel.batch(
            start, x, *self._fixed, size=len(x), threads=threads
        )
        return q, residual[:, 0], worst[:, 0].astype(int), first[:, 0], moved[:, 0]

    # -- grids -------------------------------------------------------------------------------------
    def follow(
        self, x: ArrayLike, start: ArrayLike | None = None, *, threads: int = 1
    ) -> ClosedPoses:
        """Return the poses of a grid, each closed from its neighbor, on the branch of the start.

        The first place of every line is reached straight from the start, in as many steps as it
        takes; along the first axis all lines advance together. A pose that does not close, or
        closes elsewhere than where Newton's method converges to from its neighbor, is tried again
        in smaller steps before it is given up.

        Args:
            x: what is known, in the order of `entries` along the last axis; the other axes are
                those of the grid.
            start: a closed configuration of the branch; by default the mechanism's own.
        """
        grid = np.asarray(x, dtype=float)
        if grid.ndim < 1:
            raise ShapeError("a grid of what is known has at least one axis")
        shape, k = grid.shape[:-1], grid.shape[-1]
        self._rows(grid.reshape(-1, k))
        first = self._starts(start, 1)[0]
        count = shape[0] if shape else 1
        lines = grid.reshape(count, -1, k)
        found = []
        if grid.size:
            front = self.begin(lines[0], first, threads=threads)
            found.append(_stacked([front.here]))
            for i in range(1, count, PLACES):
                found.append(self.go_on(front, lines[i : i + PLACES], threads=threads))
        parts = [np.concatenate([getattr(r, name) for r in found]) for name in PoseRows.__slots__]
        q, residual, status, worst = (
            p.reshape(*shape, *(() if i else (len(self.names),))) for i, p in enumerate(parts)
        )
        return ClosedPoses(self.names, q, residual, status, worst, self.relations)

    def begin(
        self, x: Array, start: Array, *, way: Sequence[Array] = (), threads: int = 1
    ) -> LineFront:
        """Return the first poses of lines, each reached from one closed configuration.

        Args:
            x: what is known there, a row for each line.
            way: what is known on the way there, such rows; straight on by default.
        """
        at = np.broadcast_to(self.values_of(start[None]), x.shape)
        q = np.broadcast_to(start, (len(x), len(start)))
        for place in way:
            at, q, _ = self._walked(at, place, q, threads)
        at, q, found = self._walked(at, x, q, threads)
        good = found.status == CLOSED
        return LineFront(at, [q, q.copy(), q.copy()], good.astype(int), found)

    def _walked(self, at: Array, x: Array, q: Array, threads: int) -> tuple[Array, Array, PoseRows]:
        """Return what is known and the coordinates after a walk, as before where none closed."""
        found = self.walk(at, x, q, threads=threads)
        good = (found.status == CLOSED)[:, None]
        return np.where(good, x, at), np.where(good, found.q, q), found

    def go_on(self, front: LineFront, x: Array, *, threads: int = 1) -> PoseRows:
        """Close all lines at the next places, one after the other, and move the front there.

        Lines on which all goes well stay in one call of the kernel; others are advanced place by
        place. The result has an axis for places, then one for lines.

        Args:
            front: is changed.
            x: what is known, an axis for places, then one for lines.
        """
        if len(x) != PLACES or not self._computed:
            made = []
            for place in x:
                self.advance(front, place, threads=threads)
                made.append(front.here)
            return _stacked(made)
        q, residual, worst, good, *ends = self._line.batch(
            *(np.ascontiguousarray(last[:, self._computed]) for last in front.q),
            front.length[:, None].astype(float),
            np.ascontiguousarray(np.swapaxes(x, 0, 1)),
            *self._fixed,
            size=x.shape[1],
            threads=threads,
        )
        closes = good > 0
        known = np.concatenate([front.length[:, None] > 0, closes[:, :-1]], axis=1)
        stops = ~closes & known
        rows = np.flatnonzero(stops.any(axis=1))
        aside = np.where(residual <= ENOUGH, OFF_BRANCH, NOT_CLOSED)
        status = np.where(closes, CLOSED, aside).astype(np.int8)
        found = PoseRows(np.swapaxes(q, 0, 1), residual.T, status.T, worst.T.astype(int))
        rows, slow = self._tried_again(front, x, found, rows, stops, threads)
        for last, end in zip(front.q, ends, strict=False):
            last[:, self._computed] = end
        front.length = ends[3][:, 0].astype(int)
        last_good = PLACES - 1 - closes[:, ::-1].argmax(axis=1)
        moved = np.flatnonzero(closes.any(axis=1))
        front.x[moved] = x[last_good[moved], moved]
        front.put(rows, slow)
        front.here = found.of(PLACES - 1)
        return found

    def _tried_again(
        self,
        front: LineFront,
        x: Array,
        found: PoseRows,
        rows: NDArray[np.int_],
        stops: NDArray[np.bool_],
        threads: int,
    ) -> tuple[NDArray[np.int_], LineFront]:
        """Take lines that stop over that place with more care; return those that go on.

        Each goes on from its own place. Those that have to walk wait for one another, so that all
        of them walk at once.
        """
        place = stops[rows].argmax(axis=1)
        begins = (place == 0)[:, None]
        before = np.maximum(place - 1, 0)
        q = np.where(begins, front.q[0][rows], found.q[before, rows])
        was = np.where(begins, front.x[rows], x[before, rows])
        here = found.of((place, rows))
        slow = LineFront(was, [q, q.copy(), q.copy()], np.ones(len(rows), dtype=int), here)
        at, waits, alive = (np.array(v) for v in (place, place < 0, place >= 0))
        while True:
            own = np.flatnonzero(~waits & alive & (at < PLACES))
            part = slow.of(own)
            if len(own):
                known = part.length > 0
                tried = self._tried(x[at[own], rows[own]], part.predicted(), threads, known)
                late = (tried.status != CLOSED) & known
                waits[own[late]] = True
                own, part, tried = own[~late], part.of(~late), tried.of(~late)
            else:
                own = np.flatnonzero(waits)
                if not len(own):
                    break
                part = slow.of(own)
                tried = self.walk(part.x, x[at[own], rows[own]], part.q[0], threads=threads)
                waits[own] = False
                alive[own] = (tried.status == CLOSED) | (at[own] > place[own])
            part.move(x[at[own], rows[own]], tried)
            found.take((at[own], rows[own]), tried)
            slow.put(own, part)
            at[own] += 1
        return rows[alive], slow.of(alive)

    def advance(self, front: LineFront, x: Array, *, threads: int = 1) -> None:
        """Close all lines at their next place, and move the front there.

        Lines whose last pose did not close are tried from their last pose on the branch, once.

        Args:
            x: what is known at the next place, a row for each line.
        """
        known = front.length > 0
        found = self._tried(x, front.predicted(), threads, known)
        rows = np.flatnonzero((found.status != CLOSED) & known)
        if len(rows):
            walked = self.walk(front.x[rows], x[rows], front.q[0][rows], threads=threads)
            found.take(rows, walked)
        front.move(x, found)

    def _tried(
        self, x: Array, start: Array, threads: int, known: NDArray[np.bool_] | None = None
    ) -> PoseRows:
        q, residual, worst, far = self.turned(x, start, threads, known)
        status = np.where(residual > ENOUGH, NOT_CLOSED, np.where(far, OFF_BRANCH, CLOSED))
        return PoseRows(q, residual, status.astype(np.int8), worst)

    def walk(self, before: Array, x: Array, q: Array, *, threads: int = 1) -> PoseRows:
        """Return the poses at places reached from closed ones, in steps as short as they must be.

        A step that does not close, or leaves the branch, is halved; one that does is doubled. A
        pose is given up where steps of a five-hundredth of the way do not help.

        Args:
            before: what is known at the closed poses, rows.
            x: what is known where they are to go.
        """
        found = self._tried(x, q, threads)
        rows = np.flatnonzero(found.status != CLOSED)
        now, share, step = q[rows].copy(), np.zeros(len(rows)), np.full(len(rows), 0.5)
        for _ in range(_WALK):
            if not len(rows):
                break
            after = np.minimum(share + step, 1.0)
            there = self._between(before[rows], x[rows], after[:, None])
            tried = self._tried(there, now, threads)
            good = tried.status == CLOSED
            now[good] = tried.q[good]
            share, step = np.where(good, after, share), np.where(good, 2.0 * step, 0.5 * step)
            arrived = good & (after == 1.0)
            found.take(rows[arrived], tried.of(arrived))
            on = ~arrived & (step > _SHORTEST)
            rows, now, share, step = rows[on], now[on], share[on], step[on]
        return found

    @property
    def _line(self) -> Kernel:
        if self._along is None:
            made = line_program(self.machine, self.known, self._unknown, PLACES, turns=_FEW)
            self._along = compiled(made)
        return self._along

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

    def _between(self, before: Array, after: Array, share: float | Array) -> Array:
        """Return what is known on the way from one place to another."""
        if np.all(share == 1.0):
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
        return np.where(share == 1.0, after, found)
