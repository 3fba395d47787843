"""What recordings tell of phases: channels, numbers, a digest of Programs; and when they run.

Nothing that derives equations is imported here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
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
    """Return phases and settings with nothing left open.

    Where nothing is sampled there is no tick of its own, so a step is one.

    >>> from linkwright.system import System
    >>> s = System(name="s")
    >>> phases, settings = timed(s, s.phases(), RunSettings(until=5.0))
    >>> phases.tick_seconds, settings.every
    (0.005, 1)
    """
    own = own_times(system.mechanism)
    if not system.is_continuous:
        return phases, settings.timed(own, phases.tick_seconds)
    made = settings.timed(own)
    assert made.step is not None
    return replace(phases, tick_seconds=made.step), made


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


def phase_numbers(phases: Phases) -> dict[str, Any]:
    """Return what a recording tells of phases: Programs, parameters, inputs and the start."""
    return {
        "version": __version__,
        "hash": fingerprint(phases),
        "parameters": {s.name: s.value for s in (*phases.p, *phases.w)},
        "initial": {s.name: s.value for s in (*phases.x, *phases.d)},
    }


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


def method_notes(mechanism: Mechanism, method: Method) -> list[str]:
    """Return what is to be said of a method on a mechanism, in sentences.

    >>> from linkwright.simulation.native.methods import METHODS
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("top")
    >>> b = m.body("b", rotate="xyz", mass=1, inertia=(1, 2, 3))
    >>> [note[:28] for note in method_notes(m, METHODS["semi-implicit"])]
    ['semi-implicit: this method i']
    """
    turns = (sum(len(a.rotations) for a in b.ancestors()) for b in mechanism.bodies.values())
    return [f"{method.name}: {method.note}"] if method.note and max(turns, default=0) > 1 else []
