"""One recorded run of a model by its name or file: opened as asked, prepared, and driven.

A model that was run before starts from the disk cache, without being opened.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error, InputError
from linkwright.models.prepared import numbered, prepare, remember, remembered
from linkwright.models.sources import Source, source_of
from linkwright.recording.origins import KEY as ORIGIN
from linkwright.simulation.described import closed, run_metadata
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Forgotten
from linkwright.simulation.recorded import RecordedSession
from linkwright.simulation.recorder import Progress, Target
from linkwright.simulation.run import Run
from linkwright.simulation.settings import AUTO, DEFAULTS, RunSettings
from linkwright.simulation.stopwatch import Stopwatch
from linkwright.system.phases import Phases

if TYPE_CHECKING:
    from linkwright.base.files import OpenedFile
    from linkwright.mechanism import Mechanism
    from linkwright.system import System


USUAL = {"reactions": False, "ground": False, "limits": True, "base": "file"}
"""How a model runs as it is."""


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
    def unusual(self) -> dict[str, Any]:
        """How the model does not run as it is, which its recording reports."""
        own = {name: getattr(self, name) for name in USUAL}
        return {name: value for name, value in own.items() if value != USUAL[name]}


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
    asked, watch = time.perf_counter(), Stopwatch()
    source = source_of(request.model)
    target = None if out is None else Target(out, replace_file, replace_journal)
    if target is not None:
        target.check()
    request.settings.recorded()
    made = _remembered(source, request) if not request.unusual else None
    if made is None:
        from linkwright.simulation.runs import all_values_of, give, session_of
        from linkwright.system.forms import is_regular

        system, source, request = _system(source, request)
        own = system.copy()
        give(system, request.initial, request.values)
        session, settings = session_of(system, request.settings, preparing=watch)
        values = all_values_of(system)
        sound = own.members or not request.values or _is_real(own.mechanism)
        if not request.unusual and sound and is_regular(own.mechanism):
            remember(prepare(source, own))
    else:
        session, settings, values = made
    about = run_metadata(session.phases, settings, values, request.values, request.initial)
    about |= {"model": source.model, "model_hash": source.digest, **request.unusual}
    about |= {"model_text": source.text} if source.text else {}
    about |= {"model_file": source.file} if source.file else {}
    about[ORIGIN] = dict(source.origin)
    going = RecordedSession(session, settings, about, target=target, watch=watch, asked=asked)
    return going.finished(lambda: _refuse_start(request, session.phases), progress)


def _remembered(
    source: Source, request: Request
) -> tuple[Session, RunSettings, dict[str, float]] | None:
    """Return a run of a model that was prepared before, with the values of its parameters."""
    known = None if request.settings.method == AUTO else remembered(source)
    phases = None if known is None else numbered(known, request.values, request.initial)
    if known is None or phases is None:
        return None
    if request.values:
        from linkwright.mechanism import mechanism_of

        _refuse_unreal(mechanism_of(_opened(request)), request.values)
    phases, settings = closed(phases, request.settings, known.timing, known.clocked)
    try:
        return Session(phases, settings), settings, {**known.values, **request.values}
    except Forgotten:
        return None


def _system(source: Source, request: Request) -> tuple[System, Source, Request]:
    """Return the System that is asked for, where it comes from, and with what it starts."""
    from linkwright.mechanism import mechanism_of
    from linkwright.system import System, system_of
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
    system = system_of(model)
    if request.ground:
        from linkwright.formats.robot.ground import grounded

        if isinstance(model, System):
            raise InputError(
                f"{request.model!r} is a System, whose members say what touches the ground",
                remedy='leave out --ground, and add a member of kind "Contact"',
            )
        ground = grounded(mechanism)
        if not is_regular(mechanism):
            raise InputError(
                f"{mechanism.name!r} has closed loops, and only trees of bodies get a ground here",
                remedy="make a System of it, and add linkwright.elements.Contact",
            )
        request = replace(request, initial={**ground.lifted(request.initial), **request.initial})
        if ground.meshes:
            source = replace(source, text="")  # which does not hold the meshes
        ground.add_to(system)
    return system, source, request


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


def _refuse_unreal(mechanism: Mechanism, values: Mapping[str, float]) -> None:
    """Reject values that make a body's mass or inertia impossible."""
    from linkwright.equations.resistance import refuse_idle
    from linkwright.mechanism.plausibility import refuse_unreal

    refuse_unreal(mechanism, values)
    refuse_idle(mechanism, values)


def _is_real(mechanism: Mechanism) -> bool:
    """Whether a model with its own values would not be rejected."""
    try:
        _refuse_unreal(mechanism, {})
    except Error:
        return False
    return True


def _refuse_start(request: Request, phases: Phases) -> None:
    """Say why a run could not begin; where a joint moves nothing that has mass, name it."""
    from linkwright.simulation.runs import give, refuse_start
    from linkwright.system import system_of

    system = system_of(_opened(request))
    give(system, None, request.values)
    refuse_start(system, phases)
