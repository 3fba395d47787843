"""Routines (`linkwright.program.routine`) as C99, for one run: a function for each function.

The memory is a structure of the program; a function that can leave the routine returns 1 where it
has left, and 0 where it goes on. Comments are those of the routine.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
    expressions,
)

KINDS = {INT: "int64_t", NUMBER: "double", TRUTH: "int", LANES: "double", MASK: "int"}
KINDS |= {WORD: "uint64_t", ARRAY: "double *", NONE: "void"}
_WIDTH = 100
_SIGNS = {"add": (" + ", 12), "sub": (" - ", 12), "mul": ("*", 13), "div": ("/", 13)}
_SIGNS |= {"shl": (" << ", 11), "shr": (" >> ", 11)}
_SIGNS |= dict(
    zip(COMPARISONS, [(f" {sign} ", 10) for sign in ("<", "<=", ">", ">=")], strict=False)
)
_SIGNS |= {"eq": (" == ", 9), "ne": (" != ", 9)}
_AND, _XOR, _OR, _BOTH, _EITHER, _CHOICE, _CAST = 8, 7, 6, 5, 4, 3, 14


@dataclass(frozen=True, slots=True)
class CMemory:
    """Where a routine finds its memory."""

    memory: str  # of the structure
    prefix: str  # of functions
    constants: str  # what names of constants begin with
    numbers: Mapping[str, str]  # what stands for numbers that are not in the structure
    # what stands for entries of tables: the way to them, with `{0}` and so on for indices
    entries: Mapping[str, str]
    numbered: Mapping[str, str] = field(default_factory=dict)  # whether there is a Program


def fields_of(functions: Mapping[str, RoutineFunction]) -> dict[str, str]:
    """Return the fields of the memory that a routine uses, with their types."""
    found = {"status": INT, "detail": INT}
    for e in expressions(tuple(made.body for made in functions.values())):
        if e.op == "field":
            found[str(e.args[0])] = e.type
        elif e.op == "item" and isinstance(e.args[0], str):
            found[e.args[0]] = INT
    return found


def constants_of(functions: Mapping[str, RoutineFunction]) -> dict[str, Expression]:
    """Return the constants that have names."""
    bodies = tuple(made.body for made in functions.values())
    used = [e for e in expressions(bodies) if e.op == "constant" and len(e.args) > 1]
    return {str(e.args[1]): e for e in used if e.args[1] != "INFINITY"}


def routine_text(functions: Mapping[str, RoutineFunction], memory: CMemory) -> Iterator[str]:
    """Yield the functions of a routine; its constants are to be defined before them."""
    for made in functions.values():
        yield from _Writer(functions, memory, made).text()
        yield ""


class _Writer:
    """Writes one function."""

    def __init__(
        self,
        functions: Mapping[str, RoutineFunction],
        memory: CMemory,
        made: RoutineFunction,
    ) -> None:
        self.functions, self.memory, self.made = functions, memory, made
        self.lines: list[str] = []
        self.undeclared = dict(made.variables)
        for name, _ in made.parameters:
            self.undeclared.pop(name, None)
        for name in [n for n in self.undeclared if not _settings(n, made.body)]:
            del self.undeclared[name]  # a loop declares its index
        self.used = {str(e.args[0]) for e in expressions(made.body) if e.op == "name"}
        self.often = {n for n in self.undeclared if _settings(n, made.body) > 1}

    def text(self) -> list[str]:
        made = self.made
        if made.leaves and made.result != NONE:
            raise CompileError(f"{made.name} gives a value and can leave the routine")
        given = ", ".join(
            f"double *{name}" if kind == ARRAY else f"{KINDS[kind]} {name}"
            for name, kind in made.parameters
        )
        result = "int" if made.leaves else KINDS[made.result]
        self.lines += _comment(made.doc, "")
        self.lines += [f"static {result} {self.memory.prefix}{made.name}({given or 'void'})", "{"]
        self.lines += [f"    (void){name};" for name, _ in made.parameters if name not in self.used]
        self.block(made.body, "    ")
        last = made.body[-1]
        forever = last.what == "while" and last.args[0] == Expression(TRUTH, "constant", (True,))
        if made.leaves and not (forever or last.what in ("leave", "return")):
            self.lines.append("    return 0;")
        self.lines.append("}")
        return self.lines

    # -- statements --------------------------------------------------------------------------------
    def block(self, statements: Sequence[RoutineStatement], indent: str) -> None:
        self.declare(statements, indent)
        for statement in statements:
            if statement.note:
                self.lines += _comment(statement.note, indent)
            self.statement(statement, indent)

    def declare(self, statements: Sequence[RoutineStatement], indent: str) -> None:
        """Declare what several statements share and the first of them does not simply set."""
        for name in list(self.undeclared):
            users = [s for s in statements if _mentions(name, s)]
            if not users:
                continue
            first = users[0]
            if first.what == "set" and first.args[0] == name and not _mentions(name, first.args[2]):
                continue
            parts = [block for block in first.inside if any(_mentions(name, s) for s in block)]
            if len(users) == 1 and len(parts) == 1 and not _mentions(name, first.args):
                continue  # inside of it
            kind = self.undeclared.pop(name)
            if kind != NONE:
                self.lines.append(f"{indent}{KINDS[kind]} {name};")

    def statement(self, s: RoutineStatement, indent: str) -> None:
        add, deeper = self.lines.append, indent + "    "
        match s.what, s.args:
            case "set", (name, _, _) if name not in self.used:
                pass
            case "set", (str(name), str(kind), Expression() as value):
                start = ""
                if name in self.undeclared:
                    start = f"{'' if name in self.often else 'const '}{KINDS[kind]} "
                    del self.undeclared[name]
                place = Expression(kind, "name", (name,))
                self.long(indent, f"{start}{name}{self.change(place, value)};")
            case "set", _:
                pass  # a name for a row of a table
            case "put", (Expression() as place, Expression() as value):
                self.long(indent, f"{self.value(place)}{self.change(place, value)};")
            case "if", (Expression() as condition, _):
                self.long(indent, f"if ({self.value(condition)}) {{")
                self.block(s.inside[0], deeper)
                if s.inside[1]:
                    add(f"{indent}}} else {{")
                    self.block(s.inside[1], deeper)
                add(f"{indent}}}")
            case "while", (Expression() as condition,):
                self.long(indent, f"while ({self.value(condition)}) {{")
                self.block(s.inside[0], deeper)
                add(f"{indent}}}")
            case "count", (str(name), Expression() as first, Expression() as last):
                name = "turn" if name == "_" else name
                begin, end = f"{name} = {self.value(first)}", self.value(last)
                if last.op != "constant" and last.args[0] not in self.memory.numbers:
                    begin, end = f"{begin}, {name}_end = {end}", f"{name}_end"  # as it is now
                add(f"{indent}for (int64_t {begin}; {name} < {end}; ++{name}) {{")
                self.block(s.inside[0], deeper)
                add(f"{indent}}}")
            case (("break" | "continue" as word), _):
                add(f"{indent}{word};")
            case "return", (None,):
                add(f"{indent}return{' 0' if self.made.leaves else ''};")
            case "return", (Expression() as value,):
                self.long(indent, f"return {self.value(value)};")
            case "leave", (Expression() as status, Expression() as detail):
                for name, value in (("status", status), ("detail", detail)):
                    add(f"{indent}{self.memory.memory}.{name} = {self.value(value)};")
                add(f"{indent}return 1;")
            case "call", (Expression() as call,):
                called = self.functions.get(str(call.args[0]))
                if called is not None and called.leaves:
                    add(f"{indent}if ({self.value(call)}) {{")
                    add(f"{deeper}return 1;")
                    add(f"{indent}}}")
                else:
                    add(f"{indent}{self.value(call)};")
            case "evaluate", (str(name), index, tuple(given), tuple(results)):
                first_one = [self.value(index)] if isinstance(index, Expression) else []
                arrays = [self.address(a) for a in (*given, *results)]
                called_one = f"{self.memory.prefix}compute_{name}"
                self.long(indent, f"{called_one}({', '.join([*first_one, *arrays])});")
            case "copy", (target, to, source, start, count, _):
                places = [self.part(target, to), self.part(source, start)]
                size = f"(size_t){self.operand(count, _CAST)}*sizeof(double)"
                self.long(indent, f"memcpy({places[0]}, {places[1]}, {size});")

    def change(self, place: Expression, value: Expression) -> str:
        """Return the rest of a statement that writes to a place."""
        if value.op in ("add", "sub") and value.args[0] == place:
            more = value.args[1]
            assert isinstance(more, Expression)
            return f"{self.sign(value)[0].rstrip()}= {self.value(more)}"
        return f" = {self.value(value)}"

    def long(self, indent: str, text: str) -> None:
        """Add a line, broken where it is too long."""
        if len(indent) + len(text) <= _WIDTH:
            self.lines.append(indent + text)
            return
        self.lines += textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )

    # -- values ------------------------------------------------------------------------------------
    def address(self, e: object) -> str:
        assert isinstance(e, Expression)
        return self.value(e) if e.type == ARRAY else f"&{self.value(e)}"

    def part(self, array: object, start: object) -> str:
        assert isinstance(array, Expression)
        assert isinstance(start, Expression)
        text = self.value(array)
        if start.op == "constant" and not start.args[0]:
            return text
        return f"{text} + {self.value(start)}"

    def value(self, e: Expression) -> str:
        return self.written(e)[0]

    def operand(self, e: object, level: int) -> str:
        """Return a value as an operand of what binds so strongly."""
        assert isinstance(e, Expression)
        text, own = self.written(e)
        return text if own > level else f"({text})"

    def written(self, e: Expression) -> tuple[str, int]:
        """Return the text of a value, and how strongly it binds."""
        memory = self.memory
        match e.op, e.args:
            case "constant", (_, str(name)) if name != "INFINITY":
                return f"{memory.constants}{name}", 15
            case "constant", (number, *_):
                return number_text(number, e.type), 15
            case "name", (name,):
                return str(name), 15
            case "field", (str(name),):
                return memory.numbers.get(name, f"{memory.memory}.{name}"), 15
            case "item", (array, Expression() as index):
                name = f"{memory.memory}.{array}"
                if isinstance(array, Expression):
                    name = self.value(array)
                return f"{name}[{self.value(index)}]", 15
            case "entry", (str(table), tuple(indices), tuple(way)):
                text = memory.entries[".".join((table, *way))]
                return text.format(*(self.value(i) for i in indices)), 15
            case "has", (str(name), Expression() as index):
                return memory.numbered[name].format(self.value(index)), 15
            case "call", (str(name), *args):
                given = ", ".join(self.value(a) for a in args if isinstance(a, Expression))
                return f"{memory.prefix}{name}({given})", 15
            case (("some" | "rarely" | "only"), (Expression() as inner,)):
                return self.written(inner)
            case "convert", (Expression() as inner,):
                kinds = (KINDS[inner.type], KINDS[e.type])
                if kinds[0] == kinds[1]:
                    return self.written(inner)
                return f"({kinds[1]}){self.operand(inner, _CAST - 1)}", _CAST
            case "select", (condition, yes, no):
                parts = (self.operand(condition, _CHOICE), self.operand(yes, _CHOICE))
                return f"{parts[0]} ? {parts[1]} : {self.operand(no, _CHOICE - 1)}", _CHOICE
            case "abs", (inner,):
                return f"fabs({self.operand(inner, 0)})", 15
            case "ceil", (inner,):
                return f"(int64_t)ceil({self.operand(inner, 0)})", _CAST
            case "truncate", (inner,):
                return f"(int64_t){self.operand(inner, _CAST - 1)}", _CAST
            case (("min" | "max"), (first, second)):
                sign = "<" if e.op == "min" else ">"
                a, b = (self.operand(x, 10) for x in (first, second))
                return f"{a} {sign} {b} ? {a} : {b}", _CHOICE
            case "not", (inner,):
                return f"!{self.operand(inner, _CAST - 1)}", _CAST
            case "neg", (inner,):
                text = self.operand(inner, _CAST - 1)  # two signs in a row would count down
                return f"-({text})" if text.startswith("-") else f"-{text}", _CAST
        first, second = e.args
        sign, level = self.sign(e)
        # what is grouped to the right stays so, as it may round otherwise; where many readers do
        # not know what binds more strongly, compilers want it to be said
        unlike = {"or": _BOTH} if e.type != WORD else dict.fromkeys(("and", "or", "xor"), 13)
        assert isinstance(first, Expression)
        same = first.op == e.op and e.op in ("and", "or", "xor")
        left = self.operand(first, level - 1 if same else unlike.get(e.op, level - 1))
        return f"{left}{sign}{self.operand(second, unlike.get(e.op, level))}", level

    def sign(self, e: Expression) -> tuple[str, int]:
        words = e.type == WORD
        if e.op == "and":
            return (" & ", _AND) if words else (" && ", _BOTH)
        if e.op == "or":
            return (" | ", _OR) if words else (" || ", _EITHER)
        return (" ^ ", _XOR) if e.op == "xor" else _SIGNS[e.op]


def number_text(number: object, kind: str) -> str:
    assert isinstance(number, (int, float))
    if kind in (TRUTH, MASK):
        return "1" if number else "0"
    if kind in (NUMBER, LANES):
        return "INFINITY" if number == float("inf") else repr(float(number))
    return f"{number}u" if kind == WORD else str(number)


def _comment(text: str, indent: str) -> list[str]:
    if not text:
        return []
    start = f"{indent}/* "
    return textwrap.wrap(
        " ".join(text.split()) + " */",
        _WIDTH,
        initial_indent=start,
        subsequent_indent=indent + "   ",
    )


def _mentions(name: str, part: object) -> bool:
    """Return whether a variable stands in a statement or a value."""
    if isinstance(part, Expression):
        own = part.op == "name" and part.args[0] == name
        return own or any(_mentions(name, a) for a in part.args if not isinstance(a, str))
    if isinstance(part, RoutineStatement):
        own = part.what in ("set", "count") and part.args[0] == name
        return own or _mentions(name, part.args) or _mentions(name, part.inside)
    return isinstance(part, tuple) and any(_mentions(name, p) for p in part)


def _settings(name: str, statements: Sequence[RoutineStatement]) -> int:
    """Return how often a variable is set."""
    return sum(
        (s.what == "set" and s.args[0] == name) + sum(_settings(name, b) for b in s.inside)
        for s in statements
    )
