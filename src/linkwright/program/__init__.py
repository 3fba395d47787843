"""Programs: staged assignments that passes make small and backends make fast.

What differentiates, optimizes, searches and reports is imported when it is first used: a kernel
that comes from the cache needs none of it.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
