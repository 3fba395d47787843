"""Charts computed: lines of poses closed one after the other, quantities, causes, exact ends.

Lines start at the place that is nearest to the machine's own configuration and go both ways. What a
line gives by itself depends on nothing else, so that parts can be computed in any order, by any
number of threads, and again. Then what did not close is tried from the places beside it
(`linkwright.equations.grid_closing`), over the whole chart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, constant, cos, free_symbols, where
from linkwright.algebra.units import Amount
from linkwright.backends.kernel import compile as compiled
from linkwright.equations.batch_closing import CLOSED, PLACES, Closing
from linkwright.equations.closing import ENOUGH
from linkwright.equations.evaluation import all_values, numbers
from linkwright.equations.grid_closing import FilledPlaces, Places, fill
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mechanism.parts import CollisionCapsule
from linkwright.parallel.chart_quantities import ChartTerms, quantity_of
from linkwright.parallel.chart_space import Array, ChartSpace
from linkwright.parallel.distances import segment_distance
from linkwright.parallel.machine_rates import machine_rates
from linkwright.program import Program, program

if TYPE_CHECKING:
    from linkwright.parallel.flexing import SoftParts

Columns = dict[str, NDArray[Any]]

CAUSES = ("reached", "no solution", "joint limit", "cone", "collision", "effort")
"""Why a place is not reached, by the number in the column `reach`."""

NO_SOLUTION = 1
_SAMPLED = 64  # lines that have a say in where lines start
_TURNS = 18  # places on the way half around the vertical
_HALVINGS = 46
_TO_FOLD = 2.5  # first steps of the way to an end; it is twice the first at a fold
_COARSE = 4  # halvings in which the way may take several steps
_TOUCHING = 1e-6  # m


@dataclass(frozen=True, slots=True)
class ChartBound:
    """Something that a pose must keep: where its margin is below zero, the pose is not reached."""

    cause: int  # number in `CAUSES`
    name: str  # of what is at its end
    margin: Expr = field(repr=False)


def bounds_of(terms: ChartTerms) -> list[ChartBound]:
    """Return all that a machine's poses must keep, in the order of the causes."""
    machine = terms.machine
    mechanism = machine.mechanism
    found: list[ChartBound] = []
    for r in mechanism.ranges:
        if r.lower is not None:
            found.append(
                ChartBound(2, f"{r.coordinate.name} at its lower limit", r.coordinate - r.lower)
            )
        if r.upper is not None:
            found.append(
                ChartBound(2, f"{r.coordinate.name} at its upper limit", r.upper - r.coordinate)
            )
    for cone in mechanism.cones:
        margin = terms.hold(cone.cosine) - cos(constant(float(cone.angle)))
        found.append(ChartBound(3, f"the cone of {cone.joint}", margin))
    for one, two in capsule_pairs(terms, mechanism.collision_capsules):
        gap = _gap(terms, one, two) - one.radius - two.radius
        found.append(ChartBound(4, f"{one.name} meets {two.name}", gap))
    strong = {r.coordinate: r.effort for r in mechanism.ranges if r.effort is not None}
    if any(a in strong for a in machine.actuators):
        for a, effort in zip(machine.actuators, terms.efforts(), strict=True):
            if a in strong:
                size = where(effort < 0, -effort, effort)
                found.append(ChartBound(5, f"{a.name} at its greatest effort", strong[a] - size))
    return found


def capsule_pairs(
    terms: ChartTerms, capsules: Sequence[CollisionCapsule]
) -> list[tuple[CollisionCapsule, CollisionCapsule]]:
    """Return the pairs of capsules that may meet: those that hang on no common body or joint."""
    found = []
    for i, one in enumerate(capsules):
        for two in capsules[i + 1 :]:
            bodies = [{p.body for p in (c.first, c.second)} for c in (one, two)]
            joined = bodies[0] & bodies[1] - {terms.machine.mechanism.ground}
            both_fixed = bodies[0] | bodies[1] == {terms.machine.mechanism.ground}
            if not joined and not both_fixed and not _touch(terms, one, two):
                found.append((one, two))
    return found


def _touch(terms: ChartTerms, one: CollisionCapsule, two: CollisionCapsule) -> bool:
    """Whether two capsules share an end, as the machine stands: a joint is there."""
    places = [[terms.place(p) for p in (c.first, c.second)] for c in (one, two)]
    ways = [np.subtract(a, b) for a in places[0] for b in places[1]]
    return min(float(np.linalg.norm(w)) for w in ways) < _TOUCHING


def _gap(terms: ChartTerms, one: CollisionCapsule, two: CollisionCapsule) -> Expr:
    ground = terms.machine.mechanism.ground.frame
    ends = [
        tuple([terms.hold(x) for x in p.position.components(ground)] for p in (c.first, c.second))
        for c in (one, two)
    ]
    return segment_distance((ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]), terms.hold)


@dataclass(slots=True)
class LineEnds:
    """Where lines stop being reached: the last place that is, on both sides."""

    place: NDArray[np.int_]  # its number, -1 where nothing of the line is reached
    q: Array  # its coordinates
    cause: NDArray[np.int8]  # at the next place, 0 where the chart ends first


def line_ends(
    cause: NDArray[np.int8], origin: int, poses: Callable[[NDArray[np.int_]], Array]
) -> tuple[LineEnds, LineEnds]:
    """Return the lower and the upper ends, around the reached place next to each line's start."""
    places, lines = cause.shape
    every, number = np.arange(lines), np.arange(places)[:, None]
    good = cause == 0
    far = np.abs(number - origin)
    first = np.where(good, far, places).argmin(axis=0)
    some = good[first, every]
    lower = np.where(~good & (number < first), number, -1).max(axis=0) + 1
    upper = np.where(~good & (number > first), number, places).min(axis=0) - 1
    found = []
    for last, step in ((lower, -1), (upper, 1)):
        after = np.clip(last + step, 0, places - 1)
        inside = some & (last + step >= 0) & (last + step < places)
        why = np.where(inside, cause[after, every], 0).astype(np.int8)
        q = poses(np.clip(last, 0, places - 1))
        found.append(LineEnds(np.where(some, last, -1), q, why))
    return found[0], found[1]


@dataclass(frozen=True, slots=True, eq=False)
class LinePoses:
    """Some lines of a chart; the axes of arrays are places and lines."""

    q: Array  # coordinates
    columns: Columns


class ChartEngine:
    """Everything that is compiled for a chart."""

    def __init__(
        self,
        machine: ParallelMachine,
        space: ChartSpace,
        of: Sequence[str],
        *,
        output: str | None = None,
        start: Mapping[str, Amount] | None = None,
        values: Mapping[str, Amount] | None = None,
        length: float | None = None,  # the characteristic length, m
        soft: SoftParts | None = None,  # what gives way
    ) -> None:
        self.machine, self.space, self.of = machine, space, tuple(of)
        self.closing = Closing(machine, space.known, None, values)
        self.start = self.closing.start if start is None else self.closing.assembled(start)
        rates = machine_rates(machine, length=length)
        self.length = rates.length
        self.output = output or space.output
        terms = ChartTerms(rates, self.output, self.start.tolist(), soft)
        columns: dict[str, Expr] = {}
        self.units: dict[str, str] = {}
        for name in of:
            if name != "reach":
                quantity = quantity_of(name)
                made = quantity.columns(terms)
                columns |= made
                self.units |= {column: quantity.unit_of(terms, column) for column in made}
        self.bounds = bounds_of(terms)
        self.columns = tuple(columns)
        self.program = _chart_program(machine, terms, columns, self.bounds)
        self._kernel = compiled(self.program)
        known = all_values(machine.mechanism, values)
        self.fixed = [
            np.zeros(1) if p.name == "t" else numbers(machine.mechanism, p.entries, known)
            for p in self.program.inputs[1:]
        ]
        self.origin = self._origin()

    def _origin(self) -> int:
        """Return the place at which lines start: that nearest to the start."""
        space = self.space
        here = self.closing.values_of(self.start[None])[0]
        lines = np.linspace(0, space.lines - 1, min(_SAMPLED, space.lines)).astype(int)
        across = {k: v[:, None] for k, v in space.line_values(lines).items()}
        rows = space.rows(across, space.axes[-1].values)
        rows = rows.reshape(-1, len(space.axes[-1]), rows.shape[-1])
        return int(((rows - here) ** 2).sum(axis=-1).mean(axis=0).argmin())

    # -- lines -------------------------------------------------------------------------------------
    def part(self, first: int, last: int, threads: int) -> LinePoses:
        """Return some lines, each followed by itself from its start."""
        space, along = self.space, self.space.axes[-1].values
        across = space.line_values(np.arange(first, last))
        lines, places, o = last - first, len(along), self.origin
        x = space.rows(across, along[o])
        x = np.ascontiguousarray(np.broadcast_to(x, (lines, x.shape[-1])))
        begun = self.closing.begin(x, self.start, way=self._around(x), threads=threads)
        q = np.empty((places, lines, len(self.closing.names)))
        closed = np.empty((places, lines), dtype=bool)
        q[o], closed[o] = begun.here.q, begun.here.status == CLOSED
        for order in (range(o + 1, places), range(o - 1, -1, -1)):
            front, whole = begun.of(slice(None)), closed[o]
            numbers_ = np.array(order, dtype=int)
            for k in range(0, len(numbers_), PLACES):
                chosen = numbers_[k : k + PLACES]
                rows = space.rows(across, along[chosen][:, None])
                rows = np.broadcast_to(rows, (len(chosen), lines, rows.shape[-1]))
                found = self.closing.go_on(front, rows, threads=threads)
                # another branch may lie beyond a gap
                gapless = whole & np.logical_and.accumulate(found.status == CLOSED, axis=0)
                q[chosen], closed[chosen], whole = found.q, gapless, gapless[-1]
        columns = self.computed(q.reshape(-1, q.shape[-1]), closed.reshape(-1), threads)
        return LinePoses(q, {name: x.reshape(places, lines) for name, x in columns.items()})

    def _around(self, x: Array) -> list[Array]:
        """Return what is known on the way to the starts of lines: directions go about the vertical.

        So a turntable turns, and does not look over its back, beyond the zenith.
        """
        if self.space.known[0] != "direction":
            return []
        here = np.broadcast_to(self.closing.values_of(self.start[None]), x.shape)
        level = np.hypot(here[0, 0], here[0, 1])
        if level < 1e-9:
            return []
        turn = np.arctan2(here[:, 1], here[:, 0])
        whole = np.mod(np.arctan2(x[:, 1], x[:, 0]) - turn + np.pi, 2 * np.pi) - np.pi
        found = []
        for share in np.linspace(0, 1, _TURNS + 1)[1:]:
            row = here.copy()
            row[:, 0], row[:, 1] = (level * f(turn + share * whole) for f in (np.cos, np.sin))
            found.append(row)
        return found

    def filled(
        self, closed: NDArray[np.bool_], poses: Callable[[Places], Array], threads: int
    ) -> FilledPlaces:
        """Return the places that close from places beside them, though not along their line."""
        along = self.space.axes[-1].values

        def known(places: Places) -> Array:
            lines, place = np.divmod(places, len(along))
            return self.space.rows(self.space.line_values(lines), along[place])

        shape = self.space.shape
        return fill(self.closing, shape, known, closed, poses, self.start, threads=threads)

    def computed(self, q: Array, closed: NDArray[np.bool_], threads: int) -> Columns:
        """Return the columns of poses, of which some are closed."""
        values, cause, bound = self._kernel.batch(q, *self.fixed, size=len(q), threads=threads)
        found: Columns = {
            "reach": np.where(closed, cause[:, 0], NO_SOLUTION).astype(np.int8),
            "bound": np.where(closed, bound[:, 0], -1).astype(np.int16),
        }
        values[~closed] = np.nan
        return found | {name: values[:, k] for k, name in enumerate(self.columns)}

    def ends(self, lines: NDArray[np.int_], found: LineEnds, side: int, threads: int = 1) -> Array:
        """Return where lines stop being reached, values of the last axis; NaN where they do not."""
        along = self.space.axes[-1].values
        result = np.full(len(lines), np.nan)
        rows = np.flatnonzero((found.place >= 0) & (found.cause > 0))
        if not len(rows):
            return result
        across = self.space.line_values(lines[rows])
        low, high = along[found.place[rows]], along[found.place[rows] + side]
        q = found.q[rows]
        for k in range(_HALVINGS):
            middle = 0.5 * (low + high)
            before = self.space.rows(across, low) if k < _COARSE else None
            good, near = self._reached(across, middle, q, before, threads)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
            q = np.where(good[:, None], near, q)
        result[rows] = low
        return result

    def _reached(
        self,
        across: Mapping[str, Array],
        along: Array,
        q: Array,
        before: Array | None,
        threads: int,
    ) -> tuple[NDArray[np.bool_], Array]:
        """Return which poses are reached from neighbors, and their coordinates."""
        x = self.space.rows(across, along)
        near, residual, _, far = self.closing.turned(x, q, threads, None, _TO_FOLD)
        closed = (residual <= ENOUGH) & ~far
        rows = np.flatnonzero(~closed)
        if before is not None and len(rows):
            found = self.closing.walk(before[rows], x[rows], q[rows], threads=threads)
            near[rows], closed[rows] = found.q, found.status == CLOSED
        return self.computed(near, closed, threads)["reach"] == 0, near


def _chart_program(
    machine: ParallelMachine,
    terms: ChartTerms,
    columns: Mapping[str, Expr],
    bounds: list[ChartBound],
) -> Program:
    """Return the Program of all columns, of the cause and of the bound that is broken."""
    from linkwright.program.passes import optimize

    cause: Expr = constant(0)
    number: Expr = constant(-1)
    for k, bound in reversed(list(enumerate(bounds))):
        broken = terms.hold(where(bound.margin < 0, 1, 0)) > 0
        cause = where(broken, bound.cause, cause)
        number = where(broken, k, number)
    results = {"columns": [*columns.values()], "cause": [cause], "bound": [number]}
    if not columns:
        results["columns"] = [constant(0)]
    mechanism = machine.mechanism
    made = _operands(terms, results)
    used = set(free_symbols(*made))
    inputs: dict[str, Sequence[Expr]] = {
        "q": machine.coordinates,
        "p": [p for p in machine.parameters if p in used],
        "w": [w for w in mechanism.inputs.values() if w in used],
        "t": [mechanism.time] if mechanism.time in used else [],
    }
    inputs = {k: v for k, v in inputs.items() if v}
    whole = program(f"{mechanism.name}_chart", inputs, results, statements=terms.statements)
    return optimize(whole, rounds=1, brief=True)


def _operands(terms: ChartTerms, results: Mapping[str, Sequence[Expr]]) -> list[Expr]:
    found = [x for values in results.values() for x in values]
    for statement in terms.statements:
        found.extend(statement.operands)
    return found
