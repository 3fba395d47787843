"""Lines of IR text: the module that they go into, and the instructions that are plain.

What is plain stands for itself, whatever is around it: arithmetic, conditions, functions, tables
and foreign calls. Loops, calls of other Programs and groups of sines are written by
`linkwright.backends.llvm.codegen`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from linkwright.algebra.foreign import ForeignCall
from linkwright.backends.foreign import same_call
from linkwright.backends.llvm.externals import LlvmExternals
from linkwright.backends.llvm.functions import inline
from linkwright.backends.llvm.functions.emitter import float_literal, suffix, value_type, vector_of
from linkwright.program.code import CONDITIONS, Code, Instruction

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}


@dataclass(slots=True)
class IrModule:
    """IR text that grows: function definitions, and declarations that are written once."""

    scalar: str
    packed_lanes: int = 1
    functions: list[str] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)
    called: dict[Code, str] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    externals: LlvmExternals = field(default_factory=LlvmExternals)

    def declare(self, texts: Iterable[str]) -> None:
        """Add module-level texts that are not there yet."""
        self.declarations.update(dict.fromkeys(texts))

    def constants(self, values: Sequence[float], element: str) -> str:
        """Return the address of an array of numbers, which is written once."""
        numbers = ", ".join(f"{element} {float_literal(v, self.scalar)}" for v in values)
        name = self.arrays.setdefault(numbers, f"@numbers.{len(self.arrays)}")
        kind = f"[{len(values)} x {element}]"
        self.declare([f"{name} = private unnamed_addr constant {kind} [{numbers}], align 64"])
        return name

    def text(self) -> str:
        """Return the whole module."""
        return "\n".join([*self.declarations, *self.externals.texts(), *self.functions, ""])


class Lines:
    """The lines of one function while they are written."""

    def __init__(
        self,
        module: IrModule,
        code: Code,
        width: int,
        *,
        slots: dict[int, int] | None = None,
        by_id: dict[int, Instruction] | None = None,
    ) -> None:
        self.reserved = 0
        self.module = module
        self.code = code
        self.width = width
        self.scalar = module.scalar
        self.kind = value_type(module.scalar, width)
        self.element = value_type(module.scalar, 1)
        self.suffix = suffix(module.scalar, width)
        self.align = 8 if module.scalar == "f64" else 4
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.refs: dict[int, str] = {}
        self.serial = 0
        self.label = "entry"
        self.slots = {} if slots is None else slots
        self.by_id = {} if by_id is None else by_id
        self.weights: dict[str, str] = {}
        self.foreign_calls: dict[tuple[object, ...], list[str]] = {}

    def function(self, head: str, end: str) -> str:
        """Return the text of the whole function."""
        body = "\n".join([*self.allocas, *self.lines, end])
        return f"{head} {{\nentry:\n{body}\n}}\n"

    # -- small pieces ------------------------------------------------------------------------------
    def fresh(self, text: str) -> str:
        self.serial += 1
        name = f"%t{self.serial}"
        self.lines.append(f"  {name} = {text}")
        return name

    def literal(self, value: float) -> str:
        text = float_literal(value, self.scalar)
        return text if self.width == 1 else f"splat ({self.element} {text})"

    def component(self, array: str, j: int) -> str:
        if j == 0:
            return array
        return self.fresh(f"getelementptr {self.element}, ptr {array}, i64 {j * self.width}")

    def load(self, pointer: str) -> str:
        return self.fresh(f"load {self.kind}, ptr {pointer}, align {self.align}")

    def store(self, value: str, pointer: str) -> None:
        self.lines.append(f"  store {self.kind} {value}, ptr {pointer}, align {self.align}")

    def reserve(self, count: int) -> str:
        """Return the address of an array of values on the stack."""
        self.serial += 1
        self.reserved += count * self.width * self.align
        name = f"%m{self.serial}"
        self.allocas.append(f"  {name} = alloca [{count} x {self.kind}], align 64")
        return name

    def slot(self, array: str, index: str) -> str:
        return self.fresh(f"getelementptr {self.kind}, ptr {array}, i64 {index}")

    def block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def ref(self, i: int) -> str:
        """Return the operand of a value, fetching inputs, constants and handed-over values."""
        known = self.refs.get(i)
        if known is not None:
            return known
        if i in self.slots:
            value = self.load(self.slot("%work", str(self.slots[i])))
            if self.by_id[i].op in CONDITIONS:
                value = self.fresh(f"fcmp une {self.kind} {value}, {self.literal(0.0)}")
        else:
            self.plain(self.by_id[i])
            value = self.refs[i]
        self.refs[i] = value
        return value

    # -- plain instructions ------------------------------------------------------------------------
    def plain(self, i: Instruction) -> None:
        op = i.op
        if op == "const":
            self.refs[i.id] = self.literal(i.data)
            return
        if op == "input":
            port, j = i.data
            self.refs[i.id] = self.load(self.component(f"%a{port}", j))
            return
        args = [self.ref(a) for a in i.args]
        if op in _BINARY:
            value = self.fresh(f"{_BINARY[op]} {self.kind} {args[0]}, {args[1]}")
        elif op in ("fma", "fms", "fnma"):
            value = self.fused(op, *args)
        elif op == "neg":
            value = self.fresh(f"fneg {self.kind} {args[0]}")
        elif op in _COMPARE:
            value = self.fresh(f"fcmp {_COMPARE[op]} {self.kind} {args[0]}, {args[1]}")
        elif op in ("and", "or"):
            value = self.joined(op, *args)
        elif op == "not":
            value = self.fresh(f"xor {self.truth} {args[0]}, {self.true}")
        elif op == "number":
            value = self.as_number(args[0])
        elif op == "select":
            value = self.fresh(
                f"select {self.truth} {args[0]}, {self.kind} {args[1]}, {self.kind} {args[2]}"
            )
        elif op in ("table1", "table2", "foreign"):
            value = self.external(i, args)
        else:
            value = self.function_call(op, args)
        self.refs[i.id] = value

    def joined(self, op: str, a: str, b: str) -> str:
        """Return whether both conditions hold, or one of two.

        A truth value in a general register makes branches of the selects that read it. So, other
        than in vectors, conditions are joined as numbers, of which any but zero is true.
        """
        if self.width > 1:
            return self.fresh(f"{op} {self.truth} {a}, {b}")
        weights = [self.weights.get(x) or self.as_number(x) for x in (a, b)]
        self.weights |= dict(zip((a, b), weights, strict=True))
        rule = "fmul" if op == "and" else "fadd"
        found = self.fresh(f"{rule} {self.kind} {weights[0]}, {weights[1]}")
        value = self.fresh(f"fcmp une {self.kind} {found}, {self.literal(0.0)}")
        self.weights[value] = found
        return value

    def as_number(self, condition: str) -> str:
        one, zero = self.literal(1.0), self.literal(0.0)
        return self.fresh(f"select {self.truth} {condition}, {self.kind} {one}, {self.kind} {zero}")

    @property
    def truth(self) -> str:
        return vector_of("i1", self.width)

    @property
    def true(self) -> str:
        return "true" if self.width == 1 else "splat (i1 true)"

    def fused(self, op: str, a: str, b: str, c: str) -> str:
        if op == "fms":
            c = self.fresh(f"fneg {self.kind} {c}")
        elif op == "fnma":
            a = self.fresh(f"fneg {self.kind} {a}")
        values = f"{self.kind} {a}, {self.kind} {b}, {self.kind} {c}"
        return self.fresh(f"call {self.kind} @llvm.fma.{self.suffix}({values})")

    def function_call(self, op: str, args: list[str]) -> str:
        self.serial += 1
        lines, results = inline(op, self.scalar, self.width, args, f"f{self.serial}.")
        self.lines.extend(lines)
        return results[0]

    def external(self, i: Instruction, args: list[str]) -> str:
        """Write a table look-up or a foreign call, lane by lane."""
        if i.op == "foreign":
            return self.foreign(i.data, args)
        name = self.module.externals.table(i.op, i.data, self.scalar)
        values = [
            self.fresh(f"call {self.element} @{name}({', '.join(lane)})")
            for lane in self.lanes_of(args)
        ]
        return self.gathered(values)

    def foreign(self, data: ForeignCall, args: list[str]) -> str:
        """Write a foreign call, once for all its outputs, and return one of them."""
        key = same_call(data, args)
        if key not in self.foreign_calls:
            name = self.module.externals.foreign(data.function, self.scalar)
            array = self.reserve(data.function.outputs)
            lanes: list[list[str]] = []
            for lane in self.lanes_of(args):
                self.lines.append(f"  call void @{name}({', '.join(lane)}, ptr {array})")
                lanes.append([])
                for k in range(data.function.outputs):
                    place = self.fresh(f"getelementptr {self.element}, ptr {array}, i64 {k}")
                    lanes[-1].append(
                        self.fresh(f"load {self.element}, ptr {place}, align {self.align}")
                    )
            self.foreign_calls[key] = [
                self.gathered([lane[k] for lane in lanes]) for k in range(data.function.outputs)
            ]
        return self.foreign_calls[key][data.output]

    def lanes_of(self, args: list[str]) -> Iterator[list[str]]:
        """Yield typed operands for each lane."""
        if self.width == 1:
            yield [f"{self.element} {a}" for a in args]
            return
        for lane in range(self.width):
            yield [
                f"{self.element} " + self.fresh(f"extractelement {self.kind} {a}, i32 {lane}")
                for a in args
            ]

    def gathered(self, values: list[str]) -> str:
        """Return one value from those of the lanes."""
        if self.width == 1:
            return values[0]
        result = "poison"
        for lane, value in enumerate(values):
            result = self.fresh(
                f"insertelement {self.kind} {result}, {self.element} {value}, i32 {lane}"
            )
        return result
