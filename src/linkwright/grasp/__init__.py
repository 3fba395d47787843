"""Grasps: what fingers on an object can hold, how well, and where to put them.

A `Grasp` is a list of contacts with friction: its grasp matrix, whether it is closed (form or
force), its quality by the largest ball of wrenches (Ferrari and Canny 1992), and finger forces for
a load. `plan_grasps` finds the best ones on a box, a cylinder or a mesh.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
