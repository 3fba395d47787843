"""Controllers of a drive, as laws of the reference and of what is measured."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from linkwright.algebra import Expr
from linkwright.elements.drives.parts import DrivePart, PartSketch, amount, part

Measured = Callable[[str], Expr]
"""What a sensor says of a signal, by the name of the signal."""


class Controller(DrivePart):
    """What turns a reference and measurements into a command."""

    __slots__ = ()
    role: ClassVar[str] = "controller"

    @abstractmethod
    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> Expr:
        """Return the command."""


@part
class PD(Controller):
    """Position of the load and speed of the motor: u = kp (r - load.angle) - kd motor.speed.

    Args:
        kp: V/rad, or what the amplifier takes for each rad.
        kd: V*s/rad.

    >>> PD(8, 0.02)
    PD(kp=8, kd=0.02)
    """

    kp: float = amount("V/rad")
    kd: float = amount("V*s/rad", default=0.0)

    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> Expr:
        """Return the command."""
        kp, kd = sheet.numbers("kp", "kd")
        return kp * (reference - measured("load.angle")) - kd * measured("motor.speed")
