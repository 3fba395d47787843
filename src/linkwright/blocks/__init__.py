"""Blocks and elements: the symbolic parts of a System, with ports, states and rates."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
