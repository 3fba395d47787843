from linkwright.simulation.pacing.binding import Snapshot as Snapshot
from linkwright.simulation.pacing.counters import Counters as Counters
from linkwright.simulation.pacing.loop import PacedLoop as PacedLoop
from linkwright.simulation.pacing.mirror import Mirror as Mirror
from linkwright.simulation.pacing.recorder import (
    LoopJournal as LoopJournal,
    LoopRecorder as LoopRecorder,
)
from linkwright.simulation.pacing.replay import Show as Show, follow as follow, replay as replay
from linkwright.simulation.pacing.rights import Rights as Rights
from linkwright.simulation.pacing.sampling import Sampling as Sampling
from linkwright.simulation.pacing.tape import Change as Change, Tape as Tape, tape_of as tape_of
from linkwright.simulation.pacing.windows import Reads as Reads, Writes as Writes
