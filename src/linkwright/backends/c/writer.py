"""From primitive code to functions of C99.

Every function takes a pointer for each input and each output. Inputs are read into constants named
as in the model, then come the statements of each stage, then the outputs. A loop is a `for` over
arrays; a called program is a static function of its own; a long program is cut into static
functions that hand values over in a workspace (`linkwright.backends.parts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np

from linkwright.algebra.foreign import ForeignCall
from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.arrays import Arrays, InputArray, StackArray
from linkwright.backends.c.externals import CExternals
from linkwright.backends.c.functions import BITS, OWN, function_text
from linkwright.backends.c.helpers import HELPERS, LIBRARY
from linkwright.backends.foreign import same_call
from linkwright.backends.parts import InstructionPart, cut, results_at_their_source
from linkwright.backends.source import (
    AND,
    ATOM,
    COMPARE,
    OR,
    SUM,
    TERNARY,
    Names,
    Scan,
    SourceWriter,
    Term,
    arithmetic,
    by_stage,
    call,
    leaves_of,
    model_names,
    stage,
)
from linkwright.base.errors import CompileError
from linkwright.program.code import CONDITIONS, Code, Instruction, LoopCode
from linkwright.program.rates import Rate

_WIDTH = 96
_WHOLE = 2_000  # instructions up to which a program is one function
_PART = 1_000  # instructions in each part of a longer one
_COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


@dataclass(slots=True)
class File:
    """A file while it is written: what its functions need, and the functions."""

    kind: str  # "double" or "float"
    own: bool = False  # whether elementary functions are those of native kernels
    names: Names = field(default_factory=lambda: Names(c_identifier, LIBRARY))
    helpers: dict[str, None] = field(default_factory=dict)
    elementary: dict[str, None] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    called: dict[Code, str] = field(default_factory=dict)
    externals: CExternals = field(init=False)

    def __post_init__(self) -> None:
        self.externals = CExternals(self.kind, self.names)

    @property
    def suffix(self) -> str:
        """What the names of functions of this type end in."""
        return "f" if self.kind == "float" else ""

    def helper(self, name: str) -> str:
        """Return the name of a helper, which is written into the file once."""
        self.helpers[name] = None
        return name

    def function(self, name: str) -> str:
        """Return the name of an elementary function, which is the library's or written here."""
        if not self.own or name not in OWN:
            return name + self.suffix
        self.elementary[name] = None
        return f"lw_{name}"

    def literal(self, value: float) -> str:
        """Return a constant that reads back to the same bits."""
        if self.kind == "float":
            with np.errstate(over="ignore"):
                value = np.float32(value).item()
        if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        if math.isnan(value):
            return "NAN"
        return f"{np.float32(value)!s}f" if self.kind == "float" else repr(value)

    def preamble(self) -> list[str]:
        """Return the texts that stand before the functions."""
        helpers = [HELPERS[n].replace("double", self.kind) for n in HELPERS if n in self.helpers]
        own = [BITS, *map(function_text, self.elementary)] if self.elementary else []
        return [*own, *self.externals.texts(), *helpers]


def write_function(file: File, code: Code, name: str, *, static: bool) -> str:
    """Add the function of some code, with those that it calls, and return its prototype."""
    for i in code.walk():  # functions get their names before any local does
        if i.op == "call" and i.data not in file.called:
            file.called[i.data] = file.names(i.data.name)
            write_function(file, i.data, file.called[i.data], static=True)
        elif i.op in ("table1", "table2"):
            file.externals.table(i.op, i.data)
    in_place = Arrays(code)
    plan = results_at_their_source(by_stage(code.instructions))
    short = [i for i in plan if i.id not in in_place.unread]
    model = model_names(code, c_identifier)
    names = Names(c_identifier, file.names.taken(), model)
    inputs = [names(port.name) for port in code.inputs]
    outputs = [names(port.name) for port, _ in code.outputs]
    frame = _frame(code, inputs, outputs, model)
    parameters = _parameters(file.kind, inputs, outputs)
    head = _prototype(f"{'static ' if static else ''}void {name}", parameters)
    if sum(i.op not in ("const", "input", "result") for i in short) <= _WHOLE:
        writer = _CWriter(file, frame, names)
        writer.in_place = in_place
        writer.block(short, code.output_ids())
        writer.store_outputs()
        body = writer.body(inputs)
    else:
        body = _in_parts(file, frame, plan, name, names)
    early = _left_early(file, code, inputs, outputs)
    file.functions.append(f"{head}\n{{\n" + "\n".join([*early, *body]) + "\n}\n")
    return head


def _left_early(file: File, code: Code, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Return the lines that leave a function where its gate is shut."""
    if code.gate is None:
        return []
    zero = file.literal(0.0)
    lines = [f"    if ({inputs[code.gate]}[0] == {zero}) {{"]
    for name, (port, _) in zip(outputs, code.outputs, strict=True):
        if port.size > 1:
            index = "lw_k"
            lines.append(f"        for (int {index} = 0; {index} < {port.size}; {index}++)")
            lines.append(f"            {name}[{index}] = {zero};")
        elif port.size:
            lines.append(f"        {name}[0] = {zero};")
    return [*lines, "        return;", "    }"]


def _in_parts(
    file: File, frame: _Frame, plan: Sequence[Instruction], name: str, names: Names
) -> list[str]:
    inputs, outputs = frame.inputs, frame.outputs
    made = cut(plan, _PART)
    work = names("work")
    lines = [f"    {file.kind} {work}[{made.size}];"] if made.size else []
    used: set[str] = set()
    for k, part in enumerate(made.parts):
        own = Names(c_identifier, names.taken(), frame.model)
        writer = _CWriter(file, frame, own, part=part, work=work, by_id=made.by_id)
        writer.block(part.instructions, writer.ends())
        title = file.names(f"{name}_part{k + 1}")
        while title in names.taken():
            title = file.names(f"{name}_part{k + 1}")
        passed = [x for x in (*inputs, *outputs, work) if x in writer.used]
        parameters = _parameters(
            file.kind,
            [x for x in inputs if x in writer.used],
            [x for x in (*outputs, work) if x in writer.used],
        )
        head = _prototype(f"static void {title}", parameters)
        file.functions.append(f"{head}\n{{\n" + "\n".join(writer.body(())) + "\n}\n")
        lines.append(f"    {title}({', '.join(passed)});")
        used |= writer.used
    rest = _CWriter(file, frame, names)  # outputs that are inputs or numbers, of no part
    for i in frame.leaves:
        rest.store(i)
    lines.extend(rest.body(()))
    used |= rest.used
    lines.extend(f"    (void){x};" for x in (*inputs, *outputs) if x not in used)
    return lines


def _parameters(kind: str, inputs: Iterable[str], outputs: Iterable[str]) -> list[str]:
    return [f"const {kind} *{x}" for x in inputs] + [f"{kind} *{x}" for x in outputs]


def _prototype(start: str, parameters: Sequence[str]) -> str:
    text = f"{start}({', '.join(parameters) or 'void'})"
    if len(text) <= _WIDTH:
        return text
    return f"{start}(\n" + ",\n".join(f"    {p}" for p in parameters) + ")"


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all parts of a function share: the code, its arrays' names, and what is used."""

    code: Code
    inputs: Sequence[str]
    outputs: Sequence[str]
    model: frozenset[str]
    leaves: dict[int, Instruction]
    results_used: set[tuple[int, int]]
    stores: dict[int, list[str]]


def _frame(
    code: Code, inputs: Sequence[str], outputs: Sequence[str], model: frozenset[str]
) -> _Frame:
    used = {(i.args[0], i.data) for i in code.walk() if i.op == "result"}
    stores: dict[int, list[str]] = {}
    for port, (_, ids) in enumerate(code.outputs):
        for k, i in enumerate(ids):
            stores.setdefault(i, []).append(f"{outputs[port]}[{k}]")
    return _Frame(code, inputs, outputs, model, leaves_of(code), used, stores)


class _CWriter(SourceWriter):
    """The lines of one function of C."""

    def __init__(
        self,
        file: File,
        frame: _Frame,
        names: Names,
        *,
        part: InstructionPart | None = None,
        work: str = "",
        by_id: Mapping[int, Instruction] | None = None,
    ) -> None:
        super().__init__(frame.code, names, 1, frame.leaves)
        self.file = file
        self.inputs = frame.inputs
        self.outputs = frame.outputs
        self.results_used = frame.results_used
        self.stores = frame.stores
        self.part = part
        self.work = work
        self.slots = {} if part is None else part.slots
        self.by_id = {} if by_id is None else by_id
        self.used: set[str] = set()
        self.heads: dict[tuple[int, int], str] = {}
        self.present: Rate | None = None
        self.shown: Rate | None = None
        self.foreign_calls: dict[tuple[object, ...], str] = {}

    # -- the function around the statements --------------------------------------------------------
    def body(self, inputs: Sequence[str]) -> list[str]:
        """Return all lines; inputs that nothing reads are mentioned, so that compilers are calm."""
        lines = [f"    (void){x};" for x in inputs if x not in self.used]
        return [*lines, *(self.heads[key] for key in sorted(self.heads)), *self.lines]

    def store_outputs(self) -> None:
        """Write the outputs, in order."""
        self.present = None
        if self.code.outputs:
            self.line("/* outputs */")
        for port, (_, ids) in enumerate(self.code.outputs):
            if not ids:
                self.line(f"(void){self.outputs[port]};")
            for k, i in enumerate(ids):
                self.line(f"{self.outputs[port]}[{k}] = {self.ref(i).text};")

    def ends(self) -> list[int]:
        """Return what leaves a part: values for later parts, and outputs."""
        assert self.part is not None
        own = [i.id for i in self.part.instructions]
        return [i for i in own if i in self.slots] + [
            i for i in own for _ in self.stores.get(i, ())
        ]

    def before(self, i: Instruction) -> None:
        """Remember the stage: its heading is written with its first line."""
        if self.indent == 1 and i.op != "result":
            self.present = stage(i)

    def line(self, text: str) -> None:
        """Add a line, with a heading where a stage begins."""
        if self.present is not None and self.present != self.shown:
            self.shown = self.present
            self.lines.append(f"    /* {self.shown.label} stage */")
        super().line(text)

    def after(self, i: Instruction) -> None:
        """In a part, hand the value over and store the outputs that it is."""
        if self.part is None or self.indent > 1 or i.op in ("loop", "call"):
            return
        if i.id in self.slots:
            text = self.terms[i.id].text
            if i.op in CONDITIONS:
                text = self.number(self.terms[i.id]).text
            self.line(f"{self.work}[{self.slots[i.id]}] = {text};")
            self.used.add(self.work)
        self.store(i.id)

    def store(self, i: int) -> None:
        """Write the outputs that a value is."""
        for place in self.stores.get(i, ()):
            self.line(f"{place} = {self.ref(i).text};")
            self.used.add(place.partition("[")[0])

    def ref(self, i: int) -> Term:
        """Return the term of a value, from the workspace where another part has left it."""
        if i not in self.terms and i in self.slots:
            self.used.add(self.work)
            place = f"{self.work}[{self.slots[i]}]"
            if self.by_id[i].op in CONDITIONS:
                self.terms[i] = Term(COMPARE, f"{place} != {self.file.literal(0.0)}")
            else:
                self.terms[i] = Term(ATOM, place)
        return super().ref(i)

    # -- values ------------------------------------------------------------------------------------
    def literal(self, value: float) -> Term:
        """Return a constant; a negative one binds like a difference."""
        text = self.file.literal(value)
        return Term(SUM if text.startswith("-") else ATOM, text)

    def input(self, i: Instruction) -> Term:
        """Return the local constant into which an entry of an input is read."""
        port, k = i.data
        entry = self.code.inputs[port].entries[k]
        pointer = self.inputs[port]
        wanted = entry.name if c_identifier(entry.name) != pointer else f"{entry.name}_value"
        name = self.names(wanted)
        self.used.add(pointer)
        self.heads[port, k] = f"    const {self.file.kind} {name} = {pointer}[{k}];"
        return Term(ATOM, name)

    def statement(self, name: str, term: Term, condition: bool) -> None:
        """Write a definition."""
        self.line(f"const {'int' if condition else self.file.kind} {name} = {term.text};")

    def number(self, condition: Term) -> Term:
        """Return a condition as 1 or 0."""
        one, zero = self.file.literal(1.0), self.file.literal(0.0)
        return Term(TERNARY, f"{condition.at(ATOM)} ? {one} : {zero}")

    def expression(self, op: str, data: Any, args: Sequence[Term]) -> Term:
        """Return the text of an operation."""
        infix = arithmetic(op, args)
        if infix is not None:
            return infix
        suffix = self.file.suffix
        if op in OWN or op == "sqrt":
            return call(self.file.function(op), args)
        if op == "abs":
            return call("fabs" + suffix, args)
        if op == "floor":
            return call("floor" + suffix, args)
        if op in ("sign", "min", "max"):
            return call(self.file.helper(f"lw_{op}"), args)
        if op in ("fma", "fms", "fnma"):
            a, b, c = args
            if op == "fms":
                c = Term(SUM, "-" + c.at(ATOM))
            elif op == "fnma":
                a = Term(SUM, "-" + a.at(ATOM))
            return call("fma" + suffix, (a, b, c))
        if op in _COMPARE:
            return Term(COMPARE, f"{args[0].at(SUM)} {_COMPARE[op]} {args[1].at(SUM)}")
        if op == "not":
            return Term(ATOM, "!" + args[0].at(ATOM))
        if op in ("and", "or"):
            sign = " && " if op == "and" else " || "
            return Term(AND if op == "and" else OR, sign.join(a.at(COMPARE) for a in args))
        if op == "number":
            return self.number(args[0])
        if op == "select":
            return Term(TERNARY, f"{args[0].at(ATOM)} ? {args[1].at(OR)} : {args[2].at(OR)}")
        if op in ("table1", "table2"):
            return call(self.file.externals.table(op, data), args)
        if op == "foreign":
            return self.foreign(data, args)
        raise CompileError(f"C has no word for the instruction {op!r}")

    def foreign(self, data: ForeignCall, args: Sequence[Term]) -> Term:
        """Return an output of a foreign function, which is called once for all its outputs."""
        name = self.file.externals.call(data.function)
        if data.function.outputs == 1:
            term = call(name, args)
        else:
            key = (self.indent, *same_call(data, args))
            if key not in self.foreign_calls:
                array = self.names.fresh("out")
                self.line(f"double {array}[{data.function.outputs}];")
                self.line(f"{name}({', '.join([*(a.text for a in args), array])});")
                self.foreign_calls[key] = array
            term = Term(ATOM, f"{self.foreign_calls[key]}[{data.output}]")
        return term if self.file.kind == "double" else Term(ATOM, f"({self.file.kind}){term.text}")

    # -- loops and calls ---------------------------------------------------------------------------
    def array(self, name: str, values: Sequence[Term]) -> None:
        """Write an array of constants."""
        inside = ", ".join(v.text for v in values) or self.file.literal(0.0)
        start = f"const {self.file.kind} {name}[{max(len(values), 1)}] = {{"
        room = _WIDTH - 4 * self.indent
        if len(start) + len(inside) + 2 <= room:
            self.line(f"{start}{inside}}};")
            return
        self.line(start)
        for text in wrap(inside, room - 4, break_long_words=False, break_on_hyphens=False):
            self.line(f"    {text}")
        self.line("};")

    def loop(self, i: Instruction) -> None:
        """Write a loop: scanned and stacked values in arrays, carried ones in variables."""
        data: LoopCode = i.data
        kind = self.file.kind
        initial, arrays = self.loop_inputs(i)
        carried = [self.names(name) for name in data.names[: len(initial)]]
        for name, value in zip(carried, initial, strict=True):
            self.line(f"{kind} {name} = {value.text};")
        index = self.names.fresh("i")
        scans = [self.scan(array, index) for array in arrays]
        stacks = self.stacks[i.id] = [self.names.fresh("stack") for _ in data.stacked]
        for name in stacks:
            self.line(f"{kind} {name}[{data.count}];")
        self.line(f"for (int {index} = 0; {index} < {data.count}; ++{index}) {{")
        self.indent += 1
        self.terms.update(
            (inner, Term(ATOM, name)) for inner, name in zip(data.carried, carried, strict=True)
        )
        read = _body_reads(data)
        for inner, scan, name in zip(data.scanned, scans, data.names[len(initial) :], strict=True):
            local = self.names(name)
            self.terms[inner] = Term(ATOM, local)
            if inner in read:
                self.line(f"const {kind} {local} = {scan};")
        self.block(data.body, (*data.following, *data.stacked))
        for a, stack in zip(data.stacked, stacks, strict=True):
            self.line(f"{stack}[{index}] = {self.ref(a).text};")
        self._carry_on(data, carried)
        self.foreign_calls = {k: v for k, v in self.foreign_calls.items() if k[0] != self.indent}
        self.indent -= 1
        self.line("}")
        for k, (inner, name) in enumerate(zip(data.carried, carried, strict=True)):
            if inner not in read and (i.id, k) not in self.results_used:
                self.line(f"(void){name};")
        for inner, scan in zip(data.scanned, scans, strict=True):
            if inner not in read:
                self.line(f"(void){scan.partition('[')[0]};")
        self.results[i.id] = [Term(ATOM, name) for name in carried]
        for s, stack in enumerate(stacks):
            first = len(carried) + s * data.count
            if not any((i.id, first + k) in self.results_used for k in range(data.count)):
                self.line(f"(void){stack};")
            self.results[i.id] += [Term(ATOM, f"{stack}[{k}]") for k in range(data.count)]

    def scan(self, array: Scan, index: str) -> str:
        """Return the text of an array's value in one turn; the array is written if it must be."""
        if isinstance(array, InputArray):
            pointer = self.inputs[array.port]
            self.used.add(pointer)
            return f"{pointer}[{self.place(array, index)}]"
        if isinstance(array, StackArray):
            return f"{self.stacks[array.loop][array.stack]}[{self.place(array, index)}]"
        name = self.names.fresh("scan")
        self.array(name, array)
        return f"{name}[{index}]"

    def _carry_on(self, data: LoopCode, carried: Sequence[str]) -> None:
        """Write what the carried values become, all at once."""
        changes = [
            (name, self.ref(a))
            for name, a in zip(carried, data.following, strict=True)
            if self.ref(a).text != name
        ]
        if len(changes) > 1:
            for k, (name, value) in enumerate(changes):
                later = self.names.fresh("next")
                self.statement(later, value, False)
                changes[k] = (name, Term(ATOM, later))
        for name, value in changes:
            self.line(f"{name} = {value.text};")

    def call(self, i: Instruction) -> None:
        """Write the call of another program's function, arguments and results in arrays."""
        code: Code = i.data
        passed = []
        rest = iter([self.ref(a) for a in i.args])
        for port in code.inputs:
            passed.append(self.names.fresh("in"))
            self.array(passed[-1], [next(rest) for _ in range(port.size)])
        results: list[Term] = []
        for port, _ in code.outputs:
            array = self.names.fresh("out")
            passed.append(array)
            self.line(f"{self.file.kind} {array}[{max(port.size, 1)}];")
            results.extend(Term(ATOM, f"{array}[{k}]") for k in range(port.size))
        self.line(f"{self.file.called[code]}({', '.join(passed)});")
        self.results[i.id] = results


def _body_reads(data: LoopCode) -> set[int]:
    """Return the ids that a turn of a loop reads, inner loops included."""
    found: set[int] = set()
    stack = [data]
    while stack:
        inner = stack.pop()
        found.update((*inner.following, *inner.stacked))
        for i in inner.body:
            found.update(i.args)
            if i.op == "loop":
                stack.append(i.data)
    return found
