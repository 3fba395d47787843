"""Equations of motion, in several formulations that check each other."""

from linkwright.equations.constraints import Elimination, Reduction
from linkwright.equations.equations import FORMULATIONS, Equations, derive

__all__ = ["FORMULATIONS", "Elimination", "Equations", "Reduction", "derive"]
