"""Equations of motion, in several formulations that check each other."""

from linkwright.equations.closed_form import ClosedForm
from linkwright.equations.closure import Assembly, AssemblyError, assemble
from linkwright.equations.constraints import Elimination, Reduction
from linkwright.equations.energy import Energy, add_energy_outputs
from linkwright.equations.equations import Equations, derive
from linkwright.equations.formulations import FORMULATIONS
from linkwright.equations.reactions import Reactions
from linkwright.equations.statics import Equilibrium, equilibrium

__all__ = [
    "FORMULATIONS",
    "Assembly",
    "AssemblyError",
    "ClosedForm",
    "Elimination",
    "Energy",
    "Equations",
    "Equilibrium",
    "Reactions",
    "Reduction",
    "add_energy_outputs",
    "assemble",
    "derive",
    "equilibrium",
]
