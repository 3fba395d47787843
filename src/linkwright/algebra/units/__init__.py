"""Units: reading and printing them, converting values, and deducing them through expressions."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
