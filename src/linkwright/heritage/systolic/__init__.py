"""A systolic array of 256 processing elements: its cells, its cost, and the machine itself.

`faddeev` computes D + C A⁻¹ B by the cells of the array, in floats or in its fixed point, and
`array_cost` says what that takes. The package needs nothing of the others but their errors.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
