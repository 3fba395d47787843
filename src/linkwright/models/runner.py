"""One recorded run of a model: prepared, driven in short stretches, and safe at any moment.

What is recorded goes to a journal beside the target while the run goes on, and becomes the
recording when it ends, be it at its time, at a value that is not finite, or at an interrupt. A run
that is killed leaves the journal (`linkwright recover`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.errors import Error, InputError
from linkwright.models.prepared import (
    Prepared,
    numbered,
    prepare,
    remember,
    remembered,
    system_of,
)
from linkwright.models.sources import Source, source_of
from linkwright.recording.origins import KEY as ORIGIN
from linkwright.recording.recording import Recording
from linkwright.simulation.described import phase_channels, phase_numbers
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Forgotten
from linkwright.simulation.recorder import VISIT, Progress, Recorder, Target
from linkwright.simulation.run import Run
from linkwright.simulation.settings import DEFAULTS, RunSettings
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.system.phases import Phases
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.files import OpenedFile
    from linkwright.mechanism import Mechanism
    from linkwright.system import System

_TOLD = ("display", "limits", "notes", "forces", "floors", "driven", "system")
_FIRST = 2_000  # steps before the first visit


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be run; all that a run depends on."""

    model: str  # its name with options, or a path
    settings: RunSettings = DEFAULTS  # how it is run
    # of parameters and inputs, over the model's own
    values: Mapping[str, float] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)  # of states, over the model's own
    trust: bool = False  # whether C code in the model's file may be compiled and run
    reactions: bool = False  # whether forces and moments in all joints are recorded as well
    ground: bool = False  # whether the shapes of a robot file touch a level ground
    limits: bool = True  # whether joints stop at their limits
    base: str = "file"  # of a robot file: "file", "free" or "fixed", as for `linkwright.load`

    @property
    def plain(self) -> bool:
        """Whether the model runs as it is."""
        return not self.reactions and not self.ground and self.limits and self.base == "file"


def run_model(
    request: Request,
    out: Path | None = None,
    *,
    replace_file: bool = False,
    replace_journal: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run a model and write its recording.

    >>> found = run_model(Request("pendulum", RunSettings(1.0, 0.01)))
    >>> found.time, len(found.recording)
    (1.0, 101)
    """
    asked = time.perf_counter()
    source = source_of(request.model)
    target = None if out is None else Target(out, replace_file, replace_journal)
    if target is not None:
        target.check()
    request.settings.recorded()
    known = remembered(source) if request.plain else None
    if known is not None:
        phases = numbered(known, request.values, request.initial)
        if phases is not None:
            if request.values:
                _refuse_unreal(request)
            try:
                return _native(known, phases, request, target, progress, asked)
            except Forgotten:
                pass
    from linkwright.equations.resistance import refuse_idle
    from linkwright.mechanism import mechanism_of
    from linkwright.mechanism.plausibility import refuse_unreal
    from linkwright.system import System
    from linkwright.system.forms import is_regular

    model = _opened(request, source.opened)
    mechanism = mechanism_of(model)
    if request.reactions:
        mechanism.output_all("reactions")
    if not source.known or request.base != "file":
        from linkwright.formats.origins import origin_of

        source = replace(source, origin=origin_of(mechanism))
    if isinstance(model, System):
        from linkwright.formats.text.custom_members import require_code

        require_code(model.members)
    else:
        refuse_unreal(mechanism, request.values)
        refuse_idle(mechanism, request.values)
    ground = None
    if request.ground:
        from linkwright.formats.robot.ground import grounded

        if isinstance(model, System):
            raise InputError(
                f"{request.model!r} is a System, whose members say what touches the ground",
                remedy='leave out --ground, and add a member of kind "Contact"',
            )
        ground = grounded(mechanism)
        request = replace(request, initial={**ground.lifted(request.initial), **request.initial})
        if ground.meshes:
            source = replace(source, text="")  # which does not hold the meshes
    system = model if isinstance(model, System) else system_of(mechanism, ground)
    if not is_regular(mechanism):
        if ground is not None:
            raise InputError(
                f"{mechanism.name!r} has closed loops, and only trees of bodies get a ground here",
                remedy="make a System of it, and add linkwright.elements.Contact",
            )
        return _switching(source, system, request, target, progress, asked)
    made = prepare(source, system, ground)
    if request.plain and (system.members or not request.values or _is_real(mechanism)):
        remember(made)
    phases = numbered(made, request.values, request.initial)
    if phases is None:
        phases = _assembled(model, made, request)
    return _native(made, phases, request, target, progress, asked)


def _opened(request: Request, file: OpenedFile | None = None) -> Mechanism | System:
    """Return the model that is asked for."""
    from linkwright.mechanism import mechanism_of
    from linkwright.models import opened
    from linkwright.system import System

    model = opened(request.model, trust=request.trust, file=file)
    if request.limits and request.base == "file":
        return model
    mechanism = mechanism_of(model)
    known = mechanism.provenance
    if known is not None and known.robot is not None:
        from linkwright.formats.robot.to_mechanism import assembled

        asked = {"base": request.base, "limits": request.limits}
        return assembled(known.robot[0], **{**known.options, **asked}).mechanism
    if request.base != "file":
        raise InputError(
            f"{request.model!r} is not a robot file, so it has no base to be {request.base}",
            remedy="leave out --base",
        )
    free = mechanism.with_parts(ranges=[])
    if not isinstance(model, System):
        return free
    model.mechanism = free
    return model


def _refuse_unreal(request: Request) -> None:
    """Refuse values with which a body's mass or inertia is none."""
    from linkwright.equations.resistance import refuse_idle
    from linkwright.mechanism import mechanism_of
    from linkwright.mechanism.plausibility import refuse_unreal

    mechanism = mechanism_of(_opened(request))
    refuse_unreal(mechanism, request.values)
    refuse_idle(mechanism, request.values)


def _is_real(mechanism: Mechanism) -> bool:
    """Whether a model with its own values would not be refused."""
    from linkwright.equations.resistance import refuse_idle
    from linkwright.mechanism.plausibility import refuse_unreal

    try:
        refuse_unreal(mechanism)
        refuse_idle(mechanism)
    except Error:
        return False
    return True


def _refuse_start(request: Request, session: Session) -> None:
    """Say why a run could not begin; where a joint moves nothing that has mass, name it."""
    from linkwright.equations.resistance import refuse_unresisted
    from linkwright.mechanism import mechanism_of

    mechanism = mechanism_of(_opened(request))
    at = {s.name: float(s.value) for s in session.phases.x}
    pose = {name: at[name] for name in mechanism.coordinates if name in at}
    whole = len(pose) == len(mechanism.coordinates)
    refuse_unresisted(mechanism, pose if whole else None, request.values)


def _assembled(model: Mechanism | System, made: Prepared, request: Request) -> Phases:
    """Return phases with numbers that constraints and quaternions agree with."""
    from linkwright.equations.closure import assemble
    from linkwright.equations.evaluation import all_values
    from linkwright.system import System

    if isinstance(model, System):
        own = model.copy()
        own.set(request.values)
        own.set_initial(request.initial)
        return replace(own.phases(), meta=made.phases.meta)
    mechanism = model
    known = all_values(mechanism, request.values)
    start = assemble(mechanism, request.initial or None, request.values or None)
    at = {**start.coordinates, **start.speeds}
    phases = made.phases
    return replace(
        phases,
        x=tuple(replace(s, value=float(at.get(s.name, s.value))) for s in phases.x),
        p=tuple(replace(s, value=float(known.get(s.name, s.value))) for s in phases.p),
        w=tuple(replace(s, value=float(known.get(s.name, s.value))) for s in phases.w),
    )


def _about(source: Source, request: Request, settings: RunSettings) -> dict[str, Any]:
    """Return what it takes to run the same again."""
    told: dict[str, Any] = {
        "model": source.model,
        "model_hash": source.digest,
        "version": __version__,
        **settings.metadata(),
        "set": dict(request.values),
        "start": dict(request.initial),
    }
    if request.reactions:
        told["reactions"] = True
    if request.ground:
        told["ground"] = True
    if not request.limits:
        told["limits"] = False
    if request.base != "file":
        told["base"] = request.base
    if source.text:
        told["model_text"] = source.text
    if source.file:
        told["model_file"] = source.file
    told[ORIGIN] = dict(source.origin)
    return told


# -- the native way --------------------------------------------------------------------------------
def _native(
    prepared: Prepared,
    phases: Phases,
    request: Request,
    target: Target | None,
    progress: Progress | None,
    asked: float,
) -> Run:
    tick = phases.tick_seconds if prepared.clocked else None
    settings = request.settings.timed(prepared.timing, tick)
    settings = replace(settings, step=settings.step or tick)
    assert settings.step is not None
    assert settings.until is not None
    if tick is None:
        phases = replace(phases, tick_seconds=settings.step)
    session = Session(phases, settings)
    values = {**prepared.values, **request.values}
    found = _recorded(
        _Going(prepared.source, request, settings, values), session, target, progress, asked
    )
    words = _pole_words((phases.meta or {}).get("poles"), found.recording, settings)
    return replace(found, report=(*found.report, *words))


@dataclass(frozen=True, slots=True)
class _Going:
    """What is run, and how."""

    source: Source
    request: Request
    settings: RunSettings
    values: Mapping[str, float]
    preparing: Stopwatch | None = None


def _recorded(
    going: _Going, session: Session, target: Target | None, progress: Progress | None, asked: float
) -> Run:
    """Drive a session to its end, with a journal beside the target."""
    settings, request, phases = going.settings, going.request, session.phases
    meta = phases.meta or {}
    about = _about(going.source, request, settings) | phase_numbers(phases)
    about["parameters"] = dict(going.values)
    about |= {k: v for k, v in meta.items() if k in _TOLD}
    recorder = Recorder(phase_channels(phases), about, target)
    begun = time.perf_counter()
    watch = going.preparing or Stopwatch()
    before = watch.seconds
    try:
        interrupted = _drive(session, recorder, float(settings.until or 0.0), progress)
    except BaseException:
        recorder.leave()
        raise
    more = watch.seconds - before
    seconds = time.perf_counter() - begun - more
    stop = session.stop
    if stop is not None and stop.failed and not session.steps:
        try:
            _refuse_start(request, session)
        except Error:
            recorder.drop()
            raise
    told: dict[str, Any] = {}
    if stop is not None:
        told["stopped"] = {"time": stop.time, "reason": stop.reason, "names": list(stop.names)}
    if interrupted:
        told["interrupted"] = session.time
    failed = stop is not None and stop.failed
    recording, path = recorder.finish(told, least=2 if failed else 1)
    outcome = session.outcome(session.collected())
    passed = () if session.fallback is None else session.fallback.report
    return Run(
        recording,
        settings,
        session.time,
        outcome.x,
        outcome.d,
        session.steps,
        outcome.rejected,
        tuple(session.events),
        stop,
        seconds,
        begun - asked + more,
        (*map(str, meta.get("report", ())), *map(str, meta.get("notes", ())), *passed),
        interrupted,
        path,
    )


def _pole_words(known: Any, recording: Recording, settings: RunSettings) -> list[str]:
    """Return what there is to say of angles that came near their pole."""
    if not known or not len(recording):
        return []
    from linkwright.equations.poles import AT, NEAR, Pole, pole_words

    joints = [Pole(str(body), str(q), bool(repeats)) for body, q, repeats in known]
    columns = {p.coordinate: recording[p.coordinate] for p in joints}
    return pole_words(joints, columns, recording.times, AT if settings.chosen.adaptive else NEAR)


def _drive(session: Session, recorder: Recorder, until: float, progress: Progress | None) -> bool:
    """Go to the end in stretches of about `VISIT`; return whether it was interrupted."""
    steps, interrupted = _FIRST, False
    try:
        while not session.done:
            begun, before = time.perf_counter(), session.steps
            samples = session.advance(steps)
            recorder.put(samples.times, samples.values)
            if progress is not None:
                progress(session.time, until)
            took = max(time.perf_counter() - begun, 1e-6)
            pace = max(session.steps - before, 1) / took
            steps = int(min(max(pace * VISIT, 100), 50_000_000))
    except KeyboardInterrupt:
        rest = session.advance(1)  # what was recorded before the interrupt came
        recorder.put(rest.times, rest.values)
        interrupted = True
    last = session.ending()
    recorder.put(last.times, last.values)
    return interrupted


# -- with constraints that may become singular -----------------------------------------------------
def _switching(
    source: Source,
    system: System,
    request: Request,
    target: Target | None,
    progress: Progress | None,
    asked: float,
) -> Run:
    from linkwright.models.prepared import is_driven
    from linkwright.simulation.runs import all_values_of, give, session_of

    watch = Stopwatch()
    give(system, request.initial, request.values)
    session, settings = session_of(system, request.settings, preparing=watch)
    if is_driven(system.mechanism):
        meta = {**(session.phases.meta or {}), "driven": True}
        session.phases = replace(session.phases, meta=meta)
    going = _Going(source, request, settings, all_values_of(system), watch)
    return _recorded(going, session, target, progress, asked)
