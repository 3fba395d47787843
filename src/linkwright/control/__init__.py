"""Controllers and filters, as blocks and elements of a System."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
