"""The Cascade: position over speed over current, each at a rate of its own, as in servo drives."""

from __future__ import annotations

import math
from dataclasses import replace

from linkwright.algebra import Expr, absolute, as_expr, cos, exp, maximum, minimum, sin, where
from linkwright.elements.drives.amplifiers import Amplifier, CurrentLoop
from linkwright.elements.drives.controllers import Controller, Measured
from linkwright.elements.drives.motors import PMSM, Motor
from linkwright.elements.drives.parts import DriveError, PartSketch, amount, misfit, part
from linkwright.elements.drives.servo import Division
from linkwright.elements.drives.trains import Train


@part
class Cascade(Controller):
    """Position over speed over current, each loop at its rate; the fastest is that of the servo.

    Position: speed = position_gain (r - motor.angle / ratio) + feedforward r'. Speed: a current by
    PI, through a notch, with the disturbance observer's part added. Current: a voltage by PI,
    within its limit; for a motor with two windings, one for each, with the speed's voltage added.
    What is left open is set by motor, train and load where a `Servo` is made: the bandwidth of the
    current loop to a twentieth of its rate, that of the speed loop to a fortieth, that of the
    position loop to a two-hundredth.

    Args:
        current: rate of the current loop, Hz.
        speed: rate of the speed loop, Hz; the current's is a whole multiple of it.
        position: rate of the position loop, Hz; the speed's is a whole multiple of it.
        position_gain: 1/s.
        speed_gain: A*s/rad, of the motor.
        speed_time: of the integral, s.
        current_gain: V/A.
        current_integral: V/(A*s).
        ratio: turns of the motor for one of the joint.
        feedforward: share of the reference's speed that goes straight to the speed loop, 0 to 1.
        current_limit: A; none by default.
        voltage_limit: V; by default what the amplifier of the servo follows. Without either its
            integrals wind up while the amplifier is at its limit.
        notch: frequency of a notch in the current's reference, Hz; none by default.
        notch_damping: of that notch, as part of critical damping.
        observer: bandwidth of the disturbance observer, rad/s; none by default.
        kt: torque constant for the observer and the speed's voltage, N*m/A.
        inertia: at the motor's shaft for the observer, kg*m^2.
        pairs: pairs of poles of a motor with two windings; 0 for one winding.
        along: inductance along the magnets, H, for the speed's voltage.
        across: inductance across the magnets, H.
        amplifier_gain: volts of the amplifier for each unit of the command, by which a current loop
            that is left open and voltages that are known ahead are divided; by default that of the
            servo's amplifier, else 1.

    >>> Cascade(current=10_000, speed=2_000, position=1_000).rate
    10000
    """

    current: float = amount("Hz", above=0.0)
    speed: float = amount("Hz", above=0.0)
    position: float = amount("Hz", above=0.0)
    position_gain: float | None = amount("1/s", default=None, above=0.0)
    speed_gain: float | None = amount("A*s/rad", default=None, above=0.0)
    speed_time: float | None = amount("s", default=None, above=0.0)
    current_gain: float | None = amount("V/A", default=None, above=0.0)
    current_integral: float | None = amount("V/(A*s)", default=None, least=0.0)
    ratio: float | None = amount("1", default=None, nonzero=True)
    feedforward: float = amount("1", default=1.0, least=0.0, most=1.0)
    current_limit: float | None = amount("A", default=None, above=0.0)
    voltage_limit: float | None = amount("V", default=None, above=0.0)
    notch: float | None = amount("Hz", default=None, above=0.0)
    notch_damping: float = amount("1", default=0.7, above=0.0)
    observer: float | None = amount("rad/s", default=None, above=0.0)
    kt: float | None = amount("N*m/A", default=None, above=0.0)
    inertia: float | None = amount("kg*m^2", default=None, above=0.0)
    pairs: float | None = amount("1", default=None, least=0.0)
    along: float | None = amount("H", default=None, least=0.0)
    across: float | None = amount("H", default=None, least=0.0)
    amplifier_gain: float | None = amount("1", default=None, nonzero=True)

    @property
    def rate(self) -> float | None:
        """The rate of the current loop, Hz."""
        return self.current

    @property
    def axes(self) -> tuple[str, ...] | None:
        """Those along and across the magnets where there are pairs of poles, else one."""
        return ("_d", "_q") if self.pairs else ("",)

    @property
    def divisions(self) -> tuple[int, int]:
        """Of how many instants each is one of the speed loop, and of the position loop."""
        found = []
        for what, slow in (("speed", self.speed), ("position", self.position)):
            count = self.current / slow
            if abs(count - round(count)) > 1e-9 * count or round(count) < 1:
                raise DriveError(
                    f"the {what} loop runs at {slow:g} Hz, of which {self.current:g} Hz is not "
                    "a whole multiple",
                    remedy="give rates that divide that of the current loop",
                    code="R416",
                )
            found.append(round(count))
        return found[0], found[1]

    def tuned(
        self,
        motor: Motor | None,
        train: Train | None,
        inertia: float | None,
        amplifier: Amplifier | None = None,
    ) -> Cascade:
        """Return it with what was left open set for a motor, train, load (kg*m^2) and amplifier."""
        found: dict[str, float] = {}
        boost = self.amplifier_gain
        if boost is None:
            boost = float(getattr(amplifier, "gain", 1.0))
        if boost <= 0 and None in (self.current_gain, self.current_integral):
            raise misfit(
                "a Cascade sets its current loop for an amplifier with a gain above zero, "
                f"not {boost:g}",
                "give the amplifier another gain",
            )
        if motor is not None:
            ratio = 1.0 if train is None else train.ratio
            load = motor.J if inertia is None else inertia / ratio**2
            R, L = getattr(motor, "R", 1.0), getattr(motor, "L", getattr(motor, "Lq", 1e-3))
            kt, fast = float(motor.kt), 2 * math.pi * self.current / 20
            slow = 2 * math.pi * self.speed / 40
            found = {
                "ratio": ratio, "kt": kt, "inertia": motor.J + load,
                "current_gain": L * fast / boost, "current_integral": R * fast / boost,
                "speed_gain": (motor.J + load) * slow / kt,
                "pairs": motor.pairs if isinstance(motor, PMSM) else 0.0,
            }  # fmt: skip
            if isinstance(motor, PMSM):
                found |= {"along": motor.Ld, "across": motor.Lq}
        found = {
            "along": 0.0, "across": 0.0, "amplifier_gain": boost, **found,
            "position_gain": 2 * math.pi * self.position / 200,
            "speed_time": 4 / (2 * math.pi * self.speed / 40),
        }  # fmt: skip
        made = replace(self, **{k: v for k, v in found.items() if getattr(self, k) is None})
        missing = [k for k in _NEEDED if getattr(made, k) is None]
        if missing:
            raise DriveError(
                f"the cascade does not know its {', '.join(missing)}",
                remedy="give them, or motor= and train= of the servo",
                code="R417",
            )
        return made

    def within(self, amplifier: Amplifier | None, axes: tuple[str, ...]) -> Cascade:
        """Return it with a limit of the voltage, unless it has its own."""
        if isinstance(amplifier, CurrentLoop):
            raise misfit(
                "a Cascade commands a voltage, but a CurrentLoop takes a current",
                "use an Ideal, Lag or PWM amplifier: the cascade has a current loop",
            )
        reach = None if amplifier is None else amplifier.reach(axes)
        return self if self.voltage_limit is not None else replace(self, voltage_limit=reach)

    def law(
        self, sheet: PartSketch, reference: Expr, measured: Measured
    ) -> Expr | tuple[Expr, ...]:
        """Return the command."""
        block, (fast, slow) = sheet.sketch.block, self.divisions
        kp, n, ahead = sheet.numbers("position_gain", "ratio", "feedforward")
        due = Division(block, slow, "position")
        old = block.discrete_state("reference.old")
        block.update(old, due.choose(reference, old))
        seen = block.discrete_state("reference.seen", 1)
        rate = seen * (reference - old) * self.position
        error = reference - measured("motor.angle") / n
        held = block.discrete_state("speed.held")
        wanted = block.intermediate(due.choose(n * (kp * error + ahead * rate), held))
        block.update(held, wanted)
        current = self._speed(sheet, wanted, measured("motor.speed"), fast)
        if self.pairs:
            return self._windings(sheet, current, measured)
        return self._current(sheet, current, measured("motor.i"), as_expr(0), "")

    def _speed(self, sheet: PartSketch, wanted: Expr, speed: Expr, count: int) -> Expr:
        """Return the wanted current."""
        block, step = sheet.sketch.block, 1 / self.speed
        gain, time = sheet.numbers("speed_gain", "speed_time")
        due = Division(block, count, "speed")
        held = block.discrete_state("current.held")
        whole = block.discrete_state("speed.integral")
        lost = self._lost(sheet)
        error = wanted - speed
        free = self._notched(sheet, due, gain * error + whole)
        if self.observer is not None:
            free = free + self._observed(sheet, due, speed, held, lost)
        asked = free
        if self.current_limit is not None:
            (limit,) = sheet.numbers("current_limit")
            asked = maximum(minimum(free, limit), -limit)
        asked = block.intermediate(asked)
        grown = where(lost * error < 0, 0, gain * step / time * error)  # else it would wind up
        growth = grown + (asked - free)
        block.update(whole, due.choose(whole + growth, whole))
        now = block.intermediate(due.choose(asked, held))
        block.update(held, now)
        block.output("current.wanted", now, unit="A", doc="current that is asked for")
        return now

    def _lost(self, sheet: PartSketch) -> Expr:
        """Return the voltage that the limit took away at the last instant, V."""
        if self.voltage_limit is None:
            return as_expr(0)
        return sheet.sketch.block.discrete_state("voltage.lost")

    def _notched(self, sheet: PartSketch, due: Division, value: Expr) -> Expr:
        """Return a value through a notch, made discrete by the bilinear rule (Bristow-Johnson)."""
        if self.notch is None:
            return value
        block = sheet.sketch.block
        f, damping = sheet.numbers("notch", "notch_damping")
        block.require(f <= 0.499 * self.speed, "below half the rate of the speed loop")
        turn = 2 * math.pi * f / self.speed
        c, a = cos(turn), damping * sin(turn)
        y1, y2, u1, u2 = (block.discrete_state(f"notch.{s}") for s in ("y1", "y2", "u1", "u2"))
        u = block.intermediate(value)
        y = block.intermediate((u - 2 * c * u1 + u2 + 2 * c * y1 - (1 - a) * y2) / (1 + a))
        for x, new in ((u2, u1), (u1, u), (y2, y1), (y1, y)):
            block.update(x, due.choose(new, x))
        return y

    def _observed(
        self, sheet: PartSketch, due: Division, speed: Expr, current: Expr, lost: Expr
    ) -> Expr:
        """Return the current against the disturbance that the motor shows (Ohnishi)."""
        block, step = sheet.sketch.block, 1 / self.speed
        w, kt, J = sheet.numbers("observer", "kt", "inertia")
        old, found = block.discrete_state("observer.speed"), block.discrete_state("observer.torque")
        seen = block.discrete_state("observer.seen", 1)
        torque = kt * current - J * (speed - old) / step
        change = where(absolute(lost) > 0, 0, seen * (1 - exp(-w * step)) * (torque - found))
        block.update(found, due.choose(found + change, found))
        block.update(old, due.choose(speed, old))
        return found / kt

    def _windings(self, sheet: PartSketch, current: Expr, measured: Measured) -> tuple[Expr, ...]:
        """Return the voltages along and across the magnets."""
        p, kt, Ld, Lq = sheet.numbers("pairs", "kt", "along", "across")
        d, q, w = measured("motor.i_d"), measured("motor.i_q"), measured("motor.speed")
        ahead = p * w * (Ld * d) + kt / 1.5 * w
        back = -p * w * Lq * q
        if self.amplifier_gain != 1:
            (boost,) = sheet.numbers("amplifier_gain")
            ahead, back = ahead / boost, back / boost
        along = self._current(sheet, as_expr(0), d, back, "_d")
        return along, self._current(sheet, current, q, ahead, "_q")

    def _current(
        self, sheet: PartSketch, wanted: Expr, current: Expr, ahead: Expr, axis: str
    ) -> Expr:
        """Return the voltage."""
        block, step = sheet.sketch.block, 1 / self.current
        gain, grow = sheet.numbers("current_gain", "current_integral")
        error = wanted - current
        whole = block.discrete_state(f"voltage.integral{axis}")
        free = block.intermediate(gain * error + whole + ahead)
        asked = free
        if self.voltage_limit is not None:
            (limit,) = sheet.numbers("voltage_limit")
            asked = maximum(minimum(free, limit), -limit)
        asked = block.intermediate(asked)
        block.update(whole, whole + grow * step * error + (asked - free))
        if self.voltage_limit is not None and axis != "_d":
            (lost,) = (x for x in block.discrete_states if x.name == "voltage.lost")
            block.update(lost, asked - free)
        return asked


_NEEDED = (
    "position_gain", "speed_gain", "speed_time", "current_gain", "current_integral", "ratio", "kt",
    "inertia", "pairs",
)  # fmt: skip
