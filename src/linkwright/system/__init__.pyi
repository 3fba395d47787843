from linkwright.system.clock import Clock as Clock, Schedule as Schedule, make_clock as make_clock
from linkwright.system.definitions import AlgebraicLoop as AlgebraicLoop
from linkwright.system.member import Member as Member
from linkwright.system.phases import (
    ARRAYS as ARRAYS,
    TICK_ARRAYS as TICK_ARRAYS,
    Event as Event,
    Phases as Phases,
    Signal as Signal,
    Tick as Tick,
    normal as normal,
    phase_program as phase_program,
)
from linkwright.system.system import System as System, system_of as system_of
