"""One axis of an axis controller: from what is measured to the current it wants, and its errors.

It is built in two passes. The first computes what the axis wants and whether something is wrong;
then it is known whether all axes stop, and the second computes what is put out and remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    Scalar,
    absolute,
    equal,
    floor,
    maximum,
    minimum,
    not_equal,
    sign,
    sqrt,
    where,
)
from linkwright.control.axis.arithmetic import Whole
from linkwright.control.axis.codes import COUNTER, FSCALE, TEST_PERIOD, AxisError, AxisMode

if TYPE_CHECKING:
    from linkwright.control.axis.controller import AxisController


class StopLines(Protocol):
    """What holds for all axes: `linkwright.control.axis.controller.Safety`."""

    @property
    def stopped(self) -> Expr:
        """PANIC or a trip."""

    @property
    def powered(self) -> Expr:
        """Currents may flow."""

    @property
    def armed(self) -> Expr:
        """Enabled."""


class AxisLaw:
    """The expressions of one axis.

    Args:
        block: that it is part of.
        k: its number.
        tick: the number of the tick.
    """

    def __init__(self, block: AxisController, k: int, tick: Expr) -> None:
        self.block, self.k = block, k
        self.whole = block.integers
        self.outputs: dict[str, Expr] = {}
        self._updates: list[tuple[Expr, Expr]] = []
        self._reset: list[tuple[Expr, Expr]] = []
        ticks = self.input("clkdivisor")
        self.due = self.keep(block.alone("service") & equal(tick - ticks * floor(tick / ticks), 0))
        self.samples = block.period * ticks
        self.mode = self.input("mode")
        self.last = self.memory("current_before")
        self.was_active = self.memory("active")
        self.dead = self.memory("dead")
        self._measure()
        self._demand()
        self._compensate()
        self._current()
        self._check()

    # -- small words -------------------------------------------------------------------------------
    def input(self, name: str) -> Expr:
        """Return the axis' entry of an input."""
        return self.block.ports[name][self.k]

    def memory(self, name: str, initial: float = 0.0) -> Expr:
        """Return a new discrete state of the axis."""
        return self.block.discrete_state(f"{name}[{self.k}]", initial=initial)

    def keep(self, value: Expr) -> Expr:
        """Return a partial result that is computed once."""
        return self.block.intermediate(value)

    def sampled(self, memory: Expr, value: Scalar) -> None:
        """Let a state change at samples of the axis alone."""
        self.block.update(memory, where(self.due, value, memory))

    def has(self, part: str) -> bool:
        """Whether the controller has a part."""
        return part in self.block.parts

    def is_mode(self, mode: AxisMode) -> Expr:
        """Return whether the axis is in a mode."""
        return equal(self.mode, mode.value)

    # -- what is measured --------------------------------------------------------------------------
    def _measure(self) -> None:
        block = self.block
        raw = self.input("adc")
        encoder = self.input("encoder")
        if self.whole:
            raw = where(block.alone("analog_loop"), self.last, raw)
        self.adcval = self.keep(self.input("adc_a") * raw + self.input("adc_b"))
        presets = self.memory("presets_before")
        block.update(presets, self.input("presets"))
        preset = not_equal(presets, self.input("presets"))
        value = self.input("preset")
        if self.has("home"):
            preset, value = self._home(preset, value)
        if self.whole:
            before, place = self.memory("register"), self.memory("place")
            register = self.keep(where(block.alone("encoder_loop"), before + 1, encoder))
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
        y1, y2, known = self.memory("y1"), self.memory("y2"), self.memory("known")
        first = self.keep(where(known, y1 + moved, self.fb))
        second = self.keep(where(known, y2 + moved, self.fb))
        self.sampled(known, 1)
        block.update(y1, where(self.due, self.fb, y1 + moved))
        block.update(y2, where(self.due, first, y2 + moved))
        slope = block.arithmetic.halved(3 * self.fb - 4 * first + second)
        self.vel = self.keep(slope if self.whole else slope / self.samples)
        self.moved = moved

    def _home(self, preset: Expr, value: Expr) -> tuple[Expr, Expr]:
        """Let the home switch set the position where the axis looks for it."""
        switch, homed = self.input("switch"), self.memory("homed_before")
        homing = self.keep(self.is_mode(AxisMode.HOME))
        self.arrived = self.keep(homing & self.was_active & switch & ~homed)
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
            from_ = self.keep(where(self.was_active, way + self.moved, self.position))
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
        a (sqrt(T^2/4 + 2 d/a) - T/2).
        """
        a, T = self.input("deceleration"), self.samples
        speeds = self.speeds
        at = self.keep(where(speeds, self.position, way))

        def fastest(room: Expr) -> Expr:
            return self.keep(a * (sqrt(T * T / 4 + 2 * maximum(room, 0) / a) - T / 2))

        up = fastest(self.input("highest") - at)
        down = fastest(at - self.input("lowest"))
        step = where(speeds, 1, T)
        base = where(speeds, 0, way)
        limited = base + maximum(-down * step, minimum(up * step, demand - base))
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
        self.u = self.keep(block.arithmetic.divided(block, top, b0))
        exact = block.arithmetic.exact(terms)
        self.compensated = (
            self.keep(exact & block.arithmetic.fits(self.u))
            if self.whole
            else (self.keep(block.arithmetic.fits(self.u)))
        )
        self._shift = (e1, e2, u1, u2)

    def _current(self) -> None:
        i = where(
            self.servoed, self.u, where(self.is_mode(AxisMode.TORQ), self.demand, self._test())
        )
        i = self.keep(i)
        icp, icn = self.input("ic_pos"), self.input("ic_neg")
        reversed_ = where(icp + icn < 0, -1, 1)
        turning = self.keep(where(equal(self.vel, 0), sign(i) * reversed_, self.vel))
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
        phase = self.memory("phase")
        self._phase = phase
        third = TEST_PERIOD // 4
        moved = phase + third
        folded = moved - TEST_PERIOD * (moved >= TEST_PERIOD)
        height = third - absolute(folded - 2 * third)
        wave = self.input("ilim") * height
        return Whole().scaled_down(wave, third) if self.whole else wave / third

    def _notched(self, x: Expr) -> Expr:
        """Return what a filter of second order makes of the current (transposed direct form II)."""
        z1, z2 = self.memory("z1"), self.memory("z2")
        y = self.keep(self.input("n0") * x + z1)
        self._reset.append((z1, self.input("n1") * x - self.input("d1") * y + z2))
        self._reset.append((z2, self.input("n2") * x - self.input("d2") * y))
        return y

    # -- what is wrong -----------------------------------------------------------------------------
    def _check(self) -> None:
        block, fits = self.block, self.block.arithmetic.fits
        good = fits(self.fb) & fits(self.adcval) & fits(self.vel) & fits(self.error)
        good = good & (self.compensated | ~self.servoed) & fits(self.given)
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
        running = self.was_active & not_equal(self.mode, 0)
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
        self.trip = self.keep(not_equal(self.code, 0) & ~self.input("softerr"))
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

    # -- the second pass ---------------------------------------------------------------------------
    def finish(self, safety: StopLines) -> None:
        """Say what is put out and remembered, now that it is known whether all axes stop."""
        block, due = self.block, self.due
        cleared = block.cleared
        dead = self.keep((self.dead & ~cleared) | (self._bad & due))
        block.update(self.dead, dead)
        on = self.keep(not_equal(self.mode, 0))
        active = self.keep(safety.powered & on & ~dead)
        block.update(self.was_active, where(due, active, self.was_active & safety.powered))
        lim, top = self.input("ilim"), block.full_scale
        clipped = maximum(-lim, minimum(lim, self.given))
        i = where(self.input("ilimmax"), self.given, clipped)
        i = maximum(-top, minimum(top, i))
        idle: Expr = ZERO
        if self.whole:
            dac = maximum(-top, minimum(top, self.input("dac")))
            idle = where(safety.powered & ~on, dac, 0)
        computed = self.keep(where(active, i, idle))
        held = self.keep(where(due, computed, self.last))
        current = self.keep(where(safety.powered & ~dead, held, 0))
        block.update(self.last, current)
        shown = current
        if self.whole:
            late = block.alone("double_buffer") & safety.powered & ~dead
            shown = where(late, self.last, current)
            self.outputs["led"] = self.input("leds")
        self.outputs["current"] = shown
        self.outputs["brake"] = ~(safety.armed & on & ~dead)
        self._remember(active)
        self._filter(current)
        self.outputs |= {"fbnow": self.fb, "encnow": self.position, "adcval": self.adcval}

    def _remember(self, active: Expr) -> None:
        """Move the memory of the compensator on."""
        e1, e2, u1, u2 = self._shift
        used = self.keep(active & self.servoed & self.good)
        e = self.keep(where(self.block.arithmetic.fits(self.error), self.error, 0))
        u = self.u
        if not self.whole:  # against windup: what is remembered is what could be given
            u = maximum(-self.input("ilim"), minimum(self.input("ilim"), u))
        self.sampled(e2, where(used, e1, e))
        self.sampled(e1, e)
        self.sampled(u2, where(used, u1, 0))
        self.sampled(u1, where(used, u, 0))
        phase = self._phase
        turned = where(phase >= TEST_PERIOD - 1, 0, phase + 1)
        self.sampled(phase, where(active & self.is_mode(AxisMode.TEST1), turned, 0))
        for memory, value in self._reset:
            self.sampled(memory, where(active & self.good, value, 0))
        speed, error = self.memory("vel_before"), self.memory("error_before")
        for memory, name, value in ((speed, "vel", self.vel), (error, "error", self.error)):
            shown = self.keep(where(self.due, value, memory))
            self.block.update(memory, shown)
            self.outputs[name] = shown

    def _filter(self, current: Expr) -> None:
        """Filter the current; a pole of 0 shows it as it is."""
        pole, before = self.input("ipole"), self.memory("filtered")
        if self.whole:
            top = self.keep(pole * before + (FSCALE - pole) * FSCALE * current)
            found = Whole().scaled_down(top, FSCALE)
        else:
            found = pole * before + (ONE - pole) * current
        found = self.keep(where(self.due, where(pole, found, 0), before))
        self.block.update(before, found)
        self.outputs["inow"] = where(pole, found, current)
