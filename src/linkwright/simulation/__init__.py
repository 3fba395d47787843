"""Simulation: running mechanisms over time."""

from linkwright.simulation.integrators import METHODS
from linkwright.simulation.run import Energies, Run
from linkwright.simulation.simulate import simulate

__all__ = ["METHODS", "Energies", "Run", "simulate"]
