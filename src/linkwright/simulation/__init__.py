"""Simulation: running mechanisms and Systems over time.

A name is imported when it is first used: a run whose native code is in the cache needs nothing that
derives equations.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
