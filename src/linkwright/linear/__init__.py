"""Linear models of mechanisms and Systems: modes, responses, margins, limit cycles, tuning."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
