"""Native stretches of a simulated mechanism: the independent form, from a time to a time.

A mechanism in the independent form becomes phases (`linkwright.system.phases`): coordinates, extra
states and independent speeds are x; the correction of drift runs after each accepted step, with two
steps of Newton's method; what is recorded is one output Program. Near a singular configuration the
form is not to be trusted: guards end the stretch before the step in which one of them fails, and
`linkwright.simulation.switching` decides how to go on. With A the eliminated part of the
constraints' Jacobian J, they are

- a bound on |J|_F |A^-1|_F, which is not below the condition number that is used there;
- the elementary symmetric functions of the eigenvalues of A0^-1 A1, with A0 before and A1 after
  the step. As long as all of them are above zero, that matrix has no eigenvalue below zero, so no
  matrix between A0 and A1 is singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import (
    Expr,
    as_expr,
    free_symbols,
    linear_coefficients,
    symbol,
    total,
)
from linkwright.equations.equations import Equations
from linkwright.equations.evaluation import Array, numbers
from linkwright.errors import DomainError
from linkwright.program import Assign, Call, Namer, Program, Solve, Statement, program
from linkwright.simulation.forms import Independent, observer
from linkwright.simulation.native import tables
from linkwright.simulation.native.machine import Machine, Settings
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.pace import Pace
from linkwright.system.dynamics import settled
from linkwright.system.phases import Event, Phases, Signal, phase_program

MOST_CONSTRAINTS = 6
_ROWS = 4096
_STEPS = 100_000
_SAFE = 0.9
_NEWTON = 2


Taken = Callable[[list[int], Array], None]


@dataclass(frozen=True, slots=True, eq=False)
class Gone:
    """What a native stretch did.

    Args:
        t: where it ended, s.
        x: the state there.
        steps: accepted steps.
        evaluations: of the derivative.
        tick: the last whole step that was reached.
        guarded: whether it ended early because the form is not to be trusted beyond.
    """

    t: float
    x: Array
    steps: int
    evaluations: int
    tick: int
    guarded: bool


class Stretch:
    """Native code of one independent form."""

    def __init__(
        self,
        form: Independent,
        values: Mapping[str, float],
        limit: float | None,
        settings: Settings,
        tick: float,
    ) -> None:
        self.form = form
        self.limit = limit
        self.settings = settings
        self.phases = stretch_phases(form, values, tick, limit)
        self._machine: Machine | None = None

    def compiled(self) -> Stretch:
        """Return this with its machine made."""
        self._machine = self._machine or Machine(self.phases, self.settings, rows=_ROWS)
        return self

    def _inner(self, jacobian: Array) -> Array:
        part: Array = jacobian[np.ix_(self.form.active, self.form.dependent)]
        return part

    def trusts(self, jacobian: Array) -> bool:
        """Whether the form is well away from where its guards would end a stretch."""
        if self.limit is None:
            return True
        try:
            inverse = np.linalg.inv(self._inner(jacobian))
        except np.linalg.LinAlgError:
            return False
        estimate = np.linalg.norm(jacobian) * np.linalg.norm(inverse)
        return bool(estimate < _SAFE * self.limit)

    def go(
        self, tick: int, x: Array, inputs: Mapping[str, float], jacobian: Array, taken: Taken
    ) -> Gone:
        """Go from a whole step to the end, or to where a guard ends the stretch."""
        machine = self._machine or Machine(self.phases, self.settings, rows=_ROWS)
        self._machine = machine
        every = self.settings.every
        machine.whole[:] = 0
        machine.field("k")[0] = tick
        machine.field("sample")[0] = (tick // every + 1) * every
        machine.put("x", x)
        if self.phases.d:
            machine.put("d", np.linalg.inv(self._inner(jacobian)).ravel())
        machine.put("w", [inputs[s.name] for s in self.phases.w])
        machine.prepare()
        machine.budget(_STEPS)
        seconds = self.phases.tick_seconds
        pace = Pace(self.settings.until * seconds)
        pace.restart(0, tick * seconds)
        following = (tick // every + 1) * every
        while True:
            machine.run(0, 1)
            status = int(machine.field("status")[0])
            count = int(machine.field("row")[0])
            ticks = [following + every * i for i in range(count)]
            taken(ticks, machine.samples[0, :count, :, 0].copy())
            following += every * count
            machine.field("row")[0] = 0
            if status not in (tables.MORE, tables.ROWS):
                break
            if self.settings.method.adaptive:
                require_progress(pace, self.steps, self._time(machine))
        return self._gone(machine, status)

    @property
    def steps(self) -> int:
        """Accepted steps since the stretch began."""
        return 0 if self._machine is None else int(self._machine.field("steps")[0])

    def _time(self, machine: Machine) -> float:
        """Return where the machine stands, s."""
        seconds = self.phases.tick_seconds
        if int(machine.field("in_gap")[0]):
            s = float(machine.field("s").view(np.float64)[0])
            return int(machine.field("start")[0]) * seconds + s
        return int(machine.field("k")[0]) * seconds

    def _gone(self, machine: Machine, status: int) -> Gone:
        whole = {n: int(machine.field(n)[0]) for n in ("k", "steps")}
        t = self._time(machine)
        if status in (tables.NOT_FINITE, tables.TOO_SMALL):
            self._refuse(machine, t)
        method = self.settings.method
        tries = whole["steps"] + int(machine.field("rejected")[0])
        return Gone(
            t,
            machine.rows_of("x")[0],
            whole["steps"],
            method.evaluations * tries + 1,
            whole["k"],
            status == tables.GUARDED,
        )

    def _refuse(self, machine: Machine, t: float) -> None:
        bad = ~np.isfinite(machine.rows_of("y")[0])
        names = [s.name for s, wrong in zip(self.phases.x, bad, strict=True) if wrong]
        name = self.form.equations.mechanism.name
        if names or not self.settings.method.adaptive:
            raise DomainError(
                f"the motion of {name!r} has no finite values after t = {t:.6g} s"
                + (f" ({', '.join(names)})" if names else ""),
                remedy=f"look for a singularity there, or {self.settings.method.remedy}",
            )
        raise DomainError(
            f"no step from t = {t:.6g} s keeps the error below the tolerance",
            remedy="look for a singularity or a jump there, or use a method with fixed steps",
        )


def require_progress(pace: Pace, steps: int, t: float) -> None:
    """End a run whose steps have become so short that it would never come to its end."""
    mean = pace.crawls(steps, t)
    if mean is not None:
        raise DomainError(
            f"steps of {mean:.2g} s from t = {t:.6g} s on would never come to an end",
            remedy="look at the forces and speeds there, or use a method with fixed steps",
        )


def is_native(form: object) -> bool:
    """Whether a form can be run natively."""
    return isinstance(form, Independent) and len(form.dependent) <= MOST_CONSTRAINTS


def stretch_settings(
    method: Method, until: int, step: float, every: int, tolerance: float
) -> Settings:
    """Return the settings of stretches, with tolerances as `linkwright.simulate` has them."""
    return Settings(method, until, step, every, max(tolerance, 2.3e-14), 1e-3 * tolerance)


# -- phases ----------------------------------------------------------------------------------------
def stretch_phases(
    form: Independent, values: Mapping[str, float], tick: float, limit: float | None
) -> Phases:
    """Return the phases of a mechanism in an independent form."""
    equations = form.equations
    m = equations.mechanism
    plain = equations.program(outputs=False)
    seen = observer(equations, [s.symbol for s in equations.kinematics.speeds])
    moved, corrections = settled(equations)
    guards = _guards(form, limit)
    everything = (plain.statements, seen.statements, corrections, guards.statements)
    used = set(free_symbols(*_read(s for part in everything for s in part)))
    for roots in (plain.output_values(), seen.output_values(), moved.values(), guards.values):
        used |= set(free_symbols(*roots))
    q = [*equations.coordinates, *equations.states]
    x = [Signal(s.name, s, kind=k) for s, k in _kinds(equations)]
    given = [s for _, s in sorted(m.parameters.items()) if s in used]
    inputs = [s for s in m.inputs.values() if s in used]
    signals: dict[str, Sequence[Signal]] = {
        "x": x,
        "d": [Signal(s.name, s, kind="discrete") for s in guards.memory],
        "p": _valued(given, numbers(m, given, values)),
        "w": _valued(inputs, numbers(m, inputs, values)),
    }

    def made(name: str, outputs: Mapping[str, Sequence[Expr]], own: Sequence[Statement]) -> Program:
        return phase_program(f"{m.name}_{name}", signals, m.time, outputs, statements=own)

    once = [moved.get(s.symbol, s.symbol) for s in x if s.symbol is not None]
    settle = made("settle", {"x_new": once}, corrections) if moved else None
    inverse = made("inverse", {"d_new": guards.inverse}, guards.inner) if guards.memory else None
    shown = [*q, *seen.output_values()]
    return Phases(
        m.name,
        tuple(x),
        tuple(signals["d"]),
        tuple(signals["p"]),
        tuple(signals["w"]),
        m.time,
        tick,
        made("rates", {"x_dot": plain.output_values()}, plain.statements),
        accepted=_accepted(settle, _NEWTON if corrections else 1, inverse),
        output=made("observed", {"y": shown}, seen.statements),
        outputs=tuple(Signal(f"y{i}", None) for i in range(len(shown))),
        events=made("guards", {"g": guards.values}, guards.statements) if guards.values else None,
        event_list=tuple(Event(f"guard {i}", guard=True) for i in range(len(guards.values))),
        quaternions=_quaternions(equations, [s.symbol for s in x if s.symbol is not None]),
    )


def _kinds(equations: Equations) -> list[tuple[Expr, str]]:
    return [
        *((s, "coordinate") for s in equations.coordinates),
        *((s, "state") for s in equations.states),
        *((s, "speed") for s in equations.speeds),
    ]


def _valued(symbols: Sequence[Expr], values: Array) -> list[Signal]:
    return [Signal(s.name, s, float(v)) for s, v in zip(symbols, values, strict=True)]


def _read(statements: Iterable[Statement]) -> list[Expr]:
    return [x for s in statements for x in s.operands]


def _quaternions(
    equations: Equations, order: Sequence[Expr]
) -> tuple[tuple[int, int, int, int], ...]:
    found = []
    for body in equations.mechanism.bodies.values():
        if body.joint.quaternion:
            a, b, c, d = (order.index(e) for e in body.rotations)
            found.append((a, b, c, d))
    return tuple(found)


def _accepted(once: Program | None, times: int, inverse: Program | None) -> Program | None:
    """Return the Program after each step: x moved several times, then A^-1 remembered."""
    given = once or inverse
    if given is None:
        return None
    namer = Namer(given, "again")
    arrays = {port.name: list(port.entries) for port in given.inputs}
    statements: list[Statement] = []
    now = arrays["x"]
    memory = arrays["d"]

    def called(of: Program, results: int) -> list[Expr]:
        arguments = [*now, *(e for n in ("d", "p", "w", "t") for e in arrays[n])]
        targets = [namer() for _ in range(results)]
        statements.append(Call(of, tuple(arguments), tuple(targets)))
        return targets

    if once is not None:
        for _ in range(times):
            now = called(once, len(now))
    if inverse is not None:
        memory = called(inverse, len(memory))
    outputs = {"x_new": now, "d_new": memory}
    return program(f"{given.name}_accepted", arrays, outputs, statements=statements)


@dataclass(frozen=True, slots=True)
class _Guards:
    """What must stay above zero for a form to be trusted, and the inverse that this needs.

    Args:
        memory: symbols of A^-1 at the start of a step, row by row.
    """

    memory: tuple[Expr, ...] = ()
    inverse: tuple[Expr, ...] = ()
    inner: tuple[Statement, ...] = ()
    values: tuple[Expr, ...] = ()
    statements: tuple[Statement, ...] = ()


def _guards(form: Independent, limit: float | None) -> _Guards:
    """Return the guards of a form."""
    if limit is None or not form.dependent:
        return _Guards()
    found = [
        linear_coefficients(c.speed, form.relations.speeds)[0]
        for c in form.equations.mechanism.constraints
    ]
    writer = _Names()
    rows = [[writer.held(row[u]) for u in form.relations.speeds] for row in found]
    inner = [[rows[i][j] for j in form.dependent] for i in form.active]
    n = len(inner)
    unit = [as_expr(int(i == j)) for j in range(n) for i in range(n)]
    columns = [[writer.namer() for _ in range(n)] for _ in range(n)]
    flat = tuple(x for column in columns for x in column)
    writer.statements.append(Solve(n, tuple(x for row in inner for x in row), tuple(unit), flat))
    inverse = tuple(columns[j][i] for i in range(n) for j in range(n))
    first = tuple(writer.statements)
    whole = total([x**2 for row in rows for x in row])
    condition = limit**2 - writer.held(whole) * writer.held(total([x**2 for x in inverse]))
    memory = tuple(symbol(f"guard.inverse{i}", "discrete") for i in range(n * n))
    start = [memory[i * n : (i + 1) * n] for i in range(n)]
    values = (condition, *_symmetric(_product(start, inner, writer), writer))
    return _Guards(memory, inverse, first, values, tuple(writer.statements))


class _Names:
    """Statements that hold values under names."""

    def __init__(self) -> None:
        self.namer = Namer(None, "guard.a")
        self.statements: list[Statement] = []

    def held(self, value: Expr) -> Expr:
        """Return a name for a value, or the value where it is a name already."""
        if value.is_atom:
            return value
        name = self.namer()
        self.statements.append(Assign(name, value))
        return name


Matrix = Sequence[Sequence[Expr]]


def _product(a: Matrix, b: Matrix, writer: _Names) -> list[list[Expr]]:
    n = len(a)
    return [
        [writer.held(total([a[i][k] * b[k][j] for k in range(n)])) for j in range(n)]
        for i in range(n)
    ]


def _symmetric(matrix: Matrix, writer: _Names) -> list[Expr]:
    """Return the elementary symmetric functions of the eigenvalues (Faddeev and LeVerrier)."""
    n = len(matrix)
    now = [list(row) for row in matrix]
    found = [writer.held(total([now[i][i] for i in range(n)]))]
    for k in range(2, n + 1):
        rest = [
            [writer.held(found[-1] - x) if i == j else -x for j, x in enumerate(row)]
            for i, row in enumerate(now)
        ]
        now = _product(matrix, rest, writer)
        found.append(writer.held(total([now[i][i] for i in range(n)]) / k))
    return found
