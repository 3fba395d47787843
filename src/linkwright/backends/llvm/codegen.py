"""From primitive code to LLVM IR text.

One function is written for one block of W lanes: it takes a pointer for each input and each
output, inputs first, and component j of an array lies at `data + j*W` elements, W values side by
side. With W = 1 that is the scalar kernel; with W the lanes of a register it is the core that the
entries for batches call (see `linkwright.backends.llvm.entries`).

The text is written directly, because llvmlite's IR builder is several times dearer, and no IR pass
runs after it: the Program has been made small already. Sines and cosines of angles that are known
together share one range check (`functions.guarded_group`). A function that would be long is split
into parts of a thousand instructions that hand values over in a workspace
(`linkwright.backends.parts`), because register allocation in one huge function is slower than
linear. So is one with hundreds of range checks, from angles that depend on other angles in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra.foreign import ForeignCall
from linkwright.backends.arrays import Arrays, ConstantArray, InputArray, Source, StackArray
from linkwright.backends.foreign import same_call
from linkwright.backends.llvm.externals import Externals
from linkwright.backends.llvm.functions import guarded_group, inline
from linkwright.backends.llvm.functions.emitter import float_literal, suffix, value_type, vector_of
from linkwright.backends.parts import cut, reads, results_at_their_source
from linkwright.errors import CompileError
from linkwright.program.code import CONDITIONS, Code, Instruction, LoopCode

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_GUARDED = ("sin", "cos", "tan")
_WHOLE = 20_000  # instructions up to which a kernel is one function
_PART = 1_000  # instructions in each part of a longer one
_FILLED = 12  # neighbouring outputs with one constant from which on a loop fills them
_WHOLE_CHECKS = 100  # range checks up to which it is, as each of them is three basic blocks
_STACK = 4 << 20  # bytes of arrays in one kernel
_PART_CHECKS = 50  # range checks in each part of one that has more


@dataclass(slots=True)
class Module:
    """IR text that grows: function definitions, and declarations that are written once."""

    scalar: str
    packed_lanes: int = 1
    functions: list[str] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)
    called: dict[Code, str] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    externals: Externals = field(default_factory=Externals)

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


def write_function(
    module: Module, code: Code, name: str, width: int, *, internal: bool = False
) -> None:
    """Add the function of a lowered Program for blocks of `width` lanes.

    Args:
        module: where the text goes.
        code: what the function computes.
        name: its name.
        width: lanes; 1 for scalars.
        internal: whether only this module calls it.
    """
    arrays = [f"%a{k}" for k in range(len(code.inputs) + len(code.outputs))]
    plan, checks = _split_trigonometry(code.instructions)
    found = Arrays(code, calls=True)
    short = [i for i in plan if i.id not in found.unread]
    parameters = ", ".join(f"ptr noalias nocapture {a}" for a in arrays)
    linkage = "internal " if internal else ""
    # vectors that are spilt must not straddle lines of the cache
    aligned = " alignstack(64)" if width > 1 else ""
    head = f"define {linkage}void @{name}({parameters}) nounwind{aligned}"
    work = sum(i.op not in ("const", "input", "result") for i in short)
    length = _part_length(work, checks)
    if length >= work:
        body = _Body(module, code, width, in_place=found)
        body.instructions(short)
        body.refuse_huge()
        module.functions.append(body.function(head, "  ret void"))
    else:
        _write_in_parts(module, code, plan, length, name, width, head, arrays)


# -- long kernels ----------------------------------------------------------------------------------
def _part_length(size: int, checks: int) -> int:
    """Return the number of instructions in each part of a kernel, all of them if it is not long."""
    if checks > _WHOLE_CHECKS:
        return min(_PART, max(1, size * _PART_CHECKS // checks))
    return size if size <= _WHOLE else _PART


def _write_in_parts(
    module: Module,
    code: Code,
    plan: Sequence[Instruction],
    length: int,
    name: str,
    width: int,
    head: str,
    arrays: Sequence[str],
) -> None:
    """Write a long kernel as parts that pass values through a workspace."""
    made = cut(plan, length)
    parameters = ", ".join(f"ptr noalias nocapture {a}" for a in (*arrays, "%work"))
    passed = ", ".join(f"ptr {a}" for a in (*arrays, "%work"))
    calls = []
    for k, part in enumerate(made.parts):
        body = _Body(module, code, width, slots=part.slots, by_id=made.by_id)
        body.instructions(part.instructions)
        module.functions.append(
            body.function(
                f"define internal void @{name}.{k}({parameters}) nounwind noinline", "  ret void"
            )
        )
        calls.append(f"  call void @{name}.{k}({passed})")
    kind = value_type(module.scalar, width)
    lines = [f"  %work = alloca [{max(made.size, 1)} x {kind}], align 64", *calls, "  ret void"]
    module.functions.append(f"{head} {{\nentry:\n" + "\n".join(lines) + "\n}\n")


def _split_trigonometry(instructions: Sequence[Instruction]) -> tuple[list[Instruction], int]:
    """Return the instructions with angles that can be known early first, and the range checks.

    What the first angles need stands at the head, then their sines and cosines, then what the
    angles that depend on these need, and so on: each group costs one range check.
    """
    level: dict[int, int] = {}
    deepest = 0
    for i in instructions:
        own = max([level.get(a, 0) for a in reads(i)], default=0)
        if i.op in _GUARDED:
            own += 1
            deepest = max(deepest, own)
        level[i.id] = own
    if deepest == 0:
        return list(instructions), 0
    # `need` is the first group that an instruction has to stand before.
    need: dict[int, int] = {}
    for i in reversed(instructions):
        own = level[i.id] if i.op in _GUARDED else need.setdefault(i.id, deepest + 1)
        for a in reads(i):
            need[a] = min(need.get(a, own), own)

    def place(i: Instruction) -> tuple[int, bool]:
        guarded = i.op in _GUARDED
        return (level[i.id] if guarded else need[i.id], guarded)

    return results_at_their_source(sorted(instructions, key=place)), deepest


# -- one function ----------------------------------------------------------------------------------
class _Body:
    """The lines of one function while they are written."""

    def __init__(
        self,
        module: Module,
        code: Code,
        width: int,
        *,
        slots: dict[int, int] | None = None,
        by_id: dict[int, Instruction] | None = None,
        in_place: Arrays | None = None,
    ) -> None:
        self.in_place = in_place
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
        self.results: dict[int, list[tuple[str, int]]] = {}
        self.stacks: dict[int, list[str]] = {}
        self.foreign_calls: dict[tuple[object, ...], list[str]] = {}
        self.inputs = {i.id: i.data for i in code.instructions if i.op == "input"}
        self.stores: dict[int, list[tuple[int, int]]] = {}
        for p, (_, ids) in enumerate(code.outputs):
            for j, i in enumerate(ids):
                self.stores.setdefault(i, []).append((len(code.inputs) + p, j))

    def function(self, head: str, end: str) -> str:
        """Return the text of the whole function."""
        body = "\n".join([*self.allocas, *self.lines, end])
        return f"{head} {{\nentry:\n{body}\n}}\n"

    def refuse_huge(self) -> None:
        """Refuse a kernel whose arrays would not fit on the stack of a thread."""
        if self.reserved > _STACK:
            raise CompileError(
                f"the loops of {self.code.name!r} need {self.reserved >> 20} MB of arrays, more "
                f"than the {_STACK >> 20} MB that a kernel has",
                remedy="evaluate one state at a time, or use fewer lanes",
            )

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

    # -- instructions ------------------------------------------------------------------------------
    def instructions(self, instructions: Sequence[Instruction]) -> None:
        """Write instructions; neighbouring sines, cosines and tangents become one group."""
        position = 0
        while position < len(instructions):
            first = instructions[position]
            if first.op in _GUARDED:
                end = position
                group: set[int] = set()
                while end < len(instructions) and instructions[end].op in _GUARDED:
                    if not group.isdisjoint(instructions[end].args):
                        break  # the sine of a sine has to wait
                    group.add(instructions[end].id)
                    end += 1
                self.trigonometry(instructions[position:end])
                position = end
                continue
            self.one(first)
            position += 1

    def one(self, i: Instruction) -> None:
        if i.op == "loop":
            self.loop(i)
        elif i.op == "call":
            self.call(i)
        elif i.op == "result":
            self.refs[i.id] = self.load(self.result_address(i))
        else:
            self.plain(i)
        self.finish(i)

    def finish(self, i: Instruction) -> None:
        """Store a value that is an output or that a later part of the kernel needs."""
        places = self.stores.get(i.id, ())
        if i.op == "const" and len(places) >= _FILLED:
            places = self.filled(self.ref(i.id), places)
        for array, j in places:
            value = self.ref(i.id)
            self.store(value, self.component(f"%a{array}", j))
        if i.id in self.slots:
            value = self.refs[i.id]
            if i.op in CONDITIONS:
                value = self.as_number(value)
            self.store(value, self.slot("%work", str(self.slots[i.id])))

    def filled(self, value: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Fill long runs of outputs with a constant, in loops; return the places that are left.

        LLVM takes long over blocks with thousands of stores of the same constant.
        """
        rest: list[tuple[int, int]] = []
        for run in _runs(places):
            if len(run) < _FILLED:
                rest += run
                continue
            array, first = run[0]
            base = self.component(f"%a{array}", first)
            self.serial += 1
            name, before = f"f{self.serial}", self.label
            self.lines.append(f"  br label %{name}.head")
            self.block(f"{name}.head")
            self.lines.append(
                f"  %{name}.i = phi i64 [ 0, %{before} ], [ %{name}.n, %{name}.head ]"
            )
            self.store(value, self.slot(base, f"%{name}.i"))
            self.lines.append(f"  %{name}.n = add i64 %{name}.i, 1")
            more = self.fresh(f"icmp slt i64 %{name}.n, {len(run)}")
            self.lines.append(f"  br i1 {more}, label %{name}.head, label %{name}.done")
            self.block(f"{name}.done")
        return rest

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
            value = self.fresh(f"{op} {self.truth} {args[0]}, {args[1]}")
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

    def trigonometry(self, group: Sequence[Instruction]) -> None:
        """Write a group of sines, cosines and tangents with one range check."""
        wanted: dict[int, set[str]] = {}
        for i in group:
            wanted.setdefault(i.args[0], set()).add(i.op)
        requests: list[tuple[str, str]] = []
        place: dict[tuple[int, str], tuple[int, int]] = {}
        for angle, ops in wanted.items():
            operand = self.ref(angle)
            if {"sin", "cos"} <= ops:
                place[angle, "sin"] = (len(requests), 0)
                place[angle, "cos"] = (len(requests), 1)
                requests.append(("sincos", operand))
                ops = ops - {"sin", "cos"}
            for op in sorted(ops):
                place[angle, op] = (len(requests), 0)
                requests.append((op, operand))
        self.serial += 1
        lanes = self.module.packed_lanes if self.width == 1 else 1
        written = guarded_group(self.scalar, self.width, requests, f"g{self.serial}.", lanes=lanes)
        self.lines.extend(written.lines)
        self.label = written.label
        self.module.declare(written.definitions)
        for i in group:
            request, result = place[i.args[0], i.op]
            self.refs[i.id] = written.results[request][result]
            self.finish(i)

    # -- loops and calls ---------------------------------------------------------------------------
    def loop(self, i: Instruction) -> None:
        """Write a loop: arrays on the stack, carried values in registers."""
        data: LoopCode = i.data
        carried = len(data.carried)
        initial = [self.ref(a) for a in i.args[:carried]]
        arrays = self.scanned(i)
        stacks = [self.reserve(data.count) for _ in data.stacked]
        finals = self.reserve(max(carried, 1))
        for a in reads(replace(i, args=())):  # what the body reads is fetched before it
            self.ref(a)
        self.serial += 1
        name = f"l{self.serial}"
        before = self.label
        self.lines.append(f"  br label %{name}.head")
        self.block(f"{name}.head")
        where = len(self.lines)
        index = f"%{name}.i"
        for k, inner in enumerate(data.carried):
            self.refs[inner] = f"%{name}.c{k}"
        for inner, array in zip(data.scanned, arrays, strict=True):
            self.refs[inner] = self.element_of(array, index)
        self.instructions(_split_trigonometry(data.body)[0])
        following = [self.ref(a) for a in data.following]
        for a, stack in zip(data.stacked, stacks, strict=True):
            self.store(self.ref(a), self.slot(stack, index))
        step = self.fresh(f"add i64 {index}, 1")
        more = self.fresh(f"icmp slt i64 {step}, {data.count}")
        after = self.label
        phis = [f"  {index} = phi i64 [ 0, %{before} ], [ {step}, %{after} ]"]
        for k, (start, value) in enumerate(zip(initial, following, strict=True)):
            phis.append(
                f"  %{name}.c{k} = phi {self.kind} [ {start}, %{before} ], [ {value}, %{after} ]"
            )
        self.lines[where:where] = phis
        self.lines.append(f"  br i1 {more}, label %{name}.head, label %{name}.done")
        self.block(f"{name}.done")
        for k, value in enumerate(following):
            self.store(value, self.slot(finals, str(k)))
        self.stacks[i.id] = stacks
        self.results[i.id] = [
            *((finals, k) for k in range(carried)),
            *((stack, turn) for stack in stacks for turn in range(data.count)),
        ]

    def scanned(self, i: Instruction) -> list[tuple[str, Source | None]]:
        """Return the addresses of the arrays that a loop reads; some are written for it here."""
        data: LoopCode = i.data
        sources: Sequence[Source | None] = [None] * len(data.scanned)
        if self.in_place is not None:
            sources = self.in_place.sources(i)
        arrays: list[tuple[str, Source | None]] = []
        for k, source in enumerate(sources):
            if isinstance(source, InputArray):
                arrays.append((f"%a{source.port}", source))
            elif isinstance(source, StackArray):
                arrays.append((self.stacks[source.loop][source.stack], source))
            elif isinstance(source, ConstantArray):
                arrays.append((self.module.constants(source.values, self.element), source))
            else:
                array = self.reserve(data.count)
                first = len(data.carried) + k * data.count
                for turn, a in enumerate(i.args[first : first + data.count]):
                    self.store(self.ref(a), self.slot(array, str(turn)))
                arrays.append((array, None))
        return arrays

    def element_of(self, array: tuple[str, Source | None], index: str) -> str:
        """Return the value of an array in one turn."""
        address, source = array
        if source is None:
            return self.load(self.slot(address, index))
        if isinstance(source, ConstantArray):
            place = self.fresh(f"getelementptr {self.element}, ptr {address}, i64 {index}")
            value = self.fresh(f"load {self.element}, ptr {place}, align {self.align}")
            return self.gathered([value] * self.width)
        if source.step != 1:
            index = self.fresh(f"mul i64 {index}, {source.step}")
        if source.first:
            index = self.fresh(f"add i64 {index}, {source.first}")
        if isinstance(source, StackArray):
            return self.load(self.slot(address, index))
        if self.width > 1:
            index = self.fresh(f"mul i64 {index}, {self.width}")
        return self.load(self.fresh(f"getelementptr {self.element}, ptr {address}, i64 {index}"))

    def call(self, i: Instruction) -> None:
        """Write a call of another Program's function, arguments and results on the stack."""
        code: Code = i.data
        name = self.module.called.get(code)
        if name is None:
            name = f"called.{len(self.module.called)}.w{self.width}"
            self.module.called[code] = name
            write_function(self.module, code, name, self.width, internal=True)
        pointers = []
        outputs = [self.reserve(max(port.size, 1)) for port, _ in code.outputs]
        first = 0
        sources: Sequence[Source | None] = [None] * len(code.inputs)
        if self.in_place is not None:
            sources = self.in_place.sources(i)
        for port, source in zip(code.inputs, sources, strict=True):
            given = i.args[first : first + port.size]
            first += port.size
            array = self.passed_on(given) if source is None else self.whole(source)
            if array is None:
                array = self.reserve(max(port.size, 1))
                for j, a in enumerate(given):
                    self.store(self.ref(a), self.slot(array, str(j)))
            pointers.append(array)
        places: list[tuple[str, int]] = []
        for array, (port, _) in zip(outputs, code.outputs, strict=True):
            pointers.append(array)
            places.extend((array, j) for j in range(port.size))
        self.lines.append(f"  call void @{name}({', '.join(f'ptr {p}' for p in pointers)})")
        self.results[i.id] = places
        self.stacks[i.id] = outputs

    def whole(self, source: Source) -> str | None:
        """Return the address of an array that is passed on as it is."""
        if isinstance(source, InputArray):
            return f"%a{source.port}"
        return self.stacks[source.loop][source.stack] if isinstance(source, StackArray) else None

    def passed_on(self, arguments: Sequence[int]) -> str | None:
        """Return the array whose first entries these are, if they are those of an input."""
        places = [self.inputs.get(a) for a in arguments]
        if not places or places[0] is None:
            return None
        port = places[0][0]
        return f"%a{port}" if places == [(port, j) for j in range(len(places))] else None

    def result_address(self, i: Instruction) -> str:
        made = i.args[0]
        if made not in self.results:
            raise CompileError(
                "a loop or call and its results stand in different parts of a kernel"
            )
        array, j = self.results[made][i.data]
        return self.slot(array, str(j))


def _runs(places: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return places cut into runs of neighbours."""
    runs: list[list[tuple[int, int]]] = []
    for array, j in sorted(places):
        if runs and runs[-1][-1] == (array, j - 1):
            runs[-1].append((array, j))
        else:
            runs.append([(array, j)])
    return runs
