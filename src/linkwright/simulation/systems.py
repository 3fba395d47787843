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

from linkwright.algebra.units import Amount, by_name
from linkwright.equations.poles import AT, NEAR, pole_words, poles
from linkwright.equations.resistance import refuse_idle, refuse_unresisted
from linkwright.errors import DomainError
from linkwright.mechanism.provenance import named
from linkwright.recording import Recording
from linkwright.recording.holder import Recorded
from linkwright.recording.transfer import StayedBehind
from linkwright.simulation.described import method_notes, phase_channels, phase_numbers, timed
from linkwright.simulation.native.session import Happened, Outcome, Progress, Session, StopReason
from linkwright.simulation.settings import RunSettings
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
    >>> run = simulate_system(s, RunSettings(2.0))
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
    stop: StopReason | None
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
    settings: RunSettings,
    *,
    initial: Mapping[str, Amount] | None = None,
    values: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    record: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> SystemRun:
    """Return a run of a System from time zero; the arguments are those of `simulate`."""
    own = system.copy()
    own.set_initial(by_name(initial, "initial"))
    own.set({**by_name(values, "values"), **by_name(inputs, "inputs")})
    phases, settings = timed(own, own.phases(record), settings.recorded())
    if not own.members:
        refuse_idle(own.mechanism, _all_values(own))
    return _driven(own, Session(phases, settings), settings, progress)


def _driven(
    system: System, session: Session, settings: RunSettings, progress: Progress | None
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
            remedy=f"{remedy}, or {settings.chosen.remedy}",
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
    system: System, phases: Phases, outcome: Outcome, settings: RunSettings, seconds: float
) -> SystemRun:
    channels = phase_channels(phases)
    about = {**(phases.meta or {}), **settings.metadata(), **phase_numbers(phases)}
    notes = method_notes(system.mechanism, settings.chosen)
    if notes:
        about["notes"] = notes
    if system.mechanism.bodies:
        about["model"] = named(system.mechanism)
        about["parameters"] = {**_all_values(system), **about["parameters"]}
        near = AT if settings.chosen.adaptive else NEAR
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
