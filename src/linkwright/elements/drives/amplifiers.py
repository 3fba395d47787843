"""Amplifiers: from a command to a voltage on the terminals of a motor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from linkwright.algebra import (
    ZERO,
    Expr,
    absolute,
    as_expr,
    cos,
    floor,
    maximum,
    minimum,
    sin,
    sqrt,
    tanh,
    where,
)
from linkwright.elements.drives.parts import DriveError, DrivePart, PartSketch, amount, misfit, part


class Amplifier(DrivePart):
    """What turns a command into a voltage."""

    __slots__ = ()
    role: ClassVar[str] = "amplifier"
    sensors: ClassVar[tuple[str, ...]] = ("v",)

    def reach(self, axes: Sequence[str]) -> float | None:
        """Return the greatest command that it follows, for each winding; None without a limit.

        Args:
            axes: the endings of the windings' names.
        """
        limit, gain = getattr(self, "limit", None), getattr(self, "gain", 1.0)
        return limit / abs(gain) if limit and gain else None

    @abstractmethod
    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage.

        Args:
            sheet: of the part.
            command: what the controller wants.
            current: of the motor, A.
            axis: the ending of names where a motor has several windings, such as `_q`.
        """

    def windings(
        self,
        sheet: PartSketch,
        commands: Sequence[Expr],
        currents: Sequence[Expr],
        axes: Sequence[str],
        turned: Expr | None,
    ) -> list[Expr]:
        """Return the voltage of each winding.

        Args:
            sheet: of the part.
            commands: what the controller wants of each.
            currents: of the motor, A.
            axes: the endings of the windings' names.
            turned: electrical angle of windings that turn with the rotor, rad; None for others.
        """
        return [
            self.write(sheet, u, i, axis)
            for u, i, axis in zip(commands, currents, axes, strict=True)
        ]


def limited(value: Expr, limit: Expr) -> Expr:
    """Return a value held between plus and minus a limit."""
    return maximum(minimum(value, limit), -limit)


@part
class Ideal(Amplifier):
    """A voltage in proportion to the command, at once.

    Args:
        gain: volts for each unit of the command.
        limit: the greatest voltage either way, V; none by default.

    >>> Ideal(10)
    Ideal(gain=10, limit=None)
    """

    gain: float = amount("1", default=1.0)
    limit: float | None = amount("V", default=None, above=0.0)

    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage."""
        (gain,) = sheet.numbers("gain")
        v = gain * command
        if self.limit is not None:
            v = limited(v, *sheet.numbers("limit"))
        return sheet.signal(f"v{axis}", v, unit="V", doc="voltage")


@part
class Lag(Amplifier):
    """A lag of first order: v' = (gain u - v) / time_constant.

    Args:
        gain: volts for each unit of the command.
        time_constant: s.
        limit: the greatest voltage that is aimed for either way, V; none by default.

    >>> Lag(10, 1e-3).time_constant
    0.001
    """

    gain: float = amount("1")
    time_constant: float = amount("s", above=0.0)
    limit: float | None = amount("V", default=None, above=0.0)

    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage."""
        gain, lag = sheet.numbers("gain", "time_constant")
        v = sheet.state(f"v{axis}", unit="V", doc="voltage")
        aim = gain * sheet.fed(f"u{axis}", command)
        if self.limit is not None:
            aim = limited(aim, *sheet.numbers("limit"))
        sheet.rate(v, (aim - v) / lag)
        return v


@part
class CurrentLoop(Amplifier):
    """An amplifier that holds a current: v = kp (gain u - i) + ki times the integral of that.

    The integral stops growing where the voltage is at its limit.

    Args:
        gain: amperes for each unit of the command.
        kp: V/A.
        ki: V/(A*s).
        limit: the greatest voltage either way, V; none by default.

    >>> CurrentLoop(1, kp=5, ki=2000).limit is None
    True
    """

    gain: float = amount("A")
    kp: float = amount("V/A", above=0.0)
    ki: float = amount("V/(A*s)", default=0.0, least=0.0)
    limit: float | None = amount("V", default=None, above=0.0)

    def reach(self, axes: Sequence[str]) -> float | None:
        """Return None: its command is a current, which its voltage does not bound."""
        return None

    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage."""
        if current is as_expr(0):
            raise misfit(
                "a CurrentLoop holds a current, and the motor has none",
                "use an Ideal or Lag amplifier, or a motor with windings",
            )
        gain, kp, ki = sheet.numbers("gain", "kp", "ki")
        error = gain * sheet.fed(f"u{axis}", command) - sheet.fed(f"i{axis}", current, unit="A")
        held = sheet.state(f"held{axis}", unit="V", doc="integral part of the voltage")
        wanted = kp * error + held
        v = wanted
        growth = ki * error
        if self.limit is not None:
            (limit,) = sheet.numbers("limit")
            v = limited(wanted, limit)
            growth = ki * (error + (v - wanted) / kp)
        sheet.rate(held, growth)
        return sheet.signal(f"v{axis}", v, unit="V", doc="voltage")


@part
class PWM(Amplifier):
    """A bridge with pulse width modulation, averaged over its period.

    Its voltage is within the bus. While both switches of a leg are off, the current decides: each
    of the two legs takes bus * dead_time * frequency against it (Holmes and Lipo, 2003).

    Args:
        bus: voltage of the bus, V: the default of the port `amplifier.bus`.
        frequency: of the pulses, Hz.
        dead_time: s, in which both switches of a leg are off.
        gain: volts for each unit of the command.
        creep: current below which the loss of dead time fades, A.

    >>> PWM(48, 20e3, dead_time=1e-6).gain
    1.0
    """

    bus: float = amount("V", above=0.0)
    frequency: float = amount("Hz", above=0.0)
    dead_time: float = amount("s", default=0.0, least=0.0, absent=True)
    gain: float = amount("1", default=1.0)
    creep: float = amount("A", default=0.05, above=0.0)

    def reach(self, axes: Sequence[str]) -> float | None:
        """Return the greatest command that it follows: the bus."""
        return self.bus / abs(self.gain) if self.gain else None

    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage."""
        f, dead, gain, creep = sheet.numbers("frequency", "dead_time", "gain", "creep")
        bus = _bus(sheet, self.bus)
        i = sheet.fed(f"i{axis}", current, unit="A")
        v = limited(gain * sheet.fed(f"u{axis}", command), bus)
        less = limited(v - 2 * bus * dead * f * tanh(i / creep), bus)
        v = less if self.dead_time else where(dead, less, v)
        return sheet.signal(f"v{axis}", v, unit="V", doc="mean voltage")


@part
class SwitchedPWM(Amplifier):
    """A bridge with pulse width modulation, switch by switch.

    A leg is on while its duty is above a triangle between 0 and 1; steps of the integration end
    where it switches. With one leg the voltage is 0 or the bus, and gain u its mean; with two it is
    the difference of both. A synchronous motor is fed by three legs, whatever `legs` says. In the
    dead time the current decides where a leg is.

    Args:
        bus: voltage of the bus, V: the default of the port `amplifier.bus`.
        frequency: of the pulses, Hz; a servo at that rate, or twice, holds the duty of a period.
        dead_time: s, in which both switches of a leg are off.
        gain: volts for each unit of the command.
        legs: 1 or 2, for each winding of other motors.
        creep: current below which the leg stands in between in the dead time, A.

    >>> SwitchedPWM(48, 20e3).legs
    2
    """

    bus: float = amount("V", above=0.0)
    frequency: float = amount("Hz", above=0.0)
    dead_time: float = amount("s", default=0.0, least=0.0)
    gain: float = amount("1", default=1.0)
    legs: int = 2
    creep: float = amount("A", default=0.05, above=0.0)

    def __post_init__(self) -> None:
        DrivePart.__post_init__(self)
        if self.legs not in (1, 2):
            raise DriveError(
                f"a SwitchedPWM has {self.legs} legs", remedy="give 1 or 2", code="R418"
            )

    def reach(self, axes: Sequence[str]) -> float | None:
        """Return the greatest command that it follows: the bus, or half of it with three legs."""
        bus = self.bus / 2 if "_q" in axes else self.bus
        return bus / abs(self.gain) if self.gain else None

    def write(self, sheet: PartSketch, command: Expr, current: Expr, axis: str) -> Expr:
        """Return the voltage."""
        f, gain = sheet.numbers("frequency", "gain")
        dead = sheet.numbers("dead_time")[0] if self.dead_time else ZERO
        bus = _bus(sheet, self.bus)
        phase = f * sheet.sketch.block.time
        carrier = absolute(2 * (phase - floor(phase)) - 1)
        part_of = gain * sheet.fed(f"u{axis}", command) / bus
        if self.legs == 1:
            v = self._leg(sheet, part_of, carrier, current, 2 * f * dead, f"up{axis}")
        else:
            up = self._leg(sheet, (1 + part_of) / 2, carrier, current, 2 * f * dead, f"up{axis}")
            down = self._leg(
                sheet, (1 - part_of) / 2, carrier, -current, 2 * f * dead, f"down{axis}"
            )
            v = up - down
        return sheet.signal(f"v{axis}", bus * v, unit="V", doc="voltage")

    def windings(
        self,
        sheet: PartSketch,
        commands: Sequence[Expr],
        currents: Sequence[Expr],
        axes: Sequence[str],
        turned: Expr | None,
    ) -> list[Expr]:
        """Return the voltage of each winding; three legs feed one that turns with the rotor."""
        if turned is None:
            return Amplifier.windings(self, sheet, commands, currents, axes, turned)
        f, gain = sheet.numbers("frequency", "gain")
        dead = sheet.numbers("dead_time")[0] if self.dead_time else ZERO
        bus = _bus(sheet, self.bus)
        phase = f * sheet.sketch.block.time
        carrier = absolute(2 * (phase - floor(phase)) - 1)
        c, s = cos(turned), sin(turned)
        wanted, out = (_phases(x * c - y * s, x * s + y * c) for x, y in (commands, currents))
        on_a, on_b, on_c = (
            self._leg(sheet, gain * u / bus + 0.5, carrier, i, 2 * f * dead, name)
            for u, i, name in zip(wanted, out, "abc", strict=True)
        )
        alpha, beta = (2 * on_a - on_b - on_c) / 3, (on_b - on_c) / sqrt(3)
        return [
            sheet.signal(f"v{axis}", bus * x, unit="V", doc="voltage")
            for axis, x in zip(axes, (alpha * c + beta * s, beta * c - alpha * s), strict=True)
        ]

    def _leg(
        self, sheet: PartSketch, duty: Expr, carrier: Expr, out: Expr, dead: Expr, name: str
    ) -> Expr:
        """Return 1 where a leg is at the bus, 0 where it is at ground."""
        if not self.dead_time:
            return sheet.above_zero(name, duty - carrier)
        (creep,) = sheet.numbers("creep")
        on = sheet.above_zero(f"{name}_on", duty - dead / 2 - carrier)
        off = 1 - sheet.above_zero(f"{name}_off", duty + dead / 2 - carrier)
        return on + (1 - on - off) * (1 - tanh(out / creep)) / 2


def _phases(alpha: Expr, beta: Expr) -> tuple[Expr, Expr, Expr]:
    """Return the parts of three phases, 120 degrees apart, of what has parts along a and across."""
    across = sqrt(3) / 2 * beta
    return alpha, across - alpha / 2, -across - alpha / 2


def _bus(sheet: PartSketch, voltage: float) -> Expr:
    """Return the voltage of the bus: a port, to which a `DCBus` may be connected."""
    known, label = sheet.sketch.known_numbers, f"{sheet.label}.bus"
    if label not in known:
        known[label] = sheet.port("bus", float(voltage), unit="V", doc="voltage of the bus")
        sheet.require(known[label] > 0)
    return known[label]
