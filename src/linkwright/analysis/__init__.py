"""Analyses of mechanisms: linearization, modes."""

from linkwright.analysis.linearization import LinearModel, linearize, linearize_along
from linkwright.analysis.modes import Mode, modes

__all__ = ["LinearModel", "Mode", "linearize", "linearize_along", "modes"]
