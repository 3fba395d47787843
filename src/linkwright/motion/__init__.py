"""Motion: trajectories as expressions of time, and the fastest of them."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
