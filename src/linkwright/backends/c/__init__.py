"""Readable, self-contained C99 from a Program, and kernels made of it by the C compiler."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
