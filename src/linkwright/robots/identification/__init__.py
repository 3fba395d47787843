"""Identification: motions that excite a robot, and its parameters from what was recorded."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
