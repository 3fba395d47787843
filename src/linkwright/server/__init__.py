"""The motion server: axes, motions and sensors over a network."""

from linkwright.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
