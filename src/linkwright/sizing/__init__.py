"""What motions require of joints, and the drives that meet it."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
