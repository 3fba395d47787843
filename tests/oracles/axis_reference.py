"""The axis controller in plain Python integers, written from the report and nothing else.

It knows no expressions and no floats. What it is held to is said in
`linkwright.control.axis.controller`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WORD = 2**31 - 1
FULL = 2047
FSCALE = 1024
OFF, POS, VEL, TORQ, TEST1 = range(5)
PLO, PHI, ILIM, PANIC, RANGE = 0x300, 0x500, 0x800, 0x1000, 0x2000


def quotient(a: int, b: int) -> int:
    """Divide as C does."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def clip(x: int, most: int) -> int:
    """Keep a number between two bounds."""
    return max(-most, min(most, x))


@dataclass
class Axis:
    """What one axis remembers, and what it shows."""

    register: int = 0
    place: int = 0
    presets: int = 0
    samples: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=lambda: [0, 0])
    outputs: list[int] = field(default_factory=lambda: [0, 0])
    over: int = 0
    low: bool = False
    high: bool = False
    dead: bool = False
    filtered: int = 0
    out: int = 0
    vel: int = 0
    error: int = 0
    code: int = 0
    count: int = 0


class Reference:
    """A controller of some axes.

    Args:
        count: of axes.
    """

    def __init__(self, count: int) -> None:
        self.axes = [Axis() for _ in range(count)]
        self.tick = 0
        self.panic = self.trip = self.armed = self.ready = self.enabled = self.cleared = False
        self.silence = 0
        self.last_error = self.total = 0

    def step(self, inputs: dict[str, list[int]], period_us: int) -> dict[str, list[int]]:
        """Go through one tick; inputs and outputs by port."""
        alone = {key: values[0] for key, values in inputs.items()}
        clear = bool(alone["clear"]) and not self.cleared
        rise = bool(alone["enable"]) and not self.enabled
        self.cleared, self.enabled = bool(alone["clear"]), bool(alone["enable"])
        rows = [self._look(k, inputs, alone, self.armed) for k in range(len(self.axes))]
        self.silence = 0 if alone["service"] else self.silence + 1
        beat = alone["heartbeat"]
        late = beat > 0 and (self.silence + 1) * period_us > beat * 1_000_000
        line = late or any(inputs["fault"]) or bool(alone["button"] or alone["panic_line"])
        line = line or not alone["connected"]
        panic = line or (self.panic and not clear)
        hard = any(r["code"] and not inputs["softerr"][k] for k, r in enumerate(rows))
        trip = self.trip and not clear
        new_panic, self.panic = panic and not self.panic, panic
        enabled = bool(alone["enable"]) and (rise or self.armed)
        self.ready = not self.panic and not trip and enabled  # before axes trip in this tick
        self.trip = hard or trip
        self.armed = self.ready and not hard
        for k in reversed(range(len(rows))):
            if rows[k]["code"]:
                self.last_error = rows[k]["code"] + k
                self.total += 1
        if new_panic:
            self.last_error = PANIC
            self.total += 1
        for k, row in enumerate(rows):
            self._drive(k, row, inputs, alone, clear)
        self.tick += bool(self.tick or alone["service"])
        shown = {
            key: [row[key] for row in rows]
            for key in ("current", "inow", "error", "fbnow", "vel", "encnow", "adcval", "brake")
        }
        shown["code"] = [a.code for a in self.axes]
        shown["count"] = [a.count for a in self.axes]
        shown["panic"], shown["tripped"] = [int(self.panic)], [int(self.trip)]
        shown["enabled"] = [int(self.armed)]
        shown["last_error"], shown["errors"] = [self.last_error], [self.total]
        return shown

    def _look(
        self, k: int, inputs: dict[str, list[int]], alone: dict[str, int], was_armed: bool
    ) -> dict[str, int]:
        axis, p = self.axes[k], {key: v[k] for key, v in inputs.items() if len(v) > k}
        raw = axis.out if alone["analog_loop"] else p["adc"]
        adcval = p["adc_a"] * raw + p["adc_b"]
        register = axis.register + 1 if alone["encoder_loop"] else p["encoder"]
        place = axis.place + (register - axis.register + 32768) % 65536 - 32768
        axis.register = register
        moved = 0
        if p["presets"] != axis.presets:
            moved = p["preset"] - place
            place += moved
        axis.presets, axis.place = p["presets"], place
        fb = adcval if p["adfb"] else place
        if not p["adfb"]:
            axis.samples = [y + moved for y in axis.samples]
        due = bool(alone["service"]) and self.tick % p["clkdivisor"] == 0
        row = {"fbnow": fb, "encnow": place, "adcval": adcval, "due": int(due), "code": 0}
        if not due:
            return row
        y1, y2 = axis.samples or [fb, fb]
        vel = quotient(3 * fb - 4 * y1 + y2, 2)
        axis.samples = [fb, y1]
        mode = p["mode"]
        demand = adcval if p["addmd"] else p["demand"]
        e = demand - (0 if p["zerofb"] else vel if mode == VEL else fb)
        terms = [p["a0"] * e, p["a1"] * axis.errors[0], p["a2"] * axis.errors[1]]
        terms += [-p["b1"] * axis.outputs[0], -p["b2"] * axis.outputs[1]]
        u = quotient(sum(terms), p["b0"])
        good = all(abs(x) <= WORD for x in (fb, adcval, vel, e))
        wave = 64 - abs((self.tick // p["clkdivisor"] + 64) % 256 - 128)
        if mode in (POS, VEL):
            i = u
            good = good and abs(u) <= WORD and sum(map(abs, terms)) < 2**53
        else:
            i = demand if mode == TORQ else quotient(p["ilim"] * wave, 64)
        way = vel
        if vel == 0 and i:
            way = (1 if i > 0 else -1) * (-1 if p["ic_pos"] + p["ic_neg"] < 0 else 1)
        if p["coulcomp"]:
            i += p["ic_pos"] if way > 0 else -p["ic_neg"] if way < 0 else 0
        i += adcval if p["adoff"] else p["offset"]
        good = good and abs(i) <= WORD
        low = bool(p["poschk"]) and fb < p["plo"]
        high = bool(p["poschk"]) and fb > p["phi"]
        over = axis.over + 1 if abs(i) > p["ilim"] else 0
        long = p["ilimmax"] != 0 and over == p["ilimmax"] + 1 and was_armed and mode != OFF
        if not good and not axis.dead:
            row["code"] = RANGE
        elif long:
            row["code"] = ILIM
        elif low and not axis.low:
            row["code"] = PLO
        elif high and not axis.high:
            row["code"] = PHI
        if row["code"]:
            axis.code = row["code"]
            axis.count += 1
        axis.low, axis.high = low, high
        axis.vel = vel
        return row | {"e": e, "u": u, "i": i, "good": int(good), "over": over}

    def _drive(
        self,
        k: int,
        row: dict[str, int],
        inputs: dict[str, list[int]],
        alone: dict[str, int],
        clear: bool,
    ) -> None:
        axis, p = self.axes[k], {key: v[k] for key, v in inputs.items() if len(v) > k}
        axis.dead = (axis.dead and not clear) or row["code"] == RANGE
        before = axis.out
        mode = p["mode"]
        active = self.ready and mode != OFF and not axis.dead
        if not active:
            axis.out = clip(p["dac"], FULL) if self.ready and mode == OFF else 0
        elif row["due"]:
            i = row["i"] if p["ilimmax"] else clip(row["i"], p["ilim"])
            axis.out = clip(i, FULL)
        if row["due"]:
            used = active and mode in (POS, VEL) and row["good"]
            e = row["e"] if row["good"] else 0
            axis.error = e
            axis.errors = [e, axis.errors[0] if used else e]
            axis.outputs = [row["u"], axis.outputs[0]] if used else [0, 0]
            axis.over = row["over"] if active and row["good"] else 0
        if row["due"]:
            pole = p["ipole"]
            top = pole * axis.filtered + (FSCALE - pole) * FSCALE * axis.out
            axis.filtered = quotient(top, FSCALE)
        if not self.armed:
            axis.out = 0
        late = alone["double_buffer"] and self.armed and not axis.dead
        row["current"] = before if late else axis.out
        row["inow"] = axis.filtered if p["ipole"] else axis.out
        row["brake"] = int(not (self.armed and mode != OFF and not axis.dead))
        row["error"], row["vel"] = axis.error, axis.vel
