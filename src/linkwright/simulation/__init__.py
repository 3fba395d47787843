"""Simulation: running mechanisms and Systems over time."""

from linkwright.simulation.batches import simulate_batch
from linkwright.simulation.native.batch import Batch
from linkwright.simulation.native.methods import METHODS
from linkwright.simulation.run import Energies, Run
from linkwright.simulation.simulate import simulate

__all__ = ["METHODS", "Batch", "Energies", "Run", "simulate", "simulate_batch"]
