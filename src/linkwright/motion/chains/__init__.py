"""Chains of legs as sampled blocks: goals come while they run, and nothing waits for Python."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
