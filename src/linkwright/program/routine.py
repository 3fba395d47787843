"""Routines: control flow that is written once, as Python, and lowered to every target.

A Program says what is computed; a *routine* says in which order Programs are evaluated, how often,
and what becomes of it: the loop of a run. It is a module of ordinary functions in a small part of
Python, so that Python runs it as it stands. `read` turns it into a tree of typed statements, which
`linkwright.backends.llvm.routine` and `linkwright.backends.c.routine` write in their own words.

Every function takes the memory that it works on first, as `run`. A value has one of these types:

| annotation | what it is |
|---|---|
| `int`, `float`, `bool` | the same in all lanes |
| `Lanes`, `Mask`, `Word` | a number, a truth, 64 bits in each lane |
| `Array` | numbers of each lane by their place |

In Python, and wherever there is one lane, `Lanes` is `float`, `Mask` is `bool` and `Word` is `int`.
A variable has the type of its first value, or that of its annotation; what is the same in all lanes
becomes one of lanes where that is asked for, and an `int` a `float`, never the other way round.

| written | what it says |
|---|---|
| `run.k`, `run.x[i]`, `run.ticks[i].every` | a field, an element of an array, an entry of a table |
| `+ - * /`, comparisons, `and or not`, `& ^ << >>` | operations; both sides are evaluated |
| `a if c else b` | one of two values, lane by lane; both are evaluated |
| `abs`, `min`, `max`, `float`, `int`, `ceil` | functions; `min`, `max` of integers |
| `if`, `while`, `for i in range(...)`, ... | control flow, by what is the same in all lanes |
| `some(mask)`, `rarely(truth)` | whether it holds in any lane; what seldom holds |
| `has(run, "accepted")` | whether there is a Program |
| `evaluate(run, "step", (run.x, run.h), (run.y,))` | call a Program with arrays and cells |
| `copy(target, source, count, mask)` | copy an array; a mask says in which lanes |
| `shift(target, at, source, start, count, mask)` | the same from and to some place |
| `raise Leave(status, detail)` | come back from the whole routine |

Nothing is fused, integers have 64 bits and do not overflow, `>>` fills with zeros, and a single run
copies whatever the mask is. One of several Programs is called, and asked for, by its name and a
number behind all else.

Other functions are those of the module, or *externals*: functions that each target has in its own
way, whose text in the module is that of Python. Names in capitals are constants of the module.
"""

from __future__ import annotations

import ast
import inspect
import io
import operator
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

from linkwright.base.errors import CompileError

INT, NUMBER, TRUTH = "int", "float", "bool"
LANES, MASK, WORD = "Lanes", "Mask", "Word"
ARRAY, NONE = "Array", "None"
TYPES = (INT, NUMBER, TRUTH, LANES, MASK, WORD, ARRAY)

_WIDER = {
    INT: (NUMBER, LANES, WORD),
    NUMBER: (LANES,),
    TRUTH: (MASK,),
}
"""What a value becomes where another type is asked for."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A value: an operator and what it is applied to.

    | operator | arguments |
    |---|---|
    | `constant` | a number, and its name where it has one |
    | `name` | of a variable |
    | `field` | its name; an array, a cell or a number of the run |
    | `item` | an array and an index |
    | `entry` | a table, its indices one inside the other, the way to the field |
    | `has` | the name of a Program, and an index or None |
    | `call` | the name of a function, and its arguments |
    | `convert` | a value of another type |
    | `add sub mul div and or xor not shl shr lt le gt ge eq ne neg` | values |
    | `select abs min max ceil truncate some rarely` | values |
    """

    type: str
    op: str
    args: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RoutineStatement:
    """A statement: what is done, with what, and the statements inside of it.

    | what | arguments | inside |
    |---|---|---|
    | `set` | the name of a variable, its type, a value (None: nothing to do) | |
    | `put` | a field, an item or an entry, a value | |
    | `if` | a truth, whether it holds rarely | what is done where it holds, and where not |
    | `while` | a truth | the body |
    | `count` | the name of the index, start, end | the body |
    | `break`, `continue` | | |
    | `return` | a value or None | |
    | `leave` | status and detail | |
    | `call` | a call | |
    | `evaluate` | a Program, an index or None, arrays that it is given, arrays of results | |
    | `copy` | target, place there, source, place there, count, mask | |
    """

    what: str
    args: tuple[object, ...] = ()
    inside: tuple[tuple[RoutineStatement, ...], ...] = ()
    note: str = ""  # a comment


@dataclass(frozen=True, slots=True)
class RoutineFunction:
    """A function of a routine."""

    name: str
    doc: str
    parameters: tuple[tuple[str, str], ...]  # names and types, without the memory
    result: str
    variables: tuple[tuple[str, str], ...]  # names and types of all that are set
    body: tuple[RoutineStatement, ...]
    leaves: bool  # whether the routine can end here

    changes: bool  # whether it does anything to the memory


@dataclass(frozen=True, slots=True)
class Memory:
    """What a routine works on."""

    fields: Mapping[str, str]  # types by name: numbers, cells of lanes, arrays of lanes
    integers: Collection[str]  # arrays of integers, the same in all lanes
    tables: Mapping[str, Mapping[str, int]]  # of each its entries that are the same in all rows
    # fields that are known when it is read, and Programs that are there (None: seen in the run)
    known: Mapping[str, int | float | bool] = field(default_factory=dict)
    programs: Collection[str] | None = None


def read(
    module: ModuleType, start: str, memory: Memory, externals: Collection[str] = ()
) -> dict[str, RoutineFunction]:
    """Return the functions that one function of a module needs, each behind those that it calls."""
    return _Reader(module, memory, frozenset(externals)).functions(start)


class _Reader:
    """Reads one module for one kind of memory."""

    def __init__(self, module: ModuleType, memory: Memory, externals: frozenset[str]) -> None:
        self.module, self.memory, self.externals = module, memory, externals
        text = inspect.getsource(module)
        tree = ast.parse(text)
        self.comments = {
            token.start[0]: (token.string.lstrip("# "), token.line.lstrip().startswith("#"))
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT
        }
        self.texts = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.begun: set[str] = set()
        self.done: dict[str, RoutineFunction] = {}

    def functions(self, start: str) -> dict[str, RoutineFunction]:
        self.function(start)
        called = {start}
        for name, made in reversed(self.done.items()):
            if name in called:
                called |= {str(e.args[0]) for e in expressions(made.body) if e.op == "call"}
        return {name: made for name, made in self.done.items() if name in called}

    def function(self, name: str) -> RoutineFunction:
        """Return a function, read when it is first called."""
        if name not in self.done:
            if name in self.begun:
                raise CompileError(f"{name} calls itself, which no routine does")
            self.begun.add(name)
            self.done[name] = _FunctionReader(self, self.texts[name]).function()
        return self.done[name]

    def does(self, name: str) -> bool:
        """Return whether a function does anything."""
        return name in self.externals or bool(self.function(name).body)

    def signature(self, name: str) -> tuple[list[tuple[str, str]], str]:
        """Return names and types of the parameters behind the memory, and that of the result."""
        text = self.texts[name]
        parameters = [(a.arg, _annotation(a.annotation)) for a in text.args.args[1:]]
        return parameters, _annotation(text.returns)


def _annotation(node: ast.expr | None) -> str:
    text = "None" if node is None else ast.unparse(node)
    if text not in (*TYPES, NONE):
        raise CompileError(f"a routine has no type {text}", remedy=f"take one of {TYPES}")
    return text


_Operator = Callable[..., int | float | bool]
_OPERATORS: dict[type, tuple[str, _Operator]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.USub: ("neg", operator.neg),
}


_CHANGES = ("put", "evaluate", "copy", "leave")


def statements(body: Sequence[RoutineStatement]) -> Iterator[RoutineStatement]:
    """Yield all statements, those inside of others included."""
    for statement in body:
        yield statement
        for inner in statement.inside:
            yield from statements(inner)


def expressions(part: object) -> Iterator[Expression]:
    """Yield all values in a statement, in several, or in a value."""
    if isinstance(part, tuple):
        for inner in part:
            yield from expressions(inner)
    elif isinstance(part, RoutineStatement):
        yield from expressions((part.args, part.inside))
    elif isinstance(part, Expression):
        yield part
        yield from expressions(part.args)


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def constant(value: int | float | bool, name: str = "") -> Expression:
    """Return a constant, by its name in the module where it has one."""
    kind = TRUTH if isinstance(value, bool) else INT if isinstance(value, int) else NUMBER
    return Expression(kind, "constant", (value, name) if name else (value,))


class _FunctionReader:
    """Reads one function."""

    def __init__(self, home: _Reader, text: ast.FunctionDef) -> None:
        self.home, self.text, self.memory = home, text, home.memory
        self.parameters, self.result = home.signature(text.name)
        self.types = dict(self.parameters)
        self.variables: dict[str, str] = {}
        self.rows: dict[str, ast.expr] = {}  # names for rows of tables
        self.indices: set[str] = set()  # of the loops around, and of rows that have names
        self.leaves = False

    def function(self) -> RoutineFunction:
        body = self.block(self.text.body)
        return RoutineFunction(
            self.text.name,
            ast.get_docstring(self.text) or "",
            tuple(self.parameters),
            self.result,
            tuple(self.variables.items()),
            body,
            self.leaves,
            any(s.what in _CHANGES for s in statements(body))
            or any(
                str(e.args[0]) in self.home.externals or self.home.done[str(e.args[0])].changes
                for e in expressions(body)
                if e.op == "call"
            ),
        )

    def refuse(self, node: ast.AST, why: str) -> CompileError:
        line = getattr(node, "lineno", 0)
        return CompileError(f"{self.home.module.__name__}:{line}: {why}: {ast.unparse(node)}")

    # -- statements --------------------------------------------------------------------------------
    def block(self, nodes: Sequence[ast.stmt]) -> tuple[RoutineStatement, ...]:
        made: list[RoutineStatement] = []
        for node in nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            found = self.statement(node)
            if found:
                made += [replace(found[0], note=self.note(node.lineno)), *found[1:]]
            if found and found[-1].what in ("break", "continue", "return", "leave"):
                break
        return tuple(made)

    def note(self, line: int) -> str:
        """Return the comment in a line, or that above it."""
        comments = self.home.comments
        words = [comments[line][0]] if line in comments else []
        while comments.get(line - 1, ("", False))[1]:
            line -= 1
            words.insert(0, comments[line][0])
        return " ".join(words)

    def statement(self, node: ast.stmt) -> list[RoutineStatement]:
        match node:
            case ast.Pass():
                return []
            case ast.Break():
                return [RoutineStatement("break")]
            case ast.Continue():
                return [RoutineStatement("continue")]
            case ast.Return(value=None):
                return [RoutineStatement("return", (None,))]
            case ast.Return(value=ast.expr() as value):
                return [RoutineStatement("return", (self.value(value, self.result),))]
            case ast.Raise(exc=ast.Call(func=ast.Name(id="Leave"), args=[status, *detail])):
                self.leaves = True
                more = self.value(detail[0], INT) if detail else constant(0)
                return [RoutineStatement("leave", (self.value(status, INT), more))]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=True)
                return [self.assign(target, value, None) for target, value in pairs]
            case ast.Assign(targets=[target], value=value):
                return [self.assign(target, value, None)]
            case ast.AnnAssign(target=target, value=ast.expr() as value, annotation=kind):
                return [self.assign(target, value, _annotation(kind))]
            case ast.AugAssign(target=target, op=op, value=value):
                load = ast.parse(ast.unparse(target), mode="eval").body
                whole = ast.copy_location(ast.BinOp(load, op, value), node)
                return [self.assign(target, whole, None)]
            case ast.If():
                return self.branch(node)
            case ast.While(test=test, body=body, orelse=[]):
                return [RoutineStatement("while", (self.value(test, TRUTH),), (self.block(body),))]
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[*ends]),
                body=body,
                orelse=[],
            ) if 1 <= len(ends) <= 2:
                bounds = [self.value(e, INT) for e in ends]
                start, end = bounds if len(ends) == 2 else (constant(0), bounds[0])
                if name in self.types:
                    raise self.refuse(node.target, "the index of a loop has a name of its own")
                self.declare(node, name, INT)
                self.indices.add(name)
                inside = self.block(body)
                self.indices.discard(name)
                del self.types[name]  # behind the loop it has no value
                return (
                    []
                    if end == start
                    else [RoutineStatement("count", (name, start, end), (inside,))]
                )
            case ast.Expr(value=ast.Call(func=ast.Name(id="evaluate"), args=args)):
                return [self.evaluation(*args)]
            case ast.Expr(value=ast.Call(func=ast.Name(id="copy"), args=[target, source, *rest])):
                count, mask = rest
                none = constant(0)
                arrays = (self.value(target, ARRAY), none, self.value(source, ARRAY), none)
                many = self.value(count, INT)
                copied = RoutineStatement("copy", (*arrays, many, self.value(mask, MASK)))
                return [] if many == none else [copied]
            case ast.Expr(value=ast.Call(func=ast.Name(id="shift"), args=args)):
                kinds = (ARRAY, INT, ARRAY, INT, INT, MASK)
                return [RoutineStatement("copy", tuple(map(self.value, args, kinds)))]
            case ast.Expr(value=ast.Call() as value):
                call = self.call(value)
                nothing = call.op == "call" and not self.home.does(str(call.args[0]))
                return [] if nothing else [RoutineStatement("call", (call,))]
        raise self.refuse(node, "a routine does not say this")

    def assign(self, target: ast.expr, value: ast.expr, kind: str | None) -> RoutineStatement:
        if isinstance(target, ast.Name):
            name = target.id
            if name in self.indices:
                raise self.refuse(target, "an index is not written to")
            table = self.table(value)
            if table is not None:
                for index in ast.walk(value):
                    if isinstance(index, ast.Name) and index.id in self.types:
                        self.indices.add(index.id)  # it stays what it is
                self.rows[name] = value
                return RoutineStatement("set", (name, NONE, None))
            known = self.types.get(name)
            made = self.value(value, kind or known)
            self.declare(target, name, made.type)
            return RoutineStatement("set", (name, made.type, made))
        place = self.expression(target)
        if place.op == "constant" and place == self.value(value, place.type):
            return RoutineStatement("set", ("", NONE, None))
        if place.op not in ("field", "item"):
            raise self.refuse(target, "this is not written to")
        return RoutineStatement("put", (place, self.value(value, place.type)))

    def declare(self, node: ast.AST, name: str, kind: str) -> None:
        if self.types.setdefault(name, kind) != kind:
            raise self.refuse(node, f"{name} is {self.types[name]}, not {kind}")
        self.variables.setdefault(name, kind)

    def branch(self, node: ast.If) -> list[RoutineStatement]:
        condition = self.value(node.test, None)
        if condition.op == "constant":
            return list(self.block(node.body if condition.args[0] else node.orelse))
        if condition.type == MASK:
            condition = Expression(TRUTH, "only", (condition,))
        rarely = condition.op == "rarely"
        if rarely:
            (inner,) = condition.args
            assert isinstance(inner, Expression)
            condition = inner
        inside = (self.block(node.body), self.block(node.orelse))
        return [RoutineStatement("if", (condition, rarely), inside)] if any(inside) else []

    def evaluation(
        self,
        _run: ast.expr,
        name: ast.expr,
        given: ast.expr,
        results: ast.expr,
        index: ast.expr | None = None,
    ) -> RoutineStatement:
        if not (
            isinstance(name, ast.Constant)
            and isinstance(given, ast.Tuple)
            and isinstance(results, ast.Tuple)
        ):
            raise self.refuse(name, "a Program is called by its name, with arrays")
        number = None if index is None else self.value(index, INT)
        arrays = [tuple(map(self.expression, part.elts)) for part in (given, results)]
        return RoutineStatement("evaluate", (name.value, number, *arrays))

    # -- values ------------------------------------------------------------------------------------
    def value(self, node: ast.expr, kind: str | None) -> Expression:
        """Return a value of a type."""
        made = self.expression(node)
        return made if kind is None else self.converted(made, kind, node)

    def converted(self, made: Expression, kind: str, node: ast.expr) -> Expression:
        if made.type == kind:
            return made
        if made.op == "constant" and kind in _WIDER.get(made.type, ()):
            number, *name = made.args
            assert isinstance(number, (int, float))
            if kind in (NUMBER, LANES):
                number = float(number)
            return Expression(kind, "constant", (number, *name))
        if made.type == MASK and kind == TRUTH:
            return Expression(TRUTH, "only", (made,))
        if kind not in _WIDER.get(made.type, ()):
            raise self.refuse(node, f"this is {made.type}, not {kind}")
        if made.type == INT and kind == LANES:
            made = Expression(NUMBER, "convert", (made,))
        return Expression(kind, "convert", (made,))

    def alike(self, node: ast.expr, *values: Expression) -> list[Expression]:
        """Return values of the one type that all of them can have."""
        kinds = {v.type for v in values}
        for kind in (INT, TRUTH, NUMBER, MASK, LANES, WORD):
            if all(v == kind or kind in _WIDER.get(v, ()) for v in kinds):
                return [self.converted(v, kind, node) for v in values]
        raise self.refuse(node, f"these are {kinds}")

    def expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return constant(value)
            case ast.Name(id=name):
                return self.named(node, name)
            case ast.Attribute(value=ast.Name(id="run"), attr=name):
                return self.field(node, name)
            case ast.Attribute() | ast.Subscript():
                return self.element(node)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                made = self.expression(inner)
                if made.op == "constant":
                    return constant(not made.args[0])
                return Expression(made.type, "not", (made,))
            case ast.UnaryOp(op=ast.USub() as op, operand=inner):
                return self.operation(node, op, inner)
            case ast.BoolOp(op=op, values=values):
                return self.logic(node, isinstance(op, ast.And), values)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self.operation(node, op, left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return self.operation(node, op, left, right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(node, test, body, orelse)
            case ast.Call():
                return self.call(node)
        raise self.refuse(node, "a routine has no such value")

    def named(self, node: ast.expr, name: str) -> Expression:
        if name in self.types:
            return Expression(self.types[name], "name", (name,))
        value = getattr(self.home.module, name, None)
        if not isinstance(value, (int, float)):
            raise self.refuse(node, "this is not known here")
        return constant(value, name)

    def field(self, node: ast.expr, name: str) -> Expression:
        if name in self.memory.known:
            return constant(self.memory.known[name])
        if name not in self.memory.fields:
            raise self.refuse(node, "the memory has no such field")
        return Expression(self.memory.fields[name], "field", (name,))

    def table(self, node: ast.expr) -> tuple[str, list[Expression], tuple[str, ...]] | None:
        """Return a row of a table: its name, the indices on the way, the names on the way."""
        match node:
            case ast.Name(id=name) if name in self.rows:
                return self.table(self.rows[name])
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id="run"), attr=name), slice=index
            ) if name in self.memory.tables:
                return name, [self.value(index, INT)], ()
            case ast.Subscript(value=ast.Attribute(value=outer, attr=name), slice=index):
                found = self.table(outer)
                if found is not None:
                    return found[0], [*found[1], self.value(index, INT)], (*found[2], name)
        return None

    def element(self, node: ast.Attribute | ast.Subscript) -> Expression:
        if isinstance(node, ast.Attribute):
            found = self.table(node.value)
            if found is not None:
                name, indices, way = found
                way = (*way, node.attr)
                always = self.memory.tables[name].get(".".join(way))
                if always is not None:
                    return constant(always)
                return Expression(INT, "entry", (name, tuple(indices), way))
            raise self.refuse(node, "the memory has no such table")
        match node.value:
            case ast.Attribute(value=ast.Name(id="run"), attr=name) if name in self.memory.integers:
                return Expression(INT, "item", (name, self.value(node.slice, INT)))
        found = self.table(node.value.value) if isinstance(node.value, ast.Attribute) else None
        if found is not None and isinstance(node.value, ast.Attribute):  # a list of integers
            name, indices, way = found
            indices = [*indices, self.value(node.slice, INT)]
            return Expression(INT, "entry", (name, tuple(indices), (*way, node.value.attr)))
        return Expression(
            LANES, "item", (self.value(node.value, ARRAY), self.value(node.slice, INT))
        )

    def logic(self, node: ast.expr, every: bool, values: Sequence[ast.expr]) -> Expression:
        made = [self.expression(values[0]), *map(self.harmless, values[1:])]
        rest: list[Expression] = []
        for value in made:
            if value.op != "constant":
                rest.append(value)
            elif bool(value.args[0]) is not every:
                return constant(not every)
        if not rest:
            return constant(every)
        first, *others = self.alike(node, *rest)
        for other in others:
            first = Expression(first.type, "and" if every else "or", (first, other))
        return first

    def harmless(self, node: ast.expr) -> Expression:
        """Return a value that Python may not ask for, while others do."""
        made = self.expression(node)
        for e in expressions(made):
            name = str(e.args[0])
            if e.op == "call" and (name in self.home.externals or self.home.done[name].changes):
                raise self.refuse(node, f"{name} changes something, and is not always called")
        return made

    def operation(self, node: ast.expr, op: ast.AST, *operands: ast.expr) -> Expression:
        name, exact = _OPERATORS[type(op)]
        values = [self.expression(operand) for operand in operands]
        if all(v.op == "constant" for v in values):
            return constant(exact(*(v.args[0] for v in values)))
        if name == "div":
            values = [self.converted(v, NUMBER, node) if v.type == INT else v for v in values]
        made = self.alike(node, *values)
        kind = made[0].type
        if name in COMPARISONS:
            kind = MASK if kind in (LANES, MASK, WORD) else TRUTH
        return Expression(kind, name, tuple(made))

    def choice(
        self, node: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr
    ) -> Expression:
        condition = self.expression(test)
        if condition.op == "constant":
            return self.expression(body if condition.args[0] else orelse)
        yes, no = self.alike(node, self.harmless(body), self.harmless(orelse))
        wide = {NUMBER: LANES, TRUTH: MASK}
        if condition.type == MASK and yes.type in wide:
            yes, no = (self.converted(v, wide[yes.type], node) for v in (yes, no))
        return Expression(yes.type, "select", (condition, yes, no))

    def call(self, node: ast.Call) -> Expression:
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node, "a routine calls functions by their names")
        name, args = node.func.id, node.args
        if name == "has":
            return self.has(*args)
        if name in ("some", "rarely"):
            made = self.expression(args[0])
            return made if made.op == "constant" else Expression(TRUTH, name, (made,))
        if name in ("abs", "min", "max", "ceil", "int", "float"):
            return self.builtin(node, name, [self.expression(a) for a in args])
        if name not in self.home.texts:
            raise self.refuse(node, "there is no such function")
        parameters, result = self.home.signature(name)
        kinds = [kind for _, kind in parameters]
        if len(kinds) != len(args) - 1 or node.keywords:
            raise self.refuse(node, f"{name} takes {len(kinds) + 1} arguments")
        given = [self.value(a, k) for a, k in zip(args[1:], kinds, strict=True)]
        if name not in self.home.externals:
            called = self.home.function(name)
            if len(called.body) == 1 and called.body[0].what == "return":
                (value,) = called.body[0].args
                if isinstance(value, Expression) and value.op == "constant":
                    return value
            self.leaves = self.leaves or called.leaves
        return Expression(result, "call", (name, *given))

    def has(self, _run: ast.expr, name: ast.expr, index: ast.expr | None = None) -> Expression:
        assert isinstance(name, ast.Constant)
        if self.memory.programs is not None:
            there = any(p.rstrip("0123456789") == name.value for p in self.memory.programs)
            if index is None or not there:
                return constant(there)
        number = None if index is None else self.value(index, INT)
        return Expression(TRUTH, "has", (name.value, number))

    def builtin(self, node: ast.Call, name: str, args: Sequence[Expression]) -> Expression:
        if name in ("min", "max"):
            made = [self.converted(a, INT, node) for a in args]
            return Expression(INT, name, tuple(made))
        (value,) = args
        if name == "float":
            if value.type == WORD:
                return Expression(LANES, "convert", (value,))
            return self.converted(value, NUMBER, node)
        if name in ("int", "ceil"):
            if value.type != NUMBER:
                value = Expression(NUMBER, "only", (value,))
            return Expression(INT, "truncate" if name == "int" else name, (value,))
        return Expression(value.type, name, (value,))
