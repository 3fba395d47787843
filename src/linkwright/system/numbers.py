"""The numbers of a System: where states start, and values of parameters and inputs.

They are put into the phases last, so that other numbers need no new flattening. Coordinates and
speeds of the mechanism are assembled: what is given is held, and what constraints determine is
computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.base.errors import nearest, suggestion
from linkwright.blocks import BlockError, Foreign, checked
from linkwright.equations.closure import Relations, assemble
from linkwright.equations.joint_stops import starts_in_range
from linkwright.equations.reactions import told_reactions
from linkwright.mechanism import Mechanism
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.system.force_arrows import told_floors, told_forces, told_wheels
from linkwright.system.phases import Phases, Signal

if TYPE_CHECKING:
    from linkwright.system.system import System


def starts(system: System) -> dict[Expr, Expr]:
    """Return where states of members start, for those that depend on parameters."""
    found: dict[Expr, Expr] = {}
    for member in system.members.values():
        found.update((x, start) for x, start in member.beginnings() if start.op != "num")
    return found


def numbered(
    system: System, phases: Phases, mechanism: Mechanism, at: Mapping[str, float] | None = None
) -> Phases:
    """Return the phases with the numbers that the System has now; `at` is where it begins."""
    values = parameters(system)
    inputs = system.inputs()
    driven = {*inputs, *system.mechanism.inputs}
    _refuse_unknown(system, system.values, [*values, *driven], "parameter or input")
    _refuse_open(system, inputs)
    missing = sorted(s.name for s in phases.p if s.name not in values)
    if missing:
        raise BlockError(
            f"{system.name!r} has no value for {', '.join(missing)}",
            remedy="give defaults to the mechanism, or values to the System",
        )
    report: list[str] = []
    at = beginnings(system, values, mechanism, report=report) if at is None else at
    initialize = phases.initialize
    if initialize is not None and any(x.name in system.initial for x in starts(system)):
        initialize = None  # the values say it all
    channels = [s.name for s in phases.outputs]
    told = {
        "forces": told_forces(system, values, channels),
        "floors": told_floors(system),
        "wheels": told_wheels(system, values),
        "reactions": told_reactions(system.mechanism, channels),
        "report": [*report, *(phases.meta or {}).get("report", ())],
        "notes": [*(phases.meta or {}).get("notes", ()), *system.notes],
    }
    return replace(
        phases,
        meta={**(phases.meta or {}), **{k: v for k, v in told.items() if v}},
        x=_with(phases.x, at),
        d=_with(phases.d, {**{x.name: x.value for x in phases.d}, **at}),
        p=_with(phases.p, values),
        w=_with(phases.w, inputs),
        initialize=initialize,
        check=partial(parameters, system),
    )


def followed(system: System) -> dict[Expr, Expr]:
    """Return the parameters of members that follow others, as no value is set, with what they are.

    A parameter comes after those that it follows.
    """
    found: dict[Expr, Expr] = {}
    for member in system.members.values():
        for p in member.block.parameters.values():
            x = member.symbols[p.symbol]
            if x.name in system.values:
                continue
            if x in system.wires:  # that of another block
                found[x] = system.wires[x].value
            elif p.default is not None:
                found[x] = member.of([p.default])[0]
    return found


def parameters(system: System, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values of all parameters that have one, by name; reject those without sense."""
    m = system.mechanism
    own = {**system.values, **(given or {})}
    found: dict[str, Any] = {n: own.get(n, m.values.get(n)) for n in m.parameters}
    found = {n: v for n, v in found.items() if v is not None}
    refuse_unreal(m, {n: v for n, v in found.items() if n in own})
    follows, open_ = followed(system), dict[str, Any]()
    for member in system.members.values():
        for p in member.block.parameters.values():
            x = member.symbols[p.symbol]
            value = own.get(x.name, p.value)
            if x in follows and x.name not in own:
                used = free_symbols(follows[x])
                value = evaluate(follows[x], {y: found[y.name] for y in used})
            found[x.name] = value
            if x.name in own or x in follows:
                some = np.atleast_1d(np.asarray(value, dtype=float))
                for k in (np.argmin(some), np.argmax(some), np.argmin(np.abs(some))):
                    p.checked(some[k], member.name)
        for relation in member.block.requirements:
            read = {y: member.symbols.get(y, y) for y in free_symbols(relation.holds)}
            known = {y: float(x.data) for y, x in read.items() if x.op == "num"}  # the period
            names = {y: x.name for y, x in read.items() if x.op != "num"}
            if not open_ and any(n not in found for n in names.values()):
                open_ = {**system.inputs(), **own}
            known |= {y: (found | open_)[n] for y, n in names.items() if n in found or n in open_}
            if len(known) == len(read):
                relation.check(known, member.name)
    for name in own.keys() - found.keys():
        checked(np.sum(own[name]), name)  # an input, which is finite too
    return found


def beginnings(
    system: System,
    values: Mapping[str, float],
    mechanism: Mechanism,
    time: float = 0.0,
    relations: Relations | None = None,
    report: list[str] | None = None,
) -> dict[str, float]:
    """Return where every state starts, by name; a report says how constraints were met."""
    m = system.mechanism
    speeds = [s.symbol.name for s in m.kinematics().speeds]
    own = {*m.coordinates, *speeds}
    at: dict[str, float] = {}
    for member in system.members.values():
        for port, symbols, _ in member.outputs():
            at.update((x.name, port.initial) for x in symbols)
        at.update((x.name, _evaluated(start, system, values)) for x, start in member.beginnings())
    _refuse_unknown(system, system.initial, [*own, *at], "state")
    if own:
        given = {name: v for name, v in system.initial.items() if name in own}
        if system.equations is None:
            given = {**starts_in_range(m, report), **given}
        if mechanism is not m:  # a view of it, with starts that may be old
            mechanism = copy(mechanism)
            mechanism.initial, mechanism.initial_rules = m.initial, m.initial_rules
        known = {name: v for name, v in system.values.items() if name in {*m.parameters, *m.inputs}}
        all_known = {**m.values, **known}
        start_of = assemble(mechanism, given, all_known, time=time, relations=relations)
        at |= {**start_of.coordinates, **start_of.speeds}
        if report is not None and m.constraints:
            report += start_of.report
    at.update((name, v) for name, v in system.initial.items() if name not in own)
    return at


def _evaluated(start: Expr, system: System, values: Mapping[str, float]) -> float:
    if start.op == "num":
        return float(start.data)
    wanted = free_symbols(start)
    for x in wanted:
        if x.name not in values:
            raise BlockError(f"a start of {system.name!r} depends on {x}, which is not a parameter")
    return float(evaluate(start, {x: values[x.name] for x in wanted}))


def _with(signals: Iterable[Signal], values: Mapping[str, float]) -> tuple[Signal, ...]:
    return tuple(replace(s, value=float(values[s.name])) for s in signals)


def _refuse_open(system: System, inputs: Mapping[str, float]) -> None:
    """Reject an argument of a function that nothing drives: most often a name with a mistake."""
    for member in system.members.values():
        if not isinstance(member.block, Foreign):
            continue
        for port, symbols in member.inputs():
            if port.name in member.block.optional:
                continue
            if any(x.name in inputs and x.name not in system.values for x in symbols):
                near = nearest(port.name, system.names())
                raise BlockError(
                    f"nothing drives the argument {port.name!r} of the function {member.name!r}",
                    remedy=(f"did you mean {near!r}? " if near else "")
                    + f"connect {member.name}.{port.name}, give the argument a default, or "
                    f"declare it as an input with inputs={{{port.name!r}: None}}",
                )


def _refuse_unknown(
    system: System, given: Mapping[str, float], known: Iterable[str], what: str
) -> None:
    there = list(known)
    for name in given:
        if name not in there:
            some = ", ".join(there[:8]) + (", ..." if len(there) > 8 else "")
            remedy = suggestion(name, there, f"it has {some or 'none'}")
            raise BlockError(f"{system.name!r} has no {what} {name!r}", remedy=remedy)
