"""Stability of a compliant wrist in contact, along one axis: polynomials, limits and maps.

`WristLoop` holds the numbers; `characteristic` and `routh_conditions` are the continuous criterion
in symbols; `contact_map` sets both criteria and a simulation side by side over two parameters.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
