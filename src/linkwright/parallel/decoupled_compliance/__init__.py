"""Platforms whose six springy legs answer each direction by itself: analysis and synthesis."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
