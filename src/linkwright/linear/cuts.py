"""Where a System is cut, and where a signal is added to one: copies with ports for analysis.

A cut takes away what drives an input port, or what an output port drives. The System then has an
input `injected` and an output `returned`; with negative feedback the loop gain is minus the
response from one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace

from linkwright.algebra import Expr, free_symbols, substitute_all
from linkwright.base.errors import Error, InputError, unknown
from linkwright.blocks import Block, BlockError, BlockState, Element, Port
from linkwright.system import System
from linkwright.system.composite import Composite, through_ports
from linkwright.system.member import Member, Wire

INJECTED, RETURNED = "injected", "returned"


@dataclass(frozen=True, slots=True)
class Cut:
    """A System that is open at a port."""

    system: System  # with the input `injected` and the output `returned`
    port: str  # where it is cut
    every: int = 0  # base ticks from one value of the signal to the next; 0 for a continuous System
    offset: int = 0  # the base tick of the first value


def cut(system: System, port: str, outputs: Iterable[str] = ()) -> Cut:
    """Return a System that is open at a port.

    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> s.connect(-5 * member.y, member.u)
    >>> cut(s, "lag.u").system.exposed_outputs["returned"].values
    (-5*lag.y,)
    """
    x = signal(system, port)
    made = system.copy()
    if not _of_a_composite(system, x):  # whose ports stand for what lies behind them
        made.wires = through_ports(system, system.wires)
    if x in system.wires:
        source = made.wires.pop(x).value
        readers = [x]
    else:
        source, readers = x, [t for t, wire in made.wires.items() if x in free_symbols(wire.value)]
        inside = _opened_member(made, source)
        x = inside if inside is not None else _new_input(made, INJECTED, source.data.unit)
        for target in readers:
            wire = made.wires[target]
            new = substitute_all([wire.value], {source: x})[0]
            made.wires[target] = replace(wire, value=new)
        readers += _loads_instead(made, source, x)
        readers += [] if inside is None else [inside]
    if not readers:
        raise Error(
            f"nothing goes through {port!r} of {system.name!r}, so there is no loop to cut",
            remedy="cut at an input that something drives, or at an output that drives something",
            code="R602",
        )
    shown = [(name, _value(made, name)) for name in outputs]
    _show(made, [(INJECTED, x)], [(RETURNED, source), *shown])
    every, offset = _instants(made, port, source, readers)
    return Cut(made, port, every, offset)


def _of_a_composite(system: System, x: Expr) -> bool:
    """Whether a symbol is a port of a System in the System."""
    for member in system.members.values():
        if isinstance(member, Composite):
            ports = (*member.block.inputs.values(), *member.block.outputs.values())
            if any(x in member.of(port.symbols) for port in ports):
                return True
    return False


def with_input(system: System, port: str, outputs: Iterable[str]) -> System:
    """Return a System with one input, added to what drives a port, and some outputs.

    >>> lag = Block("lag")
    >>> u, y = lag.input("u"), lag.output("y", lag.state("x", "u - x"))
    >>> s = System(name="s")
    >>> member = s.add(lag)
    >>> s.connect(-5 * member.y, member.u)
    >>> with_input(s, "lag.u", ["lag.y"]).wires[member.u].value
    injected.signal - 5*lag.y
    """
    made = system.copy()
    if port in system.mechanism.coordinates and port not in system.mechanism.inputs:
        probe = Element("probe", system.mechanism)
        probe.effort("effort", port, probe.input("load"))
        x = made.add(probe, name=_free(made, "probe")).load
    else:
        x = signal(system, port)
        if x not in system._all_inputs():
            raise Error(
                f"{port!r} of {system.name!r} is not an input",
                remedy="name an input port, or a coordinate for a load on it",
                code="R603",
            )
        if x in system.wires:
            wire = made.wires[x]
            added = _new_input(made, INJECTED, x.data.unit)
            made.wires[x] = Wire(wire.value + added, wire.solved)
            x = added
    shown = [(name, _value(made, name)) for name in outputs]
    _show(made, [(port, x)], shown)
    return made


def signal(system: System, port: str) -> Expr:
    """Return the symbol of a port by name, or say which ports there are.

    >>> s = System(name="s")
    >>> b = Block("gain")
    >>> y = b.output("y", 2 * b.input("u"))
    >>> member = s.add(b)
    >>> signal(s, "gain.u")
    gain.u
    """
    known: dict[str, Expr] = dict(system.mechanism.inputs)
    for member in system.members.values():
        for _, symbols in member.inputs():
            known.update((x.name, x) for x in symbols)
        for _, symbols, _ in member.outputs():
            known.update((x.name, x) for x in symbols)
    if port not in known:
        raise unknown("port", port, known, owner=repr(system.name), code="R601")
    return known[port]


def _value(system: System, name: str) -> Expr:
    """Return what an output is: a port, a state, a coordinate, or a formula of these."""
    try:
        return system.expr(name)
    except (BlockError, InputError) as error:
        raise InputError(
            f"{name!r} is nothing that {system.name!r} has ({error.what})",
            remedy="name a port, a state, a coordinate, or a formula of these",
            code="R601",
        ) from None


def _free(system: System, stem: str) -> str:
    while stem in system.members:
        stem += "_"
    return stem


def _new_input(system: System, stem: str, unit: str) -> Expr:
    """Return a new open input of a System."""
    block = Block(stem)
    block.input("signal", unit=unit)
    found: Expr = system.add(block, name=_free(system, stem)).signal
    return found


def _opened_member(system: System, source: Expr) -> Expr | None:
    """Let a member that reads its own output read a new input instead; return that, or None."""
    for name, member in system.members.items():
        for port, symbols, _ in member.outputs():
            if source in symbols and not isinstance(member, Composite):
                k = symbols.index(source)
                block = _opened(member.block, port.symbols[k], port.values[k])
                if block is None:
                    return None
                again = Member(name, block, member.rate, system.owner, system.time)
                system.members[name] = again
                found: Expr = again[INJECTED]
                return found
    return None


def _opened(block: Block, output: Expr, value: Expr) -> Block | None:
    """Return a block that reads a new input where it read an output of its own, or None."""
    local = value.op == "sym" and value.data.role == "local"
    own = {output, value} if local else {output}
    readers = [x for x in block.expressions() if own & set(free_symbols(x))]
    if len(readers) <= local:  # the output itself is one, where it is an intermediate result
        return None
    made = copy(block)
    made.inputs, made._names = dict(block.inputs), dict(block._names)
    new = made.input(INJECTED, unit=output.data.unit)
    swap = dict.fromkeys(own, new)

    def swapped(state: BlockState) -> BlockState:
        assert state.following is not None
        following = substitute_all([state.following], swap)[0]
        step = None if state.step is None else substitute_all([state.step], swap)[0]
        return replace(state, following=following, step=step)

    made.states = {x: swapped(s) for x, s in block.states.items()}
    made.discrete_states = {x: swapped(s) for x, s in block.discrete_states.items()}
    made.statements = [s.with_operands(substitute_all(s.operands, swap)) for s in block.statements]
    made.outputs = {
        n: p if output in p.symbols else replace(p, values=tuple(substitute_all(p.values, swap)))
        for n, p in block.outputs.items()
    }
    return made


def _loads_instead(system: System, source: Expr, x: Expr) -> list[Expr]:
    """Let an input be the magnitude of the loads that an output is; return what reads it then.

    An element takes the load away and puts the other on: their difference.
    """
    for member in list(system.members.values()):
        block = member.block
        if not isinstance(block, Element):
            continue
        forces = [f for f in block.forces if member.of([f.magnitude])[0] is source]
        moments = [f for f in block.moments if member.of([f.magnitude])[0] is source]
        if forces or moments:
            other = Element("load", block.mechanism)
            new, old = other.input("new"), other.input("old")
            change = other.output("change", new - old)
            other.forces += [replace(f, magnitude=change) for f in forces]
            other.moments += [replace(f, magnitude=change) for f in moments]
            added = system.add(other, name=_free(system, "load"))
            system.wires |= {added.new: Wire(x), added.old: Wire(source)}
            return [added.new]
    return []


def _show(
    system: System, inputs: Iterable[tuple[str, Expr]], outputs: Iterable[tuple[str, Expr]]
) -> None:
    """Let a System have these ports alone."""

    def ports(pairs: Iterable[tuple[str, Expr]]) -> dict[str, Port]:
        return {
            name: Port(name, x.data.unit if x.op == "sym" else "?", (), (x,), (x,))
            for name, x in pairs
        }

    system.exposed_inputs, system.exposed_outputs = ports(inputs), ports(outputs)


def _instants(system: System, port: str, source: Expr, readers: list[Expr]) -> tuple[int, int]:
    """Return how many base ticks lie from one value of a signal to the next, and the first."""
    schedules = system.clock().schedules
    if not schedules:
        return 0, 0
    owner = {
        x: member.name
        for member in system.members.values()
        if not isinstance(member, Composite)
        for x in member.symbols.values()
        if x.op == "sym"
    }
    behind = through_ports(system, {source: Wire(source)})[source].value
    constant = {x for x in system.open_inputs() if x not in system.wires}
    varying = [x for x in free_symbols(behind) if x.data.role != "parameter" and x not in constant]
    for signals in (readers, varying):
        names = {owner.get(x, "") for x in signals}
        if names and all(name in schedules for name in names):
            found = [schedules[name] for name in names]
            every = math.gcd(*(s.every for s in found))
            offsets = {s.offset % every for s in found}
            if len(offsets) == 1:
                return every, offsets.pop()
    sampled = ", ".join(schedules)
    raise Error(
        f"{port!r} carries a continuous signal in a System with sampled members",
        remedy=f"cut where the signal is sampled, at a port of {sampled}",
        code="R604",
    )


DRIVE_LOOPS = {
    "position": ("load.angle", "motor.angle"),
    "speed": ("load.speed", "motor.speed"),
    "current": ("motor.i",),
}
"""What is measured in each loop of a drive; the first of these that a controller reads is cut."""


def drive_port(system: System, drive: str, loop: str) -> str:
    """Return the port at which a loop of a drive is cut: of a word above, or a port itself."""
    outputs = system.members[drive].block.outputs
    signals = DRIVE_LOOPS.get(loop)
    if signals is None:
        return f"{drive}.{loop}" if loop in outputs else loop
    ports = [
        x.name
        for x, wire in system.wires.items()
        if any(s.name.startswith(f"{drive}.") for s in free_symbols(wire.value))
    ]
    for signal in signals:
        for port in ports:
            if port.endswith(f".{signal}"):
                return port
    own = f"{drive}.controller.u"
    if loop == "position" and "controller.u" in outputs:
        return own
    raise InputError(
        f"no controller reads {' or '.join(signals)} of {drive!r} by a port, so its {loop} loop "
        "has no port to be cut at",
        remedy=f"name the port itself, such as {own}",
        code="R601",
    )
