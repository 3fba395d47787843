"""Assembly of closed loops: coordinates and speeds that satisfy all constraints.

Positions are found by a full Newton-Raphson iteration on every relation at once, in place of the
diagonal correction of the thesis (section 8.3). Its Jacobian is exact. Steps are those of least
length, from a singular value decomposition in which singular values below `RANK` of the
largest count as zero (Golub and Van Loan, section 5.5), so redundant relations and singular
configurations do no harm; a step is halved until the residual falls.

Quaternions are kept at unit length by a relation of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, Expr, Vector, free_symbols, linear_coefficients, total
from linkwright.algebra.calculus import gradient
from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.evaluation import Array, Evaluator, Signals, all_values, quantities
from linkwright.mechanism import Constraint, Mechanism, ModelLike, Work, mechanism_of
from linkwright.program import Program

RANK = 1e-8
_CLOSED = 1e-10
_ITERATIONS = 60
_CONTINUED = 16


class AssemblyError(DomainError):
    """A mechanism whose loops do not close from the given start."""


class Relations:
    """The constraints of a mechanism as numbers."""

    def __init__(
        self,
        mechanism: Mechanism,
        values: Mapping[str, float],
        backend: str = "llvm",
        signals: Signals | None = None,
    ) -> None:
        kinematics = mechanism.kinematics()
        states = [s.symbol for s in mechanism.states]
        self.mechanism = mechanism
        self.coordinates = [q for q in kinematics.rates if q not in set(states)]
        self.speeds = [s.symbol for s in kinematics.speeds]
        self.positions = [c for c in mechanism.constraints if c.position is not None]
        self.units = [b.rotations for b in mechanism.bodies.values() if b.joint.quaternion]
        q = [*self.coordinates, *states]
        zero = [c.position for c in self.positions if c.position is not None]
        zero += [total(e**2 for e in unit) - ONE for unit in self.units]
        self.names = [c.name for c in self.positions] + ["a quaternion has unit length"] * len(
            self.units
        )
        self._position: Evaluator | None = None
        self._speed: Evaluator | None = None
        known = (*(p for _, p in sorted(mechanism.parameters.items())), *mechanism.inputs.values())
        content = _Content((*known, mechanism.time), tuple(q), mechanism)
        if zero:
            made = _position_program(content, tuple(zero), tuple(self.coordinates))
            self._position = Evaluator(mechanism, made, values, backend, signals)
        if mechanism.constraints:
            bound = tuple(c.speed for c in mechanism.constraints)
            made = _speed_program(content, bound, tuple(self.speeds))
            self._speed = Evaluator(mechanism, made, values, backend, signals)

    def position(self, q: Array, t: float) -> tuple[Array, Array]:
        """Return the residuals g of the relations of position, and their Jacobian."""
        if self._position is None:
            return np.zeros(0), np.zeros((0, len(self.coordinates)))
        g, jacobian = self._position(q=q, t=t)
        return g, jacobian

    def speed(self, q: Array, t: float) -> tuple[Array, Array]:
        """Return J and b of the relations J u + b = 0 between speeds."""
        if self._speed is None:
            return np.zeros((0, len(self.speeds))), np.zeros(0)
        jacobian, rest = self._speed(q=q, t=t)
        return jacobian, rest

    def closed(
        self,
        q: Array,
        t: float,
        free: Sequence[int] | None = None,
        iterations: int = _ITERATIONS,
        rank: float = RANK,
    ) -> tuple[Array, float]:
        """Return coordinates that satisfy the relations, and the residual left.

        The residual is relative to the size of the Jacobian: a change of coordinates that removes
        it is of that order.
        """
        columns = np.arange(len(self.coordinates)) if free is None else np.array(free, dtype=int)
        return newton_closed(lambda x: self.position(x, t), q, columns, iterations, rank)


@dataclass(frozen=True, slots=True)
class _Content:
    """What Programs of a mechanism's relations depend on, beside these."""

    known: tuple[Expr, ...]
    q: tuple[Expr, ...]
    mechanism: Mechanism = field(compare=False, repr=False)


@lru_cache(maxsize=16)
def _position_program(
    content: _Content, zero: tuple[Expr, ...], coordinates: tuple[Expr, ...]
) -> Program:
    """Return the Program of relations of position and their Jacobian."""
    rows = [gradient(g, coordinates) for g in zero]
    roots = [*zero, *(x for row in rows for x in row)]
    results: dict[str, Sequence[object]] = {"g": zero, "G": rows}
    return quantities(content.mechanism, "closure", results, roots, q=content.q)


@lru_cache(maxsize=16)
def _speed_program(content: _Content, bound: tuple[Expr, ...], speeds: tuple[Expr, ...]) -> Program:
    """Return the Program of J and b in the relations J u + b = 0 between speeds."""
    split = [linear_coefficients(x, speeds) for x in bound]
    rows = [[found[u] for u in speeds] for found, _ in split]
    rests = [rest for _, rest in split]
    roots = [*rests, *(x for row in rows for x in row)]
    results: dict[str, Sequence[object]] = {"J": rows, "b": rests}
    return quantities(content.mechanism, "constraints", results, roots, q=content.q)


def newton_closed(
    position: Callable[[Array], tuple[Array, Array]],
    q: Array,
    columns: NDArray[np.int_],
    iterations: int = _ITERATIONS,
    rank: float = RANK,
) -> tuple[Array, float]:
    """Return coordinates that satisfy relations, and the residual left."""
    q = np.array(q, dtype=float)
    g, jacobian = position(q)
    for _ in range(iterations):
        size = max(float(np.abs(jacobian).max(initial=0.0)), 1e-300)
        error = float(np.abs(g).max(initial=0.0))
        if error <= 1e-15 * size or not len(columns):
            break
        step = least_norm(jacobian[:, columns], -g, rank)
        scale = 1.0
        while True:
            trial = q.copy()
            trial[columns] += scale * step
            g_new, jacobian_new = position(trial)
            if np.linalg.norm(g_new) < np.linalg.norm(g) or scale < 1e-3:
                break
            scale *= 0.5
        if not np.linalg.norm(g_new) < np.linalg.norm(g):
            break
        q, g, jacobian = trial, g_new, jacobian_new
    size = max(float(np.abs(jacobian).max(initial=0.0)), 1e-300)
    return q, float(np.abs(g).max(initial=0.0)) / size


LARGE = 30
"""Rows from which on a matrix is first taken to have full rank."""

_REGULAR = 1e-3


def least_norm(matrix: Array, right: Array, rank: float = RANK) -> Array:
    """Return the shortest x that minimizes |matrix x - right|; small singular values count as 0."""
    if not matrix.size:
        return np.zeros(matrix.shape[1])
    if LARGE <= matrix.shape[0] <= matrix.shape[1]:
        q, r = np.linalg.qr(matrix.T)
        sizes = np.abs(r.diagonal())
        if sizes.min() > _REGULAR * sizes.max():  # a tenth of the time of singular values
            shortest: Array = q @ np.linalg.solve(r.T, right)
            return shortest
    u, s, vt = decomposed(matrix, full_matrices=False)
    keep = s > rank * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
    found: Array = vt[keep].T @ ((u[:, keep].T @ right) / s[keep])
    return found


def decomposed(matrix: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition.

    That of a large matrix is by QR iteration: NumPy's divides and conquers, with products of
    matrices that it shares between processors, which takes up to a hundred times as long where
    these are busy.
    """
    if len(matrix) < LARGE:
        u, s, vt = np.linalg.svd(matrix, full_matrices=full_matrices)
    else:
        from scipy.linalg import svd

        u, s, vt = svd(matrix, full_matrices, lapack_driver="gesvd", check_finite=False)
    return u, s, vt


def rank_of(matrix: Array, rank: float = 1e-7) -> int:
    """Return the numerical rank: how many singular values exceed `rank` of the largest."""
    if not matrix.size:
        return 0
    s = np.linalg.svd(matrix, compute_uv=False)
    return int((s > rank * s[0]).sum()) if s[0] > 0 else 0


@one_line
@dataclass(frozen=True, slots=True)
class Assembly(Result):
    """A mechanism put together.

    Args:
        coordinates: all coordinates by name; extra states too.
        speeds: all speeds of the tree by name, the eliminated ones too.
        computed: coordinates that were computed from the relations.
        mobility: degrees of freedom at this configuration.
        residual: what is left of the relations of position.
        report: what was done, in sentences.
    """

    coordinates: dict[str, float]
    speeds: dict[str, float]
    computed: tuple[str, ...]
    mobility: int
    residual: float
    report: tuple[str, ...]


def start_values(mechanism: Mechanism, initial: Mapping[str, Amount] | None) -> dict[str, float]:
    """Return the given start values over those of the mechanism; an unknown name is an error."""
    speeds = [s.symbol.name for s in mechanism.kinematics().speeds]
    known = [*mechanism.coordinates, *speeds]
    given = {**mechanism.initial, **mechanism.amounts(initial, "initial")}
    for name, value in given.items():
        if name not in known:
            mechanism.unknown(name, known, "coordinate, speed or state")
        if not np.isfinite(float(value)):
            raise DomainError(f"{name!r} cannot start at {value}, which is not a finite number")
    return given


def start_coordinates(relations: Relations, given: Mapping[str, float]) -> Array:
    """Return the coordinates and extra states to start from; what is not given is zero."""
    mechanism = relations.mechanism
    first = {unit[0].name for unit in relations.units if not any(e.name in given for e in unit)}
    q = [1.0 if x.name in first else given.get(x.name, 0.0) for x in relations.coordinates]
    z = [given.get(s.symbol.name, s.initial) for s in mechanism.states]
    return np.array([*q, *z], dtype=float)


@worded
def assemble(
    model: ModelLike,
    initial: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    *,
    time: float = 0.0,
    relations: Relations | None = None,
) -> Assembly:
    """Return coordinates and speeds that satisfy all constraints.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        initial: coordinates (rad, m), speeds and extra states by name, over the mechanism's own.
            Those that are given here are held (if there are none, the mechanism's own). Of the
            others those are computed that relations name; where that does not close, all of them;
            where that does not either, as many as there are independent relations, the last ones
            first, and no driven joint if that can be; else all move as little as needed.
        parameters: values of parameters by name.
        time: s.
        relations: the numeric constraints, where they are at hand.

    >>> m = Mechanism("slider")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    >>> tip = m.point("tip", rod, (2, 0, 0))
    >>> c = m.constrain_points(tip, m.origin, "y")
    >>> round(assemble(m, {"crank": 0.5}).coordinates["rod"], 6)
    -0.74207
    """
    model = mechanism_of(model).with_parameters(parameters)
    given = start_values(model, initial)
    if relations is None:
        relations = Relations(model, all_values(model, None))
    report: list[str] = []
    held = set(initial or {}) & model.coordinates.keys() or set(given)
    q, residual, computed = _positions(relations, given, held, time, report)
    u = _speeds(relations, given, q, time, report)
    jacobian, _ = relations.speed(q, time)
    rank = rank_of(jacobian)
    mobility = len(relations.speeds) - rank
    report.insert(0, _mobility_in_words(relations, rank, mobility))
    names = [*(x.name for x in relations.coordinates), *(s.symbol.name for s in model.states)]
    return Assembly(
        dict(zip(names, map(float, q), strict=True)),
        {x.name: float(v) for x, v in zip(relations.speeds, u, strict=True)},
        computed,
        mobility,
        residual,
        tuple(report),
    )


def _positions(
    relations: Relations,
    given: Mapping[str, float],
    held: Collection[str],
    time: float,
    report: list[str],
) -> tuple[Array, float, tuple[str, ...]]:
    start = start_coordinates(relations, given)
    names = [x.name for x in relations.coordinates]
    _, jacobian = relations.position(start, time)
    if not len(jacobian):
        return start, 0.0, ()
    free = [i for i, n in enumerate(names) if n not in held]
    asked = {c.eliminate_coordinate for c in relations.mechanism.constraints}
    told = [i for i in free if relations.coordinates[i] in asked]
    first = _continued(relations, start, told, time, told)
    start = _continued(relations, start, free, time)
    # joints that are driven stay where they are told to be; lengths of driven struts are guesses
    struts = {strut.name for strut in relations.mechanism.driven_struts}
    driven = [names.index(q.name) for q in relations.mechanism.actuators if q.name not in struts]
    passive = jacobian.copy()
    passive[:, driven] = 0.0
    last = [independent_columns(jacobian)]
    if driven and relations.closed(start, time, [])[1] > _CLOSED:
        last.insert(0, independent_columns(passive))
    for columns in [*([told] if told else []), free, *last]:
        q, residual = relations.closed(first if columns is told else start, time, columns)
        if residual <= _CLOSED:
            _, jacobian = relations.position(q, time)
            computed = tuple(names[i] for i in columns if np.abs(jacobian[:, i]).max() > 0)
            if computed:
                report.append(f"computed from the position constraints: {', '.join(computed)}")
            return q, residual, computed
    q, residual = relations.closed(start, time)
    if residual > _CLOSED:
        g, _ = relations.position(q, time)
        worst = relations.names[int(np.abs(g).argmax())]
        raise AssemblyError(
            f"the loops of {relations.mechanism.name!r} do not close from the given coordinates; "
            f"what is left is largest, {np.abs(g).max():.3g}, in {worst!r}",
            remedy="give initial coordinates nearer to a closed configuration",
        )
    moved = np.abs(q - start)
    changed = [
        f"{n} by {moved[i]:.3g}" for i, n in enumerate(names) if n in held and moved[i] > 1e-9
    ]
    if changed:
        report.append(
            "the given coordinates did not close the loops; moved as little as needed: "
            + ", ".join(changed)
        )
    return q, residual, tuple(names[i] for i in range(len(names)) if moved[i] > 1e-9)


def _continued(
    relations: Relations,
    target: Array,
    free: Sequence[int],
    time: float,
    closing: Sequence[int] = (),
) -> Array:
    """Return a start on the way from the mechanism's own configuration, where that is closed.

    The held coordinates go in small steps from there to their target, so that the others follow
    on the same branch. The own configuration is closed by `closing`, or by independent ones.
    """
    own = start_coordinates(relations, relations.mechanism.initial)
    held = [i for i in range(len(relations.coordinates)) if i not in set(free)]
    if not free or not np.any(own[held] != target[held]):
        return target
    _, jacobian = relations.position(own, time)
    q, residual = relations.closed(own, time, closing or independent_columns(jacobian))
    for part in np.linspace(0.0, 1.0, _CONTINUED + 1):
        if residual > _CLOSED:
            return target
        if part > 0:
            q[held] += (target[held] - q[held]) / (_CONTINUED * (1.0 - part) + 1.0)
            q, residual = relations.closed(q, time, free)
    return q if residual <= _CLOSED else target


def _speeds(
    relations: Relations, given: Mapping[str, float], q: Array, time: float, report: list[str]
) -> Array:
    names = [x.name for x in relations.speeds]
    u = np.array([given.get(n, 0.0) for n in names])
    jacobian, rest = relations.speed(q, time)
    if not len(jacobian):
        return u
    scale = max(float(np.abs(jacobian).max()), 1e-300)

    def left(v: Array) -> float:
        return float(np.abs(jacobian @ v + rest).max()) / scale

    free = [i for i, n in enumerate(names) if n not in given]
    chosen = independent_columns(jacobian[:, free])
    tied = [free[k] for k in chosen]
    u[tied] += least_norm(jacobian[:, tied], -(jacobian @ u + rest))
    if left(u) <= 1e-9 * max(1.0, float(np.abs(u).max())):
        return u
    start = np.array([given.get(n, 0.0) for n in names])
    u = start + least_norm(jacobian, -(jacobian @ start + rest))
    if left(u) > 1e-9 * max(1.0, float(np.abs(u).max())):
        worst = int(np.abs(jacobian @ u + rest).argmax())
        raise AssemblyError(
            f"no speeds of {relations.mechanism.name!r} satisfy its constraints at the start; "
            f"{relations.mechanism.constraints[worst].name!r} is violated"
        )
    changed = [
        f"{n} by {abs(u[i] - start[i]):.3g}"
        for i, n in enumerate(names)
        if n in given and abs(u[i] - start[i]) > 1e-9
    ]
    if changed:
        report.append(
            "the given speeds violated the constraints; changed as little as needed: "
            + ", ".join(changed)
        )
    return u


def independent_columns(matrix: Array, rank: float = 1e-7) -> list[int]:
    """Return columns that span the matrix, those with the highest index first among good ones."""
    chosen: list[int] = []
    basis: list[Array] = []
    size = float(np.abs(matrix).max(initial=0.0))
    for bound in (0.1, 1e-3, rank):
        for k in range(matrix.shape[1] - 1, -1, -1):
            if k in chosen:
                continue
            column = matrix[:, k].copy()
            for b in basis:
                column -= b * (b @ column)
            length = float(np.linalg.norm(column))
            if length > bound * size:
                chosen.append(k)
                basis.append(column / length)
    return sorted(chosen)


def _mobility_in_words(relations: Relations, rank: int, mobility: int) -> str:
    n, m = len(relations.speeds), len(relations.mechanism.constraints)
    if not m:
        return f"{_several(n, 'speed')} without constraints: {_freedoms(n)}"
    words = (
        f"{_several(n, 'speed')}, {_several(m, 'constraint')} of rank {rank}: {_freedoms(mobility)}"
    )
    if m > rank:
        words += f"; {m - rank} constraint{'s are' if m - rank > 1 else ' is'} redundant here"
    return words


def _freedoms(n: int) -> str:
    return f"{_several(n, 'degree')} of freedom"


def _several(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


# -- samples for the choice of eliminated speeds ---------------------------------------------------
def closed_samples(
    mechanism: Mechanism,
    values: Mapping[str, float],
    at: Mapping[Expr, float] | None = None,
    count: int = 6,
) -> dict[Expr, Array] | None:
    """Return several configurations in which the loops are closed, the nominal one first.

    None where the mechanism has no relations of position, values are missing, or it does not close.
    """
    zero = [c.position for c in mechanism.constraints if c.position is not None]
    needed = {x.name for x in free_symbols(*zero)}
    unknown = (needed & mechanism.parameters.keys()) - values.keys()
    if not zero or unknown:
        return None
    relations = Relations(mechanism, values, backend="python")
    given = {q.name: v for q, v in at.items()} if at is not None else dict(mechanism.initial)
    names = {q.name for q in relations.coordinates}
    given = {k: v for k, v in given.items() if k in names}
    try:
        first, _, _ = _positions(relations, given, given, 0.0, [])
    except AssemblyError:
        return None
    n = len(relations.coordinates)
    generator = np.random.default_rng(20_240_917)
    found = [first]
    while len(found) < count:
        direction = generator.uniform(-1, 1, n)
        for spread in (0.3, 0.1, 0.03, 0.01, 0.0):
            trial = first.copy()
            trial[:n] += spread * direction
            q, residual = relations.closed(trial, 0.0)
            if residual <= 1e-13 or spread == 0.0:
                found.append(q)
                break
    table = np.array(found)
    return {q: table[:, i] for i, q in enumerate(relations.coordinates)}


def _turning(mechanism: Mechanism, constraint: Constraint) -> tuple[Work, ...]:
    """Return the works of a relation, with the couple of a force along a direction that turns."""
    bodies = {b.frame: b for b in reversed(mechanism.bodies.values())}
    added = []
    for work in constraint.works:
        span = work.point.position - work.reaction.position
        for direction, coefficient in work.direction.terms:
            body = bodies.get(direction.frame)
            if body is not None and not work.turns:
                couple = Vector({direction: coefficient}) ^ span
                added.append(Work(couple, body.origin, mechanism.origin, turns=True))
    return (*constraint.works, *added)


def with_exact_rates(mechanism: Mechanism, samples: Mapping[Expr, Array] | None) -> Mechanism:
    """Return a mechanism whose relations of speed are the rates of their relations of position.

    The relative velocity of two points along a direction that turns is the rate of their distance
    along it only where the points are together in all other directions. Where that is so, the
    mechanism itself comes back; otherwise a view of it.
    """
    from linkwright.algebra import evaluate_all

    if samples is None:
        return mechanism
    kinematics = mechanism.kinematics()
    speeds = [s.symbol for s in kinematics.speeds]
    generator = np.random.default_rng(7)
    found, told = list(mechanism.constraints), list[str]()
    for i, c in enumerate(mechanism.constraints):
        if c.position is None:
            continue
        rate = kinematics.derivative(c.position)
        assert isinstance(rate, Expr)
        if rate is c.speed:
            continue
        given: dict[Expr, object] = {u: float(generator.uniform(-1, 1)) for u in speeds}
        size = len(next(iter(samples.values())))
        for x in free_symbols(rate, c.speed):
            if x not in given:
                number = mechanism.values.get(x.name, 0.0)
                given[x] = samples.get(x, np.full(size, number))
        a, b = (np.asarray(v) for v in evaluate_all([rate, c.speed], given))
        if np.abs(a - b).max() > 1e-7 * max(float(np.abs(a).max()), 1e-300):
            found[i] = replace(c, speed=rate, works=_turning(mechanism, c))
            told.append(
                f"{c.name}: its points are apart across the direction, so the turning of the "
                "direction was added to the relation of speeds"
            )
    if not told:
        return mechanism
    return mechanism.with_parts(constraints=found, reports=[*mechanism.reports, *told])
