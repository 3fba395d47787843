"""Which form of the equations is integrated, and when it changes.

A constrained mechanism starts in the independent form, unless it has more than `MANY` constraints,
whose symbolic elimination would take longer than most runs. After each step the part of J that
belongs to the eliminated speeds is looked at. If its condition number has passed `LIMIT`, and five
times what it was when they were chosen, or if it was singular on the way, the step is discarded and
repeated: with other eliminated speeds where those are good before and after the step, else, at
a singular configuration, with all speeds of the tree. From there it goes back to an independent
form as soon as one is good again. Speeds to eliminate are chosen by elimination with complete
pivoting.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwright.equations.closure import Relations
from linkwright.equations.equations import Equations, derive
from linkwright.equations.evaluation import Array, Signals
from linkwright.equations.formulations import QUICK
from linkwright.equations.redundant import RedundantDynamics
from linkwright.mechanism import Mechanism
from linkwright.simulation.forms import Form, Independent, Redundant
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.simulation.watch import Watch

MANY = 24
LIMIT = 30.0
_START = 1000.0


class FormChoice:
    """The forms of one run.

    Args:
        mechanism: what moves.
        relations: its constraints as numbers.
        values: numbers of its parameters.
        signals: values of its inputs at a time.
        wanted: one of `linkwright.simulation.settings.FORMS`.
        preparing: what deriving and compiling is timed by.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        relations: Relations,
        values: Mapping[str, float],
        signals: Signals | None,
        wanted: str,
        preparing: Stopwatch,
    ) -> None:
        self.mechanism = mechanism
        self.relations = relations
        self.values = values
        self.signals = signals
        self.watches = bool(mechanism.constraints)
        self._auto = wanted == "auto" and self.watches
        self._wanted = wanted
        self._preparing = preparing
        self._watch = Watch(relations)
        self._forms: dict[frozenset[int], Independent] = {}
        self._redundant: Redundant | None = None
        self._limit = LIMIT
        self._near = np.inf
        self._kept: tuple[int, float] | None = None
        self._inner: Array = np.zeros((0, 0))

    @property
    def report(self) -> list[str]:
        """What happened, in sentences."""
        return self._watch.report

    def evaluations(self) -> int:
        """Return how often a derivative was evaluated, in all forms together."""
        rest = 0 if self._redundant is None else self._redundant.evaluations
        return rest + sum(form.evaluations for form in self._forms.values())

    def first(self, equations: Equations | None, t: float, q: Array, u: Array) -> Form:
        """Return the form to start with."""
        if equations is None:
            form: Form = self._all_speeds()
            if self.watches:
                self._watch.look(t, q, u)
            return form
        start = self._from(equations)
        if not self.watches:
            return start
        jacobian = self._watch.look(t, q, u)
        if not self._auto:
            return start
        self._watch.rank = len(start.active)
        for candidate in (start, self._good(jacobian, q, _START)):
            if candidate is None:
                continue
            if condition_of(eliminated_part(candidate, jacobian), jacobian) < _START:
                self._take(candidate, jacobian)
                return candidate
        self.report.append(
            "the start is a singular configuration, so all speeds are kept until it has been left"
        )
        self._near = 0.0
        return self._all_speeds()

    def limit(self, form: Independent) -> float | None:
        """Return the condition number beyond which a form is not trusted; None where any is."""
        return self._limit if self._auto and form.dependent else None

    def trusts(self, form: Form, t: float, x: Array) -> bool:
        """Whether a step in the independent form has not come near where it fails."""
        if not self._auto or not isinstance(form, Independent):
            return True
        jacobian, _ = self.relations.speed(form.observe(t, x)[0], t)
        inner = eliminated_part(form, jacobian)
        return condition_of(inner, jacobian) < self._limit and not crosses(self._inner, inner)

    def instead(self, form: Form, t: float, q: Array, t_new: float, x_new: Array) -> Form:
        """Return the form in which to repeat a step that is not trusted."""
        before, _ = self.relations.speed(q, t)
        after, _ = self.relations.speed(form.observe(t_new, x_new)[0], t_new)
        better = self._good(before, q, 0.3 * self._limit)
        if better is not None and better is not form:
            first, second = (eliminated_part(better, j) for j in (before, after))
            if condition_of(second, after) < self._limit and not crosses(first, second):
                self._take(better, before)
                tied = self._eliminated(better)
                self.report.append(f"switched at t = {t:.6g} s to eliminating {tied}")
                return better
        self._kept = len(self.report), t
        self.report.append(f"kept all speeds from t = {t:.6g} s on, near a singular configuration")
        self._near = 0.0
        return self._all_speeds()

    def after(self, form: Form, t: float, q: Array, u: Array) -> Form:
        """Look at an accepted state, and return the form to go on with."""
        if not self.watches:
            return form
        jacobian = self._watch.look(t, q, u)
        if self._auto and isinstance(form, Independent):
            self._inner = eliminated_part(form, jacobian)
        if self._auto and isinstance(form, Redundant):
            near, self._near = self._near, self._watch.condition
            better = self._good(jacobian, q, 0.3 * self._limit) if self._near < near else None
            if better is not None:
                self._take(better, jacobian)
                self._passed(t)
                return better
        return form

    def resume(self, form: Independent, t: float, q: Array, u: Array) -> None:
        """Look at a state that was reached natively, with guards in place of this watch."""
        if self.watches:
            self._watch.forget()
            self.after(form, t, q, u)

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
    def _take(self, form: Independent, jacobian: Array) -> None:
        """Remember how good a form is where it is taken up."""
        self._inner = eliminated_part(form, jacobian)
        self._limit = max(self._limit, 5.0 * condition_of(self._inner, jacobian))

    def _good(self, jacobian: Array, q: Array, limit: float) -> Independent | None:
        """Return the form that eliminates the speeds for which J is best solved here."""
        dependent = best_columns(jacobian, self._watch.rank)
        if len(dependent) < self._watch.rank:
            return None
        if not condition_of(jacobian[:, dependent], jacobian) < limit:
            return None
        known = self._forms.get(frozenset(dependent))
        if known is not None:
            return known
        here = dict(zip(self.relations.coordinates, map(float, q), strict=False))
        speeds = [self.relations.speeds[i] for i in dependent]
        with self._preparing:
            return self._from(
                derive(self.mechanism, QUICK, closed_at=here, dependent=speeds, values=self.values)
            )

    def _from(self, equations: Equations) -> Independent:
        made = Independent(equations, self.relations, self.values, self.signals)
        self._forms[frozenset(made.dependent)] = made
        return made

    def _all_speeds(self) -> Redundant:
        if self._redundant is None:
            with self._preparing:
                dynamics = RedundantDynamics(self.mechanism, self.values, self.signals)
                self._redundant = Redundant(dynamics, self.relations, self._watch.rank or None)
        self._redundant.usual = max(self._redundant.usual, self._watch.usual)
        return self._redundant

    def _eliminated(self, form: Independent) -> str:
        return ", ".join(self.relations.speeds[i].name for i in sorted(form.dependent))


def eliminated_part(form: Independent, jacobian: Array) -> Array:
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
