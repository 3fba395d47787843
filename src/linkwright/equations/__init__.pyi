from linkwright.equations.closed_form import ClosedForm as ClosedForm
from linkwright.equations.closure import (
    Assembly as Assembly,
    AssemblyError as AssemblyError,
    assemble as assemble,
)
from linkwright.equations.constraints import Elimination as Elimination, Reduction as Reduction
from linkwright.equations.energy import Energy as Energy, add_energy_outputs as add_energy_outputs
from linkwright.equations.equations import Equations as Equations, derive as derive
from linkwright.equations.formulations import FORMULATIONS as FORMULATIONS
from linkwright.equations.reactions import Reactions as Reactions
from linkwright.equations.statics import Equilibrium as Equilibrium, equilibrium as equilibrium
