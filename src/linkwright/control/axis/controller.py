"""The axis controller: up to 16 servo axes as one sampled block (figure 2.1 of the report).

    demand ─S1─►(−)─► D(z) ─S2─►(+ offset)─► Coulomb ─S3─► limits ─► current
                 ▲
                 S5: position | derivative | nothing  ◄─S4─ encoder | a·adc + b

At each tick all axes are sampled together; an axis with a clock divisor computes every so many
ticks. Any error of an axis without SOFTERR, and PANIC, take the current from all axes and close
the brakes; both latch until `clear` rises, and nothing moves before `enable` rises after that.

Source: Paul and others, appendix A.2, chapter 2. What is left open there is decided so: samples in
which the compensator is not used leave zero in its memory of outputs, and the error in that of
errors, so that it starts without a kick; the sign of both Coulomb currents says how the encoder is
mounted; the triangle has 256 samples and the height of `ilim`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkwright.algebra import ZERO, Expr, as_expr, not_equal, where
from linkwright.base.errors import unknown
from linkwright.blocks import Block, BlockError, Rate, checked, exact
from linkwright.control.axis.codes import DAC_SCALE, AxisError, AxisMode
from linkwright.control.axis.coefficients import pid_coefficients
from linkwright.control.axis.law import axes_program
from linkwright.control.axis.ports import PARTS, PORTS, AxisPort
from linkwright.control.filters import period_of
from linkwright.control.joints import PerJoint, numbers

MOST_AXES = 16
"""Axes that one controller has at most."""


@dataclass(frozen=True, slots=True)
class Safety:
    """What holds for all axes in this tick, before they are looked at."""

    panic: Expr  # the PANIC line, latched
    panicked: Expr  # whether it has been asserted in this tick
    trip: Expr  # an axis tripped before
    armed: Expr  # enabled
    powered: Expr  # currents may flow; longer than it is enabled where brakes take time to close
    cleared: Expr  # what is over is forgotten


class AxisController(Block):
    """Servo axes with switches, compensator, limits and trips, sampled together.

    All ports have an entry for each axis, such as `demand[2]`; those in `PORTS` say what they are.
    Outputs are `current`, `inow` (filtered), `error`, `fbnow`, `vel`, `encnow`, `adcval`, `brake`
    (1 where closed), `code` and `count` (the last `AxisError`, and how many there were), and for
    all axes `panic`, `tripped`, `enabled`, `ready`, `last_error` (code and axis) and `errors`.

    Args:
        names: of the axes, 1 to 16 of them; two share a card.
        integers: the integer form: counts, D/A units, and division that truncates; otherwise SI.
        full_scale: the largest current: A, or units of the D/A converter.
        kp: proportional gain, A/rad (SI): for all axes, for each, or by name.
        ki: integral gain, A/(rad*s).
        kd: derivative gain, A*s/rad.
        start: values of inputs where nothing drives them, by port; for all axes, for each, or by
            name.
        also: parts of the SI form: "following", "heat", "brakes", "limits", "feedforward",
            "notch", "home"; those whose ports are in `start` are there anyway.
        rate: hertz or a `Rate`; gains need it.
        name: of the block.

    >>> axes = AxisController(["shoulder", "elbow"], kp=40, kd=2, rate=1000)
    >>> axes.inputs["a0"].values, len(axes.outputs["current"].symbols)
    ((2040, 2040), 2)
    """

    needs_rate = True
    """It samples."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        integers: bool = False,
        full_scale: float | None = None,
        kp: PerJoint | None = None,
        ki: PerJoint = 0.0,
        kd: PerJoint = 0.0,
        start: Mapping[str, PerJoint] | None = None,
        also: Sequence[str] = (),
        rate: Rate | float | Fraction | None = None,
        name: str = "axes",
    ) -> None:
        super().__init__(name, rate=rate, doc="axis controller")
        self.axes = _named(names)
        self.integers = integers
        given = dict(start or {})
        scale = (DAC_SCALE if integers else 10.0) if full_scale is None else full_scale
        bound = not integers and "ilim" not in given
        if bound:
            given["ilim"] = scale
        if kp is not None:
            given |= self._gains(kp, ki, kd, given)
        self.parts = self._parts(given, also)
        top = checked(scale, f"full_scale of {name!r}", above=0)
        self.full_scale = as_expr(top)
        if not bound:  # otherwise the limit of the current, an input, goes with it
            unit = self._unit("A")
            self.full_scale = self.parameter("full_scale", top, unit=unit, sign="positive")
        self.ports: dict[str, tuple[Expr, ...]] = {}
        for port in PORTS:
            if not port.part or port.part in self.parts:
                self._port(port, given, scale)
        cards = (len(self.axes) + 1) // 2
        self.ports["fault"] = self.input_vector("fault", cards, doc="a card that has failed")
        self._build()

    # -- what goes in ------------------------------------------------------------------------------
    def _unit(self, unit: str) -> str:
        return "?" if self.integers else unit

    def _gains(
        self, kp: PerJoint, ki: PerJoint, kd: PerJoint, given: Mapping[str, PerJoint]
    ) -> dict[str, list[float]]:
        if self.integers:
            raise BlockError(
                f"{self.name!r} counts in integers, and gains are SI",
                remedy="use linkwright.control.integer_coefficients, and give a0 to b2 in start",
            )
        if self.rate is None:
            raise BlockError(
                f"{self.name!r} has gains, but no rate", remedy="give rate=..., in hertz"
            )
        period = period_of(self.rate, self.name)
        self.designed_for = exact(period)
        columns = [numbers(g, self.axes, what) for g, what in ((kp, "kp"), (ki, "ki"), (kd, "kd"))]
        divisors = numbers(given.get("clkdivisor", 1.0), self.axes, "clkdivisor", least=1)
        rows = zip(*columns, divisors, strict=True)
        found = [pid_coefficients(p, i, d, period=period * n) for p, i, d, n in rows]
        keys = ("a0", "a1", "a2", "b0", "b1", "b2")
        return {key: [getattr(c, key) for c in found] for key in keys}

    def _parts(self, given: Mapping[str, PerJoint], also: Sequence[str]) -> frozenset[str]:
        known = {port.name: port.part for port in PORTS} | {"fault": ""}
        for key in given:
            if key not in known:
                raise unknown("input", key, known, owner=repr(self.name), kind=BlockError)
        for part in also:
            if part not in PARTS:
                raise BlockError(
                    f"an axis controller has no part {part!r}", remedy=f"parts: {', '.join(PARTS)}"
                )
        parts = {*also, *(known[key] for key in given)} - {""}
        if not self.integers:
            if "card" in parts:
                raise BlockError(
                    f"{self.name!r} is in SI and has no cards", remedy="give integers=True"
                )
            return frozenset(parts)
        if parts - {"card"}:
            raise BlockError(
                f"{self.name!r} counts in integers and has no part {min(parts - {'card'})!r}",
                remedy="leave integers=True away",
            )
        return frozenset({"card"})

    def _port(self, port: AxisPort, given: Mapping[str, PerJoint], scale: float) -> None:
        default = port.whole if self.integers and port.whole is not None else port.default
        unit = port.unit if port.alone else self._unit(port.unit)
        value = given.get(port.name, default)
        if port.alone:
            alone = [checked(float(value), port.name)] if isinstance(value, int | float) else []
            if not alone:
                raise BlockError(f"{port.name} is one number for all axes, not {value!r}")
            self.ports[port.name] = (self.input(port.name, alone[0], unit=unit, doc=port.doc),)
            return
        if port.name == "ilim" and not self.integers:
            default = float(scale)
        values = numbers(value, self.axes, port.name, others=[default] * len(self.axes))
        if port.name == "b0" and not all(values):
            raise BlockError("b0 is 0", remedy="give another number; all is divided by it")
        if port.name == "mode" and any(v not in list(AxisMode) for v in values):
            raise BlockError(f"mode is {value!r}", remedy="give numbers of AxisMode")
        if port.name == "clkdivisor" and any(v < 1 or v != int(v) for v in values):
            raise BlockError(f"clkdivisor is {value!r}", remedy="give whole numbers from 1 on")
        if self.integers and any(v != int(v) for v in values):
            raise BlockError(f"{port.name} is {value!r}", remedy="give whole numbers")
        count = len(self.axes)
        self.ports[port.name] = self.input_vector(port.name, count, values, unit=unit, doc=port.doc)

    def alone(self, name: str) -> Expr:
        """Return an input that is one for all axes."""
        return self.ports[name][0]

    # -- what it computes --------------------------------------------------------------------------
    def _build(self) -> None:
        tick = self.discrete_state("ticks", initial=0.0)
        self.update(tick, where(self.alone("service") | (tick > 0), tick + 1, 0))
        was_armed = self.discrete_state("armed", initial=0.0)
        safety = self._lines(was_armed)
        told = {"tick": tick, "was_armed": was_armed, "armed": safety.armed}
        told |= {"powered": safety.powered, "cleared": safety.cleared, "seconds": self.period}
        told |= {"full_scale": self.full_scale}
        laws = self._axes(told)
        self._stop(safety, laws)
        self._told(laws, safety)
        listed = {
            "current": "A", "inow": "A", "error": "?", "fbnow": "?", "vel": "?", "encnow": "?",
            "adcval": "?", "brake": "1", "code": "1", "count": "1",
        }  # fmt: skip
        for key, unit in listed.items():
            values = [law[key] for law in laws]
            start = 1.0 if key == "brake" else 0.0
            self.output_vector(key, values, unit=self._unit(unit), initial=start)
        for key in ("led", "homed"):
            if all(key in law for law in laws):
                self.output_vector(key, [law[key] for law in laws])

    def _any(self, conditions: Sequence[Expr]) -> Expr:
        """Return whether any holds, as an intermediate result."""
        found: Expr = ZERO
        for condition in conditions:
            found = found | condition
        return self.intermediate(found)

    def _lines(self, was: Expr) -> Safety:
        """Return what holds before the axes are looked at."""
        silence = self.discrete_state("silence", initial=0.0)
        silent = self.intermediate(where(self.alone("service"), 0, silence + 1))
        self.update(silence, silent)
        heartbeat = self.alone("heartbeat")
        late = (heartbeat > 0) & ((silent + 1) * self.period > heartbeat)
        lines = [*self.ports["fault"], self.alone("button"), self.alone("panic_line")]
        line = self._any([*(not_equal(x, 0) for x in lines), ~self.alone("connected"), late])
        latched, tripped = (self.discrete_state(x, initial=0.0) for x in ("latched", "trips"))
        cleared = self._rise("clear")
        panic = self.intermediate(line | (latched & ~cleared))
        self.update(latched, panic)
        trip = self.intermediate(tripped & ~cleared)
        stopped = self.intermediate(panic | trip)
        enable = self.alone("enable")
        armed = self.intermediate(~stopped & enable & (self._rise("enable") | was))
        powered = armed
        if "brakes" in self.parts:
            closing = self.discrete_state("closing", initial=0.0)
            powered = self.intermediate(armed | (~stopped & (closing >= 0.5)))
        new = self.intermediate(panic & ~latched)
        return Safety(panic, new, trip, armed, powered, cleared)

    def _axes(self, told: Mapping[str, Expr]) -> list[dict[str, Expr]]:
        """Compute all axes; what they remember of their currents is said when all are known."""
        count = len(self.axes)
        law = axes_program(count, self.integers, self.parts)
        given: dict[str, Sequence[Expr]] = {name: self.ports[name] for name in law.inputs}
        for name in law.memory:
            given[name] = [self.discrete_state(f"{name}[{k}]", initial=0.0) for k in range(count)]
        shared = [told[name] if name in told else self.alone(name) for name in law.shared]
        found = self.embed(law.program, {"shared": shared, **given})
        for name in law.memory:
            for x, value in zip(given[name], found[f"next_{name}"], strict=True):
                self.update(x, value)
        return [
            {key: found[key][k] for key in law.results} | {"memory": given["current_before"][k]}
            for k in range(count)
        ]

    def _stop(self, safety: Safety, laws: Sequence[dict[str, Expr]]) -> None:
        """Take the currents from all axes where one of them trips in this tick."""
        new = self._any([law["trip"] for law in laws])
        trip, tripped = self.intermediate(safety.trip | new), self._memory("trips")
        self.update(tripped, trip)
        armed = self.intermediate(safety.armed & ~new)
        self.update(self._memory("armed"), armed)
        ready = armed
        if "brakes" in self.parts:
            closing = self._memory("closing")
            left = where(armed, self.alone("engage") / self.period, closing - 1)
            self.update(closing, where(safety.panic | trip | (left < 0), 0, left))
            since = self.discrete_state("opening", initial=0.0)
            self.update(since, where(armed, since + 1, 0))
            ready = armed & (since * self.period >= self.alone("release"))
        for k, law in enumerate(laws):
            current = where(new, 0, law["current"])
            self.update(law["memory"], current)
            law["current"] = where(new, 0, law["shown"])
            law["brake"] = law["brake"] | new
            if self.integers:
                law["inow"] = where(self.ports["ipole"][k], law["inow"], current)
        self.output("panic", safety.panic, unit="1")
        self.output("tripped", trip, unit="1")
        self.output("enabled", armed, unit="1")
        self.output("ready", ready, unit="1")

    def _memory(self, name: str) -> Expr:
        return next(x for x in self.discrete_states if x.name == name)

    def _rise(self, name: str) -> Expr:
        """Return whether an input is 1 and was 0 a tick ago."""
        before = self.discrete_state(f"{name}_before", initial=0.0)
        self.update(before, not_equal(self.alone(name), 0))
        return self.intermediate(self.alone(name) & ~before)

    def _told(self, laws: Sequence[dict[str, Expr]], safety: Safety) -> None:
        """Keep the last error with its axis, and how many there were."""
        last = self.discrete_state("last", initial=0.0)
        total = self.discrete_state("total", initial=0.0)
        found: Expr = last
        more: Expr = total
        for k, law in reversed(list(enumerate(laws))):
            found = where(law["new"], law["new"] + k, found)
            more = more + not_equal(law["new"], 0)
        found = self.intermediate(where(safety.panicked, AxisError.PANIC.value, found))
        more = self.intermediate(more + safety.panicked)
        self.update(last, found)
        self.update(total, more)
        self.output("last_error", found, unit="1")
        self.output("errors", more, unit="1")


def _named(names: Sequence[str]) -> list[str]:
    found = [] if isinstance(names, str) else list(names)
    if not 1 <= len(found) <= MOST_AXES or len(set(found)) < len(found):
        raise BlockError(
            f"the axes {names!r} cannot be meant",
            remedy=f"give a list of 1 to {MOST_AXES} different names",
        )
    return found
