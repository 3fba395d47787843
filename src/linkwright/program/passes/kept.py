"""Optimized Programs on disk: what went through the passes once, in any process, is read again.

The optimizer takes most of the time that a model needs where its native code is in the cache
already. What it made of a Program lies under a digest of that Program, of its notes and of the code
of these rooms: a table of nodes, arguments first, and statements that refer to them. A Program that
is read has the fingerprint that was stored with it; otherwise it is optimized again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

from linkwright.algebra.expr import (
    Expr,
    constant,
    function_node,
    intern_symbol,
    number_node,
)
from linkwright.algebra.nodes import by_key
from linkwright.algebra.numbers import Number
from linkwright.algebra.smallness import current_threshold
from linkwright.algebra.symbols import SymbolInfo
from linkwright.algebra.walk import postorder
from linkwright.base.cache import entry_key, open_cache, stored
from linkwright.base.fingerprint import fingerprint
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Program,
    ProgramPort,
    Scanned,
    Solve,
    Stacked,
    Statement,
    walk,
)

_SAID = [f.name for f in fields(SymbolInfo) if f.init]


def kept(program: Program, how: tuple[object, ...], make: Callable[[], Program]) -> Program:
    """Return what was made of a Program, in some process, by passes with these settings.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x"]}, {"y": lambda x: [x + 1]})
    >>> kept(p, (3,), lambda: p) is p
    True
    """
    if open_cache() is None:
        return make()
    every = [program, *_called(program)]
    notes = [[s.note for s in walk(p.statements) if isinstance(s, Assign)] for p in every]
    told = (fingerprint("programs"), program.fingerprint(), notes, current_threshold(), *how)
    return stored(
        entry_key(repr(told).encode(), "optimized"),
        lambda data: from_data(data, program),
        make,
        lambda made: to_data(made, program),
    )


def _called(program: Program) -> list[Program]:
    """Return the Programs that one calls, each once, after those that it calls itself."""
    found: dict[int, Program] = {}

    def look(statements: Iterable[Statement]) -> None:
        for s in walk(statements):
            if isinstance(s, Call) and id(s.program) not in found:
                look(s.program.statements)
                found[id(s.program)] = s.program

    look(program.statements)
    return list(found.values())


def _symbols(program: Program) -> Iterator[Expr]:
    """Yield the symbols that a Program has by itself, which what is made of it refers to."""
    yield from program.input_symbols()
    for s in walk(program.statements):
        yield from s.targets
        if isinstance(s, Loop):
            yield from s.inner_symbols


def _mentioned(program: Program) -> Iterator[Expr]:
    """Yield all that a Program mentions."""
    yield from _symbols(program)
    for s in walk(program.statements):
        yield from s.operands
        if isinstance(s, Loop):
            yield from s.inner_operands
    yield from program.output_values()


def to_data(made: Program, program: Program) -> dict[str, Any] | None:
    """Return a Program as plain data; None where it has no such form, or is what was given."""
    if made is program:
        return None
    own = {x: k for k, x in enumerate(_symbols(program))}
    places: dict[Expr, int] = {}
    nodes: list[Any] = []
    called = _called(made)
    numbers = {id(p): k for k, p in enumerate(called)}
    for x in postorder([x for p in (*called, made) for x in _mentioned(p)]):
        if x.data is not None and x.op not in _WRITTEN:
            return None  # a table, or a function of the user
        places[x] = len(nodes)
        args = [places[a] for a in x.args]
        if x in own:
            nodes.append(own[x])
        elif x.op == "sym":
            nodes.append(["sym", *(getattr(x.data, name) for name in _SAID)])
        elif x.data is None:
            nodes.append([x.op, args])
        else:
            data = x.data if isinstance(x.data, tuple) else (x.data,)
            nodes.append([x.op, args, [_written(c) for c in data]])

    def refer(values: Sequence[Expr]) -> list[int]:
        return [places[x] for x in values]

    def line(s: Statement) -> list[Any]:
        if isinstance(s, Assign):
            return [places[s.target], places[s.value], s.note]
        if isinstance(s, Call):
            return ["call", numbers[id(s.program)], refer(s.arguments), refer(s.targets)]
        if isinstance(s, Solve):
            return [s.size, refer(s.matrix), refer(s.right), refer(s.targets)]
        carried = [refer((c.symbol, c.initial, c.following, c.final)) for c in s.carried]
        scanned = [refer((c.symbol, *c.values)) for c in s.scanned]
        stacked = [refer((c.value, *c.targets)) for c in s.stacked]
        return ["loop", s.count, carried, scanned, stacked, [line(t) for t in s.body]]

    def arrays(ports: Sequence[ProgramPort]) -> list[Any]:
        return [[port.name, port.shape, refer(port.entries)] for port in ports]

    def whole(p: Program) -> list[Any]:
        slow = refer(sorted(p.slow, key=by_key))
        return [p.name, arrays(p.inputs), arrays(p.outputs), slow, sorted(p.auxiliary), p.gate]

    return {
        "nodes": nodes,
        "called": [[*whole(p), [line(s) for s in p.statements]] for p in called],
        "statements": [line(s) for s in made.statements],
        "outputs": refer(made.output_values()),
        "digest": made.fingerprint(),
    }


_WRITTEN = {"num", "sym", "scale", "prod", "sum"}


def _written(value: Number) -> Any:
    return [value.numerator, value.denominator] if isinstance(value, Fraction) else value


def _read(value: Any) -> Number:
    return Fraction(*value) if isinstance(value, list) else value


def from_data(data: dict[str, Any], program: Program) -> Program:
    """Return the Program that was written; a `ValueError` says that it is another one."""
    own = list(_symbols(program))
    nodes: list[Expr] = []
    for node in data["nodes"]:
        if isinstance(node, int):
            nodes.append(own[node])
            continue
        op, *rest = node
        if op == "sym":
            nodes.append(intern_symbol(SymbolInfo(*rest)))
            continue
        args = tuple([nodes[k] for k in rest[0]])
        if len(rest) == 1:
            nodes.append(function_node(op, args))
            continue
        numbers = tuple([_read(c) for c in rest[1]])
        nodes.append(number_node(op, args, numbers) if args else constant(numbers[0]))
    called: list[Program] = []

    def refer(places: Iterable[int]) -> tuple[Expr, ...]:
        return tuple([nodes[k] for k in places])

    def statement(first: Any, *others: Any) -> Statement:
        if len(others) == 2:
            return Assign(nodes[first], nodes[others[0]], others[1])
        if first == "call":
            return Call(called[others[0]], refer(others[1]), refer(others[2]))
        if first == "loop":
            count, carried, scanned, stacked, body = others
            return Loop(
                count,
                tuple([Carried(*refer(c)) for c in carried]),
                tuple([Scanned(nodes[c[0]], refer(c[1:])) for c in scanned]),
                tuple([Stacked(nodes[c[0]], refer(c[1:])) for c in stacked]),
                tuple([statement(*inner) for inner in body]),
            )
        return Solve(first, *map(refer, others))

    def ports(arrays: Iterable[Any]) -> tuple[ProgramPort, ...]:
        return tuple(ProgramPort(name, tuple(shape), refer(x)) for name, shape, x in arrays)

    for name, inputs, outputs, slow, auxiliary, gate, lines in data["called"]:
        inside = tuple([statement(*line) for line in lines])
        sets = frozenset(refer(slow)), frozenset(auxiliary)
        called.append(Program(name, ports(inputs), ports(outputs), inside, *sets, gate))
    statements = [statement(*line) for line in data["statements"]]
    values = refer(data["outputs"])
    made = program.with_statements(statements, program.map_outputs(values))
    if made.fingerprint() != data["digest"]:
        raise ValueError("a stored Program is another one")
    return made
