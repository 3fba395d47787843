from linkwright.simulation.batches import simulate_batch as simulate_batch
from linkwright.simulation.changing import (
    ChangingRun as ChangingRun,
    ModeChange as ModeChange,
    RunMode as RunMode,
    Switch as Switch,
    simulate_modes as simulate_modes,
)
from linkwright.simulation.fitting import fit as fit
from linkwright.simulation.native.batch import Batch as Batch
from linkwright.simulation.native.methods import METHODS as METHODS
from linkwright.simulation.run import Energies as Energies, Run as Run
from linkwright.simulation.runs import (
    RunInterrupted as RunInterrupted,
    RunStopped as RunStopped,
    simulate as simulate,
)
from linkwright.simulation.sensitivity import sensitivity as sensitivity
from linkwright.simulation.settings import RunSettings as RunSettings
