"""Amplifiers: from a command to a voltage."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import Expr
from linkwright.elements.drives.parts import DrivePart, PartSketch, amount, part


class Amplifier(DrivePart):
    """What turns a command into a voltage."""

    __slots__ = ()
    role: ClassVar[str] = "amplifier"
    sensors: ClassVar[tuple[str, ...]] = ("v",)

    @abstractmethod
    def write(self, sheet: PartSketch, command: Expr) -> Expr:
        """Return the voltage."""


@part
class Ideal(Amplifier):
    """A voltage in proportion to the command, at once.

    Args:
        gain: volts for each unit of the command.

    >>> Ideal(10)
    Ideal(gain=10)
    """

    gain: float = amount("1", default=1.0)

    def write(self, sheet: PartSketch, command: Expr) -> Expr:
        """Return the voltage."""
        (gain,) = sheet.numbers("gain")
        return sheet.signal("v", gain * command, unit="V", doc="voltage")


@part
class Lag(Amplifier):
    """A lag of first order: v' = (gain u - v) / time_constant.

    Args:
        gain: volts for each unit of the command.
        time_constant: s.

    >>> Lag(10, 1e-3)
    Lag(gain=10, time_constant=0.001)
    """

    gain: float = amount("1")
    time_constant: float = amount("s", above=0.0)

    def write(self, sheet: PartSketch, command: Expr) -> Expr:
        """Return the voltage."""
        gain, lag = sheet.numbers("gain", "time_constant")
        v = sheet.state("v", unit="V", doc="voltage")
        sheet.rate(v, (gain * sheet.fed("u", command) - v) / lag)
        return v
