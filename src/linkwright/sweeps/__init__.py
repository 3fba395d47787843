"""Sweeps: many runs of a model over parameters, starts and seeds, here or on a cluster."""
