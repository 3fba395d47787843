"""Machines with closed loops: assemblies, charts, singularities, stiffness, errors, proofs."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
