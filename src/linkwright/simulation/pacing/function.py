"""The native function of a paced loop, as LLVM IR.

Called once from a thread, it goes round until it is asked to stop: it waits for the next instant,
takes changes of inputs, drives the session to the tick that is due (`run_blocks`, the same code as
for any other run), keeps samples and what it reached, and counts. No interpreter is needed
meanwhile; what Python leaves and takes is in rings, and a Python that stalls only lets them fill.

It comes back early where the session has something to say that native code does not know
(an event that ends it, another form of the equations), and goes on where it stood.

Changes of inputs enter between two ticks, all that are there up to the first that is for a later
tick, or none where the tape has no room for them; each is on the tape with the first tick that sees
it.
"""

from __future__ import annotations

from functools import lru_cache

from linkwright.simulation.native.tables import CONFIG, DONE, FOREIGN
from linkwright.simulation.pacing.calls import TapingWriter, TellingWriter
from linkwright.simulation.pacing.exchange import CONVERSIONS
from linkwright.simulation.pacing.frames import frames_ir
from linkwright.simulation.pacing.matrices import ASKING, DUE, MatrixWriter
from linkwright.simulation.pacing.memory import (
    AT_TICKS,
    CHANGE,
    CONTROL,
    DEVICE,
    ENDED,
    FROM_RAN,
    FROM_RUN,
    FROM_SAMPLE,
    FULL,
    LATEST,
    NOW,
    PACE,
    PUBLISH,
    REACHED,
    SAMPLE,
    SESSION,
    SLOTS,
    TAKE,
    TELL,
    VIRTUAL,
    VISIT,
    WALL,
    WIRE,
)
from linkwright.simulation.pacing.sockets import LINUX_SOCKETS, OTHER_SOCKETS, SocketWriter
from linkwright.simulation.pacing.writer import AtomicWriter

_SECOND = 1_000_000_000
_NAP = 50_000_000  # ns, after which a sleeping loop looks whether it is to stop
_LEAD = 1_000_000  # ns, from the start to the first instant
_CLOCK_MONOTONIC = 1

_LINUX = f"""
declare i32 @lw_clock_gettime(i32, ptr)
declare i32 @lw_clock_nanosleep(i32, i32, ptr, ptr)
declare i64 @lw_syscall(i64, ...)

define i64 @{NOW}() nounwind {{
entry:
  %t = alloca [2 x i64], align 16
  %r = call i32 @lw_clock_gettime(i32 {_CLOCK_MONOTONIC}, ptr %t)
  %s = load i64, ptr %t, align 8
  %n.at = getelementptr i64, ptr %t, i64 1
  %n = load i64, ptr %n.at, align 8
  %whole = mul i64 %s, {_SECOND}
  %sum = add i64 %whole, %n
  ret i64 %sum
}}

define internal void @sleep_until(i64 %ns) nounwind {{
entry:
  %t = alloca [2 x i64], align 16
  %s = sdiv i64 %ns, {_SECOND}
  %n = srem i64 %ns, {_SECOND}
  store i64 %s, ptr %t, align 8
  %n.at = getelementptr i64, ptr %t, i64 1
  store i64 %n, ptr %n.at, align 8
  %r = call i32 @lw_clock_nanosleep(i32 {_CLOCK_MONOTONIC}, i32 1, ptr %t, ptr null)
  ret void
}}

define internal void @futex_wait(ptr %c, ptr %word, i32 %seen, i64 %ns) nounwind {{
entry:
  %t = alloca [2 x i64], align 16
  %s = sdiv i64 %ns, {_SECOND}
  %n = srem i64 %ns, {_SECOND}
  store i64 %s, ptr %t, align 8
  %n.at = getelementptr i64, ptr %t, i64 1
  store i64 %n, ptr %n.at, align 8
  %number.at = getelementptr i64, ptr %c, i64 {CONTROL["futex"]}
  %number = load i64, ptr %number.at, align 8
  %r = call i64 (i64, ...)
    @lw_syscall(i64 %number, ptr %word, i32 0, i32 %seen, ptr %t, ptr null, i32 0)
  ret void
}}

define internal void @futex_wake(ptr %c, ptr %word) nounwind {{
entry:
  %number.at = getelementptr i64, ptr %c, i64 {CONTROL["futex"]}
  %number = load i64, ptr %number.at, align 8
  %r = call i64 (i64, ...)
    @lw_syscall(i64 %number, ptr %word, i32 1, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}}
"""
_OTHERS = f"""
declare i64 @lw_now()
declare void @lw_sleep_until(i64)

define i64 @{NOW}() nounwind {{
entry:
  %t = call i64 @lw_now()
  ret i64 %t
}}

define internal void @sleep_until(i64 %ns) nounwind {{
entry:
  call void @lw_sleep_until(i64 %ns)
  ret void
}}

define internal void @futex_wait(ptr %c, ptr %word, i32 %seen, i64 %ns) nounwind {{
entry:
  ret void
}}

define internal void @futex_wake(ptr %c, ptr %word) nounwind {{
entry:
  ret void
}}
"""


@lru_cache(maxsize=2)
def pacing_ir(linux: bool) -> str:
    """Return the text of the unit.

    >>> f"define i64 @{PACE}" in pacing_ir(True)
    True
    """
    declared = """
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
    clock = _LINUX + LINUX_SOCKETS if linux else _OTHERS + OTHER_SOCKETS
    beside = SocketWriter().receiving() + frames_ir() + _take_latest() + _publish()
    beside += TellingWriter().text()
    return declared + CONVERSIONS + clock + PaceWriter().text() + TapingWriter().text() + beside


class PaceWriter(MatrixWriter):
    """Writes the function of the loop."""

    # -- the loop ----------------------------------------------------------------------------------
    def text(self) -> str:
        w = self.w
        resume = self.get("resume")
        self.set("resume", "0")
        with w.when(self.is_(resume, FROM_RAN)):
            w.jump("ran")
        with w.when(self.is_(resume, FROM_RUN)):
            w.jump("run")
        with w.when(self.is_(resume, FROM_SAMPLE)):
            w.jump("sample")
        w.label("top")
        with w.when(w.i("icmp ne", w.acquire(self.place("stop")), "0")):
            self.publish()
            w.leave("i64", str(ENDED))
        k = self.whole("k").get()
        fresh = w.i("icmp ne", self.get("fresh"), "0")
        done = w.i("sub", k, self.get("fresh"))
        with w.when(w.i("icmp sge", done, self.get("last"))):
            self.publish()
            w.leave("i64", str(REACHED))
        with w.when(self.is_(self.get("clock"), VIRTUAL)):
            self.leave_full()
        following = w.minimum(w.i("add", k, self.get("stride")), self.get("final"))
        self.set("target", w.op(f"select i1 {fresh}, i64 {k}, i64 {following}"))
        with w.when(self.is_(self.get("clock"), WALL)):
            self.wait()
        with w.when(self.is_(self.get("clock"), DEVICE)):
            self.wait_for_device()
        with w.when(self.is_(self.get("clock"), WIRE)):
            self.wait_for_wire()
        self.inputs(w.op(f"select i1 {fresh}, i64 {k}, i64 {w.i('add', k, '1')}"))
        with w.when(w.i("icmp ne", self.get("visit"), "0")):
            w.leave("i64", str(VISIT))
        w.label("run")
        config = self.get("config", "ptr")
        w.store("i64", self.get("target"), w.at(config, str(CONFIG["until"])))
        w.do(f"call void {self.get('run_fn', 'ptr')}(ptr {config}, i64 0, i64 1)")
        by_mail = w.i("icmp ne", self.get("foreign"), str(AT_TICKS))
        foreign = self.is_(self.whole("status").get(), FOREIGN)
        with w.when(w.op(f"and i1 {by_mail}, {foreign}")):
            self.ask()
            w.jump("run")
        with w.when(w.i("icmp ne", self.whole("status").get(), str(DONE))):
            w.leave("i64", str(SESSION))
        w.label("ran")
        shown, due = self.is_shown(), self.sampling()
        with w.when(w.op(f"or i1 {shown}, {w.i('icmp sgt', due, str(DUE))}")):
            self.outputs()
        self.samples()
        self.add("total")
        asked = self.is_(due, ASKING)
        with w.when(w.op(f"or i1 {shown}, {asked}")):
            self.latest()
        with w.when(asked):
            w.leave("i64", str(SAMPLE))
        w.label("sample")
        self.counted()
        self.fill()
        self.states()
        self.writes()
        self.set("fresh", "0")
        with w.when(self.is_(self.get("clock"), WALL)):
            self.go_on("1")
            now = w.op(f"call i64 @{NOW}()")
            length = w.i("sub", now, self.get("now"))
            self.set("length", length)
            behind = w.i("icmp sgt", now, self.get("next"))
            slow = w.i("icmp sgt", length, self.get("period"))
            catches = w.i("icmp ne", self.get("catches"), "0")
            with w.when(w.op(f"select i1 {catches}, i1 {slow}, i1 {behind}")):
                self.add("overrun")
        with w.when(self.is_(self.get("clock"), DEVICE)), w.when(self.device_ticked()):
            self.add("overrun")
        with w.when(self.is_(self.get("clock"), WIRE)), w.when(self.wire_ticked()):
            self.add("overrun")
        w.jump("top")
        return w.function(f"i64 @{PACE}(ptr %c)", "ret i64 0")

    def leave_full(self) -> None:
        """Come back where Python should empty a ring: nobody waits for a virtual run."""
        w = self.w
        for ring in ("ring", "tape"):
            used = w.i("sub", self.get(f"{ring}_head"), w.acquire(self.place(f"{ring}_tail")))
            with w.when(w.i("icmp sgt", used, w.i("lshr", self.get(f"{ring}_mask"), "1"))):
                w.leave("i64", str(FULL))

    def go_on(self, count: str) -> None:
        """Go on by some periods to a later instant, without an error that adds up."""
        w = self.w
        parts = self.get("parts")
        rest = w.i("add", self.get("rest"), w.i("mul", count, self.get("part")))
        whole = w.i("add", w.i("mul", count, self.get("period")), w.i("sdiv", rest, parts))
        self.set("rest", w.i("srem", rest, parts))
        self.set("next", w.i("add", self.get("next"), whole))

    def wait(self) -> None:
        """Wait for the next instant; count what is late, and what is too late to be done."""
        w = self.w
        now = w.variable("i64", w.op(f"call i64 @{NOW}()"))
        with w.when(self.is_(self.get("next"), 0)):
            self.set("next", w.i("add", now.get(), str(_LEAD)))
        with w.during(lambda: w.i("icmp slt", now.get(), self.get("next"))):
            with w.when(w.i("icmp ne", w.acquire(self.place("stop")), "0")):
                w.leave("i64", str(ENDED))
            nap = w.minimum(self.get("next"), w.i("add", now.get(), str(_NAP)))
            w.do(f"call void @sleep_until(i64 {nap})")
            now.set(w.op(f"call i64 @{NOW}()"))
        late = w.variable("i64", w.i("sub", now.get(), self.get("next")))
        with w.when(w.i("icmp sge", late.get(), self.get("patience"))):
            count = w.i("sdiv", late.get(), self.get("period"))
            self.add("missed", count)
            self.go_on(count)
            left = w.i("sub", now.get(), self.get("next"))
            some = w.i("icmp sgt", left, "0")
            late.set(w.op(f"select i1 {some}, i64 {left}, i64 0"))
        self.set("now", now.get())
        self.count_lateness(late.get())

    # -- what comes in -----------------------------------------------------------------------------
    def inputs(self, tick: str) -> None:
        """Take the changes that are there, onto the tape and into the machine."""
        w = self.w
        self.set("dirty", "0")
        self.set("prepares", "0")
        self.answers(tick)
        self.reads(tick)
        head, tail = w.acquire(self.place("changes_head")), self.get("changes_tail")
        due = w.variable("i64", tail)

        def row_of(i: str) -> str:
            at = w.i("and", i, self.get("changes_mask"))
            return w.at(self.get("changes", "ptr"), w.i("mul", at, str(len(CHANGE))))

        def one_is_due() -> str:
            seen = w.load("i64", w.at(row_of(due.get()), str(CHANGE["tick"])))
            left, now = w.i("icmp slt", due.get(), head), w.i("icmp sle", seen, tick)
            return w.op(f"and i1 {left}, {now}")

        with w.during(one_is_due):
            due.set(w.i("add", due.get(), "1"))
        count = w.i("sub", due.get(), tail)
        with w.when(w.i("icmp sgt", count, "0")):
            fits = w.i("icmp sle", count, self.room())
            with w.when(fits):
                with w.count(due.get(), tail) as i:
                    row = row_of(i)
                    where = w.load("i64", w.at(row, str(CHANGE["place"])))
                    value = w.load("i64", w.at(row, str(CHANGE["value"])))
                    self.change(tick, where, value)
                    serial = w.load("i64", w.at(row, str(CHANGE["serial"])))
                    w.release(serial, self.place("taken"))
                w.release(due.get(), self.place("changes_tail"))
            with self.unless(fits):
                self.add("held")
        self.told(tick)
        with w.when(w.i("icmp ne", self.get("dirty"), "0")):
            for name in ("slope_known", "events_known"):
                self.whole(name).set("0")
        with w.when(w.i("icmp ne", self.get("prepares"), "0")):
            config = self.get("config", "ptr")
            w.do(f"call void {self.get('prepare_fn', 'ptr')}(ptr {config}, i64 0, i64 1)")

    def told(self, tick: str) -> None:
        """Give the System what was counted, by inputs that it has for it."""
        w = self.w
        count = self.get("tell_count")
        fits = w.i("icmp sle", count, self.room())
        with w.when(fits), w.count(count) as i:
            row = w.at(self.get("tells", "ptr"), w.i("mul", i, str(len(TELL))))
            source = w.load("ptr", w.at(row, str(TELL["count"])))
            number = w.op(f"sitofp i64 {w.load('i64', source)} to double")
            bits = w.op(f"bitcast double {number} to i64")
            self.change(tick, w.load("i64", w.at(row, str(TELL["place"]))), bits)

    # -- what goes out -----------------------------------------------------------------------------
    def is_shown(self) -> str:
        """Return whether others are to know of this tick; in a virtual run, one of some."""
        w = self.w
        shown = self.is_(w.op(f"urem i64 {self.whole('k').get()}, {self.get('publishes')}"), 0)
        shown = w.op(f"or i1 {shown}, {w.i('icmp ne', self.get('clock'), str(VIRTUAL))}")
        for name in ("write_count", "visit"):
            shown = w.op(f"or i1 {shown}, {w.i('icmp ne', self.get(name), '0')}")
        return shown

    def publish(self) -> None:
        """Leave where the run stands where that was not done at this tick."""
        w = self.w
        some = w.i("icmp ne", self.get("published"), self.whole("k").get())
        begun = self.is_(self.get("fresh"), 0)
        with w.when(w.op(f"and i1 {some}, {begun}")):
            self.outputs()
            self.latest()

    def outputs(self) -> None:
        """Compute the channels at this tick, or take those that were recorded there."""
        w = self.w
        channels, target = self.get("channels"), self.get("outputs", "ptr")
        row, k = self.whole("row").get(), self.whole("k").get()
        recent = self.is_(w.i("sub", self.whole("sample").get(), self.get("every")), k)
        some = w.i("icmp sgt", row, "0")
        taken = w.op(f"and i1 {recent}, {some}")
        with w.when(taken):
            last = w.i("mul", w.i("sub", row, "1"), channels)
            w.copy_words(w.at(self.get("samples", "ptr"), last), target, channels)
        there = w.i("icmp ne", self.get("output_fn"), "0")
        with w.when(w.op(f"and i1 {there}, {w.op(f'xor i1 {taken}, true')}")):
            tick_seconds = w.load(
                "double", w.at(self.get("config", "ptr"), str(CONFIG["tick_seconds"]))
            )
            t = w.op(f"fmul double {w.op(f'sitofp i64 {k} to double')}, {tick_seconds}")
            w.store("double", t, self.array("t"))
            arrays = [self.array(name) for name in ("x", "d", "p_output", "w", "t")]
            listed = ", ".join(f"ptr {a}" for a in (*arrays, target))
            w.do(f"call void {self.get('output_fn', 'ptr')}({listed})")

    def samples(self) -> None:
        """Move samples into the ring; where it is full they are lost, and counted."""
        w = self.w
        channels = self.get("channels")
        with w.count(self.whole("row").get()) as i:
            head = self.get("ring_head")
            used = w.i("sub", head, w.acquire(self.place("ring_tail")))
            fits = w.i("icmp sle", used, self.get("ring_mask"))
            with w.when(fits):
                at = w.i("and", head, self.get("ring_mask"))
                row = w.at(self.get("ring", "ptr"), w.i("mul", at, w.i("add", channels, "1")))
                w.store("i64", self.get("sampled"), row)
                source = w.at(self.get("samples", "ptr"), w.i("mul", i, channels))
                w.copy_words(source, w.at(row, "1"), channels)
                w.release(w.i("add", head, "1"), self.place("ring_head"))
            with self.unless(fits):
                self.add("lost")
            self.add("sampled")
        self.whole("row").set("0")

    def latest(self) -> None:
        """Leave where the run stands, for whoever wants to know."""
        w = self.w
        newest = self.get("latest", "ptr")
        size = str(len(LATEST))
        for name in ("x_size", "d_size", "w_size", "channels"):
            size = w.i("add", size, self.get(name))
        number = w.i("add", w.load("i64", newest), "1")
        area = _slot(w, newest, number, size)
        sequence = w.at(area, str(LATEST["sequence"]))
        whole = w.i("shl", number, "1")
        w.release(w.i("sub", whole, "1"), sequence)
        w.do("fence release")
        w.store("i64", self.whole("k").get(), w.at(area, str(LATEST["tick"])))
        w.store("i64", self.get("now"), w.at(area, str(LATEST["clock"])))
        at = w.variable("i64", str(len(LATEST)))
        for name in ("x", "d", "w"):
            size = self.get(f"{name}_size")
            w.copy_words(self.array(name), w.at(area, at.get()), size)
            at.set(w.i("add", at.get(), size))
        w.copy_words(self.get("outputs", "ptr"), w.at(area, at.get()), self.get("channels"))
        w.release(whole, sequence)
        w.release(number, newest)
        self.set("published", self.whole("k").get())


def _slot(w: AtomicWriter, newest: str, number: str, size: str) -> str:
    """Return the address of a slot."""
    place = w.i("mul", w.i("and", number, str(SLOTS - 1)), size)
    return w.at(newest, w.i("add", place, "1"))


def _take_latest() -> str:
    """Return the function that copies where a run stands, whole; it gives the slot's number.

    A slot that is marked as the newest is not touched before all others were written. Only a
    reader that was kept from a processor meanwhile copies once more, and then a newer one.
    """
    w = AtomicWriter(1)
    with w.during(lambda: "true"):
        number = w.acquire("%newest")
        slot = _slot(w, "%newest", number, "%size")
        w.copy_words(slot, "%out", "%size")
        w.do("fence acquire")
        sequence = w.at(slot, str(LATEST["sequence"]))
        after = w.op(f"load atomic i64, ptr {sequence} monotonic, align 8")
        with w.when(w.i("icmp eq", after, w.i("shl", number, "1"))):
            w.leave("i64", number)
    return w.function(f"i64 @{TAKE}(ptr %newest, ptr %out, i64 %size)", "ret i64 0")


def _publish() -> str:
    """Return the function by which Python signals that what it has written is there."""
    w = AtomicWriter(1)
    w.release("%value", "%address")
    return w.function(f"void @{PUBLISH}(ptr %address, i64 %value)", "ret void")
