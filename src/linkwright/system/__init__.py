"""Systems: mechanisms with everything that acts on them, flattened to Programs."""

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
from linkwright.system.system import System

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
]
