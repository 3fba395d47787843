"""Units: reading and printing them, converting values, and deducing them through expressions."""

from linkwright.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
