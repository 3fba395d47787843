"""Running a mechanism.

Times are multiples of the step, never sums of steps. After every accepted step the coordinates are
moved onto the relations of position, and sampled values are updated; nothing with memory changes
within a step.

Where the derived equations can be trusted and no function of Python's is called, the run is native
(`linkwright.simulation.stretch`); near singular configurations, in the redundant form, and with
inputs or samples that are Python's, each step is taken here. There the methods without an
integrator of their own in Python have a stand-in of no lower order: dop853 for adaptive ones,
midpoint for others.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, overload

import numpy as np

from linkwright.algebra.units import Amount, by_name
from linkwright.blocks import mechanism_of
from linkwright.border import worded
from linkwright.equations.closure import Relations, assemble
from linkwright.equations.equations import Equations, derive
from linkwright.equations.evaluation import Array, all_values
from linkwright.equations.formulations import QUICK
from linkwright.equations.joint_stops import run_notes, with_stops
from linkwright.equations.poles import AT, NEAR, pole_words, poles
from linkwright.equations.resistance import refuse_idle, refuse_unresisted
from linkwright.errors import DomainError, Error
from linkwright.mechanism import Mechanism, resolved
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.simulation.described import method_notes, own_times
from linkwright.simulation.forms import Independent
from linkwright.simulation.holding import Held, Input, Records
from linkwright.simulation.integrators import IntegratorProtocol, integrator_named
from linkwright.simulation.native.machine import Settings
from linkwright.simulation.native.pace import Pace
from linkwright.simulation.run import Run
from linkwright.simulation.settings import DEFAULTS, RunSettings, divided, settings_of
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.simulation.stretch import (
    Gone,
    Stretch,
    is_native,
    require_progress,
    stretch_settings,
)
from linkwright.simulation.switching import MANY, FormChoice
from linkwright.simulation.systems import SystemRun, simulate_system
from linkwright.system import System
from linkwright.version import __version__

Sampled = Callable[[float, Mapping[str, float]], Mapping[str, float]]
Sink = Callable[[float, Array], None]


class AssembledRobot(Protocol):
    """A robot: something with a mechanism, put together from a description."""

    @property
    def mechanism(self) -> Mechanism:
        """What moves."""

    @property
    def assembled(self) -> object:
        """What it was put together to."""


@overload
def simulate(
    mechanism: Mechanism | Equations | AssembledRobot | str | os.PathLike[str],
    until: Amount | None = None,
    *,
    step: Amount | None = None,
    method: str = DEFAULTS.method,
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Input] | None = None,
    sampled: Sampled | None = None,
    every: int | None = None,
    tolerance: float = DEFAULTS.tolerance,
    form: str = DEFAULTS.form,
    sink: Sink | None = None,
) -> Run: ...


@overload
def simulate(
    mechanism: System,
    until: Amount | None = None,
    *,
    step: Amount | None = None,
    method: str = DEFAULTS.method,
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    every: int | None = None,
    tolerance: float = DEFAULTS.tolerance,
    record: Iterable[str] | None = None,
    seed: int = DEFAULTS.seed,
    executor: str = DEFAULTS.executor,
    progress: Callable[[float], None] | None = None,
) -> SystemRun: ...


@worded
def simulate(
    mechanism: Mechanism | Equations | AssembledRobot | System | str | os.PathLike[str],
    until: Amount | None = None,
    *,
    step: Amount | None = None,
    method: str = DEFAULTS.method,
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Any] | None = None,
    sampled: Sampled | None = None,
    every: int | None = None,
    tolerance: float = DEFAULTS.tolerance,
    form: str = DEFAULTS.form,
    record: Iterable[str] | None = None,
    seed: int = DEFAULTS.seed,
    executor: str = DEFAULTS.executor,
    progress: Callable[[float], None] | None = None,
    sink: Sink | None = None,
) -> Run | SystemRun:
    """Return the motion of a mechanism, or a run of a System, from time zero.

    Args:
        mechanism: a mechanism, a robot, equations derived from it, a System, a file or the name
            of a shipped model. From a mechanism equations are derived quickly; `derive` finds
            smaller ones, which takes longer.
        until: end time, s; the model's own by default, or 10 s.
        step: of a method with fixed steps, s; by default the base tick of a System in which
            something is sampled, else the model's own, or the ten-thousandth part of the run.
            Without such a tick it is the finest interval of samples of an adaptive method.
        method: "midpoint", "rk4", "semi-implicit", "implicit-speeds" or "verlet" with fixed steps,
            "dopri5", "dop853" or, for stiff systems, "rodas4" with adaptive ones; see
            `linkwright.simulation.native.methods`.
        initial: coordinates, speeds and extra states to start from, over the mechanism's own;
            what constraints determine is computed.
        values: values of parameters, over the mechanism's own.
        inputs: for inputs a number or, of a mechanism, a function of time.
        sampled: called at the start and after every accepted step with the time and all states,
            returns values of inputs that hold until the next call; a System has foreign blocks.
        every: steps (of a System in which something is sampled, base ticks) from one sample to the
            next; by default so many that there are about a thousand samples.
        tolerance: of an adaptive method, relative error of a step.
        form: "auto", "independent" or "redundant"; see `linkwright.simulation.switching`.
        record: of a System, names of the channels to record; all by default.
        seed: of a System, that of its noise.
        executor: of a System, what runs it: "native", or "python" for reading and checking.
        progress: of a System, called now and then with the time that was reached, s.
        sink: of a mechanism, called during the run with each recorded time and the values of the
            channels of `Run.recording` then.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity(along="-y")
    >>> run = simulate(m, 2.367841947576237 / 2, step=2.367841947576237 / 2)
    >>> round(run.final["rod"], 9)
    -3.141592654
    """
    settings = settings_of(
        until,
        step=step,
        method=method,
        tolerance=tolerance,
        every=every,
        seed=seed,
        form=form,
        executor=executor,
    )
    model: Mechanism | Equations | AssembledRobot | System = resolved(mechanism)
    if isinstance(model, System):
        if sampled is not None or sink is not None or form != "auto":
            raise Error(
                "a System has no form to choose, and no function that is sampled or a sink",
                remedy="add the function to the System, with a rate",
            )
        return simulate_system(
            model,
            settings,
            initial=initial,
            values=values,
            inputs=inputs,
            record=record,
            progress=progress,
        )
    if record is not None or seed or progress is not None or executor != DEFAULTS.executor:
        raise Error(
            "record, seed, executor and progress are for Systems", remedy="simulate(System(m), ...)"
        )
    return begin(
        model,
        settings,
        initial=initial,
        values=values,
        inputs=inputs,
        sampled=sampled,
        sink=sink,
    ).run()


def begin(
    mechanism: Mechanism | Equations | AssembledRobot,
    settings: RunSettings,
    *,
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Input] | None = None,
    sampled: Sampled | None = None,
    sink: Sink | None = None,
    preparing: Stopwatch | None = None,
) -> Simulation:
    """Return a run of a mechanism that is ready to go: derived, compiled and put together.

    The arguments are those of `simulate`, and what deriving and compiling is timed by, be it now or
    where the form changes on the way.
    """
    asked = settings.recorded().timed(own_times(mechanism_of(mechanism)))
    assert asked.until is not None
    assert asked.step is not None
    assert asked.every is not None
    count, end = divided(asked.until, asked.step)
    whole = count if end == math.inf else count - 1
    chosen = asked.chosen
    equations = mechanism if isinstance(mechanism, Equations) else None
    plain = mechanism_of(mechanism)
    initial, values = plain.amounts(initial, "initial"), plain.amounts(values, "values")
    notes = [*run_notes(plain, stopping=equations is None), *method_notes(plain, chosen)]
    if equations is None:
        plain = with_stops(plain)
    native = stretch_settings(chosen, max(whole, 1), asked.step, asked.every, asked.tolerance)
    about: dict[str, Any] = {"version": __version__, "hash": "", **asked.metadata()}
    watch = preparing or Stopwatch()
    simulation = Simulation(
        plain,
        equations,
        values,
        by_name(inputs, "inputs"),
        sampled,
        asked.form,
        initial,
        native,
        watch,
    )
    simulation.sink, simulation.tolerance = sink, asked.tolerance
    simulation.whole, simulation.end = whole, end
    if notes:
        about["notes"] = notes
    simulation.about = {**about, "hash": simulation.fingerprint()}
    simulation.report.extend(notes)
    simulation.compile()
    return simulation


class Simulation:
    """One run of a mechanism: its inputs, its form, and its records.

    `run` carries it out; `preparing` times what is derived and compiled on the way.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        equations: Equations | None,
        values: Mapping[str, float] | None,
        inputs: Mapping[str, Input],
        sampled: Sampled | None,
        form: str,
        initial: Mapping[str, float] | None,
        settings: Settings,
        preparing: Stopwatch,
    ) -> None:
        self.model = mechanism
        self.mechanism = mechanism = mechanism.with_values(values)
        self.settings = settings
        self.preparing = preparing
        self.tolerance = settings.relative
        self.about: Mapping[str, Any] = {}
        self.sampled = sampled
        self.values = all_values(mechanism, None)
        refuse_unreal(mechanism, self.values)
        refuse_idle(mechanism, self.values)
        self.held = Held(mechanism, self.values, inputs)
        signals = self.held if mechanism.inputs else None
        if equations is None and form == "auto" and len(mechanism.constraints) > MANY:
            form = "redundant"
        if equations is None and form != "redundant":
            equations = derive(mechanism, QUICK)
        if equations is not None:
            self.mechanism = mechanism = equations.mechanism.with_values(self.values)
        self.relations = Relations(mechanism, self.values, signals=signals)
        start = assemble(mechanism, initial, relations=self.relations)
        more = (line for line in mechanism.reports if line not in self.model.reports)
        self.report = [*start.report, *_left_out(equations), *more]
        self.names = [*start.coordinates]
        self.speeds = [*start.speeds]
        self.q = np.array(list(start.coordinates.values()))
        self.u = np.array(list(start.speeds.values()))
        self.choice = FormChoice(mechanism, self.relations, self.values, signals, form, preparing)
        self.stretches: dict[tuple[Independent, float | None], Stretch] = {}
        self.steps = self.evaluations = 0
        self.whole, self.end = settings.until, math.inf
        self.going: Stretch | None = None
        self.pace = Pace(settings.until * settings.step, often=20_000)
        self.sink: Sink | None = None
        self.equations = equations
        self.sample(0.0)
        self.form = self.choice.first(equations, 0.0, self.q, self.u)

    def sample(self, t: float) -> bool:
        """Update the sampled inputs; say whether there are any."""
        if self.sampled is None:
            return False
        names = [*self.names, *self.speeds]
        self.held.hold(self.sampled(t, dict(zip(names, [*self.q, *self.u], strict=True))))
        return True

    def fingerprint(self) -> str:
        """Return a digest of the equations that were derived first; empty where none were."""
        return "" if self.equations is None else self.equations.program().fingerprint()

    def _handed(self) -> Callable[[float, tuple[Array, ...], Mapping[str, float]], None] | None:
        """Return what hands a record to the sink, in the order of the recording's channels."""
        sink = self.sink
        if sink is None:
            return None
        states = [*self.names, *self.speeds]
        own = set(states)
        kept = [i for i, o in enumerate(self.mechanism.outputs) if o.name not in own]
        own |= {o.name for o in self.mechanism.outputs}
        inputs = [n for n in self.mechanism.inputs if n not in own]

        def hand(t: float, row: tuple[Array, ...], held: Mapping[str, float]) -> None:
            q, u, _, y = row
            sink(t, np.concatenate([q, u, y[kept], [held[n] for n in inputs]]))

        return hand

    def compile(self) -> None:
        """Compile what the run starts with."""
        self._stretch(0.0, 0)

    def run(self) -> Run:
        """Integrate, and return the records."""
        records = Records(sink=self._handed())
        settings = self.settings
        step, count, every = settings.step, self.whole, settings.every
        moved = len(self.names) - len(self.mechanism.states)
        integrator = integrator_named(settings.method.name)(step, self.tolerance, moved)
        t, k, started = 0.0, 0, False
        x = self.form.pack(self.q, self.u)
        self._record(records, t, x)
        while k < count:
            stretch = self._stretch(t, k)
            if stretch is not None:
                jacobian = self.relations.speed(self.q, t)[0]
                taken = partial(self._taken, records, step)
                self.going = stretch
                gone = stretch.go(k, x, self.held.now, jacobian, taken)
                t, x = gone.t, gone.x
                self._took(gone, stretch)
                if gone.tick == count:
                    k = count
                    if count % every:
                        self._record(records, t, x)
                    continue
                # a step may have gone over several ticks, whose samples it has left
                k, started = max(gone.tick, int(gone.t / step * (1 + 1e-12))), False
            if not started:
                integrator.restart(self.form.derivative, t, x)
                started = True
            t, x = self._stepped(integrator, t, x, (k + 1) * step)
            k += 1
            if k % every == 0 or k == count:
                self._record(records, t, x)
        if self.end < math.inf:  # the last step is shorter
            integrator = integrator_named(settings.method.name)(self.end - t, self.tolerance, moved)
            integrator.restart(self.form.derivative, t, x)
            t, x = self._stepped(integrator, t, x, self.end)
            self._record(records, t, x)
        return self._finished(records)

    @property
    def accepted(self) -> int:
        """Accepted steps so far, those of a native stretch that goes on among them."""
        return self.steps + (0 if self.going is None else self.going.steps)

    def _stretch(self, t: float, k: int) -> Stretch | None:
        """Return the native code to go on with from a whole step, where there is one."""
        form, settings = self.form, self.settings
        if self.sampled is not None or self.held.functions or t != k * settings.step:
            return None
        if not isinstance(form, Independent) or not is_native(form):
            return None
        limit = self.choice.limit(form)
        if (form, limit) not in self.stretches:
            with self.preparing:
                made = Stretch(form, self.values, limit, settings, settings.step)
                self.stretches[form, limit] = made
        found = self.stretches[form, limit]
        if limit is not None and not found.trusts(self.relations.speed(self.q, t)[0]):
            return None
        with self.preparing:
            return found.compiled()

    def _taken(self, records: Records, seconds: float, ticks: list[int], rows: Array) -> None:
        """Take over what a native stretch records."""
        q, u = len(self.names), len(self.speeds)
        edges = [q, q + u, q + 2 * u]
        for tick, row in zip(ticks, rows, strict=True):
            records.add(tick * seconds, tuple(np.split(row, edges)), self.held(tick * seconds))
            self._look(records, tick * seconds, row[:q])

    def _took(self, gone: Gone, stretch: Stretch) -> None:
        """Take over where a native stretch ended."""
        self.going = None
        self.steps += gone.steps
        self.evaluations += gone.evaluations
        self.q, self.u = self.form.observe(gone.t, gone.x)[:2]
        self.choice.resume(stretch.form, gone.t, self.q, self.u)

    def _stepped(
        self, integrator: IntegratorProtocol, t: float, x: Array, end: float
    ) -> tuple[float, Array]:
        """Go on to a time, step by step, and return it with the state there."""
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
            self.steps += 1
            if integrator.adaptive:
                require_progress(self.pace, self.steps, t)
            if self.choice.watches or self.sampled is not None:
                self.q, self.u = self.form.observe(t, x)[:2]
            changed = self.sample(t)
            other = self.choice.after(self.form, t, self.q, self.u)
            if other is self.form:
                integrator.accept(t, x, changed=changed)
            else:
                self.form, x = other, other.pack(self.q, self.u)
                integrator.restart(self.form.derivative, t, x)
        return t, x

    def _require_finite(self, t: float, x: Array) -> None:
        if not np.all(np.isfinite(x)):
            states = [*self.names, *self.speeds]
            names = [n for n, v in zip(states, x, strict=False) if not np.isfinite(v)]
            raise DomainError(
                f"the motion of {self.mechanism.name!r} has no finite values after t = {t:.6g} s"
                + (f" ({', '.join(names)})" if len(x) == len(states) and names else ""),
                remedy=f"look for a singularity there, or {self.settings.method.remedy}",
            )

    def _record(self, records: Records, t: float, x: Array) -> None:
        row = self.form.observe(t, x)
        if not records.times and not np.isfinite(row[2]).all():
            refuse_unresisted(
                self.mechanism, dict(zip(self.names, map(float, self.q), strict=True)), self.values
            )
        records.add(t, tuple(np.array(part) for part in row), self.held(t))
        self._look(records, t, row[0])

    def _look(self, records: Records, t: float, q: Array) -> None:
        """Keep the largest violation of a relation of position."""
        g, jacobian = self.relations.position(q, t)
        if len(g):
            size = float(np.abs(jacobian).max()) or 1.0
            records.residual = max(records.residual, float(np.abs(g).max()) / size)

    def _finished(self, records: Records) -> Run:
        m = self.model
        q, u, a, y = (np.array(column) for column in zip(*records.rows, strict=True))
        states = {n: q[:, i] for i, n in enumerate(self.names)}
        states |= {n: u[:, i] for i, n in enumerate(self.speeds)}
        near = AT if self.settings.method.adaptive else NEAR
        self.report += pole_words(poles(m), states, records.times, near)
        return Run(
            m,
            self.values,
            np.array(records.times),
            states,
            {f"{n}_dot": a[:, i] for i, n in enumerate(self.speeds)},
            {o.name: y[:, i] for i, o in enumerate(m.outputs)},
            {n: np.array([row[n] for row in records.inputs]) for n in m.inputs},
            {**m.units, **{o.name: o.unit for o in m.outputs}},
            self.steps,
            self.evaluations + self.choice.evaluations(),
            records.residual,
            (*self.report, *self.choice.report),
            self.about,
        )


def _left_out(equations: Equations | None) -> list[str]:
    if equations is None:
        return []
    idle = [e.constraint.name for e in equations.eliminations if e.speed is None]
    return [f"redundant, and left out: {'; '.join(idle)}"] if idle else []
