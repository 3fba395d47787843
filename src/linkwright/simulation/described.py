"""What recordings report phases: channels, numbers, a digest of Programs; and when they run.

Nothing that derives equations is imported here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwright.recording.generic import generic_name
from linkwright.recording.recording import Channel
from linkwright.simulation.settings import RunSettings
from linkwright.system.phases import Phases, Signal
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.simulation.native.methods import Method
    from linkwright.system import System


def timed(system: System, phases: Phases, settings: RunSettings) -> tuple[Phases, RunSettings]:
    """Return phases and settings of a System with nothing left open.

    >>> from linkwright.system import System
    >>> s = System(name="s")
    >>> phases, settings = timed(s, s.phases(), RunSettings(until=5.0))
    >>> phases.tick_seconds, settings.every
    (0.005, 1)
    """
    return closed(phases, settings, own_times(system.mechanism), not system.is_continuous)


def closed(
    phases: Phases, settings: RunSettings, own: tuple[float, float] | None, sampled: bool
) -> tuple[Phases, RunSettings]:
    """Return phases and settings with nothing left open, where a model has times of its own.

    Where nothing is sampled there is no tick of its own, so a step is one.
    """
    made = settings.timed(own, phases.tick_seconds if sampled else None)
    made = replace(made, step=made.step or phases.tick_seconds)
    assert made.step is not None
    return phases if sampled else replace(phases, tick_seconds=made.step), made


def own_times(mechanism: Mechanism) -> tuple[float, float] | None:
    """Return the end and the step that a mechanism asks for itself, s."""
    timing = mechanism.timing
    return None if timing is None else (timing.until, timing.step)


def phase_channels(phases: Phases) -> list[Channel]:
    """Return the channels that phases record."""
    return signal_channels(phases.outputs)


def signal_channels(signals: Iterable[Signal]) -> list[Channel]:
    """Return channels for numbers of a run."""
    return [Channel(s.name, s.unit, s.long_name, generic_name(s.unit), s.body) for s in signals]


def run_metadata(
    phases: Phases,
    settings: RunSettings,
    values: Mapping[str, float],
    given: Mapping[str, Any],
    start: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what a recording says of a run: the model, its numbers, and how it was run.

    They are the values of all parameters and inputs, those included that no equation needs, and
    what was given of values and starts.
    """
    about = {
        **told_meta(phases),
        **settings.metadata(),
        "version": __version__,
        "hash": fingerprint(phases),
        "parameters": {**values, **{s.name: s.value for s in (*phases.p, *phases.w)}},
        "initial": {s.name: s.value for s in (*phases.x, *phases.d)},
        "set": dict(given),
        "start": dict(start),
    }
    if words := [*method_notes(phases, settings.chosen), *settings.step_notes(phases)]:
        about["notes"] = [*about.get("notes", ()), *words]
    return about


def told_meta(phases: Phases) -> dict[str, Any]:
    """Return what recordings report a System, without what only the end of a run asks for."""
    private = ("report", "poles", "rotations", "stops")
    return {k: v for k, v in (phases.meta or {}).items() if k not in private}


def fingerprint(phases: Phases) -> str:
    """Return a digest of the Programs of a System, the same in every process.

    >>> from linkwright.system import System
    >>> len(fingerprint(System(name="s").phases()))
    32
    """
    sink = hashlib.blake2b(digest_size=16)
    for made in (
        phases.derivative,
        phases.accepted,
        phases.events,
        *(t.program for t in phases.ticks),
    ):
        if made is not None:
            sink.update(made.fingerprint().encode())
    return sink.hexdigest()


def method_notes(phases: Phases, method: Method) -> list[str]:
    """Return what is to be said of a method on a System, in sentences.

    >>> from linkwright.simulation.native.methods import METHODS
    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.system import System
    >>> m = Mechanism("top")
    >>> b = m.body("b", rotate="xyz", mass=1, inertia=(1, 2, 3))
    >>> [note[:28] for note in method_notes(System(m).phases(), METHODS["semi-implicit"])]
    ['semi-implicit: this method i']
    """
    turns = (phases.meta or {}).get("rotations", 0) > 1
    return [f"{method.name}: {method.note}"] if method.note and turns else []
