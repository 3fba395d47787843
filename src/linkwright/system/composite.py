"""A System in a System: its members under one name, with ports out of them.

    drive = System(arm, name="drive")
    ...                                          # motor, gear and encoder, wired to each other
    drive.expose("voltage", motor.u)             # an open input: an input port
    drive.expose("angle", encoder.y)             # anything else: an output port
    left = s.add(drive, name="left")             # left.voltage, left.angle, left.motor

Nothing of a composite is left when a System is flattened: its members are members of the larger
System, called `left.motor`, and its ports are a block that computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, substitute_all
from linkwright.blocks import CONTINUOUS, Block, BlockError, Port, Rate, Sampled, Ticks
from linkwright.system.default_wires import bring_sources, take_defaults
from linkwright.system.member import Member, Wire

if TYPE_CHECKING:
    from linkwright.system.system import System


class Composite(Member):
    """A System in a System: its ports and its members are its attributes."""

    def __init__(
        self, name: str, ports: Block, owner: str, time: Expr, family: Mapping[str, Member]
    ) -> None:
        super().__init__(name, ports, CONTINUOUS, owner, time)
        self._family = family

    def __getitem__(self, name: str) -> Any:
        """Return a port or a member by name, or what a member has: `motor.current`."""
        head, _, rest = name.partition(".")
        member = self._family.get(f"{self.name}.{head}")
        if member is not None:
            return member[rest] if rest else member
        return super().__getitem__(name)


def add_system(system: System, inner: System, label: str) -> Composite:
    """Add the members, wires and numbers of a System as they are now, under a name."""
    _refuse(system, inner, label)
    of: dict[Expr, Expr] = {inner.time: system.time}
    made: list[Member] = []
    for name, member in inner.members.items():
        again = _again(member, f"{label}.{name}", system, inner.base)
        of |= {x: again.symbols[own] for own, x in member.symbols.items() if x.op == "sym"}
        made.append(again)
    for member in made:
        if isinstance(member, Composite):
            for ports in (member.block.inputs, member.block.outputs):
                ports.update((n, _in(port, of)) for n, port in ports.items())
    wires = dict(inner.wires)
    whole = Composite(label, _ports(inner, of), system.owner, system.time, system.members)
    for port, symbols in whole.inputs():
        inside = inner.exposed_inputs[port.name].symbols
        wires |= {x: Wire(y) for x, y in zip(inside, symbols, strict=True)}
    placed = {of.get(x, x): wire for x, wire in wires.items()}
    for x in placed:
        if x in system.wires:
            raise BlockError(f"{x} is driven already, so {label!r} cannot drive it")
    system.members |= {member.name: member for member in (whole, *made)}
    new = substitute_all([wire.value for wire in placed.values()], of)
    for (x, wire), value in zip(placed.items(), new, strict=True):
        system.wires[x] = replace(wire, value=value)
    for port, symbols in whole.inputs():
        pairs = zip(symbols, port.values, strict=True)
        system.wires |= {x: Wire(value) for x, value in pairs if value.op != "num"}
    names = {x.name: y.name for x, y in of.items() if x is not inner.time}
    shown = {x.name for port in inner.exposed_inputs.values() for x in port.symbols}
    values = {names.get(n, n): v for n, v in inner.values.items() if n not in shown}
    system.values = values | system.values
    system.initial = {names.get(n, n): v for n, v in inner.initial.items()} | system.initial
    return whole


def exposed(system: System, name: str, what: Any) -> Port:
    """Return the port that shows something of a System, with the unit and words of that."""
    found = system.read(what) if isinstance(what, str) else what
    if isinstance(found, Member):
        raise BlockError(
            f"{found.name!r} is a member and not one of its ports",
            remedy=f"it has {', '.join([*found.block.inputs, *found.block.outputs])}",
        )
    array = isinstance(found, tuple | list)
    values = tuple(system.expr(x) for x in (found if array else [found]))
    unit, doc = (values[0].data.unit, "") if values[0].op == "sym" else ("?", "")
    for member in system.members.values():
        for port in (*member.block.inputs.values(), *member.block.outputs.values()):
            if values[0] in member.of(port.symbols):
                unit, doc = port.unit, port.doc
    return Port(name, unit, (len(values),) if array else (), values, values, doc=doc)


def through_ports(system: System, wires: Mapping[Expr, Wire]) -> dict[Expr, Wire]:
    """Return the wires with what lies behind the ports of composites in the place of these.

    Sums are then in the order of the members' own names, as if all had been added side by side.
    """
    behind: dict[Expr, Expr] = {}
    for member in system.members.values():
        if isinstance(member, Composite):
            for _, symbols, shown in member.outputs():
                behind.update(zip(symbols, shown, strict=True))
            inputs = [x for _, symbols in member.inputs() for x in symbols if x in wires]
            behind.update((x, wires[x].value) for x in inputs if not wires[x].solved)
    values = [wire.value for wire in wires.values()]
    for _ in behind:  # ports that drive each other in a circle are left, to be reported as a loop
        before, values = values, substitute_all(values, behind)
        if values == before:
            break
    pairs = zip(wires.items(), values, strict=True)
    return {x: replace(wire, value=value) for (x, wire), value in pairs}


def _refuse(system: System, inner: System, label: str) -> None:
    m = inner.mechanism
    if inner is system:
        raise BlockError(f"{system.name!r} cannot be a part of itself", remedy="add a copy()")
    if m is not system.mechanism and (m.bodies or m.inputs or m.parameters or m.states):
        raise BlockError(
            f"{inner.name!r} acts on {m.name!r}, not on {system.mechanism.name!r}",
            remedy="make both Systems for the same mechanism",
        )
    if not label.isidentifier():
        raise BlockError(
            f"{label!r} cannot name a System in a System", remedy="give name=..., a word"
        )
    open_ = inner.open_inputs()
    for port in inner.exposed_inputs.values():
        for x in port.symbols:
            if x not in open_:
                raise BlockError(
                    f"the port {port.name!r} of {inner.name!r} drives {x}, but {x} is connected "
                    "inside",
                    remedy="let one of the two drive it",
                )


def _again(member: Member, name: str, system: System, base: Any) -> Member:
    """Return a member of the inner System as one of the larger System."""
    rate: Rate = member.rate
    if isinstance(rate, Ticks) and base is not None:
        rate = Sampled(rate.every * base, rate.offset * base)
    if isinstance(member, Composite):
        ports = Block("ports")
        ports.inputs, ports.outputs = dict(member.block.inputs), dict(member.block.outputs)
        return Composite(name, ports, system.owner, system.time, system.members)
    again = Member(name, member.block, rate, system.owner, system.time)
    again.added_block = member.added_block
    return again


def _ports(inner: System, of: Mapping[Expr, Expr]) -> Block:
    """Return the block that has the ports of a System and computes nothing."""
    ports, defaults = Block("ports"), inner.open_inputs()
    for port in inner.exposed_inputs.values():
        given = substitute_all([defaults[x] for x in port.symbols], of)
        if port.shape:
            ports.input_vector(port.name, port.shape, given, unit=port.unit, doc=port.doc)
        else:
            ports.input(port.name, given[0], unit=port.unit, doc=port.doc)
    for port in inner.exposed_outputs.values():
        values = _in(port, of).values
        if port.shape:
            ports.output_vector(port.name, values, unit=port.unit, doc=port.doc)
        else:
            ports.output(port.name, values[0], unit=port.unit, doc=port.doc)
    return ports


def _in(port: Port, of: Mapping[Expr, Expr]) -> Port:
    """Return a port with its values in the symbols of the larger System."""
    return replace(port, values=tuple(substitute_all(port.values, of)))


def exchange_member(system: System, name: str, block: Block) -> None:
    """Put another block in the place of a member, which keeps its name and its wires."""
    old = system.members[name]
    new = Member(name, block, block.rate or CONTINUOUS, system.owner, system.time)
    block.check_rate(new.rate)
    had: dict[Expr, Expr] = {}
    for port, symbols in old.inputs():
        had.update(zip(symbols, old.of(port.values), strict=True))
    has = {x for _, symbols in new.inputs() for x in symbols}
    wired = {x: w for x, w in system.wires.items() if x in had and w.value is not had[x]}
    for x in wired:
        if x not in has:
            raise BlockError(f"{x} is wired, but the block that takes its place has no such port")
    for x in had:
        system.wires.pop(x, None)
    bring_sources(system, block)
    system.members[name] = new
    take_defaults(system, new)
    system.wires.update(wired)
