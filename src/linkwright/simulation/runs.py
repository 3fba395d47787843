"""Running a mechanism or a System: one way for both.

A mechanism is run as a System of it alone. The System is flattened to phases, which native code
drives (`Session`); where constraints become singular, the form of the equations changes on the way
(`linkwright.simulation.switching`). Python comes in for foreign blocks at their instants, and now
and then for progress; a run that is interrupted or that fails keeps what it had recorded, and one
that was interrupted can go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from linkwright.algebra import foreign
from linkwright.algebra.units import Amount, by_name
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError
from linkwright.equations.equations import Equations
from linkwright.equations.resistance import refuse_idle, refuse_unresisted
from linkwright.mechanism import Mechanism
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.mechanism.provenance import named
from linkwright.simulation.described import run_metadata, timed
from linkwright.simulation.input_knots import bends
from linkwright.simulation.native.session import Session
from linkwright.simulation.recorded import RecordedSession
from linkwright.simulation.recorder import Target
from linkwright.simulation.run import Run
from linkwright.simulation.settings import AUTO, DEFAULTS, RunSettings, settings_of
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.simulation.switching import forms_of
from linkwright.system import Phases, System, system_of
from linkwright.system.forms import Form

Input = Amount | Callable[[float], float]


class AssembledRobot(Protocol):
    """A robot: something with a mechanism, put together from a description."""

    @property
    def mechanism(self) -> Mechanism:
        """What moves."""

    @property
    def assembled(self) -> object:
        """What it was put together to."""


class RunStopped(DomainError):
    """A run that could not go on.

    Args:
        what: went wrong.
        run: what it had recorded until then.
        remedy: what to do.

    >>> from linkwright.blocks import Block
    >>> s, b = System(name="s"), Block("b")
    >>> x = b.state("x", "x**2", 1.0)
    >>> added = s.add(b)
    >>> try:
    ...     simulate(s, 2.0)
    ... except RunStopped as stopped:
    ...     print(0.9 < stopped.run.times[-1] < 1.1)
    True
    """

    def __init__(self, what: str, run: Run, *, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.run = run


class RunInterrupted(KeyboardInterrupt):
    """A run that was interrupted from the keyboard."""

    def __init__(self, run: Run, name: str, resume: Callable[[], Run]) -> None:
        super().__init__(f"the run of {name!r} was interrupted at t = {run.time:.6g} s")
        self.run = run
        self.time = run.time
        self.resume = resume


@worded
def simulate(
    model: Mechanism | Equations | AssembledRobot | System | str | os.PathLike[str],
    until: Amount | None = None,
    *,
    step: Amount | None = None,
    method: str = DEFAULTS.method,
    initial: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    inputs: Mapping[str, Input] | None = None,
    every: int | None = None,
    tolerance: float = DEFAULTS.tolerance,
    absolute: float | None = None,
    form: str = DEFAULTS.form,
    record: Iterable[str] | None = None,
    seed: int = DEFAULTS.seed,
    executor: str = DEFAULTS.executor,
    progress: Callable[[float], None] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Run:
    """Return the motion of a mechanism, or a run of a System, from time zero.

    Args:
        model: a mechanism, a robot, equations derived from it, a System, a file or the name
            of a shipped model. From a mechanism equations are derived quickly; `derive` finds
            smaller ones, which takes longer.
        until: end time, s; the model's own by default, or 10 s.
        step: of a method with fixed steps, s; by default the base tick of a System in which
            something is sampled, else the model's own, or the ten-thousandth part of the run.
            Without such a tick it is the finest interval of samples of an adaptive method.
        method: "auto" for one that is chosen for the run, with the reason in its notes; or
            "midpoint", "rk4", "semi-implicit", "implicit-speeds" or "verlet" with fixed steps,
            "dopri5", "dop853" or, for stiff systems, "rodas4" with adaptive ones; see
            `linkwright.simulation.native.methods`.
        initial: coordinates, speeds and other states to start from, over the model's own; what
            constraints determine is computed.
        parameters: values of parameters, over the model's own.
        inputs: for inputs that nothing drives a number or a function of time.
        every: steps (of a System in which something is sampled, base ticks) from one sample to the
            next; by default so many that there are about a thousand samples.
        tolerance: of an adaptive method, relative error of a step.
        absolute: the same where a state is near zero; see
            `linkwright.simulation.settings.RunSettings`.
        form: "auto", "independent" or "redundant"; see `linkwright.simulation.switching`.
        record: names of the channels to record; all by default.
        seed: of noise.
        executor: what runs it: "native", or "python" for reading and checking.
        progress: called now and then with the time that was reached, s.
        out: file of the recording, which must not exist; what a killed run leaves is in a journal
            beside it (`linkwright tools recover`).

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> m.gravity(along="-y")
    >>> run = simulate(m, 2.367841947576237 / 2)
    >>> round(run.final["rod"], 9)
    -3.141592654
    """
    settings = settings_of(
        until,
        step=step,
        method=method,
        tolerance=tolerance,
        absolute=absolute,
        every=every,
        seed=seed,
        form=form,
        executor=executor,
    )
    target = None if out is None else Target(Path(out))
    if target is not None:
        target.check()
    begun, watch = time.perf_counter(), Stopwatch()
    system = system_of(model).copy()
    give(system, initial, parameters, inputs, settings.until)
    names = None if record is None else list(record)
    session, settings = session_of(system, settings.recorded(), names, preparing=watch)
    about = metadata_of(system, session.phases, settings)
    about |= {} if names is None else {"record": names}
    show = None if progress is None else (lambda now, _: progress(now))
    return _driven(
        RecordedSession(
            session, settings, about, target=target, watch=watch, asked=begun, system=system
        ),
        show,
    )


def give(
    system: System,
    initial: Mapping[str, Any] | None,
    values: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None = None,
    until: float | None = None,
) -> None:
    """Give numbers to a System, and functions of time to its inputs.

    Where a function jumps or bends before the time `until`, steps end.
    """
    system.set_initial(by_name(initial, "initial"))
    plain = {n: v for n, v in by_name(inputs, "inputs").items() if not callable(v)}
    system.set_parameters({**by_name(values, "parameters"), **plain})
    for name, function in by_name(inputs, "inputs").items():
        if callable(function):
            known = system.inputs()
            if name not in known:
                system.mechanism.unknown(name, known, "input")
            word = "".join(c if c.isalnum() else "_" for c in f"input_{name}")
            system.connect(foreign(word, python=function)(system.time), name)
            knots = bends(function, 10.0 if until is None else until)
            system.knots = tuple(sorted({*system.knots, *knots}))


def session_of(
    system: System,
    settings: RunSettings,
    record: Iterable[str] | None = None,
    *,
    preparing: Stopwatch | None = None,
    run: int = 0,
) -> tuple[Session, RunSettings]:
    """Return a run of a System that stands at its start, and its settings with nothing left open.

    It passes singular configurations, unless `settings.form` is "independent".
    """
    record = None if record is None else tuple(record)
    known = {n: v for n, v in system.values.items() if n in system.mechanism.parameters}
    refuse_unreal(system.mechanism, known)
    if not system.members:
        refuse_idle(system.mechanism, all_values_of(system))
    fallback = forms_of(system, record, settings.form, preparing, settings.chosen.adaptive)
    if fallback is not None:
        phases = fallback.phases
    else:
        free = Form(guarded=False) if settings.form == "independent" else None
        phases = system.numbered(system.flattened(record, free))
    if settings.method == AUTO:
        from linkwright.simulation.choosing import with_method

        until = timed(system, phases, settings)[1].until
        settings = with_method(phases, settings, until)
        return session_of(system, settings, record, preparing=preparing, run=run)
    phases, settings = timed(system, phases, settings)
    return Session(phases, settings, fallback=fallback, run=run), settings


def _driven(going: RecordedSession, progress: Callable[[float, float], None] | None) -> Run:
    """Go on to the end, and return the run; or raise what stopped it, with the run so far."""
    system, phases = going.system, going.phases
    assert system is not None
    run = going.finished(lambda: refuse_start(system, phases), progress)
    if run.interrupted:
        raise RunInterrupted(run, system.name, partial(_driven, going, progress))
    if run.failed and run.stop is not None:
        raise RunStopped(
            f"the run of {system.name!r} stopped: {run.stop.reason}", run, remedy=run.remedy
        )
    return run


def refuse_start(system: System, phases: Phases) -> None:
    """Say where a run cannot begin because a joint moves nothing that has mass."""
    m = system.mechanism
    at = {s.name: float(s.value) for s in phases.x}
    pose = {name: at[name] for name in m.coordinates if name in at}
    refuse_unresisted(m, pose if len(pose) == len(m.coordinates) else None, all_values_of(system))


def all_values_of(system: System) -> dict[str, float]:
    """Return parameters and inputs of a System's mechanism, those no equation needs included."""
    m = system.mechanism
    own = {*m.parameters, *m.inputs}
    values = {**m.values, **system.values}
    return {name: float(v) for name, v in values.items() if name in own}


def metadata_of(system: System, phases: Phases, settings: RunSettings) -> dict[str, Any]:
    """Return what a recording says of a run: the model, its numbers, and how it was run."""
    name = named(system.mechanism) if system.mechanism.bodies else system.name
    values = all_values_of(system)
    return {"model": name, **run_metadata(phases, settings, values, system.values, system.initial)}
