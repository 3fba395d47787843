"""Equations of motion, in several formulations that check each other."""

from linkwright.equations.constraints import Elimination, Reduction
from linkwright.equations.energy import Energy, add_energy_outputs
from linkwright.equations.equations import Equations, derive
from linkwright.equations.formulations import FORMULATIONS
from linkwright.equations.oracle import Evaluation, evaluate_numerically
from linkwright.equations.reactions import Reactions, add_reaction_outputs

__all__ = [
    "FORMULATIONS",
    "Elimination",
    "Energy",
    "Equations",
    "Evaluation",
    "Reactions",
    "Reduction",
    "add_energy_outputs",
    "add_reaction_outputs",
    "derive",
    "evaluate_numerically",
]
