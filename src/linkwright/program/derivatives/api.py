"""Derivatives of Programs as Programs: Jacobians, products with them, Hessian-vector products.

All of them are exact, made from the statements of the Program, and Programs themselves: optimize
them, compile them, or differentiate them again.

Where a function has no derivative, these hold:

- select: the derivative of the branch that is taken; the condition has none, so a jump does not
count;
- min, max: that of the chosen argument, the first of equals in canonical order;
- abs: 0 at 0; sign and comparisons: 0 everywhere, jumps do not count;
- sqrt at 0 has an infinite derivative, atan2 at (0, 0) one that is not a number; inside a branch
of a selection that is not
  taken they do no harm, in forward and reverse accumulation alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkwright.algebra.expr import ONE, ZERO, Expr
from linkwright.algebra.symbols import symbol
from linkwright.program.counts import count_operations, stage_counts
from linkwright.program.derivatives.forward import ForwardCalls, forward, unused
from linkwright.program.derivatives.reverse import ReverseCalls, reverse
from linkwright.program.derivatives.structure import Masks, MaskSpreader, bits
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import (
    Namer,
    Program,
    ProgramError,
    ProgramPort,
    Statement,
    check,
    walk,
)

Names = str | Sequence[str] | None
_CHEAP = 50_000  # entries up to which both ways are tried
_CALL_WEIGHT = 8  # operations that a call of an elementary function is worth


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Which entries of a Jacobian can be other than zero, row by row."""

    shape: tuple[int, int]  # number of output entries and of input entries
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def derivative(
    program: Program,
    outputs: Names = None,
    inputs: Names = None,
    *,
    mode: str = "auto",
    sparse: bool = False,
    values: bool = False,
) -> Program:
    """Return the Program of the Jacobians of outputs by inputs.

    The Jacobian of `tau` by `q` is the output `d_tau_d_q`; its shape is that of `tau` followed by
    that of `q`.

    >>> from linkwright.algebra import symbols, sin
    >>> from linkwright.program import program
    >>> x, y = symbols("x y")
    >>> f = program("f", {"x": [x, y]}, {"z": x * sin(y)})
    >>> d = derivative(f, "z", "x")
    >>> d.outputs[0].name, d.outputs[0].shape
    ('d_z_d_x', (2,))
    """
    out_ports = _chosen(program, program.outputs, outputs, "output")
    in_ports = _chosen(program, program.inputs, inputs, "input")
    if mode not in ("auto", "forward", "reverse"):
        raise ProgramError(f"the mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    if mode == "auto":
        mode = _cheaper(program, out_ports, in_ports)
    if mode == "forward":
        statements, plain, entries = _forward_entries(program, out_ports, in_ports)
    else:
        statements, plain, entries = _reverse_entries(program, out_ports, in_ports)
    ports = list(program.map_outputs(plain)) if values else []
    taken = {p.name for p in (*program.inputs, *ports)}
    for y in out_ports:
        for x in in_ports:
            name = _free(f"d_{y.name}_d_{x.name}", taken)
            taken.add(name)
            block = entries[y.name, x.name]
            if sparse:
                where = sparsity(program, y.name, x.name)
                chosen = tuple(
                    block[r * x.size + c] for r, c in zip(where.rows, where.columns, strict=True)
                )
                ports.append(ProgramPort(name, (len(chosen),), chosen))
            else:
                ports.append(ProgramPort(name, (*y.shape, *x.shape), tuple(block)))
    kept = program.auxiliary if values else frozenset()
    return _made(f"{program.name}_derivative", program, program.inputs, ports, statements, kept)


def sparsity(program: Program, output: str, by: str) -> Sparsity:
    """Return which entries of a Jacobian can be other than zero.

    >>> from linkwright.algebra import symbols, sin
    >>> from linkwright.program import program
    >>> x, y = symbols("x y")
    >>> f = program("f", {"x": [x, y]}, {"z": [x + y, sin(y)]})
    >>> sparsity(f, "z", "x")
    Sparsity(shape=(2, 2), rows=(0, 0, 1), columns=(0, 1, 1))
    """
    (y,) = _chosen(program, program.outputs, output, "output")
    (x,) = _chosen(program, program.inputs, by, "input")
    masks: Masks = {s: 1 << i for i, s in enumerate(x.entries)}
    structure = MaskSpreader()
    structure.spread(program.statements, masks)
    known: Masks = {}
    pairs = [(r, c) for r, e in enumerate(y.entries) for c in bits(structure.mask(e, masks, known))]
    return Sparsity((y.size, x.size), tuple(r for r, _ in pairs), tuple(c for _, c in pairs))


def jacobian_vector(
    program: Program, outputs: Names = None, inputs: Names = None, *, values: bool = False
) -> Program:
    """Return the Program of Jacobian times vector: how the outputs move when the inputs do.

    It takes for each input `q` also its tangent `d_q`, and gives for each output `tau` its
    tangent `d_tau`.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import program
    >>> x, y = symbols("x y")
    >>> f = program("f", {"x": [x, y]}, {"z": x * y})
    >>> [p.name for p in (*jacobian_vector(f).inputs, *jacobian_vector(f).outputs)]
    ['x', 'd_x', 'd_z']
    """
    out_ports = _chosen(program, program.outputs, outputs, "output")
    in_ports = _chosen(program, program.inputs, inputs, "input")
    seeds = _seed_ports(program, in_ports, "d_")
    moving = {
        x: {0: s}
        for port, seed in zip(in_ports, seeds, strict=True)
        for x, s in zip(port.entries, seed.entries, strict=True)
    }
    result = forward(program, moving, ForwardCalls())
    tangents = dict(zip(_places(program), result.lanes, strict=True))
    ports = list(program.map_outputs(result.values)) if values else []
    taken = {p.name for p in (*program.inputs, *seeds, *ports)}
    for y in out_ports:
        name = _free(f"d_{y.name}", taken)
        taken.add(name)
        entries = tuple(tangents[y.name, i].get(0, ZERO) for i in range(y.size))
        ports.append(ProgramPort(name, y.shape, entries))
    kept = program.auxiliary if values else frozenset()
    everything = (*program.inputs, *seeds)
    return _made(f"{program.name}_tangent", program, everything, ports, result.statements, kept)


def vector_jacobian(
    program: Program,
    outputs: Names = None,
    inputs: Names = None,
    *,
    values: bool = False,
    again: bool = False,
) -> Program:
    """Return the Program of vector times Jacobian: the adjoints of inputs from those of outputs.

    It takes for each output `tau` its adjoint `bar_tau`, and gives for each input `q` its adjoint
    `bar_q`. With `again` what called Programs have computed is computed again on the way back, in
    place of being kept.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import program
    >>> x, y = symbols("x y")
    >>> f = program("f", {"x": [x, y]}, {"z": x * y})
    >>> [p.name for p in (*vector_jacobian(f).inputs, *vector_jacobian(f).outputs)]
    ['x', 'bar_z', 'bar_x']
    """
    out_ports = _chosen(program, program.outputs, outputs, "output")
    in_ports = _chosen(program, program.inputs, inputs, "input")
    seeds = _seed_ports(program, out_ports, "bar_")
    given = {
        (port.name, i): s
        for port, seed in zip(out_ports, seeds, strict=True)
        for i, s in enumerate(seed.entries)
    }
    places = _places(program)

    def triples(atoms: tuple[Expr, ...]) -> Iterable[tuple[Expr, int, Expr]]:
        return [
            (x, 0, given[place]) for place, x in zip(places, atoms, strict=True) if place in given
        ]

    wanted = [x for port in in_ports for x in port.entries]
    result = reverse(program, wanted, triples, ReverseCalls(again=again))
    adjoints = dict(zip(wanted, result.lanes, strict=True))
    ports = list(program.map_outputs(result.values)) if values else []
    taken = {p.name for p in (*program.inputs, *seeds, *ports)}
    for x in in_ports:
        name = _free(f"bar_{x.name}", taken)
        taken.add(name)
        entries = tuple(adjoints[s].get(0, ZERO) for s in x.entries)
        ports.append(ProgramPort(name, x.shape, entries))
    kept = program.auxiliary if values else frozenset()
    statements = (*result.forth, *result.back)
    everything = (*program.inputs, *seeds)
    return _made(f"{program.name}_adjoint", program, everything, ports, statements, kept)


def hessian_vector(program: Program, output: str, inputs: Names = None) -> Program:
    """Return the Program of Hessian times vector of a scalar output.

    It takes for each input `q` also its tangent `d_q`, and gives for each the tangent of the
    gradient, `d_d_f_d_q`: forward accumulation over reverse accumulation, at a small multiple of
    the cost of the output itself.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import program
    >>> x, y = symbols("x y")
    >>> f = program("f", {"x": [x, y]}, {"z": x * y})
    >>> hessian_vector(f, "z").outputs[0].entries
    (s2, s1)
    """
    (y,) = _chosen(program, program.outputs, output, "output")
    if y.size != 1:
        raise ProgramError(
            f"the output {output!r} has {y.size} entries; a Hessian-vector product needs an output "
            "with a single entry"
        )
    gradient = derivative(program, output, inputs, mode="reverse")
    return jacobian_vector(gradient, None, inputs)


# -- entries ---------------------------------------------------------------------------------------
Entries = dict[tuple[str, str], list[Expr]]
Result = tuple[tuple[Statement, ...], tuple[Expr, ...], Entries]


def _places(program: Program) -> list[tuple[str, int]]:
    return [(p.name, i) for p in program.outputs for i in range(p.size)]


def _forward_entries(
    program: Program, out_ports: Sequence[ProgramPort], in_ports: Sequence[ProgramPort]
) -> Result:
    lane: dict[Expr, int] = {}
    for port in in_ports:
        for x in port.entries:
            lane[x] = len(lane)
    result = forward(program, {x: {k: ONE} for x, k in lane.items()}, ForwardCalls())
    tangents = dict(zip(_places(program), result.lanes, strict=True))
    entries: Entries = {
        (y.name, x.name): [
            tangents[y.name, i].get(lane[s], ZERO) for i in range(y.size) for s in x.entries
        ]
        for y in out_ports
        for x in in_ports
    }
    return result.statements, result.values, entries


def _reverse_entries(
    program: Program, out_ports: Sequence[ProgramPort], in_ports: Sequence[ProgramPort]
) -> Result:
    names = {p.name for p in out_ports}
    lane = {place: k for k, place in enumerate(p for p in _places(program) if p[0] in names)}
    places = _places(program)

    def triples(atoms: tuple[Expr, ...]) -> Iterable[tuple[Expr, int, Expr]]:
        pairs = zip(places, atoms, strict=True)
        return [(x, lane[place], ONE) for place, x in pairs if place in lane]

    wanted = [x for port in in_ports for x in port.entries]
    result = reverse(program, wanted, triples, ReverseCalls())
    adjoints = dict(zip(wanted, result.lanes, strict=True))
    entries: Entries = {
        (y.name, x.name): [
            adjoints[s].get(lane[y.name, i], ZERO) for i in range(y.size) for s in x.entries
        ]
        for y in out_ports
        for x in in_ports
    }
    return (*result.forth, *result.back), result.values, entries


def _cheaper(
    program: Program, out_ports: Sequence[ProgramPort], in_ports: Sequence[ProgramPort]
) -> str:
    """Return the mode with fewer operations; of large Programs, the one with fewer lanes."""
    rows = sum(p.size for p in out_ports)
    columns = sum(p.size for p in in_ports)
    steps = sum(1 for _ in walk(program.statements))
    own = sum((c.total + c.call for c in stage_counts(program).values()), start=steps)
    if own * (rows + columns) > _CHEAP:
        return "forward" if columns <= rows else "reverse"
    names = [p.name for p in out_ports], [p.name for p in in_ports]
    costs = [_cost(derivative(program, *names, mode=mode)) for mode in ("forward", "reverse")]
    return "forward" if costs[0] <= costs[1] else "reverse"


def _cost(program: Program) -> tuple[int, int]:
    stages = stage_counts(program)
    moving = count_operations(program)
    everything = sum((c.total + c.select + _CALL_WEIGHT * c.call for c in stages.values()), start=0)
    return moving.total + moving.select + _CALL_WEIGHT * moving.call, everything


# -- ports -----------------------------------------------------------------------------------------
def _chosen(
    program: Program, ports: Sequence[ProgramPort], names: Names, kind: str
) -> tuple[ProgramPort, ...]:
    if names is None:
        return tuple(ports)
    wanted = [names] if isinstance(names, str) else list(names)
    known = {p.name: p for p in ports}
    for name in wanted:
        if name not in known:
            raise ProgramError(
                f"program {program.name!r} has no {kind} named {name!r}; it has {', '.join(known)}"
            )
    return tuple(known[name] for name in dict.fromkeys(wanted))


def _seed_ports(
    program: Program, ports: Sequence[ProgramPort], prefix: str
) -> tuple[ProgramPort, ...]:
    namer = Namer(program, "s")
    taken: set[str] = set()
    result = []
    for port in ports:
        name = _free(unused(program, prefix + port.name), taken)
        taken.add(name)
        entries = tuple(symbol(namer().name, "input") for _ in port.entries)
        result.append(ProgramPort(name, port.shape, entries))
    return tuple(result)


def _free(name: str, taken: set[str]) -> str:
    candidate, k = name, 1
    while candidate in taken:
        k += 1
        candidate = f"{name}_{k}"
    return candidate


def _made(
    name: str,
    source: Program,
    inputs: Sequence[ProgramPort],
    outputs: Sequence[ProgramPort],
    statements: Sequence[Statement],
    auxiliary: frozenset[str],
) -> Program:
    made = Program(name, tuple(inputs), tuple(outputs), tuple(statements), source.slow, auxiliary)
    made = liveness(made)
    check(made)
    return made
