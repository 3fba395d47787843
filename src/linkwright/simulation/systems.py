"""Running a System: its phases compiled, driven natively, and recorded.

Python comes in for foreign blocks at their instants, and now and then for progress; a run that is
interrupted or that fails keeps what it had recorded, and one that was interrupted can go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linkwright.algebra.units import Amount, by_name, span
from linkwright.equations.poles import AT, NEAR, pole_words, poles
from linkwright.equations.resistance import refuse_idle, refuse_unresisted
from linkwright.errors import DomainError
from linkwright.mechanism.provenance import named
from linkwright.recording import Recording
from linkwright.recording.holder import Recorded
from linkwright.recording.transfer import StayedBehind
from linkwright.simulation.described import method_notes, phase_channels, phase_numbers, spacing
from linkwright.simulation.native.limits import divided, require_end, require_every
from linkwright.simulation.native.methods import method_named
from linkwright.simulation.native.session import Happened, Outcome, Progress, Session, Stop
from linkwright.system import Phases, System


@dataclass(frozen=True, slots=True, eq=False)
class SystemRun(Recorded):
    """A run of a System.

    Args:
        system: what was run.
        recording: its channels over time.
        states: continuous states at the end, by name.
        memory: discrete states and held outputs at the end, by name.
        steps: accepted steps of the integration.
        rejected: steps that were tried again.
        events: what happened when.
        stop: why it ended before its time, or None.
        seconds: what it took, s, without flattening and compiling.

    >>> from linkwright.blocks import Integrator
    >>> s = System(name="s")
    >>> added = s.add(Integrator())
    >>> s.connect("t", added.u)
    >>> run = simulate_system(s, 2.0)
    >>> round(run.final["integrator.y"], 9)
    2.0
    """

    system: System = field(repr=False)
    recording: Recording
    states: dict[str, float] = field(repr=False)
    memory: dict[str, float] = field(repr=False)
    steps: int
    rejected: int
    events: tuple[Happened, ...]
    stop: Stop | None
    seconds: float

    def __repr__(self) -> str:
        times, channels = self.recording.times, len(self.recording.channels)
        span = f"{times[-1]:g} s, {len(times)} samples" if len(times) else "no samples"
        ended = "" if self.stop is None else ", stopped early"
        return f"SystemRun({span} of {channels} channels, {self.steps} steps{ended})"

    def _packed(self, held: dict[str, Any]) -> dict[str, Any]:
        return {**held, "system": StayedBehind(f"the System of {self.recording!r}")}

    @property
    def times(self) -> Any:
        """The times of the samples, s."""
        return self.recording.times

    @property
    def final(self) -> dict[str, float]:
        """The last sample, with the states and held outputs at the end."""
        return {**self.memory, **self.recording.final, **self.states}

    def __getitem__(self, name: str) -> Any:
        """Return a channel over time."""
        return self.recording[name]


class RunStopped(DomainError):
    """A run that could not go on; `run` holds what it had recorded."""

    def __init__(self, what: str, run: SystemRun, *, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.run = run


class RunInterrupted(KeyboardInterrupt):
    """A run that was interrupted from the keyboard."""

    def __init__(self, run: SystemRun, time: float, resume: Callable[[], SystemRun]) -> None:
        super().__init__(f"the run of {run.system.name!r} was interrupted at t = {time:.6g} s")
        self.run = run
        self.time = time
        self.resume = resume


def simulate_system(
    system: System,
    until: Amount,
    *,
    step: float | None = None,
    method: str = "dopri5",
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    record: Iterable[str] | None = None,
    every: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-8,
    progress: Progress | None = None,
) -> SystemRun:
    """Return a run of a System from time zero.

    Args:
        system: what to run.
        until: end time, s.
        step: the longest step of a method with fixed steps, s; the base tick by default.
        method: one of `linkwright.simulation.native.methods.METHODS`.
        initial: where states start, over the System's own; what constraints determine is computed.
        values: values of parameters, over the System's own.
        inputs: values of inputs that nothing drives, over the System's own.
        record: names of the channels to record; all by default.
        every: base ticks from one sample to the next; about a thousand samples by default.
        seed: of noise.
        tolerance: of an adaptive method, relative error of a step.
        progress: called now and then with the time that was reached, s.
    """
    require_end(until)
    if every is not None:
        require_every(every)
    own = system.copy()
    until, step = span(until, "the end time"), None if step is None else span(step, "the step")
    own.set_initial(by_name(initial, "initial"))
    own.set({**by_name(values, "values"), **by_name(inputs, "inputs")})
    phases = own.phases(record)
    if not own.members:
        refuse_idle(own.mechanism, _all_values(own))
    spaced = spacing(divided(until, phases.tick_seconds)[0]) if every is None else every
    session = Session(
        phases, until, method=method, step=step, every=spaced, seed=seed, tolerance=tolerance
    )
    settings = {"method": method, "step": step, "until": until, "seed": seed}
    if session.machine.settings.method.adaptive:
        settings["tolerance"] = tolerance
    return _driven(own, session, settings, progress)


def _driven(
    system: System, session: Session, settings: Mapping[str, Any], progress: Progress | None
) -> SystemRun:
    """Go on to the end, and return the run; or raise what stopped it, with the run so far."""
    begun = time.perf_counter()
    try:
        outcome = session.run(progress)
    except KeyboardInterrupt as error:
        seconds = time.perf_counter() - begun
        so_far = _run(system, session.phases, session.standing(), settings, seconds)
        again = partial(_driven, system, session, settings, progress)
        raise RunInterrupted(so_far, session.time, again) from error
    run = _run(system, session.phases, outcome, settings, time.perf_counter() - begun)
    if outcome.stop is not None and outcome.stop.failed:
        if not outcome.steps:
            _refuse_unresisted(system, session.phases)
        remedy = "look there for a singularity, a force that jumps or an unstable loop"
        raise RunStopped(
            f"the run of {system.name!r} stopped: {outcome.stop.reason}",
            run,
            remedy=f"{remedy}, or {session.machine.settings.method.remedy}",
        )
    return run


def _refuse_unresisted(system: System, phases: Phases) -> None:
    """Say where a run cannot begin because a joint moves nothing that has mass."""
    m = system.mechanism
    at = {s.name: float(s.value) for s in phases.x}
    pose = {name: at[name] for name in m.coordinates if name in at}
    refuse_unresisted(m, pose if len(pose) == len(m.coordinates) else None, _all_values(system))


def _all_values(system: System) -> dict[str, float]:
    """Return the parameters of a System's mechanism, those included that no equation needs."""
    own = system.mechanism.parameters
    values = {**system.mechanism.values, **system.values}
    return {name: float(v) for name, v in values.items() if name in own}


def _run(
    system: System, phases: Phases, outcome: Outcome, settings: Mapping[str, Any], seconds: float
) -> SystemRun:
    channels = phase_channels(phases)
    about = {**(phases.meta or {}), **settings, **phase_numbers(phases)}
    notes = method_notes(system.mechanism, method_named(str(settings["method"])))
    if notes:
        about["notes"] = notes
    if system.mechanism.bodies:
        about["model"] = named(system.mechanism)
        about["parameters"] = {**_all_values(system), **about["parameters"]}
        near = AT if "tolerance" in settings else NEAR
        columns = dict(zip(outcome.samples.names, outcome.samples.values.T, strict=True))
        times = outcome.samples.times
        if len(times) and (words := pole_words(poles(system.mechanism), columns, times, near)):
            about["notes"] = [*about.get("notes", []), *words]
    recording = Recording(outcome.samples.times, channels, outcome.samples.values, about, system)
    return SystemRun(
        system,
        recording,
        outcome.x,
        outcome.d,
        outcome.steps,
        outcome.rejected,
        outcome.events,
        outcome.stop,
        seconds,
    )
