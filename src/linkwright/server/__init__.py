"""The motion server: axes, motions and sensors over a network."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
