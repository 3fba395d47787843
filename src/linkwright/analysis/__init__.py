"""Analyses of mechanisms: linearization, modes, drives."""

from linkwright.analysis.cycle import JointCycle
from linkwright.analysis.linearization import LinearModel, linearize, linearize_along
from linkwright.analysis.modes import Mode, modes

__all__ = ["JointCycle", "LinearModel", "Mode", "linearize", "linearize_along", "modes"]
