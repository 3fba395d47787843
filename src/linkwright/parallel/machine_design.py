"""Dimensions of machines by optimization: the best worst case over poses, under limits.

What is wanted (`linkwright.parallel.chart_quantities`: transmission, effort, condition, ...) is
computed at every pose with the loops closed for the dimensions at hand. The worst of all poses is
made smooth by the function of Kreisselmeier and Steinhauser, which is never better than the true
worst one. Its derivatives are exact: those of the quantity by coordinates and dimensions are
Programs, and the coordinates follow dimensions by the implicit function theorem. SciPy's SLSQP or
trust-constr goes downhill with them; `differential evolution` looks everywhere first. What is
reported at the end are true worst cases, not smooth ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr
from linkwright.algebra.calculus import gradient
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError, unknown
from linkwright.base.reprs import one_line
from linkwright.equations.batch_closing import ClosedPoses, Closing
from linkwright.equations.closing import known_entries, known_expressions
from linkwright.equations.evaluation import BatchEvaluator, quantities
from linkwright.equations.parallel_machine import (
    ParallelMachine,
    parallel_machine,
    with_free_dimensions,
)
from linkwright.mechanism import ModelLike
from linkwright.parallel.chart_quantities import ChartTerms, quantity_of
from linkwright.parallel.flexing import SoftParts
from linkwright.parallel.machine_rates import machine_rates
from linkwright.program import Program
from linkwright.robots.closing import known_rows
from linkwright.robots.derivatives import derivative_program

__all__ = ["METHODS", "DesignLimit", "MachineDesign", "design"]

Array = NDArray[np.float64]
METHODS = ("SLSQP", "trust-constr", "differential evolution")
_SHARP = (60.0, 600.0)  # of the smooth worst case, which lacks log(n) over that, of the scale
_LOST = 1e3  # how much a pose out of reach counts, by what is left of its relations


@dataclass(frozen=True, slots=True)
class DesignLimit:
    """A limit of a quantity in all poses.

    >>> DesignLimit("effort", most=4000.0).most
    4000.0
    """

    quantity: str  # its name in charts
    least: float | None = None  # that it must have; none by default
    most: float | None = None  # that it may have, by magnitude; none by default


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class MachineDesign:
    """What an optimization found.

    >>> MachineDesign({"h": 0.5}, "the largest transmission", 40, 45, {}, True, "", 7).after
    45
    """

    values: dict[str, float]  # of the dimensions
    goal: str  # the quantity, "least" or "largest", in words
    before: float  # its worst case with the dimensions at the start
    after: float  # its worst case with those found
    worst: dict[str, float]  # worst cases of all limited quantities with those found
    met: bool  # whether all limits hold and all poses are reached
    words: str = field(repr=False)  # what became of it
    evaluations: int = field(repr=False)  # of the worst case


@worded
def design(
    source: ModelLike,
    variables: Mapping[str, tuple[float, float]],
    poses: Mapping[str, ArrayLike],
    *,
    largest: str | None = None,
    least: str | None = None,
    limits: Sequence[DesignLimit] = (),
    method: str = "SLSQP",
    start: Mapping[str, float] | None = None,
    turns: int = 60,
    seed: int = 0,
    soft: Mapping[str, Mapping[str, Any]] | None = None,
) -> MachineDesign:
    """Return the dimensions with the best worst case of a quantity over poses.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="y", mass=2, com=("x", 0, 0), inertia=0)
    >>> m.gravity()
    >>> p = m.set_platform(m.point("tip", arm, (1, 0, 0)))
    >>> m.actuate("arm")
    >>> m.defaults(x=0.5)
    >>> up = {"direction": [[0, 0, 1], [0.6, 0, 0.8]]}
    >>> found = design(m, {"x": (0.1, 1.0)}, up, least="effort")
    >>> round(found.values["x"], 6), round(found.before, 2), round(found.after, 3)
    (0.1, 9.81, 1.962)
    """
    if (largest is None) == (least is None):
        raise InputError("a design has one goal", remedy="give largest= or least=, not both")
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}", remedy=f"one of {', '.join(METHODS)}")
    goal = DesignLimit(largest or least or "")
    problem = _Problem(
        source, variables, poses, goal, largest is not None, limits, start, SoftParts.of(soft)
    )
    x = problem.first
    before = problem.true_worst(x)[goal.quantity]
    if method == "differential evolution":
        x = _everywhere(problem, x, turns, seed)
        method = "SLSQP"
    for problem.sharp in _SHARP:
        x = _downhill(problem, x, method, turns)
    return problem.told(x, before)


def _everywhere(problem: _Problem, x: Array, turns: int, seed: int) -> Array:
    from scipy.optimize import differential_evolution

    def cost(y: Array) -> float:
        value, _ = problem.objective(y)
        lacks = [max(0.0, -problem.margin(k, y)[0]) for k in range(len(problem.limits))]
        return float(value + _LOST * sum(lacks))

    found = differential_evolution(
        cost, problem.bounds, maxiter=turns, popsize=8, rng=seed, x0=x, polish=False, tol=1e-6
    )
    return np.asarray(found.x)


def _downhill(problem: _Problem, x: Array, method: str, turns: int) -> Array:
    from scipy.optimize import NonlinearConstraint, minimize

    count = len(problem.limits)
    options: dict[str, Any] = {"maxiter": turns}
    constraints: Any = [
        {
            "type": "ineq",
            "fun": lambda y, k=k: problem.margin(k, y)[0],
            "jac": lambda y, k=k: problem.margin(k, y)[1],
        }
        for k in range(count)
    ]
    if method == "trust-constr":
        constraints = [
            NonlinearConstraint(
                lambda y, k=k: problem.margin(k, y)[0],
                0.0,
                np.inf,
                jac=lambda y, k=k: problem.margin(k, y)[1],
            )
            for k in range(count)
        ]
    else:
        options["ftol"] = 1e-9
    found = minimize(
        problem.objective,
        x,
        jac=True,
        bounds=problem.bounds,
        constraints=constraints,
        method=method,
        options=options,
    )
    low, high = np.array(problem.bounds).T
    problem.message = str(found.message)
    return np.asarray(np.clip(found.x, low, high), dtype=float)


class _Problem:
    """Worst cases over poses with their derivatives by dimensions."""

    def __init__(
        self,
        source: ModelLike,
        variables: Mapping[str, tuple[float, float]],
        poses: Mapping[str, ArrayLike],
        goal: DesignLimit,
        largest: bool,
        limits: Sequence[DesignLimit],
        start: Mapping[str, float] | None,
        soft: SoftParts | None = None,
    ) -> None:
        machine = self.machine = parallel_machine(source)
        m = machine.mechanism
        self.goal, self.largest = goal, largest
        self.names = tuple(variables)
        self.bounds = _bounds(machine, variables)
        low, high = np.array(self.bounds).T
        self.first = np.clip([m.values[name] for name in self.names], low, high)
        self.limits = _sides(limits)
        self.message = ""
        self.sharp = _SHARP[0]
        self.evaluations = 0
        freed = with_free_dimensions(machine, self.names)
        self._x = np.ascontiguousarray(
            known_rows(poses, len(machine.actuators)).reshape(
                -1, len(known_entries(machine, tuple(poses)))
            )
        )
        self._closing = Closing(freed, (*poses, *self.names))
        whole = Closing(machine, tuple(poses))
        own = whole.assembled(start)
        reached = whole.follow(self._x, own) if len(self._x) > 1 else whole.close(self._x, own)
        if not reached.closed.all():
            bad = int(np.flatnonzero(~reached.closed)[0])
            raise DomainError(
                f"{m.name!r} does not reach pose {bad + 1} with the dimensions at the start: "
                f"{reached.words(bad)}",
                remedy="start with dimensions that reach all poses, or ask for fewer",
            )
        self._at = reached.q
        wanted = list(dict.fromkeys([goal.quantity, *(k.quantity for k in self.limits)]))
        rates = machine_rates(machine)
        terms = ChartTerms(rates, _output(poses), list(map(float, own)), soft)
        self._columns: dict[str, list[int]] = {}
        shown: list[Expr] = []
        for name in wanted:
            columns = list(quantity_of(name).columns(terms).values())
            self._columns[name] = list(range(len(shown), len(shown) + len(columns)))
            shown += columns
        made = quantities(
            m, "design", {"f": shown}, shown, terms.statements, q=list(machine.coordinates)
        )
        self._f = _Sloped(machine, made, self.names)
        rows = [
            gradient(e, list(freed.coordinates))
            for e in (*freed.relations, *known_expressions(freed, tuple(poses)))
        ]
        flat = [e for row in rows for e in row]
        made = quantities(m, "closing_slopes", {"G": rows}, flat, q=list(freed.coordinates))
        self._g = BatchEvaluator(m, made)
        self._kept: tuple[bytes, tuple[Array, Array, Array]] | None = None
        values, _, _ = self._evaluated(self.first)
        self._scale = {
            name: max(float(np.abs(values[:, columns]).max()), 1e-12)
            for name, columns in self._columns.items()
        }

    # -- worst cases -------------------------------------------------------------------------------
    def objective(self, x: Array) -> tuple[float, Array]:
        """Return the smooth worst case of the goal, to be made small, and its slopes."""
        value, slopes = self._smooth(self.goal.quantity, x, -1.0 if self.largest else 1.0)
        lost, more = self._lost(x)
        return value + lost, slopes + more

    def margin(self, k: int, x: Array) -> tuple[float, Array]:
        """Return what a limit leaves, by the size of its quantity, and its slopes."""
        limit = self.limits[k]
        scale = self._scale[limit.quantity]
        if limit.most is not None:
            value, slopes = self._smooth(limit.quantity, x, 1.0)
            return limit.most / scale - value, -slopes
        assert limit.least is not None
        value, slopes = self._smooth(limit.quantity, x, -1.0)
        return -limit.least / scale - value, -slopes

    def _smooth(self, quantity: str, x: Array, sign: float) -> tuple[float, Array]:
        """Return the smooth greatest of a quantity (of its magnitude for +1, of -f for -1)."""
        values, slopes, left = self._evaluated(x)
        columns = self._columns[quantity]
        f = values[:, columns] / self._scale[quantity]
        d = slopes[:, columns] / self._scale[quantity]
        turn = np.where(f < 0, -1.0, 1.0) if sign > 0 else np.full_like(f, -1.0)
        f, d = f * turn, d * turn[..., None]
        f = np.where(left[:, None] > _REACHED, -np.inf, f)
        top = float(f.max())
        if not math.isfinite(top):
            return 0.0, np.zeros(len(x))
        weights = np.exp(self.sharp * (f - top))
        total = float(weights.sum())
        value = top + math.log(total) / self.sharp
        return value, np.einsum("ij,ijk->k", weights / total, np.nan_to_num(d))

    def _lost(self, x: Array) -> tuple[float, Array]:
        """Return what poses out of reach count."""
        _, _, left = self._evaluated(x)
        gone = left > _REACHED
        if not gone.any():
            return 0.0, np.zeros(len(x))
        away = self.first - x
        return 1.0 + _LOST * float(left[gone].sum()), -away

    def true_worst(self, x: Array) -> dict[str, float]:
        """Return the true worst case of each quantity."""
        values, _, _ = self._evaluated(x)
        found = {}
        for name, columns in self._columns.items():
            f = values[:, columns]
            lower = (name == self.goal.quantity and self.largest) or any(
                k.quantity == name and k.least is not None for k in self.limits
            )
            found[name] = float(f.min() if lower else np.abs(f).max())
        return found

    def _evaluated(self, x: Array) -> tuple[Array, Array, Array]:
        """Return quantities, their slopes by dimensions, and what is left of relations, by pose."""
        key = np.asarray(x, dtype=float).tobytes()
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        self.evaluations += 1
        n = len(self.machine.coordinates)
        closed = self._closed(self._at, x, _SHARES[0])
        for share in _SHARES[1:]:  # always from the first design, so that the branch is the same
            closed = self._closed(closed.q[:, :n], x, share)
        q, rows = closed.q[:, :n], np.broadcast_to(x, (len(self._x), len(x)))
        values, by_q, by_p = self._f(q, x)
        (table,) = self._g(np.hstack([q, rows]))
        follow = -np.linalg.pinv(table[:, :, :n], rcond=1e-10) @ table[:, :, n:]
        slopes = by_p + by_q @ follow
        left = np.where(closed.closed, 0.0, closed.residual)
        self._kept = key, (values, slopes, left)
        return self._kept[1]

    def _closed(self, q: Array, x: Array, share: float) -> ClosedPoses:
        """Return the poses with dimensions on the way from the first ones."""
        now = self.first + share * (np.asarray(x) - self.first)
        rows = np.broadcast_to(now, (len(self._x), len(now)))
        return self._closing.close(np.hstack([self._x, rows]), np.hstack([q, rows]))

    def told(self, x: Array, before: float) -> MachineDesign:
        """Return what was found, with true worst cases."""
        _, _, left = self._evaluated(x)
        worst = self.true_worst(x)
        missed = [k for k in self.limits if not _holds(k, worst[k.quantity])]
        lost = int((left > _REACHED).sum())
        words = [self.message]
        words += [
            f"{k.quantity} is {worst[k.quantity]:.6g}, which misses its limit" for k in missed
        ]
        if lost:
            words.append(f"{lost} poses are out of reach")
        return MachineDesign(
            dict(zip(self.names, map(float, x), strict=True)),
            f"the {'largest' if self.largest else 'least'} {self.goal.quantity}",
            before,
            worst[self.goal.quantity],
            worst,
            not missed and not lost,
            "; ".join(words),
            self.evaluations,
        )


_REACHED = 1e-10
_SHARES = (0.25, 0.5, 0.75, 1.0)


class _Sloped:
    """Quantities with their derivatives by coordinates and by some parameters, in batches."""

    def __init__(self, machine: ParallelMachine, made: Program, names: Sequence[str]) -> None:
        from linkwright.backends.kernel import compile as compiled

        inputs = [port.name for port in made.inputs]
        by = [name for name in ("q", "p") if name in inputs]
        self._kernels = compiled(made), compiled(derivative_program(made, by))
        self._ports = [tuple(x.name for x in port.entries) for port in made.inputs[1:]]
        self._values = {**machine.mechanism.values, machine.mechanism.time.name: 0.0}
        self._names = tuple(names)
        p = next((port for port in made.inputs if port.name == "p"), None)
        self._places = [] if p is None else [x.name for x in p.entries]

    def __call__(self, q: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return values (n x f) and slopes by coordinates and by the parameters (n x f x k)."""
        known = {**self._values, **dict(zip(self._names, map(float, x), strict=True))}
        fixed = [np.array([known[name] for name in port]) for port in self._ports]
        rows = np.ascontiguousarray(q)
        value = self._kernels[0].batch(rows, *fixed, size=len(rows))
        found = self._kernels[1].batch(rows, *fixed, size=len(rows))
        parts = found if isinstance(found, tuple) else (found,)
        count = value.shape[1]
        by_p = np.zeros((len(rows), count, len(self._names)))
        for k, name in enumerate(self._names):
            if name in self._places:
                by_p[:, :, k] = parts[1][:, :, self._places.index(name)]
        return value, parts[0].reshape(len(rows), count, -1), by_p


def _output(poses: Mapping[str, ArrayLike]) -> str:
    """Return what counts of the platform's motion."""
    if "direction" in poses:
        return "direction"
    return "pose" if "rotation" in poses or "position" not in poses else "position"


def _holds(limit: DesignLimit, worst: float) -> bool:
    slack = 1e-6 * max(abs(worst), 1e-9)
    if limit.most is not None and worst > limit.most + slack:
        return False
    return limit.least is None or worst >= limit.least - slack


def _sides(limits: Sequence[DesignLimit]) -> list[DesignLimit]:
    """Return limits with one side each."""
    found = []
    for k in limits:
        quantity_of(k.quantity)
        if k.least is None and k.most is None:
            raise InputError(
                f"the limit of {k.quantity!r} has no number", remedy="give least= or most="
            )
        found += [DesignLimit(k.quantity, least=k.least)] if k.least is not None else []
        found += [DesignLimit(k.quantity, most=k.most)] if k.most is not None else []
    return found


def _bounds(
    machine: ParallelMachine, variables: Mapping[str, tuple[float, float]]
) -> list[tuple[float, float]]:
    known = machine.mechanism.parameters
    if not variables:
        raise InputError("a design has no variables", remedy="name parameters with their ranges")
    for name, (low, high) in variables.items():
        if name not in known:
            raise unknown(
                "parameter", name, known, "its file lists them", owner=repr(machine.mechanism.name)
            )
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(
                f"{name!r} may go from {low} to {high}, which is not a range",
                remedy="give a least value below the greatest",
            )
    return [(float(low), float(high)) for low, high in variables.values()]
