"""Loads of a drive that are no mechanism."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import Expr
from linkwright.elements.drives.parts import DrivePart, PartSketch, Shaft, amount, part


class DriveLoad(DrivePart):
    """What a drive turns."""

    __slots__ = ()
    role: ClassVar[str] = "load"
    sensors: ClassVar[tuple[str, ...]] = ("angle",)
    J: float

    @abstractmethod
    def write(self, sheet: PartSketch, shaft: Shaft, torque: Expr) -> Expr:
        """Return the torque that turns the inertia, all that the load resists with taken off."""


@part
class Inertia(DriveLoad):
    """An inertia with viscous friction: J w' = T - b w.

    Args:
        J: kg*m^2.
        b: viscous friction, N*m*s/rad.

    >>> Inertia(0.5, b=0.1)
    Inertia(J=0.5, b=0.1)
    """

    J: float = amount("kg*m^2", above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)

    def write(self, sheet: PartSketch, shaft: Shaft, torque: Expr) -> Expr:
        """Return the torque that turns the inertia."""
        (b,) = sheet.numbers("b")
        return torque - b * shaft.speed
