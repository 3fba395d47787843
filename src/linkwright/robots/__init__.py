"""Robots: kernels of loaded mechanisms."""
