"""Wires by default: what elements read and drive, and what arguments of functions name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.algebra import Expr
from linkwright.blocks import Block, BlockError, Element, Foreign
from linkwright.mechanism import Mechanism
from linkwright.system.member import Member, Wire

if TYPE_CHECKING:
    from linkwright.system.system import System


def take_defaults(system: System, member: Member) -> None:
    """Wire what an element reads and drives, and what a function's arguments name."""
    block = member.block
    if isinstance(block, Element):
        for x, value in block.drives.items():
            if x in system.wires:
                raise BlockError(f"{x} is driven already, so {member.name!r} cannot drive it")
            system.wires[x] = Wire(member.of([value])[0])
    for name, (source, part) in block.sources.items():
        if name in block.parameters:
            system.wires[member[name]] = Wire(members_of(system, source)[0][part])
    for port, symbols in member.inputs():
        told = isinstance(block, Element) and port.symbols in block.beyond.values()
        for x, value in zip(symbols, member.of(port.values), strict=True):
            if told or value.op != "num":
                system.wires[x] = Wire(value)
        if port.name in block.sources:
            source, part = block.sources[port.name]
            found = members_of(system, source)[0][part]
            values = found if isinstance(found, tuple) else (found,)
            system.wires.update((x, Wire(v)) for x, v in zip(symbols, values, strict=True))
        if isinstance(block, Foreign):
            whole = whole_of(system.mechanism, port.name)
            if whole is not None and len(whole) == len(symbols):
                system.wires.update((x, Wire(v)) for x, v in zip(symbols, whole, strict=True))
            elif not port.shape and is_known(system.mechanism, port.name):
                system.wires[symbols[0]] = Wire(system.mechanism.expr(port.name))


def members_of(system: System, block: Block) -> list[Member]:
    """Return the members that a block is."""
    return [m for m in system.members.values() if block is m.block or block is m.added_block]


def bring_sources(system: System, block: Block) -> None:
    """Add the blocks that ports of a block read by default, where they are not there yet."""
    for source, part in block.sources.values():
        if members_of(system, source):
            continue
        try:
            system.brought.add(system.add(source).name)
        except BlockError as error:
            raise BlockError(
                f"{block.name!r} reads {part!r} of {source.name!r}, which cannot be added for it: "
                f"{error}",
                remedy=f"add {source.name!r} first",
            ) from error


def whole_of(mechanism: Mechanism, name: str) -> list[Expr] | None:
    """Return all coordinates or all speeds for `q` and `u`, unless these name something."""
    if name not in ("q", "u") or is_known(mechanism, name):
        return None
    kinematics = mechanism.kinematics()
    speeds = [s.symbol for s in kinematics.speeds]
    states = {s.symbol for s in mechanism.states}
    coordinates = [q for q in kinematics.rates if q not in states]
    return (speeds if name == "u" else coordinates) or None


def is_known(mechanism: Mechanism, name: str) -> bool:
    """Return whether a name is a coordinate, a speed, an input or a parameter."""
    m = mechanism
    return name in {*m.coordinates, *m.inputs, *m.parameters} or m.has_speed_name(name)
