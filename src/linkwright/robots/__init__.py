"""Robots: files that people have, kernels that people need.

`linkwright.robots.identification` and `ik` are imported when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from linkwright.robots.ground import on_ground
from linkwright.robots.quantity import FrameQuantity, Quantity
from linkwright.robots.robot import Robot

if TYPE_CHECKING:
    from linkwright.robots import identification as identification, ik as ik

__all__ = ["FrameQuantity", "Quantity", "Robot", "identification", "ik", "on_ground"]


def __getattr__(name: str) -> object:
    """Import a package of this one."""
    if name in ("identification", "ik"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
