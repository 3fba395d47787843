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

from collections.abc import Sequence
from dataclasses import replace

from linkwright.backends.arrays import Arrays, ConstantArray, InputArray, Source, StackArray
from linkwright.backends.llvm.functions import guarded_group
from linkwright.backends.llvm.functions.emitter import value_type
from linkwright.backends.llvm.lines import IrModule, Lines
from linkwright.backends.parts import cut, reads, results_at_their_source
from linkwright.base.errors import CompileError
from linkwright.program.code import CONDITIONS, Code, Instruction, LoopCode

_GUARDED = ("sin", "cos", "tan")
_WHOLE = 20_000  # instructions up to which a kernel is one function
_PART = 1_000  # instructions in each part of a longer one
_FILLED = 12  # neighboring outputs with one constant from which on a loop fills them
_WHOLE_CHECKS = 100  # range checks up to which it is, as each of them is three basic blocks
_STACK = 4 << 20  # bytes of arrays in one kernel
_PART_CHECKS = 50  # range checks in each part of one that has more


def write_function(
    module: IrModule, code: Code, name: str, width: int, *, internal: bool = False
) -> None:
    """Add the function of a lowered Program for blocks of `width` lanes.

    What has been written because others call it gets a second name.
    """
    arrays = [f"%a{k}" for k in range(len(code.inputs) + len(code.outputs))]
    known = None if internal else module.called.get(code)
    if known is not None:
        kinds = ", ".join("ptr" for _ in arrays)
        module.functions.append(f"@{name} = alias void ({kinds}), ptr @{known}\n")
        return
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
        body.leave_at_gate()
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
    module: IrModule,
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
    body = _Body(module, code, width)
    body.allocas.append(f"  %work = alloca [{max(made.size, 1)} x {kind}], align 64")
    body.leave_at_gate()
    body.lines.extend(calls)
    module.functions.append(body.function(head, "  ret void"))


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
class _Body(Lines):
    """The lines of one function, with its loops, calls, groups of sines and outputs."""

    def __init__(
        self,
        module: IrModule,
        code: Code,
        width: int,
        *,
        slots: dict[int, int] | None = None,
        by_id: dict[int, Instruction] | None = None,
        in_place: Arrays | None = None,
    ) -> None:
        super().__init__(module, code, width, slots=slots, by_id=by_id)
        self.in_place = in_place
        self.results: dict[int, list[tuple[str, int]]] = {}
        self.stacks: dict[int, list[str]] = {}
        self.inputs = {i.id: i.data for i in code.instructions if i.op == "input"}
        self.stores: dict[int, list[tuple[int, int]]] = {}
        for p, (_, ids) in enumerate(code.outputs):
            for j, i in enumerate(ids):
                self.stores.setdefault(i, []).append((len(code.inputs) + p, j))
        self.result_ids = {(i.args[0], i.data): i.id for i in code.instructions if i.op == "result"}

    def refuse_huge(self) -> None:
        """Reject a kernel whose arrays would not fit on the stack of a thread."""
        if self.reserved > _STACK:
            raise CompileError(
                f"the loops of {self.code.name!r} need {self.reserved >> 20} MB of arrays, more "
                f"than the {_STACK >> 20} MB that a kernel has",
                remedy="evaluate one state at a time, or use fewer lanes",
            )

    def leave_at_gate(self) -> None:
        """Return with outputs of zero where the gate is zero, in all lanes."""
        if self.code.gate is None:
            return
        gate = self.load(f"%a{self.code.gate}")
        zero = self.literal(0.0)
        on = self.fresh(f"fcmp une {self.kind} {gate}, {zero}")
        if self.width > 1:
            bits = self.fresh(f"bitcast <{self.width} x i1> {on} to i{self.width}")
            on = self.fresh(f"icmp ne i{self.width} {bits}, 0")
        self.lines.append(f"  br i1 {on}, label %gate.open, label %gate.shut")
        self.block("gate.shut")
        for k, (port, _) in enumerate(self.code.outputs):
            for j in range(port.size):
                self.store(zero, self.component(f"%a{len(self.code.inputs) + k}", j))
        self.lines.append("  ret void")
        self.block("gate.open")

    # -- instructions ------------------------------------------------------------------------------
    def instructions(self, instructions: Sequence[Instruction]) -> None:
        """Write instructions; neighboring sines, cosines and tangents become one group."""
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
        stacks = [
            self.output_for(i.id, carried + k * data.count, data.count) or self.reserve(data.count)
            for k in range(len(data.stacked))
        ]
        finals = self.reserve(max(carried, 1))
        passed = () if self.in_place is None else self.in_place.unread
        for a in reads(replace(i, args=())):  # what the body reads is fetched before it
            if a not in passed:  # whole arrays that calls take as they are
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
        outputs, made = [], 0
        for port, _ in code.outputs:
            own = self.output_for(i.id, made, port.size)
            outputs.append(own or self.reserve(max(port.size, 1)))
            made += port.size
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

    def output_for(self, made: int, first: int, count: int) -> str | None:
        """Return where neighboring results lie side by side in an output, to be written there."""
        ids = [self.result_ids.get((made, first + j), -1) for j in range(count)]
        for array, start in self.stores.get(ids[0], ()) if ids else ():
            places = [(array, start + j) for j in range(count)]
            if all(p in self.stores.get(x, ()) for p, x in zip(places, ids, strict=True)):
                for place, x in zip(places, ids, strict=True):
                    self.stores[x].remove(place)
                return self.component(f"%a{array}", start)
        return None

    def whole(self, source: Source) -> str | None:
        """Return the address of an array that is passed on as it is."""
        if isinstance(source, InputArray):
            return self.component(f"%a{source.port}", source.first)
        if not isinstance(source, StackArray):
            return None
        array = self.stacks[source.loop][source.stack]
        return self.slot(array, str(source.first)) if source.first else array

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
    """Return places cut into runs of neighbors."""
    runs: list[list[tuple[int, int]]] = []
    for array, j in sorted(places):
        if runs and runs[-1][-1] == (array, j - 1):
            runs[-1].append((array, j))
        else:
            runs.append([(array, j)])
    return runs
