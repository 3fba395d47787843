"""Derivatives of Programs, as Programs: see `linkwright.program.derivatives.api`."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
