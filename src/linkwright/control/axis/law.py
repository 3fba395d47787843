"""The axes of an axis controller as a Program: one axis, and a loop over all of them.

It computes what the axis wants, whether something is wrong with it, and what it remembers. What
stops all axes in the same tick is known only after all have been computed; the controller then
takes the currents away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    Scalar,
    absolute,
    as_expr,
    equal,
    floor,
    maximum,
    not_equal,
    sqrt,
    symbol,
    where,
)
from linkwright.blocks import Block
from linkwright.control.axis.arithmetic import Arithmetic, Real, Whole
from linkwright.control.axis.codes import COUNTER, FSCALE, TEST_PERIOD, UNWIND, AxisError, AxisMode
from linkwright.control.axis.ports import PORTS
from linkwright.program import Loop, Program, ProgramPort, Scanned, Stacked, check, optimize

SHARED = ("tick", "was_armed", "armed", "powered", "cleared", "seconds", "full_scale")
"""What the controller sends to each axis: the number of the tick, whether it was and is enabled and
currents may flow, whether faults are forgotten, the period in s and the largest current."""

LINES = ("service", "encoder_loop", "analog_loop", "double_buffer")
"""Inputs of the controller that are the same for all axes, and that each axis reads."""

RESULTS = ("current", "shown", "brake", "inow", "error", "fbnow", "vel", "encnow", "adcval", "code",
           "count", "new", "trip")  # fmt: skip
"""What comes out for each axis: `new` is the error of this tick, or 0."""


@dataclass(frozen=True, slots=True)
class AxesProgram:
    """The Program of all axes, a loop over them, with what its entries are."""

    # its inputs are `shared`, and an array over the axes for each input and memory; its outputs are
    # arrays over the axes: `next_` and the name of each memory, and results
    program: Program
    shared: tuple[str, ...]  # names of what all axes read
    inputs: tuple[str, ...]  # names of the axis' own inputs
    memory: tuple[str, ...]  # names of what it remembers; all start at 0
    results: tuple[str, ...]  # names of what comes out


@cache
def axes_program(count: int, integers: bool, parts: frozenset[str]) -> AxesProgram:
    """Return the Program of some axes.

    >>> found = axes_program(2, False, frozenset())
    >>> found.inputs[:2], found.memory[0], found.program.outputs[0].size
    (('demand', 'encoder'), 'current_before', 2)
    """
    law = AxisLaw(integers, parts)
    memory = {x.name: x for x in law.block.discrete_states}
    following = {f"next_{n}": law.block.discrete_states[x].following for n, x in memory.items()}
    keys = [key for key in (*RESULTS, "led", "homed") if key in law.outputs]
    found = {key: as_expr(x) for key, x in following.items() if x is not None}
    found |= {key: law.outputs[key] for key in keys}
    shared = tuple(law.shared.values())
    own = law.ports | memory
    one = optimize(
        Program(
            "axis",
            (ProgramPort("shared", (len(shared),), shared),
             ProgramPort("own", (len(own),), tuple(own.values()))),
            (ProgramPort("found", (len(found),), tuple(found.values())),),
            tuple(law.block.statements),
        )
    )  # fmt: skip

    def array(name: str) -> tuple[Expr, ...]:
        return tuple(symbol(f"{name}[{k}]", "local", owner="axes") for k in range(count))

    arrays = {name: array(name) for name in (*own, *found)}
    scanned = tuple(Scanned(x, arrays[name]) for name, x in own.items())
    values = zip(found, one.outputs[0].entries, strict=True)
    stacked = tuple(Stacked(value, arrays[name]) for name, value in values)
    program = Program(
        "axes",
        (one.inputs[0], *(ProgramPort(name, (count,), arrays[name]) for name in own)),
        tuple(ProgramPort(name, (count,), arrays[name]) for name in found),
        (Loop(count, (), scanned, stacked, one.statements),),
    )
    check(program)
    return AxesProgram(program, tuple(law.shared), tuple(law.ports), tuple(memory), tuple(keys))


class AxisLaw:
    """The expressions of one axis."""

    def __init__(self, integers: bool, parts: frozenset[str]) -> None:
        self.whole, self.parts = integers, parts
        self.arithmetic: Arithmetic = Whole() if integers else Real()
        self.block = block = Block("axis")
        lines = LINES if integers else LINES[:1]
        self.shared = {name: block.input(name) for name in (*SHARED, *lines)}
        self.ports = {
            port.name: block.input(port.name)
            for port in PORTS
            if not port.alone and (not port.part or port.part in parts)
        }
        self.outputs: dict[str, Expr] = {}
        self._reset: list[tuple[Expr, Expr]] = []
        tick, ticks = self.shared["tick"], self.input("clkdivisor")
        self.sample = self.keep(floor(tick / ticks))
        self.due = self.keep(self.shared["service"] & equal(tick - ticks * self.sample, 0))
        self.known = tick > 0
        self.was_armed = self.shared["was_armed"]
        self.samples = self.keep(self.shared["seconds"] * ticks)
        self.per_second = ONE if integers else self.keep(1 / self.samples)
        self.mode = self.input("mode")
        self.on = self.keep(not_equal(self.mode, 0))
        self.last = self.memory("current_before")
        self.dead = self.memory("dead")
        self._measure()
        self._demand()
        self._compensate()
        self._current()
        self._check()
        self._finish()

    # -- small words -------------------------------------------------------------------------------
    def input(self, name: str) -> Expr:
        """Return the axis' entry of an input."""
        return self.ports[name]

    def memory(self, name: str) -> Expr:
        """Return a new discrete state of the axis."""
        return self.block.discrete_state(name)

    def keep(self, value: Expr) -> Expr:
        """Return a partial result that is computed once."""
        return self.block.intermediate(value)

    def sampled(self, memory: Expr, value: Scalar) -> None:
        """Let a state change at samples of the axis alone."""
        self.block.update(memory, where(self.due, value, memory))

    def has(self, part: str) -> bool:
        """Whether the controller has a part."""
        return part in self.parts

    def is_mode(self, mode: AxisMode) -> Expr:
        """Return whether the axis is in a mode."""
        return equal(self.mode, mode.value)

    # -- what is measured --------------------------------------------------------------------------
    def _measure(self) -> None:
        block = self.block
        raw = self.input("adc")
        encoder = self.input("encoder")
        if self.whole:
            raw = where(self.shared["analog_loop"], self.last, raw)
        self.adcval = self.keep(self.input("adc_a") * raw + self.input("adc_b"))
        presets = self.memory("presets_before")
        block.update(presets, self.input("presets"))
        preset = not_equal(presets, self.input("presets"))
        value = self.input("preset")
        if self.has("home"):
            preset, value = self._home(preset, value)
        if self.whole:
            before, place = self.memory("register"), self.memory("place")
            register = self.keep(where(self.shared["encoder_loop"], before + 1, encoder))
            step = register - before
            block.update(before, register)
            found = place + step - COUNTER * floor((step + COUNTER // 2) / COUNTER)
            found = self.keep(found)
            self.position = self.keep(where(preset, value, found))
            block.update(place, self.position)
            moved = self.position - found
        else:
            shift = self.memory("shift")
            now = self.keep(where(preset, value - encoder, shift))
            block.update(shift, now)
            moved = now - shift
            self.position = self.keep(encoder + now)
        adfb = self.input("adfb")
        self.fb = self.keep(where(adfb, self.adcval, self.position))
        moved = self.keep(where(adfb, 0, moved))
        y1, y2 = self.memory("y1"), self.memory("y2")
        first = self.keep(where(self.known, y1 + moved, self.fb))
        second = self.keep(where(self.known, y2 + moved, self.fb))
        block.update(y1, where(self.due, self.fb, first))
        block.update(y2, where(self.due, first, second))
        thrice = 3 * self.fb
        if self.whole:  # kept apart by floor: no pass may divide a sum by 3, which is not exact
            thrice = self.fb + self.keep(floor(2 * self.fb))
        slope = self.arithmetic.halved(thrice - 4 * first + second)
        self.vel = self.keep(slope * self.per_second)
        self.moved = moved

    def _home(self, preset: Expr, value: Expr) -> tuple[Expr, Expr]:
        """Let the home switch set the position where the axis looks for it."""
        switch, homed = self.input("switch"), self.memory("homed_before")
        homing = self.keep(self.is_mode(AxisMode.HOME))
        self.arrived = self.keep(homing & self.was_armed & switch & ~homed)
        done = self.keep(where(homing, homed | self.arrived, 0))
        self.block.update(homed, done)
        self.homed = done
        self.outputs["homed"] = done
        return preset | self.arrived, where(self.arrived, self.input("home_place"), value)

    # -- what is demanded --------------------------------------------------------------------------
    def _demand(self) -> None:
        block = self.block
        demand = where(self.input("addmd"), self.adcval, self.input("demand"))
        self.speeds = self.keep(self.is_mode(AxisMode.VEL))
        places: Expr = self.is_mode(AxisMode.POS)
        if self.has("limits") or self.has("home"):
            way = self.memory("way")
            from_ = self.keep(where(self.was_armed, way + self.moved, self.position))
            if self.has("limits"):
                demand = self._braked(demand, from_)
            if self.has("home"):
                homing = self.is_mode(AxisMode.HOME)
                step = where(self.homed, 0, self.input("home_speed") * self.samples)
                sought = where(self.arrived, self.input("home_place"), from_ + step)
                demand = where(homing, sought, demand)
                places = places | homing
            demand = self.keep(demand)
            follows = places | self.is_mode(AxisMode.HOME)
            block.update(way, where(self.due, where(follows, demand, self.position), from_))
        self.places = self.keep(places)
        self.servoed = self.keep(self.places | self.speeds)
        self.demand = self.keep(demand)
        fed = where(self.input("zerofb"), 0, where(self.speeds, self.vel, self.fb))
        self.error = self.keep(self.demand - fed)

    def _braked(self, demand: Expr, way: Expr) -> Expr:
        """Return the demand, kept where it can still stop before the limits.

        With steps of T at the deceleration a, the fastest speed at the distance d is
        a (sqrt(T^2/4 + 2 d/a) - T/2), and in the last step d/T.
        """
        a, T, speeds = self.input("deceleration"), self.samples, self.speeds
        at = self.keep(where(speeds, self.position, way))
        base = self.keep(where(speeds, 0, way))
        wanted = self.keep(demand - base)
        room = where(wanted > 0, self.input("highest") - at, at - self.input("lowest"))
        room = self.keep(where(room > 0, room, 0))
        fast = self.keep(a * (sqrt(T * T / 4 + 2 * room / a) - T / 2))
        last = fast * T > room
        most = where(speeds, where(last, room * self.per_second, fast), where(last, room, fast * T))
        limited = base + self.clipped(wanted, self.keep(most))
        return where(speeds | self.is_mode(AxisMode.POS), limited, demand)

    # -- what it wants -----------------------------------------------------------------------------
    def _compensate(self) -> None:
        block = self.block
        e1, e2, u1, u2 = (self.memory(x) for x in ("e1", "e2", "u1", "u2"))
        a0, a1, a2, b0, b1, b2 = (self.input(x) for x in ("a0", "a1", "a2", "b0", "b1", "b2"))
        terms = [a0 * self.error, a1 * e1, a2 * e2, b1 * u1, b2 * u2]
        if self.whole:
            terms = [self.keep(term) for term in terms]
        top = self.keep(terms[0] + terms[1] + terms[2] - terms[3] - terms[4])
        self.u = self.keep(self.arithmetic.divided(block, top, b0))
        self.compensated = self.arithmetic.exact(terms) & self.arithmetic.fits(self.u)
        self._shift = (e1, e2, u1, u2)

    def _current(self) -> None:
        i = where(
            self.servoed, self.u, where(self.is_mode(AxisMode.TORQ), self.demand, self._test())
        )
        i = self.keep(i)
        icp, icn = self.input("ic_pos"), self.input("ic_neg")
        pushed = where(icp + icn < 0, -i, i)  # both are negative where the encoder is reversed
        turning = self.keep(where(equal(self.vel, 0), pushed, self.vel))
        friction = where(turning > 0, icp, where(turning < 0, -icn, 0))
        wanted = i + where(self.input("coulcomp"), friction, 0)
        wanted = wanted + where(self.input("adoff"), self.adcval, self.input("offset"))
        if self.has("feedforward"):
            more = self.input("kv") * self.input("demand_rate")
            more = more + self.input("ka") * self.input("demand_acceleration")
            wanted = wanted + where(self.places, more, 0)
        self.wanted = self.keep(wanted)
        self.given = self._notched(self.wanted) if self.has("notch") else self.wanted

    def _test(self) -> Expr:
        """Return the triangle wave."""
        quarter = TEST_PERIOD // 4
        moved = self.sample + quarter
        phase = moved - TEST_PERIOD * floor(moved / TEST_PERIOD)
        wave = self.input("ilim") * (quarter - absolute(phase - 2 * quarter))
        return Whole().scaled_down(wave, quarter) if self.whole else wave / quarter

    def _notched(self, x: Expr) -> Expr:
        """Return what a filter of second order makes of the current (transposed direct form II)."""
        z1, z2 = self.memory("z1"), self.memory("z2")
        y = self.keep(self.input("n0") * x + z1)
        self._reset.append((z1, self.input("n1") * x - self.input("d1") * y + z2))
        self._reset.append((z2, self.input("n2") * x - self.input("d2") * y))
        return y

    # -- what is wrong -----------------------------------------------------------------------------
    def _check(self) -> None:
        block, fits = self.block, self.arithmetic.fits
        good = fits(self.vel) & fits(self.given)  # in SI no number of a sum is no number of theirs
        if self.whole:
            good = good & fits(self.fb) & fits(self.adcval) & fits(self.error)
            good = good & (self.compensated | ~self.servoed)
        self.good = self.keep(good)
        bad = self.keep(~self.good & ~self.dead)
        low, high = self.memory("low"), self.memory("high")
        is_low = self.keep(self.input("poschk") & (self.fb < self.input("plo")))
        is_high = self.keep(self.input("poschk") & (self.fb > self.input("phi")))
        self.sampled(low, is_low)
        self.sampled(high, is_high)
        lim, most = self.input("ilim"), self.input("ilimmax")
        over = self.memory("over")
        count = self.keep(where(absolute(self.given) > lim, over + 1, 0))
        self._reset.append((over, count))
        running = self.was_armed & self.on
        tripped = not_equal(most, 0) & equal(count, most + 1) & running
        checks = [
            (bad, AxisError.RANGE),
            (tripped, AxisError.ILIM),
            (is_low & ~low, AxisError.PLO),
            (is_high & ~high, AxisError.PHI),
        ]
        if self.has("following"):
            far = self.memory("far")
            is_far = self.keep(
                (self.input("following") > 0)
                & (absolute(self.error) > self.input("following"))
                & self.places
                & running
            )
            self.sampled(far, is_far)
            checks.append((is_far & ~far, AxisError.FOLLOW))
        if self.has("heat"):
            checks.append((self._heated() & running, AxisError.HEAT))
        code: Expr = ZERO
        for condition, number in reversed(checks):
            code = where(condition, number.value, code)
        self.code = self.keep(where(self.due, code, 0))
        self.outputs["new"] = self.code
        self.outputs["trip"] = not_equal(self.code, 0) & ~self.input("softerr")
        last, errors = self.memory("code_before"), self.memory("count_before")
        told = self.keep(where(self.code, self.code, last))
        counted = self.keep(errors + not_equal(self.code, 0))
        block.update(last, told)
        block.update(errors, counted)
        self.outputs |= {"code": told, "count": counted}
        self._bad = bad

    def _heated(self) -> Expr:
        """Return whether the square of the current has added up to too much."""
        heat, rated = self.memory("heat"), self.input("rated")
        more = (self.last * self.last - rated * rated) * self.samples
        now = self.keep(where(rated > 0, maximum(heat + more, 0), 0))
        self.sampled(heat, now)
        limit = self.input("overload")
        return (rated > 0) & (now > limit) & (heat <= limit)

    # -- what comes of it --------------------------------------------------------------------------
    def _finish(self) -> None:
        """Say what is put out and remembered, as long as no axis stops all of them."""
        block, due = self.block, self.due
        armed, powered = self.shared["armed"], self.shared["powered"]
        dead = self.keep((self.dead & ~self.shared["cleared"]) | (self._bad & due))
        block.update(self.dead, dead)
        active = self.keep(powered & self.on & ~dead)
        lim, top = self.input("ilim"), self.shared["full_scale"]
        bound = self.keep(where(self.input("ilimmax") | (lim > top), top, lim))
        idle: Expr = ZERO
        if self.whole:
            idle = where(powered & ~self.on, self.clipped(self.input("dac"), top), 0)
        held = where(due, self.clipped(self.given, bound), self.last)
        current = self.keep(where(active, held, idle))
        block.update(self.last, current)
        shown = current
        if self.whole:
            shown = where(self.shared["double_buffer"] & powered & ~dead, self.last, current)
            self.outputs["led"] = self.input("leds")
        self.outputs |= {"current": current, "shown": shown}
        self.outputs["brake"] = ~(armed & self.on & ~dead)
        self._remember(active)
        self._filter(current)
        self.outputs |= {"fbnow": self.fb, "encnow": self.position, "adcval": self.adcval}

    def _remember(self, active: Expr) -> None:
        """Move the memory of the compensator on."""
        e1, e2, u1, u2 = self._shift
        used = self.keep(active & self.servoed & self.good)
        e = self.keep(where(self.good, self.error, 0))
        new, old = (self.u, u1) if self.whole else (self._unwound(self.u), self._unwound(u1))
        shown = self.keep(where(self.due, e, e1))
        self.outputs["error"] = shown
        self.sampled(e2, where(used, e1, e))
        self.block.update(e1, shown)
        self.sampled(u2, where(used, old, 0))
        self.sampled(u1, where(used, new, 0))
        kept = self.keep(active & self.good)
        for memory, value in self._reset:
            self.sampled(memory, where(kept, value, 0))
        speed = self.memory("vel_before")
        self.outputs["vel"] = self.keep(where(self.due, self.vel, speed))
        self.block.update(speed, self.outputs["vel"])

    def _unwound(self, u: Expr) -> Expr:
        """Return an output as it is remembered: less and less of what the limit cut off.

        Its recursion then has the poles of D(z), each times `UNWIND`, while the current is limited
        (Åström and Wittenmark, *Computer-Controlled Systems*, section 3.5), and D(z) otherwise.
        """
        given = self.keep(self.clipped(u, self.input("ilim")))
        return given + UNWIND * (u - given)

    def clipped(self, x: Expr, most: Expr) -> Expr:
        """Return a value kept between two bounds; what is not a number stays none."""
        return where(x > most, most, where(x < -most, -most, x))

    def _filter(self, current: Expr) -> None:
        """Filter the current; a pole of 0 shows it as it is."""
        pole, before = self.input("ipole"), self.memory("filtered")
        if self.whole:
            top = self.keep(pole * before + (FSCALE - pole) * FSCALE * current)
            found = Whole().scaled_down(top, FSCALE)
        else:
            found = pole * before + (ONE - pole) * current
        found = self.keep(where(self.due, found, before))
        self.block.update(before, found)
        self.outputs["inow"] = found
