"""Loops whose samples come at random: are they stable, and by which gain do they become so?"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
