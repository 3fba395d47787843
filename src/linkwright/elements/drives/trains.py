"""Power trains: from the motor's shaft to the load."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import Expr
from linkwright.elements.drives.parts import DrivePart, PartSketch, Shaft, amount, part


class Train(DrivePart):
    """What joins the motor's shaft to the load."""

    __slots__ = ()
    role: ClassVar[str] = "train"
    rigid: ClassVar[bool] = False
    ratio: float

    @abstractmethod
    def write(self, sheet: PartSketch, motor: Shaft, load: Shaft) -> tuple[Expr, Expr]:
        """Return the torque on the load, and the one that the motor has to give for it."""


@part
class Elastic(Train):
    """A gear with a spring and a damper at its output: T = stiffness d + damping d'.

    The twist d is motor.angle / ratio - load.angle, from the angles themselves.

    Args:
        ratio: turns of the motor for one of the load.
        stiffness: N*m/rad, at the output.
        damping: N*m*s/rad, at the output.

    >>> Elastic(50, stiffness=500).damping
    0.0
    """

    ratio: float = amount("1")
    stiffness: float = amount("N*m/rad", above=0.0)
    damping: float = amount("N*m*s/rad", default=0.0, least=0.0)

    def write(self, sheet: PartSketch, motor: Shaft, load: Shaft) -> tuple[Expr, Expr]:
        """Return the torque on the load, and the one that the motor has to give for it."""
        n, K, B = sheet.numbers("ratio", "stiffness", "damping")
        rate = motor.speed / n - load.speed
        if sheet.sketch.split:
            twist = sheet.state("twist", unit="rad", doc="twist")
            sheet.rate(twist, sheet.fed("rate", rate))
        else:
            twist = motor.angle / n - load.angle
            sheet.signal("twist", twist, unit="rad", doc="twist")
        torque = K * twist + B * rate
        sheet.signal("torque", torque, unit="N*m", doc="torque on the load")
        return torque, torque / n
