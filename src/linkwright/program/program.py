"""The Program: named, shaped inputs and outputs with assignments between them.

A Program is data: an immutable record that passes rewrite and backends compile. Its statements are
in single assignment form and in an order in which each reads only what stands above it:

- `Assign`: a local symbol gets the value of an expression;
- `Loop`: a scan over arrays, with values carried from one turn to the next;
- `Call`: another Program, kept as one function;
- `Solve`: a linear system, solved with pivoting at run time.

An expression is computed once wherever it occurs, so that two mentions of the same (interned) node
cost no more than one. Local symbols exist to hold shared partial sums and products, which the
canonical form of an expression cannot show, and the results of loops, calls and solves.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from linkwright.algebra.expr import Expr, as_expr
from linkwright.algebra.functions.calls import where
from linkwright.algebra.symbols import symbol
from linkwright.algebra.walk import postorder
from linkwright.base.errors import Error


class ProgramError(Error):
    """A Program that is not well formed, or a request that it cannot meet."""


@dataclass(frozen=True, slots=True)
class ProgramPort:
    """A named array of scalars that goes into or comes out of a Program.

    Args:
        shape: its shape; () for a scalar.
    """

    name: str
    shape: tuple[int, ...]
    entries: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if math.prod(self.shape) != len(self.entries):
            raise ProgramError(
                f"{self.name!r} has {len(self.entries)} entries, "
                f"which do not fill the shape {self.shape}"
            )

    @property
    def size(self) -> int:
        """The number of scalars."""
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Assign:
    """A local symbol and the expression it stands for; `note` says what it is."""

    target: Expr
    value: Expr
    note: str = ""

    @property
    def targets(self) -> tuple[Expr, ...]:
        """The symbols that this statement defines."""
        return (self.target,)

    @property
    def operands(self) -> tuple[Expr, ...]:
        """The expressions that this statement reads."""
        return (self.value,)

    def with_operands(self, operands: Sequence[Expr]) -> Assign:
        """Return the statement reading other expressions."""
        return Assign(self.target, operands[0], self.note)


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that a loop carries: inside it is `symbol`, after the loop `final`."""

    symbol: Expr
    initial: Expr
    following: Expr
    final: Expr


@dataclass(frozen=True, slots=True)
class Scanned:
    """An array that a loop reads, one value a turn."""

    symbol: Expr
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Stacked:
    """An array that a loop writes, one value a turn."""

    value: Expr
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A scan: `count` turns of the body, which may also read anything defined before the loop."""

    count: int
    carried: tuple[Carried, ...]
    scanned: tuple[Scanned, ...]
    stacked: tuple[Stacked, ...]
    body: tuple[Statement, ...]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ProgramError(f"a loop needs at least one turn, not {self.count}")
        for array in self.scanned:
            if len(array.values) != self.count:
                raise ProgramError(
                    f"the scanned array {array.symbol} does not have {self.count} values"
                )
        for out in self.stacked:
            if len(out.targets) != self.count:
                raise ProgramError(
                    f"a stacked array of the loop does not have {self.count} targets"
                )

    @property
    def inner_symbols(self) -> tuple[Expr, ...]:
        """The symbols that exist only inside the loop, those of the body's statements left out."""
        return (*(c.symbol for c in self.carried), *(s.symbol for s in self.scanned))

    @property
    def targets(self) -> tuple[Expr, ...]:
        """The symbols that this statement defines for what follows it."""
        return (*(c.final for c in self.carried), *(t for s in self.stacked for t in s.targets))

    @property
    def operands(self) -> tuple[Expr, ...]:
        """The expressions that are read before the first turn."""
        return (*(c.initial for c in self.carried), *(v for s in self.scanned for v in s.values))

    @property
    def inner_operands(self) -> tuple[Expr, ...]:
        """The expressions that each turn computes, those of the body's statements left out."""
        return (*(c.following for c in self.carried), *(s.value for s in self.stacked))

    @property
    def outer_reads(self) -> tuple[Expr, ...]:
        """The symbols from outside that the body reads."""
        inside = set(self.inner_symbols)
        reads: dict[Expr, None] = {}
        exprs = list(self.inner_operands)
        for statement in walk(self.body):
            inside.update(statement.targets)
            exprs.extend(statement.operands)
            if isinstance(statement, Loop):
                inside.update(statement.inner_symbols)
                exprs.extend(statement.inner_operands)
        for node in postorder(exprs):
            if node.op == "sym" and node not in inside:
                reads[node] = None
        return tuple(reads)

    def with_operands(self, operands: Sequence[Expr]) -> Loop:
        """Return the statement reading other expressions before its first turn."""
        rest = iter(operands)
        carried = tuple(replace(c, initial=next(rest)) for c in self.carried)
        scanned = tuple(
            replace(s, values=tuple(next(rest) for _ in s.values)) for s in self.scanned
        )
        return replace(self, carried=carried, scanned=scanned)


@dataclass(frozen=True, slots=True)
class Call:
    """Another Program with arguments for each of its inputs' entries, in order."""

    program: Program
    arguments: tuple[Expr, ...]
    targets: tuple[Expr, ...]

    def __post_init__(self) -> None:
        wanted = sum(p.size for p in self.program.inputs)
        given = sum(p.size for p in self.program.outputs)
        if len(self.arguments) != wanted or len(self.targets) != given:
            raise ProgramError(
                f"the call of {self.program.name!r} needs {wanted} arguments and {given} targets"
            )

    @property
    def operands(self) -> tuple[Expr, ...]:
        """The expressions that this statement reads."""
        return self.arguments

    def with_operands(self, operands: Sequence[Expr]) -> Call:
        """Return the call with other arguments."""
        return replace(self, arguments=tuple(operands))


@dataclass(frozen=True, slots=True)
class Solve:
    """The solution of matrix * x = right, with pivoting at run time."""

    size: int
    matrix: tuple[Expr, ...]  # n*n expressions, row by row
    right: tuple[Expr, ...]
    targets: tuple[Expr, ...]

    def __post_init__(self) -> None:
        n = self.size
        if n < 1:
            raise ProgramError(f"a solve needs at least one unknown, not {n}")
        if len(self.matrix) != n * n or len(self.right) % n or len(self.right) != len(self.targets):
            raise ProgramError(f"a solve of size {n} has arrays of other sizes")

    @property
    def operands(self) -> tuple[Expr, ...]:
        """The expressions that this statement reads."""
        return (*self.matrix, *self.right)

    def with_operands(self, operands: Sequence[Expr]) -> Solve:
        """Return the same solve of other expressions."""
        cut = self.size * self.size
        return replace(self, matrix=tuple(operands[:cut]), right=tuple(operands[cut:]))


Statement: TypeAlias = Assign | Loop | Call | Solve


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """Inputs, statements and outputs.

    Args:
        name: a word that names it in reports and generated code.
        inputs: the arrays it takes; each entry is a symbol that occurs once.
        outputs: the arrays it gives.
        statements: what it does, in order.
        slow: input symbols that the user declared slow.
        auxiliary: names of outputs that are computed only when asked for (the output stage).
        gate: name of a scalar input, or empty; where it is zero, so are all outputs, and compiled
            code leaves at once. It changes no value: `gated` makes the outputs so.

    `linkwright.program.program` makes and checks one:

    >>> p = program("sum", {"x": ["a", "b"]}, {"y": lambda a, b: a + b})
    >>> p.inputs[0].shape, p.outputs[0].entries
    ((2,), (a + b,))
    """

    name: str
    inputs: tuple[ProgramPort, ...]
    outputs: tuple[ProgramPort, ...]
    statements: tuple[Statement, ...] = ()
    slow: frozenset[Expr] = field(default_factory=frozenset)
    auxiliary: frozenset[str] = field(default_factory=frozenset)
    gate: str = ""

    def __repr__(self) -> str:
        taken, given = (
            ", ".join(f"{p.name}{list(p.shape) if p.shape else ''}" for p in ports)
            for ports in (self.inputs, self.outputs)
        )
        return f"Program({self.name!r}: {taken} -> {given}; {len(self.statements)} statements)"

    def input_symbols(self) -> tuple[Expr, ...]:
        """Return the symbols of all inputs, in order."""
        return tuple(x for port in self.inputs for x in port.entries)

    def output_values(self) -> tuple[Expr, ...]:
        """Return the expressions of all outputs, in order."""
        return tuple(x for port in self.outputs for x in port.entries)

    def port(self, name: str) -> ProgramPort:
        """Return the input or output of this name."""
        for port in (*self.inputs, *self.outputs):
            if port.name == name:
                return port
        known = ", ".join(p.name for p in (*self.inputs, *self.outputs))
        raise ProgramError(f"program {self.name!r} has no input or output {name!r}; it has {known}")

    def with_statements(
        self, statements: Iterable[Statement], outputs: Iterable[ProgramPort] | None = None
    ) -> Program:
        """Return the program with other statements and, if given, other outputs."""
        ports = self.outputs if outputs is None else tuple(outputs)
        return replace(self, statements=tuple(statements), outputs=ports)

    def map_outputs(self, values: Sequence[Expr]) -> tuple[ProgramPort, ...]:
        """Return the output ports with other entries."""
        rest = iter(values)
        return tuple(replace(p, entries=tuple(next(rest) for _ in p.entries)) for p in self.outputs)

    def derivative(
        self,
        outputs: str | Sequence[str] | None = None,
        inputs: str | Sequence[str] | None = None,
        *,
        mode: str = "auto",
        sparse: bool = False,
        values: bool = False,
        optimized: bool = True,
    ) -> Program:
        """Return the Program of the Jacobians of outputs by inputs, made small again.

        Args:
            outputs: a name, several, or None for all outputs.
            inputs: a name, several, or None for all inputs.
            mode: "forward", "reverse", or "auto" for the one that takes fewer operations.
            sparse: let each Jacobian hold only its entries that can be other than zero.
            values: let the outputs of this Program come first.
            optimized: run the optimizer over it, which takes longer than the derivation.

        See `linkwright.program.derivatives` for conventions and other products with Jacobians.

        >>> p = program("square", {"x": "x"}, {"y": lambda x: x**2})
        >>> p.derivative("y", "x").outputs[0].entries
        (2*x,)
        """
        from linkwright.program.derivatives import derivative
        from linkwright.program.passes import optimize

        made = derivative(self, outputs, inputs, mode=mode, sparse=sparse, values=values)
        return optimize(made, rounds=1) if optimized else made

    def fingerprint(self) -> str:
        """Return a digest of the whole content, the same in every process.

        >>> p = program("double", {"x": ["x"]}, {"y": lambda x: [x + x]})
        >>> len(p.fingerprint())
        32
        """
        sink = hashlib.blake2b(digest_size=16)
        for piece in _serial(self):
            sink.update(piece)
        return sink.hexdigest()


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield all statements, those inside loops after the loop itself."""
    for statement in statements:
        yield statement
        if isinstance(statement, Loop):
            yield from walk(statement.body)


def mentioned(program: Program) -> Iterator[Expr]:
    """Yield the expressions and symbols of all statements outside loops, and the outputs."""
    for statement in program.statements:
        yield from statement.operands
        yield from statement.targets
    yield from program.output_values()


def program(
    name: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    *,
    statements: Sequence[Statement] = (),
    slow: Iterable[Expr] = (),
    auxiliary: Iterable[str] = (),
) -> Program:
    """Return a well-formed Program.

    >>> from linkwright.algebra import symbols, sin
    >>> q, u = symbols("q u")
    >>> p = program("pendulum", {"q": q, "u": u}, {"a": -9.81 * sin(q)})
    >>> p.outputs[0].entries
    (-9.81*sin(q),)
    """
    input_ports = tuple(_port(k, v, as_symbol=True) for k, v in inputs.items())
    flat = [x for port in input_ports for x in port.entries]
    output_ports = tuple(
        _port(k, v(*flat) if callable(v) else v, as_symbol=False) for k, v in outputs.items()
    )
    result = Program(
        name, input_ports, output_ports, tuple(statements), frozenset(slow), frozenset(auxiliary)
    )
    check(result)
    return result


def gated(program: Program, name: str) -> Program:
    """Return a Program with one more input, which has to be other than zero for it to do anything.

    Where the input is zero, so are all outputs; compiled code leaves at once then.

    >>> p = gated(program("root", {"x": "x"}, {"y": lambda x: x**2}), "on")
    >>> [port.name for port in p.inputs], p.outputs[0].entries, p.gate
    (['x', 'on'], (where(0 != on, x**2, 0),), 'on')
    """
    gate = symbol(name, "input", owner=f"{program.name} gate")
    values = [where(gate, x, 0) for x in program.output_values()]
    made = replace(
        program,
        inputs=(*program.inputs, ProgramPort(name, (), (gate,))),
        outputs=program.map_outputs(values),
        gate=name,
    )
    check(made)
    return made


def check(program: Program) -> None:
    """Raise a ProgramError where a symbol is defined twice or read before it is defined."""
    defined: set[Expr] = set()
    for x in program.input_symbols():
        if x.op != "sym":
            raise ProgramError(f"program {program.name!r}: the input {x} is not a symbol")
        if x in defined:
            raise ProgramError(f"program {program.name!r}: the symbol {x} is an input twice")
        defined.add(x)
    names = [p.name for p in (*program.inputs, *program.outputs)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ProgramError(f"program {program.name!r} has two arrays named {', '.join(twice)}")
    unknown = program.auxiliary - {p.name for p in program.outputs}
    if unknown:
        raise ProgramError(
            f"program {program.name!r} has no output named {', '.join(sorted(unknown))}"
        )
    clean: set[Expr] = set()
    _check_block(program, program.statements, defined, clean)
    _check_reads(program, program.output_values(), defined, clean)


def _check_block(
    program: Program, statements: Iterable[Statement], defined: set[Expr], clean: set[Expr]
) -> None:
    for statement in statements:
        _check_reads(program, statement.operands, defined, clean)
        if isinstance(statement, Loop):
            inner = set(defined)
            _define(program, statement.inner_symbols, inner)
            inner_clean = set(clean)
            _check_block(program, statement.body, inner, inner_clean)
            _check_reads(program, statement.inner_operands, inner, inner_clean)
        _define(program, statement.targets, defined)


def _define(program: Program, symbols: Iterable[Expr], defined: set[Expr]) -> None:
    for x in symbols:
        if x.op != "sym":
            raise ProgramError(f"program {program.name!r} assigns to {x}, which is not a symbol")
        if x in defined:
            raise ProgramError(f"program {program.name!r}: {x} is defined twice")
        defined.add(x)


def _check_reads(
    program: Program, exprs: Iterable[Expr], defined: set[Expr], clean: set[Expr]
) -> None:
    stack = [x for x in exprs if x not in clean]
    while stack:
        node = stack.pop()
        if node in clean:
            continue
        if node.op == "sym" and node not in defined:
            raise ProgramError(
                f"program {program.name!r} reads {node} but nothing defines it; "
                "make it an input or assign it first"
            )
        clean.add(node)
        stack.extend(node.args)


def _port(name: str, value: Any, *, as_symbol: bool) -> ProgramPort:
    shape, flat = _flatten(name, value)
    entries = tuple(symbol(x) if as_symbol and isinstance(x, str) else as_expr(x) for x in flat)
    return ProgramPort(name, shape, entries)


def _flatten(name: str, value: Any) -> tuple[tuple[int, ...], list[Any]]:
    if hasattr(value, "tolist") and not isinstance(value, Expr):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (), [value]
    parts = [_flatten(name, item) for item in value]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ProgramError(f"the rows of {name!r} have different lengths")
    inner = shapes.pop() if shapes else ()
    return (len(value), *inner), [x for _, flat in parts for x in flat]


class Namer:
    """Gives out fresh local symbols whose names no input and no statement has.

    >>> p = program("id", {"x": ["z1"]}, {"y": lambda x: [x]})
    >>> namer = Namer(p, "z")
    >>> namer(), namer()
    (z2, z3)
    """

    __slots__ = ("_count", "_prefix", "_taken")

    def __init__(self, program: Program | None, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._taken: set[str] = set()
        if program is not None:
            self._taken = {x.name for x in program.input_symbols()}
            for statement in walk(program.statements):
                self._taken.update(x.name for x in statement.targets)
                if isinstance(statement, Loop):
                    self._taken.update(x.name for x in statement.inner_symbols)

    def copy(self) -> Namer:
        """Return one that goes on from here by itself."""
        made = Namer(None, self._prefix)
        made._count, made._taken = self._count, self._taken
        return made

    def __call__(self) -> Expr:
        while True:
            self._count += 1
            name = f"{self._prefix}{self._count}"
            if name not in self._taken:
                return symbol(name, "local")


def _serial(program: Program) -> Iterator[bytes]:
    """Yield the content of a Program; an expression stands for itself by its structural key."""

    def refer(exprs: Iterable[Expr]) -> bytes:
        keys = [x.key.to_bytes(32, "big") for x in exprs]
        return len(keys).to_bytes(4, "big") + b"".join(keys)

    def block(statements: Iterable[Statement]) -> Iterator[bytes]:
        for statement in statements:
            yield type(statement).__name__.encode()
            yield refer(statement.operands)
            yield refer(statement.targets)
            if isinstance(statement, Loop):
                sizes = (statement.count, len(statement.carried), len(statement.scanned))
                yield repr(sizes).encode()
                yield refer(statement.inner_symbols)
                yield from block(statement.body)
                yield refer(statement.inner_operands)
            elif isinstance(statement, Call):
                yield statement.program.fingerprint().encode()

    ports = [(port.name, port.shape) for port in (*program.inputs, *program.outputs)]
    yield repr((program.name, len(program.inputs), ports, sorted(program.auxiliary))).encode()
    yield program.gate.encode()
    yield refer(program.input_symbols())
    yield refer(sorted(program.slow, key=lambda x: x.key))
    yield from block(program.statements)
    yield refer(program.output_values())
