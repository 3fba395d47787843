"""Recordings: channels over time, the files that hold them, and their pictures."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
