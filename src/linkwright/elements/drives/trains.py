"""Power trains: from the motor's shaft to the load."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from linkwright.algebra import (
    ZERO,
    Expr,
    absolute,
    cos,
    maximum,
    minimum,
    sign,
    sin,
    tanh,
    where,
)
from linkwright.blocks.element import stepped
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


def meshed(sheet: PartSketch, own: DrivePart, torque: Expr, speed: Expr) -> Expr:
    """Return the torque that the motor gives for a torque of the teeth, losses included.

    While the motor drives it is T / efficiency, while the load drives T * back_efficiency; in
    between the loss fades with the speed. Friction that does not depend on load comes on top.
    """
    given = torque
    if getattr(own, "efficiency", None) is not None:
        eta, creep = sheet.numbers("efficiency", "creep")
        back = eta
        if getattr(own, "back_efficiency", None) is not None:
            (back,) = sheet.numbers("back_efficiency")
        share = where(torque * speed > 0, 1 / eta - 1, 1 - back)
        mesh = absolute(torque) * share * tanh(speed / creep)
        sheet.loss("mesh", mesh * speed)
        given = given + mesh
    if getattr(own, "drag", None) is not None:
        (dry,) = sheet.numbers("drag")
        rub = dry * sign(speed)
        sheet.loss("drag", rub * speed)
        given = given + rub
    if getattr(own, "viscous", None) is not None:
        (viscous,) = sheet.numbers("viscous")
        sheet.loss("viscous", viscous * speed**2)
        given = given + viscous * speed
    return given


@part
class Rigid(Train):
    """A gear that does not give: the motor turns ratio times as fast as the load.

    The rotor's inertia is felt as ratio^2 J at the load, where it becomes part of the load's own.
    Efficiencies count for what the teeth transmit, not for what speeds the rotor up.

    Args:
        ratio: turns of the motor for one of the load.
        efficiency: of power from motor to load, 0 to 1; none is lost by default.
        back_efficiency: of power from load to motor; the same by default.
        drag: friction at the motor's side that does not depend on load, N*m; none by default.
        viscous: friction at the motor's side, N*m*s/rad; none by default.
        creep: speed of the motor up to which losses of the mesh grow, rad/s.

    >>> Rigid(50).ratio
    50
    """

    ratio: float = amount("1", nonzero=True)
    efficiency: float | None = amount("1", default=None, above=0.0, most=1.0)
    back_efficiency: float | None = amount("1", default=None, least=0.0, most=1.0)
    drag: float | None = amount("N*m", default=None, least=0.0)
    viscous: float | None = amount("N*m*s/rad", default=None, least=0.0)
    creep: float = amount("rad/s", default=0.5, above=0.0)
    rigid: ClassVar[bool] = True

    def write(self, sheet: PartSketch, motor: Shaft, load: Shaft) -> tuple[Expr, Expr]:
        """Return nothing: the plant makes one body of rotor and load."""
        return ZERO, ZERO

    def factor(self, sheet: PartSketch, pull: Expr, speed: Expr) -> Expr:
        """Return the torque that teeth take from the motor for each N*m that they give on.

        `pull` has the sign of that torque. A gear that locks itself takes 1e-9: it is divided by.
        """
        eta, creep = sheet.numbers("efficiency", "creep")
        (back,) = (eta,) if self.back_efficiency is None else sheet.numbers("back_efficiency")
        share = where(stepped([pull])[0] * speed > 0, 1 / eta - 1, back - 1)
        return maximum(1 + absolute(tanh(speed / creep)) * share, 1e-9)


@part
class Elastic(Train):
    """A gear with a spring and a damper at its output: T = stiffness d + damping d'.

    The twist d is motor.angle / ratio - load.angle, from the angles themselves. With a gap, nothing
    is transmitted while |d| < gap. Strain wave gears grow stiffer with torque, in three slopes.

    Args:
        ratio: turns of the motor for one of the load.
        stiffness: N*m/rad, at the output.
        damping: N*m*s/rad, at the output.
        gap: half of the backlash, rad at the output; none by default.
        second_stiffness: N*m/rad, above first_torque; one slope by default.
        third_stiffness: N*m/rad, above second_torque.
        first_torque: where the second slope begins, N*m.
        second_torque: where the third slope begins, N*m.
        hysteresis: greatest torque of inner friction, N*m at the output (Dahl); none by default.
        hysteresis_stiffness: slope of that torque after a reversal, N*m/rad.
        error: amplitude of the kinematic error, rad at the output; none by default.
        error_order: periods of that error in a turn of the motor.
        efficiency: of power from motor to load, 0 to 1; none is lost by default.
        back_efficiency: of power from load to motor; the same by default.
        drag: friction at the motor's side that does not depend on load, N*m; none by default.
        viscous: friction at the motor's side, N*m*s/rad; none by default.
        creep: speed of the motor up to which losses of the mesh grow, rad/s.

    >>> Elastic(50, stiffness=500).damping
    0.0
    """

    ratio: float = amount("1", nonzero=True)
    stiffness: float = amount("N*m/rad", above=0.0)
    damping: float = amount("N*m*s/rad", default=0.0, least=0.0)
    gap: float | None = amount("rad", default=None, least=0.0)
    second_stiffness: float | None = amount("N*m/rad", default=None, above=0.0)
    third_stiffness: float | None = amount("N*m/rad", default=None, above=0.0)
    first_torque: float | None = amount("N*m", default=None, above=0.0)
    second_torque: float | None = amount("N*m", default=None, above=0.0)
    hysteresis: float | None = amount("N*m", default=None, above=0.0)
    hysteresis_stiffness: float | None = amount("N*m/rad", default=None, above=0.0)
    error: float | None = amount("rad", default=None, least=0.0)
    error_order: float = amount("1", default=2.0, above=0.0)
    efficiency: float | None = amount("1", default=None, above=0.0, most=1.0)
    back_efficiency: float | None = amount("1", default=None, least=0.0, most=1.0)
    drag: float | None = amount("N*m", default=None, least=0.0)
    viscous: float | None = amount("N*m*s/rad", default=None, least=0.0)
    creep: float = amount("rad/s", default=0.5, above=0.0)

    needs: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("second_stiffness", "third_stiffness", "first_torque", "second_torque"),
        ("hysteresis", "hysteresis_stiffness"),
    )
    rising: ClassVar[tuple[tuple[str, str], ...]] = (("first_torque", "second_torque"),)

    def write(self, sheet: PartSketch, motor: Shaft, load: Shaft) -> tuple[Expr, Expr]:
        """Return the torque on the load, and the one that the motor has to give for it."""
        n, B = sheet.numbers("ratio", "damping")
        place, slope = motor.angle / n, 1 / n
        if self.error is not None:
            size, order = sheet.numbers("error", "error_order")
            place = place + size * sin(order * motor.angle)
            slope = slope + size * order * cos(order * motor.angle)
        rate = slope * motor.speed - load.speed
        if sheet.sketch.split:
            twist = sheet.state("twist", unit="rad", doc="twist")
            sheet.rate(twist, sheet.fed("rate", rate, unit="rad/s"))
        else:
            twist = sheet.signal("twist", place - load.angle, unit="rad", doc="twist")
        bent = twist
        if self.gap is not None:
            (gap,) = sheet.numbers("gap")
            bent = twist - maximum(minimum(twist, gap), -gap)
        spring = self._spring(sheet, bent)
        damper = B * rate
        if self.gap is not None:  # teeth damp while they touch, and never pull
            push = spring + damper
            toward = where(bent > 0, maximum(push, 0), minimum(push, 0))
            damper = where(absolute(bent) > 0, toward, 0) - spring
        sheet.loss("damping", damper * rate)
        torque = spring + damper
        if self.hysteresis is not None:
            most, stiff = sheet.numbers("hysteresis", "hysteresis_stiffness")
            inner = sheet.state("inner", unit="N*m", doc="torque of inner friction")
            sheet.rate(inner, stiff * (rate - absolute(rate) * inner / most))
            sheet.loss("hysteresis", inner**2 * absolute(rate) / most)
            sheet.stored("hysteresis", inner**2 / (2 * stiff))
            torque = torque + inner
        torque = sheet.shared(torque)
        sheet.signal("torque", torque, unit="N*m", doc="torque on the load")
        return torque, meshed(sheet, self, torque * slope, motor.speed)

    def _spring(self, sheet: PartSketch, twist: Expr) -> Expr:
        (first,) = sheet.numbers("stiffness")
        if self.second_stiffness is None:
            sheet.stored("spring", first * twist**2 / 2)
            return first * twist
        second, third, T1, T2 = sheet.numbers(
            "second_stiffness", "third_stiffness", "first_torque", "second_torque"
        )
        one = T1 / first
        two = (T2 - T1) / second
        size = absolute(twist)
        a = minimum(size, one)
        b = minimum(maximum(size - one, 0), two)
        c = maximum(size - one - two, 0)
        energy = first * a**2 / 2 + T1 * b + second * b**2 / 2 + T2 * c + third * c**2 / 2
        sheet.stored("spring", energy)
        return sign(twist) * (first * a + second * b + third * c)
