"""Running a mechanism.

Times are multiples of the step, never sums of steps. After every accepted step the coordinates are
moved onto the relations of position, and sampled values are updated; nothing with memory changes
within a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwright.equations.closure import Relations, assemble
from linkwright.equations.equations import Equations, derive
from linkwright.equations.evaluation import Array, all_values
from linkwright.equations.formulations import QUICK
from linkwright.errors import DomainError, Error
from linkwright.mechanism import Mechanism
from linkwright.simulation.integrators import METHODS, Integrator
from linkwright.simulation.run import Run
from linkwright.simulation.switching import FORMS, MANY, FormChoice

Input = float | Callable[[float], float]
Sampled = Callable[[float, Mapping[str, float]], Mapping[str, float]]
_RECORDS = 200


def simulate(
    mechanism: Mechanism | Equations,
    until: float,
    *,
    step: float | None = None,
    method: str = "dop853",
    initial: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    inputs: Mapping[str, Input] | None = None,
    sampled: Sampled | None = None,
    record_every: int = 1,
    tolerance: float = 1e-10,
    form: str = "auto",
) -> Run:
    """Return the motion of a mechanism from time zero.

    Args:
        mechanism: what moves, or equations derived from it. From a mechanism they are derived
            quickly; `derive` finds smaller ones, which takes longer.
        until: end time, s.
        step: of a method with fixed steps, s, until / 1000 by default; of an adaptive method the
            interval of the records, until / 200 by default.
        method: "midpoint", "rk4" or "dop853" (adaptive).
        initial: coordinates, speeds and extra states to start from, over the mechanism's own;
            what constraints determine is computed.
        values: values of parameters, over the mechanism's own.
        inputs: for inputs of the mechanism a number or a function of time.
        sampled: called at the start and after every accepted step with the time and all states,
            returns values of inputs that hold until the next call.
        record_every: record every so many steps.
        tolerance: of an adaptive method, relative error of a step.
        form: "auto", "independent" or "redundant"; see `linkwright.simulation.switching`.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity(along="-y")
    >>> run = simulate(m, 2.367841947576237 / 2, step=2.367841947576237 / 2)
    >>> round(run.final["rod"], 9)
    -3.141592654
    """
    if form not in FORMS:
        raise Error(f"there is no form {form!r}", remedy=f"choose one of {', '.join(FORMS)}")
    if method not in METHODS:
        raise Error(f"there is no method {method!r}", remedy=f"choose one of {', '.join(METHODS)}")
    if not 0 < until < np.inf:
        raise Error(f"the end time {until} is not after the start")
    if step is not None and not step > 0:
        raise Error(f"the step {step} is not above zero")
    if record_every < 1:
        raise Error(f"every {record_every} steps cannot be recorded; it is 1 or more")
    if step is None:
        step = until / (_RECORDS if method == "dop853" else 1000)
    integrator = METHODS[method](step, tolerance)
    count = round(until / step)
    if count < 1 or abs(count * step - until) > 1e-9 * until:
        raise Error(
            f"the end time {until} is not a whole number of steps of {step}",
            remedy="choose a step that divides it",
        )
    equations = mechanism if isinstance(mechanism, Equations) else None
    plain = mechanism.mechanism if isinstance(mechanism, Equations) else mechanism
    simulation = _Simulation(plain, equations, values, inputs or {}, sampled, form, initial)
    return simulation.run(integrator, step, count, record_every)


class _Held:
    """Values of the inputs: numbers, functions of time, and what was sampled last."""

    def __init__(
        self, mechanism: Mechanism, values: Mapping[str, float], inputs: Mapping[str, Input]
    ) -> None:
        self.mechanism = mechanism
        self.now = {n: values[n] for n in mechanism.inputs}
        for name, value in inputs.items():
            self._check(name)
            if not callable(value):
                self.now[name] = float(value)
        self.functions = {n: f for n, f in inputs.items() if callable(f)}

    def _check(self, name: str) -> None:
        if name not in self.mechanism.inputs:
            self.mechanism.unknown(name, self.mechanism.inputs, "input")

    def hold(self, values: Mapping[str, float]) -> None:
        """Take values that hold from now on."""
        for name, value in values.items():
            self._check(name)
            self.now[name] = float(value)

    def __call__(self, t: float) -> Mapping[str, float]:
        """Return the values of all inputs at a time."""
        for name, function in self.functions.items():
            self.now[name] = float(function(t))
        return self.now


@dataclass(slots=True)
class _Records:
    """What is written down at the recorded times."""

    times: list[float] = field(default_factory=list)
    rows: list[tuple[Array, ...]] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    residual: float = 0.0


class _Simulation:
    """One run: its inputs, its form, and its records."""

    def __init__(
        self,
        mechanism: Mechanism,
        equations: Equations | None,
        values: Mapping[str, float] | None,
        inputs: Mapping[str, Input],
        sampled: Sampled | None,
        form: str,
        initial: Mapping[str, float] | None,
    ) -> None:
        self.mechanism = mechanism
        self.sampled = sampled
        self.values = all_values(mechanism, values)
        self.held = _Held(mechanism, self.values, inputs)
        signals = self.held if mechanism.inputs else None
        if equations is None and form == "auto" and len(mechanism.constraints) > MANY:
            form = "redundant"
        if equations is None and form != "redundant":
            equations = derive(mechanism, QUICK, values=values)
        self.relations = Relations(mechanism, self.values, signals=signals)
        start = assemble(mechanism, initial, values, relations=self.relations)
        self.report = [*start.report, *_left_out(equations)]
        self.names = [*start.coordinates]
        self.speeds = [*start.speeds]
        self.q = np.array(list(start.coordinates.values()))
        self.u = np.array(list(start.speeds.values()))
        self.choice = FormChoice(mechanism, self.relations, self.values, signals, form)
        self.sample(0.0)
        self.form = self.choice.first(equations, 0.0, self.q, self.u)

    def sample(self, t: float) -> bool:
        """Update the sampled inputs; say whether there are any."""
        if self.sampled is None:
            return False
        names = [*self.names, *self.speeds]
        self.held.hold(self.sampled(t, dict(zip(names, [*self.q, *self.u], strict=True))))
        return True

    def run(self, integrator: Integrator, step: float, count: int, record_every: int) -> Run:
        """Integrate, and return the records."""
        records = _Records()
        t, steps = 0.0, 0
        x = self.form.pack(self.q, self.u)
        integrator.restart(self.form.derivative, t, x)
        self._record(records, t, x)
        for k in range(1, count + 1):
            end = k * step
            while t < end:
                ahead = self.form.time_to_singular(t, x) if integrator.adaptive else np.inf
                t_new, x_new = integrator.step(end, ahead)
                self._require_finite(t, x_new)
                x_new = self.form.settle(t_new, x_new)
                if not self.choice.trusts(self.form, t_new, x_new):
                    self.form = self.choice.instead(self.form, t, self.q, t_new, x_new)
                    x = self.form.pack(self.q, self.u)
                    integrator.restart(self.form.derivative, t, x)
                    continue
                t, x = t_new, x_new
                steps += 1
                if self.choice.watches or self.sampled is not None:
                    self.q, self.u = self.form.observe(t, x)[:2]
                changed = self.sample(t)
                other = self.choice.after(self.form, t, self.q, self.u)
                if other is self.form:
                    integrator.accept(t, x, changed=changed)
                else:
                    self.form, x = other, other.pack(self.q, self.u)
                    integrator.restart(self.form.derivative, t, x)
            if k % record_every == 0 or k == count:
                self._record(records, t, x)
        return self._finished(records, steps)

    def _require_finite(self, t: float, x: Array) -> None:
        if not np.all(np.isfinite(x)):
            raise DomainError(
                f"the motion of {self.mechanism.name!r} has no finite values after t = {t:.6g} s",
                remedy="take smaller steps, or look for a singularity there",
            )

    def _record(self, records: _Records, t: float, x: Array) -> None:
        row = self.form.observe(t, x)
        records.times.append(t)
        records.rows.append(tuple(np.array(part) for part in row))
        records.inputs.append(dict(self.held(t)))
        g, jacobian = self.relations.position(row[0], t)
        if len(g):
            size = float(np.abs(jacobian).max()) or 1.0
            records.residual = max(records.residual, float(np.abs(g).max()) / size)

    def _finished(self, records: _Records, steps: int) -> Run:
        m = self.mechanism
        q, u, a, y = (np.array(column) for column in zip(*records.rows, strict=True))
        states = {n: q[:, i] for i, n in enumerate(self.names)}
        states |= {n: u[:, i] for i, n in enumerate(self.speeds)}
        return Run(
            m,
            self.values,
            np.array(records.times),
            states,
            {f"{n}_dot": a[:, i] for i, n in enumerate(self.speeds)},
            {o.name: y[:, i] for i, o in enumerate(m.outputs)},
            {n: np.array([row[n] for row in records.inputs]) for n in m.inputs},
            {**m.units, **{o.name: o.unit for o in m.outputs}},
            steps,
            self.choice.evaluations(),
            records.residual,
            (*self.report, *self.choice.report),
        )


def _left_out(equations: Equations | None) -> list[str]:
    if equations is None:
        return []
    idle = [e.constraint.name for e in equations.eliminations if e.speed is None]
    return [f"redundant, and left out: {'; '.join(idle)}"] if idle else []
