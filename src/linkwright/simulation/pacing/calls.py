"""Python blocks of a paced loop, as LLVM IR: asked at their ticks, answered when they can.

A block has a mail box of one place. At its tick the loop puts the arguments there and goes on; a
thread of Python's answers, and the answer enters before the next tick, on the tape. Where the block
is due again and has not answered, it is late: that is counted, and its outputs hold.
"""

from __future__ import annotations

from linkwright.simulation.native.tables import WHOLE
from linkwright.simulation.pacing.exchange import ExchangeWriter
from linkwright.simulation.pacing.memory import ANSWERED, ASKED, BY_MAIL, CALL, IDLE, MAIL, VIRTUAL


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
            with w.when(w.op(f"and i1 {come}, {w.i('icmp sle', count, self.room())}")):
                results, places = (
                    w.load("ptr", w.at(row, str(MAIL[n]))) for n in ("results", "places")
                )
                with w.count(count) as j:
                    value = w.load("i64", w.at(results, j))
                    self.change(tick, w.load("i64", w.at(places, j)), value)
                w.release(str(IDLE), state)
