"""One block of runs while its driver is written: its memory, and what all parts of it do."""

from __future__ import annotations

from linkwright.simulation.native.tables import CONFIG, MORE, NOT_FINITE, ROWS, WHOLE, Variant
from linkwright.simulation.native.text import IrWriter, Variable

_INFINITY = float("inf")
_INFINITE = "0x7FF0000000000000"
TOGETHER = 8
"""Values that are copied at once."""


class BlockWriter:
    """Writes on the memory of one block."""

    def __init__(self, variant: Variant) -> None:
        self.w = w = IrWriter(variant.width)
        self.single = variant.width == 1
        self.adaptive = variant.adaptive
        self.dense = variant.dense
        self.implicit = variant.implicit
        self.yes = "true" if self.single else "splat (i1 true)"
        doubles = {"tick_seconds", "end", "step", "smallest", "most", "often"}
        self.config: dict[str, str] = {}
        for name in CONFIG.fields:
            address = w.at("%config", str(CONFIG[name]))
            if name.endswith("_at"):
                place = w.load("i64", address)
                self.config[name] = w.at("%arena", place, "double")
                continue
            pointer = name.endswith(("_fn", "_table")) or name in ("log", "samples")
            kind = "double" if name in doubles else "ptr" if pointer else "i64"
            self.config[name] = w.load(kind, address)
        self.whole = {
            name: Variable(w, w.at("%whole", str(WHOLE[name])), "double" if name == "s" else "i64")
            for name in WHOLE.fields
        }
        self.due = w.at("%whole", str(len(WHOLE)))
        self.left = w.variable("i64", self.config["budget"])
        self.span = w.variable("double", "0.0")
        self.looked = w.variable("i64", "0")
        self.refusals = w.variable("i64", "0")

    # -- small things ------------------------------------------------------------------------------
    def lane(self, name: str, index: str = "0") -> Variable:
        """Return a value of an array in the arena."""
        w = self.w
        return Variable(w, w.at(self.config[name], index, w.value), w.value)

    def leave(self, status: int, detail: str = "0") -> None:
        self.whole["status"].set(str(status))
        self.whole["detail"].set(detail)
        self.w.do("br label %out")
        self.w.lines.append(f"{self.w.fresh('dead')}:")

    def time(self) -> str:
        """Return the time at the start of the gap, s."""
        w = self.w
        start = w.op(f"sitofp i64 {self.whole['start'].get()} to double")
        return w.op(f"fmul double {start}, {self.config['tick_seconds']}")

    def short(self) -> str:
        """Return whether the last tick is not a whole one: the run ends before it."""
        return self.w.op(f"fcmp olt double {self.config['end']}, {_INFINITE}")

    def seconds(self, tick: str) -> str:
        """Return the time of a tick, s; that of the last one is the end of the run."""
        w, end = self.w, self.config["end"]
        number = w.op(f"sitofp i64 {tick} to double")
        t = w.op(f"fmul double {number}, {self.config['tick_seconds']}")
        early = w.op(f"fcmp olt double {t}, {end}")
        return w.op(f"select i1 {early}, double {t}, double {end}")

    def gap(self) -> str:
        """Return the length of the gap, s."""
        w, c, now = self.w, self.config, self.whole
        ticks = w.i("sub", now["target"].get(), now["start"].get())
        span = w.op(f"sitofp i64 {ticks} to double")
        span = w.op(f"fmul double {span}, {c['tick_seconds']}")
        rest = w.op(f"fsub double {c['end']}, {self.time()}")
        whole = w.op(f"fcmp olt double {span}, {rest}")
        return w.op(f"select i1 {whole}, double {span}, double {rest}")

    def kernel(self, function: str, *arrays: str) -> None:
        self.w.do(f"call void {function}({', '.join(f'ptr {a}' for a in arrays)})")

    def states(self) -> tuple[str, str]:
        return self.config["x_at"], self.config["d_at"]

    def lanes(self, mask: str) -> str | None:
        """Return a mask of lanes; None where there is but one, in which what is masked is done."""
        return None if self.single else mask

    def forget(self, mask: str | None) -> None:
        """Let slopes and events be computed anew, in all lanes or in some."""
        w, now = self.w, self.whole
        now["slope_known"].set("0")
        if mask is None:
            now["events_known"].set("0")
            return
        stale = self.lane("stale_at")
        stale.set(w.select(mask, w.number(1.0), stale.get()))
        some = w.i("icmp ne", now["events_known"].get(), "0")
        now["events_known"].set(w.op(f"select i1 {some}, i64 2, i64 0"))

    def alive(self) -> str | None:
        """Return which lanes go on; None where there is but one."""
        if self.single:
            return None
        w = self.w
        return w.f("fcmp oeq", self.lane("stop_at").get(), w.number(_INFINITY))

    def end(self, lanes: str, t: str, why: int | str) -> None:
        """End the runs of some lanes of a batch at a time, for a reason."""
        w = self.w
        reason = why if isinstance(why, str) else w.number(float(why))
        for name, value in (("stop_at", t), ("why_at", reason)):
            place = self.lane(name)
            place.set(w.select(lanes, value, place.get()))

    def copy(self, source: str, target: str, count: str, mask: str | None = None) -> None:
        """Copy values, where there is a mask only in its lanes."""
        w = self.w
        start = "0"
        if mask is None:
            several = f"<{TOGETHER * w.width} x double>"
            with w.count(w.i("sdiv", count, str(TOGETHER))) as i:
                w.store(
                    several, w.load(several, w.at(source, i, several)), w.at(target, i, several)
                )
            start = w.i("sub", count, w.i("srem", count, str(TOGETHER)))
        with w.count(count, start) as i:
            new = w.load(w.value, w.at(source, i, w.value))
            place = w.at(target, i, w.value)
            if mask is not None:
                new = w.select(mask, new, w.load(w.value, place))
            w.store(w.value, new, place)

    def present(self, pointer: str) -> str:
        return self.w.op(f"icmp ne ptr {pointer}, null")

    def record(self, x: str) -> None:
        """Write a row of samples at the time that is set."""
        w, c, now = self.w, self.config, self.whole
        with w.when(w.i("icmp sge", now["row"].get(), c["rows"])):
            self.leave(ROWS)
        row = w.i("mul", now["row"].get(), c["channels"])
        place = w.at("%rows", row, w.value)
        arrays = (x, c["d_at"], c["p_output_at"], c["w_at"], c["t_at"])
        self.kernel(c["output_fn"], *arrays, place)
        now["row"].set(w.i("add", now["row"].get(), "1"))
        following = w.i("add", now["sample"].get(), c["every"])
        late = w.i("icmp sgt", following, c["until"])
        before = w.i("icmp slt", now["sample"].get(), c["until"])
        last = w.op(f"and i1 {w.op(f'and i1 {late}, {before}')}, {self.short()}")
        now["sample"].set(w.op(f"select i1 {last}, i64 {c['until']}, i64 {following}"))

    def counted(self) -> None:
        w, now = self.w, self.whole
        now["steps"].set(w.i("add", now["steps"].get(), "1"))
        self.left.set(w.i("sub", self.left.get(), "1"))
        self.refusals.set("0")

    def interrupt(self) -> None:
        w = self.w
        with w.when(w.i("icmp sle", self.left.get(), "0")):
            self.leave(MORE)

    def step(self) -> None:
        """Call the step from x at t with h, to y."""
        c = self.config
        arrays = [*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at", "h_at"))]
        if self.adaptive:
            arrays += [c[n] for n in ("f_at", "c_at", "b_at")]
            arrays += [c[n] for n in ("y_at", "y_f_at", "e_at", "r_at")]
        else:
            arrays.append(c["y_at"])
        self.kernel(c["step_fn"], *arrays)

    def sound(self) -> str:
        """Return in which lanes all of y is finite."""
        w, c = self.w, self.config
        sum_ = w.variable(w.value, w.number(0.0))
        with w.count(c["states"]) as i:
            value = w.load(w.value, w.at(c["y_at"], i, w.value))
            sum_.set(w.call("fma", value, w.number(0.0), sum_.get()))
        return w.f("fcmp oeq", sum_.get(), w.number(0.0))

    def finite(self, active: str) -> str:
        """Stop lanes that take a step to a state that is not finite; return which go on."""
        w = self.w
        sound = self.sound()
        if self.single:
            rest = w.fresh("sound")
            w.do(f"br i1 {sound}, label %{rest}, label %broken{rest}")
            w.lines.append(f"broken{rest}:")
            self.leave(NOT_FINITE)
            w.do(f"br label %{rest}")
            w.lines.append(f"{rest}:")
            return active
        broken = w.op(f"xor {w.truth} {sound}, splat (i1 true)")
        self.end(w.both(active, broken), self.lane("t_at").get(), NOT_FINITE)
        return w.both(active, sound)

    def accept(self, mask: str | None) -> None:
        """Run what runs after each accepted step, at the time that is set."""
        w, c = self.w, self.config
        with w.when(self.present(c["accepted_fn"])):
            arrays = (*self.states(), *(c[n] for n in ("p_accepted_at", "w_at", "t_at")))
            self.kernel(c["accepted_fn"], *arrays, c["y_at"], c["o_at"])
            self.copy(c["y_at"], c["x_at"], c["states"], mask)
            self.copy(c["o_at"], c["d_at"], c["discretes"], mask)
            self.forget(mask)
