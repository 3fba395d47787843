"""Lowering: from the statements of a Program to primitive `Code`.

See `linkwright.program.code` for the instructions. Three rules shape the result. A node is computed
once, in the outermost loop level at which its operands are known. Inside a sum or product, operands
are combined in the order of their loop levels, then of their rates. With `fuse=True` a product that
is used only as the term of one sum is fused into it (`fma`), which rounds once instead of twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright.algebra.expr import ZERO, Expr, raised
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.numbers import Number
from linkwright.program.code import COMMUTATIVE, CONDITIONS, Code, Instruction, LoopCode
from linkwright.program.program import (
    Assign,
    Call,
    Loop,
    Program,
    ProgramError,
    Solve,
    Statement,
    check,
    walk,
)
from linkwright.program.rates import Rate, is_impure, symbol_rate

_CHAIN = 8  # longer sums are split, so that their parts can be added side by side


def lower(program: Program, *, fuse: bool = False, codes: dict[int, Code] | None = None) -> Code:
    """Return the primitive code of a Program, without instructions that no output needs.

    `codes` has the code of Programs that are called, by `id`, and gets what is lowered here: one
    for all Programs of a unit, which the caller holds, lowers once what several of them call.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> [i.op for i in lower(p).instructions]
    ['input', 'input', 'mul', 'add']
    """
    check(program)
    lowering = _Lowering(program, fuse, {} if codes is None else codes)
    lowering.statements(program.statements)
    outputs = tuple(
        (port, tuple(lowering.number(x) for x in port.entries)) for port in program.outputs
    )
    instructions = lowering.blocks[0].instructions
    gates = [k for k, port in enumerate(program.inputs) if port.name == program.gate]
    gate = gates[0] if gates else None
    code = Code(program.name, program.inputs, outputs, instructions, lowering.count, gate)
    _drop_dead(code)
    _mark_outputs(code, program)
    return code


@dataclass(slots=True)
class _Block:
    """One loop level: its instructions, the values known in it, and a table of what it computes."""

    instructions: list[Instruction] = field(default_factory=list)
    values: dict[Expr, int] = field(default_factory=dict)
    table: dict[tuple[Any, ...], int] = field(default_factory=dict)


class _Lowering:
    """The state of one run of `lower`."""

    def __init__(self, program: Program, fuse: bool, codes: dict[int, Code]) -> None:
        self.program = program
        self.fuse = fuse
        self.count = 0
        self.rates: list[Rate] = []
        self.levels: list[int] = []
        self.made: list[Instruction] = []
        self.blocks: list[_Block] = [_Block()]
        self.uses = _count_uses(program)
        self.codes = codes
        for p, port in enumerate(program.inputs):
            for k, x in enumerate(port.entries):
                self.define(x, self.emit("input", (), (p, k), rate=symbol_rate(x, program.slow)))

    # -- instructions ------------------------------------------------------------------------------
    def emit(
        self, op: str, args: tuple[int, ...], data: Any = None, *, rate: Rate | None = None
    ) -> int:
        """Return the id of an instruction, which is new only where no equal one is at hand."""
        if op in COMMUTATIVE and args[0] > args[1]:
            args = (args[1], args[0])
        level = 0
        if len(self.blocks) > 1:
            level = max([self.levels[a] for a in args], default=0)
        key = (op, args, data)
        block = self.blocks[level]
        known = block.table.get(key)
        if known is not None:
            return known
        if rate is None:
            rates, rate = self.rates, Rate.CONSTANT
            for a in args:
                if rates[a] > rate:
                    rate = rates[a]
        new = self.append(block, level, op, args, data, rate)
        block.table[key] = new
        return new

    def append(
        self, block: _Block, level: int, op: str, args: tuple[int, ...], data: Any, rate: Rate
    ) -> int:
        new = self.count
        self.count += 1
        self.rates.append(rate)
        self.levels.append(level)
        instruction = Instruction(new, op, args, data, rate)
        self.made.append(instruction)
        block.instructions.append(instruction)
        return new

    def const(self, value: Number) -> int:
        return self.emit("const", (), float(value))

    def define(self, x: Expr, value: int) -> None:
        self.blocks[self.levels[value]].values[x] = value

    def known(self, x: Expr) -> int | None:
        if len(self.blocks) == 1:
            return self.blocks[0].values.get(x)
        for block in self.blocks:
            value = block.values.get(x)
            if value is not None:
                return value
        return None

    # -- statements --------------------------------------------------------------------------------
    def statements(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Assign):
                value = self.value(statement.value)
                self.blocks[-1].values[statement.target] = value
                self.name(value, statement.target.name)
            elif isinstance(statement, Solve):
                self.solve(statement)
            elif isinstance(statement, Call):
                self.call(statement)
            else:
                self.loop(statement)

    def name(self, value: int, name: str) -> None:
        instruction = self.made[value]
        if not instruction.name and instruction.op not in ("input", "const"):
            instruction.name = name

    def call(self, statement: Call) -> None:
        args = tuple(self.number(x) for x in statement.arguments)
        code = self.codes.get(id(statement.program))
        if code is None:
            code = lower(statement.program, fuse=self.fuse, codes=self.codes)
            self.codes[id(statement.program)] = code
        rate = max([self.rates[a] for a in args], default=Rate.PARAMETER)
        level = len(self.blocks) - 1
        block = self.blocks[level]
        made = self.append(block, level, "call", args, code, rate)
        for k, x in enumerate(statement.targets):
            block.values[x] = self.append(block, level, "result", (made,), k, rate)
            self.name(block.values[x], x.name)

    def loop(self, loop: Loop) -> None:
        initial = [self.number(c.initial) for c in loop.carried]
        arrays = [self.number(v) for s in loop.scanned for v in s.values]
        outside = [self.value(x) for x in loop.outer_reads]
        rate = max([self.rates[a] for a in (*initial, *arrays, *outside)], default=Rate.PARAMETER)
        level = len(self.blocks)
        block = _Block()
        self.blocks.append(block)

        def inner(x: Expr) -> int:
            value = self.append(block, level, "inner", (), None, rate)
            block.values[x] = value
            return value

        carried = tuple(inner(c.symbol) for c in loop.carried)
        scanned = tuple(inner(s.symbol) for s in loop.scanned)
        self.statements(loop.body)
        following = tuple(self.number(c.following) for c in loop.carried)
        stacked = tuple(self.number(s.value) for s in loop.stacked)
        self.blocks.pop()
        body = [i for i in block.instructions if i.op != "inner"]
        names = tuple(x.name for x in loop.inner_symbols)
        data = LoopCode(loop.count, carried, following, scanned, stacked, body, names)
        outer = self.blocks[-1]
        made = self.append(outer, level - 1, "loop", (*initial, *arrays), data, rate)
        for k, x in enumerate(loop.targets):
            outer.values[x] = self.append(outer, level - 1, "result", (made,), k, rate)
            self.name(outer.values[x], x.name)

    def solve(self, statement: Solve) -> None:
        """Emit elimination; each column's largest entry is brought up by exchanging rows."""
        n = statement.size
        columns = len(statement.right) // n
        rows = [
            [self.number(statement.matrix[i * n + j]) for j in range(n)]
            + [self.number(statement.right[k * n + i]) for k in range(columns)]
            for i in range(n)
        ]
        for k in range(n):
            for i in range(k + 1, n):
                self.exchange(rows, k, i)
            for i in range(k + 1, n):
                factor = self.emit("div", (rows[i][k], rows[k][k]))
                for j in range(k + 1, n + columns):
                    step = self.emit("mul", (factor, rows[k][j]))
                    rows[i][j] = self.emit("sub", (rows[i][j], step))
        for c in range(columns):
            unknown = [0] * n
            for i in reversed(range(n)):
                value = rows[i][n + c]
                for j in range(i + 1, n):
                    value = self.emit("sub", (value, self.emit("mul", (rows[i][j], unknown[j]))))
                unknown[i] = self.emit("div", (value, rows[i][i]))
                self.blocks[-1].values[statement.targets[c * n + i]] = unknown[i]

    def exchange(self, rows: list[list[int]], k: int, i: int) -> None:
        """Exchange rows k and i where row i has the larger entry in column k."""
        larger = self.emit("lt", (self.emit("abs", (rows[k][k],)), self.emit("abs", (rows[i][k],))))
        for j in range(k, len(rows[k])):
            a, b = rows[k][j], rows[i][j]
            rows[k][j] = self.emit("select", (larger, b, a))
            rows[i][j] = self.emit("select", (larger, a, b))

    # -- expressions -------------------------------------------------------------------------------
    def number(self, x: Expr) -> int:
        """Return the id of the value of x as a number, never as a condition."""
        value = self.value(x)
        return self.emit("number", (value,)) if self.made[value].op in CONDITIONS else value

    def value(self, root: Expr) -> int:
        """Return the id of the value of an expression, lowering what is not known yet."""
        found = self.known(root)
        if found is not None:
            return found
        known = self.known
        stack, passed = [root], set[Expr]()
        while stack:
            node = stack[-1]
            if node not in passed and known(node) is None:
                missing = [a for a in node.args if known(a) is None and a not in passed]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                if node is not root and self.deferred(node):
                    passed.add(node)
                else:
                    self.define(node, self.node(node))
            stack.pop()
        found = known(root)
        assert found is not None
        return found

    def deferred(self, node: Expr) -> bool:
        """Whether a product is left to the one sum or scaling that uses it."""
        return node.op == "prod" and self.uses[node] == 1 and node in self.uses.inside

    def node(self, node: Expr) -> int:
        op = node.op
        if op == "num":
            return self.const(node.data)
        if op == "sym":
            raise ProgramError(f"program {self.program.name!r} reads {node} before it is defined")
        if op == "sum":
            return self.add_up(node)
        if op == "scale":
            return self.product(*self.parts(node.data, node.args[0]))
        if op == "prod":
            if len(node.args) == 1 and node.data[0] > 1:
                return self.power(node.args[0], node.data[0])
            return self.product(*self.parts(1, node))
        args = tuple(self.value(a) for a in node.args)
        if op in ("and", "or", "not"):
            return self.emit(op, args)
        if op in ("eq", "ne") and ZERO in node.args:
            other = args[1] if node.args[0] is ZERO else args[0]
            if self.made[other].op in CONDITIONS:  # a condition that has a name is read as it is
                return other if op == "ne" else self.emit("not", (other,))
        if op == "select":
            return self.emit(op, (args[0], self.number(node.args[1]), self.number(node.args[2])))
        args = tuple(self.number(a) for a in node.args)
        if op in ("min", "max"):
            value = args[0]
            for a in args[1:]:
                value = self.emit(op, (value, a))
            return value
        if op == "pi":
            return self.const(float(FUNCTIONS["pi"].evaluate(None)))
        if is_impure(node):
            level = len(self.blocks) - 1
            return self.append(self.blocks[-1], level, op, args, node.data, Rate.ACCELERATION)
        return self.emit(op, args, node.data)

    def power(self, base: Expr, exponent: int) -> int:
        if exponent == 1:
            return self.number(base)
        known = self.known(raised(base, exponent))
        if known is not None:
            return known
        if exponent % 2:
            return self.emit("mul", (self.power(base, exponent - 1), self.number(base)))
        half = self.power(base, exponent // 2)
        return self.emit("mul", (half, half))

    def parts(self, coefficient: Number, x: Expr) -> tuple[Number, list[int], list[int]]:
        """Return the coefficient, the values above and those below the line of a term."""
        if x.op != "prod" or (not self.deferred(x) and self.known(x) is not None):
            return coefficient, [self.number(x)], []
        above = [self.power(b, e) for b, e in zip(x.args, x.data, strict=True) if e > 0]
        below = [self.power(b, -e) for b, e in zip(x.args, x.data, strict=True) if e < 0]
        return coefficient, above, below

    def by_rate(self, values: Sequence[int]) -> list[int]:
        if len(values) < 2:
            return list(values)
        rates, levels = self.rates, self.levels
        return sorted(values, key=lambda v: (levels[v], rates[v]))

    def chain(self, values: Sequence[int]) -> int | None:
        if len(values) < 2:
            return values[0] if values else None
        result: int | None = None
        for v in self.by_rate(values):
            result = v if result is None else self.emit("mul", (result, v))
        return result

    def split_product(
        self, coefficient: Number, above: Sequence[int], below: Sequence[int]
    ) -> tuple[int | None, list[int], int | None]:
        """Return the parameter part, the other values above and the denominator of a product."""
        rates = self.rates
        fixed: list[int] = []
        moving: list[int] = []
        for v in above:
            (moving if rates[v] > Rate.PARAMETER else fixed).append(v)
        moving = self.by_rate(moving)
        fixed_below = divisor = None
        if below:
            fixed_below = self.chain([v for v in below if rates[v] <= Rate.PARAMETER])
            divisor = self.chain([v for v in below if rates[v] > Rate.PARAMETER])
        part = self.chain(fixed)
        if abs(coefficient) != 1 or (part is None and fixed_below is not None):
            size: Number = -coefficient if coefficient < 0 else coefficient
            factor = self.const(size)
            part = factor if part is None else self.emit("mul", (factor, part))
        if fixed_below is not None:
            assert part is not None
            part = self.emit("div", (part, fixed_below))
        return part, moving, divisor

    def product(self, coefficient: Number, above: Sequence[int], below: Sequence[int]) -> int:
        part, moving, divisor = self.split_product(coefficient, above, below)
        values = ([] if part is None else [part]) + moving
        top = self.chain(values)
        if top is None:
            top = self.const(1)
        if divisor is not None:
            top = self.emit("div", (top, divisor))
        return self.emit("neg", (top,)) if coefficient < 0 else top

    def add_up(self, node: Expr) -> int:
        """Emit a sum: terms by rate, long ones in parts that can be computed side by side."""
        terms = [
            self.term(c, *self.split_product(*self.parts(c, x)))
            for c, x in zip(node.data[1:], node.args, strict=True)
        ]
        terms.sort(key=_by_place)
        start = self.const(node.data[0]) if node.data[0] != 0 else None
        fixed = [t for t in terms if t.place[1] <= Rate.PARAMETER]
        moving = [t for t in terms if t.place[1] > Rate.PARAMETER]
        value, negative = self.add_terms(start, False, fixed)
        if len(moving) <= _CHAIN:
            value, negative = self.add_terms(value, negative, moving)
        else:
            for first in range(0, len(moving), _CHAIN):
                part, minus = self.add_terms(None, False, moving[first : first + _CHAIN])
                assert part is not None
                value, negative = self.add_value(value, negative, part, minus)
        assert value is not None
        return self.emit("neg", (value,)) if negative else value

    def term(
        self, coefficient: Number, part: int | None, moving: list[int], divisor: int | None
    ) -> _Term:
        rates, levels = self.rates, self.levels
        level, rate = 0, 0
        for v in (part, *moving, divisor):
            if v is not None:
                level = max(level, levels[v])
                rate = max(rate, rates[v])
        return _Term(coefficient < 0, part, moving, divisor, (level, rate))

    def add_terms(
        self, value: int | None, negative: bool, terms: list[_Term]
    ) -> tuple[int | None, bool]:
        """Return (v, s): the sum so far is v, or -v where s; a positive term leads if any."""
        if value is None:
            lead = next((t for t in terms if not t.negative), None)
            if lead is not None:
                terms = [lead, *[t for t in terms if t is not lead]]
        for term in terms:
            values = ([] if term.part is None else [term.part]) + term.moving
            fusible = self.fuse and value is not None and term.divisor is None and len(values) > 1
            if fusible and not negative:
                assert value is not None
                front = self.chain(values[:-1])
                assert front is not None
                op = "fnma" if term.negative else "fma"
                value = self.emit(op, (front, values[-1], value))
                continue
            top = self.chain(values)
            top = self.const(1) if top is None else top
            if term.divisor is not None:
                top = self.emit("div", (top, term.divisor))
            value, negative = self.add_value(value, negative, top, term.negative)
        return value, negative

    def add_value(self, value: int | None, negative: bool, x: int, minus: bool) -> tuple[int, bool]:
        if value is None:
            return x, minus
        if negative == minus:
            return self.emit("add", (value, x)), negative
        return self.emit("sub", (x, value) if negative else (value, x)), False


@dataclass(slots=True, eq=False)
class _Term:
    """A term of a sum; `place` is its loop level and its rate."""

    negative: bool
    part: int | None
    moving: list[int]
    divisor: int | None
    place: tuple[int, int]


def _by_place(term: _Term) -> tuple[int, int]:
    return term.place


class _Uses(dict[Expr, int]):
    """How often each node is mentioned, and which products stand inside a sum or scaling."""

    inside: set[Expr]

    def __missing__(self, key: Expr) -> int:
        return 0


def _count_uses(program: Program) -> _Uses:
    uses = _Uses()
    uses.inside = set()
    roots: list[Expr] = []
    for statement in walk(program.statements):
        roots.extend(statement.operands)
        if isinstance(statement, Loop):
            roots.extend(statement.inner_operands)
    roots.extend(program.output_values())
    for root in roots:
        uses[root] = uses[root] + 1
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        absorbs = node.op in ("sum", "scale")
        for a in node.args:
            uses[a] = uses[a] + 1
            if a.args:
                if absorbs and a.op == "prod":
                    uses.inside.add(a)
                if a not in seen:
                    seen.add(a)
                    stack.append(a)
    return uses


def _drop_dead(code: Code) -> None:
    """Remove the instructions that no output needs."""
    live = set(code.output_ids())
    code.instructions = _live_block(code.instructions, live)


def _live_block(instructions: list[Instruction], live: set[int]) -> list[Instruction]:
    kept = []
    for instruction in reversed(instructions):
        if instruction.id not in live:
            continue
        live.update(instruction.args)
        if instruction.op == "loop":
            data = instruction.data
            live.update((*data.following, *data.stacked))
            data.body = _live_block(data.body, live)
        kept.append(instruction)
    kept.reverse()
    return kept


def _mark_outputs(code: Code, program: Program) -> None:
    """Give the rate OUTPUT to what only auxiliary outputs need."""
    if not program.auxiliary:
        return
    needed = {i for port, ids in code.outputs if port.name not in program.auxiliary for i in ids}
    _mark_needed(code.instructions, needed)
    for instruction in code.walk():
        if instruction.id not in needed and instruction.rate > Rate.PARAMETER:
            instruction.rate = Rate.OUTPUT


def _mark_needed(instructions: list[Instruction], needed: set[int]) -> None:
    """Add to the needed ids all that they are computed from, inside loops too."""
    for instruction in reversed(instructions):
        if instruction.id in needed:
            needed.update(instruction.args)
            if instruction.op == "loop":
                needed.update((*instruction.data.following, *instruction.data.stacked))
                _mark_needed(instruction.data.body, needed)
