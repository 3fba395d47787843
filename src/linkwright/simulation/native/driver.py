"""The loop of a run, as native code: ticks, samples, steps, events.

One function drives one *block* of W runs (W = 1 for a single run) from where it stands to the end
tick, and comes back earlier when Python has something to do: a foreign function is due, the room
for samples is used up, enough steps were done. All that changes lies in memory that belongs to the
block, so that calling the function again goes on as if it had never come back.

Memory of a block:

- `whole`: integers, the fields `WHOLE`, then for each tick entry the base tick when it is due next;
- `arena`: values of W lanes, at the places that the fields `*_at` of the configuration name;
- samples: a row of W values for each channel, and the log of events of a single run.

The configuration (`CONFIG`) is shared by all blocks: sizes, addresses of the compiled Programs, the
tables of ticks and events. Time is `start` base ticks plus `s` seconds inside the gap between two
things that are due; gaps end at whole ticks, so that no error adds up. Only the end of a run may
lie between two ticks: its last tick is then cut short, and nothing but a sample is due there.

Fixed steps divide a gap evenly. Adaptive steps have their own size in each lane; a lane that has
reached the end of the gap waits with a step of zero. In each lane events are followed over the
whole step, which is tried again in parts until it ends at the first crossing
(`linkwright.simulation.native.guards`); values that jump through zero at a tick or by an action
are events too. In a single run samples inside a step are interpolated; in a batch gaps end at
samples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from linkwright.simulation.native.adaptive import StepWriter
from linkwright.simulation.native.block import TOGETHER
from linkwright.simulation.native.noise import write_uniform
from linkwright.simulation.native.tables import (
    CONFIG,
    CONSTANTS,
    DONE,
    FOREIGN,
    FUNCTION,
    HOLD,
    MORE,
    PREPARE,
    RUN,
    STAGE,
    STAGED,
    TICK,
    Variant,
)
from linkwright.simulation.native.text import RARELY, IrWriter, Variable

Entry = Callable[..., str]
_HOLD = f"""
define i64 @{HOLD}(ptr %context, ptr %t, ptr %o) nounwind {{
entry:
  ret i64 0
}}
"""


def _staged() -> str:
    """Return the function that takes results which were put beside a run."""
    w = IrWriter(1)
    source, target, count = (
        w.load(kind, w.at("%context", str(STAGE[name])))
        for name, kind in (("source", "ptr"), ("target", "i64"), ("count", "i64"))
    )
    with w.count(count) as i:
        value = w.load("double", w.at(source, i, "double"))
        w.store("double", value, w.at("%o", w.i("add", target, i), "double"))
    return w.function(f"i64 @{STAGED}(ptr %context, ptr %t, ptr %o)", "ret i64 0")


@lru_cache(maxsize=8)
def driver_ir(variant: Variant) -> str:
    """Return the text of the driver.

    >>> "define void @run_blocks" in driver_ir(Variant(1, False))
    True
    """
    text = DriverWriter(variant).text() + _blocks(variant.width) + _prepare(variant.width)
    return text + _HOLD + _staged() + RARELY


def _prepare(width: int) -> str:
    """Return the function that computes, for several blocks, what depends on parameters alone."""
    w = IrWriter(width)

    def config(name: str, kind: str = "i64") -> str:
        return w.load(kind, w.at("%config", str(CONFIG[name])))

    end = w.i("add", "%first", "%count")
    table, entries, size = config("constants", "ptr"), config("constant_count"), config("p_size")
    with w.count(end, "%first") as b:
        arena = w.at(config("arena", "ptr"), w.i("mul", b, config("arena_stride")))
        given = w.at(arena, config("p_at"), "double")
        with w.count(entries) as i:
            row = w.at(table, w.i("mul", i, str(len(CONSTANTS))))
            place = w.at(arena, w.load("i64", w.at(row, str(CONSTANTS["at"]))), "double")
            function = w.load("ptr", w.at(row, str(CONSTANTS["fn"])))
            none = w.op(f"icmp eq ptr {function}, null")
            with w.when(none), w.count(size) as j:
                value = w.load(w.value, w.at(given, j, w.value))
                w.store(w.value, value, w.at(place, j, w.value))
            with w.when(w.op(f"xor i1 {none}, true")):
                w.do(f"call void {function}(ptr {given}, ptr {place})")
    return w.function(f"void @{PREPARE}(ptr %config, i64 %first, i64 %count)", "ret void")


def _blocks(width: int) -> str:
    """Return the function that drives several blocks one after the other."""
    w = IrWriter(width)

    def config(name: str, kind: str = "i64") -> str:
        return w.load(kind, w.at("%config", str(CONFIG[name])))

    end = w.i("add", "%first", "%count")
    with w.count(end, "%first") as b:
        arena = w.at(config("arena", "ptr"), w.i("mul", b, config("arena_stride")))
        whole = w.at(config("whole", "ptr"), w.i("mul", b, config("whole_stride")))
        samples = w.at(config("samples", "ptr"), w.i("mul", b, config("samples_stride")))
        w.do(f"call void @run(ptr %config, ptr {arena}, ptr {whole}, ptr {samples})")
    return w.function(f"void @{RUN}(ptr %config, i64 %first, i64 %count)", "ret void")


class DriverWriter(StepWriter):
    """Writes the function that drives one block."""

    def text(self) -> str:
        w, c, now = self.w, self.config, self.whole
        now["status"].set("0")
        w.label("top")
        over = w.i("icmp sge", now["k"].get(), c["until"])
        over = w.op(f"and i1 {over}, {self.short()}")
        with w.when(w.op(f"xor i1 {over}, true")):
            self.ticks()
        with w.when(w.i("icmp eq", now["in_gap"].get(), "0")):
            now["start"].set(now["k"].get())
            now["s"].set("0.0")
            self.lane("s_at").set(w.number(0.0))
            self.lane("t_at").set(w.splat(self.seconds(now["k"].get())))
            self.known_events()
        self.sample()
        with w.when(w.i("icmp sge", now["k"].get(), c["until"])):
            self.leave(DONE)
        with w.when(w.i("icmp sle", self.left.get(), "0")):
            self.leave(MORE)
        with w.when(w.i("icmp eq", now["in_gap"].get(), "0")):
            self.open_gap()
        self.span.set(self.gap())
        self.steps()
        now["k"].set(now["target"].get())
        now["in_gap"].set("0")
        now["cursor"].set("0")
        w.jump("top")
        w.do("br label %out")
        w.lines.append("out:")
        head = "internal void @run(ptr %config, ptr %arena, ptr %whole, ptr %rows)"
        return w.function(head, "ret void")

    # -- what happens at ticks ---------------------------------------------------------------------
    def ticks(self) -> None:
        """Run what is due at tick k, in order."""
        w, c, now = self.w, self.config, self.whole
        with w.during(lambda: w.i("icmp slt", now["cursor"].get(), c["ticks"])):
            cursor = now["cursor"].get()
            due = Variable(w, w.at(self.due, cursor), "i64")
            with w.when(w.i("icmp eq", due.get(), now["k"].get())):
                row = w.at(c["tick_table"], w.i("mul", cursor, str(len(TICK))))
                self.tick(row, cursor, due)
            now["cursor"].set(w.i("add", cursor, "1"))

    def tick(self, row: str, cursor: str, due: Variable) -> None:
        w, c, now = self.w, self.config, self.whole

        def entry(name: str, kind: str = "i64") -> str:
            return w.load(kind, w.at(row, str(TICK[name])))

        k = now["k"].get()
        tick = w.op(f"sitofp i64 {k} to double")
        self.lane("k_at").set(w.splat(tick))
        self.lane("t_at").set(w.splat(w.op(f"fmul double {tick}, {c['tick_seconds']}")))
        self.noise(entry("streams"), entry("stream_list", "ptr"), k)
        parameters = w.at("%arena", entry("p_at"), "double")
        arrays = (*self.states(), parameters, *(c[n] for n in ("w_at", "t_at", "k_at", "n_at")))
        self.kernel(entry("fn", "ptr"), *arrays, c["o_at"])
        with w.when(w.i("icmp ne", entry("foreign"), "0")):
            if self.single:
                self.call_function(entry, cursor)
            else:
                self.leave(FOREIGN, cursor)
        runs, alive = entry("run_list", "ptr"), self.alive()
        with w.count(entry("runs")) as i:
            run = w.at(runs, w.i("mul", i, "3"))
            first, slot, length = (w.load("i64", w.at(run, str(j))) for j in range(3))
            self.copy(
                w.at(c["o_at"], first, w.value), w.at(c["d_at"], slot, w.value), length, alive
            )
        due.set(w.i("add", due.get(), entry("every")))
        self.forget(None)

    def call_function(self, entry: Entry, cursor: str) -> None:
        """Call the function of a tick, with what it gives in place of what is held.

        Where there is none, where it fails, and where what a slot's function gives is not finite,
        the tick is left to Python.
        """
        w, o = self.w, self.config["o_at"]
        choice, arguments, results = (entry(n) for n in ("choice", "arguments", "results"))
        number = w.variable("i64", "0")
        slot = w.i("icmp sge", choice, "0")
        with w.when(slot):
            wanted = w.load("double", w.at(o, choice, "double"))
            number.set(w.op(f"call i64 @llvm.fptosi.sat.i64.f64(double {wanted})"))
            again = w.op(f"sitofp i64 {number.get()} to double")
            with w.when(w.op(f"fcmp une double {again}, {wanted}")):
                self.leave(FOREIGN, cursor)
        with w.when(w.i("icmp uge", number.get(), entry("function_count"))):
            self.leave(FOREIGN, cursor)
        chosen = w.at(entry("functions", "ptr"), w.i("mul", number.get(), str(len(FUNCTION))))
        function = w.load("ptr", w.at(chosen, str(FUNCTION["fn"])))
        with w.when(w.op(f"icmp eq ptr {function}, null")):
            self.leave(FOREIGN, cursor)
        context = w.load("ptr", w.at(chosen, str(FUNCTION["context"])))
        given = w.at(o, arguments, "double")
        with w.when(slot):
            self.copy(w.at(o, w.i("sub", arguments, results), "double"), given, results)
        called = f"call i64 {function}(ptr {context}, ptr {self.config['t_at']}, ptr {o})"
        with w.when(w.i("icmp ne", w.op(called), "0")):
            self.leave(FOREIGN, cursor)
        with w.when(slot), w.when(self.any_not_finite(given, results)):
            self.leave(FOREIGN, cursor)

    def any_not_finite(self, values: str, count: str) -> str:
        """Return whether one of some values is no finite number: x - x is 0 for all others."""
        w = self.w
        several = f"<{TOGETHER} x double>"
        sums = w.variable(several, "zeroinitializer")
        with w.count(w.i("sdiv", count, str(TOGETHER))) as i:
            some = w.load(several, w.at(values, i, several))
            none = w.op(f"fsub {several} {some}, {some}")
            sums.set(w.op(f"fadd {several} {sums.get()}, {none}"))
        total = w.variable("double", "0.0")
        start = w.i("sub", count, w.i("srem", count, str(TOGETHER)))
        with w.count(count, start) as i:
            one = w.load("double", w.at(values, i, "double"))
            none = w.op(f"fsub double {one}, {one}")
            total.set(w.op(f"fadd double {total.get()}, {none}"))
        for lane in range(TOGETHER):
            part = w.op(f"extractelement {several} {sums.get()}, i32 {lane}")
            total.set(w.op(f"fadd double {total.get()}, {part}"))
        return w.op(f"fcmp une double {total.get()}, 0.0")

    def noise(self, streams: str, numbers: str, k: str) -> None:
        """Fill the array of uniform numbers."""
        w, c = self.w, self.config
        with w.count(streams) as i:
            stream = w.load("i64", w.at(numbers, i))
            seed = w.load(w.integer, c["seed_at"])
            run = w.load(w.integer, c["run_at"])
            wide = [x if self.single else self.wide(x) for x in (stream, k)]
            pair = write_uniform(w, seed, wide[0], run, wide[1])
            for offset, value in enumerate(pair):
                place = w.i("add", w.i("mul", i, "2"), str(offset))
                self.lane("n_at", place).set(value)

    def wide(self, x: str) -> str:
        w = self.w
        one = w.op(f"insertelement {w.integer} poison, i64 {x}, i32 0")
        mask = f"<{w.width} x i32> zeroinitializer"
        return w.op(f"shufflevector {w.integer} {one}, {w.integer} poison, {mask}")

    def sample(self) -> None:
        """Record a sample that is due at tick k."""
        w, c, now = self.w, self.config, self.whole
        wanted = w.i("icmp ne", c["every"], "0")
        with (
            w.when(wanted),
            w.when(w.i("icmp eq", now["sample"].get(), now["k"].get())),
        ):
            self.lane("t_at").set(w.splat(self.seconds(now["k"].get())))
            self.record(c["x_at"])

    def open_gap(self) -> None:
        """Find what is due next, and divide the way there into steps."""
        w, c, now = self.w, self.config, self.whole
        target = w.variable("i64", c["until"])
        with w.count(c["ticks"]) as i:
            target.set(w.minimum(target.get(), w.load("i64", w.at(self.due, i))))
        if not self.dense:
            with w.when(w.i("icmp ne", c["every"], "0")):
                target.set(w.minimum(target.get(), now["sample"].get()))
        now["target"].set(target.get())
        now["in_gap"].set("1")
        now["j"].set("0")
        if self.adaptive:
            return
        parts = w.op(f"fdiv double {self.gap()}, {c['step']}")
        parts = w.op(f"fsub double {parts}, 1.0e-9")
        parts = w.op(f"call double @llvm.ceil.f64(double {parts})")
        count = w.op(f"fptosi double {parts} to i64")
        some = w.i("icmp sgt", count, "1")
        now["grid"].set(w.op(f"select i1 {some}, i64 {count}, i64 1"))
