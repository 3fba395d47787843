"""Old devices for their own sake: a systolic array, a motor card, an indexer."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
