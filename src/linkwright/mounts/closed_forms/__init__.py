"""Mounts of three legs in closed form: arms, members and jacks for a direction, and back.

`legs` has the dimensions and one Program from a direction to all that follows from the mirror
plane; `rotary`, `trusses` and `jacks` are the mounts; `limits` has reach and singular curves.
Each agrees with the general engine that closes the loops of the shipped models.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
