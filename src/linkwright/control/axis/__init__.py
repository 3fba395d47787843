"""Servo axes of a motion server: switches, compensator, limits, trips and cards."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
