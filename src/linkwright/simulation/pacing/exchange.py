"""What a paced loop does with windows, as LLVM IR: readings come in, snapshots go out.

A frame is read whole or not at all: its sequence is even and the same before and after, and its
checksum is right. One that is torn or damaged is counted, and what was read before it holds.
`linkwright.windows.records` describes the layout.
"""

from __future__ import annotations

from linkwright.backends.llvm.ir import Variable
from linkwright.simulation.pacing.memory import (
    COUNTED,
    ENDED,
    ENTRY,
    KINDS,
    MEASURED,
    NOW,
    READ,
    WRITE,
)
from linkwright.simulation.pacing.sockets import (
    CLOCK,
    NAP,
    SEQUENCE,
    TICK,
    WAKES,
    SocketWriter,
)
from linkwright.simulation.pacing.writer import AtomicWriter
from linkwright.windows.records import MULTIPLIER


def _conversions() -> str:
    """Return the functions that read and write a number of a kind, and that of the checksum."""
    texts: list[str] = []
    load, store = AtomicWriter(1), AtomicWriter(1)
    for number, kind in enumerate(KINDS):
        bits, real = kind[1:], kind[0] == "f"
        typed = {"f64": "double", "f32": "float"}.get(kind, f"i{bits}")
        with load.when(load.i("icmp eq", "%kind", str(number))):
            value = load.op(f"load {typed}, ptr %at, align 1")
            if kind == "f32":
                value = load.op(f"fpext float {value} to double")
            elif not real:
                how = "sitofp" if kind[0] == "i" else "uitofp"
                value = load.op(f"{how} {typed} {value} to double")
            load.leave("double", value)
        with store.when(store.i("icmp eq", "%kind", str(number))):
            value = "%value"
            if kind == "f32":
                value = store.op("fptrunc double %value to float")
            elif not real:
                how = "fptosi" if kind[0] == "i" else "fptoui"
                called = f"llvm.{how}.sat.{typed}.f64"
                texts.append(f"declare {typed} @{called}(double)\n")
                value = store.op(f"call {typed} @{called}(double %value)")
            store.do(f"store {typed} {value}, ptr %at, align 1")
    texts.append(
        load.function("internal double @load_number(ptr %at, i64 %kind)", "ret double 0.0")
    )
    texts.append(
        store.function("internal void @store_number(ptr %at, i64 %kind, double %value)", "ret void")
    )
    return "".join(texts) + _checksum()


def _checksum() -> str:
    """Return the function of the checksum: Horner's rule, in four lanes of every fourth word.

    The lanes are independent of each other, so that a processor multiplies for all at once.
    """
    w = AtomicWriter(1)
    total = w.variable("i64", "0")

    def add(to: Variable, place: str, power: int = 1) -> None:
        word = w.op(f"load i32, ptr {w.at('%frame', place, 'i32')}, align 4")
        scaled = w.i("mul", to.get(), str(_signed(MULTIPLIER**power)))
        to.set(w.i("add", scaled, w.op(f"zext i32 {word} to i64")))

    for first, last in (("0", "10"), ("12", "14")):
        with w.count(last, first) as i:
            add(total, i)
    lanes = [w.variable("i64", "0") for _ in range(3)] + [w.variable("i64", total.get())]
    groups = w.i("lshr", w.i("sub", "%words", "16"), "2")
    with w.count(groups) as i:
        start = w.i("add", w.i("shl", i, "2"), "16")
        for j, lane in enumerate(lanes):
            add(lane, w.i("add", start, str(j)), 4)
    total.set(lanes[3].get())
    for j in range(3):
        scaled = w.i("mul", lanes[j].get(), str(_signed(MULTIPLIER ** (3 - j))))
        total.set(w.i("add", total.get(), scaled))
    with w.count("%words", w.i("add", w.i("shl", groups, "2"), "16")) as i:
        add(total, i)
    return w.function("internal i64 @checksum(ptr %frame, i64 %words)", f"ret i64 {total.get()}")


def _signed(number: int) -> int:
    """Return a number modulo 2^64 as LLVM writes it."""
    return (number + 2**63) % 2**64 - 2**63


CONVERSIONS = _conversions()


class ExchangeWriter(SocketWriter):
    """Writes what is done with windows, and with wires beside them."""

    # -- what comes in -----------------------------------------------------------------------------
    def reads(self, tick: str) -> None:
        """Take what is new in the windows that are read."""
        w = self.w
        with w.count(self.get("read_count")) as i:
            row = w.at(self.get("reads", "ptr"), w.i("mul", i, str(len(READ))))
            address = w.load("ptr", w.at(row, str(READ["address"])))
            new = w.variable("i64")
            by_wire = w.i("icmp sge", w.load("i64", w.at(row, str(READ["descriptor"]))), "0")
            with w.when(by_wire):
                self.receive(row)
                new.set(w.load("i64", w.at(row, str(READ["fresh"]))))
            with self.unless(by_wire):
                seen = w.acquire(self.inside(address, SEQUENCE))
                last = w.load("i64", w.at(row, str(READ["sequence"])))
                new.set(w.op(f"zext i1 {w.i('icmp ne', seen, last)} to i64"))
            count = w.load("i64", w.at(row, str(READ["entry_count"])))
            with w.when(w.i("icmp ne", new.get(), "0")):
                fits = w.i("icmp sle", w.i("add", count, "2"), self.room())
                with self.unless(fits):
                    self.add("held")
                with w.when(w.op(f"and i1 {fits}, {by_wire}")):
                    w.store("i64", "0", w.at(row, str(READ["fresh"])))
                    self.enter(tick, row, count)
                with w.when(w.op(f"and i1 {fits}, {w.op(f'xor i1 {by_wire}, true')}")):
                    self.read(tick, row, address, count)

    def read(self, tick: str, row: str, address: str, count: str) -> None:
        """Take a frame from a window, whole."""
        w = self.w
        copy = w.load("ptr", w.at(row, str(READ["copy"])))
        words = w.load("i64", w.at(row, str(READ["words"])))
        schema = w.load("i64", w.at(row, str(READ["schema"])))
        good = w.op(f"call i64 @take_frame(ptr {address}, ptr {copy}, i64 {words}, i64 {schema})")
        sound = w.i("icmp ne", good, "0")
        with self.unless(sound):
            self.add("failures")
        with w.when(sound):
            sequence = w.load("i64", self.inside(copy, SEQUENCE))
            w.store("i64", sequence, w.at(row, str(READ["sequence"])))
            self.enter(tick, row, count)

    def enter(self, tick: str, row: str, count: str) -> None:
        """Let the frame that was taken enter the inputs that it is for."""
        w = self.w
        copy = w.load("ptr", w.at(row, str(READ["copy"])))
        entries = w.load("ptr", w.at(row, str(READ["entries"])))
        with w.count(count) as j:
            entry = w.at(entries, w.i("mul", j, str(len(ENTRY))))
            offset, kind, place = (w.load("i64", w.at(entry, str(ENTRY[n]))) for n in ENTRY.fields)
            at = w.at(copy, offset, "i8")
            value = w.op(f"call double @load_number(ptr {at}, i64 {kind})")
            self.change(tick, place, w.op(f"bitcast double {value} to i64"))
        for name, byte in (("sequence_place", SEQUENCE), ("tick_place", TICK)):
            place = w.load("i64", w.at(row, str(READ[name])))
            with w.when(w.i("icmp sge", place, "0")):
                number = w.load("i64", self.inside(copy, byte))
                double = w.op(f"sitofp i64 {number} to double")
                self.change(tick, place, w.op(f"bitcast double {double} to i64"))

    # -- a device's ticks --------------------------------------------------------------------------
    def device_ticked(self) -> str:
        """Return whether there is a whole frame that was not seen before."""
        w = self.w
        sequence = w.acquire(self.inside(self.get("device", "ptr"), SEQUENCE))
        new = w.i("icmp ne", sequence, self.get("device_sequence"))
        even = self.is_(w.i("and", sequence, "1"), 0)
        return w.op(f"and i1 {new}, {even}")

    def wait_for_device(self) -> None:
        """Sleep until the device ticks, or has not for too long; count what was not seen."""
        w = self.w
        device = self.get("device", "ptr")
        word = self.inside(device, WAKES)
        begun = w.op(f"call i64 @{NOW}()")
        now = w.variable("i64", begun)
        end = w.i("add", begun, self.get("timeout"))
        going = w.variable("i64", "1")
        with w.during(lambda: w.i("icmp ne", going.get(), "0")):
            with w.when(w.i("icmp ne", w.acquire(self.place("stop")), "0")):
                w.leave("i64", str(ENDED))
            seen = w.op(f"load atomic i32, ptr {word} acquire, align 4")
            ticked = self.device_ticked()
            left = w.i("sub", end, now.get())
            over = w.i("icmp sle", left, "0")
            done = w.op(f"or i1 {ticked}, {over}")
            with w.when(done):
                going.set("0")
            with self.unless(done):
                nap = w.minimum(left, str(NAP))
                w.do(f"call void @futex_wait(ptr %c, ptr {word}, i32 {seen}, i64 {nap})")
                now.set(w.op(f"call i64 @{NOW}()"))
        self.set("now", now.get())
        came = self.device_ticked()
        with self.unless(came):
            self.add("timeouts")
        with w.when(came):
            self.set("device_sequence", w.acquire(self.inside(device, SEQUENCE)))
            self.count_device(now.get(), device)

    # -- what goes out -----------------------------------------------------------------------------
    def counted(self) -> None:
        """Put what was counted behind the channels."""
        w = self.w
        counts = w.at(self.get("outputs", "ptr"), self.get("channels"))
        for k, name in enumerate((*COUNTED, *MEASURED)):
            number = w.op(f"sitofp i64 {self.get(name)} to double")
            if name in ("worst", *MEASURED):
                number = w.op(f"fdiv double {number}, 1.0e9")
            w.store("double", number, w.at(counts, str(k)))

    def writes(self) -> None:
        """Put what was reached into windows, and wake whoever waits for it."""
        w = self.w
        with w.count(self.get("write_count")) as i:
            row = w.at(self.get("writes", "ptr"), w.i("mul", i, str(len(WRITE))))
            every = w.load("i64", w.at(row, str(WRITE["every"])))
            rest = w.op(f"srem i64 {self.whole('k').get()}, {every}")
            with w.when(self.is_(rest, 0)):
                address, copy, entries = (
                    w.load("ptr", w.at(row, str(WRITE[n]))) for n in ("address", "copy", "entries")
                )
                words = w.load("i64", w.at(row, str(WRITE["words"])))
                with w.count(w.load("i64", w.at(row, str(WRITE["entry_count"])))) as j:
                    entry = w.at(entries, w.i("mul", j, str(len(ENTRY))))
                    offset, kind, place = (
                        w.load("i64", w.at(entry, str(ENTRY[n]))) for n in ENTRY.fields
                    )
                    inside = w.at(self.get("arena", "ptr"), w.i("xor", place, "-1"))
                    given = w.at(self.get("outputs", "ptr"), place)
                    held = w.i("icmp slt", place, "0")
                    value = w.load("double", w.op(f"select i1 {held}, ptr {inside}, ptr {given}"))
                    at = w.at(copy, offset, "i8")
                    w.do(f"call void @store_number(ptr {at}, i64 {kind}, double {value})")
                counts = w.load("i64", w.at(row, str(WRITE["instants"])))
                missed = w.i("mul", counts, self.get("missed"))
                w.store("i64", w.i("add", self.whole("k").get(), missed), self.inside(copy, TICK))
                w.store("i64", self.get("now"), self.inside(copy, CLOCK))
                descriptor = w.load("i64", w.at(row, str(WRITE["descriptor"])))
                by_wire = w.i("icmp sge", descriptor, "0")
                with w.when(by_wire):
                    self.send(address, descriptor, copy, words)
                with self.unless(by_wire):
                    self.show(row, address, copy, words)

    def show(self, row: str, address: str, copy: str, words: str) -> None:
        """Put a frame into a window; head and payload are there but for sequence and checksum."""
        w = self.w
        w.do(f"call void @put_frame(ptr {address}, ptr {copy}, i64 {words})")
        with w.when(w.i("icmp ne", w.load("i64", w.at(row, str(WRITE["wake"]))), "0")):
            word = self.inside(address, WAKES)
            w.op(f"atomicrmw add ptr {word}, i32 1 seq_cst")
            w.do(f"call void @futex_wake(ptr %c, ptr {word})")
