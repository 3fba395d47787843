"""Controllers of a drive, as laws of the reference and of what is measured."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

from linkwright.algebra import Expr, as_expr
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DrivePart, PartSketch, amount, misfit, part
from linkwright.elements.drives.trains import Train

Measured = Callable[[str], Expr]
"""What a sensor says of a signal, by the name of the signal."""


class Controller(DrivePart):
    """What turns a reference and measurements into a command."""

    __slots__ = ()
    role: ClassVar[str] = "controller"
    reference_unit: ClassVar[str] = "rad"

    @property
    def rate(self) -> float | None:
        """The rate at which it runs, Hz, where it has one of its own."""
        return None

    @property
    def axes(self) -> tuple[str, ...] | None:
        """The endings of the windings that it commands; None where those of any motor will do."""
        return None

    def refuse_motor(self, motor: Motor) -> None:
        """Reject a motor with other windings than those that it commands."""
        if self.axes is not None and motor.axes != self.axes:
            own, other = (" and ".join(f"u{axis}" for axis in x) for x in (self.axes, motor.axes))
            raise misfit(
                f"{type(self).__name__} commands {own}, but {type(motor).__name__} takes {other}",
                "give another motor, or another controller",
            )

    def tuned(
        self,
        motor: Motor | None,
        train: Train | None,
        inertia: float | None,
        amplifier: Amplifier | None = None,
    ) -> Self:
        """Return it with all that it left open set for a motor, a train, a load, an amplifier."""
        return self

    def within(self, amplifier: Amplifier | None, axes: tuple[str, ...]) -> Self:
        """Return it with the greatest command that its amplifier follows, where it counts that."""
        return self

    @abstractmethod
    def law(
        self, sheet: PartSketch, reference: Expr, measured: Measured
    ) -> Expr | tuple[Expr, ...]:
        """Return the command: one, or one for each winding of the motor."""


def commands(law: Expr | tuple[Expr, ...], count: int) -> tuple[Expr, ...]:
    """Return a command for each winding; a single one goes to the last, which makes the torque."""
    if isinstance(law, tuple):
        return law
    return (*(as_expr(0) for _ in range(count - 1)), law)


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


@part
class PI(Controller):
    """Speed of the motor: u = kp e + ki times its integral, e = reference - motor.speed.

    The reference is a speed of the motor, rad/s.

    Args:
        kp: V*s/rad.
        ki: V/rad.

    >>> PI(0.1, 2.0).ki
    2.0
    """

    kp: float = amount("V*s/rad")
    ki: float = amount("V/rad", default=0.0)
    reference_unit: ClassVar[str] = "rad/s"

    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> Expr:
        """Return the command."""
        kp, ki = sheet.numbers("kp", "ki")
        error = reference - measured("motor.speed")
        held = sheet.state("integral", unit="V", doc="integral part")
        sheet.rate(held, ki * error)
        return kp * error + held


@part
class PID(Controller):
    """Position of the load, with an integral, and speed of the motor.

    u = kp e + ki times the integral of e - kd motor.speed, e = reference - load.angle.

    Args:
        kp: V/rad.
        ki: V/(rad*s).
        kd: V*s/rad.

    >>> PID(8, 20, 0.02).ki
    20
    """

    kp: float = amount("V/rad")
    ki: float = amount("V/(rad*s)", default=0.0)
    kd: float = amount("V*s/rad", default=0.0)

    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> Expr:
        """Return the command."""
        kp, ki, kd = sheet.numbers("kp", "ki", "kd")
        error = reference - measured("load.angle")
        held = sheet.state("integral", unit="V", doc="integral part")
        sheet.rate(held, ki * error)
        return kp * error + held - kd * measured("motor.speed")


@part
class LeadLag(Controller):
    """Position of the load through gain (1 + s / zero) / (1 + s / pole).

    Args:
        gain: V/rad, at rest.
        zero: rad/s.
        pole: rad/s.

    >>> LeadLag(8, zero=20, pole=200).pole
    200
    """

    gain: float = amount("V/rad")
    zero: float = amount("rad/s", above=0.0)
    pole: float = amount("rad/s", above=0.0)

    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> Expr:
        """Return the command."""
        gain, zero, pole = sheet.numbers("gain", "zero", "pole")
        error = reference - measured("load.angle")
        slow = sheet.state("slow", unit="rad", doc="error through the lag")
        sheet.rate(slow, pole * (error - slow))
        fast = sheet.sketch.block.slope_of_lag(pole) / pole * (error - slow)
        return gain * (error + (pole / zero - 1) * fast)


@part
class Steps(Controller):
    """A stepping motor without feedback: voltages that turn with the reference.

    The field stands where the reference, rad of the load, wants the rotor to be.

    Args:
        voltage: amplitude, V.
        ratio: turns of the motor for one of the load.
        pairs: pairs of poles of the motor.

    >>> Steps(24).pairs
    50.0
    """

    voltage: float = amount("V", above=0.0)
    ratio: float = amount("1", default=1.0)
    pairs: float = amount("1", default=50.0, above=0.0)

    @property
    def axes(self) -> tuple[str, ...] | None:
        """Those of a motor whose two windings stand."""
        return "_a", "_b"

    def law(self, sheet: PartSketch, reference: Expr, measured: Measured) -> tuple[Expr, ...]:
        """Return the voltages of the two windings."""
        from linkwright.algebra import cos, sin

        v, n, p = sheet.numbers("voltage", "ratio", "pairs")
        return v * cos(p * n * reference), v * sin(p * n * reference)
