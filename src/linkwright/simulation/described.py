"""What recordings tell of phases: channels, numbers, a digest of Programs; and their density.

Nothing that derives equations is imported here.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from linkwright.recording.generic import generic_name
from linkwright.recording.recording import Channel
from linkwright.system.phases import Phases
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.simulation.native.methods import Method

SAMPLES = 1000
"""How many samples a recording has, about, unless more are asked for."""


def spacing(ticks: int, samples: int = SAMPLES) -> int:
    """Return the ticks between samples, for about so many of them and one at the end.

    >>> spacing(15_000), spacing(100), spacing(100_003), spacing(10**15)
    (15, 1, 101, 1000000000000)
    """
    least = max(1, -(-ticks // samples))
    counts = range(ticks // least, max(ticks // (4 * least), 1) - 1, -1)
    fitting = (ticks // count for count in counts if ticks % count == 0)
    found = next(fitting, least)
    return found if found < 4 * least else least


def phase_channels(phases: Phases) -> list[Channel]:
    """Return the channels that phases record."""
    return [
        Channel(s.name, s.unit, s.long_name, generic_name(s.unit), s.body) for s in phases.outputs
    ]


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
