"""A Program done many times in one: what it carries goes from turn to turn, the rest is shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwright.algebra.symbols import symbol
from linkwright.program.program import (
    Carried,
    Loop,
    Program,
    ProgramError,
    ProgramPort,
    Stacked,
    check,
)


def repeated(
    body: Program, count: int, carried: Mapping[str, str], stacked: Sequence[str] = ()
) -> Program:
    """Return the Program of several turns of another one, as a loop.

    >>> from linkwright.program import interpret, program
    >>> step = program("step", {"x": "x", "d": "d"}, {"next": lambda x, d: x + d})
    >>> three = repeated(step, 3, {"x": "next"}, ["next"])
    >>> [(p.name, p.shape) for p in three.outputs]
    [('x_end', ()), ('next', (3,))]
    """
    owner = f"{body.name} repeated"
    starts: dict[str, ProgramPort] = {}
    pairs: list[Carried] = []
    ends: list[ProgramPort] = []
    for name, following in carried.items():
        port, after = body.port(name), body.port(following)
        if port.shape != after.shape:
            raise ProgramError(f"{name!r} and {following!r} have different shapes")
        first = tuple(symbol(f"{name}_0[{k}]", "input", owner=owner) for k in range(port.size))
        final = tuple(symbol(f"{name}_end[{k}]", "local", owner=owner) for k in range(port.size))
        pairs += [
            Carried(*items) for items in zip(port.entries, first, after.entries, final, strict=True)
        ]
        starts[name] = ProgramPort(name, port.shape, first)
        ends.append(ProgramPort(f"{name}_end", port.shape, final))
    rows: list[Stacked] = []
    kept: list[ProgramPort] = []
    for name in stacked:
        port = body.port(name)
        names = [
            tuple(symbol(f"{name}_{t}[{k}]", "local", owner=owner) for t in range(count))
            for k in range(port.size)
        ]
        rows += [Stacked(x, own) for x, own in zip(port.entries, names, strict=True)]
        entries = tuple(names[k][t] for t in range(count) for k in range(port.size))
        kept.append(ProgramPort(name, (count, *port.shape), entries))
    loop = Loop(count, tuple(pairs), (), tuple(rows), body.statements)
    inputs = tuple(starts.get(p.name, p) for p in body.inputs)
    made = Program(f"{body.name}_repeated", inputs, (*ends, *kept), (loop,), body.slow)
    check(made)
    return made
