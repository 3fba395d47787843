"""Systems: mechanisms with everything that acts on them, flattened to Programs.

A name is imported when it is first used: a run whose native code is in the cache needs the phases,
but nothing that derives them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

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
    ".clock": ("Clock", "Schedule", "make_clock"),
    ".definitions": ("AlgebraicLoop",),
    ".member": ("Member",),
    ".phases": (
        "ARRAYS",
        "TICK_ARRAYS",
        "Event",
        "Phases",
        "Signal",
        "Tick",
        "normal",
        "phase_program",
    ),
    ".system": ("System", "system_of"),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
