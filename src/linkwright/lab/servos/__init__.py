"""The servos of a laboratory, as blocks of its System."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
