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
things that are due; gaps end at whole ticks, so that no error adds up.

Fixed steps divide a gap evenly. Adaptive steps have their own size in each lane; a lane that has
reached the end of the gap waits with a step of zero. In a single run a step is repeated in parts
until the first crossing of an event is bracketed, and samples inside a step are interpolated; in
a batch events count where the step ends, and gaps end at samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from linkwright.simulation.native.noise import write_uniform
from linkwright.simulation.native.text import Variable, Writer, fields

CONSTANTS = fields("fn", "at")
CONFIG = fields(
    ["states", "discretes", "channels", "events", "ticks", "until", "every", "rows", "log_rows"],
    ["budget", "tick_seconds", "step", "smallest"],
    ["step_fn", "slope_fn", "first_fn", "accepted_fn", "output_fn", "events_fn", "dense_fn"],
    ["tick_table", "event_table", "arena", "arena_stride", "whole", "whole_stride"],
    ["samples", "samples_stride", "log"],
    ["x_at", "d_at", "w_at", "t_at", "h_at", "k_at", "n_at", "o_at", "y_at", "z_at"],
    ["f_at", "y_f_at", "e_at", "r_at", "c_at", "b_at", "g_at", "g_new_at", "theta_at"],
    ["s_at", "proposed_at", "stop_at", "seed_at", "run_at", "count_at", "first_at"],
    ["p_step_at", "p_accepted_at", "p_output_at", "p_events_at", "p_at"],
    ["constants", "constant_count", "p_size"],
)
WHOLE = fields(
    ["k", "start", "target", "in_gap", "j", "grid", "cut", "s", "cursor", "sample", "row"],
    ["status", "detail", "steps", "rejected", "slope_known", "events_known", "logged"],
)
TICK = fields("fn", "every", "slots", "slot_list", "streams", "stream_list", "foreign", "p_at")
EVENT = fields("direction", "terminal", "action_fn", "p_at", "guard")
LOG = fields("event", "start", "s")

DONE, MORE, ROWS, FOREIGN, NOT_FINITE, TERMINAL, LOGGED, TOO_SMALL, GUARDED = range(1, 10)
RUN = "run_blocks"
PREPARE = "prepare_blocks"
_BISECTIONS = 50
_INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Variant:
    """Which driver is written.

    Args:
        width: lanes.
        adaptive: whether steps are as long as the error allows.
        dense: whether samples inside a step are interpolated, in a single run.
    """

    width: int
    adaptive: bool
    dense: bool = False


@lru_cache(maxsize=8)
def driver_ir(variant: Variant) -> str:
    """Return the text of the driver.

    >>> "define void @run_blocks" in driver_ir(Variant(1, False))
    True
    """
    return _Driver(variant).text() + _blocks(variant.width) + _prepare(variant.width)


def _prepare(width: int) -> str:
    """Return the function that computes, for several blocks, what depends on parameters alone."""
    w = Writer(width)

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
    w = Writer(width)

    def config(name: str, kind: str = "i64") -> str:
        return w.load(kind, w.at("%config", str(CONFIG[name])))

    end = w.i("add", "%first", "%count")
    with w.count(end, "%first") as b:
        arena = w.at(config("arena", "ptr"), w.i("mul", b, config("arena_stride")))
        whole = w.at(config("whole", "ptr"), w.i("mul", b, config("whole_stride")))
        samples = w.at(config("samples", "ptr"), w.i("mul", b, config("samples_stride")))
        w.do(f"call void @run(ptr %config, ptr {arena}, ptr {whole}, ptr {samples})")
    return w.function(f"void @{RUN}(ptr %config, i64 %first, i64 %count)", "ret void")


class _Driver:
    """Writes the function that drives one block."""

    def __init__(self, variant: Variant) -> None:
        self.w = w = Writer(variant.width)
        self.single = variant.width == 1
        self.adaptive = variant.adaptive
        self.dense = variant.dense
        doubles = {"tick_seconds", "step", "smallest"}
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
        self.ended = w.variable("i64", "0")

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

    def kernel(self, function: str, *arrays: str) -> None:
        self.w.do(f"call void {function}({', '.join(f'ptr {a}' for a in arrays)})")

    def states(self) -> tuple[str, str]:
        return self.config["x_at"], self.config["d_at"]

    def alive(self) -> str | None:
        """Return which lanes go on; None where there is but one."""
        if self.single:
            return None
        w = self.w
        return w.f("fcmp oeq", self.lane("stop_at").get(), w.number(_INFINITY))

    def copy(self, source: str, target: str, count: str, mask: str | None = None) -> None:
        """Copy values, where there is a mask only in its lanes."""
        w = self.w
        with w.count(count) as i:
            new = w.load(w.value, w.at(source, i, w.value))
            place = w.at(target, i, w.value)
            if mask is not None:
                new = w.select(mask, new, w.load(w.value, place))
            w.store(w.value, new, place)

    def present(self, pointer: str) -> str:
        return self.w.op(f"icmp ne ptr {pointer}, null")

    # -- the whole function ------------------------------------------------------------------------
    def text(self) -> str:
        w, c, now = self.w, self.config, self.whole
        now["status"].set("0")
        w.label("top")
        self.ticks()
        self.sample()
        with w.when(w.i("icmp sge", now["k"].get(), c["until"])):
            self.leave(DONE)
        with w.when(w.i("icmp sle", self.left.get(), "0")):
            self.leave(MORE)
        with w.when(w.i("icmp eq", now["in_gap"].get(), "0")):
            self.open_gap()
        length = w.i("sub", now["target"].get(), now["start"].get())
        length = w.op(f"sitofp i64 {length} to double")
        self.span.set(w.op(f"fmul double {length}, {c['tick_seconds']}"))
        if self.adaptive:
            self.adaptive_steps()
        else:
            self.fixed_steps()
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
            self.leave(FOREIGN, cursor)
        slots, alive = entry("slot_list", "ptr"), self.alive()
        with w.count(entry("slots")) as i:
            slot = w.load("i64", w.at(slots, i))
            self.copy(w.at(c["o_at"], i, w.value), w.at(c["d_at"], slot, w.value), "1", alive)
        due.set(w.i("add", due.get(), entry("every")))
        now["slope_known"].set("0")
        now["events_known"].set("0")

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
            tick = w.op(f"sitofp i64 {now['k'].get()} to double")
            self.lane("t_at").set(w.splat(w.op(f"fmul double {tick}, {c['tick_seconds']}")))
            self.record(c["x_at"])

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
        now["sample"].set(w.i("add", now["sample"].get(), c["every"]))

    def open_gap(self) -> None:
        """Find what is due next, and divide the way there into steps."""
        w, c, now = self.w, self.config, self.whole
        target = w.variable("i64", c["until"])
        with w.count(c["ticks"]) as i:
            target.set(w.minimum(target.get(), w.load("i64", w.at(self.due, i))))
        if not self.dense:
            with w.when(w.i("icmp ne", c["every"], "0")):
                target.set(w.minimum(target.get(), now["sample"].get()))
        now["start"].set(now["k"].get())
        now["target"].set(target.get())
        now["in_gap"].set("1")
        now["j"].set("0")
        now["cut"].set("0")
        now["s"].set("0.0")
        if self.adaptive:
            self.lane("s_at").set(w.number(0.0))
            return
        length = w.op(f"sitofp i64 {w.i('sub', target.get(), now['k'].get())} to double")
        span = w.op(f"fmul double {length}, {c['tick_seconds']}")
        parts = w.op(f"fdiv double {span}, {c['step']}")
        parts = w.op(f"fsub double {parts}, 1.0e-9")
        parts = w.op(f"call double @llvm.ceil.f64(double {parts})")
        count = w.op(f"fptosi double {parts} to i64")
        some = w.i("icmp sgt", count, "1")
        now["grid"].set(w.op(f"select i1 {some}, i64 {count}, i64 1"))

    # -- steps -------------------------------------------------------------------------------------
    def fixed_steps(self) -> None:
        """Go through the gap in equal steps."""
        w, c, now = self.w, self.config, self.whole
        span = self.span.get()
        grid = w.op(f"sitofp i64 {now['grid'].get()} to double")
        size = w.op(f"fdiv double {span}, {grid}")
        begin = self.time()
        with w.during(lambda: w.i("icmp slt", now["j"].get(), now["grid"].get())):
            following = w.op(f"sitofp i64 {w.i('add', now['j'].get(), '1')} to double")
            part = w.op(f"fdiv double {following}, {grid}")
            end = w.op(f"fmul double {part}, {span}")
            s = now["s"].get()
            rest = w.op(f"fsub double {end}, {s}")
            whole = w.i("icmp eq", now["cut"].get(), "0")
            h = w.variable("double", w.op(f"select i1 {whole}, double {size}, double {rest}"))
            t = w.op(f"fadd double {begin}, {s}")
            self.lane("t_at").set(w.splat(t))
            self.known_events()
            self.lane("h_at").set(w.splat(h.get()))
            self.step()
            alive = self.finite()
            reached = w.op(f"fadd double {t}, {h.get()}")
            self.lane("t_at").set(w.splat(reached))
            self.look(w.splat(t), h)
            self.copy(c["y_at"], c["x_at"], c["states"], alive)
            self.accept(alive)
            short = w.i("icmp ne", now["cut"].get(), "0")
            s_cut = w.op(f"fadd double {s}, {h.get()}")
            now["s"].set(w.op(f"select i1 {short}, double {s_cut}, double {end}"))
            one = w.op(f"select i1 {short}, i64 0, i64 1")
            now["j"].set(w.i("add", now["j"].get(), one))
            self.counted()
            self.happen(alive)
            self.interrupt()

    def counted(self) -> None:
        w, now = self.w, self.whole
        now["steps"].set(w.i("add", now["steps"].get(), "1"))
        self.left.set(w.i("sub", self.left.get(), "1"))

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

    def finite(self) -> str | None:
        """Stop lanes whose new state is not finite; return which go on."""
        w = self.w
        sound = self.sound()
        if self.single:
            rest = w.fresh("sound")
            w.do(f"br i1 {sound}, label %{rest}, label %broken{rest}")
            w.lines.append(f"broken{rest}:")
            self.leave(NOT_FINITE)
            w.do(f"br label %{rest}")
            w.lines.append(f"{rest}:")
            return None
        alive = self.alive()
        assert alive is not None
        broken = w.op(f"xor {w.truth} {sound}, splat (i1 true)")
        broken = w.both(alive, broken)
        stop = self.lane("stop_at")
        stop.set(w.select(broken, self.lane("t_at").get(), stop.get()))
        return w.both(alive, sound)

    def accept(self, mask: str | None) -> None:
        """Run what runs after each accepted step, at the time that is set."""
        w, c, now = self.w, self.config, self.whole
        with w.when(self.present(c["accepted_fn"])):
            arrays = (*self.states(), *(c[n] for n in ("p_accepted_at", "w_at", "t_at")))
            self.kernel(c["accepted_fn"], *arrays, c["y_at"], c["o_at"])
            self.copy(c["y_at"], c["x_at"], c["states"], mask)
            self.copy(c["o_at"], c["d_at"], c["discretes"], mask)
            now["slope_known"].set("0")
            now["events_known"].set("0")

    # -- adaptive steps ----------------------------------------------------------------------------
    def adaptive_steps(self) -> None:
        """Go through the gap in steps that are as long as the error allows."""
        w, c, now = self.w, self.config, self.whole
        span = w.splat(self.span.get())
        begin = w.splat(self.time())
        w.label("steps")
        s = self.lane("s_at").get()
        active = w.f("fcmp olt", s, span)
        alive = self.alive()
        if alive is not None:
            active = w.both(active, alive)
        w.do(f"br i1 {w.some(active)}, label %try, label %gone")
        w.lines.append("try:")
        proposed = self.lane("proposed_at")
        t = w.f("fadd", begin, s)
        self.lane("t_at").set(t)
        self.known_slope()
        fresh = w.f("fcmp oeq", proposed.get(), w.number(0.0))
        with w.when(w.some(fresh)):
            arrays = (*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at", "c_at")))
            self.kernel(c["first_fn"], *arrays, c["h_at"])
            proposed.set(w.select(fresh, self.lane("h_at").get(), proposed.get()))
        self.known_events()
        rest = w.f("fsub", span, s)
        last = w.f("fcmp oge", w.f("fmul", proposed.get(), w.number(1.01)), rest)
        h = w.select(last, rest, proposed.get())
        h = w.select(active, h, w.number(0.0))
        self.lane("h_at").set(h)
        self.step()
        error, grow, shrink = (self.lane("e_at", str(i)).get() for i in range(3))
        good = w.f("fcmp ole", error, w.number(1.0))
        taken = w.both(good, active)
        smaller = w.f("fcmp olt", shrink, w.number(1.0))
        smaller = w.select(smaller, shrink, w.number(0.1))
        shorter = w.f("fmul", h, smaller)
        tiny = w.f("fcmp ole", h, w.splat(c["smallest"]))
        bad = w.op(f"xor {w.truth} {good}, {'true' if self.single else 'splat (i1 true)'}")
        bad = w.both(bad, active)
        stuck = w.both(bad, tiny)
        with w.when(w.some(bad)):
            now["rejected"].set(w.i("add", now["rejected"].get(), "1"))
            proposed.set(w.select(bad, shorter, proposed.get()))
        with w.when(w.some(stuck)):
            if self.single:
                self.leave(TOO_SMALL)
            else:
                stop = self.lane("stop_at")
                stop.set(w.select(stuck, t, stop.get()))
        w.do(f"br i1 {w.some(taken)}, label %take, label %steps")
        w.lines.append("take:")
        reached = w.select(last, span, w.f("fadd", s, h))
        reached = w.select(taken, reached, s)
        self.lane("t_at").set(w.f("fadd", begin, reached))
        mask = None if self.single else taken
        if self.single:
            size = w.variable("double", h)
            self.look(t, size)
            short = w.i("icmp ne", now["cut"].get(), "0")
            cut = w.op(f"fadd double {s}, {size.get()}")
            reached = w.op(f"select i1 {short}, double {cut}, double {reached}")
            if self.dense:
                self.inner_samples(begin, s, reached, size.get())
            self.lane("t_at").set(w.f("fadd", begin, reached))
        else:
            self.look(t, None)
        # from here on the step counts; a call that came back before would repeat it
        longer = w.f("fmul", h, grow)
        kept = w.f("fcmp ogt", proposed.get(), longer)
        kept = w.select(w.both(last, kept), proposed.get(), longer)
        proposed.set(w.select(taken, kept, proposed.get()))
        old_error = self.lane("b_at")
        old_error.set(w.select(taken, error, old_error.get()))
        self.copy(c["y_at"], c["x_at"], c["states"], mask)
        self.copy(c["y_f_at"], c["f_at"], c["states"], mask)
        self.lane("s_at").set(reached)
        if self.single:
            now["s"].set(reached)
        self.accept(mask)
        self.counted()
        self.happen(mask)
        self.interrupt()
        w.do("br label %steps")
        w.lines.append("gone:")

    def known_slope(self) -> None:
        """Evaluate the derivative at x, where it is not known from the step before."""
        w, c, now = self.w, self.config, self.whole
        unknown = w.i("icmp eq", now["slope_known"].get(), "0")
        wanted = w.op(f"and i1 {unknown}, {self.present(c['slope_fn'])}")
        with w.when(wanted):
            arrays = (*self.states(), *(c[n] for n in ("p_step_at", "w_at", "t_at")))
            self.kernel(c["slope_fn"], *arrays, c["f_at"])
            now["slope_known"].set("1")

    def inner_samples(self, begin: str, s: str, reached: str, h: str) -> None:
        """Interpolate the samples that lie inside the step, those at its end left out."""
        w, c, now = self.w, self.config, self.whole
        with w.when(w.i("icmp ne", c["every"], "0")):

            def offset() -> str:
                ticks = w.i("sub", now["sample"].get(), now["start"].get())
                return w.op(
                    f"fmul double {w.op(f'sitofp i64 {ticks} to double')}, {c['tick_seconds']}"
                )

            def inside() -> str:
                early = w.f("fcmp olt", offset(), reached)
                before = w.i("icmp slt", now["sample"].get(), now["target"].get())
                return w.both(early, before)

            with w.during(inside):
                at = offset()
                self.lane("theta_at").set(w.f("fdiv", w.f("fsub", at, s), h))
                self.lane("t_at").set(w.f("fadd", begin, at))
                names = ("x_at", "y_at", "f_at", "y_f_at", "r_at", "h_at", "theta_at", "z_at")
                self.kernel(c["dense_fn"], *(c[n] for n in names))
                self.record(c["z_at"])

    # -- events ------------------------------------------------------------------------------------
    def known_events(self) -> None:
        """Evaluate the events at x, where their values are not known from the step before."""
        w, c, now = self.w, self.config, self.whole
        unknown = w.i("icmp eq", now["events_known"].get(), "0")
        with w.when(w.op(f"and i1 {unknown}, {self.present(c['events_fn'])}")):
            self.events("x_at", "g_at")
            now["events_known"].set("1")

    def events(self, x: str, g: str) -> None:
        c = self.config
        self.kernel(
            c["events_fn"],
            c[x],
            c["d_at"],
            c["p_events_at"],
            c["w_at"],
            c["t_at"],
            c[g],
        )

    def crossed(self, index: str) -> str:
        """Return in which lanes an event goes through zero between g and g_new."""
        w, c = self.w, self.config
        row = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        direction = w.load("i64", w.at(row, str(EVENT["direction"])))
        before, after = self.lane("g_at", index).get(), self.lane("g_new_at", index).get()
        zero = w.number(0.0)
        up = w.both(w.f("fcmp olt", before, zero), w.f("fcmp oge", after, zero))
        down = w.both(w.f("fcmp ogt", before, zero), w.f("fcmp ole", after, zero))
        false = "false" if self.single else "splat (i1 false)"
        no_up = w.i("icmp slt", direction, "0")
        no_down = w.i("icmp sgt", direction, "0")
        up = w.op(f"select i1 {no_up}, {w.truth} {false}, {w.truth} {up}")
        down = w.op(f"select i1 {no_down}, {w.truth} {false}, {w.truth} {down}")
        return w.op(f"or {w.truth} {up}, {down}")

    def any_crossed(self) -> str:
        w, c = self.w, self.config
        found = w.variable("i1", "false")
        with w.count(c["events"]) as i:
            found.set(w.op(f"or i1 {found.get()}, {w.some(self.crossed(i))}"))
        return found.get()

    def look(self, t: str, h: Variable | None) -> None:
        """Compare events before and after the step; cut a single run's step at the first one.

        `t` is where the step starts; y, its end, belongs to the time that is set.
        """
        w, c = self.w, self.config
        self.ended.set("0")
        self.whole["cut"].set("0")
        with w.when(self.present(c["events_fn"])):
            self.events("y_at", "g_new_at")
            if not self.single:
                self.ended.set("1")
            else:
                assert h is not None
                self.guard()
                with w.when(self.any_crossed()):
                    self.ended.set("1")
                    self.bracket(t, h)

    def guard(self) -> None:
        """Come back before a step after which a guard is not above zero."""
        w, c = self.w, self.config
        with w.count(c["events"]) as i:
            row = w.at(c["event_table"], w.i("mul", i, str(len(EVENT))))
            guards = w.i("icmp ne", w.load("i64", w.at(row, str(EVENT["guard"]))), "0")
            bad = w.f("fcmp ule", self.lane("g_new_at", i).get(), w.number(0.0))
            with w.when(w.op(f"and i1 {guards}, {bad}")):
                self.leave(GUARDED, i)

    def bracket(self, t: str, h: Variable) -> None:
        """Shorten the step to where the first event has just gone through zero."""
        w, now = self.w, self.whole
        full = h.get()
        low, high = w.variable("double", "0.0"), w.variable("double", full)
        with w.count(str(_BISECTIONS)):
            middle = w.op(f"fadd double {low.get()}, {high.get()}")
            middle = w.op(f"fmul double {middle}, 0.5")
            self.partial(t, middle)
            crossed = self.any_crossed()
            now_low = w.op(f"select i1 {crossed}, double {low.get()}, double {middle}")
            now_high = w.op(f"select i1 {crossed}, double {middle}, double {high.get()}")
            low.set(now_low)
            high.set(now_high)
        self.partial(t, high.get())
        h.set(high.get())
        less = w.op(f"fcmp olt double {high.get()}, {full}")
        now["cut"].set(w.op(f"zext i1 {less} to i64"))

    def partial(self, t: str, h: str) -> None:
        """Repeat the step with another size, and evaluate the events at its end."""
        w = self.w
        self.lane("t_at").set(t)
        self.lane("h_at").set(h)
        self.step()
        self.lane("t_at").set(w.f("fadd", t, h))
        self.events("y_at", "g_new_at")

    def happen(self, mask: str | None) -> None:
        """Log events of the step that was taken, run their actions, end where one is terminal."""
        w, c, now = self.w, self.config, self.whole
        with w.when(self.present(c["events_fn"])):
            finished = w.variable("i64", "-1")
            with w.when(w.i("icmp ne", self.ended.get(), "0")), w.count(c["events"]) as i:
                crossed = self.crossed(i)
                if mask is not None:
                    crossed = w.both(crossed, mask)
                with w.when(w.some(crossed)):
                    self.happened(i, crossed, finished)
            known = w.i("icmp ne", now["events_known"].get(), "0")
            with w.when(known):
                self.copy(c["g_new_at"], c["g_at"], c["events"], mask)
            if self.single:
                with w.when(w.i("icmp sge", finished.get(), "0")):
                    self.leave(TERMINAL, finished.get())
                with w.when(w.i("icmp sge", now["logged"].get(), c["log_rows"])):
                    self.leave(LOGGED)

    def happened(self, index: str, crossed: str, finished: Variable) -> None:
        w, c, now = self.w, self.config, self.whole
        t = self.lane("t_at").get()
        count, first = self.lane("count_at", index), self.lane("first_at", index)
        fresh = w.both(crossed, w.f("fcmp oeq", count.get(), w.number(0.0)))
        first.set(w.select(fresh, t, first.get()))
        more = w.f("fadd", count.get(), w.number(1.0))
        count.set(w.select(crossed, more, count.get()))
        if self.single:
            row = w.at(c["log"], w.i("mul", now["logged"].get(), str(len(LOG))))
            w.store("i64", index, w.at(row, str(LOG["event"])))
            w.store("i64", now["start"].get(), w.at(row, str(LOG["start"])))
            w.store("double", now["s"].get(), w.at(row, str(LOG["s"])))
            now["logged"].set(w.i("add", now["logged"].get(), "1"))
        entry = w.at(c["event_table"], w.i("mul", index, str(len(EVENT))))
        action = w.load("ptr", w.at(entry, str(EVENT["action_fn"])))
        with w.when(self.present(action)):
            parameters = w.at("%arena", w.load("i64", w.at(entry, str(EVENT["p_at"]))), "double")
            arrays = (*self.states(), parameters, c["w_at"], c["t_at"], c["y_at"], c["o_at"])
            self.kernel(action, *arrays)
            which = None if self.single else crossed
            self.copy(c["y_at"], c["x_at"], c["states"], which)
            self.copy(c["o_at"], c["d_at"], c["discretes"], which)
            now["slope_known"].set("0")
            now["events_known"].set("0")
        terminal = w.load("i64", w.at(entry, str(EVENT["terminal"])))
        with w.when(w.i("icmp ne", terminal, "0")):
            if self.single:
                finished.set(index)
            else:
                stop = self.lane("stop_at")
                stop.set(w.select(crossed, t, stop.get()))
