"""Systems: mechanisms with everything that acts on them, flattened to Programs.

A name is imported when it is first used: a run whose native code is in the cache needs the phases,
but nothing that derives them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwright.system.clock import Clock, Schedule, make_clock
    from linkwright.system.definitions import AlgebraicLoop
    from linkwright.system.member import Member
    from linkwright.system.phases import (
        ARRAYS,
        TICK_ARRAYS,
        Event,
        Phases,
        Signal,
        Tick,
        normal,
        phase_program,
    )
    from linkwright.system.system import System, system_of

__all__ = [
    "ARRAYS",
    "TICK_ARRAYS",
    "AlgebraicLoop",
    "Clock",
    "Event",
    "Member",
    "Phases",
    "Schedule",
    "Signal",
    "System",
    "Tick",
    "make_clock",
    "normal",
    "phase_program",
    "system_of",
]

_HOMES = {
    "clock": ("Clock", "Schedule", "make_clock"),
    "definitions": ("AlgebraicLoop",),
    "member": ("Member",),
    "phases": (
        "ARRAYS",
        "TICK_ARRAYS",
        "Event",
        "Phases",
        "Signal",
        "Tick",
        "normal",
        "phase_program",
    ),
    "system": ("System", "system_of"),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name

    def __getattr__(name: str) -> object:
        """Import a name from its home and remember it."""
        for home, names in _HOMES.items():
            if name in names:
                found = getattr(import_module(f"{__name__}.{home}"), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
