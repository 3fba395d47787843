"""What happens at accepted steps, at events and at the start of a run, as Programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwright.algebra import ONE, Expr, ExprError
from linkwright.blocks import BlockError
from linkwright.program import Call, Namer, Program, ProgramError, Statement, optimize, program
from linkwright.system.dynamics import settled
from linkwright.system.phases import GUARD, Event, Signal

_ROUNDED = 2.0**-6
"""The size by which an event is judged: a value is zero within 1e-13 of it, 7 units of rounding."""

if TYPE_CHECKING:
    from linkwright.system.flatten import FlatSystem


def settled_states(flat: FlatSystem) -> tuple[dict[Expr, Expr], list[Statement]]:
    """Return the states of the mechanism as they are moved after a step."""
    if flat.kept is not None:
        return dict(flat.settled), []
    return ({}, []) if flat.equations is None else settled(flat.equations)


def accepted_program(flat: FlatSystem) -> Program | None:
    """Return what happens after each accepted step: memory, quaternions, closed loops, guards.

    Relations of position are met by two steps of Newton's method.
    """
    changed, statements = settled_states(flat)
    moved = dict(changed)
    for member in flat.members:
        if not member.held:
            changed.update((x, following) for _, x, following in member.remembered())
    remembers = flat.guards is not None and bool(flat.guards.inverse)
    if not changed and not remembers:
        return None
    first = flat.program("accepted", _arrays(flat, changed), more=statements)
    if not statements and not remembers:
        return first
    namer = Namer(first, "again")
    arrays = {port.name: list(port.entries) for port in first.inputs}
    calls: list[Statement] = []

    def called(of: Program, x: list[Expr], d: list[Expr]) -> list[Expr]:
        arguments = [*x, *d, *(e for n in ("p", "w", "t") for e in arrays[n])]
        targets = [namer() for port in of.outputs for _ in range(port.size)]
        calls.append(Call(of, tuple(arguments), tuple(targets)))
        return targets

    found = called(first, arrays["x"], arrays["d"])
    x, d = found[: len(flat.x)], found[len(flat.x) :]
    if statements:
        only = _arrays(flat, moved)["x_new"]
        x = called(flat.program("settle", {"x_new": only}, more=statements, quick=True), x, d)
    if flat.guards is not None and remembers:
        roots = {"d_new": list(flat.guards.inverse)}
        inverse = called(flat.program("inverse", roots, more=flat.guards.inner, quick=True), x, d)
        d[-len(inverse) :] = inverse
    return program(f"{first.name}_settled", arrays, {"x_new": x, "d_new": d}, statements=calls)


def _arrays(flat: FlatSystem, changed: Mapping[Expr, Expr]) -> dict[str, list[Expr]]:
    """Return x and d with some entries changed."""

    def now(signals: Iterable[Signal]) -> list[Expr]:
        return [changed.get(s.symbol, s.symbol) for s in signals if s.symbol is not None]

    return {"x_new": now(flat.x), "d_new": now(flat.d)}


def events_of(flat: FlatSystem) -> tuple[tuple[Event, ...], dict[str, Any]]:
    """Return events and their Programs: values that go through zero, their rates and magnitudes."""
    values: list[Expr] = []
    found: list[Event] = []
    known = {s.symbol for s in (*flat.x, *flat.d)}
    for member in flat.members:
        for number, crossing in enumerate(member.block.crossings):
            values.append(member.of([crossing.value])[0])
            targets = member.of(x for x, _ in crossing.resets)
            resets = dict(zip(targets, member.of(v for _, v in crossing.resets), strict=True))
            for x in resets:
                if x not in known:
                    raise BlockError(f"{x} is not a state that {member.name!r} could set")
            action = None
            if resets:
                action = flat.program(f"event_{member.name}_{number}", _arrays(flat, resets))
            name = f"{member.name}.{crossing.name}"
            kind = (crossing.direction, crossing.terminal)
            found.append(Event(name, *kind, action, at_start=crossing.at_start))
    turns = _turns(flat, values) if values else None
    more: Sequence[Statement] = ()
    if flat.guards is not None:
        found += [Event(f"{GUARD}{i}", guard=True) for i in range(len(flat.guards.values))]
        values += flat.guards.values
        more = flat.guards.statements
    if not values:
        return (), {}
    made = flat.program("events", {"g": values}, more=more, quick=flat.guards is not None)
    own = [
        value for value, event in zip(made.output_values(), found, strict=True) if not event.guard
    ]
    if not own:
        return tuple(found), {"events": made, "turns": turns}
    from linkwright.program.magnitudes import magnitudes

    terms = magnitudes(made, own, "size", share=_ROUNDED)
    programs = {"events": made, "turns": turns, "terms": terms}
    return tuple(found), programs


def _turns(flat: FlatSystem, values: Sequence[Expr]) -> Program | None:
    """Return the rates of events along the motion; None where one has no derivative."""
    from linkwright.program import jacobian_vector

    try:
        along = jacobian_vector(flat.program("turns", {"g": values}, quick=True), "g", ["x", "t"])
    except (ExprError, ProgramError):
        return None
    inputs = {port.name: list(port.entries) for port in along.inputs if port.name != "d_t"}
    given = [x for entries in inputs.values() for x in entries]
    namer = Namer(along, "turn")
    results = [namer() for _ in values]
    called = Call(along, (*given, ONE), tuple(results))
    made = program(f"{along.name}_along", inputs, {"r": results}, statements=[called])
    return made if flat.kept is not None else optimize(made, brief=True)


def initialize_program(flat: FlatSystem) -> Program | None:
    """Return the Program of starts that depend on parameters."""
    return flat.program("initialize", _arrays(flat, flat.starts)) if flat.starts else None
