"""Routines (`linkwright.program.routine`) as LLVM IR: one function, in which all others stand.

Numbers of the run are read once, at the start; what changes is where the memory says. Values of
lanes are vectors of as many lanes as the writer has, and plain numbers where that is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkwright.backends.llvm.functions.emitter import float_literal, suffix
from linkwright.backends.llvm.ir import IrWriter
from linkwright.base.errors import CompileError
from linkwright.program.routine import (
    ARRAY,
    COMPARISONS,
    INT,
    LANES,
    MASK,
    NONE,
    NUMBER,
    TRUTH,
    WORD,
    Expression,
    RoutineFunction,
    RoutineStatement,
)

RARELY = '!0 = !{!"branch_weights", i32 1, i32 2000}\n'
"""How often branches are taken that are written with `rarely`: stands behind the functions."""
_INTEGERS = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "shr": "lshr"}
_INTEGERS |= {name: name for name in ("and", "or", "xor")}
_NUMBERS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_ORDERED = dict(zip(COMPARISONS, ("olt", "ole", "ogt", "oge", "oeq", "une"), strict=True))
_SIGNED = dict(zip(COMPARISONS, ("slt", "sle", "sgt", "sge", "eq", "ne"), strict=True))


@dataclass(frozen=True, slots=True)
class NativeTable:
    """How the rows of a table are in memory: words of 8 bytes.

    An entry is the place of a number; a table in the table is the place of its address, and how
    its own rows lie.
    """

    words: int
    entries: Mapping[str, int | tuple[int, NativeTable]]


@dataclass(frozen=True, slots=True)
class NativeMemory:
    """Where a routine finds its memory, as texts of values and addresses."""

    numbers: Mapping[str, str]  # what does not change, by name: values
    places: Mapping[str, str]  # addresses of all else
    tables: Mapping[str, tuple[str, NativeTable]] = field(default_factory=dict)  # addresses, rows
    # of a Program its function, and its parameters, or ""
    programs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # of Programs with a number the table, with the places of both in its rows
    numbered: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)
    arena: str = "%arena"  # where parameters of those lie
    externals: Mapping[str, str] = field(default_factory=dict)  # arguments in front of their own
    # of Programs with a number that are known beforehand their functions (or null) and parameters
    chosen: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    masked: bool = False  # whether copies heed their masks with a single lane too


@dataclass(slots=True)
class _Frame:
    """A function while it is written where it is called."""

    values: dict[str, str]  # of parameters and indices that do not change
    places: dict[str, str]  # addresses of variables
    end: str
    result: str = ""
    loops: list[tuple[str, str]] = field(default_factory=list)  # labels of their heads and ends


class RoutineWriter:
    """Writes a routine into a function."""

    def __init__(
        self, writer: IrWriter, functions: Mapping[str, RoutineFunction], memory: NativeMemory
    ) -> None:
        self.w, self.functions, self.memory = writer, functions, memory
        w = writer
        self.kinds = {INT: "i64", NUMBER: "double", TRUTH: "i1", ARRAY: "ptr"}
        self.kinds |= {LANES: w.value, MASK: w.truth, WORD: w.integer}

    def write(self, start: str, out: str = "out") -> None:
        """Write a function without parameters; what leaves it goes to a label."""
        self.out = out
        self.inlined(self.functions[start], [])

    def inlined(self, made: RoutineFunction, given: list[str]) -> str:
        """Write a function where it is called; return its result."""
        w = self.w
        frame = _Frame({}, {}, w.fresh("back"))
        if made.result != NONE:
            frame.result = w.reserve(self.kinds[made.result])
        for name, kind in made.variables:
            frame.places[name] = w.reserve(self.kinds[kind])
        for (name, kind), value in zip(made.parameters, given, strict=True):
            if name in frame.places:
                w.store(self.kinds[kind], value, frame.places[name])
            else:
                frame.values[name] = value
        self.block(frame, made.body)
        w.label(frame.end)
        return w.load(self.kinds[made.result], frame.result) if frame.result else ""

    # -- statements --------------------------------------------------------------------------------
    def block(self, frame: _Frame, statements: tuple[RoutineStatement, ...]) -> None:
        for statement in statements:
            getattr(self, f"write_{statement.what}")(frame, *statement.args, *statement.inside)

    def write_set(self, frame: _Frame, name: str, kind: str, value: Expression | None) -> None:
        if value is not None:
            self.w.store(self.kinds[kind], self.value(frame, value), frame.places[name])

    def write_put(self, frame: _Frame, place: Expression, value: Expression) -> None:
        made = self.value(frame, value)
        self.w.store(self.kinds[place.type], made, self.address(frame, place))

    def write_if(
        self,
        frame: _Frame,
        condition: Expression,
        rarely: bool,
        yes: tuple[RoutineStatement, ...],
        no: tuple[RoutineStatement, ...],
    ) -> None:
        w = self.w
        names = [w.fresh(stem) for stem in ("yes", "no", "end")]
        weights = ", !prof !0" if rarely else ""
        other = names[1] if no else names[2]
        truth = self.value(frame, condition)
        w.do(f"br i1 {truth}, label %{names[0]}, label %{other}{weights}")
        w.lines.append(f"{names[0]}:")
        self.block(frame, yes)
        if no:
            w.do(f"br label %{names[2]}")
            w.lines.append(f"{names[1]}:")
            self.block(frame, no)
        w.label(names[2])

    def write_while(
        self, frame: _Frame, condition: Expression, body: tuple[RoutineStatement, ...]
    ) -> None:
        w = self.w
        head, inside, end = (w.fresh(stem) for stem in ("head", "body", "end"))
        w.label(head)
        w.do(f"br i1 {self.value(frame, condition)}, label %{inside}, label %{end}")
        w.lines.append(f"{inside}:")
        frame.loops.append((head, end))
        self.block(frame, body)
        frame.loops.pop()
        w.do(f"br label %{head}")
        w.lines.append(f"{end}:")

    def write_count(
        self,
        frame: _Frame,
        name: str,
        start: Expression,
        end: Expression,
        body: tuple[RoutineStatement, ...],
    ) -> None:
        w = self.w
        first, last = self.value(frame, start), self.value(frame, end)
        head, inside, after, done = (w.fresh(stem) for stem in ("head", "body", "next", "end"))
        place = frame.places[name]
        w.store("i64", first, place)
        w.label(head)
        more = w.i("icmp slt", w.load("i64", place), last)
        w.do(f"br i1 {more}, label %{inside}, label %{done}")
        w.lines.append(f"{inside}:")
        frame.loops.append((after, done))
        self.block(frame, body)
        frame.loops.pop()
        w.label(after)
        w.store("i64", w.i("add", w.load("i64", place), "1"), place)
        w.do(f"br label %{head}")
        w.lines.append(f"{done}:")

    def write_break(self, frame: _Frame) -> None:
        self.w.jump(frame.loops[-1][1])

    def write_continue(self, frame: _Frame) -> None:
        self.w.jump(frame.loops[-1][0])

    def write_return(self, frame: _Frame, value: Expression | None) -> None:
        if value is not None:
            self.w.store(self.kinds[value.type], self.value(frame, value), frame.result)
        self.w.jump(frame.end)

    def write_leave(self, frame: _Frame, status: Expression, detail: Expression) -> None:
        for name, value in (("status", status), ("detail", detail)):
            self.w.store("i64", self.value(frame, value), self.memory.places[name])
        self.w.jump(self.out)

    def write_call(self, frame: _Frame, call: Expression) -> None:
        self.value(frame, call)

    def write_evaluate(
        self,
        frame: _Frame,
        name: str,
        index: Expression | None,
        given: tuple[Expression, ...],
        results: tuple[Expression, ...],
    ) -> None:
        w = self.w
        arrays = [self.address(frame, a) for a in given]
        if index is None:
            function, parameters = self.memory.programs[name]
        elif name in self.memory.chosen:
            places = [self.address(frame, a) for a in results]
            self.write_chosen(self.value(frame, index), self.memory.chosen[name], arrays, places)
            return
        else:
            row, function_at, parameters_at = self.numbered(frame, name, index)
            function = w.load("ptr", w.at(row, str(function_at)))
            place = w.load("i64", w.at(row, str(parameters_at)))
            parameters = w.at(self.memory.arena, place, "double")
        if parameters:  # behind the states and what is discrete
            arrays.insert(2, parameters)
        arrays += [self.address(frame, a) for a in results]
        w.do(f"call void {function}({', '.join(f'ptr {a}' for a in arrays)})")

    def write_chosen(
        self,
        number: str,
        programs: Sequence[tuple[str, str]],
        given: Sequence[str],
        results: Sequence[str],
    ) -> None:
        """Write the call of one of some Programs that are known beforehand."""
        w, end = self.w, self.w.fresh("end")
        labels = {i: w.fresh("case") for i, (f, _) in enumerate(programs) if f != "null"}
        cases = " ".join(f"i64 {i}, label %{label}" for i, label in labels.items())
        w.do(f"switch i64 {number}, label %{end} [ {cases} ]")
        for i, label in labels.items():
            function, parameters = programs[i]
            w.lines.append(f"{label}:")
            arrays = [*given[:2], parameters, *given[2:], *results]
            w.do(f"call void {function}({', '.join(f'ptr {a}' for a in arrays)})")
            w.do(f"br label %{end}")
        w.lines.append(f"{end}:")

    def numbered(self, frame: _Frame, name: str, index: Expression) -> tuple[str, int, int]:
        """Return the row of a Program with a number, and where its function and parameters are."""
        table, function_at, parameters_at = self.memory.numbered[name]
        base, rows = self.memory.tables[table]
        place = self.w.i("mul", self.value(frame, index), str(rows.words))
        return self.w.at(base, place), function_at, parameters_at

    def write_copy(
        self,
        frame: _Frame,
        target: Expression,
        to: Expression,
        source: Expression,
        start: Expression,
        count: Expression,
        mask: Expression,
    ) -> None:
        w = self.w
        places = []
        for array, offset in ((target, to), (source, start)):
            base = self.address(frame, array)
            if offset.op != "constant" or offset.args[0]:
                base = w.at(base, self.value(frame, offset), w.value)
            places.append(base)
        everywhere = (w.width == 1 and not self.memory.masked) or mask.op == "constant"
        chosen = None if everywhere else self.value(frame, mask)
        w.copy(places[1], places[0], self.value(frame, count), chosen)

    # -- addresses ---------------------------------------------------------------------------------
    def address(self, frame: _Frame, place: Expression) -> str:
        """Return where an array, a cell, an element or an entry lies."""
        w = self.w
        if place.op == "field":
            return self.memory.places[str(place.args[0])]
        if place.op == "name":
            return frame.values[str(place.args[0])]
        if place.op == "item":
            array, index = place.args
            assert isinstance(index, Expression)
            if isinstance(array, Expression):
                base = self.address(frame, array)
                return w.at(base, self.value(frame, index), w.value)
            return w.at(self.memory.places[str(array)], self.value(frame, index))
        name, indices, way = place.args
        assert isinstance(indices, tuple)
        assert isinstance(way, tuple)
        address, table = self.memory.tables[str(name)]
        for k, index in enumerate(indices):
            row = w.i("mul", self.value(frame, index), str(table.words))
            address = w.at(address, row)
            if k + 1 == len(indices):
                break
            entry = table.entries[way[k]]
            assert isinstance(entry, tuple)
            address, table = w.load("ptr", w.at(address, str(entry[0]))), entry[1]
        last = table.entries[way[-1]] if len(way) == len(indices) else 0
        return w.at(address, str(last))

    # -- values ------------------------------------------------------------------------------------
    def value(self, frame: _Frame, e: Expression) -> str:
        """Write what gives a value, and return it."""
        w = self.w
        if e.op == "constant":
            return self.constant(e)
        if e.op == "name":
            name = str(e.args[0])
            if name in frame.values:
                return frame.values[name]
            return w.load(self.kinds[e.type], frame.places[name])
        if e.op == "field":
            name = str(e.args[0])
            if name in self.memory.numbers:
                return self.memory.numbers[name]
            return w.load(self.kinds[e.type], self.memory.places[name])
        if e.op in ("item", "entry"):
            return w.load(self.kinds[e.type], self.address(frame, e))
        if e.op == "has":
            program, index = e.args
            if isinstance(index, Expression) and program in self.memory.chosen:
                number, found = self.value(frame, index), "false"
                for i, (function, _) in enumerate(self.memory.chosen[str(program)]):
                    if function != "null":
                        same = w.op(f"icmp eq i64 {number}, {i}")
                        found = w.op(f"or i1 {found}, {same}")
                return found
            if isinstance(index, Expression):
                row, place, _ = self.numbered(frame, str(program), index)
                function = w.load("ptr", w.at(row, str(place)))
            else:
                function = self.memory.programs[str(program)][0]
            return w.op(f"icmp ne ptr {function}, null")
        if e.op == "call":
            return self.call(frame, e)
        return self.operation(
            e, [self.value(frame, a) for a in e.args if isinstance(a, Expression)]
        )

    def constant(self, e: Expression) -> str:
        number = e.args[0]
        assert isinstance(number, (int, float))
        if e.type in (TRUTH, MASK):
            word = "true" if number else "false"
            return word if e.type == TRUTH or self.w.width == 1 else f"splat (i1 {word})"
        if e.type == NUMBER:
            return float_literal(float(number), "f64")
        if e.type == LANES:
            return self.w.number(float(number))
        return str(number) if e.type == INT else self.w.whole(int(number))

    def call(self, frame: _Frame, e: Expression) -> str:
        name, *args = e.args
        given = [
            self.address(frame, a) if a.type == ARRAY else self.value(frame, a)
            for a in args
            if isinstance(a, Expression)
        ]
        externals = self.memory.externals
        if name not in externals:
            return self.inlined(self.functions[str(name)], given)
        kinds = [self.kinds[a.type] for a in args if isinstance(a, Expression)]
        typed = [f"{kind} {value}" for kind, value in zip(kinds, given, strict=True)]
        text = f"@{name}({', '.join([externals[str(name)], *typed])})"
        if e.type == NONE:
            self.w.do(f"call void {text}")
            return ""
        return self.w.op(f"call {self.kinds[e.type]} {text}")

    def operation(self, e: Expression, values: list[str]) -> str:
        w = self.w
        given = [a.type for a in e.args if isinstance(a, Expression)]
        kind, real = self.kinds[given[0]], given[0] in (NUMBER, LANES)
        match e.op:
            case "convert":
                return self.converted(given[0], e.type, values[0])
            case "rarely":
                return values[0]
            case "only":
                if w.width > 1:
                    raise CompileError(f"lanes differ in what is asked of one: {e}")
                return values[0]
            case "some":
                return w.some(values[0])
            case "not":
                every = self.constant(Expression(e.type, "constant", (True,)))
                return w.op(f"xor {kind} {values[0]}, {every}")
            case "neg":
                return w.op(f"fneg {kind} {values[0]}" if real else f"sub {kind} 0, {values[0]}")
            case "select":
                condition, yes, no = values
                typed = self.kinds[given[1]]
                return w.op(f"select {kind} {condition}, {typed} {yes}, {typed} {no}")
            case "abs":
                lanes = w.width if given[0] == LANES else 1
                called = f"@llvm.fabs.{suffix('f64', lanes)}"
                return w.op(f"call {kind} {called}({kind} {values[0]})")
            case "min" | "max":
                best = values[0]
                for other in values[1:]:
                    first = w.i("icmp slt" if e.op == "min" else "icmp sgt", best, other)
                    best = w.op(f"select i1 {first}, i64 {best}, i64 {other}")
                return best
            case "ceil":
                above = w.op(f"call double @llvm.ceil.f64(double {values[0]})")
                return w.op(f"fptosi double {above} to i64")
            case "truncate":
                return w.op(f"fptosi double {values[0]} to i64")
        if e.op in COMPARISONS:
            word = f"fcmp {_ORDERED[e.op]}" if real else f"icmp {_SIGNED[e.op]}"
            return w.op(f"{word} {kind} {values[0]}, {values[1]}")
        word = (_NUMBERS if real else _INTEGERS)[e.op]
        return w.op(f"{word} {kind} {values[0]}, {values[1]}")

    def converted(self, old: str, new: str, value: str) -> str:
        w = self.w
        if old == WORD:
            return w.op(f"uitofp {w.integer} {value} to {w.value}")
        if old == INT and new == NUMBER:
            return w.op(f"sitofp i64 {value} to double")
        return w.splat(value, self.kinds[old], self.kinds[new])
