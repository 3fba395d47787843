"""Systems: mechanisms with everything that acts on them, flattened to Programs.

A name is imported when it is first used: a run whose native code is in the cache needs the phases,
but nothing that derives them.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
