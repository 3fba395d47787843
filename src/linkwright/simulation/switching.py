"""Which form of the equations is integrated, and when it changes.

A constrained mechanism starts in the independent form, unless it has more than `MANY` constraints,
or more than `COUPLED` that hang together: guards, which invert their Jacobian, would take longer to
compile than most runs take.
Guards look at the part of J that belongs to the eliminated speeds after each step. If its condition
number has passed `LIMIT`, and five times what it was when they were chosen, or if it was singular
on the way, the step is discarded and repeated: with other eliminated speeds where those are good
before and after the step, else, at a singular configuration, with all speeds of the tree. From
there it goes back to an independent form as soon as one is good again. Speeds to eliminate are
chosen by elimination with complete pivoting.

With steps of a fixed size, which are short, guards of more than `FEW` constraints compare with a
reference state rather than with the start of each step. Where they fail, the state before the step
becomes the reference, and the step is repeated; where they fail again, guards that look at each
step take over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import free_symbols
from linkwright.equations.closure import Relations
from linkwright.equations.evaluation import Array
from linkwright.equations.singular import Singular
from linkwright.simulation.native.fallbacks import SessionPlace
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.simulation.watch import Watch
from linkwright.system import Phases, System
from linkwright.system.flatten import Flattened
from linkwright.system.forms import LIMIT, Form, coupled, is_regular, reference_of
from linkwright.system.numbers import beginnings, parameters
from linkwright.system.phases import GUARD

FEW = 6
MANY = 24
COUPLED = 15
_START = 1000.0
_GAPS = {"dop853": 0.4667, "dopri5": 0.55}
"""Parts of a step in whose neighborhood a method evaluates nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Integrated:
    """A form with what it takes to run it."""

    form: Form  # which it is
    flattened: Flattened  # the System in it
    phases: Phases  # with the numbers of the System
    active: tuple[int, ...] = ()  # the constraints that eliminate a speed
    dependent: tuple[int, ...] = ()  # the speeds that are eliminated, by their places in the tree

    @property
    def redundant(self) -> bool:
        """Whether all speeds are kept."""
        return self.form.redundant


class Forms:
    """The forms of one run: what a `Session` asks where its phases are not to be trusted."""

    def __init__(
        self,
        system: System,
        record: Iterable[str] | None,
        wanted: str,
        preparing: Stopwatch | None = None,
        adaptive: bool = True,
    ) -> None:
        self.system = system
        self._record = None if record is None else tuple(record)
        self._preparing = preparing or Stopwatch()
        self._known: dict[object, Integrated] = {}
        m = system.mechanism
        many = wanted == "auto" and (len(m.constraints) > MANY or coupled(m) > COUPLED)
        referring = wanted == "auto" and not adaptive and not many
        self._referring = referring and len(m.constraints) > FEW
        self._reference: tuple[float, dict[str, float]] = -np.inf, {}
        with self._preparing:
            redundant = wanted == "redundant" or many
            first = self._made(Form(redundant=redundant, reference=self._referring))
            if wanted == "auto" and not first.flattened.trusted:
                first = self._made(Form(redundant=True))
        self._auto = wanted == "auto" and not first.redundant
        self.mechanism = first.flattened.mechanism
        self.values = {**m.values, **parameters(system), **system.inputs()}
        self._inputs = dict(system.inputs())
        self.relations = Relations(self.mechanism, self.values, signals=lambda _: self._inputs)
        self._watch = Watch(self.relations)
        self._limit = LIMIT
        self._near = np.inf
        self._kept: tuple[int, float] | None = None
        self._approached: tuple[float, Array] | None = None
        self._warned = False
        self.now = self._first(first)

    @property
    def report(self) -> list[str]:
        """What happened, in sentences."""
        return self._watch.report

    @property
    def stepwise(self) -> bool:
        """Whether every step is looked at."""
        return self.now.redundant

    def set(self, values: Mapping[str, float]) -> None:
        """Take other parameters and inputs."""
        own = {n: float(v) for n, v in values.items() if n in self.values}
        self._inputs.update((n, v) for n, v in own.items() if n in self._inputs)
        if any(self.values[n] != v and n not in self._inputs for n, v in own.items()):
            self.system = self.system.copy()
            self.system.set_parameters({n: v for n, v in own.items() if n not in self._inputs})
            self.values |= {**own, **parameters(self.system)}
            self.relations = Relations(self.mechanism, self.values, signals=lambda _: self._inputs)
            self._watch.relations = self.relations
            self._watch.forget()
            for kept in (made.flattened.kept for made in self._known.values()):
                if kept is not None:
                    kept.renew(self.values)

    @property
    def form(self) -> NDArray[np.generic]:
        """What its phases are, as numbers."""
        here = [-1] if self.now.redundant else sorted(self.now.dependent)
        return np.array([*here, np.float64(self._limit)])

    def take_form(self, form: NDArray[np.generic]) -> None:
        """Take the phases that numbers of `form` stand for."""
        *dependent, limit = map(float, form.tolist())
        self._limit = limit
        if dependent == [-1.0]:
            self.now = self._all_speeds()
            return
        wanted = frozenset(int(i) for i in dependent)
        if wanted not in self._known:
            names = tuple(self.relations.speeds[i].name for i in sorted(wanted))
            self._made(Form(names))
        self.now = self._known[wanted]

    # -- the start ---------------------------------------------------------------------------------
    def _first(self, start: Integrated) -> Integrated:
        """Return the form to start with."""
        m = self.system.mechanism
        at = beginnings(self.system, parameters(self.system), self.mechanism)
        q = np.array([at[n] for n in self._coordinates])
        u = np.array([at[s.name] for s in self.relations.speeds])
        if not m.constraints:
            return start
        jacobian = self._watch.look(0.0, q, u)
        if not self._auto:
            return start
        self._watch.rank = len(start.active)
        candidate: Integrated | None = start
        if not condition_of(eliminated_part(start, jacobian), jacobian) < _START:
            candidate = self._good(jacobian, q, _START)
        if candidate is not None:
            self._take(candidate, jacobian)
            return candidate
        self.report.append(
            "the start is a singular configuration, so all speeds are kept until it has been left"
        )
        self._near = 0.0
        return self._all_speeds()

    @property
    def phases(self) -> Phases:
        """The phases to go on with."""
        return self._numbered(self.now.phases)

    def _numbered(self, phases: Phases) -> Phases:
        limits = {f"{GUARD}limit": self._limit, **self._reference[1]}
        return replace(
            phases, d=tuple(replace(s, value=limits.get(s.name, s.value)) for s in phases.d)
        )

    @property
    def _coordinates(self) -> list[str]:
        states = [s.symbol.name for s in self.mechanism.states]
        return [*(q.name for q in self.relations.coordinates), *states]

    # -- on the way --------------------------------------------------------------------------------
    def observed(self, t: float, x: Mapping[str, float]) -> tuple[Array, Array]:
        """Return coordinates (then extra states) and all speeds of a state by name."""
        q = np.array([x[n] for n in self._coordinates])
        names = [s.name for s in self.relations.speeds]
        u = np.array([x.get(n, 0.0) for n in names])
        dependent = list(self.now.dependent)
        if dependent and not self.now.redundant:
            jacobian, rest = self.relations.speed(q, t)
            part = eliminated_part(self.now, jacobian)
            right = -(rest + jacobian @ u)[list(self.now.active)]
            u[dependent] = np.linalg.solve(part, right)
        return q, u

    def instead(
        self, place: SessionPlace, t_new: float, x_new: Mapping[str, float]
    ) -> dict[str, float]:
        """Choose the form in which to repeat a step that is not trusted; return the state in it."""
        q, u = self._here(place)
        before, _ = self.relations.speed(q, place.t)
        if self.now.form.reference:
            return self._referred(place.t, before, q, u)
        self._watch.forget()
        self._watch.look(place.t, q, u)
        after, _ = self.relations.speed(np.array([x_new[n] for n in self._coordinates]), t_new)
        better = self._good(before, q, 0.3 * self._limit)
        if better is not None and better is not self.now:
            first, second = (eliminated_part(better, j) for j in (before, after))
            if condition_of(second, after) < self._limit and not crosses(first, second):
                self._take(better, before)
                self.report.append(
                    f"switched at t = {place.t:.6g} s to eliminating {self._eliminated(better)}"
                )
                return self._in(better, q, u)
        self._kept = len(self.report), place.t
        self.report.append(
            f"kept all speeds from t = {place.t:.6g} s on, near a singular configuration"
        )
        self._near = 0.0
        return self._in(self._all_speeds(), q, u)

    def _referred(self, t: float, jacobian: Array, q: Array, u: Array) -> dict[str, float]:
        """Take another reference, or guards that need none where this is not the first try."""
        form = self.now
        if t > self._reference[0]:
            self._reference = t, reference_of(eliminated_part(form, jacobian))
            return self._in(form, q, u)
        with self._preparing:
            return self._in(self._made(replace(form.form, reference=False)), q, u)

    def after(self, place: SessionPlace) -> dict[str, float] | None:
        """Look at an accepted state; return it in another form where one is better."""
        q, u = self._here(place)
        if not self.mechanism.constraints:
            return None
        jacobian = self._watch.look(place.t, q, u)
        if not self._auto:
            return None
        near, self._near = self._near, self._watch.condition
        better = self._good(jacobian, q, 0.3 * self._limit) if self._near < near else None
        if better is None:
            return None
        self._take(better, jacobian)
        self._passed(place.t)
        return self._in(better, q, u)

    def whole(self, place: SessionPlace) -> dict[str, float]:
        """Return all states of a place, those included that its phases eliminate."""
        q, u = self._here(place)
        names = [*self._coordinates, *(s.name for s in self.relations.speeds)]
        return {**place.x, **dict(zip(names, map(float, (*q, *u)), strict=True))}

    def _here(self, place: SessionPlace) -> tuple[Array, Array]:
        self._inputs.update((n, v) for n, v in place.w.items() if n in self._inputs)
        return self.observed(place.t, place.x)

    def _in(self, form: Integrated, q: Array, u: Array) -> dict[str, float]:
        self.now = form
        names = [*self._coordinates, *(s.name for s in self.relations.speeds)]
        return dict(zip(names, map(float, (*q, *u)), strict=True))

    def ahead(self, place: SessionPlace, method: str, size: float) -> tuple[float, bool]:
        """Return the next step of an adaptive method, and whether it goes across.

        It ends well before a singular configuration, or goes across it. A method evaluates nothing
        in some part of a step, where the singular configuration then lies (dop853 at parts up to
        1/3 and from 0.6 on, dopri5 up to 0.3 and from 0.8 on). The error of that step is not
        estimated, because the rounding errors near there would only lead to ever smaller steps; it
        is hardly longer than the steps before it.
        """
        solver = self._solver()
        if method not in _GAPS or not size or not self.mechanism.constraints:
            return size, False
        q, u = self._here(place)
        ahead = solver.time_to_singular(place.t, np.concatenate([q, u]))
        if ahead > 1.3 * size:
            self._warned = False
            return size, False
        if ahead > 0.49 * size and not self._warned:
            self._warned = True
            return 0.5 * ahead, False
        self._warned = False
        return ahead / _GAPS[method], True

    def _passed(self, t: float) -> None:
        """Say in one line that a singular configuration was passed with all speeds kept."""
        if self._kept is None:
            self.report.append(f"eliminated speeds again from t = {t:.6g} s on")
            return
        place, since = self._kept
        self._kept = None
        kept = f"all speeds were kept from t = {since:.6g} s to {t:.6g} s"
        if len(self.report) == place + 1:
            self.report[place] = f"{kept}, near a singular configuration"
        else:
            self.report[place:] = [f"{line}; {kept}" for line in self.report[place + 1 :]]

    # -- forms -------------------------------------------------------------------------------------
    def _made(self, form: Form) -> Integrated:
        flattened = self.system.flattened(self._record, None if form == Form() else form)
        e, phases = flattened.equations, self.system.numbered(flattened)
        if e is None:
            return Integrated(form, flattened, phases)
        order = [s.symbol for s in e.kinematics.speeds]
        dependent = tuple(order.index(u) for u in e.reduction.dependent)
        active = tuple(i for i, x in enumerate(e.eliminations) if x.speed is not None)
        made = Integrated(form, flattened, phases, active, dependent)
        self._known[None if form.redundant else frozenset(dependent)] = made
        return made

    def _take(self, form: Integrated, jacobian: Array) -> None:
        """Remember how good a form is where it is taken up."""
        part = eliminated_part(form, jacobian)
        bound = float(np.linalg.norm(jacobian) * np.linalg.norm(np.linalg.inv(part)))
        self._limit = max(self._limit, 5.0 * condition_of(part, jacobian), 2.0 * bound)
        self._reference = -np.inf, reference_of(part) if form.form.reference else {}

    def _good(self, jacobian: Array, q: Array, limit: float) -> Integrated | None:
        """Return the form that eliminates the speeds for which J is best solved here."""
        dependent = best_columns(jacobian, self._watch.rank)
        if len(dependent) < self._watch.rank:
            return None
        if not condition_of(jacobian[:, dependent], jacobian) < limit:
            return None
        known = self._known.get(frozenset(dependent))
        if known is not None:
            return known
        here = zip((x.name for x in self.relations.coordinates), map(float, q), strict=False)
        speeds = tuple(self.relations.speeds[i].name for i in dependent)
        with self._preparing:
            made = self._made(Form(speeds, tuple(here), reference=self._referring))
        return made if made.flattened.trusted else None

    def _all_speeds(self) -> Integrated:
        made = self._known.get(None)
        if made is None:
            with self._preparing:
                made = self._made(Form(redundant=True))
        self.now = made
        solver = self._solver()
        solver.expect(self._watch.rank, self._watch.usual)
        return made

    def _solver(self) -> Singular:
        kept = self.now.flattened.kept
        assert kept is not None
        return kept.singular

    def _eliminated(self, form: Integrated) -> str:
        return ", ".join(self.relations.speeds[i].name for i in sorted(form.dependent))


def forms_of(
    system: System,
    record: Iterable[str] | None,
    wanted: str = "auto",
    preparing: Stopwatch | None = None,
    adaptive: bool = True,
) -> Forms | None:
    """Return the forms of a run; None where its equations hold everywhere, or shall be taken so."""
    m = system.mechanism
    if not m.kinematics().speeds or wanted == "independent":
        return None
    if wanted == "auto" and is_regular(m):
        return None
    driven = {x for x in system.wires if x in set(m.inputs.values())}
    bound = [x for c in m.constraints for x in (c.speed, c.position) if x is not None]
    if driven & set(free_symbols(*bound)):
        return None  # what drives a constraint is not known from here
    return Forms(system, record, wanted, preparing, adaptive)


def eliminated_part(form: Integrated, jacobian: Array) -> Array:
    """Return the square part of J that belongs to the eliminated speeds."""
    return jacobian[np.ix_(form.active, form.dependent)]


def condition_of(part: Array, whole: Array) -> float:
    """Return the condition number of the eliminated part of J with respect to all of it.

    It is the largest singular value of all of J, by the smallest one of the part: a part that is
    small as a whole cannot be solved for well either.

    >>> condition_of(np.array([[0.1]]), np.array([[0.1, 10.0]])) > 99
    True
    """
    if not part.size:
        return 1.0
    smallest = np.linalg.svd(part, compute_uv=False)[-1]
    largest = np.linalg.norm(whole, 2)
    return float(largest / smallest) if smallest > 0 else np.inf


def crosses(first: Array, second: Array) -> bool:
    """Whether a matrix that changed from the first to the second was singular on the way.

    >>> crosses(np.eye(2), np.diag([-0.1, -0.1])), crosses(np.eye(2), np.diag([0.5, 2.0]))
    (True, False)
    """
    if not first.size:
        return False
    return bool((np.linalg.eigvals(np.linalg.solve(first, second)).real < 0).any())


def best_columns(matrix: Array, rank: int) -> list[int]:
    """Return the columns that elimination with complete pivoting solves for.

    >>> best_columns(np.array([[1.0, 3.0, 0.0], [2.0, 6.0, 0.0]]), 1)
    [1]
    """
    left = np.array(matrix, dtype=float)
    chosen: list[int] = []
    for _ in range(min(rank, *left.shape)):
        row, column = np.unravel_index(np.abs(left).argmax(), left.shape)
        pivot = left[row, column]
        if pivot == 0:
            break
        chosen.append(int(column))
        left = left - np.outer(left[:, column] / pivot, left[row])
        left[row] = 0.0
        left[:, column] = 0.0
    return sorted(chosen)
