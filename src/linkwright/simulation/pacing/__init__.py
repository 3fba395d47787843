"""Runs that keep pace with a clock, in native code: no interpreter is needed from tick to tick."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
