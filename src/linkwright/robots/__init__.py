"""Robots: files that people have, kernels that people need.

`linkwright.robots.identification` and `ik` are imported when they are used.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
