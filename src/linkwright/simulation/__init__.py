"""Simulation: running mechanisms over time."""

from linkwright.simulation.integrators import METHODS
from linkwright.simulation.run import Run
from linkwright.simulation.simulate import simulate

__all__ = ["METHODS", "Run", "simulate"]
