"""Runs that keep pace with a clock, in native code: no interpreter is needed from tick to tick."""

from linkwright.simulation.pacing.binding import Snapshot
from linkwright.simulation.pacing.counters import Counters
from linkwright.simulation.pacing.loop import PacedLoop
from linkwright.simulation.pacing.mirror import Mirror
from linkwright.simulation.pacing.recorder import LoopJournal, LoopRecorder
from linkwright.simulation.pacing.replay import Show, follow, replay
from linkwright.simulation.pacing.rights import Rights
from linkwright.simulation.pacing.sampling import Sampling
from linkwright.simulation.pacing.tape import Change, Tape, tape_of
from linkwright.simulation.pacing.windows import Reads, Writes

__all__ = [
    "Change",
    "Counters",
    "LoopJournal",
    "LoopRecorder",
    "Mirror",
    "PacedLoop",
    "Reads",
    "Rights",
    "Sampling",
    "Show",
    "Snapshot",
    "Tape",
    "Writes",
    "follow",
    "replay",
    "tape_of",
]
