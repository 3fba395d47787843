"""Stand-alone simulation programs, as AUTOSIM wrote them, and controllers as firmware."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
