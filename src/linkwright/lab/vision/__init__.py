"""The vision servo: from blobs in pictures to where things are, how they move, and will be."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
