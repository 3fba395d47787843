"""Analyses of mechanisms: linearisation, modes."""

from linkwright.analysis.linearisation import LinearModel, linearise, linearise_along
from linkwright.analysis.modes import Mode, modes

__all__ = ["LinearModel", "Mode", "linearise", "linearise_along", "modes"]
