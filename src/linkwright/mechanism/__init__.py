"""Mechanisms: what the analyst draws, with joints in the words people use."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
