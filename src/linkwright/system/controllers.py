"""The controllers of a System by themselves: what runs at ticks, without the plant.

Members with a rate are flattened as in the whole System, but what they read of the plant (its
coordinates and speeds, outputs of other members) are inputs. Their Programs are then those that a
processor runs beside the real plant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.algebra import Expr
from linkwright.blocks import BlockError, Foreign
from linkwright.system.clock import Clock
from linkwright.system.definitions import Definitions
from linkwright.system.flatten import FlatSystem, _define, _parameters, _segments, _states, _ticks
from linkwright.system.member import Member
from linkwright.system.numbers import parameters
from linkwright.system.phases import Phases, Signal

if TYPE_CHECKING:
    from linkwright.system.system import System


def controller_phases(system: System, names: Iterable[str] = ()) -> Phases:
    """Return the phases of some members with a rate; of all that are not Python by default.

    >>> from linkwright.blocks import Block
    >>> from linkwright.system import System
    >>> s = System(name="s")
    >>> b = Block("half")
    >>> y = b.output("y", b.input("u") / 2)
    >>> added = s.add(b, rate=100)
    >>> made = controller_phases(s)
    >>> [x.name for x in made.w], [x.name for x in made.d], made.tick_seconds
    (['half.u'], ['half.y'], 0.01)
    """
    whole = system.phases()
    chosen = _chosen(system, tuple(names))
    own = system.copy()
    own.members = {m.name: m for m in chosen}
    clock = system.clock()
    clock = Clock(clock.tick, {m.name: clock.schedules[m.name] for m in chosen})
    ports = {x for m in chosen for _, symbols in m.inputs() for x in symbols}
    own.wires = {x: wire for x, wire in system.wires.items() if x in ports}
    flat = FlatSystem(own, clock, own.wires, None, Definitions())
    _define(flat)
    _states(flat)
    _parameters(flat, ())
    flat.w = _inputs(flat, whole)
    at = parameters(system) | {s.name: s.value for s in (*whole.x, *whole.d, *whole.p, *whole.w)}

    def valued(signals: Iterable[Signal]) -> tuple[Signal, ...]:
        return tuple(replace(s, value=at.get(s.name, s.value)) for s in signals)

    ticks = [tick for segment in _segments(flat) for tick in _ticks(flat, segment)]
    held = [s for s in flat.d if s.kind == "held"]
    shown = {"y": [s.symbol for s in held if s.symbol is not None]}
    return Phases(
        system.name,
        (),
        valued(flat.d),
        valued(flat.p),
        valued(flat.w),
        system.time,
        float(clock.tick),
        flat.program("derivative", {"x_dot": []}),
        tuple(ticks),
        output=flat.program("output", shown) if held else None,
        outputs=tuple(replace(s, symbol=None, kind="output") for s in valued(held)),
    )


def _chosen(system: System, names: Sequence[str]) -> list[Member]:
    """Return the members that are asked for, in the order of the System."""
    for name in names:
        member = system[name]
        if not isinstance(member, Member):
            raise BlockError(f"{name!r} is a port, not a member", remedy="name its member")
        if not member.held:
            raise BlockError(
                f"{name!r} is continuous, so no processor can run it at ticks",
                remedy="add it with a rate, in hertz",
            )
        if isinstance(member.block, Foreign):
            raise BlockError(
                f"{name!r} is a Python function, which does not run on a processor of its own",
                remedy="write it as a Block",
            )
    held = [m for m in system.members.values() if m.held and not isinstance(m.block, Foreign)]
    found = [m for m in held if not names or m.name in names]
    if not found:
        raise BlockError(
            f"{system.name!r} has no controller: no member runs at a rate",
            remedy="add one with a rate, in hertz",
        )
    return found


def _inputs(flat: FlatSystem, whole: Phases) -> list[Signal]:
    """Return what the members read that is not their own: ports and signals of the plant."""
    roots: list[Expr] = [*flat.starts.values()]
    for m in flat.members:
        roots += [value for _, _, values in m.outputs() for value in values]
        roots += [value for _, _, value in m.remembered()]
    read = flat.table.leaves(flat.table.ordered(roots), roots)
    read -= {s.symbol for s in (*flat.d, *flat.p)} | {*flat.noise, flat.system.time}
    by_symbol = {s.symbol: s for s in (*whole.x, *whole.d, *flat.w)}
    by_name = {s.name: s for s in whole.outputs}
    order = [x for x in by_symbol if x in read]
    order += sorted(read - {*order}, key=lambda x: x.name)
    found = []
    for x in order:
        near = by_symbol.get(x) or by_name.get(x.name)
        found.append(Signal(x.name, x) if near is None else replace(near, symbol=x))
    return found
