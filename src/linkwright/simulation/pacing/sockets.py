"""What a paced loop does with wires, as LLVM IR: datagrams come in and go out without waiting.

At a tick everything that has come is looked at, and the newest sound frame is taken: its length,
magic number, version, declaration and checksum are right, and its sequence is newer than that of
the frames before. `linkwright.windows.wire` says what is counted. A loop whose clock is a wire
sleeps until a sound frame comes; each is a tick.
"""

from __future__ import annotations

from linkwright.simulation.pacing.memory import ENDED, NOW, READ
from linkwright.simulation.pacing.writer import LoopWriter
from linkwright.windows.records import HEAD, MAGIC, VERSION
from linkwright.windows.wire import MOST, NUMBERS

SCHEMA, SEQUENCE, TICK, CLOCK, CHECKSUM, PAYLOAD, WAKES = 8, 16, 24, 32, 40, 48, 56
"""Bytes of the head of a frame."""
NAP = 50_000_000  # ns, after which a sleeping loop looks whether it is to stop

_DONT_WAIT, _NO_SIGNAL, _IN = 0x40, 0x4000, 1  # of Linux: recv, send, poll
_SECOND = 1_000_000_000

LINUX_SOCKETS = f"""
declare i64 @lw_recv(i32, ptr, i64, i32)
declare i64 @lw_send(i32, ptr, i64, i32)
declare i32 @lw_ppoll(ptr, i64, ptr, ptr)

define internal i64 @receive(i64 %fd, ptr %to, i64 %most) nounwind {{
entry:
  %d = trunc i64 %fd to i32
  %n = call i64 @lw_recv(i32 %d, ptr %to, i64 %most, i32 {_DONT_WAIT})
  ret i64 %n
}}

define internal i64 @send_frame(i64 %fd, ptr %from, i64 %size) nounwind {{
entry:
  %d = trunc i64 %fd to i32
  %n = call i64 @lw_send(i32 %d, ptr %from, i64 %size, i32 {_DONT_WAIT | _NO_SIGNAL})
  ret i64 %n
}}

define internal void @await(i64 %fd, i64 %ns) nounwind {{
entry:
  %t = alloca [2 x i64], align 16
  %p = alloca [2 x i32], align 16
  %s = sdiv i64 %ns, {_SECOND}
  %n = srem i64 %ns, {_SECOND}
  store i64 %s, ptr %t, align 8
  %n.at = getelementptr i64, ptr %t, i64 1
  store i64 %n, ptr %n.at, align 8
  %d = trunc i64 %fd to i32
  store i32 %d, ptr %p, align 4
  %events.at = getelementptr i32, ptr %p, i64 1
  store i32 {_IN}, ptr %events.at, align 4
  %r = call i32 @lw_ppoll(ptr %p, i64 1, ptr %t, ptr null)
  ret void
}}
"""
"""`struct pollfd` is a descriptor of 32 bits and two words of 16 bits (poll(2))."""

OTHER_SOCKETS = """
define internal i64 @receive(i64 %fd, ptr %to, i64 %most) nounwind {
entry:
  ret i64 -1
}

define internal i64 @send_frame(i64 %fd, ptr %from, i64 %size) nounwind {
entry:
  ret i64 -1
}

define internal void @await(i64 %fd, i64 %ns) nounwind {
entry:
  ret void
}
"""


class SocketWriter(LoopWriter):
    """Writes what is done with wires."""

    def inside(self, frame: str, offset: int) -> str:
        """Return the address of some bytes of a frame."""
        return self.w.at(frame, str(offset), "i8")

    def number(self, numbers: str, name: str) -> str:
        """Return the address of one of a wire's numbers."""
        return self.w.at(numbers, str(NUMBERS.index(name)))

    def count(self, numbers: str, name: str, value: str = "1") -> None:
        """Add to one of a wire's numbers."""
        w = self.w
        place = self.number(numbers, name)
        w.store("i64", w.i("add", w.load("i64", place), value), place)

    # -- what comes in -----------------------------------------------------------------------------
    def receive(self, row: str) -> None:
        """Take the newest sound frame of a wire into its copy, where one has come."""
        self.w.do(f"call void @take_newest(ptr %c, ptr {row})")

    def receiving(self) -> str:
        """Return the function that does so."""
        w, row = self.w, "%row"
        descriptor = w.load("i64", w.at(row, str(READ["descriptor"])))
        inbox = w.load("ptr", w.at(row, str(READ["inbox"])))
        size = w.i("mul", w.load("i64", w.at(row, str(READ["words"]))), "4")
        left = w.variable("i64", str(MOST))
        with w.during(lambda: w.i("icmp sgt", left.get(), "0")):
            left.set(w.i("sub", left.get(), "1"))
            most = w.i("add", size, "8")
            came = w.op(f"call i64 @receive(i64 {descriptor}, ptr {inbox}, i64 {most})")
            none = w.i("icmp slt", came, "0")
            with w.when(none):
                left.set("0")
            with self.unless(none):
                self.sort(row, inbox, came, size)
        return w.function("internal void @take_newest(ptr %c, ptr %row)", "ret void")

    def sort(self, row: str, inbox: str, came: str, size: str) -> None:
        """Count what has come, and keep it where it is sound and newer than all before."""
        w = self.w
        numbers = w.load("ptr", w.at(row, str(READ["address"])))
        sound = w.variable("i64", "0")
        with w.when(w.i("icmp sge", came, str(HEAD))):
            first = w.load("i64", inbox)  # magic number, version and flags
            known = w.i("icmp eq", first, str(MAGIC | VERSION << 32))
            schema = w.load("i64", w.at(row, str(READ["schema"])))
            same = w.i("icmp eq", schema, w.load("i64", self.inside(inbox, SCHEMA)))
            with w.when(w.op(f"and i1 {known}, {same}")):
                sound.set("1")
        foreign = self.is_(sound.get(), 0)
        with w.when(foreign):
            self.count(numbers, "foreign")
            self.add("failures")
        with self.unless(foreign):
            whole = w.variable("i64", "0")
            with w.when(w.i("icmp eq", came, size)):
                words = w.load("i64", w.at(row, str(READ["words"])))
                sum_ = w.op(f"call i64 @checksum(ptr {inbox}, i64 {words})")
                right = w.i("icmp eq", sum_, w.load("i64", self.inside(inbox, CHECKSUM)))
                plain = w.i("icmp eq", w.load("i64", self.inside(inbox, WAKES)), "0")
                both = w.op(f"and i1 {right}, {plain}")
                whole.set(w.op(f"zext i1 {both} to i64"))
            torn = self.is_(whole.get(), 0)
            with w.when(torn):
                self.count(numbers, "torn")
                self.add("failures")
            with self.unless(torn):
                self.keep(row, numbers, inbox, size)

    def keep(self, row: str, numbers: str, inbox: str, size: str) -> None:
        """Keep a sound frame where it is newer than all before."""
        w = self.w
        last_at = self.number(numbers, "came")
        last, sequence = w.load("i64", last_at), w.load("i64", self.inside(inbox, SEQUENCE))
        newer = w.i("icmp sgt", sequence, last)
        with self.unless(newer):
            self.count(numbers, "late")
        with w.when(newer):
            self.count(numbers, "received")
            with w.when(w.i("icmp sge", last, "0")):
                self.count(numbers, "lost", w.i("sub", w.i("sub", sequence, last), "1"))
            w.store("i64", sequence, last_at)
            copy = w.load("ptr", w.at(row, str(READ["copy"])))
            w.copy_words(inbox, copy, w.i("lshr", size, "3"))
            w.store("i64", "1", w.at(row, str(READ["fresh"])))

    # -- a robot's ticks ---------------------------------------------------------------------------
    def wait_for_wire(self) -> None:
        """Sleep until the peer's next frame, or until none has come for too long."""
        w = self.w
        row = self.get("wire", "ptr")
        descriptor = w.load("i64", w.at(row, str(READ["descriptor"])))
        fresh = w.at(row, str(READ["fresh"]))
        begun = w.op(f"call i64 @{NOW}()")
        now = w.variable("i64", begun)
        end = w.i("add", begun, self.get("timeout"))
        going = w.variable("i64", "1")
        with w.during(lambda: w.i("icmp ne", going.get(), "0")):
            with w.when(w.i("icmp ne", w.acquire(self.place("stop")), "0")):
                w.leave("i64", str(ENDED))
            self.receive(row)
            came = w.i("icmp ne", w.load("i64", fresh), "0")
            left = w.i("sub", end, now.get())
            over = w.i("icmp sle", left, "0")
            done = w.op(f"or i1 {came}, {over}")
            with w.when(done):
                going.set("0")
            with self.unless(done):
                nap = w.minimum(left, str(NAP))
                w.do(f"call void @await(i64 {descriptor}, i64 {nap})")
                now.set(w.op(f"call i64 @{NOW}()"))
        self.set("now", now.get())
        came = w.i("icmp ne", w.load("i64", fresh), "0")
        with self.unless(came):
            self.add("timeouts")
        with w.when(came):
            copy = w.load("ptr", w.at(row, str(READ["copy"])))
            self.count_device(now.get(), copy)

    def wire_ticked(self) -> str:
        """Return whether the peer's next frame has come already."""
        w = self.w
        row = self.get("wire", "ptr")
        self.receive(row)
        return w.i("icmp ne", w.load("i64", w.at(row, str(READ["fresh"]))), "0")

    def count_device(self, now: str, frame: str) -> None:
        """Count the ticks of a device that were not seen, and how late this one is."""
        w = self.w
        tick, last = w.load("i64", self.inside(frame, TICK)), self.get("device_tick")
        between = w.i("sub", w.i("sub", tick, last), "1")
        known = w.i("icmp sge", last, "0")
        some = w.op(f"and i1 {known}, {w.i('icmp sgt', between, '0')}")
        with w.when(some):
            self.add("missed", between)
        self.set("device_tick", tick)
        late = w.i("sub", now, w.load("i64", self.inside(frame, CLOCK)))
        late = w.op(f"select i1 {w.i('icmp sgt', late, '0')}, i64 {late}, i64 0")
        self.count_lateness(late)

    # -- what goes out -----------------------------------------------------------------------------
    def send(self, numbers: str, descriptor: str, copy: str, words: str) -> None:
        """Send a frame, whose head and payload are there but for sequence and checksum."""
        w = self.w
        went = self.number(numbers, "went")
        sequence = w.i("add", w.load("i64", went), "1")
        w.store("i64", sequence, went)
        w.store("i64", sequence, self.inside(copy, SEQUENCE))
        sum_ = w.op(f"call i64 @checksum(ptr {copy}, i64 {words})")
        w.store("i64", sum_, self.inside(copy, CHECKSUM))
        size = w.i("mul", words, "4")
        taken = w.op(f"call i64 @send_frame(i64 {descriptor}, ptr {copy}, i64 {size})")
        good = w.i("icmp eq", taken, size)
        with w.when(good):
            self.count(numbers, "sent")
        with self.unless(good):
            self.count(numbers, "unsent")
