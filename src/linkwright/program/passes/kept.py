"""Optimized Programs on disk: what went through the passes once, in any process, is read again.

The optimizer takes most of the time that a model needs where its native code is in the cache
already. What it made of a Program lies under a digest of that Program, of its notes and of the code
of these rooms: a table of nodes, arguments first, and statements that refer to them. A Program that
is read has the fingerprint that was stored with it; otherwise it is optimized again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    Program,
    ProgramPort,
    Solve,
    Statement,
    mentioned,
)

_SAID = [f.name for f in fields(SymbolInfo) if f.init]


def kept(program: Program, how: tuple[object, ...], make: Callable[[], Program]) -> Program:
    """Return what was made of a Program, in some process, by passes with these settings.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x"]}, {"y": lambda x: [x + 1]})
    >>> kept(p, (3,), lambda: p) is p
    True
    """
    if open_cache() is None or not _is_plain(program.statements):
        return make()
    every = [program, *_called(program)]
    notes = [[s.note for s in p.statements if isinstance(s, Assign)] for p in every]
    told = (fingerprint("programs"), program.fingerprint(), notes, current_threshold(), *how)
    return stored(
        entry_key(repr(told).encode(), "optimized"),
        lambda data: _from_data(data, program),
        make,
        lambda made: _to_data(made, program),
    )


def _is_plain(statements: Iterable[Statement]) -> bool:
    """Whether there is no loop."""
    return all(
        _is_plain(s.program.statements) if isinstance(s, Call) else isinstance(s, Assign | Solve)
        for s in statements
    )


def _called(program: Program) -> list[Program]:
    """Return the Programs that one calls, each once, after those that it calls itself."""
    found: dict[int, Program] = {}

    def look(statements: Iterable[Statement]) -> None:
        for s in statements:
            if isinstance(s, Call) and id(s.program) not in found:
                look(s.program.statements)
                found[id(s.program)] = s.program

    look(program.statements)
    return list(found.values())


def _symbols(program: Program) -> list[Expr]:
    """Return the symbols that a Program has by itself, which what is made of it refers to."""
    return [*program.input_symbols(), *(x for s in program.statements for x in s.targets)]


def _to_data(made: Program, program: Program) -> dict[str, Any] | None:
    """Return a Program as plain data; None where it has no such form, or is what was given."""
    if made is program or not _is_plain(made.statements):
        return None
    own = {x: k for k, x in enumerate(_symbols(program))}
    places: dict[Expr, int] = {}
    nodes: list[Any] = []
    called = _called(made)
    numbers = {id(p): k for k, p in enumerate(called)}
    inner = [x for p in called for x in (*p.input_symbols(), *mentioned(p))]
    for x in postorder([*inner, *mentioned(made)]):
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

    def lines(p: Program) -> list[Any]:
        return [
            [places[s.target], places[s.value], s.note]
            if isinstance(s, Assign)
            else ["call", numbers[id(s.program)], refer(s.arguments), refer(s.targets)]
            if isinstance(s, Call)
            else [s.size, refer(s.matrix), refer(s.right), refer(s.targets)]
            for s in p.statements
            if isinstance(s, Assign | Call | Solve)
        ]

    def arrays(ports: Sequence[ProgramPort]) -> list[Any]:
        return [[port.name, port.shape, refer(port.entries)] for port in ports]

    def whole(p: Program) -> list[Any]:
        slow = refer(sorted(p.slow, key=by_key))
        return [p.name, arrays(p.inputs), arrays(p.outputs), slow, sorted(p.auxiliary), p.gate]

    return {
        "nodes": nodes,
        "called": [[*whole(p), lines(p)] for p in called],
        "statements": lines(made),
        "outputs": refer(made.output_values()),
        "digest": made.fingerprint(),
    }


_WRITTEN = {"num", "sym", "scale", "prod", "sum"}


def _written(value: Number) -> Any:
    return [value.numerator, value.denominator] if isinstance(value, Fraction) else value


def _read(value: Any) -> Number:
    return Fraction(*value) if isinstance(value, list) else value


def _from_data(data: dict[str, Any], program: Program) -> Program:
    """Return the Program that was written; a `ValueError` says that it is another one."""
    own = _symbols(program)
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
