"""Laws that control force, and the gains that their sampling allows."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
