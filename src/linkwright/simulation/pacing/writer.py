"""What the native functions of a paced loop are written with: shared memory, and its fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linkwright.backends.llvm.ir import IrWriter, Variable
from linkwright.simulation.native.tables import WHOLE
from linkwright.simulation.pacing.memory import BUCKETS, CONTROL, SUBDIVISIONS, TAPED


class AtomicWriter(IrWriter):
    """Writes functions that share memory with other threads."""

    def acquire(self, address: str) -> str:
        """Return what lies at an address; what was written before it is seen afterwards."""
        return self.op(f"load atomic i64, ptr {address} acquire, align 8")

    def release(self, value: str, address: str) -> None:
        """Write to an address, after everything before."""
        self.do(f"store atomic i64 {value}, ptr {address} release, align 8")

    def copy_words(self, source: str, target: str, count: str) -> None:
        """Copy 8-byte words."""
        size = self.i("mul", count, "8")
        self.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"
        )


class LoopWriter:
    """Writes on the memory of one loop."""

    def __init__(self) -> None:
        self.w = AtomicWriter(1)

    # -- small things ------------------------------------------------------------------------------
    def place(self, name: str) -> str:
        """Return the address of a field."""
        return self.w.at("%c", str(CONTROL[name]))

    def get(self, name: str, kind: str = "i64") -> str:
        return self.w.load(kind, self.place(name))

    def set(self, name: str, value: str) -> None:
        self.w.store("i64", value, self.place(name))

    def add(self, name: str, value: str = "1") -> None:
        self.set(name, self.w.i("add", self.get(name), value))

    def whole(self, name: str) -> Variable:
        w = self.w
        return Variable(w, w.at(self.get("whole", "ptr"), str(WHOLE[name])), "i64")

    def array(self, name: str) -> str:
        """Return the address of an array of the machine."""
        w = self.w
        return w.at(self.get("arena", "ptr"), self.get(f"{name}_at"), "double")

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        with self.w.when(self.w.op(f"xor i1 {condition}, true")):
            yield

    def is_(self, value: str, number: int | str) -> str:
        return self.w.i("icmp eq", value, str(number))

    # -- what all parts of a loop do --------------------------------------------------------------
    def room(self) -> str:
        """Return how many changes the tape has room for."""
        w = self.w
        used = w.i("sub", self.get("tape_head"), w.acquire(self.place("tape_tail")))
        return w.i("sub", w.i("add", self.get("tape_mask"), "1"), used)

    def change(self, tick: str, where: str, bits: str) -> None:
        """Write a number into the machine and onto the tape, where it is another one."""
        w = self.w
        inside = w.load("i64", w.at(self.get("places", "ptr"), where))
        place = w.at(self.get("arena", "ptr"), inside)
        with w.when(w.i("icmp ne", w.load("i64", place), bits)):
            w.store("i64", bits, place)
            self.write_tape(tick, where, bits)
            self.set("dirty", "1")
            with w.when(w.i("icmp slt", where, self.get("parameters"))):
                self.set("prepares", "1")

    def write_tape(self, tick: str, where: str, bits: str) -> None:
        """Leave a change on the tape, which must have room."""
        w = self.w
        head = self.get("tape_head")
        at = w.i("and", head, self.get("tape_mask"))
        row = w.at(self.get("tape", "ptr"), w.i("mul", at, str(len(TAPED))))
        for name, value in (("tick", tick), ("place", where), ("value", bits)):
            w.store("i64", value, w.at(row, str(TAPED[name])))
        w.release(w.i("add", head, "1"), self.place("tape_head"))

    def count_lateness(self, late: str) -> None:
        """Put a lateness into the histogram: linear at first, then so many parts a doubling."""
        w = self.w
        self.add("lateness", late)
        self.set("tardy", late)
        worst = w.i("icmp sgt", late, self.get("worst"))
        self.set("worst", w.op(f"select i1 {worst}, i64 {late}, i64 {self.get('worst')}"))
        bits = SUBDIVISIONS.bit_length() - 1
        raised = w.i("or", late, str(SUBDIVISIONS))
        zeros = w.op(f"call i64 @llvm.ctlz.i64(i64 {raised}, i1 false)")
        shift = w.i("sub", str(63 - bits), zeros)
        inside = w.i("lshr", late, shift)
        bucket = w.i("add", w.i("mul", shift, str(SUBDIVISIONS)), inside)
        most = w.minimum(bucket, str(BUCKETS - 1))
        place = w.at(self.get("histogram", "ptr"), most)
        w.store("i64", w.i("add", w.load("i64", place), "1"), place)
