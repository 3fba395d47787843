"""The names of the channels of energy, which every run of a mechanism records."""

ENERGIES = ("energy.kinetic", "energy.potential", "energy.power")
"""Kinetic energy, energy in the field of gravity, and the power of all other loads."""
