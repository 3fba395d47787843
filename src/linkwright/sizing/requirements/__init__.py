"""Requirements: what a task asks of each joint of a robot."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
