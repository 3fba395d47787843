"""Analyses of mechanisms and Systems: linearization, modes, frequency responses, requirements."""

from linkwright.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
