"""LLVM IR with loops and conditions, for what is written by hand or from a routine.

Kernels come from Programs. An `IrWriter` gives other functions the shape of ordinary code:
variables on the stack, `when` and `during` as blocks. It works on values of W lanes (`W = 1` for
plain numbers), so that one text serves single runs and batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from linkwright.backends.llvm.functions.emitter import float_literal, vector_of

TOGETHER = 8
"""Values that are copied at once."""


@dataclass(slots=True)
class IrWriter:
    """The lines of one function while they are written.

    >>> w = IrWriter(1)
    >>> total = w.variable("i64", "0")
    >>> with w.count("10") as i:
    ...     total.set(w.op(f"add i64 {total.get()}, {i}"))
    >>> text = w.function("i64 @sum()", f"ret i64 {total.get()}")
    >>> text.splitlines()[0]
    'define i64 @sum() nounwind {'
    """

    width: int
    lines: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    serial: int = 0
    together: int = TOGETHER  # values that are copied at once

    # -- types -------------------------------------------------------------------------------------
    @property
    def value(self) -> str:
        """The type of a value."""
        return vector_of("double", self.width)

    @property
    def integer(self) -> str:
        """The type of 64-bit integers, one for each lane."""
        return vector_of("i64", self.width)

    @property
    def truth(self) -> str:
        """The type of a comparison of values."""
        return vector_of("i1", self.width)

    def number(self, value: float) -> str:
        """Return a constant, the same in each lane."""
        text = float_literal(value, "f64")
        return text if self.width == 1 else f"splat (double {text})"

    def whole(self, value: int) -> str:
        """Return an integer constant, the same in each lane."""
        return str(value) if self.width == 1 else f"splat (i64 {value})"

    # -- lines -------------------------------------------------------------------------------------
    def fresh(self, stem: str = "v") -> str:
        """Return a name that was not used before."""
        self.serial += 1
        return f"{stem}{self.serial}"

    def op(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(f"  {text}")

    def reserve(self, kind: str, count: int = 1) -> str:
        """Return the address of memory on the stack."""
        name = f"%{self.fresh('m')}"
        self.stack.append(f"  {name} = alloca {kind}, i64 {count}, align 64")
        return name

    def variable(self, kind: str, value: str | None = None) -> Variable:
        """Return a variable, with a value from here on."""
        made = Variable(self, self.reserve(kind), kind)
        if value is not None:
            made.set(value)
        return made

    def load(self, kind: str, address: str) -> str:
        """Return what lies at an address."""
        return self.op(f"load {kind}, ptr {address}, align 8")

    def store(self, kind: str, value: str, address: str) -> None:
        """Write to an address."""
        self.do(f"store {kind} {value}, ptr {address}, align 8")

    def at(self, base: str, index: str, kind: str = "i64") -> str:
        """Return the address of an element of an array."""
        return self.op(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def splat(self, value: str, kind: str = "double", lanes: str = "") -> str:
        """Return a value in each lane."""
        if self.width == 1:
            return value
        vector = lanes or self.value
        one = self.op(f"insertelement {vector} poison, {kind} {value}, i32 0")
        mask = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {vector} {one}, {vector} poison, {mask}")

    def copy(self, source: str, target: str, count: str, mask: str | None = None) -> None:
        """Copy values, where there is a mask only in its lanes."""
        start = "0"
        if mask is None and self.together > 1:
            several = f"<{self.together * self.width} x double>"
            with self.count(self.i("sdiv", count, str(self.together))) as i:
                found = self.load(several, self.at(source, i, several))
                self.store(several, found, self.at(target, i, several))
            start = self.i("sub", count, self.i("srem", count, str(self.together)))
        with self.count(count, start) as i:
            new = self.load(self.value, self.at(source, i, self.value))
            place = self.at(target, i, self.value)
            if mask is not None:
                new = self.select(mask, new, self.load(self.value, place))
            self.store(self.value, new, place)

    def f(self, operation: str, first: str, second: str) -> str:
        """Return the result of an operation on two values: fadd, fmul, fcmp olt, ..."""
        return self.op(f"{operation} {self.value} {first}, {second}")

    def i(self, operation: str, first: str, second: str) -> str:
        """Return the result of an operation on two 64-bit integers: add, icmp slt, ..."""
        return self.op(f"{operation} i64 {first}, {second}")

    def select(self, condition: str, yes: str, no: str) -> str:
        """Return in each lane one of two values."""
        return self.op(f"select {self.truth} {condition}, {self.value} {yes}, {self.value} {no}")

    def some(self, condition: str) -> str:
        """Return whether a comparison holds in any lane."""
        if self.width == 1:
            return condition
        bits = self.op(f"bitcast {self.truth} {condition} to i{self.width}")
        return self.op(f"icmp ne i{self.width} {bits}, 0")

    def minimum(self, first: str, second: str) -> str:
        """Return the smaller of two 64-bit integers."""
        less = self.i("icmp slt", first, second)
        return self.op(f"select i1 {less}, i64 {first}, i64 {second}")

    # -- blocks ------------------------------------------------------------------------------------
    def label(self, name: str) -> None:
        """Start a block, falling into it from what is above."""
        self.lines.append(f"  br label %{name}")
        self.lines.append(f"{name}:")

    def jump(self, name: str) -> None:
        """Go on elsewhere; what follows is reached by other ways only."""
        self.do(f"br label %{name}")
        self.lines.append(f"{self.fresh('dead')}:")

    def leave(self, kind: str, value: str) -> None:
        """Return from the function."""
        self.do(f"ret {kind} {value}")
        self.lines.append(f"{self.fresh('dead')}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Do something where a condition holds."""
        yes, end = self.fresh("yes"), self.fresh("end")
        self.do(f"br i1 {condition}, label %{yes}, label %{end}")
        self.lines.append(f"{yes}:")
        yield
        self.label(end)

    @contextmanager
    def during(self, condition: Callable[[], str]) -> Iterator[str]:
        """Do something as long as a condition holds; gives the label behind the loop."""
        head, body, end = self.fresh("head"), self.fresh("body"), self.fresh("end")
        self.label(head)
        self.do(f"br i1 {condition()}, label %{body}, label %{end}")
        self.lines.append(f"{body}:")
        yield end
        self.do(f"br label %{head}")
        self.lines.append(f"{end}:")

    @contextmanager
    def count(self, end: str, start: str = "0") -> Iterator[str]:
        """Do something for each integer from a start up to an end."""
        index = self.variable("i64", start)
        with self.during(lambda: self.i("icmp slt", index.get(), end)):
            now = index.get()
            yield now
            index.set(self.i("add", now, "1"))

    def function(self, head: str, *end: str) -> str:
        """Return the text of the whole function, with its last instructions."""
        body = "\n".join([*self.stack, *self.lines, *(f"  {line}" for line in end)])
        return f"define {head} nounwind {{\nentry:\n{body}\n}}\n"


@dataclass(frozen=True, slots=True)
class Variable:
    """A value on the stack, or anywhere in memory, that changes."""

    writer: IrWriter
    address: str
    kind: str

    def get(self) -> str:
        """Return what it is now."""
        return self.writer.load(self.kind, self.address)

    def set(self, value: str) -> None:
        """Change it."""
        self.writer.store(self.kind, value, self.address)
