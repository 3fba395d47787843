"""Antenna mounts: where they point, what they follow, and what carries them."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
