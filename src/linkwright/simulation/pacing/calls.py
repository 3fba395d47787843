"""Python blocks of a paced loop, as LLVM IR: asked at their ticks, answered when they can.

A block has a mail box of one place. At its tick the loop puts the arguments there and goes on; a
thread of Python's answers, and the answer enters before the next tick, on the tape. Where the block
is due again and has not answered, it is late: that is counted, and its outputs hold.
"""

from __future__ import annotations

from linkwright.simulation.native.tables import WHOLE
from linkwright.simulation.pacing.exchange import ExchangeWriter
from linkwright.simulation.pacing.memory import (
    ANSWERED,
    ASKED,
    BY_MAIL,
    CALL,
    IDLE,
    MAIL,
    SESSION,
    TAPE,
    TAPED_ONLY,
    TAPING,
    TELLING,
    TELLS,
    VIRTUAL,
)
from linkwright.simulation.pacing.sockets import CLOCK, TICK, WAKES
from linkwright.windows.records import HEAD


class CallWriter(ExchangeWriter):
    """Writes what is done with mail boxes."""

    def mail(self, i: str) -> str:
        """Return the address of a mail box."""
        return self.w.at(self.get("mails", "ptr"), self.w.i("mul", i, str(len(MAIL))))

    def ask(self) -> None:
        """Put arguments into the box of the block that is due, and go on with the next."""
        w = self.w
        detail = self.whole("detail").get()
        asked = w.variable("i64", "0")
        with w.count(self.get("mail_count")) as i:
            row = self.mail(i)
            with w.when(w.i("icmp eq", w.load("i64", w.at(row, str(MAIL["tick"]))), detail)):
                state = w.at(row, str(MAIL["state"]))
                slot = w.i("icmp ne", w.load("i64", w.at(row, str(MAIL["choice"]))), "-1")
                taped = self.is_(self.get("foreign"), TAPED_ONLY)
                with w.when(w.op(f"and i1 {slot}, {taped}")):  # nobody knows its function
                    w.leave("i64", str(SESSION))
                with w.when(self.is_(self.get("foreign"), BY_MAIL)):
                    free = self.is_(w.acquire(state), IDLE)
                    with self.unless(free):
                        self.add("late")
                    with w.when(free):
                        count = w.load("i64", w.at(row, str(MAIL["argument_count"])))
                        target = w.load("ptr", w.at(row, str(MAIL["arguments"])))
                        w.copy_words(self.array("o"), target, count)
                        w.store("i64", self.whole("k").get(), w.at(row, str(MAIL["asked"])))
                        w.release(str(ASKED), state)
                        asked.set("1")
                        with w.when(w.i("icmp ne", self.get("futex"), "0")):
                            w.do(f"call void @futex_wake(ptr %c, ptr {state})")
                due = w.at(self.get("whole", "ptr"), w.i("add", detail, str(len(WHOLE))))
                every = w.load("i64", w.at(row, str(MAIL["every"])))
                w.store("i64", w.i("add", w.load("i64", due), every), due)
        cursor = self.whole("cursor")
        cursor.set(w.i("add", cursor.get(), "1"))
        for name in ("slope_known", "events_known"):
            self.whole(name).set("0")
        virtual = self.is_(self.get("clock"), VIRTUAL)
        with w.when(w.op(f"and i1 {virtual}, {w.i('icmp ne', asked.get(), '0')}")):
            w.leave("i64", str(CALL))

    def answers(self, tick: str) -> None:
        """Take the answers that have come."""
        w = self.w
        with w.count(self.get("mail_count")) as i:
            row = self.mail(i)
            state = w.at(row, str(MAIL["state"]))
            count = w.load("i64", w.at(row, str(MAIL["result_count"])))
            come = self.is_(w.acquire(state), ANSWERED)
            with w.when(come):
                self.drop_stale(row, state)
            come = self.is_(w.acquire(state), ANSWERED)
            with w.when(w.op(f"and i1 {come}, {w.i('icmp sle', count, self.room())}")):
                results, places = (
                    w.load("ptr", w.at(row, str(MAIL[n]))) for n in ("results", "places")
                )
                with w.count(count) as j:
                    value = w.load("i64", w.at(results, j))
                    self.change(tick, w.load("i64", w.at(places, j)), value)
                w.release(str(IDLE), state)

    def drop_stale(self, row: str, state: str) -> None:
        """Drop the answer of a slot's function in whose place there is another one by now."""
        w = self.w
        choice = w.load("i64", w.at(row, str(MAIL["choice"])))
        with w.when(w.i("icmp sge", choice, "0")):
            inside = w.load("i64", w.at(self.get("places", "ptr"), choice))
            chosen = w.load("i64", w.at(self.get("arena", "ptr"), inside))
            asked = w.load("i64", w.load("ptr", w.at(row, str(MAIL["arguments"]))))
            with w.when(w.i("icmp ne", chosen, asked)):
                w.release(str(IDLE), state)


class TellingWriter(CallWriter):
    """Writes the function of a slot that sends its arguments to another process, and holds."""

    def text(self) -> str:
        """Return the function."""
        w = self.w

        def field(name: str, kind: str = "i64") -> str:
            return w.load(kind, w.at("%context", str(TELLING[name])))

        w.lines.append(f"  %c = load ptr, ptr {w.at('%context', str(TELLING['control']))}, align 8")
        window, frame, results = field("window", "ptr"), field("frame", "ptr"), field("results")
        size = field("size")
        arguments = w.i("sub", size, results)
        w.copy_words("%o", self.inside(frame, HEAD), arguments)
        w.store("i64", self.whole("k").get(), self.inside(frame, TICK))
        w.store("i64", self.get("now"), self.inside(frame, CLOCK))
        w.do(f"call void @put_frame(ptr {window}, ptr {frame}, i64 {field('words')})")
        word = self.inside(window, WAKES)
        w.op(f"atomicrmw add ptr {word}, i32 1 seq_cst")
        w.do(f"call void @futex_wake(ptr %c, ptr {word})")
        w.copy_words(w.at("%o", arguments), w.at("%o", size), results)
        return w.function(f"i64 @{TELLS}(ptr %context, ptr %t, ptr %o)", "ret i64 0")


class TapingWriter(CallWriter):
    """Writes the function that puts what a slot's function gives onto the tape."""

    def text(self) -> str:
        """Return the function: it calls another one, and tapes which results are new."""
        w = self.w

        def field(name: str, kind: str = "i64") -> str:
            return w.load(kind, w.at("%context", str(TAPING[name])))

        w.lines.append(f"  %c = load ptr, ptr {w.at('%context', str(TAPING['control']))}, align 8")
        function = field("fn", "ptr")
        failed = w.op(f"call i64 {function}(ptr %context, ptr %t, ptr %o)")
        with w.when(w.i("icmp ne", failed, "0")):
            w.leave("i64", "1")
        count = field("count")
        with w.when(w.i("icmp slt", self.room(), count)):
            w.leave("i64", "1")
        results, staged = w.at("%o", field("results")), field("staged", "ptr")
        tick, places = self.whole("k").get(), field("places", "ptr")
        with w.count(count) as i:
            bits, last = w.load("i64", w.at(results, i)), w.at(staged, i)
            with w.when(w.i("icmp ne", bits, w.load("i64", last))):
                w.store("i64", bits, last)
                self.write_tape(tick, w.load("i64", w.at(places, i)), bits)
        return w.function(f"i64 @{TAPE}(ptr %context, ptr %t, ptr %o)", "ret i64 0")
