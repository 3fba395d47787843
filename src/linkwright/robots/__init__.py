"""Robots: files that people have, kernels that people need.

`linkwright.robots.identification` and `ik` are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names
from linkwright.robots.ground import on_ground
from linkwright.robots.quantity import FrameQuantity, Quantity
from linkwright.robots.robot import Robot

if TYPE_CHECKING:
    from linkwright.robots import identification as identification, ik as ik
    from linkwright.robots.closing import closed

__all__ = ["FrameQuantity", "Quantity", "Robot", "closed", "identification", "ik", "on_ground"]

__getattr__ = lazy_names(
    __name__, {__name__: ("identification", "ik"), "linkwright.robots.closing": ("closed",)}
)
