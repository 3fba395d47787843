"""Motors: from a voltage, and the speed of the shaft, to a torque."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import Expr
from linkwright.elements.drives.parts import DrivePart, PartSketch, Shaft, amount, part


class Motor(DrivePart):
    """What turns a voltage into a torque on its shaft."""

    __slots__ = ()
    role: ClassVar[str] = "motor"
    sensors: ClassVar[tuple[str, ...]] = ("speed", "angle")
    J: float

    @abstractmethod
    def write(self, sheet: PartSketch, voltage: Expr, shaft: Shaft) -> Expr:
        """Return the torque that the motor puts on its shaft, its own friction taken off."""


@part
class DC(Motor):
    """A motor with brushes: L i' = v - R i - kt w, torque kt i - b w.

    Args:
        R: resistance of the winding, ohm.
        L: inductance of the winding, H.
        kt: torque constant, N*m/A, which is the voltage constant in V*s/rad as well.
        J: inertia of the rotor, kg*m^2.
        b: viscous friction, N*m*s/rad.

    >>> DC(R=1, L=2e-3, kt=0.05, J=1e-4).b
    0.0
    """

    R: float = amount("ohm", above=0.0)
    L: float = amount("H", above=0.0)
    kt: float = amount("N*m/A", above=0.0)
    J: float = amount("kg*m^2", above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)

    def write(self, sheet: PartSketch, voltage: Expr, shaft: Shaft) -> Expr:
        """Return the torque on the shaft."""
        R, L, kt, b = sheet.numbers("R", "L", "kt", "b")
        i = sheet.state("i", unit="A", doc="current")
        sheet.rate(i, (sheet.fed("v", voltage) - R * i - kt * shaft.speed) / L)
        return kt * i - b * shaft.speed
