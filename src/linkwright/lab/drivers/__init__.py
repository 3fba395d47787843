"""Drivers of robots: sockets, shared memory, Python; who keeps time, and who may drive."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
