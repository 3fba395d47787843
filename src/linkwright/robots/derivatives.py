"""First derivatives of a robot's quantities, as Programs.

A derivative by `q` is taken in the tangent space: column k is the rate of the quantity when the
robot moves with unit speed k, so a robot with n speeds has n columns, whether or not its
coordinates hold quaternions. For a free base these are Pinocchio's conventions.

Any quantity is differentiated through the statements of its Program, forward or in reverse,
whichever takes fewer operations. Two derivatives have a better way: those of inverse dynamics by
the accelerations are the mass matrix, and those of forward dynamics follow from those of inverse
dynamics at the accelerations that the forces make (Carpentier and Mansard 2018):

    da/dx = -M⁻¹ dtau/dx,  da/dtau = M⁻¹.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from linkwright.algebra import ONE, ZERO, Expr, linear_coefficients, postorder, total
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Assign, Namer, Program, ProgramPort, Statement
from linkwright.program.derivatives.forward import ForwardCalls, forward
from linkwright.program.derivatives.reverse import ReverseCalls, reverse
from linkwright.program.derivatives.structure import Masks, MaskSpreader
from linkwright.program.factors import factors
from linkwright.program.inline import inlined
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import ProgramError, check

Entries: TypeAlias = dict[tuple[str, str], list[Expr]]

_BACK = 1.15  # operations that adjoints were found to take for each product that is counted


def tangent_program(tree: Tree) -> Program:
    """Return the Program of how coordinates move with unit independent speeds, from `q` to `B`.

    B has a row for each coordinate and a column for each speed: q' = B u.
    """
    kinematics = tree.kinematics
    speeds = [s.symbol for s in kinematics.speeds]

    def write(writer: Writer) -> Results:
        rates = [linear_coefficients(kinematics.rates[q], speeds)[0] for q in tree.coordinates]
        columns = {u: [row[u] for row in rates] for u in speeds}
        made = tree.on_independent(writer, columns, len(rates))
        return {"B": [[column[i] for column in made] for i in range(len(rates))]}

    return tree.program("tangent", ["q"], write)


@dataclass(frozen=True, slots=True)
class Ways:
    """How the entries of inputs move, lane by lane."""

    statements: tuple[Statement, ...]
    lanes: dict[str, list[dict[int, Expr]]]
    counts: dict[str, int]


def named(values: Sequence[Expr], namer: Namer, statements: list[Statement]) -> list[Expr]:
    """Return names for those values that are more than a number times a symbol."""
    made: list[Expr] = []
    for x in values:
        if not (x.is_atom or (x.op == "scale" and x.args[0].is_atom)):
            target = namer()
            statements.append(Assign(target, x))
            x = target
        made.append(x)
    return made


def _ways(program: Program, by: Sequence[str], tangents: Mapping[str, Program]) -> Ways:
    namer = Namer(program, "along")
    statements: list[Statement] = []
    lanes: dict[str, list[dict[int, Expr]]] = {}
    counts: dict[str, int] = {}
    for name in by:
        port = program.port(name)
        if name not in tangents:
            lanes[name] = [{k: ONE} for k in range(port.size)]
            counts[name] = port.size
            continue
        given = {p.name: program.port(p.name).entries for p in tangents[name].inputs}
        more, found = inlined(tangents[name], given, namer)
        statements += more
        counts[name] = width = tangents[name].port("B").shape[1]
        entries = named(found["B"], namer, statements)
        rows = [entries[width * i : width * i + width] for i in range(port.size)]
        lanes[name] = [{k: x for k, x in enumerate(row) if x is not ZERO} for row in rows]
    return Ways(tuple(statements), lanes, counts)


# -- any quantity ----------------------------------------------------------------------------------
def derivative_program(
    program: Program,
    by: Sequence[str],
    tangents: Mapping[str, Program] | None = None,
    outputs: Sequence[str] | None = None,
    mode: str = "auto",
) -> Program:
    """Return the Program of the derivatives of outputs, `d_tau_d_q` for `tau` by `q`.

    Its shape is that of `tau`, followed by the number of directions of `q`.

    >>> from linkwright.program import program
    >>> p = program("square", {"x": ["x"]}, {"y": lambda x: [x**2]})
    >>> derivative_program(p, ["x"]).port("d_y_d_x").entries
    (2*x,)
    """
    for name in by:
        program.port(name)
    if mode not in ("auto", "forward", "reverse"):
        raise ProgramError(f"the mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    ways = _ways(program, by, tangents or {})
    wanted = tuple(p for p in program.outputs if outputs is None or p.name in outputs)
    chosen = mode if mode != "auto" else _likely(program, ways, wanted)
    return _derived(program, ways, wanted, chosen)


def _likely(program: Program, ways: Ways, wanted: Sequence[ProgramPort]) -> str:
    """Return the way that the structure makes cheaper; with loops, the one with fewer lanes."""
    if any(not isinstance(s, Assign) for s in program.statements):
        rows, columns = sum(p.size for p in wanted), sum(ways.counts.values())
        return "forward" if columns <= rows else "reverse"
    forth, back = _guesses(program, ways, wanted)
    return "forward" if forth <= _BACK * back else "reverse"


def _guesses(program: Program, ways: Ways, wanted: Sequence[ProgramPort]) -> tuple[int, int]:
    """Return about how many products tangents and adjoints take, by which are not zero."""
    masks: Masks = {}
    first = 0
    for name, width in ways.counts.items():
        for x, lanes in zip(program.port(name).entries, ways.lanes[name], strict=True):
            masks[x] = sum(1 << (first + k) for k in lanes)
        first += width
    structure = MaskSpreader()
    structure.spread(program.statements, masks)
    known: Masks = {}
    forth = back = 0
    needs: Masks = {}

    def visit(x: Expr, rows: int) -> None:
        nonlocal forth, back
        structure.mask(x, masks, known)
        for node in postorder([x]):
            if node.op == "sym" and known[node]:
                needs[node] = needs.get(node, 0) | rows
            for a in node.args:
                if known[a]:
                    forth += known[a].bit_count()
                    back += rows.bit_count()

    for k, x in enumerate(x for port in wanted for x in port.entries):
        visit(x, 1 << k)
    for s in reversed(program.statements):
        if isinstance(s, Assign) and masks.get(s.target) and needs.get(s.target):
            visit(s.value, needs[s.target])
    return forth, back


def _derived(program: Program, ways: Ways, wanted: Sequence[ProgramPort], mode: str) -> Program:
    make = _forward if mode == "forward" else _reverse
    statements, entries = make(program, ways, wanted)
    ports = tuple(
        ProgramPort(f"d_{y.name}_d_{name}", (*y.shape, width), tuple(entries[y.name, name]))
        for y in wanted
        for name, width in ways.counts.items()
    )
    name = f"{program.name}_by_{'_'.join(ways.counts)}"
    everything = (*ways.statements, *statements)
    made = Program(name, program.inputs, ports, everything, program.slow)
    check(made)
    return liveness(made)


def _forward(
    program: Program, ways: Ways, wanted: Sequence[ProgramPort]
) -> tuple[tuple[Statement, ...], Entries]:
    first: dict[str, int] = {}
    seeds: dict[Expr, dict[int, Expr]] = {}
    at = 0
    for name, width in ways.counts.items():
        first[name] = at
        for x, lanes in zip(program.port(name).entries, ways.lanes[name], strict=True):
            seeds[x] = {at + k: value for k, value in lanes.items()}
        at += width
    found = forward(program, seeds, ForwardCalls())
    tangents = iter(found.lanes)
    by_port = {p.name: [next(tangents) for _ in p.entries] for p in program.outputs}
    entries = {
        (y.name, name): [
            lanes.get(first[name] + k, ZERO) for lanes in by_port[y.name] for k in range(width)
        ]
        for y in wanted
        for name, width in ways.counts.items()
    }
    return found.statements, entries


def _reverse(
    program: Program, ways: Ways, wanted: Sequence[ProgramPort]
) -> tuple[tuple[Statement, ...], Entries]:
    names = {p.name for p in wanted}
    places = [(p.name, i) for p in program.outputs for i in range(p.size)]
    lane = {place: k for k, place in enumerate(x for x in places if x[0] in names)}

    def seeds(atoms: tuple[Expr, ...]) -> Iterable[tuple[Expr, int, Expr]]:
        pairs = zip(places, atoms, strict=True)
        return [(x, lane[place], ONE) for place, x in pairs if place in lane]

    inputs = [x for name in ways.counts for x in program.port(name).entries]
    found = reverse(program, inputs, seeds, ReverseCalls())
    adjoints = dict(zip(inputs, found.lanes, strict=True))

    def entry(row: int, name: str, k: int) -> Expr:
        pairs = zip(program.port(name).entries, ways.lanes[name], strict=True)
        return total(adjoints[x].get(row, ZERO) * t[k] for x, t in pairs if k in t)

    entries = {
        (y.name, name): [
            entry(lane[y.name, i], name, k) for i in range(y.size) for k in range(width)
        ]
        for y in wanted
        for name, width in ways.counts.items()
    }
    return (*found.forth, *found.back), entries


# -- dynamics --------------------------------------------------------------------------------------
def _with_parameters(ports: Sequence[ProgramPort], *programs: Program) -> tuple[ProgramPort, ...]:
    """Return ports with one last for all parameters that any of the Programs reads."""
    read = {x for p in programs for port in p.inputs if port.name == "p" for x in port.entries}
    rest = tuple(port for port in ports if port.name != "p")
    names = tuple(sorted(read, key=lambda x: x.name))
    return (*rest, ProgramPort("p", (len(names),), names)) if names else rest


def _fed(program: Program, given: Mapping[str, Sequence[Expr]]) -> dict[str, Sequence[Expr]]:
    """Return the entries of a Program's inputs; parameters stand for themselves."""
    return {
        port.name: port.entries if port.name == "p" else given[port.name] for port in program.inputs
    }


def inverse_dynamics_derivative(
    mass: Program,
    inverse: Program,
    by: Sequence[str],
    tangents: Mapping[str, Program] | None = None,
) -> Program:
    """Return the Program of the derivatives of the forces by `q`, `u` or `a`."""
    inputs = _with_parameters(inverse.inputs, mass, inverse)
    namer = Namer(Program("names", inputs, ()), "z")
    given: dict[str, Sequence[Expr]] = {p.name: p.entries for p in inputs}
    statements: list[Statement] = []
    ports: dict[str, ProgramPort] = {}
    rest = [x for x in by if x != "a"]
    if rest:
        slopes = derivative_program(inverse, rest, tangents)
        statements, found = inlined(slopes, _fed(slopes, given), namer)
        ports = {
            x: replace(slopes.port(f"d_tau_d_{x}"), entries=found[f"d_tau_d_{x}"]) for x in rest
        }
    if "a" in by:
        more, found = inlined(mass, _fed(mass, given), namer)
        statements += more
        ports["a"] = ProgramPort("d_tau_d_a", mass.port("M").shape, found["M"])
    made = Program(
        f"{inverse.name}_by_{'_'.join(by)}",
        inputs,
        tuple(ports[x] for x in by),
        tuple(statements),
        inverse.slow,
    )
    check(made)
    return liveness(made)


def forward_dynamics_derivative(
    mass: Program,
    inverse: Program,
    efforts: Sequence[Expr],
    by: Sequence[str],
    tangents: Mapping[str, Program] | None = None,
) -> Program:
    """Return the Program of the derivatives of the accelerations by `q`, `u` or `tau`."""
    n = len(efforts)
    tau = ProgramPort("tau", (n,), tuple(efforts))
    inputs = tuple(
        tau if p.name == "a" else p for p in _with_parameters(inverse.inputs, mass, inverse)
    )
    namer = Namer(Program("names", inputs, ()), "z")
    given: dict[str, Sequence[Expr]] = {p.name: p.entries for p in inputs}
    statements, found = inlined(mass, _fed(mass, given), namer)
    entries = found["M"]
    made = factors([entries[n * i : n * i + n] for i in range(n)], namer)
    ports: dict[str, ProgramPort] = {}
    motion = [x for x in by if x != "tau"]
    if motion:
        bias, rest = inlined(inverse, _fed(inverse, {**given, "a": [ZERO] * n}), namer)
        statements += bias
        rates = made.solve([x - y for x, y in zip(efforts, rest["tau"], strict=True)])
        slopes = derivative_program(inverse, motion, tangents)
        more, change = inlined(slopes, _fed(slopes, {**given, "a": rates}), namer)
        statements += [*made.statements, *more]
        made.statements.clear()
        widths = {x: slopes.port(f"d_tau_d_{x}").shape[1] for x in motion}
        columns = [
            [-change[f"d_tau_d_{x}"][width * i + k] for i in range(n)]
            for x, width in widths.items()
            for k in range(width)
        ]
        solved = iter(made.solve_all(columns))
        for x, width in widths.items():
            part = [next(solved) for _ in range(width)]
            rows = tuple(column[i] for i in range(n) for column in part)
            ports[x] = ProgramPort(f"d_a_d_{x}", (n, width), rows)
    if "tau" in by:
        rows = tuple(x for row in made.inverse() for x in row)
        ports["tau"] = ProgramPort("d_a_d_tau", (n, n), rows)
    statements += made.statements
    result = Program(
        f"forward_dynamics_by_{'_'.join(by)}",
        inputs,
        tuple(ports[x] for x in by),
        tuple(statements),
        inverse.slow,
    )
    check(result)
    return liveness(result)
