"""Loads of a drive that are not a mechanism."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import Expr, sin
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
        sheet.loss("friction", b * shaft.speed**2)
        return torque - b * shaft.speed


@part
class Pendulum(DriveLoad):
    """A pendulum that hangs at angle 0: J w' = T - b w - m g l sin(angle).

    Args:
        J: about the axis, kg*m^2.
        mass: kg.
        length: from the axis to the mass center, m.
        b: viscous friction, N*m*s/rad.
        g: gravity, m/s^2.
        linear: whether the sine is taken as the angle, so that it has matrices.

    >>> Pendulum(0.5, mass=2, length=0.4).g
    9.81
    """

    J: float = amount("kg*m^2", above=0.0)
    mass: float = amount("kg", least=0.0)
    length: float = amount("m")
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)
    g: float = amount("m/s^2", default=9.81)
    linear: bool = False

    def write(self, sheet: PartSketch, shaft: Shaft, torque: Expr) -> Expr:
        """Return the torque that turns the inertia."""
        m, l, b, g = sheet.numbers("mass", "length", "b", "g")
        sheet.loss("friction", b * shaft.speed**2)
        turn = shaft.angle if self.linear else sin(shaft.angle)
        lift = shaft.angle**2 / 2 if self.linear else 2 * sin(shaft.angle / 2) ** 2
        sheet.stored("potential", m * g * l * lift)
        return torque - b * shaft.speed - m * g * l * turn
