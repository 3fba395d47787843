"""Equations of motion, in several formulations that check each other."""

from linkwright.equations.constraints import Elimination, Reduction
from linkwright.equations.equations import Equations, derive
from linkwright.equations.formulations import FORMULATIONS

__all__ = ["FORMULATIONS", "Elimination", "Equations", "Reduction", "derive"]
